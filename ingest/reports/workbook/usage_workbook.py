"""The workbook of an accounting history: what was counted, classes, GPUs in use over time and by hour of the week."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ingest.accounting.ledger import PARTS
from ingest.accounting.site_text import days
from ingest.configuration import decimal_units
from ingest.reports.charts.usage import DAYS, steps_of
from ingest.reports.labels import capitalised, plain
from ingest.reports.workbook.sheet import NumberCell, SheetLayout, display_unit
from ingest.reports.workbook.workbook_writer import WorkbookWriter

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

SHEETS = {
    "Counted": {"Quantity": 44, "Value": 16, "Unit": 12},
    "Classes": {"Class": 24, "Cluster": 20, "Runs": 10, "GPU-hours": 14, "Share": 9, "GPUs per run": 10, "P99 in use": 10,
                "Maximum": 10, "Median h": 10, "P95 h": 10, "Starts/min P99": 10, "Read MB/s per GPU": 12,
                "Written MB/s per GPU": 12},
    "Over time": {"From": 22, "Mean GPUs": 12, "Peak GPUs": 12},
    "Week": {"Day": 8, **{str(hour): 8 for hour in range(24)}},
    "Left out": {"Reason": 60, "Rows": 12},
    "Questions": {"Key of the site file": 34, "Question": 110},
}  # fmt: skip
ABOUT = "Made by ingest from an accounting history; no cell calculates."


@decimal_units()
def usage_workbook(answer: Usage) -> bytes:
    """The workbook of a history."""
    layouts = {name: SheetLayout((*heads,), (*heads.values(),)) for name, heads in SHEETS.items()}
    book = WorkbookWriter(answer.title, layouts, about=ABOUT)
    sheet = book.sheet("Counted")
    for name, one in answer.results.items():
        shown = display_unit(name, one.value, one.unit)
        factor, unit, style = (shown.factor, shown.unit, shown.style) if shown is not None else (1, one.unit, "number")
        sheet.row(capitalised(plain(name)), NumberCell(one.value / factor, style), "" if unit == "1" else unit)
    sheet.close()
    sheet = book.sheet("Classes")
    for use in answer.classes:
        rates = [None if span is None else NumberCell(span[0] / 1e6, "number") for span in (use.read, use.written)]
        amounts = (use.gpus[0], use.concurrent["p99"], use.concurrent["max"], *use.lengths, use.starts[0])
        numbers = (NumberCell(value, "number") for value in amounts)
        counted = NumberCell(use.jobs, "number"), NumberCell(use.gpu_hours, "number"), NumberCell(use.share, "share")
        sheet.row(use.name, use.cluster, *counted, *numbers, *rates)
    sheet.close()
    _over_time(answer, book)
    sheet = book.sheet("Week")
    for day, row in zip(DAYS, answer.week(), strict=True):
        sheet.row(day, *(NumberCell(float(value), "number") if numpy.isfinite(value) else None for value in row))
    scale = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#0072B2"}
    sheet.sheet.conditional_format(1, 1, 7, 24, scale)
    sheet.close()
    for name, rows in (("Left out", answer.removed), ("Questions", answer.questions)):
        sheet = book.sheet(name)
        for key, value in rows.items():
            sheet.row(key, NumberCell(value, "number") if isinstance(value, int) else value)
        sheet.close()
    return book.content()


def _over_time(answer: Usage, book: WorkbookWriter) -> None:
    """GPUs in use in each step of time, and their chart."""
    edges, _ = steps_of(answer)
    means, peaks = (found / PARTS for found in (answer.total.means(edges), answer.total.peaks(edges)))
    sheet = book.sheet("Over time")
    for start, mean, peak in zip(edges, means, peaks, strict=False):
        sheet.row(days(int(start)), NumberCell(float(mean), "number"), NumberCell(float(peak), "number"))
    chart, last = book.book.add_chart({"type": "line"}), len(means)
    for column in (2, 1):
        names, values = (["Over time", 1, place, last, place] for place in (0, column))
        chart.add_series({"name": ["Over time", 0, column], "categories": names, "values": values})
    chart.set_title({"name": "GPUs in use"})
    chart.set_size({"width": 900, "height": 360})
    sheet.sheet.insert_chart(1, 4, chart, {"description": "GPUs in use over time: mean and peak of each step."})
    sheet.close()
