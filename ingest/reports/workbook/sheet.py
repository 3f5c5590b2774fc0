"""A sheet that is a table: heading, rows of text, numbers, formulas and editable cells, heights that show every line."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.labels import is_share, unit_word
from ingest.reports.workbook.styles import SheetLayout, Styles, lay_out, style_for
from ingest.text import visible
from ingest.units import scale_of

if TYPE_CHECKING:
    from xlsxwriter.format import Format
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


class CellFormula(NamedTuple):
    """A live formula and the value that Python computed, for viewers that do not calculate."""

    written: str
    value: Any
    style: str = "number"


class EntryCell(NamedTuple):
    """A cell that a reader may change; `rule` is what it accepts, as the library wants it, `style` how it looks."""

    value: float | None
    rule: Mapping[str, Any] | None = None
    style: str = "entry"


class NumberCell(NamedTuple):
    """A number that no reader changes, with the way it is shown."""

    value: float | None
    style: str


CellContent = str | float | CellFormula | EntryCell | NumberCell | None


class SheetWriter:
    """Writes one sheet from top to bottom.

    Args:
        sheet: to write to.
        styles: formats of the workbook.
        layout: its columns.
        top: the row of the headings, counted from zero; what is above them, the caller writes.
    """

    def __init__(self, sheet: Worksheet, styles: Styles, layout: SheetLayout, top: int = 0) -> None:
        self.sheet, self.styles, self.layout, self.top = sheet, styles, layout, top
        self._rooms = [room_of(width) for width in layout.widths]
        self.next = top + 1
        #: lines of text that the rows take
        self.lines = 0
        #: columns that hold numbers: their headings are aligned at the right
        self._numbers: set[int] = set()
        self._set_height(top, max(map(lines_of, layout.heads, layout.widths), default=1))

    def row(self, *items: CellContent, text: str = "text") -> int:
        """Write one row and return its number as the sheet shows it, counted from one.

        Text in the format `line` shrinks to the width of its column; other text wraps.
        """
        row, height = self.next, 1
        for column, item in enumerate(items):
            if item is None or item == "":
                continue
            shown = item if isinstance(item, str) else self._write(row, column, item)
            if isinstance(item, str):
                self.sheet.write_string(row, column, seen(item), self.styles[text])
            if shown is not None and len(shown) > self._rooms[column] and text != "line":
                height = max(height, lines_of(shown, self.layout.widths[column]))
        self._set_height(row, height)
        self.next += 1
        return self.next

    def close(self, further: int = 0) -> None:
        """Heading, widths, print area; `further` rows below are printed too."""
        for column, head in enumerate(self.layout.heads):
            style = "heading of numbers" if column in self._numbers else "heading"
            if head or not self.top:
                self.sheet.write_string(self.top, column, seen(head), self.styles[style])
        lay_out(self.sheet, self.layout, self.next + further, self.top)

    def _write(self, row: int, column: int, item: float | CellFormula | EntryCell | NumberCell) -> str | None:
        """Write a cell that is not plain text; returns its text, if it shows any."""
        if isinstance(item, CellFormula):
            style = self._style(column, item.value, item.style)
            self.sheet.write_formula(row, column, item.written, style, item.value)
            return item.value if isinstance(item.value, str) else None
        if isinstance(item, EntryCell):
            self._entry(row, column, item)
            return None
        value, look = item if isinstance(item, NumberCell) else (item, "number")
        if value is not None:
            self.sheet.write_number(row, column, float(value), self._style(column, value, look))
        return None

    def _style(self, column: int, value: Any, style: str) -> Format:
        if not isinstance(value, str):
            self._numbers.add(column)
        return self.styles[style_for(value, style)]

    def _entry(self, row: int, column: int, item: EntryCell) -> None:
        if item.value is None:
            self.sheet.write_blank(row, column, None, self.styles[item.style])
        else:
            self.sheet.write_number(row, column, item.value, self._style(column, item.value, item.style))
        if item.rule is not None:
            if item.rule["validate"] != "list":
                self._numbers.add(column)
            self.sheet.data_validation(row, column, row, column, dict(item.rule))

    def _set_height(self, row: int, lines: int) -> None:
        high = min(lines, MOST_LINES)
        self.lines += high
        if high > 1:
            self.sheet.set_row(row, LINE * high)


@functools.lru_cache(maxsize=4096)
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


class DisplayUnit(NamedTuple):
    """The unit in which people read a quantity.

    Attributes:
        factor: base units in one of it.
        unit: its name.
        style: how numbers in it are shown.
    """

    factor: int
    unit: str
    style: str

    def cell(self, base: str, value: float, strong: bool = False) -> CellFormula:
        """A cell that follows the cell or formula `base`, which is in base units."""
        written = f"={base}" if self.factor == 1 else f"={base} / {self.factor}"
        style = f"strong {self.style}" if strong and self.style != "number" else "strong" if strong else self.style
        return CellFormula(written, float(value) / self.factor, style)


def display_unit(name: str, value: float, unit: str, binary: bool = False) -> DisplayUnit | None:
    """The unit in which people read a quantity; None where there is no binary one."""
    if is_share(name, unit):
        return None if binary else DisplayUnit(1, "share", "share")
    factor, shown = scale_of(value, unit, binary)
    if factor:
        return DisplayUnit(factor, shown, "scaled")
    return None if binary else DisplayUnit(1, unit_word(name, unit), "number")


def result_cells(
    name: str, value: float, unit: str, base: str, live: str, ends: Iterable[tuple[str, float] | None]
) -> tuple[CellContent, ...]:
    """The columns of a result behind its name: in the unit in which people read it, its ends, in a binary unit, in base units.

    Args:
        name, value, unit: of the quantity.
        base: the cell of the last but one column, which the others follow.
        live: the cell that it follows itself.
        ends: the formula and the value of the low and the high end; None where there is none.
    """
    shown, binary = (display_unit(name, value, unit, binary) for binary in (False, True))
    assert shown is not None
    spread = (None if end is None else shown.cell(*end) for end in ends)
    doubled = ("", "") if binary is None else (binary.cell(base, value), binary.unit)
    return shown.cell(base, value, strong=True), shown.unit, *spread, *doubled, CellFormula(f"={live}", value, "base"), unit


def style_of(name: str, unit: str, style: str = "number") -> str:
    """How a quantity in base units is shown: a share in percent, everything else as it is."""
    if not is_share(name, unit):
        return style
    return "share" if style == "number" else f"{style} share"
