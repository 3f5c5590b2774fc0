"""Formulas by name: the decorator that registers them, and the solver that walks the names.

A formula is a plain function. Its name is the quantity it yields, its parameters are the names of the quantities it
needs. Most are declared by their expression alone (`computed_quantity`). Quantities that no formula yields (the leaves) are
declared with their unit and allowed range.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, NoneType
from typing import Any, NamedTuple, TypeVar

import ingest.engine.expression as recorder
from ingest.engine import declared_by
from ingest.engine.expression import Expression, Num, record
from ingest.engine.messages import Message, Option
from ingest.engine.value import Input
from ingest.errors import CyclicQuantity, MissingQuantity, UsageError, nearest
from ingest.units import COUNTED, parse, physical

#: the refusal of a quantity whose inputs are too large, or so small that they divide as zero
OUT_OF_RANGE = "{} exceeds the range of floating-point numbers, expected inputs that are less extreme"

#: the most that bytes, counts and seconds may be where no limit is declared: a yottabyte; more is a slip of the prefix
MOST = 1e24
#: the units without the things that they count, for which that holds; training takes more FLOP than that
LIMITED = frozenset({"B", "B/s", "1", "1/s", "s"})
#: the most of what a job has, by unit: no site has as many machines, or 10 GB/s for each; a sample lies in a node's memory,
#: of which the largest in the catalogs has 4.398 TB
MOST_OF = {"GPU": 1e8, "node": 1e8, "parameter": 1e17, "B/sample": 4.4e12, "B/s": 1e18}
#: the most of a number that is a share, a factor or a width of bits; what may be larger may be in thousands
MOST_FACTOR = 1000

Function = TypeVar("Function", bound=Callable[..., Num])


def unchanged(value: Num) -> Num:
    """The formula of a quantity that is another one under a name of its own."""
    return value


class Formula(NamedTuple):
    """A registered formula."""

    name: str  # the quantity it yields
    function: Callable[..., Num]  # the plain function
    needs: tuple[str, ...]  # the names of the quantities it needs, in order
    unit: str  # the base unit of the result
    source: str  # id in the catalogs' sources, or `definition` where the formula is one
    where: str  # the place within the source
    label: str = ""  # its name inside a sentence, where the words of `name` do not serve
    #: low, high, above, whole, mean: the values that it may be given instead of computed, as of an `InputQuantity`
    low: float = 0
    high: float = float("inf")
    above: bool = True
    whole: bool = False
    mean: bool = False

    @property
    def meaning(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    def tree(self) -> Expression:
        """The formula as a tree of symbols."""
        return record(self.function, self.needs)

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies and other processes: the function of a declared formula by its name, as it may be in no module itself."""
        declared = _declared.get(self.name)
        if not isinstance(declared, Formula) or declared.function is not self.function:
            return Formula, tuple(self)
        return _restored, (self.name, {name: part for name, part in self._asdict().items() if name != "function"})


def _restored(name: str, others: Mapping[str, Any]) -> Formula:
    """A declared formula with other words or limits."""
    found = _required(name)
    assert isinstance(found, Formula)
    return found._replace(**others)


class InputQuantity(NamedTuple):
    """A quantity that is given, not computed."""

    name: str  # its name, as in formulas, `--set` and JSON
    unit: str  # the base unit
    meaning: str  # one line
    low: float = 0  # the smallest value allowed; excluded where `above` is true
    high: float = float("inf")  # the largest value allowed
    above: bool = True  # the value must be greater than `low`, not equal to it
    whole: bool = False  # only whole numbers are allowed
    mean: bool = False  # a mean of what its unit counts, which may be a fraction
    default: float | None = None  # the value unless one is given; only for a definition or a neutral element
    source: str = ""  # where a default that is not neutral comes from
    label: str = ""  # its name inside a sentence, where the words of `name` do not serve


