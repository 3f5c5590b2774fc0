"""What is known of a data set before its footprint is laid out: a measurement, a known corpus, a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ingest.catalog.data_records import Corpus, Pipeline
from ingest.catalog.records import Value
from ingest.corpus.ratio import OPTION, bytes_per_token_of, is_file_name
from ingest.corpus.result import read_result
from ingest.engine.value import Input
from ingest.formula import check_value, solve
from ingest.ladder import from_catalog

#: quantity -> field of a corpus
OF_CORPUS = {
    "tokens": "tokens",
    "bytes_per_token": "bytes_per_token",
    "dataset_samples": "samples",
    "sample_bytes": "sample_bytes",
    "raw_bytes": "raw_bytes",
    "vocabulary": "vocabulary",
}
#: quantity -> field of a pipeline
OF_PIPELINE = {
    "bytes_kept": "bytes_kept",
    "documents_kept": "documents_kept",
    "tokens_kept": "tokens_kept",
    "pipeline_input_bytes": "input_bytes",
    "pipeline_output_bytes": "output_bytes",
    "pipeline_input_documents": "input_documents",
    "pipeline_output_documents": "output_documents",
    "pipeline_input_tokens": "input_tokens",
    "pipeline_output_tokens": "output_tokens",
    "extracted_share": "extracted_share",
    "pipeline_output_share": "pipeline_output_share",
    "dedup_hashes": "dedup_hashes",
    "dedup_hash_bytes": "dedup_hash_bytes",
}


def from_corpus(corpus: Corpus) -> dict[str, Input]:
    """Return what is known of a corpus; ratios rather than totals, so that they hold for more or fewer tokens too."""
    found = _fields(corpus, OF_CORPUS)
    if corpus.tokens is not None:
        totals = {
            "bytes_per_token": ("corpus_bytes", corpus.clean_bytes),
            "tokens_per_document": ("documents", corpus.documents),
        }
        for name, (quantity, total) in totals.items():
            if total is not None and name not in found:
                found[name] = _ratio(name, quantity, total, corpus.tokens, corpus.name)
    elif corpus.clean_bytes is not None:
        found["clean_bytes"] = from_catalog(corpus.clean_bytes)
    return found


def _ratio(name: str, quantity: str, total: Value, tokens: Value, of: str) -> Input:
    number = float(solve(name, {quantity: total.value, "tokens": tokens.value}))
    grade = "assumed" if "assumed" in (total.grade, tokens.grade) else "derived"
    return Input(number, source=total.source, where=total.where, grade=grade, note=f"{name.replace('_', ' ')} of {of}")


def from_pipeline(pipeline: Pipeline) -> dict[str, Input]:
    """Return what a pipeline keeps, and what went in and came out when that was published."""
    return _fields(pipeline, OF_PIPELINE)


def _fields(entry: Corpus | Pipeline, names: Mapping[str, str]) -> dict[str, Input]:
    values = {quantity: getattr(entry, field) for quantity, field in names.items()}
    return {quantity: from_catalog(item) for quantity, item in values.items() if isinstance(item, Value)}


def from_measurement(written: str | float | Path | None) -> dict[str, Input]:
    """Return bytes per token as a number, or what `ingest measure` wrote into a JSON file.

    Raises:
        UsageError: neither a number nor such a file.
        IngestError: the file is broken.
    """
    if written is None:
        return {}
    found = {"bytes_per_token": bytes_per_token_of(written)}
    if not is_file_name(written):
        return found
    measured = read_result(Path(written), OPTION)
    tokens, documents = measured.quantity("tokens"), measured.quantity("documents")
    if tokens is not None:
        found["tokens"] = tokens
    if tokens is not None and documents is not None:
        length = float(solve("tokens_per_document", {"tokens": tokens.value, "documents": documents.value}))
        found["tokens_per_document"] = documents._replace(value=length, low=None, high=None)
    if measured.vocabulary is not None:
        size = check_value("vocabulary", measured.vocabulary, f"{OPTION}: tokenizer.size")
        found["vocabulary"] = Input(size, origin="measured", note=f"the tokenizer of {measured.path.name}")
    return found
