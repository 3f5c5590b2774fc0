"""A small workbook of one answer: inputs that can be changed, live formulas, results, assumptions, sources, checks."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ingest.configuration import decimal_units
from ingest.engine.registry import Step, in_order, unit_of
from ingest.errors import UsageError
from ingest.reports.labels import label, plain
from ingest.reports.workbook.derivation_cells import NamedCells, limits_of, meaning_of, size_of
from ingest.reports.workbook.sheet import (
    LINE,
    WITH_DECIMALS,
    CellContent,
    CellFormula,
    SheetWriter,
    lines_of,
    result_cells,
    style_of,
    width_of,
)
from ingest.reports.workbook.styles import SheetLayout, lay_out, layouts, number_check, range_check, style_for
from ingest.reports.workbook.workbook_writer import WorkbookWriter, text_sections, write_calculation, write_inputs
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    import numpy
    from xlsxwriter.worksheet import Worksheet

    from ingest.engine.result import Answer
    from ingest.reports.workbook.styles import Styles
    from ingest.sizing.sweep import Sweep

    Column = numpy.ndarray[Any, Any]


@decimal_units()
def sizing_workbook(answer: Answer, title: str) -> bytes:
    """The workbook of one answer."""
    return SizingWorkbook(answer, title).content()


class SizingWorkbook:
    """Writes the sheets of one answer.

    Attributes:
        title: of the workbook.
        catalog, assumptions, sources, warnings: what the answer rests on.
        cells: of its derivations.
        shown: the steps on the sheet Results, each within its own check.
        owners: whose quantity a step is, where that is not clear.
        signed: the steps that may be below zero.
        kind: of the sheets.
    """

    kind = "sizing"
    signed: Container[Step] = ()

    def __init__(self, answer: Answer, title: str) -> None:
        self.answer, self.title, self.catalog, self.warnings = answer, title, answer.catalog, answer.warnings
        self.assumptions, self.sources = answer.assumptions, answer.sources
        self.steps = {name: answer.derivation(name) for name in answer.results}
        self.place({"": [*self.steps.values()]})

    def place(self, shown: Mapping[str, Sequence[Step]]) -> None:
        """Give each step on the sheet Results, by owner, and all that it rests on a cell."""
        self.cells = NamedCells(step for steps in shown.values() for step in steps)
        self.shown = list(dict.fromkeys(self.cells.first(step) for steps in shown.values() for step in steps))
        self.owners: dict[Step, str] = {}
        for owner, steps in shown.items():
            for step in in_order(steps) if owner else ():
                self.owners.setdefault(self.cells.first(step), f"{owner}: ")

    def content(self) -> bytes:
        """The workbook as bytes."""
        book = WorkbookWriter(self.title, layouts(self.kind))
        book.name_cells(self.cells)
        write_inputs(book.sheet("Inputs"), self.cells, self._identity, self._input_ends, _origin)
        calculation = book.sheet("Calculation")
        write_calculation(calculation, self.cells, self._identity, self._ends)
        calculation.close()
        self.results(book.sheet("Results"))
        book.evidence(self.assumptions, self.sources)
        about = text_sections("sizing", version=__version__, catalogs=self.catalog.content_hash())
        book.read_me(self.title, {**about, "Warnings": self.warnings}, book.checks(self._checks()))
        return book.content()

    def _identity(self, step: Step) -> tuple[str, str]:
        return self.cells.names[step], self.owners.get(step, "") + meaning_of(step.name)

    def _input_ends(self, step: Step, row: int) -> Iterator[CellContent]:
        """Low and high move along with the value that a reader puts in."""
        for end in self.cells.ends[step]:
            if hasattr(step.value, "__len__"):
                yield None
            else:
                ratio = end / step.value if step.value else 1.0
                yield CellFormula(f"=C{row} * {ratio!r}", float(end), style_of(step.name, unit_of(step.name)))

    def _ends(self, step: Step) -> Iterator[CellContent]:
        for side, end in enumerate(self.cells.ends[step]):
            yield CellFormula(self.cells.end_formula(step, side), float(end), style_of(step.name, unit_of(step.name)))

    def results(self, sheet: SheetWriter) -> None:
        """Write the sheet Results."""
        for name, quantity in self.answer.results.items():
            step, base = self.cells.first(self.steps[name]), f"{sheet.layout.letter('Base value')}{sheet.next + 1}"
            value, ends = float(quantity.value), self._spread(step)
            sheet.row(plain(name), *result_cells(name, value, quantity.unit, base, self.cells.place(step), ends))
        sheet.close()

    def _spread(self, step: Step) -> tuple[tuple[str, float] | None, ...]:
        """Low and high end of a result, as formulas and as values; nothing where they are the same."""
        ends = self.cells.ends[step]
        if ends[0] == ends[1]:
            return None, None
        cells = ", ".join((self.cells.addresses[step], *(self.cells.end_place(step, side) for side in (0, 1))))
        return (f"MIN({cells})", min(ends)), (f"MAX({cells})", max(ends))

    def _checks(self) -> Iterator[tuple[str, str, str]]:
        """One per input and result: within its range, a number."""
        for step in self.cells.inputs:
            name = self.cells.names[step]
            yield (name, *range_check(name, limits_of(step), size_of(step)))
        for step in self.shown:
            name = self.cells.names[step]
            yield (name, *number_check(name, step in self.signed))


def _origin(step: Step) -> tuple[str, ...]:
    """Evidence level, source and place of an input."""
    item = step.source
    return () if item is None else (item.grade or item.origin, item.source, "; ".join(filter(None, (item.where, item.note))))


#: Rows of a sheet, without its heading.
MOST_ROWS = 1_048_575
TITLE = "Sweep"
#: Characters of a column of words.
WORDS = 16


@decimal_units()
def sweep_workbook(sweep: Sweep) -> bytes:
    """The workbook as bytes.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    if sweep.rows > MOST_ROWS:
        raise UsageError(f"--output: {sweep.rows:,} scenarios, a sheet holds {MOST_ROWS:,}; expected .parquet or .csv")
    columns, same = parted(sweep)
    # The heading of Read-me is written before its lines: row by row, one that is written last is lost.
    book = WorkbookWriter(TITLE, layouts("sweep"), by_row=True)
    _table(book.sheets[TITLE], book.styles, sweep, columns)
    grid = book.sheet("Read-me")
    grid.sheet.write_string(0, 0, TITLE, book.styles["heading"])
    for line in _about(sweep, same):
        grid.row(line)
    grid.close()
    return book.content()


