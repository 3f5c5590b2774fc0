"""LibreOffice, headless: opens workbooks, recalculates every formula, and gives the values back."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

#: What LibreOffice writes at its first start; one per process of the tests, so that several run concurrently.
PROFILE = tempfile.TemporaryDirectory(prefix="ingest-office-", ignore_cleanup_errors=True)


def office() -> str:
    """The program; its absence fails where nothing may be skipped."""
    found = shutil.which("soffice")
    if found is None:
        if os.environ.get("INGEST_TEST_ALL"):
            pytest.fail("LibreOffice is missing")
        pytest.skip("needs LibreOffice")
    return found


def converted(path: Path, suffix: str, folder: Path) -> Path:
    """Convert one file."""
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
    import openpyxl

    book = openpyxl.load_workbook(path)
    for name, value in inputs.items():
        sheet, place = next(iter(book.defined_names[name].destinations))
        cell = book[sheet][place]
        assert not hasattr(cell, "__len__"), f"{name} is a column"
        cell.value = value
    book.save(target)
    return target


Values = dict[str, dict[str, object]]


def recalculated(books: Mapping[str, tuple[Path, Mapping[str, float]]], folder: Path) -> dict[str, Values]:
    """Every cell's value after recalculation of each workbook with its other inputs: by name, then by sheet and place."""
    paths = [changed(path, folder / f"{name}.xlsx", inputs) for name, (path, inputs) in books.items()]
    return dict(zip(books, map(values, all_converted(paths, "xlsx", folder / "office")), strict=True))


def values(path: Path) -> Values:
    """The stored values of a workbook, by sheet and place."""
    import openpyxl

    book = openpyxl.load_workbook(path, data_only=True)
    return {
        sheet.title: {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None}
        for sheet in book
    }


def heading(cells: Mapping[str, object], head: str) -> str:
    """The letter of the column below a heading."""
    return next(place.removesuffix("1") for place, found in cells.items() if found == head and place[:-1].isalpha())
