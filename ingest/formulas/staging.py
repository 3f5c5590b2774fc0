"""Staging on local drives, caching, prefetching, and bandwidth after a failure."""

from ingest.engine.expression import Num, ceil, maximum, minimum
from ingest.engine.registry import formula, input_quantity

# Failure
input_quantity("rebuild_share", "1", "Share of the bandwidth that a rebuild takes.", above=False, high=0.99)
input_quantity("degraded_share", "1", "Share of the read bandwidth that is needed with one failure domain down.",
    above=False, high=1)  # fmt: skip

# Staging, caching and prefetching
input_quantity("copies_cached", "1", "Nodes that cache the same sample: all where every node reads the whole data set.",
    whole=True)  # fmt: skip
input_quantity("copies_staged", "1", "Copies of the data set on local drives.", whole=True)
input_quantity("local_request_seconds", "s/sample", "Time from a request to a local drive to its first bytes.", above=False,
    label="latency of a local drive")  # fmt: skip
input_quantity("local_stream_bandwidth", "B/s", "Read bandwidth of one worker that reads from the drives of its node.",
    label="read bandwidth of one local stream")  # fmt: skip
input_quantity("staged_utilization", "1", "Utilization with the data set on the drives of the nodes.", high=1,
    label="utilization with staged data")  # fmt: skip
input_quantity("staging_gain", "1", "Share by which epochs last longer without staged data, where they do.")
input_quantity("cache_memory_share", "1", "Share of the host memory that caches the data set.", high=1)
input_quantity("stall_bridged_seconds", "s", "Pause of the storage that prefetched samples bridge.")


@formula(unit="B/s", source="definition")
def degraded_read_bandwidth(unit_read_bandwidth: Num, units: Num, failed_units: Num, rebuild_share: Num) -> Num:
    """Read bandwidth with one failure domain down while the rest rebuilds.

    >>> round(degraded_read_bandwidth(90e9, 6, 1, 0.3) / 1e9), round(degraded_read_bandwidth(90e9, 6, 0.5, 0.3) / 1e9)
    (315, 346)
    """
    return unit_read_bandwidth * maximum(units - failed_units, 0) * (1 - rebuild_share)


@formula(unit="B/s", source="definition")
def degraded_read_bandwidth_needed(read_bandwidth_needed: Num, degraded_share: Num) -> Num:
    """Read bandwidth that is needed with one failure domain down."""
    return read_bandwidth_needed * degraded_share


@formula(unit="1", source="definition", whole=True)
def units_for_degraded(
    degraded_read_bandwidth_needed: Num, unit_read_bandwidth: Num, rebuild_share: Num, failed_units: Num
) -> Num:
    """Units that deliver the degraded reads with one failure domain down and the rest rebuilding.

    >>> units_for_degraded(500e9, 90e9, 0.3, 1), units_for_degraded(350e9, 90e9, 0.3, 1)
    (9, 7)
    """
    return ceil(degraded_read_bandwidth_needed / (unit_read_bandwidth * (1 - rebuild_share)) + failed_units)


@formula(unit="1", source="definition", high=1)
def cache_hit_needed(read_bandwidth_needed: Num, read_bandwidth_available: Num) -> Num:
    """Cache hit share on the nodes at which the available read bandwidth suffices.

    >>> round(cache_hit_needed(18.2e9, 3e9), 3), cache_hit_needed(2e9, 3e9)
    (0.835, 0)
    """
    return maximum(0, 1 - read_bandwidth_available / read_bandwidth_needed)


@formula(unit="B/node", source="definition")
def cache_bytes_per_node(host_memory_per_node: Num, cache_memory_share: Num) -> Num:
    """Host memory of a node that can cache the data set."""
    return host_memory_per_node * cache_memory_share


@formula(unit="1", source="definition", high=1)
def cache_hit_reachable(cache_bytes_per_node: Num, nodes: Num, dataset_bytes: Num, copies_cached: Num) -> Num:
    """Share of the data set that the caches of all nodes hold; each sample as often as it is cached.

    >>> round(cache_hit_reachable(512e9, 4, 1.7e12, 4), 3)
    0.301
    """
    return minimum(1, cache_bytes_per_node * nodes / (dataset_bytes * copies_cached))


