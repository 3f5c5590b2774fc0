"""A plan as a tender: twelve sections and an appendix, from the same objects as the workbook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest import __version__
from ingest.formula import FORMULAS, LEAVES, unit_of
from ingest.report.charts.chart import Chart
from ingest.report.document import wording
from ingest.report.document.model import Block, Bullets, Document, Figure, Listing, Paragraph, Section, Table
from ingest.tender.filled import test_id
from ingest.units import display

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plans import Plan

#: beginnings of the ids that each section states
STATED = {
    "performance": ("R-READ", "R-MIX", "R-STAGE"),
    "capacity": ("R-CAP",),
    "checkpoints": ("R-WRITE", "R-RESTART"),
    "metadata": ("R-META",),
    "resilience": ("R-END",),
    "growth": ("R-GROW",),
}
CHART_SECTIONS = {
    "demand": "performance",
    "scaling": "performance",
    "ladder": "workloads",
    "capacity": "capacity",
    "intervals": "checkpoints",
    "tornado": "assumptions",
}
#: Columns that a page holds; a wider table is turned, so many rows beside each other.
MOST_COLUMNS, BESIDE = 8, 5
SHARES = ("share_of_time", "checkpoint_stall_fraction", "cluster_allocation")


class Tender:
    """Writes the document of a plan.

    Args:
        plan: what to write about.
        charts: by name; they are placed in the sections where they belong.
    """

    def __init__(self, plan: Plan, charts: Sequence[Chart] = ()) -> None:
        self.plan, self.charts = plan, {chart.name: chart for chart in charts}

    def document(self) -> Document:
        """The whole document."""
        plan = self.plan
        sections = (
            self._section("scope", "Scope, definitions, units", self._scope()),
            self._section("workloads", "Workload basis", self._workloads()),
            self._section("performance", "Performance", [Paragraph(wording.OVERLAP)]),
            self._section("capacity", "Capacity and lifecycle", self._capacity()),
            self._section("checkpoints", "Checkpoint and restart", self._checkpoints()),
            self._section("metadata", "Metadata, concurrency, quality of service", self._metadata()),
            self._section("resilience", "Resilience, availability, durability, endurance", self._resilience()),
            self._section("protocols", "Protocols, security, operations", [Bullets(wording.PROTOCOLS)]),
            self._section("growth", "Growth and options", [Paragraph(wording.GROWTH)]),
            self._section("acceptance", "Acceptance", self._acceptance()),
            self._section("response", "Offeror response forms", self._response()),
            self._section("assumptions", "Assumptions, sensitivity, sources", self._assumptions()),
            Section("derivations", "How each value came about", tuple(self._derivations()), "A"),
        )
        facts = (
            ("title", f"Storage requirements of {plan.site.name}"),
            ("site", plan.site.name),
            ("version", __version__),
            ("catalogs", plan.catalog.content_hash()),
            ("input", plan.input_hash),
            *((one.id, display(one.value, one.unit)) for one in plan.requirements),
        )
        subtitle = (
            f"Made by ingest {__version__}. Catalogs {plan.catalog.content_hash()[:19]}…, site file {plan.input_hash[:19]}…"
        )
        return Document(f"Storage requirements of {plan.site.name}", subtitle, sections, facts)

    def _section(self, name: str, title: str, blocks: Sequence[Block]) -> Section:
        """The section's own words, then the requirements and the charts that belong to it."""
        stated = [one for one in self.plan.requirements if one.id.startswith(STATED.get(name, ("-",)))]
        charts = [Figure(chart) for key, chart in self.charts.items() if CHART_SECTIONS.get(key) == name]
        return Section(name, title, (*blocks, *(block for one in stated for block in requirement(one)), *charts))

    def _scope(self) -> list[Block]:
        plan = self.plan
        priorities = [one.priority for one in plan.requirements]
        counts = {priority: priorities.count(priority) for priority in ("mandatory", "target")}
        buyer = len(wording.RESILIENCE)
        summary = (
            f"The document holds {counts['mandatory']} mandatory requirements and {counts['target']} targets. It rests on "
            f"{len(plan.assumptions)} assumed values (section 12); {buyer} values are to be set by the buyer (section 7)."
        )
        rows = tuple((one.id, one.priority, _what(one), display(one.value, one.unit), spread(one)) for one in plan.requirements)
        return [
            Paragraph(wording.SCOPE),
            Paragraph(summary),
            Table("Words and what they bind to", ("Word", "Meaning"), wording.KEYWORDS, (1, 3)),
            Paragraph(wording.UNITS, "Units."),
            Table(
                "Requirements at a glance",
                ("Id", "Priority", "What", "Value", "Range (P10 to P90)"),
                rows,
                (1.1, 1, 2, 1.8, 1.6),
            ),
        ]

    def _workloads(self) -> list[Block]:
        found: list[Block] = [Paragraph(wording.WORKLOADS)]
        found += self._tables(
            {"clusters": "Clusters", "jobs": "Jobs", "datasets": "Data sets", "placement": "Where jobs read from"}
        )
        return found

    def _capacity(self) -> list[Block]:
        return [Paragraph(wording.CAPACITY), *self._tables({"capacity": "Capacity by year"})]

    def _checkpoints(self) -> list[Block]:
        return [Paragraph(wording.CHECKPOINTS), *self._tables({"checkpoints": "Checkpoints"})]

    def _metadata(self) -> list[Block]:
        return [Paragraph(wording.METADATA), *self._tables({"metadata": "Metadata operations"})]

    def _resilience(self) -> list[Block]:
        return [Table("Values that the workload does not determine", ("What", "Value"), wording.RESILIENCE, (3, 1))]

    def _acceptance(self) -> list[Block]:
        heads = ("Test", "Requirement", "Operation", "Clients", "Threads", "Request", "Duration", "Pass threshold")
        rows = tuple(test_row(one) for one in self.plan.requirements if one.conditions.duration is not None)
        return [Paragraph(wording.ACCEPTANCE), Table("Acceptance tests", heads, rows, (1.3, 1.3, 1, 0.8, 0.8, 1.2, 0.9, 2))]

    def _response(self) -> list[Block]:
        heads = ("Id", "Required", "Comply", "As-is", "Optimized", "Measured or projected", "Log file", "Remarks")
        rows = tuple((one.id, display(one.value, one.unit, binary=False), *("",) * 6) for one in self.plan.requirements)
        return [Paragraph(wording.RESPONSE), Table("Response form", heads, rows, (1.2, 1.2, 0.7, 0.9, 1, 1.1, 1, 1.2))]

    def _assumptions(self) -> list[Block]:
        plan = self.plan
        assumed = tuple(
            (_label(one["name"]), display(one["value"], one["unit"], binary=False), str(one["why"])) for one in plan.assumptions
        )
        cited = tuple((one["id"], one["title"], one["where"]) for one in plan.sources)
        found: list[Block] = [
            Paragraph(f"{len(assumed)} values are assumed; the buyer should confirm or replace each."),
            Table("Assumptions", ("Quantity", "Value", "Why"), assumed, (1.5, 1, 3)),
            Table("Sources", ("Id", "Title", "Place"), cited, (1, 2, 2)),
        ]
        if plan.warnings:
            found += [Paragraph("", "To be aware of"), Bullets(tuple(plan.warnings))]
        if plan.missing:
            found += [Paragraph("", "Not stated"), Bullets(tuple(f"{name}: {why}" for name, why in plan.missing.items()))]
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site file {plan.input_hash}"
        return [*found, Paragraph(full, "Made with.")]

    def _derivations(self) -> Iterator[Block]:
        yield Paragraph("Each line can be recomputed by hand from the lines indented below it.")
        for one in self.plan.requirements:
            yield Listing(f"{one.id}: {_what(one)}", one.derivation)

    def _tables(self, named: Mapping[str, str]) -> list[Block]:
        found = ((caption, self.plan.tables.get(name)) for name, caption in named.items())
        return [table for caption, rows in found if rows for table in tables_for(caption, rows)]


