"""Under which load a requirement holds: its mix, its outstanding reads, their latency, and how long it lasts."""

from ingest.engine.expression import Num, ceil, maximum, minimum
from ingest.engine.registry import computed_quantity, formula, input_quantities

input_quantities(__file__)

#: A rounding error makes no further reader.
ROUNDED_DOWN = 1 - 1e-9

computed_quantity("load_bandwidth", "total(parts_bandwidth)", "B/s", "Bandwidth of all parts of a load.")
computed_quantity("share_of_load", "part_bandwidth / load_bandwidth", "1", "Share of one part in the bytes of a load.", high=1)
computed_quantity("bandwidth_of_the_rest", "line_bandwidth - part_bandwidth", "B/s",
    "The bandwidth of a line less that of one part of its load.")  # fmt: skip
computed_quantity("bandwidth_of_own_loads",
    "minimum(line_bandwidth * (part_bandwidth / total(parts_bandwidth)), most_bandwidth)", "B/s",
    "The part of a line that the loads of one cluster have, at most what its clients draw.", above=False,
    example="bandwidth_of_own_loads(40e9, 1e9, [1e9, 3e9], 8e9) -> 8000000000.0")  # fmt: skip
computed_quantity("bandwidth_of_clients",
    "drawn_bandwidth + maximum(line_bandwidth - total(drawn_bandwidths), 0)"
    " * ((most_bandwidth - drawn_bandwidth) / maximum(total(most_bandwidths) - total(drawn_bandwidths), least_bandwidth))",
    "B/s", "The part of a line that the clients of one cluster take: of their own loads, and of what others cannot draw.",
    above=False, needs="line_bandwidth drawn_bandwidth drawn_bandwidths most_bandwidth most_bandwidths least_bandwidth",
    example="bandwidth_of_clients(40e9, 30e9, [8e9, 30e9], 72e9, [8e9, 72e9], 1) -> 32000000000.0")  # fmt: skip
computed_quantity("bandwidth_with_headroom", "part_bandwidth * (1 + performance_headroom)", "B/s",
    "Bandwidth of one part of a load with the headroom of the site.", above=False,
    example="bandwidth_with_headroom(10e9, 0.2) -> 12000000000.0")  # fmt: skip
computed_quantity("share_of_own_parts", "maximum(line_bandwidth - bandwidth_of_others, 0) / own_bandwidth", "1",
    "Share of its own parts that a line still has after the parts of other kinds.", above=False,
    example="share_of_own_parts(40e9, 10e9, 60e9) -> 0.5")  # fmt: skip
computed_quantity("share_drawn", "minimum(1, most_bandwidth / own_bandwidth)", "1",
    "Share of its loads that the clients of one cluster draw.", above=False, high=1,
    example="share_drawn(36e9, 72e9) -> 0.5")  # fmt: skip
computed_quantity("requests_of_part", "part_share / read_request_bytes", "1/B",
    "Requests that one part of a load adds for each byte of the load.")  # fmt: skip
computed_quantity("request_bytes_of_mix", "1 / total(requests_per_byte)", "B",
    "Mean size of the requests of a load of several patterns: bytes over requests.", label="mean request size",
    example="request_bytes_of_mix([0.5 / 1000, 0.5 / 1000]) -> 1000.0")  # fmt: skip
computed_quantity("queue_depth_of_client", "ceil(line_queue_depth / line_clients)", "1/node",
    "Outstanding requests of one client where the clients of a requirement line share them.",
    label="queue depth of one client of a line", example="queue_depth_of_client(1024, 100) -> 11")  # fmt: skip
computed_quantity("readers_of_part",
    "ceil(maximum(readers_per_node, part_share * line_bandwidth * client_latency / (read_request_bytes * nodes))) * nodes", "1",
    "Concurrent reads of one job: those of its data loaders, or more where its rate needs more at the latency of a client.",
    needs="readers_per_node nodes part_share line_bandwidth client_latency read_request_bytes", source="little1961",
    where="requests in flight are their rate times their latency",
    example="readers_of_part(32, 4, 1, 1e9, 0.0005, 1_000_000), readers_of_part(1, 4, 1, 100e9, 0.0005, 1_000_000) -> "
    "(128, 52)")  # fmt: skip
