"""MLPerf Storage: how many files a run must read (`mlpstorage training datasize`), and what its key-value caches move.

Both rules exist in two forms. Version 2.0 rounds down, so that a data set can be one file short of its own rules; the
later form rounds up. What the benchmark calls GB of memory is GiB."""

from ingest.engine.expression import Num, maximum, minimum, total
from ingest.engine.registry import computed_quantity, formula, input_quantities

input_quantities(__file__)

computed_quantity("benchmark_memory", "benchmark_host_memory * benchmark_hosts", "B", "Memory of all clients.",
    source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size")  # fmt: skip
computed_quantity("benchmark_file_bytes", "benchmark_samples_per_file * benchmark_record_bytes", "B/file",
    "Bytes of one file.", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size")  # fmt: skip
computed_quantity("files_for_memory_down", "-ceil(-(benchmark_memory_multiple * benchmark_memory / benchmark_file_bytes))",
    "file", "Files whose bytes are the required multiple of the memory, rounded down as in version 2.0.",
    source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size", whole=True,
    example="files_for_memory_down(5, 64 * 2**30, 2_828_486) -> 121477")  # fmt: skip
computed_quantity("files_for_memory_up", "ceil(benchmark_memory_multiple * benchmark_memory / benchmark_file_bytes)", "file",
    "Files whose bytes are the required multiple of the memory, rounded up as in version 3.", source="mlperf-storage-v3",
    where="mlpstorage_py/rules/utils.py", whole=True,
    example="files_for_memory_up(5, 64 * 2**30, 2_828_486) -> 121478")  # fmt: skip
computed_quantity("benchmark_samples", "benchmark_steps * benchmark_accelerators * benchmark_batch", "sample",
    "Samples of the least number of steps that the benchmark requires.", source="mlperf-storage-v2",
    where="mlpstorage/rules.py, calculate_training_data_size")  # fmt: skip
computed_quantity("files_for_steps_down", "-ceil(-(benchmark_samples / benchmark_samples_per_file))", "file",
    "Files for the least number of steps, rounded down as in version 2.0: up to one file short.", source="mlperf-storage-v2",
    where="mlpstorage/rules.py, calculate_training_data_size", whole=True,
    example="files_for_steps_down(3_200_000, 1251) -> 2557")  # fmt: skip
computed_quantity("files_for_steps_up", "ceil(benchmark_samples / benchmark_samples_per_file)", "file",
    "Files for the least number of steps, rounded up as in version 3.", source="mlperf-storage-v3",
    where="mlpstorage_py/rules/utils.py", whole=True, example="files_for_steps_up(3_200_000, 1251) -> 2558")  # fmt: skip
computed_quantity("benchmark_files_down", "maximum(files_for_memory_down, files_for_steps_down)", "file",
    "Files of the data set as version 2.0 prints them.", source="mlperf-storage-v2",
    where="mlpstorage/rules.py, calculate_training_data_size", whole=True)  # fmt: skip
computed_quantity("benchmark_files_up", "maximum(files_for_memory_up, files_for_steps_up)", "file",
    "Files of the data set by version 3: never short of its own rules.", source="mlperf-storage-v3",
    where="mlpstorage_py/rules/utils.py", whole=True)  # fmt: skip
computed_quantity("benchmark_data_bytes", "benchmark_files * benchmark_file_bytes", "B",
    "Bytes of the data set; the benchmark prints GiB and calls them GB.", source="mlperf-storage-v2",
    where="mlpstorage/benchmarks/dlio.py")  # fmt: skip
computed_quantity("benchmark_index_bytes",
    "vectors * vector_dimensions * vector_element_bytes * benchmark_index_factor * index_shards", "B",
    "Size of a vector index as the benchmark states it: raw vectors with an overhead, once for each shard.",
    source="mlperf-storage-vectordb", where="README, vectordb datasize")  # fmt: skip

#: A request draws its tokens evenly between this share of its user's limit and the limit.
LEAST_DRAW = 0.25

computed_quantity("benchmark_user_rates", "1 / benchmark_user_pauses", "1/s", "Requests per second of each user.",
    source="mlperf-kv-cache", where="kv_cache/benchmark.py, user_worker: one request per pause")  # fmt: skip


@formula("token", source="mlperf-kv-cache", mean=True,
    where="kv_cache/benchmark.py, user_worker; the queue serves the first class before all others")  # fmt: skip
def benchmark_written_tokens(benchmark_user_contexts: Num, benchmark_user_rates: Num) -> Num:
    """Tokens of context that a mean request writes: from a quarter of its user's limit to the limit.

    >>> benchmark_written_tokens(8_000, 2)
    5000.0
    """
    return total(benchmark_user_contexts * benchmark_user_rates) * (1 + LEAST_DRAW) / 2 / total(benchmark_user_rates)


@formula("token", source="mlperf-kv-cache", mean=True,
    where="kv_cache/benchmark.py, process_requests: a context of 10,000 tokens or more is not read")  # fmt: skip
def benchmark_short_tokens(benchmark_user_contexts: Num, benchmark_unread_tokens: Num) -> Num:
    """Tokens of context of a request that is read, in the mean over all requests of its user: long ones count as 0.

    >>> [benchmark_short_tokens(longest, 10_000) for longest in (8_000, 20_000, 40_000)]
    [5000.0, 2500.0, 0.0]
    """
    return (
        maximum(minimum(benchmark_user_contexts, benchmark_unread_tokens) ** 2 - (LEAST_DRAW * benchmark_user_contexts) ** 2, 0)
        / 2
        / ((1 - LEAST_DRAW) * benchmark_user_contexts)
    )


@formula("1", source="mlperf-kv-cache", where="kv_cache/benchmark.py: one read, then one for each batch of 32 tokens")
def benchmark_user_reads(benchmark_user_generations: Num, decode_batch_tokens: Num, mean_rounding: Num) -> Num:
    """Reads of its context by a request of each user, in the mean.

    >>> benchmark_user_reads(512, 32, 0.5)
    11.5
    """
    return 1 + benchmark_user_generations * (1 + LEAST_DRAW) / 2 / decode_batch_tokens + mean_rounding


computed_quantity("benchmark_read_tokens",
    "total(benchmark_short_tokens * benchmark_user_reads * benchmark_user_rates) / total(benchmark_user_rates)", "token",
    "Tokens of context that a mean request reads, over all its reads.", mean=True,
    example="benchmark_read_tokens(5_000, 11.5, 2) -> 57500.0")  # fmt: skip
computed_quantity("benchmark_bytes_written", "benchmark_requests * benchmark_written_tokens * kv_cache_bytes_per_token", "B",
    "Bytes that the requests of a run write.")  # fmt: skip
computed_quantity("benchmark_bytes_read", "benchmark_requests * benchmark_read_tokens * kv_cache_bytes_per_token", "B",
    "Bytes that the requests of a run read.")  # fmt: skip
computed_quantity("benchmark_reads_per_request", "1 + benchmark_generated_tokens / decode_batch_tokens + mean_rounding", "1",
    "Reads of its context by one request of the benchmark, in the mean: a first one, and one per batch begun.",
    source="mlperf-kv-cache", where="kv_cache/benchmark.py: one read, then one for each batch of 32 tokens",
    example="round(benchmark_reads_per_request(268.3, 32, 0.5), 2) -> 9.88")  # fmt: skip
computed_quantity("benchmark_read_bytes",
    "benchmark_requests * benchmark_context_tokens * kv_cache_bytes_per_token * benchmark_reads_per_request", "B",
    "Bytes that the requests of the key-value benchmark read.", source="mlperf-kv-cache",
    where="kv_cache/benchmark.py: each read is the whole context of the request")  # fmt: skip
computed_quantity("benchmark_write_bytes",
    "benchmark_requests * (1 - benchmark_prefix_share) * benchmark_context_tokens * kv_cache_bytes_per_token", "B",
    "Bytes that the requests of the key-value benchmark write.", source="mlperf-kv-cache",
    where="kv_cache/benchmark.py: a request without a known prefix writes its context",
    example="round(benchmark_write_bytes(549, 98 / 549, 134.5, 131_072) / 2**30, 2) -> 7.4")  # fmt: skip