def requirement(one: Requirement) -> list[Block]:
    """A requirement as a tender states it."""
    rest = []
    if one.low is not None and one.high is not None:
        rest.append(f"Range from the inputs' own ranges: {spread(one)}.")
    if one.conditions.cache:
        rest.append(f"Caching: {one.conditions.cache}.")
    if one.conditions.duration is not None:
        rest.append(f"Verified by test {test_id(one.id)}.")
    if one.assumptions:
        rest.append(f"Rests on assumed values: {', '.join(_label(name) for name in one.assumptions)}.")
    found: list[Block] = [Paragraph(one.statement, f"{one.id} ({one.priority}).")]
    return [*found, Paragraph(" ".join(rest))] if rest else found


def test_row(one: Requirement) -> tuple[str, ...]:
    """A line of the table of tests."""
    how = one.conditions
    size = display(how.io_size, "B") if how.io_size else ""
    counts = (_number(how.clients), _number(how.threads))
    least = f"at least {display(one.value, one.unit)}"
    return (test_id(one.id), one.id, how.operation, *counts, size, display(how.duration or 0, "s"), least)


def spread(one: Requirement) -> str:
    """Low to high, or nothing."""
    if one.low is None or one.high is None:
        return ""
    return " to ".join(display(end, one.unit, binary=False) for end in (one.low, one.high))


def tables_for(caption: str, rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Rows of plain values as text; a column stands wherever any row has it.

    A table wider than a page is turned: quantities as lines, a few rows beside each other, as many tables as it takes.
    """
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    if len(columns) <= MOST_COLUMNS:
        shown = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows)
        return [Table(caption, tuple(_label(column) for column in columns), shown)]
    groups = [rows[start : start + BESIDE] for start in range(0, len(rows), BESIDE)]
    return [_turned(caption if place == 0 else f"{caption} (continued)", group, columns) for place, group in enumerate(groups)]


def _turned(caption: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    first, *rest = columns
    heads = (_label(first), *(_cell(first, row.get(first)) for row in rows))
    lines = tuple((_label(column), *(_cell(column, row.get(column)) for row in rows)) for column in rest)
    kept = tuple(line for line in lines if any(line[1:]))
    return Table(caption, heads, kept, (1.6, *(1.0,) * len(rows)))


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if column in SHARES:
        return f"{value * 100:.3g} %"
    known = column in FORMULAS or column in LEAVES
    return display(value, unit_of(column), binary=False) if known else f"{value:,}"


def _what(one: Requirement) -> str:
    return _label(one.metric.removeprefix("site_"))


def _label(name: str) -> str:
    return name.replace("_", " ")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
