"""Pages of `ingest plan` and `ingest diff`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.engine.registry import is_quantity, unit_of
from ingest.reports.answer_line import plan_line, plans_line, titled
from ingest.reports.labels import is_share, plain, span
from ingest.reports.page import (
    FLAT_HEADER,
    Page,
    Section,
    assumptions_section,
    attributes,
    flat_cells,
    page_of,
    sources_section,
)
from ingest.requirement import INFORMATION
from ingest.units import display

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.plan import Plan, PlanScenarios
    from ingest.site.plan_diff import Change, PlanDiff
    from ingest.site.service import OpenQuestion

TITLES = {
    "jobs": "Jobs",
    "loaders": "Latency that loaders take",
    "clusters": "Clusters",
    "checkpoints": "Checkpoints",
    "offload": "Model states below GPU memory",
    "serving": "Key-value caches of serving workloads",
    "preparation": "Preparation of data sets",
    "datasets": "Data sets",
    "mixtures": "Mixtures of data sets",
    "capacity": "Capacity by year",
    "metadata": "Metadata",
    "guidance": "Guidance, workload and practice",
    "placement": "Streaming, staging, caching",
    "growth": "Bandwidth by year",
    "sensitivity": "Sensitivity",
}
#: tables with a layout of their own, or only in JSON and CSV
OFF_PAGE = ("sensitivity", "holdings")
#: Rows of a table that a page shows; JSON and CSV carry all.
MOST = 25
#: what a page shows of the wide tables
SHOWN = {
    "jobs": ("name", "cluster", "model", "basis", "nodes", "concurrent_runs", "share_of_time", "job_read_bandwidth",
             "run_seconds"),
    "checkpoints": ("name", "mode", "checkpoint_bytes", "checkpoint_interval", "total_overhead",
                    "job_write_bandwidth", "job_checkpoint_bytes_held"),
    "guidance": ("name", "cluster", "floor", "cluster_gpus", "compared_reads", "compared_writes", "compared_node_reads"),
    "metadata": ("name", "job_file_opens", "run_file_creates", "job_checkpoint_files_held"),
    "offload": ("name", "storage_tier_bytes", "storage_tier_read_bandwidth_per_node", "storage_tier_write_bandwidth_per_node",
                "nvme_tier_bytes", "nvme_tier_read_bandwidth_per_node", "nvme_tier_write_bandwidth_per_node"),
    "serving": ("name", "model", "tier", "serving_nodes", "kv_held_bytes", "kv_hit_share", "kv_peak_turns",
                "kv_peak_read_bandwidth", "kv_write_bandwidth", "kv_block_seconds"),
    "loaders": ("name", "loader_workers", "samples_per_step", "accepted_utilization", "loader_latency", "latency_99",
                "loader_queue_depth"),
    "placement": ("name", "job_dataset_bytes", "staging_seconds", "node_bytes_shared", "node_nvme_bytes", "cached_share"),
}  # fmt: skip


def plan_page(plan: Plan, verbose: bool = False) -> Page:
    """The page of a plan: requirement lines, tables, what is missing, assumptions, sources; `verbose` lists open questions."""
    title = f"{plan.site.name}: {len(plan.requirements)} requirements, year 0 to {plan.years}"
    rows = []
    for one in plan.requirements:
        value, ends = display(one.value, one.unit, binary=False), span(one.low, one.high, one.unit, " – ")
        rows.append((one.id, one.priority, plain(one.metric), value, ends))
    asked = tuple(place for place, one in enumerate(plan.requirements) if one.priority != INFORMATION)
    sections = [Section("", ("id", "priority", "quantity", "value", "P10 – P90"), tuple(rows), main=asked)]
    statements = tuple(f"{one.id} ({one.priority}) {one.statement} {one.remark}".strip() for one in plan.requirements)
    sections += [Section("Requirements", lines=statements, detail="sentence")]
    sections += [_table(name, found) for name, found in plan.tables.items() if name not in OFF_PAGE]
    units = {one.id: one.unit for one in plan.requirements}
    sections += [_bars(plan.tables["sensitivity"], units)] if "sensitivity" in plan.tables else []
    held = tuple(f"{'met' if one.met else 'NOT MET'}: {one.text} (found {one.found})" for one in plan.expectations)
    sections += [Section("Expected", lines=held)]
    absent = tuple(f"{', '.join(names)}: {why}" for why, names in _by_reason(plan).items())
    sections += [Section("Not applicable", lines=absent, detail="inapplicable line")]
    sections += [_questions(plan.open_questions, verbose)]
    sections += [assumptions_section(plan.assumptions), sources_section(plan.sources)]
    return page_of(title, sections, _flat(plan), plan_line(plan))


def _by_reason(plan: Plan) -> dict[str, list[str]]:
    """The ids of the lines that a site does not use, by reason."""
    found: dict[str, list[str]] = {}
    for name, why in plan.missing.items():
        found.setdefault(why, []).append(name)
    return found


def _questions(questions: Sequence[OpenQuestion], verbose: bool) -> Section:
    """The open questions, or how many there are."""
    if verbose:
        lines = tuple(f"{one.question} {one.key}: {one.suggested} ({one.reason})" for one in questions)
        return Section("Open questions to the buyer", lines=lines)
    count = f"{len(questions)} values that this site file leaves open should be set before a tender: --verbose lists them"
    return Section("Open questions to the buyer", lines=(count,) if questions else ())


def plans_page(plans: PlanScenarios) -> Page:
    """The page of several scenarios: one row each."""
    paths = tuple(plans.plans[0].chosen)
    ids = tuple(dict.fromkeys(name for one in plans.plans for name in one.results))
    rows: list[tuple[str, ...]] = []
    flat: list[tuple[object, ...]] = [(*paths, *ids)]
    for one in plans.plans:
        chosen = [one.chosen[path] for path in paths]
        found = [one.results.get(name) for name in ids]
        rows.append((*map(str, chosen), *("" if item is None else item.display for item in found)))
        flat.append((*chosen, *("" if item is None else item.value for item in found)))
    title = f"{len(plans.plans)} scenarios of {plans.plans[0].site.name}"
    return Page(title, (Section("", (*paths, *ids), tuple(rows)),), tuple(flat), plans_line(plans))


def diff_page(difference: PlanDiff) -> Page:
    """What changed between two plans."""
    columns = ("before", "after", "after ÷ before")
    lines = tuple((one.name, *_moved(one), ", ".join(one.why) or "-") for one in difference.requirements)
    sections = [Section("Requirements", ("id", *columns, "changed inputs"), lines)]
    for title, changes in (("In the site file", difference.written), ("Inputs", difference.inputs)):
        sections.append(Section(title, ("name", *columns), tuple((one.name, *_moved(one)) for one in changes)))
    shown = tuple(part for part in sections if part.rows) or (Section("", lines=("Nothing changed.",)),)
    flat: list[tuple[object, ...]] = [("kind", "name", "before", "after", "ratio", "unit")]
    for kind in ("requirements", "written", "inputs"):
        flat += [(kind, one.name, one.before, one.after, one.ratio, one.unit) for one in getattr(difference, kind)]
    title = f"{len(lines)} requirements changed"
    return Page(title, shown, tuple(flat), titled(title, len(difference.notes)))


def _moved(change: Change) -> tuple[str, str, str]:
    """A value before and after, and their ratio."""
    before, after = (
        "-" if value is None else display(value, change.unit, binary=False) if change.unit else str(value)
        for value in (change.before, change.after)
    )
    return before, after, "" if change.ratio is None else f"{change.ratio:.4g}"


def lines_page(title: str, lines: Sequence[str]) -> Page:
    """A derivation."""
    return Page(title, (Section("", lines=tuple(lines)),), (("line",), *((line,) for line in lines)))


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    known = tuple(dict.fromkeys(column for row in rows for column in row))
    columns = tuple(column for column in SHOWN.get(name, known) if column in known)
    shown = tuple(tuple(_cell(column, row.get(column, "")) for column in columns) for row in rows[:MOST])
    more = (f"and {len(rows) - MOST:,} more rows: -o FILE.json or .csv has them all",) if len(rows) > MOST else ()
    return Section(TITLES[name], tuple(plain(column) for column in columns), shown, more, detail="table")


def _bars(rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> Section:
    """The tornado: each quantity at its ends, and the requirement at both."""
    shown = []
    for row in rows:
        own = " – ".join(display(row[end], row["unit"], binary=False) for end in ("low", "high"))
        moved = " – ".join(display(row[end], units[row["name"]], binary=False) for end in ("at_low", "at_high"))
        shown.append((row["name"], plain(row["quantity"]), row["of"], own, moved))
    return Section(
        TITLES["sensitivity"], ("requirement", "quantity", "of", "low – high", "requirement"), tuple(shown), detail="table"
    )


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str) or not is_quantity(column):
        return "" if value is None else str(value)
    unit = unit_of(column)
    return f"{value * 100:.3g} %" if is_share(column, unit) else display(value, unit, binary=False)


def requirement_wording(requirements: Sequence[Requirement]) -> tuple[tuple[object, ...], ...]:
    """One row per requirement in base units: its sentence, its value, and the conditions of its test."""
    line = ("id", "priority", "statement", "metric", "value", "computed", "low", "high", "unit")
    conditions = ("operation", "pattern", "clients", "threads", "queue_depth", "implied_latency", "latency_99", "io_size",
                  "mix_in_words", "duration", "fill", "files", "cache")  # fmt: skip
    units = {"implied_latency": "s", "latency_99": "s", "io_size": "B", "duration": "s"}
    named = (name.removesuffix("_in_words") for name in conditions)
    heads = (f"{name} ({units[name]})" if name in units else name for name in named)
    tests = attributes(conditions, (one.conditions for one in requirements))
    rows = zip(attributes(line, requirements), tests, requirements, strict=True)
    return ((*line, *heads, "assumptions"), *((*own, *test, "; ".join(one.assumptions)) for own, test, one in rows))


def _flat(plan: Plan) -> Iterator[tuple[object, ...]]:
    """Requirements, then the tables, one value per row in base units."""
    yield FLAT_HEADER
    yield from (("requirements", one.id, one.metric, one.value, one.unit, one.low, one.high) for one in plan.requirements)
    for table, rows in plan.tables.items():
        for row in rows:
            values = {column: value for column, value in row.items() if column != "name"}
            yield from flat_cells(table, row["name"], values)
