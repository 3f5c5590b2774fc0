"""Under which load a requirement holds: its mix, its outstanding reads, their latency, and how long it lasts."""

from ingest.engine.expression import Num, ceil, maximum, minimum
from ingest.engine.registry import computed_quantities, formula, input_quantities

input_quantities(__file__)

#: A rounding error makes no further reader.
ROUNDED_DOWN = 1 - 1e-9

computed_quantities(__file__)


@formula("1/node", source="little1961", where="requests in flight are their rate times their latency")
def readers_of_client(mean_latency: Num, line_bandwidth: Num, line_request_bytes: Num, line_clients: Num) -> Num:
    """Concurrent reads of one client, the same for all clients of a line, that yield its bandwidth at a mean latency.

    >>> readers_of_client(0.004, 64e9, 1_000_000, 16)
    16
    """
    return ceil(mean_latency * line_bandwidth / (line_request_bytes * line_clients) * ROUNDED_DOWN)


@formula("s", source="io500-rules", where="each write phase lasts at least 300 s", label="duration of a test")
def line_seconds(test_seconds: Num, shortest_test_seconds: Num, phase_seconds: Num) -> Num:
    """Whole minutes of the test of a line: as long as its load lasts, at least a valid test, at most the time that is required.

    >>> line_seconds(1800, 300, 9), line_seconds(1800, 300, 427), line_seconds(1800, 300, 86_400), line_seconds(40, 10, 9)
    (300, 480, 1800, 40)
    """
    return minimum(ceil(test_seconds), 60 * ceil(maximum(shortest_test_seconds, phase_seconds) / 60 * ROUNDED_DOWN))


@formula("1", source="little1961", where="requests in flight are their rate times their latency",
    label="outstanding reads that its loader takes", above=False)  # fmt: skip
def loader_queue_depth(run_cold_read_bandwidth: Num, loader_latency: Num, read_request_bytes: Num) -> Num:
    """Mean number of outstanding reads of a run at the longest latency that its loader takes.

    >>> loader_queue_depth(1e9, 0.004, 131_072)
    31
    """
    return ceil(run_cold_read_bandwidth * loader_latency / read_request_bytes * ROUNDED_DOWN)
