"""Pages of `ingest plan` and `ingest diff`, and of what was observed: a job, the estimate beside it, a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.engine.registry import is_quantity, unit_of
from ingest.reports.labels import counted, is_share, line_in_words, plain, span
from ingest.reports.page import (
    FLAT_HEADER,
    Page,
    Section,
    assumptions_section,
    attributes,
    calibration_line,
    flat_cells,
    joined,
    page_of,
    planned,
    range_text,
    results_line,
    sources_section,
    unknown_section,
    value_text,
)
from ingest.requirement import INFORMATION, Requirement
from ingest.site.plan import TABLES
from ingest.units import display, exact

if TYPE_CHECKING:
    from ingest.site.plan import Plan, PlanScenarios
    from ingest.site.plan_file import Change, PlanDiff

#: tables with a layout of their own, or only in JSON and CSV
OFF_PAGE = ("sensitivity", "holdings")
#: Rows of a table that a page shows; JSON and CSV carry all.
MOST = 25
#: The need of a site whose jobs are all in question.
NOTHING_KNOWN = "no rate or capacity that is known yet"


def plan_page(plan: Plan, verbose: bool = False) -> Page:
    """The page of a plan: requirement lines, tables, what is missing, assumptions, sources; `verbose` lists open questions."""
    title = f"{plan.site.name}: {len(plan.requirements)} requirements, year 0 to {plan.years}"
    rows = []
    for one in plan.requirements:
        value, ends = display(one.value, one.unit, binary=False), span(one.low, one.high, one.unit, " – ")
        rows.append((one.id, one.priority, line_in_words(one), value, ends))
    asked = tuple(place for place, one in enumerate(plan.requirements) if one.priority != INFORMATION)
    waiting = tuple(one.text for one in plan.decisions)
    sections = [Section("Decisions of the buyer, before a tender goes out", lines=waiting)]
    sections += [Section("", ("id", "priority", "quantity", "value", "P10 – P90"), tuple(rows), main=asked)]
    statements = tuple(f"{one.id} ({one.priority}) {one.statement} {one.remark}".strip() for one in plan.requirements)
    sections += [Section("Requirements", lines=statements, detail="sentence")]
    sections += [_table(name, found) for name, found in plan.tables.items() if name not in OFF_PAGE]
    if "sensitivity" in plan.tables:
        # Each quantity at its ends, and the requirement at both.
        units, bars = {one.id: one.unit for one in plan.requirements}, []
        for row in plan.tables["sensitivity"]:
            own = " – ".join(display(row[end], row["unit"], binary=False) for end in ("low", "high"))
            moved = " – ".join(display(row[end], units[row["name"]], binary=False) for end in ("at_low", "at_high"))
            bars.append((row["name"], plain(row["quantity"]), row["of"], own, moved))
        heads = ("requirement", "quantity", "of", "low – high", "requirement")
        sections.append(Section(TABLES["sensitivity"].title, heads, tuple(bars), detail="table"))
    held = tuple(f"{'met' if one.met else 'NOT MET'}: {one.text} (found {one.found})" for one in plan.expectations)
    sections += [Section("Expected", lines=held)]
    absent = unknown_section(plan.missing, {name: name for name in plan.missing})
    sections += [absent._replace(title="Not applicable", detail="inapplicable line")]
    questions = tuple(f"{one.question} {one.key}: {one.suggested} ({one.reason})" for one in plan.open_questions)
    count = f"{len(questions)} values that this site file leaves open should be set before a tender: --verbose lists them"
    sections += [Section("Open questions to the buyer", lines=questions if verbose or not questions else (count,))]
    sections += [assumptions_section(plan.assumptions), sources_section(plan.sources)]
    # Requirements, then the tables, one value per row in base units.
    flat: list[tuple[object, ...]] = [FLAT_HEADER]
    flat += [("requirements", one.id, one.metric, one.value, one.unit, one.low, one.high) for one in plan.requirements]
    for table, found in plan.tables.items():
        for row in found:
            values = {column: value for column, value in row.items() if column != "name"}
            flat += flat_cells(table, row["name"], values)
    return page_of(title, sections, flat, joined("Needs", planned([plan]) or [NOTHING_KNOWN], len(plan.warnings), plan.unmet))


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
    answer = joined(counted(len(plans.plans), "scenario") + ":", planned(plans.plans), len(plans.warnings))
    return Page(title, (Section("", (*paths, *ids), tuple(rows)),), tuple(flat), answer)


def diff_page(difference: PlanDiff) -> Page:
    """What changed between two plans."""
    flat: list[tuple[object, ...]] = [("kind", "name", "before", "after", "ratio", "unit")]
    sections = []
    kinds = {"requirements": ("Requirements", "id"), "written": ("In the site file", "name"), "inputs": ("Inputs", "name")}
    for kind, (title, head) in kinds.items():
        changes: Sequence[Change] = getattr(difference, kind)
        flat += [(kind, one.name, one.before, one.after, one.ratio, one.unit) for one in changes]
        rows = []
        for one in changes:
            ends = (
                "-" if value is None else display(value, one.unit, binary=False) if one.unit else str(value)
                for value in (one.before, one.after)
            )
            why = (", ".join(one.why) or "-",) if kind == "requirements" else ()
            rows.append((one.name, *ends, "" if one.ratio is None else f"{one.ratio:.4g}", *why))
        heads = (head, "before", "after", "after ÷ before", *(("changed inputs",) if kind == "requirements" else ()))
        sections.append(Section(title, heads, tuple(rows)))
    shown = tuple(part for part in sections if part.rows) or (Section("", lines=("Nothing changed.",)),)
    title = f"{len(difference.requirements)} requirements changed"
    return Page(title, shown, tuple(flat), joined("", [title], len(difference.notes)))


def lines_page(title: str, lines: Sequence[str]) -> Page:
    """A derivation."""
    return Page(title, (Section("", lines=tuple(lines)),), (("line",), *((line,) for line in lines)))


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    known = tuple(dict.fromkeys(column for row in rows for column in row))
    columns = tuple(column for column in TABLES[name].shown or known if column in known)
    shown = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows[:MOST])
    more = (f"and {len(rows) - MOST:,} more rows: -o FILE.json or .csv has them all",) if len(rows) > MOST else ()
    return Section(TABLES[name].title, tuple(plain(column) for column in columns), shown, more, detail="table")


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str) or not is_quantity(column):
        return "" if value is None else str(value)
    unit = unit_of(column)
    return f"{value * 100:.3g} %" if is_share(column, unit) else display(value, unit, binary=False)


def report_page(made: Any) -> Page:
    """The files that `report` wrote: of a `Report`, which stands above the pages."""
    rows = tuple((name, f"{size:,} B") for name, size in made.files.items())
    return Page(f"{made.plan.site.name}: {len(rows)} files written", (Section("", ("file", "size"), rows),))


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


if TYPE_CHECKING:
    from ingest.accounting.result import Usage
    from ingest.observation.calibration import Calibration, Comparison
    from ingest.observation.observation import Observation

PER_GPU = "sample/s/GPU"
COLUMNS = ("", "", "from", "evidence", "window", "coverage")


def observation_page(answer: Observation) -> Page:
    """Figures with source, window and coverage; sizes of requests; how each was counted; what is not known."""
    rows: list[tuple[str, ...]] = []
    flat: list[tuple[object, ...]] = [FLAT_HEADER]
    for name, one in answer.figures.items():
        value = value_text(name, one.value, one.unit, binary=False)
        window = display(one.window.seconds, "s") if one.window else ""
        covered = "" if one.coverage is None else f"{one.coverage:.1%}"
        spread, origin = range_text(name, one.quantity), f"{one.basis}, {one.source}"
        rows.append((plain(name), f"≥ {value}" if one.lower_bound else value, spread, origin, window, covered))
        flat.append(("results", one.source, name, one.value, one.unit, one.low, one.high))
    sizes = tuple(
        (display(one.low, "B", binary=True), display(one.below, "B", binary=True), exact(one.requests))
        for one in answer.sizes
        if one.requests
    )
    windows = []
    for source, seen in sorted({(one.source, one.window) for one in answer.figures.values() if one.window}):
        cut = f", cut {display(seen.cut_before, 's')} before and {display(seen.cut_after, 's')} after it"
        windows.append(f"{source}: {display(seen.seconds, 's')}{cut if seen.cut_before or seen.cut_after else ''}: {seen.note}")
    notes = dict.fromkeys(f"{plain(name)}: {one.note}" for name, one in answer.figures.items() if one.note)
    facts = [
        (name, f"{value:,.4g}" if isinstance(value, float) else exact(value) if isinstance(value, int) else value)
        for name, value in answer.facts.items()
    ]
    sections = [
        Section("", COLUMNS, tuple(rows)),
        Section("Read requests by size", ("from", "below", "requests"), sizes),
        Section("Windows", lines=tuple(windows)),
        Section("How it was counted", lines=tuple(notes), detail="note"),
        Section("Job", lines=tuple(f"{name.replace('_', ' ')}: {value}" for name, value in facts)),
        unknown_section(answer.unknown),
    ]
    line = results_line(answer.question, answer.results, len(answer.warnings))
    return page_of(answer.title, sections, flat, line)


def calibration_page(answer: Calibration) -> Page:
    """Estimate beside observation per quantity, why they differ, and what was written."""
    places = ("observation",) if answer.scaling is not None else ()
    columns = (*places, "", "estimated", "observed", "observed ÷ estimated", "in range")
    rows = tuple((*((one.place,) if places else ()), *_compared(one)) for one in answer.rows)
    typed = next(
        (one.observed.value for one in answer.rows if one.observed.basis == "given" and one.observed.unit == PER_GPU), None
    )
    job = f"--model {answer.model} --gpu {answer.gpu}"
    if not answer.folder:
        commands: tuple[str, ...] = ("-o DIR writes entries that --catalogs takes",)
    elif typed is not None:
        commands = (f"ingest bw {job} --samples-per-second {typed:.6g}",)
    else:
        commands = (
            f"ingest bw {job} --protocol own --catalogs {answer.folder}",
            f"ingest plan SITE.yaml --catalogs {answer.folder} --set jobs.NAME.protocol=own",
        )
    sections = []
    if (found := answer.scaling) is not None:
        together = tuple(
            (plain(name), value_text(name, one.value, one.unit, binary=False), range_text(name, one), str(found.points[name]))
            for name, one in found.results.items()
        )
        sections.append(Section("All observations together", ("", "", "95 % interval", "observations"), together))
        sections.append(unknown_section(found.unknown))
    sections += [
        Section("", columns, rows),
        Section("Why they differ", lines=tuple(dict.fromkeys(f"{plain(one.quantity)}: {one.why}" for one in answer.rows))),
        Section(f"Written to {answer.folder}", lines=tuple(answer.files)),
        Section("Use it with", lines=commands),
    ]
    flat = [(one.quantity, one.observed.value, one.observed.unit, one.ratio, one.inside) for one in answer.rows]
    return page_of(f"{answer.model} on {answer.gpu}: estimate and observation", sections,
                   [("quantity", "observed", "unit", "ratio", "inside"), *flat], calibration_line(answer))  # fmt: skip


def _compared(one: Comparison) -> tuple[str, ...]:
    seen = value_text(one.quantity, one.observed.value, one.observed.unit, binary=False)
    if one.estimated is None or one.ratio is None:
        return plain(one.quantity), "not known", seen, "", ""
    guess = value_text(one.quantity, one.estimated.value, one.estimated.unit, binary=False)
    spread = range_text(one.quantity, one.estimated)
    shown = f"{guess} ({spread})" if spread else guess
    bound = "≥ " if one.observed.lower_bound else ""
    return plain(one.quantity), shown, f"{bound}{seen}", f"{one.ratio:.3g}", "yes" if one.inside else "no"


#: Results that a short page leaves out.
FURTHER = frozenset(("jobs_skipped", "history_seconds", "coverage", "starts_per_minute_max", "concurrent_nodes_p50",
                     "concurrent_nodes_p95", "bytes_read", "bytes_written"))  # fmt: skip
CLASSES = (
    "class", "cluster", "runs", "GPU-hours", "share", "GPUs per run", "GPUs in use: P99", "maximum", "length: median", "P95",
    "read per GPU",
)  # fmt: skip


#: What the shares of a history are of, in their order.
KNOWN = ("allocations that ran and are counted", "GPU-hours whose kind of GPU is known", "GPU-hours whose bytes are known",
         "GPU-hours whose model is known")  # fmt: skip


def usage_page(answer: Usage) -> Page:
    """Concurrency, classes, what was left out, what the history does not tell."""
    results = answer.results
    rows = tuple((plain(name), value_text(name, one.value, one.unit, binary=False)) for name, one in results.items())
    main = tuple(place for place, name in enumerate(results) if name not in FURTHER)
    flat: list[tuple[object, ...]] = [FLAT_HEADER]
    flat += [("results", "", name, one.value, one.unit, None, None) for name, one in results.items()]
    classes = []
    for one in answer.classes:
        read = display(one.read[0], "B/s/GPU", binary=False, digits=3) if one.read else ""
        used = [f"{one.concurrent[name]:,.5g}" for name in ("p99", "max")]
        lengths = [display(hours * 3600, "s", digits=3) for hours in one.lengths]
        size = f"{one.gpus[0]:,.4g}"
        classes.append(
            (one.name, one.cluster, f"{one.jobs:,}", f"{one.gpu_hours:,.0f}", f"{one.share:.1%}", size, *used, *lengths, read)
        )
        cells = {"jobs": one.jobs, "gpu_hours": one.gpu_hours, "share": one.share, "concurrent_gpus_p99": one.concurrent["p99"],
                 "concurrent_gpus_max": one.concurrent["max"]}  # fmt: skip
        flat += flat_cells("classes", one.name, cells)
    left_out = tuple((reason, f"{count:,}") for reason, count in answer.removed.items())
    otherwise = tuple(f"{count:,} × {note}" for note, count in answer.runs.notes.items())
    known = tuple((said, f"{share:.1%}") for said, share in zip(KNOWN, answer.coverage.values(), strict=True))
    sections = [
        Section("", ("", ""), rows, main=main),
        Section("Classes", CLASSES, tuple(classes), folded=5),
        Section("Left out", ("reason", "rows"), left_out),
        Section("Read otherwise than recorded", lines=otherwise),
        Section("Known", ("of", "share"), known),
        Section("Questions to the buyer", lines=tuple(f"{key}: {text}" for key, text in answer.questions.items())),
    ]
    return page_of(answer.title, sections, flat, answer_line(answer))


def answer_line(answer: Usage) -> str:
    """The answer in one line."""
    results = answer.results
    hours, peak, level = (results[name].value for name in ("gpu_hours", "concurrent_gpus_max", "concurrent_gpus_p99"))
    questions = f" · {len(answer.questions)} questions" if answer.questions else ""
    return f"{hours:,.0f} GPU-hours · P99 {level:,.5g} GPUs in use, at most {peak:,.5g}{questions}"
