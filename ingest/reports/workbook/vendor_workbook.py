"""The workbook that goes out to vendors: requirements, response form, acceptance tests and terms, as values.

It is written from what a vendor may know, not cut from the buyer's workbook: no inputs, ranges, assumptions or warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ingest.acceptance.accept import repeated, rows_of, shown_by
from ingest.acceptance.loads import Setting
from ingest.configuration import decimal_units
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS, solve
from ingest.files import garbage_collection_paused
from ingest.reports.labels import texts
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter, display_unit, layouts
from ingest.reports.workbook.workbook_writer import FREE, WorkbookWriter, add_section, add_title
from ingest.requirement import GROWTH, INFORMATION, THEMES, Requirement, said_of, theme_title
from ingest.rfp import response_form as form
from ingest.rfp.award import AWARD_SHEET, IN_STEPS, ONCE, TOTAL, Award
from ingest.rfp.requirement_lines import term_line
from ingest.rfp.response_form import ResponseUnit, read_unit, response_unit, units_offered
from ingest.site.load_conditions import latency_in_words
from ingest.site.planner import bandwidth_by_year
from ingest.site.requirement_wording import LINES
from ingest.units import display, request_size
from ingest.version import FORMAT

if TYPE_CHECKING:
    from ingest.site.plan import Plan

#: Terms of the document that this workbook does not use.
UNUSED = ("range",)
#: Among the properties of the file.
ABOUT = "Fill in the yellow cells of the sheet Vendor response and return the whole workbook."
IN_UNIT, WHOLE, A_UNIT = "a number in the unit next to it", "a whole number", "a unit of the list"
#: What a vendor's cell accepts, by the kind of its field.
RULES: Mapping[str, Mapping[str, Any] | None] = {
    form.NUMBER: {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": IN_UNIT},
    form.COUNT: {"validate": "integer", "criteria": ">=", "value": 1, "error_message": WHOLE},
    form.TEXT: None,
}
#: Fields that a term of the service leaves blank.
NOT_FOR_TERMS = (form.OPTIMIZED, form.OFFERED_UNIT, form.NODES, form.CLIENT_MEMORY)
#: Characters of a page header, of which the format holds 255.
MOST_HEADER = 200
#: The share by which a value of the response sheet is above what is required, and what it needs.
MARGIN = "acceptance_margin"


@decimal_units()
def vendor_workbook(plan: Plan) -> bytes:
    """The workbook of a plan for vendors."""
    with garbage_collection_paused():
        title = plan.tender_title
        award = Award.of(plan.site.section("award"), plan.years)
        sheets = {name: layout for name, layout in layouts("vendor").items() if award or name != AWARD_SHEET}
        book = WorkbookWriter(title, sheets, about=ABOUT)
        book.book.set_custom_property(form.FORMAT_PROPERTY, FORMAT)
        _cover(plan, title, book.sheet("Read-me"))
        parts = {form.REQUIREMENTS_SHEET: _requirements, form.RESPONSE_SHEET: _response, "Acceptance": _acceptance,
                 "Terms": _terms, form.PRICES_SHEET: _prices}  # fmt: skip
        for name, write in parts.items():
            with closing(book.sheet(name)) as sheet:
                write(plan, sheet)
        if award:
            with closing(book.sheet(AWARD_SHEET)) as sheet:
                for row in award.rows():
                    sheet.row(*row)
        for sheet in book.sheets.values():
            sheet.protect("", FREE)
            if plan.open_questions:
                sheet.set_header("&C" + title.replace("&", "&&")[:MOST_HEADER])
        book.sheets["Read-me"].activate()
        return book.content()


def _cover(plan: Plan, title: str, sheet: SheetWriter) -> None:
    """The first sheet: who buys, until when, what is bought, how to fill in, and what the sheets hold."""
    facts, own = plan.document, texts("workbook")["texts"]["vendor"]
    given = {"Buyer": facts.buyer, "Reference": facts.reference, "Issued": facts.issued, "Offers by": facts.answers_by,
             "Contact": facts.contact, "What is bought": facts.purchase}  # fmt: skip
    for name, text in given.items():
        if text:
            sheet.row(name, text)
    add_section(sheet, "How to fill in")
    for line in own["steps"]:
        sheet.row("", line)
    add_section(sheet, "Sheets")
    for name, text in own["sheets"].items():
        if name != AWARD_SHEET or plan.site.section("award"):
            sheet.row(name, text)
    sheet.close()
    add_title(sheet, title, len(sheet.layout.widths) - 1)  # in place of the headings


def _requirements(plan: Plan, sheet: SheetWriter) -> None:
    """The sheet Requirements, each value in the unit in which people read it."""
    tests = shown_by(plan.requirements)
    inspected = {line.id: line.inspected for line in LINES}
    for one in plan.vendor_lines:
        verified = (
            f"test {tests[one.id]}.{repeated(one, plan.requirements)}".rstrip(".")
            if one.id in tests
            else f"inspection: {inspected[one.id]}"
        )
        how = ("not verified" if one.priority == INFORMATION else verified, one.conditions.clients)
        before = (one.id, theme_title(one.theme, plan.kinds), one.priority, one.statement)
        sheet.row(*before, *_amount(one.value, one.unit, one.metric), *how, conditions_in_words(one))


def conditions_in_words(line: Requirement) -> str:
    """Under which a value holds, in one line, its requests first; the number of clients has a column of its own.

    >>> from ingest.requirement import Conditions, Requirement
    >>> reads = Conditions("read", clients=16, threads=32, queue_depth=512, io_size=2**12, pattern="random", duration=1800)
    >>> conditions_in_words(Requirement("R-VEC-01", "mandatory", "", "", 819.2e6, "B/s", reads))
    'random 4 KiB read, 200,000 requests/s; 32 threads per client; at most 512 outstanding requests in all; for 30 min'
    """
    one = line.conditions
    parts = (
        line.requests,
        f"{one.threads:,} threads per client" if one.threads else "",
        f"at most {one.queue_depth:,} outstanding requests in all" if one.queue_depth else "",
        f"99 % within {latency_in_words(one.latency_99)}" if one.latency_99 else "",
        f"clients: {one.groups_in_words}" if len(one.client_groups) > 1 else "",
        one.files,
        f"for {display(one.duration, 's')}" if one.duration else "",
        f"at {one.fill * 100:.4g} % fill" if one.fill else "",
        one.cache.partition(":")[0],  # the sheet Terms defines it
    )
    return "; ".join(filter(None, parts))


def _response(plan: Plan, sheet: SheetWriter) -> None:
    """The form: a line per requirement in the unit that people use, with live margins; only yellow cells can be edited."""
    column = sheet.layout.heads.index(form.OFFERED_UNIT)
    for one in plan.vendor_lines:
        unit = response_unit(one.value, one.unit)
        asked = NumberCell(one.value / unit.factor, "strong")
        places = {head: f"{sheet.layout.letter(head)}{sheet.next + 1}" for head in sheet.layout.heads}
        fields: list[CellContent] = []
        for field in form.FIELDS:
            look = "input" if field.kind in (form.NUMBER, form.COUNT) else "entry"
            # The unit is written after them.
            fields.append(None if field.kind == form.A_UNIT else EntryCell(None, rule_of(field), look))
        margins = (margin(places, head, unit) for head in (form.AS_IS, form.OPTIMIZED))
        sheet.row(one.id, one.priority, one.statement, asked, unit.name, one.requests or None, *fields, *margins)
        choices, row = units_offered(unit), sheet.next - 1
        sheet.sheet.write_string(row, column, unit.name, sheet.styles["entry" if len(choices) > 1 else "text"])
        if len(choices) > 1:
            rule = {"validate": "list", "source": list(choices), "error_message": A_UNIT}
            sheet.sheet.data_validation(row, column, row, column, rule)
    for term in plan.vendor_terms:
        shown = term_line(term.id, term.value, term.text, term.bound, term.required)
        # A term has no unit: the vendor answers by a choice, or by any text.
        words: list[CellContent] = []
        for field in form.FIELDS:
            choice = rule_of(field) if field.kind == form.CHOICE else None
            words.append(None if field.head in NOT_FOR_TERMS else EntryCell(None, choice))
        sheet.row(shown.id, shown.priority, shown.statement, shown.required or None, None, None, *words)


def rule_of(field: form.FormField) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts."""
    return {"validate": "list", "source": list(field.choices)} if field.kind == form.CHOICE else RULES[field.kind]


