"""A data set on storage: its stages, what a file format adds, and the files, copies and inodes that come of it."""

from ingest.expression import Num, ceil, maximum, where
from ingest.formula import formula, leaf

# What the data set is
leaf("tokens_per_document", "token", "Mean tokens of one document.")
leaf("payload_bytes", "B", "What the data set holds before any format adds to it: token ids, text or samples.")
leaf("records", "1", "Documents, packed sequences or samples that the format keeps apart.")
leaf("records_per_sample", "1/sample", "A sample is one record.", default=1)
leaf("id_bits", "1/token", "Bits that tell the ids of a vocabulary apart.", whole=True)
leaf("stored_id_bytes", "B/token", "Width of a token id in the format.")
leaf("format_narrow_vocabulary", "1", "Ids that the format stores in two bytes.", whole=True)
leaf("bits_per_byte", "1/B", "A byte.", default=8)

# The stages before it
leaf("bytes_kept", "1", "Bytes of clean text, as the pipeline stores it, over bytes of its raw input.")
leaf("documents_kept", "1", "Documents that the pipeline keeps.", high=1)
leaf("tokens_kept", "1", "Tokens that the pipeline keeps.", high=1)
leaf("extracted_share", "1", "Bytes of extracted text over bytes of the raw input, each as stored.")
leaf("pipeline_output_share", "1", "What one byte of clean text takes where the pipeline's ratio counts it.", default=1)
leaf("clean_stored_share", "1", "What one byte of clean text takes where it is kept.", default=1)
leaf("dedup_hashes", "1", "Hash values that deduplication keeps for each document.", above=False, whole=True, default=0)
leaf("dedup_hash_bytes", "B", "Width of such a hash value.", default=8)

# What a format adds
leaf("encoding_factor", "1", "Bytes that the format writes for one byte of payload, before compression.", default=1)
leaf("compressed_share", "1", "Stored over written bytes; 1 where the format does not compress.", default=1)
leaf("container_bytes_per_record", "B", "What the format puts around each record.", above=False, default=0)
leaf("index_bytes_per_record", "B", "What an index holds for each record.", above=False, default=0)
leaf("members_per_record", "1", "Files or archive members that make up one record.", default=1)
leaf("member_header_bytes", "B", "Header of each member.", above=False, default=0)
leaf("member_quantum", "B", "Members are padded to a multiple of this.", default=1)
leaf("member_padding_bytes", "B", "Mean padding of one member.", above=False)
leaf("group_bytes", "B", "What the format adds to each batch of records.", above=False, default=0)
leaf("records_per_group", "1", "Records in such a batch.", default=1)
leaf("shard_fixed_bytes", "B/file", "Headers and footers of each shard.", above=False, default=0)
leaf("index_bytes_per_shard", "B/file", "Index of each shard, beside its records.", above=False, default=0)
leaf("shard_quantum", "B/file", "Shards are padded to a multiple of this.", default=1)
leaf("smallest_quantum", "B", "Padding to single bytes is none.", default=1)
leaf("smallest_file_quantum", "B/file", "Padding of files to single bytes is none.", default=1)
leaf("shard_bytes", "B/file", "Size at which a shard is closed.")
leaf("one_shard", "file", "There is at least one shard.", default=1)
leaf("shards", "file", "Shards of one copy of the data set.")
leaf("records_per_shard", "1/file", "Records in one shard.")
leaf("files_per_shard", "1", "Files that make up one shard.", whole=True, default=1)

# What is kept of it
leaf("raw_copies", "1", "Copies of the raw input that are kept.", above=False, whole=True)
leaf("extracted_copies", "1", "Copies of the extracted text that are kept.", above=False, whole=True)
leaf("clean_copies", "1", "Copies of the clean data that are kept.", above=False, whole=True)
leaf("tokenized_copies", "1", "Copies of plain token ids, beside the data set that is trained on.", above=False, whole=True)
leaf("dataset_copies", "1", "Copies of the data set that is trained on, shuffled and packed ones included.", whole=True)
leaf("metadata_share", "1", "Share that a file system's own data add to what it holds.", above=False, high=1)

