"""A sheet without what the library does for every cell and ours never need: a third of the time of a large workbook."""

from __future__ import annotations

from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell_fast
from xlsxwriter.worksheet import Worksheet


class PlainSheet(Worksheet):  # type: ignore[misc]
    """Takes formulas of Excel 2010, and text; rows and columns are numbers, as in `write_number(0, 3, 1.5)`."""

    # The library's own look at each place whether it is a text such as "D1".
    write_string = Worksheet._write_string
    write_number = Worksheet._write_number
    write_formula = Worksheet._write_formula

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:  # noqa: ARG002
        """The library looks for the names of thirty newer functions in each formula, to mark them."""
        return formula.removeprefix("=")

    def _write_cell(self, row: int, col: int, cell: Any) -> None:
        """The library looks for markup in the place and in the format's number of each cell of text."""
        if cell.__class__.__name__ == "String" and cell.format:
            place, style = xl_rowcol_to_cell_fast(row, col), cell.format._get_xf_index()
            self.fh.write(f'<c r="{place}" s="{style}" t="s"><v>{cell.string}</v></c>')
        else:
            super()._write_cell(row, col, cell)

    def _calculate_spans(self) -> None:
        """Which columns each row uses: the format leaves it to the writer whether to say so."""
        self.row_spans: dict[int, str] = {}
