"""Records about data: corpora, the pipelines that produce them, and file formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ingest.catalog.records import RECORDS, Entry, Value, text, texts, value, values

#: contents of a data set
HOLDINGS = ("tokens", "text", "samples")


class Corpus(Entry):
    """A published data set for training.

    Attributes:
        holds: tokens (of text) or samples.
        tokenizer: name of the tokenizer that counted the tokens.
        pipeline: id of the pipeline that produced it.
        raw_bytes: input of the pipeline; the note tells whether compressed.
        clean_bytes: uncompressed text.
        stored_bytes: the published files; the note names their compression.
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
    """A pipeline from raw to clean data; shares of bytes, documents and tokens differ, so each has a field.

    Attributes:
        input, output: in words.
        input_form, output_form: how the bytes of both were counted: `plain`, `gzip`, `zstd`, …
        bytes_kept: bytes out over bytes in, each in its form.
        extracted_share: extracted text over raw input, each as stored.
        pipeline_output_share: stored over plain bytes of the output, if its form is compressed.
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
    """A file format and its overhead; each value sets the quantity of its name.

    Attributes:
        holds: tokens, text, samples.
        record: document, sequence or sample.
        compressed_shares: stored over written bytes, by content; 1 by default.
        ids: `packed` if token ids take as few bits as they need; else their width follows from the vocabulary.
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


#: Every record of the catalogs by its kind, which is the name of its folder.
KINDS: dict[str, type[Entry]] = {record.kind: record for record in (*RECORDS, Corpus, Pipeline, Format)}
