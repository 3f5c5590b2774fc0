"""`ingest dataset`: the storage footprint of a data set, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.records import HOLDINGS, Corpus, Format, Pipeline
from ingest.catalog.store import opened
from ingest.corpus.measurement_file import Sizes, bytes_per_token_of, is_file_name, part_counted, read_measurement, sizes_of
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, filled, option, quantities_in, shown
from ingest.engine.registry import check_value, default_of, needs_below, solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import CatalogError, IngestError, MissingQuantity, UsageError, expected_one_of, one_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import Amount, CommonOptions, Written, by_user, counts_of, quantities_of, settings_of
from ingest.sizing.rules import Finding, applying, finding, messages, on_settings, told, unused, without_unit
from ingest.units import display

#: records of a format
RECORDS = ("document", "sequence", "sample")
#: contents -> the case that decides payload and records
CONTENTS = {"tokens": "holds_tokens", "text": "holds_text", "samples": "holds_samples"}
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
SIZES, MIXED = {"varied": "varied_sizes", "equal": "equal_sizes"}, "sizes_mixed"


#: fields of a format that say how it is read
READING = ("request_bytes", "readers_per_gpu")


def footprint(
    # quantities in base units: `tokens` with `bytes_per_token`, or `dataset_samples` with `sample_bytes`; copies by stage
    # (`raw_copies`, …); other quantities by name. They override the values of the format.
    given: Mapping[str, Input],
    form: Format,  # of the training data set
    holds: str,  # `tokens`, `text` or `samples`
    sizes: str | Sizes = "varied",  # or `equal`, or their mix, for the padding of members
) -> tuple[Quantities, tuple[dict[str, Any], ...]]:
    """Return what follows from the inputs, and one row per known stage: stage, bytes of one copy, copies, bytes kept.

    >>> from ingest.catalog.store import Catalog
    >>> form = Catalog().get(Format, "megatron")
    >>> given = {"tokens": Input(15e12), "bytes_per_token": Input(4), "vocabulary": Input(128256), "documents": Input(25e9)}
    >>> footprint(given, form, "tokens")[0].value("dataset_bytes")
    60500000050820.0

    Raises CatalogError: a format with unknown records; UsageError: a format that cannot hold the contents, or copies of a stage
    that does not exist; MissingQuantity: an input of the format's overhead is unknown, or the bytes of a stage that is kept.
    """
    if form.record not in RECORDS:
        raise CatalogError(f"{form.path}: record: found '{form.record}', {expected_one_of(form.record, RECORDS)}")
    if holds not in form.holds:
        wanted = f"a format of {holds}; this format holds {', '.join(form.holds)}"
        raise option_error("format", f": found '{form.id}', expected {wanted}")
    # A format has values of its bytes, and of how it is read.
    of_bytes = {name: getattr(form, name) for name in form.shapes if name not in READING}
    of_format = from_fields({**of_bytes, "compressed_share": form.compressed_shares.get(holds)})
    known = Quantities({**of_format, **given})
    given = known.given
    known.give_default("shard_bytes", USUAL_SHARD)
    _content(known, form, holds)
    if isinstance(sizes, Sizes):
        sizes.place(known, "class_padding")
    known.state(
        MIXED if isinstance(sizes, Sizes) else SIZES[sizes],
        "closed_by_count" if "records_per_shard" in given else "closed_by_size",
    )
    if "extracted_share" not in given:
        # Without a published share of bytes, the share of tokens gives the text before filtering.
        known.state("share_of_bytes_unknown")
    rows = tuple(row for stage in STAGES if (row := _stage(known, stage, holds)))
    if "dedup_hashes" in given:
        known.give_default("documents_before_dedup", USUAL_BEFORE_DEDUP)
    else:
        known.give_default("dedup_scratch_bytes", Input(0, origin="rule", note="no scratch space for deduplication"))
    known.give_default(
        "metadata_share", Input(0, origin="rule", note="the usable capacity of a file system excludes its metadata")
    )
    for name, quantity in (("deduplication scratch", "dedup_scratch_bytes"), ("metadata", "metadata_bytes")):
        if (step := known.find(quantity)) is not None and step.value:
            rows += ({"stage": name, "stage_bytes": step.value, "copies": 1, "kept_bytes": step.value},)
    return known, rows


def _content(known: Quantities, form: Format, holds: str) -> None:
    """State what the contents decide, and compute payload and records. Raises MissingQuantity: their size is not known."""
    given = known.given
    known.state(CONTENTS[holds])
    if holds == "tokens":
        sized = True
        if form.ids == "packed" and "vocabulary" in given:
            ids = int(given["vocabulary"].value)
            bits = max((ids - 1).bit_length(), 1) if ids <= MOST_PACKED_IDS else WIDEST_ID_BITS
            known.give_default("id_bits", Input(bits, origin="rule", note="bits of an id of the vocabulary"))
            known.state("ids_packed")
        elif "format_narrow_vocabulary" in given and "vocabulary" in given:
            known.state("ids_by_own_limit")
        else:
            sized = "stored_id_bytes" in given
        if sized and ("vocabulary" in given or "token_id_bytes" in given):
            known.state("width_of_ids_known")
        if form.record == "sequence":
            known.state("sequences_packed")
    if "objects_per_document" in given and holds != "samples":
        known.state("entries_refer")
    needed = ["payload_bytes", "records"]
    if holds != "samples" and "tokens_per_document" in given:
        known.state("length_of_documents_known")
        needed.insert(0, "documents")
    if holds != "samples" and "tokens" not in given:
        known.state("bytes_stated", *(["raw_input_stated"] if "clean_bytes" not in given else []))
        needed.insert(0, "tokens")
    for name in needed:
        known.step(name)


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
#: A vocabulary up to this size is an alphabet, of bytes or residues: any model of it has the same.
ALPHABET = 256
#: options that describe token ids
OF_IDS = ("vocabulary", "sequence_length")
#: options that describe text, and those that describe samples
OF_TEXT = ("tokens", "bytes_per_token", "documents", "pipeline", "vocabulary", "sequence_length")
OF_SAMPLES = ("samples", "sample_bytes")


def kind_of_data(options: Mapping[str, object], corpus: Corpus | None) -> str:
    """Return whether the data set is `samples` or text (`tokens`).

    Raises UsageError: options of both; CatalogError: a corpus with unknown contents.
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


