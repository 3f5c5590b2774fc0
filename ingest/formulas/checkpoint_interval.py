"""Checkpoint interval, checkpoint overhead, and the write bandwidth that limits the overhead.

M is the job's mean time to interrupt, δ the time of one dump, τ the interval (computing between two dumps), w the overhead
(share of time lost).
"""

from ingest.engine.expression import Num, ceil, maximum, where
from ingest.engine.registry import formula

MODEL = "ingest-checkpoint-model"


@formula(unit="node", source="definition")
def nodes_in_job(gpus: Num, gpus_per_node: Num) -> Num:
    """Nodes that the job's GPUs fill.

    >>> nodes_in_job(16_384, 8)
    2048
    """
    return ceil(gpus / gpus_per_node)


@formula(unit="1/s/node", source="definition", label="failure rate of a node")
def failures_per_node_second(observed_interrupts: Num, observed_seconds: Num, observed_nodes: Num) -> Num:
    """Failure rate of one node, from interrupts counted on a cluster.

    >>> failures_per_node_second(419, 54 * 86_400, 2048) * 86_400 * 1000
    3.788...
    """
    return observed_interrupts / observed_seconds / observed_nodes


@formula(unit="s", source="definition", label="observed mean time to interrupt")
def observed_mean_time_to_interrupt(observed_seconds: Num, observed_interrupts: Num) -> Num:
    """Mean time to interrupt (MTTI) that the counted interrupts show.

    >>> observed_mean_time_to_interrupt(54 * 86_400, 419) / 3600
    3.0930...
    """
    return observed_seconds / observed_interrupts


@formula(unit="1", source="definition")
def interrupts_share(interrupts_of_cause: Num, observed_interrupts: Num) -> Num:
    """Share of the interrupts that one cause accounts for.

    >>> round(interrupts_share(148, 419), 3)
    0.353
    """
    return interrupts_of_cause / observed_interrupts


@formula(unit="1/s/GPU", source="definition")
def failures_per_gpu_second(observed_interrupts: Num, observed_seconds: Num, observed_gpus: Num) -> Num:
    """Failure rate of one GPU with its share of the node.

    >>> round(1 / failures_per_gpu_second(419, 54 * 86_400, 16_384) / 3600)
    50677
    """
    return observed_interrupts / observed_seconds / observed_gpus


