"""Read bandwidth that storage must deliver so that no GPU waits for data."""

from __future__ import annotations

from ingest.engine.expression import Num, minimum
from ingest.engine.registry import alternative, formula


@formula(
    unit="sample/s/GPU",
    source="mlperf-storage-v2",
    where="definition of accelerator utilization",
    label="samples per second per GPU",
)
def samples_per_second_per_gpu(
    unstalled_samples_per_second_per_gpu: Num, accelerator_utilization: Num, scaling_efficiency: Num
) -> Num:
    """Samples per second that one GPU consumes, at the accepted utilization and the scaling efficiency of the job size."""
    return unstalled_samples_per_second_per_gpu * accelerator_utilization * scaling_efficiency


@formula(unit="token/s/GPU", source="definition", label="tokens per second per GPU")
def tokens_per_second_per_gpu(samples_per_second_per_gpu: Num, tokens_per_sample: Num) -> Num:
    """Tokens per second that one GPU consumes."""
    return samples_per_second_per_gpu * tokens_per_sample


@formula(unit="B/sample", source="definition")
def bytes_read_per_sample(sample_bytes: Num, cache_hit_fraction: Num) -> Num:
    """Bytes read from storage for one sample; hits in a cache of the node cost no read.

    >>> bytes_read_per_sample(2_828_486, 0.5)
    1414243.0
    """
    return sample_bytes * (1 - cache_hit_fraction)


@formula(unit="B/s/GPU", source="ibrahim2021", where="sec. III", label="read bandwidth per GPU")
def ingest_bandwidth_per_gpu(samples_per_second_per_gpu: Num, bytes_read_per_sample: Num) -> Num:
    """Bytes that storage must deliver each second to keep one GPU busy."""
    return samples_per_second_per_gpu * bytes_read_per_sample


@formula(unit="B/s/GPU", source="ibrahim2021", where="sec. III", label="read bandwidth per GPU without stalls")
def unstalled_bandwidth_per_gpu(unstalled_samples_per_second_per_gpu: Num, bytes_read_per_sample: Num) -> Num:
    """Read bandwidth of one GPU that never waits: accelerator utilization 1, linear scaling."""
    return unstalled_samples_per_second_per_gpu * bytes_read_per_sample