class Alternative(NamedTuple):
    """A formula that a quantity follows instead of its own where a question states a case."""

    formula: str  # the quantity that stands for it
    when: str  # the case
    optional: bool = False  # it is passed over where it cannot be computed; without, its refusal is that of the quantity


_declared: dict[str, Formula | InputQuantity] = {}
#: quantity -> its alternatives, in the order in which they are tried
_alternatives: dict[str, list[Alternative]] = {}
#: The quantities that have an alternative for a case.
_deciding: dict[str, list[str]] = {}
Kind = TypeVar("Kind", Formula, InputQuantity)


@cache
def load_modules(package: str) -> tuple[ModuleType, ...]:
    """Import every module of a package, so that what the modules declare is known; once, in the order of their names."""
    import pkgutil

    found = pkgutil.iter_modules(import_module(package).__path__)
    return tuple(import_module(f"{package}.{module.name}") for module in found)


def _declaration(name: str) -> Formula | InputQuantity | None:
    """The formula or the input of a name, whatever has been imported so far; None where no field declares it."""
    for declare in declared_by:
        if name in _declared:
            break
        declare()
    return _declared.get(name)


class Declared(Mapping[str, Kind]):
    """All formulas, or all inputs, by name; the modules that declare them are imported as names ask for it."""

    def __init__(self, kind: type[Kind]) -> None:
        self._kind: type[Kind] = kind

    def __getitem__(self, name: str) -> Kind:
        found = _declaration(name)
        if found is None or not isinstance(found, self._kind):
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        for declare in declared_by:
            declare()
        return (name for name, one in _declared.items() if isinstance(one, self._kind))

    def __len__(self) -> int:
        return sum(1 for _ in self)


FORMULAS = Declared(Formula)
INPUTS = Declared(InputQuantity)


def formula(
    unit: str,  # base unit of the result, for example `B/s/GPU`
    source: str = "definition",  # id of the source; `definition` where the formula defines its quantity
    where: str = "",  # place within the source
    label: str = "",  # name of the quantity inside a sentence
    *,
    of: str = "",  # the quantity, declared in the same module, for which it stands
    when: str = "",  # where a question states this case
    **limits: float,  # `low`, `high`, `above`, `whole` and `mean` of the values that it may be given, as of an `InputQuantity`
) -> Callable[[Function], Function]:
    """Register a function as the formula for the quantity it is named after, and return it unchanged."""

    def register(function: Function) -> Function:
        name = function.__name__
        if name in _declared:
            raise ValueError(f"two definitions of the quantity '{name}'")
        code = function.__code__
        needs = code.co_varnames[: code.co_argcount]
        _declared[name] = Formula(name, function, needs, unit, source, where, label, **limits)  # type: ignore[arg-type]
        if of:
            alternative(of, name, when=when)
        return function

    return register


def alternative(quantity: str, *formulas: str, when: str, optional: bool = False) -> None:
    """Declare, beside a quantity, what it follows from where a question states a case: `Quantities.state`.

    A value that is given still wins. `formulas` are the quantities that stand for it; of several the first counts. Where they
    are `optional`, those that cannot be computed are passed over, and after the last the quantity follows its own formula.
    """
    _alternatives.setdefault(quantity, []).extend(Alternative(one, when, optional) for one in formulas)
    _deciding.setdefault(when, []).append(quantity)


def decided_by(case: str) -> list[str]:
    """The quantities that have an alternative for a case, of the modules imported so far.

    Raises ValueError: no quantity has one.
    """
    for _ in range(2):
        if found := _deciding.get(case):
            return found
        for declare in declared_by:
            declare()
    raise ValueError(f"no quantity has an alternative for the case '{case}'")


#: A name in an expression: a quantity, or a function of the recorder. The e of 1e9 is none.
_NAME = re.compile(r"(?<![\w.])[a-z_]\w*")


@cache
def _code(shape: str, count: int) -> CodeType:
    """The code of an expression over so many quantities; most expressions have one of a few shapes, compiled once."""
    parameters = ", ".join(f"q{place}" for place in range(count))
    code: CodeType = eval(f"lambda {parameters}: {shape}", {}).__code__  # noqa: S307  a literal of the module that declares it
    return code


