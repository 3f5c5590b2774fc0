"""Charts of a site's workbook: native ones, which follow its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.formula import unit_of
from ingest.reports.labels import label
from ingest.site.tables import TABLES
from ingest.units import scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from ingest.reports.workbook.site_book import SiteBook

#: Bars of a chart; more are no longer read.
MOST_BARS = 30
#: Heights in pixels: of a row of a sheet, of a chart without its bars, of one bar, of a chart of columns.
ROW, FRAME, BAR, COLUMNS = 20, 130, 28, 320
WIDTH = 860
#: Colours that a grey printer and the colour-blind keep apart.
BLUE, ORANGE = "#0072B2", "#E69F00"


def rows_of_charts(book: SiteBook) -> int:
    """How many rows the charts below the results take."""
    return _rows(_demand_height(book)) + _rows(COLUMNS) + 4


def insert(book: SiteBook, workbook: Workbook, sheet: Worksheet) -> None:
    """Read bandwidth by job, and capacity by year, below the results."""
    row = len(book.plan.requirements) + 2
    if book.tables["Workloads"]:
        row = _demand(book, workbook, sheet, row)
    if book.tables["Capacity by year"]:
        _capacity(book, workbook, sheet, row)


def _demand(book: SiteBook, workbook: Workbook, sheet: Worksheet, row: int) -> int:
    chart = workbook.add_chart({"type": "bar"})
    _series(chart, book, "Workloads", "job_read_bandwidth", BLUE)
    chart.set_title({"name": "What each job reads, all of its runs at once", **TITLE})
    chart.set_y_axis({"reverse": True})
    chart.set_x_axis({**_axis(book, "Workloads", ["job_read_bandwidth"]), "label_position": "high"})
    chart.set_legend({"none": True})
    chart.set_size({"width": WIDTH, "height": _demand_height(book)})
    sheet.insert_chart(row, 0, chart, {"description": "Bars of the read bandwidth of each job"})
    return row + _rows(_demand_height(book)) + 1


def _capacity(book: SiteBook, workbook: Workbook, sheet: Worksheet, row: int) -> None:
    chart = workbook.add_chart({"type": "column"})
    for quantity, colour in (("year_usable_bytes", BLUE), ("year_raw_bytes", ORANGE)):
        _series(chart, book, "Capacity by year", quantity, colour)
    chart.set_title({"name": "Capacity that each year of the plan needs", **TITLE})
    chart.set_y_axis(_axis(book, "Capacity by year", ["year_usable_bytes", "year_raw_bytes"]))
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": WIDTH, "height": COLUMNS})
    sheet.insert_chart(row, 0, chart, {"description": "Columns of usable and raw capacity by year"})


TITLE = {"name_font": {"size": 12}, "overlay": False}


def _series(chart: Any, book: SiteBook, sheet: str, quantity: str, colour: str) -> None:
    rows, column = min(len(book.tables[sheet]), MOST_BARS), book.column(sheet, quantity)
    chart.add_series(
        {
            "name": label(quantity),
            "categories": [sheet, 1, 0, rows, 0],
            "values": [sheet, 1, column, rows, column],
            "fill": {"color": colour},
            "gap": 60,
        }
    )


def _axis(book: SiteBook, sheet: str, quantities: Sequence[str]) -> Mapping[str, Any]:
    """Cells hold base units; the format of the axis leaves out groups of three digits and its name says which."""
    places = [TABLES[book.table(sheet)][1].index(quantity) for quantity in quantities]
    shown = [steps[place] for _, steps in book.tables[sheet] for place in places]
    largest = max((float(step.value) for step in shown if step is not None), default=0.0)
    factor, unit = scale_of(largest, unit_of(quantities[0]), False)
    groups = round(math.log10(factor or 1)) // 3
    grid = {"visible": True, "line": {"color": "#E5E5E5"}}
    digits = "#,##0.0" if largest / (factor or 1) < 10 else "#,##0"
    return {"name": unit if factor else unit_of(quantities[0]), "num_format": digits + "," * groups, "major_gridlines": grid}


def _demand_height(book: SiteBook) -> int:
    return FRAME + BAR * max(min(len(book.tables["Workloads"]), MOST_BARS), 2)


def _rows(pixels: int) -> int:
    return math.ceil(pixels / ROW) + 1