def by_reference(corpus: Corpus | None, known: Quantities) -> Finding | None:
    """What is counted of a corpus whose entries name images or videos by URL; None of one that holds its data."""
    if corpus is None or not corpus.refers_to:
        return None
    name = "object_bytes" if "objects_per_document" in known.given else "sample_bytes"
    each = known.given[name]
    size = display(each.value, "B", binary=False)
    if each.low is not None and each.high is not None and each.low < each.high:
        size += f" ({' – '.join(display(end, 'B', binary=False) for end in (each.low, each.high))})"
    words = {"entries": "by reference"}
    return finding("W73", words=words, corpus=corpus.name, objects=corpus.refers_to, size=size)


def check_size(given: Mapping[str, Input], held: str, corpus: Corpus | None, pipeline: Pipeline | None) -> None:
    """Refuse a data set of unknown size.

    Raises UsageError: the options give no size; IngestError: the corpus has no published size; gives the reason of its entry.
    """
    if corpus is not None and corpus.refers_to:
        named = "sample_bytes" if held == "samples" else "object_bytes"
        if named not in given:
            why = f": its entries refer to {corpus.refers_to}, whose bytes are not known"
            supply = "sample_bytes" if held == "samples" else Option("set.object_bytes", "SIZE")
            raise IngestError(Message(Option("corpus", corpus.id), why, supply=(supply,)))
    share = "bytes_kept" in given or {"pipeline_input_bytes", "pipeline_output_bytes"} <= given.keys()
    there = [name for name in SIZES_OF_TEXT if name in given and (name != "raw_bytes" or share)]
    if there or (held == "samples" and (corpus is None or "dataset_samples" in given)):
        return
    if corpus is not None:
        amount = "samples" if held == "samples" else "tokens"
        why = corpus.missing.get(amount, "not published")
        raise IngestError(Message(Option("corpus", corpus.id), f": {amount} are not known ({why})", supply=(amount,)))
    if "raw_bytes" in given:
        reason = "" if pipeline is None else pipeline.missing.get("bytes_kept", "not published")
        why = f", and the bytes that {pipeline.name} keeps are not known ({reason})" if pipeline is not None else ""
        expected = "expected a --pipeline with a published share of bytes, or --set bytes_kept=…"
        raise option_error("raw_bytes", f": found only raw input{why}, {expected}")
    raise UsageError("found no size of the data set, expected --tokens, --samples, --raw-bytes or --corpus")


#: fields of a corpus that are quantities of the same name
OF_CORPUS = ("tokens", "bytes_per_token", "sample_bytes", "raw_bytes", "vocabulary", "objects_per_document", "object_bytes")


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
                ratio = float(solve(name, {quantity: total.value, "tokens": corpus.tokens.value}))
                grade = "assumed" if "assumed" in (total.grade, corpus.tokens.grade) else "derived"
                note = f"{name.replace('_', ' ')} of {corpus.name}"
                found[name] = Input(ratio, source=total.source, where=total.where, grade=grade, note=note)
    elif corpus.clean_bytes is not None:
        found["clean_bytes"] = from_catalog(corpus.clean_bytes)
    return found


