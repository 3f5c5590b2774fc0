"""Sheets and their look: headings, rows of text, numbers, formulas and editable cells, in print that shows every line."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.engine.registry import InputQuantity
from ingest.reports.labels import is_share, texts, unit_word
from ingest.text import visible
from ingest.units import scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


#: The paper of every sheet, as the format counts them.
A4 = 9
#: Pixels of the columns on one page: with more, letters are smaller than 8 points on A4, where a program without the
#: usual typeface puts a broader one in its place.
PAGE = 1230
#: Pixels of a character, and of the frame of a column.
CHARACTER, FRAME = 7, 5
#: Of a page, in inches.
MARGINS = {"left": 0.3, "right": 0.3, "top": 0.5, "bottom": 0.6}
#: Printed below each page.
FOOTER = "&L&A&RPage &P of &N"
#: Formats whose numbers are shown in another way where they have a fraction or are very small.
BY_SIZE = ("number", "base", "strong", "input")


class Styles(dict[str, "Format"]):
    """The formats of one workbook, as `workbook.yaml` has them, made when they are first used."""

    def __init__(self, book: Workbook) -> None:
        super().__init__()
        self._book = book

    def __missing__(self, name: str) -> Format:
        made = self[name] = self._book.add_format(texts("workbook")["formats"][name])
        return made


def style_for(value: Any, style: str) -> str:
    """How a number is shown in its column: whole, with a fraction, or as a power of ten where it is too small.

    >>> style_for(1e-8, "number"), style_for(0.5, "input"), style_for(7, "number"), style_for("ok", "good")
    ('tiny', 'input fraction', 'number', 'good')
    >>> style_for(0.5, "share"), style_for(1e-7, "share")
    ('share', 'share tiny')
    """
    if isinstance(value, str) or value % 1 == 0:
        return style
    if style == "share" and abs(value) < 1e-5:
        return "share tiny"
    if style not in BY_SIZE:
        return style
    size = "tiny" if abs(value) < 1e-4 else "fraction"
    return size if style == "number" else f"{style} {size}"


class SheetLayout(NamedTuple):
    """The columns of a sheet."""

    #: heads, widths: headings of the columns, and their widths in characters
    heads: Sequence[str]
    widths: Sequence[float]
    unprinted: int = 0  # columns at the right that are for the screen only
    frozen: int = 1  # columns at the left that stay in sight
    hidden: bool = False  # whether the sheet is behind the others, for a reader who asks for it

    def letter(self, head: str) -> str:
        """The letter of a column.

        >>> SheetLayout(("Id", "Value"), (15, 21)).letter("Value")
        'B'
        """
        from xlsxwriter.utility import xl_col_to_name

        return str(xl_col_to_name(self.heads.index(head)))


@functools.cache
def layouts(kind: str) -> Mapping[str, SheetLayout]:
    """The sheets of a kind of workbook, in order, as `workbook.yaml` has them."""
    found = {}
    for name, look in texts("workbook")["sheets"][kind].items():
        heads, widths = zip(*look["columns"], strict=True) if "columns" in look else ((), ())
        found[name] = SheetLayout(heads, widths, look.get("unprinted", 0), look.get("frozen", 1), look.get("hidden", False))
    return found


def column_of(kind: str, sheet: str, head: str) -> str:
    """How formulas call a column of a sheet, up to the row."""
    place = f"'{sheet}'" if " " in sheet else sheet
    return f"{place}!${layouts(kind)[sheet].letter(head)}$"


def lay_out(sheet: Worksheet, layout: SheetLayout, rows: int, top: int = 0) -> None:
    """Columns, frozen heading, and a print area in landscape of so many rows, one or several pages wide.

    The frozen columns and the headings, in the row `top`, are repeated on each page; what is above them stays in sight too.
    """
    widths, frozen = layout.widths, layout.frozen
    for column, width in enumerate(widths):
        sheet.set_column(column, column, width)
    sheet.freeze_panes(top + 1, frozen)
    sheet.repeat_rows(top)
    sheet.set_landscape()
    sheet.set_paper(A4)
    printed = len(widths) - layout.unprinted
    pages = pages_wide(widths[:printed], frozen)
    if pages > 1:
        sheet.repeat_columns(0, frozen - 1)
    sheet.fit_to_pages(pages, 0)
    sheet.set_margins(**MARGINS)
    sheet.set_footer(FOOTER)
    sheet.print_area(0, 0, max(rows - 1, 0), printed - 1)
    sheet.hide_gridlines(2)


def pages_wide(widths: Sequence[float], frozen: int = 1) -> int:
    """Pages side by side that hold these columns in readable print; the frozen columns repeat on each.

    >>> pages_wide([20, 100]), pages_wide([20, 100, 100]), pages_wide([20, 20] + [100] * 4, frozen=2)
    (1, 2, 4)
    """
    columns = [CHARACTER * width + FRAME for width in widths]
    first = sum(columns[:frozen])
    pages, taken = 1, first
    for pixels in columns[frozen:]:
        if taken + pixels > PAGE and taken > first:
            pages, taken = pages + 1, first
        taken += pixels
    return pages


def validation(limits: InputQuantity) -> dict[str, Any]:
    """What a cell accepts; a message names the range."""
    title = limits.name[:32]
    if limits.whole and not limits.above and (limits.low, limits.high) == (0, 1):
        return {"validate": "list", "source": [0, 1], "error_title": title, "error_message": "0 (no) or 1 (yes)"}
    kind, most = ("integer", 2**31 - 1) if limits.whole else ("decimal", 1e300)
    # A validation has no open end: the next whole number, or the smallest double, stands in for "above".
    least = limits.low + limits.above if limits.whole or not limits.above else limits.low or 1e-300
    ends = {"criteria": "between", "minimum": least, "maximum": min(limits.high, most)}
    return {"validate": kind, **ends, "error_title": title, "error_message": range_words(limits)[:255]}


def range_words(limits: InputQuantity) -> str:
    """The allowed range in words."""
    end = f" up to {limits.high:g}" if limits.high < float("inf") else ""
    return f"{'a whole number' if limits.whole else 'a number'} {'above' if limits.above else 'from'} {limits.low:g}{end}"


def range_short(limits: InputQuantity) -> str:
    """The allowed range in the fewest words."""
    return range_words(limits).replace("a whole number", "whole,").removeprefix("a number ")


def range_check(area: str, limits: InputQuantity, count: int, among: str = "") -> tuple[str, str]:
    """What is expected of an input, and the formula that tests each of its cells, of which there are `count`.

    `among` are cells next to the area that name the quantity of each; empty where all cells hold it.
    """
    sign = ">" if limits.above else ">="
    named = f'{among}, "{limits.name}", ' if among else ""
    low = f'COUNTIFS({named}{area}, "{sign}{limits.low!r}") = {count}'
    bounded = f', COUNTIFS({named}{area}, ">{limits.high!r}") = 0' if limits.high < float("inf") else ""
    counted = f'({among} = "{limits.name}")' if among else "1"
    whole = f", SUMPRODUCT({counted} * (INT({area}) <> {area})) = 0" if limits.whole else ""
    return range_words(limits), f'=IF(AND({low}{bounded}{whole}), "ok", "fails")'


def number_check(place: str, signed: bool = False) -> tuple[str, str]:
    """What is expected of a result, and the formula that tests it; `signed` ones may be below zero."""
    if signed:
        return "a number", f'=IF(ISNUMBER({place}), "ok", "fails")'
    return "a number, not below zero", f'=IF(ISNUMBER({place}), IF({place} >= 0, "ok", "fails"), "fails")'


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

    The headings stand in the row `top`, counted from zero; what is above them, the caller writes.
    """

    def __init__(self, sheet: Worksheet, styles: Styles, layout: SheetLayout, top: int = 0) -> None:
        self.sheet, self.styles, self.layout, self.top = sheet, styles, layout, top
        self._rooms = [_room(width) for width in layout.widths]
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
        value, look = (item.value, item.style) if isinstance(item, (EntryCell, NumberCell)) else (item, "number")
        if value is not None:
            self.sheet.write_number(row, column, float(value), self._style(column, value, look))
        elif isinstance(item, EntryCell):
            self.sheet.write_blank(row, column, None, self.styles[look])
        if isinstance(item, EntryCell) and item.rule is not None:
            if item.rule["validate"] != "list":
                self._numbers.add(column)
            self.sheet.data_validation(row, column, row, column, dict(item.rule))
        return None

    def _style(self, column: int, value: Any, style: str) -> Format:
        if not isinstance(value, str):
            self._numbers.add(column)
        return self.styles[style_for(value, style)]

    def mark(self, column: int, criteria: str, value: str, style: str = "bad", kind: str = "cell") -> None:
        """Show the cells of a column below its heading in another style where they match."""
        rule = {"type": kind, "criteria": criteria, "value": value, "format": self.styles[style]}
        self.sheet.conditional_format(self.top + 1, column, max(self.next - 1, self.top + 1), column, rule)

    def _set_height(self, row: int, lines: int) -> None:
        high = min(lines, MOST_LINES)
        self.lines += high
        if high > 1:
            self.sheet.set_row(row, LINE * high)


