"""A training run as its log states it: steps with their samples and times, checkpoints, GPUs."""

from __future__ import annotations

from typing import NamedTuple


class LogStep(NamedTuple):
    """One line of a log that states a step, or several steps together.

    Attributes:
        line: its line in the file.
        number: of the last step, as printed.
        seconds: time of what the line covers; None where only the clock tells.
        samples: samples of the whole job that the line covers; None where only the batch of one GPU is known.
        per_gpu: samples or tokens per second of one GPU, where the log prints a rate.
        rate: samples per second of the whole job, where the log prints that and no time.
        clock: seconds of the wall clock, or of the run; None where the line has no time.
    """

    line: int
    number: int
    seconds: float | None = None
    samples: float | None = None
    per_gpu: float | None = None
    rate: float | None = None
    clock: float | None = None


class Checkpoint(NamedTuple):
    """One checkpoint that a log reports, and the seconds for which it held the job; None where the log does not tell."""

    line: int
    seconds: float | None


class TrainingLog(NamedTuple):
    """What a log of a training run states.

    Attributes:
        program: the program or the format that wrote it.
        steps: in the order of the file.
        checkpoints: saved checkpoints.
        gpus: of the job, where the log states them.
        batch: samples of one step of the whole job.
        rate: samples per second of the whole run, where the log has no single steps.
        rates: samples per second of each epoch, beside the rate of the whole run.
        unit: of `per_gpu` and `rate`: `sample` or `token`.
        remark: how the rate was counted.
        stall: share of the time in which accelerators waited, where the log states it.
    """

    program: str
    steps: tuple[LogStep, ...]
    checkpoints: tuple[Checkpoint, ...] = ()
    gpus: int | None = None
    batch: float | None = None
    rate: float | None = None
    rates: tuple[float, ...] = ()
    unit: str = "sample"
    remark: str = ""
    stall: float | None = None


def positive(found: object) -> float | None:
    """A number above 0 in a log, below any that a run can have; None for all else."""
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < 1e18 else None
