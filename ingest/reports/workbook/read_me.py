"""The first sheet of a workbook: whether its checks pass, what it is and how it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ingest.reports.workbook.grid import Formula, Grid, Item

WIDTH = 120
#: Height of a heading and of the room above it, in points.
SECTION = 26.0
#: Lines of a sheet of text, by the heading above them.
Sections = Mapping[str, Iterable[Item]]


def read_me(sheet: Grid, sections: Sections, checks: int, *notes: Item) -> None:
    """Write the outcome of so many checks, notes that concern every reader, and the sections."""
    area = f"Checks!$C$2:$C${checks + 1}"
    passing = f"All {checks} checks pass."
    written = f'=IF(COUNTIF({area}, "ok") = {checks}, "{passing}", "A check fails: see the sheet Checks.")'
    row = sheet.next
    sheet.row(Formula(written, passing, "good"))
    failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": sheet.styles["bad"]}
    sheet.sheet.conditional_format(row, 0, row, 0, failing)
    for note in notes:
        sheet.row(note)
    write_sections(sheet, sections)
    sheet.close()


def write_sections(sheet: Grid, sections: Sections) -> dict[str, tuple[int, int]]:
    """Write those that have lines; returns the first and the last row of each, as sheets count."""
    found = {}
    for heading, lines in sections.items():
        said = list(lines)
        if said:
            above = sheet.row(heading, text="section")
            sheet.sheet.set_row(above - 1, SECTION)
            for line in said:
                sheet.row(line)
            found[heading] = (above + 1, sheet.next)
    return found
