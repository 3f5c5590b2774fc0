"""The sheets of a plan's workbook to read and fill in: results, requirements, vendor response, acceptance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ingest.acceptance.loads import Setting
from ingest.acceptance.test_table import TOOL, TOOL_VERSION, job_file_of, rows_of, shown_by
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS
from ingest.reports.labels import label, plain
from ingest.reports.workbook.changed_inputs import add_banner, strike_columns
from ingest.reports.workbook.plan_cells import PlanCells
from ingest.reports.workbook.plan_charts import add_charts
from ingest.reports.workbook.plan_tables import TableSheet
from ingest.reports.workbook.sheet import CellContent, CellFormula, EntryCell, NumberCell, SheetWriter, display_unit
from ingest.rfp.response_form import AS_IS, CHOICE, COUNT, FIELDS, NUMBER, OPTIMIZED, TEXT, FormField

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.requirement import Requirement
    from ingest.site.plan import Plan

#: Columns of the value of a requirement and its ends on the sheet Requirements.
VALUE, LOW, HIGH = "D", "F", "G"
#: Column of the base value of a requirement on the sheet Results.
BASE_VALUE = "I"
#: Column of the clients of a test on the sheet Acceptance.
CLIENTS = "E"
#: Heading of each condition, and its name.
CONDITIONS = {
    "Operation": "operation",
    "Clients": "clients",
    "Threads": "threads",
    "I/O size (B)": "io_size",
    "Pattern": "pattern",
    "Files": "files",
    "Duration (s)": "duration",
    "Fill": "fill",
    "Cache rule": "cache",
}
#: Headings of the sheet Requirements.
HEADS = ("Id", "Priority", "Statement", "Value", "Unit", "Low (P10)", "High (P90)", "Test", "Assumptions", *CONDITIONS)
#: The place of the fill among the conditions: a share.
FILL = list(CONDITIONS.values()).index("fill")
IN_UNIT, WHOLE = "a number in the unit of this line", "a whole number"
#: What a vendor's cell accepts, by the kind of its field.
RULES: Mapping[str, Mapping[str, Any] | None] = {
    NUMBER: {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": IN_UNIT},
    COUNT: {"validate": "integer", "criteria": ">=", "value": 1, "error_message": WHOLE},
    TEXT: None,
}
#: The share by which a value of the response sheet is above what is required, and what it needs.
MARGIN = "acceptance_margin"
#: Aggregate rate of all clients where a rate per client is required.
OF_ALL = "rate_of_all_clients"
MARGINS = {
    AS_IS: "Margin of the as-is value (counts)",
    OPTIMIZED: "Margin of the optimized value (if the buyer accepts it)",
}


def requirements(plan: Plan, cells: PlanCells, grid: Callable[..., SheetWriter]) -> dict[str, int]:
    """The sheet Requirements; returns the row of each id."""
    sheet = grid("Requirements", HEADS, (15, 12, 53, 21, 10, 19, 19, 14, 26, 12, 8, 9, 12, 12, 12, 11, 8, 40))
    rows: dict[str, int] = {}
    tests = shown_by(plan.requirements)
    for one in plan.requirements:
        place = cells.place(plan.steps[one.id])
        value = CellFormula(f"={place}", one.value, "strong")
        conditions = [getattr(one.conditions, name) for name in CONDITIONS.values()]
        conditions[FILL] = NumberCell(one.conditions.fill, "share")
        assumed = ", ".join(plain(name) for name in one.assumptions)
        ends = (one.low, one.high)
        shown = (tests.get(one.id, ""), assumed, *conditions)
        items: tuple[CellContent, ...] = (one.id, one.priority, one.statement, value, one.unit, *ends, *shown)
        rows[one.id] = sheet.row(*items)
    strike_columns(sheet, "Priority", "Statement")
    strike_columns(sheet, "Low (P10)", "High (P90)")
    strike_columns(sheet, *(next(iter(ends)) for ends in (CONDITIONS, reversed(CONDITIONS))))
    add_banner(sheet)
    sheet.close()
    return rows


def results(
    plan: Plan, tables: Mapping[str, TableSheet], workbook: Workbook, grid: Callable[..., SheetWriter], lines: Mapping[str, int]
) -> None:
    """The sheet Results, in units that people read, with its charts below."""
    heads = ("Id", "What", "Value", "Unit", "Low (P10)", "High (P90)", "Binary", "Unit", "Base value", "Base unit")
    sheet = grid("Results", heads, (15, 44, 15, 10, 15, 15, 11, 10, 23, 10))
    for one in plan.requirements:
        base, line = f"{BASE_VALUE}{sheet.next + 1}", lines[one.id]
        shown, binary = (display_unit(one.metric, one.value, one.unit, binary) for binary in (False, True))
        assert shown is not None
        ends = ((LOW, one.low), (HIGH, one.high))
        spread = (None if end is None else shown.cell(f"Requirements!${letter}${line}", end) for letter, end in ends)
        doubled = ("", "") if binary is None else (binary.cell(base, one.value), binary.unit)
        live = CellFormula(f"=Requirements!${VALUE}${line}", one.value, "base")
        strong = shown.cell(base, one.value, strong=True)
        sheet.row(one.id, label(one.metric), strong, shown.unit, *spread, *doubled, live, one.unit)
    strike_columns(sheet, "Low (P10)", "High (P90)")
    workbook.define_name("results", f"=Results!${BASE_VALUE}$2:${BASE_VALUE}${sheet.next}")
    add_banner(sheet)
    sheet.close(further=add_charts(tables, workbook, sheet))


def response(plan: Plan, grid: Callable[..., SheetWriter], lines: Mapping[str, int]) -> None:
    """The sheet Vendor response: only its yellow cells can be edited."""
    from xlsxwriter.utility import xl_col_to_name

    fixed = ("Id", "Priority", "Requirement", "Required", "Unit")
    heads = (*fixed, *(field.head for field in FIELDS), *MARGINS.values())
    sheet = grid("Vendor response", heads, (15, 12, 46, 21, 11, 9, 19, 19, 12, 9, 13, 27, 27, 34, 21, 21))
    for one in plan.requirements:
        row, line = sheet.next + 1, lines[one.id]
        required_value = CellFormula(f"=Requirements!${VALUE}${line}", one.value)
        fields = [EntryCell(None, rule_of(field), "input" if field.kind in (NUMBER, COUNT) else "entry") for field in FIELDS]
        required = f"{xl_col_to_name(fixed.index('Required'))}{row}"
        margins = [margin(f"{xl_col_to_name(heads.index(head))}{row}", required) for head in MARGINS]
        items: tuple[CellContent, ...] = (one.id, one.priority, one.statement, required_value, one.unit, *fields, *margins)
        sheet.row(*items)
    strike_columns(sheet, "Requirement")
    sheet.close()


def rule_of(field: FormField) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts."""
    return {"validate": "list", "source": list(field.choices)} if field.kind == CHOICE else RULES[field.kind]