def _table(sheet: Worksheet, styles: Styles, sweep: Sweep, columns: Mapping[str, Column]) -> None:
    units = {name: sweep.unit(name) for name in columns}
    heads = {name: f"{label(name)} ({unit})" if unit not in ("", "1") else label(name) for name, unit in units.items()}
    ends = {name: _ends(columns[name]) if unit else [] for name, unit in units.items()}
    widths = [width_of(heads[name], ends[name]) if unit else WORDS for name, unit in units.items()]
    named = {"model", "gpu", *sweep.grids[0].axes}
    axes = sum(1 for _ in takewhile(named.__contains__, units))
    lay_out(sheet, SheetLayout([*heads.values()], widths, frozen=max(axes, 1)), sweep.rows + 1)
    sheet.set_row(0, LINE * max(map(lines_of, heads.values(), widths)))
    for column, (name, unit) in enumerate(units.items()):
        # The whole column carries the format: a format per cell doubles the time.
        style = style_for(max(map(abs, ends[name])), style_of(name, unit)) if unit else "text"
        sheet.set_column(column, column, widths[column], styles[style])
        sheet.write_string(0, column, heads[name], styles["heading of numbers" if unit else "heading"])
    writers = list(enumerate(sheet.write_number if unit else sheet.write_string for unit in units.values()))
    for row, cells in enumerate(zip(*(column.tolist() for column in columns.values()), strict=True), start=1):
        for column, write in writers:
            if cells[column] == cells[column]:  # NaN: a model without this result has an empty cell
                write(row, column, cells[column])


def parted(sweep: Sweep) -> tuple[dict[str, Column], dict[str, Any]]:
    """The columns that vary, with the axes, and the values of those that are constant."""
    same = {name: value for name, value in sweep.constants.items() if name not in sweep.grids[0].axes}
    return {name: column for name, column in sweep.columns.items() if name not in same}, same


def _ends(column: Column) -> list[float]:
    """The values of a column that take most room: its ends, and the largest that is shown with decimals."""
    known = column[column == column]  # without NaN
    small = known[known < WITH_DECIMALS]
    return [known.min(), known.max(), *([small.max()] if small.size else [])]


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
