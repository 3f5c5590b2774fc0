"""A plan as an RFP document: twelve sections and two appendices, from the same objects as the workbook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ingest.acceptance.loads import Setting
from ingest.acceptance.test_table import shown_by
from ingest.engine.messages import fact_of
from ingest.reports.charts.chart import Chart
from ingest.reports.document import boilerplate
from ingest.reports.document.model import Block, Bullets, DerivationListing, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.document.phrasing import derivation_line, place_of
from ingest.reports.document.tables import (
    acceptance_table,
    growth_table,
    inspection_table,
    quantity_text,
    response_tables,
    tables_for,
    with_numbers,
)
from ingest.reports.document.template_fields import SECTIONS
from ingest.reports.labels import capitalised, label, plain, span
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan


#: A part of a derivation with more lines than this is printed once.
LONGEST_TWICE = 2


def shortened(name: str, lines: Sequence[str], printed: dict[str, str]) -> tuple[str, ...]:
    """A derivation; a part that an earlier requirement has printed is one line that names that requirement.

    Args:
        name: of the requirement.
        lines: its derivation, each line with what it rests on indented below.
        printed: the requirement that printed each part; parts of this derivation are added.

    >>> printed = {}
    >>> _ = shortened("R-1", ["a = 1", "  b = 2", "    given", "    here"], printed)
    >>> shortened("R-2", ["c = 1", "  b = 2", "    given", "    here"], printed)
    ('c = 1', '  b = 2  (see R-1)')
    """
    kept: list[str] = []
    place = 0
    while place < len(lines):
        end = _end(lines, place)
        part = "\n".join(line[_indent(lines[place]) :] for line in lines[place:end])
        first = printed.get(part) if end - place > LONGEST_TWICE else None
        if first is not None and first != name:
            kept.append(f"{lines[place]}  (see {first})")
            place = end
            continue
        printed.setdefault(part, name)
        kept.append(lines[place])
        place += 1
    return tuple(kept)


def _end(lines: Sequence[str], place: int) -> int:
    """The first line that does not belong below another one."""
    deep = _indent(lines[place])
    return next((at for at in range(place + 1, len(lines)) if _indent(lines[at]) <= deep), len(lines))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


#: beginnings of the ids that each section states
STATED = {
    "performance": ("R-READ", "R-MIX", "R-STAGE"),
    "capacity": ("R-CAP",),
    "checkpoints": ("R-WRITE", "R-RESTART"),
    "metadata": ("R-META",),
    "resilience": ("R-END",),
    "growth": ("R-GROW",),
}
#: The priority of lines in the appendix, which are not required.
INFORMATION = "information"
CHART_SECTIONS = {
    "demand": "performance",
    "scaling": "performance",
    "ladder": "workloads",
    "capacity": "capacity",
    "intervals": "checkpoints",
    "tornado": "assumptions",
}
#: Sections that end with their charts.
CHARTS_LAST = ("workloads", "performance", "capacity", "checkpoints")
CAPTIONS = {
    "demand": "Read bandwidth by job (all concurrent runs), and aggregate",
    "scaling": "Read bandwidth of one run by the number of its nodes",
    "ladder": "Evidence behind the read rate of the most demanding job",
    "capacity": "Data held by year and use",
    "intervals": "Checkpoint overhead and write bandwidth by checkpoint interval, the chosen interval marked",
    "tornado": "Sensitivity of a requirement: one input at a time at its low and high end",
}
#: The columns of text that each table shows; other tables do not repeat them.
WORDS = {
    "clusters": ("name", "node"),
    "jobs": ("name", "cluster", "model", "data", "basis", "gpu"),
    "datasets": ("name", "of"),
    "placement": ("name", "data"),
    "capacity": ("name",),
    "checkpoints": ("name", "mode"),
    "metadata": ("name",),
}
HEADS = {
    "capacity": {"name": "Year"},
    "placement": {"job_dataset_bytes": "Data set size"},
}
#: What a list of many rows shows of them.
MAIN = {
    "jobs": (
        "name", "cluster", "model", "nodes", "concurrent_runs", "run_read_bandwidth", "job_read_bandwidth", "run_seconds",
    ),
    "checkpoints": (
        "name", "mode", "checkpoint_bytes", "checkpoint_interval", "checkpoint_write_bandwidth", "job_write_bandwidth",
        "restart_read_bandwidth", "job_checkpoint_bytes_held",
    ),
    "placement": (
        "name", "data", "job_dataset_bytes", "ingest_bandwidth_per_job", "staged_bytes", "staging_seconds", "node_bytes_shared",
        "node_bytes_whole",
    ),
}  # fmt: skip
#: Inputs of each requirement in the table of sensitivity.
MOST_EFFECTS = 2


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
        sections = (
            self._section("scope", self._scope()),
            self._section("workloads", self._workloads()),
            self._section("performance", [Paragraph(boilerplate.OVERLAP)]),
            self._section("capacity", self._capacity()),
            self._section("checkpoints", self._checkpoints()),
            self._section("metadata", self._metadata()),
            self._section("resilience", self._resilience()),
            self._section("protocols", [Bullets(boilerplate.PROTOCOLS)]),
            self._section("growth", self._growth()),
            self._section("acceptance", self._acceptance()),
            self._section("response", self._response()),
            self._section("assumptions", self._assumptions()),
            DocumentSection("derivations", SECTIONS["derivations"], tuple(self._derivations()), "A"),
            DocumentSection("information", SECTIONS["information"], tuple(self._information()), "B"),
        )
        facts = (
            ("title", f"Storage requirements of {plan.site.name}"),
            ("site", plan.site.name),
            ("version", __version__),
            ("catalogs", plan.catalog.content_hash()),
            ("input", plan.input_hash),
            *((one.id, display(one.value, one.unit)) for one in plan.requirements),
        )
        reference = "-".join(_short(one) for one in (plan.input_hash, plan.catalog.content_hash()))
        subtitle = f"Requirements and response form. Made by ingest {__version__}, reference {reference} (section 12)"
        return Document(f"Storage requirements of {plan.site.name}", subtitle, with_numbers(sections), facts)

    def _section(self, name: str, blocks: Sequence[Block]) -> DocumentSection:
        """The section's own words, then the requirements and the charts that belong to it."""
        belongs = [one for one in self.plan.requirements if one.id.startswith(STATED.get(name, ("-",)))]
        stated = [one for one in belongs if one.priority != INFORMATION]
        charts = self._figures(name) if name in CHARTS_LAST else []
        words = (block for one in stated for block in requirement(one, self._tests.get(one.id)))
        further = ", ".join(one.id for one in belongs if one.priority == INFORMATION)
        pointer = [Paragraph(f"{further} (appendix B).", "For information:")] if further else []
        return DocumentSection(name, SECTIONS[name], (*blocks, *words, *pointer, *charts))

    def _figures(self, name: str) -> list[Block]:
        """The charts of a section."""
        return [
            Figure(chart, "; ".join(filter(None, (CAPTIONS[key], chart.note))))
            for key, chart in self.charts.items()
            if CHART_SECTIONS.get(key) == name
        ]

    def _information(self) -> Iterator[Block]:
        """Lines that describe the workload and are not required."""
        yield Paragraph(boilerplate.INFORMATION)
        for one in self.plan.requirements:
            if one.priority == INFORMATION:
                yield from requirement(one, self._tests.get(one.id))

    def _scope(self) -> list[Block]:
        plan = self.plan
        priorities = [one.priority for one in plan.requirements]
        counts = {priority: priorities.count(priority) for priority in ("mandatory", "target")}
        buyer = len(boilerplate.RESILIENCE)
        summary = (
            f"The document contains {counted(counts['mandatory'], 'mandatory requirement')} and "
            f"{counted(counts['target'], 'target')}. It depends on {counted(len(plan.assumptions), 'assumed value')} "
            f"(section 12); {counted(buyer, 'value')} are to be set by the buyer (section 7)."
        )
        rows = tuple((one.id, one.priority, _what(one), display(one.value, one.unit), spread(one)) for one in plan.requirements)
        return [
            Paragraph(boilerplate.SCOPE),
            Paragraph(summary),
            Table("Key words", ("Word", "Meaning"), boilerplate.KEYWORDS, (1, 3)),
            Table("Terms", ("Term", "Meaning"), boilerplate.TERMS, (1, 3)),
            Paragraph(boilerplate.UNITS, "Units."),
            Table(
                "Requirements at a glance",
                ("Id", "Priority", "Quantity", "Value", "Range (P10 to P90)"),
                rows,
                (1.15, 1.0, 2.0, 1.9, 1.95),
            ),
        ]

    def _workloads(self) -> list[Block]:
        found: list[Block] = [Paragraph(boilerplate.WORKLOADS)]
        found += self._tables({"clusters": "Clusters", "jobs": "Jobs", "datasets": "Data sets", "placement": "Data placement"})
        return found

    def _capacity(self) -> list[Block]:
        return [Paragraph(boilerplate.CAPACITY), *self._tables({"capacity": "Capacity by year"})]

    def _checkpoints(self) -> list[Block]:
        return [Paragraph(boilerplate.CHECKPOINTS), *self._tables({"checkpoints": "Checkpoints"})]

    def _metadata(self) -> list[Block]:
        return [Paragraph(boilerplate.METADATA), *self._tables({"metadata": "Metadata operations"})]

    def _resilience(self) -> list[Block]:
        table = Table("Values that the workload does not determine", ("Quantity", "Value"), boilerplate.RESILIENCE, (3, 1))
        return [Paragraph(boilerplate.SET_BY_BUYER), table]

    def _acceptance(self) -> list[Block]:
        rule = boilerplate.ACCEPTANCE.format(deviation=f"{Setting().allowed_deviation * 100:.3g} %")
        inspected = inspection_table(self._without_test())
        further: list[Block] = [Paragraph(boilerplate.INSPECTION), inspected] if inspected.rows else []
        return [Paragraph(rule), acceptance_table(self.plan.requirements), *further]

    def _without_test(self) -> list[Requirement]:
        """Binding requirements without a performance test."""
        return [one for one in self.plan.requirements if one.priority != INFORMATION and one.id not in self._tests]

    def _response(self) -> list[Block]:
        return [Paragraph(boilerplate.RESPONSE), *response_tables(self.plan.requirements)]

    def _growth(self) -> list[Block]:
        by_id = {one.id: one for one in self.plan.requirements}
        return [Paragraph(boilerplate.GROWTH), growth_table(self.plan.tables.get("capacity", []), by_id)]

    def _assumptions(self) -> list[Block]:
        plan = self.plan
        assumed = tuple(
            (
                capitalised(plain(one["name"])),
                quantity_text(one["name"], one["value"], one["unit"]),
                capitalised(fact_of(one["why"])),
            )
            for one in plan.assumed
        )
        cited = tuple((one["id"], one["title"], place_of(one["where"])) for one in plan.sources)
        found: list[Block] = [
            Paragraph(boilerplate.ASSUMED.format(count=len(assumed))),
            Table("Assumptions", ("Quantity", "Value", "Why"), assumed, (1.5, 1, 3)),
            *self._sensitivity(),
            *self._figures("assumptions"),
            Table("Sources", ("Id", "Title", "Place"), cited, (1, 2, 2)),
        ]
        if plan.missing:
            absent = tuple(f"{name}: {fact_of(why)}" for name, why in plan.absent.items())
            found += [Paragraph("", "Identifiers that this site does not use."), Bullets(absent)]
        full = f"ingest {__version__}; catalogs {plan.catalog.content_hash()}; site description {plan.input_hash}"
        return [*found, Paragraph(full, "Made with.")]

    def _sensitivity(self) -> Iterator[Block]:
        """The inputs with the largest effect on each requirement, one at a time."""
        rows = tuple(
            (one.id, capitalised(plain(effect.name)), ", ".join(effect.rows), *ends_of(one, effect.at_low, effect.at_high))
            for one in self.plan.requirements
            for effect in self.plan.sensitivity(one.id)[:MOST_EFFECTS]
        )
        if rows:
            heads = ("Requirement", "Input", "Of", "At its low end", "At its high end")
            yield Paragraph(boilerplate.SENSITIVITY)
            yield Table("Sensitivity: one input at a time at its ends", heads, rows, (1.2, 2, 2, 1, 1))

    def _derivations(self) -> Iterator[Block]:
        yield Paragraph(boilerplate.DERIVATIONS)
        printed: dict[str, str] = {}
        for one in self.plan.requirements:
            yield DerivationListing(
                f"{one.id}: {_what(one)}", tuple(map(derivation_line, shortened(one.id, one.derivation, printed)))
            )

    def _tables(self, named: Mapping[str, str]) -> list[Block]:
        return [
            table
            for name, caption in named.items()
            for table in tables_for(
                caption, self.plan.tables.get(name, []), WORDS[name], HEADS.get(name, {}), MAIN.get(name, ())
            )
        ]


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


def ends_of(one: Requirement, *ends: float) -> tuple[str, ...]:
    """Values of a requirement as text."""
    return tuple(display(end, one.unit, binary=False) for end in ends)


def spread(one: Requirement) -> str:
    """Low to high, or nothing where they print the same."""
    return span(one.low, one.high, one.unit, " to ")


def _what(one: Requirement) -> str:
    return label(one.metric)


def _short(content_hash: str) -> str:
    """The beginning of a hash, enough to distinguish two documents."""
    return content_hash.rpartition(":")[2][:8]
