"""A plan as a tender: what vendors receive. It names no assumption, no range, no margin and no note of the buyer's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.acceptance.loads import Setting
from ingest.configuration import decimal_units
from ingest.reports.charts.chart import Chart
from ingest.reports.document.composition import Composition, counted
from ingest.reports.document.model import Block, Document, Paragraph, Subheading
from ingest.reports.document.tables import (
    acceptance_table,
    form,
    inspection_table,
    required,
    response_table,
    terms_table,
)
from ingest.reports.labels import label
from ingest.reports.texts import texts
from ingest.requirement import INFORMATION, THEMES

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan


@decimal_units()
def tender_document(plan: Plan, charts: Sequence[Chart] = ()) -> Document:
    """The tender of a plan.

    Args:
        plan: the plan.
        charts: those that vendors need.
    """
    return TenderDocument(plan, charts).document()


class TenderDocument:
    """Writes the tender of a plan."""

    def __init__(self, plan: Plan, charts: Sequence[Chart]) -> None:
        self.plan, self.parts = plan, Composition("vendor", plan, charts)
        self.binding = [one for one in plan.requirements if one.priority != INFORMATION]
        self.terms = plan.vendor_terms

    def document(self) -> Document:
        """The whole document."""
        own: dict[str, Iterable[Block]] = {
            "instructions": self._instructions(),
            "workloads": self._information(),
            "growth": self._growth(),
            "acceptance": self._acceptance(),
            "response": [response_table(self.binding, self.terms)],
            "scope": self._scope(),
        }
        for name in ("performance", "checkpoints", "metadata", "capacity", "resilience", "protocols", "commercial"):
            own[name] = self._themes(name)
        return self.parts.document(own)

    def _instructions(self) -> Iterator[Block]:
        parts, facts = self.parts, self.plan.document
        counts = Counter(one.priority for one in self.plan.requirements)
        yield parts.clause(
            "answers",
            mandatory=counted(counts["mandatory"], "mandatory requirement"),
            targets=counted(counts["target"], "target"),
            terms=counted(len(self.terms), "term"),
        )
        for name in ("answers_by", "contact"):
            if getattr(facts, name):
                yield parts.clause(f"{name}_given", **{name: getattr(facts, name)})
        yield Paragraph("", "An offer consists of:")
        yield parts.bullets("offer")
        words = ((word, parts.words(meaning)) for word, meaning in parts.clauses["keywords"].items())
        yield form("keywords", words)
        yield parts.clause("values", lead="Values.")

    def _information(self) -> Iterator[Block]:
        """The values that are not required, but that a requirement names."""
        rows = [(one.id, label(one.metric), required(one)) for one in self.plan.vendor_lines if one.priority == INFORMATION]
        if rows:
            yield form("information", rows)

    def _themes(self, section: str) -> Iterator[Block]:
        """Requirements and terms, theme by theme."""
        found = {theme: list(self._theme(section, theme)) for theme in self.parts.themes(section)}
        filled = [theme for theme, blocks in found.items() if blocks]
        if not filled:
            yield self.parts.clause("no_terms")
        for theme in filled:
            if len(self.parts.themes(section)) > 1:
                yield Subheading(THEMES[theme])
            yield from found[theme]

    def _theme(self, section: str, theme: str) -> Iterator[Block]:
        yield from self._stated(self.parts.requirements(section, theme))
        terms = [one for one in self.terms if one.theme == theme]
        if terms:
            yield terms_table(terms)

    def _stated(self, requirements: Iterable[Requirement]) -> Iterator[Block]:
        """Each requirement with its reason and its test."""
        for one in requirements:
            if one.priority != INFORMATION:
                yield Paragraph(one.statement, f"{one.id} ({one.priority}).")
                yield Paragraph(" ".join(filter(None, (one.rationale, self.parts.verification(one)))), small=True)

    def _growth(self) -> Iterator[Block]:
        yield self.parts.growth()
        yield from self._stated(self.parts.requirements("growth"))

    def _acceptance(self) -> Iterator[Block]:
        yield self.parts.clause("tests", deviation=f"{Setting().allowed_deviation * 100:.3g} %")
        yield acceptance_table(self.plan.requirements)
        inspected = inspection_table([one for one in self.binding if one.id not in self.parts.tests])
        if inspected.rows:
            yield self.parts.clause("inspection")
            yield inspected

    def _scope(self) -> Iterator[Block]:
        yield form("terms", texts("document")["clauses"]["terms"].items())
        yield self.parts.clause("units", lead="Units.")
