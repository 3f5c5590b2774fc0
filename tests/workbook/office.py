"""LibreOffice, headless: opens workbooks, recalculates every formula, and gives the values back."""

import contextlib
import functools
import html
import math
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

#: What LibreOffice writes at its first start; one per process of the tests, so that several run concurrently.
PROFILE = tempfile.TemporaryDirectory(prefix="ingest-office-", ignore_cleanup_errors=True)


#: A cell with a formula and the value that it had when it was written.
_FORMULA = re.compile(r"(<f[^>]*>[^<]*</f>)<v>[^<]*</v>")


def office() -> str:
    """The program; its absence fails where nothing may be skipped."""
    found = shutil.which("soffice")
    if found is None:
        if os.environ.get("INGEST_TEST_ALL"):
            pytest.fail("LibreOffice is missing")
        pytest.skip("needs LibreOffice")
    return found


def converted(path: Path, suffix: str, folder: Path) -> Path:
    return all_converted([path], suffix, folder)[0]


def all_converted(paths: Sequence[Path], suffix: str, folder: Path) -> list[Path]:
    """Convert files, each with a name of its own, in one process."""
    assert len({path.stem for path in paths}) == len(paths)
    folder.mkdir(exist_ok=True)
    profile = f"-env:UserInstallation=file://{PROFILE.name}"
    command = [office(), profile, "--headless", "--convert-to", suffix, "--outdir", str(folder), *map(str, paths)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return [folder / f"{path.stem}.{suffix}" for path in paths]


def changed(path: Path, target: Path, inputs: Mapping[str, float]) -> Path:
    """A copy without stored values, with other inputs by defined name: whoever opens it has to calculate."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    files = re.findall(r'<sheet name="([^"]*)"[^>]* r:id="rId(\d+)"', parts["xl/workbook.xml"].decode())
    file_of = {html.unescape(name): f"xl/worksheets/sheet{number}.xml" for name, number in files}
    named = re.findall(r'<definedName name="(\w+)"[^>]*>([^<]*)</definedName>', parts["xl/workbook.xml"].decode())
    places = {name: html.unescape(place) for name, place in named}
    sheets = {name: _FORMULA.sub(r"\1", parts[name].decode()) for name in parts if name.startswith("xl/worksheets/sheet")}
    for name, value in inputs.items():
        sheet, _, place = places[name].rpartition("!")
        assert ":" not in place, f"{name} is a column"
        cell = re.compile(rf'(<c r="{place.replace("$", "")}"(?: s="\d+")?)[^>]*>(?:<f[^>]*>[^<]*</f>)?(?:<v>[^<]*</v>)?</c>')
        file = file_of[sheet.strip("'")]
        sheets[file], changes = cell.subn(lambda found, value=value: f"{found[1]}><v>{value!r}</v></c>", sheets[file])
        assert changes == 1, f"{name} is no cell at {places[name]}"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for name, content in {**parts, **{name: text.encode() for name, text in sheets.items()}}.items():
            book.writestr(name, content)
    return target


Values = dict[str, dict[str, object]]


def recalculated(books: Mapping[str, tuple[Path, Mapping[str, float]]], folder: Path) -> dict[str, Values]:
    """Every cell's value after recalculation of each workbook with its other inputs: by name, then by sheet and place."""
    paths = [changed(path, folder / f"{name}.xlsx", inputs) for name, (path, inputs) in books.items()]
    return dict(zip(books, map(values, all_converted(paths, "xlsx", folder / "office")), strict=True))


def values(path: Path) -> Values:
    import openpyxl

    with contextlib.closing(openpyxl.load_workbook(path, data_only=True, read_only=True)) as book:
        return {
            sheet.title: {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None}
            for sheet in book.worksheets
        }


def same(ours: object, theirs: object) -> bool:
    """Whether a spreadsheet program calculates the stored value; to it, an empty text is an empty cell."""
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-300)
    return (ours or "") == (theirs or "")


@functools.lru_cache(maxsize=6)
def opened(path: Path, data_only: bool = False) -> Any:
    """A workbook, read once for all tests that look at it: none of them changes it."""
    import openpyxl

    return openpyxl.load_workbook(path, data_only=data_only)


def formulas(path: Path) -> dict[tuple[str, str], str]:
    """The formula of each cell that has one, by sheet and place."""
    cells = ((sheet.title, cell) for sheet in opened(path) for row in sheet.iter_rows() for cell in row)
    return {(sheet, cell.coordinate): cell.value for sheet, cell in cells if cell.data_type == "f"}


def heading(cells: Mapping[str, object], head: str) -> str:
    """The letter of the column below a heading."""
    return next(place.removesuffix("1") for place, found in cells.items() if found == head and place[:-1].isalpha())
