"""`ingest dataset`: the storage footprint of a data set, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.catalog.records import HOLDINGS, Corpus, Format, Pipeline, Value
from ingest.catalog.store import Catalog, opened
from ingest.corpus.measurement_file import OPTION, bytes_per_token_of, is_file_name, read_measurement
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import check_value, solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import CatalogError, IngestError, MissingQuantity, UsageError, expected_one_of, one_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import Written, by_user, counts_of, quantities_of, settings_of
from ingest.sizing.rules import applying, finding, with_unused

#: records of a format
RECORDS = ("document", "sequence", "sample")
#: contents -> (payload, records)
CONTENTS = {
    "tokens": ("tokenized_bytes", "document_records"),
    "text": ("clean_bytes", "document_records"),
    "samples": ("samples_bytes", "dataset_samples"),
}
#: Ids of 4 B in a dictionary page of 1 MiB; with more of them each id is stored unpacked.
MOST_PACKED_IDS = 262_144
WIDEST_ID_BITS = 32
STAGES = ("raw", "extracted", "clean", "tokenized", "dataset")
#: stage -> its copies
COPIES = {stage: f"{stage}_copies" for stage in STAGES}
#: default copies
USUAL_COPIES = {
    "raw": Input(0).by_default("raw input is not kept", Option("copies", "raw=1")),
    "extracted": Input(0).by_default("extracted text is not kept", Option("copies", "extracted=1")),
    "clean": Input(1).by_default("clean text is kept once, to tokenize it again", Option("copies", "clean=0")),
    "tokenized": Input(0, origin="rule", note="the training data set holds the token ids"),
    "dataset": Input(1).by_default("one copy for training", "copies"),
}
USUAL_BEFORE_DEDUP = Input(2, 1.5, 4, grade="assumed").by_default("deduplication drops half of its input")
USUAL_SHARD = Input(1_000_000_000).by_default("shards of 1 GB", "shard_size")
SIZES = {"varied": "varied_sizes", "equal": "equal_sizes"}


@dataclass(frozen=True)
class Footprint:
    """The footprint of a data set.

    Attributes:
        known: the inputs, and the quantities that follow from them.
        rows: one per known stage: stage, bytes of one copy, copies, bytes kept.
        holds: tokens, text or samples.
        form: the file format.
        sizes: whether members vary in size or are all equal.
    """

    known: Quantities
    rows: tuple[dict[str, Any], ...]
    holds: str
    form: Format
    sizes: str


def footprint(given: Mapping[str, Input], form: Format, holds: str, sizes: str = "varied") -> Footprint:
    """Compute the stages of a data set and the bytes of each.

    Args:
        given: quantities in base units: `tokens` with `bytes_per_token`, or `dataset_samples` with `sample_bytes`; copies
            by stage (`raw_copies`, …); other quantities by name. They override the values of the format.
        form: the file format of the training data set.
        holds: `tokens`, `text` or `samples`.
        sizes: `varied` or `equal`, for the padding of members.

    >>> from ingest.catalog.store import Catalog
    >>> form = Catalog().get(Format, "megatron")
    >>> given = {"tokens": Input(15e12), "bytes_per_token": Input(4), "vocabulary": Input(128256), "documents": Input(25e9)}
    >>> footprint(given, form, "tokens").known.value("dataset_bytes")
    60500000050820.0

    Raises:
        CatalogError: a format with unknown records.
        UsageError: a format that cannot hold the contents, or copies of a stage that does not exist.
        MissingQuantity: an input of the format's overhead is unknown, or the bytes of a stage that is kept.
    """
    if form.record not in RECORDS:
        raise CatalogError(f"{form.path}: record: found '{form.record}', {expected_one_of(form.record, RECORDS)}")
    if holds not in form.holds:
        wanted = f"a format of {holds}; this format holds {', '.join(form.holds)}"
        raise option_error("format", f": found '{form.id}', expected {wanted}")
    known = Quantities({**of_format(form, holds), **given})
    given = known.given
    known.give_default("shard_bytes", USUAL_SHARD)
    _content(known, form, holds)
    known.state(SIZES[sizes], "closed_by_count" if "records_per_shard" in given else "closed_by_size")
    if "extracted_share" not in given:
        # Without a published share of bytes, the share of tokens gives the text before filtering.
        known.choose_first("extracted_bytes", "extracted_bytes_of_tokens")
    rows = tuple(row for stage in STAGES if (row := _stage(known, stage, holds)))
    if "dedup_hashes" in given:
        known.give_default("documents_before_dedup", USUAL_BEFORE_DEDUP)
    else:
        known.give_default("dedup_scratch_bytes", Input(0, origin="rule", note="no scratch space for deduplication"))
    known.give_default(
        "metadata_share", Input(0, origin="rule", note="the usable capacity of a file system excludes its metadata")
    )
    return Footprint(known, rows, holds, form, sizes)


#: fields of a format that say how it is read
READING = ("request_bytes", "readers_per_gpu")


def of_format(form: Format, holds: str) -> dict[str, Input]:
    """Return the inputs from a format: those of its bytes, not of how it is read."""
    named = {name: getattr(form, name) for name in form.shapes if name not in READING}
    named["compressed_share"] = form.compressed_shares.get(holds)
    return from_fields(named)


def _content(known: Quantities, form: Format, holds: str) -> None:
    payload, records = CONTENTS[holds]
    if holds == "tokens":
        _id_width(known, form)
        records = "packed_sequences" if form.record == "sequence" else records
    if holds == "samples":
        known.choose("clean_bytes", "samples_bytes")
    elif "tokens" not in known.given:
        if "clean_bytes" not in known.given:
            known.choose("clean_bytes", "clean_bytes_of_raw")
        known.choose("tokens", "tokens_of_text")
    if holds != "samples" and "tokens_per_document" in known.given:
        known.choose("documents", "documents_by_length")
    known.choose("payload_bytes", payload)
    known.choose("records", records)


def _id_width(known: Quantities, form: Format) -> None:
    given = known.given
    if form.ids == "packed" and "vocabulary" in given:
        ids = int(given["vocabulary"].value)
        bits = max((ids - 1).bit_length(), 1) if ids <= MOST_PACKED_IDS else WIDEST_ID_BITS
        known.give_default("id_bits", Input(bits, origin="rule", note="bits of an id of the vocabulary"))
        known.choose("stored_id_bytes", "packed_id_bytes")
    elif "format_narrow_vocabulary" in given and "vocabulary" in given:
        known.choose("stored_id_bytes", "own_limit_id_bytes")
    if "stored_id_bytes" in {*given, *known.steps} and ("vocabulary" in given or "token_id_bytes" in given):
        known.choose("encoding_factor", "id_width_factor")


def _stage(known: Quantities, stage: str, holds: str) -> dict[str, Any]:
    """One row; empty if the stage does not exist or is unknown. A stage that is not kept takes no bytes."""
    name, kept, copies = f"{stage}_bytes", f"{stage}_kept_bytes", COPIES[stage]
    exists = holds != "samples" or stage in ("raw", "dataset")
    usual = USUAL_COPIES[stage]
    if stage == "clean" and holds != "tokens":
        usual = Input(0, origin="rule", note="the training data set holds the clean data")
    count = known.give_default(copies, usual if exists else Input(0, origin="rule", note="no such stage"))
    if count.value and not exists:
        raise UsageError(f"--copies {stage}: found {count.value:g} of a data set of {holds}, expected raw or dataset")
    if not count.value:
        known.give_default(kept, Input(0, origin="rule", note=f"{stage}: not kept"))
    one = known.find(name) if exists else None
    if one is not None:
        return {"stage": stage, "stage_bytes": float(one.value), "copies": count.value, "kept_bytes": known.value(kept)}
    if count.value:
        ways = (Option(f"set.{name}", "SIZE"), "pipeline")
        raise MissingQuantity(name, Message(Option("copies", stage), f": its bytes ({name}) are not known", supply=ways))
    return {}


#: option -> the quantity that it sets, where their names differ
QUANTITIES = {"samples": "dataset_samples", "shard_size": "shard_bytes"}
#: quantities that give the size of a text
SIZES_OF_TEXT = ("tokens", "clean_bytes", "raw_bytes")

USUAL_BYTES_PER_TOKEN = Input(
    4, 3.41, 4.69, source="limelead-quartz", where="LLM training.md, capacity", grade="assumed"
).by_default("4 B per token, as in English text; measured corpora lie between 3.4 and 4.7 B", "bytes_per_token")
USUAL_VOCABULARY = Input(128_256, source="meta-llama3", where="vocabulary size", grade="published").by_default(
    "ids take 4 B, as in a vocabulary of 128,256", "vocabulary"
)
_WEB_CORPORA = "tokens ÷ documents of C4, RefinedWeb, FineWeb, Dolma and DCLM"
USUAL_TOKENS_PER_DOCUMENT = Input(600, 400, 1000, source="ingest-corpora", where=_WEB_CORPORA, grade="derived").by_default(
    "tokens of a web document", "documents"
)
USUAL_SEQUENCE = Input(4096).by_default("packed sequences of 4,096 tokens", "sequence_length")
#: options that describe text, and those that describe samples
OF_TEXT = ("tokens", "bytes_per_token", "documents", "pipeline", "vocabulary", "sequence_length")
OF_SAMPLES = ("samples", "sample_bytes")


def kind_of_data(options: Mapping[str, object], corpus: Corpus | None) -> str:
    """Return whether the data set is `samples` or text (`tokens`).

    Args:
        options: the options by name, None where not given.
        corpus: the corpus of the catalogs, if any.

    Raises:
        UsageError: options of both.
        CatalogError: a corpus with unknown contents.
    """
    text, samples = (
        [Option(name).on_command_line for name in names if options[name] is not None] for names in (OF_TEXT, OF_SAMPLES)
    )
    if corpus is not None:
        if corpus.holds not in CONTENTS:
            raise CatalogError(f"{corpus.path}: holds: found '{corpus.holds}', {expected_one_of(corpus.holds, CONTENTS)}")
        (samples if corpus.holds == "samples" else text).append(f"--corpus {corpus.id}")
    if text and samples:
        raise UsageError(f"{text[0]} and {samples[0]}: found a data set of text and of samples, expected one of them")
    return "samples" if samples else "tokens"


def contents_of(form: Format | None, holds: str | None, content: str) -> str:
    """Return the contents of the data set: as given, else the first contents that the format can hold.

    Raises:
        UsageError: unknown contents, or contents that contradict the data set.
    """
    if holds is None:
        possible = form.holds if form is not None else HOLDINGS
        return next((item for item in ("tokens", "text") if item in possible), content) if content == "tokens" else content
    one_of("--holds", holds, HOLDINGS)
    if (holds == "samples") != (content == "samples"):
        raise option_error("holds", f": found '{holds}' of a data set of {'samples' if content == 'samples' else 'text'}")
    return holds


def complete(given: dict[str, Input], held: str, form: Format) -> None:
    """Add the defaults of inputs that are not given."""
    if held == "samples":
        return
    given.setdefault("bytes_per_token", USUAL_BYTES_PER_TOKEN)
    given.setdefault("vocabulary", USUAL_VOCABULARY)
    if held == "tokens" and form.record == "sequence":
        given.setdefault("sequence_length", USUAL_SEQUENCE)
    if "documents" not in given:
        given.setdefault("tokens_per_document", USUAL_TOKENS_PER_DOCUMENT)


def check_size(given: Mapping[str, Input], held: str, corpus: Corpus | None) -> None:
    """Refuse a data set of unknown size.

    Raises:
        UsageError: the options give no size.
        IngestError: the corpus has no published size; gives the reason of its entry.
    """
    share = "bytes_kept" in given or {"pipeline_input_bytes", "pipeline_output_bytes"} <= given.keys()
    there = [name for name in SIZES_OF_TEXT if name in given and (name != "raw_bytes" or share)]
    if there or (held == "samples" and (corpus is None or "dataset_samples" in given)):
        return
    if corpus is not None:
        amount = "samples" if held == "samples" else "tokens"
        why = corpus.missing.get(amount, "not published")
        raise IngestError(Message(Option("corpus", corpus.id), f": {amount} are not known ({why})", supply=(amount,)))
    if "raw_bytes" in given:
        raise option_error(
            "raw_bytes",
            ": found only raw input, expected a --pipeline with a published share of bytes, or --set bytes_kept=…",
        )
    raise UsageError("found no size of the data set, expected --tokens, --samples, --raw-bytes or --corpus")


#: fields of a corpus that are quantities of the same name
OF_CORPUS = ("tokens", "bytes_per_token", "sample_bytes", "raw_bytes", "vocabulary")


def from_corpus(corpus: Corpus) -> dict[str, Input]:
    """Return the inputs from a corpus; ratios instead of totals, so that they apply to any number of tokens."""
    found = from_fields({"dataset_samples": corpus.samples, **{name: getattr(corpus, name) for name in OF_CORPUS}})
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
    """Return the inputs from a pipeline: the shares that it keeps, and its published input and output."""
    ends = ("input_", "output_")
    fields = {name: getattr(pipeline, name) for name in pipeline.shapes}
    return from_fields({f"pipeline_{name}" if name.startswith(ends) else name: item for name, item in fields.items()})


def from_measurement(written: str | float | Path | None) -> dict[str, Input]:
    """Return the inputs from bytes per token: a number, or the JSON file of `ingest measure`.

    Raises:
        UsageError: neither a number nor such a file.
        IngestError: the file is not a result of `ingest measure`.
    """
    if written is None:
        return {}
    found = {"bytes_per_token": bytes_per_token_of(written)}
    if not is_file_name(written):
        return found
    measured = read_measurement(Path(written), OPTION)
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
#: printed if they can be computed; not reported as unknown
OPTIONAL = ("tokens", "documents", "bytes_per_token", "raw_tokens", "raw_documents", "dataset_samples")
#: results that a data set of samples does not have
TEXT_ALONE = ("extracted_bytes", "tokenized_bytes", "raw_bytes")
#: why a stage before the clean data is unknown
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
    catalogs: Sequence[str | Path] | Catalog = (),
) -> Answer:
    """Storage footprint of a data set: raw, extracted, clean and tokenized data, and the copies for training.

    Args:
        tokens: tokens of the data set, each counted once, such as 15T.
        bytes_per_token: bytes of text for one token, or the JSON file of `ingest measure`.
        documents: documents of the data set; 600 tokens each by default.
        samples: samples of a data set that is not text.
        sample_bytes: bytes of one encoded sample.
        raw_bytes: raw input of a pipeline, instead of `tokens`.
        corpus: corpus of the catalogs (`ingest catalog list corpora`), or a YAML file.
        pipeline: pipeline that produced the clean text (`ingest catalog list pipelines`), or a YAML file.
        format: id of the file format for training, or a YAML file.
        holds: `tokens`, `text` or `samples`, if the format can hold several.
        sizes: sizes of samples: `varied`, or `equal` if all samples have one size; determines the padding.
        vocabulary: number of token ids, 128,256 by default; up to 65,536 of them take 2 B each.
        sequence_length: tokens of a packed sequence.
        shard_size: size of a full shard; that of the format by default.
        copies: copies of the data set for training, 1 by default, or by stage: `raw=1,clean=1,dataset=3`.
        epochs: passes over the data set; 1 by default.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> answer = dataset(tokens="15T", bytes_per_token=4)
    >>> answer.results["clean_bytes"].display
    '60 TB (54.57 TiB)'

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog = opened(catalogs)
    one_of("--sizes", sizes, SIZES)
    numbers = {
        "tokens": tokens,
        "documents": documents,
        "samples": samples,
        "sample_bytes": sample_bytes,
        "raw_bytes": raw_bytes,
        "vocabulary": vocabulary,
        "sequence_length": sequence_length,
        "shard_size": shard_size,
        "epochs": epochs,
    }
    if tokens is not None and raw_bytes is not None:
        raise option_error("raw_bytes", ": found with --tokens, expected one of them: both set the size of the data set")
    own = quantities_of(QUANTITIES, numbers)
    own |= counts_of("copies", copies, COPIES, usual="dataset", expected=f"N, or by stage {', '.join(STAGES)}")
    settings = settings_of(set)
    own |= {name: float(item) for name, item in settings.items()}
    known = catalog.get(Corpus, corpus) if corpus is not None else None
    content = kind_of_data({**numbers, "bytes_per_token": bytes_per_token, "pipeline": pipeline}, known)
    contents = contents_of(catalog.get(Format, format) if format is not None else None, holds, content)
    form = catalog.get(Format, format or USUAL_FORMATS[contents])
    made_by = pipeline or (known.pipeline if known is not None else None)
    given = from_corpus(known) if known is not None else {}
    given |= from_pipeline(catalog.get(Pipeline, made_by)) if made_by else {}
    measured = from_measurement(bytes_per_token)
    if {*SIZES_OF_TEXT} & {*given, *own}:
        # A measured part of a corpus gives ratios; the size is given otherwise.
        measured.pop("tokens", None)
    given |= measured
    given |= by_user(own)
    check_size(given, contents, known)
    for refused in applying([finding("E13", given)]):
        raise UsageError(refused.message())
    complete(given, contents, form)
    made = footprint(given, form, contents, sizes)
    results, missing = made.known.results((*OPTIONAL, *RESULTS), ranged=True)
    if "dataset_overhead_share" in results:
        # Any two of payload, data set and their ratio may be given: no format makes a hundredth of its payload.
        share = results["dataset_overhead_share"].value
        check_value("dataset_overhead_share", share, "dataset_bytes over payload_bytes, less 1 (dataset_overhead_share)")
    left_out = {*OPTIONAL, *(TEXT_ALONE if contents == "samples" else ())}
    unknown = {name: NOT_KNOWN.get(name, why) for name, why in missing.items() if name not in left_out}
    words = {"corpus": corpus, "pipeline": made_by, "format": form.id, "holds": contents, "sizes": sizes}
    stated = {"corpus": corpus, "pipeline": pipeline, "format": format, "holds": holds, "sizes": sizes != "varied" or None}
    answer = Answer(
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
    return with_unused(answer, settings)
