"""Charts of a site's workbook: native ones, which follow its cells, and so do their titles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.labels import label
from ingest.reports.workbook.chart_titles import Column, most_of, over_years
from ingest.reports.workbook.grid import LINE, Formula, Grid

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.reports.workbook.site_book import SiteBook

#: Bars of a chart; more are no longer read.
MOST_BARS = 30
#: Columns of a chart that have their values written above them.
MOST_LABELS = 8
#: Heights in pixels: of a row of a sheet, of a chart without its bars, of one bar, of a chart of columns.
ROW, FRAME, BAR, COLUMNS = 20, 130, 28, 320
#: Width of a chart, and from the edge of one to that of the next, in pixels; two fill the width of a page.
WIDTH, NEXT = 600, 620
#: Rows of a page; charts that would be cut stand on a page of their own.
ROWS_OF_PAGE = 44
#: Fills that a grey printer and the colour-blind keep apart: a dark one, and light stripes.
SOLID = {"fill": {"color": "#0072B2"}}
STRIPED = {
    "pattern": {"pattern": "wide_upward_diagonal", "fg_color": "#E69F00", "bg_color": "#FFFFFF"},
    "border": {"color": "#B37B00"},
}
TITLE = {"name_font": {"size": 12}, "overlay": False}
READS, USABLE, RAW = "job_read_bandwidth", "year_usable_bytes", "year_raw_bytes"


class Drawn(NamedTuple):
    """A chart that is not yet on a sheet: its title as a live formula, its words for who does not see it, its height."""

    chart: Any
    title: Formula
    alt: str
    height: int


def add_charts(book: SiteBook, workbook: Workbook, grid: Grid) -> int:
    """Put the charts below what a sheet has, beside each other; the first one covers the cells of all titles.

    Args:
        book: the plan and where its cells are.
        workbook: that makes the charts.
        grid: the sheet, all of its lines written.

    Returns:
        the rows that the charts take below the last line.
    """
    last, charts = grid.next, list(charts_of(book, workbook))
    top = grid.next = last + 1
    for place, drawn in enumerate(charts):
        row = grid.row(drawn.title)
        grid.sheet.set_row(row - 1, LINE)
        drawn.chart.set_title({"name": f"={grid.sheet.get_name()}!$A${row}", "data": [drawn.title.value], **TITLE})
        drawn.chart.set_size({"width": WIDTH, "height": drawn.height})
        grid.sheet.insert_chart(top, 0, drawn.chart, {"description": drawn.alt, "x_offset": NEXT * place})
    further = 2 + math.ceil(max((drawn.height for drawn in charts), default=0) / ROW)
    if last + further > ROWS_OF_PAGE:
        grid.sheet.set_h_pagebreaks([top])
    grid.next = last
    return further


def charts_of(book: SiteBook, workbook: Workbook) -> Iterator[Drawn]:
    """Read bandwidth by job, and capacity by year."""
    if book.tables["Workloads"]:
        yield _demand(book, workbook)
    if book.tables["Capacity by year"]:
        yield _capacity(book, workbook)


def _demand(book: SiteBook, workbook: Workbook) -> Drawn:
    chart, column = workbook.add_chart({"type": "bar"}), Column(book, "Workloads", READS)
    chart.add_series(_series(column, SOLID, MOST_BARS))
    chart.set_y_axis({"reverse": True, "name": "Job", "name_font": PLAIN})
    chart.set_x_axis({**_axis("Read bandwidth", [column]), "label_position": "high"})
    chart.set_legend({"none": True})
    title = most_of(column, "reads most", MOST_BARS)
    alt = f"Bars of the read bandwidth of each job, all of its runs at once. As delivered: {title.value}."
    return Drawn(chart, title, alt, FRAME + BAR * max(min(column.rows, MOST_BARS), 2))


def _capacity(book: SiteBook, workbook: Workbook) -> Drawn:
    chart = workbook.add_chart({"type": "column"})
    columns = [Column(book, "Capacity by year", quantity) for quantity in (USABLE, RAW)]
    for column, look in zip(columns, (SOLID, STRIPED), strict=True):
        chart.add_series(_series(column, look, MOST_LABELS))
    chart.set_x_axis({"name": "Year", "name_font": PLAIN})
    chart.set_y_axis(_axis("Capacity", columns))
    chart.set_legend({"position": "bottom"})
    title = over_years(columns[0])
    alt = f"Columns of usable and of raw capacity by year. As delivered: {title.value}."
    return Drawn(chart, title, alt, COLUMNS)


PLAIN = {"bold": False}


def _series(column: Column, look: Mapping[str, Any], labelled: int) -> dict[str, Any]:
    """The values of a column, written beside their bars where there are not too many."""
    rows = min(column.rows, MOST_BARS)
    labels = {"data_labels": {"value": True, "num_format": column.number_format, "font": {"size": 8}}}
    return {
        "name": label(column.quantity),
        "categories": [column.sheet, 1, 0, rows, 0],
        "values": [column.sheet, 1, column.index, rows, column.index],
        "gap": 60,
        **look,
        **(labels if column.rows <= labelled else {}),
    }


def _axis(name: str, columns: Sequence[Column]) -> Mapping[str, Any]:
    """Cells hold base units; the format of the axis leaves out groups of three digits and its name says which."""
    largest = max(columns, key=lambda column: column.largest)
    grid = {"visible": True, "line": {"color": "#E5E5E5"}}
    return {
        "name": f"{name} ({largest.unit})",
        "name_font": PLAIN,
        "num_format": largest.axis_format,
        "major_gridlines": grid,
    }
