"""How fast a GPU consumes samples: from FLOP/s, or from a measurement on another GPU."""

from ingest.expression import Num
from ingest.formula import formula


@formula(unit="FLOP/s/GPU", source="palm2022", where="appendix B, model FLOPs utilization")
def achieved_flops_per_gpu(peak_flops_per_gpu: Num, model_flops_utilization: Num) -> Num:
    """Floating-point rate that the training reaches.

    >>> achieved_flops_per_gpu(125e12, 0.28)
    35000000000000.0
    """
    return peak_flops_per_gpu * model_flops_utilization


@formula(unit="sample/s/GPU", source="ibrahim2021", where="sec. III")
def unstalled_samples_per_second_per_gpu(achieved_flops_per_gpu: Num, flops_per_sample: Num) -> Num:
    """Samples that one GPU consumes each second when it never waits for storage.

    >>> round(unstalled_samples_per_second_per_gpu(35e12, 247e9), 1)
    141.7
    """
    return achieved_flops_per_gpu / flops_per_sample


@formula(unit="1", source="palm2022", where="appendix B, model FLOPs utilization")
def implied_flops_utilization(unstalled_samples_per_second_per_gpu: Num, flops_per_sample: Num, peak_flops_per_gpu: Num) -> Num:
    """Share of the dense peak that a rate of samples implies.

    >>> round(implied_flops_utilization(285.7, 247e9, 989.4e12), 4)
    0.0713
    """
    return unstalled_samples_per_second_per_gpu * flops_per_sample / peak_flops_per_gpu


@formula(unit="1", source="definition")
def peak_flops_ratio(peak_flops_per_gpu: Num, source_peak_flops_per_gpu: Num) -> Num:
    """Dense peak of this GPU over that of the other, at one precision.

    >>> peak_flops_ratio(624e12, 312e12)
    2.0
    """
    return peak_flops_per_gpu / source_peak_flops_per_gpu


@formula(unit="1", source="definition")
def memory_bandwidth_ratio(memory_bandwidth_per_gpu: Num, source_memory_bandwidth_per_gpu: Num) -> Num:
    """Memory bandwidth of this GPU over that of the other.

    >>> memory_bandwidth_ratio(4e12, 2e12)
    2.0
    """
    return memory_bandwidth_per_gpu / source_memory_bandwidth_per_gpu


@formula(unit="1", source="ingest-transfer-study", where="plain geometric mean")
def transfer_ratio(peak_flops_ratio: Num, memory_bandwidth_ratio: Num) -> Num:
    """How much faster this GPU trains than the other: the geometric mean of both ratios, untuned.

    >>> transfer_ratio(4, 1)
    2.0
    """
    return (peak_flops_ratio * memory_bandwidth_ratio) ** 0.5


@formula(unit="sample/s/GPU", source="ingest-transfer-study", where="plain geometric mean")
def transferred_samples_per_second_per_gpu(source_samples_per_second_per_gpu: Num, transfer_ratio: Num) -> Num:
    """A rate measured on another GPU, carried over to this one.

    >>> transferred_samples_per_second_per_gpu(100, 2.0)
    200.0
    """
    return source_samples_per_second_per_gpu * transfer_ratio


@formula(unit="sample/s", source="mlperf-storage-v2", where="batch size, computation time and accelerator utilization")
def emulated_samples_per_second_per_job(
    gpus: Num, samples_per_step: Num, computation_seconds_per_step: Num, accelerator_utilization: Num
) -> Num:
    """Samples per second of a benchmark whose accelerators sleep instead of computing.

    >>> round(emulated_samples_per_second_per_job(64, 1, 0.0035, 0.7026), 1)
    12847.5
    """
    return gpus * samples_per_step / computation_seconds_per_step * accelerator_utilization


@formula(unit="FLOP/s/GPU", source="ibrahim2021", where="sec. III")
def implied_flops_per_gpu(unstalled_samples_per_second_per_gpu: Num, flops_per_sample: Num) -> Num:
    """Floating-point rate that a rate of samples implies.

    >>> implied_flops_per_gpu(5.0, 4.188e12)
    20940000000000.0
    """
    return unstalled_samples_per_second_per_gpu * flops_per_sample


@formula(unit="FLOP/s/GPU", source="definition")
def sustained_flops_per_gpu(sustained_flops_per_job: Num, gpus: Num) -> Num:
    """A job's floating-point rate, shared among its GPUs.

    >>> sustained_flops_per_gpu(999.0e15, 27_360) / 1e12
    36.5131578...
    """
    return sustained_flops_per_job / gpus
