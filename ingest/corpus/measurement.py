"""The result of `ingest measure`: counts, provenance and skipped files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.corpus.files.names import MARKUP, content_suffix
from ingest.corpus.types import LeftOut, SkippedFile, Vocabulary
from ingest.engine.question import Question, shown
from ingest.engine.registry import solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import EMPTY, Input
from ingest.errors import IngestError
from ingest.files import write_whole

if TYPE_CHECKING:
    from ingest.corpus.counting.ledger import GroupTallies, Totals
    from ingest.corpus.estimators import RatioEstimate
    from ingest.corpus.sample import GroupEstimate, Survey

#: rows by name of the table
Tables = Mapping[str, list[dict[str, Any]]]
#: what counting yields, by the name of the quantity
COUNTED = {"tokens": "tokens", "corpus_bytes": "text_bytes"}
COUNTED |= {name: name for name in ("stored_bytes", "files", "documents", "bytes_read")}
#: What `measure` answers.
QUESTION = Question(
    "measure",
    shown(
        "bytes_per_token", "tokens", "corpus_bytes", "stored_bytes", "tokenized_bytes", "files", "documents",
        "tokens_per_document", "bytes_per_document", "stored_bytes_per_file", "stored_share", "tokenized_share",
        "unreadable_bytes", "bytes_read", "files_skipped", "documents_skipped",
    ),
    (
        ("Found", {"bytes_per_token": "{}", "tokens": "{}", "corpus_bytes": "{} of text"}),
        ("Found", {"corpus_bytes": "{} of text", "stored_bytes": "{} stored", "files": "{}"}),
    ),
)  # fmt: skip


class CorpusMeasurement(Answer):
    """A measured corpus."""

    tokenizer: Mapping[str, Any] = EMPTY  # name, size, sha256 and source of the vocabulary
    engine: str = ""  # what counted
    date: str = ""  # UTC, when the measurement ended
    design: Mapping[str, Any] = EMPTY  # exact, or how the sample was drawn
    manifest_hash: str = ""  # of the paths, sizes and stamps of the files
    partial: str = ""  # why this is not the whole corpus, where it is not
    speed: Mapping[str, float] = EMPTY  # bytes of text, seconds, workers of a whole count; none of a sample or a resumed count

    @property
    def left_out(self) -> str:
        """What was left out, in a line; nothing where nothing was."""
        named = [row for name in ("files_skipped", "parts_skipped") for row in self.tables.get(name, ())]
        if not named:
            return ""
        return f"{len(named):,} left out, expected none; the first is {named[0]['path']}: {named[0]['reason']}"

    def to_dict(self) -> dict[str, Any]:
        own = ("tokenizer", "engine", "date", "design", "manifest_hash", "partial", "speed")
        return {**super().to_dict(), **{name: getattr(self, name) for name in own}}


class CorpusPart(CorpusMeasurement):
    """A part of a measurement: no results, but what `--merge` adds up to some."""

    part: str = ""  # as `--part` has it
    ledger: bytes = b""  # what its file holds

    def write(self, path: str | Path) -> None:
        """Write the file of the part whole. Raises IngestError: it cannot be written."""
        write_whole(path, self.ledger)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "part": self.part, "ledger": self.ledger.decode()}


def measured_exactly(totals: Totals, vocabulary: Vocabulary, **about: Any) -> CorpusMeasurement:
    """The answer where every file was counted, or every file up to an interruption."""
    total = totals.total
    given = {name: Input(getattr(total, column), origin="measured") for name, column in COUNTED.items()}
    given["files_skipped"] = Input(totals.skipped.count, origin="measured")
    given["documents_skipped"] = Input(totals.parts.documents, origin="measured")
    # a ratio needs something to divide by
    divides = {"bytes_per_token": total.tokens, "stored_share": total.text_bytes, "tokenized_share": total.stored_bytes}
    divides |= dict.fromkeys(("tokens_per_document", "bytes_per_document"), total.documents)
    divides |= {"stored_bytes_per_file": total.files, "unreadable_bytes": 0}
    tables = {
        "folders": _breakdown("folder", totals.folders),
        "extensions": _breakdown("extension", totals.extensions),
        "files_skipped": skipped_rows(totals.skipped),
        "parts_skipped": skipped_rows(totals.parts),
    }
    return answered(given, [name for name in QUESTION.names if divides.get(name, 1)], tables, vocabulary, **about)


def counted_exactly(
    totals: Totals, named: str, vocabulary: Vocabulary, notes: tuple[str, ...], partial: str = "", why: str = "", **about: Any
) -> CorpusMeasurement:
    """The answer to an exact count of the corpus that titles name so. Raises IngestError: no file counts."""
    if not totals.total.files and not partial:
        raise IngestError(nothing_counted(named, totals.skipped.named))
    title = f"{named}: counted exactly with {vocabulary.name}{why}"
    about |= {"design": {"design": "exact"}, "partial": partial}
    return measured_exactly(totals, vocabulary, title=title, warnings=notes, **about)


def nothing_counted(named: str, skipped: Sequence[SkippedFile]) -> str:
    """Return the message for a corpus in which no file counts."""
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} skipped, the first is {first.path}: {first.reason}"


def measured_by_sample(
    sampled: Survey, skipped: Sequence[SkippedFile], vocabulary: Vocabulary, **about: Any
) -> CorpusMeasurement:
    """The answer where a part was drawn; `skipped` could not even be listed."""
    given: dict[str, Input] = {}
    for name, figure in sampled.figures.items():
        value, low, high = _ends(name, figure)
        given[name] = Input(value, origin="measured") if low == high else Input(value, low, high, "measured")
    out, parts = LeftOut(), LeftOut()
    out.note(*skipped, *sampled.skipped)
    parts.note(*sampled.parts)
    given["bytes_read"] = Input(sampled.reader.bytes_read, origin="measured")
    given["files_skipped"] = Input(out.count, origin="measured")
    names = [name for name in QUESTION.names if name in given or name == "tokenized_bytes"]
    tables = {
        "folders": [_row("folder", row) for row in sampled.groups("folders")],
        "extensions": [_row("extension", row) for row in sampled.groups("extensions")],
        "files_skipped": skipped_rows(out),
        "parts_skipped": skipped_rows(parts),
        "design": sampled.design,
    }
    design = {"design": "sampled"} | {name: getattr(sampled, name) for name in ("seed", "tolerance", "confidence", "met")}
    return answered(given, names, tables, vocabulary, design=design, partial=sampled.partial, **about)


def answered(
    given: dict[str, Input], names: Sequence[str], tables: Tables, vocabulary: Vocabulary, **about: Any
) -> CorpusMeasurement:
    """The answer with these quantities, of which those of these names are results."""
    known = Quantities({**given, "vocabulary": Input(vocabulary.size, origin="measured", note=f"ids of {vocabulary.name}")})
    record = {name: getattr(vocabulary, name) for name in ("name", "size", "sha256", "source")}
    endings = [row["extension"] for row in tables.get("extensions", ())]
    # Behind `:2,` stand the flags of a message of a Maildir.
    marked = [one for one in endings if content_suffix(f"a{one}") in MARKUP or ":2," in one]
    if marked:
        told = f"tags, headers and keys in files of {', '.join(marked)} count as text: what is extracted from them is shorter"
        about["warnings"] = tuple(dict.fromkeys((*about["warnings"], told)))
    return measurement_of(QUESTION, known, names, tables, tokenizer=record, **about)


def measurement_of(
    question: Question,
    known: Quantities,
    names: Sequence[str],
    tables: Tables,
    title: str,
    catalog: Catalog,
    warnings: tuple[str, ...],
    **about: Any,
) -> CorpusMeasurement:
    """The result with these quantities and those of the tables that have rows; `about` are attributes of the result."""
    results, unknown = known.results(names)
    filled = {name: rows for name, rows in tables.items() if rows}
    about["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    return CorpusMeasurement(question, title, {}, known, results, unknown, filled, warnings, catalog, **about)


def _ends(name: str, figure: RatioEstimate) -> tuple[float, ...]:
    """A figure and the ends of its interval; what is counted is whole."""
    return tuple(end if name == "bytes_per_token" else round(end) for end in figure)


def _row(kind: str, row: GroupEstimate) -> dict[str, Any]:
    """A folder or extension of a sample; what too few draws fell into has no figures."""
    shown = {kind: row.name, "files": row.files, "stored_bytes": row.stored_bytes, "draws": row.draws}
    for name in ("corpus_bytes", "tokens", "bytes_per_token"):
        figure = getattr(row, name)
        value, low, high = _ends(name, figure) if figure is not None else (None, None, None)
        shown |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {**shown, "note": row.note}


def _breakdown(kind: str, sums: GroupTallies) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, tally in sorted(sums.tallies().items(), key=lambda item: (-item[1].text_bytes, item[0])):
        counts = {"corpus_bytes": tally.text_bytes, "tokens": tally.tokens}
        ratio = float(solve("bytes_per_token", counts)) if tally.tokens else None
        row = {kind: name, "files": tally.files, "documents": tally.documents, "stored_bytes": tally.stored_bytes}
        rows.append({**row, **counts, "bytes_per_token": ratio})
    return rows


def skipped_rows(skipped: LeftOut) -> list[dict[str, Any]]:
    """What was left out, as rows; a last one says how many more there were than are named."""
    rows = [{"path": item.path, "reason": item.reason} for item in skipped.named]
    more = skipped.count - len(rows)
    return rows + ([{"path": "", "reason": f"{more:,} more that are not named"}] if more else [])
