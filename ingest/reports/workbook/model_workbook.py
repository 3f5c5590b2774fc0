"""The buyer's workbook of a site: results and the inputs to turn in front, every quantity a live formula down to its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from ingest.acceptance.accept import shown_by
from ingest.configuration import decimal_units
from ingest.engine.expression import cell
from ingest.engine.registry import FORMULAS, Step, unit_of
from ingest.files import garbage_collection_paused
from ingest.reports.labels import capitalised, plain, texts, unit_word
from ingest.reports.workbook.derivation_cells import FIRST, MOST_ALONE, SITE, PlanCells, limits_of, meaning_of, size_of
from ingest.reports.workbook.plan_inputs import knobs_of, write_plan_inputs
from ingest.reports.workbook.results_sheet import (
    GOODPUT,
    INTERVALS,
    RESULTS,
    TABLE_SHEETS,
    UTILIZATION,
    ResultsSheet,
    TableSheet,
    table_sheets,
    write_guidance,
    write_table,
)
from ingest.reports.workbook.sheet import (
    CellContent,
    CellFormula,
    NumberCell,
    SheetWriter,
    column_of,
    layouts,
    number_check,
    range_check,
    style_of,
)
from ingest.reports.workbook.workbook_writer import (
    CHANGED,
    FREE,
    WorkbookWriter,
    banner,
    strike,
    text_sections,
    write_calculation,
)
from ingest.requirement import is_of
from ingest.rfp import response_form as form
from ingest.site.datasets import utilization_course
from ingest.site.plan import largest_checkpoint_course, largest_checkpoint_goodput
from ingest.text import grouped
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan
    from ingest.storage.fit_result import Fits, Flips

#: The sections of the sheet Read-me that a change of inputs strikes out or that may be empty.
QUESTIONS = "Open questions: what the site file does not determine"
TO_SETTLE, NOT_APPLYING = "To be settled before publication", "Requirements that do not apply"
#: Inputs of each requirement on the sheet Sensitivity, the most effective first.
MOST_EFFECTS = 6
#: The conditions on the sheet Requirements, in the order of their columns.
CONDITIONS = ("operation", "clients", "threads", "queue_depth", "implied_latency", "latency_99", "io_size", "pattern",
              "mix_in_words", "files", "duration", "fill", "cache", "groups_in_words")  # fmt: skip
CONDITION_STYLES = {"fill": "share", "implied_latency": "fraction", "latency_99": "fraction"}
#: What the sheets behind the others hold, and the kinds of a plan that follows guidance or shows it.
BEHIND: Mapping[str, str] = texts("workbook")["texts"]["behind"]
GUIDED = ("guidance", "signed guidance")
#: What a line requires, and what it requires where something limits it.
ROUNDED, LIMITED = "rounded_requirement", "limited_requirement"


@decimal_units()
def model_workbook(plan: Plan, found: Fits | None = None) -> bytes:
    """The buyer's workbook of a plan; `found` are systems of which a sheet says what would change the verdict."""
    with garbage_collection_paused():
        return ModelWorkbook(plan, found.flips if found is not None else None).content()


