"""Records about data: corpora, the pipelines that make them, and the file formats that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ingest.catalog.records import KINDS, Entry, Value, text, texts, value, values

#: what a data set may hold
HOLDINGS = ("tokens", "text", "samples")


class Corpus(Entry):
    """A data set that people train on, as it was published.

    Attributes:
        holds: tokens (of text) or samples.
        tokenizer: whose tokens are counted.
        pipeline: id of the pipeline that made it.
        raw_bytes: what the pipeline started from; the note says whether compressed.
        clean_bytes: text without compression.
        stored_bytes: the published files; the note says how they are compressed.
        tokenized_bytes: as published; usually computed instead.
        vocabulary: ids of the tokenizer.
    """

    kind: ClassVar[str] = "corpora"
    holds: str = text(required=True)
    tokenizer: str = text()
    pipeline: str = text()
    tokens: Value | None = value("token")
    raw_bytes: Value | None = value("B")
    clean_bytes: Value | None = value("B")
    stored_bytes: Value | None = value("B")
    tokenized_bytes: Value | None = value("B")
    documents: Value | None = value("document")
    samples: Value | None = value("sample")
    sample_bytes: Value | None = value("B/sample")
    bytes_per_token: Value | None = value("B/token")
    vocabulary: Value | None = value("1")


class Pipeline(Entry):
    """How raw data become clean data; shares of bytes, documents and tokens stay apart because they differ.

    Attributes:
        input, output: what goes in and comes out, in words.
        input_form, output_form: how the bytes of both were counted: `plain`, `gzip`, `zstd`, …
        bytes_kept: bytes out over bytes in, each in its form.
        extracted_share: extracted text over raw input, each as stored.
        pipeline_output_share: stored over plain bytes of the output, where its form is compressed.
        dedup_hashes: hash values that fuzzy deduplication keeps for each document.
    """

    kind: ClassVar[str] = "pipelines"
    input: str = text(required=True)
    output: str = text(required=True)
    input_form: str = text()
    output_form: str = text()
    steps: tuple[str, ...] = texts()
    input_bytes: Value | None = value("B")
    output_bytes: Value | None = value("B")
    input_documents: Value | None = value("document")
    output_documents: Value | None = value("document")
    input_tokens: Value | None = value("token")
    output_tokens: Value | None = value("token")
    bytes_kept: Value | None = value("1")
    documents_kept: Value | None = value("1")
    tokens_kept: Value | None = value("1")
    extracted_share: Value | None = value("1")
    pipeline_output_share: Value | None = value("1")
    dedup_hashes: Value | None = value("1/document")
    dedup_hash_bytes: Value | None = value("B")


class Format(Entry):
    """A file format and what it adds; each value is the quantity of the same name.

    Attributes:
        holds: tokens, text, samples.
        record: what it keeps apart: document, sequence or sample.
        compressed_shares: stored over written bytes, by what is held; 1 where nothing stands.
        ids: `packed` where token ids take as few bits as they need; by the vocabulary otherwise.
    """

    kind: ClassVar[str] = "formats"
    holds: tuple[str, ...] = texts()
    record: str = text(required=True)
    ids: str = text()
    stored_id_bytes: Value | None = value("B/token")
    format_narrow_vocabulary: Value | None = value("1")
    encoding_factor: Value | None = value("1")
    compressed_shares: Mapping[str, Value] = values("1", keys=HOLDINGS)
    container_bytes_per_record: Value | None = value("B/sample", zero=True)
    index_bytes_per_record: Value | None = value("B/sample", zero=True)
    members_per_record: Value | None = value("1/sample")
    member_header_bytes: Value | None = value("B", zero=True)
    member_quantum: Value | None = value("B")
    group_bytes: Value | None = value("B", zero=True)
    records_per_group: Value | None = value("sample")
    shard_fixed_bytes: Value | None = value("B/file", zero=True)
    index_bytes_per_shard: Value | None = value("B/file", zero=True)
    shard_quantum: Value | None = value("B/file")
    shard_bytes: Value | None = value("B/file")
    records_per_shard: Value | None = value("sample/file")
    files_per_shard: Value | None = value("1")


KINDS.update({record.kind: record for record in (Corpus, Pipeline, Format)})
