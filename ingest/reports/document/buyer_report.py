"""A plan as the buyer's own report: results, open questions, evidence, assumptions, sensitivity, derivations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.configuration import decimal_units
from ingest.engine.messages import fact_of
from ingest.errors import listed
from ingest.reports.charts.chart import Chart
from ingest.reports.document.composition import Composition, counted
from ingest.reports.document.derivations import derivation_listings, place_of
from ingest.reports.document.model import Block, Bullets, Document, Paragraph, Subheading
from ingest.reports.document.tables import form, quantity_text
from ingest.reports.labels import capitalised, label, plain, span
from ingest.requirement import INFORMATION, THEMES
from ingest.sizing.checkpoint import USUAL_READERS
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm

#: Inputs of each requirement in the table of sensitivity.
MOST_EFFECTS = 2


@decimal_units()
def buyer_report(plan: Plan, charts: Sequence[Chart] = (), derivations: bool = True) -> Document:
    """The buyer's own report of a plan.

    Args:
        plan: the plan.
        charts: all that there are.
        derivations: whether the derivation of each value is an appendix.
    """
    return BuyerReport(plan, charts, derivations).document()


class BuyerReport:
    """Writes the buyer's report of a plan."""

    def __init__(self, plan: Plan, charts: Sequence[Chart], derivations: bool) -> None:
        self.plan, self.parts, self.with_derivations = plan, Composition("buyer", plan, charts), derivations

    def document(self) -> Document:
        """The whole document."""
        own: dict[str, Iterable[Block]] = {
            "results": self._results(),
            "questions": self._questions(),
            "cautions": self._cautions(),
            "growth": self._growth(),
            "protocols": self._terms(),
            "assumptions": self._assumptions(),
            "sources": self._sources(),
            "derivations": self._derivations(),
        }
        for name in ("performance", "checkpoints", "metadata", "capacity", "resilience"):
            own[name] = self._themes(name)
        found = self.parts.document(own)
        if self.with_derivations:
            return found
        return found._replace(sections=tuple(one for one in found.sections if one.name != "derivations"))

    def _results(self) -> Iterator[Block]:
        plan, parts = self.plan, self.parts
        counts = Counter(one.priority for one in plan.requirements)
        yield parts.clause(
            "summary",
            mandatory=counted(counts["mandatory"], "mandatory requirement"),
            targets=counted(counts["target"], "target"),
            information=counted(counts[INFORMATION], "line") + " for information",
            assumed=counted(len(plan.assumptions), "assumed value"),
            questions=counted(len(plan.open_questions), "question"),
            cautions=counted(len(plan.warnings), "caution"),
        )
        yield form("glance", ((one.id, one.priority, label(one.metric), one.display, spread(one)) for one in plan.requirements))
        yield parts.clause("range")
        if not self.with_derivations:
            yield parts.clause("derivations_apart")

    def _questions(self) -> Iterator[Block]:
        if not self.plan.open_questions:
            yield self.parts.clause("no_questions")
            return
        yield form("questions", ((one.key, one.question, one.suggested, one.reason) for one in self.plan.open_questions))

    def _cautions(self) -> Iterator[Block]:
        yield Bullets(self.plan.warnings) if self.plan.warnings else self.parts.clause("no_cautions")

    def _themes(self, section: str) -> Iterator[Block]:
        """The requirements of a section, theme by theme."""
        if section == "checkpoints":
            yield from self._restores()
        themes = self.parts.themes(section)
        for theme in themes:
            stated = self.parts.requirements(section, theme)
            if stated and len(themes) > 1:
                yield Subheading(THEMES[theme])
            for one in stated:
                yield from self._stated(one)

    def _restores(self) -> Iterator[Block]:
        """Who reads a checkpoint in a restore, by the jobs."""
        jobs: dict[str, list[str]] = {}
        for name, described in self.plan.site.section("jobs").items():
            if "checkpoint" in described:
                jobs.setdefault(described["checkpoint"].get("readers", USUAL_READERS), []).append(name)
        for readers, names in jobs.items():
            yield Paragraph(self.parts.clauses["restore"][readers].format(jobs=listed(names)), "Restore.")

    def _stated(self, one: Requirement) -> list[Block]:
        """A requirement with its reason, its range, its test and its assumed values."""
        rest = [one.remark, one.rationale, self.parts.verification(one)]
        if spread(one):
            rest.append(f"Range (P10 to P90): {spread(one)}.")
        if one.assumptions:
            rest.append(f"Depends on assumed values: {', '.join(plain(name) for name in one.assumptions)}.")
        said = " ".join(filter(None, rest))
        found: list[Block] = [Paragraph(one.statement, f"{one.id} ({one.priority}).")]
        return [*found, Paragraph(said, small=True)] if said else found

    def _growth(self) -> Iterator[Block]:
        yield self.parts.growth()
        for one in self.parts.requirements("growth"):
            yield from self._stated(one)

    def _terms(self) -> Iterator[Block]:
        rows = [(f"{one.name} ({one.id})", one.key, chosen(one), capitalised(one.reason)) for one in self.plan.service]
        yield form("buyer_terms", rows) if rows else self.parts.clause("no_terms")

    def _assumptions(self) -> Iterator[Block]:
        plan = self.plan
        assumed = [
            (label(one["name"]), quantity_text(one["name"], one["value"], one["unit"]), capitalised(fact_of(one["why"])))
            for one in plan.assumed
        ]
        yield self.parts.clause("assumed", count=len(assumed))
        yield form("assumptions", assumed)
        yield from self._sensitivity()

    def _sensitivity(self) -> Iterator[Block]:
        """The inputs with the largest effect on each requirement, one at a time."""
        rows = []
        for one in self.plan.requirements:
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]:
                ends = (display(end, one.unit, binary=False) for end in (effect.at_low, effect.at_high))
                rows.append((one.id, label(effect.name), ", ".join(effect.rows), *ends))
        if rows:
            yield self.parts.clause("sensitivity")
            yield form("sensitivity", rows)

    def _sources(self) -> Iterator[Block]:
        plan = self.plan
        yield form("sources", ((one["id"], one["title"], place_of(one["where"])) for one in plan.sources))
        if plan.missing:
            absent = tuple(f"{name}: {fact_of(why)}" for name, why in plan.absent.items())
            yield Paragraph("", "Identifiers that this site does not use.")
            yield Bullets(absent)
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site description {plan.input_hash}"
        yield Paragraph(full, "Made with.")

    def _derivations(self) -> Iterator[Block]:
        yield self.parts.clause("derivation_rule")
        yield from derivation_listings(self.plan)


def chosen(term: ServiceTerm) -> str:
    """The value of a term, or that there is none and which one is suggested."""
    if term.value is not None:
        return term.value
    return f"open; suggested: {term.suggested}" if term.status == "open" else "to be stated by the Vendor"


def spread(one: Requirement) -> str:
    """Low to high, or nothing where they print the same."""
    return span(one.low, one.high, one.unit, " to ")
