"""Plans as documents: the buyer's own report and the tender, and what both have in common; pages as documents to file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.accept import KINDS_OF_TOOL, repeated, rows_of, shown_by
from ingest.acceptance.loads import Setting, kind_of
from ingest.accounting.result import days
from ingest.configuration import decimal_units
from ingest.engine.messages import fact_of
from ingest.engine.registry import is_quantity, solve, unit_of
from ingest.errors import listed
from ingest.reports.charts.chart import Chart, lacking
from ingest.reports.charts.usage import charts_of_usage
from ingest.reports.document.derivations import derivation_listings, place_of
from ingest.reports.document.markup import (
    Block,
    Bullets,
    Cover,
    Document,
    DocumentSection,
    Figure,
    Paragraph,
    Subheading,
    Table,
)
from ingest.reports.labels import capitalised, counted, is_share, label, line_heading, plain, span, texts
from ingest.reports.page import Page, Section
from ingest.reports.pages.acceptance import verdict_page, verdict_word
from ingest.reports.pages.plan import usage_page
from ingest.reports.pages.storage import flip_row, measured_first, turned
from ingest.requirement import INFORMATION, Requirement, is_of, said_of, theme_title
from ingest.rfp.award import Award
from ingest.site.plan import COLUMN_KINDS
from ingest.site.planner import bandwidth_by_year
from ingest.site.requirement_wording import LINES
from ingest.sizing.checkpoint import USUAL_READERS
from ingest.text import grouped
from ingest.units import display, request_size, stated
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.verdict import Verdict
    from ingest.accounting.result import Usage
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm
    from ingest.storage.fit_result import Fits

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
        title = plan.tender_title if self.kind == "vendor" else facts.title or f"Storage requirements of {plan.site.name}"
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
        draft = f"{self.texts['draft']} " if self.kind == "vendor" and plan.open_questions else ""
        subtitle = draft + look["subtitle"].format(version=__version__, reference=reference)
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
            return f"Verified by test {test}.{repeated(one, self.plan.requirements)}"
        return "" if one.priority == INFORMATION else "Verified by inspection."


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
    lines = [(one.id, one.priority, line_heading(one), required(one), "", "") for one in requirements]
    answers = [(one.id, "mandatory" if one.value else "answer", one.name, one.required, "", "") for one in terms]
    return form("response", (*lines, *answers))


#: Inputs of each requirement in the table of sensitivity.
MOST_EFFECTS = 2


@decimal_units()
def buyer_report(plan: Plan, charts: Sequence[Chart] = (), derivations: bool = True, found: Fits | None = None) -> Document:
    """The buyer's own report of a plan.

    Args:
        plan: of the site.
        charts: of the plan.
        derivations: whether the derivation of each value is an appendix.
        found: systems of which the report says what would change the verdict.
    """
    return BuyerReport("buyer", plan, charts).document(derivations, found)


class BuyerReport(Composition):
    """Writes the buyer's report of a plan."""

    def document(self, derivations: bool, found: Fits | None) -> Document:
        """The whole document; `found` are systems whose verdicts may turn."""
        plan = self.plan
        questions = [(one.key, one.question, one.suggested, one.reason) for one in plan.open_questions]
        terms = []
        for one in plan.service:
            # The value of a term, or that there is none and which one is suggested.
            lacking = f"open; suggested: {one.suggested}" if one.status == "open" else "to be stated by the Vendor"
            terms.append((f"{one.name} ({one.id})", one.key, one.value or lacking, capitalised(one.reason)))
        decided = [
            (one.id, "settled" if one.reason else "open", one.concerned, capitalised(one.why), one.reason or one.settle)
            for one in plan.decided
        ]
        own: dict[str, Iterable[Block]] = {
            "decisions": [form("decisions", decided)],
            "results": self._results(derivations),
            "questions": [form("questions", questions) if questions else self.clause("no_questions")],
            "cautions": [Bullets(plan.warnings) if plan.warnings else self.clause("no_cautions")],
            "growth": [self.growth(), *self._stated(self.requirements("growth"))] if "growth" in self.numbers else [],
            "protocols": [form("buyer_terms", terms) if terms else self.clause("no_terms")],
            "assumptions": self._assumptions(found),
            "sources": self._sources(),
        }
        themes = ("performance", "checkpoints", "guidance", "metadata", "capacity", "resilience")
        own |= {name: self._themes(name) for name in themes}
        if derivations:
            own["derivations"] = [self.clause("derivation_rule"), *derivation_listings(plan)]
            return self.composed(own)
        made = self.composed(own)
        return made._replace(sections=tuple(one for one in made.sections if one.name != "derivations"))

    def _results(self, derivations: bool) -> Iterator[Block]:
        plan = self.plan
        counts = Counter(one.priority for one in plan.requirements)
        yield self.clause(
            "summary",
            mandatory=counted(counts["mandatory"], "mandatory requirement"),
            targets=counted(counts["target"], "target"),
            information=counted(counts[INFORMATION], "line") + " for information",
            assumed=counted(len(plan.assumptions), "assumed value"),
            questions=counted(len(plan.open_questions), "question"),
            cautions=counted(len(plan.warnings), "caution"),
        )
        yield form(
            "glance",
            ((one.id, one.priority, line_heading(one), one.display, spread(one)) for one in plan.requirements),
        )
        yield self.clause("range")
        if not derivations:
            yield self.clause("derivations_apart")

    def _themes(self, section: str) -> Iterator[Block]:
        """The requirements of a section, theme by theme."""
        if section == "checkpoints":
            # Who reads a checkpoint in a restore, by the jobs.
            saved = ((name, job.get("checkpoint")) for name, job in self.plan.site.section("jobs").items())
            jobs = grouped((kept.get("readers", USUAL_READERS), name) for name, kept in saved if kept is not None)
            for readers, names in jobs.items():
                yield Paragraph(self.clauses["restore"][readers].format(jobs=listed(names)), "Restore.")
        themes: Sequence[str] = self._looks[section].get("themes", ())
        for theme in themes:
            stated = self.requirements(section, theme)
            if stated and len(themes) > 1:
                yield Subheading(theme_title(theme, self.plan.kinds))
            yield from self._stated(stated)

    def _stated(self, requirements: Iterable[Requirement]) -> Iterator[Block]:
        """Each requirement with its reason, its range, its test and its assumed values."""
        for one in requirements:
            limited = f"Limited by what its clients draw: {one.limited_by}." if one.limited_by else ""
            rest = [one.remark, limited, one.rationale, self.verification(one)]
            if spread(one):
                rest.append(f"Range (P10 to P90): {spread(one)}.")
            if one.assumptions:
                rest.append(f"Depends on assumed values: {', '.join(plain(name) for name in one.assumptions)}.")
            yield Paragraph(one.statement, f"{one.id} ({one.priority}).")
            if said := " ".join(filter(None, rest)):
                yield Paragraph(said, small=True)

    def _assumptions(self, found: Fits | None) -> Iterator[Block]:
        assumed = []
        for one in self.plan.assumed:
            value = quantity_text(one["name"], one["value"], one["unit"])
            assumed.append((label(one["name"]), value, capitalised(fact_of(one["why"]))))
        yield self.clause("assumed", count=len(assumed))
        yield form("assumptions", assumed)
        # The inputs with the largest effect on each requirement, one at a time.
        rows = []
        for line in self.plan.requirements:
            for effect in self.plan.sensitivity(line.id)[:MOST_EFFECTS]:
                ends = (display(end, line.unit, binary=False) for end in (effect.at_low, effect.at_high))
                rows.append((line.id, label(effect.name), ", ".join(effect.rows), *ends))
        if rows:
            yield self.clause("sensitivity")
            yield form("sensitivity", rows)
        if found is not None and (judged := turned(found.flips, found.systems)):
            yield self.clause("flips")
            notes = [f"{one.name}: {note}" for one in judged for note in one.notes]
            measured = " · ".join(measured_first(found.flips))
            yield Bullets(tuple(filter(None, (*(one.first for one in judged), measured, *notes))))
            rows = [(one.name, *flip_row(flip)) for one in judged for flip in one.nearest]
            if rows:
                yield form("flips", rows)

    def _sources(self) -> Iterator[Block]:
        plan = self.plan
        yield form("sources", ((one["id"], one["title"], place_of(one["where"])) for one in plan.sources))
        if plan.lacking:
            yield Paragraph("", "Identifiers that this site does not use.")
            yield Bullets(tuple(f"{name}: {fact_of(why)}" for name, why in plan.lacking.items()))
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site description {plan.input_hash}"
        yield Paragraph(full, "Made with.")


