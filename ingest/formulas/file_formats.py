"""What a file format adds to a data set: ids of another width, headers, indexes, padding, shards."""

from ingest.engine.expression import Num, ceil, maximum, where
from ingest.engine.registry import alternative, formula, input_quantity

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
