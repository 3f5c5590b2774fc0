"""A plan as an RFP document: twelve sections and two appendices, from the same objects as the workbook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.loads import Setting
from ingest.acceptance.test_table import shown_by
from ingest.engine.messages import fact_of
from ingest.errors import listed
from ingest.reports.charts.chart import Chart
from ingest.reports.document.derivations import derivation_listings, place_of
from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.document.tables import (
    acceptance_table,
    form,
    growth_table,
    inspection_table,
    quantity_text,
    response_tables,
    tables_for,
    with_numbers,
)
from ingest.reports.labels import capitalised, label, plain, span
from ingest.reports.texts import texts
from ingest.sizing.checkpoint import USUAL_READERS
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan


#: The priority of lines in the appendix, which are not required.
INFORMATION = "information"
#: Inputs of each requirement in the table of sensitivity.
MOST_EFFECTS = 2


def clauses() -> Mapping[str, Any]:
    """The clauses of `document.yaml`."""
    found: Mapping[str, Any] = texts("document")["clauses"]
    return found


def clause(name: str, **values: object) -> Paragraph:
    """A clause of `document.yaml`, with its values."""
    return Paragraph(clauses()[name].format(**values))


class RfpDocument:
    """Writes the document of a plan.

    Args:
        plan: what to write about.
        charts: by name; they are placed in the sections where they belong.
    """

    def __init__(self, plan: Plan, charts: Sequence[Chart] = ()) -> None:
        self.plan, self.charts = plan, {chart.name: chart for chart in charts}
        self._tests = shown_by(plan.requirements)

    def document(self) -> Document:
        """The whole document."""
        plan = self.plan
        own: Mapping[str, Iterable[Block]] = {
            "scope": self._scope(),
            "resilience": [form("set_by_buyer", ((one, "to be set by buyer") for one in clauses()["set_by_buyer_quantities"]))],
            "checkpoints": self._restores(),
            "growth": [growth_table(plan.tables.get("capacity", []), {one.id: one for one in plan.requirements}, plan.rounded)],
            "acceptance": self._acceptance(),
            "response": response_tables(plan.requirements),
            "assumptions": self._assumptions(),
            "derivations": derivation_listings(plan),
            "information": self._information(),
        }
        sections = [self._section(name, own.get(name, ())) for name in texts("document")["sections"]]
        facts = (
            ("title", f"Storage requirements of {plan.site.name}"),
            ("site", plan.site.name),
            ("version", __version__),
            ("catalogs", plan.catalog.content_hash()),
            ("input", plan.input_hash),
            *((one.id, one.display) for one in plan.requirements),
        )
        reference = "-".join(_short(one) for one in (plan.input_hash, plan.catalog.content_hash()))
        subtitle = f"Requirements and response form. Made by ingest {__version__}, reference {reference} (section 12)"
        return Document(f"Storage requirements of {plan.site.name}", subtitle, with_numbers(sections), facts)

    def _section(self, name: str, blocks: Iterable[Block]) -> DocumentSection:
        """The clause of the section, its tables and its own blocks, then the requirements and the charts that belong to it."""
        look, opening = texts("document")["sections"][name], clauses().get(name, ())
        first = [Paragraph(opening)] if isinstance(opening, str) else [Bullets(tuple(opening))] if opening else []
        tables = self._tables(look.get("tables", ()))
        belongs = [one for one in self.plan.requirements if one.id.startswith(tuple(look.get("states", ())))]
        stated = [one for one in belongs if one.priority != INFORMATION]
        charts = () if name == "assumptions" else self._figures(name)
        words = (block for one in stated for block in requirement(one, self._tests.get(one.id)))
        further = ", ".join(one.id for one in belongs if one.priority == INFORMATION)
        pointer = [Paragraph(f"{further} (appendix B).", "For information:")] if further else []
        return DocumentSection(
            name, look["title"], (*first, *tables, *blocks, *words, *pointer, *charts), look.get("letter", "")
        )

    def _figures(self, name: str) -> list[Block]:
        """The charts of a section."""
        known = texts("document")["charts"]
        return [
            Figure(chart, "; ".join(filter(None, (known[key]["caption"], chart.note))))
            for key, chart in self.charts.items()
            if key in known and known[key]["section"] == name
        ]

    def _information(self) -> Iterator[Block]:
        """Lines that describe the workload and are not required."""
        for one in self.plan.requirements:
            if one.priority == INFORMATION:
                yield from requirement(one, self._tests.get(one.id))

    def _scope(self) -> Iterator[Block]:
        plan = self.plan
        counts = Counter(one.priority for one in plan.requirements)
        yield clause(
            "summary",
            mandatory=counted(counts["mandatory"], "mandatory requirement"),
            targets=counted(counts["target"], "target"),
            assumed=counted(len(plan.assumptions), "assumed value"),
            buyer=counted(len(clauses()["set_by_buyer_quantities"]), "value"),
        )
        yield form("keywords", clauses()["keywords"].items())
        yield form("terms", clauses()["terms"].items())
        yield clause("units")._replace(lead="Units.")
        shown = [(one.id, one.priority, label(one.metric), one.display, spread(one)) for one in plan.requirements]
        yield form("glance", shown)

    def _restores(self) -> Iterator[Block]:
        """Who reads a checkpoint in a restore, by the jobs."""
        jobs: dict[str, list[str]] = {}
        for name, described in self.plan.site.section("jobs").items():
            if "checkpoint" in described:
                jobs.setdefault(described["checkpoint"].get("readers", USUAL_READERS), []).append(name)
        for readers, names in jobs.items():
            yield Paragraph(clauses()["restore"][readers].format(jobs=listed(names)), "Restore.")

    def _acceptance(self) -> list[Block]:
        rule = clause("tests", deviation=f"{Setting().allowed_deviation * 100:.3g} %")
        untested = [one for one in self.plan.requirements if one.priority != INFORMATION and one.id not in self._tests]
        inspected = inspection_table(untested)
        further: list[Block] = [clause("inspection"), inspected] if inspected.rows else []
        return [rule, acceptance_table(self.plan.requirements), *further]

    def _assumptions(self) -> list[Block]:
        plan = self.plan
        assumed = [
            (label(one["name"]), quantity_text(one["name"], one["value"], one["unit"]), capitalised(fact_of(one["why"])))
            for one in plan.assumed
        ]
        found: list[Block] = [
            clause("assumed", count=len(assumed)),
            form("assumptions", assumed),
            *self._sensitivity(),
            *self._figures("assumptions"),
            form("sources", ((one["id"], one["title"], place_of(one["where"])) for one in plan.sources)),
        ]
        if plan.missing:
            absent = tuple(f"{name}: {fact_of(why)}" for name, why in plan.absent.items())
            found += [Paragraph("", "Identifiers that this site does not use."), Bullets(absent)]
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site description {plan.input_hash}"
        return [*found, Paragraph(full, "Made with.")]

    def _sensitivity(self) -> Iterator[Block]:
        """The inputs with the largest effect on each requirement, one at a time."""
        rows = []
        for one in self.plan.requirements:
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]:
                ends = (display(end, one.unit, binary=False) for end in (effect.at_low, effect.at_high))
                rows.append((one.id, label(effect.name), ", ".join(effect.rows), *ends))
        if rows:
            yield clause("sensitivity")
            yield form("sensitivity", rows)

    def _tables(self, names: Iterable[str]) -> Iterator[Table]:
        for name in names:
            rows, looks = self.plan.tables.get(name, []), texts("document")["tables"][name]
            columns, main = looks["text_columns"], looks.get("main_columns", ())
            yield from tables_for(looks["caption"], rows, columns, looks.get("headings", {}), main, looks.get("widths", {}))


def requirement(one: Requirement, test: str | None) -> list[Block]:
    """A requirement with its range, its test and its assumed values."""
    rest = []
    if spread(one):
        rest.append(f"Range (P10 to P90): {spread(one)}.")
    if test is not None:
        rest.append(f"Verified by test {test}.")
    elif one.priority != INFORMATION:
        rest.append("Verified by inspection (section 10).")
    if one.assumptions:
        rest.append(f"Depends on assumed values: {', '.join(plain(name) for name in one.assumptions)}.")
    found: list[Block] = [Paragraph(one.statement, f"{one.id} ({one.priority}).")]
    return [*found, Paragraph(" ".join(rest), small=True)] if rest else found


def counted(number: int, what: str) -> str:
    """So many of something.

    >>> counted(0, "target"), counted(1, "target"), counted(9, "target")
    ('no target', '1 target', '9 targets')
    """
    return f"{number or 'no'} {what}{'s' if number > 1 else ''}"


def spread(one: Requirement) -> str:
    """Low to high, or nothing where they print the same."""
    return span(one.low, one.high, one.unit, " to ")


def _short(content_hash: str) -> str:
    """The beginning of a hash, enough to distinguish two documents."""
    return content_hash.rpartition(":")[2][:8]


#: Sections that are the buyer's own.
INTERNAL_SECTIONS = ("assumptions", "derivations", "information")


def tender_document(plan: Plan, charts: Sequence[Chart] = ()) -> Document:
    """The document that vendors receive."""
    whole = RfpDocument(plan, charts).document()
    return whole._replace(sections=tuple(one for one in whole.sections if one.name not in INTERNAL_SECTIONS))
