"""A data set on storage: stages, copies, inodes and metadata, and what its file format adds."""

from ingest.engine.expression import Num, ceil, maximum, where
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


# Token ids
input_quantity("id_bits", "1/token", "Bits of one token id of the vocabulary.", whole=True)
input_quantity("stored_id_bytes", "B/token", "Width of a token id in the format.")
alternative("stored_id_bytes", "packed_id_bytes", when="ids_packed")
alternative("stored_id_bytes", "own_limit_id_bytes", when="ids_by_own_limit")
input_quantity("format_narrow_vocabulary", "1", "Ids that the format stores in two bytes.", whole=True)
input_quantity("bits_per_byte", "1/B", "A byte.", default=8)

# What a format adds
input_quantity("encoding_factor", "1", "Bytes that the format writes for one byte of payload, before compression.", default=1)
alternative("encoding_factor", "id_width_factor", when="width_of_ids_known")
input_quantity("compressed_share", "1", "Stored over written bytes; 1 where the format does not compress.", high=1,
    default=1)  # fmt: skip
input_quantity("container_bytes_per_record", "B/sample", "Bytes that the format puts around each record.",
    above=False, default=0)  # fmt: skip
input_quantity("index_bytes_per_record", "B/sample", "Bytes that an index holds for each record.", above=False, default=0)
input_quantity("members_per_record", "1/sample", "Files or archive members that make up one record.", default=1)
input_quantity("member_header_bytes", "B", "Header of each member.", above=False, default=0)
input_quantity("member_quantum", "B", "Members are padded to a multiple of this.", default=1)
input_quantity("member_padding_bytes", "B", "Mean padding of one member.", above=False)
# Another encoding or size of the samples makes another data set.
alternative("dataset_bytes", "samples_bytes", when="path_judged", optional=True)
alternative("member_padding_bytes", "padding_of_varied_sizes", when="varied_sizes")
alternative("member_padding_bytes", "padding_of_equal_sizes", when="equal_sizes")
input_quantity("group_bytes", "B", "Bytes that the format adds to each batch of records.", above=False, default=0)
input_quantity("records_per_group", "sample", "Records in such a batch.", default=1, whole=True)
input_quantity("shard_fixed_bytes", "B/file", "Headers and footers of each shard.", above=False, default=0)
input_quantity("index_bytes_per_shard", "B/file", "Index of each shard, in addition to its records.", above=False, default=0)
input_quantity("shard_quantum", "B/file", "Shards are padded to a multiple of this.", default=1)
input_quantity("smallest_quantum", "B", "Alignment of records; 1 B means no padding.", default=1)
input_quantity("smallest_file_quantum", "B/file", "Padding of files to single bytes is none.", default=1)
input_quantity("shard_bytes", "B/file", "Size at which a shard is closed.")
input_quantity("one_shard", "file", "There is at least one shard.", whole=True, default=1)
input_quantity("shards", "file", "Shards of one copy of the data set.", whole=True)
input_quantity("records_per_shard", "sample/file", "Records in one shard.")
input_quantity("files_per_shard", "1", "Files that make up one shard.", whole=True, default=1)


@formula(unit="B/token", source="apache-parquet", where="encodings, RLE_DICTIONARY: indices take as many bits as the largest")
def packed_id_bytes(id_bits: Num, bits_per_byte: Num) -> Num:
    """Bytes of one token id where a dictionary packs ids into as few bits as they need."""
    return id_bits / bits_per_byte


@formula(unit="B/token", source="megatron-lm", where="megatron/core/datasets/indexed_dataset.py, optimal_dtype")
def own_limit_id_bytes(vocabulary: Num, format_narrow_vocabulary: Num, narrow_id_bytes: Num, wide_id_bytes: Num) -> Num:
    """Bytes of one token id in a format that draws its own line between two and four bytes.

    >>> own_limit_id_bytes(65_499, 65_499, 2, 4), own_limit_id_bytes(65_536, 65_499, 2, 4)
    (2, 4)
    """
    return where(vocabulary > format_narrow_vocabulary, wide_id_bytes, narrow_id_bytes)


@formula(unit="1", source="definition")
def id_width_factor(stored_id_bytes: Num, token_id_bytes: Num) -> Num:
    """Width of an id in the format over the width that the vocabulary needs."""
    return stored_id_bytes / token_id_bytes


@formula(unit="B", source="definition")
def encoded_bytes(payload_bytes: Num, encoding_factor: Num) -> Num:
    """The payload as the format writes it: escaped, widened or packed."""
    return payload_bytes * encoding_factor


@formula(unit="B", source="definition")
def member_bytes(encoded_bytes: Num, records: Num, members_per_record: Num) -> Num:
    """Mean size of one member."""
    return encoded_bytes / records / members_per_record


