"""A small workbook of one answer: inputs that can be changed, live formulas, results, assumptions, sources, checks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ingest.errors import UsageError
from ingest.reports.labels import label, plain, unit_word
from ingest.reports.workbook.derivation_cells import Calculation, FormulaCell, InputCell, meaning_of
from ingest.reports.workbook.sheet import (
    LINE,
    WIDTH,
    WITH_DECIMALS,
    CellContent,
    CellFormula,
    DisplayUnit,
    EntryCell,
    Sections,
    SheetWriter,
    display_unit,
    lines_of,
    read_me,
    style_of,
    width_of,
    write_checks,
    write_evidence,
)
from ingest.reports.workbook.styles import (
    Styles,
    lay_out,
    number_check,
    open_book,
    range_check,
    range_short,
    style_for,
    validation,
)
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas
    from xlsxwriter import Workbook

    from ingest.engine.result import Answer
    from ingest.sizing.sweep import Sweep


SHEETS = ("Read-me", "Inputs", "Calculation", "Results", "Assumptions", "Sources", "Checks")
INPUT_HEADS = ("Name", "Meaning", "Value", "Unit", "Low", "High", "Allowed", "From", "Source", "Place and note")
INPUT_WIDTHS = (40, 44, 21, 15, 20, 20, 18, 13, 22, 60)
CALC_HEADS = ("Name", "Meaning", "Value", "Low", "High", "Unit", "Formula in words", "Source")
CALC_WIDTHS = (40, 50, 21, 21, 21, 15, 72, 45)
RESULT_HEADS = ("Result", "Value", "Unit", "Low", "High", "Binary", "Unit", "Base value", "Base unit")
RESULT_WIDTHS = (33, 18, 15, 18, 18, 12, 10, 24, 15)
#: Column of the base value of a result.
BASE_VALUE = "H"


def sizing_workbook(answer: Answer, title: str) -> bytes:
    """The workbook of one answer."""
    return SizingWorkbook(answer, title).content()


class SizingWorkbook:
    """Writes the sheets of one answer.

    Attributes:
        title: of the workbook.
        results: the cell of each result, by name.
        places: addresses of value, low and high end of each cell.
        owners: whose cells those are that belong to one of several things compared.
        signed: cells of results that may be below zero.
    """

    result_heads: Sequence[str] = RESULT_HEADS
    result_widths: Sequence[float] = RESULT_WIDTHS

    def __init__(self, answer: Answer, title: str) -> None:
        self.answer, self.title, self.catalog, self.warnings = answer, title, answer.catalog, answer.warnings
        self.cells = Calculation()
        self.results = {name: self.cells.add(answer.derivation(name)) for name in answer.results}
        self.places: dict[str, tuple[str, str, str]] = {}
        self.owners: dict[str, str] = {}
        self.signed: frozenset[str] = frozenset()

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """The assumed values."""
        return self.answer.assumptions

    @property
    def sources(self) -> list[dict[str, str]]:
        """The cited sources."""
        return self.answer.sources

    def content(self) -> bytes:
        """The workbook as bytes."""
        buffer = io.BytesIO()
        book, styles = open_book(buffer, self.title)
        sheets = {name: book.add_worksheet(name) for name in SHEETS}

        def grid(name: str, heads: Sequence[str], widths: Sequence[float]) -> SheetWriter:
            return SheetWriter(sheets[name], styles, heads, widths)

        self._inputs(book, grid("Inputs", INPUT_HEADS, INPUT_WIDTHS))
        self._calculation(book, grid("Calculation", CALC_HEADS, CALC_WIDTHS))
        self._results(grid("Results", self.result_heads, self.result_widths))
        write_evidence(grid, self.assumptions, self.sources)
        checks = write_checks(grid("Checks", ("Check", "What is expected", "Result"), (40, 60, 12)), self._checks())
        read_me(grid("Read-me", (self.title,), (WIDTH,)), self._about(), checks)
        book.close()
        return buffer.getvalue()

    def _inputs(self, book: Workbook, grid: SheetWriter) -> None:
        for item in self.cells.inputs:
            values = list(item.value) if item.is_column else [item.value]
            first, last = grid.next + 1, grid.next + len(values)
            area = f"Inputs!$C${first}" + (f":$C${last}" if item.is_column else "")
            ends = (area, area) if item.is_column else (f"Inputs!$E${first}", f"Inputs!$F${first}")
            self.places[item.name] = (area, *ends)
            book.define_name(item.name, f"={area}")
            for place, value in enumerate(values):
                grid.row(*(self._input(item, value, grid.next + 1) if place == 0 else ("", "", self._entry(item, value))))
        grid.close()

    def _input(self, item: InputCell, value: float, row: int) -> Iterator[CellContent]:
        """One line: low and high move along with the value that a reader puts in."""
        yield from (item.name, self._meaning(item), self._entry(item, value), unit_word(item.quantity, item.unit))
        style = style_of(item.quantity, item.unit)
        for end in self.cells.ends[item.name][1:]:
            ratio = end / value if value and not item.is_column else 1.0
            yield None if item.is_column else CellFormula(f"=C{row} * {ratio!r}", float(end), style)
        yield range_short(item.limits)
        given = item.given
        if given is not None:
            yield from (given.grade or given.origin, given.source, "; ".join(filter(None, (given.where, given.note))))

    def _meaning(self, item: InputCell | FormulaCell) -> str:
        owner = self.owners.get(item.name)
        return meaning_of(item.quantity) if owner is None else f"{owner}: {meaning_of(item.quantity)}"

    @staticmethod
    def _entry(item: InputCell, value: float) -> EntryCell:
        return EntryCell(value, validation(item.limits), style_of(item.quantity, item.unit, "input"))

    def _calculation(self, book: Workbook, grid: SheetWriter) -> None:
        for item in self.cells.formulas:
            value, low, high = (f"Calculation!${letter}${grid.next + 1}" for letter in "CDE")
            self.places[item.name] = (value, low, high)
            book.define_name(item.name, f"={value}")
            ends = self.cells.ends[item.name]
            style, unit = style_of(item.quantity, item.unit), unit_word(item.quantity, item.unit)
            live = [CellFormula(item.written(), float(ends[0]), style)]
            live += [CellFormula(self.cells.end_written(item, side, self._at), float(ends[side]), style) for side in (1, 2)]
            grid.row(item.name, self._meaning(item), *live, unit, item.words, item.cited)
        grid.close()

    def _at(self, name: str, side: int) -> str:
        """Where the value (0), the low end (1) or the high end (2) of a quantity is."""
        return self.places[name][side] if side else name

    def _results(self, grid: SheetWriter) -> None:
        for name, quantity in self.answer.results.items():
            place, base = self.results[name], f"{BASE_VALUE}{grid.next + 1}"
            shown, binary = (display_unit(name, quantity.value, quantity.unit, binary) for binary in (False, True))
            assert shown is not None
            doubled = ("", "") if binary is None else (binary.cell(base, quantity.value), binary.unit)
            live = (shown.cell(base, quantity.value, strong=True), shown.unit, *self._spread(place, shown))
            grid.row(plain(name), *live, *doubled, CellFormula(f"={place}", float(quantity.value), "base"), quantity.unit)
        grid.close()

    def _spread(self, place: str, shown: DisplayUnit) -> tuple[CellContent, CellContent]:
        """Low and high end of a result; nothing where they are the same."""
        ends, cells = self.cells.ends[place], ", ".join(self.places[place])
        if ends[1] == ends[2]:
            return None, None
        return shown.cell(f"MIN({cells})", min(ends)), shown.cell(f"MAX({cells})", max(ends))

    def _checks(self) -> Iterator[tuple[str, str, str]]:
        """One per input and result: within its range, a number."""
        for item in self.cells.inputs:
            yield (item.name, *range_check(item.name, item.limits, len(item.value) if item.is_column else 1))
        for place in dict.fromkeys(self.results.values()):
            yield (place, *number_check(place, place in self.signed))

    def _about(self) -> Sections:
        return {
            "How the workbook is built": (
                "Yellow cells on the sheet Inputs may be changed; every other number follows by the formulas on Calculation.",
                "Inputs and Calculation are in base units (B, s, FLOP, and things counted), shares in percent; Results shows"
                " the units that people read, next to the base value.",
                "Low and High combine the ends of all inputs, each in its direction; they scale with a changed value.",
            ),
            "Warnings": self.warnings,
            "How it was made": (f"Made by ingest {__version__}; catalogs {self.catalog.content_hash()}.",),
        }


#: Rows of a sheet, without its heading.
MOST_ROWS = 1_048_575
TITLE = "Sweep"
#: Characters of a column of words.
WORDS = 16


def sweep_workbook(sweep: Sweep) -> bytes:
    """The workbook as bytes.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    frame, same = parted(sweep)
    if len(frame) > MOST_ROWS:
        raise UsageError(f"--output: {len(frame):,} scenarios, a sheet holds {MOST_ROWS:,}; expected .parquet or .csv")
    buffer = io.BytesIO()
    book, styles = open_book(buffer, "Sweep", by_row=True)
    _table(book, styles, sweep, frame)
    grid = SheetWriter(book.add_worksheet("Read-me"), styles, (TITLE,), (120,))
    # Row by row: a heading that is written last is lost.
    grid.sheet.write_string(0, 0, TITLE, styles["heading"])
    for line in _about(sweep, same):
        grid.row(line)
    grid.close()
    book.close()
    return buffer.getvalue()


