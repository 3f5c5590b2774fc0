"""From steps to requirement lines: value, conditions, wording, priority, derivation, assumptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import Step, steps_below, unit_of
from ingest.engine.result import why_assumed
from ingest.engine.solver import Quantities
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.site.checks import of_line
from ingest.site.requirement_wording import CLIENTS, RequirementTemplate
from ingest.site.site_file import Site
from ingest.sizing.derivation_text import DerivationWriter
from ingest.sizing.rules import Finding, finding
from ingest.units import display, request_size

THREADS = 8
#: what an assumption of the tests is called, so that a requirement can name it
THREADS_ASSUMED = "threads_per_client"
UNCACHED = "uncached: the data read are at least five times the memory of the clients, and other clients have written them"
#: operations whose requests are those of a read line and of a write line
MIXED = ("read and write", "read or write")
#: unit of a rate -> the reporting threshold, below which it is not a requirement
FLOORS = {
    "B/s": "smallest_bandwidth_asked",
    "B/s/node": "smallest_bandwidth_asked",
    "file/s": "smallest_file_rate_asked",
}
VERBS = {
    "mandatory": "The system shall {}.",
    "target": "The system should {}.",
    "information": "For information: the system would {}.",
}
#: why a line is for information only
TOO_SMALL = " Below the reporting threshold of {floor}, therefore not a requirement."


@dataclass(frozen=True)
class RequirementValue:
    """The value of a requirement line, and the quantities behind it.

    Attributes:
        line: the line.
        step: the value.
        below: the given quantities and the columns that it rests on.
    """

    line: RequirementTemplate
    step: Step
    below: list[Step]

    @cached_property
    def column(self) -> Step | None:
        """The column that holds the entry of each job."""
        columns = (part for part in self.below if part.name == self.line.column)
        return max(columns, key=lambda part: len(part.inputs), default=None)

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
        return "" if self.largest is None else self.largest.owner

    @cached_property
    def jobs(self) -> set[str]:
        """All jobs with an entry in a column below the value."""
        columns = (part for part in self.below if part.name.endswith("_of_jobs"))
        return {entry.owner for part in columns for entry in part.inputs if entry.owner}


@dataclass(frozen=True)
class WrittenRequirement:
    """A requirement, and the quantities and rules that its wording follows.

    Attributes:
        requirement: the requirement.
        step: its value.
        tested: the quantities that its conditions name.
        floor: the rate below which it is for information only; None where its value is above.
        findings: the rules that decided its priority and conditions.
    """

    requirement: Requirement
    step: Step
    tested: tuple[Step, ...]
    floor: Step | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class RequirementWriter:
    """Writes the requirement lines of a site.

    Attributes:
        site: the site.
        known: the quantities of the whole site.
        jobs: the rows of the jobs, by name.
        derivations: writes how a value follows from its inputs.
        spread: low and high end of each line, where known.
    """

    site: Site
    known: Quantities
    jobs: Mapping[str, QuantityRow]
    derivations: DerivationWriter
    spread: Mapping[str, tuple[float, float]]

    def write(self, value: RequirementValue) -> WrittenRequirement:
        """One requirement with its wording and conditions."""
        line, step = value.line, value.step
        limit = self._limit(line)
        floor = limit if limit is not None and float(step.value) < float(limit.value) else None
        conditions = self._conditions(value)
        tested = self._tested(value, floor)
        allowed = self._allowed_priority(value)
        given = [part for part in (*value.below, *steps_below(tested)) if part.formula is None]
        assumed = {part.name for part in given if part.source is not None and why_assumed(part.source) is not None}
        if conditions.threads is not None and "threads" not in self._job(value.job):
            assumed.add(THREADS_ASSUMED)
        low, high = self.spread.get(line.id, (None, None))
        requirement = Requirement(
            line.id,
            allowed if floor is None else "information",
            self._statement(value, conditions, allowed, floor),
            line.metric,
            float(step.value),
            unit_of(line.metric),
            conditions,
            tuple(self.derivations.lines(step)),
            tuple(sorted(assumed)),
            low,
            high,
        )
        return WrittenRequirement(requirement, step, tested, floor, tuple(self._findings(value, limit)))

    def _findings(self, value: RequirementValue, limit: Step | None) -> Iterator[Finding]:
        """The choices that the wording of a line follows."""
        line = value.line
        column = value.column if line.clients and value.job else None
        if column is not None and len({self._conditions_of(line, entry.owner) for entry in column.inputs}) == 1:
            column = None
        choices = [*of_line(line.id, value.step, limit, column)]
        if "{writes}" in line.says and not self._checkpoints_overlap:
            choices.append(finding("C10", self.known.step, owner=line.id))
        yield from (one for one in choices if one is not None)

    def _conditions_of(self, line: RequirementTemplate, name: str) -> tuple[object, ...]:
        """The conditions that a line takes from the job with the largest entry: where all jobs agree, no choice is made."""
        own = line.clients == "run" or "{whose}" in line.says or ("{io}" in line.says and line.operation == "read")
        threads = self._job(name).get("threads", THREADS) if "{threads}" in line.says else None
        return name if own else "", threads

    def _statement(self, value: RequirementValue, conditions: Conditions, allowed: str, floor: Step | None) -> str:
        """The sentence of a line, with its numbers as people read them."""
        line, size, threads = value.line, conditions.io_size, conditions.threads or 0
        units = {"clients": "client", "duration": "s", "fill": "%"}
        known = {name: getattr(conditions, name) for name in units}
        fields = {
            "value": display(float(value.step.value), unit_of(line.metric)),
            "pattern": conditions.pattern,
            "threads": f"{threads} thread{'' if threads == 1 else 's'}",
            "io": "sequential" if size is None else request_size(size),
            "whose": f"; I/O size as in job {value.job}" if len(value.jobs) > 1 else "",
            "writes": self._writes(line),
            "within": self._within(value),
            **{name: display(number, units[name]) for name, number in known.items() if number is not None},
            **({} if floor is None else {"floor": display(float(floor.value), unit_of(floor.name))}),
        }
        template = VERBS[allowed if floor is None else "information"].format(line.says)
        written = template + (TOO_SMALL if floor is not None and allowed != "information" else "")
        return re.sub(r"\s+", " ", written.format(**fields)).strip()

    def _tested(self, value: RequirementValue, floor: Step | None) -> tuple[Step, ...]:
        line = value.line
        names = ["fill_limit"] if "{fill}" in line.says else []
        if value.job and line.clients:
            names += ["test_seconds", *(["write_request_bytes"] if line.operation == "write" else [])]
        tested: list[Step | None] = [self.known.step(name) for name in names]
        if "{io}" in line.says and line.operation == "read" and value.job:
            tested.append(self.jobs[value.job].step("read_request_bytes"))
        return tuple(part for part in (*tested, floor) if part is not None)

    def _limit(self, line: RequirementTemplate) -> Step | None:
        """The rate below which a line of this unit is for information only."""
        name = FLOORS.get(unit_of(line.metric))
        return None if name is None else self.known.step(name)

    def _within(self, value: RequirementValue) -> str:
        """The time that the jobs behind a line allow: of the job with the largest entry, or of all that take part."""
        line = value.line
        if not line.within:
            return ""
        counted = [value.largest] if line.clients == "run" and value.largest is not None else value.entries
        times = [float(part.value) for part in steps_below(counted) if part.name == line.within]
        if not times:
            return "in time"
        least, most = (display(end(times), "s") for end in (min, max))
        return f"within {least}" if min(times) == max(times) else f"each within its own time, from {least} to {most}"

    def _job(self, name: str) -> Mapping[str, Any]:
        described: Mapping[str, Any] = self.site.section("jobs").get(name, {})
        return described

    @property
    def _checkpoints_overlap(self) -> bool:
        return bool(self.site.section("overlap").get("checkpoints"))

    def _conditions(self, value: RequirementValue) -> Conditions:
        line, fill = value.line, self.known.value("fill_limit")
        if not line.clients or not value.job:
            return Conditions(line.operation, fill=fill if line.operation == "hold" else None)
        job, row = self._job(value.job), self.jobs[value.job]
        counted = row.known if line.clients == "run" else self.known
        clients = int(counted.value(CLIENTS[line.clients]))
        shared: dict[str, Any] = {"clients": clients, "duration": self.known.value("test_seconds"), "fill": fill}
        if line.operation == "write":
            size = int(self.known.value("write_request_bytes"))
            return Conditions("write", io_size=size, pattern="sequential", files="file per process", **shared)
        if line.operation == "create":
            return Conditions("create", **shared)
        if line.operation in MIXED:
            return Conditions(line.operation, cache=UNCACHED, **shared)
        threads = int(job.get("threads", THREADS))
        if line.operation == "open":
            return Conditions("open", threads=threads, **shared)
        if line.streams:
            return Conditions("read", pattern="sequential", cache=UNCACHED, **shared)
        request = row.step("read_request_bytes")
        io_size = int(request.value) if request is not None else None
        pattern = str(job.get("pattern", "random"))
        return Conditions("read", threads=threads, io_size=io_size, pattern=pattern, cache=UNCACHED, **shared)

    def _allowed_priority(self, value: RequirementValue) -> str:
        """The line's own priority, as `overlap` raises it, and no higher than that of the jobs behind the line."""
        line = value.line
        own = "mandatory" if self.site.section("overlap").get(line.raised_by) else line.priority
        of_jobs = [str(self._job(name).get("priority", "mandatory")) for name in value.jobs] or [own]
        return max(own, min(of_jobs, key=PRIORITIES.index), key=PRIORITIES.index)

    def _writes(self, line: RequirementTemplate) -> str:
        """The id of the line that states the concurrent writes."""
        if "{writes}" not in line.says:
            return ""
        if self._checkpoints_overlap:
            return "R-WRITE-01"
        within = finding("C10", self.known.step)
        return "R-WRITE-02" if within is not None and within.true else "R-WRITE-03"