def spread(one: Requirement) -> str:
    """Low to high, or nothing where they print the same."""
    return span(one.low, one.high, one.unit, " to ")


@decimal_units()
def tender_document(plan: Plan, charts: Sequence[Chart] = ()) -> Document:
    """The tender of a plan, with the charts that vendors need."""
    return TenderDocument("vendor", plan, charts).document()


class TenderDocument(Composition):
    """Writes the tender of a plan. It names no assumption, no range, no margin and no note of the buyer's."""

    def document(self) -> Document:
        """The whole document."""
        # The values that are not required, but that a requirement names.
        lines = [one for one in self.plan.vendor_lines if one.priority == INFORMATION]
        described = [(one.id, line_heading(one), required(one)) for one in lines]
        own: dict[str, Iterable[Block]] = {
            "instructions": self._instructions(),
            "workloads": [form("information", described)] if described else [],
            "growth": [self.growth(), *self._stated(self.requirements("growth"))] if "growth" in self.numbers else [],
            "acceptance": self._acceptance(),
            "response": [response_table(self._lines, self.terms)],
            "scope": [form("terms", self.texts["clauses"]["terms"].items()), self.clause("units", lead="Units.")],
        }
        themes = ("performance", "checkpoints", "guidance", "metadata", "capacity", "resilience", "protocols", "commercial")
        return self.composed(own | {name: self._themes(name) for name in themes})

    def _instructions(self) -> Iterator[Block]:
        facts, counts = self.plan.document, Counter(one.priority for one in self.plan.requirements)
        yield self.clause(
            "answers",
            mandatory=counted(counts["mandatory"], "mandatory requirement"),
            targets=counted(counts["target"], "target"),
            terms=counted(len(self.terms), "term"),
        )
        for name in ("answers_by", "contact"):
            if getattr(facts, name):
                yield self.clause(f"{name}_given", **{name: getattr(facts, name)})
        yield Paragraph("", "An offer consists of:")
        yield Bullets(tuple(map(self.words, self.clauses["offer"])))
        yield form("keywords", ((word, self.words(meaning)) for word, meaning in self.clauses["keywords"].items()))
        yield self.clause("values", lead="Values.")
        if award := Award.of(self.plan.site.section("award"), self.plan.years):
            yield self.clause("award", lead="Award.", years=str(award.years))
            yield form(
                "award",
                ((name, f"{value:g}" if isinstance(value, float) else str(value), how) for name, value, how in award.rows()),
            )

    def _themes(self, section: str) -> Iterator[Block]:
        """Requirements and terms, theme by theme."""
        themes: Sequence[str] = self._looks[section].get("themes", ())
        found: dict[str, list[Block]] = {}
        for theme in themes:
            blocks = [*self._stated(self.requirements(section, theme))]
            terms = [one for one in self.terms if one.theme == theme]
            if terms:
                rows = ((one.id, one.name, one.text, capitalised(one.verification)) for one in terms)
                blocks.append(form("service_terms", rows)._replace(caption=f"Terms: {theme_title(theme, self.plan.kinds)}"))
            if blocks:
                found[theme] = blocks
        if not found:
            yield self.clause("no_terms")
        for theme, blocks in found.items():
            if len(themes) > 1:
                yield Subheading(theme_title(theme, self.plan.kinds))
            yield from blocks

    def _stated(self, requirements: Iterable[Requirement]) -> Iterator[Block]:
        """Each requirement with its reason and its test."""
        for one in requirements:
            if one.priority != INFORMATION:
                yield Paragraph(one.statement, f"{one.id} ({one.priority}).")
                yield Paragraph(" ".join(filter(None, (one.rationale, self.verification(one)))), small=True)

    def _acceptance(self) -> Iterator[Block]:
        for name in ("tests", "passing", "clients_of_tests"):
            yield self.clause(name, deviation=f"{Setting().allowed_deviation * 100:.3g} %")
        yield acceptance_table(self.plan.requirements)
        untested = [one for one in self._lines if one.id not in self.tests]
        if untested:
            how = {line.id: line.inspected for line in LINES}
            yield self.clause("inspection")
            yield form("inspection", ((one.id, line_heading(one), required(one), how[one.id]) for one in untested))