@formula(unit="B/s/node", source="definition", label="read bandwidth per node")
def ingest_bandwidth_per_node(ingest_bandwidth_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Read bandwidth into one node."""
    return ingest_bandwidth_per_gpu * gpus_per_node


@formula(unit="GPU", source="definition", low=1, above=False, whole=True)
def gpus(nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of the job."""
    return nodes * gpus_per_node


alternative("gpus", "gpus_to_hold", when="fewest_gpus")
alternative("gpus", "gpus_of_one_node", when="one_node")


@formula(unit="B/s", source="definition", label="read bandwidth per job")
def ingest_bandwidth_per_job(ingest_bandwidth_per_gpu: Num, gpus: Num) -> Num:
    """Read bandwidth of the whole job."""
    return ingest_bandwidth_per_gpu * gpus


@formula(unit="sample/s", source="definition")
def samples_per_second_per_job(samples_per_second_per_gpu: Num, gpus: Num) -> Num:
    """Samples that the whole job consumes each second."""
    return samples_per_second_per_gpu * gpus


@formula(unit="file/s", source="definition", label="file opens per job")
def file_opens_per_second_per_job(samples_per_second_per_job: Num, samples_per_file: Num, cache_hit_fraction: Num) -> Num:
    """Files that the whole job opens each second; each file is opened once per epoch.

    >>> file_opens_per_second_per_job(292_556.8, 1, 0)
    292556.8
    """
    return samples_per_second_per_job / samples_per_file * (1 - cache_hit_fraction)


@formula(unit="B/file", source="definition", label="largest read per file open")
def bytes_per_file_open(sample_bytes: Num, samples_per_file: Num) -> Num:
    """Bytes per file open: upper bound of the size of one sequential read."""
    return sample_bytes * samples_per_file


@formula(unit="s", source="definition", label="duration of an epoch")
def epoch_seconds(dataset_samples: Num, samples_per_second_per_job: Num) -> Num:
    """Duration of one epoch."""
    return dataset_samples / samples_per_second_per_job


@formula(unit="1", source="definition", label="share of the storage NICs")
def storage_nic_share(ingest_bandwidth_per_node: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Reads of a node over the bandwidth of its storage NICs; above 1 the NIC is the bottleneck."""
    return ingest_bandwidth_per_node / storage_nic_bandwidth_per_node


@formula(unit="B/s/GPU", source="definition")
def guidance_read_bandwidth_per_gpu(guidance_read_bandwidth: Num, guidance_gpus: Num) -> Num:
    """Read bandwidth per GPU that a vendor's reference architecture asks of storage."""
    return guidance_read_bandwidth / guidance_gpus


@formula(unit="1", source="definition", label="share of the SuperPOD guidance")
def guidance_share(ingest_bandwidth_per_gpu: Num, guidance_read_bandwidth_per_gpu: Num) -> Num:
    """Read bandwidth per GPU over the highest level of the vendor's reference architecture for this GPU."""
    return ingest_bandwidth_per_gpu / guidance_read_bandwidth_per_gpu


@formula(unit="B", source="definition")
def stored_dataset_bytes(dataset_samples: Num, sample_bytes: Num) -> Num:
    """Bytes of the whole data set on storage, as one epoch reads it."""
    return dataset_samples * sample_bytes


@formula(unit="node", source="definition")
def dataset_memory_share(stored_dataset_bytes: Num, host_memory_per_node: Num) -> Num:
    """The data set over the memory of a node; well below 1, the page cache holds it after the first epoch."""
    return stored_dataset_bytes / host_memory_per_node


@formula(unit="B/s", source="definition", label="read bandwidth that fills the caches")
def cache_filling_bandwidth(
    ingest_bandwidth_per_job: Num, stored_dataset_bytes: Num, nodes: Num, single_node: Num, warm_up_seconds: Num
) -> Num:
    """Read bandwidth at which every node of a job reads a data set into its memory within the warm-up; at most the job's own.

    >>> cache_filling_bandwidth(15e9, 150e9, 4, 1, 600), cache_filling_bandwidth(0.5e9, 150e9, 4, 1, 600)
    (1000000000.0, 500000000.0)
    """
    return minimum(ingest_bandwidth_per_job, stored_dataset_bytes * (nodes / single_node) / warm_up_seconds)


@formula(unit="1", source="definition", label="share of your storage client")
def client_share(ingest_bandwidth_per_node: Num, client_bandwidth_per_node: Num) -> Num:
    """Reads of a node over the bandwidth of one storage client; above 1, one client per node does not suffice."""
    return ingest_bandwidth_per_node / client_bandwidth_per_node


@formula(unit="B/s/GPU", source="definition")
def system_bandwidth_per_gpu(system_read_bandwidth: Num, gpus: Num) -> Num:
    """A system's read bandwidth, shared evenly among the GPUs."""
    return system_read_bandwidth / gpus


@formula(unit="B/sample", source="definition")
def tensor_bytes_per_sample(elements_per_sample: Num, bytes_per_element: Num) -> Num:
    """Decoded size of a sample: what the host hands to the GPU."""
    return elements_per_sample * bytes_per_element


@formula(unit="B/sample", source="definition")
def mean_bytes_per_sample(dataset_bytes: Num, dataset_samples: Num) -> Num:
    """Mean stored size of a sample, from the whole data set."""
    return dataset_bytes / dataset_samples


@formula(unit="FLOP/s/GPU", source="palm2022", where="appendix B, model FLOPs utilization")
def achieved_flops_per_gpu(peak_flops_per_gpu: Num, model_flops_utilization: Num) -> Num:
    """Floating-point rate that the training reaches."""
    return peak_flops_per_gpu * model_flops_utilization


@formula(unit="sample/s/GPU", source="ibrahim2021", where="sec. III", label="training rate per GPU")
def unstalled_samples_per_second_per_gpu(achieved_flops_per_gpu: Num, flops_per_sample: Num) -> Num:
    """Samples per second that one GPU consumes when it never waits for storage."""
    return achieved_flops_per_gpu / flops_per_sample


@formula(unit="1", source="palm2022", where="appendix B, model FLOPs utilization", label="share of the dense peak")
def implied_flops_utilization(unstalled_samples_per_second_per_gpu: Num, flops_per_sample: Num, peak_flops_per_gpu: Num) -> Num:
    """Share of the dense peak that a rate of samples implies."""
    return unstalled_samples_per_second_per_gpu * flops_per_sample / peak_flops_per_gpu


@formula(unit="1", source="definition")
def peak_flops_ratio(peak_flops_per_gpu: Num, source_peak_flops_per_gpu: Num) -> Num:
    """Dense peak of this GPU over that of the other, at one precision."""
    return peak_flops_per_gpu / source_peak_flops_per_gpu


@formula(unit="1", source="definition")
def memory_bandwidth_ratio(memory_bandwidth_per_gpu: Num, source_memory_bandwidth_per_gpu: Num) -> Num:
    """Memory bandwidth of this GPU over that of the other."""
    return memory_bandwidth_per_gpu / source_memory_bandwidth_per_gpu


@formula(unit="1", source="ingest-transfer-study", where="plain geometric mean")
def catalog_transfer_ratio(peak_flops_ratio: Num, memory_bandwidth_ratio: Num) -> Num:
    """Training speed of this GPU over the other, from data sheets: the geometric mean of both ratios, untuned.

    >>> catalog_transfer_ratio(4, 1)
    2.0
    """
    return (peak_flops_ratio * memory_bandwidth_ratio) ** 0.5


@formula(unit="1", source="ingest-transfer-study", where="geometric mean of the catalog ratio and the n ratios seen")
def transfer_ratio(catalog_transfer_ratio: Num, seen_ratios_product: Num, seen_models: Num) -> Num:
    """Training speed of this GPU over the other: the geometric mean of the catalog ratio and of what other models showed.

    >>> round(transfer_ratio(2.0, 1.5 * 1.8, 2), 3)
    1.754
    """
    return (catalog_transfer_ratio * seen_ratios_product) ** (1 / (seen_models + 1))


@formula(unit="sample/s/GPU", source="ingest-transfer-study", where="a measured rate times a ratio")
def transferred_samples_per_second_per_gpu(source_samples_per_second_per_gpu: Num, transfer_ratio: Num) -> Num:
    """Training rate measured on another GPU, scaled to this one."""
    return source_samples_per_second_per_gpu * transfer_ratio


@formula(unit="sample/s/GPU", source="ingest-scaling-study", where="power law fitted within one round and submitter")
def samples_per_second_per_gpu_at_size(
    published_samples_per_second_per_gpu: Num, gpus: Num, published_gpus: Num, scaling_exponent: Num
) -> Num:
    """Rate per GPU of a job of another size: the total rate grows with a power of the number of GPUs.

    >>> round(samples_per_second_per_gpu_at_size(577_318, 256, 128, 0.5))
    408225
    """
    return published_samples_per_second_per_gpu * (gpus / published_gpus) ** (scaling_exponent - 1)


@formula(unit="sample/s", source="mlperf-storage-v2", where="batch size, computation time and accelerator utilization")
def emulated_samples_per_second_per_job(
    gpus: Num, samples_per_step: Num, computation_seconds_per_step: Num, accelerator_utilization: Num
) -> Num:
    """Samples per second of a benchmark whose accelerators sleep instead of computing."""
    return gpus * samples_per_step / computation_seconds_per_step * accelerator_utilization


@formula(unit="FLOP/s/GPU", source="ibrahim2021", where="sec. III")
def implied_flops_per_gpu(unstalled_samples_per_second_per_gpu: Num, flops_per_sample: Num) -> Num:
    """Floating-point rate that a rate of samples implies."""
    return unstalled_samples_per_second_per_gpu * flops_per_sample


@formula(unit="FLOP/s/GPU", source="definition")
def sustained_flops_per_gpu(sustained_flops_per_job: Num, gpus: Num) -> Num:
    """A job's floating-point rate, shared among its GPUs."""
    return sustained_flops_per_job / gpus
