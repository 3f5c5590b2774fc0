"""The small workbook: every cell is what Python says, also after inputs were changed, as LibreOffice recalculates it."""

from __future__ import annotations

import math
from pathlib import Path

import openpyxl
import pytest
from office import changed, heading, recalculated, values

import ingest
from ingest.formula import FORMULAS, LEAVES
from ingest.known import CLIENTS
from ingest.reports.books import answer_book, fit_book
from ingest.reports.labels import plain

CASES = {
    "bw": (
        lambda **set_: ingest.bw(model="cosmoflow", gpu="h100", nodes=128, set=set_),
        {"nodes": 96, "sample_bytes": 16_777_216},
    ),
    "transferred": (lambda **set_: ingest.bw(model="resnet50", gpu="mi300x", nodes=4, set=set_), {"cache_hit_fraction": 0.25}),
    "checkpoint": (
        lambda **set_: ingest.checkpoint("llama3-405b", gpus=16_384, waste="5%", set=set_),
        {"restart_seconds": 300, "keep_last": 7},
    ),
    "model": (lambda **set_: ingest.model("llama3-8b", set=set_), {"sequence_length": 4096}),
    "memory": (lambda **set_: ingest.memory("llama3-8b", gpu="h100", set=set_), {"memory_utilization": 0.8}),
}


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-300)
    return ours == theirs


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path):
    ask, other = CASES[request.param]
    answer = ask()
    path = tmp_path / f"{request.param}.xlsx"
    path.write_bytes(answer_book(answer, "A title"))
    return answer, ask, other, path


def formulas(path: Path) -> list[tuple[str, str]]:
    book = openpyxl.load_workbook(path)
    return [
        (sheet.title, cell.coordinate)
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str) and cell.value.startswith("=")
    ]


def results(sheets: dict[str, dict[str, object]]) -> dict[str, object]:
    """The results by the name of the quantity that each label stands for."""
    cells = sheets["Results"]
    base = heading(cells, "Base value")
    named = {plain(name): name for name in [*CLIENTS, *LEAVES, *FORMULAS]}
    return {named[str(cells[f"A{row}"])]: cells[f"{base}{row}"] for row in range(2, 200) if f"A{row}" in cells}


def test_every_formula_is_recalculated_to_the_stored_value(case, tmp_path):
    _, _, _, path = case
    stored, fresh = values(path), recalculated(changed(path, tmp_path, {}), tmp_path / "office")
    places = formulas(path)
    assert len(places) > 20
    wrong = {
        (sheet, place): (stored[sheet].get(place), fresh[sheet].get(place))
        for sheet, place in places
        if not same(stored[sheet].get(place), fresh[sheet].get(place))
    }
    assert not wrong


def test_changed_inputs_give_what_the_command_gives(case, tmp_path):
    _, ask, other, path = case
    fresh = recalculated(changed(path, tmp_path, other), tmp_path / "office")
    expected = ask(**other)
    found = results(fresh)
    assert found.keys() == expected.results.keys()
    wrong = {name: (found[name], item.value) for name, item in expected.results.items() if not same(found[name], item.value)}
    assert not wrong
    assert "fails" not in fresh["Checks"].values()


def test_a_value_out_of_range_turns_a_check_red(tmp_path):
    path = tmp_path / "bw.xlsx"
    path.write_bytes(answer_book(ingest.bw(model="cosmoflow", gpu="h100", nodes=2), "A title"))
    fresh = recalculated(changed(path, tmp_path, {"accelerator_utilization": 1.5}), tmp_path / "office")
    assert "fails" in fresh["Checks"].values()
    assert any(str(value).startswith("A check fails") for value in fresh["Read-me"].values())


def test_a_comparison_of_systems_is_recalculated_and_follows_its_need(tmp_path):
    found = ingest.fit(read_bandwidth="500GB/s", write_bandwidth="300GB/s", capacity="1PB", storage="all")
    path = tmp_path / "fit.xlsx"
    path.write_bytes(fit_book(found))
    stored, fresh = values(path), recalculated(changed(path, tmp_path, {}), tmp_path / "office")
    wrong = {at: (stored[at[0]].get(at[1]), fresh[at[0]].get(at[1])) for at in formulas(path)}
    assert not {at: pair for at, pair in wrong.items() if not same(*pair)}
    assert "fails" not in fresh["Checks"].values()
    judged = [layer.holds for one in found.systems for layer in one.layers]
    holds = heading(stored["Results"], "Holds")
    shown = [fresh["Results"][f"{holds}{row}"] for row in range(2, len(judged) + 2)]
    assert shown == [{True: "yes", False: "NO", None: "not known"}[one] for one in judged]
    more = recalculated(changed(path, tmp_path, {"read_bandwidth_needed": 5e15}), tmp_path / "office")
    assert sum(more["Results"][f"{holds}{row}"] == "NO" for row in range(2, len(judged) + 2)) > shown.count("NO")
