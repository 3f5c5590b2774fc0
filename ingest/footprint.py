"""The stages of a data set: raw, extracted, clean, tokenized, and the copies that are trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ingest.formulas  # noqa: F401  registers the formulas
from ingest.answer import Known
from ingest.catalog.data_records import Format
from ingest.catalog.records import Value
from ingest.errors import MissingQuantity, UsageError, nearest
from ingest.estimate import Quantity
from ingest.formula import unit_of
from ingest.ladder import Given, from_catalog

#: what is kept apart by what the data set holds: payload, records
CONTENTS = {
    ("tokens", "document"): ("tokenized_bytes", "documents"),
    ("tokens", "sequence"): ("tokenized_bytes", "packed_sequences"),
    ("text", "document"): ("clean_bytes", "documents"),
    ("samples", "sample"): ("samples_bytes", "sample_records"),
}
#: stage -> (its bytes, what of it is kept, its copies)
STAGES = {
    "raw": ("raw_bytes", "raw_kept_bytes", "raw_copies"),
    "extracted": ("extracted_bytes", "extracted_kept_bytes", "extracted_copies"),
    "clean": ("clean_bytes", "clean_kept_bytes", "clean_copies"),
    "tokenized": ("tokenized_bytes", "tokenized_kept_bytes", "tokenized_copies"),
    "dataset": ("dataset_bytes", "dataset_kept_bytes", "dataset_copies"),
}
#: copies where nobody said how many
USUAL_COPIES = {
    "raw": Given(0, origin="default", note="raw input is not kept; say --copies raw=1"),
    "extracted": Given(0, origin="default", note="extracted text is not kept; say --copies extracted=1"),
    "clean": Given(1, origin="default", note="clean text is kept once, to tokenize it again; say --copies clean=0"),
    "tokenized": Given(0, note="the data set that is trained on holds the token ids"),
    "dataset": Given(1, origin="default", note="one copy is trained on; say --copies"),
}
USUAL_SHARD = Given(1_000_000_000, origin="default", note="shards of 1 GB; say --shard-size")
SIZES = {"varied": "padding_of_varied_sizes", "equal": "padding_of_equal_sizes"}


@dataclass(frozen=True)
class Footprint:
    """What a data set takes.

    Attributes:
        known: what was given, and everything that follows from it.
        rows: one per stage that is known: stage, bytes of one copy, copies, bytes kept.
        holds: tokens, text or samples.
        form: the format.
        sizes: whether members vary in size or are all equal.
    """

    known: Known
    rows: tuple[dict[str, Any], ...]
    holds: str
    form: Format
    sizes: str

    def again(self, given: Mapping[str, Given]) -> Footprint:
        """The same question with other numbers."""
        return footprint(given, self.form, self.holds, self.sizes)

    def quantity(self, name: str) -> Quantity:
        """A quantity with the ends that the ranges of its inputs give it.

        Raises:
            MissingQuantity: it cannot be computed from what is known.
        """
        value = self.known.step(name).value
        ends = self._ends(name, float(value))
        return Quantity(value, unit_of(name), *ends)

    def _ends(self, name: str, value: float) -> tuple[float, float] | tuple[()]:
        below, above = dict(self.known.given), dict(self.known.given)
        for leaf in {step.name for step in self.known.step(name).leaves()} & self.known.given.keys():
            item = self.known.given[leaf]
            if item.low is None or item.high is None:
                continue
            one = self.again({**self.known.given, leaf: item._replace(value=item.high)}).known.value(name)
            low, high = (item.low, item.high) if one >= value else (item.high, item.low)
            below[leaf], above[leaf] = item._replace(value=low), item._replace(value=high)
        if below == above:
            return ()
        return self.again(below).known.value(name), self.again(above).known.value(name)


def footprint(given: Mapping[str, Given], form: Format, holds: str, sizes: str = "varied") -> Footprint:
    """Lay out the stages of a data set and what each takes.

    Args:
        given: quantities in base units: `tokens` with `bytes_per_token`, or `dataset_samples` with `sample_bytes`; copies
            by stage (`raw_copies`, …); anything else by name. They win over what the format says.
        form: the format of the data set that is trained on.
        holds: `tokens`, `text` or `samples`.
        sizes: `varied` or `equal`, for the padding of members.

    >>> from ingest.catalog.store import Catalog
    >>> form = Catalog().get(Format, "megatron")
    >>> given = {"tokens": Given(15e12), "bytes_per_token": Given(4), "vocabulary": Given(128256), "documents": Given(25e9)}
    >>> footprint(given, form, "tokens").known.value("dataset_bytes")
    60500002541000.0

    Raises:
        UsageError: a format that does not hold such a thing.
    """
    if holds not in form.holds:
        wanted = f"a format that holds {holds}; this one holds {', '.join(form.holds)}"
        raise UsageError(f"--format: found '{form.id}', expected {wanted}")
    known = Known({**of_format(form), **given})
    given = known.given
    given.setdefault("shard_bytes", USUAL_SHARD)
    _content(known, form, holds)
    known.choose("member_padding_bytes", SIZES[sizes])
    known.choose("shards", "shards_by_count" if "records_per_shard" in given else "shards_by_size")
    _sources_of_text(known)
    rows = tuple(row for stage in STAGES if (row := _stage(known, stage, holds)))
    if "dedup_hashes" not in given:
        given["dedup_scratch_bytes"] = given.get("dedup_scratch_bytes", Given(0, note="no scratch space for deduplication"))
    given.setdefault("metadata_share", Given(0, note="the usable capacity of a file system leaves its own data out"))
    return Footprint(known, rows, holds, form, sizes)


def of_format(form: Format) -> dict[str, Given]:
    """What a format says, by quantity."""
    named = {name: getattr(form, name) for name in form.shapes}
    return {name: from_catalog(item) for name, item in named.items() if isinstance(item, Value)}


def _content(known: Known, form: Format, holds: str) -> None:
    """Choose what the payload is and what one record is."""
    record = "document" if holds == "text" else "sample" if holds == "samples" else form.record
    payload, records = CONTENTS[holds, record]
    if form.ids == "packed" and "token_id_bytes" not in known.given and "vocabulary" in known.given:
        bits = (int(known.given["vocabulary"].value) - 1).bit_length()
        known.given["id_bits"] = Given(bits, note="bits that tell the ids apart")
        known.choose("token_id_bytes", "packed_id_bytes")
    if holds == "samples":
        known.choose("clean_bytes", "samples_bytes")
    elif "raw_bytes" in known.given and "tokens" not in known.given:
        known.choose("clean_bytes", "clean_bytes_of_raw")
        known.choose("tokens", "tokens_of_text")
    known.choose("payload_bytes", payload)
    known.choose("records", records)


def _sources_of_text(known: Known) -> None:
    """Where the pipeline's extraction is not known in bytes, its share of tokens tells the text before filtering."""
    if "extracted_share" not in known.given and "tokens_kept" in known.given:
        known.choose("extracted_bytes", "extracted_bytes_of_tokens")


def _stage(known: Known, stage: str, holds: str) -> dict[str, Any]:
    """One row; empty where the stage does not exist or nobody knows it. What is not kept takes nothing."""
    name, kept, copies = STAGES[stage]
    exists = holds != "samples" or stage in ("raw", "dataset")
    usual = USUAL_COPIES[stage]
    if stage == "clean" and holds != "tokens":
        usual = Given(0, note="the data set that is trained on holds the clean data")
    count = known.given.setdefault(copies, usual if exists else Given(0, note="no such stage"))
    if not count.value:
        known.given.setdefault(kept, Given(0, note=f"{stage}: not kept"))
    try:
        one = known.value(name) if exists else None
    except MissingQuantity:
        if count.value and count.origin == "user":
            raise
        one = None
    if one is None:
        return {}
    return {"stage": stage, "stage_bytes": one, "copies": count.value, "kept_bytes": known.value(kept)}


def check_holds(found: str, known: Mapping[str, object]) -> None:
    """Refuse a word that is none of the known ones."""
    if found not in known:
        raise UsageError(f"found '{found}', expected one of {', '.join(known)}{nearest(found, known)}")
