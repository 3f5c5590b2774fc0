"""Workbooks of one answer, of a comparison of storage systems and of a sweep: inputs to change, live formulas, results."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ingest.configuration import decimal_units
from ingest.engine.registry import Step, in_order, unit_of
from ingest.errors import UsageError
from ingest.reports.labels import label, plain, unit_word
from ingest.reports.workbook.derivation_cells import NamedCells, limits_of, meaning_of, size_of, values_of
from ingest.reports.workbook.sheet import (
    LINE,
    WITH_DECIMALS,
    CellContent,
    CellFormula,
    EntryCell,
    SheetLayout,
    SheetWriter,
    Styles,
    display_unit,
    lay_out,
    layouts,
    lines_of,
    number_check,
    range_check,
    range_short,
    style_for,
    style_of,
    validation,
    width_of,
)
from ingest.reports.workbook.workbook_writer import WorkbookWriter, text_sections, write_calculation
from ingest.storage.data_path import LayerVerdict, headroom_of
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    import numpy
    from xlsxwriter.worksheet import Worksheet

    from ingest.engine.result import Answer
    from ingest.sizing.sweep import Sweep
    from ingest.storage.fit_result import Fit, Fits

    Column = numpy.ndarray[Any, Any]


@decimal_units()
def sizing_workbook(answer: Answer, title: str = "") -> bytes:
    """The workbook of one answer, with its own title by default."""
    return SizingWorkbook(answer, title or answer.title).content()


class SizingWorkbook:
    """Writes the sheets of one answer, and what it rests on."""

    kind = "sizing"  # of the sheets
    signed: Container[Step] = ()  # the steps that may be below zero

    def __init__(self, answer: Answer, title: str) -> None:
        self.answer, self.title, self.catalog, self.warnings = answer, title, answer.catalog, answer.warnings
        self.assumptions, self.sources = answer.assumptions, answer.sources
        self.steps = {name: answer.derivation(name) for name in answer.results}
        self.place({"": [*self.steps.values()]})

    def place(self, shown: Mapping[str, Sequence[Step]]) -> None:
        """Give each step on the sheet Results, by owner, and all that it rests on a cell."""
        self.cells = NamedCells(step for steps in shown.values() for step in steps)
        # The steps on the sheet Results, each within its own check, and whose quantity a step is, where that is not clear.
        self.shown = list(dict.fromkeys(self.cells.firsts[step] for steps in shown.values() for step in steps))
        self.owners: dict[Step, str] = {}
        for owner, steps in shown.items():
            for step in in_order(steps) if owner else ():
                self.owners.setdefault(self.cells.firsts[step], f"{owner}: ")

    def content(self) -> bytes:
        """The workbook as bytes."""
        book = WorkbookWriter(self.title, layouts(self.kind))
        book.name_cells(self.cells)
        self._inputs(book.sheet("Inputs"))
        with closing(book.sheet("Calculation")) as calculation:
            write_calculation(calculation, self.cells, self._identity, self._ends)
        self.results(book.sheet("Results"))
        book.evidence(self.assumptions, self.sources)
        about = text_sections("sizing", version=__version__, catalogs=self.catalog.content_hash())
        book.read_me(self.title, {**about, "Warnings": self.warnings}, book.checks(self._checks()))
        return book.content()

    def _identity(self, step: Step) -> tuple[str, str]:
        return self.cells.names[step], self.owners.get(step, "") + meaning_of(step.name)

    def _inputs(self, sheet: SheetWriter) -> None:
        """A line for each value that a reader may change: low and high move along with it."""
        for step in self.cells.inputs:
            unit, limits, item, row = unit_of(step.name), limits_of(step), step.source, sheet.next + 1
            rule, look = validation(limits), style_of(step.name, unit, "input")
            ends: list[CellContent] = []
            for end in self.cells.ends[step]:
                ratio = 1.0 if hasattr(step.value, "__len__") or not step.value else end / step.value
                live = CellFormula(f"=C{row} * {ratio!r}", end, style_of(step.name, unit))
                ends.append(None if hasattr(step.value, "__len__") else live._replace(value=float(end)))
            # Evidence level, source and place.
            origin: tuple[str, ...] = ()
            if item is not None:
                origin = (item.grade or item.origin, item.source, "; ".join(filter(None, (item.where, item.note))))
            before: list[CellContent] = list(self._identity(step))
            behind: list[CellContent] = [unit_word(step.name, unit), *ends, range_short(limits), *origin]
            for value in values_of(step):
                sheet.row(*before, EntryCell(value, rule, look), *behind)
                before, behind = [None] * len(before), [None] * len(behind)
        sheet.close()

    def _ends(self, step: Step) -> Iterator[CellContent]:
        for side, end in enumerate(self.cells.ends[step]):
            yield CellFormula(self.cells.end_formula(step, side), float(end), style_of(step.name, unit_of(step.name)))

    def results(self, sheet: SheetWriter) -> None:
        """Write the sheet Results."""
        for name, quantity in self.answer.results.items():
            step, value, unit = self.cells.firsts[self.steps[name]], float(quantity.value), quantity.unit
            base = f"{sheet.layout.letter('Base value')}{sheet.next + 1}"
            shown, binary = (display_unit(name, value, unit, binary) for binary in (False, True))
            assert shown is not None
            # Low and high end, as long as they differ.
            ends, spread = self.cells.ends[step], list[CellContent]([None, None])
            if ends[0] != ends[1]:
                cells = ", ".join((self.cells.addresses[step], *(self.cells.end_place(step, side) for side in (0, 1))))
                spread = [shown.cell(f"MIN({cells})", min(ends)), shown.cell(f"MAX({cells})", max(ends))]
            doubled = ("", "") if binary is None else (binary.cell(base, value), binary.unit)
            live = CellFormula(f"={self.cells.place(step)}", value, "base")
            sheet.row(plain(name), shown.cell(base, value, strong=True), shown.unit, *spread, *doubled, live, unit)
        sheet.close()

    def _checks(self) -> Iterator[tuple[str, str, str]]:
        """One per input and result: within its range, a number."""
        for step in self.cells.inputs:
            name = self.cells.names[step]
            yield (name, *range_check(name, limits_of(step), size_of(step)))
        for step in self.shown:
            name = self.cells.names[step]
            yield (name, *number_check(name, step in self.signed))


@decimal_units()
def fit_workbook(compared: Fits) -> bytes:
    """The workbook of a comparison."""
    return FitWorkbook(compared).content()


class FitWorkbook(SizingWorkbook):
    """Writes the sheets of a comparison; a quantity that all systems share is one cell."""

    kind = "fit"

    def __init__(self, found: Fits) -> None:
        self.title, self.catalog, self.warnings = f"Storage for {found.need.title}", found.catalog, found.warnings
        answers = [one.answer for one in found.systems]
        assumptions = (item for answer in answers for item in answer.assumptions)
        self.assumptions = list({(item["name"], item["value"], item["why"]): item for item in assumptions}.values())
        self.sources = list({item["id"]: item for answer in answers for item in answer.sources}.values())
        # Need, ceiling and headroom of each layer of each system, the need alone where a ceiling is unknown.
        self.rows: list[tuple[Fit, LayerVerdict, list[Step]]] = []
        shown: dict[str, list[Step]] = {}
        for one, judged in ((system, judged) for system in found.systems for judged in system.layers):
            known = one.answer.known
            steps = [known.step(judged.layer.need)]
            if judged.headroom is not None:
                steps += [known.step(judged.layer.ceiling), headroom_of(known, judged.layer)]
            self.rows.append((one, judged, steps))
            shown.setdefault(one.entry.id, []).extend(steps)
        self.place(shown)
        self.signed = {self.cells.firsts[headroom] for *_, (_, *known) in self.rows for headroom in known[1:]}

    def results(self, sheet: SheetWriter) -> None:
        """Write the sheet Results: need, ceiling, headroom and verdict of each layer of each system, as live formulas."""
        for system, judged, (need, *known) in self.rows:
            shown = display_unit(judged.layer.need, judged.need, judged.unit)
            assert shown is not None
            cells: list[CellContent] = [shown.cell(self.cells.place(need), judged.need), shown.unit]
            if not known or judged.ceiling is None:
                cells += ["unknown", "", "", "NO" if judged.holds is False else "unknown"]
            else:
                ceiling, headroom = map(self.cells.place, known)
                carried = display_unit(judged.layer.ceiling, judged.ceiling, judged.unit)
                assert carried is not None
                missed = "unknown" if judged.at_least or judged.unsure else "NO"
                held = "unknown" if judged.at_most or judged.unsure else "yes"
                holds = held if judged.headroom is not None and judged.headroom >= 0 else missed
                cells += [carried.cell(ceiling, judged.ceiling, strong=True), carried.unit]
                cells.append(CellFormula(f"={headroom}", judged.headroom, "share"))
                cells.append(CellFormula(f'=IF({headroom} >= 0, "{held}", "{missed}")', holds, "text"))
            sheet.row(system.entry.id, judged.layer.name, *cells, system.verdict, judged.why)
        sheet.mark(sheet.layout.heads.index("Holds"), "==", '"NO"')
        sheet.close()


#: Rows of a sheet, without its heading.
MOST_ROWS = 1_048_575
TITLE = "Sweep"
#: Characters of a column of words.
WORDS = 16


@decimal_units()
def sweep_workbook(sweep: Sweep) -> bytes:
    """The workbook as bytes. Raises UsageError: more scenarios than a sheet has rows."""
    if sweep.rows > MOST_ROWS:
        raise UsageError(f"--output: {sweep.rows:,} scenarios, a sheet holds {MOST_ROWS:,}; expected .parquet or .csv")
    # The columns that vary, with the axes, and the values of those that are constant.
    first = sweep.grids[0]
    same = {name: value for name, value in sweep.constants.items() if name not in first.axes}
    columns = {name: column for name, column in sweep.columns.items() if name not in same}
    # The heading of Read-me is written before its lines: row by row, one that is written last is lost.
    book = WorkbookWriter(TITLE, layouts("sweep"), by_row=True)
    _table(book.sheets[TITLE], book.styles, sweep, columns)
    # Version, the values that are constant in all rows, warnings, and inputs.
    every = [{name: item["value"] for name, item in one.estimate.inputs.items()} for one in sweep.grids]
    chosen = {
        name: value
        for name, value in every[0].items()
        if name not in first.axes and all(one.get(name) == value for one in every)
    }
    units = {name: sweep.unit(name) for name in same}
    shown = {name: display(item, units[name]) if units[name] else item for name, item in same.items()}
    made = f"Made by ingest {__version__}; catalogs {first.estimate.catalog.content_hash()}."
    constant, warnings = (
        (f"{label(name)}: {item}" for name, item in shown.items()),
        (f"Warning: {one}" for one in sweep.warnings),
    )
    inputs = (f"{name}: {item}" for name, item in chosen.items())
    with closing(book.sheet("Read-me")) as grid:
        grid.sheet.write_string(0, 0, TITLE, book.styles["heading"])
        for line in (made, "Constant in all rows:", *constant, *warnings, "Inputs:", *inputs):
            grid.row(line)
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


def _ends(column: Column) -> list[float]:
    """The values of a column that take most room: its ends, and the largest that is shown with decimals."""
    known = column[column == column]  # without NaN
    small = known[known < WITH_DECIMALS]
    return [known.min(), known.max(), *([small.max()] if small.size else [])]