def margin(places: Mapping[str, str], head: str, unit: ResponseUnit) -> CellFormula:
    """The share by which the value below a heading is above what is required, in whichever unit; nothing while there is none.

    The unit is that of the line, the places are the cell below each heading.
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


def _acceptance(plan: Plan, sheet: SheetWriter) -> None:
    """The sheet Acceptance: load, threshold and repetitions of each test, and its job file for fio, which runs all of them."""
    usual = Setting()
    deviation = NumberCell(usual.allowed_deviation, "share")
    for one in rows_of(plan.requirements):
        load = one.load
        size = request_size(load.io_bytes) if load.io_bytes else ""
        late = latency_in_words(load.latency_99) if load.latency_99 else ""
        how = (f"{load.pattern} {load.operation}".strip(), size, load.clients, load.threads, load.depth, late)
        shown = display_unit("", load.threshold, load.unit)
        passes = float(solve("accepted_rate", {"required_rate": load.threshold, "allowed_deviation": usual.allowed_deviation}))
        least = NumberCell(passes / shown.factor, "scaled") if shown is not None else None
        lasts = display(load.seconds, "s") if load.seconds else ""
        asked = (*_amount(load.threshold, load.unit), least, lasts)
        sheet.row(one.test, one.line.id, *how, *asked, usual.repeats, deviation, f"fio/{one.test}-fio.fio")


def _prices(plan: Plan, sheet: SheetWriter) -> None:
    """The sheet Prices: the whole capacity at once, the steps of growth, and what goes with them, a line each."""
    words = texts("workbook")["texts"]["vendor"]["prices"]
    # All at the rate of the first year: what it grows by is a target, and an option of its own.
    first = next((one.reads for one in bandwidth_by_year(plan)), None)
    years = [(year["name"], year["year_capacity_to_buy"]) for year in plan.tables.get("capacity", ())]
    steps = [(words["step"].format(step=step, year=year), size) for step, (year, size) in enumerate(years)]
    steps = steps if GROWTH in plan.kinds else []
    whole = [(words["all"], max(size for _, size in years))] if years else []
    blank = [EntryCell(None)] * 4
    for counts, lines in ((ONCE, whole), (IN_STEPS, steps)):
        for item, size in lines:
            sheet.row(item, *_amount(plan.rounded(size), "B"), *_amount(first, "B/s"), counts, *blank)
    for counts, items in words["others"].items():
        for item in filter(None, (said_of(one, plan.kinds) for one in items)):
            over = (NumberCell(max(plan.years, 1), "strong"), "years", *blank[2:]) if item == TOTAL else blank
            sheet.row(item, *over, counts, *blank)


def _amount(value: float | None, unit: str, name: str = "") -> tuple[CellContent, CellContent]:
    """A value in the unit in which people read it."""
    shown = None if value is None else display_unit(name, value, unit)
    return (None, None) if shown is None or value is None else (NumberCell(value / shown.factor, "strong"), shown.unit)


def _terms(plan: Plan, sheet: SheetWriter) -> None:
    """The sheet Terms: the words that bind, the definitions, the rules of the tests, and the terms of the service."""
    own, shared = texts("workbook")["texts"]["terms"], texts("document")["clauses"]["terms"]
    defined = {term: meaning for term, meaning in shared.items() if term not in UNUSED}
    for heading, lines in {"Key words": own["keywords"], "Definitions": defined, "Tests": own["tests"]}.items():
        add_section(sheet, heading)
        for term, meaning in lines.items():
            sheet.row(term, said_of(meaning, plan.kinds))
    for theme in THEMES:
        stated = [one for one in plan.vendor_terms if one.theme == theme]
        if stated:
            add_section(sheet, theme_title(theme, plan.kinds))
        for one in stated:
            sheet.row(f"{one.id} {one.name}", one.text, one.verification)
