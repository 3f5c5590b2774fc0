"""The charts of a site's workbook: they show cells, and follow them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.engine.registry import unit_of
from ingest.reports.charts.chart import COLOURS
from ingest.reports.charts.planning import Fed, course, fed_in_words, gpus_in_words
from ingest.reports.labels import label
from ingest.reports.workbook.change_banner import strike_columns
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.sheet import CellFormula, NumberCell, SheetWriter, seen
from ingest.reports.workbook.table_sheets import TableSheet
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.site.loaders import utilization_course
from ingest.site.plan import largest_checkpoint_course, largest_checkpoint_goodput
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.site.plan import Plan


#: Format of the number next to its bar.
DECIMALS = "#,##0.0"
#: Bars of a chart; more are no longer read.
MOST_BARS = 30
#: Columns of a chart, of all series, that have their values written above them.
MOST_LABELS = 6
#: Heights in pixels: of a row of a sheet, of a chart without its bars, of one bar, of a chart of columns or lines.
ROW, FRAME, BAR, COLUMNS = 20, 150, 22, 300
#: Width of a page, and the gap between charts, in pixels; charts that fill the width, and narrower ones where all fit one line.
PAGE, GAP, BESIDE, NARROW = 1200, 6, 3, 4
#: Fills that differ in grey print and for colour-blind readers: dark, and light stripes.
SOLID = {"fill": {"color": COLOURS[0]}}
PALE = {"fill": {"color": "#FFFFFF"}, "border": {"color": COLOURS[0]}}
STRIPED = {
    "pattern": {"pattern": "wide_upward_diagonal", "fg_color": COLOURS[1], "bg_color": "#FFFFFF"},
    "border": {"color": "#B37B00"},
}
TITLE = {"name_font": {"size": 10}, "overlay": False}
#: A line as planned, and the point of a job as its cells have it.
LINE = {"line": {"color": COLOURS[0], "width": 2}}
DIAMOND = {"type": "diamond", "size": 11, "fill": {"color": COLOURS[3]}, "border": {"color": COLOURS[3]}}
CHOSEN = {"marker": DIAMOND, "line": {"none": True}}
READS, CAPACITIES = "job_read_bandwidth", ("year_usable_bytes", "year_capacity_to_buy", "year_raw_bytes")


class ChartColumn:
    """A column of a sheet that a chart shows.

    Attributes:
        sheet, quantity, index: its place, counted from zero.
        names, values: of its rows, as delivered; zero where a row lacks the quantity.
        largest: of its values.
        unit: its base unit.
        shown: the unit of its cells.
    """

    def __init__(self, table: TableSheet, quantity: str) -> None:
        self.sheet, self.quantity, self.index = table.name, quantity, table.column(quantity)
        self.names = [seen(row.name) for row in table.rows]
        self.values = [0.0 if step is None else float(step.value) for step in table.entries(quantity)]
        self.largest, self.unit, self.shown = max(self.values, default=0.0), unit_of(quantity), table.units[quantity]


class SheetChart(NamedTuple):
    """A chart that is not yet on a sheet, its title, its text for readers who do not see it, and its height in pixels."""

    chart: Any
    title: str
    alt: str
    height: int


def add_charts(plan: Plan, tables: Mapping[str, TableSheet], book: WorkbookWriter, grid: SheetWriter, cells: PlanCells) -> int:
    """Put the charts below what a sheet has, three or four next to each other.

    Args:
        plan: of the site.
        tables: the sheets that the charts show, by name.
        book: that makes the charts.
        grid: the sheet, all of its lines written.
        cells: of the workbook.

    Returns:
        the rows that the charts take below the last line.
    """
    charts = list(charts_of(plan, tables, book, cells))
    rows, beside = 1, NARROW if len(charts) == NARROW else BESIDE
    step = PAGE // beside
    for line in (charts[first : first + beside] for first in range(0, len(charts), beside)):
        for place, drawn in enumerate(line):
            drawn.chart.set_title({"name": drawn.title, **TITLE})
            drawn.chart.set_size({"width": step - GAP, "height": drawn.height})
            edge = {"description": drawn.alt, "x_offset": step * place, "y_offset": 4}
            grid.sheet.insert_chart(grid.next + rows, 0, drawn.chart, edge)
        rows += 1 + math.ceil(max(drawn.height for drawn in line) / ROW)
    return max(2, rows)


def charts_of(plan: Plan, tables: Mapping[str, TableSheet], book: WorkbookWriter, cells: PlanCells) -> Iterator[SheetChart]:
    """Read bandwidth by job, capacity by year, write bandwidth by checkpoint interval, utilization by latency, and goodput."""
    if "Workloads" in tables:
        yield _demand(tables["Workloads"], book.book)
    if "Capacity by year" in tables:
        yield _capacity(tables["Capacity by year"], book.book)
    if largest_checkpoint_course(plan) is not None:
        yield _intervals(plan, book, cells)
    if utilization_course(plan.rows["jobs"]) is not None:
        yield _utilization(plan, book, cells)
    found = largest_checkpoint_goodput(plan)
    if found is not None:
        yield _goodput(plan, book, cells, *found)


def _demand(table: TableSheet, workbook: Workbook) -> SheetChart:
    chart, column = workbook.add_chart({"type": "bar"}), ChartColumn(table, READS)
    chart.add_series(_series(column, SOLID, MOST_BARS))
    chart.set_y_axis({"reverse": True, "name": "Job", "name_font": PLAIN})
    chart.set_x_axis({**_axis("Read bandwidth", [column]), "label_position": "high"})
    chart.set_legend({"none": True})
    first = column.names[column.values.index(column.largest)]
    jobs = len(column.values)
    drawn = f"; {MOST_BARS} of {jobs:,} jobs shown" if jobs > MOST_BARS else ""
    # A title that begins with a name might begin with "=", and be taken for a formula.
    title = f"Read bandwidth by job: {first} needs the most, {display(column.largest, column.unit, binary=False)}{drawn}"
    alt = f"Bar chart of the read bandwidth of each job, all of its concurrent runs. As planned: {title}."
    return SheetChart(chart, title, alt, max(FRAME + BAR * min(jobs, MOST_BARS), COLUMNS))


def _capacity(table: TableSheet, workbook: Workbook) -> SheetChart:
    chart = workbook.add_chart({"type": "column"})
    columns = [ChartColumn(table, quantity) for quantity in CAPACITIES]
    for column, look in zip(columns, (SOLID, PALE, STRIPED), strict=True):
        chart.add_series(_series(column, look, MOST_LABELS // len(columns)))
    chart.set_x_axis({"name": "Year", "name_font": PLAIN})
    chart.set_y_axis(_axis("Capacity", columns))
    chart.set_legend({"position": "bottom"})
    title = course(dict(zip(columns[0].names, columns[0].values, strict=True)), columns[0].unit)
    alt = f"Column chart of the data held and of usable and raw capacity by year. As planned: {title}."
    return SheetChart(chart, title, alt, COLUMNS)


PLAIN = {"bold": False}
LIGHT = {"visible": True, "line": {"color": "#E5E5E5"}}


def _series(column: ChartColumn, look: Mapping[str, Any], labelled: int) -> dict[str, Any]:
    """The values of a column, with labels up to `labelled` rows."""
    rows = min(len(column.values), MOST_BARS)
    labels = {"data_labels": {"value": True, "num_format": f'{DECIMALS}" {column.shown.unit}"', "font": {"size": 8}}}
    return {
        "name": label(column.quantity),
        "categories": [column.sheet, 1, 0, rows, 0],
        "values": [column.sheet, 1, column.index, rows, column.index],
        "gap": 60,
        **look,
        **(labels if len(column.values) <= labelled else {}),
    }


def _axis(name: str, columns: Sequence[ChartColumn]) -> Mapping[str, Any]:
    """The axis of columns, which are all in one unit."""
    shown = columns[0].shown
    return _scale(name, shown.unit, 1, max(column.largest for column in columns) / shown.factor)


def _scale(name: str, unit: str, factor: int, largest: float) -> dict[str, Any]:
    """Where cells hold base units, the format of the axis leaves out groups of three digits, and its name says which."""
    decimals = "#,##0.0" if largest / factor < 10 else "#,##0"
    return {
        "name": f"{name} ({unit})",
        "name_font": PLAIN,
        "num_format": decimals + "," * (round(math.log10(factor)) // 3),
        "major_gridlines": LIGHT,
    }


def _lines(book: WorkbookWriter, sheet: str, last: int, lines: Mapping[str, tuple[int, Mapping[str, Any]]]) -> Any:
    """A chart of lines over the second column of a sheet.

    Args:
        book: that makes the chart.
        sheet: with the chosen point in the first row below its head, and the lines from the second one.
        last: row of the lines.
        lines: column and look of each line, by its name in the legend.
    """
    chart = book.book.add_chart({"type": "scatter", "subtype": "straight"})
    ranges = {name: (2, last, column, look) for name, (column, look) in lines.items()}
    for name, (first, end, column, look) in {**ranges, "chosen": (1, 1, 2, CHOSEN)}.items():
        places = {"categories": [sheet, first, 1, end, 1], "values": [sheet, first, column, end, column]}
        chart.add_series({"name": name, **places, **look})
    chart.set_legend({"position": "bottom"})
    return chart


#: The sheet that holds what the chart of intervals shows.
INTERVALS = "Intervals"


def _intervals(plan: Plan, book: WorkbookWriter, cells: PlanCells) -> SheetChart:
    """Write bandwidth by checkpoint interval: a line as planned, and the live point of the job."""
    found = largest_checkpoint_course(plan)
    assert found is not None
    job, (interval, lost, rate), points, how = found
    row = next(row for row in plan.rows["jobs"] if row.name == job)
    sheet, last = book.sheet(INTERVALS), len(points) + 1
    live = [step for name in ("checkpoint_interval", "checkpoint_write_bandwidth") if (step := row.step(name)) is not None]
    minutes, bandwidth = (f"={cells.place(step)}" for step in live)
    sheet.row("chosen", CellFormula(f"{minutes} / 60", interval / 60), CellFormula(bandwidth, rate), NumberCell(lost, "share"))
    for seconds, share, needed in points:
        sheet.row("as planned", seconds / 60, needed, NumberCell(share, "share"))
    strike_columns(sheet, "Point", "Checkpoint overhead")
    sheet.row("", how)
    sheet.close()
    chart = _lines(book, INTERVALS, last, {"as planned": (2, LINE)})
    chart.set_x_axis({**_scale("Interval", "min", 1, max(seconds for seconds, _, _ in points) / 60), "min": 0})
    factor, unit = scale_of(largest := max(needed for _, _, needed in points), "B/s", False)
    chart.set_y_axis({**_scale("Write bandwidth", unit, factor, largest), "min": 0})
    needs = display(rate, "B/s", binary=False)
    title = f"Checkpoints of {job}: one every {display(interval, 's')} needs {needs} of writes"
    alt = f"Line chart of the write bandwidth of {job} by checkpoint interval, the chosen point marked. As planned: {title}."
    return SheetChart(chart, title, alt, COLUMNS)


#: The sheet that holds what the chart of utilization shows.
UTILIZATION = "Utilization"
SIMULATED = "Simulated as planned: medians, P10 and P90 of runs of a stated seed. The row of the job follows its cells."


def _utilization(plan: Plan, book: WorkbookWriter, cells: PlanCells) -> SheetChart:
    """Utilization by the 99 % latency of reads: simulated lines as planned, and the live point of the job."""
    found = utilization_course(plan.rows["jobs"])
    assert found is not None
    row, own, points = found
    sheet, last = book.sheet(UTILIZATION), len(points) + 1
    live = [step for name in ("latency_99", "accepted_utilization") if (step := row.step(name)) is not None]
    latency, accepted = (f"={cells.place(step)}" for step in live)
    sheet.row("chosen", CellFormula(f"{latency} * 1000", own.latency * 1000), CellFormula(accepted, float(live[1].value)))
    for one in points:
        sheet.row("as planned", one.latency * 1000, *(NumberCell(share, "share") for share in one[1:]))
    strike_columns(sheet, "Point", "P90")
    sheet.row("", SIMULATED)
    sheet.close()
    dashed = {"line": {"color": COLOURS[0], "width": 1, "dash_type": "dash"}}
    chart = _lines(book, UTILIZATION, last, {"median": (2, LINE), "P10 and P90": (3, dashed), "P90": (4, dashed)})
    chart.set_x_axis({**_scale("99 % latency of reads", "ms", 1, points[-1].latency * 1000), "min": 0})
    chart.set_y_axis({"name": "Time that GPUs compute", "name_font": PLAIN, "num_format": "0 %", "min": 0, "max": 1})
    chart.set_legend({"position": "bottom", "delete_series": [2]})
    words = fed_in_words([Fed(*one) for one in points], Fed(*own), row.name)
    title = f"Loader of {words.partition(';')[0]}"
    alt = f"Line chart of the utilization of {row.name} by the 99 % latency of reads, its point marked. As planned: {words}."
    return SheetChart(chart, title, alt, COLUMNS)


#: The sheet that holds what the chart of goodput shows.
GOODPUT = "Goodput"
GAINED = "In closed form as planned, restores unchanged. GPUs gained: by one more GB/s. The row of the job follows its cells."


def _goodput(plan: Plan, book: WorkbookWriter, cells: PlanCells, job: str, rows: Sequence[Mapping[str, float]]) -> SheetChart:
    """Goodput by the write bandwidth bought: points in closed form as planned, and the live point of the job."""
    row = next(row for row in plan.rows["jobs"] if row.name == job)
    rate = row.step("checkpoint_write_bandwidth")
    assert rate is not None
    at = min(rows, key=lambda one: abs(one["write_bandwidth"] - float(rate.value)))
    sheet, last = book.sheet(GOODPUT), len(rows) + 1
    sheet.row("chosen", CellFormula(f"={cells.place(rate)}", float(rate.value)), NumberCell(at["goodput"], "share"))
    for one in rows:
        gained = one.get("gpus_gained")
        sheet.row(
            "as planned", one["write_bandwidth"], NumberCell(one["goodput"], "share"), *([] if gained is None else [gained])
        )
    strike_columns(sheet, "Point", "GPUs gained")
    sheet.row("", GAINED)
    sheet.close()
    dot = {"type": "circle", "size": 6, "fill": {"color": COLOURS[0]}, "border": {"color": COLOURS[0]}}
    gains = [one.get("gpus_gained") for one in rows]
    labels = [{"delete": True} if gained is None else {"value": gpus_in_words(gained)} for gained in gains]
    dots = {"marker": dot, "data_labels": {"value": True, "custom": labels, "position": "below", "font": {"size": 8}}}
    chart = _lines(book, GOODPUT, last, {"as planned, GPUs gained": (2, LINE | dots)})
    factor, unit = scale_of(largest := max(one["write_bandwidth"] for one in rows), "B/s", False)
    chart.set_x_axis({**_scale("Write bandwidth", unit, factor, largest), "log_base": 2, "min": rows[0]["write_bandwidth"]})
    least = math.floor(10 * min(one["goodput"] for one in rows)) / 10
    look = {"name": "Time that is progress", "name_font": PLAIN, "num_format": "0 %", "min": max(0, least - 0.1), "max": 1}
    chart.set_y_axis({**look, "major_gridlines": LIGHT})
    needs = display(float(rate.value), "B/s", binary=False)
    title = f"Goodput of {job}: {at['goodput'] * 100:.3g} % of the time is progress at {needs} of writes"
    alt = f"Line chart of the goodput of {job} by the write bandwidth bought, the chosen point marked. As planned: {title}."
    return SheetChart(chart, title, alt, COLUMNS)
