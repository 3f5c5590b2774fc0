"""The arguments of public functions, checked by the types that their signatures declare."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from itertools import chain, repeat
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ingest.errors import IngestError, UsageError, brief, in_one_line, refused_by_system

#: A declared type as the refusal names it.
NAMES = {str: "text", Path: "a path", int: "a number", float: "a number", bool: "True or False", Mapping: "a mapping"}
NAMES |= dict.fromkeys((Sequence, Collection, list, tuple), "a list")
#: What is iterated over but no list: texts and mappings, and sets, whose order changes from run to run.
SINGLE = (str, bytes, Mapping)
UNORDERED = (*SINGLE, Set)
#: The option whose value may come second by its place.
SECOND = "gpu"


class _Misfit(Exception):
    """A value of another type than the declared one."""

    def __init__(self, found: object, kind: Any) -> None:
        super().__init__(found, kind)
        self.found, self.kind = found, kind


def checked(
    name: str,
    function: Callable[..., Any],
    kinds: Mapping[str, Any],
    options: Mapping[str, tuple[Any, str]],
    reworded: Callable[[IngestError, Collection[str]], IngestError] = lambda error, _: error,
    from_file: Callable[[Any, dict[str, Any]], Any] | None = None,
) -> Callable[..., Any]:
    """A public function that checks the types of its arguments before it runs, and refuses in one line that is seen whole.

    Numbers may be of any library: those of numpy become Python's own. Paths are text or `os.PathLike`, never descriptors.

    Args:
        name: its name in the package.
        kinds: the types of its arguments.
        options: those of its arguments that its table of options declares, each with its default and its help.
        reworded: a refusal in words of these arguments.
        from_file: the arguments that the file of its option `job` holds, under those given beside it.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    # An option that stands in the second place, as its word does on the command line.
    second = SECOND if len(by_place) == 1 and SECOND in options and SECOND not in signature.parameters else ""
    further = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), "")  # of more than the function takes

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if second and len(given) == 2:
            if second in named:
                raise TypeError(f"{name}() got multiple values for argument '{second}'")
            first, named[second] = given
            given = (first,)
        fitting = [
            _argument(place, value, kinds) for place, value in zip(chain(by_place, repeat(further)), given, strict=False)
        ]
        fitted = {place: _argument(place, value, kinds) for place, value in named.items()}
        try:
            if from_file is not None and (job := fitted.pop("job", None)) is not None:
                fitting, fitted = [], from_file(job, {**dict(zip(by_place, fitting, strict=False)), **fitted})
            return function(*fitting, **fitted)
        except IngestError as error:
            error.args = ("\n".join(map(in_one_line, reworded(error, kinds).lines)),)
            raise
        except OSError as error:
            raise IngestError(in_one_line(refused_by_system(error))) from None

    call.__module__, call.__qualname__ = __name__.partition(".")[0], name
    if options:
        own = [one.replace(annotation=kinds[one.name]) for one in parameters if one.kind is not one.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        own += [
            inspect.Parameter(
                one, inspect.Parameter.POSITIONAL_OR_KEYWORD if one == second else keyword, default=usual, annotation=kinds[one]
            )
            for one, (usual, _) in sorted(options.items(), key=lambda option: option[0] != second)
            if one not in signature.parameters
        ]
        call.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        listed = "\n".join(f"    {one}: {text}" for one, (_, text) in options.items())
        call.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{listed}\n"
    return call


def _argument(name: str, value: Any, kinds: Mapping[str, Any]) -> Any:
    try:
        return _fitted(value, kinds.get(name, Any))
    except _Misfit as misfit:
        taken = [get_origin(one) or one for one in _choices(misfit.kind) if one is not NoneType]
        *others, last = dict.fromkeys(NAMES.get(one, one.__name__) for one in taken)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"{name}: found {brief(misfit.found)}, expected {expected}") from None


def _choices(kind: Any) -> tuple[Any, ...]:
    """The types of a union; any other type alone."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _fitted(value: Any, kind: Any) -> Any:
    """A value as a declared type has it; a path where only text is declared becomes text.

    Raises _Misfit: it is of another type, or something in it is.
    """
    if type(value) in _taken(kind):
        return value
    choices = _choices(kind)
    if isinstance(value, os.PathLike) and Path not in choices:
        value = os.fspath(value)
    if Path in choices and isinstance(value, (str, os.PathLike)) and not _can_be_path(os.fspath(value)):
        raise _Misfit(value, Path)
    nearest = _Misfit(value, kind)
    for one in choices:
        try:
            return _as(value, one)
        except _Misfit as misfit:
            nearest = misfit if misfit.found is not value else nearest
    raise nearest


@functools.cache
def _taken(kind: Any) -> set[type]:
    """The types of which a declared type takes every value as it is."""
    choices = {*_choices(kind)}
    words = choices & {str, bool, NoneType} - ({str} if Path in choices else set())
    return {*words, *((int, float) if choices & {int, float} else ())}


def _can_be_path(name: str | bytes) -> bool:
    """Whether the system can have a file of this name: not the empty one, of which `Path` makes the working directory."""
    try:
        return b"\0" not in os.fsencode(name) and bool(name)
    except UnicodeEncodeError:  # half of a pair of UTF-16
        return False


def _as(value: Any, kind: Any) -> Any:
    """A value as one type has it. Raises _Misfit: it is of another type, or something in it is."""
    of, inner = get_origin(kind) or kind, get_args(kind)
    if of is Any:
        return value
    if of in (int, float):
        if isinstance(value, Real) and not isinstance(value, bool):
            return int(value) if isinstance(value, Integral) else float(value)
    elif of is Path:
        if isinstance(value, os.PathLike):
            return Path(value)
    elif of is Mapping:
        if isinstance(value, Mapping):
            return {_fitted(key, inner[0]): _fitted(item, inner[1]) for key, item in value.items()}
    elif of in (Sequence, Collection, list, tuple):
        if isinstance(value, Collection) and not isinstance(value, UNORDERED if of is not Collection else SINGLE):
            items = [_fitted(item, inner[0]) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
    elif isinstance(value, of):
        return value
    raise _Misfit(value, kind)
