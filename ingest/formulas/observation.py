"""Figures of what ran: rates, request sizes and stalls of an observed job; concurrency, starts and bytes of a history."""

from ingest.engine.registry import computed_quantity, input_quantity

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

# What a cluster did, as its accounting history tells
input_quantity("jobs", "1", "Allocations of the history that ran and are counted.", above=False, label="runs counted")
input_quantity("jobs_skipped", "1", "Rows of the history that are left out, for whatever reason.", above=False,
    label="rows left out")  # fmt: skip
input_quantity("history_seconds", "s", "Time from the first start to the last end.", above=False, label="length of the history")
input_quantity("starts_per_minute_p99", "1", "Starts of runs that 99 % of the minutes do not exceed.", above=False,
    label="P99 of starts per minute")  # fmt: skip
input_quantity(
    "starts_per_minute_max", "1", "Most starts of runs in one minute.", above=False, label="maximum of starts per minute"
)
input_quantity(
    "quarterly_growth", "1", "Growth of the GPUs in use from one quarter to the next.", low=-1, label="growth per quarter"
)
input_quantity("concurrent_gpus_mean", "GPU", "GPUs in use, mean over time.", above=False, mean=True,
    label="mean of GPUs in use")  # fmt: skip
input_quantity("bytes_written", "B", "Bytes that all runs wrote whose bytes are known.", above=False)
for thing, unit, meaning in (("gpus", "GPU", "GPUs in use"), ("nodes", "node", "nodes allocated")):
    for level in ("p50", "p95", "p99", "max"):
        shown = "maximum" if level == "max" else level.upper()
        said = "the most at any time" if level == "max" else f"the number that {level[1:]} % of the time does not exceed"
        input_quantity(f"concurrent_{thing}_{level}", unit, f"{meaning}: {said}.", above=False, whole=thing == "nodes",
            label=f"{shown} of {meaning}")  # fmt: skip
for way in ("read", "written"):
    input_quantity(f"bytes_{way}_per_run_p99", "B", f"Bytes {way} that 99 % of the runs do not exceed.", above=False,
        label=f"P99 of bytes {way} by a run")  # fmt: skip
    for level in ("p99", "max"):
        shown = "maximum" if level == "max" else "P99"
        input_quantity(f"concurrent_{way}_bandwidth_{level}", "B/s", f"Bytes/s {way} by all concurrent runs, each at its mean "
            f"rate: {shown} over time.", above=False, label=f"{shown} of bytes/s {way} by all runs")  # fmt: skip
