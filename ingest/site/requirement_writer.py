"""From steps to requirement lines: value, conditions, wording, priority, derivation, assumptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import Row, steps_below
from ingest.engine.registry import Step, unit_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.site.checks import of_line
from ingest.site.derivation_text import Teller
from ingest.site.requirement_lines import CLIENTS, Line
from ingest.site.site_file import Site
from ingest.sizing.rules import Finding, finding
from ingest.units import display, request_size

THREADS = 8
#: what an assumption of the tests is called, so that a requirement can name it
THREADS_ASSUMED = "threads_per_client"
UNCACHED = "uncached: the data read are at least five times the memory of the clients, and of another writer"
#: operations whose requests are those of a read line and of a write line
MIXED = ("read and write", "read or write")
#: unit of a rate -> the rate below which it is not asked for
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
TOO_SMALL = " It is not asked for: a single drive gives {floor}."


class Found(NamedTuple):
    """How the value of a line came about.

    Attributes:
        step: the value.
        given: what it rests on that was given.
        columns: what it rests on that gathers a column.
    """

    step: Step
    given: list[Step]
    columns: list[Step]


@dataclass(frozen=True)
class Writer:
    """Writes the requirement lines of a site.

    Attributes:
        jobs: the rows of the jobs, by name.
        owners: whose row each step is.
        spread: low and high end of each line, where known.
    """

    site: Site
    known: Quantities
    jobs: Mapping[str, Row]
    owners: Mapping[int, str]
    given: Mapping[int, Input]
    teller: Teller
    spread: Mapping[str, tuple[float, float]]

    @cached_property
    def _assumed(self) -> frozenset[int]:
        """Identities of the given steps that nobody measured and the user did not say."""
        return frozenset(step for step, item in self.given.items() if _assumed(item))

    def write(self, line: Line, found: Found) -> Requirement:
        """One requirement line.

        Args:
            line: which one.
            found: how its value came about.
        """
        step = found.step
        decides = _decides(line, found, self.owners)
        conditions = self._conditions(line, decides)
        low, high = self.spread.get(line.id, (None, None))
        rests_on = [*found.given, *(part for one in self.tested(line, found) for part in one.leaves())]
        assumed = {part.name for part in rests_on if id(part) in self._assumed}
        if conditions.threads is not None and "threads" not in self._job(decides):
            assumed.add(THREADS_ASSUMED)
        return Requirement(
            line.id,
            self._priority(line, found),
            self._statement(line, found, conditions),
            line.metric,
            float(step.value),
            unit_of(line.metric),
            conditions,
            tuple(self.teller.lines(step)),
            tuple(sorted(assumed)),
            low,
            high,
        )

    def findings(self, line: Line, found: Found) -> list[Finding]:
        """The choices that the words of a line follow."""
        decides = _decides(line, found, self.owners)
        column = _column(line, found) if line.clients and decides else None
        if column is not None and len({self._taken(line, self.owners.get(id(entry), "")) for entry in column.inputs}) == 1:
            column = None
        limit = self._limit(line)
        choices = [*of_line(line.id, found.step, limit, column)]
        if "{writes}" in line.says and not self.site.section("overlap").get("checkpoints"):
            choices.append(finding("C10", self.known.step, owner=line.id))
        return [one for one in choices if one is not None]

    def _taken(self, line: Line, name: str) -> tuple[object, ...]:
        """What a line would take from a job if its entry were the largest: where all jobs agree, none is chosen."""
        job = self._job(name)
        own = line.clients == "run" or "{whose}" in line.says or ("{io}" in line.says and line.operation == "read")
        threads = job.get("threads", THREADS) if "{threads}" in line.says else None
        return name if own else "", threads

    def _statement(self, line: Line, found: Found, conditions: Conditions) -> str:
        """The sentence of a line, with its numbers as people read them."""
        size, threads = conditions.io_size, conditions.threads or 0
        several = len(self._behind(found)) > 1
        floor, wanted = self._floor(line, found.step), self._wanted(line, found)
        units = {"clients": "client", "duration": "s", "fill": "%"}
        known = {name: getattr(conditions, name) for name in units}
        fields = {
            "value": display(float(found.step.value), unit_of(line.metric)),
            "pattern": conditions.pattern,
            "threads": f"{threads} thread{'' if threads == 1 else 's'}",
            "io": "sequential" if size is None else request_size(size),
            "whose": f"; with the requests of {_decides(line, found, self.owners)}" if several else "",
            "writes": self._writes(line),
            "within": self._within(line, found),
            **{name: display(value, units[name]) for name, value in known.items() if value is not None},
            **({} if floor is None else {"floor": display(float(floor.value), unit_of(floor.name))}),
        }
        template = VERBS[self._priority(line, found)].format(line.says)
        written = template + (TOO_SMALL if floor is not None and wanted != "information" else "")
        return re.sub(r"\s+", " ", written.format(**fields)).strip()

    def tested(self, line: Line, found: Found) -> tuple[Step, ...]:
        """The quantities that the conditions of a line name."""
        decides = _decides(line, found, self.owners)
        names = ["fill_limit"] if "{fill}" in line.says else []
        if decides and line.clients:
            names += ["test_seconds", *(["write_request_bytes"] if line.operation == "write" else [])]
        tested = [self.known.step(name) for name in names]
        size = (
            self.jobs[decides].step("read_request_bytes")
            if "{io}" in line.says and line.operation == "read" and decides
            else None
        )
        return tuple(part for part in (*tested, size, self._floor(line, found.step)) if part is not None)

    def _limit(self, line: Line) -> Step | None:
        """The rate below which nothing is asked for, of the kind of a line."""
        name = FLOORS.get(unit_of(line.metric))
        return None if name is None else self.known.step(name)

    def _floor(self, line: Line, step: Step) -> Step | None:
        """The rate below which nothing is asked for, where a line stays below it."""
        floor = self._limit(line)
        return floor if floor is not None and float(step.value) < float(floor.value) else None

    def _within(self, line: Line, found: Found) -> str:
        """The time that the jobs behind a line allow: the one that decides, or all where all take part."""
        if not line.within:
            return ""
        entries = _entries(line, found)
        counted = [_largest(entries)] if line.clients == "run" and entries else entries
        told: set[int] = set()
        times = [float(part.value) for entry in counted for part in steps_below(entry, told) if part.name == line.within]
        if not times:
            return "in time"
        least, most = (display(end(times), "s") for end in (min, max))
        return f"within {least}" if min(times) == max(times) else f"each within its own time, from {least} to {most}"

    def _job(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.site.section("jobs").get(name, {})
        return found

    def _conditions(self, line: Line, decides: str) -> Conditions:
        fill = self.known.value("fill_limit")
        if not line.clients or not decides:
            return Conditions(line.operation, fill=fill if line.operation == "hold" else None)
        job, row = self._job(decides), self.jobs[decides]
        asked = row.known if line.clients == "run" else self.known
        clients = int(asked.value(CLIENTS[line.clients]))
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
        one = int(request.value) if request is not None else None
        pattern = str(job.get("pattern", "random"))
        return Conditions("read", threads=threads, io_size=one, pattern=pattern, cache=UNCACHED, **shared)

    def _priority(self, line: Line, found: Found) -> str:
        """For information where the value is too small to be asked for."""
        return self._wanted(line, found) if self._floor(line, found.step) is None else "information"

    def _wanted(self, line: Line, found: Found) -> str:
        """The line's own, as the file's overlap says, and no higher than that of the jobs behind it."""
        own = "mandatory" if self.site.section("overlap").get(line.raised_by) else line.priority
        wanted = [str(self._job(name).get("priority", "mandatory")) for name in self._behind(found)] or [own]
        return max(own, min(wanted, key=PRIORITIES.index), key=PRIORITIES.index)

    def _behind(self, found: Found) -> set[str]:
        """The jobs that have an entry in a column below a line."""
        columns = (part for part in found.columns if part.name.endswith("_of_jobs"))
        return {self.owners[id(entry)] for part in columns for entry in part.inputs if id(entry) in self.owners}

    def _writes(self, line: Line) -> str:
        """The line that says which writes fall into one moment."""
        if "{writes}" not in line.says:
            return ""
        if self.site.section("overlap").get("checkpoints"):
            return "R-WRITE-01"
        within = finding("C10", self.known.step)
        return "R-WRITE-02" if within is not None and within.true else "R-WRITE-03"


def _decides(line: Line, found: Found, owners: Mapping[int, str]) -> str:
    """The job whose entry in the line's column is largest: its I/O sets the conditions."""
    entries = _entries(line, found)
    return owners.get(id(_largest(entries)), "") if entries else ""


def _column(line: Line, found: Found) -> Step | None:
    """The column into which the jobs put their entries for a line."""
    return max((part for part in found.columns if part.name == line.column), key=lambda part: len(part.inputs), default=None)


def _entries(line: Line, found: Found) -> Sequence[Step]:
    """What the jobs put into the column of a line."""
    column = _column(line, found)
    return () if column is None else column.inputs


def _largest(entries: Sequence[Step]) -> Step:
    return max(entries, key=lambda entry: float(entry.value))


def _assumed(item: Input) -> bool:
    if item.origin == "user":
        return False
    return item.origin == "default" or item.grade == "assumed" or any(part.grade == "assumed" for part in item.parts)
