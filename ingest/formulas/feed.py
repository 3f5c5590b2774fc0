"""From storage to the step of a GPU: loaders, readers, caches, shuffling, the host link, samples of several parts."""

from ingest.engine.expression import Num, ceil, floor, log, maximum, minimum, where
from ingest.engine.registry import alternative, formula, input_quantity

# The loader
input_quantity("loader_workers", "1/GPU", "Worker processes that load for one GPU.", whole=True, high=4096,
    label="workers per GPU")  # fmt: skip
input_quantity("loader_prefetch", "1", "Batches that a loader requests ahead for each worker.", whole=True, high=4096,
    label="prefetched batches per worker")  # fmt: skip
input_quantity("sample_read_seconds", "s/sample", "Mean time to open and read one sample from storage.", above=False,
    label="latency of a sample")  # fmt: skip
alternative("sample_read_seconds", "scaled_read_seconds", "read_seconds_in_order", when="latency_not_given", optional=True)
input_quantity("observed_read_seconds", "s/sample", "Latency of a sample at which the loader of an observed job waits as long "
    "as was observed.", above=False, label="observed latency of a sample")  # fmt: skip
input_quantity("latency_factor", "1", "Latency of other storage over that of the observed job.", default=1,
    label="latency over the observed one")  # fmt: skip
input_quantity("sample_read_variation", "1", "Standard deviation of the latency of a sample over its mean.", above=False,
    high=10, label="variation of the latency")  # fmt: skip
input_quantity("file_open_seconds", "s/file", "Time from opening a file to its first bytes.", above=False,
    label="time to open a file")  # fmt: skip
input_quantity("stream_bandwidth", "B/s", "Read bandwidth of one worker that reads a file in order.",
    label="read bandwidth of one stream")  # fmt: skip
input_quantity("handover_seconds", "s", "Time in which the training process receives a batch from a worker.",
    label="hand-over of a batch")  # fmt: skip
input_quantity("feed_read_bandwidth", "B/s", "Read bandwidth that storage gives to the job.", label="read bandwidth given")
input_quantity("cores_per_node", "1/node", "CPU cores of one node that decode.", label="cores per node")
input_quantity("usual_step_flops", "FLOP/GPU", "Operations of one GPU in a step whose batch is not given.",
    label="operations of a usual step")  # fmt: skip
input_quantity("simulated_steps", "1", "Steps of a simulated training run.", whole=True, high=1e5, label="simulated steps")

# What would lift the utilization to the accepted one, each alone
input_quantity("sufficient_workers", "1/GPU", "Fewest workers per GPU that reach the accepted utilization.",
    label="workers per GPU that suffice")  # fmt: skip
input_quantity("sufficient_prefetch", "1", "Fewest batches per worker that reach the accepted utilization.",
    label="prefetched batches per worker that suffice")  # fmt: skip
input_quantity("sufficient_latency", "s/sample", "Longest latency that keeps the accepted utilization.",
    label="latency of a sample that suffices")  # fmt: skip

input_quantity(
    "accelerator_utilization_p10",
    "1",
    "Utilization that one simulated run in ten falls below.",
    high=1,
    label="utilization at P10",
)
input_quantity(
    "accelerator_utilization_p90", "1", "Utilization that one simulated run in ten exceeds.", high=1, label="utilization at P90"
)

# Who reads what
input_quantity("dataset_shards", "1", "Shards of a streamed data set.", whole=True)
input_quantity("gpus_per_loader", "1", "GPUs that work on the batches of one loader.", whole=True, default=1,
    label="GPUs per loader")  # fmt: skip
alternative("gpus_per_loader", "gpus_of_replica", when="read_by_stages")
input_quantity("readers", "1", "Processes that read the data set of the job.")
alternative("readers", "readers_of_workers", when="read_by_workers")
alternative("readers", "readers_of_stages", when="read_by_stages")
input_quantity("readers_of_busiest_node", "1/node", "Processes that read the data set on the node with the most of them.")
alternative("readers_of_busiest_node", "readers_of_every_node", when="read_by_workers")
alternative("readers_of_busiest_node", "readers_of_stage_node", when="read_by_stages")
input_quantity("read_amplification", "1", "Times that each sample is read in one epoch.", low=1, above=False)
alternative("read_amplification", "amplification_of_stages", when="read_by_stages")
alternative("read_amplification", "amplification_of_copies", when="whole_read_by_each")
alternative("read_amplification", "amplification_of_shards", when="shards_parted")
input_quantity("later_hit_share", "1", "Share of the reads of later epochs that the cache serves.", above=False, high=1,
    label="cache hits of later epochs")  # fmt: skip
