"""The workbook of a site: two other programs calculate what Python says, as delivered and after twenty changes."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from conftest import EXAMPLES, table
from office import Values, formulas, heading, opened, recalculated, same, values

import ingest
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.sheet import A4, CHARACTER, FRAME, PAGE, pages_wide
from ingest.units import display, parse

#: One for each push, the others before an issue is closed.
SITES = ("hpc-128-nodes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llm-16384-gpus", "enterprise-64-nodes")))
LLM = table("workbook/cases.yaml")["language_model"]
IMAGES = table("workbook/cases.yaml")["images"]
JOB = {"model": "cosmoflow", "cluster": "main", "nodes": 1, "share": "50%"}
#: Factors by which inputs are changed in turn; whole numbers are rounded.
FACTORS = (0.75, 1.25, 0.5, 0.9)
#: What the example sites have no room for: more nodes than the cluster holds.
BOUNDED = ("nodes", "runs", "count")
MANY = 20
#: The row of the headings on the sheet Results.
TOP = 5
#: Functions that Excel 2010 knows, and no others, may stand in a formula.
KNOWN = {*table("workbook/cases.yaml")["functions_of_excel_2010"]}


@dataclass
class Case:
    """One site: its plan and workbook, the same with other inputs, and what LibreOffice makes of both.

    Inputs that are knobs are changed on the sheet Results, in the unit in which people enter them, the others on Inputs.
    """

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
    path.write_bytes(model_workbook(plan))
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
    lines = lines_of(path, "Inputs")
    return [line for line in lines if line["Key in the site file"]]


def lines_of(path: Path, sheet: str, top: int = 1) -> list[dict[str, Any]]:
    """The lines of a sheet by heading."""
    heads, *rows = opened(path, data_only=True)[sheet].iter_rows(values_only=True, min_row=top)
    return [{head: value for head, value in zip(heads, row, strict=True) if head} for row in rows]


def knobs(path: Path) -> dict[str, tuple[str, float]]:
    """The name of the cell of each knob on the sheet Results, and the value there, by the key of the site file."""
    named = ((f"knob_{row}", line) for row, line in enumerate(lines_of(path, "Results", TOP), start=TOP + 1))
    return {line["Key in the site file"]: (name, line["Setting"]) for name, line in named if line.get("Key in the site file")}


def other_inputs(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Twenty other values, by key of the site file and by name of the cell; each lies in the range of its cell.

    A knob takes its value in its own unit.
    """
    turned = knobs(path)
    # Two knobs at least, then the first lines of the sheet.
    lines = sorted(keyed(path), key=lambda line: line["Key in the site file"] not in list(turned)[:8])[:MANY]
    assert len(lines) == MANY
    found = {line["Key in the site file"]: (line["Cell name"], moved(line, FACTORS[n % 4])) for n, line in enumerate(lines)}
    assert all(value != line["Value"] for line, (_, value) in zip(lines, found.values(), strict=True))
    before = {line["Key in the site file"]: line["Value"] for line in lines}
    by_name = {}
    for key, (name, value) in found.items():
        knob, shown = turned.get(key, (name, before[key]))
        by_name[knob] = value * shown / before[key]
    assert sum(name.startswith("knob_") for name in by_name) >= 2
    return {key: value for key, (_, value) in found.items()}, by_name


def moved(line: Mapping[str, Any], factor: float) -> float:
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


