"""The sheets that every workbook has: inputs, live formulas, evidence, checks, a first page; and marks of changed inputs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from ingest.files import now
from ingest.reports.labels import texts, unit_word
from ingest.reports.workbook.derivation_cells import Cells, line_of
from ingest.reports.workbook.sheet import (
    CellContent,
    CellFormula,
    NumberCell,
    SheetLayout,
    SheetWriter,
    Styles,
    lines_of,
    seen,
    style_of,
)
from ingest.requirement import said_of
from ingest.text import visible

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

    from ingest.engine.registry import Step

#: Height of a heading and of the room above it, in points.
SECTION = 26.0
#: Height of a line of the title of a sheet, in points, and how much wider its letters are than those of cells: 18 points to 11.
TITLE, WIDER_TITLE = 36.0, 18 / 11
#: Among the properties of a workbook that calculates.
ABOUT = "Made by ingest. Yellow cells may be changed; everything else follows."
#: What stays free on a sheet whose cells are locked.
FREE = {"format_columns": True, "format_rows": True, "autofilter": True, "sort": True, "objects": True}
#: The defined name of the cell that counts the inputs that differ from those of the plan.
CHANGED = "inputs_changed"
BANNER = "statements and conditions are those of the plan; run `ingest plan` again"
#: Lines of a sheet of text, by the heading above them.
Sections = Mapping[str, Iterable[CellContent]]
#: What a line says about a step, such as its name.
Described = Callable[["Step"], Iterable[CellContent]]


@cache
def numbered_sheet() -> type[Worksheet]:
    """The sheets of the library, for cells that are called by their numbers, each with a format.

    A site of 1,000 jobs has 700,000 cells, most of them text and formulas of numbers: for these the library converts names
    such as `A1`, and puts attributes together, one cell at a time. The other kinds of cells are left to it.
    """
    from xlsxwriter.utility import xl_col_to_name
    from xlsxwriter.worksheet import Worksheet

    class NumberedSheet(Worksheet):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._texts: dict[tuple[str, Format | None], Any] = {}
            #: the kind of cells of a column, and what stands before and behind the number of the row
            self._ends: dict[tuple[int, Format | None, type], tuple[str, str, str]] = {}
            self._formula: Callable[[str, Format | None, Any], Any] | None = None

        def write_string(self, row: int, col: int, string: str, cell_format: Format | None = None) -> int:
            # Many rows say the same: one cell of a text and its format serves all of them.
            known = self._texts.get((string, cell_format))
            if known is None or self._check_dimensions(row, col):
                found: int = super()._write_string(row, col, string, cell_format)
                if not self.constant_memory:
                    self._texts[string, cell_format] = self.table[row][col]
                return found
            self.str_table.count += 1
            self.table[row][col] = known
            return 0

        def write_formula(self, row: int, col: int, formula: str, cell_format: Format | None = None, value: Any = 0) -> int:
            # In each formula the library looks for arrays and for functions newer than Excel 2007, which no cell has.
            if self._formula is None or self._check_dimensions(row, col):
                found: int = super()._write_formula(row, col, formula, cell_format, value)
                self._formula = self.table[row][col].__class__
                return found
            if self.constant_memory and row > self.previous_row:
                self._write_single_row(row)
            self.table[row][col] = self._formula(formula.removeprefix("="), cell_format, value)
            return 0

        write_number = Worksheet.write_number.__wrapped__

        def _calculate_spans(self) -> None:
            """Leave out the range of columns of each row: a hint that no program needs."""

        def _write_cell(self, row: int, col: int, cell: Any) -> None:
            look = cell.format
            known = self._ends.get((col, look, cell.__class__))
            if known is None:
                known = "", "", ""  # of the kinds that the library writes
                if look and not self.constant_memory:
                    index = look._get_xf_index()
                    known = cell.__class__.__name__, f'<c r="{xl_col_to_name(col)}', f'" s="{index}"'
                self._ends[col, look, cell.__class__] = known
            kind, start, end = known
            if kind == "String":
                self.fh.write(f'{start}{row + 1}{end} t="s"><v>{cell.string}</v></c>')
            elif kind == "Number":
                self.fh.write(f"{start}{row + 1}{end}><v>{cell.number:.16G}</v></c>")
            elif kind == "Formula" and cell.value.__class__ in (int, float):
                written = cell.formula
                if "<" in written or ">" in written or "&" in written:
                    written = self._escape_data(written)
                self.fh.write(f"{start}{row + 1}{end}><f>{written}</f><v>{cell.value}</v></c>")
            else:
                super()._write_cell(row, col, cell)

    return NumberedSheet


class WorkbookWriter:
    """Writes one workbook, which takes text as text, whatever it begins with; `about` is the comment among its properties.

    The sheets have their layouts by name, in order; `by_row` tells whether they are written row by row, one after another.
    """

    def __init__(self, title: str, sheets: Mapping[str, SheetLayout], by_row: bool = False, about: str = ABOUT) -> None:
        from xlsxwriter import Workbook

        self._buffer = io.BytesIO()
        as_text = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers", "nan_inf_to_errors"), False)
        self.book = Workbook(self._buffer, {"constant_memory": by_row, **as_text})
        self.book.set_properties({"title": visible(title), "comments": about, "created": datetime.fromtimestamp(now(), UTC)})
        self.book.set_calc_mode("auto")
        self.styles, self.layouts = Styles(self.book), sheets
        self.sheets = {name: self.book.add_worksheet(name, numbered_sheet()) for name in sheets}

    def sheet(self, name: str, heads: Sequence[str] = (), widths: Sequence[float] = ()) -> SheetWriter:
        """The writer of a sheet; `heads` and `widths` replace those of its layout."""
        known = self.layouts[name]
        layout = known._replace(heads=heads or known.heads, widths=widths or known.widths)
        return SheetWriter(self.sheets[name], self.styles, layout)

    def content(self) -> bytes:
        """The finished workbook."""
        self.book.close()
        return self._buffer.getvalue()

    def name_cells(self, cells: Cells) -> None:
        """Define the names of cells."""
        for step, name in cells.names.items():
            self.book.define_name(name, f"={cells.addresses[step]}")

    def evidence(self, assumptions: Iterable[Mapping[str, Any]], sources: Iterable[Mapping[str, str]]) -> None:
        """Write the sheets Assumptions and Sources; what is assumed may be a word."""
        with closing(self.sheet("Assumptions")) as sheet:
            for one in assumptions:
                name, value, unit = one["name"], one["value"], one["unit"]
                shown = NumberCell(value, style_of(name, unit)) if isinstance(value, (int, float)) else str(value)
                sheet.row(name, shown, unit_word(name, unit), one["why"])
        with closing(self.sheet("Sources")) as sheet:
            for source in sources:
                sheet.row(source["id"], source["title"], source["where"], source.get("url", ""))

    def checks(self, checks: Iterable[tuple[str, str, str]]) -> int:
        """Write the name, the expectation and the formula of each check, all of which pass; returns how many there are."""
        with closing(self.sheet("Checks")) as sheet:
            for name, expected, written in checks:
                sheet.row(name, expected, CellFormula(written, "ok", "good"))
            sheet.mark(2, "!=", '"ok"')
        return sheet.next - 1

    def read_me(
        self, title: str, sections: Sections, checks: int, *notes: CellContent
    ) -> tuple[SheetWriter, dict[str, tuple[int, int]]]:
        """Write the outcome of so many checks, notes that concern every reader, and the sections.

        Returns:
            the sheet, and the first and the last row of each section.
        """
        with closing(self.sheet("Read-me", (title,))) as sheet:
            sheet.row(checks_outcome(checks))
            sheet.mark(0, "begins with", "A check fails", kind="text")
            for note in notes:
                sheet.row(note)
            rows = write_sections(sheet, sections)
        return sheet, rows


def checks_outcome(checks: int) -> CellFormula:
    """One line that says whether so many checks pass."""
    area = f"Checks!$C$2:$C${checks + 1}"
    passing = f"All {checks} checks pass."
    written = f'=IF(COUNTIF({area}, "ok") = {checks}, "{passing}", "A check fails: see the sheet Checks.")'
    return CellFormula(written, passing, "good")


def write_calculation(
    sheet: SheetWriter, cells: Cells, identity: Described, ends: Callable[[Step], Iterable[CellContent]] = lambda _: ()
) -> None:
    """Write a line for each computed quantity: its identity, its live formula, its ends, and how it is computed."""
    for step in cells.formulas:
        assert step.formula is not None
        style, *told = line_of(step.name, step.formula)
        sheet.row(*identity(step), CellFormula(cells.formula(step), float(step.value), style), *ends(step), *told)


def text_sections(kind: str, kinds: frozenset[str] = frozenset(), **values: object) -> dict[str, Iterable[CellContent]]:
    """The sections of `workbook.yaml` for a sheet of text, with their values, for a site of such kinds of load."""
    found: Mapping[str, Sequence[str | Sequence[str]]] = texts("workbook")["texts"][kind]
    return {heading: [said_of(line, kinds).format(**values) for line in lines] for heading, lines in found.items()}


def write_sections(sheet: SheetWriter, sections: Sections) -> dict[str, tuple[int, int]]:
    """Write those that have lines; returns the first and the last row of each, as sheets count."""
    found = {}
    for heading, lines in sections.items():
        texts = list(lines)
        if texts:
            first = add_section(sheet, heading) + 1
            for line in texts:
                sheet.row(line)
            found[heading] = (first, sheet.next)
    return found


def add_section(sheet: SheetWriter, heading: str) -> int:
    """Write the heading of a section, with room above it; returns its row, as sheets count."""
    row = sheet.row(heading, text="section")
    sheet.sheet.set_row(row - 1, SECTION)
    return row


def add_title(sheet: SheetWriter, title: str, last: int) -> None:
    """Write the title of a sheet across its columns, up to the last one."""
    sheet.sheet.merge_range(0, 0, 0, last, seen(title), sheet.styles["title"])
    sheet.sheet.set_row(0, TITLE * lines_of(title, sum(sheet.layout.widths[: last + 1]) / WIDER_TITLE))


def banner() -> CellFormula:
    """One line that stays empty while every input is that of the plan."""
    return CellFormula(f'=IF({CHANGED} = 0, "", "Inputs changed (" & {CHANGED} & "): {BANNER}")', "", "warning")


def strike(sheet: SheetWriter, first: str, last: str = "", rows: tuple[int, int] | None = None) -> None:
    """Strike out the columns between two headings, or one column, once an input differs from that of the plan.

    `rows` are the first and the last line to strike out, as sheets count; all of them by default.
    """
    left, right = (sheet.layout.heads.index(head) for head in (first, last or first))
    top, end = rows or (sheet.top + 2, max(sheet.next, sheet.top + 2))
    rule = {"type": "formula", "criteria": f"={CHANGED}>0", "format": sheet.styles["stale"]}
    sheet.sheet.conditional_format(top - 1, left, end - 1, right, rule)
