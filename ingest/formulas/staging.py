"""Staging on local drives, caching, prefetching, bandwidth after a failure, preparation and decoding."""

from ingest.engine.expression import Num, ceil, largest, maximum, minimum, total
from ingest.engine.registry import alternative, formula, input_quantity

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


input_quantity("preparation_passes", "1", "Times that the preparation of a data set reads its origin.", whole=True,
    label="passes over the origin")  # fmt: skip
input_quantity("intermediate_share", "1", "Intermediate files, as a share of the origin: written once and read once.",
    above=False, high=100)  # fmt: skip
input_quantity("preparation_documents", "document", "Documents whose signatures a deduplication keeps.", above=False)
input_quantity("prepared_copies", "1", "Copies of the data set that its preparation writes.", whole=True)
input_quantity("preparation_rate", "B/s", "Bytes of the origin that one core goes through in a second.",
    label="preparation rate of one core")  # fmt: skip
input_quantity("document_rate", "document/s", "Documents that one worker goes through in a second.")
input_quantity("preparation_workers", "1", "Processes that prepared or counted at the same time.", whole=True)
input_quantity("prepared_bytes", "B", "Bytes that were prepared or counted in a measurement.")
input_quantity("prepared_seconds", "s", "Duration of a preparation or of a count.")
input_quantity("dataset_scratch_bytes_held_before", "B", "Scratch space of the preparation of a data set in the year before.",
    above=False)  # fmt: skip


@formula(unit="B/s", source="definition", label="rate of one core")
def rate_of_core(prepared_bytes: Num, prepared_seconds: Num, preparation_workers: Num) -> Num:
    """Bytes that one of several processes went through in a second."""
    return prepared_bytes / prepared_seconds / preparation_workers


@formula(unit="s", source="definition")
def document_pass_seconds(preparation_documents: Num, document_rate: Num, preparation_workers: Num) -> Num:
    """Time of one pass over the documents, where a rate is known in documents."""
    return preparation_documents / document_rate / preparation_workers


@formula(unit="B", source="definition", label="signatures of the documents")
def signature_bytes(preparation_documents: Num, dedup_hashes: Num, dedup_hash_bytes: Num) -> Num:
    """Signatures that a deduplication keeps while it runs."""
    return preparation_documents * dedup_hashes * dedup_hash_bytes


@formula(unit="B", source="definition", label="scratch space of a preparation")
def preparation_scratch_bytes(origin_bytes: Num, intermediate_share: Num, signature_bytes: Num) -> Num:
    """Scratch space that a preparation fills: intermediate files, and signatures for deduplication.

    >>> preparation_scratch_bytes(100e12, 1, 44.8e12) / 1e12
    144.8
    """
    return origin_bytes * intermediate_share + signature_bytes


@formula(unit="B/s", source="definition", label="reads of a preparation in several passes")
def dataset_passes_bandwidth(
    origin_bytes: Num,
    preparation_passes: Num,
    preparation_scratch_bytes: Num,
    origin_growth: Num,
    present: Num,
    preparation_seconds: Num,
) -> Num:
    """Read bandwidth of a preparation: each pass over the origin, and the scratch space once.

    >>> dataset_passes_bandwidth(302.4e12, 2, 0, 1, 1, 604_800)
    1000000000.0
    """
    return (origin_bytes * preparation_passes + preparation_scratch_bytes) * origin_growth * present / preparation_seconds


@formula(unit="B/s", source="definition", label="preparation writes of a data set")
def dataset_preparation_write_bandwidth(
    data_bytes: Num,
    prepared_copies: Num,
    capacity_growth: Num,
    preparation_scratch_bytes: Num,
    origin_growth: Num,
    present: Num,
    preparation_seconds: Num,
) -> Num:
    """Write bandwidth of a preparation: all copies of its result, and the scratch space once.

    >>> dataset_preparation_write_bandwidth(30.24e12, 1, 1, 302.4e12, 1, 1, 604_800)
    550000000.0
    """
    return (
        (data_bytes * prepared_copies * capacity_growth + preparation_scratch_bytes * origin_growth)
        * present
        / preparation_seconds
    )


