"""MLPerf Storage: how many files a run must read (`mlpstorage training datasize`), and what its key-value caches move.

Both rules exist in two forms. Version 2.0 rounds down, so that a data set can be one file short of its own rules; the
later form rounds up. What the benchmark calls GB of memory is GiB."""

from ingest.engine.expression import Num, maximum, minimum, total
from ingest.engine.registry import computed_quantities, formula, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

#: A request draws its tokens evenly between this share of its user's limit and the limit.
LEAST_DRAW = 0.25


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
