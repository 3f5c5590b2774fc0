"""Checkpoint interval, checkpoint overhead, and the write bandwidth that limits the overhead.

M is the job's mean time to interrupt, δ the time of one dump or drain, τ the interval (computing between two checkpoints),
k the number of checkpoints per persistent one, b the stall for staging, s the share of training that stops while a
checkpoint is written (1 where GPUs wait for the dump), w the overhead (share of time lost).
"""

from ingest.engine.expression import Num, ceil, maximum, minimum, where
from ingest.engine.registry import formula

MODEL = "ingest-checkpoint-model"


@formula(unit="node", source="definition", whole=True)
def nodes_in_job(gpus: Num, gpus_per_node: Num) -> Num:
    """Nodes that the job's GPUs fill.

    >>> nodes_in_job(16_384, 8)
    2048
    """
    return ceil(gpus / gpus_per_node)


@formula(unit="1/s/node", source="definition", label="failure rate of a node")
def failures_per_node_second(observed_interrupts: Num, observed_seconds: Num, observed_nodes: Num) -> Num:
    """Failure rate of one node, from interrupts counted on a cluster."""
    return observed_interrupts / observed_seconds / observed_nodes


@formula(unit="1/node", source="definition", label="failures per thousand node-days")
def failures_per_thousand_node_days(failures_per_node_second: Num, seconds_per_day: Num) -> Num:
    """Failures of one node in 1,000 days, as studies of failures print them.

    >>> failures_per_thousand_node_days(0.0065 / 86_400, 86_400)
    6.5
    """
    return failures_per_node_second * seconds_per_day * 1000


@formula(unit="s", source="definition", label="observed mean time to interrupt")
def observed_mean_time_to_interrupt(observed_seconds: Num, observed_interrupts: Num) -> Num:
    """Mean time to interrupt (MTTI) that the counted interrupts show."""
    return observed_seconds / observed_interrupts


@formula(unit="1", source="definition", high=1)
def interrupts_share(interrupts_of_cause: Num, observed_interrupts: Num) -> Num:
    """Share of the interrupts that one cause accounts for."""
    return interrupts_of_cause / observed_interrupts


@formula(unit="1/s/GPU", source="definition")
def failures_per_gpu_second(observed_interrupts: Num, observed_seconds: Num, observed_gpus: Num) -> Num:
    """Failure rate of one GPU with its share of the node."""
    return observed_interrupts / observed_seconds / observed_gpus


