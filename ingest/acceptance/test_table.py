"""The table of acceptance tests in documents and workbooks, from the loads of the job files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.acceptance.coverage import also_shown
from ingest.acceptance.loads import NotTestable, Setting, lines_under_test, loads_of
from ingest.acceptance.test_spec import Load
from ingest.acceptance.tools.fio import VERSION
from ingest.requirement import Requirement

#: The tool that can run every test, the suffix of its job files, and its least version.
TOOL, TOOL_VERSION = "fio", VERSION


class LoadRow(NamedTuple):
    """One load of a test.

    Attributes:
        test: id of the test, without the name of a tool.
        requirement: id of the line under test.
        line: the line whose value is the threshold; a mixed test has one for its reads and one for its writes.
        load: as in the job files.
    """

    test: str
    requirement: str
    line: Requirement
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
    return [row for line in lines for row in _rows(line, lines)]


def shown_by(lines: Sequence[Requirement]) -> dict[str, str]:
    """Requirement id -> id of its test, for requirements with a performance test."""
    return {row.requirement: row.test for row in rows_of(lines)}


def _rows(line: Requirement, lines: Sequence[Requirement]) -> Iterator[LoadRow]:
    # The test of a higher line covers the lower ones under the same conditions.
    test = id_of_test(also_shown(lines).get(line.id, line.id))
    try:
        parts = lines_under_test(line, lines)
    except NotTestable:
        return
    for part, load in zip(parts, loads_of(line, lines, test, Setting()), strict=True):
        yield LoadRow(test, line.id, part, load)
