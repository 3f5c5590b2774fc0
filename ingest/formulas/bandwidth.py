"""Read bandwidth that storage must deliver so that no GPU waits for data."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)

MODEL = "ingest-site-model"

computed_quantity("samples_per_second_per_gpu",
    "unstalled_samples_per_second_per_gpu * accelerator_utilization * scaling_efficiency", "sample/s/GPU",
    "Samples per second that one GPU consumes, at the accepted utilization and the scaling efficiency of the job size.",
    source="mlperf-storage-v2", where="definition of accelerator utilization", label="samples per second per GPU")  # fmt: skip
computed_quantity("tokens_per_second_per_gpu", "samples_per_second_per_gpu * tokens_per_sample", "token/s/GPU",
    "Tokens per second that one GPU consumes.", label="tokens per second per GPU")  # fmt: skip
computed_quantity("bytes_read_per_sample", "sample_bytes * (1 - cache_hit_fraction)", "B/sample",
    "Bytes read from storage for one sample; hits in a cache of the node cost no read.",
    example="bytes_read_per_sample(2_828_486, 0.5) -> 1414243.0")  # fmt: skip
ingest_bandwidth_per_gpu = computed_quantity("ingest_bandwidth_per_gpu",
    "samples_per_second_per_gpu * bytes_read_per_sample", "B/s/GPU",
    "Bytes that storage must deliver each second to keep one GPU busy.", source="ibrahim2021", where="sec. III",
    label="read bandwidth per GPU")  # fmt: skip
computed_quantity("unstalled_bandwidth_per_gpu", "unstalled_samples_per_second_per_gpu * bytes_read_per_sample", "B/s/GPU",
    "Read bandwidth of one GPU that never waits: accelerator utilization 1, linear scaling.", source="ibrahim2021",
    where="sec. III", label="read bandwidth per GPU without stalls")  # fmt: skip
computed_quantity("ingest_bandwidth_per_node", "ingest_bandwidth_per_gpu * gpus_per_node", "B/s/node",
    "Read bandwidth into one node.", label="read bandwidth per node")  # fmt: skip
computed_quantity("gpus", "nodes * gpus_per_node", "GPU", "GPUs of the job.", low=1, above=False, whole=True)

alternative("gpus", "gpus_to_hold", when="fewest_gpus")
alternative("gpus", "gpus_of_one_node", when="one_node")

computed_quantity("ingest_bandwidth_per_job", "ingest_bandwidth_per_gpu * gpus", "B/s", "Read bandwidth of the whole job.",
    label="read bandwidth per job", of="run_needed_read_bandwidth", when="evidence_supports_estimate")  # fmt: skip
computed_quantity("samples_per_second_per_job", "samples_per_second_per_gpu * gpus", "sample/s",
    "Samples that the whole job consumes each second.")  # fmt: skip
computed_quantity("file_opens_per_second_per_job", "samples_per_second_per_job / samples_per_file * (1 - cache_hit_fraction)",
    "file/s", "Files that the whole job opens each second; each file is opened once per epoch.", label="file opens per job",
    example="file_opens_per_second_per_job(292_556.8, 1, 0) -> 292556.8")  # fmt: skip
computed_quantity("bytes_per_file_open", "sample_bytes * samples_per_file", "B/file",
    "Bytes per file open: upper bound of the size of one sequential read.", label="largest read per file open")  # fmt: skip
computed_quantity("epoch_seconds", "dataset_samples / samples_per_second_per_job", "s",
    "Duration of one epoch.", label="duration of an epoch")  # fmt: skip
computed_quantity("storage_nic_share", "ingest_bandwidth_per_node / storage_nic_bandwidth_per_node", "1",
    "Reads of a node over the bandwidth of its storage NICs; above 1 the NIC is the bottleneck.",
    label="share of the storage NICs")  # fmt: skip
computed_quantity("guidance_read_bandwidth_per_gpu", "guidance_read_bandwidth / guidance_gpus", "B/s/GPU",
    "Read bandwidth per GPU that a vendor's reference architecture asks of storage.")  # fmt: skip
computed_quantity("guidance_share", "ingest_bandwidth_per_gpu / guidance_read_bandwidth_per_gpu", "1",
    "Read bandwidth per GPU over the highest level of the vendor's reference architecture for this GPU.",
    label="share of the SuperPOD guidance")  # fmt: skip
computed_quantity("stored_dataset_bytes", "dataset_samples * sample_bytes", "B",
    "Bytes of the whole data set on storage, as one epoch reads it.")  # fmt: skip
computed_quantity("client_share", "ingest_bandwidth_per_node / client_bandwidth_per_node", "1",
    "Reads of a node over the bandwidth of one storage client; above 1, one client per node does not suffice.",
    label="share of your storage client")  # fmt: skip
computed_quantity("system_bandwidth_per_gpu", "system_read_bandwidth / gpus", "B/s/GPU",
    "A system's read bandwidth, shared evenly among the GPUs.")  # fmt: skip
computed_quantity("tensor_bytes_per_sample", "elements_per_sample * bytes_per_element", "B/sample",
    "Decoded size of a sample: what the host hands to the GPU.")  # fmt: skip
computed_quantity("mean_bytes_per_sample", "dataset_bytes / dataset_samples", "B/sample",
    "Mean stored size of a sample, from the whole data set.")  # fmt: skip
computed_quantity("achieved_flops_per_gpu", "peak_flops_per_gpu * model_flops_utilization", "FLOP/s/GPU",
    "Floating-point rate that the training reaches.", source="palm2022",
    where="appendix B, model FLOPs utilization")  # fmt: skip
computed_quantity("unstalled_samples_per_second_per_gpu", "achieved_flops_per_gpu / flops_per_sample", "sample/s/GPU",
    "Samples per second that one GPU consumes when it never waits for storage.", source="ibrahim2021", where="sec. III",
    label="training rate per GPU", of="supported_rate", when="rates_agree")  # fmt: skip
computed_quantity("implied_flops_utilization", "unstalled_samples_per_second_per_gpu * flops_per_sample / peak_flops_per_gpu",
    "1", "Share of the dense peak that a rate of samples implies.", source="palm2022",
    where="appendix B, model FLOPs utilization", label="share of the dense peak")  # fmt: skip
computed_quantity("peak_flops_ratio", "peak_flops_per_gpu / source_peak_flops_per_gpu", "1",
    "Dense peak of this GPU over that of the other, at one precision.")  # fmt: skip
computed_quantity("memory_bandwidth_ratio", "memory_bandwidth_per_gpu / source_memory_bandwidth_per_gpu", "1",
    "Memory bandwidth of this GPU over that of the other.")  # fmt: skip
computed_quantity("catalog_transfer_ratio", "(peak_flops_ratio * memory_bandwidth_ratio) ** 0.5", "1",
    "Training speed of this GPU over the other, from data sheets: the geometric mean of both ratios, untuned.",
    source="ingest-transfer-study", where="plain geometric mean", example="catalog_transfer_ratio(4, 1) -> 2.0")  # fmt: skip
computed_quantity("transfer_ratio", "(catalog_transfer_ratio * seen_ratios_product) ** (1 / (seen_models + 1))", "1",
    "Training speed of this GPU over the other: the geometric mean of the catalog ratio and of what other models showed.",
    source="ingest-transfer-study", where="geometric mean of the catalog ratio and the n ratios seen",
    example="round(transfer_ratio(2.0, 1.5 * 1.8, 2), 3) -> 1.754")  # fmt: skip
transferred_samples_per_second_per_gpu = computed_quantity("transferred_samples_per_second_per_gpu",
    "source_samples_per_second_per_gpu * transfer_ratio", "sample/s/GPU",
    "Training rate measured on another GPU, scaled to this one.", source="ingest-transfer-study",
    where="a measured rate times a ratio")  # fmt: skip
computed_quantity("samples_per_second_per_gpu_at_size",
    "published_samples_per_second_per_gpu * (gpus / published_gpus) ** (scaling_exponent - 1)", "sample/s/GPU",
    "Rate per GPU of a job of another size: the total rate grows with a power of the number of GPUs.",
    source="ingest-scaling-study", where="power law fitted within one round and submitter",
    example="round(samples_per_second_per_gpu_at_size(577_318, 256, 128, 0.5)) -> 408225")  # fmt: skip
computed_quantity("size_raise",
    "published_samples_per_second_per_gpu * published_gpus / gpus / unstalled_samples_per_second_per_gpu", "1",
    "Rate of a job that in total is as fast as a published run, over its own rate.")  # fmt: skip
samples_per_second_per_gpu_in_steps = computed_quantity("samples_per_second_per_gpu_in_steps",
    "published_samples_per_second_per_gpu * (step_samples / (step_samples + half_speed_samples))"
    " / (published_step_samples / (published_step_samples + half_speed_samples)) / (gpus / published_gpus) ** size_loss",
    "sample/s/GPU",
    "Rate per GPU of a larger job: the time of a step is a fixed part and one that grows with the samples of a GPU.",
    source="ingest-rates", where="pairs of runs of one model on one GPU at two sizes: docs/accuracy.md",
    example="round(samples_per_second_per_gpu_in_steps(1.0, 0.125, 0.04, 1.0, 512, 8, 0.02), 3) -> 0.725")  # fmt: skip
computed_quantity("share_of_fast_steps", "run_mean_rate / first_steps_rate", "1",
    "Mean rate of a run that ends in a wider precision, over that of its first steps, which read most.",
    label="mean rate over that of the first steps", high=1)  # fmt: skip
computed_quantity("emulated_samples_per_second_per_job",
    "gpus * samples_per_step / computation_seconds_per_step * accelerator_utilization", "sample/s",
    "Samples per second of a benchmark whose accelerators sleep instead of computing.", source="mlperf-storage-v2",
    where="batch size, computation time and accelerator utilization")  # fmt: skip
computed_quantity("implied_flops_per_gpu", "unstalled_samples_per_second_per_gpu * flops_per_sample", "FLOP/s/GPU",
    "Floating-point rate that a rate of samples implies.", source="ibrahim2021", where="sec. III")  # fmt: skip
computed_quantity("sustained_flops_per_gpu", "sustained_flops_per_job / gpus", "FLOP/s/GPU",
    "A job's floating-point rate, shared among its GPUs.")  # fmt: skip

# What a tender requires of it: at most what the nodes draw, after their caches
computed_quantity("node_drawable_bandwidth", "storage_nic_bandwidth_per_node * nic_delivery", "B/s/node",
    "Most that one node draws from shared storage: its storage NICs, as they deliver.",
    label="what one node draws")  # fmt: skip
computed_quantity("node_drawable_by_client",
    "minimum(storage_nic_bandwidth_per_node * nic_delivery, client_bandwidth_per_node)", "B/s/node",
    "Most that one node draws through a storage client whose own bandwidth is known.", of="node_drawable_bandwidth",
    when="client_known", example="node_drawable_by_client(80e9, 0.9, 10e9), node_drawable_by_client(80e9, 0.9, 100e9)"
    " -> (10000000000.0, 72000000000.0)")  # fmt: skip
computed_quantity("run_drawable_bandwidth", "node_drawable_bandwidth * nodes", "B/s",
    "Most that the nodes of one run draw from shared storage.", label="what the nodes of a run draw")  # fmt: skip
computed_quantity("run_needed_read_bandwidth", "ingest_bandwidth_per_job * bandwidth_growth", "B/s",
    "Read bandwidth at which no GPU of a run waits, whether its nodes can draw it or not.",
    label="read bandwidth that one run needs", of="run_drawn_read_bandwidth", when="nics_unknown")  # fmt: skip
computed_quantity("supported_read_bandwidth",
    "ingest_bandwidth_per_job * (supported_rate / unstalled_samples_per_second_per_gpu)"
    " * (measured_sample_bytes / sample_bytes)", "B/s",
    "Read bandwidth of a job at the rate that all evidence supports, on samples of the size that it was measured on.",
    label="read bandwidth that the evidence supports", of="run_needed_read_bandwidth", when="evidence_weighed")  # fmt: skip
computed_quantity("run_drawn_read_bandwidth", "minimum(run_needed_read_bandwidth, run_drawable_bandwidth)", "B/s",
    "Read bandwidth of a run whose data are not cached, at most what its nodes draw.", source=MODEL,
    where="a load is the smaller of what its job needs and what its nodes draw",
    label="read bandwidth that one run draws")  # fmt: skip
computed_quantity("run_loader_bandwidth", "run_needed_read_bandwidth * minimum(loader_utilization / accepted_utilization, 1)",
    "B/s", "Reads of the loaders of one run, where decoding keeps its GPUs busy for less of the time than is accepted.",
    label="what the loaders of a run draw", example="run_loader_bandwidth(20e9, 0.45, 0.9) -> 10000000000.0")  # fmt: skip
computed_quantity("run_drawn_by_loaders",
    "minimum(minimum(run_needed_read_bandwidth, run_drawable_bandwidth), run_loader_bandwidth)", "B/s",
    "Read bandwidth of a run whose loaders are stated: at most what its nodes draw and its loaders decode.",
    of="run_drawn_read_bandwidth", when="loader_simulated",
    example="run_drawn_by_loaders(100e9, 72e9, 50e9), run_drawn_by_loaders(100e9, 72e9, 90e9)"
    " -> (50000000000.0, 72000000000.0)")  # fmt: skip
computed_quantity("samples_of_dataset", "dataset_bytes / sample_bytes", "sample",
    "Samples of a data set of so many bytes.", of="dataset_samples", when="dataset_in_bytes")  # fmt: skip
computed_quantity("dataset_bytes_of_model", "dataset_samples * data_sample_bytes", "B",
    "Bytes of the data set that a model is known for, as stored.", of="job_dataset_bytes", when="dataset_of_model")  # fmt: skip
computed_quantity("run_cold_read_bandwidth", "run_drawn_read_bandwidth * cold_share", "B/s",
    "Read bandwidth of one run while nothing of its data set is cached.", label="cold read bandwidth of one run")  # fmt: skip
computed_quantity("share_in_one_node", "minimum(1, job_cache_bytes * single_node / job_dataset_bytes)", "1",
    "Share of a data set that each node caches on its own: under a global shuffle every node reads all of it.",
    source="ingest-cache-model", where="c is the smaller of 1 and cache ÷ data set",
    label="share of the data set that one node caches", high=1,
    example="share_in_one_node(1e12, 1, 4e12), share_in_one_node(1e12, 1, 150e9) -> (0.25, 1)")  # fmt: skip
computed_quantity("share_in_all_nodes", "minimum(1, job_cache_bytes * nodes / job_dataset_bytes)", "1",
    "Share of a data set that a partitioned cache holds: each node keeps another part and serves it to the others.",
    label="share of the data set that all nodes cache", high=1, of="cached_share", when="cache_partitioned",
    example="share_in_all_nodes(1e12, 8, 16e12) -> 0.5")  # fmt: skip
computed_quantity("lru_miss_share", "(1 - cached_share) * (1 - log(maximum(1 - cached_share, 1e-12)))", "1",
    "Share of reads that miss an LRU cache of this share of a data set that is shuffled anew in each epoch.",
    source="ingest-cache-model", where="hits of LRU under fresh permutations: h = c + (1 − c)·ln(1 − c)", of="miss_share",
    when="cache_hits_estimated", high=1,
    example="lru_miss_share(0), round(lru_miss_share(0.5), 4), lru_miss_share(1) -> (1.0, 0.8466, 0.0)")  # fmt: skip
computed_quantity("warm_up_bytes_of_each", "cached_share * job_dataset_bytes * (nodes / single_node)", "B",
    "Bytes that fill the caches of a run, where each node keeps a copy of its own.", of="warm_up_bytes",
    when="cache_of_each_node")  # fmt: skip
computed_quantity("warm_up_bytes_shared", "cached_share * job_dataset_bytes", "B",
    "Bytes that fill a partitioned cache: each byte is read from storage once.", of="warm_up_bytes",
    when="cache_partitioned")  # fmt: skip
computed_quantity("run_cached_read_bandwidth",
    "minimum(run_cold_read_bandwidth, maximum(run_cold_read_bandwidth * miss_share, warm_up_bytes / warm_up_seconds))", "B/s",
    "Read bandwidth of one run whose nodes cache their data.", source=MODEL,
    where="the caches fill within the warm-up, or at the cold rate where that takes longer; then only misses are read",
    example="run_cached_read_bandwidth(15e9, 0.0, 600e9, 600), run_cached_read_bandwidth(15e9, 0.9, 600e9, 600)"
        " -> (1000000000.0, 13500000000.0)")  # fmt: skip
computed_quantity("missed_read_bandwidth",
    "minimum(run_needed_read_bandwidth, maximum(run_needed_read_bandwidth * miss_share, warm_up_bytes / warm_up_seconds))",
    "B/s", "Read bandwidth that the GPUs of one run need whose nodes cache their data, also where the NICs carry less.",
    example="missed_read_bandwidth(15e9, 0.0, 600e9, 600) -> 1000000000.0")  # fmt: skip
computed_quantity("cache_bytes_per_node", "host_memory_per_node * cache_memory_share", "B/node",
    "Host memory of a node that can cache the data set.", of="job_cache_bytes", when="cache_in_memory")  # fmt: skip
computed_quantity("mandatory_read_bandwidth", "run_read_bandwidth", "B/s",
    "Read bandwidth that a tender for one job makes mandatory: supported by all evidence, drawn by its nodes, after caches.",
    label="read bandwidth to require")  # fmt: skip

# Embedding tables whose hot rows are in memory: the others are read from a tier below, and written back by training
computed_quantity("embedding_row_bytes", "embedding_dimension * embedding_element_bytes", "B", "Bytes of one embedding row.")
computed_quantity("embedding_table_bytes", "embedding_rows * embedding_row_bytes", "B", "Bytes of all embedding tables.",
    label="embedding tables")  # fmt: skip
computed_quantity("embedding_hot_rows", "minimum(embedding_hot_bytes / embedding_row_bytes, embedding_rows)", "1",
    "Embedding rows that memory holds.", above=False, example="embedding_hot_rows(512e6, 512, 2e6) -> 1000000.0")  # fmt: skip
for _name, _rows in {"zipf_sum_of_hot": "embedding_hot_rows", "zipf_sum_of_all": "embedding_rows"}.items():
    computed_quantity(_name,
        f"where((1 - zipf_exponent) ** 2 < 1e-12, log(maximum({_rows}, 1)), (maximum({_rows}, 1) ** (1 - zipf_exponent) - 1)"
        " / (1 - zipf_exponent + where((1 - zipf_exponent) ** 2 < 1e-12, 1, 0)))"
        f" + (1 + maximum({_rows}, 1) ** (0 - zipf_exponent)) / 2"
        f" + zipf_exponent / 12 * (1 - maximum({_rows}, 1) ** (0 - zipf_exponent - 1))", "1",
        "Reads of so many embedding rows, in those of the first: the sum of rank^−s.", source="arithmetic",
        where="Euler-Maclaurin, to the second term", needs=f"zipf_exponent {_rows}",
        example=f"round({_name}(1.0, 1000), 2), round({_name}(0.5, 1000), 1) -> (7.49, 61.8)")  # fmt: skip
computed_quantity("embedding_hot_share", "where(embedding_hot_rows < 1, 0, minimum(zipf_sum_of_hot / zipf_sum_of_all, 1))", "1",
    "Share of the row reads that memory serves, where reads follow Zipf's law.", above=False, high=1,
    label="row reads from memory",
    example="embedding_hot_share(10, 5, 20), embedding_hot_share(0.5, 1, 20) -> (0.25, 0)")  # fmt: skip
computed_quantity("class_hot_lookups",
    "lookups_of_class * minimum(maximum(embedding_hot_rows - rows_before_class, 0) / rows_of_class, 1)", "1/sample",
    "Lookups of a sample in the rows of a class that memory holds: the hottest classes come first.", above=False,
    example="class_hot_lookups(10, 150, 100, 100) -> 5.0")  # fmt: skip
computed_quantity("hot_reads_of_classes", "total(class_hot_lookups_of_tables) / embedding_lookups", "1",
    "Share of the row reads that memory serves, by classes of rows that were counted or published.", above=False, high=1,
    of="embedding_hot_share", when="rows_classed", example="hot_reads_of_classes([100.0, 60.5], 214) -> 0.75")  # fmt: skip
computed_quantity("lookups_of_rare_rows", "embedding_lookups * reads_of_next_rows / reads_of_trace", "1/sample",
    "Lookups of a sample in rows that a trace lacks or reads seldom: together as many as it has in the rows read once more.",
    above=False, source="good1953", where="expected frequency of species that are seen r times: (r + 1) n(r + 1) / (n(r) N)",
    example="lookups_of_rare_rows(214, 5, 100) -> 10.7")  # fmt: skip
computed_quantity("lookups_of_frequent_rows",
    "embedding_lookups * (1 - reads_of_rare_rows / reads_of_trace) * reads_of_rows / reads_of_frequent_rows", "1/sample",
    "Lookups of a sample in frequently read rows of a trace: what rare rows leave, by their share of its reads.", above=False,
    example="lookups_of_frequent_rows(214, 50, 100, 5, 50) -> 10.7")  # fmt: skip
computed_quantity("embedding_reads_per_sample", "embedding_lookups * (1 - embedding_hot_share)", "1/sample",
    "Embedding rows that a sample of training, or one candidate of a query, reads from the tier below memory.", above=False,
    label="row reads per sample", example="embedding_reads_per_sample(214, 0.75) -> 53.5")  # fmt: skip
computed_quantity("embedding_request_bytes", "ceil(embedding_row_bytes / embedding_block_bytes) * embedding_block_bytes", "B",
    "Bytes that a read of one row takes: whole blocks.", label="size of a row read",
    example="embedding_request_bytes(512, 4096) -> 4096")  # fmt: skip
computed_quantity("embedding_reads_per_second", "samples_per_second_per_job * embedding_reads_per_sample", "1/s",
    "Embedding rows that a job reads from the tier below memory in a second.", above=False,
    label="row reads per job")  # fmt: skip
computed_quantity("embedding_read_bandwidth", "embedding_reads_per_second * embedding_request_bytes", "B/s",
    "Bandwidth of the row reads of a job; training writes as many rows back.", above=False,
    label="row read bandwidth")  # fmt: skip
computed_quantity("embedding_nic_share", "embedding_read_bandwidth / (storage_nic_bandwidth_per_node * nodes)", "1",
    "Row reads of a job over the bandwidth of the storage NICs of its nodes; above 1 no shared storage serves them.",
    above=False, label="row reads over the storage NICs")  # fmt: skip