@decimal_units()
def response_document(page: Page, subtitle: str) -> Document:
    """The page of one offer or of several as a document; the subtitle says what it was made from."""
    sections, captions = [], texts("document")["offers"]
    for number, section in enumerate(page.sections, start=1):
        caption = captions[section.title.partition(" ")[0].rstrip(",")] if section.rows else ""
        blocks = tuple(_blocks(section, caption, tuple(map(capitalised, section.columns))))
        sections.append(DocumentSection(f"part-{number}", section.title or "Verdict", blocks))
    signed = form("signed", ((one, "") for one in texts("document")["signed"]))
    title, said = page.title, subtitle
    if "offer" in page.sections[0].columns:
        title, said = "Comparison of offers", f"{page.title}. {subtitle}"
    return Document(title, said, (*sections, DocumentSection("decision", "Decision of the Buyer", (signed,))))


@decimal_units()
def verdict_document(answer: Verdict) -> Document:
    """The sections of the page of a verdict as a document, the word in its title."""
    sections = [
        DocumentSection("", one.title, tuple(_blocks(one, one.title, tuple(head.capitalize() for head in one.columns))))
        for one in verdict_page(answer).sections
    ]
    title = f"{verdict_word(answer)}: acceptance of {answer.manifest.site}"
    rehearsal = "Rehearsal on one machine, which proves no requirement of the whole system. " if answer.rehearsal else ""
    return Document(title, f"{rehearsal}{answer.counted}. Made by ingest {__version__}.", tuple(sections))


