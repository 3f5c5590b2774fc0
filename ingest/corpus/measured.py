"""The answer of `measure`: what was counted, with what, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.answer import Answer, Known
from ingest.catalog.store import Catalog
from ingest.corpus.shards import Sums, Totals
from ingest.corpus.terms import Skipped, Tally
from ingest.corpus.vocabulary import Vocabulary
from ingest.formula import solve
from ingest.ladder import Given

#: what counting yields, by the name of the quantity
COUNTED = {
    "tokens": "tokens",
    "corpus_bytes": "text_bytes",
    "stored_bytes": "stored_bytes",
    "files": "files",
    "documents": "documents",
    "bytes_read": "bytes_read",
}
RESULTS = (
    "bytes_per_token",
    "tokens",
    "corpus_bytes",
    "stored_bytes",
    "tokenized_bytes",
    "files",
    "documents",
    "tokens_per_document",
    "bytes_per_document",
    "stored_bytes_per_file",
    "stored_share",
    "tokenized_share",
    "bytes_read",
    "files_skipped",
)


@dataclass(frozen=True)
class Measured(Answer):
    """A measured corpus.

    Attributes:
        tokenizer: name, size, sha256 and source of the vocabulary.
        engine: what counted.
        date: UTC, when the measurement ended.
        design: exact, or how the sample was drawn.
        manifest_hash: of the paths, sizes and stamps of the files.
        partial: why this is not the whole corpus, where it is not.
    """

    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    engine: str = ""
    date: str = ""
    design: Mapping[str, Any] = field(default_factory=dict)
    manifest_hash: str = ""
    partial: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`."""
        own = {
            "tokenizer": dict(self.tokenizer),
            "engine": self.engine,
            "date": self.date,
            "design": dict(self.design),
            "manifest_hash": self.manifest_hash,
            "partial": self.partial,
        }
        return {**super().to_dict(), **own}


def measured_exactly(
    totals: Totals, vocabulary: Vocabulary, catalog: Catalog, title: str, notes: Sequence[str], **about: Any
) -> Measured:
    """The answer where every file was counted, or every file up to an interruption."""
    known = Known(_given(totals, vocabulary))
    results, unknown = known.results([name for name in RESULTS if _computable(name, totals.total)])
    return Measured(
        "measure",
        title,
        {},
        known,
        results,
        unknown,
        tables_of(totals),
        tuple(notes),
        catalog,
        tokenizer=about_vocabulary(vocabulary),
        **about,
    )


def about_vocabulary(vocabulary: Vocabulary) -> dict[str, Any]:
    """What names a vocabulary for good."""
    return {
        "name": vocabulary.name,
        "size": vocabulary.size,
        "sha256": vocabulary.sha256,
        "source": vocabulary.source,
    }


def _given(totals: Totals, vocabulary: Vocabulary) -> dict[str, Given]:
    found = {name: getattr(totals.total, column) for name, column in COUNTED.items()}
    found |= {"files_skipped": totals.files_skipped, "parts_skipped": totals.parts_skipped, "vocabulary": vocabulary.size}
    return {name: Given(value, origin="measured") for name, value in found.items()}


def _computable(name: str, total: Tally) -> bool:
    divides = {"bytes_per_token": total.tokens, "stored_share": total.text_bytes, "tokenized_share": total.stored_bytes}
    divides |= dict.fromkeys(("tokens_per_document", "bytes_per_document"), total.documents)
    return bool(divides.get(name, total.files or name != "stored_bytes_per_file"))


def tables_of(totals: Totals) -> dict[str, list[dict[str, Any]]]:
    """The breakdown, and what was left out."""
    tables = {
        "folders": _breakdown("folder", totals.folders),
        "extensions": _breakdown("extension", totals.extensions),
        "files_skipped": listed(totals.skipped, totals.files_skipped),
        "parts_skipped": listed(totals.parts, totals.parts_skipped),
    }
    return {name: rows for name, rows in tables.items() if rows}


def _breakdown(kind: str, sums: Sums) -> list[dict[str, Any]]:
    tallies = sorted(sums.tallies().items(), key=lambda item: (-item[1].text_bytes, item[0]))
    return [
        {
            kind: name,
            "files": tally.files,
            "documents": tally.documents,
            "stored_bytes": tally.stored_bytes,
            "corpus_bytes": tally.text_bytes,
            "tokens": tally.tokens,
            "bytes_per_token": ratio_of(tally),
        }
        for name, tally in tallies
    ]


def ratio_of(tally: Tally) -> float | None:
    """Bytes per token; None where there is no token."""
    if not tally.tokens:
        return None
    return float(solve("bytes_per_token", {"corpus_bytes": tally.text_bytes, "tokens": tally.tokens}))


def listed(skipped: Sequence[Skipped], count: int) -> list[dict[str, Any]]:
    """What was left out, as rows; a last one says how many more there were than are named."""
    rows = [{"path": item.path, "reason": item.reason} for item in skipped]
    return rows + ([{"path": "", "reason": f"{count - len(rows):,} more that are not named"}] if count > len(rows) else [])
