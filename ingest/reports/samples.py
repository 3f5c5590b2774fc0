"""The page of sample sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.reports.answers import flat_rows
from ingest.reports.labels import plain
from ingest.reports.page import Page, Section
from ingest.units import display, exact

if TYPE_CHECKING:
    from ingest.corpus.measured import Measured

#: rows of a table that a page shows; JSON and CSV have all
SHOWN = 10
COUNTS = ("sample", "file")


def samples_page(answer: Measured) -> Page:
    """Results, percentiles, histograms, extensions, what was left out, and what to do with it."""
    tables = answer.tables
    results = tuple((plain(name), _shown(item.value, item.unit)) for name, item in answer.results.items())
    sections = [
        Section("", ("", ""), results),
        Section("Sizes", ("", "sample", "file"), _percentiles(tables["sample_sizes"], tables["file_sizes"])),
        Section("Samples by size", ("from", "below", "samples", "bytes"), _bins(tables["sample_histogram"])),
        Section("Files by size", ("from", "below", "files", "bytes"), _bins(tables["file_histogram"])),
        Section("By extension", ("extension", "files", "samples", "stored"), _extensions(tables["extensions"])),
        Section(f"Files skipped ({len(tables.get('files_skipped', ())):,})", lines=_left_out(tables.get("files_skipped", ()))),
        Section("Use it with", lines=(f"ingest bw --model … --sample-bytes {answer.results['sample_bytes'].value:.0f}",)),
    ]
    shown = tuple(section for section in sections if section.rows or section.lines)
    return Page(answer.title, shown, flat_rows(answer))


def _shown(value: float, unit: str) -> str:
    return exact(round(value)) if unit in COUNTS else display(value, unit)


def _size(value: float) -> str:
    return display(value, "B", binary=False)


def _percentiles(samples: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple((one["size"], _size(one["bytes"]), _size(other["bytes"])) for one, other in zip(samples, files, strict=True))


def _bins(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (display(row["from"], "B"), display(row["below"], "B"), exact(row["count"]), _size(row["bytes"])) for row in rows
    )


def _extensions(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    shown = ((row["extension"], exact(row["files"]), exact(row["samples"]), _size(row["stored_bytes"])) for row in rows[:SHOWN])
    more = ((f"… and {len(rows) - SHOWN:,} more", "", "", ""),) if len(rows) > SHOWN else ()
    return (*shown, *more)


def _left_out(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{row['path']}: {row['reason']}" if row["path"] else str(row["reason"]) for row in rows[:SHOWN])
