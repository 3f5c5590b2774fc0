"""The sheet that leaves work away writes what the library's own sheet writes, and the same each time."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from xlsxwriter.worksheet import Worksheet

from ingest.reports.workbook.grid import Entry, Figure, Formula, Grid
from ingest.reports.workbook.plain_sheet import PlainSheet
from ingest.reports.workbook.style import open_book

SITE = Path(__file__).parents[2] / "examples" / "hpc-128-nodes.yaml"
#: What each kind of cell may hold: markup, quotes, spaces, text that looks like a formula, numbers of every size.
ROWS: list[list[Any]] = [
    ["<b> & \"quoted\" 'text'", 1.5, Formula('=IF(A1 < B1, "<&>", "")', "<&>", "text"), Entry("=1+1"), None],
    [
        " kept ",
        Figure(1e-300, "number"),
        Formula("=1 / 3", 1 / 3),
        Entry(2.0, {"validate": "decimal", "criteria": ">", "value": 0}),
    ],
    ["=A1", "@x", "long " * 50, Formula("=SUM(B2:B3)", 0.0), Entry(None), 10**15],
]


def parts(kind: type) -> dict[str, str]:
    """The files of a workbook whose sheet is of this kind; which columns a row uses is left out."""
    buffer = io.BytesIO()
    book, styles = open_book(buffer, "Cells")
    grid = Grid(book.add_worksheet("One", kind), styles, ["<A>", "B", "C", "D", "E", "F"], [10, 10, 30, 10, 10, 10])
    for row in ROWS:
        grid.row(*row)
    grid.close()
    book.close()
    with zipfile.ZipFile(buffer) as found:
        return {
            name: re.sub(r' spans="[\d:]+"', "", found.read(name).decode())
            for name in found.namelist()
            if name != "docProps/core.xml"
        }


def test_every_kind_of_cell_is_written_as_the_library_writes_it():
    ours, theirs = parts(PlainSheet), parts(Worksheet)
    assert "<f>" in theirs["xl/worksheets/sheet1.xml"]
    assert ours == theirs


def test_a_site_makes_the_same_workbook_however_python_hashes(tmp_path):
    made = []
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.xlsx"
        words = [Path(sys.executable).parent / "ingest", "report", SITE, "-o", path]
        subprocess.run(words, check=True, capture_output=True, timeout=100, env={**os.environ, "PYTHONHASHSEED": seed})
        with zipfile.ZipFile(path) as found:
            made.append({name: found.read(name) for name in found.namelist() if name != "docProps/core.xml"})
    assert made[0] == made[1]
