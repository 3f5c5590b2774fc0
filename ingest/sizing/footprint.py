"""The stages of a data set: raw, extracted, clean and tokenized data, and the copies for training."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ingest.catalog.dataset_records import Format
from ingest.catalog.records import Value
from ingest.engine.messages import Message, Option
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import CatalogError, MissingQuantity, UsageError, expected_one_of
from ingest.sizing.evidence_ladder import from_catalog

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
#: stage -> (its bytes, bytes kept, copies)
STAGES = {
    "raw": ("raw_bytes", "raw_kept_bytes", "raw_copies"),
    "extracted": ("extracted_bytes", "extracted_kept_bytes", "extracted_copies"),
    "clean": ("clean_bytes", "clean_kept_bytes", "clean_copies"),
    "tokenized": ("tokenized_bytes", "tokenized_kept_bytes", "tokenized_copies"),
    "dataset": ("dataset_bytes", "dataset_kept_bytes", "dataset_copies"),
}
#: default copies
USUAL_COPIES = {
    "raw": Input(0, origin="default", note=Message("raw input is not kept", supply=(Option("copies", "raw=1"),))),
    "extracted": Input(
        0, origin="default", note=Message("extracted text is not kept", supply=(Option("copies", "extracted=1"),))
    ),
    "clean": Input(
        1,
        origin="default",
        note=Message("clean text is kept once, to tokenize it again", supply=(Option("copies", "clean=0"),)),
    ),
    "tokenized": Input(0, origin="rule", note="the training data set holds the token ids"),
    "dataset": Input(1, origin="default", note=Message("one copy for training", supply=("copies",))),
}
USUAL_BEFORE_DEDUP = Input(2, 1.5, 4, "default", grade="assumed", note="deduplication drops half of its input")
USUAL_SHARD = Input(1_000_000_000, origin="default", note=Message("shards of 1 GB", supply=("shard_size",)))
SIZES = {"varied": "padding_of_varied_sizes", "equal": "padding_of_equal_sizes"}


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
        raise UsageError(Message(Option("format"), f": found '{form.id}', expected {wanted}"))
    known = Quantities({**of_format(form, holds), **given})
    given = known.given
    known.give_default("shard_bytes", USUAL_SHARD)
    _content(known, form, holds)
    known.choose("member_padding_bytes", SIZES[sizes])
    known.choose("shards", "shards_by_count" if "records_per_shard" in given else "shards_by_size")
    _sources_of_text(known)
    rows = tuple(row for stage in STAGES if (row := _stage(known, stage, holds)))
    if "dedup_hashes" in given:
        known.give_default("documents_before_dedup", USUAL_BEFORE_DEDUP)
    else:
        known.give_default("dedup_scratch_bytes", Input(0, origin="rule", note="no scratch space for deduplication"))
    known.give_default(
        "metadata_share", Input(0, origin="rule", note="the usable capacity of a file system excludes its metadata")
    )
    return Footprint(known, rows, holds, form, sizes)


def of_format(form: Format, holds: str) -> dict[str, Input]:
    """Return the inputs from a format."""
    named = {name: getattr(form, name) for name in form.shapes}
    named["compressed_share"] = form.compressed_shares.get(holds)
    return {name: from_catalog(item) for name, item in named.items() if isinstance(item, Value)}


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


def _sources_of_text(known: Quantities) -> None:
    """Without a published share of bytes, the share of tokens gives the text before filtering."""
    if "extracted_share" not in known.given:
        with suppress(MissingQuantity):
            known.choose("extracted_bytes", "extracted_bytes_of_tokens")


def _stage(known: Quantities, stage: str, holds: str) -> dict[str, Any]:
    """One row; empty if the stage does not exist or is unknown. A stage that is not kept takes no bytes."""
    name, kept, copies = STAGES[stage]
    exists = holds != "samples" or stage in ("raw", "dataset")
    usual = USUAL_COPIES[stage]
    if stage == "clean" and holds != "tokens":
        usual = Input(0, origin="rule", note="the training data set holds the clean data")
    count = known.give_default(copies, usual if exists else Input(0, origin="rule", note="no such stage"))
    if count.value and not exists:
        raise UsageError(f"--copies {stage}: found {count.value:g} of a data set of {holds}, expected raw or dataset")
    if not count.value:
        known.give_default(kept, Input(0, origin="rule", note=f"{stage}: not kept"))
    try:
        one = known.value(name) if exists else None
    except MissingQuantity:
        if count.value:
            ways = (Option(f"set.{name}", "SIZE"), "pipeline")
            why = Message(Option("copies", stage), f": its bytes ({name}) are not known", supply=ways)
            raise MissingQuantity(name, why) from None
        one = None
    if one is None:
        return {}
    return {"stage": stage, "stage_bytes": one, "copies": count.value, "kept_bytes": known.value(kept)}