def _table(book: Workbook, styles: Styles, sweep: Sweep, frame: pandas.DataFrame) -> None:
    sheet = book.add_worksheet("Sweep")
    units = {name: sweep.unit(name) for name in frame.columns}
    heads = {name: f"{label(name)} ({unit})" if unit not in ("", "1") else label(name) for name, unit in units.items()}
    ends = {name: _ends(frame[name]) if unit else [] for name, unit in units.items()}
    widths = [width_of(heads[name], ends[name]) if unit else WORDS for name, unit in units.items()]
    named = {"model", "gpu", *sweep.grids[0].axes}
    axes = sum(1 for _ in takewhile(named.__contains__, units))
    lay_out(sheet, widths, 0, len(frame) + 1, frozen=max(axes, 1))
    sheet.set_row(0, LINE * max(map(lines_of, heads.values(), widths)))
    for column, (name, unit) in enumerate(units.items()):
        # The whole column carries the format: a format per cell doubles the time.
        style = style_for(max(map(abs, ends[name])), style_of(name, unit)) if unit else "text"
        sheet.set_column(column, column, widths[column], styles[style])
        sheet.write_string(0, column, heads[name], styles["heading of numbers" if unit else "heading"])
    writers = list(enumerate(sheet.write_number if unit else sheet.write_string for unit in units.values()))
    for row, cells in enumerate(frame.itertuples(index=False, name=None), start=1):
        for column, write in writers:
            write(row, column, cells[column])