@functools.lru_cache(maxsize=4096)
def seen(text: str) -> str:
    r"""Text as every format of a report shows it; most of it is plain already."""
    return text if text.isprintable() else visible(text)


def _room(width: float) -> int:
    """How many characters a line of a column takes."""
    return max(int((width - MARGIN) / WIDER), 1)


@functools.lru_cache(maxsize=4096)
def lines_of(text: str, width: float) -> int:
    """How many lines a text takes."""
    room = _room(width)
    return sum(max(1, len(textwrap.wrap(part, room, break_on_hyphens=False))) for part in text.split("\n"))


def width_of(head: str, values: Sequence[float], least: float = 8) -> float:
    """The width of a column of numbers: its largest one in full, and no word of its heading broken.

    >>> width_of("Nodes (node)", [128]), width_of("Reads (B/s)", [1.5e12, 8]), width_of("Waste", [0.123456])
    (9, 20, 11)
    """
    words, number = max(map(len, head.split())), 0
    for value in values:
        # With up to six decimals where it is small.
        whole = value == round(value) or abs(value) >= WITH_DECIMALS
        number = max(number, len(f"{value:,.0f}" if whole else f"{value:,.6f}"))
    return math.ceil(max(least, max(words, min(number, MOST_NUMBER)) * WIDER + MARGIN))


def width_of_words(head: str, words: Iterable[str]) -> float:
    """The width of a column of words: its longest one, within reason."""
    longest = max(map(len, (*head.split(), *words)))
    return math.ceil(min(longest, MOST_WORDS) * WIDER + MARGIN)


class DisplayUnit(NamedTuple):
    """The unit in which people read a quantity."""

    factor: int  # base units in one of it
    unit: str  # its name
    style: str  # how numbers in it are shown

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


def style_of(name: str, unit: str, style: str = "number") -> str:
    """How a quantity in base units is shown: a share in percent, everything else as it is."""
    if not is_share(name, unit):
        return style
    return "share" if style == "number" else f"{style} share"