alternative("later_hit_share", "lru_hit_share", when="cache_of_recent_reads")
alternative("later_hit_share", "cached_share", when="cache_pinned")
alternative("later_hit_share", "cached_share", when="cache_partitioned")
input_quantity("job_epochs", "1", "Epochs of the job.", low=1, above=False, label="epochs")


@formula(unit="1", source="megatron-lm", where="GPUs of one replica: tensor × pipeline × context")
def gpus_of_replica(tensor_parallel: Num, pipeline_parallel: Num, context_parallel: Num, single_gpu: Num) -> Num:
    """GPUs that one reading rank feeds, where tensor, pipeline and context ranks work on one batch."""
    return tensor_parallel * pipeline_parallel * context_parallel / single_gpu


@formula(unit="s/sample", source="definition", above=False)
def read_seconds_in_order(file_open_seconds: Num, samples_per_file: Num, sample_bytes: Num, stream_bandwidth: Num) -> Num:
    """Mean time to read one sample of files that are read in order: its share of the open, and its bytes.

    >>> read_seconds_in_order(0.005, 1, 146_600_628, 1e9), read_seconds_in_order(0.005, 1251, 114_660, 1e9)
    (0.1516..., 0.000118...)
    """
    return file_open_seconds / samples_per_file + sample_bytes / stream_bandwidth


@formula(unit="s/sample", source="definition", above=False)
def scaled_read_seconds(observed_read_seconds: Num, latency_factor: Num) -> Num:
    """Mean time to read one sample from storage that is slower or faster than the observed one by a factor."""
    return observed_read_seconds * latency_factor


@formula(unit="sample/s/GPU", source="definition", label="samples per second with its loader")
def fed_samples_per_second_per_gpu(unstalled_samples_per_second_per_gpu: Num, accelerator_utilization: Num) -> Num:
    """Samples per second of one GPU that waits for its loader."""
    return unstalled_samples_per_second_per_gpu * accelerator_utilization


@formula(unit="sample/GPU", source="definition", label="usual batch")
def usual_samples_per_step(usual_step_flops: Num, flops_per_sample: Num, gpus_per_loader: Num) -> Num:
    """Batch whose step takes a given number of operations; it follows the model, and not the speed of the GPU.

    >>> usual_samples_per_step(1e13, 31e9, 1), usual_samples_per_step(1e13, 2.07e16, 128)
    (323, 1)
    """
    return ceil(usual_step_flops * gpus_per_loader / flops_per_sample)


@formula(unit="s", source="definition", label="computation of one step")
def step_computation_seconds(samples_per_step: Num, unstalled_samples_per_second_per_gpu: Num, gpus_per_loader: Num) -> Num:
    """Time in which the GPUs that one loader feeds compute on one batch."""
    return samples_per_step / (unstalled_samples_per_second_per_gpu * gpus_per_loader)


@formula(unit="s/sample", source="definition", above=False, label="decoding time of a sample")
def sample_decode_seconds(decode_samples_per_second_per_core: Num) -> Num:
    """Time of one core to decode and augment one sample."""
    return 1 / decode_samples_per_second_per_core


@formula(unit="sample/s", source="definition")
def decoded_per_core(sample_decode_seconds: Num) -> Num:
    """Samples that one core decodes each second."""
    return 1 / sample_decode_seconds


@formula(unit="1", source="little1961", label="load of the workers", above=False)
def workers_load(
    unstalled_samples_per_second_per_gpu: Num,
    sample_read_seconds: Num,
    cache_hit_fraction: Num,
    sample_decode_seconds: Num,
    gpus_per_loader: Num,
    loader_workers: Num,
) -> Num:
    """Time to load the samples of a second over the time of the workers, each of which loads one sample after the other.

    >>> round(workers_load(400, 0.02, 0, 0.004, 1, 8), 3)
    1.2
    """
    return (
        unstalled_samples_per_second_per_gpu
        * gpus_per_loader
        * (sample_read_seconds * (1 - cache_hit_fraction) + sample_decode_seconds)
        / loader_workers
    )


