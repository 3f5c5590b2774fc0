"""The workbook of offers: verdicts, compliance and margins with a column for each offer, targets, notes and differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingest.configuration import decimal_units
from ingest.reports.pages.response import summary_rows
from ingest.reports.workbook.sheet import CellContent, NumberCell
from ingest.reports.workbook.styles import SheetLayout
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.rfp.compliance import MET, UNASKED, LineVerdict
from ingest.rfp.offer_verdict import COMPLIES, Comparison, credit
from ingest.rfp.requirement_lines import TARGET
from ingest.rfp.response_form import response_unit

#: Columns of a sheet of lines before those of the offers, with their widths.
LINE = {"Id": 15, "Priority": 14, "Required": 12, "Unit": 11}
#: Width of the column of an offer.
OFFER = 13
#: The first sheet, with widths.
OFFERS = {"Offer": 30, "Verdict": 18, "Mandatory met": 12, "Targets met": 10, "Score": 9, "Lines changed": 9, "Notes": 8,
          "File": 50}  # fmt: skip
NOTES = {"Offer": 24, "Id": 15, "Result": 18, "Offered": 14, "Unit": 11, "Note": 90}
CHANGES = {"Offer": 24, "Id": 15, "Difference from the requirements sent": 110}


@decimal_units()
def response_workbook(found: Comparison) -> bytes:
    """The workbook of one offer or of several."""
    columns = {**LINE, **dict.fromkeys(found.names, OFFER)}
    targets = {"Id": 15, "Requirement": 50, "Weight": 9, **dict.fromkeys(found.names, OFFER)}
    sheets = {"Offers": OFFERS, "Compliance": columns, "Offered": columns, "Margins": columns, "Targets": targets,
              "Notes": NOTES, "Differences": CHANGES, "Requirements": {"Id": 15, "Requirement": 120}}  # fmt: skip
    layouts = {name: SheetLayout(tuple(heads), tuple(heads.values())) for name, heads in sheets.items()}
    book = WorkbookWriter("Offers compared", layouts)
    _offers(found, book)
    _lines(found, book, "Compliance", lambda line: line.verdict)
    _lines(found, book, "Offered", _offered)
    _lines(found, book, "Margins", lambda line: None if line.margin is None else NumberCell(line.margin, "share"))
    _targets(found, book)
    _notes(found, book)
    stated = book.sheet("Requirements")
    for one in found.requirements:
        stated.row(one.id, one.statement)
    stated.close()
    return book.content()


def _offers(found: Comparison, book: WorkbookWriter) -> None:
    sheet = book.sheet("Offers")
    for row, one, score in zip(summary_rows(found), found.offers, found.scores, strict=True):
        earned = None if score is None else NumberCell(score, "share")
        sheet.row(*row[:4], earned, *(float(text) if text else None for text in row[5:]), one.path)
    good = {"type": "cell", "criteria": "==", "value": f'"{COMPLIES}"', "format": sheet.styles["good"]}
    sheet.sheet.conditional_format(1, 1, sheet.next - 1, 1, good)
    sheet.close()


def _lines(found: Comparison, book: WorkbookWriter, name: str, content: Callable[[LineVerdict], CellContent]) -> None:
    """A sheet with a row for each requirement and a column for each offer."""
    sheet = book.sheet(name)
    for place, one in enumerate(found.requirements):
        if one.value is None and name != "Compliance":
            continue
        unit = None if one.value is None else response_unit(one.value, one.unit)
        required = None if unit is None or one.value is None else NumberCell(one.value / unit.factor, "strong")
        before = (one.id, one.priority, required, "" if unit is None else unit.name)
        sheet.row(*before, *(content(line) for line in found.row(place)))
    if name == "Compliance":
        area = (1, len(LINE), sheet.next - 1, len(LINE) + len(found.offers) - 1)
        for verdict in (MET, UNASKED):
            plain = {"type": "cell", "criteria": "==", "value": f'"{verdict}"', "format": sheet.styles["text"]}
            sheet.sheet.conditional_format(*area, {**plain, "stop_if_true": True})
        sheet.sheet.conditional_format(*area, {"type": "no_blanks", "format": sheet.styles["bad"]})
    sheet.close()


def _offered(line: LineVerdict) -> CellContent:
    """The offered value in the unit of its row."""
    if line.offered is None or line.requirement.value is None:
        return None
    return NumberCell(line.offered / response_unit(line.requirement.value, line.requirement.unit).factor, "number")


def _targets(found: Comparison, book: WorkbookWriter) -> None:
    """The sheet of targets: the weight of each, what each offer earns, and the score."""
    sheet = book.sheet("Targets")
    for place, one in enumerate(found.requirements):
        if one.priority == TARGET:
            earned: Sequence[CellContent] = [NumberCell(credit(line), "share") for line in found.row(place)]
            sheet.row(one.id, one.statement, found.weights[one.id], *earned)
    scores = (None if score is None else NumberCell(score, "strong share") for score in found.scores)
    sheet.row("Score", "Sum of weight times share earned, over the sum of the weights", None, *scores)
    sheet.close()


def _notes(found: Comparison, book: WorkbookWriter) -> None:
    """The sheets of notes and of differences."""
    notes, changes = book.sheet("Notes"), book.sheet("Differences")
    for name, one in zip(found.names, found.offers, strict=True):
        for line in one.lines:
            if line.notes:
                required = line.requirement.value
                unit = "" if required is None else response_unit(required, line.requirement.unit).name
                notes.row(name, line.requirement.id, line.verdict, _offered(line), unit, line.notes)
        for change in one.differences:
            changes.row(name, change.id, change.text)
    notes.close()
    changes.close()
