"""What the documents of a plan have in common: clauses, sections, and the tables and charts that belong to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.accept import shown_by
from ingest.reports.charts.chart import Chart
from ingest.reports.document.model import Block, Bullets, Cover, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.document.tables import growth_table, tables_for, with_numbers
from ingest.reports.texts import texts
from ingest.requirement import INFORMATION
from ingest.site.planner import bandwidth_by_year
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm


class Composition:
    """The parts of one document of a plan.

    Args:
        kind: of the document, a key of `document.yaml`: `vendor` or `buyer`.
        plan: what to write about.
        charts: they are placed in the sections where they belong.
    """

    def __init__(self, kind: str, plan: Plan, charts: Sequence[Chart] = ()) -> None:
        self.kind, self.plan = kind, plan
        self.charts = {chart.name: chart for chart in charts}
        self.tests = shown_by(plan.requirements)
        self._looks: Mapping[str, Mapping[str, Any]] = texts("document")[kind]["sections"]
        self.clauses: Mapping[str, Any] = texts("document")[f"{kind}_clauses"]
        self.numbers = {name: str(number) for number, name in enumerate(self._looks, start=1)}

    def document(self, own: Mapping[str, Iterable[Block]]) -> Document:
        """The whole document.

        Args:
            own: by section, the blocks between its tables and its charts.
        """
        plan, facts = self.plan, self.plan.document
        sections = [self._section(name, own.get(name, ())) for name in self._looks]
        title = facts.title or f"Storage requirements of {plan.site.name}"
        reference = "-".join(_short(one) for one in (plan.input_hash, plan.catalog.content_hash()))
        look = texts("document")[self.kind]
        values = (
            ("title", title),
            ("site", plan.site.name),
            *((name, getattr(facts, name)) for name in (*texts("document")["cover"], "purchase")),
            ("version", __version__),
            ("catalogs", plan.catalog.content_hash()),
            ("input", plan.input_hash),
            *((one.id, one.display) for one in plan.requirements),
        )
        cover = Cover(look["kind"], facts.purchase, tuple(self._figures()), tuple(self._facts()))
        subtitle = look["subtitle"].format(version=__version__, reference=reference)
        return Document(title, subtitle, with_numbers(sections), values, cover, self.kind)

    def _figures(self) -> Iterator[tuple[str, str]]:
        """The main values of the cover."""
        binding = {one.id: one for one in self.plan.requirements if one.priority == "mandatory"}
        for name, what in texts("document")["figures"].items():
            if name in binding:
                yield display(binding[name].value, binding[name].unit, binary=False), what

    def _facts(self) -> Iterator[tuple[str, str]]:
        """The lines of the cover; vendors see a blank where the buyer has given nothing."""
        for name, heading in texts("document")["cover"].items():
            value = getattr(self.plan.document, name)
            if value or self.kind == "vendor":
                yield heading, value

    def _section(self, name: str, own: Iterable[Block]) -> DocumentSection:
        """The clause of the section, its tables, its own blocks, its charts."""
        look = self._looks[name]
        opening = [self.clause(name)] if isinstance(self.clauses.get(name), str) else []
        blocks = (*opening, *self._tables(look.get("tables", ())), *own, *self._charts(look.get("charts", ())))
        return DocumentSection(name, look["title"], blocks, look.get("letter", ""))

    def clause(self, name: str, lead: str = "", **values: object) -> Paragraph:
        """A clause with its values; `{section[name]}` is the number of a section."""
        return Paragraph(self.words(self.clauses[name], **values), lead)

    def bullets(self, name: str) -> Bullets:
        """A clause of several lines."""
        return Bullets(tuple(self.words(line) for line in self.clauses[name]))

    def words(self, text: str, **values: object) -> str:
        """A text with the numbers of sections and its values."""
        return text.format(section=self.numbers, **values)

    def _tables(self, names: Iterable[str]) -> Iterator[Table]:
        for name in names:
            look = texts("document")["tables"][name]
            rows = self.plan.tables.get(look.get("of", name), [])
            only = look.get("only")
            if only:
                rows = [{column: row[column] for column in only if column in row} for row in rows]
            columns, main = look["text_columns"], look.get("main_columns", ())
            yield from tables_for(look["caption"], rows, columns, look.get("headings", {}), main, look.get("widths", {}))

    def _charts(self, names: Iterable[str]) -> Iterator[Figure]:
        known = texts("document")["charts"]
        for name in names:
            if name in self.charts:
                chart = self.charts[name]
                yield Figure(chart, "; ".join(filter(None, (known[name]["caption"], chart.note))))

    def growth(self) -> Table:
        """The steps of growth."""
        reads = {one.year: one.reads for one in bandwidth_by_year(self.plan)}
        return growth_table(self.plan.tables.get("capacity", []), reads, self.plan.rounded)

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

    def terms(self, theme: str) -> list[ServiceTerm]:
        """The terms of a theme."""
        return [one for one in self.plan.service if one.theme == theme]

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


def _short(content_hash: str) -> str:
    """The beginning of a hash, enough to distinguish two documents."""
    return content_hash.rpartition(":")[2][:8]
