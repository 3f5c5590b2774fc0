"""The tests of requirement lines: their table in documents and workbooks, the lines that each covers, and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ingest.acceptance.loads import NotTestable, Setting, given_for, is_binding, kind_of, loads_of
from ingest.acceptance.test_spec import DATA, METADATA, Load
from ingest.acceptance.tools.fio import VERSION
from ingest.engine.registry import solve
from ingest.requirement import PRIORITIES, Requirement
from ingest.units import display

#: The tool that can run every test, the suffix of its job files, and its least version.
TOOL, TOOL_VERSION = "fio", VERSION


class LoadRow(NamedTuple):
    """One load of a test.

    Attributes:
        test: id of the test, without the name of a tool.
        requirement: id of the line under test.
        line: the line whose value is the threshold.
        share: of that value, in a test of several loads.
        load: as in the job files.
    """

    test: str
    requirement: str
    line: Requirement
    share: float
    load: Load


def id_of_test(requirement_id: str) -> str:
    """The id of a requirement's test, to which job files append the name of their tool.

    >>> id_of_test("R-READ-01")
    'T-READ-01'
    """
    return f"T-{requirement_id.removeprefix('R-')}"


def job_file_of(test: str) -> str:
    """The job file that `ingest accept` writes for a test.

    >>> job_file_of("T-READ-01")
    'fio/T-READ-01-fio.fio'
    """
    return f"{TOOL}/{test}-{TOOL}.{TOOL}"


def rows_of(lines: Sequence[Requirement]) -> list[LoadRow]:
    """One row per requirement and load, in the order of the lines; none where no performance test applies.

    >>> from ingest.requirement import Conditions
    >>> reads = Requirement("R-READ-01", "mandatory", "…", "…", 1e11, "B/s", Conditions("read", clients=16))
    >>> [(row.test, row.load.threads, row.load.threshold) for row in rows_of([reads])]
    [('T-READ-01', 8, 100000000000.0)]
    """
    rows: list[LoadRow] = []
    shown = also_shown(lines)
    for line in lines:
        # The test of a higher line covers the lower ones under the same conditions.
        test = id_of_test(shown.get(line.id, line.id))
        with suppress(NotTestable):
            loads = loads_of(line, test, Setting())
            shares = [part.share for part in line.conditions.mix] or [1.0]
            rows += [LoadRow(test, line.id, line, share, load) for share, load in zip(shares, loads, strict=True)]
    return rows


def shown_by(lines: Sequence[Requirement]) -> dict[str, str]:
    """Requirement id -> id of its test, for requirements with a performance test."""
    return {row.requirement: row.test for row in rows_of(lines)}


#: Growth of requests above which a note names it, and the rate of one client that any storage reaches, B/s.
GROWN, TRIVIAL = 1.05, 1e6


def also_shown(lines: Sequence[Requirement]) -> Mapping[str, str]:
    """Requirement id -> id of the line with the highest value under the same conditions, whose test covers both."""
    shown: dict[str, str] = {}
    for line in lines:
        if kind_of(line) not in (*DATA, *METADATA) or not line.conditions.clients or line.value <= 0 or not is_binding(line):
            continue
        alike = (line.unit, kind_of(line), line.conditions)
        same = [other for other in lines if (other.unit, kind_of(other), other.conditions) == alike]
        # A buyer may omit the test of a target: it must not be the only test of a mandatory line.
        rank = PRIORITIES.index(line.priority)
        most = max((one for one in same if PRIORITIES.index(one.priority) <= rank), key=lambda one: one.value)
        if most.id != line.id:
            shown[line.id] = most.id
    return shown


def notes_of(line: Requirement, loads: Sequence[Load]) -> tuple[str, ...]:
    """Limits of a test, in words."""
    sizes: list[int | None] = [part.io_size for part in line.conditions.mix] or [line.conditions.io_size]
    notes = ((_grown(size, load), _trivial(load)) for size, load in zip(sizes, loads, strict=True))
    return tuple(note for pair in notes for note in pair if note)


def _grown(size: int | None, load: Load) -> str:
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
    given = {"required_bandwidth": load.threshold, "clients_under_test": load.clients}
    each = float(solve("required_bandwidth_per_client", given))
    if load.unit != "B/s" or each >= TRIVIAL:
        return ""
    return f"each client {load.operation}s at most {display(each, 'B/s', binary=False)}: any storage reaches that"


def too_large(line: Requirement, setting: Setting) -> bool:
    """Whether DLIO's buffered reads would be served by the page cache, or the rate is trivial."""
    if setting.data is None:
        return False
    given = given_for(line, setting)
    rule = solve("memory_rule_bytes", {**given, "clients_under_test": setting.data.clients})
    return bool(rule > setting.data.room) or bool(solve("required_bandwidth_per_client", given) < TRIVIAL)
