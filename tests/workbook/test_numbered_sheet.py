"""Cells of large workbooks are those that the library writes itself."""

import io
import re
import zipfile

import pytest
from xlsxwriter import Workbook

from ingest.reports.workbook.workbook_writer import numbered_sheet

TEXTS = ("plain", "a < b & c > d", ' "quoted" ', "plain", "ü\u2028x", "")
NUMBERS = (0, 1.5, -2e-300, 12345678901234567, 0.1 + 0.2)
FORMULAS = (("A1 * 2", 0.1 + 0.2), ('IF(A1 <> 2, "<&>", 1)', "<&>"), ("A1 > 2", True), ("1 / 0", "#DIV/0!"), ("A1", 3))


def parts(kind, by_row):
    buffer = io.BytesIO()
    book = Workbook(buffer, {"constant_memory": by_row, "strings_to_numbers": False})
    sheet, look = book.add_worksheet("a", kind), book.add_format({"bold": True})
    for row, text in enumerate(TEXTS):
        for column, style in enumerate((look, look, None)):
            sheet.write_string(row, column, text, style)
    for row, number in enumerate(NUMBERS, len(TEXTS)):
        sheet.write_number(row, 26, number, look)
        sheet.write_blank(row, 27, None, look)
    for row, (written, value) in enumerate(FORMULAS, len(TEXTS) + len(NUMBERS)):
        sheet.write_formula(row, 0, f"={written}", look, value)
        sheet.write_formula(row, 1, written, None, value)
    book.close()
    with zipfile.ZipFile(buffer) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.startswith("docProps")}


@pytest.mark.parametrize("by_row", [False, True])
def test_cells_are_written_as_the_library_writes_them(by_row):
    library = parts(None, by_row)
    # The range of columns of a row is a hint that it may lack.
    library["xl/worksheets/sheet1.xml"] = re.sub(rb' spans="\d+:\d+"', b"", library["xl/worksheets/sheet1.xml"])
    assert parts(numbered_sheet(), by_row) == library
