"""Requirement lines as the need of `fit`: which lines count, what each asks for, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ingest.engine.value import Input
from ingest.errors import UsageError
from ingest.formula import check_value
from ingest.requirement import PRIORITIES, Requirement
from ingest.storage.need import Need

#: What a line asks for, by its metric.
BY_METRIC = {
    "site_sustained_read_bandwidth": "read_bandwidth_needed",
    "site_largest_read_bandwidth": "read_bandwidth_needed",
    "site_read_bandwidth": "read_bandwidth_needed",
    "site_largest_restart_bandwidth": "read_bandwidth_needed",
    "site_restart_bandwidth": "read_bandwidth_needed",
    "site_staging_bandwidth": "read_bandwidth_needed",
    "site_node_read_bandwidth": "node_read_bandwidth_needed",
    "site_write_bandwidth": "write_bandwidth_needed",
    "site_largest_write_bandwidth": "write_bandwidth_needed",
    "site_sustained_write_bandwidth": "write_bandwidth_needed",
    "site_usable_bytes": "required_usable_bytes",
    "site_files": "files_needed",
    "site_file_opens": "opens_per_second_needed",
    "site_file_creates": "creates_per_second_needed",
}
#: What a line of somebody else's asks for, by operation and unit.
BY_OPERATION = {
    ("read", "B/s"): "read_bandwidth_needed",
    ("write", "B/s"): "write_bandwidth_needed",
    ("hold", "B"): "required_usable_bytes",
    ("open", "file/s"): "opens_per_second_needed",
    ("create", "file/s"): "creates_per_second_needed",
    ("hold", "file"): "files_needed",
}
#: Why a line of `plan` sets no need of today.
NOT_A_NEED = {
    "site_raw_bytes": "raw capacity follows from the usable one",
    "site_grown_read_bandwidth": "growth is no need of today",
    "site_mixed_bandwidth": "reads and writes are judged each by its own",
    "site_alternating_bandwidth": "reads and writes are judged each by its own",
    "site_node_local_bytes": "local drives are judged by what is staged on them",
    "site_media_bytes_per_day": "endurance is not judged",
}
OTHERWISE = "nothing here is held against it"


def from_requirements(lines: Iterable[Requirement], title: str = "requirement lines", priority: str = "mandatory") -> Need:
    """The need of requirement lines: of several lines that ask for the same, the largest counts.

    Lines are totals of the site, each under its own conditions, so that they are not added up: whether they
    happen at once is for the plan to say, with a line of its own.

    Args:
        lines: of a plan.
        title: who asks.
        priority: the lowest that counts: `mandatory`, `target` or `information`.

    Raises:
        UsageError: no such priority, or no line that counts asks for bandwidth, capacity, opens or creates.
    """
    everything = list(lines)
    counting = [line for line in everything if _counts(line, priority)]
    asking = {line.id: (asked_by(line), line) for line in counting}
    largest: dict[str, Requirement] = {}
    for name, line in asking.values():
        if name and (name not in largest or line.value > largest[name].value):
            largest[name] = line
    if not largest:
        known = ", ".join(f"{operation} in {unit}" for operation, unit in BY_OPERATION)
        raise UsageError(f"{title}: no {priority} line can be held against storage, expected one that asks for {known}")
    given = {
        name: Input(check_value(name, line.value, line.id), high=line.high, origin="user", note=f"{line.id}: {line.statement}")
        for name, line in largest.items()
    }
    high = {name: line.high for name, line in largest.items() if line.high is not None}
    notes = (*_not_judged(counting), *_too_low(everything, priority))
    return Need(title, {**_conditions(counting), **given}, high=high, notes=notes, shared=True)


def asked_by(line: Requirement) -> str:
    """The quantity that a line asks for; empty where `fit` judges nothing of the kind."""
    if line.metric in NOT_A_NEED:
        return ""
    return BY_METRIC.get(line.metric) or BY_OPERATION.get((line.conditions.operation, line.unit), "")


def _counts(line: Requirement, priority: str) -> bool:
    if priority not in PRIORITIES:
        raise UsageError(f"--priority: found '{priority}', expected one of {', '.join(PRIORITIES)}")
    return PRIORITIES.index(line.priority) <= PRIORITIES.index(priority)


def _not_judged(counting: Sequence[Requirement]) -> tuple[str, ...]:
    """The lines that count and set no need, with the reason; each reason once."""
    reasons: dict[str, list[str]] = {}
    for line in counting:
        if not asked_by(line):
            reasons.setdefault(NOT_A_NEED.get(line.metric, OTHERWISE), []).append(line.id)
    found = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in reasons.items())
    return (f"lines that are not judged here: {found}",) if found else ()


def _too_low(lines: Sequence[Requirement], priority: str) -> tuple[str, ...]:
    """The lines that would ask for something if their priority counted."""
    left_out = [line.id for line in lines if asked_by(line) and not _counts(line, priority)]
    if not left_out:
        return ()
    return (f"lines below the priority {priority} do not count: {', '.join(left_out)}; --priority takes them in",)


def _conditions(counting: Sequence[Requirement]) -> dict[str, Input]:
    """Clients, request size and threads of the largest line about reads that names clients, else about writes."""
    for asked in ("read_bandwidth_needed", "write_bandwidth_needed"):
        named = [line for line in counting if asked_by(line) == asked and line.conditions.clients]
        if named:
            return _conditions_of(max(named, key=lambda line: line.value), asked)
    return {}


def _conditions_of(line: Requirement, asked: str) -> dict[str, Input]:
    found: Mapping[str, int | None] = {
        "nodes": line.conditions.clients,
        # The size of writes says nothing about reads.
        "io_bytes": line.conditions.io_size if asked == "read_bandwidth_needed" else None,
        "requests_in_flight_per_node": line.conditions.threads,
    }
    return {
        name: Input(check_value(name, value, f"{line.id}: {name}"), origin="user", note=f"a condition of {line.id}")
        for name, value in found.items()
        if value is not None
    }
