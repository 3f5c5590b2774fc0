"""Marks of a plan's workbook whose inputs were changed: a count, a banner, and texts struck out."""

from __future__ import annotations

from ingest.reports.workbook.derivation_cells import FIRST
from ingest.reports.workbook.sheet import CellFormula, SheetWriter
from ingest.reports.workbook.styles import layouts

#: The defined name of the cell that counts the inputs that differ from those of the plan.
CHANGED = "inputs_changed"
BANNER = "statements and conditions are those of the plan; run `ingest plan` again"


def changed_inputs(last: int, kind: str = "model") -> CellFormula:
    """How many inputs differ from those of the plan; `last` is the last row of the sheet Inputs."""
    letters = map(layouts(kind)["Inputs"].letter, ("Value", "As delivered"))
    here, before = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in letters)
    return CellFormula(f"=SUMPRODUCT(--({here} <> {before}))", 0)


def banner() -> CellFormula:
    """One line that stays empty while every input is that of the plan."""
    return CellFormula(f'=IF({CHANGED} = 0, "", "Inputs changed (" & {CHANGED} & "): {BANNER}")', "", "warning")


def add_banner(sheet: SheetWriter) -> None:
    """Write the banner below the lines of a sheet; the first column stays empty, which marks it as not a requirement line."""
    sheet.row("", banner())


def strike_columns(sheet: SheetWriter, first: str, last: str = "") -> None:
    """Strike out the columns between two headings, or one column, once an input differs from that of the plan."""
    left, right = (sheet.layout.heads.index(head) for head in (first, last or first))
    first_row = sheet.top + 1
    sheet.sheet.conditional_format(first_row, left, max(sheet.next - 1, first_row), right, _rule(sheet))


def strike_rows(sheet: SheetWriter, first: int, last: int) -> None:
    """Strike out the lines between two rows once an input differs from that of the plan."""
    sheet.sheet.conditional_format(first - 1, 0, last - 1, 0, _rule(sheet))


def _rule(sheet: SheetWriter) -> dict[str, object]:
    return {"type": "formula", "criteria": f"={CHANGED}>0", "format": sheet.styles["stale"]}
