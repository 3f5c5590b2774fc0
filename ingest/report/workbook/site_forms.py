"""The sheets of a site's workbook that people read, fill in and test by: results, requirements, response, acceptance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ingest.report.workbook.grid import Entry, Formula, Grid, Item
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from ingest.report.workbook.site_book import SiteBook
    from ingest.requirement import Requirement

#: Where the id, the statement, the value and the unit of a requirement stand on the sheet Requirements.
ID, STATEMENT, VALUE, UNIT = "A", "C", "D", "E"
#: Heading of each condition, and its name.
CONDITIONS = {
    "Operation": "operation",
    "Clients": "clients",
    "Threads": "threads",
    "I/O size (B)": "io_size",
    "Pattern": "pattern",
    "Files": "files",
    "Duration (s)": "duration",
    "Fill": "fill",
    "Cache rule": "cache",
}
#: Rows below the results that the charts take.
CHART_ROWS = 90
#: A text in a formula may not be longer.
MOST_TEXT = 250
ANSWERS = ("yes", "no", "partial")
EVIDENCE = ("measured", "projected")
#: The columns that a vendor fills in, and what each takes.
FIELDS: Mapping[str, Mapping[str, Any] | None] = {
    "Comply": {"validate": "list", "source": list(ANSWERS)},
    "As-is value": {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": "a number in the unit of this line"},
    "Optimized value": {
        "validate": "decimal",
        "criteria": ">=",
        "value": 0,
        "error_message": "a number in the unit of this line",
    },
    "Measured or projected": {"validate": "list", "source": list(EVIDENCE)},
    "Client nodes": {"validate": "integer", "criteria": ">=", "value": 1, "error_message": "a whole number"},
    "Memory of each client": None,
    "Software and version": None,
    "Log file": None,
    "Remarks": None,
}


def requirements(book: SiteBook, grid: Callable[..., Grid]) -> dict[str, int]:
    """The sheet Requirements; returns the row of each id."""
    heads = ("Id", "Priority", "Statement", "Value", "Unit", "Low (P10)", "High (P90)", *CONDITIONS, "Assumptions")
    sheet = grid("Requirements", heads, (15, 12, 70, 20, 11, 18, 18, 10, 9, 9, 12, 11, 16, 12, 8, 34, 40))
    rows = {}
    for one in book.plan.requirements:
        row = sheet.next + 1
        place = book.cells.place(book.plan.steps[one.id])
        value = Formula(f"={place}", one.value, "strong")
        conditions = [getattr(one.conditions, name) for name in CONDITIONS.values()]
        said = statement(one, f"{VALUE}{row}")
        sheet.row(one.id, one.priority, said, value, one.unit, one.low, one.high, *conditions, ", ".join(one.assumptions))
        rows[one.id] = row
    sheet.close()
    return rows


def statement(one: Requirement, value: str) -> Item:
    """The sentence of a requirement with its number alive; plain text where the number does not stand in it."""
    shown = display(one.value, one.unit)
    before, found, after = one.statement.partition(shown)
    if not found:
        return one.statement
    parts = [*quoted(before), number_text(shown, one.value, one.unit, value), *quoted(after)]
    return Formula("=" + " & ".join(parts), one.statement, "text")


def quoted(text: str) -> list[str]:
    """Text as literals of a formula, none too long."""
    pieces = [text[start : start + MOST_TEXT] for start in range(0, len(text), MOST_TEXT)]
    return ['"' + piece.replace('"', '""') + '"' for piece in pieces]


def number_text(shown: str, value: float, unit: str, cell: str) -> str:
    """A displayed quantity as text that follows a cell: each of its numbers in the unit that stands behind it."""
    factors = [scale_of(value, unit, binary)[0] for binary in (False, True)]
    parts: list[str] = []
    rest = shown
    for factor in factors:
        match = re.search(r"\d[\d,]*(?:\.\d+)?", rest)
        if match is None:
            break
        decimals = len(match[0].partition(".")[2])
        parts += [*quoted(rest[: match.start()]), f"FIXED({cell} / {factor or 1}, {decimals})"]
        rest = rest[match.end() :]
        if not factor:
            break
    return " & ".join([*parts, *quoted(rest)])


def results(book: SiteBook, workbook: Workbook, grid: Callable[..., Grid], lines: Mapping[str, int]) -> dict[str, int]:
    """The sheet Results, in units that people read; returns the row of each id."""
    heads = ("Id", "What", "Value", "Unit", "Decimal", "Unit", "Binary", "Unit", "Low (P10)", "High (P90)")
    sheet = grid("Results", heads, (15, 44, 20, 11, 14, 10, 14, 10, 18, 18))
    rows = {}
    for one in book.plan.requirements:
        row = rows[one.id] = sheet.next + 1
        live = Formula(f"=Requirements!${VALUE}${lines[one.id]}", one.value, "strong")
        scaled: list[Item] = []
        for binary in (False, True):
            factor, unit = scale_of(one.value, one.unit, binary)
            scaled += [Formula(f"=C{row} / {factor}", one.value / factor, "scaled"), unit] if factor else ["", ""]
        sheet.row(one.id, one.metric.removeprefix("site_").replace("_", " "), live, one.unit, *scaled, one.low, one.high)
    sheet.close(further=CHART_ROWS)
    workbook.define_name("results", f"=Results!$C$2:$C${sheet.next}")
    return rows


def demand_chart(book: SiteBook, workbook: Workbook, sheet: Worksheet, shown: Mapping[str, int]) -> None:
    """Reads of each job, beside the results; follows the cells."""
    rows = book.tables.get("Workloads", [])[:30]
    column = 1 + _words("Workloads", book) + _quantity("Workloads", "job_read_bandwidth")
    chart = workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": "all runs of a job at once",
            "categories": ["Workloads", 1, 0, len(rows), 0],
            "values": ["Workloads", 1, column, len(rows), column],
            "fill": {"color": "#0072B2"},
            "gap": 60,
        }
    )
    chart.set_title({"name": "Read bandwidth by job", "name_font": {"size": 12}})
    chart.set_x_axis(
        {"name": "B/s", "num_format": "0.0E+00", "major_gridlines": {"visible": True, "line": {"color": "#E5E5E5"}}}
    )
    chart.set_legend({"none": True})
    chart.set_size({"width": 620, "height": 120 + 26 * max(len(rows), 4)})
    sheet.insert_chart(max(shown.values(), default=1) + 2, 0, chart, {"description": "Bars of the read bandwidth of each job"})


def capacity_chart(book: SiteBook, workbook: Workbook, sheet: Worksheet, shown: Mapping[str, int]) -> None:
    """Usable and raw capacity by year; follows the cells."""
    rows = book.tables.get("Capacity by year", [])
    if not rows:
        return
    chart = workbook.add_chart({"type": "column"})
    first = 1 + _words("Capacity by year", book)
    for quantity, colour in (("year_usable_bytes", "#0072B2"), ("raw_bytes_for", "#E69F00")):
        column = first + _quantity("Capacity by year", quantity)
        chart.add_series(
            {
                "name": ["Capacity by year", 0, column],
                "categories": ["Capacity by year", 1, 0, len(rows), 0],
                "values": ["Capacity by year", 1, column, len(rows), column],
                "fill": {"color": colour},
            }
        )
    chart.set_title({"name": "Capacity by year", "name_font": {"size": 12}})
    chart.set_y_axis({"name": "B", "num_format": "0.0E+00", "major_gridlines": {"visible": True, "line": {"color": "#E5E5E5"}}})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 620, "height": 300})
    place = max(shown.values(), default=1) + 2 + max(len(book.tables.get("Workloads", [])[:30]), 4) * 2 + 8
    sheet.insert_chart(place, 0, chart, {"description": "Columns of usable and raw capacity by year"})


def _words(name: str, book: SiteBook) -> int:
    return len(dict.fromkeys(word for row, _ in book.tables[name] for word in row.words))


def _quantity(name: str, quantity: str) -> int:
    from ingest.report.workbook.site_book import TABLE_SHEETS
    from ingest.site.tables import TABLES

    return TABLES[TABLE_SHEETS[name]][1].index(quantity)


def response(book: SiteBook, grid: Callable[..., Grid], lines: Mapping[str, int]) -> None:
    """The sheet that a vendor fills in: only its yellow cells are open."""
    heads = ("Id", "Priority", "Requirement", "Required", "Unit", *FIELDS, "Margin")
    sheet = grid("Vendor response", heads, (15, 12, 60, 20, 11, 10, 18, 18, 13, 9, 16, 22, 22, 30, 11))
    for one in book.plan.requirements:
        row, line = sheet.next + 1, lines[one.id]
        linked = [
            Formula(f"=Requirements!${STATEMENT}${line}", one.statement, "text"),
            Formula(f"=Requirements!${VALUE}${line}", one.value),
        ]
        best = f"MAX(G{row}, H{row})"
        margin = Formula(f'=IF(AND(COUNT(G{row}:H{row}) > 0, D{row} > 0), {best} / D{row} - 1, "")', "", "share")
        fields = [Entry(None, rule) for rule in FIELDS.values()]
        sheet.row(one.id, one.priority, *linked, one.unit, *fields, margin)
    sheet.sheet.protect("", {"format_columns": True, "format_rows": True})
    sheet.close()


def acceptance(book: SiteBook, grid: Callable[..., Grid], lines: Mapping[str, int]) -> None:
    """One test per requirement that can be run: threshold from the requirement, result to be filled in."""
    heads = ("Test", "Requirement", "Operation", "Clients", "Threads", "I/O size (B)", "Pass threshold", "Unit", "Duration (s)",
             "Result", "Remarks")  # fmt: skip
    sheet = grid("Acceptance", heads, (16, 15, 11, 9, 9, 13, 22, 11, 13, 20, 40))
    for one in book.plan.requirements:
        if one.conditions.duration is None:
            continue
        threshold = Formula(f"=Requirements!${VALUE}${lines[one.id]}", one.value)
        shown = one.conditions
        how = (shown.operation, shown.clients, shown.threads, shown.io_size, threshold, one.unit, shown.duration)
        sheet.row(f"T{one.id.removeprefix('R')}", one.id, *how, Entry(None), Entry(None))
    sheet.close()
