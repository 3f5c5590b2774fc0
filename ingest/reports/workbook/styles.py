"""How the workbooks look: few formats, one colour for what may be edited, sheets that print on one page's width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.engine.registry import InputQuantity
from ingest.reports.texts import texts

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
    """The columns of a sheet.

    Attributes:
        heads, widths: headings of the columns, and their widths in characters.
        unprinted: columns at the right that are for the screen only.
        frozen: columns at the left that stay in sight.
        hidden: whether the sheet is behind the others, for a reader who asks for it.
    """

    heads: Sequence[str]
    widths: Sequence[float]
    unprinted: int = 0
    frozen: int = 1
    hidden: bool = False

    def letter(self, head: str) -> str:
        """The letter of a column.

        >>> SheetLayout(("Id", "Value"), (15, 21)).letter("Value")
        'B'
        """
        from xlsxwriter.utility import xl_col_to_name

        return str(xl_col_to_name(self.heads.index(head)))


@cache
def layouts(kind: str) -> Mapping[str, SheetLayout]:
    """The sheets of a kind of workbook, in order, as `workbook.yaml` has them."""
    found = {}
    for name, look in texts("workbook")["sheets"][kind].items():
        heads, widths = zip(*look["columns"], strict=True) if "columns" in look else ((), ())
        found[name] = SheetLayout(heads, widths, look.get("unprinted", 0), look.get("frozen", 1), look.get("hidden", False))
    return found


def column_of(kind: str, sheet: str, head: str) -> str:
    """How formulas call a column of a sheet, up to the row.

    >>> column_of("vendor", "Vendor response", "Required")
    "'Vendor response'!$D$"
    """
    place = f"'{sheet}'" if " " in sheet else sheet
    return f"{place}!${layouts(kind)[sheet].letter(head)}$"


def lay_out(sheet: Worksheet, layout: SheetLayout, rows: int, top: int = 0) -> None:
    """Columns, frozen heading, and a print area in landscape, one or several pages wide.

    Args:
        sheet: which one.
        layout: its columns; the frozen ones are repeated on each page.
        rows: of the print area.
        top: the row of the headings, which stay in sight with all above them, and are repeated on each page.
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
    kind = "a whole number" if limits.whole else "a number"
    end = f" up to {limits.high:g}" if limits.high < float("inf") else ""
    return f"{kind} {'above' if limits.above else 'from'} {limits.low:g}{end}"


def range_short(limits: InputQuantity) -> str:
    """The allowed range in the fewest words.

    >>> range_short(InputQuantity("fill_limit", "1", "", high=1)), range_short(InputQuantity("nodes", "node", "", whole=True))
    ('above 0 up to 1', 'whole, above 0')
    """
    return range_words(limits).replace("a whole number", "whole,").removeprefix("a number ")


def range_check(area: str, limits: InputQuantity, count: int, among: str = "") -> tuple[str, str]:
    """What is expected of an input, and the formula that tests each of its cells.

    Args:
        area: the cells.
        limits: their range.
        count: how many there are.
        among: cells next to the area that name the quantity of each; empty where all cells hold it.
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