def _blocks(section: Section, caption: str, heads: tuple[str, ...]) -> Iterator[Block]:
    if section.rows:
        yield Table(caption, heads, section.rows, tuple(3.0 if head == "Requirement" else 1.0 for head in heads))
    if section.lines:
        yield Bullets(section.lines)


@decimal_units()
def usage_document(answer: Usage) -> Document:
    """The report of a history."""
    begin, finish = answer.window
    page, looks = usage_page(answer), texts("document")["usage"]
    sections = []
    for number, section in enumerate(page.sections, start=1):
        title = section.title or looks["untitled"]
        one = section._replace(rows=tuple((capitalised(str(first)), *more) for first, *more in section.rows))
        blocks = _blocks(one, title, tuple(looks["heads"].get(one.title) or map(capitalised, one.columns)))
        sections.append(DocumentSection(f"part-{number}", title, tuple(blocks)))
    why = lacking()
    figures: tuple[Block, ...] = (Paragraph(f"The document has no charts, {why}."),)
    if not why:
        figures = tuple(
            Figure(chart, caption) for chart, caption in zip(charts_of_usage(answer), looks["figures"], strict=False)
        )
    sections.insert(1, DocumentSection("charts", "Charts", figures))
    local = "; times are those of the site's clock" if answer.runs.local else ""
    said = f"From an accounting history of {days(begin)} to {days(finish)}{local}. Made by ingest {__version__}."
    return Document(f"{page.title}: {page.answer}", said, tuple(sections))
