"""`ingest dataset`: what a data set takes on storage, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.answer import Answer
from ingest.catalog.data_records import HOLDINGS, Corpus, Format, Pipeline
from ingest.catalog.store import Catalog
from ingest.corpora import from_corpus, from_measurement, from_pipeline
from ingest.errors import CyclicQuantity, IngestError, MissingQuantity, UsageError, nearest
from ingest.estimate import Quantity
from ingest.footprint import SIZES, STAGES, Footprint, footprint
from ingest.formula import check_value, unit_of
from ingest.ladder import Given
from ingest.question import settings_of
from ingest.units import parse

Written = str | float
#: options that are quantities, and which
QUANTITIES = {
    "tokens": "tokens",
    "documents": "documents",
    "samples": "dataset_samples",
    "sample_bytes": "sample_bytes",
    "raw_bytes": "raw_bytes",
    "vocabulary": "vocabulary",
    "sequence_length": "sequence_length",
    "shard_size": "shard_bytes",
    "epochs": "epochs",
}
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
    "mdt_bytes",
    "mdts",
)
#: shown where they can be computed: their absence is no gap
OPTIONAL = ("tokens", "documents", "bytes_per_token", "raw_tokens", "raw_documents", "dataset_samples", "file_opens")
#: why a stage before the clean data is not known, in the words of the options
NOT_KNOWN = {
    "raw_bytes": "no pipeline with a published share of bytes; say --pipeline, --raw-bytes or --set bytes_kept=…",
    "extracted_bytes": "no pipeline with a published share of text; say --pipeline or --set extracted_share=…",
}
USUAL_FORMATS = {"tokens": "megatron", "text": "jsonl", "samples": "file-per-sample"}
#: options that speak of text, and of samples
OF_TEXT = ("tokens", "bytes_per_token", "documents", "vocabulary", "sequence_length")
OF_SAMPLES = ("samples", "sample_bytes")
USUAL_BYTES_PER_TOKEN = Given(
    4, 3.41, 4.69, "default", "limelead-quartz", "LLM training.md, capacity", "assumed",
    "4 B of English per token; measured corpora lie between 3.4 and 4.7 B; say --bytes-per-token",
)  # fmt: skip
USUAL_VOCABULARY = Given(
    128_256, origin="default", source="meta-llama3", where="vocabulary size", grade="published",
    note="ids take 4 B, as in a vocabulary of 128,256; say --vocabulary",
)  # fmt: skip
USUAL_TOKENS_PER_DOCUMENT = Given(
    600, 400, 1000, "default", "ingest-corpora", "tokens ÷ documents of the web corpora in the catalogs", "derived",
    "tokens of a web document; say --documents",
)  # fmt: skip
USUAL_SEQUENCE = Given(4096, origin="default", note="packed sequences of 4,096 tokens; say --sequence-length")


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
    asked = dict(locals())
    catalog, settings = Catalog(catalogs), settings_of(set)
    _among("sizes", sizes, SIZES)
    own = {**_quantities(asked), **_copies(copies)}
    own |= {name: float(check_value(name, item, f"--set {name}")) for name, item in settings.items()}
    known = catalog.get(Corpus, corpus) if corpus is not None else None
    found = _found(own, known, asked)
    held = _held(holds, format, found, catalog)
    form = catalog.get(Format, format or USUAL_FORMATS[held])
    made_by = pipeline or (known.pipeline if known is not None and known.pipeline else None)
    given = from_corpus(known) if known is not None else {}
    given |= from_pipeline(catalog.get(Pipeline, made_by)) if made_by is not None else {}
    given |= from_measurement(bytes_per_token)
    given |= {name: Given(number, origin="user") for name, number in own.items()}
    _usual(given, held, form)
    _enough(given, known)
    made = footprint(given, form, held, sizes)
    results, unknown = _results(made)
    chosen = {
        option: {"value": value, "from": "user" if asked.get(option) is not None else "default"}
        for option, value in (
            ("corpus", corpus),
            ("pipeline", pipeline),
            ("format", form.id),
            ("holds", held),
            ("sizes", sizes),
        )
        if value is not None
    }
    return Answer(
        "dataset",
        f"Footprint of {known.name if known is not None else 'a data set'}: {form.name}",
        chosen,
        made.known,
        results,
        unknown,
        {"footprint": made.rows},
        (),
        catalog,
    )


def _results(made: Footprint) -> tuple[dict[str, Quantity], dict[str, str]]:
    """Every result that can be computed, and for the others what is missing."""
    found: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    for name in (*OPTIONAL, *RESULTS):
        try:
            found[name] = made.quantity(name)
        except (MissingQuantity, CyclicQuantity) as error:
            if name in RESULTS:
                unknown[name] = NOT_KNOWN.get(name, str(error))
    return found, unknown


def _quantities(asked: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for option, name in QUANTITIES.items():
        if asked[option] is not None:
            shown = f"--{option.replace('_', '-')}"
            found[name] = float(check_value(name, parse(asked[option], unit_of(name), shown), shown))
    return found


def _copies(written: Written | None) -> dict[str, float]:
    """`3`, or `raw=1,clean=1,dataset=3`."""
    found: dict[str, float] = {}
    for part in str(written).split(",") if written is not None else ():
        stage, equals, number = part.partition("=")
        stage = stage.strip() if equals else "dataset"
        if stage not in STAGES:
            raise UsageError(f"--copies: found '{part}', expected N, or by stage {', '.join(STAGES)}{nearest(stage, STAGES)}")
        name = STAGES[stage][2]
        found[name] = float(check_value(name, parse(number if equals else part, "1", "--copies"), "--copies"))
    return found


def _found(own: Mapping[str, float], known: Corpus | None, asked: Mapping[str, Any]) -> str:
    """Whether there is text or there are samples.

    Raises:
        UsageError: both, neither, or options that say nothing about what there is.
    """
    text = [f"--{option.replace('_', '-')}" for option in OF_TEXT if asked[option] is not None]
    samples = [f"--{option.replace('_', '-')}" for option in OF_SAMPLES if asked[option] is not None]
    if known is not None:
        (samples if known.holds == "samples" else text).append(f"--corpus {known.id}")
    if text and samples:
        raise UsageError(f"{text[0]} and {samples[0]}: found a data set of text and of samples, expected one of them")
    if samples:
        return "samples"
    if known is None and not {"tokens", "raw_bytes"} & own.keys():
        raise UsageError("found no size of the data set, expected --tokens, --samples, --raw-bytes or --corpus")
    return "tokens"


def _enough(given: Mapping[str, Given], known: Corpus | None) -> None:
    """Refuse a corpus of which nobody knows how much there is, in the words of its entry.

    Raises:
        IngestError: what is missing, and the option that supplies it.
    """
    if known is None:
        return
    needed = ("dataset_samples",) if known.holds == "samples" else ("tokens", "clean_bytes", "raw_bytes")
    field = "samples" if known.holds == "samples" else "tokens"
    kept = {"bytes_kept", "pipeline_output_bytes"} & given.keys()
    there = [name for name in needed if name in given and (name != "raw_bytes" or kept)]
    if not there:
        why = known.missing.get(field, "not published")
        raise IngestError(f"--corpus {known.id}: {field} are not known ({why}); say --{field}")


def _held(holds: str | None, format: str | None, found: str, catalog: Catalog) -> str:
    """What the data set holds: as said; else what the format can hold of what there is."""
    text = found != "samples"
    if holds is not None:
        _among("holds", holds, HOLDINGS)
        if (holds != "samples") != text:
            raise UsageError(f"--holds: found '{holds}' of a data set of {'text' if text else 'samples'}")
        return holds
    possible = catalog.get(Format, format).holds if format is not None else HOLDINGS
    return next((item for item in ("tokens", "text") if item in possible), found) if text else found


def _usual(given: dict[str, Given], held: str, form: Format) -> None:
    """What to assume where nobody said anything."""
    if held != "samples":
        given.setdefault("bytes_per_token", USUAL_BYTES_PER_TOKEN)
        given.setdefault("vocabulary", USUAL_VOCABULARY)
        if held == "tokens" and form.record == "sequence":
            given.setdefault("sequence_length", USUAL_SEQUENCE)
        if "documents" not in given:
            given.setdefault("tokens_per_document", USUAL_TOKENS_PER_DOCUMENT)


def _among(option: str, found: str, choices: Sequence[str] | Mapping[str, Any]) -> None:
    if found not in choices:
        raise UsageError(f"--{option}: found '{found}', expected one of {', '.join(choices)}{nearest(str(found), choices)}")
