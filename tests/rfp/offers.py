"""Workbooks as a buyer sends them out and as a vendor sends them back."""

from __future__ import annotations

import functools
import html
import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
from conftest import Ran, in_process

import ingest
from ingest.rfp.response_form import response_unit

#: The smallest site whose workbook has every sheet that a vendor returns.
ONE_JOB = {
    "name": "One job",
    "clusters": {"main": {"node": "dgx-a100", "count": 8}},
    "jobs": {"universe": {"cluster": "main", "model": "cosmoflow", "scaling": "linear", "nodes": 8, "data": "volumes"}},
    "datasets": {"volumes": {"model": "cosmoflow"}},
}


def told(*words: object) -> Ran:
    return in_process([*map(str, words)], ".", dict(os.environ))


def columns(sheet: Any) -> dict[str, int]:
    return {cell.value: cell.column for cell in sheet[1]}


def filled(content: bytes, answers: Mapping[str, Mapping[str, Any]], path: Path) -> Path:
    """Fill in the response sheet as a vendor does; answers by requirement and heading."""

    def write(book: Any) -> None:
        sheet = book["Vendor response"]
        places = columns(sheet)
        for row in range(2, sheet.max_row + 1):
            for head, value in answers.get(sheet.cell(row, 1).value, {}).items():
                sheet.cell(row, places[head]).value = value

    return edited(content, write, path)


def edited(content: bytes, change: Callable[[Any], None], path: Path) -> Path:
    """Change a workbook and keep the stored values of its formulas, as a spreadsheet program does."""
    titles = uncalculated(content, change, path)
    return with_values(path, titles, stored_values(content))


def uncalculated(content: bytes, change: Callable[[Any], None], path: Path) -> list[str]:
    """Change a workbook with openpyxl, which drops the stored values of all formulas; returns the names of its sheets."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    change(book)
    book.save(path)
    return book.sheetnames


@functools.cache
def stored_values(content: bytes) -> dict[tuple[str, str], Any]:
    """The stored value of each formula, by its sheet and its text: rows may move."""
    live, stored = (openpyxl.load_workbook(io.BytesIO(content), data_only=only) for only in (False, True))
    return {
        (sheet.title, cell.value): stored[sheet.title][cell.coordinate].value
        for sheet in live
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    }


BARE = re.compile(r'<c r="([A-Z]+\d+)"((?: s="\d+")?)><f>(.*?)</f><v ?/?>(?:</v>)?</c>', re.DOTALL)


def with_values(path: Path, titles: Sequence[str], values: Mapping[tuple[str, str], Any]) -> Path:
    """Put stored values back behind the formulas that have none."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    for number, title in enumerate(titles, start=1):
        name = f"xl/worksheets/sheet{number}.xml"
        parts[name] = BARE.sub(lambda found, title=title: _cell(found, title, values), parts[name].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return path


def _cell(found: re.Match[str], title: str, values: Mapping[tuple[str, str], Any]) -> str:
    place, style, formula = found.groups()
    value = values.get((title, f"={html.unescape(formula)}"))
    if value is None:
        return found[0]
    kind, shown = (' t="str"', html.escape(value)) if isinstance(value, str) else ("", repr(value))
    return f'<c r="{place}"{style}{kind}><f>{formula}</f><v>{shown}</v></c>'


def on_form(one: Any, factor: float = 1) -> float:
    return float(one.value / response_unit(one.value, one.unit).factor * factor)


def everything_met(plan: ingest.Plan, factor: float = 1.1) -> dict[str, dict[str, Any]]:
    """Every requirement is answered, by the same share above what is required, and every term accepted."""
    proof = {"Comply": "yes", "Measured or projected": "measured", "Log file": "run.log"}
    valued = {one.id: {**proof, "As-is value": on_form(one, factor)} for one in plan.vendor_lines}
    return {**valued, **{one.id: {"Comply": "yes"} for one in plan.vendor_terms}}