def from_measurement(written: str | float | Path | None, whole: bool) -> dict[str, Input]:
    """Return the inputs from bytes per token: a number, or the JSON file of `ingest measure`, of the `whole` or a part.

    Raises UsageError: neither a number nor such a file; IngestError: the file is not a result of `ingest measure`.
    """
    if written is None:
        return {}
    if not is_file_name(written):
        return {"bytes_per_token": bytes_per_token_of(written)}
    measured = read_measurement(Path(written))
    found = {"bytes_per_token": measured.ratio(whole)}
    tokens, documents = measured.quantity("tokens"), measured.quantity("documents")
    if tokens is not None and whole:
        found["tokens"] = tokens
    if tokens is not None and documents is not None:
        length = float(solve("tokens_per_document", {"tokens": tokens.value, "documents": documents.value}))
        found["tokens_per_document"] = documents._replace(value=length, low=None, high=None)
    if measured.vocabulary is not None:
        size = check_value("vocabulary", measured.vocabulary, f"{measured.place}: tokenizer.size")
        found["vocabulary"] = Input(size, origin="measured", note=f"the tokenizer of {measured.path.name}")
    return found


#: printed if they can be computed; not reported as unknown
OPTIONAL = ("tokens", "documents", "bytes_per_token", "raw_tokens", "raw_documents", "dataset_samples")
#: what a copy takes beside the data set
COPYING = ("copy_bandwidth", "copied_files_per_second")
#: results that a data set of samples does not have
TEXT_ALONE = ("extracted_bytes", "tokenized_bytes", "raw_bytes")
#: What `dataset` answers.
QUESTION = Question(
    "dataset",
    (
        *(Shown(name, main=name == "tokens") for name in OPTIONAL),
        Shown("raw_bytes"),
        Shown("extracted_bytes", main=False),
        *shown("clean_bytes", "tokenized_bytes", "referred_bytes", "dataset_bytes", "published_bytes"),
        *shown("dataset_overhead_share", "index_bytes", main=False),
        *shown("dataset_files", "usable_bytes"),
        Shown("dedup_scratch_bytes", main=False),
        Shown("inodes"),
        Shown("file_creates", main=False),
        Shown("file_opens_per_epoch"),
        *shown("file_opens", "mdt_bytes", "mdts", main=False),
        Shown("copy_seconds"),
    ),
    (
        ("Needs", {"usable_bytes": "{} usable", "dataset_files": "{}", "dataset_bytes": "{} a copy"}),
        ("Needs", {"dataset_bytes": "{} a copy", "dataset_files": "{}"}),
    ),
)
#: why a stage before the clean data is unknown
NOT_KNOWN = {
    "copy_seconds": Message("needs both ", Option("copy_bandwidth"), " and ", Option("copy_files")),
    "raw_bytes": Message(
        "no pipeline with a published share of bytes", supply=("pipeline", "raw_bytes", Option("set.bytes_kept"))
    ),
    "extracted_bytes": Message("no pipeline with a published share of text", supply=("pipeline", "set.extracted_share")),
}
USUAL_FORMATS = {"tokens": "megatron", "text": "jsonl", "samples": "file-per-sample"}


class ContentOptions(TypedDict, total=False):
    """What a data set holds."""

    tokens: Annotated[Amount, option("Tokens of the data set, each counted once, such as 15T.", quantity="tokens")]
    bytes_per_token: Annotated[
        Written | Path | None,
        option("Bytes of text for one token, or the JSON file of `ingest measure`.", "N|FILE", sets="bytes_per_token"),
    ]
    documents: Annotated[
        Amount,
        option(
            "Documents of the data set; without them, those of the corpus, else one for each {default} tokens.",
            quantity="documents",
            usual=f"{USUAL_TOKENS_PER_DOCUMENT.value:,}",
        ),
    ]
    samples: Annotated[Amount, option("Samples of a data set that is not text.", quantity="dataset_samples")]
    sample_bytes: Annotated[Amount, option("Bytes of one encoded sample.", "SIZE", quantity="sample_bytes")]
    raw_bytes: Annotated[Amount, option("Raw input of a pipeline, instead of tokens.", "SIZE", quantity="raw_bytes")]
    corpus: Annotated[str | None, option("Corpus of the catalogs (`ingest catalog list corpora`), or a YAML file.", "ID")]
    pipeline: Annotated[
        str | None, option("Pipeline that produced the clean text (`ingest catalog list pipelines`), or a YAML file.", "ID")
    ]