@formula(unit="1", source="definition", label="load of the storage", above=False)
def storage_load(amplified_read_bandwidth: Num, feed_read_bandwidth: Num) -> Num:
    """Reads of GPUs that never wait over the bandwidth that storage gives to the job."""
    return amplified_read_bandwidth / feed_read_bandwidth


@formula(unit="1", source="definition", label="load of the cores", above=False)
def cores_load(
    unstalled_samples_per_second_per_gpu: Num, gpus_per_node: Num, sample_decode_seconds: Num, cores_per_node: Num
) -> Num:
    """Cores that decode for GPUs that never wait over the cores of the node."""
    return unstalled_samples_per_second_per_gpu * gpus_per_node * sample_decode_seconds / cores_per_node


@formula(unit="1", source="definition", high=1, label="utilization by mean rates")
def accelerator_utilization_fluid(workers_load: Num, shared_load: Num) -> Num:
    """Share of the time in which a GPU computes, by mean rates: as if samples flowed and no latency varied.

    >>> accelerator_utilization_fluid(1.25, 0.8), accelerator_utilization_fluid(0.9, 0.8)
    (0.8, 1.0)
    """
    return 1 / maximum(maximum(1, workers_load), shared_load)


@formula(unit="s/sample", source="definition", where="99th percentile of a lognormal distribution",
    label="latency of 99 in 100 samples that suffices", above=False)  # fmt: skip
def sufficient_latency_p99(sufficient_latency: Num, sample_read_variation: Num) -> Num:
    """Latency that 99 of 100 samples may reach, at the mean and the variation that keep the accepted utilization.

    >>> round(sufficient_latency_p99(0.01, 1), 4), sufficient_latency_p99(0.01, 0)
    (0.0491, 0.01)
    """
    return (
        sufficient_latency
        / (1 + sample_read_variation**2) ** 0.5
        * 2.718281828459045 ** (2.3263478740408408 * log(1 + sample_read_variation**2) ** 0.5)
    )


@formula(unit="1/node", source="little1961", label="reads in flight per node", above=False)
def reads_in_flight_per_node(
    unstalled_samples_per_second_per_gpu: Num, gpus_per_node: Num, sample_read_seconds: Num, cache_hit_fraction: Num
) -> Num:
    """Samples of a node that are being read at a time, where its GPUs never wait: Little's law.

    >>> reads_in_flight_per_node(2850, 8, 0.004, 0)
    91.2
    """
    return unstalled_samples_per_second_per_gpu * gpus_per_node * sample_read_seconds * (1 - cache_hit_fraction)


@formula(unit="1", source="definition", above=False)
def shared_load(storage_load: Num, cores_load: Num, host_link_load: Num, gpu_decode_load: Num) -> Num:
    """Load of the busiest of storage, cores, host link and the decoder of the GPU, which all workers share.

    >>> shared_load(0.8, 0.3, 0, 0.5)
    0.8
    """
    return maximum(maximum(storage_load, cores_load), maximum(host_link_load, gpu_decode_load))


@formula(unit="s", source="definition", label="time of a batch at the bandwidth", above=False)
def shared_seconds_per_step(step_computation_seconds: Num, shared_load: Num) -> Num:
    """Time between two batches of a GPU that storage, cores, host link and its decoder deliver at their full rate."""
    return step_computation_seconds * shared_load


@formula(unit="1", source="megatron-lm", where="GPUs ÷ (tensor × pipeline × context)")
def data_parallel_replicas(gpus: Num, tensor_parallel: Num, pipeline_parallel: Num, context_parallel: Num) -> Num:
    """Replicas of the model, which read different samples; experts divide the ranks, not the data."""
    return gpus / (tensor_parallel * pipeline_parallel * context_parallel)


@formula(unit="1", source="megatron-lm", where="DeepSpeed issue 4255: the first and the last stage read")
def reading_stages(pipeline_parallel: Num) -> Num:
    """Pipeline stages that read the data: the first, and the last one for its labels.

    >>> reading_stages(1), reading_stages(16)
    (1, 2)
    """
    return minimum(pipeline_parallel, 2)


