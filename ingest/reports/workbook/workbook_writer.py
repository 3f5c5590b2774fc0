"""A workbook and the sheets that rest on its cells: inputs that can be changed, and live formulas."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ingest.engine.registry import unit_of
from ingest.reports.labels import unit_word
from ingest.reports.workbook.derivation_cells import limits_of, line_of, values_of
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter, style_of
from ingest.reports.workbook.styles import open_book, range_short, validation

if TYPE_CHECKING:
    from ingest.engine.registry import Step
    from ingest.reports.workbook.derivation_cells import Cells

#: The columns of a sheet: headings and widths.
Columns = tuple[Sequence[str], Sequence[float]]
#: What a line says about a step, such as its name.
Described = Callable[["Step"], Iterable[CellContent]]


class WorkbookWriter:
    """Writes one workbook.

    Args:
        title: of the workbook.
        names: of its sheets, in order.
        by_row: whether sheets are written row by row, each one before the next.
    """

    def __init__(self, title: str, names: Iterable[str], by_row: bool = False) -> None:
        self._buffer = io.BytesIO()
        self.book, self.styles = open_book(self._buffer, title, by_row)
        self.sheets = {name: self.book.add_worksheet(name) for name in names}

    def sheet(
        self, name: str, heads: Sequence[str], widths: Sequence[float], unprinted: int = 0, frozen: int = 1
    ) -> SheetWriter:
        """The writer of a sheet."""
        return SheetWriter(self.sheets[name], self.styles, heads, widths, unprinted, frozen)

    def content(self) -> bytes:
        """The finished workbook."""
        self.book.close()
        return self._buffer.getvalue()

    def name_cells(self, cells: Cells) -> None:
        """Define the names of cells."""
        for step, name in cells.names.items():
            self.book.define_name(name, f"={cells.addresses[step]}")


def write_inputs(
    sheet: SheetWriter,
    cells: Cells,
    identity: Described,
    ends: Callable[[Step, int], Iterable[CellContent]],
    origin: Described,
    delivered: bool = False,
) -> None:
    """Write the sheet Inputs: a line for each value.

    Args:
        sheet: the sheet.
        cells: of the workbook.
        identity: the columns before the value.
        ends: low and high end of a step whose first value is in that row.
        origin: the columns behind the allowed range.
        delivered: whether the last column repeats the value.
    """
    for step in cells.inputs:
        unit, limits = unit_of(step.name), limits_of(step)
        rule, entry, shown = validation(limits), style_of(step.name, unit, "input"), style_of(step.name, unit)
        before: list[CellContent] = list(identity(step))
        behind: list[CellContent] = [
            unit_word(step.name, unit),
            *ends(step, sheet.next + 1),
            range_short(limits),
            *origin(step),
        ]
        for value in values_of(step):
            repeated = [NumberCell(value, shown)] if delivered else []
            sheet.row(*before, EntryCell(value, rule, entry), *behind, *repeated)
            before, behind = [None] * len(before), [None] * len(behind)
    sheet.close()


def write_calculation(
    sheet: SheetWriter, cells: Cells, identity: Described, ends: Callable[[Step], Iterable[CellContent]] = lambda _: ()
) -> None:
    """Write a line for each computed quantity: its identity, its live formula, its ends, and how it is computed."""
    for step in cells.formulas:
        line = line_of(step)
        live = CellFormula(cells.formula(step), float(step.value), line.style)
        sheet.row(*identity(step), live, *ends(step), line.unit, line.words, line.cited)
