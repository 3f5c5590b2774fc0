"""A sheet that is a table: heading, rows of text, numbers, formulas and editable cells, heights that show every line."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.workbook.styles import Styles, lay_out, style_for
from ingest.text import visible

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

#: Height of one line of text, in points.
LINE = 15.0
#: No row of a sheet may be higher: longer text is cut on paper, never in the cell.
MOST_LINES = 27
#: Characters of a column that its margin and the letters of wider fonts take.
MARGIN, WIDER = 2, 1.05
#: Characters of the longest number that is written in full.
MOST_NUMBER = 20
#: Characters of a column of words.
MOST_WORDS = 20
#: Fractions of larger numbers are not shown.
WITH_DECIMALS = 1000


class Formula(NamedTuple):
    """A live formula and the value that Python computed, for viewers that do not calculate."""

    written: str
    value: Any
    style: str = "number"


class Entry(NamedTuple):
    """A cell that a reader may change; `rule` is what it accepts, as the library wants it, `style` how it looks."""

    value: Any
    rule: Mapping[str, Any] | None = None
    style: str = ""


class Figure(NamedTuple):
    """A number that no reader changes, with the way it is shown."""

    value: float | None
    style: str


Item = str | float | Formula | Entry | Figure | None
#: Items whose value may be text.
HOLDING = (Formula, Entry)


class Grid:
    """Writes one sheet from top to bottom.

    Args:
        sheet: where.
        styles: formats of the workbook.
        heads: the heading.
        widths: of the columns, in characters.
        unprinted: columns at the right that are for the screen only.
        kept: columns at the left that stay in sight.
    """

    def __init__(
        self, sheet: Worksheet, styles: Styles, heads: Sequence[str], widths: Sequence[float], unprinted: int = 0, kept: int = 1
    ) -> None:
        self.sheet, self.styles, self.heads, self.widths = sheet, styles, heads, widths
        self.unprinted, self.kept = unprinted, kept
        self._rooms = [room_of(width) for width in widths]
        self.next = 1
        #: columns that hold numbers: their headings stand above them, at the right
        self._numbers: set[int] = set()
        self._set_height(0, heads)

    def row(self, *items: Item, text: str = "text") -> int:
        """Write one row and return its number as the sheet shows it, counted from one."""
        for column, item in enumerate(items):
            if item is not None and item != "":
                self._cell(self.next, column, item, text)
        self._set_height(self.next, items)
        self.next += 1
        return self.next

    def close(self, further: int = 0) -> None:
        """Heading, widths, print area; `further` rows below are printed too."""
        for column, head in enumerate(self.heads):
            style = "heading of numbers" if column in self._numbers else "heading"
            self.sheet.write_string(0, column, seen(head), self.styles[style])
        lay_out(self.sheet, self.widths, 0, self.next + further, self.unprinted, self.kept)

    def _cell(self, row: int, column: int, item: Item, text: str) -> None:
        if isinstance(item, str):
            self.sheet.write_string(row, column, seen(item), self.styles[text])
        elif isinstance(item, Formula):
            style = self._style(column, item.value, item.style)
            self.sheet.write_formula(row, column, item.written, self.styles[style], item.value)
        elif isinstance(item, Entry):
            self._entry(row, column, item)
        else:
            value, style = item if isinstance(item, Figure) else (item, "number")
            if value is not None:
                self.sheet.write_number(row, column, float(value), self.styles[self._style(column, value, style)])

    def _style(self, column: int, value: Any, style: str) -> str:
        if not isinstance(value, str):
            self._numbers.add(column)
        return style_for(value, style)

    def _entry(self, row: int, column: int, item: Entry) -> None:
        if isinstance(item.value, str):
            self.sheet.write_string(row, column, seen(item.value), self.styles["entry"])
        elif item.value is None:
            self.sheet.write_blank(row, column, None, self.styles[item.style or "entry"])
        else:
            self.sheet.write_number(
                row, column, float(item.value), self.styles[self._style(column, item.value, item.style or "input")]
            )
        if item.rule is not None:
            if item.rule["validate"] != "list":
                self._numbers.add(column)
            self.sheet.data_validation(row, column, row, column, dict(item.rule))

    def _set_height(self, row: int, items: Sequence[Item]) -> None:
        shown = (item.value if item.__class__ in HOLDING else item for item in items)
        texts = zip(shown, self.widths, self._rooms, strict=False)
        lines = [lines_of(text, width) for text, width, room in texts if isinstance(text, str) and len(text) > room]
        if lines:
            self.sheet.set_row(row, LINE * min(max(lines), MOST_LINES))


def seen(text: str) -> str:
    r"""Text as every format of a report shows it; most of it is plain already.

    >>> seen("plain"), seen("a\u202eb")
    ('plain', 'a\ufffdb')
    """
    return text if text.isprintable() else visible(text)


def room_of(width: float) -> int:
    """How many characters a line of a column takes."""
    return max(int((width - MARGIN) / WIDER), 1)


@functools.lru_cache(maxsize=4096)
def lines_of(text: str, width: float) -> int:
    """How many lines a text takes.

    >>> lines_of("short", 20), lines_of("x" * 45, 20)
    (1, 3)
    """
    room = room_of(width)
    return sum(max(1, len(textwrap.wrap(part, room, break_on_hyphens=False))) for part in text.split("\n"))


def width_of(head: str, values: Sequence[float], least: float = 8) -> float:
    """The width of a column of numbers: its largest one in full, and no word of its heading broken.

    >>> width_of("Nodes (node)", [128]), width_of("Reads (B/s)", [1.5e12, 8]), width_of("Waste", [0.123456])
    (9, 20, 11)
    """
    words = max(len(word) for word in head.split())
    number = max(map(_digits, values), default=0)
    return math.ceil(max(least, max(words, min(number, MOST_NUMBER)) * WIDER + MARGIN))


def width_of_words(head: str, words: Iterable[str]) -> float:
    """The width of a column of words: its longest one, within reason.

    >>> width_of_words("Cluster", ["main", "the second one"]), width_of_words("GPU", ["x" * 99])
    (17, 23)
    """
    longest = max(map(len, (*head.split(), *words)))
    return math.ceil(min(longest, MOST_WORDS) * WIDER + MARGIN)


def _digits(value: float) -> int:
    """Characters of a number as the sheets show it: with up to six decimals where it is small."""
    return len(f"{value:,.0f}") if value == round(value) or abs(value) >= WITH_DECIMALS else len(f"{value:,.6f}")


def listed(grid: Grid, rows: Sequence[Sequence[Any]]) -> None:
    """A plain table."""
    for row in rows:
        grid.row(*(item if isinstance(item, (int, float, Figure)) else str(item) for item in row))
    grid.close()
