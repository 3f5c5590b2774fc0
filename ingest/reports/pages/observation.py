"""The pages of what was observed: a job, the estimate that it is held against, the history of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.labels import plain
from ingest.reports.page import (
    FLAT_HEADER,
    Page,
    Section,
    calibration_line,
    flat_cells,
    page_of,
    range_text,
    results_line,
    unknown_section,
    value_text,
)
from ingest.units import display, exact

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