def margin(offered: str, required: str) -> CellFormula:
    """The share by which an offered value is above what is required; nothing while there is none."""
    places = {"measured_rate": offered, "required_rate": required}
    share = cell(FORMULAS[MARGIN].tree(), places.__getitem__).removeprefix("=")
    return CellFormula(f'=IF(AND(COUNT({offered}) = 1, {required} > 0), {share}, "")', "", "share")


def acceptance(plan: Plan, grid: Callable[..., SheetWriter], lines: Mapping[str, int]) -> None:
    """The sheet Acceptance: load and threshold of each test, result to be filled in."""
    heads = ("Test", "Requirement", "Operation", "Pattern", "Clients", "Threads", "I/O size (B)", "Pass threshold", "Unit",
             "Duration (s)", "Tool", "Job file", "Runs", "Allowed deviation", "Result", "Remarks")  # fmt: skip
    sheet = grid("Acceptance", heads, (15, 15, 12, 13, 10, 10, 13, 21, 10, 13, 11, 28, 8, 12, 26, 50))
    usual = Setting()
    runs = (usual.repeats, NumberCell(usual.allowed_deviation, "share"))
    for one in rows_of(plan.requirements):
        load, row = one.load, sheet.next + 1
        threshold = CellFormula(
            _threshold(one.line, f"Requirements!${VALUE}${lines[one.line.id]}", f"{CLIENTS}{row}"), load.threshold
        )
        request = (load.clients, load.threads, load.io_bytes)
        how = (load.operation, load.pattern, *request, threshold, load.unit, load.seconds)
        job = (f"{TOOL} {TOOL_VERSION}", job_file_of(one.test))
        sheet.row(one.test, one.requirement, *how, *job, *runs, EntryCell(None), EntryCell(None))
    strike_columns(sheet, "Clients", "I/O size (B)")
    strike_columns(sheet, "Duration (s)")
    sheet.close()


def _threshold(line: Requirement, value: str, clients: str) -> str:
    """The formula of the rate that all clients of a test must reach together; a line may require it of each client."""
    places = {"rate_per_client": value, "clients_under_test": clients}
    return cell(FORMULAS[OF_ALL].tree(), places.__getitem__) if line.unit.endswith("/node") else f"={value}"
