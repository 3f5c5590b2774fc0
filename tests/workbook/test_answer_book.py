"""The small workbook: every cell is what Python says, also after inputs were changed, as LibreOffice recalculates it."""

from pathlib import Path

import openpyxl
import pytest
from conftest import table
from office import Values, formulas, heading, opened, recalculated, same, values

import ingest
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS, INPUTS, solve
from ingest.reports.labels import plain
from ingest.reports.workbook.small_workbooks import fit_workbook, sizing_workbook
from ingest.sizing.job import CLIENTS

#: Each changes inputs that decide neither the evidence for a rate, which is of one size, nor whether nodes cache.
CASES = {
    "bw": (
        lambda **set_: ingest.bw(model="cosmoflow", gpu="h100", nodes=128, set=set_),
        {"warm_up_seconds": 300, "sample_bytes": 16_777_216},
    ),
    "transferred": (lambda **set_: ingest.bw(model="resnet50", gpu="mi300x", nodes=4, set=set_), {"sample_bytes": 150_000}),
    "checkpoint": (
        lambda **set_: ingest.checkpoint("llama3-405b", gpus=16_384, waste="5%", set=set_),
        {"restart_seconds": 300, "keep_last": 7},
    ),
    "model": (lambda **set_: ingest.model("llama3-8b", set=set_), {"sequence_length": 4096}),
    "memory": (lambda **set_: ingest.memory("llama3-8b", gpu="h100", set=set_), {"memory_utilization": 0.8}),
}
#: On each push some of the books, since each takes LibreOffice a second; all of them before an issue is closed.
SCALES = (("bw", "checkpoint", "fit"), pytest.param((*CASES, "fit"), marks=pytest.mark.slow))
#: Of the formula below `Required`: round already, noise just below and just above the tolerance of 1e-9, powers of ten,
#: counts, small numbers, nothing.
EDGES = table("workbook/cases.yaml")["edges_of_rounding"]
COLUMNS = {"B": 2, "C": 3}


@pytest.fixture(scope="module")
def systems():
    return ingest.fit(read_bandwidth="500GB/s", write_bandwidth="300GB/s", capacity="1PB", storage="all")


@pytest.fixture(scope="module", params=SCALES, ids=len)
def books(request, systems, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("books")
    for name in request.param:
        content = fit_workbook(systems) if name == "fit" else sizing_workbook(CASES[name][0](), "A title")
        (folder / f"{name}.xlsx").write_bytes(content)
    return {name: folder / f"{name}.xlsx" for name in request.param}


@pytest.fixture(scope="module")
def edges(tmp_path_factory) -> Path:
    """A sheet of the formula below `Required`, of two and of three digits."""
    book, tree = openpyxl.Workbook(), FORMULAS["rounded_requirement"].tree()
    for row, value in enumerate(EDGES, start=1):
        book.active[f"A{row}"] = value
        for column, digits in COLUMNS.items():
            names = {"computed_requirement": f"A{row}", "significant_digits": str(digits)}
            book.active[f"{column}{row}"] = cell(tree, names.get)
    path = tmp_path_factory.mktemp("edges") / "edges.xlsx"
    book.save(path)
    return path


@pytest.fixture(scope="module")
def fresh(books, edges, tmp_path_factory) -> dict[str, Values]:
    """What LibreOffice calculates: each as delivered, each with other inputs, one with a value out of its range."""
    asked = {name: (path, {}) for name, path in {**books, "edges": edges}.items()}
    asked |= {f"{name} moved": (books[name], other) for name, (_, other) in CASES.items() if name in books}
    asked["bw out of range"] = books["bw"], {"accelerator_utilization": 1.5}
    asked["fit moved"] = books["fit"], {"read_bandwidth_needed": 5e15}
    return recalculated(asked, tmp_path_factory.mktemp("fresh"))


def results(sheets: dict[str, dict[str, object]]) -> dict[str, object]:
    cells = sheets["Results"]
    base = heading(cells, "Base value")
    named = {plain(name): name for name in [*CLIENTS, *INPUTS, *FORMULAS]}
    return {named[str(cells[f"A{row}"])]: cells[f"{base}{row}"] for row in range(2, 200) if f"A{row}" in cells}


def test_every_formula_is_recalculated_to_the_stored_value(books, fresh):
    for name, path in books.items():
        stored, places = values(path), formulas(path)
        assert len(places) > 20
        pairs = {at: (stored[at[0]].get(at[1]), fresh[name][at[0]].get(at[1])) for at in places}
        assert not {at: pair for at, pair in pairs.items() if not same(*pair)}, name
        assert "fails" not in fresh[name]["Checks"].values()


def test_the_workbook_opens_on_its_results(books):
    for path in books.values():
        assert opened(path).active.title == opened(path).sheetnames[0] == "Results"


def test_changed_inputs_give_what_the_command_gives(books, fresh):
    for case in books.keys() & CASES.keys():
        ask, other = CASES[case]
        expected, found = ask(**other), results(fresh[f"{case} moved"])
        assert found.keys() == expected.results.keys()
        assert not {name: item for name, item in expected.results.items() if not same(found[name], item.value)}, case
        assert "fails" not in fresh[f"{case} moved"]["Checks"].values()


def test_libreoffice_rounds_every_edge_as_python_does(fresh):
    for row, value in enumerate(EDGES, start=1):
        for column, digits in COLUMNS.items():
            expected = solve("rounded_requirement", {"computed_requirement": value, "significant_digits": digits})
            found = fresh["edges"]["Sheet"][f"{column}{row}"]
            assert found == pytest.approx(expected, rel=1e-14, abs=0), (value, digits)


def test_a_value_out_of_range_turns_a_check_red(fresh):
    sheets = fresh["bw out of range"]
    assert "fails" in sheets["Checks"].values()
    assert any(str(value).startswith("A check fails") for value in sheets["Read-me"].values())


def test_a_comparison_of_systems_follows_its_need(systems, books, fresh):
    judged = [layer.holds for one in systems.systems for layer in one.layers]
    holds = heading(values(books["fit"])["Results"], "Holds")
    shown, more = (
        [fresh[name]["Results"][f"{holds}{row}"] for row in range(2, len(judged) + 2)] for name in ("fit", "fit moved")
    )
    assert shown == [{True: "yes", False: "NO", None: "unknown"}[one] for one in judged]
    assert more.count("NO") > shown.count("NO")
