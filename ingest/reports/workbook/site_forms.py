"""The sheets of a site's workbook that people read, fill in and test by: results, requirements, response, acceptance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import ingest.formulas.acceptance_results  # noqa: F401  registers the formulas
from ingest.acceptance.loads import Setting
from ingest.acceptance.table import TOOL, TOOL_VERSION, job_file_of, rows_of, shown_by
from ingest.expression import cell
from ingest.formula import FORMULAS
from ingest.reports.labels import label, plain
from ingest.reports.workbook.grid import Entry, Figure, Formula, Grid, Item
from ingest.reports.workbook.readable import readable
from ingest.tender.fields import AS_IS, CHOICE, COUNT, FIELDS, NUMBER, OPTIMIZED, TEXT, Field
from ingest.units import display, scale_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from ingest.reports.workbook.site_book import SiteBook
    from ingest.requirement import Requirement

#: Where the id, the statement, the value and the unit of a requirement stand on the sheet Requirements.
ID, STATEMENT, VALUE, UNIT, LOW, HIGH = "A", "C", "D", "E", "F", "G"
#: Where the base value of a requirement stands on the sheet Results.
BASE_VALUE = "I"
#: Where the clients of a test stand on the sheet Acceptance.
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
#: A text in a formula may not be longer.
MOST_TEXT = 250
IN_UNIT, WHOLE = "a number in the unit of this line", "a whole number"
#: What a vendor's cell accepts, by the kind of its field.
RULES: Mapping[str, Mapping[str, Any] | None] = {
    NUMBER: {"validate": "decimal", "criteria": ">=", "value": 0, "error_message": IN_UNIT},
    COUNT: {"validate": "integer", "criteria": ">=", "value": 1, "error_message": WHOLE},
    TEXT: None,
}
#: The share by which a value of the response sheet is above what is required, and what it needs.
MARGIN = "acceptance_margin"
MARGINS = {
    AS_IS: "Margin of the as-is value (counts)",
    OPTIMIZED: "Margin of the optimized value (if the buyer says so)",
}


class Form(NamedTuple):
    """A sheet of requirements: the row of each id, and its cells as they are written, by heading."""

    rows: dict[str, int]
    cells: dict[str, dict[str, Any]]

    def keep(self, name: str, row: int, heads: Sequence[str], items: Sequence[Item]) -> None:
        """Remember a line; cells that others fill in are left out."""
        self.rows[name] = row
        shown = zip(heads, items, strict=True)
        self.cells[name] = {head: written(item) for head, item in shown if not isinstance(item, Entry)}


def written(item: Item) -> str | float | None:
    """What stands in a cell: a formula as it is written, a text, a number."""
    if isinstance(item, Formula):
        return item.written
    if isinstance(item, Figure):
        return item.value
    return None if isinstance(item, Entry) else item


def requirements(book: SiteBook, grid: Callable[..., Grid]) -> Form:
    """The sheet Requirements."""
    heads = ("Id", "Priority", "Statement", "Value", "Unit", "Low (P10)", "High (P90)", *CONDITIONS, "Test", "Assumptions")
    sheet = grid("Requirements", heads, (15, 12, 34, 22, 11, 17, 17, 10, 8, 9, 10, 11, 9, 9, 6, 14, 15, 13))
    form, tests = Form({}, {}), shown_by(book.plan.requirements)
    for one in book.plan.requirements:
        row = sheet.next + 1
        place = book.cells.place(book.plan.steps[one.id])
        value = Formula(f"={place}", one.value, "strong")
        conditions = {name: getattr(one.conditions, name) for name in CONDITIONS.values()}
        conditions["fill"] = Figure(one.conditions.fill, "share")
        said = statement(one, f"{VALUE}{row}")
        assumed = ", ".join(plain(name) for name in one.assumptions)
        ends = (one.low, one.high)
        shown = (*conditions.values(), tests.get(one.id, ""), assumed)
        items: tuple[Item, ...] = (one.id, one.priority, said, value, one.unit, *ends, *shown)
        form.keep(one.id, row, heads, items)
        sheet.row(*items)
    sheet.close()
    return form


def statement(one: Requirement, value: str) -> Item:
    """The sentence of a requirement with its number alive; plain text where the number does not stand in it."""
    shown = display(one.value, one.unit)
    before, found, after = one.statement.partition(shown)
    if not found:
        return one.statement
    parts = [*quoted(before), number_text(shown, one.value, one.unit, value), *quoted(after)]
    return Formula("=" + " & ".join(parts), one.statement, "text")


def quoted(text: str) -> list[str]:
    """Text as literals of a formula, none too long."""
    pieces = [text[start : start + MOST_TEXT] for start in range(0, len(text), MOST_TEXT)]
    return ['"' + piece.replace('"', '""') + '"' for piece in pieces]


def number_text(shown: str, value: float, unit: str, cell: str) -> str:
    """A displayed quantity as text that follows a cell: each of its numbers in the unit that stands behind it."""
    factors = [scale_of(value, unit, binary)[0] for binary in (False, True)]
    parts: list[str] = []
    rest = shown
    for factor in factors:
        match = re.search(r"\d[\d,]*(?:\.\d+)?", rest)
        if match is None:
            break
        decimals = len(match[0].partition(".")[2])
        parts += [*quoted(rest[: match.start()]), f"FIXED({cell} / {factor or 1}, {decimals})"]
        rest = rest[match.end() :]
        if not factor:
            break
    return " & ".join([*parts, *quoted(rest)])


def results(book: SiteBook, workbook: Workbook, grid: Callable[..., Grid], lines: Mapping[str, int], further: int) -> None:
    """The sheet Results, in units that people read, with `further` rows below for its charts."""
    heads = ("Id", "What", "Value", "Unit", "Low (P10)", "High (P90)", "Binary", "Unit", "Base value", "Base unit")
    sheet = grid("Results", heads, (16, 40, 20, 12, 20, 20, 14, 12, 28, 14))
    for one in book.plan.requirements:
        base, line = f"{BASE_VALUE}{sheet.next + 1}", lines[one.id]
        shown, binary = (readable(one.metric, one.value, one.unit, binary) for binary in (False, True))
        assert shown is not None
        ends = ((LOW, one.low), (HIGH, one.high))
        spread = (None if end is None else shown.cell(f"Requirements!${letter}${line}", end) for letter, end in ends)
        doubled = ("", "") if binary is None else (binary.cell(base, one.value), binary.unit)
        live = Formula(f"=Requirements!${VALUE}${line}", one.value, "base")
        strong = shown.cell(base, one.value, strong=True)
        sheet.row(one.id, label(one.metric), strong, shown.unit, *spread, *doubled, live, one.unit)
    sheet.close(further=further)
    workbook.define_name("results", f"=Results!${BASE_VALUE}$2:${BASE_VALUE}${sheet.next}")


def response(book: SiteBook, grid: Callable[..., Grid], lines: Mapping[str, int]) -> Form:
    """The sheet that a vendor fills in: only its yellow cells are open."""
    from xlsxwriter.utility import xl_col_to_name

    asked = ("Id", "Priority", "Requirement", "Required", "Unit")
    heads = (*asked, *(field.head for field in FIELDS), *MARGINS.values())
    sheet = grid("Vendor response", heads, (15, 12, 37, 23, 11, 9, 19, 19, 12, 8, 13, 14, 13, 18, 13, 14))
    form = Form({}, {})
    for one in book.plan.requirements:
        row, line = sheet.next + 1, lines[one.id]
        linked = [
            Formula(f"=Requirements!${STATEMENT}${line}", one.statement, "text"),
            Formula(f"=Requirements!${VALUE}${line}", one.value),
        ]
        fields = [Entry(None, rule_of(field), "input" if field.kind in (NUMBER, COUNT) else "entry") for field in FIELDS]
        required = f"{xl_col_to_name(asked.index('Required'))}{row}"
        margins = [margin(f"{xl_col_to_name(heads.index(head))}{row}", required) for head in MARGINS]
        items: tuple[Item, ...] = (one.id, one.priority, *linked, one.unit, *fields, *margins)
        form.keep(one.id, row, heads, items)
        sheet.row(*items)
    sheet.close()
    return form


def rule_of(field: Field) -> Mapping[str, Any] | None:
    """What a vendor's cell accepts."""
    return {"validate": "list", "source": list(field.choices)} if field.kind == CHOICE else RULES[field.kind]


