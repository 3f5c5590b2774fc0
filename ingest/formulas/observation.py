"""Figures of what ran: rates, request sizes and stalls of an observed job; concurrency, starts and bytes of a history."""

from ingest.engine.registry import computed_quantity, input_quantities

input_quantities(__file__)

computed_quantity("read_bandwidth", "bytes_read / window_seconds", "B/s", "Bytes that the job read each second of the window.")
computed_quantity("read_bytes_mean", "bytes_requested / reads", "B",
    "Mean size of a read request: totals over totals.", label="mean read request")  # fmt: skip
computed_quantity("read_seconds_mean", "read_seconds / reads", "s",
    "Mean time that one read request took.", label="mean time of a read")  # fmt: skip
computed_quantity("read_bytes_per_open", "bytes_read / opens", "B/file", "Bytes read for each open of a file.")
computed_quantity("observed_samples_per_file", "read_bytes_per_open / observed_bytes_per_sample", "sample/file",
    "Samples that the job read for each open of a file; below one where it opens a file several times.")  # fmt: skip
computed_quantity("explained_window_bytes", "window_bytes * coverage", "B",
    "Bytes of the data path within a window whose bytes are known for all files together.")  # fmt: skip
computed_quantity("observed_samples_per_second", "observed_samples / window_seconds", "sample/s",
    "Samples per second of the whole observed job.", label="observed samples per second")  # fmt: skip
computed_quantity("observed_samples_per_second_per_gpu", "real_samples_per_second / observed_gpus", "sample/s/GPU",
    "Samples per second of one GPU of the observed job, stalls included.",
    label="observed samples per second per GPU")  # fmt: skip
computed_quantity("observed_batch", "job_samples_per_step / observed_gpus", "sample/GPU",
    "Samples that one GPU of an observed job takes in a step.")  # fmt: skip
computed_quantity("stall_fraction",
    "maximum(0, (synthetic_samples_per_second - real_samples_per_second) / synthetic_samples_per_second)", "1",
    "Share of the time in which GPUs wait for data: the rate on real data falls short of the rate on synthetic data.",
    label="stall share", high=0.99, above=False, needs="real_samples_per_second synthetic_samples_per_second",
    example="stall_fraction(900, 1000), stall_fraction(1000, 1000) -> (0.1, 0)")  # fmt: skip
computed_quantity("stall_of_wait", "input_wait_seconds / mean_step_seconds", "1",
    "Share of the mean step in which the training loop waits for its next batch.", label="share of a step that waits for data",
    high=1, above=False)  # fmt: skip
computed_quantity("stall_of_utilization", "1 - accelerator_utilization", "1",
    "Share of the time in which accelerators wait, where a benchmark reports the share in which they compute.",
    label="share of time without computing", high=1, above=False)  # fmt: skip
computed_quantity("utilization_of_stall", "1 - stall_fraction", "1",
    "Share of the time in which the GPUs of an observed job compute.", label="share of time computing", above=False,
    high=1)  # fmt: skip
computed_quantity("demanded_samples_per_second_per_gpu",
    "observed_samples_per_second_per_gpu / (1 - stall_fraction)", "sample/s/GPU",
    "Samples per second that one GPU would train on if it never waited.", label="demand in samples per second per GPU",
    example="round(demanded_samples_per_second_per_gpu(900, 0.1), 9) -> 1000.0")  # fmt: skip
computed_quantity("observed_wait_seconds",
    "samples_per_step / demanded_samples_per_second_per_gpu * stall_fraction / (1 - stall_fraction)", "s",
    "Time of each step of an observed job in which its GPU waits: the step without waits, times stall over computing.",
    above=False, example="round(observed_wait_seconds(8, 100, 0.2), 12) -> 0.02")  # fmt: skip
computed_quantity("demanded_read_bandwidth", "read_bandwidth / (1 - stall_fraction)", "B/s",
    "Read bandwidth that the observed job would take if it never waited.", label="demanded read bandwidth",
    example="demanded_read_bandwidth(900e6, 0.1) -> 1000000000.0")  # fmt: skip
computed_quantity("observed_bytes_per_sample", "read_bandwidth / real_samples_per_second", "B/sample",
    "Bytes that an observed job reads from storage for one sample.", label="observed bytes per sample")  # fmt: skip
computed_quantity("coverage", "explained_bytes / bytes_read", "1",
    "Share of the bytes seen that belong to the data path.", high=1, above=False)  # fmt: skip
computed_quantity("observed_cache_fraction", "maximum(0, (bytes_requested - bytes_read) / bytes_requested)", "1",
    "Share of the requested bytes that a cache in memory served; 0 where read-ahead moved more than was asked for.",
    label="share of reads that memory served", high=1, above=False,
    example="observed_cache_fraction(1000, 250), observed_cache_fraction(1000, 1010) -> (0.75, 0)")  # fmt: skip
computed_quantity("scaled_read_bandwidth", "read_bandwidth * job_copies", "B/s",
    "Read bandwidth of several copies of an observed job.")  # fmt: skip
computed_quantity("paced_read_bandwidth", "scaled_read_bandwidth / reading_threads", "B/s",
    "Read bandwidth at which each thread of a test is paced.")  # fmt: skip
computed_quantity("observed_step_seconds", "samples_per_step / demanded_samples_per_second_per_gpu", "s",
    "Time that an emulated accelerator sleeps for one batch, so that it takes samples as the observed one would.")  # fmt: skip
