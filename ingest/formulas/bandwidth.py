"""What storage must deliver so that GPUs never wait."""

from ingest.expression import Num
from ingest.formula import formula


@formula(unit="sample/s/GPU", source="mlperf-storage-v2", where="definition of accelerator utilization")
def samples_per_second_per_gpu(
    unstalled_samples_per_second_per_gpu: Num, accelerator_utilization: Num, scaling_efficiency: Num
) -> Num:
    """Samples that one GPU consumes each second, at the accepted utilization and at the asked size.

    >>> samples_per_second_per_gpu(285.7, 0.7, 1)
    199.98999999999998
    """
    return unstalled_samples_per_second_per_gpu * accelerator_utilization * scaling_efficiency


@formula(unit="B/sample", source="definition")
def bytes_read_per_sample(sample_bytes: Num, cache_hit_fraction: Num) -> Num:
    """Bytes that storage moves for one sample; what a cache on the node serves is not read.

    >>> bytes_read_per_sample(2_828_486, 0.5)
    1414243.0
    """
    return sample_bytes * (1 - cache_hit_fraction)


@formula(unit="B/s/GPU", source="ibrahim2021", where="sec. III")
def ingest_bandwidth_per_gpu(samples_per_second_per_gpu: Num, bytes_read_per_sample: Num) -> Num:
    """Bytes that storage must deliver each second to keep one GPU busy.

    >>> ingest_bandwidth_per_gpu(285.7, 2_828_486)
    808098450.2
    """
    return samples_per_second_per_gpu * bytes_read_per_sample


@formula(unit="B/s/GPU", source="ibrahim2021", where="sec. III")
def unstalled_bandwidth_per_gpu(unstalled_samples_per_second_per_gpu: Num, bytes_read_per_sample: Num) -> Num:
    """Read bandwidth of one GPU that never waits: accelerator utilization 1, linear scaling.

    >>> unstalled_bandwidth_per_gpu(285.7, 2_828_486)
    808098450.2
    """
    return unstalled_samples_per_second_per_gpu * bytes_read_per_sample


@formula(unit="B/s/node", source="definition")
def ingest_bandwidth_per_node(ingest_bandwidth_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Read bandwidth into one node.

    >>> ingest_bandwidth_per_node(808e6, 8)
    6464000000.0
    """
    return ingest_bandwidth_per_gpu * gpus_per_node


@formula(unit="GPU", source="definition")
def gpus(nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of the job.

    >>> gpus(128, 8)
    1024
    """
    return nodes * gpus_per_node


@formula(unit="B/s", source="definition")
def ingest_bandwidth_per_job(ingest_bandwidth_per_gpu: Num, gpus: Num) -> Num:
    """Read bandwidth of the whole job.

    >>> ingest_bandwidth_per_job(808e6, 1024)
    827392000000.0
    """
    return ingest_bandwidth_per_gpu * gpus


@formula(unit="sample/s", source="definition")
def samples_per_second_per_job(samples_per_second_per_gpu: Num, gpus: Num) -> Num:
    """Samples that the whole job consumes each second.

    >>> samples_per_second_per_job(285.7, 1024)
    292556.8
    """
    return samples_per_second_per_gpu * gpus


@formula(unit="file/s", source="definition")
def file_opens_per_second_per_job(samples_per_second_per_job: Num, samples_per_file: Num, cache_hit_fraction: Num) -> Num:
    """Files that the whole job opens each second; each file is opened once per pass.

    >>> file_opens_per_second_per_job(292_556.8, 1, 0)
    292556.8
    """
    return samples_per_second_per_job / samples_per_file * (1 - cache_hit_fraction)


@formula(unit="B/file", source="definition")
def bytes_per_file_open(sample_bytes: Num, samples_per_file: Num) -> Num:
    """Bytes behind one open: the most that a single sequential read can take.

    >>> bytes_per_file_open(114_660, 1251)
    143439660
    """
    return sample_bytes * samples_per_file


@formula(unit="s", source="definition")
def epoch_seconds(dataset_samples: Num, samples_per_second_per_job: Num) -> Num:
    """Time of one pass over the data set.

    >>> round(epoch_seconds(524_288, 292_556.8), 3)
    1.792
    """
    return dataset_samples / samples_per_second_per_job


@formula(unit="1", source="definition")
def storage_nic_share(ingest_bandwidth_per_node: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Share of a node's storage NICs that the reads take; above 1 the NIC is the bottleneck.

    >>> storage_nic_share(6.464e9, 80e9)
    0.0808
    """
    return ingest_bandwidth_per_node / storage_nic_bandwidth_per_node


@formula(unit="1", source="definition")
def client_share(ingest_bandwidth_per_node: Num, client_bandwidth_per_node: Num) -> Num:
    """Share of what one storage client reaches that the reads take; above 1 one client is too few.

    >>> round(client_share(6.464e9, 3e9), 3)
    2.155
    """
    return ingest_bandwidth_per_node / client_bandwidth_per_node


@formula(unit="B/s/GPU", source="definition")
def system_bandwidth_per_gpu(system_read_bandwidth: Num, gpus: Num) -> Num:
    """A system's read bandwidth, shared evenly among the GPUs.

    >>> system_bandwidth_per_gpu(125e9, 256)
    488281250.0
    """
    return system_read_bandwidth / gpus


@formula(unit="B/sample", source="definition")
def tensor_bytes_per_sample(elements_per_sample: Num, bytes_per_element: Num) -> Num:
    """Decoded size of a sample: what the host hands to the GPU.

    >>> tensor_bytes_per_sample(128**3 * 4, 2)
    16777216
    """
    return elements_per_sample * bytes_per_element


@formula(unit="B/sample", source="definition")
def mean_bytes_per_sample(dataset_bytes: Num, dataset_samples: Num) -> Num:
    """Mean stored size of a sample, from the whole data set.

    >>> round(mean_bytes_per_sample(391_434_110_129, 500 * 313_532))
    2497
    """
    return dataset_bytes / dataset_samples
