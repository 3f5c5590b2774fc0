"""ACCEPTED says that every mandatory requirement with a test has a valid result that passes, whatever the tool."""

import itertools
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import table
from outputs import command_of
from plans import line, plan

import ingest
from ingest.acceptance import judgement
from ingest.acceptance.judgement import FAIL, NOT_TESTED, PASS, UNDECIDED
from ingest.acceptance.run_files import differences
from ingest.acceptance.test_spec import TOOLS, AcceptanceTest, Load, Observed, Run
from ingest.acceptance.tools.fio import sections
from ingest.acceptance.verdict import Manifest, ManifestLine, Verdict

LOAD = Load("T", "read", "random", 4096, 1, 1, 60, None, None, "shared", 100.0, "B/s")
RESULTS = (PASS, FAIL, UNDECIDED, NOT_TESTED)


def word_of(requirements, scale="full", degraded=()):
    """The word on requirements of (priority, result, whether a test shows it)."""
    rows = [
        judgement.TestVerdict(f"R-{at}", f"R-{at}", kind, found, None, 1, "B/s", None, "")
        for at, (kind, found, _) in enumerate(requirements)
    ]
    tests = tuple(
        AcceptanceTest(f"T-{at}", f"R-{at}", kind, "", "fio", "3", scale, (LOAD,), 3, 0.03)
        for at, (kind, _, shown) in enumerate(requirements)
        if shown
    )
    lines = tuple(ManifestLine(row.id, row.priority, 1, "B/s") for row in rows)
    verdict = Verdict(Manifest("site", scale, tests, lines, {}, ()), tuple(rows), (), {}, "", dict.fromkeys(degraded, ()))
    assert bool(verdict.unmet) is (verdict.word == "NOT ACCEPTED")
    assert bool(verdict.unshown) >= bool(verdict.incomplete)
    return verdict.word


def test_the_word_follows_from_the_mandatory_requirements():
    row = list(itertools.product(("mandatory", "target"), RESULTS, (True, False)))
    for rows in itertools.product(row, row):
        mandatory = [(found, shown) for kind, found, shown in rows if kind == "mandatory"]
        failed = any(found == FAIL for found, _ in mandatory)
        undecided = any(shown and found != PASS for found, shown in mandatory)
        proven = any(found == PASS for _, found, _ in rows)
        expected = "NOT ACCEPTED" if failed else "ACCEPTED" if proven and not undecided else "INCOMPLETE"
        assert word_of(rows) == expected, rows
        assert word_of(rows, scale="1node") == ("NOT ACCEPTED" if failed else "INCOMPLETE"), rows


def test_a_term_on_degraded_operation_whose_results_were_given_is_decided_too():
    rows = [("mandatory", PASS, True), ("mandatory", UNDECIDED, False)]
    assert (word_of(rows), word_of(rows, degraded=("R-1",))) == ("ACCEPTED", "INCOMPLETE")