computed_quantity("reads_ahead_per_node", "readers_per_node * loader_prefetch", "1/node",
    "Reads that the loaders of one node have outstanding: workers times batches ahead.", source="pytorch",
    where="a worker reads ahead as many batches as its prefetch factor",
    label="reads ahead of the loaders of a node")  # fmt: skip
computed_quantity("load_nodes", "total(line_nodes)", "node",
    "Nodes of all jobs of a line, those that alternate on the same nodes counted each.")  # fmt: skip
computed_quantity("nodes_taking_part", "nodes * minimum(1, line_clients / load_nodes)", "node",
    "Nodes of one job that take part in a line: fewer where jobs alternate on the same nodes.",
    needs="nodes load_nodes line_clients",
    example="nodes_taking_part(40, 80, 64), nodes_taking_part(8, 24, 64) -> (32.0, 8)")  # fmt: skip
computed_quantity("latency_of_part", "part_readers * read_request_bytes / (part_share * line_bandwidth)", "s",
    "Mean latency at which the concurrent reads of one job yield its part of a bandwidth.", source="little1961",
    where="latency is requests in flight over their rate")  # fmt: skip


@formula("1/node", source="little1961", where="requests in flight are their rate times their latency")
def readers_of_client(mean_latency: Num, line_bandwidth: Num, line_request_bytes: Num, line_clients: Num) -> Num:
    """Concurrent reads of one client, the same for all clients of a line, that yield its bandwidth at a mean latency.

    >>> readers_of_client(0.004, 64e9, 1_000_000, 16)
    16
    """
    return ceil(mean_latency * line_bandwidth / (line_request_bytes * line_clients) * ROUNDED_DOWN)


computed_quantity("loaders_of_client", "ceil(total(line_readers) / line_clients)", "1/node",
    "Concurrent operations of one client, the same for all clients of a line: those of the data loaders of all jobs.",
    example="loaders_of_client([128, 64], 12) -> 16")  # fmt: skip
computed_quantity("queue_depth", "readers_per_node * line_clients", "1",
    "Outstanding reads of all clients of a line.", label="outstanding reads of all clients")  # fmt: skip
computed_quantity("implied_latency", "line_queue_depth * line_request_bytes / line_bandwidth", "s",
    "Mean latency at which so many outstanding requests yield a bandwidth.", source="little1961",
    where="latency is requests in flight over their rate", label="implied mean latency")  # fmt: skip
computed_quantity("latency_99", "latency_tail * mean_latency", "s",
    "Latency that 99 % of the requests are to keep.", label="99 % latency")  # fmt: skip


computed_quantity("least_latency", "minimum(client_latency, medium_and_network_seconds)", "s",
    "Latency below which no client is known to read: of medium and network, or of a client that does better.",
    label="least plausible latency")  # fmt: skip
computed_quantity("read_phase_seconds",
    "where(run_cold_read_bandwidth * miss_share < run_read_bandwidth, warm_up_bytes / run_read_bandwidth, endless_seconds)",
    "s", "Time for which a run reads at its bandwidth: until its caches are full, or without an end where misses need as much.",
    needs="warm_up_bytes run_read_bandwidth run_cold_read_bandwidth miss_share endless_seconds",
    label="time for which a run reads at its bandwidth",
    example="read_phase_seconds(600e9, 1e9, 15e9, 0.0, 1e12), read_phase_seconds(600e9, 14e9, 15e9, 14 / 15, 1e12) -> (600.0, "
    "1000000000000.0)")  # fmt: skip
computed_quantity("cold_phase_seconds", "warm_up_bytes / run_cold_read_bandwidth", "s",
    "Time for which a run reads at its cold bandwidth: until its caches are full.",
    label="time in which cold caches fill")  # fmt: skip


@formula("s", source="io500-rules", where="each write phase lasts at least 300 s", label="duration of a test")
def line_seconds(test_seconds: Num, shortest_test_seconds: Num, phase_seconds: Num) -> Num:
    """Whole minutes of the test of a line: as long as its load lasts, at least a valid test, at most the time that is required.

    >>> line_seconds(1800, 300, 9), line_seconds(1800, 300, 427), line_seconds(1800, 300, 86_400), line_seconds(40, 10, 9)
    (300, 480, 1800, 40)
    """
    return minimum(ceil(test_seconds), 60 * ceil(maximum(shortest_test_seconds, phase_seconds) / 60 * ROUNDED_DOWN))


