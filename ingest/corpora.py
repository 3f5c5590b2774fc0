"""What is known of a data set before its footprint is laid out: a measurement, a known corpus, a pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.catalog.data_records import Corpus, Pipeline
from ingest.catalog.records import Value
from ingest.errors import IngestError, UsageError, brief
from ingest.footprint_question import above_zero
from ingest.formula import check_value, solve
from ingest.ladder import Given, from_catalog
from ingest.units import parse

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


def from_corpus(corpus: Corpus) -> dict[str, Given]:
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


def _ratio(name: str, quantity: str, total: Value, tokens: Value, of: str) -> Given:
    number = float(solve(name, {quantity: total.value, "tokens": tokens.value}))
    grade = "assumed" if "assumed" in (total.grade, tokens.grade) else "derived"
    return Given(number, source=total.source, where=total.where, grade=grade, note=f"{name.replace('_', ' ')} of {of}")


def from_pipeline(pipeline: Pipeline) -> dict[str, Given]:
    """Return what a pipeline keeps, and what went in and came out when that was published."""
    return _fields(pipeline, OF_PIPELINE)


def _fields(entry: Corpus | Pipeline, names: Mapping[str, str]) -> dict[str, Given]:
    values = {quantity: getattr(entry, field) for quantity, field in names.items()}
    return {quantity: from_catalog(item) for quantity, item in values.items() if isinstance(item, Value)}


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
    """Bytes per token with their interval, tokens per document, and the vocabulary they were counted with."""
    what = f"--bytes-per-token: '{path}'"
    data = _object(path, what)
    if data.get("command") != "measure" or not isinstance(data.get("results"), dict):
        raise IngestError(f"{what}: found no results of `ingest measure`, expected a file that `ingest measure -o` wrote")
    results = data["results"]
    rate = _numbers(results, "bytes_per_token", what)
    if rate is None:
        raise IngestError(f"{what}: 'results.bytes_per_token' is missing, expected a value")
    tokens, documents = _numbers(results, "tokens", what), _numbers(results, "documents", what)
    found = {"bytes_per_token": rate}
    if tokens is not None:
        found["tokens"] = tokens
    if tokens is not None and documents is not None:
        length = float(solve("tokens_per_document", {"tokens": tokens[0], "documents": documents[0]}))
        found["tokens_per_document"] = length, None, None
    note = f"as measured, {path.name}{_skipped(results)}"
    measured = {name: Given(*ends, "measured", grade="measured", note=note) for name, ends in found.items()}
    size = _vocabulary(data, results)
    if size is not None:
        number = check_value("vocabulary", parse(size, "1", f"{what}: tokenizer.size"), f"{what}: tokenizer.size")
        measured["vocabulary"] = Given(number, origin="measured", note=f"the tokenizer of {path.name}")
    return measured


def _skipped(results: dict[str, Any]) -> str:
    """That files were left out, where the measurement says so."""
    skipped = results.get("files_skipped")
    count = skipped.get("value") if isinstance(skipped, dict) else skipped
    return f"; {count:,.0f} of its files could not be read" if isinstance(count, (int, float)) and count > 0 else ""


def _object(path: Path, what: str) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{what}: there is no such file, expected a number or the JSON file of `ingest measure`") from None
    except OSError as error:
        raise IngestError(f"{what}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise IngestError(f"{what}: not readable as JSON: {brief(str(error))}") from None
    if not isinstance(data, dict):
        raise IngestError(f"{what}: found {brief(data)}, expected the JSON object that `ingest measure` writes")
    return data


def _numbers(results: dict[str, Any], name: str, what: str) -> tuple[float, float | None, float | None] | None:
    """Value, low and high of a result; None where it is not there."""
    item = results.get(name)
    if item is None:
        return None
    parts = item if isinstance(item, dict) else {"value": item}
    found = {}
    for part in ("value", "low", "high"):
        if parts.get(part) is not None:
            place = f"{what}: results.{name}.{part}"
            found[part] = float(above_zero(parts[part], name, place))
    if "value" not in found:
        raise IngestError(f"{what}: 'results.{name}.value' is missing, expected a number")
    low, high = found.get("low"), found.get("high")
    if low is not None and high is not None and not low <= found["value"] <= high:
        raise IngestError(
            f"{what}: results.{name}: low {low:g}, value {found['value']:g}, high {high:g}: expected in this order"
        )
    return found["value"], low, high


def _vocabulary(data: dict[str, Any], results: dict[str, Any]) -> Any:
    for place in (data, results, data.get("inputs")):
        tokenizer = place.get("tokenizer") if isinstance(place, dict) else None
        if isinstance(tokenizer, dict) and tokenizer.get("size") is not None:
            return tokenizer["size"]
    return None
