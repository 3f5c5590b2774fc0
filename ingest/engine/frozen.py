"""Frozen records, declared as dataclasses are; `dataclasses` itself takes longer to import than `bw` takes to compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

AnyFrozen = TypeVar("AnyFrozen", bound="Frozen")
#: The default of a field that is a table without entries; nobody writes into it. It goes into JSON as it is.
EMPTY: Mapping[str, Any] = {}


@dataclass_transform(frozen_default=True)
class Frozen:
    """A record whose fields are the annotations of its class, in their order, with the defaults given there.

    A class that has `__post_init__` is checked by it when it is made.

    >>> class Drive(Frozen):
    ...     bytes: float
    ...     count: int = 1
    >>> vars(Drive(1e12))
    {'bytes': 1000000000000.0, 'count': 1}
    >>> Drive(count=2)
    Traceback (most recent call last):
    ...
    TypeError: Drive: no value of 'bytes'
    """

    _names: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, kw_only: bool = False) -> None:
        own = vars(cls)
        names = [name for name, kind in own.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]
        cls._names = tuple(dict.fromkeys((*cls._names, *names)))
        cls._defaults = {**cls._defaults, **{name: own[name] for name in names if name in own}}

    def __init__(self, *values: Any, **fields: Any) -> None:
        given = dict(zip(self._names, values, strict=False))
        strange = [name for name in fields if name not in self._names or name in given]
        if strange or len(values) > len(self._names):
            found = f"argument '{strange[0]}'" if strange else f"number of arguments, {len(values)}"
            raise TypeError(f"{type(self).__name__}: unexpected {found}")
        made = {**self._defaults, **given, **fields}
        for name in self._names:
            if name not in made:
                raise TypeError(f"{type(self).__name__}: no value of '{name}'")
            self.__dict__[name] = made[name]
        self.__post_init__()

    def __post_init__(self) -> None:
        """Nothing to check."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be deleted")


def revised(record: AnyFrozen, **changes: Any) -> AnyFrozen:
    """The record with other values of some fields.

    >>> class Drive(Frozen):
    ...     bytes: float
    >>> revised(Drive(1e12), bytes=2e12).bytes
    2000000000000.0
    """
    return type(record)(**{**{name: getattr(record, name) for name in record._names}, **changes})
