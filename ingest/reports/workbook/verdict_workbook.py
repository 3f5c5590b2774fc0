"""The workbook of a verdict: the word first, then requirements and tests with the intervals of their runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ingest.acceptance.verdict import SHARE
from ingest.configuration import decimal_units
from ingest.reports.pages.acceptance import inspection_sections, verdict_title
from ingest.reports.workbook.sheet import CellContent, DisplayUnit, NumberCell, SheetWriter, display_unit
from ingest.reports.workbook.styles import layouts
from ingest.reports.workbook.workbook_writer import WorkbookWriter, write_sections
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.judgement import TestVerdict
    from ingest.acceptance.verdict import Verdict


@decimal_units()
def verdict_workbook(answer: Verdict) -> bytes:
    """The workbook as bytes; it opens on the verdict."""
    book = WorkbookWriter(f"Verdict on {answer.manifest.site}", layouts("verdict"))
    front = book.sheet("Verdict", (verdict_title(answer),))
    sections = {
        **{section.title: section.lines for section in inspection_sections(answer)},
        "Excluded results": [f"{name}: {why}" for name, why in answer.refused.items()],
        "Tests judged": [f"tests.json with sha256 {answer.manifest_hash}", f"Made by ingest {__version__}."],
    }
    write_sections(front, sections)
    front.close()
    _judged(book.sheet("Requirements"), answer.requirements)
    degraded = (replace(one, id=f"{one.id}, {ident}") for ident, tests in answer.degraded.items() for one in tests)
    _judged(book.sheet("Tests"), (*answer.tests, *degraded))
    return book.content()


def _judged(sheet: SheetWriter, judged: Iterable[TestVerdict]) -> None:
    """A line for each requirement or test, in the unit in which people read its value."""
    for one in judged:
        shown = display_unit("", one.required or one.measured or 0, one.unit)
        if one.unit == SHARE:
            shown = DisplayUnit(1, one.unit, "share")
        assert shown is not None
        numbers = (one.measured, one.low, one.high, one.required)
        cells: list[CellContent] = [
            NumberCell(None if value is None else value / shown.factor, shown.style) for value in numbers
        ]
        row: list[CellContent] = [one.id, one.priority, one.result, *cells, shown.unit]
        sheet.row(*row, NumberCell(one.margin, "share"), NumberCell(one.runs or None, "number"), one.why)
    result = sheet.layout.heads.index("Result")
    failing = {"type": "cell", "criteria": "==", "value": '"fail"', "format": sheet.styles["bad"]}
    sheet.sheet.conditional_format(1, result, max(sheet.next - 1, 1), result, failing)
    sheet.close()
