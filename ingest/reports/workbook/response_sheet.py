"""The sheet of a workbook that a vendor fills in: a line per requirement in the unit that people use, with a live margin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.rfp import response_form as form
from ingest.rfp.requirement_lines import term_line
from ingest.rfp.response_form import ResponseUnit, read_unit, response_unit, units_offered

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm

IN_UNIT, WHOLE, A_UNIT = "a number in the unit next to it", "a whole number", "a unit of the list"
#: What a vendor's cell accepts, by the kind of its field.
RULES: Mapping[str, Mapping[str, Any] | None] = {
    form.NUMBER: {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": IN_UNIT},
    form.COUNT: {"validate": "integer", "criteria": ">=", "value": 1, "error_message": WHOLE},
    form.TEXT: None,
}
#: Fields that a term of the service leaves blank.
NOT_FOR_TERMS = (form.OPTIMIZED, form.OFFERED_UNIT, form.NODES, form.CLIENT_MEMORY)
#: The share by which a value of the response sheet is above what is required, and what it needs.
MARGIN = "acceptance_margin"


def response_sheet(plan: Plan, book: WorkbookWriter) -> None:
    """The sheet Vendor response: only its yellow cells can be edited.

    Args:
        plan: with the requirements and the terms of the service.
        book: to write to.
    """
    sheet = book.sheet(form.RESPONSE_SHEET)
    for one in plan.vendor_lines:
        _line(sheet, one)
    for term in plan.vendor_terms:
        _term(sheet, term)
    sheet.close()


def _line(sheet: SheetWriter, one: Requirement) -> None:
    """The line of a requirement: what it requires, the cells to fill in, and the margins of both values."""
    unit = response_unit(one.value, one.unit)
    asked = NumberCell(one.value / unit.factor, "strong")
    places = {head: f"{sheet.layout.letter(head)}{sheet.next + 1}" for head in sheet.layout.heads}
    margins = (margin(places, head, unit) for head in (form.AS_IS, form.OPTIMIZED))
    sheet.row(one.id, one.priority, one.statement, asked, unit.name, *_fields(), *margins)
    choices = units_offered(unit)
    column = sheet.layout.heads.index(form.OFFERED_UNIT)
    sheet.sheet.write_string(sheet.next - 1, column, unit.name, sheet.styles["entry" if len(choices) > 1 else "text"])
    if len(choices) > 1:
        rule = {"validate": "list", "source": list(choices), "error_message": A_UNIT}
        sheet.sheet.data_validation(sheet.next - 1, column, sheet.next - 1, column, rule)


def _term(sheet: SheetWriter, term: ServiceTerm) -> None:
    """The line of a term of the service, which the vendor answers in words."""
    shown = term_line(term.id, term.value, term.text, term.bound)
    fields = (None if field.head in NOT_FOR_TERMS else EntryCell(None, _rule_in_words(field)) for field in form.FIELDS)
    sheet.row(shown.id, shown.priority, shown.statement, term.bound or None, None, *fields)


def _rule_in_words(field: form.FormField) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts on a line without a unit: a choice, or any text."""
    return rule_of(field) if field.kind == form.CHOICE else None


def _fields() -> Iterator[CellContent]:
    """The cells of a line that the vendor fills in; the unit is written after them."""
    for field in form.FIELDS:
        look = "input" if field.kind in (form.NUMBER, form.COUNT) else "entry"
        yield None if field.kind == form.A_UNIT else EntryCell(None, rule_of(field), look)


def rule_of(field: form.FormField) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts."""
    return {"validate": "list", "source": list(field.choices)} if field.kind == form.CHOICE else RULES[field.kind]


def margin(places: Mapping[str, str], head: str, unit: ResponseUnit) -> CellFormula:
    """The share by which an offered value is above what is required, in whichever unit; nothing while there is none.

    Args:
        places: the cell below each heading.
        head: of the offered value.
        unit: of the line.
    """
    offered, required = places[head], places[form.REQUIRED]
    amounts = {"measured_rate": f"({offered}{_conversion(places[form.OFFERED_UNIT], unit)})", "required_rate": required}
    share = cell(FORMULAS[MARGIN].tree(), amounts.__getitem__).removeprefix("=")
    return CellFormula(f'=IF(AND(COUNT({offered}) = 1, {required} > 0), {share}, "")', "", "share")


def _conversion(picked: str, unit: ResponseUnit) -> str:
    """What converts a value from the picked unit to that of the line; nothing where there is no choice.

    >>> _conversion("I2", response_unit(38_400, "file/s"))
    ' * IF(I2 = "thousand files/s", 1000.0, IF(I2 = "million files/s", 1000000.0, 1))'
    """
    written = "1"
    for name in reversed(units_offered(unit)):
        if name != unit.name:
            written = f'IF({picked} = "{name}", {read_unit(name).factor / unit.factor!r}, {written})'
    return "" if written == "1" else f" * {written}"
