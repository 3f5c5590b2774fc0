"""A data set on storage: stages, copies, inodes and metadata, and what its file format adds."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)


computed_quantity("clean_bytes", "tokens * bytes_per_token", "B",
    "Text after filtering and deduplication, without compression.")  # fmt: skip

alternative("clean_bytes", "samples_bytes", when="holds_samples")

computed_quantity("tokens_of_text", "clean_bytes / bytes_per_token", "token", "Tokens of a text whose size is known.")
computed_quantity("samples_bytes", "dataset_samples * sample_bytes", "B",
    "All samples, each as it is encoded, without what a format adds.")  # fmt: skip
computed_quantity("documents_by_length", "ceil(tokens / tokens_per_document)", "document",
    "Documents of a corpus, from their mean length.",
    example="documents_by_length(15_000_000_000_000, 600), documents_by_length(131_072, 600)"
        " -> (25000000000, 219)")  # fmt: skip
computed_quantity("document_records", "documents * records_per_document", "sample", "Documents as records of a format.")
computed_quantity("packed_sequences", "ceil(tokens / sequence_length) * one_sequence", "sample",
    "Sequences of equal length into which all documents are packed.",
    example="packed_sequences(15_000_000_000_000, 8192, 1) -> 1831054688")  # fmt: skip
computed_quantity("bytes_kept", "pipeline_output_bytes / pipeline_input_bytes", "1",
    "Bytes that came out of a pipeline over bytes that went in, each as it was stored.")  # fmt: skip
computed_quantity("documents_kept", "pipeline_output_documents / pipeline_input_documents", "1",
    "Documents that a pipeline keeps.", high=1)  # fmt: skip
computed_quantity("tokens_kept", "pipeline_output_tokens / pipeline_input_tokens", "1", "Tokens that a pipeline keeps.", high=1)
computed_quantity("raw_bytes", "clean_bytes * pipeline_output_share / bytes_kept", "B",
    "Raw input that a pipeline needs for that much clean text.")  # fmt: skip
computed_quantity("clean_bytes_of_raw", "raw_bytes * bytes_kept / pipeline_output_share", "B",
    "Clean text that a pipeline makes of that much raw input.", of="clean_bytes", when="raw_input_stated")  # fmt: skip
computed_quantity("extracted_bytes", "raw_bytes * extracted_share", "B",
    "Text extracted from the raw input, before anything is filtered.")  # fmt: skip

alternative("extracted_bytes", "extracted_bytes_of_tokens", when="share_of_bytes_unknown", optional=True)

computed_quantity("extracted_bytes_of_tokens", "tokens / tokens_kept * bytes_per_token", "B",
    "Text before filtering, where the pipeline's share of tokens is known.")  # fmt: skip
computed_quantity("raw_tokens", "tokens / tokens_kept", "token", "Tokens before filtering and deduplication.")
computed_quantity("raw_documents", "documents / documents_kept", "document", "Documents before filtering and deduplication.")
computed_quantity("dedup_scratch_bytes", "documents * documents_before_dedup * dedup_hashes * dedup_hash_bytes", "B",
    "Signatures that fuzzy deduplication keeps while it runs.")  # fmt: skip
computed_quantity("raw_kept_bytes", "raw_bytes * raw_copies", "B", "Raw input that stays on storage.")
computed_quantity("extracted_kept_bytes", "extracted_bytes * extracted_copies", "B", "Extracted text that stays on storage.")
computed_quantity("clean_kept_bytes", "clean_bytes * clean_stored_share * clean_copies", "B",
    "Clean text that stays on storage.")  # fmt: skip
computed_quantity("tokenized_kept_bytes", "tokenized_bytes * tokenized_copies", "B",
    "Plain token ids that stay on storage next to the training data set.")  # fmt: skip
computed_quantity("dataset_kept_bytes", "dataset_bytes * dataset_copies", "B", "All copies of the training data set.")
computed_quantity("usable_bytes",
    "(raw_kept_bytes + extracted_kept_bytes + clean_kept_bytes + tokenized_kept_bytes"
    " + dataset_kept_bytes + dedup_scratch_bytes) * (1 + metadata_share)", "B",
    "Data held: all stages with their copies, before protection and fill limit.", label="data held by all stages",
    example="usable_bytes(0, 0, 60, 0, 121, 0, 0) -> 181")  # fmt: skip
computed_quantity("metadata_bytes", "usable_bytes * metadata_share / (1 + metadata_share)", "B",
    "File-system metadata over the data held.", example="metadata_bytes(110, 0.1) -> 10.0")  # fmt: skip
computed_quantity("file_creates", "dataset_files * dataset_copies", "file",
    "File creates while all copies are written.", whole=True)  # fmt: skip
computed_quantity("inodes", "file_creates + ceil(file_creates / files_per_directory)", "file",
    "Files of all copies, and the directories that hold them.", whole=True,
    example="inodes(120_000, 10_000) -> 120012")  # fmt: skip
computed_quantity("file_opens_per_epoch", "dataset_files * opens_per_file", "file", "File opens of one epoch.")
computed_quantity("file_opens", "file_opens_per_epoch * epochs", "file", "File opens of all epochs.")
computed_quantity("mdt_bytes", "inodes * mdt_bytes_per_inode", "B",
    "Space of metadata targets that these inodes need on Lustre with ldiskfs.", source="lustre-manual",
    where="sec. 5.2, MDT space per inode")  # fmt: skip
computed_quantity("mdts", "ceil(inodes / mdt_inodes)", "1",
    "Metadata targets that can hold these inodes.", source="lustre-manual", where="limits of ldiskfs", whole=True,
    example="mdts(25_002_500_000, 4_000_000_000) -> 7")  # fmt: skip


# Another encoding or size of the samples makes another data set.
alternative("dataset_bytes", "samples_bytes", when="path_judged", optional=True)

computed_quantity("packed_id_bytes", "id_bits / bits_per_byte", "B/token",
    "Bytes of one token id where a dictionary packs ids into as few bits as they need.", source="apache-parquet",
    where="encodings, RLE_DICTIONARY: indices take as many bits as the largest")  # fmt: skip
computed_quantity("own_limit_id_bytes", "where(vocabulary > format_narrow_vocabulary, wide_id_bytes, narrow_id_bytes)",
    "B/token", "Bytes of one token id in a format that draws its own line between two and four bytes.", source="megatron-lm",
    where="megatron/core/datasets/indexed_dataset.py, optimal_dtype",
    needs="vocabulary format_narrow_vocabulary narrow_id_bytes wide_id_bytes", of="stored_id_bytes", when="ids_by_own_limit",
    example="own_limit_id_bytes(65_499, 65_499, 2, 4), own_limit_id_bytes(65_536, 65_499, 2, 4) -> (2, 4)")  # fmt: skip
computed_quantity("id_width_factor", "stored_id_bytes / token_id_bytes", "1",
    "Width of an id in the format over the width that the vocabulary needs.")  # fmt: skip
computed_quantity("encoded_bytes", "payload_bytes * encoding_factor", "B",
    "The payload as the format writes it: escaped, widened or packed.")  # fmt: skip
computed_quantity("member_bytes", "encoded_bytes / records / members_per_record", "B", "Mean size of one member.")
computed_quantity("member_scale", "encoding_factor / (members_per_record * one_sample)", "1",
    "Bytes of a member for each byte of its sample.", example="member_scale(1, 2, 1) -> 0.5")  # fmt: skip
computed_quantity("padding_of_varied_sizes", "(member_quantum - smallest_quantum) / 2", "B",
    "Mean padding of members whose sizes vary: half the quantum.", source="arithmetic",
    where="remainders of sizes that vary are spread evenly", example="padding_of_varied_sizes(512, 1) -> 255.5")  # fmt: skip
computed_quantity("padding_of_equal_sizes", "ceil(member_bytes / member_quantum) * member_quantum - member_bytes", "B",
    "Padding of members that are all of one size.", example="padding_of_equal_sizes(3000, 512) -> 72")  # fmt: skip
computed_quantity("member_overhead_bytes", "members_per_record * (member_header_bytes + member_padding_bytes)", "B/sample",
    "Headers and padding of all members of one record.", example="member_overhead_bytes(2, 512, 255.5) -> 1535.0")  # fmt: skip
computed_quantity("record_overhead_bytes",
    "container_bytes_per_record + index_bytes_per_record + member_overhead_bytes + group_bytes / records_per_group", "B/sample",
    "Bytes that a format adds to one record, its share of the batch included.",
    example="record_overhead_bytes(0, 20, 0, 0, 1) -> 20.0")  # fmt: skip
computed_quantity("content_bytes", "(encoded_bytes + records * record_overhead_bytes) * compressed_share", "B",
    "Bytes of all records with their framing, compressed where the format compresses.",
    example="content_bytes(1_000_000, 100, 20, 1) -> 1002000")  # fmt: skip
computed_quantity("shards_by_size", "maximum(ceil(content_bytes / shard_bytes), one_shard)", "file",
    "Shards that are closed at a size.", of="shards", when="closed_by_size", whole=True,
    example="shards_by_size(60_000_000_000_000, 1_000_000_000, 1) -> 60000")  # fmt: skip
computed_quantity("shards_by_count", "maximum(ceil(records / records_per_shard), one_shard)", "file",
    "Shards that are closed after a number of records.", of="shards", when="closed_by_count", whole=True,
    example="shards_by_count(1_281_167, 1, 1) -> 1281167")  # fmt: skip
computed_quantity("shard_overhead_bytes",
    "shard_fixed_bytes + index_bytes_per_shard + (shard_quantum - smallest_file_quantum) / 2", "B/file",
    "Header, footer, index and mean padding of one shard.", source="arithmetic",
    where="ends of shards are spread evenly over the quantum",
    example="shard_overhead_bytes(1024, 0, 10_240, 1) -> 6143.5")  # fmt: skip
computed_quantity("dataset_bytes", "content_bytes + shards * shard_overhead_bytes", "B",
    "One copy of the training data set, in its format.", example="dataset_bytes(1_002_000, 10, 42) -> 1002420")  # fmt: skip

alternative("dataset_bytes", "sample_files_bytes", when="samples_measured")

# Corpora whose entries name images or videos by reference
computed_quantity("referred_bytes", "documents * objects_per_document * object_bytes", "B",
    "Bytes of all images or videos that the documents of a corpus name by reference.",
    label="what the entries refer to")  # fmt: skip
computed_quantity("dataset_with_objects", "content_bytes + shards * shard_overhead_bytes + referred_bytes", "B",
    "One copy of the training data set, with what its documents refer to.", of="dataset_bytes", when="entries_refer",
    example="dataset_with_objects(1_002_000, 10, 42, 5_000_000) -> 6002420")  # fmt: skip
computed_quantity("files_with_objects", "shards * files_per_shard + ceil(referred_bytes / shard_bytes)", "file",
    "Files of one copy of the data set, with shards of what its documents refer to.", source="ingest-practice",
    where="what is downloaded lies in shards too", of="dataset_files", when="entries_refer", whole=True,
    example="files_with_objects(10, 2, 2.5e12, 1e12) -> 23")  # fmt: skip
computed_quantity("overhead_with_objects", "dataset_bytes / (payload_bytes + referred_bytes) - 1", "1",
    "Bytes that the format adds, over the payload and what its documents refer to.", of="dataset_overhead_share",
    when="entries_refer", low=-0.99, above=False,
    example="overhead_with_objects(3_060_000, 1_000_000, 2_000_000) -> 0.02")  # fmt: skip

computed_quantity("dataset_overhead_share", "dataset_bytes / payload_bytes - 1", "1",
    "Bytes that the format adds, over the payload; below 0 where it compresses more than it adds.", low=-0.99, above=False,
    example="dataset_overhead_share(1_020_000, 1_000_000) -> 0.02")  # fmt: skip
computed_quantity("index_bytes", "records * index_bytes_per_record + shards * index_bytes_per_shard", "B",
    "The format's index, as far as it has one: part of the data set.",
    example="index_bytes(25_000_000_000, 20, 60_000, 42) -> 500002520000")  # fmt: skip
computed_quantity("copy_seconds", "dataset_bytes / copy_bandwidth + dataset_files / copied_files_per_second", "s",
    "Time to copy a data set: its bytes at the bandwidth, and its files at the rate at which files are created.",
    label="time to copy the data set", example="copy_seconds(1e12, 1e9, 1e6, 1e4) -> 1100.0")  # fmt: skip
computed_quantity("dataset_files", "shards * files_per_shard", "file", "Files of one copy of the data set.", whole=True)
