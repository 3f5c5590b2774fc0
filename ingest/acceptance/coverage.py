"""Which lines one test shows, and what a test does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ingest.acceptance.loads import TRIVIAL, Setting, given_for, is_binding, is_trivial, kind_of
from ingest.acceptance.test_spec import DATA, METADATA, Load
from ingest.engine.registry import solve
from ingest.requirement import PRIORITIES, Requirement
from ingest.units import display

#: Requests that grow by more than this share are named.
GROWN = 1.05


def also_shown(lines: Sequence[Requirement]) -> Mapping[str, str]:
    """Requirement id -> id of a line that asks for at least as much under the same conditions, and so is tested for both."""
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
    # A buyer may leave out the test of a target, and the growth of later years: what is mandatory does not hang on it.
    same = same and PRIORITIES.index(other.priority) <= PRIORITIES.index(line.priority)
    return same and asdict(line.conditions) == asdict(other.conditions)


def notes_of(line: Requirement, loads: Sequence[Load]) -> tuple[str, ...]:
    """What a test does not show, in words."""
    notes = [note for load in loads for note in (_grown(line, load), _trivial(load)) if note]
    return tuple(notes)


def _grown(line: Requirement, load: Load) -> str:
    asked = line.conditions.io_size
    if not asked or load.io_bytes is None or load.operation != "read":
        return ""
    growth = solve("request_growth", {"aligned_io_bytes": load.io_bytes, "requested_io_bytes": asked})
    if growth <= GROWN:
        return ""
    return (
        f"direct I/O takes no requests of {display(asked, 'B', binary=False)}: these have {display(load.io_bytes, 'B')}, so the"
        f" same rate takes {growth:.3g} times fewer of them. The rate is shown, the requests per second are not"
    )


def _trivial(load: Load) -> str:
    if not is_trivial(load):
        return ""
    given = {"required_bandwidth": load.threshold, "clients_under_test": load.clients}
    each = display(float(solve("required_bandwidth_per_client", given)), "B/s", binary=False)
    return f"each client {load.operation}s no more than {each}: any storage gives that"


def too_large(line: Requirement, setting: Setting) -> bool:
    """Whether DLIO's data, which go through the page cache, would not fit, or prove next to nothing."""
    if setting.data is None:
        return False
    given = given_for(line, setting)
    return setting.data.capped or bool(solve("required_bandwidth_per_client", given) < TRIVIAL)