class FormatOptions(TypedDict, total=False):
    """The form of a data set, and its copies."""

    format: Annotated[str | None, option("Id of the file format for training, or a YAML file.")]
    holds: Annotated[str | None, option("{choices}, if the format can hold several.", "WHAT", choices=HOLDINGS)]
    sizes: Annotated[
        str | Path,
        option(
            "Sizes of samples, which determine the padding: varied, equal if all samples have one size, p10=SIZE,p50=SIZE,"
            "max=SIZE, or the JSON file of `ingest measure --samples`.",
            "HOW",
            default="varied",
        ),
    ]
    vocabulary: Annotated[
        Amount,
        option(
            "Number of token ids; up to 65,536 take 2 B each; without it, that of a measurement, or of a corpus with more, "
            "else {default}.",
            quantity="vocabulary",
            usual={"vocabulary": USUAL_VOCABULARY},
        ),
    ]
    sequence_length: Annotated[Amount, option("Tokens of a packed sequence.", quantity="sequence_length")]
    shard_size: Annotated[
        Amount, option("Size of a full shard; that of the format by default.", "SIZE", quantity="shard_bytes")
    ]
    copies: Annotated[
        Amount,
        option(
            "Copies of the data set for training, {default} by default, or by stage: raw=1,clean=1,dataset=3.",
            usual=f"{USUAL_COPIES['dataset'].value}",
            sets=" ".join(COPIES.values()),
        ),
    ]
    copy_bandwidth: Annotated[
        Amount, option("Bandwidth of a copy; with --copy-files, gives the time to copy one.", "RATE", quantity="copy_bandwidth")
    ]
    copy_files: Annotated[
        Amount,
        option("Files that a copy creates each second, beside the time of the bytes.", quantity="copied_files_per_second"),
    ]
    epochs: Annotated[Amount, option("Passes over the data set; {default} by default.", quantity="epochs")]


class DatasetOptions(ContentOptions, FormatOptions, CommonOptions, total=False):
    """The options of `dataset`."""


#: option -> the quantity that it sets
QUANTITIES = quantities_in(DatasetOptions)