computed_quantity("latency_sigma", "2.3263478740408408 - maximum(0, 2.3263478740408408**2 - 2 * log(latency_tail)) ** 0.5", "1",
    "Standard deviation of the logarithm of a latency, from its 99th percentile over its mean; none exceeds 14.97.",
    where="a lognormal distribution: tail = e^(z·σ − σ²/2), z = 2.326 at 99 %", above=False,
    example="round(latency_sigma(5), 4), latency_sigma(1) -> (0.8455, 0.0)")  # fmt: skip
computed_quantity("latency_variation", "(2.718281828459045 ** (latency_sigma ** 2) - 1) ** 0.5", "1",
    "Standard deviation of a latency over its mean.", where="lognormal distribution: √(e^σ² − 1)", above=False,
    example="round(latency_variation(0.8452), 3), latency_variation(0) -> (1.021, 0.0)")  # fmt: skip
computed_quantity("reads_of_batch", "ceil(samples_per_step * sample_bytes / read_request_bytes)", "1/GPU",
    "Reads that a worker makes one after the other for a batch.", label="reads of a batch",
    example="reads_of_batch(256, 114_660, 131_072), reads_of_batch(4, 146_600_628, 1_048_576) -> (224, 560)")  # fmt: skip


@formula("1", source="little1961", where="requests in flight are their rate times their latency",
    label="outstanding reads that its loader takes", above=False)  # fmt: skip
def loader_queue_depth(run_cold_read_bandwidth: Num, loader_latency: Num, read_request_bytes: Num) -> Num:
    """Mean number of outstanding reads of a run at the longest latency that its loader takes.

    >>> loader_queue_depth(1e9, 0.004, 131_072)
    31
    """
    return ceil(run_cold_read_bandwidth * loader_latency / read_request_bytes * ROUNDED_DOWN)


computed_quantity("kept_latency", "minimum(latency_of_part, loader_latency)", "s",
    "Mean latency of the reads of a job that yields its rate and keeps its utilization.",
    label="mean latency at rate and utilization")  # fmt: skip
computed_quantity("reads_for_mean", "ceil((1.959963984540054 * latency_variation / confident_share) ** 2)", "1",
    "Independent reads after which the mean latency, and so the rate, is known within a share of it at 95 % confidence.",
    where="confidence interval of a mean: (1.96·σ ÷ precision)², 95 %",
    example="reads_for_mean(1.021, 0.05) -> 1602")  # fmt: skip
computed_quantity("reads_for_latency_99",
    "ceil((1.959963984540054 * (0.99 * 0.01) ** 0.5 / 0.026652142203458 * latency_sigma / confident_share) ** 2)", "1",
    "Independent reads after which the 99 % latency is known within a share of it at 95 % confidence.",
    where="variance of a sample quantile: p(1 − p) ÷ (n·f(q)²), at 99 % of a lognormal q·f(q) = φ(z) ÷ σ",
    example="reads_for_latency_99(0.8452, 0.05) -> 15299")  # fmt: skip
computed_quantity("confident_seconds", "maximum(reads_for_mean, reads_for_latency_99) * line_request_bytes / line_bandwidth",
    "s", "Time of a test, at its rate, until mean and 99 % latency are known within the precision at 95 % confidence.",
    label="time until mean and 99 % latency are known", above=False,
    example="confident_seconds(1602, 15_297, 131_072, 1e8) -> 20.05...")  # fmt: skip
computed_quantity("precision_of_test", "confident_share * (confident_seconds / acceptance_seconds) ** 0.5", "1",
    "Share of mean and 99 % latency within which a test of a given duration knows them, at 95 % confidence.",
    where="the interval narrows with the root of the reads", label="precision of mean and 99 % latency", above=False,
    needs="confident_seconds acceptance_seconds confident_share",
    example="precision_of_test(20, 1800, 0.05) < 0.0053, precision_of_test(20, 5, 0.05) -> (True, 0.1)")  # fmt: skip