@formula(unit="1", source="megatron-lm", where="issue 441: rank 0 of each tensor group builds the data sets")
def readers_of_stages(data_parallel_replicas: Num, context_parallel: Num, reading_stages: Num) -> Num:
    """Ranks that read where tensor rank 0 of the first and of the last pipeline stage reads."""
    return data_parallel_replicas * context_parallel * reading_stages


@formula(unit="1", source="megatron-lm", where="issue 441; DeepSpeed issue 4255: first and last stage")
def amplification_of_stages(context_parallel: Num, reading_stages: Num) -> Num:
    """Times that a sample is read where each context rank and both end stages read it."""
    return context_parallel * reading_stages


@formula(unit="1", source="definition", label="processes that read", whole=True)
def readers_of_workers(gpus: Num, loader_workers: Num) -> Num:
    """Processes that read where each GPU has workers of its own."""
    return gpus * loader_workers


@formula(unit="1", source="pytorch", where="torch.utils.data.IterableDataset: each worker has a copy of the data set")
def amplification_of_copies(readers_of_workers: Num) -> Num:
    """Times that a sample is read where every worker of every rank iterates over the whole data set."""
    return readers_of_workers


@formula(unit="1", source="hf-datasets", where="split_dataset_by_node; issue 6623: 1 shard on 2 nodes is read twice")
def amplification_of_shards(dataset_shards: Num, gpus: Num, single_gpu: Num) -> Num:
    """Times that a streamed sample is read: once where the ranks divide the number of shards, else once by every rank.

    >>> amplification_of_shards(64, 8, 1), amplification_of_shards(1, 2, 1)
    (1, 2.0)
    """
    return where(floor(dataset_shards / (gpus / single_gpu)) * (gpus / single_gpu) >= dataset_shards, 1, gpus / single_gpu)


@formula(unit="B/s", source="definition", label="read bandwidth of the job with repeated reads")
def amplified_read_bandwidth(ingest_bandwidth_per_job: Num, read_amplification: Num) -> Num:
    """Read bandwidth of the job, each sample as often as it is read."""
    return ingest_bandwidth_per_job * read_amplification


@formula(unit="B/s", source="definition", label="read bandwidth of one reader")
def read_bandwidth_per_reader(amplified_read_bandwidth: Num, readers: Num) -> Num:
    """Read bandwidth of one process that reads the data set."""
    return amplified_read_bandwidth / readers


@formula(unit="sample/s", source="definition", label="samples read per second by one reader")
def samples_per_second_per_reader(samples_per_second_per_job: Num, read_amplification: Num, readers: Num) -> Num:
    """Samples that one process reads each second: its requests, where a sample is read with one."""
    return samples_per_second_per_job * read_amplification / readers


@formula(unit="1/node", source="megatron-lm", where="tensor ranks are neighbours: a node holds GPUs ÷ tensor groups")
def readers_of_stage_node(gpus_per_node: Num, tensor_parallel: Num, single_node: Num) -> Num:
    """Readers on a node of the first or the last pipeline stage: one per tensor group that it holds, at least one.

    >>> readers_of_stage_node(8, 8, 1), readers_of_stage_node(8, 2, 1), readers_of_stage_node(4, 8, 1)
    (1.0, 4.0, 1.0)
    """
    return maximum(gpus_per_node / tensor_parallel, 1 / single_node)


@formula(unit="1/node", source="definition")
def readers_of_every_node(gpus_per_node: Num, loader_workers: Num) -> Num:
    """Readers on a node whose GPUs all have workers."""
    return gpus_per_node * loader_workers


@formula(unit="B/s/node", source="definition", label="read bandwidth of the node that reads most")
def read_bandwidth_of_busiest_node(read_bandwidth_per_reader: Num, readers_of_busiest_node: Num) -> Num:
    """Read bandwidth of the node with the most readers."""
    return read_bandwidth_per_reader * readers_of_busiest_node