def computed_quantity(
    name: str,
    expression: str,  # names of quantities, numbers, operators, and the functions of `ingest.engine.expression`
    unit: str,  # as of `formula`, like `source`
    meaning: str,  # one line
    source: str = "definition",
    *,
    needs: str = "",  # its quantities in the order in which a derivation lists them, where the expression has another one
    example: str = "",  # a worked example, `call -> result`, which the tests run and the reference shows
    module: str = "",  # that declares it; the caller where none is named
    **declared: Any,  # `where`, `label`, `of`, `when` and limits, as of `formula`
) -> Callable[..., Num]:
    """Declare a quantity that an expression over other quantities yields: a `formula` without the frame of a function.

    Returns the function, for a formula that Python calls: a name of its module is bound to it.
    Raises ValueError: the expression is none, or the quantity has two definitions.
    """
    places = {need: f"q{place}" for place, need in enumerate(needs.split())}

    def placed(found: re.Match[str]) -> str:
        return found[0] if found[0] in recorder.FUNCTIONS else places.setdefault(found[0], f"q{len(places)}")

    shape = _NAME.sub(placed, expression)
    try:
        code = _code(shape, len(places)).replace(co_name=name, co_varnames=tuple(places))
    except SyntaxError:
        raise ValueError(f"the quantity '{name}' has no expression: {expression}") from None
    function = FunctionType(code, vars(recorder))
    function.__module__ = module or sys._getframe(1).f_globals["__name__"]
    shown, _, result = example.partition(" -> ")
    function.__doc__ = f"{meaning}\n\n>>> {shown}\n{result}\n" if example else meaning
    return formula(unit, source, **declared)(function)


#: The columns of a table of expressions: the arguments of `computed_quantity`, and the range of values that may be given.
EXPRESSED = ("name", "unit", "expression", "meaning", "label", "source", "where", "range", "of", "when", "needs", "example")


def computed_quantities(module: str) -> None:
    """Declare the quantities in the table of expressions beside a module, which gives its `__file__`."""
    name = sys._getframe(1).f_globals["__name__"]
    for row in computed_in(module):
        computed_quantity(**row, module=name)


def computed_in(module: str) -> Iterator[dict[str, Any]]:
    """The arguments of each `computed_quantity` in the table of expressions beside a module; ranges as of `given_in`."""
    with Path(module).with_suffix(".computed.csv").open(encoding="utf-8", newline="") as lines:
        _, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    for row in rows:
        told = {key: cell for key, cell in zip(EXPRESSED, row, strict=False) if cell}
        yield told | _limits_in(told.pop("range", ""))


def input_quantity(name: str, unit: str, meaning: str, **limits: object) -> None:
    """Declare a quantity that is given, with its unit and allowed range."""
    _declare(InputQuantity(name, unit, meaning, **limits))  # type: ignore[arg-type]


def _declare(one: InputQuantity) -> None:
    if one.name in _declared:
        raise ValueError(f"two definitions of the quantity '{one.name}'")
    _declared[one.name] = one


def input_quantities(module: str) -> None:
    """Declare the given quantities in the table beside a module, which gives its `__file__`, with their alternatives."""
    for one, instead in given_in(module):
        _declare(one)
        for when, formulas, optional in instead:
            alternative(one.name, *formulas, when=when, optional=optional)