# Files and their metadata
leaf("files_per_directory", "1", "Files that one directory holds.", whole=True, default=10_000)
leaf("mdt_bytes_per_inode", "B/file", "Space of a metadata target for one inode.", default=2560, source="lustre-manual")
leaf("mdt_inodes", "file", "Inodes that one metadata target can hold.", default=4_000_000_000, source="lustre-manual")
leaf("epochs", "1", "Passes over the data set.", default=1)
leaf("opens_per_file", "1", "Times that one pass opens each file.", default=1)


@formula(unit="B", source="definition")
def clean_bytes(tokens: Num, bytes_per_token: Num) -> Num:
    """Text that is left after filtering and deduplication, without compression.

    >>> clean_bytes(15_000_000_000_000, 4)
    60000000000000
    """
    return tokens * bytes_per_token


@formula(unit="token", source="definition")
def tokens_of_text(clean_bytes: Num, bytes_per_token: Num) -> Num:
    """Tokens of a text whose size is known.

    >>> tokens_of_text(60_000_000_000_000, 4)
    15000000000000.0
    """
    return clean_bytes / bytes_per_token


@formula(unit="B", source="definition")
def samples_bytes(dataset_samples: Num, sample_bytes: Num) -> Num:
    """All samples, each as it is encoded, without what a format adds.

    >>> samples_bytes(1_281_167, 114_660)
    146898608220
    """
    return dataset_samples * sample_bytes


@formula(unit="1", source="definition")
def documents(tokens: Num, tokens_per_document: Num) -> Num:
    """Documents of a corpus, from their mean length.

    >>> documents(15_000_000_000_000, 600)
    25000000000.0
    """
    return tokens / tokens_per_document


@formula(unit="1", source="definition")
def packed_sequences(tokens: Num, sequence_length: Num) -> Num:
    """Sequences of equal length into which all documents are packed.

    >>> packed_sequences(15_000_000_000_000, 8192)
    1831054688
    """
    return ceil(tokens / sequence_length)


@formula(unit="1", source="definition")
def sample_records(dataset_samples: Num, records_per_sample: Num) -> Num:
    """Records of a data set of samples.

    >>> sample_records(1_281_167, 1)
    1281167
    """
    return dataset_samples * records_per_sample


@formula(unit="B/token", source="apache-parquet", where="encodings, RLE_DICTIONARY: indices take as many bits as the largest")
def packed_id_bytes(id_bits: Num, bits_per_byte: Num) -> Num:
    """Bytes of one token id where a dictionary packs ids into as few bits as they need.

    >>> packed_id_bytes(17, 8)
    2.125
    """
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
    """Width of an id in the format over the width that the vocabulary needs.

    >>> id_width_factor(4, 2)
    2.0
    """
    return stored_id_bytes / token_id_bytes


@formula(unit="B", source="definition")
def raw_bytes(clean_bytes: Num, pipeline_output_share: Num, bytes_kept: Num) -> Num:
    """Raw input that a pipeline needs for that much clean text.

    >>> raw_bytes(60_000_000_000_000, 1, 0.0125)
    4800000000000000.0
    """
    return clean_bytes * pipeline_output_share / bytes_kept


@formula(unit="B", source="definition")
def clean_bytes_of_raw(raw_bytes: Num, bytes_kept: Num, pipeline_output_share: Num) -> Num:
    """Clean text that a pipeline makes of that much raw input.

    >>> clean_bytes_of_raw(4_800_000_000_000_000, 0.0125, 1)
    60000000000000.0
    """
    return raw_bytes * bytes_kept / pipeline_output_share


@formula(unit="B", source="definition")
def extracted_bytes(raw_bytes: Num, extracted_share: Num) -> Num:
    """Text extracted from the raw input, before anything is filtered.

    >>> extracted_bytes(55_880_000_000_000, 0.1636)
    9141968000000.0
    """
    return raw_bytes * extracted_share


