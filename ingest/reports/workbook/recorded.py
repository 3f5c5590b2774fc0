"""A sheet that remembers what was written into each of its cells, so that a filled workbook can be compared with it."""

from __future__ import annotations

from typing import Any

from ingest.reports.workbook.grid import Entry, Figure, Formula, Grid, Item, seen

#: Cells of one sheet that are remembered: the key of a workbook is one more sheet, and has to stay small.
MOST_CELLS = 30_000


class Recorded(Grid):
    """Writes one sheet.

    Attributes:
        found: place -> text, number or formula as it is written; None where others fill in. Nothing of a sheet that is
            too large.
    """

    def __init__(self, *arguments: Any) -> None:
        from xlsxwriter.utility import xl_rowcol_to_cell

        super().__init__(*arguments)
        self._place_of = xl_rowcol_to_cell
        self.found: dict[str, str | float | None] = {}
        self._too_large = False

    def close(self, further: int = 0) -> None:
        """Heading, widths, print area."""
        super().close(further)
        if not self._too_large:
            for column, head in enumerate(self.heads):
                self._keep(0, column, head)

    def row(self, *items: Item, text: str = "text") -> int:
        """Write one row and return its number as the sheet shows it, counted from one."""
        if not self._too_large:
            for column, item in enumerate(items):
                self._keep(self.next, column, item)
            if len(self.found) > MOST_CELLS:
                self.found, self._too_large = {}, True
        return super().row(*items, text=text)

    def _keep(self, row: int, column: int, item: Item) -> None:
        kept = written(item)
        if self._too_large or (kept in (None, "") and not isinstance(item, Entry)):
            return
        self.found[self._place_of(row, column)] = kept


def written(item: Item) -> str | float | None:
    """What stands in a cell: a formula as it is written, text as it is shown, a number, or nothing."""
    if isinstance(item, Formula):
        return item.written
    value = item.value if isinstance(item, (Entry, Figure)) else item
    return seen(value) if isinstance(value, str) else value
