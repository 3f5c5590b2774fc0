"""The workbook of a site: every quantity a live formula down to the editable inputs, requirements and forms on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ingest.engine.messages import in_site_words
from ingest.engine.registry import Step, unit_of
from ingest.files import garbage_collection_paused
from ingest.reports.labels import unit_word
from ingest.reports.texts import texts
from ingest.reports.workbook.change_banner import CHANGED, banner, changed_inputs, strike_columns, strike_rows
from ingest.reports.workbook.derivation_cells import FIRST, limits_of, meaning_of, size_of
from ingest.reports.workbook.plan_cells import MOST_ALONE, SITE, PlanCells
from ingest.reports.workbook.plan_forms import acceptance, requirements, results
from ingest.reports.workbook.response_sheet import response_sheet
from ingest.reports.workbook.sheet import CellContent, CellFormula, NumberCell, SheetWriter, style_of
from ingest.reports.workbook.styles import column_of, layouts, number_check, range_check
from ingest.reports.workbook.table_sheets import TABLE_SHEETS, TableSheet, table_sheets, write_guidance, write_table
from ingest.reports.workbook.workbook_writer import (
    FREE,
    WorkbookWriter,
    text_sections,
    write_calculation,
    write_inputs,
    write_sections,
)
from ingest.rfp.response_form import BUYER_SHEET, FORMAT_PROPERTY
from ingest.units import exact
from ingest.version import FORMAT, __version__

if TYPE_CHECKING:
    from ingest.engine.value import Input
    from ingest.site.plan import Plan
    from ingest.sizing.rules import Finding


def plan_workbook(plan: Plan) -> bytes:
    """The workbook of a plan."""
    with garbage_collection_paused():
        return PlanWorkbook(plan).content()


TO_SETTLE, NOT_APPLYING = "To be settled before publication", "Requirements that do not apply"


def for_buyer(plan: Plan, book: WorkbookWriter) -> None:
    """Write the sheet that is the buyer's alone."""
    sheet = book.sheet(BUYER_SHEET)
    missing = [f"{name}: {why}" for name, why in plan.missing.items()]
    rows = write_sections(sheet, {**text_sections("buyer"), TO_SETTLE: plan.warnings, NOT_APPLYING: missing})
    if TO_SETTLE in rows:
        strike_rows(sheet, *rows[TO_SETTLE])
    sheet.close()


#: Figures behind one input that are named.
MOST_PARTS = 6
#: Inputs of each requirement on the sheet Sensitivity, the most effective first.
MOST_EFFECTS = 6


