"""The buyer's workbook of a site: results and the inputs to turn in front, every quantity a live formula down to its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.configuration import decimal_units
from ingest.engine.registry import Step, unit_of
from ingest.files import garbage_collection_paused
from ingest.reports.labels import unit_word
from ingest.reports.workbook.change_banner import CHANGED, banner, changed_inputs, strike_columns, strike_rows
from ingest.reports.workbook.derivation_cells import meaning_of, size_of
from ingest.reports.workbook.knobs import knobs_of
from ingest.reports.workbook.plan_cells import SITE, PlanCells
from ingest.reports.workbook.plan_checks import checks_of
from ingest.reports.workbook.plan_inputs import write_plan_inputs
from ingest.reports.workbook.requirements_sheet import requirements
from ingest.reports.workbook.results_charts import UTILIZATION
from ingest.reports.workbook.results_sheet import RESULTS, ResultsSheet
from ingest.reports.workbook.sheet import CellFormula, NumberCell, SheetWriter, style_of
from ingest.reports.workbook.styles import layouts
from ingest.reports.workbook.table_sheets import TABLE_SHEETS, table_sheets, write_guidance, write_table
from ingest.reports.workbook.workbook_writer import FREE, WorkbookWriter, text_sections, write_calculation
from ingest.site.loaders import utilization_course
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.site.plan import Plan

#: The sections of the sheet Read-me that a change of inputs strikes out or that may be empty.
QUESTIONS = "Open questions: what the site file does not determine"
TO_SETTLE, NOT_APPLYING = "To be settled before publication", "Requirements that do not apply"
#: Inputs of each requirement on the sheet Sensitivity, the most effective first.
MOST_EFFECTS = 6


@decimal_units()
def model_workbook(plan: Plan) -> bytes:
    """The buyer's workbook of a plan."""
    with garbage_collection_paused():
        return ModelWorkbook(plan).content()


class ModelWorkbook:
    """Writes the sheets of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = table_sheets(plan)
        shown = [step for table in self.tables.values() for steps in table.steps for step in steps if step is not None]
        self.cells = PlanCells([*plan.steps.values(), *shown, *behind_findings(plan), *of_rounding(plan)])

    def content(self) -> bytes:
        """The workbook as bytes."""
        plan, cells = self.plan, self.cells
        absent = TABLE_SHEETS.keys() - self.tables.keys()
        if utilization_course(plan.rows["jobs"]) is None:
            absent |= {UTILIZATION}
        sheets = {name: one for name, one in layouts("model").items() if name not in absent}
        book = WorkbookWriter(f"Storage requirements of {plan.site.name}", sheets)
        results = ResultsSheet(plan, book, cells, knobs_of(plan, cells))
        book.name_cells(cells)
        write_plan_inputs(book.sheet("Inputs"), cells, results.turned)
        self._calculation(book)
        self._columns(book.sheet("Columns"))
        for table in self.tables.values():
            write_table(table, cells, book)
        write_guidance(plan, book)
        lines = requirements(plan, cells, book)
        self._sensitivity(book.sheet("Sensitivity"))
        book.evidence(plan.assumptions, plan.sources)
        checks = book.checks(checks_of(plan, cells, self.tables, lines))
        self._read_me(book, checks)
        results.write(self.tables, lines, checks)
        for name, shown in book.sheets.items():
            shown.protect("", FREE)
            if sheets[name].hidden:
                shown.hide()
        book.sheets[RESULTS].activate()
        return book.content()

    def _read_me(self, book: WorkbookWriter, checks: int) -> None:
        """How to use the workbook, and what the buyer settles before a tender goes out."""
        plan = self.plan
        made = {"version": __version__, "catalogs": plan.catalog.content_hash(), "site_file": plan.input_hash}
        missing = [f"{name}: {why}" for name, why in plan.missing.items()]
        asked = [f"{one.key}: {one.question} Suggested: {one.suggested}. {one.reason}" for one in plan.open_questions]
        sections = {
            **text_sections("model", **made, assumed=len(plan.assumptions)),
            QUESTIONS: asked,
            TO_SETTLE: plan.warnings,
            NOT_APPLYING: missing,
        }
        sheet, rows = book.read_me("How to use this workbook", sections, checks, banner())
        if TO_SETTLE in rows:
            strike_rows(sheet, *rows[TO_SETTLE])

    def _calculation(self, book: WorkbookWriter) -> None:
        sheet = book.sheet("Calculation")
        write_calculation(sheet, self.cells, lambda step: (self.cells.owner(step), step.name, meaning_of(step.name)))
        live = changed_inputs(sum(map(size_of, self.cells.inputs)) + 1)
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


def of_rounding(plan: Plan) -> Iterator[Step]:
    """The quantities that turn computed values into required ones, and the thresholds below which none is required."""
    yield from (plan.known.step("significant_digits"), *plan.limits.values(), *plan.floors.values())


def behind_findings(plan: Plan) -> Iterator[Step]:
    """The quantities that checks compare."""
    for one in plan.findings:
        if one.is_checked:
            yield from (part for part in (one.value, one.limit) if isinstance(part, Step))
