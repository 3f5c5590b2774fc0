"""`ingest dataset`: what a data set takes on storage, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.answer import Answer
from ingest.catalog.data_records import Corpus, Format, Pipeline
from ingest.catalog.store import Catalog
from ingest.corpora import from_corpus, from_measurement, from_pipeline
from ingest.engine.value import Input, Quantity
from ingest.errors import one_of
from ingest.footprint import SIZES, Footprint, footprint
from ingest.footprint_question import (
    SIZES_OF_TEXT,
    Written,
    check_size,
    complete,
    content_of,
    held_by,
    quantities_of,
)
from ingest.messages import Message, Option
from ingest.question import settings_of

RESULTS = (
    "raw_bytes",
    "extracted_bytes",
    "clean_bytes",
    "tokenized_bytes",
    "dataset_bytes",
    "dataset_overhead_share",
    "index_bytes",
    "dataset_files",
    "usable_bytes",
    "dedup_scratch_bytes",
    "inodes",
    "file_creates",
    "file_opens_per_epoch",
    "file_opens",
    "mdt_bytes",
    "mdts",
)
#: shown where they can be computed: their absence is no gap
OPTIONAL = ("tokens", "documents", "bytes_per_token", "raw_tokens", "raw_documents", "dataset_samples")
#: of these a data set of samples has none
TEXT_ALONE = ("extracted_bytes", "tokenized_bytes", "raw_bytes")
#: why a stage before the clean data is not known, in the words of the options
NOT_KNOWN = {
    "raw_bytes": Message(
        "no pipeline with a published share of bytes", supply=("pipeline", "raw_bytes", Option("set.bytes_kept"))
    ),
    "extracted_bytes": Message("no pipeline with a published share of text", supply=("pipeline", "set.extracted_share")),
}
USUAL_FORMATS = {"tokens": "megatron", "text": "jsonl", "samples": "file-per-sample"}


def dataset(
    *,
    tokens: Written | None = None,
    bytes_per_token: Written | Path | None = None,
    documents: Written | None = None,
    samples: Written | None = None,
    sample_bytes: Written | None = None,
    raw_bytes: Written | None = None,
    corpus: str | None = None,
    pipeline: str | None = None,
    format: str | None = None,
    holds: str | None = None,
    sizes: str = "varied",
    vocabulary: Written | None = None,
    sequence_length: Written | None = None,
    shard_size: Written | None = None,
    copies: Written | None = None,
    epochs: Written | None = None,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] = (),
) -> Answer:
    """What a data set takes on storage: raw, extracted, clean, tokenized, and the copies that are trained on.

    Args:
        tokens: of the data set, each counted once.
        bytes_per_token: bytes of text for one token, or the JSON file that `ingest measure` wrote.
        documents: of the data set.
        samples: of a data set that holds samples instead of text.
        sample_bytes: of one sample as it is encoded.
        raw_bytes: raw input of a pipeline, instead of `tokens`.
        corpus: id of a known corpus, or a YAML file.
        pipeline: id of a pipeline, or a YAML file; tells what lay before the clean text.
        format: id of the format that is trained on, or a YAML file.
        holds: `tokens`, `text` or `samples`, where the format can hold several.
        sizes: `varied`, or `equal` where all samples have one size; decides the padding.
        vocabulary: token ids; up to 65,536 of them take 2 B each.
        sequence_length: tokens of a packed sequence.
        shard_size: at which a shard is closed.
        copies: of the data set that is trained on, or by stage: `raw=1,clean=1,dataset=3`.
        epochs: passes over the data set.
        set: any quantity by name.
        catalogs: folders with entries of your own.

    >>> answer = dataset(tokens="15T", bytes_per_token=4)
    >>> answer.results["clean_bytes"].display
    '60 TB (54.57 TiB)'

    Raises:
        UsageError: a question that cannot be asked.
        IngestError: a missing fact, and what to supply.
    """
    catalog = Catalog(catalogs)
    one_of("--sizes", sizes, SIZES)
    own = quantities_of(
        settings_of(set),
        copies,
        tokens=tokens,
        documents=documents,
        samples=samples,
        sample_bytes=sample_bytes,
        raw_bytes=raw_bytes,
        vocabulary=vocabulary,
        sequence_length=sequence_length,
        shard_size=shard_size,
        epochs=epochs,
    )
    known = catalog.get(Corpus, corpus) if corpus is not None else None
    of_text = {
        "tokens": tokens,
        "bytes_per_token": bytes_per_token,
        "documents": documents,
        "pipeline": pipeline,
        "vocabulary": vocabulary,
        "sequence_length": sequence_length,
    }
    content = content_of(of_text, {"samples": samples, "sample_bytes": sample_bytes}, known)
    held = held_by(catalog.get(Format, format) if format is not None else None, holds, content)
    form = catalog.get(Format, format or USUAL_FORMATS[held])
    made_by = pipeline or (known.pipeline if known is not None else None)
    given = from_corpus(known) if known is not None else {}
    given |= from_pipeline(catalog.get(Pipeline, made_by)) if made_by else {}
    measured = from_measurement(bytes_per_token)
    if {*SIZES_OF_TEXT} & {*given, *own}:
        # A measured sample gives ratios; how much there is, somebody else has said.
        measured.pop("tokens", None)
    given |= measured
    given |= {item: Input(number, origin="user") for item, number in own.items()}
    check_size(given, held, known)
    complete(given, held, form)
    made = footprint(given, form, held, sizes)
    results, unknown = _results(made)
    words = {"corpus": corpus, "pipeline": made_by, "format": form.id, "holds": held, "sizes": sizes}
    stated = {"corpus": corpus, "pipeline": pipeline, "format": format, "holds": holds, "sizes": sizes != "varied" or None}
    return Answer(
        "dataset",
        f"Footprint of {known.name if known is not None else 'a data set'}: {form.name}",
        {name: {"value": word, "from": "default" if stated[name] is None else "user"} for name, word in words.items() if word},
        made.known,
        results,
        unknown,
        {"footprint": made.rows},
        (),
        catalog,
    )


def _results(made: Footprint) -> tuple[dict[str, Quantity], dict[str, str]]:
    """Every result that can be computed, and for the others what is missing."""
    found, missing = made.known.results((*OPTIONAL, *RESULTS), ranged=True)
    left_out = {*OPTIONAL, *(TEXT_ALONE if made.holds == "samples" else ())}
    return found, {name: NOT_KNOWN.get(name, why) for name, why in missing.items() if name not in left_out}
