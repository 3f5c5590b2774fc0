"""A data set on storage: stages, copies, inodes and metadata."""

from ingest.engine.expression import Num, ceil
from ingest.engine.registry import alternative, formula, input_quantity

# What the data set is
input_quantity("payload_bytes", "B", "Bytes of the data set before any format adds to it: token ids, text or samples.")
input_quantity("records", "sample", "Documents, packed sequences or samples that the format stores as separate records.")
alternative("payload_bytes", "tokenized_bytes", when="holds_tokens")
alternative("payload_bytes", "clean_bytes", when="holds_text")
alternative("payload_bytes", "samples_bytes", when="holds_samples")
alternative("records", "packed_sequences", when="sequences_packed")
alternative("records", "document_records", when="holds_tokens")
alternative("records", "document_records", when="holds_text")
alternative("records", "dataset_samples", when="holds_samples")
input_quantity("one_sequence", "sample", "A packed sequence is one record.", default=1)
input_quantity("records_per_document", "sample/document", "A document is one record.", default=1)

# The stages before it
input_quantity("pipeline_input_bytes", "B", "Published input of a pipeline, as it was stored.")
input_quantity("pipeline_output_bytes", "B", "Published output of a pipeline, as it was stored.")
input_quantity("pipeline_input_documents", "document", "Published documents that went in.", whole=True)
input_quantity("pipeline_output_documents", "document", "Published documents that came out.", whole=True)
input_quantity("pipeline_input_tokens", "token", "Published tokens that went in.")
input_quantity("pipeline_output_tokens", "token", "Published tokens that came out.")
input_quantity("extracted_share", "1", "Bytes of extracted text over bytes of the raw input, each as stored.")
input_quantity("pipeline_output_share", "1", "Stored bytes of one byte of clean text where the pipeline's ratio counts it.",
    high=1, default=1)  # fmt: skip
input_quantity("clean_stored_share", "1", "Stored bytes of one byte of clean text where it is kept.", high=1,
    default=1)  # fmt: skip
input_quantity("dedup_hashes", "1/document", "Hash values that deduplication keeps for each document.",
    above=False, whole=True, default=0)  # fmt: skip
input_quantity("documents_before_dedup", "1", "Documents that reach deduplication for each one that leaves it.",
    low=1, above=False)  # fmt: skip
input_quantity("dedup_hash_bytes", "B", "Width of such a hash value.", default=8)

# What is kept of it
input_quantity("raw_copies", "1", "Copies of the raw input that are kept.", above=False, whole=True)
input_quantity("extracted_copies", "1", "Copies of the extracted text that are kept.", above=False, whole=True)
input_quantity("clean_copies", "1", "Copies of the clean data that are kept.", above=False, whole=True)
input_quantity("tokenized_copies", "1", "Copies of plain token ids, in addition to the training data set.",
    above=False, whole=True)  # fmt: skip
input_quantity("dataset_copies", "1", "Copies of the training data set, shuffled and packed ones included.", whole=True)
input_quantity("metadata_share", "1", "File-system metadata over the data held.", above=False, high=1)

# Files and their metadata
input_quantity("files_per_directory", "1", "Files that one directory holds.", whole=True, default=10_000)
input_quantity("mdt_bytes_per_inode", "B/file", "Space of a metadata target for one inode.",
    default=2560, source="lustre-manual")  # fmt: skip
input_quantity(
    "mdt_inodes", "file", "Inodes that one metadata target can hold.", default=4_000_000_000, source="lustre-manual", whole=True
)
input_quantity("epochs", "1", "Epochs: passes over the data set.", default=1)
input_quantity("opens_per_file", "1", "Opens of each file in one epoch.", default=1)


@formula(unit="B", source="definition")
def clean_bytes(tokens: Num, bytes_per_token: Num) -> Num:
    """Text after filtering and deduplication, without compression."""
    return tokens * bytes_per_token


alternative("clean_bytes", "samples_bytes", when="holds_samples")
alternative("clean_bytes", "clean_bytes_of_raw", when="raw_input_stated")


@formula(unit="token", source="definition")
def tokens_of_text(clean_bytes: Num, bytes_per_token: Num) -> Num:
    """Tokens of a text whose size is known."""
    return clean_bytes / bytes_per_token


@formula(unit="B", source="definition")
def samples_bytes(dataset_samples: Num, sample_bytes: Num) -> Num:
    """All samples, each as it is encoded, without what a format adds."""
    return dataset_samples * sample_bytes


@formula(unit="document", source="definition")
def documents_by_length(tokens: Num, tokens_per_document: Num) -> Num:
    """Documents of a corpus, from their mean length.

    >>> documents_by_length(15_000_000_000_000, 600), documents_by_length(131_072, 600)
    (25000000000, 219)
    """
    return ceil(tokens / tokens_per_document)


@formula(unit="sample", source="definition")
def document_records(documents: Num, records_per_document: Num) -> Num:
    """Documents as records of a format."""
    return documents * records_per_document


@formula(unit="sample", source="definition")
def packed_sequences(tokens: Num, sequence_length: Num, one_sequence: Num) -> Num:
    """Sequences of equal length into which all documents are packed.

    >>> packed_sequences(15_000_000_000_000, 8192, 1)
    1831054688
    """
    return ceil(tokens / sequence_length) * one_sequence


@formula(unit="1", source="definition")
def bytes_kept(pipeline_output_bytes: Num, pipeline_input_bytes: Num) -> Num:
    """Bytes that came out of a pipeline over bytes that went in, each as it was stored."""
    return pipeline_output_bytes / pipeline_input_bytes


