"""After a change of inputs: what no longer holds is struck out, the first page says so, and decisions are checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from office import changed, converted, heading, values

import ingest
from ingest.errors import IngestError
from ingest.reports.books import site_book
from ingest.reports.workbook.site_front import TO_SETTLE
from ingest.tender.response_form import BUYER_SHEET

EXAMPLES = Path(__file__).parents[2] / "examples"
HPC = yaml.safe_load((EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8"))
STALE = "Inputs were changed: low, high, warnings and the sheet Sensitivity are those of the inputs as delivered"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "site.xlsx"
    path.write_bytes(site_book(ingest.plan(HPC, samples=200)))
    return path


@pytest.fixture
def after(book, tmp_path):
    """The values of the workbook after inputs were changed, by key of the site file, and LibreOffice calculated."""

    def calculate(**inputs: float) -> dict[str, dict[str, Any]]:
        named = {f"in_{key}": value for key, value in inputs.items()}
        return values(converted(changed(book, tmp_path, named), "xlsx", tmp_path / "office"))

    return calculate


def rules(path: Path, sheet: str) -> dict[str, Any]:
    """The conditional formats of a sheet that follow a formula, by their area."""
    found = openpyxl.load_workbook(path)[sheet].conditional_formatting
    return {str(area.sqref): rule for area in found for rule in area.rules if rule.type == "expression"}


def counted(path: Path, sheets: Mapping[str, Mapping[str, Any]]) -> Any:
    """What the name `inputs_changed` stands for holds."""
    sheet, place = next(iter(openpyxl.load_workbook(path).defined_names["inputs_changed"].destinations))
    return sheets[sheet][place.replace("$", "")]


@pytest.mark.parametrize(("sheet", "ends"), [("Requirements", "Low (P10)"), ("Results", "Low (P10)"), ("Sensitivity", "Value")])
def test_what_was_drawn_is_struck_out_by_a_rule_that_counts_changed_inputs(book, after, sheet, ends):
    same, other = after(), after(storage_headroom=0.25, jobs_climate_runs=3)
    assert (counted(book, same), counted(book, other)) == (0, 2)
    letter = heading(same[sheet], ends)
    ((area, rule),) = ((area, rule) for area, rule in rules(book, sheet).items() if area.startswith(f"{letter}2:"))
    assert rule.formula == ["inputs_changed>0"]
    assert rule.dxf.font.strike
    lines = sum(place.startswith("A") and str(item).startswith("R-") for place, item in same[sheet].items())
    assert re.fullmatch(rf"[A-Z]+2:[A-Z]+{lines + 1}", area)


def test_the_first_page_says_that_inputs_were_changed(after):
    assert not any(str(line).startswith("Inputs were changed") for line in after()["Read-me"].values())
    other = after(storage_headroom=0.25)["Read-me"].values()
    assert sum(str(line).startswith(STALE) for line in other) == 1


def test_warnings_to_the_buyer_are_struck_out_after_a_change(book, after):
    lines = [cell for place, cell in after()[BUYER_SHEET].items() if place.startswith("A")]
    ((area, rule),) = rules(book, BUYER_SHEET).items()
    assert rule.formula == ["inputs_changed>0"]
    assert rule.dxf.font.strike
    first, last = (int(place[1:]) for place in area.split(":"))
    assert lines[first - 2] == TO_SETTLE
    assert "does not carry this" in lines[first - 1]
    assert lines[last] == "What is not asked for"


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"clusters_main_count": 127}, {"main: share that all jobs take (nodes × runs × share)"}),
        (
            {"clusters_main_count": 63},
            {"main: share that all jobs take (nodes × runs × share)", "cosmology: nodes of a run, of those of main"},
        ),
        ({"jobs_climate_runs": 5}, {"main: share that all jobs take (nodes × runs × share)"}),
    ],
)
def test_a_cluster_that_is_too_small_turns_checks_red_and_the_plan_refuses(after, inputs, expected):
    keys = {"clusters_main_count": "clusters.main.count", "jobs_climate_runs": "jobs.climate.runs"}
    checks = after(**inputs)["Checks"]
    found = {checks[f"A{place[1:]}"] for place, said in checks.items() if said == "plan again"}
    assert expected <= found
    with pytest.raises(IngestError, match="at most"):
        ingest.plan(HPC, samples=0, set={keys[name]: value for name, value in inputs.items()})


def test_a_policy_of_checkpoints_is_an_input_by_its_key_and_followed_as_the_plan_does(book, after):
    sheet = openpyxl.load_workbook(book)["Inputs"]
    heads = [cell.value for cell in sheet[1]]
    keys = {row[heads.index("Key in the site file")].value for row in sheet.iter_rows(min_row=2)}
    for word in ("interval", "waste", "keep", "parameters"):
        assert f"jobs.cosmology.checkpoint.{word}" in keys
    inputs = {
        "jobs.cosmology.checkpoint.interval": 2700,
        "jobs.cosmology.checkpoint.keep": 9,
        "jobs.climate.checkpoint.waste": 0.04,
    }
    cells = after(**{key.replace(".", "_"): value for key, value in inputs.items()})["Requirements"]
    plan = ingest.plan(HPC, samples=0, set=inputs)
    found = {cells[f"A{row}"]: (cells[f"C{row}"], cells[f"D{row}"]) for row in range(2, len(plan.requirements) + 2)}
    assert found == {one.id: (one.statement, pytest.approx(one.value, rel=1e-9)) for one in plan.requirements}


def test_units_follow_the_values(after):
    """Growth by 4.8 a year needs petabytes where 1.2 needed terabytes."""
    inputs = {"datasets.cam5.growth.capacity": 4.8, "storage.headroom": 0.6}
    sheets = after(**{key.replace(".", "_"): value for key, value in inputs.items()})
    fresh = {one.id: one for one in ingest.plan(HPC, samples=0, set=inputs).requirements}
    said, results = sheets["Requirements"], sheets["Results"]
    assert said["C2"] == fresh["R-READ-01"].statement
    assert " TB/s (" in said["C2"]
    rows = {results[f"A{row}"]: row for row in range(2, 2 + len(fresh))}
    row = rows["R-CAP-01"]
    assert (results[f"D{row}"], results[f"H{row}"]) == ("PB", "PiB")
    assert results[f"C{row}"] == pytest.approx(fresh["R-CAP-01"].value / 1e15, rel=1e-9)
    assert results[f"G{row}"] == pytest.approx(fresh["R-CAP-01"].value / 2**50, rel=1e-9)
