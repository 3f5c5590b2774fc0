"""The workbooks of what was judged or counted: offers, the verdict on acceptance tests, the history of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from ingest.acceptance.verdict import SHARE, UNPROVEN, Verdict
from ingest.accounting.ledger import PARTS
from ingest.accounting.result import days
from ingest.configuration import decimal_units
from ingest.reports.charts.usage import DAYS, steps_of
from ingest.reports.labels import capitalised, plain
from ingest.reports.pages.acceptance import evidence_rows, inspection_sections, verdict_title
from ingest.reports.pages.response import LINE_NAMES, summary_rows
from ingest.reports.workbook.sheet import CellContent, DisplayUnit, NumberCell, SheetLayout, display_unit, layouts
from ingest.reports.workbook.workbook_writer import WorkbookWriter, write_sections
from ingest.rfp.compliance import ANSWERED, MET, UNASKED, LineVerdict
from ingest.rfp.offer_verdict import COMPLIES, Comparison, credit
from ingest.rfp.requirement_lines import TARGET
from ingest.rfp.response_form import response_unit
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

#: Columns of a sheet of lines before those of the offers, with their widths.
LINE = {"Id": 15, "Requirement": 40, "Priority": 12, "Required": 18, "Unit": 11}
#: Width of the column of an offer.
OFFER = 13
#: The first sheet, with widths.
OFFERS = {"Offer": 30, "Verdict": 18, "Mandatory met": 12, "Targets met": 10, "Score": 9, "Lines changed": 9, "Notes": 8,
          "File": 50}  # fmt: skip
NOTES = {"Offer": 24, "Id": 15, "Result": 18, "Offered": 14, "Unit": 11, "Note": 64}
CHANGES = {"Offer": 24, "Id": 15, "Difference from the requirements sent": 110}


@decimal_units()
def response_workbook(found: Comparison) -> bytes:
    """The workbook of one offer or of several."""
    columns = {**LINE, **dict.fromkeys(found.names, OFFER)}
    targets = {"Id": 15, "Requirement": 50, "Weight": 9, **dict.fromkeys(found.names, OFFER)}
    sheets = {"Offers": OFFERS, "Compliance": columns, "Offered": columns, "Margins": columns, "Targets": targets,
              "Notes": NOTES, "Differences": CHANGES, "Requirements": {"Id": 15, "Requirement": 120}}  # fmt: skip
    if found.ranking:
        points = dict.fromkeys((f"{name} ({most:g})" for name, most in found.award.points.items()), 12)
        sheets = {
            "Offers": OFFERS,
            "Ranking": {"Rank": 7, "Offer": 60, **points, found.award.method: 14, f"Cost over {found.award.years} years": 16},
            **sheets,
        }
    book = WorkbookWriter(
        "Offers compared", {name: SheetLayout((*heads,), (*heads.values(),)) for name, heads in sheets.items()}
    )
    with closing(book.sheet("Offers")) as first:
        for row, offer, score in zip(summary_rows(found), found.offers, found.scores, strict=True):
            earned = None if score is None else NumberCell(score, "share")
            first.row(*row[:4], earned, *(float(text) if text else None for text in row[5:]), offer.path)
        first.mark(1, "==", f'"{COMPLIES}"', "good")
    if "Ranking" in sheets:
        with closing(book.sheet("Ranking")) as ranks:
            for ranked in found.ranking:
                numbers = (*ranked.points.values(), ranked.total, ranked.cost)
                cells = (None if one is None else NumberCell(round(one, 1), "number") for one in numbers)
                ranks.row(ranked.rank, ranked.offer, *cells)
            for said in found.deciding:
                ranks.row(None, said)
    contents: Mapping[str, Callable[[LineVerdict], CellContent]] = {
        "Compliance": lambda line: line.verdict,
        "Offered": _offered,
        "Margins": lambda line: None if line.margin is None else NumberCell(line.margin, "share"),
    }
    for name, content in contents.items():
        # A row for each requirement, on the sheets of numbers for those with a value, and a column for each offer.
        with closing(book.sheet(name)) as sheet:
            for place, one in enumerate(found.requirements):
                unit = None if one.value is None else response_unit(one.value, one.unit)
                required = None if unit is None or one.value is None else NumberCell(one.value / unit.factor, "strong")
                if unit is not None or name == "Compliance":
                    own = (
                        one.id,
                        LINE_NAMES.get(one.id, ""),
                        one.priority,
                        required or one.required,
                        unit.name if unit else "",
                    )
                    sheet.row(*own, *map(content, found.row(place)))
            if name == "Compliance":
                # All that is not met stands out.
                area = (1, len(LINE), sheet.next - 1, len(LINE) + len(found.offers) - 1)
                for verdict in (MET, ANSWERED, UNASKED):
                    plain = {"type": "cell", "criteria": "==", "value": f'"{verdict}"', "format": sheet.styles["text"]}
                    sheet.sheet.conditional_format(*area, {**plain, "stop_if_true": True})
                sheet.sheet.conditional_format(*area, {"type": "no_blanks", "format": sheet.styles["bad"]})
    with closing(book.sheet("Targets")) as sheet:
        for place, one in enumerate(found.requirements):
            if one.priority == TARGET:
                shares = (NumberCell(credit(line), "share") for line in found.row(place))
                sheet.row(one.id, one.statement, found.weights[one.id], *shares)
        scores = (None if score is None else NumberCell(score, "strong share") for score in found.scores)
        sheet.row("Score", "Sum of weight times share earned, over the sum of the weights", None, *scores)
    with closing(book.sheet("Notes")) as notes, closing(book.sheet("Differences")) as changes:
        for name, offer in zip(found.names, found.offers, strict=True):
            for line in offer.lines:
                if line.notes:
                    needed = line.requirement.value
                    unit_name = "" if needed is None else response_unit(needed, line.requirement.unit).name
                    notes.row(name, line.requirement.id, line.verdict, _offered(line), unit_name, line.notes)
            for change in offer.differences:
                changes.row(name, change.id, change.text)
    with closing(book.sheet("Requirements")) as stated:
        for one in found.requirements:
            stated.row(one.id, one.statement)
    return book.content()


def _offered(line: LineVerdict) -> CellContent:
    """The offered value in the unit of its row."""
    if line.offered is None or line.requirement.value is None:
        return None
    return NumberCell(line.offered / response_unit(line.requirement.value, line.requirement.unit).factor, "number")


@decimal_units()
def verdict_workbook(answer: Verdict) -> bytes:
    """The workbook of a verdict: the word first, then requirements and tests with the intervals of their runs."""
    book = WorkbookWriter(f"Verdict on {answer.manifest.site}", layouts("verdict"))
    sections = {
        **{section.title: section.lines for section in inspection_sections(answer)},
        "Results that are not valid": [f"{name}: {why}" for name, why in answer.refused.items()],
        "Runs": [*[answer.span, UNPROVEN] * bool(answer.span), *map(", ".join, evidence_rows(answer))],
        "Tests judged": [f"tests.json with sha256 {answer.manifest_hash}", f"Made by ingest {__version__}."],
    }
    with closing(book.sheet("Verdict", (verdict_title(answer),))) as front:
        write_sections(front, sections)
    degraded = (replace(one, id=f"{one.id}, {ident}") for ident, tests in answer.degraded.items() for one in tests)
    for name, judged in (("Requirements", answer.requirements), ("Tests", (*answer.tests, *degraded))):
        with closing(book.sheet(name)) as sheet:
            for one in judged:
                # In the unit in which people read its value.
                shown = display_unit("", one.required or one.measured or 0, one.unit)
                if one.unit == SHARE:
                    shown = DisplayUnit(1, one.unit, "share")
                assert shown is not None
                cells: list[CellContent] = [one.id, one.priority, one.result]
                for value in (one.measured, one.low, one.high, one.required):
                    cells.append(NumberCell(None if value is None else value / shown.factor, shown.style))
                sheet.row(*cells, shown.unit, NumberCell(one.margin, "share"), NumberCell(one.runs or None, "number"), one.why)
            sheet.mark(sheet.layout.heads.index("Result"), "==", '"fail"')
    return book.content()


ABOUT = "Made by ingest from an accounting history; no cell calculates."


@decimal_units()
def usage_workbook(answer: Usage) -> bytes:
    """The workbook of a history."""
    book = WorkbookWriter(answer.title, layouts("usage"), about=ABOUT)
    with closing(book.sheet("Counted")) as sheet:
        for name, one in answer.results.items():
            shown = display_unit(name, one.value, one.unit)
            factor, unit, style = (shown.factor, shown.unit, shown.style) if shown is not None else (1, one.unit, "number")
            unit = "" if unit in ("1", "number", "share") else unit
            sheet.row(capitalised(plain(name)), NumberCell(one.value / factor, style), unit)
    with closing(book.sheet("Classes")) as sheet:
        for use in answer.classes:
            rates = [None if span is None else _rounded(span[0] / 1e6) for span in (use.read, use.written)]
            amounts = (use.gpus[0], use.concurrent["p99"], use.concurrent["max"], *use.lengths, use.starts[0])
            numbers = map(_rounded, amounts)
            counted = NumberCell(use.jobs, "number"), NumberCell(use.gpu_hours, "number"), NumberCell(use.share, "share")
            sheet.row(use.name, use.cluster, *counted, *numbers, *rates)
    # GPUs in use in each step of time, and their chart.
    edges, _ = steps_of(answer)
    means, peaks = (found / PARTS for found in (answer.total.means(edges), answer.total.peaks(edges)))
    with closing(book.sheet("Over time")) as sheet:
        for start, mean, peak in zip(edges, means, peaks, strict=False):
            sheet.row(days(int(start)), _rounded(mean), _rounded(peak))
        chart, last = book.book.add_chart({"type": "line"}), len(means)
        for column in (2, 1):
            names, values = (["Over time", 1, place, last, place] for place in (0, column))
            chart.add_series({"name": ["Over time", 0, column], "categories": names, "values": values})
        chart.set_title({"name": "GPUs in use"})
        chart.set_size({"width": 900, "height": 360})
        sheet.sheet.insert_chart(1, 4, chart, {"description": "GPUs in use over time: mean and peak of each step."})
    with closing(book.sheet("Week")) as sheet:
        for day, row in zip(DAYS, answer.week(), strict=True):
            sheet.row(day, *(_rounded(value) if numpy.isfinite(value) else None for value in row))
        scale = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#0072B2"}
        sheet.sheet.conditional_format(1, 1, 7, 24, scale)
    sheet.sheet.fit_to_pages(1, 1)
    for name, rows in (("Left out", answer.removed), ("Questions", answer.questions)):
        with closing(book.sheet(name)) as sheet:
            for key, value in rows.items():
                sheet.row(key, NumberCell(value, "number") if isinstance(value, int) else value)
    return book.content()


def _rounded(value: float) -> NumberCell:
    """A level as people read it: four digits, and all of whole ones."""
    return NumberCell(round(float(value)) if value >= 1000 else float(f"{value:.4g}"), "number")
