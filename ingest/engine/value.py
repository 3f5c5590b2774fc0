"""Values with what is known about them: inputs, their evidence, and results."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ingest.engine.messages import Message, Option
from ingest.units import display


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
    parts: tuple[Evidence, ...] = ()  # the evidence it was made from, in the unit of the value

    def by_default(self, why: str, *supply: str | Option) -> Input:
        """The value, as one that holds until the user sets it; `supply` names the ways."""
        return self._replace(origin="default", note=_note(why, supply))


@lru_cache(maxsize=1024)
def _note(why: str, supply: tuple[str | Option, ...]) -> Message:
    return Message(why, supply=supply)


def assumed(value: float, why: str, *supply: str | Option, source: str = "", where: str = "") -> Input:
    """A value that nobody has published, and that holds until the user sets it; `supply` names the ways."""
    return Input(value, source=source, where=where, grade="assumed").by_default(why, *supply)


def derived(value: Any, where: str, *, note: str = "") -> Input:
    """A number, or a column of numbers, that is counted from an entry; `where` says from what."""
    return Input(value, source="arithmetic", where=where, grade="derived", note=note)


class Quantity(NamedTuple):
    """A result: base units, and its range where a spread is known.

    >>> print(Quantity(827.5e9, "B/s", 314.5e9, 827.5e9))
    827.5 GB/s (770.7 GiB/s), 314.5 GB/s to 827.5 GB/s
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

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
