"""The sheet Requirements of a site's workbook: each value live, as computed and as required."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.acceptance.accept import shown_by
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS
from ingest.reports.labels import plain
from ingest.reports.workbook.change_banner import add_banner, strike_columns
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.sheet import CellContent, CellFormula, NumberCell
from ingest.reports.workbook.workbook_writer import WorkbookWriter
from ingest.rfp import response_form as form

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan

#: The conditions on the sheet Requirements, in the order of their columns.
CONDITIONS = ("operation", "clients", "threads", "queue_depth", "implied_latency", "latency_99", "io_size", "pattern",
              "mix_in_words", "files", "duration", "fill", "cache")  # fmt: skip
CONDITION_STYLES = {"fill": "share", "implied_latency": "fraction", "latency_99": "fraction"}
#: The ends of a value, on several sheets.
LOW, HIGH = "Low (P10)", "High (P90)"
#: What a line requires, and what it requires where something limits it.
ROUNDED, LIMITED = "rounded_requirement", "limited_requirement"


def requirements(plan: Plan, cells: PlanCells, book: WorkbookWriter) -> dict[str, int]:
    """The sheet Requirements; returns the row of each id."""
    sheet = book.sheet(form.REQUIREMENTS_SHEET)
    letter = sheet.layout.letter(form.VALUE)
    rows: dict[str, int] = {}
    tests = shown_by(plan.requirements)
    for one in plan.requirements:
        place = cells.place(plan.steps[one.id])
        value = CellFormula(f"={place}", float(plan.steps[one.id].value))
        required = CellFormula(_rounded(plan, cells, one, f"{letter}{sheet.next + 1}"), one.value, "strong")
        conditions = (_condition(one, name) for name in CONDITIONS)
        assumed = ", ".join(plain(name) for name in one.assumptions)
        shown = (one.low, one.high, tests.get(one.id, ""), assumed)
        rows[one.id] = sheet.row(one.id, one.priority, one.statement, value, one.unit, required, *shown, *conditions)
    strike_columns(sheet, "Priority", "Statement")
    strike_columns(sheet, LOW, HIGH)
    strike_columns(sheet, "Operation", "Cache rule")
    add_banner(sheet)
    sheet.close()
    return rows


def _condition(one: Requirement, name: str) -> CellContent:
    """One condition of a line: shares in percent, latencies with their decimals."""
    value: CellContent = getattr(one.conditions, name)
    if name == "cache":
        return one.conditions.cache.partition(":")[0]  # the first page defines it
    style = CONDITION_STYLES.get(name)
    return value if style is None else NumberCell(value if isinstance(value, float) else None, style)


def _rounded(plan: Plan, cells: PlanCells, one: Requirement, computed: str) -> str:
    """The formula of what a line requires: the cell of its value, rounded up, then held to the most that it may demand."""
    digits = cells.place(plan.known.step("significant_digits"))
    written = cell(FORMULAS[ROUNDED].tree(), {"computed_requirement": computed, "significant_digits": digits}.__getitem__)
    if one.id not in plan.limits:
        return written
    places = {ROUNDED: written.removeprefix("="), "requirement_limit": cells.place(plan.limits[one.id])}
    return cell(FORMULAS[LIMITED].tree(), places.__getitem__)
