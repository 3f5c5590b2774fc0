"""Requirement lines that one test covers, and limits of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ingest.acceptance.loads import TRIVIAL, Setting, given_for, is_binding, is_trivial, kind_of
from ingest.acceptance.test_spec import DATA, METADATA, Load
from ingest.engine.registry import solve
from ingest.requirement import PRIORITIES, Requirement
from ingest.units import display

#: Growth of requests above which a note names it.
GROWN = 1.05


def also_shown(lines: Sequence[Requirement]) -> Mapping[str, str]:
    """Requirement id -> id of the line with the highest value under the same conditions, whose test covers both."""
    shown: dict[str, str] = {}
    for line in lines:
        if kind_of(line) not in (*DATA, *METADATA) or not line.conditions.clients or line.value <= 0 or not is_binding(line):
            continue
        same = [other for other in lines if _alike(line, other) and is_binding(other)]
        most = max(same, key=lambda other: other.value)
        if most.id != line.id:
            shown[line.id] = most.id
    return shown


def _alike(line: Requirement, other: Requirement) -> bool:
    same = line.unit == other.unit and kind_of(line) == kind_of(other)
    # A buyer may omit the test of a target: it must not be the only test of a mandatory line.
    same = same and PRIORITIES.index(other.priority) <= PRIORITIES.index(line.priority)
    return same and asdict(line.conditions) == asdict(other.conditions)


def notes_of(line: Requirement, loads: Sequence[Load]) -> tuple[str, ...]:
    """Limits of a test, in words."""
    return tuple(note for load in loads for note in (_grown(line, load), _trivial(load)) if note)


def _grown(line: Requirement, load: Load) -> str:
    size = line.conditions.io_size
    if not size or load.io_bytes is None or load.operation != "read":
        return ""
    growth = solve("request_growth", {"aligned_io_bytes": load.io_bytes, "requested_io_bytes": size})
    if growth <= GROWN:
        return ""
    return (
        f"direct I/O takes no requests of {display(size, 'B', binary=False)}: the test uses {display(load.io_bytes, 'B')} and"
        f" {growth:.3g} times fewer requests. It proves the bandwidth, not the requests per second"
    )


def _trivial(load: Load) -> str:
    if not is_trivial(load):
        return ""
    given = {"required_bandwidth": load.threshold, "clients_under_test": load.clients}
    each = display(float(solve("required_bandwidth_per_client", given)), "B/s", binary=False)
    return f"each client {load.operation}s no more than {each}: any storage reaches that"


def too_large(line: Requirement, setting: Setting) -> bool:
    """Whether DLIO's buffered reads would be served by the page cache, or the rate is trivial."""
    if setting.data is None:
        return False
    given = given_for(line, setting)
    return setting.data.capped or bool(solve("required_bandwidth_per_client", given) < TRIVIAL)
