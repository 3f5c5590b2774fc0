"""The workbook of a site: two other programs calculate what Python says, as delivered and after twenty changes."""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from office import Values, heading, recalculated, values

import ingest
from ingest.acceptance.test_table import rows_of
from ingest.reports.workbook.plan_workbook import plan_workbook
from ingest.reports.workbook.styles import A4, CHARACTER, FRAME, PAGE, pages_wide
from ingest.units import display

EXAMPLES = Path(__file__).parents[2] / "examples"
#: One for each push, the others before an issue is closed.
SITES = ("hpc-128-nodes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llm-16384-gpus", "enterprise-64-nodes")))
LLM = {
    "clusters": {"main": {"node": "dgx-h100", "count": 64}},
    "jobs": {"pretraining": {"model": "llama3-70b", "cluster": "main", "nodes": 64, "checkpoint": {"keep": 3}}},
}
IMAGES = {
    "clusters": {"main": {"node": "dgx-h100", "count": 16}},
    "jobs": {"images": {"model": "resnet50", "cluster": "main", "nodes": 4}},
}
JOB = {"model": "cosmoflow", "cluster": "main", "nodes": 1, "share": "50%"}
#: Factors by which inputs are changed in turn; whole numbers are rounded.
FACTORS = (0.75, 1.25, 0.5, 0.9)
#: What the example sites have no room for: more nodes than the cluster holds.
BOUNDED = ("nodes", "runs", "count")
MANY = 20
#: Functions that Excel 2010 knows, and no others, may stand in a formula.
KNOWN = {
    "ABS", "AND", "COUNT", "COUNTIF", "COUNTIFS", "EXACT", "EXP", "FLOOR", "IF", "INT", "ISNUMBER", "LN", "LOG10", "MATCH",
    "MAX", "MIN", "MOD", "OR", "POWER", "ROUND", "ROUNDDOWN", "ROUNDUP", "SQRT", "SUM", "SUMPRODUCT",
}  # fmt: skip


@dataclass
class Case:
    """One site: its plan and workbook, the same with other inputs, and what LibreOffice makes of both."""

    name: str
    plan: ingest.Plan
    other: ingest.Plan
    path: Path
    inputs: dict[str, float]
    stored: dict[str, dict[str, Any]]
    fresh: dict[str, dict[str, Any]]
    moved: dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=SITES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(request.param)
    site = at_any_size(request.param)
    plan = ingest.plan(site, samples=0)
    path = folder / "site.xlsx"
    path.write_bytes(plan_workbook(plan))
    by_key, by_name = other_inputs(path)
    found = recalculated({"fresh": (path, {}), "moved": (path, by_name)}, folder)
    other = ingest.plan(site, samples=0, set=by_key)
    return Case(request.param, plan, other, path, by_name, values(path), found["fresh"], found["moved"])


def at_any_size(name: str) -> dict[str, Any]:
    """An example whose rates do not depend on the size of its jobs, so that other nodes need no new look-up."""
    site = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    jobs = {job: {**keys, "scaling": "linear"} if "model" in keys else keys for job, keys in site["jobs"].items()}
    for keys in jobs.values():
        if "checkpoint" in keys:
            keys["checkpoint"].setdefault("failures", "llama3")
    return {**site, "jobs": jobs}


def keyed(path: Path) -> list[dict[str, Any]]:
    """The inputs that stand for a key of the site file."""
    heads, *rows = openpyxl.load_workbook(path)["Inputs"].iter_rows(values_only=True)
    lines = [dict(zip(heads, row, strict=True)) for row in rows]
    return [line for line in lines if line["Key in the site file"]]