def parted(sweep: Sweep) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """The columns that vary, with the axes, and the values of those that are constant."""
    frame = sweep.to_frame()
    still = [name for name in frame.columns if name not in sweep.grids[0].axes and frame[name].nunique() == 1]
    return frame.drop(columns=still), {name: frame[name].iloc[0] for name in still}


def _ends(column: pandas.Series[float]) -> list[float]:
    """The values of a column that take most room: its ends, and the largest that is shown with decimals."""
    return [column.min(), column.max(), *column[column < WITH_DECIMALS].nlargest(1)]


def _about(sweep: Sweep, same: Mapping[str, Any]) -> list[str]:
    """Version, warnings, and the values that are constant in all rows."""
    first = sweep.grids[0]
    made = f"Made by ingest {__version__}; catalogs {first.estimate.catalog.content_hash()}."
    every = [{name: item["value"] for name, item in grid.estimate.inputs.items()} for grid in sweep.grids]
    chosen = {
        name: value
        for name, value in every[0].items()
        if name not in first.axes and all(one.get(name) == value for one in every)
    }
    units = {name: sweep.unit(name) for name in same}
    shown = {name: display(item, units[name]) if units[name] else item for name, item in same.items()}
    warnings = (f"Warning: {line}" for line in sweep.warnings)
    return [made, "Constant in all rows:", *(f"{label(name)}: {item}" for name, item in shown.items()), *warnings,
            "Inputs:", *(f"{name}: {item}" for name, item in chosen.items())]  # fmt: skip