@formula(unit="B", source="definition", label="scratch space held")
def dataset_scratch_bytes_held(preparation_scratch_bytes: Num, origin_growth: Num, present: Num) -> Num:
    """Scratch space of a preparation in a year."""
    return preparation_scratch_bytes * origin_growth * present


@formula(unit="B", source="definition")
def dataset_scratch_added_per_day(
    dataset_scratch_bytes_held: Num, dataset_scratch_bytes_held_before: Num, seconds_per_day: Num, seconds_per_year: Num
) -> Num:
    """Scratch space that the first preparation of a data set and that of its growth write, spread evenly over the year.

    >>> dataset_scratch_added_per_day(1_461e9, 0, 86_400, 31_557_600)
    4000000000.0
    """
    return maximum(dataset_scratch_bytes_held - dataset_scratch_bytes_held_before, 0) * seconds_per_day / seconds_per_year


@formula(unit="B", source="definition")
def dataset_scratch_written_per_day(dataset_scratch_bytes_held: Num, seconds_per_day: Num, refresh_seconds: Num) -> Num:
    """Scratch space that the preparation of new versions of a data set writes in a day."""
    return dataset_scratch_bytes_held * seconds_per_day / refresh_seconds


@formula(unit="1", source="definition", label="cores of a preparation", whole=True)
def preparation_cores(origin_bytes: Num, preparation_passes: Num, preparation_rate: Num, preparation_seconds: Num) -> Num:
    """Cores that prepare a data set in the time allowed, at the start of the plan.

    >>> preparation_cores(1.5e12, 1, 1.05e6, 29_940)
    48
    """
    return ceil(origin_bytes * preparation_passes / preparation_rate / preparation_seconds)


@formula(unit="1", source="definition", label="core-hours of a preparation")
def preparation_core_hours(origin_bytes: Num, preparation_passes: Num, preparation_rate: Num, seconds_per_hour: Num) -> Num:
    """Core-hours that the preparation of a data set takes, at the start of the plan."""
    return origin_bytes * preparation_passes / preparation_rate / seconds_per_hour


@formula(unit="B/s", source="definition", label="preparation writes of a year")
def year_preparation_write_bandwidth(dataset_preparation_write_bandwidth_of_datasets: Num) -> Num:
    """Write bandwidth of one year that makes data sets from their origins."""
    return total(dataset_preparation_write_bandwidth_of_datasets)


@formula(unit="B/s", source="definition", label="preparation write bandwidth")
def site_preparation_write_bandwidth(year_preparation_write_bandwidth_of_years: Num, performance_headroom: Num) -> Num:
    """Write bandwidth that makes data sets from their origins in the most demanding year.

    >>> site_preparation_write_bandwidth([0.5e9, 1e9], 0)
    1000000000.0
    """
    return largest(year_preparation_write_bandwidth_of_years) * (1 + performance_headroom)


@formula(unit="B", source="definition", label="data held with scratch space")
def year_bytes_with_scratch(
    dataset_bytes_held_of_datasets: Num, job_checkpoint_bytes_held_of_jobs: Num, dataset_scratch_bytes_held_of_datasets: Num
) -> Num:
    """Data held in one year while data sets are prepared: data sets, retained checkpoints and scratch space.

    >>> year_bytes_with_scratch([1e12, 2e12], [5e12], [1e12])
    9000000000000.0
    """
    return (
        total(dataset_bytes_held_of_datasets)
        + total(job_checkpoint_bytes_held_of_jobs)
        + total(dataset_scratch_bytes_held_of_datasets)
    )


@formula(unit="B", source="definition", label="writes per day with scratch space")
def year_writes_with_scratch(
    job_checkpoint_bytes_per_day_of_jobs: Num,
    dataset_bytes_written_per_day_of_datasets: Num,
    dataset_bytes_added_per_day_of_datasets: Num,
    dataset_scratch_added_per_day_of_datasets: Num,
    dataset_scratch_written_per_day_of_datasets: Num,
) -> Num:
    """Bytes per day that clients write in one year in which data sets are prepared, scratch space included.

    >>> year_writes_with_scratch([500e12], [1e12], [2e12], [4e12], [3e12])
    510000000000000.0
    """
    return (
        total(job_checkpoint_bytes_per_day_of_jobs)
        + total(dataset_bytes_written_per_day_of_datasets)
        + total(dataset_bytes_added_per_day_of_datasets)
        + total(dataset_scratch_added_per_day_of_datasets)
        + total(dataset_scratch_written_per_day_of_datasets)
    )