def other_inputs(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Twenty other values, by key of the site file and by name of the cell; each lies in the range of its cell."""
    lines = keyed(path)[:MANY]
    assert len(lines) == MANY
    found = {line["Key in the site file"]: (line["Cell name"], moved(line, FACTORS[n % 4])) for n, line in enumerate(lines)}
    assert all(value != line["Value"] for line, (_, value) in zip(lines, found.values(), strict=True))
    return {key: value for key, (_, value) in found.items()}, dict(found.values())


def moved(line: Mapping[str, Any], factor: float) -> float:
    """Another value for an input."""
    key, value = line["Key in the site file"], line["Value"]
    if ".growth.capacity" in key:
        return value + factor
    if key.rpartition(".")[2] == "count":
        return value + 2
    if key.rpartition(".")[2] in BOUNDED:
        return max(1, value // 2) if value > 1 else 2
    if "whole" in line["Allowed"]:
        return value + 1
    return value * (0.9 if value <= 1 else factor)


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-300)
    return (ours or "") == (theirs or "")


def formulas(path: Path) -> dict[tuple[str, str], str]:
    book = openpyxl.load_workbook(path)
    return {
        (sheet.title, cell.coordinate): cell.value
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str) and cell.data_type == "f"
    }


def results(sheets: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    cells = sheets["Results"]
    base = heading(cells, "Base value")
    return {cells[f"A{row}"]: cells[f"{base}{row}"] for row in range(2, 60) if str(cells.get(f"A{row}")).startswith("R-")}


def test_no_note_names_an_option_without_a_name(case):
    assert not [value for cells in case.stored.values() for value in cells.values() if "set ()" in str(value)]


def test_libreoffice_calculates_every_formula_as_python(case):
    places = formulas(case.path)
    assert len(places) > 500
    pairs = {at: (case.stored[at[0]].get(at[1]), case.fresh[at[0]].get(at[1])) for at in places}
    assert not {at: pair for at, pair in pairs.items() if not same(*pair)}


def test_libreoffice_follows_twenty_changed_inputs_as_the_plan_does(case):
    expected = {name: one.value for name, one in case.other.results.items()}
    found = results(case.moved)
    assert found.keys() == expected.keys()
    assert sum(found[name] != case.plan.results[name].value for name in found) > 10
    assert not {name: (found[name], expected[name]) for name in found if not same(found[name], expected[name])}


def test_statements_and_conditions_are_those_of_the_plan_and_values_follow(case):
    for sheet in ("Requirements", "Acceptance", "Vendor response"):
        cells = case.stored[sheet]
        texts = {at for at, item in cells.items() if isinstance(item, str)}
        assert texts
        assert {at: case.moved[sheet].get(at) for at in texts} == {at: cells[at] for at in texts}
    cells = case.moved["Requirements"]
    for row, one in enumerate(case.plan.requirements, start=2):
        assert (cells[f"A{row}"], cells[f"C{row}"]) == (one.id, one.statement)
    thresholds = heading(case.moved["Acceptance"], "Pass threshold")
    tests = rows_of(case.plan.requirements)
    shown = [case.moved["Acceptance"][f"{thresholds}{row}"] for row in range(2, len(tests) + 2)]
    assert sum(value != one.load.threshold for value, one in zip(shown, tests, strict=True)) > 3


def plan_again(checks: Mapping[str, Any]) -> set[str]:
    """The requirements and rows of which a check says that planning would decide otherwise."""
    return {str(checks[f"A{at[1:]}"]).partition(":")[0] for at, shown in checks.items() if shown == "plan again"}


def test_tables_follow_the_changed_inputs(case):
    cells = case.moved["Capacity by year"]
    column = next(at[:-1] for at, head in cells.items() if str(head).lower().startswith("data held"))
    years = [row["year_usable_bytes"] for row in case.other.tables["capacity"]]
    assert [cells[f"{column}{row}"] for row in range(2, len(years) + 2)] == pytest.approx(years, rel=1e-9)


def test_titles_of_charts_say_what_was_planned(case):
    with zipfile.ZipFile(case.path) as parts:
        drawn = [parts.read(name).decode() for name in parts.namelist() if name.startswith("xl/charts/chart")]
    titles = [re.search(r"<c:title>.*?<a:t>(.*?)</a:t>", text)[1] for text in drawn]
    most = max(case.plan.tables["jobs"], key=lambda row: row.get("job_read_bandwidth", 0))
    shown = display(most["job_read_bandwidth"], "B/s", binary=False)
    assert sorted(titles) == [titles[1], f"Read bandwidth by job: {most['name']} needs the most, {shown}"]
    assert re.fullmatch(r"Capacity (grows|stays|is) .*\d .?B.*", titles[1])


def test_no_check_fails_and_no_cell_shows_an_error(case):
    for sheets in (case.stored, case.fresh, case.moved):
        assert "fails" not in sheets["Checks"].values()
        assert not [value for cells in sheets.values() for value in cells.values() if str(value).startswith("#")]
        assert any(str(value).startswith("All ") for value in sheets["Read-me"].values())


def test_only_old_functions_no_links_no_macros(case):
    used = {name for text in formulas(case.path).values() for name in re.findall(r"([A-Z][A-Z0-9.]+)\(", _unquoted(text))}
    assert used <= KNOWN
    with zipfile.ZipFile(case.path) as parts:
        names = parts.namelist()
    assert not [name for name in names if "externalLink" in name or "vba" in name.lower() or "connections" in name]


def _unquoted(text: str) -> str:
    return re.sub(r'"[^"]*"', '""', text)


def test_every_sheet_prints_in_landscape_with_its_heading_in_letters_that_can_be_read(case):
    for sheet in openpyxl.load_workbook(case.path):
        if sheet.sheet_state != "visible":
            continue
        assert sheet.page_setup.orientation == "landscape", sheet.title
        assert int(sheet.page_setup.paperSize) == A4, sheet.title
        widths, kept = printed_widths(sheet), sheet.freeze_panes.count("C") + 1
        pages = sheet.page_setup.fitToWidth or 1
        assert pages == pages_wide(widths, kept), sheet.title
        assert pages == 1 or sheet.print_title_cols == f"$A:${'AB'[kept - 1]}", sheet.title
        repeated = (pages - 1) * sum(CHARACTER * width + FRAME for width in widths[:kept])
        assert sum(CHARACTER * width + FRAME for width in widths) + repeated <= pages * PAGE, sheet.title
        assert sheet.print_title_rows == "$1:$1", sheet.title
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.print_area
        assert sheet.freeze_panes, sheet.title


def printed_widths(sheet: Any) -> list[float]:
    """Characters of each column that is printed."""
    last = openpyxl.utils.cell.range_boundaries(sheet.print_area.rpartition("!")[2])[2]
    letters = [openpyxl.utils.get_column_letter(column) for column in range(1, last + 1)]
    # A file holds the frame of a column in its width.
    return [round(sheet.column_dimensions[letter].width - FRAME / CHARACTER, 2) for letter in letters]


def test_numbers_stand_below_headings_at_the_right_and_shares_in_percent(case):
    book = openpyxl.load_workbook(case.path)
    for name in ("Inputs", "Calculation", "Results", "Requirements"):
        heads = {cell.value: cell for cell in book[name][1]}
        assert heads["Value"].alignment.horizontal == "right", name
        assert heads["Unit"].alignment.horizontal == "left", name
    for line in book["Inputs"].iter_rows(min_row=2):
        assert (line[4].value == "share") == line[3].number_format.endswith("%"), line[1].value


def test_results_show_no_power_of_ten(case):
    sheet = openpyxl.load_workbook(case.path)["Results"]
    heads = [cell.value for cell in sheet[1]]
    for row in sheet.iter_rows(min_row=2, max_row=len(case.plan.requirements) + 1):
        for head, largest in (("Value", 1e6), ("Base value", 1e19)):
            cell = row[heads.index(head)]
            shown = [part for part in cell.number_format.split(";") if "E+00" in part]
            assert shown in ([], ["[>=1E+19]0.0000E+00"]), cell.coordinate
            counted = row[heads.index("Unit")].value == row[heads.index("Base unit")].value
            assert counted or case.stored["Results"][cell.coordinate] < largest


def test_every_input_has_a_name_and_a_rule(case):
    book = openpyxl.load_workbook(case.path)
    sheet = book["Inputs"]
    ruled = {str(area) for rule in sheet.data_validations.dataValidation for area in rule.sqref.ranges}
    named = {text for name in book.defined_names.values() for text in (name.attr_text,)}
    rows = range(2, sheet.max_row + 1)
    heads = [cell.value for cell in sheet[1]]
    for row in rows:
        assert any(f"D{row}" == area or _inside(row, area) for area in ruled), row
        if sheet.cell(row, heads.index("Cell name") + 1).value:
            assert any(text.startswith(f"Inputs!$D${row}") for text in named), row


def _inside(row: int, area: str) -> bool:
    found = re.fullmatch(r"D(\d+):D(\d+)", area)
    return bool(found) and int(found[1]) <= row <= int(found[2])


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Values]:
    """What LibreOffice calculates of inputs that are out of range, or turn what planning decided."""
    folder = tmp_path_factory.mktemp("wrong")
    sites = {"one": site_of(1), "many": site_of(60), "llm": LLM, "images": IMAGES}
    plans = {name: ingest.plan(site, samples=0) for name, site in sites.items()}
    path = {name: write(folder / f"site-{name}.xlsx", plan_workbook(plan)) for name, plan in plans.items()}
    named = {name: {line["Key in the site file"]: line["Cell name"] for line in keyed(path[name])} for name in sites}
    heads, *rows = openpyxl.load_workbook(path["llm"])["Inputs"].iter_rows(values_only=True)
    floor = next(row[heads.index("Cell name")] for row in rows if row[1] == "smallest_bandwidth_asked")
    return recalculated(
        {
            "share": (path["one"], {named["one"]["jobs.job-0.share"]: 1.5}),
            "nodes": (path["one"], {named["one"]["jobs.job-0.nodes"]: 1.5}),
            "sound": (path["many"], {}),
            "two": (path["many"], {named["many"]["jobs.job-31.share"]: 1.5, named["many"]["jobs.job-32.nodes"]: 1.5}),
            "floor": (path["llm"], {floor: 3e6}),
            "size": (path["images"], {named["images"]["jobs.images.nodes"]: 8}),
        },
        folder,
    )


def site_of(jobs: int) -> dict[str, Any]:
    """A site with so many jobs."""
    clusters = {"main": {"node": "dgx-h100", "count": jobs}}
    return {"clusters": clusters, "jobs": {f"job-{place}": JOB for place in range(jobs)}}


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def failing(sheets: Values) -> set[Any]:
    """The names of the checks that fail."""
    checks = sheets["Checks"]
    return {checks[f"A{place[1:]}"] for place, said in checks.items() if said == "fails"}


@pytest.mark.parametrize(("name", "check"), [("share", "job-0: share_of_time"), ("nodes", "job-0: nodes")])
def test_an_input_out_of_range_turns_a_check_and_the_first_page_red(wrong, name, check):
    assert check in failing(wrong[name])
    assert any(str(value).startswith("A check fails") for value in wrong[name]["Read-me"].values())


def test_one_check_tests_a_quantity_of_many_jobs(wrong):
    assert not failing(wrong["sound"])
    assert failing(wrong["two"]) == {"all nodes", "all share_of_time"}


def test_a_line_that_is_no_longer_small_turns_a_check_red(wrong):
    """What is for information because one drive gives it: the priority does not follow the inputs, so a check does."""
    # 512 GPUs × 1,600 tokens/s × 4 B = 3.28 MB/s. R-READ-03 is mandatory at any size.
    assert plan_again(wrong["floor"]["Checks"]) == {"R-READ-01"}


def test_another_size_of_a_job_whose_rate_was_looked_up_for_its_size_turns_a_check_red(wrong):
    checks = wrong["size"]["Checks"]
    said = {str(checks[f"A{at[1:]}"]) for at, shown in checks.items() if shown == "plan again"}
    assert "images: rate per GPU, published for so many GPUs" in said


def test_what_is_invisible_is_marked_in_every_cell():
    site = yaml.safe_load((EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8"))
    turned = "net\u202egnp\u2066.exe \u0645\u0631\u062d\u0628\u0627"
    content = plan_workbook(ingest.plan({**site, "name": turned}, samples=0))
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        written = "".join(parts.read(name).decode() for name in parts.namelist() if name.endswith(".xml"))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x80-\x9f\u2028\u2029]", written)
    assert "net\ufffdgnp\ufffd.exe \u0645\u0631\u062d\u0628\u0627" in written


def test_a_site_makes_the_same_workbook_however_python_hashes(tmp_path):
    site, made = tmp_path / "site.yaml", []
    site.write_text(json.dumps(site_of(2)), encoding="utf-8")
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.xlsx"
        words = [Path(sys.executable).parent / "ingest", "report", site, "-o", path]
        subprocess.run(words, check=True, capture_output=True, timeout=100, env={**os.environ, "PYTHONHASHSEED": seed})
        with zipfile.ZipFile(path) as found:
            made.append({name: found.read(name) for name in found.namelist() if name != "docProps/core.xml"})
    assert made[0] == made[1]


@pytest.mark.parametrize("name", SITES)
def test_a_second_engine_agrees(name, tmp_path):
    """The package `formulas`: as delivered and with the twenty changes, every requirement."""
    engine = pytest.importorskip("formulas")
    site = at_any_size(name)
    path = tmp_path / "site.xlsx"
    path.write_bytes(plan_workbook(ingest.plan(site, samples=0)))
    by_key, by_name = other_inputs(path)
    book = openpyxl.load_workbook(path)
    places = {name: next(iter(book.defined_names[name].destinations)) for name in by_name}
    model = engine.ExcelModel().loads(str(path)).finish()
    given = {f"'[site.xlsx]{sheet.upper()}'!{place.replace('$', '')}": by_name[name] for name, (sheet, place) in places.items()}
    for plan, inputs in ((ingest.plan(site, samples=0), {}), (ingest.plan(site, samples=0, set=by_key), given)):
        solved = model.calculate(inputs=inputs)
        for row, one in enumerate(plan.requirements, start=2):
            for column, expected in (("D", one.computed), ("F", one.value)):
                found = solved[f"'[site.xlsx]REQUIREMENTS'!{column}{row}"].value[0, 0]
                assert found == pytest.approx(expected, rel=1e-9), (one.id, column)
