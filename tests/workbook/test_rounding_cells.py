"""The formula below `Required`: spreadsheets round as the plan does, at every edge."""

from __future__ import annotations

import openpyxl
import pytest
from office import recalculated

from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS, solve

#: Round already, noise just below and just above the tolerance of 1e-9, powers of ten, counts, small numbers, nothing.
EDGES = [302e9, 302e9 * (1 + 0.9e-9), 302e9 * (1 + 1.1e-9), 302e9 * (1 - 1.1e-9), 302_000_000_000.0001, 999.5, 1000, 1e12,
         1e12 * (1 + 0.9e-9), 1e12 * (1 + 1.1e-9), 1_835_500.9999999995, 40_607_658, 7.231, 99.91, 0.0453967, 1e-10, 0,
         984_496_892_142.8, 1.23456789e21]  # fmt: skip


def test_libreoffice_rounds_every_edge_as_python_does(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    tree = FORMULAS["rounded_requirement"].tree()
    for row, value in enumerate(EDGES, start=1):
        sheet[f"A{row}"] = value
        for column, digits in (("B", 2), ("C", 3)):
            sheet[f"{column}{row}"] = cell(tree, {"computed_requirement": f"A{row}", "significant_digits": str(digits)}.get)
    path = tmp_path / "edges.xlsx"
    book.save(path)
    found = recalculated({"edges again": (path, {})}, tmp_path)["edges again"]["Sheet"]
    for row, value in enumerate(EDGES, start=1):
        for column, digits in (("B", 2), ("C", 3)):
            expected = solve("rounded_requirement", {"computed_requirement": value, "significant_digits": digits})
            assert found[f"{column}{row}"] == pytest.approx(expected, rel=1e-14, abs=0), (value, digits)
