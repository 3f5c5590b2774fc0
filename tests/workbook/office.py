"""LibreOffice, headless: opens a workbook, recalculates every formula, and gives the values back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def office() -> str:
    """The program; its absence fails where nothing may be skipped."""
    found = shutil.which("soffice")
    if found is None:
        if os.environ.get("INGEST_TEST_ALL"):
            pytest.fail("LibreOffice is missing")
        pytest.skip("needs LibreOffice")
    return found


def converted(path: Path, suffix: str, folder: Path) -> Path:
    """Convert a file; a profile of its own lets several run at once."""
    folder.mkdir(exist_ok=True)
    profile = f"-env:UserInstallation=file://{folder / 'profile'}"
    command = [office(), profile, "--headless", "--convert-to", suffix, "--outdir", str(folder), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder / f"{path.stem}.{suffix}"


def changed(path: Path, folder: Path, inputs: Mapping[str, float]) -> Path:
    """A copy without stored values, with other inputs by defined name: whoever opens it has to calculate."""
    import openpyxl

    book = openpyxl.load_workbook(path)
    for name, value in inputs.items():
        sheet, place = next(iter(book.defined_names[name].destinations))
        cell = book[sheet][place]
        assert not hasattr(cell, "__len__"), f"{name} is a column"
        cell.value = value
    target = folder / f"changed-{path.name}"
    book.save(target)
    return target


def recalculated(path: Path, folder: Path) -> dict[str, dict[str, object]]:
    """Every cell's value after recalculation, by sheet and place."""
    return values(converted(path, "xlsx", folder))


def values(path: Path) -> dict[str, dict[str, object]]:
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
