"""What the documents of a plan have in common: clauses, sections, tables that fit a page, and the charts of each section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.accept import KINDS_OF_TOOL, rows_of, shown_by
from ingest.acceptance.loads import Setting, kind_of
from ingest.engine.registry import is_quantity, solve, unit_of
from ingest.errors import listed
from ingest.reports.charts.chart import Chart
from ingest.reports.document.model import Block, Cover, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.labels import is_share, label, texts
from ingest.requirement import INFORMATION, Requirement, is_of, said_of
from ingest.site.plan import COLUMN_KINDS
from ingest.site.planner import bandwidth_by_year
from ingest.units import display, request_size, stated
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm

#: Columns that fit a page, and rows per table where a wider table is turned.
MOST_COLUMNS, BESIDE = 8, 5
#: Rows that are turned; more are a list with the main columns only.
MOST_TURNED = 20
#: Lines that hold for the last step of growth.
STEPPED = ("R-CAP-01", "R-CAP-03", "R-META-03", "R-END-01")
#: Rates below this are shown as the time between two events.
RARE = 1e-3


class Composition:
    """The parts of one document of a plan, of a kind that `document.yaml` has: `vendor` or `buyer`.

    Charts are placed in the sections where they belong.
    """

    def __init__(self, kind: str, plan: Plan, charts: Sequence[Chart] = ()) -> None:
        self.kind, self.plan, self.texts = kind, plan, texts("document")
        self.charts = {chart.name: chart for chart in charts}
        self.tests = shown_by(plan.requirements)
        #: the terms that the document states theme by theme: the buyer's report lists all of them in one table
        self.terms: Sequence[ServiceTerm] = plan.vendor_terms if kind == "vendor" else ()
        looks: Mapping[str, Mapping[str, Any]] = self.texts[kind]["sections"]
        self._looks = {name: look for name, look in looks.items() if self._has(look)}
        #: the sections of other sites, which a template may have fields for
        self._absent = tuple(name for name in looks if name not in self._looks)
        self.clauses: Mapping[str, Any] = self.texts[f"{kind}_clauses"]
        self.numbers = {name: str(number) for number, name in enumerate(self._looks, start=1)}

    def _has(self, look: Mapping[str, Any]) -> bool:
        """Whether the document has a section: of its kinds of load, with a requirement or a term, with a decision."""
        if look.get("decides"):
            return bool(self.plan.decided)
        themes = look.get("themes", ())
        stated = not {one.theme for one in self._lines}.union(one.theme for one in self.terms).isdisjoint(themes)
        return is_of(look.get("of", ""), self.plan.kinds) and (stated or not look.get("optional"))

    @property
    def _lines(self) -> Sequence[Requirement]:
        """The lines that the document states: vendors read no line for information in a section of requirements."""
        return [one for one in self.plan.requirements if self.kind == "buyer" or one.priority != INFORMATION]

    def composed(self, own: Mapping[str, Iterable[Block]]) -> Document:
        """The whole document; `own` are by section the blocks between its tables and its charts."""
        plan, facts, look = self.plan, self.plan.document, self.texts[self.kind]
        title = facts.title or f"Storage requirements of {plan.site.name}"
        # The beginnings of two hashes are enough to distinguish two documents.
        hashes = (plan.input_hash, plan.catalog.content_hash())
        reference = "-".join(one.rpartition(":")[2][:8] for one in hashes)
        values = (
            ("title", title),
            ("site", plan.site.name),
            *((name, getattr(facts, name)) for name in (*self.texts["cover"], "purchase")),
            ("version", __version__),
            ("catalogs", hashes[1]),
            ("input", hashes[0]),
            *((one.id, one.display) for one in plan.requirements),
        )
        figures = (
            (display(one.value, one.unit, binary=False), one.load or what)
            for operation, what in self.texts["figures"].items()
            if (one := plan.headline.get(operation)) is not None
        )
        lines = ((heading, getattr(facts, name)) for name, heading in self.texts["cover"].items())
        # Vendors see a blank where the buyer has given nothing.
        shown = ((heading, value) for heading, value in lines if value or self.kind == "vendor")
        cover = Cover(look["kind"], facts.purchase, tuple(figures), tuple(shown))
        subtitle = look["subtitle"].format(version=__version__, reference=reference)
        counts = Counter[str]()
        sections = tuple(self._section(name, own.get(name, ()), counts) for name in self._looks)
        # A field of a template for a section that concerns other sites is filled with nothing.
        return Document(title, subtitle, sections, (*values, *((name, "") for name in self._absent)), cover, self.kind)

    def _section(self, name: str, own: Iterable[Block], counts: Counter[str]) -> DocumentSection:
        """The clause of the section, its tables, its own blocks, its charts; tables and figures are numbered by `counts`."""
        look = self._looks[name]
        opening = [self.clause(name)] if name in self.clauses and self.said(self.clauses[name]) else []
        charts = [self.charts[one] for one in look.get("charts", ()) if one in self.charts]
        notes = [(self.said(self.texts["charts"][chart.name]["caption"]), chart.note) for chart in charts]
        figures = [Figure(chart, "; ".join(filter(None, note))) for chart, note in zip(charts, notes, strict=True)]
        blocks: list[Block] = []
        for block in (*opening, *self._tables(look.get("tables", ())), *own, *figures):
            if isinstance(block, (Table, Figure)):
                kind = type(block).__name__
                counts[kind] += 1
                blocks.append(block._replace(caption=f"{kind} {counts[kind]}: {block.caption}"))
            else:
                blocks.append(block)
        return DocumentSection(name, self.said(look["title"]), tuple(blocks), look.get("letter", ""))

    def _tables(self, names: Iterable[str]) -> Iterator[Table]:
        for name in names:
            look = self.texts["tables"][name]
            lacking = {column for column, kind in COLUMN_KINDS.items() if kind not in self.plan.kinds}
            found = self.plan.tables.get(look.get("of", name), [])
            rows = [{column: value for column, value in row.items() if column not in lacking} for row in found]
            only = look.get("only")
            if only:
                rows = [{column: row[column] for column in only if column in row} for row in rows]
            yield from tables_of(look, rows)

    def clause(self, name: str, lead: str = "", **values: object) -> Paragraph:
        """A clause with its values; `{section[name]}` is the number of a section."""
        return Paragraph(self.words(self.clauses[name], **values), lead)

    def words(self, text: str | Sequence[str | Mapping[str, Any]], **values: object) -> str:
        """What a text says of this site, with the numbers of sections and its values."""
        stepped = [one.id for one in self._lines if one.id in STEPPED]
        return self.said(text).format(section=self.numbers, inspected=listed(stepped), **values)

    def said(self, text: str | Sequence[str | Mapping[str, Any]]) -> str:
        """A text without its parts about kinds of load that the site lacks."""
        return said_of(text, self.plan.kinds)

    def growth(self) -> Table:
        """Required capacity and bandwidth by year, the trigger of each step, and a column for its price."""
        reads = {one.year: one.reads for one in bandwidth_by_year(self.plan)}
        rows, most = [], None
        for step, year in enumerate(self.plan.tables.get("capacity", [])):
            held = year["year_usable_bytes"]
            if most is None:
                trigger = "delivery"
            elif held <= most:
                trigger = "none: no more capacity than before"
            else:
                trigger = f"start of {year['name']}, or the fill limit reached before"
            most = held if most is None else max(most, held)
            sizes = (self.plan.rounded(size) for size in (held, year["year_capacity_to_buy"]))
            rate = reads.get(year["name"])
            shown = "" if rate is None else display(rate, "B/s", binary=False)
            rows.append(
                (str(step), str(year["name"]), *(display(size, "B", binary=False) for size in sizes), shown, trigger, "")
            )
        return form("growth", rows)

    def themes(self, section: str) -> Sequence[str]:
        """The themes of a section."""
        found: Sequence[str] = self._looks[section].get("themes", ())
        return found

    def requirements(self, section: str, theme: str = "") -> list[Requirement]:
        """The requirements that a section states, of one theme; a section that names beginnings of ids takes those lines."""
        beginnings = {name: tuple(look.get("states", ())) for name, look in self._looks.items()}
        listed = tuple(start for starts in beginnings.values() for start in starts)
        if beginnings[section]:
            return [one for one in self.plan.requirements if one.id.startswith(beginnings[section])]
        return [one for one in self.plan.requirements if one.theme == theme and not one.id.startswith(listed)]

    def verification(self, one: Requirement) -> str:
        """How a requirement is verified."""
        test = self.tests.get(one.id)
        if test is not None:
            return f"Verified by test {test}."
        return "" if one.priority == INFORMATION else "Verified by inspection."


def counted(number: int, what: str) -> str:
    """So many of something.

    >>> counted(0, "target"), counted(1, "target"), counted(9, "target")
    ('no target', '1 target', '9 targets')
    """
    return f"{number or 'no'} {what}{'s' if number > 1 else ''}"


def tables_of(look: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Rows of plain values in base units as text, with the columns that any row has, as `document.yaml` has the table.

    Text is shown of the columns that it lists; others would repeat what another table says. A table wider than a page is
    turned: quantities as lines, `BESIDE` rows in each table. With too many rows for that, it lists its main columns only.
    """
    caption, words, widths = look["caption"], look["text_columns"], look.get("widths", {})
    known = {column for row in rows for column, value in row.items() if value is not None and is_quantity(column)}
    columns = tuple(dict.fromkeys(column for row in rows for column in row if column in words or column in known))
    if all(column in words for column in columns):
        return []
    main = look.get("main_columns", ())
    if main and len(columns) > MOST_COLUMNS and len(rows) > MOST_TURNED:
        columns = tuple(column for column in main if column in columns)
        caption = f"{caption}, main values; all others are in the workbook"
    named = {column: look.get("headings", {}).get(column) or label(column) for column in columns}
    if len(columns) <= MOST_COLUMNS:
        shown = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows)
        shares = tuple(widths.get(column, 1.0) for column in columns) if widths else ()
        return [Table(caption, tuple(named.values()), shown, shares)]
    turned = []
    for start in range(0, len(rows), BESIDE):
        group = rows[start : start + BESIDE]
        top, *lines = ((head, *(_cell(column, row.get(column)) for row in group)) for column, head in named.items())
        kept, shares = tuple(line for line in lines if any(line[1:])), (1.6, *(1.0,) * len(group))
        turned.append(Table(f"{caption} (continued)" if start else caption, top, kept, shares, turned=True))
    return turned


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return quantity_text(column, value, unit_of(column)) if is_quantity(column) else f"{value:,}"


