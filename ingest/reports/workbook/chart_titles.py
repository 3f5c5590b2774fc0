"""Titles of a workbook's charts: each says the finding, as a formula that follows the cells that the chart shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ingest.formula import unit_of
from ingest.reports.workbook.grid import Formula, seen
from ingest.site.tables import TABLES
from ingest.units import scale_of

if TYPE_CHECKING:
    from ingest.reports.workbook.site_book import SiteBook

#: Digits of a number in a title.
DIGITS = 4
#: Decimals of a number beside its bar.
DECIMALS = "#,##0.0"
#: Prefixes of a unit, a thousand times each; the first is none.
PREFIXES = " kMGTPE"


class Column:
    """A column of a sheet that a chart shows.

    Attributes:
        sheet, quantity, index: where it stands, its index counted from nought.
        names, values: of its rows, as delivered; what is not known of a row is nought.
        factor, unit: in which its numbers are read.
    """

    def __init__(self, book: SiteBook, sheet: str, quantity: str) -> None:
        place, rows = TABLES[book.table(sheet)][1].index(quantity), book.tables[sheet]
        self.sheet, self.quantity, self.index = sheet, quantity, book.column(sheet, quantity)
        self.names = [seen(row.name) for row, _ in rows]
        self.values = [0.0 if step is None else float(step.value) for step in (steps[place] for _, steps in rows)]
        factor, unit = scale_of(self.largest, unit_of(quantity), False)
        self.factor = factor or 1
        self.unit = unit if factor else unit_of(quantity)

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def largest(self) -> float:
        """Of its values."""
        return max(self.values, default=0.0)

    @property
    def _groups(self) -> str:
        return "," * (round(math.log10(self.factor)) // 3)

    @property
    def axis_format(self) -> str:
        """How the axis shows base units in the unit of the column."""
        return ("#,##0.0" if self.largest / self.factor < 10 else "#,##0") + self._groups

    @property
    def number_format(self) -> str:
        """How a value beside its bar is shown: with the prefix that it takes itself."""
        return number_format(self.largest, unit_of(self.quantity))

    def range(self, first: int, last: int, column: int | None = None) -> str:
        """Cells of some rows, counted from nought."""
        from xlsxwriter.utility import xl_col_to_name

        letter = xl_col_to_name(self.index if column is None else column)
        ends = dict.fromkeys((f"${letter}${first + 2}", f"${letter}${last + 2}"))
        return f"'{self.sheet}'!{':'.join(ends)}"

    @property
    def cells(self) -> str:
        """Of all values."""
        return self.range(0, self.rows - 1)

    @property
    def of_largest(self) -> str:
        """The name of the row with the largest value, as a formula."""
        return f"INDEX({self.range(0, self.rows - 1, 0)}, MATCH(MAX({self.cells}), {self.cells}, 0))"

    def text(self, value: float) -> str:
        """A value with its unit."""
        return text(value, unit_of(self.quantity))

    def live_text(self, value: str) -> str:
        """The same of a formula."""
        return live_text(value, unit_of(self.quantity))


def text(value: float, unit: str) -> str:
    """A value in four digits, with the prefix that it takes.

    >>> text(599376512730, "B/s"), text(0, "B"), text(999, "B")
    ('599.4 GB/s', '0 B', '999 B')
    """
    size = math.log10(max(value, 1))
    thousands = min(math.floor(size / 3), len(PREFIXES) - 1)
    shown = round(value / 10 ** (3 * thousands), DIGITS - 1 + 3 * thousands - math.floor(size))
    return f"{shown:.15g} {(PREFIXES[thousands] + unit).strip()}"


def number_format(largest: float, unit: str) -> str:
    """The format of values up to the largest one, which tells three prefixes apart, as many as a format can.

    >>> number_format(3e9, "B")
    '[>=1000000000]#,##0.0,,," GB";[>=1000000]#,##0.0,," MB";#,##0.0," kB"'
    >>> number_format(7, "B")
    '#,##0.0" B"'
    """
    most = min(math.floor(math.log10(max(largest, 1)) / 3), len(PREFIXES) - 1)
    shown = [(n, f'{DECIMALS}{"," * n}" {(PREFIXES[n] + unit).strip()}"') for n in range(most, max(most - 3, -1), -1)]
    return ";".join(f"[>={1000**n}]{how}" if n > shown[-1][0] else how for n, how in shown)


def live_text(value: str, unit: str) -> str:
    """The same as a formula of a value.

    >>> live_text("A1", "B").count("A1")
    5
    """
    size = f"LOG10(MAX({value}, 1))"
    thousands = f"MIN(INT({size} / 3), {len(PREFIXES) - 1})"
    shown = f"ROUND({value} / 10 ^ (3 * {thousands}), {DIGITS - 1} + 3 * {thousands} - INT({size}))"
    return f'{shown} & " " & TRIM(MID("{PREFIXES}", {thousands} + 1, 1) & "{unit}")'


def most_of(column: Column, does: str, drawn: int) -> Formula:
    """Which row has most, and how much; that others are not drawn, where it is so."""
    rest = f"; {drawn} of {column.rows:,} are drawn" if column.rows > drawn else ""
    first = column.names[column.values.index(column.largest)]
    value = f"{first} {does}, {column.text(column.largest)}{rest}"
    most = column.live_text(f"MAX({column.cells})")
    written = f'={column.of_largest} & " {does}, " & {most}' + (f' & "{rest}"' if rest else "")
    return Formula(written, value, "finding")


def over_years(column: Column) -> Formula:
    """How a quantity goes on over the years: it stays, grows, or has its peak before the end."""
    final = column.rows - 1
    begin, end, peak = column.range(0, 0), column.range(final, final), f"MAX({column.cells})"
    first, last, most = (column.live_text(one) for one in (begin, end, peak))
    opening, closing = (column.range(place, place, 0) for place in (0, final))
    stays = f'"Capacity stays at " & {last}'
    grows = f'"Capacity grows from " & {first} & " in " & {opening} & " to " & {last} & " in " & {closing}'
    falls = f'"Capacity is largest in " & {column.of_largest} & ", " & {most} & ", and " & {last} & " in " & {closing}'
    written = f"=IF({peak} > {end}, {falls}, IF({end} > {begin}, {grows}, {stays}))"
    return Formula(written, _course(column), "finding")


def _course(column: Column) -> str:
    """What the formula says as delivered."""
    names, values = column.names, column.values
    first, last, most = (column.text(value) for value in (values[0], values[-1], column.largest))
    if column.largest > values[-1]:
        return f"Capacity is largest in {names[values.index(column.largest)]}, {most}, and {last} in {names[-1]}"
    if values[-1] > values[0]:
        return f"Capacity grows from {first} in {names[0]} to {last} in {names[-1]}"
    return f"Capacity stays at {last}"
