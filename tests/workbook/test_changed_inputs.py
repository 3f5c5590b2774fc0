"""After a change of inputs: what no longer holds is struck out, the first page says so, and decisions are checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import table
from office import Values, heading, opened, recalculated, values

import ingest
from ingest.errors import IngestError
from ingest.reports.workbook.model_workbook import NOT_APPLYING, QUESTIONS, TO_SETTLE, model_workbook
from ingest.reports.workbook.workbook_writer import BANNER

HPC = table("workbook/changed_inputs.yaml")
#: What each test puts in, by key of the site file.
CASES: dict[str, dict[str, float]] = table("workbook/cases.yaml")["changed"]


@pytest.fixture(scope="module")
def plan() -> ingest.Plan:
    return ingest.plan(HPC, samples=200)


@pytest.fixture(scope="module")
def book(plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "site.xlsx"
    path.write_bytes(model_workbook(plan))
    return path


@pytest.fixture(scope="module")
def after(book, tmp_path_factory) -> dict[str, Values]:
    """The values of the workbook as delivered, and after the inputs of each case were changed and LibreOffice calculated."""
    named = {case: {f"in_{key.replace('.', '_')}": value for key, value in inputs.items()} for case, inputs in CASES.items()}
    books = {case.replace(" ", "-"): (book, inputs) for case, inputs in named.items()}
    found = dict(zip(CASES, recalculated(books, tmp_path_factory.mktemp("after")).values(), strict=True))
    return {"delivered": values(book), **found}


def rules(path: Path, sheet: str) -> dict[str, Any]:
    """The conditional formats of a sheet that follow a formula, by their area."""
    found = opened(path)[sheet].conditional_formatting
    return {str(area.sqref): rule for area in found for rule in area.rules if rule.type == "expression"}


def counted(path: Path, sheets: Mapping[str, Mapping[str, Any]]) -> Any:
    """What the name `inputs_changed` stands for holds."""
    sheet, place = next(iter(opened(path).defined_names["inputs_changed"].destinations))
    return sheets[sheet][place.replace("$", "")]


STRUCK = table("workbook/cases.yaml")["struck"]


@pytest.mark.parametrize(("sheet", "head", "left"), STRUCK)
def test_what_is_of_the_plan_is_struck_out_by_a_rule_that_counts_changed_inputs(book, after, sheet, head, left):
    assert [counted(book, after[case]) for case in ("delivered", "two", "policies")] == [0, 2, 3]
    cells = after["delivered"][sheet]
    ((area, rule),) = ((area, rule) for area, rule in rules(book, sheet).items() if area.startswith(f"{left}2:"))
    first, last = (re.sub(r"\d", "", place) for place in area.split(":"))
    assert first <= heading(cells, head) <= last
    assert rule.formula == ["inputs_changed>0"]
    assert rule.dxf.font.strike
    lines = sum(bool(re.fullmatch(r"A\d+", place)) and bool(re.match("[RT]-", str(item))) for place, item in cells.items())
    assert area == f"{first}2:{last}{lines + 1}"


@pytest.mark.parametrize("sheet", ["Read-me", "Results", "Requirements"])
def test_a_banner_says_how_many_inputs_were_changed(after, sheet):
    for case, expected in (("delivered", []), ("two", [f"Inputs changed (2): {BANNER}"])):
        assert [line for line in after[case][sheet].values() if str(line).startswith("Inputs changed")] == expected


def test_texts_stay_those_of_the_plan_and_numbers_follow(plan, after):
    cells = after["two"]["Requirements"]
    rows = range(2, len(plan.requirements) + 2)
    assert {cells[f"A{row}"]: cells[f"C{row}"] for row in rows} == {one.id: one.statement for one in plan.requirements}
    assert sum(cells[f"F{row}"] != one.value for row, one in zip(rows, plan.requirements, strict=True)) > 3


def test_the_ranges_among_the_results_are_struck_out_below_their_headings(plan, book):
    ((area, rule),) = rules(book, "Results").items()
    assert area == f"E6:F{len(plan.requirements) + 5}"
    assert (rule.formula, rule.dxf.font.strike) == (["inputs_changed>0"], True)


def test_the_read_me_asks_the_buyer_what_the_site_file_does_not_determine(plan, after):
    lines = [str(line) for line in after["delivered"]["Read-me"].values()]
    asked = lines[lines.index(QUESTIONS) + 1 :][: len(plan.open_questions)]
    assert [line.partition(": ")[0] for line in asked] == [one.key for one in plan.open_questions]
    assert len(asked) > 3


def test_warnings_to_the_buyer_are_struck_out_after_a_change(book, after):
    lines = after["delivered"]["Read-me"]
    ((area, rule),) = rules(book, "Read-me").items()
    assert rule.formula == ["inputs_changed>0"]
    assert rule.dxf.font.strike
    first, last = (int(place[1:]) for place in area.split(":"))
    assert lines[f"A{first - 1}"] == TO_SETTLE
    assert "a peak of less than a minute" in lines[f"A{first}"]
    assert lines[f"A{last + 1}"] == NOT_APPLYING


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("one node too few", {"main: share that all jobs take (nodes × runs × share)"}),
        (
            "half the nodes",
            {"main: share that all jobs take (nodes × runs × share)", "cosmology: nodes of a run, against those of main"},
        ),
    ],
)
def test_a_cluster_that_is_too_small_turns_checks_red_and_the_plan_refuses(after, case, expected):
    checks = after[case]["Checks"]
    found = {checks[f"A{place[1:]}"] for place, said in checks.items() if said == "plan again"}
    assert expected <= found
    with pytest.raises(IngestError, match="at most"):
        ingest.plan(HPC, samples=0, set=CASES[case])


def test_a_policy_of_checkpoints_is_an_input_by_its_key_and_followed_as_the_plan_does(book, after):
    sheet = opened(book)["Inputs"]
    heads = [cell.value for cell in sheet[1]]
    keys = {row[heads.index("Key in the site file")].value for row in sheet.iter_rows(min_row=2)}
    for word in ("interval", "waste", "keep", "parameters"):
        assert f"jobs.cosmology.checkpoint.{word}" in keys
    cells, plan = after["policies"]["Requirements"], ingest.plan(HPC, samples=0, set=CASES["policies"])
    found = {cells[f"A{row}"]: (cells[f"D{row}"], cells[f"F{row}"]) for row in range(2, len(plan.requirements) + 2)}
    assert found == {one.id: pytest.approx((one.computed, one.value), rel=1e-9) for one in plan.requirements}
