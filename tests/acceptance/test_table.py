"""The tests that documents and workbooks list are those that `accept` writes: same thresholds, same conditions."""

import re

import docx
import openpyxl
import pytest
from conftest import EXAMPLES

import ingest
from ingest.acceptance.accept import id_of_test, shown_by
from ingest.reports.plan_report import report
from ingest.units import display, parse, request_size, stated

SITES = ("hpc-128-nodes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llm-16384-gpus", "enterprise-64-nodes")))
#: The tool that times every kind of load: what it is given is what any tool must reach.
TOOL = "fio"
#: How often `accept` has each test run.
RUNS = 3
ID = re.compile(r"T-[A-Z]+-\d\d")


@pytest.fixture(scope="module", params=SITES)
def written(request, tmp_path_factory):
    """Plan, acceptance package and both documents of a site."""
    site, folder = EXAMPLES / f"{request.param}.yaml", tmp_path_factory.mktemp(request.param)
    made = report(site, output=[folder / "rfp.docx", folder / "rfp.xlsx"], for_vendor=True)
    return made.plan, ingest.accept(site, folder / "tests", tool=TOOL), folder


def expected(package):
    """What the job files ask for: test, line, operation, pattern, clients, threads, depth, request, seconds, threshold."""
    for line in package.requirements:
        for test in package.tests:
            if line.id == test.requirement or line.id in test.also:
                for load in test.loads:
                    threshold = test.also.get(line.id, load.threshold)
                    # fio's creates are over with a number of files, which lasts as long as the requirement asks.
                    seconds = load.seconds or line.conditions.duration
                    shown = (load.operation, load.pattern, load.clients, load.threads, load.depth, load.io_bytes, seconds)
                    yield (test.id.removesuffix(f"-{TOOL}"), line.id, *shown, threshold, load.unit)


def test_the_workbook_asks_for_the_loads_of_accept(written):
    _, package, folder = written
    sheet = openpyxl.load_workbook(folder / "rfp.xlsx", data_only=True)["Acceptance"]
    heads, *rows = sheet.iter_rows(values_only=True)
    names = ("Test", "Requirement", "Load", "Clients", "Threads", "Queue depth of a thread", "I/O size", "Duration")
    found = [tuple(row[heads.index(name)] or "" for name in names) for row in rows if row[0]]
    wanted = list(expected(package))
    assert found == [
        (test, line, f"{pattern} {operation}".strip(), clients, threads, depth or "", request_size(size) if size else "",
         display(seconds, "s"))
        for test, line, operation, pattern, clients, threads, depth, size, seconds, _, _ in wanted
    ]  # fmt: skip
    assert len(found) > 4
    for row, (*_, threshold, unit) in zip((row for row in rows if row[0]), wanted, strict=True):
        shown = f"{row[heads.index('Required')]} {row[heads.index('Unit')]}"
        assert parse(shown, unit, row[0]) == pytest.approx(threshold, rel=1e-9)


def test_the_workbook_names_the_job_files_runs_and_deviation_of_accept(written):
    _, package, folder = written
    book = openpyxl.load_workbook(folder / "rfp.xlsx", data_only=True)
    heads, *rows = book["Acceptance"].iter_rows(values_only=True)
    lines = [dict(zip(heads, row, strict=True)) for row in rows if row[0]]
    tests = {test.id.removesuffix(f"-{TOOL}"): test for test in package.tests}
    for line in lines:
        test = tests[line["Test"]]
        assert line["Test file"] in test.files
        assert (line["Runs"], line["Allowed deviation"]) == (test.repeats, test.allowed_deviation)
    heads, *rows = book["Requirements"].iter_rows(values_only=True)
    verified = {row[0]: row[heads.index("Verified by")] for row in rows if row[0]}
    named = {name: how.removeprefix("test ").partition(".")[0] for name, how in verified.items() if how.startswith("test ")}
    assert named == {line["Requirement"]: line["Test"] for line in lines}


def test_the_document_asks_for_the_loads_of_accept(written):
    _, package, folder = written
    tables = docx.Document(str(folder / "rfp.docx")).tables
    found = [cells for table in tables for row in table.rows if ID.fullmatch((cells := [c.text for c in row.cells])[0])]
    found = [[*cells[:3], re.sub(r" \(.* of .*\)", "", cells[3]), *cells[4:6], cells[-2]] for cells in found]
    wanted = [
        [test, line, f"{pattern} {operation}".strip(), f"{clients:,} × {threads:,} × {depth:,}",
         request_size(size) if size else "",
         f"{RUNS} × {display(seconds, 's')}", stated(threshold, unit)]
        for test, line, operation, pattern, clients, threads, depth, size, seconds, threshold, unit
        in expected(package)
    ]  # fmt: skip
    assert found == wanted


def test_only_what_binds_is_tested_or_said_to_be(written):
    plan, package, folder = written
    shown = shown_by(plan.requirements)
    for one in plan.requirements:
        if one.priority == "information":
            assert one.id not in shown
            assert "for information" in package.untested[one.id]
    assert set(shown) == {one.id for one in plan.requirements} - set(package.untested)
    said = "\n".join(one.text for one in docx.Document(str(folder / "rfp.docx")).paragraphs)
    verified = re.findall(r"Verified by test (T-[A-Z]+-\d\d)\.", said)
    assert sorted(verified) == sorted(shown.values())


def test_what_is_mandatory_does_not_hang_on_the_test_of_a_target(written):
    plan, _, _ = written
    by_test = {id_of_test(one.id): one for one in plan.requirements}
    for name, test in shown_by(plan.requirements).items():
        if plan.requirement(name).priority == "mandatory":
            assert by_test[test].priority == "mandatory", (name, test)
