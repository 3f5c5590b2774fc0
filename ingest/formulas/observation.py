"""Figures of an observed job: rates, request sizes and stalls from counters, logs and traces."""

from __future__ import annotations

from ingest.engine.expression import Num, maximum
from ingest.engine.registry import formula, input_quantity

input_quantity("window_seconds", "s", "Steady part of an observation, with its edges cut.", label="steady window")
input_quantity("reads", "1", "Read requests of the job within the window.", above=False)
input_quantity("opens", "file", "Files that the job opened for reading within the window, each time counted.", above=False)
input_quantity("bytes_requested", "B", "Bytes that the job asked for with read calls, caches included.", above=False)
input_quantity("read_seconds", "s", "Time of all read requests together.", above=False)
input_quantity("window_bytes", "B", "Bytes that the job read within the steady window, from any file.", above=False)
input_quantity("job_copies", "1", "Copies of the observed job that a test runs.", low=1, above=False, whole=True)
input_quantity("reading_threads", "1", "Threads of a test that read.", low=1, above=False, whole=True)
input_quantity("explained_bytes", "B", "Bytes of an observation that belong to the data path.", above=False)
input_quantity("observed_samples", "sample", "Samples that a job trained on within the window.")
input_quantity("input_wait_seconds", "s", "Mean wait of a training loop for its next batch.", above=False)
input_quantity("mean_step_seconds", "s", "Mean step of a training loop, waits included.")
input_quantity("job_samples_per_step", "sample", "Samples of one step of a whole job.")
input_quantity("step_round_variation", "1", "Standard deviation of the time of as many steps as a loader has workers, over its "
    "mean.", above=False, label="variation of the rounds of the workers")  # fmt: skip
input_quantity("real_samples_per_second", "sample/s", "Rate of a whole job that reads its data.")
input_quantity("synthetic_samples_per_second", "sample/s", "Rate of the whole job on synthetic data, which it does not read.")


@formula(unit="B/s", source="definition")
def read_bandwidth(bytes_read: Num, window_seconds: Num) -> Num:
    """Bytes that the job read each second of the window."""
    return bytes_read / window_seconds


@formula(unit="B", source="definition", label="mean read request")
def read_bytes_mean(bytes_requested: Num, reads: Num) -> Num:
    """Mean size of a read request: totals over totals."""
    return bytes_requested / reads


@formula(unit="s", source="definition", label="mean time of a read")
def read_seconds_mean(read_seconds: Num, reads: Num) -> Num:
    """Mean time that one read request took."""
    return read_seconds / reads


@formula(unit="B/file", source="definition")
def read_bytes_per_open(bytes_read: Num, opens: Num) -> Num:
    """Bytes read for each open of a file."""
    return bytes_read / opens


@formula(unit="sample/file", source="definition")
def observed_samples_per_file(read_bytes_per_open: Num, observed_bytes_per_sample: Num) -> Num:
    """Samples that the job read for each open of a file; below one where it opens a file several times."""
    return read_bytes_per_open / observed_bytes_per_sample


@formula(unit="B", source="definition")
def explained_window_bytes(window_bytes: Num, coverage: Num) -> Num:
    """Bytes of the data path within a window whose bytes are known for all files together."""
    return window_bytes * coverage


@formula(unit="sample/s", source="definition", label="observed samples per second")
def observed_samples_per_second(observed_samples: Num, window_seconds: Num) -> Num:
    """Samples per second of the whole observed job."""
    return observed_samples / window_seconds


@formula(unit="sample/s/GPU", source="definition", label="observed samples per second per GPU")
def observed_samples_per_second_per_gpu(real_samples_per_second: Num, observed_gpus: Num) -> Num:
    """Samples per second of one GPU of the observed job, stalls included."""
    return real_samples_per_second / observed_gpus


@formula(unit="sample/GPU", source="definition")
def observed_batch(job_samples_per_step: Num, observed_gpus: Num) -> Num:
    """Samples that one GPU of an observed job takes in a step."""
    return job_samples_per_step / observed_gpus