@formula(unit="B", source="definition")
def stage_bytes(dataset_bytes: Num, copies_staged: Num) -> Num:
    """Bytes copied to local drives: the data set once where the nodes share it, else once for each node."""
    return dataset_bytes * copies_staged


@formula(unit="s", source="definition", label="time to stage the data set")
def stage_seconds(stage_bytes: Num, read_bandwidth_available: Num) -> Num:
    """Time to stage the data set."""
    return stage_bytes / read_bandwidth_available


@formula(unit="s/sample", source="definition", above=False, label="time to read a sample from a local drive")
def local_read_seconds(local_request_seconds: Num, sample_bytes: Num, local_stream_bandwidth: Num) -> Num:
    """Mean time of a worker to read one sample from the drives of its node.

    >>> local_read_seconds(1e-4, 1e6, 2e9)
    0.0006
    """
    return local_request_seconds + sample_bytes / local_stream_bandwidth


@formula(unit="1", source="definition", above=False, label="load of the local drives")
def local_drives_load(unstalled_bandwidth_per_gpu: Num, gpus_per_node: Num, nvme_read_bandwidth_per_node: Num) -> Num:
    """Reads of a node whose GPUs never wait, over the read bandwidth of its drives."""
    return unstalled_bandwidth_per_gpu * gpus_per_node / nvme_read_bandwidth_per_node


@formula(unit="s", source="definition", label="duration of an epoch with its loader")
def fed_epoch_seconds(epoch_seconds: Num, accelerator_utilization: Num) -> Num:
    """Duration of an epoch whose GPUs wait for shared storage."""
    return epoch_seconds / accelerator_utilization


@formula(unit="s", source="definition", label="duration of an epoch with staged data")
def staged_epoch_seconds(epoch_seconds: Num, staged_utilization: Num) -> Num:
    """Duration of an epoch whose data are on the drives of the nodes."""
    return epoch_seconds / staged_utilization


@formula(unit="1", source="definition")
def gain_of_staging(accelerator_utilization: Num, staged_utilization: Num) -> Num:
    """Share by which epochs that read shared storage last longer than those with staged data.

    >>> gain_of_staging(0.5, 1)
    1.0
    """
    return staged_utilization / accelerator_utilization - 1


@formula(unit="1", source="definition", label="epochs from which staging pays")
def staging_break_even_epochs(stage_seconds: Num, staged_epoch_seconds: Num, staging_gain: Num) -> Num:
    """Epochs after which the shorter epochs have made up for the time of staging."""
    return stage_seconds / (staged_epoch_seconds * staging_gain)


@formula(unit="B/s", source="definition")
def staged_read_bandwidth(stage_bytes: Num, stage_seconds: Num, job_epochs: Num, staged_epoch_seconds: Num) -> Num:
    """Mean read bandwidth of a job on shared storage that stages its data and then reads its own drives.

    >>> staged_read_bandwidth(100e9, 1250, 10, 625)
    13333333.3...
    """
    return stage_bytes / (stage_seconds + job_epochs * staged_epoch_seconds)


@formula(unit="B/node", source="definition")
def dataset_share_per_node(dataset_bytes: Num, nodes: Num) -> Num:
    """Bytes of the data set on one node where the nodes share it."""
    return dataset_bytes / nodes


@formula(unit="B/node", source="definition")
def bytes_in_flight_per_node(ingest_bandwidth_per_node: Num, stall_bridged_seconds: Num) -> Num:
    """Stored bytes that a node must have in flight or buffered to bridge a pause of the storage."""
    return ingest_bandwidth_per_node * stall_bridged_seconds


@formula(unit="sample/GPU", source="definition")
def samples_to_prefetch_per_gpu(samples_per_second_per_gpu: Num, stall_bridged_seconds: Num) -> Num:
    """Samples that must be buffered for each GPU to bridge a pause of the storage."""
    return samples_per_second_per_gpu * stall_bridged_seconds


@formula(unit="B/node", source="definition")
def prefetch_bytes_per_node(samples_to_prefetch_per_gpu: Num, decoded_sample_bytes: Num, gpus_per_node: Num) -> Num:
    """Host memory that prefetched, decoded samples occupy."""
    return samples_to_prefetch_per_gpu * decoded_sample_bytes * gpus_per_node