def dataset(**options: Unpack[DatasetOptions]) -> Answer:
    """Storage footprint of a data set: raw, extracted, clean and tokenized data, and the copies for training.

    >>> answer = dataset(tokens="15T", bytes_per_token=4)
    >>> answer.results["clean_bytes"].display
    '60 TB (54.57 TiB)'

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(DatasetOptions, options, "dataset")}
    catalog, sizes, holds = opened(asked["catalogs"]), asked["sizes"], asked["holds"]
    mix = sizes_of(sizes, "--sizes") if "=" in str(sizes) or is_file_name(sizes) else None
    if mix is None:
        one_of("--sizes", sizes, SIZES)
    elif asked["sample_bytes"] is not None or "sample_bytes" in settings_of(asked["set"]):
        raise option_error("sizes", ": found with --sample-bytes, expected one of them: both set the mean of a sample")
    else:
        asked["sample_bytes"] = mix.given["sample_bytes"].value
        if asked["samples"] is None and asked["corpus"] is None and "dataset_samples" in mix.given:
            asked["samples"] = mix.given["dataset_samples"].value
    if asked["tokens"] is not None and asked["raw_bytes"] is not None:
        raise option_error("raw_bytes", ": found with --tokens, expected one of them: both set the size of the data set")
    own = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
    own |= counts_of("copies", asked["copies"], COPIES, usual="dataset", expected=f"N, or by stage {', '.join(STAGES)}")
    settings = settings_of(asked["set"])
    own |= {name: float(item) for name, item in settings.items()}
    corpus = catalog.get(Corpus, asked["corpus"]) if asked["corpus"] is not None else None
    content = kind_of_data(asked, corpus)
    form = catalog.get(Format, asked["format"]) if asked["format"] is not None else None
    if holds is not None:
        one_of("--holds", holds, HOLDINGS)
        if (holds == "samples") != (content == "samples"):
            raise option_error("holds", f": found '{holds}' of a data set of {'samples' if content == 'samples' else 'text'}")
        content = holds
    elif content == "tokens":
        # A published corpus is text, unless options describe its ids: the first contents of it that the format can hold.
        possible = form.holds if form is not None else HOLDINGS
        as_text = corpus is not None and all(asked[name] is None for name in OF_IDS)
        ranked = possible if as_text else ("tokens", "text")
        content = next((item for item in ranked if item in possible and item != "samples"), content)
    form = form or catalog.get(Format, USUAL_FORMATS[content])
    made_by = asked["pipeline"] or (corpus.pipeline if corpus is not None else None)
    given = from_corpus(corpus) if corpus is not None else {}
    pipeline = catalog.get(Pipeline, made_by) if made_by else None
    if pipeline is not None:
        # The shares that it keeps, and its published input and output.
        ends, kept = ("input_", "output_"), {name: getattr(pipeline, name) for name in pipeline.shapes}
        given |= from_fields({f"pipeline_{name}" if name.startswith(ends) else name: item for name, item in kept.items()})
    counted_in = given.get("vocabulary")  # of the corpus
    # A measured part of a corpus gives ratios; the size is given otherwise.
    given |= from_measurement(asked["bytes_per_token"], not {*SIZES_OF_TEXT} & {*given, *own})
    given |= by_user(own) | ({} if mix is None else {"sample_bytes": mix.given["sample_bytes"]})
    check_size(given, content, corpus, pipeline)
    for refused in applying([finding("E13", given)]):
        raise UsageError(refused.message())
    if corpus is not None and corpus.stored_bytes is not None and own.keys().isdisjoint((*SIZES_OF_TEXT, "dataset_samples")):
        given["published_bytes"] = from_catalog(corpus.stored_bytes)
    # The ids that are trained on are those of another model: with two bytes for each, half of them would be bought.
    narrow = counted_in is not None and ALPHABET < counted_in.value <= (default_of("narrow_vocabulary") or 0)
    small = counted_in if narrow and content != "samples" and given["vocabulary"] is counted_in else None
    if small is not None:
        given["vocabulary"] = USUAL_VOCABULARY
    if content != "samples":
        given.setdefault("bytes_per_token", USUAL_BYTES_PER_TOKEN)
        given.setdefault("vocabulary", USUAL_VOCABULARY)
        if content == "tokens" and form.record == "sequence":
            given.setdefault("sequence_length", USUAL_SEQUENCE)
        if "documents" not in given:
            given.setdefault("tokens_per_document", USUAL_TOKENS_PER_DOCUMENT)
    known, rows = footprint(given, form, content, mix or sizes)
    results, missing = known.results(QUESTION.names, ranged=True)
    if "dataset_overhead_share" in results:
        # Any two of payload, data set and their ratio may be given: no format makes a hundredth of its payload.
        share = results["dataset_overhead_share"].value
        check_value("dataset_overhead_share", share, "dataset_bytes over payload_bytes, less 1 (dataset_overhead_share)")
    copied = {"copy_seconds"} if {*COPYING}.isdisjoint(given) else set()
    left_out = {*OPTIONAL, *copied, "referred_bytes", "published_bytes", *(TEXT_ALONE if content == "samples" else ())}
    unknown = {name: NOT_KNOWN.get(name, why) for name, why in missing.items() if name not in left_out}
    part = part_counted(given.values())
    words = {"corpus": asked["corpus"], "pipeline": made_by, "format": form.id, "holds": content, "sizes": str(sizes)}
    stated = {**asked, "sizes": sizes != "varied" or None}
    held = f", of {content}" if len(form.holds) > 1 and content != "samples" else ""  # text or tokens: which is told
    return Answer(
        QUESTION,
        f"Footprint of {corpus.name if corpus is not None else 'a data set'}: {form.name}{held}",
        {name: {"value": word, "from": "default" if stated[name] is None else "user"} for name, word in words.items() if word},
        known,
        results,
        unknown,
        {"footprint": rows},
        lambda answer: (
            *messages(
                [
                    by_reference(corpus, known),
                    # The published tokens are of a vocabulary whose ids are narrower than those of most models.
                    finding("W129", words={"vocabulary": "small"}, corpus=corpus.name, ids=f"{small.value:,.0f}")
                    if corpus is not None and small is not None and content == "tokens"
                    else None,
                    finding("W04", words={"text": "part" if part and content != "samples" else ""}, part=part),
                ]
            ),
            *([told("W04", Option("sizes"), part=part)] if part and content == "samples" else []),
            *without_unit({"raw_bytes": by_user(own).get("raw_bytes")}),
            *on_settings(answer, settings),
            # Ids of a vocabulary take as many bytes as those of another.
            *(
                unused(Option(one))
                for one, name in QUANTITIES.items()
                if asked[one] is not None and name != "vocabulary" and name not in {*answer.used, *needs_below(answer.unknown)}
            ),
        ),
        catalog,
    )