def results(sheets: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    cells = sheets["Requirements"]
    required = heading(cells, "Required")
    return {cells[f"A{row}"]: cells[f"{required}{row}"] for row in range(2, 60) if str(cells.get(f"A{row}")).startswith("R-")}


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
    cells, moved = case.stored["Requirements"], case.moved["Requirements"]
    texts = {at: item for at, item in cells.items() if isinstance(item, str)}
    assert {at: moved.get(at) for at in texts} == texts
    for row, one in enumerate(case.plan.requirements, start=2):
        assert (moved[f"A{row}"], moved[f"C{row}"]) == (one.id, one.statement)


def test_results_show_each_requirement_in_the_unit_in_which_people_read_it_and_follow(case):
    for cells, plan in ((case.fresh["Results"], case.plan), (case.moved["Results"], case.other)):
        for row, one in enumerate(plan.requirements, start=TOP + 1):
            unit = cells[f"D{row}"]
            factor = (
                parse(f"1 {unit}".removesuffix("/node"), one.unit.removesuffix("/node"), one.id) if unit != "days" else 86_400
            )
            assert (cells[f"A{row}"], cells[f"C{row}"] * factor) == (one.id, pytest.approx(one.value, rel=1e-9))


def test_the_first_page_says_what_the_site_needs(case):
    required = {one.id: one for one in case.plan.requirements}
    sheet = opened(case.path, data_only=True)["Results"]
    tiles = {name.value: sheet.cell(3, name.column) for name in sheet[2] if name.value}
    names = [next(name for name in tiles if name.startswith(what)) for what in ("Usable capacity", "Read", "Write", "Restore")]
    for name in names:
        one, tile = required[re.search(r"\((R-.*)\)", name)[1]], tiles[name]
        unit = re.search('General" (.*)"', tile.number_format)[1]
        assert f"{tile.value:,.12g} {unit}" == display(one.value, one.unit, binary=False)
    assert "R-CAP-03" in names[0]
    assert case.fresh["Results"]["A1"] == f"Storage requirements of {case.plan.site.name}"


def test_fifteen_inputs_can_be_turned_on_the_first_page_and_nowhere_else(case):
    turned = knobs(case.path)
    kinds = [key.rpartition(".")[2] for key in turned]
    assert len(turned) == 15
    assert {"headroom", "capacity", "keep", "interval", "fill_limit", "nodes"} <= set(kinds)
    book = opened(case.path)
    places = {f"=Results!{next(iter(book.defined_names[name].destinations))[1]}" for name, _ in turned.values()}
    heads = [cell.value for cell in book["Inputs"][1]]
    settings = [row[heads.index("Setting")] for row in book["Inputs"].iter_rows(min_row=2)]
    assert {cell.value for cell in settings if isinstance(cell.value, str)} == places
    assert all(cell.protection.locked == isinstance(cell.value, str) for cell in settings)


def test_ten_sheets_are_seen_and_the_calculation_is_behind_them(case):
    book = opened(case.path)
    seen = [sheet.title for sheet in book if sheet.sheet_state == "visible"]
    assert book.active.title in ("Decisions", "Results")
    # What the buyer has to decide stands first.
    seen = seen[1:] if seen[0] == "Decisions" else seen
    assert seen[:4] == ["Results", "Read-me", "Inputs", "Requirements"]
    assert len(seen) <= 10
    assert {"Calculation", "Columns", "Sources"} <= {sheet.title for sheet in book if sheet.sheet_state == "hidden"}


def plan_again(checks: Mapping[str, Any]) -> set[str]:
    """The requirements and rows of which a check says that planning would decide otherwise."""
    return {str(checks[f"A{at[1:]}"]).partition(":")[0] for at, shown in checks.items() if shown == "plan again"}


def test_tables_follow_the_changed_inputs(case):
    cells = case.moved["Capacity by year"]
    column, head = next((at[:-1], head) for at, head in cells.items() if str(head).startswith("Data held ("))
    unit = parse(f"1 {re.search(r'[(](.*)[)]', head)[1]}", "B", "a unit")
    years = [row["year_usable_bytes"] / unit for row in case.other.tables["capacity"]]
    assert unit > 1
    assert [cells[f"{column}{row}"] for row in range(2, len(years) + 2)] == pytest.approx(years, rel=1e-9)


def test_titles_of_charts_say_what_was_planned(case):
    with zipfile.ZipFile(case.path) as parts:
        drawn = [parts.read(f"xl/charts/chart{number}.xml").decode() for number in (1, 2, 3)]
    reads, capacity, checkpoints = (re.search(r"<c:title>.*?<a:t>(.*?)</a:t>", text)[1] for text in drawn)
    most = max(case.plan.tables["jobs"], key=lambda row: row.get("job_read_bandwidth", 0))
    shown = display(most["job_read_bandwidth"], "B/s", binary=False)
    assert reads == f"Read bandwidth by job: {most['name']} needs the most, {shown}"
    assert re.fullmatch(r"Capacity (grows|stays|is) .*\d .?B.*", capacity)
    largest = max(case.plan.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    needs = display(largest["checkpoint_write_bandwidth"], "B/s", binary=False)
    assert checkpoints.startswith(f"Checkpoints of {largest['name']}: ")
    assert checkpoints.endswith(f"needs {needs} of writes")


def test_the_chosen_checkpoint_interval_follows_the_inputs_and_lies_on_the_line_as_planned(case):
    cells, row = case.fresh["Intervals"], max(case.plan.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    chosen = (cells["B2"], cells["C2"])
    assert chosen == pytest.approx((row["checkpoint_interval"] / 60, row["checkpoint_write_bandwidth"]), rel=1e-9)
    line = [(cells[f"B{at}"], cells[f"C{at}"]) for at in range(3, 60) if isinstance(cells.get(f"C{at}"), (int, float))]
    assert min(line, key=lambda point: abs(point[0] - chosen[0])) == pytest.approx(chosen, rel=1e-6)
    after = max(case.other.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    if after["name"] == row["name"]:
        assert case.moved["Intervals"]["C2"] == pytest.approx(after["checkpoint_write_bandwidth"], rel=1e-9)


def test_the_chosen_write_bandwidth_follows_the_inputs_and_lies_on_the_line_of_goodput(case):
    cells, row = case.fresh["Goodput"], max(case.plan.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    assert cells["B2"] == pytest.approx(row["checkpoint_write_bandwidth"], rel=1e-9)
    line = [(cells[f"B{at}"], cells[f"C{at}"], cells.get(f"D{at}")) for at in range(3, 10)]
    assert line[3][:2] == pytest.approx((cells["B2"], cells["C2"]), rel=1e-9)
    assert [share for _, share, _ in line] == sorted(share for _, share, _ in line)
    known = next(one for one in case.plan.rows["jobs"] if one.name == row["name"])
    for (less, before, gained), (more, after, _) in pairwise(line):
        assert gained * (more - less) / 1e9 == pytest.approx((after - before) * known.known.value("gpus"), rel=1e-6)
    after = max(case.other.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    if after["name"] == row["name"]:
        assert case.moved["Goodput"]["B2"] == pytest.approx(after["checkpoint_write_bandwidth"], rel=1e-9)


def test_no_check_fails_and_no_cell_shows_an_error(case):
    for sheets in (case.stored, case.fresh, case.moved):
        assert "fails" not in sheets["Checks"].values()
        assert not [value for cells in sheets.values() for value in cells.values() if str(value).startswith("#")]


def test_the_first_page_says_that_all_checks_pass(case):
    passing = f"All {len(lines_of(case.path, 'Checks'))} checks pass."
    for sheets in (case.stored, case.fresh):
        assert [name for name in sheets if passing in sheets[name].values()] == ["Results", "Read-me"]


def test_only_old_functions_no_links_no_macros(case):
    used = {
        name
        for text in formulas(case.path).values()
        for name in re.findall(r"([A-Z][A-Z0-9.]+)\(", re.sub(r'"[^"]*"', '""', text))
    }
    assert used <= KNOWN
    with zipfile.ZipFile(case.path) as parts:
        names = parts.namelist()
    assert not [name for name in names if "externalLink" in name or "vba" in name.lower() or "connections" in name]


def test_every_sheet_prints_in_landscape_with_its_heading_in_letters_that_can_be_read(case):
    for sheet in opened(case.path):
        if sheet.sheet_state != "visible":
            continue
        assert sheet.page_setup.orientation == "landscape", sheet.title
        assert int(sheet.page_setup.paperSize) == A4, sheet.title
        widths, kept = printed_widths(sheet), sheet.freeze_panes.count("C") + 1
        top = TOP if sheet.title == "Results" else 1
        pages = sheet.page_setup.fitToWidth or 1
        assert pages == pages_wide(widths, kept), sheet.title
        assert pages == 1 or sheet.print_title_cols == f"$A:${'AB'[kept - 1]}", sheet.title
        repeated = (pages - 1) * sum(CHARACTER * width + FRAME for width in widths[:kept])
        assert sum(CHARACTER * width + FRAME for width in widths) + repeated <= pages * PAGE, sheet.title
        assert sheet.print_title_rows == f"${top}:${top}", sheet.title
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.print_area
        assert sheet.freeze_panes, sheet.title


def printed_widths(sheet: Any) -> list[float]:
    last = openpyxl.utils.cell.range_boundaries(sheet.print_area.rpartition("!")[2])[2]
    letters = [openpyxl.utils.get_column_letter(column) for column in range(1, last + 1)]
    # A file holds the frame of a column in its width.
    return [round(sheet.column_dimensions[letter].width - FRAME / CHARACTER, 2) for letter in letters]


def test_numbers_stand_below_headings_at_the_right_and_shares_in_percent(case):
    book = opened(case.path)
    for name in ("Inputs", "Calculation", "Requirements"):
        heads = {cell.value: cell for cell in book[name][1]}
        assert heads["Value"].alignment.horizontal == "right", name
        assert heads["Unit"].alignment.horizontal == "left", name
    heads = [cell.value for cell in book["Inputs"][1]]
    setting, value, shown, base = (heads.index(head) for head in ("Setting", "Value", "In", "Unit"))
    for line in book["Inputs"].iter_rows(min_row=2):
        percent = line[value].number_format.endswith("%")
        assert (line[base].value == "share") == (line[shown].value == "%") == percent, line[1].value
        assert line[setting].number_format.endswith("%") == percent, line[1].value


def test_every_input_has_a_name_a_rule_and_a_value_in_base_units(case):
    book = opened(case.path)
    sheet = book["Inputs"]
    ruled = {str(area) for rule in sheet.data_validations.dataValidation for area in rule.sqref.ranges}
    turned = {str(area) for rule in book["Results"].data_validations.dataValidation for area in rule.sqref.ranges}
    named = {name.attr_text for name in book.defined_names.values()}
    heads = [cell.value for cell in sheet[1]]
    setting, value, name = (heads.index(head) + 1 for head in ("Setting", "Value", "Cell name"))
    for row in range(2, sheet.max_row + 1):
        entered = sheet.cell(row, setting)
        if entered.data_type == "f":
            assert str(entered.value).rpartition("!")[2].replace("$", "") in turned, row
        else:
            columns = filter(None, (re.fullmatch(r"C(\d+):C(\d+)", area) for area in ruled))
            assert entered.coordinate in ruled or any(int(one[1]) <= row <= int(one[2]) for one in columns), row
        assert str(sheet.cell(row, value).value).startswith(f"={entered.coordinate}"), row
        if sheet.cell(row, name).value:
            letter = sheet.cell(row, value).column_letter
            assert any(text.startswith(f"Inputs!${letter}${row}") for text in named), row


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Values]:
    """What LibreOffice calculates of inputs that are out of range, or turn what planning decided."""
    folder = tmp_path_factory.mktemp("wrong")
    sites = {"one": site_of(1), "many": site_of(60), "llm": LLM, "images": IMAGES}
    plans = {name: ingest.plan(site, samples=0) for name, site in sites.items()}
    path = {name: write(folder / f"site-{name}.xlsx", model_workbook(plan)) for name, plan in plans.items()}
    named = {name: {line["Key in the site file"]: line["Cell name"] for line in keyed(path[name])} for name in sites}
    floor = next(
        line["Cell name"] for line in lines_of(path["llm"], "Inputs") if line["Quantity"] == "smallest_bandwidth_asked"
    )
    return recalculated(
        {
            "one": (path["one"], {named["one"]["jobs.job-0.share"]: 1.5, named["one"]["jobs.job-0.nodes"]: 1.5}),
            "two": (path["many"], {named["many"]["jobs.job-31.share"]: 1.5, named["many"]["jobs.job-32.nodes"]: 1.5}),
            "floor": (path["llm"], {floor: 3e6}),
            "size": (path["images"], {named["images"]["jobs.images.nodes"]: 8}),
        },
        folder,
    )


def site_of(jobs: int) -> dict[str, Any]:
    clusters = {"main": {"node": "dgx-h100", "count": jobs}}
    return {"clusters": clusters, "jobs": {f"job-{place}": JOB for place in range(jobs)}}


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def failing(sheets: Values) -> set[Any]:
    checks = sheets["Checks"]
    return {checks[f"A{place[1:]}"] for place, said in checks.items() if said == "fails"}


def test_an_input_out_of_range_turns_its_check_and_the_first_page_red(wrong):
    assert {"job-0: share_of_time", "job-0: nodes"} <= failing(wrong["one"])
    for sheet in ("Results", "Read-me"):
        assert any(str(value).startswith("A check fails") for value in wrong["one"][sheet].values())
    # Of many jobs, one check tests a quantity.
    assert failing(wrong["two"]) == {"all nodes", "all share_of_time"}


def test_a_line_that_is_no_longer_small_turns_a_check_red(wrong):
    """What is for information because one drive gives it: the priority does not follow the inputs, so a check does."""
    # 512 GPUs × 1,600 tokens/s × 4 B = 3.28 MB/s. R-READ-03 is mandatory at any size.
    assert plan_again(wrong["floor"]["Checks"]) == {"R-READ-01", "R-READ-02"}


def test_another_size_of_a_job_whose_rate_was_looked_up_for_its_size_turns_a_check_red(wrong):
    checks = wrong["size"]["Checks"]
    said = {str(checks[f"A{at[1:]}"]) for at, shown in checks.items() if shown == "plan again"}
    assert "images: rate per GPU, published for so many GPUs" in said


def test_what_is_invisible_is_marked_in_every_cell():
    site = yaml.safe_load((EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8"))
    turned = "net\u202egnp\u2066.exe \u0645\u0631\u062d\u0628\u0627"
    content = model_workbook(ingest.plan({**site, "name": turned}, samples=0))
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        written = "".join(parts.read(name).decode() for name in parts.namelist() if name.endswith(".xml"))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x80-\x9f\u2028\u2029]", written)
    assert "net\ufffdgnp\ufffd.exe \u0645\u0631\u062d\u0628\u0627" in written


def test_a_site_makes_the_same_workbook_however_python_hashes(tmp_path, run, run_process):
    (tmp_path / "site.yaml").write_text(json.dumps(site_of(2)), encoding="utf-8")
    # This process has a seed of its own, the other one none; both have this package.
    run("report", "site.yaml", "-o", "here.xlsx")
    run_process("report", "site.yaml", "-o", "there.xlsx", PYTHONHASHSEED="0", PYTHONPATH=str(EXAMPLES.parent))
    made = []
    for name in ("here", "there"):
        with zipfile.ZipFile(tmp_path / f"{name}.xlsx") as found:
            made.append({name: found.read(name) for name in found.namelist() if name != "docProps/core.xml"})
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_second_engine_agrees(name, tmp_path):
    """The package `formulas`: as delivered and with the twenty changes, every requirement."""
    engine = pytest.importorskip("formulas")
    site = at_any_size(name)
    path = tmp_path / "site.xlsx"
    path.write_bytes(model_workbook(ingest.plan(site, samples=0)))
    by_key, by_name = other_inputs(path)
    book = opened(path)
    places = {name: next(iter(book.defined_names[name].destinations)) for name in by_name}
    model = engine.ExcelModel().loads(str(path)).finish()
    given = {f"'[site.xlsx]{sheet.upper()}'!{place.replace('$', '')}": by_name[name] for name, (sheet, place) in places.items()}
    for plan, inputs in ((ingest.plan(site, samples=0), {}), (ingest.plan(site, samples=0, set=by_key), given)):
        solved = model.calculate(inputs=inputs)
        for row, one in enumerate(plan.requirements, start=2):
            for column, expected in (("D", one.computed), ("F", one.value)):
                found = solved[f"'[site.xlsx]REQUIREMENTS'!{column}{row}"].value[0, 0]
                assert found == pytest.approx(expected, rel=1e-9), (one.id, column)