input_quantity("decode_samples_per_second_per_core", "sample/s", "Samples that one CPU core decodes each second.")
alternative("decode_samples_per_second_per_core", "decoded_per_core", when="time_of_decoding_known")
alternative("decode_samples_per_second_per_core", "decode_rate_of_images", when="several_images")
alternative("decode_samples_per_second_per_core", "decode_rate_in_loader", when="one_image")
alternative("decode_samples_per_second_per_core", "decode_rate_in_loader", when="path_judged", optional=True)
input_quantity("thread_decode_rate", "sample/s", "Samples that one thread alone decodes each second.",
    label="decoding rate of one thread")  # fmt: skip
input_quantity("decode_scaling", "1", "Rate of each worker in a loader with several workers, over that of one thread alone.",
    high=1, label="share of the single-thread rate in a loader")  # fmt: skip
input_quantity("decode_workers", "1", "Workers that decode side by side.", whole=True)
input_quantity("gpu_decode_rate", "sample/s/GPU", "Samples that one GPU decodes each second while it trains.",
    label="decoding rate of the GPU")  # fmt: skip
input_quantity("single_sample", "sample", "One sample.", low=1, high=1, above=False, default=1)


@formula(unit="1/node", source="definition")
def decode_cores_per_node(samples_per_second_per_gpu: Num, gpus_per_node: Num, decode_samples_per_second_per_core: Num) -> Num:
    """CPU cores that decode the samples of the GPUs of one node."""
    return samples_per_second_per_gpu * gpus_per_node / decode_samples_per_second_per_core


@formula(unit="sample/s", source="imread-benchmark", where="one thread and the DataLoader's peak")
def decode_rate_in_loader(thread_decode_rate: Num, decode_scaling: Num) -> Num:
    """Samples that each worker of a full loader decodes: less than one thread alone, which has caches and clocks for itself."""
    return thread_decode_rate * decode_scaling


@formula(unit="1", source="imread-benchmark", where="the DataLoader's peak and one thread", high=1)
def decode_share_of_worker(loader_decode_rate: Num, decode_workers: Num, thread_decode_rate: Num) -> Num:
    """Share of the rate of one thread alone that each worker of a full loader keeps."""
    return loader_decode_rate / decode_workers / thread_decode_rate


@formula(unit="sample/s", source="definition")
def loader_decode_rate(decode_rate_in_loader: Num, decode_workers: Num) -> Num:
    """Samples that the workers of a loader decode each second."""
    return decode_rate_in_loader * decode_workers


@formula(unit="sample/s", source="definition")
def decode_rate_of_images(decode_rate_in_loader: Num, images_per_sample: Num, single_sample: Num) -> Num:
    """Samples of several images that each worker of a full loader decodes."""
    return decode_rate_in_loader / (images_per_sample * single_sample)


@formula(unit="1", source="definition", label="load of the GPU's decoder", above=False)
def gpu_decode_load(unstalled_samples_per_second_per_gpu: Num, gpu_decode_rate: Num) -> Num:
    """Samples that a GPU trains on without waiting, over those that it decodes."""
    return unstalled_samples_per_second_per_gpu / gpu_decode_rate


alternative("gpu_decode_load", "gpu_decode_load_of_images", when="several_images")


@formula(unit="1", source="definition", above=False)
def gpu_decode_load_of_images(
    unstalled_samples_per_second_per_gpu: Num, images_per_sample: Num, single_sample: Num, gpu_decode_rate: Num
) -> Num:
    """Images that a GPU trains on without waiting, over those that it decodes."""
    return unstalled_samples_per_second_per_gpu * images_per_sample * single_sample / gpu_decode_rate
