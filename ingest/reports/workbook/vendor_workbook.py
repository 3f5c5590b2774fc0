"""The workbook that goes out to vendors: requirements, response form, acceptance tests and terms, as values.

It is written from what a vendor may know, not cut from the buyer's workbook: no inputs, ranges, assumptions or warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.acceptance.accept import job_file_of, rows_of, shown_by
from ingest.acceptance.loads import Setting
from ingest.configuration import decimal_units
from ingest.files import garbage_collection_paused
from ingest.reports.texts import texts
from ingest.reports.workbook.response_sheet import response_sheet
from ingest.reports.workbook.sheet import CellContent, EntryCell, NumberCell, SheetWriter, display_unit, seen
from ingest.reports.workbook.styles import layouts
from ingest.reports.workbook.workbook_writer import FREE, SECTION, TITLE, WorkbookWriter
from ingest.requirement import INFORMATION, THEMES
from ingest.rfp.response_form import FORMAT_PROPERTY, PRICES_SHEET, REQUIREMENTS_SHEET
from ingest.site.load_conditions import latency_in_words
from ingest.site.planner import bandwidth_by_year
from ingest.site.requirement_wording import LINES
from ingest.units import display, request_size
from ingest.version import FORMAT

if TYPE_CHECKING:
    from ingest.acceptance.accept import LoadRow
    from ingest.requirement import Conditions
    from ingest.site.plan import Plan
    from ingest.site.service import DocumentFacts, ServiceTerm

#: Terms of the document that this workbook does not use.
UNUSED = ("range",)
#: Among the properties of the file.
ABOUT = "Fill in the yellow cells of the sheet Vendor response and return the whole workbook."


@decimal_units()
def vendor_workbook(plan: Plan) -> bytes:
    """The workbook of a plan for vendors."""
    with garbage_collection_paused():
        title = plan.document.title or f"Storage requirements of {plan.site.name}"
        book = WorkbookWriter(title, layouts("vendor"), about=ABOUT)
        book.book.set_custom_property(FORMAT_PROPERTY, FORMAT)
        cover(title, plan.document, book)
        requirements(plan, book)
        response_sheet(plan, book)
        acceptance(plan, book)
        terms(plan.vendor_terms, book)
        prices(plan, book)
        for sheet in book.sheets.values():
            sheet.protect("", FREE)
        book.sheets["Read-me"].activate()
        return book.content()


def cover(title: str, facts: DocumentFacts, book: WorkbookWriter) -> None:
    """The first sheet: who buys, until when, what is bought, how to fill in, and what the sheets hold."""
    sheet = book.sheet("Read-me")
    given = {"Buyer": facts.buyer, "Reference": facts.reference, "Issued": facts.issued, "Offers by": facts.answers_by,
             "Contact": facts.contact, "What is bought": facts.purchase}  # fmt: skip
    for name, text in given.items():
        if text:
            sheet.row(name, text)
    own = texts("workbook")["texts"]["vendor"]
    add_section(sheet, "How to fill in")
    for line in own["steps"]:
        sheet.row("", line)
    add_section(sheet, "Sheets")
    for name, text in own["sheets"].items():
        sheet.row(name, text)
    sheet.close()
    add_title(sheet, title)


def add_title(sheet: SheetWriter, title: str) -> None:
    """Write the title of a sheet across its columns, in place of the headings."""
    last = len(sheet.layout.widths) - 1
    sheet.sheet.merge_range(0, 0, 0, last, seen(title), sheet.styles["title"])
    sheet.sheet.set_row(0, TITLE)


def add_section(sheet: SheetWriter, heading: str) -> None:
    """Write the heading of a section, with room above it."""
    row = sheet.row(heading, text="section")
    sheet.sheet.set_row(row - 1, SECTION)


def requirements(plan: Plan, book: WorkbookWriter) -> None:
    """The sheet Requirements, each value in the unit in which people read it."""
    sheet = book.sheet(REQUIREMENTS_SHEET)
    tests = shown_by(plan.requirements)
    inspected = {line.id: line.inspected for line in LINES}
    for one in plan.vendor_lines:
        verified = f"test {tests[one.id]}" if one.id in tests else f"inspection: {inspected[one.id]}"
        shown = display_unit(one.metric, one.value, one.unit)
        assert shown is not None
        required = NumberCell(one.value / shown.factor, "strong")
        how = ("not verified" if one.priority == INFORMATION else verified, one.conditions.clients)
        before = (one.id, THEMES[one.theme], one.priority, one.statement, required, shown.unit)
        sheet.row(*before, *how, conditions_in_words(one.conditions))
    sheet.close()


def conditions_in_words(one: Conditions) -> str:
    """Under which a value holds, in one line; the number of clients has a column of its own.

    >>> from ingest.requirement import Conditions
    >>> reads = Conditions("read", clients=16, threads=32, queue_depth=512, io_size=2**20, pattern="sequential", duration=1800)
    >>> conditions_in_words(reads)
    'sequential 1 MiB read; 32 threads per client; at most 512 outstanding requests in all; for 30 min'
    """
    return "; ".join(_conditions(one))


def _conditions(one: Conditions) -> Iterator[str]:
    if one.mix:
        yield f"by bytes {one.mix_in_words}"
    elif one.operation != "hold":
        size = request_size(one.io_size) if one.io_size else ""
        yield " ".join(filter(None, (one.pattern, size, one.operation)))
    if one.threads:
        yield f"{one.threads:,} threads per client"
    if one.queue_depth:
        yield f"at most {one.queue_depth:,} outstanding requests in all"
    if one.latency_99:
        yield f"99 % within {latency_in_words(one.latency_99)}"
    if one.files:
        yield one.files
    if one.duration:
        yield f"for {display(one.duration, 's')}"
    if one.fill:
        yield f"at {one.fill * 100:.4g} % fill"
    if one.cache:
        yield one.cache.partition(":")[0]  # the sheet Terms defines it


def acceptance(plan: Plan, book: WorkbookWriter) -> None:
    """The sheet Acceptance: load, threshold and repetitions of each test."""
    sheet, usual = book.sheet("Acceptance"), Setting()
    for one in rows_of(plan.requirements):
        sheet.row(one.test, one.requirement, *_load(one), usual.repeats, NumberCell(usual.allowed_deviation, "share"),
                  job_file_of(one.test))  # fmt: skip
    sheet.close()


def _load(row: LoadRow) -> Iterator[CellContent]:
    """The load and the threshold of a test, in the units in which people read them."""
    load = row.load
    yield from (f"{load.pattern} {load.operation}".strip(), request_size(load.io_bytes) if load.io_bytes else "")
    yield from (load.clients, load.threads, load.depth)
    yield latency_in_words(load.latency_99) if load.latency_99 else ""
    shown = display_unit("", load.threshold, load.unit)
    assert shown is not None
    yield from (NumberCell(load.threshold / shown.factor, "strong"), shown.unit)
    yield display(load.seconds, "s") if load.seconds else ""


def prices(plan: Plan, book: WorkbookWriter) -> None:
    """The sheet Prices: the whole capacity at once, the steps of growth, and what goes with them, a line each."""
    sheet, words = book.sheet(PRICES_SHEET), texts("workbook")["texts"]["vendor"]["prices"]
    reads = {one.year: one.reads for one in bandwidth_by_year(plan)}
    years = [(year["name"], year["year_capacity_to_buy"]) for year in plan.tables.get("capacity", ())]
    steps = [(words["step"].format(step=step, year=year), size, reads.get(year)) for step, (year, size) in enumerate(years)]
    first = next(iter(reads.values()), None)
    whole = [(words["all"], max(size for _, size in years), first)] if years else []
    for item, size, rate in (*whole, *steps):
        sheet.row(item, *_amount(plan.rounded(size), "B"), *_amount(rate, "B/s"), EntryCell(None), EntryCell(None))
    for item in words["others"]:
        sheet.row(item, *(EntryCell(None) for _ in range(6)))
    sheet.close()


def _amount(value: float | None, unit: str) -> tuple[CellContent, CellContent]:
    """A value in the unit in which people read it."""
    shown = None if value is None else display_unit("", value, unit)
    return (None, None) if shown is None or value is None else (NumberCell(value / shown.factor, "strong"), shown.unit)


def terms(service: Sequence[ServiceTerm], book: WorkbookWriter) -> None:
    """The sheet Terms: the words that bind, the definitions, the rules of the tests, and the terms of the service."""
    sheet, own, shared = book.sheet("Terms"), texts("workbook")["texts"]["terms"], texts("document")["clauses"]["terms"]
    defined = {term: meaning for term, meaning in shared.items() if term not in UNUSED}
    for heading, lines in {"Key words": own["keywords"], "Definitions": defined, "Tests": own["tests"]}.items():
        add_section(sheet, heading)
        for term, meaning in lines.items():
            sheet.row(term, meaning)
    for theme, title in THEMES.items():
        stated = [one for one in service if one.theme == theme]
        if stated:
            add_section(sheet, title)
        for one in stated:
            sheet.row(f"{one.id} {one.name}", one.text, one.verification)
    sheet.close()