@formula(unit="GPU", source="definition", whole=True)
def observed_gpus(observed_nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of the observed cluster."""
    return observed_nodes * gpus_per_node


@formula(
    unit="s",
    source=MODEL,
    where="nodes in series: 1/(n·λ)",
    label="mean time to interrupt",
)
def job_mean_time_to_interrupt(nodes_in_job: Num, failures_per_node_second: Num) -> Num:
    """Mean time to interrupt (MTTI) of a job that stops when any of its nodes fails.

    >>> job_mean_time_to_interrupt(2048, 0.0065 / 86_400) / 3600
    1.8028...
    """
    return 1 / (nodes_in_job * failures_per_node_second)


@formula(unit="s", source="limelead-quartz", where="note on availability")
def repair_seconds_allowed(job_mean_time_to_interrupt: Num, uptime_share: Num) -> Num:
    """Longest repair time, restart included, that still leaves the required uptime.

    >>> repair_seconds_allowed(2.5 * 3600, 0.9) / 60
    16.666...
    """
    return job_mean_time_to_interrupt * (1 - uptime_share) / uptime_share


@formula(unit="s", source="definition", label="time to write a checkpoint")
def checkpoint_dump_seconds(checkpoint_bytes: Num, checkpoint_write_bandwidth: Num) -> Num:
    """Time to write one checkpoint: δ."""
    return checkpoint_bytes / checkpoint_write_bandwidth


@formula(unit="s", source="young1974", where="eq. 4")
def young_interval(checkpoint_dump_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Optimal checkpoint interval, to first order: √(2δM).

    >>> round(young_interval(300, 3600), 2)
    1469.69
    """
    return (2 * checkpoint_dump_seconds * job_mean_time_to_interrupt) ** 0.5


@formula(unit="s", source="daly2006", where="eq. 37")
def daly_interval(checkpoint_dump_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Optimal checkpoint interval, to higher order; M itself where a dump takes 2M or longer.

    >>> round(daly_interval(300, 3600), 2), daly_interval(7200, 3600)
    (1276.5, 3600)
    """
    return where(
        checkpoint_dump_seconds < 2 * job_mean_time_to_interrupt,
        (2 * checkpoint_dump_seconds * job_mean_time_to_interrupt) ** 0.5
        * (
            1
            + (checkpoint_dump_seconds / (2 * job_mean_time_to_interrupt)) ** 0.5 / 3
            + checkpoint_dump_seconds / (2 * job_mean_time_to_interrupt) / 9
        )
        - checkpoint_dump_seconds,
        job_mean_time_to_interrupt,
    )


@formula(
    unit="1",
    source="young1974",
    where="the overhead at Young's interval, without restarts",
    label="least checkpoint overhead",
    high=1,
)
def least_waste(checkpoint_dump_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Checkpoint overhead (share of time lost) at the optimal interval: √(2δ/M).

    >>> round(least_waste(11.364, 3.093 * 3600), 4)
    0.0452
    """
    return (2 * checkpoint_dump_seconds / job_mean_time_to_interrupt) ** 0.5


@formula(unit="s", source=MODEL, where="min(1 h, M/10)", label="checkpoint interval as practised")
def practised_interval(longest_interval: Num, interval_share: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Interval of asynchronous checkpoints as practised: a share of the mean time to interrupt, and at most an hour.

    >>> practised_interval(3600, 0.1, 11_134)
    1113.4
    """
    return minimum(longest_interval, interval_share * job_mean_time_to_interrupt)


@formula(unit="s", source="young1974", where="√(2(s·δ + k·b)·M)/k, at most an hour", label="interval of least overhead")
def least_overhead_interval(
    longest_interval: Num,
    stopped_share: Num,
    checkpoint_dump_seconds: Num,
    persistent_every: Num,
    checkpoint_staging_seconds: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Interval at which a given dump time loses least, and at most an hour.

    >>> round(least_overhead_interval(3600, 1, 11.364, 1, 0, 3.093 * 3600), 1)
    503.1
    """
    return minimum(
        longest_interval,
        (
            2
            * (stopped_share * checkpoint_dump_seconds + persistent_every * checkpoint_staging_seconds)
            * job_mean_time_to_interrupt
        )
        ** 0.5
        / persistent_every,
    )


@formula(
    unit="s", source=MODEL, where="the longest of the practised interval and S/(x·k·B)", label="interval that the drain allows"
)
def drained_interval(practised_interval: Num, checkpoint_dump_seconds: Num, drain_fraction: Num, persistent_every: Num) -> Num:
    """Practised interval, or a longer one where a given bandwidth takes longer to drain a checkpoint.

    >>> drained_interval(1113.4, 2000, 1, 1)
    2000.0
    """
    return maximum(practised_interval, checkpoint_dump_seconds / (drain_fraction * persistent_every))


@formula(unit="1", source=MODEL, where="w − R/M", label="overhead left beside restores", high=1)
def waste_left_after_restores(waste_allowed: Num, restart_waste: Num) -> Num:
    """Allowed overhead that remains for checkpoints and repeated work."""
    return waste_allowed - restart_waste


@formula(
    unit="s",
    source=MODEL,
    where="M·(√(s² + 2(W·s + k·b/M)) − s)/k, which takes the least bandwidth for the overhead W; at most an hour",
    label="interval for the allowed overhead",
)
def interval_for_waste(
    longest_interval: Num,
    stopped_share: Num,
    waste_left_after_restores: Num,
    persistent_every: Num,
    checkpoint_staging_seconds: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Interval at which the allowed overhead takes the least write bandwidth, and at most an hour.

    >>> round(interval_for_waste(3600, 1, 0.05, 1, 0, 11_134), 1)
    543.4
    """
    return minimum(
        longest_interval,
        job_mean_time_to_interrupt
        * (
            (
                stopped_share * stopped_share
                + 2
                * (
                    waste_left_after_restores * stopped_share
                    + persistent_every * checkpoint_staging_seconds / job_mean_time_to_interrupt
                )
            )
            ** 0.5
            - stopped_share
        )
        / persistent_every,
    )


@formula(unit="1", source=MODEL, where="b/τ + k·τ/2M + R/M", label="overhead without writing", high=1)
def overhead_without_writing(
    checkpoint_staging_seconds: Num,
    checkpoint_interval: Num,
    persistent_every: Num,
    job_mean_time_to_interrupt: Num,
    restart_waste: Num,
) -> Num:
    """Share of time that an interval loses at any bandwidth: staging, half an interval of repeated work, and restores.

    >>> round(overhead_without_writing(0, 900, 1, 3.093 * 3600, 0.01), 4)
    0.0504
    """
    return (
        checkpoint_staging_seconds / checkpoint_interval
        + persistent_every * checkpoint_interval / (2 * job_mean_time_to_interrupt)
        + restart_waste
    )


@formula(unit="1", source=MODEL, where="R/M + √(2·k·b/M), at the best interval", label="least overhead without writing", high=1)
def least_overhead_without_writing(
    restart_waste: Num, persistent_every: Num, checkpoint_staging_seconds: Num, job_mean_time_to_interrupt: Num
) -> Num:
    """Share of time that staging, repeated work and restores take at any interval.

    >>> round(least_overhead_without_writing(0.01, 1, 1.8, 3600), 4)
    0.0416
    """
    return restart_waste + (2 * persistent_every * checkpoint_staging_seconds / job_mean_time_to_interrupt) ** 0.5


@formula(unit="1", source=MODEL, where="w − b/τ − k·τ/2M − R/M", label="overhead left for writing", high=1)
def waste_left_for_dumps(waste_allowed: Num, overhead_without_writing: Num) -> Num:
    """Allowed overhead that remains for writing at an interval; at zero or below no bandwidth suffices."""
    return waste_allowed - overhead_without_writing


@formula(unit="s", source=MODEL, where="2·W·M/k", label="longest interval for the allowed overhead")
def longest_interval_for_waste(waste_left_after_restores: Num, job_mean_time_to_interrupt: Num, persistent_every: Num) -> Num:
    """Interval whose repeated work alone takes the allowed overhead.

    >>> longest_interval_for_waste(0.05, 10_000, 1)
    1000.0
    """
    return 2 * waste_left_after_restores * job_mean_time_to_interrupt / persistent_every


@formula(unit="s", source=MODEL, where="(W − b/τ − k·τ/2M)/(s/(k·τ) + 1/M)", label="time to write for the allowed overhead")
def dump_seconds_for_waste(
    waste_left_for_dumps: Num,
    stopped_share: Num,
    persistent_every: Num,
    checkpoint_interval: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Time that writing a checkpoint may take within the allowed overhead.

    >>> round(dump_seconds_for_waste(0.0096, 1, 1, 900, 3.093 * 3600), 2)
    7.99
    """
    return waste_left_for_dumps / (stopped_share / (persistent_every * checkpoint_interval) + 1 / job_mean_time_to_interrupt)


@formula(unit="s", source=MODEL, where="min(x·k·τ, t)", label="drain window")
def drain_window(drain_fraction: Num, persistent_every: Num, checkpoint_interval: Num, drain_time: Num) -> Num:
    """Time in which an asynchronous checkpoint drains: a share of its interval, and at most the time allowed.

    >>> drain_window(0.1, 1, 3600, 120), drain_window(0.1, 1, 600, 120)
    (120, 60.0)
    """
    return minimum(drain_fraction * persistent_every * checkpoint_interval, drain_time)


@formula(
    unit="s",
    source=MODEL,
    where="x·k·τ",
    label="share of the interval for the drain",
    of="drain_window",
    when="drained_within_share",
)
def drain_share_of_interval(drain_fraction: Num, persistent_every: Num, checkpoint_interval: Num) -> Num:
    """Share of the interval in which an asynchronous checkpoint drains."""
    return drain_fraction * persistent_every * checkpoint_interval


@formula(unit="s", source="definition", label="drain window for the allowed overhead")
def drain_window_for_waste(dump_seconds_for_waste: Num, drain_window: Num) -> Num:
    """Drain window that keeps the allowed overhead and ends in time."""
    return minimum(dump_seconds_for_waste, drain_window)


@formula(unit="B/s", source="definition", label="write bandwidth of the dump or drain time allowed")
def bandwidth_for_dump(checkpoint_bytes: Num, dump_seconds_allowed: Num) -> Num:
    """Write bandwidth that writes a checkpoint within the time allowed."""
    return checkpoint_bytes / dump_seconds_allowed


@formula(unit="s", source=MODEL, where="fixed part + bytes per GPU ÷ staging rate", label="time to stage a checkpoint")
def checkpoint_staging_seconds(
    staging_fixed_seconds: Num, checkpoint_bytes_per_rank_max: Num, staging_bandwidth_per_gpu: Num
) -> Num:
    """Stall per asynchronous checkpoint: time in which GPUs wait for its copy into host memory.

    >>> round(checkpoint_staging_seconds(0.5, 988e9 / 1_856, 1.7e9), 2)
    0.81
    """
    return staging_fixed_seconds + checkpoint_bytes_per_rank_max / staging_bandwidth_per_gpu


@formula(unit="1", source="definition", label="training time lost to staging", high=1)
def staging_overhead(checkpoint_staging_seconds: Num, checkpoint_interval: Num) -> Num:
    """Share of time in which GPUs wait for the copy of an asynchronous checkpoint into host memory."""
    return checkpoint_staging_seconds / checkpoint_interval


@formula(unit="1", source=MODEL, where="s·δ/(k·τ)", label="training time lost while checkpoints are written", high=1)
def writing_overhead(stopped_share: Num, checkpoint_dump_seconds: Num, persistent_every: Num, checkpoint_interval: Num) -> Num:
    """Share of time lost while checkpoints are written: the slow-down of a drain, or all of a dump."""
    return stopped_share * checkpoint_dump_seconds / (persistent_every * checkpoint_interval)


@formula(unit="1", source="young1974", where="(k·τ/2 + δ)/M", label="work repeated after interrupts", high=1)
def lost_work_overhead(
    persistent_every: Num, checkpoint_interval: Num, checkpoint_dump_seconds: Num, job_mean_time_to_interrupt: Num
) -> Num:
    """Share of time spent again on work since the last checkpoint: half an interval, and the dump or drain.

    >>> round(lost_work_overhead(1, 1113.4, 111.34, 11_134), 4)
    0.06
    """
    return (persistent_every * checkpoint_interval / 2 + checkpoint_dump_seconds) / job_mean_time_to_interrupt


@formula(unit="1", source="definition", label="goodput loss from restores", high=1)
def restart_waste(restart_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Goodput loss from restores: share of time that the job spends reading checkpoints after interrupts."""
    return restart_seconds / job_mean_time_to_interrupt


@formula(unit="1", source=MODEL, where="b/τ + s·δ/(k·τ) + (k·τ/2 + δ)/M + R/M", label="checkpoint overhead", high=1)
def checkpoint_overhead(staging_overhead: Num, writing_overhead: Num, lost_work_overhead: Num, restart_waste: Num) -> Num:
    """Storage's part of the time lost: staging, writing, repeated work and restores.

    >>> round(checkpoint_overhead(0.001, 0.05, 0.06, 0.01), 3)
    0.121
    """
    return staging_overhead + writing_overhead + lost_work_overhead + restart_waste


@formula(unit="1", source="kokolis2024", where="u0 of E[ETTR], and the restore", label="time lost to restarts", high=1)
def restart_overhead(restart_seconds: Num, reschedule_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Share of time that restarts take: detection, new nodes and start of the job, and the restore.

    >>> round(restart_overhead(120, 600, 11_134), 4)
    0.0647
    """
    return (restart_seconds + reschedule_seconds) / job_mean_time_to_interrupt


@formula(unit="1", source="kokolis2024", where="1 − E[ETTR]", label="total overhead", high=1)
def total_overhead(checkpoint_overhead: Num, reschedule_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Share of time lost: storage's part, and detection, new nodes and start of the job after each interrupt.

    >>> round(total_overhead(0.12, 600, 11_134), 4)
    0.1739
    """
    return checkpoint_overhead + reschedule_seconds / job_mean_time_to_interrupt


@formula(unit="1", source="definition", label="checkpoint stall fraction", high=1)
def checkpoint_stall_fraction(checkpoint_stall_seconds: Num, checkpoint_interval: Num) -> Num:
    """Share of time in which GPUs wait for checkpoints.

    >>> round(checkpoint_stall_fraction(11.364, 495.5), 4)
    0.0224
    """
    return checkpoint_stall_seconds / (checkpoint_interval + checkpoint_stall_seconds)


@formula(
    unit="1", source="definition", where="δ/(k·(τ + stall))", label="share of time in which a run writes checkpoints", high=1
)
def drain_duty(
    checkpoint_dump_seconds: Num, persistent_every: Num, checkpoint_interval: Num, checkpoint_stall_seconds: Num
) -> Num:
    """Share of time in which a run writes checkpoints to shared storage.

    >>> round(drain_duty(111.34, 1, 1113.4, 0.704), 4)
    0.0999
    """
    return checkpoint_dump_seconds / (persistent_every * (checkpoint_interval + checkpoint_stall_seconds))
