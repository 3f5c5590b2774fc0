"""A sheet that is a table: heading, rows of text, numbers, formulas and editable cells, heights that show every line."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.workbook.style import Styles, lay_out

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

#: Height of one line of text, in points.
LINE = 15.0
#: No row is higher: longer text is cut on paper, never in the cell.
MOST_LINES = 20


class Formula(NamedTuple):
    """A live formula and the value that Python computed, for viewers that do not calculate."""

    written: str
    value: Any
    style: str = "number"


class Entry(NamedTuple):
    """A cell that a reader may change; `rule` is what it accepts, as the library wants it, `style` how an empty one looks."""

    value: Any
    rule: Mapping[str, Any] | None = None
    style: str = "entry"


Item = str | float | Formula | Entry | None


class Grid:
    """Writes one sheet from top to bottom.

    Args:
        sheet: where.
        styles: formats of the workbook.
        heads: the heading; a sheet without one begins with its rows.
        widths: of the columns, in characters.
    """

    def __init__(self, sheet: Worksheet, styles: Styles, heads: Sequence[str], widths: Sequence[float]) -> None:
        self.sheet, self.styles, self.widths = sheet, styles, widths
        self.next = 1
        for column, head in enumerate(heads):
            sheet.write_string(0, column, head, styles["heading"])
        self._set_height(0, heads)

    def row(self, *items: Item, text: str = "text") -> int:
        """Write one row and return its number as the sheet shows it, counted from one."""
        for column, item in enumerate(items):
            self._cell(self.next, column, item, text)
        self._set_height(self.next, items)
        self.next += 1
        return self.next

    def close(self, further: int = 0) -> None:
        """Widths, frozen heading, print area; `further` rows below are printed too."""
        lay_out(self.sheet, self.widths, 0, self.next + further)

    def _cell(self, row: int, column: int, item: Item, text: str) -> None:
        if isinstance(item, Formula):
            self.sheet.write_formula(row, column, item.written, self.styles[style_for(item.value, item.style)], item.value)
        elif isinstance(item, Entry):
            self._entry(row, column, item)
        elif isinstance(item, str):
            if item:
                self.sheet.write_string(row, column, item, self.styles[text])
        elif item is not None:
            self.sheet.write_number(row, column, float(item), self.styles[style_for(item, "number")])

    def _entry(self, row: int, column: int, item: Entry) -> None:
        if isinstance(item.value, str):
            self.sheet.write_string(row, column, item.value, self.styles["entry"])
        elif item.value is None:
            self.sheet.write_blank(row, column, None, self.styles[item.style])
        else:
            self.sheet.write_number(row, column, float(item.value), self.styles["input"])
        if item.rule is not None:
            self.sheet.data_validation(row, column, row, column, dict(item.rule))

    def _set_height(self, row: int, items: Sequence[Item]) -> None:
        lines = max((lines_of(item, width) for item, width in zip(items, self.widths, strict=False)), default=1)
        if lines > 1:
            self.sheet.set_row(row, LINE * min(lines, MOST_LINES))


def style_for(value: Any, style: str) -> str:
    """How a number is shown in its column: whole, with a fraction, or as a power of ten where it is too small.

    >>> style_for(1e-8, "number"), style_for(0.5, "number"), style_for(7, "number"), style_for("ok", "good")
    ('tiny', 'fraction', 'number', 'good')
    """
    if style != "number" or value == round(value):
        return style
    return "tiny" if abs(value) < 1e-4 else "fraction"


def lines_of(item: Item, width: float) -> int:
    """How many lines a cell takes; words do not fill a line to its end.

    >>> lines_of("short", 20), lines_of("x" * 45, 20), lines_of(12.0, 5)
    (1, 3, 1)
    """
    shown = item.value if isinstance(item, (Entry, Formula)) else item
    return _lines(shown, width) if isinstance(shown, str) else 1


@functools.lru_cache(maxsize=4096)
def _lines(text: str, width: float) -> int:
    return sum(max(1, math.ceil(len(part) * 1.1 / width)) for part in text.split("\n"))


def listed(grid: Grid, rows: Sequence[Sequence[Any]]) -> None:
    """A plain table."""
    for row in rows:
        grid.row(*(item if isinstance(item, (int, float)) else str(item) for item in row))
    grid.close()
