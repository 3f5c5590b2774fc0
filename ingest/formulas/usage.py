"""What a cluster did, as its accounting history tells: concurrency, starts and bytes of its runs."""

from ingest.engine.registry import input_quantity

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
input_quantity("concurrent_gpus_mean", "GPU", "GPUs in use, mean over time.", above=False, label="mean of GPUs in use")
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
