"""Values with what is known about them (inputs, their evidence, and results), and the frozen records that hold them."""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar, dataclass_transform

from ingest.engine.messages import Message, Option
from ingest.units import display

AnyFrozen = TypeVar("AnyFrozen", bound="Frozen")
Item = TypeVar("Item")
#: The default of a field that is a table without entries; nobody writes into it. It goes into JSON as it is.
EMPTY: Mapping[str, Any] = {}
#: The value of a field that has no default, before it is given.
UNSET: Any = object()
#: What gives the low and the high end of a result; None where no range reaches it.
Ends = Callable[[], tuple[float, float] | None]


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
    _unset: ClassVar[Mapping[str, Any]] = {}  # the defaults by name; `UNSET` where there is none
    _required: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, kw_only: bool = False) -> None:
        own = vars(cls)
        names = [name for name, kind in own.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]
        cls._names = tuple(dict.fromkeys((*cls._names, *names)))
        cls._unset = {name: own.get(name, cls._unset.get(name, UNSET)) for name in cls._names}
        cls._required = tuple(name for name, value in cls._unset.items() if value is UNSET)

    def __init__(self, *values: Any, **fields: Any) -> None:
        names = self._names
        given = dict(zip(names, values, strict=False)) if values else {}
        made = {**self._unset, **given, **fields}
        if len(made) > len(names) or len(values) > len(names) or not given.keys().isdisjoint(fields):
            strange = [name for name in fields if name not in names or name in given]
            found = f"argument '{strange[0]}'" if strange else f"number of arguments, {len(values)}"
            raise TypeError(f"{type(self).__name__}: unexpected {found}")
        for name in self._required:
            if made[name] is UNSET:
                raise TypeError(f"{type(self).__name__}: no value of '{name}'")
        self.__dict__.update(made)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Nothing to check."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot be deleted")


def revised(record: AnyFrozen, **changes: Any) -> AnyFrozen:
    """The record with other values of some fields."""
    return type(record)(**{**{name: getattr(record, name) for name in record._names}, **changes})


class Later(UserList[Item]):
    """Lines or evidence that are made when the first is read: who asks in a loop for a number reads none.

    >>> lines = Later(lambda: (f"line {number}" for number in (1, 2)))
    >>> lines[0], len(lines), [*lines]
    ('line 1', 2, ['line 1', 'line 2'])
    """

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, make: Callable[[], Iterable[Item]] | Sequence[Item]) -> None:
        self._make = make

    @cached_property
    def data(self) -> list[Item]:  # type: ignore[override]
        """All of them."""
        return [*(self._make() if callable(self._make) else self._make)]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has all of them."""
        return tuple, (tuple(self),)


class Source(NamedTuple):
    """A source of values."""

    id: str
    title: str
    kind: str = ""
    url: str = ""
    version: str = ""
    note: str = ""


class Evidence(NamedTuple):
    """One piece of evidence behind a value."""

    what: str
    value: float
    source: str
    where: str
    grade: str
    runs: tuple[float, ...] = ()  # the single figures where `value` is their median
    advice: str = ""  # for a buyer who requires it


class Input(NamedTuple):
    """A quantity that is given, and how it is known."""

    value: float  # in base units; `low` and `high` where a spread is known
    low: float | None = None
    high: float | None = None
    origin: str = "catalog"  # `user`, `catalog` or `default`
    source: str = ""
    where: str = ""
    grade: str = ""
    note: str = ""
    parts: Sequence[Evidence] = ()  # the evidence it was made from, in the unit of the value

    def by_default(self, why: str, *supply: str | Option) -> Input:
        """The value, as one that holds until the user sets it; `supply` names the ways."""
        return Input(*self[:3], "default", *self[4:7], _note(why, supply), self.parts)


@lru_cache(maxsize=1024)
def _note(why: str, supply: tuple[str | Option, ...]) -> Message:
    return Message(why, supply=supply)


def assumed(value: float, why: str, *supply: str | Option, source: str = "", where: str = "") -> Input:
    """A value that nobody has published, and that holds until the user sets it; `supply` names the ways."""
    return Input(value, source=source, where=where, grade="assumed").by_default(why, *supply)


def defaults_of(table: Mapping[str, Mapping[str, Any]], grade: str = "") -> dict[str, Input]:
    """Values that hold until the user sets them, by quantity: `value`, `why`, and where known `low`, `high`, `source`, `where`,
    `grade` and the ways to `supply` one's own; without those it is `--set`. `grade` is that of rows without one.
    """
    found = {}
    for name, one in table.items():
        known = {key: one[key] for key in ("low", "high", "source", "where") if key in one}
        ways = [Option.of(way) for way in one.get("supply", f"set.{name}").split()]
        found[name] = Input(one["value"], grade=one.get("grade", grade), **known).by_default(one["why"], *ways)
    return found


def derived(value: Any, where: str, *, note: str = "") -> Input:
    """A number, or a column of numbers, that is counted from an entry; `where` says from what."""
    return Input(value, source="arithmetic", where=where, grade="derived", note=note)


class Quantity:
    """A result: base units, and its range where a spread is known. A range that `ends` gives is computed when it is read: who
    asks in a loop for a number needs no range of it.

    >>> print(Quantity(827.5e9, "B/s", 314.5e9, 827.5e9))
    827.5 GB/s (770.7 GiB/s), 314.5 GB/s to 827.5 GB/s
    >>> Quantity(2, "B", ends=lambda: (1, 3)) == Quantity(2, "B", 1, 3)
    True
    """

    def __init__(
        self, value: float, unit: str, low: float | None = None, high: float | None = None, ends: Ends | None = None
    ) -> None:
        self.value, self.unit, self._ends = value, unit, ends or (low, high)

    @cached_property
    def _range(self) -> tuple[float | None, float | None]:
        return self._ends if isinstance(self._ends, tuple) else self._ends() or (None, None)

    @property
    def low(self) -> float | None:
        """The low end; None where no spread is known."""
        return self._range[0]

    @property
    def high(self) -> float | None:
        """The high end; None where no spread is known."""
        return self._range[1]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.unit, *self._range))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity, tuple(self)

    @property
    def display(self) -> str:
        """As people read it: decimal first, then binary in brackets."""
        return display(self.value, self.unit)

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.low == self.high:
            return self.display
        return f"{self.display}, {' to '.join(display(end, self.unit, binary=False) for end in (self.low, self.high))}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The value of a result in JSON: numbers in base units, `display` for people."""
        spread = {"low": self.low, "high": self.high} if self.low is not None else {}
        return {"value": self.value, **spread, "unit": self.unit, "display": self.display}
