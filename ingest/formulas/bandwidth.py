"""Read bandwidth that storage must deliver so that no GPU waits for data."""

from __future__ import annotations

from ingest.engine.registry import alternative, computed_quantity

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

computed_quantity("ingest_bandwidth_per_job", "ingest_bandwidth_per_gpu * gpus", "B/s",
    "Read bandwidth of the whole job.", label="read bandwidth per job")  # fmt: skip
computed_quantity("samples_per_second_per_job", "samples_per_second_per_gpu * gpus", "sample/s",
    "Samples that the whole job consumes each second.")  # fmt: skip
computed_quantity("file_opens_per_second_per_job",
    "samples_per_second_per_job / samples_per_file * (1 - cache_hit_fraction)", "file/s",
    "Files that the whole job opens each second; each file is opened once per epoch.", label="file opens per job",
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
computed_quantity("dataset_memory_share", "stored_dataset_bytes / host_memory_per_node", "node",
    "The data set over the memory of a node; well below 1, the page cache holds it after the first epoch.")  # fmt: skip
computed_quantity("cache_filling_bandwidth",
    "minimum(ingest_bandwidth_per_job, stored_dataset_bytes * (nodes / single_node) / warm_up_seconds)", "B/s",
    "Read bandwidth at which every node of a job reads a data set into its memory within the warm-up; at most the job's own.",
    label="read bandwidth that fills the caches",
    example="cache_filling_bandwidth(15e9, 150e9, 4, 1, 600), cache_filling_bandwidth(0.5e9, 150e9, 4, 1, 600)"
        " -> (1000000000.0, 500000000.0)")  # fmt: skip
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
    label="training rate per GPU")  # fmt: skip
computed_quantity("implied_flops_utilization",
    "unstalled_samples_per_second_per_gpu * flops_per_sample / peak_flops_per_gpu", "1",
    "Share of the dense peak that a rate of samples implies.", source="palm2022", where="appendix B, model FLOPs utilization",
    label="share of the dense peak")  # fmt: skip
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
computed_quantity("transferred_samples_per_second_per_gpu",
    "source_samples_per_second_per_gpu * transfer_ratio", "sample/s/GPU",
    "Training rate measured on another GPU, scaled to this one.", source="ingest-transfer-study",
    where="a measured rate times a ratio")  # fmt: skip
computed_quantity("samples_per_second_per_gpu_at_size",
    "published_samples_per_second_per_gpu * (gpus / published_gpus) ** (scaling_exponent - 1)", "sample/s/GPU",
    "Rate per GPU of a job of another size: the total rate grows with a power of the number of GPUs.",
    source="ingest-scaling-study", where="power law fitted within one round and submitter",
    example="round(samples_per_second_per_gpu_at_size(577_318, 256, 128, 0.5)) -> 408225")  # fmt: skip
computed_quantity("emulated_samples_per_second_per_job",
    "gpus * samples_per_step / computation_seconds_per_step * accelerator_utilization", "sample/s",
    "Samples per second of a benchmark whose accelerators sleep instead of computing.", source="mlperf-storage-v2",
    where="batch size, computation time and accelerator utilization")  # fmt: skip
computed_quantity("implied_flops_per_gpu", "unstalled_samples_per_second_per_gpu * flops_per_sample", "FLOP/s/GPU",
    "Floating-point rate that a rate of samples implies.", source="ibrahim2021", where="sec. III")  # fmt: skip
computed_quantity("sustained_flops_per_gpu", "sustained_flops_per_job / gpus", "FLOP/s/GPU",
    "A job's floating-point rate, shared among its GPUs.")  # fmt: skip