class PlanWorkbook:
    """Writes the sheets of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = table_sheets(plan)
        shown = [step for table in self.tables.values() for steps in table.steps for step in steps if step is not None]
        self.cells = PlanCells([*plan.steps.values(), *shown, *behind_findings(plan), *of_rounding(plan)], "plan")

    def content(self) -> bytes:
        """The workbook as bytes."""
        title, plan, cells = f"Storage requirements of {self.plan.site.name}", self.plan, self.cells
        sheets = {name: one for name, one in layouts("plan").items() if name in self.tables or name not in TABLE_SHEETS}
        book = WorkbookWriter(title, sheets)
        book.book.set_custom_property(FORMAT_PROPERTY, FORMAT)
        book.name_cells(cells)
        write_inputs(book.sheet("Inputs"), cells, self._identity, _ends, self._origin, True)
        self._calculation(book)
        self._columns(book.sheet("Columns"))
        for table in self.tables.values():
            write_table(table, cells, book)
        write_guidance(plan, book)
        lines = requirements(plan, cells, book)
        results(plan, self.tables, book, lines)
        self._sensitivity(book.sheet("Sensitivity"))
        response_sheet(plan, book, lines)
        acceptance(plan, book, lines)
        book.evidence(plan.assumptions, plan.sources)
        made = {
            "uncached": texts("document")["clauses"]["terms"]["uncached"],
            "version": __version__,
            "catalogs": plan.catalog.content_hash(),
            "site_file": plan.input_hash,
        }
        about = text_sections("plan", **made, assumed=len(plan.assumptions))
        book.read_me(title, about, book.checks(checks_of(plan, cells, self.tables, lines)), banner())
        for_buyer(plan, book)
        for shown in book.sheets.values():
            shown.protect("", FREE)
        book.sheets["Read-me"].activate()
        return book.content()

    def _identity(self, step: Step) -> tuple[str, ...]:
        return self.cells.owner(step), step.name, meaning_of(step.name)

    def _origin(self, step: Step) -> tuple[str, ...]:
        """Evidence level, source, place, key in the site file and name of an input."""
        item, key, name = step.source, self.cells.key(step), self.cells.names[step]
        if item is None:
            return "definition", "", "", "", name
        note = "; ".join(filter(None, ("" if key else item.where, in_site_words(item.note), *evidence(item))))
        source = item.source or ", ".join(dict.fromkeys(part.source for part in item.parts))
        return item.grade or item.origin, source, note, key, name

    def _calculation(self, book: WorkbookWriter) -> None:
        sheet = book.sheet("Calculation")
        write_calculation(sheet, self.cells, self._identity)
        live = changed_inputs(sum(map(size_of, self.cells.inputs)) + 1, "plan")
        words = "number of inputs whose value differs from the delivered one"
        row = sheet.row(SITE, CHANGED, "Inputs that differ from those of the plan.", live, "number", words)
        book.book.define_name(CHANGED, f"=Calculation!${sheet.layout.letter('Value')}${row}")
        sheet.close()

    def _columns(self, sheet: SheetWriter) -> None:
        """Entries that are added up or compared, each column in one piece."""
        for step in self.cells.columns:
            # The entries of a column are one quantity of many rows.
            looks = {
                name: (style_of(name, unit_of(name)), unit_word(name, unit_of(name)))
                for name in {part.name for part in step.inputs}
            }
            for part in step.inputs:
                style, unit = looks[part.name]
                live = CellFormula(f"={self.cells.place(part)}", float(part.value), style)
                sheet.row(step.name, self.cells.owner(part), live, unit)
        sheet.close()

    def _sensitivity(self, sheet: SheetWriter) -> None:
        """The effect of one input at a time on each requirement, at the inputs of the plan."""
        for one in self.plan.requirements:
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]:
                row = sheet.next + 1
                swing = CellFormula(f"=ABS(F{row} - E{row})", effect.swing)
                value = NumberCell(effect.value, style_of(effect.name, unit_of(effect.name)))
                shown = (effect.name, ", ".join(effect.rows), value, effect.at_low, effect.at_high)
                sheet.row(one.id, *shown, one.unit, swing)
        strike_columns(sheet, "Value", "Swing")
        sheet.close()


def _ends(step: Step, _: int) -> tuple[CellContent, CellContent]:
    """Low and high end of an input, as the plan drew them."""
    if step.source is None:
        return None, None
    low, high = (NumberCell(end, style_of(step.name, unit_of(step.name))) for end in (step.source.low, step.source.high))
    return low, high


def of_rounding(plan: Plan) -> Iterator[Step]:
    """The quantities that turn computed values into required ones, and the thresholds below which none is required."""
    yield from (plan.known.step("significant_digits"), *plan.limits.values(), *plan.floors.values())


def behind_findings(plan: Plan) -> Iterator[Step]:
    """The quantities that checks compare."""
    for one in plan.findings:
        if one.is_checked:
            yield from (part for part in (one.value, one.limit) if isinstance(part, Step))


def evidence(item: Input) -> list[str]:
    """The figures behind a value, where there are several."""
    parts = item.parts if len(item.parts) > 1 else ()
    shown = [f"{part.what}: {exact(part.value)} ({part.source}, {part.grade})" for part in parts[:MOST_PARTS]]
    return [*shown, *([f"and {len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else [])]


#: name, what is expected, formula
Check = tuple[str, str, str]
#: Relative difference of two sums of the same numbers in another order.
SAME = "1E-9"
#: Findings of one rule that are tested in one formula, which holds 8,192 characters.
TOGETHER = 50
DECIDED = "same outcome as in the plan; otherwise run `ingest plan` again"


def checks_of(plan: Plan, cells: PlanCells, tables: Mapping[str, TableSheet], lines: Mapping[str, int]) -> Iterator[Check]:
    """All checks; `lines` are the rows of the requirements."""
    yield from _ranges(cells)
    yield from _sums(cells, tables)
    yield from _findings(plan.findings, cells)
    value, unit, asked = (column_of("plan", "Requirements", head) for head in ("Value", "Unit", "Required"))
    required, base = column_of("plan", "Vendor response", "Required"), column_of("plan", "Results", "Base value")
    for one in plan.requirements:
        row = lines[one.id]
        yield (one.id, *number_check(f"{value}{row}"))
        yield f"{one.id}: unit", one.unit, f'=IF(EXACT({unit}{row}, "{one.unit}"), "ok", "fails")'
        places = ", ".join(f"{column}{row}" for column in (asked, required, base))
        yield (
            f"{one.id}: forms",
            "Results and Vendor response repeat the requirement",
            f'=IF(MAX({places}) = MIN({places}), "ok", "fails")',
        )


def _ranges(cells: PlanCells) -> Iterator[Check]:
    """One line per input; one per quantity where a site has more than `MOST_ALONE` of them."""
    by_quantity: dict[str, list[Step]] = {}
    for step in cells.inputs:
        by_quantity.setdefault(step.name, []).append(step)
    last = FIRST + sum(map(size_of, cells.inputs)) - 1
    letters = map(cells.layouts["Inputs"].letter, ("Quantity", "Value"))
    names, values = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in letters)
    for quantity, steps in by_quantity.items():
        limits = {limits_of(step) for step in steps}
        if len(steps) > MOST_ALONE and len(limits) == 1 and all(size_of(step) == 1 for step in steps):
            yield (f"all {quantity}", *range_check(values, limits.pop(), len(steps), among=names))
            continue
        for step in steps:
            name = f"{cells.owner(step)}: {quantity}"
            yield (name, *range_check(cells.place(step), limits_of(step), size_of(step)))


def _findings(findings: Iterable[Finding], cells: PlanCells) -> Iterator[Check]:
    """Each rule still has the outcome of the plan, so that statements, conditions and warnings hold.

    One line per finding; one per `TOGETHER` of a rule where a site has more than `MOST_ALONE` of them.
    """
    by_rule: dict[str, list[Finding]] = {}
    for one in findings:
        if one.is_checked:
            by_rule.setdefault(one.what.partition(": ")[2], []).append(one)
    for kind, found in by_rule.items():
        expected = f"{found[0].rule.id}: {DECIDED}"
        if len(found) <= MOST_ALONE:
            for one in found:
                yield one.what, expected, f'=IF({one.condition(cells.place)}, "ok", "plan again")'
            continue
        for start in range(0, len(found), TOGETHER):
            some = found[start : start + TOGETHER]
            names = " to ".join(one.owner for one in (some[0], some[-1]))
            written = ", ".join(one.condition(cells.place) for one in some)
            yield f"{names}: {kind}", expected, f'=IF(AND({written}), "ok", "plan again")'


def _sums(cells: PlanCells, tables: Mapping[str, TableSheet]) -> Iterator[Check]:
    """The rows of a sheet add up to the column that the calculation works with."""
    from xlsxwriter.utility import xl_col_to_name

    columns = {frozenset(step.inputs): step for step in cells.columns if step.inputs}
    for table in tables.values():
        for quantity in table.quantities:
            step = columns.get(frozenset(one for one in table.entries(quantity) if one is not None))
            if step is None:
                continue
            letter = xl_col_to_name(table.column(quantity))
            shown = f"SUM('{table.name}'!${letter}$2:${letter}${len(table.rows) + 1})"
            used = f"SUM({cells.place(step)})"
            expected = "the sum of its rows is the sum in the calculation"
            yield f"{table.name}: {quantity}", expected, f'=IF(ABS({shown} - {used}) <= {SAME} * {used}, "ok", "fails")'
