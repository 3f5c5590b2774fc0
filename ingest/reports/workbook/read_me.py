"""The first sheet of a workbook: what it is, how it is used, and whether its checks pass."""

from __future__ import annotations

from collections.abc import Iterable

from ingest.reports.workbook.grid import Formula, Grid, Item

WIDTH = 120


def read_me(sheet: Grid, lines: Iterable[Item], checks: int) -> None:
    """Write the lines, and below them the outcome of so many checks."""
    for line in lines:
        sheet.row(line)
    area = f"Checks!$C$2:$C${checks + 1}"
    passing = f"All {checks} checks pass."
    written = f'=IF(COUNTIF({area}, "ok") = {checks}, "{passing}", "A check fails: see the sheet Checks.")'
    row = sheet.next
    sheet.row(Formula(written, passing, "good"))
    failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": sheet.styles["bad"]}
    sheet.sheet.conditional_format(row, 0, row, 0, failing)
    sheet.close()