@formula(unit="B", source="definition")
def extracted_bytes_of_tokens(tokens: Num, tokens_kept: Num, bytes_per_token: Num) -> Num:
    """Text before filtering, where the pipeline's share of tokens is known.

    >>> extracted_bytes_of_tokens(3_800_000_000_000, 0.016, 4)
    950000000000000.0
    """
    return tokens / tokens_kept * bytes_per_token


@formula(unit="token", source="definition")
def raw_tokens(tokens: Num, tokens_kept: Num) -> Num:
    """Tokens before filtering and deduplication.

    >>> raw_tokens(627_000_000_000, 0.5)
    1254000000000.0
    """
    return tokens / tokens_kept


@formula(unit="1", source="definition")
def raw_documents(documents: Num, documents_kept: Num) -> Num:
    """Documents before filtering and deduplication.

    >>> raw_documents(968_000_000, 0.1)
    9680000000.0
    """
    return documents / documents_kept


@formula(unit="B", source="definition")
def dedup_scratch_bytes(raw_documents: Num, dedup_hashes: Num, dedup_hash_bytes: Num) -> Num:
    """Signatures that fuzzy deduplication keeps while it runs.

    >>> dedup_scratch_bytes(1_000_000_000, 112, 8)
    896000000000
    """
    return raw_documents * dedup_hashes * dedup_hash_bytes


@formula(unit="B", source="definition")
def encoded_bytes(payload_bytes: Num, encoding_factor: Num) -> Num:
    """The payload as the format writes it: escaped, widened or packed.

    >>> encoded_bytes(60_000, 1.02)
    61200.0
    """
    return payload_bytes * encoding_factor


@formula(unit="B", source="definition")
def member_bytes(encoded_bytes: Num, records: Num, members_per_record: Num) -> Num:
    """Mean size of one member.

    >>> member_bytes(1_000_000, 100, 2)
    5000.0
    """
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


@formula(unit="B", source="definition")
def member_overhead_bytes(members_per_record: Num, member_header_bytes: Num, member_padding_bytes: Num) -> Num:
    """Headers and padding of all members of one record.

    >>> member_overhead_bytes(2, 512, 255.5)
    1535.0
    """
    return members_per_record * (member_header_bytes + member_padding_bytes)


@formula(unit="B", source="definition")
def record_overhead_bytes(
    container_bytes_per_record: Num,
    index_bytes_per_record: Num,
    member_overhead_bytes: Num,
    group_bytes: Num,
    records_per_group: Num,
) -> Num:
    """What a format adds to one record, its share of the batch included.

    >>> record_overhead_bytes(0, 20, 0, 0, 1)
    20.0
    """
    return container_bytes_per_record + index_bytes_per_record + member_overhead_bytes + group_bytes / records_per_group


@formula(unit="B", source="definition")
def content_bytes(encoded_bytes: Num, records: Num, record_overhead_bytes: Num, compressed_share: Num) -> Num:
    """All records with what surrounds them, compressed where the format does so.

    >>> content_bytes(1_000_000, 100, 20, 1)
    1002000
    """
    return (encoded_bytes + records * record_overhead_bytes) * compressed_share


@formula(unit="file", source="definition")
def shards_by_size(content_bytes: Num, shard_bytes: Num, one_shard: Num) -> Num:
    """Shards that are closed at a size.

    >>> shards_by_size(60_000_000_000_000, 1_000_000_000, 1)
    60000
    """
    return maximum(ceil(content_bytes / shard_bytes), one_shard)


@formula(unit="file", source="definition")
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
    """One copy of the data set that is trained on, in its format.

    >>> dataset_bytes(1_002_000, 10, 42)
    1002420
    """
    return content_bytes + shards * shard_overhead_bytes