def all_mandatory(found):
    for ident in ("R-META-01", "R-META-02"):
        line(found, ident)["priority"] = "mandatory"
    for ident in ("R-MIX-01", "R-READ-02"):
        found["requirements"].remove(line(found, ident))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The tests of each tool alone, three runs each."""

    def of(tool):
        folder = tmp_path_factory.mktemp(tool)
        given = {"client_memory": "192 GiB"} if tool == "dlio" else {}
        return ingest.accept(plan(folder, all_mandatory), folder / "tests", tool=tool, repeats=3, **given)

    return {tool: of(tool) for tool in TOOLS}


def run_of(test, number, rate=1.05, **changes):
    """A run of a test as its tool should report it, at a factor of each threshold; changes of the first load."""
    options = sections(test.files.get(f"fio/{test.id}.fio", ""))
    loads = [
        Observed(one.name, one.operation, rate * one.threshold, one.unit, one.pattern or None, one.io_bytes, one.clients,
                 one.clients * one.threads, one.seconds, one.dataset_bytes, True, depth=one.depth, handled=one.handled,
                 recorded=(options.get(one.name),))
        for one in test.loads
    ]  # fmt: skip
    whole = {name: changes.pop(name) for name in ("judged", "version", "shown", "tool") if name in changes}
    loads[0] = replace(loads[0], **changes)
    run = Run(test.tool, f"{test.id}.run{number}", test.id, tuple(loads), test.version, test.parameters, "success")
    run = replace(run, began=str(1767607200 + 10**5 * number), command=shlex.join(command_of(test)))
    return replace(run, **whole)


#: What is reported of one mandatory requirement, whose others pass -> the word; runs by their rates, or what all runs change.
REPORTED = table("acceptance/cases.yaml")["a_mandatory_requirement_without_a_valid_result_is_not_accepted"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("reported", REPORTED)
def test_whatever_the_tool_a_mandatory_requirement_without_a_valid_result_is_not_accepted(
    made, tool, reported, tmp_path, monkeypatch
):
    rates, changes, word = REPORTED[reported]
    tests = made[tool].tests
    mandatory = {test.requirement for test in tests if test.priority == "mandatory"}
    assert mandatory
    for spoilt in mandatory:
        runs = {
            f"{test.id}.run{number}": run_of(test, number, rate, **(dict(changes) if test.requirement == spoilt else {}))
            for test in tests
            for number, rate in enumerate(rates if test.requirement == spoilt else [1.05] * 3)
        }
        folder = tmp_path / spoilt
        folder.mkdir()
        for name in [*runs, "another.txt"]:
            (folder / name).write_text(name)
        monkeypatch.setattr(
            "ingest.acceptance.run_files.runs_in", lambda path, runs=runs: [runs[path.name]] if path.name in runs else []
        )
        found = ingest.verdict(made[tool].folder, folder)

        assert found.word == word, (spoilt, found.to_dict()["requirements"])
        assert found.results[spoilt].result == {"ACCEPTED": PASS, "NOT ACCEPTED": FAIL}.get(
            word, UNDECIDED if reported == "runs that leave it open" else NOT_TESTED
        )
        assert (spoilt in found.unshown) is (word == "INCOMPLETE")


@pytest.mark.parametrize(
    ("name", "share", "counts"),
    table("acceptance/cases.yaml")["a_run_may_last_5_percent_less_and_read_a_thousandth_less_than_more_data_than_memory"],
)
def test_a_run_may_last_5_percent_less_and_read_a_thousandth_less_than_more_data_than_memory(made, name, share, counts):
    test = made["fio"].results["T-READ-01-fio"]
    whole = getattr(test.loads[0], name, test.loads[0].dataset_bytes)
    assert (differences(test, run_of(test, 1, **{name: share * whole})) == []) is counts


#: Rates of three runs of a load that needs 100 B/s -> what they decide; a failure decides about others, then an open load.
DECIDED = {FAIL: (50.0, 50.0, 50.0), UNDECIDED: (90.0, 100.0, 110.0), PASS: (105.0, 105.0, 105.0)}
FIRST = [FAIL, UNDECIDED, PASS, NOT_TESTED]


@pytest.mark.parametrize(("one", "other"), [*itertools.product(DECIDED, DECIDED)])
def test_each_load_of_a_test_must_pass(one, other):
    loads = tuple(replace(LOAD, name=f"T.{name}") for name in "ab")
    test = AcceptanceTest("T", "R", "mandatory", "", "fio", "3", "full", loads, 3, 0.03)
    runs = [
        Run("fio", "", "T", tuple(Observed(load.name, "read", rate, "B/s") for load, rate in zip(loads, rates, strict=True)))
        for rates in zip(DECIDED[one], DECIDED[other], strict=True)
    ]
    assert judgement.judged_test(test, runs).result == min(one, other, key=FIRST.index)


@pytest.fixture
def judged(tmp_path, monkeypatch):
    def call(folder, runs):
        (tmp_path / "results").mkdir()
        for name in [*runs, "another.txt"]:
            (tmp_path / "results" / name).write_text(name)
        monkeypatch.setattr("ingest.acceptance.run_files.runs_in", lambda path: [runs[path.name]] if path.name in runs else [])
        return ingest.verdict(folder, tmp_path / "results")

    return call


def test_a_plan_without_terms_leaves_none_to_inspect(made):
    assert "to be inspected" not in Path(made["fio"].folder, "README.md").read_text(encoding="utf-8")


def test_an_eleventh_run_does_not_count(made, judged):
    test = made["fio"].results["T-READ-01-fio"]
    runs = {f"{test.id}.run{at}": run_of(test, at, 0.96 if at < 10 else 2) for at in range(11)}
    found = judged(made["fio"].folder, runs)
    assert found.results["R-READ-01"].result == FAIL
    assert ["10 runs came before it" in why for why in found.refused.values()] == [True]


@pytest.mark.parametrize(("one", "other"), [*itertools.product(FIRST, FIRST)])
def test_each_tool_that_tests_a_requirement_counts(one, other, tmp_path, judged):
    def only_reads(found):
        found["requirements"] = [line(found, "R-READ-01")]

    made = ingest.accept(plan(tmp_path, only_reads), tmp_path / "tests", tool=("ior", "elbencho"), repeats=3)
    runs = {
        f"{test.id}.run{at}": run_of(test, at, rate / 100)
        for test, found in zip(made.tests, (one, other), strict=True)
        for at, rate in enumerate(DECIDED.get(found, ()))
    }
    found = judged(tmp_path / "tests", runs).results["R-READ-01"]
    assert found.result == min(one, other, key=FIRST.index)
    assert len(found.tests) == sum(result != NOT_TESTED for result in (one, other))
