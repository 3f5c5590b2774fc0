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
        """The library looks for markup in the place, the format and the value of each cell: text and numbers have none."""
        kind = cell.__class__.__name__
        if cell.format is None or kind not in ("String", "Formula") or isinstance(getattr(cell, "value", 0), (str, bool)):
            super()._write_cell(row, col, cell)
            return
        start = f'<c r="{xl_rowcol_to_cell_fast(row, col)}" s="{cell.format._get_xf_index()}"'
        if kind == "String":
            self.fh.write(f'{start} t="s"><v>{cell.string}</v></c>')
        else:
            self.fh.write(f"{start}><f>{self._escape_data(cell.formula)}</f><v>{cell.value}</v></c>")

    def _calculate_spans(self) -> None:
        """Which columns each row uses: the format leaves it to the writer whether to say so."""
        self.row_spans: dict[int, str] = {}