class ModelWorkbook:
    """Writes the sheets of a plan."""

    def __init__(self, plan: Plan, flips: Flips | None = None) -> None:
        self.plan, self.flips = plan, flips
        self.tables = table_sheets(plan)
        shown = [step for table in self.tables.values() for steps in table.steps for step in steps if step is not None]
        # What checks compare; what turns computed values into required ones, and thresholds below which none is required.
        compared = [
            part for one in plan.findings if one.is_checked for part in (one.value, one.limit) if isinstance(part, Step)
        ]
        rounding = (
            plan.known.step("significant_digits"),
            *plan.limits.values(),
            *(one.floor for one in plan.lines if one.floor),
        )
        self.behind = [*compared, *rounding]
        self.cells = PlanCells([*plan.steps.values(), *shown, *self.behind])

    def content(self) -> bytes:
        """The workbook as bytes."""
        plan, cells = self.plan, self.cells
        absent = TABLE_SHEETS.keys() - self.tables.keys()
        drawn = {
            UTILIZATION: utilization_course(plan.rows["jobs"]),
            INTERVALS: largest_checkpoint_course(plan),
            GOODPUT: largest_checkpoint_goodput(plan),
        }
        absent |= {name for name, found in drawn.items() if found is None}
        absent |= set() if is_of(GUIDED, plan.kinds) else {"Guidance"}
        absent |= set() if plan.decided else {"Decisions"}
        absent |= {"Flips"} if self.flips is None else set()
        sheets = {name: one for name, one in layouts("model").items() if name not in absent}
        book = WorkbookWriter(f"Storage requirements of {plan.site.name}", sheets)
        results = ResultsSheet(plan, book, cells, knobs_of(plan, cells))
        book.name_cells(cells)
        write_plan_inputs(book.sheet("Inputs"), cells, results.turned)
        self._calculation(book)
        self._columns(book.sheet("Columns"))
        for table in self.tables.values():
            write_table(table, cells, book)
        if "Guidance" in sheets:
            write_guidance(plan, book)
        if plan.decided:
            # What the buyer decides before a tender goes out: open with what settles it, settled with the reason.
            with closing(book.sheet("Decisions")) as sheet:
                for made in plan.decided:
                    state = "settled" if made.reason else "open"
                    sheet.row(made.id, state, made.concerned, capitalised(made.why), made.reason or made.settle)
                sheet.mark(1, "==", '"open"')
        lines = self._requirements(book.sheet(form.REQUIREMENTS_SHEET))
        self._sensitivity(book.sheet("Sensitivity"))
        if self.flips is not None:
            # Where the verdict on each system or offer turns, those inside the range of their input first.
            with closing(book.sheet("Flips")) as flips:
                for one in self.flips.flips:
                    ends = (one.value, one.flips_at, one.low, one.high)
                    shown = [None if end is None else NumberCell(end, style_of("", one.unit)) for end in ends]
                    judged = (one.system, one.requirement, one.layer, one.input, *shown[:2], one.verdict, one.then, *shown[2:])
                    flips.row(*judged, one.unit, "undecided" if one.inside_range else "")
                strike(flips, "Value", "Today undecided")
        book.evidence(plan.assumptions, plan.sources)
        checks = book.checks(checks_of(plan, cells, self.tables, lines))
        hidden = [f"{name} ({said})" if (said := BEHIND.get(name)) else name for name, one in sheets.items() if one.hidden]
        self._read_me(book, checks, hidden)
        results.write(self.tables, lines, checks)
        for name, shown in book.sheets.items():
            shown.protect("", FREE)
            if sheets[name].hidden:
                shown.hide()
        book.sheets["Decisions" if plan.decisions else RESULTS].activate()
        return book.content()

    def _read_me(self, book: WorkbookWriter, checks: int, hidden: Sequence[str]) -> None:
        """How to use the workbook, and what the buyer settles before a tender goes out."""
        plan = self.plan
        made = {"version": __version__, "catalogs": plan.catalog.content_hash(), "site_file": plan.input_hash}
        sheets = {"behind": ", ".join(hidden), "guidance": " Guidance and" if is_of(GUIDED, plan.kinds) else ""}
        asked = (f"{one.key}: {one.question} Suggested: {one.suggested}. {one.reason}" for one in plan.open_questions)
        sections = {
            **text_sections("model", plan.kinds, **made, assumed=len(plan.assumptions), **sheets),
            QUESTIONS: asked,
            TO_SETTLE: plan.warnings,
            NOT_APPLYING: (f"{name}: {why}" for name, why in plan.missing.items() if name in plan.lacking),
        }
        title = "How to use this workbook"
        sheet, rows = book.read_me(title, sections, checks, banner())
        if TO_SETTLE in rows:
            strike(sheet, title, rows=rows[TO_SETTLE])

    def _calculation(self, book: WorkbookWriter) -> None:
        with closing(book.sheet("Calculation")) as sheet:
            write_calculation(sheet, self.cells, lambda step: (self.cells.owner(step), step.name, meaning_of(step.name)))
            letters = map(layouts("model")["Inputs"].letter, ("Value", "As delivered"))
            last = sum(map(size_of, self.cells.inputs)) + 1
            here, before = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in letters)
            live = CellFormula(f"=SUMPRODUCT(--({here} <> {before}))", 0)
            words = "number of inputs whose value differs from the delivered one"
            row = sheet.row(SITE, CHANGED, "Inputs that differ from those of the plan.", live, "number", words)
            book.book.define_name(CHANGED, f"=Calculation!${sheet.layout.letter('Value')}${row}")

    def _columns(self, sheet: SheetWriter) -> None:
        """Entries that are added up or compared, each column in one piece."""
        looks: dict[str, tuple[str, str]] = {}
        for step in self.cells.columns:
            # The entries of a column are one quantity of many rows.
            for name in {part.name for part in step.inputs}:
                looks[name] = style_of(name, unit_of(name)), unit_word(name, unit_of(name))
            for part in step.inputs:
                style, unit = looks[part.name]
                live = CellFormula(f"={self.cells.place(part)}", float(part.value), style)
                sheet.row(step.name, self.cells.owner(part), live, unit)
        sheet.close()

    def _requirements(self, sheet: SheetWriter) -> dict[str, int]:
        """Each requirement, its value live as computed and as required; returns the row of each id."""
        plan, letter = self.plan, sheet.layout.letter(form.VALUE)
        rows: dict[str, int] = {}
        tests = shown_by(plan.requirements)
        digits = self.cells.place(plan.known.step("significant_digits"))
        for one in plan.requirements:
            value = CellFormula(self._limited(one, self.cells.place(plan.steps[one.id])), one.computed)
            # What the line requires: its value rounded up, then held to the most that it may demand.
            given = {"computed_requirement": f"{letter}{sheet.next + 1}", "significant_digits": digits}
            rounded = cell(FORMULAS[ROUNDED].tree(), given.__getitem__).removeprefix("=")
            required = CellFormula(self._limited(one, rounded), one.value, "strong")
            assumed = ", ".join(plain(name) for name in one.assumptions)
            shown = (one.low, one.high, tests.get(one.id, ""), assumed)
            conditions: list[CellContent] = []
            for name in CONDITIONS:
                item: CellContent = getattr(one.conditions, name)
                if name == "cache":
                    item = one.conditions.cache.partition(":")[0]  # the first page defines it
                elif style := CONDITION_STYLES.get(name):
                    item = NumberCell(item if isinstance(item, float) else None, style)
                conditions.append(item)
            row = (one.id, one.priority, one.statement, value, one.unit, required, *shown, *conditions, one.limited_by)
            rows[one.id] = sheet.row(*row)
        for first, last in (("Priority", "Statement"), ("Low (P10)", "High (P90)"), ("Operation", "Limited by")):
            strike(sheet, first, last)
        # The first column stays empty, which marks the banner as not a requirement line.
        sheet.row("", banner())
        sheet.close()
        return rows

    def _limited(self, one: Requirement, written: str) -> str:
        """A formula held to the most that a line may demand."""
        if one.id not in self.plan.limits:
            return f"={written}"
        places = {ROUNDED: written, "requirement_limit": self.cells.place(self.plan.limits[one.id])}
        return cell(FORMULAS[LIMITED].tree(), places.__getitem__)

    def _sensitivity(self, sheet: SheetWriter) -> None:
        """The effect of one input at a time on each requirement, at the inputs of the plan."""
        for one in self.plan.requirements:
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]:
                row = sheet.next + 1
                swing = CellFormula(f"=ABS(F{row} - E{row})", effect.swing)
                value = NumberCell(effect.value, style_of(effect.name, unit_of(effect.name)))
                shown = (effect.name, ", ".join(effect.rows), value, effect.at_low, effect.at_high)
                sheet.row(one.id, *shown, one.unit, swing)
        strike(sheet, "Value", "Swing")
        sheet.close()


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
    # Each rule still has the outcome of the plan, so that statements, conditions and warnings hold: one line per finding, or
    # one per `TOGETHER` of a rule where a site has more than `MOST_ALONE` of them.
    by_rule = grouped((one.what.partition(": ")[2], one) for one in plan.findings if one.is_checked)
    for kind, found in by_rule.items():
        size = 1 if len(found) <= MOST_ALONE else TOGETHER
        for start in range(0, len(found), size):
            some = found[start : start + size]
            names = some[0].what if size == 1 else f"{some[0].owner} to {some[-1].owner}: {kind}"
            written = ", ".join(part.condition(cells.place) for part in some)
            tested = written if size == 1 else f"AND({written})"
            yield names, f"{found[0].rule.id}: {DECIDED}", f'=IF({tested}, "ok", "plan again")'
    value, unit = (column_of("model", "Requirements", head) for head in ("Value", "Unit"))
    for one in plan.requirements:
        row = lines[one.id]
        yield (one.id, *number_check(f"{value}{row}"))
        yield f"{one.id}: unit", one.unit, f'=IF(EXACT({unit}{row}, "{one.unit}"), "ok", "fails")'


def _ranges(cells: PlanCells) -> Iterator[Check]:
    """One line per input; one per quantity where a site has more than `MOST_ALONE` of them."""
    by_quantity = grouped((step.name, step) for step in cells.inputs)
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


def _sums(cells: PlanCells, tables: Mapping[str, TableSheet]) -> Iterator[Check]:
    """The rows of a sheet add up to the column that the calculation works with."""
    from xlsxwriter.utility import xl_col_to_name

    columns = {frozenset(step.inputs): step for step in cells.columns if step.inputs}
    for table in tables.values():
        for quantity, unit in table.units.items():
            step = columns.get(frozenset(one for one in table.entries(quantity) if one is not None))
            if step is None:
                continue
            letter, factor = xl_col_to_name(table.column(quantity)), unit.factor
            shown = f"SUM('{table.name}'!${letter}$2:${letter}${len(table.rows) + 1}){f' * {factor}' if factor != 1 else ''}"
            used = f"SUM({cells.place(step)})"
            expected = "the sum of its rows is the sum in the calculation"
            yield f"{table.name}: {quantity}", expected, f'=IF(ABS({shown} - {used}) <= {SAME} * {used}, "ok", "fails")'
