"""Goodput: the share of the time that is progress, in closed form and per GB/s of write bandwidth.

M is the mean time to interrupt, δ the time of one dump or drain, τ the interval, k the number of checkpoints per persistent
one, b the stall for staging, s the share of training that stops while a checkpoint is written, R the restart.
"""

import math

from ingest.engine.expression import Num, maximum, minimum, where
from ingest.engine.registry import alternative, formula, input_quantity
from ingest.formulas.checkpoint_interval import MODEL

input_quantity("lost_work_fraction", "1", "Share of the duration spent on work that an interrupt destroyed.",
    above=False, high=1)  # fmt: skip
input_quantity("restart_fraction", "1", "Share of the duration between an interrupt and the next step of training.",
    above=False, high=1)  # fmt: skip
input_quantity("drain_slowdown_fraction", "1", "Share of the duration lost because draining checkpoints slow training.",
    above=False, high=1)  # fmt: skip
input_quantity("simulated_runs", "1", "Simulated runs, each with interrupts of its own.", whole=True)
input_quantity("simulation_seed", "1", "Seed of the random interrupts.", above=False, whole=True)
input_quantity("spare_nodes", "node", "Spare nodes that replace failed ones.", above=False, whole=True, high=1e8)
input_quantity("repair_seconds", "s", "Time until a failed node is available again.", label="repair time")
input_quantity("near_recovery_share", "1", "Share of the interrupts that leave the checkpoint in host memory or NVMe readable.",
    above=False, high=1, label="interrupts survived by the near tier")  # fmt: skip
input_quantity("near_restore_seconds", "s", "Time to restore from host memory or NVMe of the nodes.",
    above=False, label="restore from the near tier")  # fmt: skip
alternative("near_restore_seconds", "checkpoint_staging_seconds", when="runs_simulated")
input_quantity("bought_bandwidth", "B/s", "Bandwidth of the storage that checkpoints share with reads of other jobs.")
input_quantity("other_jobs_read_bandwidth", "B/s", "Reads of other jobs from the storage of the checkpoints.", above=False)
input_quantity("restore_bandwidth", "B/s", "Read bandwidth of the storage that is available for a restore.")
input_quantity("doubled_bandwidth", "B/s", "Write bandwidth that is doubled.")
input_quantity("goodput_before", "1", "Goodput before the write bandwidth is doubled.", above=False, high=1)
input_quantity("goodput_after", "1", "Goodput after the write bandwidth is doubled.", above=False, high=1)
input_quantity("bandwidth_step", "B/s", "Step of bandwidth for which a gain is stated: 1 GB/s.", default=1e9)


@formula(unit="B/s", source="definition", label="bandwidth left by reads of other jobs")
def bandwidth_beside_reads(bought_bandwidth: Num, other_jobs_read_bandwidth: Num) -> Num:
    """Bandwidth that reads of other jobs leave to checkpoints; 0 or below leaves none."""
    return bought_bandwidth - other_jobs_read_bandwidth


@formula(unit="s", source="definition", label="restore time at the restore bandwidth")
def restore_seconds(restart_read_bytes: Num, restore_bandwidth: Num) -> Num:
    """Time to read a checkpoint at the restore bandwidth; all readers of a restart share it."""
    return restart_read_bytes / restore_bandwidth


@formula(unit="s", source=MODEL, where="max(k·(τ + b) + s·δ, δ + b)", label="time from one persistent checkpoint to the next")
def persistent_period_seconds(
    persistent_every: Num,
    checkpoint_interval: Num,
    checkpoint_staging_seconds: Num,
    stopped_share: Num,
    checkpoint_dump_seconds: Num,
) -> Num:
    """Time from one persistent checkpoint to the next: work, stalls and slow-down, or the drain that the next one awaits.

    >>> persistent_period_seconds(1, 900, 1, 0.5, 90), persistent_period_seconds(1, 60, 1, 0.5, 90)
    (946.0, 106.0)
    """
    return maximum(
        persistent_every * (checkpoint_interval + checkpoint_staging_seconds) + stopped_share * checkpoint_dump_seconds,
        checkpoint_dump_seconds + checkpoint_staging_seconds,
    )


