"""Workbooks as a buyer sends them out and as a vendor sends them back."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl

import ingest
from ingest.cli.main import main


@dataclass(frozen=True)
class Told:
    """What the command line said."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The only line on standard error that is no warning."""
        lines = [line for line in self.err.splitlines() if not line.startswith("ingest: warning: ")]
        assert len(lines) == 1, self.err
        return lines[0].removeprefix("ingest: ")


def told(*words: object) -> Told:
    """Run the command line in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["ingest", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        return Told(ended.code, out.getvalue(), err.getvalue())
    finally:
        sys.argv = before
    raise AssertionError("the command line did not end with a code")


def columns(sheet: Any) -> dict[str, int]:
    """The column of each heading."""
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
    """Change a workbook, keeping its stored values: openpyxl forgets them where formulas stand."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    change(book)
    book.save(path)
    return path


def everything_met(plan: ingest.Plan, factor: float = 1.1) -> dict[str, dict[str, Any]]:
    """Every requirement is answered, by the same share above what is required."""
    proof = {"Comply": "yes", "Measured or projected": "measured", "Log file": "run.log"}
    return {one.id: {**proof, "As-is value": one.value * factor} for one in plan.requirements}
