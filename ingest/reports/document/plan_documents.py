"""A plan as documents: the buyer's own report, and the tender, which is what vendors receive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.acceptance.loads import Setting
from ingest.configuration import decimal_units
from ingest.engine.messages import fact_of
from ingest.errors import listed
from ingest.reports.charts.chart import Chart
from ingest.reports.document.composition import (
    Composition,
    acceptance_table,
    counted,
    form,
    quantity_text,
    required,
    response_table,
)
from ingest.reports.document.derivations import derivation_listings, place_of
from ingest.reports.document.model import Block, Bullets, Document, Paragraph, Subheading
from ingest.reports.labels import capitalised, label, plain, span
from ingest.reports.pages.storage import first_flips, flip_row
from ingest.requirement import INFORMATION, Requirement, theme_title
from ingest.rfp.award import Award
from ingest.site.requirement_wording import LINES
from ingest.sizing.checkpoint import USUAL_READERS
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.site.plan import Plan
    from ingest.site.service import ServiceTerm
    from ingest.storage.fit_result import Fits

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
    report = BuyerReport("buyer", plan, charts)
    report.found = found
    return report.document(derivations)


class BuyerReport(Composition):
    """Writes the buyer's report of a plan; `found` are systems whose verdicts may turn."""

    found: Fits | None = None

    def document(self, derivations: bool) -> Document:
        """The whole document."""
        plan = self.plan
        questions = [(one.key, one.question, one.suggested, one.reason) for one in plan.open_questions]
        terms = [(f"{one.name} ({one.id})", one.key, chosen(one), capitalised(one.reason)) for one in plan.service]
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
            "assumptions": self._assumptions(),
            "sources": self._sources(),
        }
        for name in ("performance", "checkpoints", "guidance", "metadata", "capacity", "resilience"):
            own[name] = self._themes(name) if name in self.numbers else ()
        if derivations:
            own["derivations"] = [self.clause("derivation_rule"), *derivation_listings(plan)]
            return self.composed(own)
        found = self.composed(own)
        return found._replace(sections=tuple(one for one in found.sections if one.name != "derivations"))

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
        yield form("glance", ((one.id, one.priority, label(one.metric), one.display, spread(one)) for one in plan.requirements))
        yield self.clause("range")
        if not derivations:
            yield self.clause("derivations_apart")

    def _themes(self, section: str) -> Iterator[Block]:
        """The requirements of a section, theme by theme."""
        if section == "checkpoints":
            # Who reads a checkpoint in a restore, by the jobs.
            jobs: dict[str, list[str]] = {}
            for name, described in self.plan.site.section("jobs").items():
                if "checkpoint" in described:
                    jobs.setdefault(described["checkpoint"].get("readers", USUAL_READERS), []).append(name)
            for readers, names in jobs.items():
                yield Paragraph(self.clauses["restore"][readers].format(jobs=listed(names)), "Restore.")
        themes = self.themes(section)
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

    def _assumptions(self) -> Iterator[Block]:
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
        turned = [
            (one.entry.id, *flip_row(flip)) for one in self.found.systems for flip in first_flips(self.found, one.entry.id)
        ] if self.found is not None else []  # fmt: skip
        if turned:
            yield self.clause("flips")
            yield form("flips", turned)

    def _sources(self) -> Iterator[Block]:
        plan = self.plan
        yield form("sources", ((one["id"], one["title"], place_of(one["where"])) for one in plan.sources))
        if plan.lacking:
            yield Paragraph("", "Identifiers that this site does not use.")
            yield Bullets(tuple(f"{name}: {fact_of(why)}" for name, why in plan.lacking.items()))
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site description {plan.input_hash}"
        yield Paragraph(full, "Made with.")


def chosen(term: ServiceTerm) -> str:
    """The value of a term, or that there is none and which one is suggested."""
    if term.value is not None:
        return term.value
    return f"open; suggested: {term.suggested}" if term.status == "open" else "to be stated by the Vendor"


def spread(one: Requirement) -> str:
    """Low to high, or nothing where they print the same."""
    return span(one.low, one.high, one.unit, " to ")


@decimal_units()
def tender_document(plan: Plan, charts: Sequence[Chart] = ()) -> Document:
    """The tender of a plan, with the charts that vendors need."""
    return TenderDocument("vendor", plan, charts).document()


class TenderDocument(Composition):
    """Writes the tender of a plan. It names no assumption, no range, no margin and no note of the buyer's."""

    def __init__(self, kind: str, plan: Plan, charts: Sequence[Chart]) -> None:
        super().__init__(kind, plan, charts)
        self.binding = [one for one in plan.requirements if one.priority != INFORMATION]

    def document(self) -> Document:
        """The whole document."""
        # The values that are not required, but that a requirement names.
        lines = [one for one in self.plan.vendor_lines if one.priority == INFORMATION]
        described = [(one.id, label(one.metric), required(one)) for one in lines]
        own: dict[str, Iterable[Block]] = {
            "instructions": self._instructions(),
            "workloads": [form("information", described)] if described else [],
            "growth": [self.growth(), *self._stated(self.requirements("growth"))] if "growth" in self.numbers else [],
            "acceptance": self._acceptance(),
            "response": [response_table(self.binding, self.terms)],
            "scope": [form("terms", self.texts["clauses"]["terms"].items()), self.clause("units", lead="Units.")],
        }
        for name in ("performance", "checkpoints", "guidance", "metadata", "capacity", "resilience", "protocols", "commercial"):
            own[name] = self._themes(name) if name in self.numbers else ()
        return self.composed(own)

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
        found: dict[str, list[Block]] = {}
        for theme in self.themes(section):
            blocks = [*self._stated(self.requirements(section, theme))]
            terms = [one for one in self.terms if one.theme == theme]
            if terms:
                rows = ((one.id, one.name, one.text, capitalised(one.verification)) for one in terms)
                blocks.append(form("service_terms", rows))
            if blocks:
                found[theme] = blocks
        if not found:
            yield self.clause("no_terms")
        for theme, blocks in found.items():
            if len(self.themes(section)) > 1:
                yield Subheading(theme_title(theme, self.plan.kinds))
            yield from blocks

    def _stated(self, requirements: Iterable[Requirement]) -> Iterator[Block]:
        """Each requirement with its reason and its test."""
        for one in requirements:
            if one.priority != INFORMATION:
                yield Paragraph(one.statement, f"{one.id} ({one.priority}).")
                yield Paragraph(" ".join(filter(None, (one.rationale, self.verification(one)))), small=True)

    def _acceptance(self) -> Iterator[Block]:
        yield self.clause("tests", deviation=f"{Setting().allowed_deviation * 100:.3g} %")
        yield acceptance_table(self.plan.requirements)
        untested = [one for one in self.binding if one.id not in self.tests]
        if untested:
            how = {line.id: line.inspected for line in LINES}
            yield self.clause("inspection")
            yield form("inspection", ((one.id, label(one.metric), required(one), how[one.id]) for one in untested))