def given_in(module: str) -> Iterator[tuple[InputQuantity, list[tuple[str, list[str], bool]]]]:
    """The quantities in the table beside a module, and of each its alternatives: the case, the formulas, whether optional.

    A range is `start..end`, with `whole` or `mean` before it: it begins above zero where it has no start, above the start where
    that has a `>`, else with it. Alternatives are `case: formula …; …`, with a `?` behind the case where they are optional.
    """
    with Path(module).with_suffix(".csv").open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(line for line in lines if not line.startswith("#"))
        for row in rows:
            # Cells at the end of a row may be left out.
            name, unit, span, default, meaning, label, source, instead = row + [""] * (len(head) - len(row))
            limits = _limits_in(span) if span else {}
            limits |= {"default": _number(default)} if default else {}
            ways = (way.split(": ") for way in instead.split("; ")) if instead else ()
            found = [(case.removesuffix("?"), formulas.split(), case.endswith("?")) for case, formulas in ways]
            yield InputQuantity(name, unit, meaning, label=label, source=source, **limits), found


def _limits_in(text: str) -> dict[str, Any]:
    """The limits of a range as a table writes it.

    >>> _limits_in("whole 0.."), _limits_in("..1"), _limits_in(">1..")
    ({'whole': True, 'above': False, 'low': 0}, {'high': 1}, {'low': 1})
    """
    *kinds, span = text.rpartition(" ")[::2] if ".." in text else (text, "..")
    start, _, end = span.partition("..")
    limits = dict.fromkeys(filter(None, kinds), True) | ({"above": False} if start and not start.startswith(">") else {})
    return limits | {name: _number(one) for name, one in (("low", start.removeprefix(">")), ("high", end)) if one}


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def is_quantity(name: str) -> bool:
    """Whether a name is a quantity."""
    return _declaration(name) is not None


def label_of(name: str) -> str:
    """Return the label of a quantity, the words for it inside a sentence; empty where it has none."""
    found = _declaration(name)
    return found.label if found is not None else ""


def default_of(name: str) -> float | None:
    """Return the value that a quantity has unless one is given; None where it has none."""
    return getattr(_declared.get(name) or _declaration(name), "default", None)


def unit_of(name: str) -> str:
    """Return the base unit of a quantity. Raises UsageError: no such quantity, with the nearest one."""
    return _required(name).unit


def _required(name: str) -> Formula | InputQuantity:
    found = _declared.get(name) or _declaration(name)
    if found is None:
        raise UsageError(f"no quantity is called '{name}'{nearest(name, [*FORMULAS, *INPUTS])}")
    return found


def check_value(name: str, value: Num, what: str | Option = "", written: object = None) -> Num:
    """Return the value, a number in base units or an array of them, if the quantity may have it.

    The message names it by `what`, as the user did, and shows the text that it was `written` as.

    Raises UsageError: out of range or not whole, with the range.
    """
    declared = _required(name)
    many = hasattr(value, "__array_function__")
    smallest, largest = (value.min(), value.max()) if many else (value, value)
    most = MOST_OF.get(declared.unit, MOST if physical(declared.unit) in LIMITED else declared.high)
    high = min(declared.high, most)
    low_ok = smallest > declared.low if declared.above else smallest >= declared.low
    whole_ok = not declared.whole or bool((value % 1 == 0).all() if many else value % 1 == 0)
    if low_ok and largest <= high and largest < float("inf") and whole_ok:
        return value
    kind = "a whole number" if declared.whole else "a number"
    start = "above" if declared.above else "from"
    end = f" up to {high:g}" if declared.high < float("inf") or largest > high else ""
    shown = f"{smallest:g}" if not low_ok or not many else f"{largest:g}"
    shown = " ".join(written.split()) if isinstance(written, str) else shown
    unit = f" ({declared.unit})" if declared.unit != "1" else ""
    # 10 for a share is 10 % more often than 1,000 %.
    is_percent = low_ok and declared.unit == "1" and high <= 1 and 2 <= largest <= 100 * high and "%" not in shown
    hint = f"; did you mean '{largest:g} %'?" if is_percent else ""
    raise UsageError(Message(what or name, f": found {shown}, expected {kind} {start} {declared.low:g}{end}{unit}{hint}"))


def comes_whole(name: str) -> bool:
    """Whether a quantity counts what comes whole, such as tokens; a rate of them, or their mean, may be a fraction."""
    declared = _required(name)
    return declared.whole or (declared.unit in COUNTED and not declared.mean)