@formula(unit="1", source="definition", high=1)
def documents_kept(pipeline_output_documents: Num, pipeline_input_documents: Num) -> Num:
    """Documents that a pipeline keeps."""
    return pipeline_output_documents / pipeline_input_documents


@formula(unit="1", source="definition", high=1)
def tokens_kept(pipeline_output_tokens: Num, pipeline_input_tokens: Num) -> Num:
    """Tokens that a pipeline keeps."""
    return pipeline_output_tokens / pipeline_input_tokens


@formula(unit="B", source="definition")
def raw_bytes(clean_bytes: Num, pipeline_output_share: Num, bytes_kept: Num) -> Num:
    """Raw input that a pipeline needs for that much clean text."""
    return clean_bytes * pipeline_output_share / bytes_kept


@formula(unit="B", source="definition")
def clean_bytes_of_raw(raw_bytes: Num, bytes_kept: Num, pipeline_output_share: Num) -> Num:
    """Clean text that a pipeline makes of that much raw input."""
    return raw_bytes * bytes_kept / pipeline_output_share


@formula(unit="B", source="definition")
def extracted_bytes(raw_bytes: Num, extracted_share: Num) -> Num:
    """Text extracted from the raw input, before anything is filtered."""
    return raw_bytes * extracted_share


alternative("extracted_bytes", "extracted_bytes_of_tokens", when="share_of_bytes_unknown", optional=True)


@formula(unit="B", source="definition")
def extracted_bytes_of_tokens(tokens: Num, tokens_kept: Num, bytes_per_token: Num) -> Num:
    """Text before filtering, where the pipeline's share of tokens is known."""
    return tokens / tokens_kept * bytes_per_token


@formula(unit="token", source="definition")
def raw_tokens(tokens: Num, tokens_kept: Num) -> Num:
    """Tokens before filtering and deduplication."""
    return tokens / tokens_kept


@formula(unit="document", source="definition")
def raw_documents(documents: Num, documents_kept: Num) -> Num:
    """Documents before filtering and deduplication."""
    return documents / documents_kept


@formula(unit="B", source="definition")
def dedup_scratch_bytes(documents: Num, documents_before_dedup: Num, dedup_hashes: Num, dedup_hash_bytes: Num) -> Num:
    """Signatures that fuzzy deduplication keeps while it runs."""
    return documents * documents_before_dedup * dedup_hashes * dedup_hash_bytes


@formula(unit="B", source="definition")
def raw_kept_bytes(raw_bytes: Num, raw_copies: Num) -> Num:
    """Raw input that stays on storage."""
    return raw_bytes * raw_copies


@formula(unit="B", source="definition")
def extracted_kept_bytes(extracted_bytes: Num, extracted_copies: Num) -> Num:
    """Extracted text that stays on storage."""
    return extracted_bytes * extracted_copies


@formula(unit="B", source="definition")
def clean_kept_bytes(clean_bytes: Num, clean_stored_share: Num, clean_copies: Num) -> Num:
    """Clean text that stays on storage."""
    return clean_bytes * clean_stored_share * clean_copies


@formula(unit="B", source="definition")
def tokenized_kept_bytes(tokenized_bytes: Num, tokenized_copies: Num) -> Num:
    """Plain token ids that stay on storage next to the training data set."""
    return tokenized_bytes * tokenized_copies


@formula(unit="B", source="definition")
def dataset_kept_bytes(dataset_bytes: Num, dataset_copies: Num) -> Num:
    """All copies of the training data set."""
    return dataset_bytes * dataset_copies


@formula(unit="B", source="definition", label="data held by all stages")
def usable_bytes(
    raw_kept_bytes: Num,
    extracted_kept_bytes: Num,
    clean_kept_bytes: Num,
    tokenized_kept_bytes: Num,
    dataset_kept_bytes: Num,
    dedup_scratch_bytes: Num,
    metadata_share: Num,
) -> Num:
    """Data held: all stages with their copies, before protection and fill limit.

    >>> usable_bytes(0, 0, 60, 0, 121, 0, 0)
    181
    """
    return (
        raw_kept_bytes
        + extracted_kept_bytes
        + clean_kept_bytes
        + tokenized_kept_bytes
        + dataset_kept_bytes
        + dedup_scratch_bytes
    ) * (1 + metadata_share)


@formula(unit="file", source="definition", whole=True)
def file_creates(dataset_files: Num, dataset_copies: Num) -> Num:
    """File creates while all copies are written."""
    return dataset_files * dataset_copies


@formula(unit="file", source="definition", whole=True)
def inodes(file_creates: Num, files_per_directory: Num) -> Num:
    """Files of all copies, and the directories that hold them.

    >>> inodes(120_000, 10_000)
    120012
    """
    return file_creates + ceil(file_creates / files_per_directory)


@formula(unit="file", source="definition")
def file_opens_per_epoch(dataset_files: Num, opens_per_file: Num) -> Num:
    """File opens of one epoch."""
    return dataset_files * opens_per_file


@formula(unit="file", source="definition")
def file_opens(file_opens_per_epoch: Num, epochs: Num) -> Num:
    """File opens of all epochs."""
    return file_opens_per_epoch * epochs


@formula(unit="B", source="lustre-manual", where="sec. 5.2, MDT space per inode")
def mdt_bytes(inodes: Num, mdt_bytes_per_inode: Num) -> Num:
    """Space of metadata targets that these inodes need on Lustre with ldiskfs."""
    return inodes * mdt_bytes_per_inode


@formula(unit="1", source="lustre-manual", where="limits of ldiskfs", whole=True)
def mdts(inodes: Num, mdt_inodes: Num) -> Num:
    """Metadata targets that can hold these inodes.

    >>> mdts(25_002_500_000, 4_000_000_000)
    7
    """
    return ceil(inodes / mdt_inodes)