@formula(unit="GPU", source="definition")
def observed_gpus(observed_nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of the observed cluster.

    >>> observed_gpus(2048, 8)
    16384
    """
    return observed_nodes * gpus_per_node


@formula(
    unit="s",
    source=MODEL,
    where="nodes in series, and failures that stop all nodes: 1/(n·λ + λ0)",
    label="mean time to interrupt",
)
def job_mean_time_to_interrupt(nodes_in_job: Num, failures_per_node_second: Num, common_failures_per_second: Num) -> Num:
    """Mean time to interrupt (MTTI) of a job that stops when any of its nodes fails.

    >>> job_mean_time_to_interrupt(2048, 0.0065 / 86_400, 0) / 3600
    1.8028...
    """
    return 1 / (nodes_in_job * failures_per_node_second + common_failures_per_second)


@formula(unit="s", source="limelead-quartz", where="note on availability")
def repair_seconds_allowed(job_mean_time_to_interrupt: Num, uptime_share: Num) -> Num:
    """Longest repair time, restart included, that still leaves the required uptime.

    >>> repair_seconds_allowed(2.5 * 3600, 0.9) / 60
    16.666...
    """
    return job_mean_time_to_interrupt * (1 - uptime_share) / uptime_share


@formula(unit="s", source="definition", label="time to write a checkpoint")
def checkpoint_dump_seconds(checkpoint_bytes: Num, checkpoint_write_bandwidth: Num) -> Num:
    """Time to write one checkpoint: δ.

    >>> round(checkpoint_dump_seconds(5.682e12, 500e9), 2)
    11.36
    """
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
    unit="1", source="young1974", where="the overhead at Young's interval, without restarts", label="least checkpoint overhead"
)
def least_waste(checkpoint_dump_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Checkpoint overhead (share of time lost) at the optimal interval: √(2δ/M).

    >>> round(least_waste(11.364, 3.093 * 3600), 4)
    0.0452
    """
    return (2 * checkpoint_dump_seconds / job_mean_time_to_interrupt) ** 0.5


@formula(unit="1", source="young1974", where="δ/τ + τ/2M", label="overhead of synchronous checkpoints")
def synchronous_waste(checkpoint_dump_seconds: Num, checkpoint_interval: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Overhead of synchronous checkpoints: share of time lost to dumps, for which the GPUs wait, and to repeated work.

    >>> round(synchronous_waste(11.364, 495.5, 3.093 * 3600), 4)
    0.0452
    """
    return checkpoint_dump_seconds / checkpoint_interval + checkpoint_interval / (2 * job_mean_time_to_interrupt)


@formula(unit="1", source=MODEL, where="δs/τ + (k·τ/2 + drain)/M", label="overhead of asynchronous checkpoints")
def asynchronous_waste(
    device_copy_seconds: Num,
    checkpoint_interval: Num,
    persistent_every: Num,
    checkpoint_dump_seconds: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Overhead of asynchronous checkpoints: share of time lost to copies into host memory and to work since the last drain.

    >>> round(asynchronous_waste(0.01, 900, 1, 900, 3.093 * 3600), 4)
    0.1213
    """
    return (
        device_copy_seconds / checkpoint_interval
        + (persistent_every * checkpoint_interval / 2 + checkpoint_dump_seconds) / job_mean_time_to_interrupt
    )


@formula(unit="1", source="definition", label="goodput loss from restores")
def restart_waste(restart_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Goodput loss from restores: share of time that the job spends reading checkpoints after interrupts.

    >>> round(restart_waste(600, 3.093 * 3600), 4)
    0.0539
    """
    return restart_seconds / job_mean_time_to_interrupt


@formula(
    unit="B/s",
    source=MODEL,
    where="B ≥ 2S/(w²M), from the overhead at Young's interval",
    label="write bandwidth for the allowed overhead",
)
def bandwidth_for_waste(checkpoint_bytes: Num, waste_allowed: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Write bandwidth at which synchronous checkpoints at the optimal interval stay within the allowed overhead.

    >>> round(bandwidth_for_waste(5.682e12, 0.05, 3.093 * 3600) / 1e9)
    408
    """
    return 2 * checkpoint_bytes / (waste_allowed * waste_allowed * job_mean_time_to_interrupt)


@formula(unit="1", source=MODEL, where="w − τ/2M", label="overhead left for dumps")
def waste_left_for_dumps(waste_allowed: Num, checkpoint_interval: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Allowed overhead that remains for dumps at a fixed interval; at zero or below no bandwidth suffices.

    >>> round(waste_left_for_dumps(0.05, 900, 3.093 * 3600), 4)
    0.0096
    """
    return waste_allowed - checkpoint_interval / (2 * job_mean_time_to_interrupt)


@formula(unit="B/s", source=MODEL, where="S/(τ·(w − τ/2M))")
def bandwidth_for_interval(checkpoint_bytes: Num, checkpoint_interval: Num, waste_left_for_dumps: Num) -> Num:
    """Write bandwidth at which synchronous checkpoints at a fixed interval stay within the allowed overhead.

    >>> round(bandwidth_for_interval(5.682e12, 900, 0.0096) / 1e9)
    658
    """
    return checkpoint_bytes / (checkpoint_interval * waste_left_for_dumps)


@formula(unit="B/s", source="definition")
def bandwidth_for_dump(checkpoint_bytes: Num, dump_seconds_allowed: Num) -> Num:
    """Write bandwidth that writes a checkpoint within the time allowed.

    >>> round(bandwidth_for_dump(2.4e15, 432) / 1e12, 2)
    5.56
    """
    return checkpoint_bytes / dump_seconds_allowed


@formula(
    unit="B/s",
    source=MODEL,
    where="S/(x·k·τ): every k-th checkpoint, drain window x of its interval",
    label="write bandwidth of the drain window",
)
def drain_bandwidth(checkpoint_bytes: Num, drain_fraction: Num, persistent_every: Num, checkpoint_interval: Num) -> Num:
    """Write bandwidth that drains an asynchronous checkpoint within its drain window.

    >>> drain_bandwidth(5.682e12, 1, 1, 900) / 1e9
    6.3133...
    """
    return checkpoint_bytes / (drain_fraction * persistent_every * checkpoint_interval)


@formula(unit="s", source=MODEL, where="S/(x·k·B)", label="shortest interval of the drain window")
def drain_limited_interval(checkpoint_bytes: Num, drain_fraction: Num, persistent_every: Num, write_bandwidth: Num) -> Num:
    """Shortest interval at which a given bandwidth drains each asynchronous checkpoint within its drain window.

    >>> drain_limited_interval(5.682e12, 1, 1, 500e9)
    11.364
    """
    return checkpoint_bytes / (drain_fraction * persistent_every * write_bandwidth)


@formula(
    unit="1/s",
    source=MODEL,
    where="k·(½ + x)/M: half an interval and its drain are lost per interrupt",
    label="overhead per second of the interval",
)
def waste_per_second_of_interval(drain_fraction: Num, persistent_every: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Overhead that each second of an asynchronous checkpoint interval adds.

    >>> 0.05 / waste_per_second_of_interval(1, 1, 3.093 * 3600)
    371.16
    """
    return persistent_every * (0.5 + drain_fraction) / job_mean_time_to_interrupt


@formula(
    unit="1", source=MODEL, where="w² − 4·a·δs; below zero no interval is that cheap", label="margin of the allowed overhead"
)
def waste_margin(waste_allowed: Num, waste_per_second_of_interval: Num, device_copy_seconds: Num) -> Num:
    """Allowed overhead squared, less the part for copies into host memory; below zero no interval meets it.

    >>> waste_margin(0.05, 0.0001, 0.0)
    0.0025
    """
    return waste_allowed * waste_allowed - 4 * waste_per_second_of_interval * device_copy_seconds


@formula(
    unit="s",
    source=MODEL,
    where="larger root of δs/τ + a·τ = w, or the interval of least overhead √(δs/a)",
    label="interval for the allowed overhead",
)
def interval_for_waste(
    waste_allowed: Num, waste_margin: Num, waste_per_second_of_interval: Num, device_copy_seconds: Num
) -> Num:
    """Longest interval of asynchronous checkpoints within the allowed overhead; else the interval of least overhead.

    >>> interval_for_waste(0.05, 0.0025, 0.05 / 371.16, 0)
    371.16
    """
    return where(
        waste_margin >= 0,
        (waste_allowed + maximum(waste_margin, 0) ** 0.5) / (2 * waste_per_second_of_interval),
        (device_copy_seconds / waste_per_second_of_interval) ** 0.5,
    )


@formula(unit="s", source=MODEL, where="bytes per GPU ÷ device-to-host rate")
def device_copy_seconds(checkpoint_bytes_per_rank_max: Num, device_to_host_bandwidth: Num) -> Num:
    """Stall per asynchronous checkpoint: time in which GPUs wait for the copy into host memory.

    >>> device_copy_seconds(347e6, 50e9)
    0.00694
    """
    return checkpoint_bytes_per_rank_max / device_to_host_bandwidth


@formula(unit="1", source="definition", label="checkpoint stall fraction")
def checkpoint_stall_fraction(checkpoint_stall_seconds: Num, checkpoint_interval: Num) -> Num:
    """Share of time in which GPUs wait for checkpoints.

    >>> round(checkpoint_stall_fraction(11.364, 495.5), 4)
    0.0224
    """
    return checkpoint_stall_seconds / (checkpoint_interval + checkpoint_stall_seconds)


@formula(
    unit="1",
    source="young1974",
    where="τ/M: the overhead where this interval is optimal",
    label="overhead of the optimal interval",
)
def waste_at_interval(checkpoint_interval: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Overhead of synchronous checkpoints where this interval is the optimal one.

    >>> waste_at_interval(556.7, 11_134)
    0.05
    """
    return checkpoint_interval / job_mean_time_to_interrupt


@formula(
    unit="1",
    source=MODEL,
    where="farthest from the chord of w ↦ w⁻² over the range shown",
    label="overhead at the knee of synchronous checkpoints",
)
def knee_waste_synchronous(waste_from: Num, waste_to: Num) -> Num:
    """Overhead at the knee of bandwidth over overhead, synchronous: below it the bandwidth soars, above it little is saved.

    >>> round(knee_waste_synchronous(0.01, 0.2), 4)
    0.0336
    """
    return (2 * (waste_to * waste_from) ** 2 / (waste_to + waste_from)) ** (1 / 3)


@formula(
    unit="1",
    source=MODEL,
    where="farthest from the chord of w ↦ w⁻¹ over the range shown",
    label="overhead at the knee of asynchronous checkpoints",
)
def knee_waste_asynchronous(waste_from: Num, waste_to: Num) -> Num:
    """Overhead at the knee of bandwidth over overhead, asynchronous: the bandwidth falls in proportion to the overhead.

    >>> round(knee_waste_asynchronous(0.01, 0.2), 4)
    0.0447
    """
    return (waste_from * waste_to) ** 0.5
