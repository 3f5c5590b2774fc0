"""A sheet without what the library does for every cell and ours never need: a third of the time of a large workbook."""

from __future__ import annotations

from collections.abc import Iterable

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

    def _xml_string_element(self, index: int, attributes: Iterable[tuple[str, str | int]] = ()) -> None:
        """The library looks for markup in the place and in the format's number of each cell of text."""
        written = "".join(f' {name}="{value}"' for name, value in attributes)
        self.fh.write(f'<c{written} t="s"><v>{index}</v></c>')

    def _calculate_spans(self) -> None:
        """Which columns each row uses: the format leaves it to the writer whether to say so."""
        self.row_spans: dict[int, str] = {}
