"""The sheets of a plan's workbook to read and fill in: results, requirements, vendor response, acceptance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.acceptance.loads import Setting
from ingest.acceptance.test_table import TOOL, TOOL_VERSION, job_file_of, rows_of, shown_by
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS, unit_of
from ingest.reports.charts.chart import COLOURS
from ingest.reports.charts.planning import course
from ingest.reports.labels import label, plain
from ingest.reports.workbook.change_banner import add_banner, strike_columns
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter, result_cells, seen
from ingest.reports.workbook.styles import column_of
from ingest.reports.workbook.table_sheets import TableSheet
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.rfp import response_form as form
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.acceptance.test_table import LoadRow
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan


#: Format of the number next to its bar.
DECIMALS = "#,##0.0"
#: Prefixes of a unit, a thousand times each; the first is none.
PREFIXES = " kMGTPE"
#: Bars of a chart; more are no longer read.
MOST_BARS = 30
#: Columns of a chart, of all series, that have their values written above them.
MOST_LABELS = 12
#: Heights in pixels: of a row of a sheet, of a chart without its bars, of one bar, of a chart of columns.
ROW, FRAME, BAR, COLUMNS = 20, 130, 28, 320
#: Width of a chart, and from the edge of one to that of the next, in pixels; two fill the width of a page.
WIDTH, NEXT = 600, 620
#: Lines of a page; charts that would be cut start a new page.
ROWS_OF_PAGE = 44
#: Fills that differ in grey print and for colour-blind readers: dark, and light stripes.
SOLID = {"fill": {"color": COLOURS[0]}}
PALE = {"fill": {"color": "#FFFFFF"}, "border": {"color": COLOURS[0]}}
STRIPED = {
    "pattern": {"pattern": "wide_upward_diagonal", "fg_color": COLOURS[1], "bg_color": "#FFFFFF"},
    "border": {"color": "#B37B00"},
}
TITLE = {"name_font": {"size": 12}, "overlay": False}
READS, CAPACITIES = "job_read_bandwidth", ("year_usable_bytes", "year_capacity_to_buy", "year_raw_bytes")


class ChartColumn:
    """A column of a sheet that a chart shows.

    Attributes:
        sheet, quantity, index: its place, counted from zero.
        names, values: of its rows, as delivered; zero where a row lacks the quantity.
        largest: of its values.
        unit: its base unit.
    """

    def __init__(self, table: TableSheet, quantity: str) -> None:
        self.sheet, self.quantity, self.index = table.name, quantity, table.column(quantity)
        self.names = [seen(row.name) for row in table.rows]
        self.values = [0.0 if step is None else float(step.value) for step in table.entries(quantity)]
        self.largest, self.unit = max(self.values, default=0.0), unit_of(quantity)


class SheetChart(NamedTuple):
    """A chart that is not yet on a sheet, its title, its text for readers who do not see it, and its height in pixels."""

    chart: Any
    title: str
    alt: str
    height: int


def add_charts(tables: Mapping[str, TableSheet], workbook: Workbook, grid: SheetWriter) -> int:
    """Put the charts below what a sheet has, next to each other.

    Args:
        tables: the sheets that the charts show, by name.
        workbook: that makes the charts.
        grid: the sheet, all of its lines written.

    Returns:
        the rows that the charts take below the last line.
    """
    last, charts = grid.next, list(charts_of(tables, workbook))
    top = last + 1
    for place, drawn in enumerate(charts):
        drawn.chart.set_title({"name": drawn.title, **TITLE})
        drawn.chart.set_size({"width": WIDTH, "height": drawn.height})
        grid.sheet.insert_chart(top, 0, drawn.chart, {"description": drawn.alt, "x_offset": NEXT * place, "y_offset": 4})
    further = 2 + math.ceil(max((drawn.height for drawn in charts), default=0) / ROW)
    if grid.lines + further > ROWS_OF_PAGE:
        grid.sheet.set_h_pagebreaks([top])
    return further


def charts_of(tables: Mapping[str, TableSheet], workbook: Workbook) -> Iterator[SheetChart]:
    """Read bandwidth by job, and capacity by year."""
    if "Workloads" in tables:
        yield _demand(tables["Workloads"], workbook)
    if "Capacity by year" in tables:
        yield _capacity(tables["Capacity by year"], workbook)


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
    return SheetChart(chart, title, alt, FRAME + BAR * max(min(jobs, MOST_BARS), 2))


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


def _series(column: ChartColumn, look: Mapping[str, Any], labelled: int) -> dict[str, Any]:
    """The values of a column, with labels up to `labelled` rows."""
    rows = min(len(column.values), MOST_BARS)
    labels = {"data_labels": {"value": True, "num_format": number_format(column.largest, column.unit), "font": {"size": 8}}}
    return {
        "name": label(column.quantity),
        "categories": [column.sheet, 1, 0, rows, 0],
        "values": [column.sheet, 1, column.index, rows, column.index],
        "gap": 60,
        **look,
        **(labels if len(column.values) <= labelled else {}),
    }


def _axis(name: str, columns: Sequence[ChartColumn]) -> Mapping[str, Any]:
    """Cells hold base units; the format of the axis leaves out groups of three digits and its name says which."""
    largest = max(columns, key=lambda column: column.largest)
    scale, scaled = scale_of(largest.largest, largest.unit, False)
    factor, unit = (scale, scaled) if scale else (1, largest.unit)
    decimals = "#,##0.0" if largest.largest / factor < 10 else "#,##0"
    return {
        "name": f"{name} ({unit})",
        "name_font": PLAIN,
        "num_format": decimals + "," * (round(math.log10(factor)) // 3),
        "major_gridlines": {"visible": True, "line": {"color": "#E5E5E5"}},
    }


def number_format(largest: float, unit: str) -> str:
    """The format of values up to the largest one, with three prefixes, the most that a format can distinguish.

    >>> number_format(3e9, "B")
    '[>=1000000000]#,##0.0,,," GB";[>=1000000]#,##0.0,," MB";#,##0.0," kB"'
    >>> number_format(7, "B")
    '#,##0.0" B"'
    """
    most = min(math.floor(math.log10(max(largest, 1)) / 3), len(PREFIXES) - 1)
    shown = [(n, f'{DECIMALS}{"," * n}" {(PREFIXES[n] + unit).strip()}"') for n in range(most, max(most - 3, -1), -1)]
    return ";".join(f"[>={1000**n}]{how}" if n > shown[-1][0] else how for n, how in shown)


#: The conditions on the sheet Requirements, in the order of their columns.
CONDITIONS = ("operation", "clients", "threads", "queue_depth", "implied_latency", "latency_99", "io_size", "pattern",
              "mix_in_words", "files", "duration", "fill", "cache")  # fmt: skip
CONDITION_STYLES = {"fill": "share", "implied_latency": "fraction", "latency_99": "fraction"}
#: The ends of a value, on several sheets.
LOW, HIGH = "Low (P10)", "High (P90)"
#: What a line requires, and what it requires where something limits it.
ROUNDED, LIMITED = "rounded_requirement", "limited_requirement"
#: Aggregate rate of all clients where a rate per client is required.
OF_ALL = "rate_of_all_clients"


def requirements(plan: Plan, cells: PlanCells, book: WorkbookWriter) -> dict[str, int]:
    """The sheet Requirements; returns the row of each id."""
    sheet = book.sheet(form.REQUIREMENTS_SHEET)
    letter = sheet.layout.letter(form.VALUE)
    rows: dict[str, int] = {}
    tests = shown_by(plan.requirements)
    for one in plan.requirements:
        place = cells.place(plan.steps[one.id])
        value = CellFormula(f"={place}", float(plan.steps[one.id].value))
        required = CellFormula(_rounded(plan, cells, one, f"{letter}{sheet.next + 1}"), one.value, "strong")
        conditions = (_condition(one, name) for name in CONDITIONS)
        assumed = ", ".join(plain(name) for name in one.assumptions)
        shown = (one.low, one.high, tests.get(one.id, ""), assumed)
        rows[one.id] = sheet.row(one.id, one.priority, one.statement, value, one.unit, required, *shown, *conditions)
    strike_columns(sheet, "Priority", "Statement")
    strike_columns(sheet, LOW, HIGH)
    strike_columns(sheet, "Operation", "Cache rule")
    add_banner(sheet)
    sheet.close()
    return rows


def _condition(one: Requirement, name: str) -> CellContent:
    """One condition of a line: shares in percent, latencies with their decimals."""
    value: CellContent = getattr(one.conditions, name)
    if name == "cache":
        return one.conditions.cache.partition(":")[0]  # the first page defines it
    style = CONDITION_STYLES.get(name)
    return value if style is None else NumberCell(value if isinstance(value, float) else None, style)


def _rounded(plan: Plan, cells: PlanCells, one: Requirement, computed: str) -> str:
    """The formula of what a line requires: the cell of its value, rounded up, then held to the most that it may demand."""
    digits = cells.place(plan.known.step("significant_digits"))
    written = cell(FORMULAS[ROUNDED].tree(), {"computed_requirement": computed, "significant_digits": digits}.__getitem__)
    if one.id not in plan.limits:
        return written
    places = {ROUNDED: written.removeprefix("="), "requirement_limit": cells.place(plan.limits[one.id])}
    return cell(FORMULAS[LIMITED].tree(), places.__getitem__)


def results(plan: Plan, tables: Mapping[str, TableSheet], book: WorkbookWriter, lines: Mapping[str, int]) -> None:
    """The sheet Results, in units that people read, with its charts below."""
    sheet = book.sheet("Results")
    letter = sheet.layout.letter("Base value")
    value, *ends = (column_of("plan", form.REQUIREMENTS_SHEET, head) for head in (form.REQUIRED, LOW, HIGH))
    for one in plan.requirements:
        line, known = lines[one.id], zip(ends, (one.low, one.high), strict=True)
        spread = (None if end is None else (f"{column}{line}", end) for column, end in known)
        shown = result_cells(one.metric, one.value, one.unit, f"{letter}{sheet.next + 1}", f"{value}{line}", spread)
        sheet.row(one.id, label(one.metric), *shown)
    strike_columns(sheet, LOW, HIGH)
    book.book.define_name("results", f"=Results!${letter}$2:${letter}${sheet.next}")
    add_banner(sheet)
    sheet.close(further=add_charts(tables, book.book, sheet))


def acceptance(plan: Plan, book: WorkbookWriter, lines: Mapping[str, int]) -> None:
    """The sheet Acceptance: load and threshold of each test, result to be filled in."""
    sheet, usual = book.sheet("Acceptance"), Setting()
    value = column_of("plan", form.REQUIREMENTS_SHEET, form.REQUIRED)
    runs = (usual.repeats, NumberCell(usual.allowed_deviation, "share"))
    for one in rows_of(plan.requirements):
        load, clients = one.load, f"{sheet.layout.letter(form.CLIENTS)}{sheet.next + 1}"
        threshold = CellFormula(_threshold(one, f"{value}{lines[one.line.id]}", clients), load.threshold)
        latency = NumberCell(load.latency_99, "fraction")
        request = (load.clients, load.threads, load.depth, latency, load.io_bytes)
        how = (load.operation, load.pattern, *request, threshold, load.unit, load.seconds)
        job = (f"{TOOL} {TOOL_VERSION}", job_file_of(one.test))
        sheet.row(one.test, one.requirement, *how, *job, *runs, EntryCell(None), EntryCell(None))
    strike_columns(sheet, "Clients", "I/O size (B)")
    strike_columns(sheet, "Duration (s)")
    sheet.close()


def _threshold(row: LoadRow, value: str, clients: str) -> str:
    """The formula of the rate that all clients of a load must reach together; a line may require it of each client."""
    places = {"rate_per_client": value, "clients_under_test": clients}
    whole = cell(FORMULAS[OF_ALL].tree(), places.__getitem__) if row.line.unit.endswith("/node") else f"={value}"
    return whole if row.share == 1 else f"{whole} * {row.share!r}"