def read_value(name: str, written: object, what: str = "") -> float:
    """A number in base units from what a person wrote for a quantity, which the message names by `what`.

    Raises UsageError: as `parse` and `check_value`.
    """
    declared = _required(name)
    counts = physical(declared.unit) in ("1", "1/s", "W") and declared.high > MOST_FACTOR
    whole = comes_whole(name) or (False if counts else None)
    return check_value(name, parse(written, declared.unit, what or name, whole), what, written)  # type: ignore[no-any-return]


class Step(NamedTuple):
    """One node of a derivation: a quantity, its value, and how it came about.

    Two steps are equal only if they are the same object: equal values of two jobs are two steps.
    """

    name: str  # the quantity
    value: Num  # its value in base units
    formula: Formula | None  # the formula that yielded it, or None where the value was given
    inputs: tuple[Step, ...] = ()  # the steps it was computed from
    source: Input | None = None  # the input whose value it is; None where it is computed or a declared default
    owner: str = ""  # the job, data set, cluster or year that it belongs to; empty for the whole site or a single job


# A named tuple is created several times faster than a frozen dataclass; only its comparison by value has to go.
Step.__hash__ = object.__hash__  # type: ignore[method-assign]
Step.__eq__ = object.__eq__  # type: ignore[method-assign]
Step.__ne__ = object.__ne__  # type: ignore[method-assign]


#: A step from its fields, without the function that checks them: a site has hundreds of thousands.
new_step: Callable[[tuple[Any, ...]], Step] = partial(tuple.__new__, Step)
#: The value of a step, for `map`.
value_of: Callable[[Step], Num] = itemgetter(Step._fields.index("value"))


def derive(
    name: str,
    given: Mapping[str, Num | Input],
    known: dict[str, Step] | None = None,  # steps already computed from the same `given`; new ones are added
    owner: str = "",  # the owner of what is computed
    input_owner: str = "",  # the owner of what is given
    cases: Collection[str] = (),  # as the question states; an alternative for one wins over the formula of its quantity
) -> Step:
    """Compute a quantity and keep every step on the way.

    A value that is given in base units, plain or with its source, wins over its formula. Values may be numbers, NumPy arrays
    or expressions.

    Raises MissingQuantity: a quantity on the way is neither given nor computable; CyclicQuantity: a quantity would have to be
    known before it can be computed; UsageError: it exceeds the range of floating-point numbers.
    """
    try:
        return _derive(name, given, {} if known is None else known, (owner, input_owner), [], cases)
    except (OverflowError, ZeroDivisionError):
        raise UsageError(OUT_OF_RANGE.format(name)) from None


def _derive(
    name: str,
    given: Mapping[str, Num | Input],
    known: dict[str, Step],
    owners: tuple[str, str],
    path: list[str],
    cases: Collection[str],
) -> Step:
    if name in known:
        return known[name]
    if name in given:
        item = given[name]
        value, source = (item.value, item) if isinstance(item, Input) else (item, None)
        step = new_step((name, value, None, (), source, owners[1]))
    else:
        found = _declared.get(name) or _required(name)
        if name in path:
            circle = " needs ".join([*path[path.index(name) :], name])
            raise CyclicQuantity(f"cyclic quantity: {circle}; give one of them with --set")
        instead: Step | None = None
        for one in _alternatives.get(name, ()) if cases else ():
            if instead is None and one.when in cases:
                try:
                    instead = _derive(one.formula, given, known, owners, [*path, name], cases)
                except MissingQuantity:
                    if not one.optional:
                        raise
        if instead is not None:
            step = linked(name, instead, owners[0])
        elif isinstance(found, Formula):
            path.append(name)
            inputs = tuple([known.get(need) or _derive(need, given, known, owners, path, cases) for need in found.needs])
            path.pop()
            step = new_step((name, found.function(*map(value_of, inputs)), found, inputs, None, owners[0]))
        elif found.default is not None:
            step = Step(name, found.default, None, (), None, owners[1])
        else:
            raise MissingQuantity(name, _missing(name, path[0] if path else "", found.unit))
    known[name] = step
    return step