def quantity_text(name: str, value: float, unit: str) -> str:
    """A value as text: shares in percent, rare events as the time between two.

    >>> quantity_text("fill_limit", 0.8, "1"), quantity_text("data_copies", 2, "1")
    ('80 %', '2')
    >>> quantity_text("failures_per_node_second", 7.523148148e-08, "1/s/node")
    'one in 153.8 days'
    >>> quantity_text("readers_per_gpu", 2, "1/GPU")
    '2 per GPU'
    """
    if is_share(name, unit):
        return f"{value * 100:.3g} %"
    if unit.startswith("1/s") and 0 < value < RARE:
        return f"one in {display(1 / value, 's')}"
    if unit.startswith("1/") and not unit.startswith("1/s"):
        return f"{value:,.4g} per {unit.removeprefix('1/')}"
    return display(value, unit, binary=False)


def form(name: str, rows: Iterable[Sequence[str]]) -> Table:
    """A table whose caption and columns `document.yaml` lists under `forms`."""
    look = texts("document")["forms"][name]
    heads = tuple(head for head, *_ in look["columns"])
    widths = tuple(width for _, *own in look["columns"] for width in own)
    return Table(look["caption"], heads, tuple(map(tuple, rows)), widths)


def required(one: Requirement) -> str:
    """The required value in the unit in which people read it."""
    return display(one.value, one.unit, binary=False)


