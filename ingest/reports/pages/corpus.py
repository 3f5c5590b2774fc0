"""The page of a measured corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.reports.answer_line import answer_line
from ingest.reports.labels import plain
from ingest.reports.page import Page, Section, more_rows, page_of, sources_section
from ingest.reports.pages.sizing import flat_rows
from ingest.units import display, exact

if TYPE_CHECKING:
    from ingest.corpus.measurement import CorpusMeasurement


#: rows of a table that a page shows; JSON and CSV have all
SHOWN = 10
ALL_ROWS = "; --format json has all"
#: Units of things that are counted: numbers in full.
COUNTED = ("token", "file", "document", "sample")
BREAKDOWN = {"folders": "By folder", "extensions": "By extension"}
LEFT_OUT = {"files_skipped": "Files skipped", "parts_skipped": "Left out of files that count"}


def corpus_page(answer: CorpusMeasurement) -> Page:
    """Results with their intervals, the breakdown, what was left out, and with what it was measured; or sizes of samples."""
    if "sample_bytes" in answer.results:
        return samples_page(answer)
    if not answer.results:  # a part, which has none before --merge
        return page_of(answer.title, (), tuple(flat_rows(answer)), answer_line(answer))
    ranged = any(item.low is not None for item in answer.results.values())
    rows: list[tuple[str, ...]] = []
    for name, item in answer.results.items():
        ends = ("" if end is None else _text(end, item.unit) for end in (item.low, item.high))
        rows.append((plain(name), _text(item.value, item.unit), *(ends if ranged else ())))
    sections = [Section("", ("", "", "from", "to") if ranged else ("", ""), tuple(rows))]
    for make, titles in ((_breakdown, BREAKDOWN), (_left_out, LEFT_OUT)):
        sections += [make(title, answer.tables[name]) for name, title in titles.items() if name in answer.tables]
    used = answer.tokenizer
    facts = (
        f"tokenizer {used['name']}, {used['size']:,} ids, {used['source']}, sha256 {used['sha256'][:16]}…",
        f"engine {answer.engine}, {answer.date}",
        f"files {answer.manifest_hash[:23]}…",
    )
    sections += [Section("Measured with", lines=facts, detail="fact"), sources_section(answer.sources, places=True)]
    title = f"{answer.title}: PARTIAL, {answer.partial}" if answer.partial else answer.title
    head, *rest = flat_rows(answer)
    marked = [("partial", "", "partial", answer.partial, "", None, None)] if answer.partial else []
    return page_of(title, sections, (head, *marked, *rest), answer_line(answer))


def _text(value: float, unit: str) -> str:
    return exact(round(value)) if unit in COUNTED else display(value, unit)


def _size(value: float) -> str:
    return display(value, "B", binary=False)


def _breakdown(title: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    """Files, bytes and tokens of each folder or extension; of a sample, the bytes of a token with their interval."""
    kind, sampled = next(iter(rows[0])), "draws" in rows[0]
    columns = (kind, "files", "stored", *(("B/token", "from", "to") if sampled else ("text", "tokens", "B/token")))
    shown: list[tuple[str, ...]] = []
    for row in rows[:SHOWN]:
        ratios = (row.get(f"bytes_per_token{end}") for end in ("", "_low", "_high"))
        ratio, low, high = ("" if value is None else f"{value:.3f}" for value in ratios)
        if not sampled:
            counted = (_size(row["corpus_bytes"]), display(row["tokens"], "token").replace(" tokens", ""), ratio)
        else:
            counted = (row["note"], "", "") if row["note"] else (ratio, low, high)
        shown.append((row[kind], exact(row["files"]), _size(row["stored_bytes"]), *counted))
    return Section(title, columns, tuple(shown), more_rows(len(rows), SHOWN, ALL_ROWS))


def _left_out(title: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    lines = tuple(f"{row['path']}: {row['reason']}" if row["path"] else str(row["reason"]) for row in rows[:SHOWN])
    return Section(f"{title} ({len(rows):,})", lines=lines + more_rows(len(rows), SHOWN, ALL_ROWS))


def samples_page(answer: CorpusMeasurement) -> Page:
    """Results, percentiles, histograms, extensions, what was left out, and what to do with it."""
    tables = answer.tables
    results = tuple((plain(name), _text(item.value, item.unit)) for name, item in answer.results.items())
    pairs = zip(tables["sample_sizes"], tables["file_sizes"], strict=True)
    sizes = tuple((one["size"], _size(one["bytes"]), _size(other["bytes"])) for one, other in pairs)
    shown = [
        (row["extension"], exact(row["files"]), exact(row["samples"]), _size(row["stored_bytes"]))
        for row in tables["extensions"][:SHOWN]
    ]
    shown += [(line, "", "", "") for line in more_rows(len(tables["extensions"]), SHOWN)]
    samples, files = (
        tuple((display(row["from"], "B"), display(row["below"], "B"), exact(row["count"]), _size(row["bytes"])) for row in rows)
        for rows in (tables["sample_histogram"], tables["file_histogram"])
    )
    sections = [
        Section("", ("", ""), results),
        Section("Sizes", ("", "sample", "file"), sizes),
        Section("Samples by size", ("from", "below", "samples", "bytes"), samples),
        Section("Files by size", ("from", "below", "files", "bytes"), files),
        Section("By extension", ("extension", "files", "samples", "stored"), tuple(shown)),
        *([_left_out("Files skipped", tables["files_skipped"])] if "files_skipped" in tables else []),
        Section("Use it with", lines=(f"ingest bw --model … --sample-bytes {answer.results['sample_bytes'].value:.0f}",)),
    ]
    return page_of(answer.title, sections, flat_rows(answer), answer_line(answer))