@formula(unit="B/s/node", source="definition", label="traffic between nodes for a partitioned cache")
def partitioned_cache_bandwidth_per_node(
    unstalled_bandwidth_per_gpu: Num, gpus_per_node: Num, later_hit_share: Num, nodes: Num, single_node: Num
) -> Num:
    """Data that a node receives from the caches of the others, and sends to them, in later epochs.

    >>> partitioned_cache_bandwidth_per_node(0.8e9, 8, 1, 4, 1)
    4800000000.0
    """
    return unstalled_bandwidth_per_gpu * gpus_per_node * later_hit_share * (1 - single_node / nodes)


@formula(unit="1", source="ingest-cache-model", where="hits of LRU under fresh permutations: h = c + (1 − c)·ln(1 − c)", high=1)
def lru_hit_share(lru_miss_share: Num) -> Num:
    """Share of reads of a later epoch that an LRU cache serves, where each epoch has a permutation of its own."""
    return 1 - lru_miss_share


@formula(unit="1", source="definition", low=0, above=False, high=1, label="mean share of storage reads over the epochs")
def epochs_storage_share(job_epochs: Num, later_hit_share: Num) -> Num:
    """Share of all reads of a job that storage serves: the whole first epoch, and the misses of the others.

    >>> epochs_storage_share(90, 1), epochs_storage_share(2, 0.5)
    (0.0111111111111111..., 0.75)
    """
    return (1 + (job_epochs - 1) * (1 - later_hit_share)) / job_epochs


@formula(unit="B/s", source="definition", label="mean read bandwidth over all epochs")
def epochs_read_bandwidth(amplified_read_bandwidth: Num, epochs_storage_share: Num) -> Num:
    """Mean read bandwidth of a job over all its epochs with a cache; the first epoch, with nothing cached, is the peak."""
    return amplified_read_bandwidth * epochs_storage_share


# Batches that wait
input_quantity(
    "prefetched_sample_bytes", "B/sample", "Bytes of one sample that a worker has loaded, decoded where that is known."
)
alternative("prefetched_sample_bytes", "decoded_sample_bytes", "sample_bytes", when="decoded_by_cores", optional=True)
alternative("prefetched_sample_bytes", "sample_bytes", when="decoded_by_gpu", optional=True)

# Shuffling
input_quantity("shuffle_samples", "sample", "Samples of a shuffle buffer, or of a shuffled block.", whole=True)
input_quantity("canonical_nodes", "1", "Canonical nodes over which MosaicML Streaming distributes its shards.", whole=True)
input_quantity("single_file", "file", "One file.", whole=True, default=1)
input_quantity("interleaved_shards", "1", "Shards that one reader interleaves.", whole=True, default=1)

# Samples of several parts
input_quantity("images_per_sample", "1/sample", "Images in one sample.", above=False)
input_quantity("image_bytes", "B", "Stored bytes of one image.", above=False)
input_quantity("image_tokens", "token", "Tokens that one image takes in the sequence.", above=False)
input_quantity("audio_seconds_per_sample", "s/sample", "Seconds of audio in one sample.", above=False, default=0)
input_quantity("audio_bytes_per_second", "B/s", "Stored bytes of a second of audio.", above=False, default=0)


@formula(unit="1", source="definition", above=False)
def stored_link_load(unstalled_bandwidth_per_gpu: Num, host_link_bandwidth_per_gpu: Num) -> Num:
    """Stored data over the bandwidth of the link into the GPU, where the GPU decodes."""
    return unstalled_bandwidth_per_gpu / host_link_bandwidth_per_gpu


@formula(unit="B/s/GPU", source="definition", label="decoded data per GPU")
def decoded_bandwidth_per_gpu(unstalled_samples_per_second_per_gpu: Num, decoded_sample_bytes: Num) -> Num:
    """Decoded data that the host hands to one GPU that never waits."""
    return unstalled_samples_per_second_per_gpu * decoded_sample_bytes


