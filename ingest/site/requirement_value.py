"""The value of a requirement line, and the quantities behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ingest.engine.derivation_graph import nearest_below
from ingest.engine.registry import Step
from ingest.site.requirement_wording import RequirementTemplate


@dataclass(frozen=True)
class RequirementValue:
    """The value of a requirement line, and the quantities behind it.

    Attributes:
        line: the line.
        step: the value.
        columns: the columns that it rests on, the topmost first.
        assumed: the names of the assumed inputs that it rests on.
    """

    line: RequirementTemplate
    step: Step
    columns: list[Step]
    assumed: frozenset[str]

    @cached_property
    def compared(self) -> tuple[Step, Step] | None:
        """What the workload needs and what the guidance asks for; None where the workload alone counts."""
        if self.line.floor is None:
            return None
        floor = self.line.floor
        workload, guidance = nearest_below(self.step, (floor.with_tiers, floor.workload), (floor.guidance,))
        return workload, guidance

    @property
    def by_guidance(self) -> bool:
        """Whether the guidance decides, because the workload needs less."""
        return self.compared is not None and float(self.compared[0].value) < float(self.compared[1].value)

    @cached_property
    def column(self) -> Step | None:
        """The column that holds the entry of each job."""
        single = self.line.floor.column if self.line.floor is not None and self.by_guidance else ""
        beside = self.line.beside.column if self.line.beside is not None else ""
        found = map(self._column, (single or self.line.column, beside))
        return max((one for one in found if one is not None), key=_largest, default=None)

    def _column(self, name: str) -> Step | None:
        return max((part for part in self.columns if part.name == name), key=lambda part: len(part.inputs), default=None)

    @property
    def timed(self) -> Sequence[Step]:
        """What the jobs need, in the times that they allow."""
        name = self.line.column if self.line.beside is None or self.column is None else self.column.name
        return [entry for part in self.columns if part.name == name for entry in part.inputs]

    @property
    def within(self) -> str:
        """The time that a job allows, by its quantity; empty where no time is behind the value."""
        beside = self.line.beside
        return self.line.within if beside is None or self.column is None or self.column.name != beside.column else beside.within

    @property
    def phase(self) -> str:
        """How long the load of a job lasts, by its quantity; empty for a load without an end."""
        return self.line.phase if self.line.beside is None else self.within

    @property
    def entries(self) -> Sequence[Step]:
        """The entries of the jobs."""
        return () if self.column is None else self.column.inputs

    @cached_property
    def largest(self) -> Step | None:
        """The largest entry of a job."""
        return max(self.entries, key=lambda entry: float(entry.value), default=None)

    @property
    def job(self) -> str:
        """The job with the largest entry: its I/O sets the conditions; empty where there is none."""
        return self.largest.owner if self.largest is not None and self.line.column.endswith("_of_jobs") else ""

    @cached_property
    def jobs(self) -> set[str]:
        """All jobs with an entry in a column below the value."""
        columns = (part for part in self.columns if part.name.endswith("_of_jobs"))
        return {entry.owner for part in columns for entry in part.inputs if entry.owner}


def _largest(column: Step) -> float:
    return max((float(entry.value) for entry in column.inputs), default=0.0)