@formula(unit="B", source="arithmetic", where="remainders of sizes that vary are spread evenly")
def padding_of_varied_sizes(member_quantum: Num, smallest_quantum: Num) -> Num:
    """Mean padding of members whose sizes vary: half the quantum.

    >>> padding_of_varied_sizes(512, 1)
    255.5
    """
    return (member_quantum - smallest_quantum) / 2


@formula(unit="B", source="definition")
def padding_of_equal_sizes(member_bytes: Num, member_quantum: Num) -> Num:
    """Padding of members that are all of one size.

    >>> padding_of_equal_sizes(3000, 512)
    72
    """
    return ceil(member_bytes / member_quantum) * member_quantum - member_bytes


@formula(unit="B/sample", source="definition")
def member_overhead_bytes(members_per_record: Num, member_header_bytes: Num, member_padding_bytes: Num) -> Num:
    """Headers and padding of all members of one record.

    >>> member_overhead_bytes(2, 512, 255.5)
    1535.0
    """
    return members_per_record * (member_header_bytes + member_padding_bytes)


@formula(unit="B/sample", source="definition")
def record_overhead_bytes(
    container_bytes_per_record: Num,
    index_bytes_per_record: Num,
    member_overhead_bytes: Num,
    group_bytes: Num,
    records_per_group: Num,
) -> Num:
    """Bytes that a format adds to one record, its share of the batch included.

    >>> record_overhead_bytes(0, 20, 0, 0, 1)
    20.0
    """
    return container_bytes_per_record + index_bytes_per_record + member_overhead_bytes + group_bytes / records_per_group


@formula(unit="B", source="definition")
def content_bytes(encoded_bytes: Num, records: Num, record_overhead_bytes: Num, compressed_share: Num) -> Num:
    """Bytes of all records with their framing, compressed where the format compresses.

    >>> content_bytes(1_000_000, 100, 20, 1)
    1002000
    """
    return (encoded_bytes + records * record_overhead_bytes) * compressed_share


@formula(unit="file", source="definition", whole=True, of="shards", when="closed_by_size")
def shards_by_size(content_bytes: Num, shard_bytes: Num, one_shard: Num) -> Num:
    """Shards that are closed at a size.

    >>> shards_by_size(60_000_000_000_000, 1_000_000_000, 1)
    60000
    """
    return maximum(ceil(content_bytes / shard_bytes), one_shard)


@formula(unit="file", source="definition", whole=True, of="shards", when="closed_by_count")
def shards_by_count(records: Num, records_per_shard: Num, one_shard: Num) -> Num:
    """Shards that are closed after a number of records.

    >>> shards_by_count(1_281_167, 1, 1)
    1281167
    """
    return maximum(ceil(records / records_per_shard), one_shard)


@formula(unit="B/file", source="arithmetic", where="ends of shards are spread evenly over the quantum")
def shard_overhead_bytes(
    shard_fixed_bytes: Num, index_bytes_per_shard: Num, shard_quantum: Num, smallest_file_quantum: Num
) -> Num:
    """Header, footer, index and mean padding of one shard.

    >>> shard_overhead_bytes(1024, 0, 10_240, 1)
    6143.5
    """
    return shard_fixed_bytes + index_bytes_per_shard + (shard_quantum - smallest_file_quantum) / 2


@formula(unit="B", source="definition")
def dataset_bytes(content_bytes: Num, shards: Num, shard_overhead_bytes: Num) -> Num:
    """One copy of the training data set, in its format.

    >>> dataset_bytes(1_002_000, 10, 42)
    1002420
    """
    return content_bytes + shards * shard_overhead_bytes


alternative("dataset_bytes", "sample_files_bytes", when="samples_measured")


@formula(unit="1", source="definition", low=-0.99, above=False)
def dataset_overhead_share(dataset_bytes: Num, payload_bytes: Num) -> Num:
    """Bytes that the format adds, over the payload; below 0 where it compresses more than it adds.

    >>> dataset_overhead_share(1_020_000, 1_000_000)
    0.02
    """
    return dataset_bytes / payload_bytes - 1


@formula(unit="B", source="definition")
def index_bytes(records: Num, index_bytes_per_record: Num, shards: Num, index_bytes_per_shard: Num) -> Num:
    """The format's index, as far as it has one: part of the data set.

    >>> index_bytes(25_000_000_000, 20, 60_000, 42)
    500002520000
    """
    return records * index_bytes_per_record + shards * index_bytes_per_shard


@formula(unit="file", source="definition", whole=True)
def dataset_files(shards: Num, files_per_shard: Num) -> Num:
    """Files of one copy of the data set."""
    return shards * files_per_shard