@formula(unit="1", source="definition", label="stall share", high=0.99, above=False)
def stall_fraction(real_samples_per_second: Num, synthetic_samples_per_second: Num) -> Num:
    """Share of the time in which GPUs wait for data: the rate on real data falls short of the rate on synthetic data.

    >>> stall_fraction(900, 1000), stall_fraction(1000, 1000)
    (0.1, 0)
    """
    return maximum(0, (synthetic_samples_per_second - real_samples_per_second) / synthetic_samples_per_second)


@formula(unit="1", source="definition", label="share of a step that waits for data", high=1, above=False)
def stall_of_wait(input_wait_seconds: Num, mean_step_seconds: Num) -> Num:
    """Share of the mean step in which the training loop waits for its next batch."""
    return input_wait_seconds / mean_step_seconds


@formula(unit="1", source="definition", label="share of time without computing", high=1, above=False)
def stall_of_utilization(accelerator_utilization: Num) -> Num:
    """Share of the time in which accelerators wait, where a benchmark reports the share in which they compute."""
    return 1 - accelerator_utilization


@formula(unit="1", source="definition", label="share of time computing", above=False, high=1)
def utilization_of_stall(stall_fraction: Num) -> Num:
    """Share of the time in which the GPUs of an observed job compute."""
    return 1 - stall_fraction


@formula(unit="sample/s/GPU", source="definition", label="demand in samples per second per GPU")
def demanded_samples_per_second_per_gpu(observed_samples_per_second_per_gpu: Num, stall_fraction: Num) -> Num:
    """Samples per second that one GPU would train on if it never waited.

    >>> round(demanded_samples_per_second_per_gpu(900, 0.1), 9)
    1000.0
    """
    return observed_samples_per_second_per_gpu / (1 - stall_fraction)


@formula(unit="s", source="definition", above=False)
def observed_wait_seconds(samples_per_step: Num, demanded_samples_per_second_per_gpu: Num, stall_fraction: Num) -> Num:
    """Time of each step of an observed job in which its GPU waits: the step without waits, times stall over computing.

    >>> round(observed_wait_seconds(8, 100, 0.2), 12)
    0.02
    """
    return samples_per_step / demanded_samples_per_second_per_gpu * stall_fraction / (1 - stall_fraction)


@formula(unit="B/s", source="definition", label="demanded read bandwidth")
def demanded_read_bandwidth(read_bandwidth: Num, stall_fraction: Num) -> Num:
    """Read bandwidth that the observed job would take if it never waited.

    >>> demanded_read_bandwidth(900e6, 0.1)
    1000000000.0
    """
    return read_bandwidth / (1 - stall_fraction)


@formula(unit="B/sample", source="definition", label="observed bytes per sample")
def observed_bytes_per_sample(read_bandwidth: Num, real_samples_per_second: Num) -> Num:
    """Bytes that an observed job reads from storage for one sample."""
    return read_bandwidth / real_samples_per_second


@formula(unit="1", source="definition", high=1, above=False)
def coverage(explained_bytes: Num, bytes_read: Num) -> Num:
    """Share of the bytes seen that belong to the data path."""
    return explained_bytes / bytes_read


@formula(unit="1", source="definition", label="share of reads that memory served", high=1, above=False)
def observed_cache_fraction(bytes_requested: Num, bytes_read: Num) -> Num:
    """Share of the requested bytes that a cache in memory served; 0 where read-ahead moved more than was asked for.

    >>> observed_cache_fraction(1000, 250), observed_cache_fraction(1000, 1010)
    (0.75, 0)
    """
    return maximum(0, (bytes_requested - bytes_read) / bytes_requested)


@formula(unit="B/s", source="definition")
def scaled_read_bandwidth(read_bandwidth: Num, job_copies: Num) -> Num:
    """Read bandwidth of several copies of an observed job."""
    return read_bandwidth * job_copies


@formula(unit="B/s", source="definition")
def paced_read_bandwidth(scaled_read_bandwidth: Num, reading_threads: Num) -> Num:
    """Read bandwidth at which each thread of a test is paced."""
    return scaled_read_bandwidth / reading_threads


@formula(unit="s", source="definition")
def observed_step_seconds(samples_per_step: Num, demanded_samples_per_second_per_gpu: Num) -> Num:
    """Time that an emulated accelerator sleeps for one batch, so that it takes samples as the observed one would."""
    return samples_per_step / demanded_samples_per_second_per_gpu
