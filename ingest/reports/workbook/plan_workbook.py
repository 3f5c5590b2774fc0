"""The workbook of a site: every quantity a live formula down to the editable inputs, requirements and forms on top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ingest.engine.messages import in_site_words
from ingest.engine.registry import Step, unit_of
from ingest.files import garbage_collection_paused
from ingest.reports.labels import unit_word
from ingest.reports.workbook.derivation_cells import FIRST, limits_of, meaning_of, size_of
from ingest.reports.workbook.plan_cells import (
    CHANGED,
    LETTERS,
    MOST_ALONE,
    QUANTITY,
    SITE,
    TABLE_SHEETS,
    PlanCells,
    TableSheet,
    banner,
    changed_inputs,
    strike_columns,
    strike_rows,
    table_sheets,
    write_table,
)
from ingest.reports.workbook.plan_forms import BASE_VALUE, acceptance, requirements, response, results
from ingest.reports.workbook.sheet import (
    CellContent,
    CellFormula,
    NumberCell,
    SheetWriter,
    style_of,
)
from ingest.reports.workbook.styles import number_check, range_check
from ingest.reports.workbook.workbook_writer import (
    WIDTH,
    Sections,
    WorkbookWriter,
    write_calculation,
    write_inputs,
    write_sections,
)
from ingest.rfp.response_form import BUYER_SHEET
from ingest.units import exact
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.engine.value import Input
    from ingest.site.plan import Plan
    from ingest.sizing.rules import Finding


def plan_workbook(plan: Plan) -> bytes:
    """The workbook of a plan."""
    with garbage_collection_paused():
        return PlanWorkbook(plan).content()


TO_SETTLE = "To be settled before publication"


def front(plan: Plan) -> Sections:
    """The first sheet."""
    return {
        "For the vendor": (
            "Fill in the yellow cells of the sheet Vendor response, each value as a plain number in the unit of its line, and"
            " return the whole workbook, saved by a spreadsheet program.",
            "All other cells are locked; the requirements are compared with what was sent. Write every answer, and every"
            " condition, into the yellow cells: nothing else is read.",
            "The as-is value counts; the optimized value counts only where the buyer accepts it.",
        ),
        "How the workbook is built": (
            "The yellow cells on the sheet Inputs may be changed; every other number follows by formulas that can be read."
            " Values of the site file come first, each with its key.",
            "The sheets from Workloads to Placement show cells of Calculation; Columns lists the terms of each sum.",
            "Requirements, Vendor response and Acceptance carry the same ids as the document; acceptance job files carry the"
            " id of their test, with the name of the tool behind it.",
            "Values are in base units (B, s, and things counted), shares in percent; Results shows the units that people"
            " read, next to the base value.",
            "Numbers follow the inputs. Statements, priorities, conditions, titles of charts, low and high ends and the sheet"
            " Sensitivity are those of the plan: a change of Inputs strikes them out, and a banner counts it.",
            "All sheets are protected without a password, so that nothing is changed by mistake: only yellow cells are open.",
        ),
        "How it was made": (
            f"Made by ingest {__version__}; catalogs {plan.catalog.content_hash()}; site file {plan.input_hash}.",
            f"{len(plan.assumptions)} values are assumed: see the sheet Assumptions.",
        ),
    }


def for_buyer(plan: Plan, grid: Callable[..., SheetWriter]) -> None:
    """Write the sheet that is the buyer's alone."""
    sheet = grid(BUYER_SHEET, ("For the buyer: delete this sheet before the workbook goes out",), (WIDTH,))
    rows = write_sections(
        sheet,
        {
            "Change, send, judge": (
                "After a change of Inputs, change the site file alike and run ingest report again: statements and conditions"
                " follow the site file only. Keep a copy of the workbook that you send, and judge each answer against it:"
                " ingest response FILLED.xlsx --sent SENT.xlsx.",
                "Without --sent, the requirements are read from the returned workbook, with a warning; with --optimized, tuned"
                " values count too.",
            ),
            TO_SETTLE: plan.warnings,
            "Requirements that do not apply": [f"{name}: {why}" for name, why in plan.missing.items()],
        },
    )
    if TO_SETTLE in rows:
        strike_rows(sheet, *rows[TO_SETTLE])
    sheet.close()