def acceptance_table(requirements: Sequence[Requirement]) -> Table:
    """Load, repetitions and tools of each test."""
    rows = []
    for row in rows_of(requirements):
        load = row.load
        size = request_size(load.io_bytes) if load.io_bytes else ""
        runs = " × ".join(filter(None, (str(Setting().repeats), display(load.seconds, "s") if load.seconds else "")))
        tools = ", ".join(tool for tool, kinds in KINDS_OF_TOOL.items() if kind_of(row.line) in kinds)
        groups = row.line.conditions.client_groups
        several = f" ({', '.join(one.words() for one in groups)})" if len(groups) > 1 else ""
        counts = f"{load.clients:,}{several} × {load.threads:,} × {load.depth:,}"
        how = (f"{load.pattern} {load.operation}".strip(), counts, size, runs, tools)
        usual = {"required_rate": load.threshold, "allowed_deviation": Setting().allowed_deviation}
        least = float(solve("accepted_rate", usual))
        rows.append((row.test, row.line.id, *how, stated(load.threshold, load.unit), display(least, load.unit, binary=False)))
    return form("acceptance", rows)


def response_table(requirements: Sequence[Requirement], terms: Sequence[ServiceTerm]) -> Table:
    """The lines of the form that vendors fill in: requirements that bind an offer, and terms that the tender states."""
    lines = [(one.id, one.priority, label(one.metric), required(one), "", "") for one in requirements]
    answers = [(one.id, "mandatory" if one.value else "answer", one.name, one.value or "", "", "") for one in terms]
    return form("response", (*lines, *answers))