@formula(
    unit="s", source=MODEL, where="k·(τ + b) + δ − period; 0 where GPUs wait for the dump", label="lag of a drain", above=False
)
def checkpoint_lag_seconds(
    persistent_every: Num,
    checkpoint_interval: Num,
    checkpoint_staging_seconds: Num,
    checkpoint_dump_seconds: Num,
    persistent_period_seconds: Num,
) -> Num:
    """Time by which a checkpoint is complete later than the period in which its work was done.

    >>> checkpoint_lag_seconds(1, 900, 1, 90, 946)
    45
    """
    return (
        persistent_every * (checkpoint_interval + checkpoint_staging_seconds)
        + checkpoint_dump_seconds
        - persistent_period_seconds
    )


@formula(unit="1", source="definition")
def interrupts_per_period(persistent_period_seconds: Num, job_mean_time_to_interrupt: Num) -> Num:
    """Mean number of interrupts from one persistent checkpoint to the next."""
    return persistent_period_seconds / job_mean_time_to_interrupt


@formula(
    unit="1",
    source="definition",
    where="1 − e^−x; below 0.1 its Padé approximant [4/4], which is exact in floating point and loses no digits",
    high=1,
)
def interrupted_period_share(interrupts_per_period: Num) -> Num:
    """Share of the periods in which an exponential interrupt strikes.

    >>> round(interrupted_period_share(0.5), 6), interrupted_period_share(1e-12)
    (0.393469, 1e-12)
    """
    return where(
        interrupts_per_period < 0.1,
        minimum(interrupts_per_period, 0.1)
        * (1 + minimum(interrupts_per_period, 0.1) ** 2 / 42)
        / (
            1
            + minimum(interrupts_per_period, 0.1) / 2
            + 3 * minimum(interrupts_per_period, 0.1) ** 2 / 28
            + minimum(interrupts_per_period, 0.1) ** 3 / 84
            + minimum(interrupts_per_period, 0.1) ** 4 / 1680
        ),
        1 - math.e ** (0 - interrupts_per_period),
    )


@formula(
    unit="1",
    source="daly2006",
    where="eq. 20, with the lag of a drain: k·τ/M · e^−((R + lag + L)/M) ÷ (1 − e^−(L/M)), L the period",
    label="goodput in closed form",
    above=False,
    high=1,
)
def goodput_closed_form(
    persistent_every: Num,
    checkpoint_interval: Num,
    persistent_period_seconds: Num,
    interrupted_period_share: Num,
    checkpoint_lag_seconds: Num,
    restart_seconds: Num,
    reschedule_seconds: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Expected share of progress with exponential interrupts, in restarts too: Daly's exact model.

    >>> round(goodput_closed_form(1, 495.5, 506.9, 0.044502, 0, 120, 600, 3.093 * 3600), 4)
    0.8956
    """
    return (
        persistent_every
        * checkpoint_interval
        / job_mean_time_to_interrupt
        * math.e
        ** (
            0
            - (restart_seconds + reschedule_seconds + checkpoint_lag_seconds + persistent_period_seconds)
            / job_mean_time_to_interrupt
        )
        / interrupted_period_share
    )


@formula(unit="1", source="definition", label="goodput gained per GB/s", low=-math.inf)
def goodput_gain_share(goodput_before: Num, goodput_after: Num, doubled_bandwidth: Num, bandwidth_step: Num) -> Num:
    """Marginal gain: share of the time that one more GB/s turns into progress, while the write bandwidth is doubled.

    >>> round(goodput_gain_share(0.90, 0.92, 50e9, 1e9), 6)
    0.0004
    """
    return (goodput_after - goodput_before) / doubled_bandwidth * bandwidth_step


@formula(unit="GPU", source="definition", label="GPUs gained per GB/s", low=-math.inf)
def gpus_gained(goodput_gain_share: Num, gpus: Num) -> Num:
    """GPUs whose work one more GB/s of write bandwidth adds to the job."""
    return goodput_gain_share * gpus