@formula(unit="1", source="definition")
def dataset_overhead_share(dataset_bytes: Num, payload_bytes: Num) -> Num:
    """What the format adds, over the payload; below 0 where it compresses more than it adds.

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


@formula(unit="file", source="definition")
def dataset_files(shards: Num, files_per_shard: Num) -> Num:
    """Files of one copy of the data set.

    >>> dataset_files(60_000, 2)
    120000
    """
    return shards * files_per_shard


@formula(unit="B", source="definition")
def raw_kept_bytes(raw_bytes: Num, raw_copies: Num) -> Num:
    """Raw input that stays on storage.

    >>> raw_kept_bytes(1_000_000, 1)
    1000000
    """
    return raw_bytes * raw_copies


@formula(unit="B", source="definition")
def extracted_kept_bytes(extracted_bytes: Num, extracted_copies: Num) -> Num:
    """Extracted text that stays on storage.

    >>> extracted_kept_bytes(1_000_000, 1)
    1000000
    """
    return extracted_bytes * extracted_copies


@formula(unit="B", source="definition")
def clean_kept_bytes(clean_bytes: Num, clean_stored_share: Num, clean_copies: Num) -> Num:
    """Clean text that stays on storage.

    >>> clean_kept_bytes(60_000_000_000_000, 1, 1)
    60000000000000
    """
    return clean_bytes * clean_stored_share * clean_copies


@formula(unit="B", source="definition")
def tokenized_kept_bytes(tokenized_bytes: Num, tokenized_copies: Num) -> Num:
    """Plain token ids that stay on storage beside the data set that is trained on.

    >>> tokenized_kept_bytes(60_000_000_000_000, 0)
    0
    """
    return tokenized_bytes * tokenized_copies


@formula(unit="B", source="definition")
def dataset_kept_bytes(dataset_bytes: Num, dataset_copies: Num) -> Num:
    """All copies of the data set that is trained on.

    >>> dataset_kept_bytes(60_500_000_000_000, 2)
    121000000000000
    """
    return dataset_bytes * dataset_copies


@formula(unit="B", source="definition")
def usable_bytes(
    raw_kept_bytes: Num,
    extracted_kept_bytes: Num,
    clean_kept_bytes: Num,
    tokenized_kept_bytes: Num,
    dataset_kept_bytes: Num,
    dedup_scratch_bytes: Num,
    metadata_share: Num,
) -> Num:
    """Usable capacity that all stages take with their copies, before protection and fill limit.

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


@formula(unit="file", source="definition")
def file_creates(dataset_files: Num, dataset_copies: Num) -> Num:
    """Files that are created while all copies are written.

    >>> file_creates(60_000, 2)
    120000
    """
    return dataset_files * dataset_copies


@formula(unit="file", source="definition")
def inodes(file_creates: Num, files_per_directory: Num) -> Num:
    """Files of all copies, and the directories that hold them.

    >>> inodes(120_000, 10_000)
    120012
    """
    return file_creates + ceil(file_creates / files_per_directory)


@formula(unit="file", source="definition")
def file_opens_per_epoch(dataset_files: Num, opens_per_file: Num) -> Num:
    """Opens of one pass over the data set.

    >>> file_opens_per_epoch(60_000, 1)
    60000
    """
    return dataset_files * opens_per_file


@formula(unit="file", source="definition")
def file_opens(file_opens_per_epoch: Num, epochs: Num) -> Num:
    """Opens of all passes.

    >>> file_opens(1_281_167, 90)
    115305030
    """
    return file_opens_per_epoch * epochs


@formula(unit="B", source="lustre-manual", where="sec. 5.2, MDT space per inode")
def mdt_bytes(inodes: Num, mdt_bytes_per_inode: Num) -> Num:
    """Space of metadata targets that these inodes need on Lustre with ldiskfs.

    >>> mdt_bytes(1_281_296, 2560)
    3280117760
    """
    return inodes * mdt_bytes_per_inode


@formula(unit="1", source="lustre-manual", where="limits of ldiskfs")
def mdts(inodes: Num, mdt_inodes: Num) -> Num:
    """Metadata targets that can hold these inodes.

    >>> mdts(25_002_500_000, 4_000_000_000)
    7
    """
    return ceil(inodes / mdt_inodes)
