"""The table of tests, as documents and workbooks print it: from the same loads that the job files are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.acceptance.coverage import also_shown
from ingest.acceptance.loads import NotTestable, Setting, lines_under_test, loads_of
from ingest.acceptance.test_spec import Load
from ingest.acceptance.tools.fio import VERSION
from ingest.requirement import Requirement

#: The tool that can run every test, as its job files are named, and the release from which on they work.
TOOL, TOOL_VERSION = "fio", VERSION


class TestRow(NamedTuple):
    """What one group of clients does in a test, and which line its threshold is the value of.

    Attributes:
        test: id of the test, without the name of a tool.
        requirement: id of the line that it shows.
        line: the line that the threshold comes from; a mixed test has one for its reads and one for its writes.
        load: the same as in the job files.
    """

    test: str
    requirement: str
    line: Requirement
    load: Load


def id_of_test(requirement_id: str) -> str:
    """The test of a requirement; its job files put the name of their tool behind it.

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


def rows_of(lines: Sequence[Requirement]) -> list[TestRow]:
    """One row per requirement and load, in the order of the lines; none for what no performance test shows.

    >>> from ingest.requirement import Conditions
    >>> reads = Requirement("R-READ-01", "mandatory", "…", "…", 1e11, "B/s", Conditions("read", clients=16))
    >>> [(row.test, row.load.threads, row.load.threshold) for row in rows_of([reads])]
    [('T-READ-01', 8, 100000000000.0)]
    """
    return [row for line in lines for row in _rows(line, lines)]


def shown_by(lines: Sequence[Requirement]) -> dict[str, str]:
    """The test that shows each requirement; what has none is absent."""
    return {row.requirement: row.test for row in rows_of(lines)}


def _rows(line: Requirement, lines: Sequence[Requirement]) -> Iterator[TestRow]:
    # A line that asks for less than another, under the same conditions, is shown by the test of that one.
    test = id_of_test(also_shown(lines).get(line.id, line.id))
    try:
        parts = lines_under_test(line, lines)
    except NotTestable:
        return
    for part, load in zip(parts, loads_of(line, lines, test, Setting()), strict=True):
        yield TestRow(test, line.id, part, load)
