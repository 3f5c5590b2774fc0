"""From storage to the step of a GPU: loaders, readers, caches, shuffling, the host link, samples of several parts."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)


computed_quantity("gpus_of_replica", "tensor_parallel * pipeline_parallel * context_parallel / single_gpu", "1",
    "GPUs that one reading rank feeds, where tensor, pipeline and context ranks work on one batch.", source="megatron-lm",
    where="GPUs of one replica: tensor × pipeline × context", of="gpus_per_loader", when="read_by_stages")  # fmt: skip
computed_quantity("read_seconds_in_order", "file_open_seconds / samples_per_file + sample_bytes / stream_bandwidth", "s/sample",
    "Mean time to read one sample of files that are read in order: its share of the open, and its bytes.",
    above=False,
    example="read_seconds_in_order(0.005, 1, 146_600_628, 1e9), read_seconds_in_order(0.005, 1251, 114_660, 1e9)"
        " -> (0.1516..., 0.000118...)")  # fmt: skip
computed_quantity("scaled_read_seconds", "observed_read_seconds * latency_factor", "s/sample",
    "Mean time to read one sample from storage that is slower or faster than the observed one by a factor.",
    above=False)  # fmt: skip
computed_quantity("fed_samples_per_second_per_gpu",
    "unstalled_samples_per_second_per_gpu * accelerator_utilization", "sample/s/GPU",
    "Samples per second of one GPU that waits for its loader.", label="samples per second with its loader")  # fmt: skip
computed_quantity("fed_tokens_per_second_per_gpu", "fed_samples_per_second_per_gpu * tokens_per_sample", "token/s/GPU",
    "Tokens per second of one GPU that waits for its loader.", label="tokens per second with its loader")  # fmt: skip
computed_quantity("usual_samples_per_step",
    "ceil(usual_step_flops * gpus_per_loader / (flops_per_sample * samples_per_read)) * samples_per_read", "sample/GPU",
    "Batch whose step takes a given number of operations, in whole reads; it follows the model, and not the speed of the GPU.",
    label="usual batch", needs="usual_step_flops flops_per_sample gpus_per_loader samples_per_read",
    example="usual_samples_per_step(1e13, 31e9, 1, 1), usual_samples_per_step(1e13, 4e11, 1, 8192) -> (323, 8192)")  # fmt: skip
computed_quantity("step_computation_seconds",
    "samples_per_step / (unstalled_samples_per_second_per_gpu * gpus_per_loader)", "s",
    "Time in which the GPUs that one loader feeds compute on one batch.", label="computation of one step")  # fmt: skip
computed_quantity("sample_decode_seconds", "1 / decode_samples_per_second_per_core", "s/sample",
    "Time of one core to decode and augment one sample.", label="decoding time of a sample", above=False)  # fmt: skip
computed_quantity("decoded_per_core", "1 / sample_decode_seconds", "sample/s", "Samples that one core decodes each second.")
computed_quantity("workers_load",
    "unstalled_samples_per_second_per_gpu * gpus_per_loader"
    " * (sample_read_seconds * (1 - cache_hit_fraction) + sample_decode_seconds) / loader_workers", "1",
    "Time to load the samples of a second over the time of the workers, each of which loads one sample after the other.",
    needs="unstalled_samples_per_second_per_gpu sample_read_seconds cache_hit_fraction sample_decode_seconds gpus_per_loader "
    "loader_workers", source="little1961", label="load of the workers", above=False,
    example="round(workers_load(400, 0.02, 0, 0.004, 1, 8), 3) -> 1.2")  # fmt: skip
computed_quantity("storage_load", "amplified_read_bandwidth / feed_read_bandwidth", "1",
    "Reads of GPUs that never wait over the bandwidth that storage gives to the job.", label="load of the storage",
    above=False)  # fmt: skip
computed_quantity("gpus_of_bandwidth", "floor(gpus / storage_load)", "GPU",
    "GPUs of the job that the read bandwidth given feeds without waits, at the rate per GPU of the whole job.",
    label="GPUs that the read bandwidth feeds", example="gpus_of_bandwidth(128, 1.303) -> 98")  # fmt: skip
computed_quantity("cores_load",
    "unstalled_samples_per_second_per_gpu * gpus_per_node * sample_decode_seconds / cores_per_node", "1",
    "Cores that decode for GPUs that never wait over the cores of the node.", label="load of the cores",
    above=False)  # fmt: skip
computed_quantity("accelerator_utilization_fluid", "1 / maximum(maximum(1, workers_load), shared_load)", "1",
    "Share of the time in which a GPU computes, by mean rates: as if samples flowed and no latency varied.",
    label="utilization by mean rates", high=1,
    example="accelerator_utilization_fluid(1.25, 0.8), accelerator_utilization_fluid(0.9, 0.8) -> (0.8, 1.0)")  # fmt: skip
computed_quantity("sufficient_latency_p99",
    "sufficient_latency / (1 + sample_read_variation**2) ** 0.5"
    " * 2.718281828459045 ** (2.3263478740408408 * log(1 + sample_read_variation**2) ** 0.5)", "s/sample",
    "Latency that 99 of 100 samples may reach, at the mean and the variation that keep the accepted utilization.",
    where="99th percentile of a lognormal distribution", label="latency of 99 in 100 reads that suffices", above=False,
    example="round(sufficient_latency_p99(0.01, 1), 4), sufficient_latency_p99(0.01, 0) -> (0.0491, 0.01)")  # fmt: skip
computed_quantity("reads_in_flight_per_node",
    "unstalled_samples_per_second_per_gpu * gpus_per_node * sample_read_seconds * (1 - cache_hit_fraction)", "1/node",
    "Samples of a node that are being read at a time, where its GPUs never wait: Little's law.", source="little1961",
    label="reads in flight per node", above=False, example="reads_in_flight_per_node(2850, 8, 0.004, 0) -> 91.2")  # fmt: skip
computed_quantity("shared_load", "maximum(maximum(storage_load, cores_load), maximum(host_link_load, gpu_decode_load))", "1",
    "Load of the busiest of storage, cores, host link and the decoder of the GPU, which all workers share.", above=False,
    example="shared_load(0.8, 0.3, 0, 0.5) -> 0.8")  # fmt: skip
computed_quantity("shared_seconds_per_step", "step_computation_seconds * shared_load", "s",
    "Time between two batches of a GPU that storage, cores, host link and its decoder deliver at their full rate.",
    label="time of a batch at the bandwidth", above=False)  # fmt: skip
computed_quantity("first_batch_seconds",
    "maximum(samples_per_step * (sample_read_seconds + sample_decode_seconds), shared_seconds_per_step * loader_workers)"
    " * single_gpu", "s", "Time from the start of a cold loader to its first batch: a worker loads it alone, and all of them "
    "share what storage and cores deliver.", label="time to the first batch", above=False,
    example="first_batch_seconds(32, 0.01, 0.005, 0.02, 4, 1) -> 0.48")  # fmt: skip
computed_quantity("data_parallel_replicas", "gpus / (tensor_parallel * pipeline_parallel * context_parallel)", "1",
    "Replicas of the model, which read different samples; experts divide the ranks, not the data.", source="megatron-lm",
    where="GPUs ÷ (tensor × pipeline × context)")  # fmt: skip
computed_quantity("reading_stages", "minimum(pipeline_parallel, 2)", "1",
    "Pipeline stages that read the data: the first, and the last one for its labels.", source="megatron-lm",
    where="DeepSpeed issue 4255: the first and the last stage read")  # fmt: skip
computed_quantity("readers_of_stages", "data_parallel_replicas * context_parallel * reading_stages", "1",
    "Ranks that read where tensor rank 0 of the first and of the last pipeline stage reads.", source="megatron-lm",
    where="issue 441: rank 0 of each tensor group builds the data sets", of="readers", when="read_by_stages")  # fmt: skip
computed_quantity("amplification_of_stages", "context_parallel * reading_stages", "1",
    "Times that a sample is read where each context rank and both end stages read it.", source="megatron-lm",
    where="issue 441; DeepSpeed issue 4255: first and last stage")  # fmt: skip
computed_quantity("readers_of_workers", "gpus * loader_workers", "1",
    "Processes that read where each GPU has workers of its own.", label="processes that read", whole=True)  # fmt: skip
computed_quantity("amplification_of_copies", "readers_of_workers", "1",
    "Times that a sample is read where every worker of every rank iterates over the whole data set.", source="pytorch",
    where="torch.utils.data.IterableDataset: each worker has a copy of the data set")  # fmt: skip
computed_quantity("amplification_of_shards",
    "where(floor(dataset_shards / (gpus / single_gpu)) * (gpus / single_gpu) >= dataset_shards, 1, gpus / single_gpu)", "1",
    "Times that a streamed sample is read: once where the ranks divide the number of shards, else once by every rank.",
    source="hf-datasets", where="split_dataset_by_node; issue 6623: 1 shard on 2 nodes is read twice",
    example="amplification_of_shards(64, 8, 1), amplification_of_shards(1, 2, 1) -> (1, 2.0)")  # fmt: skip
computed_quantity("amplified_read_bandwidth", "ingest_bandwidth_per_job * read_amplification", "B/s",
    "Read bandwidth of the job, each sample as often as it is read.",
    label="read bandwidth of the job with repeated reads")  # fmt: skip
computed_quantity("read_bandwidth_per_reader", "amplified_read_bandwidth / readers", "B/s",
    "Read bandwidth of one process that reads the data set.", label="read bandwidth of one reader")  # fmt: skip
computed_quantity("samples_per_second_per_reader", "samples_per_second_per_job * read_amplification / readers", "sample/s",
    "Samples that one process reads each second: its requests, where a sample is read with one.",
    label="samples read per second by one reader")  # fmt: skip
computed_quantity("readers_of_stage_node", "maximum(gpus_per_node / tensor_parallel, 1 / single_node)", "1/node",
    "Readers on a node of the first or the last pipeline stage: one per tensor group that it holds, at least one.",
    source="megatron-lm", where="tensor ranks are neighbours: a node holds GPUs ÷ tensor groups",
    example="readers_of_stage_node(8, 8, 1), readers_of_stage_node(8, 2, 1), readers_of_stage_node(4, 8, 1)"
        " -> (1.0, 4.0, 1.0)")  # fmt: skip
computed_quantity("readers_of_every_node", "gpus_per_node * loader_workers", "1/node",
    "Readers on a node whose GPUs all have workers.")  # fmt: skip
computed_quantity("read_bandwidth_of_busiest_node", "read_bandwidth_per_reader * readers_of_busiest_node", "B/s/node",
    "Read bandwidth of the node with the most readers.", label="read bandwidth of the node that reads most")  # fmt: skip
computed_quantity("partitioned_cache_bandwidth_per_node",
    "unstalled_bandwidth_per_gpu * gpus_per_node * later_hit_share * (1 - single_node / nodes)", "B/s/node",
    "Data that a node receives from the caches of the others, and sends to them, in later epochs.",
    label="traffic between nodes for a partitioned cache",
    needs="unstalled_bandwidth_per_gpu gpus_per_node later_hit_share nodes single_node",
    example="partitioned_cache_bandwidth_per_node(0.8e9, 8, 1, 4, 1) -> 4800000000.0")  # fmt: skip
computed_quantity("lru_hit_share", "1 - lru_miss_share", "1",
    "Share of reads of a later epoch that an LRU cache serves, where each epoch has a permutation of its own.",
    source="ingest-cache-model", where="hits of LRU under fresh permutations: h = c + (1 − c)·ln(1 − c)", high=1)  # fmt: skip
computed_quantity("epochs_storage_share", "(1 + (job_epochs - 1) * (1 - later_hit_share)) / job_epochs", "1",
    "Share of all reads of a job that storage serves: the whole first epoch, and the misses of the others.",
    label="mean share of storage reads over the epochs", low=0, above=False, high=1,
    example="epochs_storage_share(90, 1), epochs_storage_share(2, 0.5) -> (0.0111111111111111..., 0.75)")  # fmt: skip
computed_quantity("epochs_read_bandwidth", "amplified_read_bandwidth * epochs_storage_share", "B/s",
    "Mean read bandwidth of a job over all its epochs with a cache; the first epoch, with nothing cached, is the peak.",
    label="mean read bandwidth over all epochs")  # fmt: skip


computed_quantity("stored_link_load", "unstalled_bandwidth_per_gpu / host_link_bandwidth_per_gpu", "1",
    "Stored data over the bandwidth of the link into the GPU, where the GPU decodes.", above=False)  # fmt: skip
computed_quantity("decoded_bandwidth_per_gpu", "unstalled_samples_per_second_per_gpu * decoded_sample_bytes", "B/s/GPU",
    "Decoded data that the host hands to one GPU that never waits.", label="decoded data per GPU")  # fmt: skip
computed_quantity("decoded_bandwidth_per_node", "decoded_bandwidth_per_gpu * gpus_per_node", "B/s/node",
    "Decoded data that the host hands to the GPUs of one node.", label="decoded data per node")  # fmt: skip
computed_quantity("host_link_load", "decoded_bandwidth_per_gpu / host_link_bandwidth_per_gpu", "1",
    "Decoded data over the bandwidth of the link into the GPU.", label="load of the host link", above=False)  # fmt: skip

alternative("host_link_load", "stored_link_load", when="decoded_by_gpu", optional=True)

computed_quantity("prefetched_bytes_per_node",
    "prefetched_sample_bytes * samples_per_step * loader_prefetch"
    " * loader_workers * gpus_per_node / gpus_per_loader * single_gpu", "B/node",
    "Host memory of the batches that the loaders of a node hold while its GPUs compute.", source="pytorch",
    where="torch.utils.data.DataLoader: workers × prefetch_factor batches outstanding",
    label="memory of the prefetched batches")  # fmt: skip
computed_quantity("shuffle_bytes_per_node", "shuffle_samples * sample_bytes * loader_workers * gpus_per_node", "B/node",
    "Host memory of the shuffle buffers of a node: each worker has one of its own.",
    label="memory of the shuffle buffers")  # fmt: skip
computed_quantity("shuffle_block_bytes", "shuffle_samples * sample_bytes", "B",
    "Bytes that are read in one run before they are shuffled.", label="bytes of one block")  # fmt: skip
# No figure of the accuracy that this costs is published, and none follows from it.
computed_quantity("mixing_score", "minimum(1, shuffle_samples / (samples_per_file * interleaved_shards * single_file))", "1",
    "Samples of a buffer over those of the shards that it mixes: below 1, neighbours in a shard stay near each other.", high=1,
    label="mixing score",
    example="mixing_score(1000, 1251, 10, 1), mixing_score(20_000, 1251, 10, 1) -> (0.07993605115907274, 1)")  # fmt: skip
computed_quantity("mosaic_block_samples", "maximum(4_000_000 / canonical_nodes, 262_144)", "1",
    "Samples of a shuffled block as MosaicML Streaming sets it.", source="mosaicml-streaming",
    where="shuffle_block_size: the larger of 4,000,000 ÷ canonical nodes and 2^18",
    example="mosaic_block_samples(8), mosaic_block_samples(128) -> (500000.0, 262144)")  # fmt: skip
computed_quantity("image_tokens_per_sample", "images_per_sample * image_tokens", "token/sample",
    "Tokens of a sequence that its images take.", source="mm1-2024", where="images × tokens of an image")  # fmt: skip
computed_quantity("text_bytes_of_sample", "maximum(0, tokens_per_sample - image_tokens_per_sample) * bytes_per_token",
    "B/sample", "Stored text of a sample: the tokens that images leave.",
    example="text_bytes_of_sample(4096, 2304, 4) -> 7168")  # fmt: skip
computed_quantity("image_bytes_of_sample", "images_per_sample * image_bytes", "B/sample", "Stored images of a sample.")
computed_quantity("sample_bytes_of_parts",
    "text_bytes_of_sample + image_bytes_of_sample + audio_seconds_per_sample * audio_bytes_per_second", "B/sample",
    "Stored bytes of a sample of text, images and audio.", label="sample of several parts",
    example="sample_bytes_of_parts(7168, 1.6e6, 0, 0) -> 1607168.0")  # fmt: skip
computed_quantity("images_over_text", "image_bytes_of_sample / text_bytes_of_sample", "1",
    "Stored images of a sample over its text.")  # fmt: skip
