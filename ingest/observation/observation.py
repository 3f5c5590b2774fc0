"""An observation: figures with their evidence level, window and coverage, and its JSON form `ingest/observation/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import envelope
from ingest.engine.value import Quantity

SCHEMA = "ingest/observation/1"


class Window(NamedTuple):
    """The part of an observation that its rates rest on.

    Attributes:
        seconds: its length.
        cut_before, cut_after: seconds that were cut at its start and its end.
        note: why it was cut there.
    """

    seconds: float
    cut_before: float = 0
    cut_after: float = 0
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The window in JSON, in seconds."""
        cut = {"cut_before": round(self.cut_before, 6), "cut_after": round(self.cut_after, 6)}
        return {"seconds": round(self.seconds, 6), **cut, "note": self.note}


class Figure(NamedTuple):
    """One observed quantity.

    Attributes:
        value: in base units; `low` and `high` are the 10th and the 90th percentile where a spread is known.
        basis: evidence level: `measured`, or `given` for a rate that the user typed.
        source: the kind of source: `processes`, `training log`, `Darshan log`, …
        window: the part of the observation that it rests on.
        coverage: share of what was seen that belongs to the data path; None where it is unknown.
        lower_bound: the value is at least this.
        note: how it was counted.
    """

    value: float
    unit: str
    source: str
    window: Window | None = None
    coverage: float | None = None
    basis: str = "measured"
    low: float | None = None
    high: float | None = None
    lower_bound: bool = False
    note: str = ""

    @property
    def quantity(self) -> Quantity:
        """The value with its unit and its spread."""
        return Quantity(self.value, self.unit, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """The figure in JSON; `window` and `coverage` are null where they are unknown."""
        return {
            **self.quantity.to_dict(),
            "basis": self.basis,
            "source": self.source,
            "window": self.window.to_dict() if self.window else None,
            "coverage": self.coverage,
            "lower_bound": self.lower_bound,
            "note": self.note,
        }


class SizeBin(NamedTuple):
    """Read requests of sizes from `low` up to and without `below`, in bytes."""

    low: float
    below: float
    requests: float


@dataclass(frozen=True)
class Reading:
    """What one source shows.

    Attributes:
        source: the kind of source.
        figures: quantities by name.
        unknown: the reason why a quantity is missing, by its name.
        warnings: one line each.
        sizes: read requests by size.
        facts: further words and numbers about the job, by name: files, access pattern, readers.
    """

    source: str
    figures: Mapping[str, Figure]
    unknown: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sizes: tuple[SizeBin, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False, eq=False)
class Observation(InteractiveResult):
    """What is known of one job from its own run.

    Attributes:
        title: one line.
        inputs: what was asked for: sources, paths, GPUs.
        figures: quantities by name.
        unknown: the reason why a quantity is missing, by its name.
        warnings: one line each.
        sizes: read requests by size.
        facts: further words and numbers about the job.
    """

    title: str
    inputs: Mapping[str, Any]
    figures: Mapping[str, Figure]
    unknown: Mapping[str, str]
    warnings: tuple[str, ...]
    sizes: tuple[SizeBin, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def results(self) -> Mapping[str, Quantity]:
        """The figures as plain results."""
        return {name: one.quantity for name, one in self.figures.items()}

    def to_dict(self) -> dict[str, Any]:
        """The observation in JSON, schema `ingest/observation/1`."""
        sizes: Sequence[Mapping[str, float]] = [one._asdict() for one in self.sizes]
        body = {
            "results": {name: one.to_dict() for name, one in self.figures.items()},
            "unknown": dict(self.unknown),
            "read_sizes": list(sizes),
            "facts": dict(self.facts),
        }
        return {**envelope("observe", body, inputs=self.inputs, warnings=self.warnings), "schema": SCHEMA}