@formula(unit="B/s/node", source="definition", label="decoded data per node")
def decoded_bandwidth_per_node(decoded_bandwidth_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Decoded data that the host hands to the GPUs of one node."""
    return decoded_bandwidth_per_gpu * gpus_per_node


@formula(unit="1", source="definition", label="load of the host link", above=False)
def host_link_load(decoded_bandwidth_per_gpu: Num, host_link_bandwidth_per_gpu: Num) -> Num:
    """Decoded data over the bandwidth of the link into the GPU."""
    return decoded_bandwidth_per_gpu / host_link_bandwidth_per_gpu


alternative("host_link_load", "stored_link_load", when="decoded_by_gpu", optional=True)


@formula(unit="B/node", source="pytorch", where="torch.utils.data.DataLoader: workers × prefetch_factor batches outstanding",
    label="memory of the prefetched batches")  # fmt: skip
def prefetched_bytes_per_node(
    prefetched_sample_bytes: Num,
    samples_per_step: Num,
    loader_prefetch: Num,
    loader_workers: Num,
    gpus_per_node: Num,
    gpus_per_loader: Num,
    single_gpu: Num,
) -> Num:
    """Host memory of the batches that the loaders of a node hold while its GPUs compute."""
    return (
        prefetched_sample_bytes
        * samples_per_step
        * loader_prefetch
        * loader_workers
        * gpus_per_node
        / gpus_per_loader
        * single_gpu
    )


@formula(unit="B/node", source="definition", label="memory of the shuffle buffers")
def shuffle_bytes_per_node(shuffle_samples: Num, sample_bytes: Num, loader_workers: Num, gpus_per_node: Num) -> Num:
    """Host memory of the shuffle buffers of a node: each worker has one of its own."""
    return shuffle_samples * sample_bytes * loader_workers * gpus_per_node


@formula(unit="B", source="definition", label="bytes of one block")
def shuffle_block_bytes(shuffle_samples: Num, sample_bytes: Num) -> Num:
    """Bytes that are read in one run before they are shuffled."""
    return shuffle_samples * sample_bytes


@formula(unit="1", source="definition", high=1, label="mixing score")
def mixing_score(shuffle_samples: Num, samples_per_file: Num, interleaved_shards: Num, single_file: Num) -> Num:
    """Samples of a buffer over those of the shards that it mixes: below 1, neighbours in a shard stay near each other.

    No figure of the accuracy that this costs is published, and none follows from it.

    >>> mixing_score(1000, 1251, 10, 1), mixing_score(20_000, 1251, 10, 1)
    (0.07993605115907274, 1)
    """
    return minimum(1, shuffle_samples / (samples_per_file * interleaved_shards * single_file))


@formula(unit="1", source="mosaicml-streaming", where="shuffle_block_size: the larger of 4,000,000 ÷ canonical nodes and 2^18")
def mosaic_block_samples(canonical_nodes: Num) -> Num:
    """Samples of a shuffled block as MosaicML Streaming sets it.

    >>> mosaic_block_samples(8), mosaic_block_samples(128)
    (500000.0, 262144)
    """
    return maximum(4_000_000 / canonical_nodes, 262_144)


@formula(unit="token/sample", source="mm1-2024", where="images × tokens of an image")
def image_tokens_per_sample(images_per_sample: Num, image_tokens: Num) -> Num:
    """Tokens of a sequence that its images take."""
    return images_per_sample * image_tokens


@formula(unit="B/sample", source="definition")
def text_bytes_of_sample(tokens_per_sample: Num, image_tokens_per_sample: Num, bytes_per_token: Num) -> Num:
    """Stored text of a sample: the tokens that images leave.

    >>> text_bytes_of_sample(4096, 2304, 4)
    7168
    """
    return maximum(0, tokens_per_sample - image_tokens_per_sample) * bytes_per_token


@formula(unit="B/sample", source="definition")
def image_bytes_of_sample(images_per_sample: Num, image_bytes: Num) -> Num:
    """Stored images of a sample."""
    return images_per_sample * image_bytes


@formula(unit="B/sample", source="definition", label="sample of several parts")
def sample_bytes_of_parts(
    text_bytes_of_sample: Num, image_bytes_of_sample: Num, audio_seconds_per_sample: Num, audio_bytes_per_second: Num
) -> Num:
    """Stored bytes of a sample of text, images and audio.

    >>> sample_bytes_of_parts(7168, 1.6e6, 0, 0)
    1607168.0
    """
    return text_bytes_of_sample + image_bytes_of_sample + audio_seconds_per_sample * audio_bytes_per_second


@formula(unit="1", source="definition")
def images_over_text(image_bytes_of_sample: Num, text_bytes_of_sample: Num) -> Num:
    """Stored images of a sample over its text."""
    return image_bytes_of_sample / text_bytes_of_sample
