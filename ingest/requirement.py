"""A line of a storage requirement: what `plan` derives, `report` prints, `accept` tests and `verdict` judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingest.units import as_printed, display

PRIORITIES = ("mandatory", "target", "information")


def least_accepted(value: float, unit: str) -> float:
    """Return what meets a required value: the value itself or what is printed of it, whichever is lower.

    Args:
        value: that is required, in base units.
        unit: its base unit.

    >>> least_accepted(265_245_076_866.5, "B/s"), least_accepted(984_496_892_142.8, "B/s")
    (265200000000, 984496892142.8)
    """
    return min(value, as_printed(value, unit))


@dataclass(frozen=True)
class Conditions:
    """Under which a value holds; a bare number of bytes per second cannot be tested.

    Attributes:
        clients: nodes that take part concurrently.
        threads: of each client.
        io_size: bytes of one request.
        pattern: `random` or `sequential`.
        operation: `read`, `write`, `open`, `create` or `hold`, for capacity; `read and write` concurrently, or `read or
            write` alternately, each with the requests of the lines that the statement names.
        files: `file per process` or `shared`.
        duration: seconds.
        fill: share of the capacity that is in use meanwhile.
        cache: the rule about caches, in words.
    """

    operation: str
    clients: int | None = None
    threads: int | None = None
    io_size: int | None = None
    pattern: str = ""
    files: str = ""
    duration: float | None = None
    fill: float | None = None
    cache: str = ""


@dataclass(frozen=True)
class Requirement:
    """One requirement line.

    Attributes:
        id: stable, such as `R-READ-01`; the same in every document and file.
        priority: one of `PRIORITIES`.
        statement: a sentence with *shall* or *should*.
        metric: the quantity, by name.
        value: in base units.
        unit: its base unit.
        conditions: under which it holds.
        derivation: lines from the formula down to the given values.
        assumptions: names of the assumed quantities that it rests on.
        low, high: the range, where one is known.
    """

    id: str
    priority: str
    statement: str
    metric: str
    value: float
    unit: str
    conditions: Conditions
    derivation: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The requirement as JSON; conditions that were not set are left out."""
        conditions = {name: part for name, part in vars(self.conditions).items() if part not in (None, "")}
        spread = {name: part for name, part in (("low", self.low), ("high", self.high)) if part is not None}
        shown = {"display": display(self.value, self.unit)}
        words = ("id", "priority", "statement", "metric", "value", "unit")
        return {
            **{name: getattr(self, name) for name in words},
            **spread,
            **shown,
            "conditions": conditions,
            "derivation": list(self.derivation),
            "assumptions": list(self.assumptions),
        }