def margin(offered: str, required: str) -> Formula:
    """The share by which an offered value is above what is required; nothing while there is none."""
    places = {"measured_rate": offered, "required_rate": required}
    share = cell(FORMULAS[MARGIN].tree(), places.__getitem__).removeprefix("=")
    return Formula(f'=IF(AND(COUNT({offered}) = 1, {required} > 0), {share}, "")', "", "share")


def acceptance(book: SiteBook, grid: Callable[..., Grid], lines: Mapping[str, int]) -> None:
    """What each test asks of its clients: threshold from the requirement, result to be filled in."""
    heads = ("Test", "Requirement", "Operation", "Pattern", "Clients", "Threads", "I/O size (B)", "Pass threshold", "Unit",
             "Duration (s)", "Tool", "Job file", "Runs", "Allowed deviation", "Result", "Remarks")  # fmt: skip
    sheet = grid("Acceptance", heads, (16, 15, 11, 11, 10, 10, 12, 21, 11, 11, 11, 29, 8, 12, 21, 27))
    usual = Setting()
    runs = (usual.repeats, Figure(usual.allowed_deviation, "share"))
    for one in rows_of(book.plan.requirements):
        load, row = one.load, sheet.next + 1
        each = f" * {CLIENTS}{row}" if one.line.unit.endswith("/node") else ""
        threshold = Formula(f"=Requirements!${VALUE}${lines[one.line.id]}{each}", load.threshold)
        how = (load.operation, load.pattern, load.clients, load.threads, load.io_bytes, threshold, load.unit, load.seconds)
        job = (f"{TOOL} {TOOL_VERSION}", job_file_of(one.test))
        sheet.row(one.test, one.requirement, *how, *job, *runs, Entry(None), Entry(None))
    sheet.close()
