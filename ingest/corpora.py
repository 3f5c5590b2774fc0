"""What is known of a data set before its footprint is laid out: a measurement, a known corpus, a pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingest.catalog.data_records import Corpus, Pipeline
from ingest.catalog.records import Value
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, UsageError, brief
from ingest.formula import check_value
from ingest.ladder import Given, from_catalog
from ingest.units import parse

#: quantity -> field of a corpus
OF_CORPUS = {
    "tokens": "tokens",
    "corpus_bytes": "clean_bytes",
    "bytes_per_token": "bytes_per_token",
    "documents": "documents",
    "dataset_samples": "samples",
    "sample_bytes": "sample_bytes",
    "raw_bytes": "raw_bytes",
    "vocabulary": "vocabulary",
}
OF_PIPELINE = (
    "bytes_kept",
    "documents_kept",
    "tokens_kept",
    "extracted_share",
    "pipeline_output_share",
    "dedup_hashes",
    "dedup_hash_bytes",
)


def from_corpus(name: str, catalog: Catalog) -> tuple[str, str, dict[str, Given]]:
    """Return name, holding and known quantities of a corpus."""
    corpus = catalog.get(Corpus, name)
    found = {quantity: getattr(corpus, field) for quantity, field in OF_CORPUS.items()}
    return corpus.name, corpus.holds, {key: from_catalog(item) for key, item in found.items() if item is not None}


def from_pipeline(name: str, catalog: Catalog) -> dict[str, Given]:
    """Return the shares that a pipeline keeps."""
    pipeline = catalog.get(Pipeline, name)
    found: dict[str, Value | None] = {quantity: getattr(pipeline, quantity) for quantity in OF_PIPELINE}
    return {quantity: from_catalog(item) for quantity, item in found.items() if item is not None}


def from_measurement(written: str | float | Path | None) -> dict[str, Given]:
    """Return bytes per token as a number, or what `ingest measure` wrote into a JSON file.

    Raises:
        UsageError: neither a number nor such a file.
        IngestError: the file is broken.
    """
    if written is None:
        return {}
    if not isinstance(written, Path) and not (isinstance(written, str) and (written.endswith(".json") or "/" in written)):
        value = parse(written, "B/token", "--bytes-per-token")
        return {"bytes_per_token": Given(check_value("bytes_per_token", value, "--bytes-per-token"), origin="user")}
    return _measured(Path(written))


def _measured(path: Path) -> dict[str, Given]:
    raise NotImplementedError