def linked(name: str, step: Step, owner: str = "") -> Step:
    """Another quantity under a name of its own."""
    return new_step((name, step.value, _link(name, step.name), (step,), None, owner))


@cache
def _link(name: str, other: str) -> Formula:
    return Formula(name, unchanged, (other,), unit_of(name), "definition", "")


#: What every command about a job takes as an option of that name.
JOB_SIZES = ("gpus", "nodes")


@lru_cache(maxsize=1024)
def _missing(name: str, wanted: str, unit: str) -> Message:
    needed = f" (needed for {wanted})" if wanted else ""
    supply = (name,) if name in JOB_SIZES else (f"set.{name}",)
    return Message(f"{name} is not known{needed}, expected in {unit}", supply=supply)


def in_order(roots: Iterable[Step]) -> list[Step]:
    """The roots and all that they rest on, each once, inputs first; a site is deeper than Python's stack."""
    done: dict[Step, None] = {}
    for root in roots:
        path = [] if root in done else [(root, [*root.inputs[::-1]])]
        while path:
            step, waiting = path[-1]
            deeper = False
            while waiting and not deeper:
                part = waiting.pop()
                if part not in done:
                    if part.inputs:
                        path.append((part, [*part.inputs[::-1]]))
                        deeper = True
                    else:
                        done[part] = None
            if not deeper:
                done[step] = None
                path.pop()
    return list(done)


def steps_below(roots: Iterable[Step]) -> list[Step]:
    """The roots and all that they rest on, each once, results first."""
    found: dict[Step, None] = {}
    waiting = [*roots][::-1]
    while waiting:
        step = waiting.pop()
        if step not in found:
            found[step] = None
            waiting += step.inputs[::-1]
    return list(found)


def needs_below(names: Iterable[str]) -> set[str]:
    """The names of quantities, and of all that their own formulas rest on.

    >>> sorted(needs_below(["chunk_step_tokens"]))
    ['chunk_overlap_tokens', 'chunk_step_tokens', 'chunk_tokens']
    """
    found, new = set[str](), set(names)
    while new:
        found |= new
        new = {need for name in new for need in getattr(_declaration(name), "needs", ())} - found
    return found


def solve(name: str, given: Mapping[str, Num]) -> Num:
    """Compute a quantity from what is given.

    Raises MissingQuantity: a quantity on the way is neither given nor computable; CyclicQuantity: a quantity would have to be
    known before it can be computed.
    """
    if name in given:
        return given[name]
    found, known_by = _declared.get(name), _declared.get
    if isinstance(found, Formula):
        values = [given[need] if need in given else getattr(known_by(need), "default", None) for need in found.needs]
        if NoneType not in map(type, values):
            try:
                return found.function(*values)
            except (OverflowError, ZeroDivisionError):
                raise UsageError(OUT_OF_RANGE.format(name)) from None
    route = _routes.get(key := (name, *given))
    if route is None:
        steps: dict[str, Step] = {}
        value = derive(name, given, steps).value
        if len(_routes) >= MOST_ROUTES:
            _routes.clear()
        _routes[key] = tuple((step.name, step.formula) for step in steps.values() if step.name not in given)
        return value
    known: dict[str, Any] = dict(given)
    try:
        for each, one in route:
            known[each] = default_of(each) if one is None else one.function(*map(known.get, one.needs))
    except (OverflowError, ZeroDivisionError):
        raise UsageError(OUT_OF_RANGE.format(name)) from None
    return known[name]


#: The formulas that lead to a quantity from given ones, by their names; and how many of these ways are kept.
_routes: dict[tuple[str, ...], tuple[tuple[str, Formula | None], ...]] = {}
MOST_ROUTES = 500
