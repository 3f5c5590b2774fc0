"""The sheet of a workbook that a vendor fills in: a line per requirement, with a live margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS
from ingest.reports.workbook.change_banner import strike_columns
from ingest.reports.workbook.sheet import CellFormula, EntryCell
from ingest.reports.workbook.styles import column_of
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.rfp import response_form as form

if TYPE_CHECKING:
    from ingest.site.plan import Plan

IN_UNIT, WHOLE = "a number in the unit of this line", "a whole number"
#: What a vendor's cell accepts, by the kind of its field.
RULES: Mapping[str, Mapping[str, Any] | None] = {
    form.NUMBER: {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": IN_UNIT},
    form.COUNT: {"validate": "integer", "criteria": ">=", "value": 1, "error_message": WHOLE},
    form.TEXT: None,
}
#: The share by which a value of the response sheet is above what is required, and what it needs.
MARGIN = "acceptance_margin"


def response_sheet(plan: Plan, book: WorkbookWriter, lines: Mapping[str, int]) -> None:
    """The sheet Vendor response: only its yellow cells can be edited.

    Args:
        plan: with the requirements.
        book: to write to.
        lines: the row of each requirement whose live value is repeated; without any, values are written as numbers.
    """
    sheet = book.sheet(form.RESPONSE_SHEET)
    value = column_of("plan", form.REQUIREMENTS_SHEET, form.REQUIRED)
    fields = [
        EntryCell(None, rule_of(field), "input" if field.kind in (form.NUMBER, form.COUNT) else "entry")
        for field in form.FIELDS
    ]
    for one in plan.requirements:
        required, *offered = (
            f"{sheet.layout.letter(head)}{sheet.next + 1}" for head in (form.REQUIRED, form.AS_IS, form.OPTIMIZED)
        )
        asked = CellFormula(f"={value}{lines[one.id]}", one.value) if lines else one.value
        margins = (margin(place, required) for place in offered)
        sheet.row(one.id, one.priority, one.statement, asked, one.unit, *fields, *margins)
    if lines:
        strike_columns(sheet, form.REQUIREMENT)
    sheet.close()


def rule_of(field: form.FormField) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts."""
    return {"validate": "list", "source": list(field.choices)} if field.kind == form.CHOICE else RULES[field.kind]


def margin(offered: str, required: str) -> CellFormula:
    """The share by which an offered value is above what is required; nothing while there is none."""
    places = {"measured_rate": offered, "required_rate": required}
    share = cell(FORMULAS[MARGIN].tree(), places.__getitem__).removeprefix("=")
    return CellFormula(f'=IF(AND(COUNT({offered}) = 1, {required} > 0), {share}, "")', "", "share")
