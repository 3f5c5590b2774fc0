"""The page of an accounting history: concurrency, classes, what was left out, what it does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.labels import plain
from ingest.reports.page import FLAT_HEADER, Page, Section, flat_cells, page_of, value_text
from ingest.units import display

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

#: Results that a short page leaves out.
FURTHER = frozenset(("jobs_skipped", "history_seconds", "coverage", "starts_per_minute_max", "concurrent_nodes_p50",
                     "concurrent_nodes_p95", "bytes_read", "bytes_written"))  # fmt: skip
CLASSES = (
    "class", "cluster", "runs", "GPU-hours", "share", "GPUs per run", "GPUs in use: P99", "maximum", "length: median", "P95",
    "read per GPU",
)  # fmt: skip


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
    known = tuple((name, f"{share:.1%}") for name, share in answer.coverage.items())
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