#: What stays free on a sheet whose cells are locked.
FREE = {"format_columns": True, "format_rows": True, "autofilter": True, "sort": True, "objects": True}
#: Figures behind one input that are named.
MOST_PARTS = 6
#: Inputs of each requirement on the sheet Sensitivity, the most effective first.
MOST_EFFECTS = 6
ORDER = (
    "Read-me", BUYER_SHEET, "Inputs", "Workloads", "Clusters", "Data sets", "Capacity by year", "Checkpoints", "Metadata",
    "Placement", "Calculation", "Columns", "Results", "Requirements", "Sensitivity", "Vendor response", "Acceptance",
    "Assumptions", "Sources", "Checks",
)  # fmt: skip


INPUT_COLUMNS = (
    ("Belongs to", "Quantity", "Meaning", "Value", "Unit", "Low", "High", "Allowed", "From", "Source", "Place and note",
     "Key in the site file", "Cell name", "As delivered"),
    (14, 40, 44, 21, 14, 18, 19, 20, 13, 23, 58, 36, 50, 21),
)  # fmt: skip
FORMULA_COLUMNS = (
    ("Belongs to", "Quantity", "Meaning", "Value", "Unit", "Formula in words", "Source"),
    (15, 34, 76, 21, 15, 78, 42),
)


class PlanWorkbook:
    """Writes the sheets of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = table_sheets(plan)
        shown = [step for table in self.tables.values() for steps in table.steps for step in steps if step is not None]
        self.cells = PlanCells([*plan.steps.values(), *shown, *behind_findings(plan), *plan.floors.values()])

    def content(self) -> bytes:
        """The workbook as bytes."""
        title, plan, cells = f"Storage requirements of {self.plan.site.name}", self.plan, self.cells
        book = WorkbookWriter(title, (name for name in ORDER if name in self.tables or name not in TABLE_SHEETS))
        book.name_cells(cells)
        write_inputs(
            book.sheet("Inputs", *INPUT_COLUMNS, unprinted=3, frozen=2), cells, self._identity, _ends, self._origin, True
        )
        self._calculation(book)
        self._columns(book.sheet("Columns", ("Column", "Entry of", "Value", "Unit"), (44, 24, 21, 14)))
        for table in self.tables.values():
            write_table(table, cells, book.sheet)
        lines = requirements(plan, cells, book.sheet)
        results(plan, self.tables, book.book, book.sheet, lines)
        self._sensitivity(book.sheet)
        response(plan, book.sheet, lines)
        acceptance(plan, book.sheet, lines)
        book.evidence(plan.assumptions, plan.sources)
        book.read_me(title, front(plan), book.checks(checks_of(plan, cells, self.tables, lines), 60), banner())
        for_buyer(plan, book.sheet)
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
        sheet = book.sheet("Calculation", *FORMULA_COLUMNS, frozen=2)
        write_calculation(sheet, self.cells, self._identity)
        live = changed_inputs(sum(map(size_of, self.cells.inputs)) + 1)
        words = "number of inputs whose value differs from the delivered one"
        row = sheet.row(SITE, CHANGED, "Inputs that differ from those of the plan.", live, "number", words)
        book.book.define_name(CHANGED, f"=Calculation!${LETTERS['Calculation']}${row}")
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

    def _sensitivity(self, grid: Callable[..., SheetWriter]) -> None:
        """The effect of one input at a time on each requirement, at the inputs of the plan."""
        heads = ("Requirement", "Input", "Of", "Value", "At its low end", "At its high end", "Unit", "Swing")
        sheet = grid("Sensitivity", heads, (15, 40, 22, 17, 20, 20, 11, 19))
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
    for one in plan.requirements:
        row = lines[one.id]
        yield (one.id, *number_check(f"Requirements!$D${row}"))
        yield f"{one.id}: unit", one.unit, f'=IF(EXACT(Requirements!$E${row}, "{one.unit}"), "ok", "fails")'
        places = f"Requirements!$D${row}, 'Vendor response'!$D${row}, Results!${BASE_VALUE}${row}"
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
    names, values = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in (QUANTITY, LETTERS["Inputs"]))
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
