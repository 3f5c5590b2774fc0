"""Sheets of a site's workbook: what the site needs, the inputs to turn, result lines and charts in front; tables behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.engine.registry import Step, unit_of
from ingest.reports.charts.chart import COLOURS
from ingest.reports.charts.planning import course, fed_in_words, gpus_in_words
from ingest.reports.labels import label, line_heading
from ingest.reports.workbook.derivation_cells import PlanCells
from ingest.reports.workbook.plan_inputs import Knob, PeopleInput
from ingest.reports.workbook.sheet import (
    CellContent,
    CellFormula,
    DisplayUnit,
    NumberCell,
    SheetWriter,
    column_of,
    display_unit,
    seen,
    width_of,
    width_of_words,
)
from ingest.reports.workbook.workbook_writer import WorkbookWriter, add_title, banner, checks_outcome, strike
from ingest.rfp import response_form as form
from ingest.site.datasets import LatencyPoint, utilization_course
from ingest.site.guidance import guidance_rows
from ingest.site.plan import COLUMN_KINDS, TABLES, Plan, largest_checkpoint_course, largest_checkpoint_goodput
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import QuantityRow
    from ingest.requirement import Requirement

_OF_SHEETS = ("jobs", "clusters", "datasets", "capacity", "checkpoints", "metadata", "placement", "offload", "post_training",
              "indexes", "serving", "loaders")  # fmt: skip
#: sheet -> table of the plan, in the order of the workbook
TABLE_SHEETS = {TABLES[name].sheet: name for name in _OF_SHEETS}


class TableSheet(NamedTuple):
    """A sheet that shows a table of the plan."""

    name: str  # of the sheet
    quantities: Sequence[str]  # of its columns of numbers
    rows: Sequence[QuantityRow]  # those of the plan
    steps: Sequence[Sequence[Step | None]]  # of each row, by column; None where the row lacks the quantity

    @property
    def words(self) -> list[str]:
        """The columns of text: those in which any row has one."""
        filled = dict.fromkeys(word for row in self.rows for word, text in row.words.items() if str(text))
        return [word for word in filled if word in (TABLES[TABLE_SHEETS[self.name]].words or filled)]

    @property
    def units(self) -> dict[str, DisplayUnit]:
        """The unit in which people read each column: one for all columns of bytes, so that they compare at a glance."""
        largest: dict[str, float] = {}
        alike = {one: unit_of(one) if unit_of(one).startswith("B") else one for one in self.quantities}
        for quantity, group in alike.items():
            values = [abs(float(step.value)) for step in self.entries(quantity) if step is not None]
            largest[group] = max(largest.get(group, 0.0), *values, 0.0)
        found = {}
        for quantity, group in alike.items():
            unit = display_unit(quantity, largest[group], unit_of(quantity))
            assert unit is not None
            found[quantity] = unit._replace(style="large unit") if unit.style == "scaled" else unit
        return found

    def column(self, quantity: str) -> int:
        """The column of a quantity, counted from zero."""
        return 1 + len(self.words) + self.quantities.index(quantity)

    def entries(self, quantity: str) -> list[Step | None]:
        """The steps of one column."""
        place = self.quantities.index(quantity)
        return [steps[place] for steps in self.steps]


def table_sheets(plan: Plan) -> dict[str, TableSheet]:
    """The sheets of the tables that have rows, by name."""
    found = {}
    for name, table in TABLE_SHEETS.items():
        rows = plan.rows_of(table)
        kept = [
            one
            for one in TABLES[table].columns
            if COLUMN_KINDS.get(one, "") in ("", *plan.kinds) and any(row.step(one) is not None for row in rows)
        ]
        if rows:
            found[name] = TableSheet(name, kept, rows, [[row.step(one) for one in kept] for row in rows])
    return found


def write_table(table: TableSheet, cells: PlanCells, book: WorkbookWriter) -> None:
    """Write the sheet of a table."""
    words, units = table.words, table.units
    heads = [quantity_head(quantity, unit) for quantity, unit in units.items()]
    numbers = [
        [float(step.value) / unit.factor for step in table.entries(quantity) if step is not None]
        for quantity, unit in units.items()
    ]
    texts = [width_of_words(label(word), (str(row.words.get(word, "")) for row in table.rows)) for word in words]
    widths = [width_of_words("Name", (row.name for row in table.rows)), *texts, *map(width_of, heads, numbers)]
    with closing(book.sheet(table.name, ["Name", *map(label, words), *heads], widths)) as sheet:
        for row, steps in zip(table.rows, table.steps, strict=True):
            live = (
                None if step is None else unit.cell(cells.place(step), float(step.value))
                for step, unit in zip(steps, units.values(), strict=True)
            )
            sheet.row(row.name, *(str(row.words.get(word, "")) for word in words), *live)


#: Columns of the sheet Guidance.
GUIDANCE = ("name", "cluster", "floor", "cluster_gpus", "compared_reads", "compared_writes", "compared_node_reads",
            "compared_node_writes")  # fmt: skip


def write_guidance(plan: Plan, book: WorkbookWriter) -> None:
    """Write the sheet that compares the workload, as planned, with the guidance and with practice."""
    with closing(book.sheet("Guidance")) as sheet:
        for row in guidance_rows(plan.guidance, plan.rows["clusters"], plan.known):
            sheet.row(*(row.get(column) for column in GUIDANCE))
        strike(sheet, "Level", "Writes of one node (B/s/node)")


def quantity_head(quantity: str, unit: DisplayUnit) -> str:
    """The heading of a column of numbers, with its unit where the label does not name it.

    >>> quantity_head("nodes", DisplayUnit(1, "node", "")), quantity_head("year_raw_bytes", DisplayUnit(10**15, "PB", ""))
    ('Nodes', 'Raw capacity (PB)')
    """
    shown = label(quantity)
    return shown if unit_of(quantity) == "1" or unit.unit.lower() in shown.lower() else f"{shown} ({unit.unit})"


#: The sheet, and the rows of its tiles, of its banner, and of the headings, counted from zero.
RESULTS = "Results"
TILE_NAMES, TILE_VALUES, BANNER, HEADINGS = 1, 2, 3, 4
#: Tiles: their names, the operation whose largest line is shown, and their first and last column.
TILES = (("Usable capacity to buy", "hold", 0, 1), ("Read", "read", 2, 3), ("Write", "write", 4, 5))
#: The tile of restores: the requirements of which the largest is shown, and its column.
RESTORES, RESTORE_TILE = ("R-RESTART-01", "R-RESTART-02"), 7
#: How the value of a tile looks.
TILE_LOOK = {"bold": True, "font_size": 20, "font_color": "#1F3864", "align": "left", "indent": 1, "valign": "vcenter"}
#: The columns of the tile that shows the outcome of the checks.
OUTCOME = (8, 10)
#: Rows that one printed page shows in letters that can be read.
ROWS_OF_PAGE = 52
#: Height of the value of a tile, in points.
TILE = 34.0
#: The ends of a value.
LOW, HIGH = "Low (P10)", "High (P90)"


class ResultsSheet:
    """Writes the sheet Results; `knobs` are the inputs to turn."""

    def __init__(self, plan: Plan, book: WorkbookWriter, cells: PlanCells, knobs: Sequence[Knob]) -> None:
        self.plan, self.book, self.cells, self.knobs = plan, book, cells, knobs
        layout = book.layouts[RESULTS]
        self.sheet = SheetWriter(book.sheets[RESULTS], book.styles, layout, HEADINGS)
        column = layout.letter("Setting")
        #: the cell of each knob, by its input
        self.turned: Mapping[Step, str] = {
            knob.step: f"{RESULTS}!${column}${HEADINGS + 2 + place}" for place, knob in enumerate(knobs)
        }

    def write(self, tables: Mapping[str, TableSheet], lines: Mapping[str, int], checks: int) -> None:
        """Write it, with the tables that charts show, the rows of the requirements, and the number of checks."""
        sheet = self.sheet
        for line, knob in zip_longest((self._line(one, lines) for one in self.plan.requirements), self.knobs):
            turned: tuple[CellContent, ...] = ()
            if knob is not None:
                entered = PeopleInput.of(knob.step)
                turned = (knob.name, entered.cell(float(knob.step.value)), entered.unit.unit, knob.key, knob.moves)
            sheet.row(*(line or [None] * 6), None, *turned, text="line")
        for place in self.turned.values():
            self.book.book.define_name(f"knob_{place.rpartition('$')[2]}", f"={place}")
        strike(sheet, LOW, HIGH)
        self._top(lines, checks)
        further = add_charts(self.plan, tables, self.book, sheet, self.cells)
        sheet.close(further)
        if sheet.next + further <= ROWS_OF_PAGE:
            sheet.sheet.fit_to_pages(1, 1)

    def _line(self, one: Requirement, lines: Mapping[str, int]) -> list[CellContent]:
        """A requirement in the unit in which people read it."""
        live, unit = self._live(one, form.REQUIRED, one.value, lines)
        ends = []
        for head, end in ((LOW, one.low), (HIGH, one.high)):
            spread = None if end is None else self._live(one, head, end, lines)[0]
            ends.append(spread and spread._replace(style=range_style(spread.value)))
        return [one.id, line_heading(one), live, unit, *ends]

    def _live(self, one: Requirement, head: str, value: float, lines: Mapping[str, int]) -> tuple[CellFormula, str]:
        """The cell that follows a column of the sheet Requirements, and its unit."""
        shown = display_unit(one.metric, one.value, one.unit)
        assert shown is not None
        place = f"{column_of('model', form.REQUIREMENTS_SHEET, head)}{lines[one.id]}"
        return shown.cell(place, value)._replace(style="strong"), shown.unit

    def _top(self, lines: Mapping[str, int], checks: int) -> None:
        """The title, the tiles and the banner above the headings."""
        page, styles = self.sheet.sheet, self.sheet.styles
        last = len(self.sheet.layout.widths) - 2
        add_title(self.sheet, f"Storage requirements of {self.plan.site.name}", last)
        page.set_row(TILE_VALUES, TILE)
        restores = [one for one in self.plan.requirements if one.id in RESTORES and one.priority == "mandatory"]
        tiles = [(name, self.plan.headline.get(operation), first, end) for name, operation, first, end in TILES]
        tiles.append(("Restore", max(restores, key=lambda one: one.value, default=None), RESTORE_TILE, RESTORE_TILE))
        for name, largest, first, end in tiles:
            if largest is not None:
                live, unit = self._live(largest, form.REQUIRED, largest.value, lines)
                look = {**TILE_LOOK, "num_format": f'[>=1000]#,##0" {unit}";General" {unit}"'}
                self._merged(TILE_NAMES, first, end, "tile name", f"{name} ({largest.id})")
                self._merged(TILE_VALUES, first, end, look, live)
        self._merged(TILE_NAMES, *OUTCOME, "tile name", "Checks")
        self._merged(TILE_VALUES, *OUTCOME, "tile outcome", checks_outcome(checks))
        failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": styles["bad"]}
        page.conditional_format(TILE_VALUES, OUTCOME[0], TILE_VALUES, OUTCOME[0], failing)
        self._merged(BANNER, 0, last, "warning", banner())

    def _merged(self, row: int, first: int, last: int, style: str | Mapping[str, object], item: str | CellFormula) -> None:
        """Write a text or a formula across columns."""
        page = self.sheet.sheet
        made = self.sheet.styles[style] if isinstance(style, str) else self.book.book.add_format(dict(style))
        if last > first:
            page.merge_range(row, first, row, last, "", made)
        if isinstance(item, str):
            page.write_string(row, first, item, made)
        else:
            page.write_formula(row, first, item.written, made, item.value)


def range_style(end: float) -> str:
    """How an end of a range is shown in a narrow column: with three digits or so.

    >>> range_style(29_300_000), range_style(622.3), range_style(14.9), range_style(0.0375)
    ('range large', 'range whole', 'range', 'range small')
    """
    return "range large" if end >= 1e6 else "range whole" if end >= 100 else "range" if end >= 1 else "range small"


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
DASHED = {"line": {"color": COLOURS[0], "width": 1, "dash_type": "dash"}}
DIAMOND = {"type": "diamond", "size": 11, "fill": {"color": COLOURS[3]}, "border": {"color": COLOURS[3]}}
CHOSEN = {"marker": DIAMOND, "line": {"none": True}}
PLAIN = {"bold": False}
LIGHT = {"visible": True, "line": {"color": "#E5E5E5"}}
READS, CAPACITIES = "job_read_bandwidth", ("year_usable_bytes", "year_capacity_to_buy", "year_raw_bytes")
#: The sheets that hold what the charts of lines show, and what is said below the points.
INTERVALS, UTILIZATION, GOODPUT = "Intervals", "Utilization", "Goodput"
SIMULATED = "Simulated as planned: medians, P10 and P90 of runs of a stated seed. The row of the job follows its cells."
GAINED = "In closed form as planned, restores unchanged. GPUs gained: by one more GB/s. The row of the job follows its cells."


class SheetChart(NamedTuple):
    """A chart that is not yet on a sheet, its title, its text for readers who do not see it, and its height in pixels."""

    chart: Any
    title: str
    alt: str
    height: int = COLUMNS


def add_charts(plan: Plan, tables: Mapping[str, TableSheet], book: WorkbookWriter, grid: SheetWriter, cells: PlanCells) -> int:
    """Put the charts below the last line of a sheet, three or four next to each other; returns the rows that they take.

    Read bandwidth by job, capacity by year, write bandwidth by checkpoint interval, utilization by latency, and goodput.
    """
    drawers = (("Workloads", READS, _demand), ("Capacity by year", CAPACITIES[0], _capacity))
    there = ((tables[name], needed, draw) for name, needed, draw in drawers if name in tables)
    charts = [draw(table, book) for table, needed, draw in there if needed in table.quantities]
    jobs = {row.name: row for row in plan.rows["jobs"]}
    if (saved := largest_checkpoint_course(plan)) is not None:
        charts.append(_intervals(book, cells, jobs[saved[0]], *saved[1:]))
    if (fed := utilization_course(plan.rows["jobs"])) is not None:
        charts.append(_utilization(book, cells, *fed))
    if (goodput := largest_checkpoint_goodput(plan)) is not None:
        charts.append(_goodput(book, cells, jobs[goodput[0]], goodput[1]))
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


def _demand(table: TableSheet, book: WorkbookWriter) -> SheetChart:
    chart = book.book.add_chart({"type": "bar"})
    names, values, axis = _draw(chart, table, {READS: SOLID}, MOST_BARS, "Read bandwidth")
    chart.set_y_axis({"reverse": True, "name": "Job", "name_font": PLAIN})
    chart.set_x_axis({**axis, "label_position": "high"})
    chart.set_legend({"none": True})
    largest, jobs = max(values), len(values)
    drawn = f"; {MOST_BARS} of {jobs:,} jobs shown" if jobs > MOST_BARS else ""
    # A title that begins with a name might begin with "=", and be taken for a formula.
    most = f"{names[values.index(largest)]} needs the most, {display(largest, unit_of(READS), binary=False)}"
    title = f"Read bandwidth by job: {most}{drawn}"
    alt = f"Bar chart of the read bandwidth of each job, all of its concurrent runs. As planned: {title}."
    return SheetChart(chart, title, alt, max(FRAME + BAR * min(jobs, MOST_BARS), COLUMNS))


def _capacity(table: TableSheet, book: WorkbookWriter) -> SheetChart:
    chart = book.book.add_chart({"type": "column"})
    known = dict(zip(CAPACITIES, (SOLID, PALE, STRIPED), strict=True))
    looks = {name: look for name, look in known.items() if name in table.quantities}
    names, values, axis = _draw(chart, table, looks, MOST_LABELS // len(looks), "Capacity")
    chart.set_x_axis({"name": "Year", "name_font": PLAIN})
    chart.set_y_axis(axis)
    chart.set_legend({"position": "bottom"})
    title = course(dict(zip(names, values, strict=True)))
    return SheetChart(
        chart, title, f"Column chart of the data held and of usable and raw capacity by year. As planned: {title}."
    )


def _draw(
    chart: Any, table: TableSheet, looks: Mapping[str, Mapping[str, Any]], labelled: int, axis: str
) -> tuple[list[str], list[float], dict[str, Any]]:
    """Add the columns of a sheet as series, with labels up to `labelled` rows.

    Returns:
        The names of the rows, the values of the first column as delivered, zero where a row lacks it, and the axis.
    """
    values = {one: [0.0 if step is None else float(step.value) for step in table.entries(one)] for one in looks}
    rows = min(len(table.rows), MOST_BARS)
    for quantity, look in looks.items():
        index, number = table.column(quantity), f'{DECIMALS}" {table.units[quantity].unit}"'
        labels = {"data_labels": {"value": True, "num_format": number, "font": {"size": 8}}}
        series = {
            "name": label(quantity),
            "categories": [table.name, 1, 0, rows, 0],
            "values": [table.name, 1, index, rows, index],
            "gap": 60,
        }
        chart.add_series({**series, **look, **(labels if len(table.rows) <= labelled else {})})
    first = next(iter(looks))
    largest = max(max(found, default=0.0) for found in values.values())
    shown = table.units[first]
    return [seen(row.name) for row in table.rows], values[first], _scale(axis, shown.unit, 1, largest / shown.factor)


def _scale(name: str, unit: str, factor: int, largest: float) -> dict[str, Any]:
    """Where cells hold base units, the format of the axis leaves out groups of three digits, and its name says which."""
    decimals = "#,##0.0" if largest / factor < 10 else "#,##0"
    return {
        "name": f"{name} ({unit})",
        "name_font": PLAIN,
        "num_format": decimals + "," * (round(math.log10(factor)) // 3),
        "major_gridlines": LIGHT,
    }


def _of_rates(rates: Sequence[float]) -> dict[str, Any]:
    """The axis of write bandwidths."""
    factor, unit = scale_of(max(rates), "B/s", False)
    return _scale("Write bandwidth", unit, factor, max(rates))


def _lines(
    book: WorkbookWriter,
    name: str,
    rows: Sequence[Sequence[CellContent]],  # the chosen point, the others, and the note below them
    ends: tuple[str, str],  # the headings of the first and the last column, which are struck out together
    lines: Mapping[str, tuple[int, Mapping[str, Any]]],  # column and look of each line, by its name in the legend
) -> Any:
    """A sheet of points, which are those of the plan but for the live one of the job, and their chart."""
    with closing(book.sheet(name)) as sheet:
        chosen, *points, note = rows
        for what, row in (("chosen", chosen), *(("as planned", point) for point in points)):
            sheet.row(what, *row)
        strike(sheet, *ends)
        sheet.row("", *note)
    chart = book.book.add_chart({"type": "scatter", "subtype": "straight"})
    ranges = {line: (2, len(points) + 1, column, look) for line, (column, look) in lines.items()}
    for line, (first, end, column, look) in {**ranges, "chosen": (1, 1, 2, CHOSEN)}.items():
        places = {"categories": [name, first, 1, end, 1], "values": [name, first, column, end, column]}
        chart.add_series({"name": line, **places, **look})
    chart.set_legend({"position": "bottom"})
    return chart


def _places(cells: PlanCells, row: QuantityRow, *names: str) -> list[str]:
    """The formulas that follow quantities of a job."""
    return [f"={cells.place(step)}" for name in names if (step := row.step(name)) is not None]


def _intervals(
    book: WorkbookWriter,
    cells: PlanCells,
    row: QuantityRow,
    own: tuple[float, float, float],
    points: Sequence[tuple[float, float, float]],
    how: str,
) -> SheetChart:
    """Write bandwidth by checkpoint interval: a line as planned, and the live point of the job."""
    interval, lost, rate = own
    minutes, bandwidth = _places(cells, row, "checkpoint_interval", "checkpoint_write_bandwidth")
    chosen = (CellFormula(f"{minutes} / 60", interval / 60), CellFormula(bandwidth, rate), NumberCell(lost, "share"))
    others = ((seconds / 60, needed, NumberCell(share, "share")) for seconds, share, needed in points)
    rows: list[Sequence[CellContent]] = [chosen, *others, (how,)]
    chart = _lines(book, INTERVALS, rows, ("Point", "Checkpoint overhead"), {"as planned": (2, LINE)})
    chart.set_x_axis({**_scale("Interval", "min", 1, max(seconds for seconds, _, _ in points) / 60), "min": 0})
    chart.set_y_axis({**_of_rates([needed for _, _, needed in points]), "min": 0})
    needs = f"one every {display(interval, 's')} needs {display(rate, 'B/s', binary=False)} of writes"
    title = f"Checkpoints of {row.name}: {needs}"
    what = f"Line chart of the write bandwidth of {row.name} by checkpoint interval, the chosen point marked."
    return SheetChart(chart, title, f"{what} As planned: {title}.")


def _utilization(
    book: WorkbookWriter, cells: PlanCells, row: QuantityRow, own: LatencyPoint, points: Sequence[LatencyPoint]
) -> SheetChart:
    """Utilization by the 99 % latency of reads: simulated lines as planned, and the live point of the job."""
    latency, accepted = _places(cells, row, "latency_99", "accepted_utilization")
    kept = row.step("accepted_utilization")
    assert kept is not None
    chosen = (CellFormula(f"{latency} * 1000", own[0] * 1000), CellFormula(accepted, float(kept.value)))
    others: list[Sequence[CellContent]] = [
        (one[0] * 1000, *(NumberCell(share, "share") for share in one[1:])) for one in points
    ]
    rows: list[Sequence[CellContent]] = [chosen, *others, (SIMULATED,)]
    drawn = {"median": (2, LINE), "P10 and P90": (3, DASHED), "P90": (4, DASHED)}
    chart = _lines(book, UTILIZATION, rows, ("Point", "P90"), drawn)
    chart.set_x_axis({**_scale("99 % latency of reads", "ms", 1, points[-1][0] * 1000), "min": 0})
    chart.set_y_axis({"name": "Time that GPUs compute", "name_font": PLAIN, "num_format": "0 %", "min": 0, "max": 1})
    chart.set_legend({"position": "bottom", "delete_series": [2]})
    words = fed_in_words(points, own, row.name)
    alt = f"Line chart of the utilization of {row.name} by the 99 % latency of reads, its point marked. As planned: {words}."
    return SheetChart(chart, f"Loader of {words.partition(';')[0]}", alt)


def _goodput(book: WorkbookWriter, cells: PlanCells, row: QuantityRow, found: Sequence[Mapping[str, float]]) -> SheetChart:
    """Goodput by the write bandwidth bought: points in closed form as planned, and the live point of the job."""
    rate = row.step("checkpoint_write_bandwidth")
    assert rate is not None
    at = min(found, key=lambda one: abs(one["write_bandwidth"] - float(rate.value)))
    rates, gains = [one["write_bandwidth"] for one in found], [one.get("gpus_gained") for one in found]
    rows: list[Sequence[CellContent]] = [
        (CellFormula(f"={cells.place(rate)}", float(rate.value)), NumberCell(at["goodput"], "share"))
    ]
    rows += [(one["write_bandwidth"], NumberCell(one["goodput"], "share"), one.get("gpus_gained")) for one in found]
    dot = {"type": "circle", "size": 6, "fill": {"color": COLOURS[0]}, "border": {"color": COLOURS[0]}}
    labels = [{"delete": True} if gained is None else {"value": gpus_in_words(gained)} for gained in gains]
    dots = {"marker": dot, "data_labels": {"value": True, "custom": labels, "position": "below", "font": {"size": 8}}}
    drawn = {"as planned, GPUs gained": (2, LINE | dots)}
    chart = _lines(book, GOODPUT, [*rows, (GAINED,)], ("Point", "GPUs gained"), drawn)
    chart.set_x_axis({**_of_rates(rates), "log_base": 2, "min": rates[0]})
    least = math.floor(10 * min(one["goodput"] for one in found)) / 10
    look = {"name": "Time that is progress", "name_font": PLAIN, "num_format": "0 %", "min": max(0, least - 0.1), "max": 1}
    chart.set_y_axis({**look, "major_gridlines": LIGHT})
    needs = display(float(rate.value), "B/s", binary=False)
    title = f"Goodput of {row.name}: {at['goodput'] * 100:.3g} % of the time is progress at {needs} of writes"
    what = f"Line chart of the goodput of {row.name} by the write bandwidth bought, the chosen point marked."
    return SheetChart(chart, title, f"{what} As planned: {title}.")
