"""The workbook of a site: every quantity a live formula down to the editable inputs, requirements and forms on top."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ingest.engine.messages import in_site_words
from ingest.engine.registry import Step, unit_of
from ingest.reports.labels import label, unit_word
from ingest.reports.workbook.changed_inputs import CHANGED, banner, count, strike_columns, strike_rows
from ingest.reports.workbook.derivation_cells import meaning_of
from ingest.reports.workbook.plan_cells import CALCULATED, SITE, PlanCells, in_words, limits_of, size_of, values_of
from ingest.reports.workbook.plan_checks import checks_of
from ingest.reports.workbook.plan_forms import acceptance, requirements, response, results
from ingest.reports.workbook.sheet import Entry, Figure, Formula, Grid, Item, listed, width_of, width_of_words
from ingest.reports.workbook.styles import open_book, range_short, validation
from ingest.reports.workbook.unit_cells import assumed_rows, style_of
from ingest.rfp.response_form import BUYER_SHEET
from ingest.site.plan import NEEDED, TABLES
from ingest.units import exact
from ingest.version import __version__

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.engine.derivation_graph import QuantityRow
    from ingest.engine.value import Input
    from ingest.site.plan import Plan


WIDTH = 120
#: Height of a heading and of the room above it, in points.
SECTION = 26.0
#: Lines of a sheet of text, by the heading above them.
Sections = Mapping[str, Iterable[Item]]


def read_me(sheet: Grid, sections: Sections, checks: int, *notes: Item) -> None:
    """Write the outcome of so many checks, notes that concern every reader, and the sections."""
    area = f"Checks!$C$2:$C${checks + 1}"
    passing = f"All {checks} checks pass."
    written = f'=IF(COUNTIF({area}, "ok") = {checks}, "{passing}", "A check fails: see the sheet Checks.")'
    row = sheet.next
    sheet.row(Formula(written, passing, "good"))
    failing = {"type": "text", "criteria": "begins with", "value": "A check fails", "format": sheet.styles["bad"]}
    sheet.sheet.conditional_format(row, 0, row, 0, failing)
    for note in notes:
        sheet.row(note)
    write_sections(sheet, sections)
    sheet.close()


def write_sections(sheet: Grid, sections: Sections) -> dict[str, tuple[int, int]]:
    """Write those that have lines; returns the first and the last row of each, as sheets count."""
    found = {}
    for heading, lines in sections.items():
        said = list(lines)
        if said:
            above = sheet.row(heading, text="section")
            sheet.sheet.set_row(above - 1, SECTION)
            for line in said:
                sheet.row(line)
            found[heading] = (above + 1, sheet.next)
    return found


TO_SETTLE = "To be settled before publication"


def front(plan: Plan, title: str, grid: Callable[..., Grid], checks: int) -> None:
    """Write the first sheet.

    Args:
        plan: what the workbook shows.
        title: of the workbook.
        grid: makes a sheet.
        checks: how many there are.
    """
    sections: Sections = {
        "For the offeror": (
            "Fill in the yellow cells of the sheet Vendor response, each value as a plain number in the unit of its line, and"
            " return the whole workbook, saved by a spreadsheet program.",
            "All other cells are locked; the requirements are compared with what was sent. Write every answer, and every"
            " condition, into the yellow cells: nothing else is read.",
            "The as-is value is what counts; the optimized value counts only where the buyer has said so.",
        ),
        "How the workbook is built": (
            "The yellow cells on the sheet Inputs may be changed; every other number follows by formulas that can be read."
            " What the site file says stands on top, with its key.",
            "The sheets from Workloads to Placement show cells of Calculation; Columns gathers what is added up.",
            "Requirements, Vendor response and Acceptance carry the same ids as the document; acceptance job files carry the"
            " id of their test, with the name of the tool behind it.",
            "Values are in base units (B, s, and things counted), shares in percent; Results shows the units that people"
            " read, with the base value beside them.",
            "Numbers follow the inputs. Statements, priorities, conditions, titles of charts, low and high ends and the sheet"
            " Sensitivity are those of the plan: a change of Inputs strikes them out, and a banner counts it.",
            "All sheets are protected without a password, so that nothing is changed by mistake: only yellow cells are open.",
        ),
        "How it was made": (
            f"Made by ingest {__version__}; catalogs {plan.catalog.content_hash()}; site file {plan.input_hash}.",
            f"{len(plan.assumptions)} values are assumed: see the sheet Assumptions.",
        ),
    }
    read_me(grid("Read-me", (title,), (WIDTH,)), sections, checks, banner())


def for_buyer(plan: Plan, grid: Callable[..., Grid]) -> None:
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
            "What is not asked for": [f"{name}: {why}" for name, why in plan.missing.items()],
        },
    )
    if TO_SETTLE in rows:
        strike_rows(sheet, *rows[TO_SETTLE])
    sheet.close()


#: sheet -> table of the plan
TABLE_SHEETS = {
    "Workloads": "jobs",
    "Clusters": "clusters",
    "Data sets": "datasets",
    "Capacity by year": "capacity",
    "Checkpoints": "checkpoints",
    "Metadata": "metadata",
    "Placement": "placement",
}
#: Words of a job that stand on a sheet, where not all do.
WORDS: Mapping[str, Sequence[str]] = {
    "Workloads": ("cluster", "model", "data", "basis", "gpu"),
    "Checkpoints": ("model", "mode"),
    "Metadata": ("model",),
    "Placement": ("model", "data"),
}
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


class SiteBook:
    """Writes the sheets of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tables = {sheet: shown_rows(plan, table) for sheet, table in TABLE_SHEETS.items()}
        shown = [step for rows in self.tables.values() for _, steps in rows for step in steps if step is not None]
        self.cells = PlanCells([*plan.steps.values(), *shown, *behind_findings(plan), *plan.floors.values()])

    def content(self) -> bytes:
        """The workbook as bytes."""
        buffer = io.BytesIO()
        book, styles = open_book(buffer, self.title)
        sheets = {name: book.add_worksheet(name) for name in ORDER if self.tables.get(name) != []}

        def grid(name: str, heads: Sequence[str], widths: Sequence[float], unprinted: int = 0, kept: int = 1) -> Grid:
            return Grid(sheets[name], styles, heads, widths, unprinted, kept)

        self._inputs(book, grid)
        self._calculation(book, grid)
        self._columns(grid)
        for name, rows in self.tables.items():
            if rows:
                self._table(name, grid)
        lines = requirements(self, grid)
        results(self, book, grid, lines)
        self._sensitivity(grid)
        response(self, grid, lines)
        acceptance(self, grid, lines)
        listed(grid("Assumptions", ("Name", "Value", "Unit", "Why"), (34, 21, 16, 90)), assumed_rows(self.plan.assumptions))
        cited = [(one["id"], one["title"], one["where"], one.get("url", "")) for one in self.plan.sources]
        listed(grid("Sources", ("Id", "Title", "Place", "Address"), (22, 47, 50, 48)), cited)
        checks = self._checks(grid, lines)
        front(self.plan, self.title, grid, checks)
        for_buyer(self.plan, grid)
        for shown in sheets.values():
            shown.protect("", FREE)
        sheets["Read-me"].activate()
        book.close()
        return buffer.getvalue()

    @property
    def title(self) -> str:
        """Of the workbook."""
        return f"Storage requirements of {self.plan.site.name}"

    def _inputs(self, book: Workbook, grid: Callable[..., Grid]) -> None:
        heads = ("Belongs to", "Quantity", "Meaning", "Value", "Unit", "Low", "High", "Allowed", "From", "Source",
                 "Place and note", "Key in the site file", "Cell name", "As delivered")  # fmt: skip
        sheet = grid("Inputs", heads, (14, 40, 44, 21, 14, 18, 19, 20, 13, 23, 58, 36, 50, 21), unprinted=3, kept=2)
        for step in self.cells.inputs:
            name = self.cells.name(step)
            book.define_name(name, f"={self.cells.place(step)}")
            rule = validation(limits_of(step))
            style = style_of(step.name, unit_of(step.name), "input")
            first, *rest = (Entry(value, rule, style) for value in values_of(step))
            told = self._input(step, first, name)
            shown = style_of(step.name, unit_of(step.name))
            before, *others = (Figure(value, shown) for value in values_of(step))
            sheet.row(*told, before)
            for value, other in zip(rest, others, strict=True):
                sheet.row("", "", "", value, *[""] * (len(told) - len("ABCD")), other)
        sheet.close()

    def _input(self, step: Step, value: Item, name: str) -> list[Item]:
        item, key = step.source, self.cells.key(step)
        allowed = range_short(limits_of(step))
        unit, style = unit_of(step.name), style_of(step.name, unit_of(step.name))
        head: list[Item] = [self.cells.owner(step), step.name, meaning_of(step.name), value, unit_word(step.name, unit)]
        if item is None:
            return [*head, None, None, allowed, "definition", "", "", "", name]
        note = "; ".join(filter(None, ("" if key else item.where, in_site_words(item.note), *evidence(item))))
        source = item.source or ", ".join(dict.fromkeys(part.source for part in item.parts))
        ends = (Figure(item.low, style), Figure(item.high, style))
        return [*head, *ends, allowed, item.grade or item.origin, source, note, key, name]

    def _calculation(self, book: Workbook, grid: Callable[..., Grid]) -> None:
        heads = ("Belongs to", "Quantity", "Meaning", "Value", "Unit", "Formula in words", "Source")
        sheet = grid("Calculation", heads, (15, 34, 76, 21, 15, 78, 42), kept=2)
        for step in self.cells.formulas:
            made = step.formula
            assert made is not None
            cited = "" if made.source == "definition" else f"{made.source}, {made.where}".removesuffix(", ")
            unit = unit_of(step.name)
            live = Formula(self.cells.formula(step), float(step.value), style_of(step.name, unit))
            shown = (live, unit_word(step.name, unit), in_words(made), cited)
            sheet.row(self.cells.owner(step), step.name, meaning_of(step.name), *shown)
        live = count(sum(map(size_of, self.cells.inputs)) + 1)
        words = "number of inputs whose value is not the one as delivered"
        row = sheet.row(SITE, CHANGED, "Inputs that differ from those of the plan.", live, "number", words)
        book.define_name(CHANGED, f"=Calculation!${CALCULATED}${row}")
        sheet.close()

    def _columns(self, grid: Callable[..., Grid]) -> None:
        """Entries that are added up or compared, each column in one piece."""
        sheet = grid("Columns", ("Column", "Entry of", "Value", "Unit"), (44, 24, 21, 14))
        for step in self.cells.columns:
            for part in step.inputs:
                unit = unit_of(part.name)
                live = Formula(f"={self.cells.place(part)}", float(part.value), style_of(part.name, unit))
                sheet.row(step.name, self.cells.owner(part), live, unit_word(part.name, unit))
        sheet.close()

    def _table(self, name: str, grid: Callable[..., Grid]) -> None:
        rows, (_, quantities) = self.tables[name], TABLES[TABLE_SHEETS[name]]
        words, columns = self._words(name), list(zip(*(steps for _, steps in rows), strict=True))
        heads = [quantity_head(quantity) for quantity in quantities]
        figures = [[float(step.value) for step in column if step is not None] for column in columns]
        said = [width_of_words(label(word), (str(row.words.get(word, "")) for row, _ in rows)) for word in words]
        widths = [width_of_words("Name", (row.name for row, _ in rows)), *said, *map(width_of, heads, figures)]
        styles = [style_of(quantity, unit_of(quantity)) for quantity in quantities]
        sheet = grid(name, ["Name", *map(label, words), *heads], widths)
        for row, steps in rows:
            live = (
                None if step is None else Formula(f"={self.cells.place(step)}", float(step.value), style)
                for step, style in zip(steps, styles, strict=True)
            )
            sheet.row(row.name, *(str(row.words.get(word, "")) for word in words), *live)
        sheet.close()

    def _words(self, sheet: str) -> list[str]:
        """The columns of a sheet that hold words: those in which any row has one."""
        found = dict.fromkeys(word for row, _ in self.tables[sheet] for word, said in row.words.items() if str(said))
        return [word for word in found if word in WORDS.get(sheet, found)]

    def _sensitivity(self, grid: Callable[..., Grid]) -> None:
        """What one input at a time does to a requirement, at the inputs with which the workbook was made."""
        heads = ("Requirement", "Input", "Of", "Value", "At its low end", "At its high end", "Unit", "Swing")
        sheet = grid("Sensitivity", heads, (15, 40, 22, 17, 20, 20, 11, 19))
        for one in self.plan.requirements:
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]:
                row = sheet.next + 1
                swing = Formula(f"=ABS(F{row} - E{row})", effect.swing)
                value = Figure(effect.value, style_of(effect.name, unit_of(effect.name)))
                shown = (effect.name, ", ".join(effect.rows), value, effect.at_low, effect.at_high)
                sheet.row(one.id, *shown, one.unit, swing)
        strike_columns(sheet, "Value", "Swing")
        sheet.close()

    def _checks(self, grid: Callable[..., Grid], lines: Mapping[str, int]) -> int:
        """One line per check; returns how many there are."""
        sheet = grid("Checks", ("Check", "What is expected", "Result"), (60, 60, 12))
        for name, expected, written in checks_of(self, lines):
            sheet.row(name, expected, Formula(written, "ok", "good"))
        count = sheet.next - 1
        failing = {"type": "cell", "criteria": "!=", "value": '"ok"', "format": sheet.styles["bad"]}
        sheet.sheet.conditional_format(1, 2, count, 2, failing)
        sheet.close()
        return count

    def table(self, sheet: str) -> str:
        """The table of the plan that a sheet shows."""
        return TABLE_SHEETS[sheet]

    def column(self, sheet: str, quantity: str) -> int:
        """The column of a quantity on its sheet, counted from nought."""
        return 1 + len(self._words(sheet)) + TABLES[TABLE_SHEETS[sheet]][1].index(quantity)


def behind_findings(plan: Plan) -> Iterator[Step]:
    """The quantities that checks follow."""
    for one in plan.findings:
        if one.is_checked:
            yield from (part for part in (one.value, one.limit) if isinstance(part, Step))


def evidence(item: Input) -> list[str]:
    """What a value was made from, where that is more than one figure."""
    parts = item.parts if len(item.parts) > 1 else ()
    shown = [f"{part.what}: {exact(part.value)} ({part.source}, {part.grade})" for part in parts[:MOST_PARTS]]
    return [*shown, *([f"and {len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else [])]


def quantity_head(quantity: str) -> str:
    """The heading of a column of numbers."""
    unit = unit_of(quantity)
    return label(quantity) if unit == "1" else f"{label(quantity)} ({unit})"


def shown_rows(plan: Plan, table: str) -> list[tuple[QuantityRow, list[Step | None]]]:
    """The rows of a table and the steps of its columns."""
    whose, quantities = TABLES[table]
    needed = NEEDED.get(table)
    rows = [row for row in plan.rows[whose] if needed is None or row.step(needed) is not None]
    return [(row, [row.step(quantity) for quantity in quantities]) for row in rows]
