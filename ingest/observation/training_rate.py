"""The rate of a training run from its log: steady steps, their spread, checkpoint pauses, restarts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import fmean, median, pstdev, quantiles

from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError
from ingest.observation.log_agreement import MOST_CLOCK_SHARE, clock_share
from ingest.observation.observation import Figure, Reading, Window
from ingest.observation.steady_window import LEAST_BINS, Steady, steady_part
from ingest.observation.training_log import LogStep, TrainingLog

SOURCE = "training log"
#: A gap between two lines of the clock that takes this many times the usual one is a pause: a checkpoint, an evaluation.
PAUSE_BEYOND = 3.0
#: A line is long that takes so many times the usual time of its samples, and differs from it by so many deviations; more of
#: them than this share are the job's own rhythm.
LONG_BEYOND, DEVIATIONS, MOST_LONG = 1.5, 10.0, 0.1
#: The median of absolute deviations is this share of the standard deviation, if they are normal.
MEDIAN_DEVIATION = 0.6745
#: A run whose mean is so much below its steady rate slows down or stops: that is said.
MEAN_BELOW = 0.25
#: Fewer rounds of all workers tell no spread.
LEAST_ROUNDS = 20
#: Some logs tell their GPUs by two printed rates, which leaves so much open.
GPUS_WITHIN = 0.01


def training_reading(log: TrainingLog, path: str, gpus: int | None, samples_per_step: float | None,
                     tokens_per_sample: float | None, workers: int | None = None) -> Reading:  # fmt: skip
    """Figures of a training log.

    Args:
        log: the steps.
        path: the file, for messages.
        gpus: GPUs of the job; None takes those that the log states.
        samples_per_step: samples of one step of the whole job, where the log does not state them.
        tokens_per_sample: tokens of one sample, for logs that count tokens.
        workers: worker processes that load for one GPU, where they are known.

    Raises:
        UsageError: an option contradicts the log.
        IngestError: the log leaves the rate open, with what would settle it, or no part of the run is steady.
    """
    _agree(log, path, gpus, samples_per_step)
    count = gpus or log.gpus
    steps, restarts = _longest_attempt(log.steps)
    warnings = list(_of_attempts(path, log.steps))
    figures: dict[str, Figure] = {}
    window: Window | None = None
    level = steps
    if log.rate is not None:
        whole = Figure(log.rate, "sample/s", SOURCE, None, note=log.remark)
        if log.rates:
            ends = min(log.rate, *log.rates), max(log.rate, *log.rates)
            whole = whole._replace(low=ends[0], high=ends[1])
            if ends[0] < (1 - MEAN_BELOW) * ends[1]:
                warnings.append(
                    f"{path}: its epochs make {ends[0]:.4g} to {ends[1]:.4g} sample/s: a cache may serve the fast ones; the "
                    "rate is their mean"
                )
        if log.program != "DLIO":
            warnings.append(
                f"{path}: the rate is the mean of the whole run: evaluations and checkpoints lower it; of a resumed run it is "
                "too high, for its time counts from there"
            )
    elif steps[0].per_gpu is not None or steps[0].rate is not None:
        each = 1.0 if log.unit == "sample" else tokens_per_sample
        if each is None or (count is None and steps[0].rate is None):
            need = "--gpus" if each is not None else "--tokens-per-sample (the sequence length)"
            raise IngestError(f"{path}: the {log.program} log has {log.unit}s per second of one GPU, expected {need} beside it")
        # Steps are of one size: a slow one counts by the time that it takes.
        amounts = [float(one) for one in _covered(steps)]
        speeds = [one.rate if one.rate is not None else (one.per_gpu or 1) * (count or 1) for one in steps]
        seconds = [amount * each / speed for amount, speed in zip(amounts, speeds, strict=True)]
        whole, steady = _steady(path, seconds, amounts, log.remark)
        warnings += _of_slow_lines(path, seconds, amounts, steady, whole.value)
        window = _by_the_clock(steady, steps)
        whole = whole._replace(window=window)
    else:
        batches = [one.samples or samples_per_step or log.batch for one in steps]
        if None in batches:
            raise IngestError(
                f"{path}: the {log.program} log does not state the batch size, expected --samples-per-step beside it"
            )
        covered = _covered(steps)
        seconds = [(one.seconds or 0) * lines for one, lines in zip(steps, covered, strict=True)]
        amounts = [(one or 0) * lines for one, lines in zip(batches, covered, strict=True)]
        share = clock_share(steps, covered, path) if log.program == "Megatron" else None
        kept = _without_checkpoints(log, steps, seconds, amounts)
        steps, covered = [steps[at] for at in kept], [covered[at] for at in kept]
        seconds, amounts = [seconds[at] for at in kept], [amounts[at] for at in kept]
        whole, steady = _steady(path, seconds, amounts, log.remark)
        warnings += _of_slow_lines(path, seconds, amounts, steady, whole.value)
        if share is not None and share > MOST_CLOCK_SHARE:
            warnings.append(
                f"{path}: the clock passes {share:.3g} s for each second that the steps take: evaluations, checkpoints or "
                "waits lie between them, and the rate is that of the steps alone"
            )
        window, level = steady.window, steps[steady.first : steady.last]
        figures |= _rounds(seconds[steady.first : steady.last], covered, workers)
    figures |= {"real_samples_per_second": whole}
    unknown = {}
    if count is None:
        unknown["samples_per_second_per_gpu"] = "the log does not state the GPUs of the job; --gpus does"
    else:
        figures["samples_per_second_per_gpu"] = _per_gpu(whole, count)
    if window is not None:
        figures["window_seconds"] = Figure(window.seconds, "s", SOURCE, window)
    if log.stall is not None:
        figures["stall_fraction"] = Figure(log.stall, "1", SOURCE, note="1 − accelerator utilization")
    figures |= _batch(log, level, samples_per_step, count)
    figures |= _of_checkpoints(log)
    figures |= _of_restarts(log, restarts)
    facts = {"program": log.program, "steps": len(log.steps), "checkpoints": len(log.checkpoints), "restarts": restarts}
    return Reading(SOURCE, figures, unknown, tuple(warnings), facts=facts | ({"gpus": count} if count else {}))


def _agree(log: TrainingLog, path: str, gpus: int | None, samples_per_step: float | None) -> None:
    """Refuse options that contradict what the log states of its job."""
    if gpus is not None and log.gpus is not None and abs(gpus - log.gpus) > GPUS_WITHIN * log.gpus:
        raise UsageError(f"--gpus: found {gpus:,}, expected the {log.gpus:,} that {path} states, or no --gpus")
    batches = {one.samples for one in log.steps if one.samples is not None} if log.program == "Megatron" else set()
    if samples_per_step is not None and batches and samples_per_step not in batches:
        raise UsageError(
            f"--samples-per-step: found {samples_per_step:g}, expected the {median(batches):g} that {path} states, or no "
            "--samples-per-step"
        )


def _longest_attempt(steps: Sequence[LogStep]) -> tuple[Sequence[LogStep], int]:
    """The longest stretch of ascending steps, and how often the numbers fall: each fall is a restart from a checkpoint."""
    attempts = _attempts(steps)
    return max(attempts, key=len), len(attempts) - 1


def _attempts(steps: Sequence[LogStep]) -> list[Sequence[LogStep]]:
    """The stretches of ascending steps."""
    falls = [place for place, (before, after) in enumerate(pairwise(steps), 1) if after.number < before.number]
    return [steps[first:last] for first, last in pairwise([0, *falls, len(steps)])]


def _of_attempts(path: str, steps: Sequence[LogStep]) -> Iterator[str]:
    """The attempt that differs most in speed from the longest, whose rate stands for the job."""
    speeds = [(_speed(one), one) for one in _attempts(steps) if len(one) >= LEAST_BINS]
    longest = max((one for _, one in speeds), key=len, default=None)
    mine = None if longest is None else _speed(longest)
    if longest is None or not mine:
        return
    found, other = max(speeds, key=lambda one: max(one[0], mine) / (min(one[0], mine) or 1))
    if min(found, mine) < (1 - MEAN_BELOW) * max(found, mine):
        yield (
            f"{path}:{other[0].line}: the job ran {found / mine:.3g} times as fast between two restarts, from step "
            f"{other[0].number:,} on: the rate is that of its longest attempt, from step {longest[0].number:,} on"
        )


def _speed(steps: Sequence[LogStep]) -> float:
    """The median speed of the lines, in a measure of the log's own; 0 where it is not known."""
    return median(one.rate or one.per_gpu or (one.samples or 1) / (one.seconds or 1) for one in steps)


def _covered(steps: Sequence[LogStep]) -> list[int]:
    """How many steps each line covers: those since the line before; the first line as many as the second."""
    counts = [max(1, after.number - before.number) for before, after in pairwise(steps)]
    return [*counts[:1], *counts] or [1]


def _by_the_clock(steady: Steady, steps: Sequence[LogStep]) -> Window | None:
    """The window of a log that prints rates: by the times of its lines; None where they have none."""
    clocks = [one.clock for one in steps if one.clock is not None]
    if len(clocks) < len(steps):
        return None
    first, last = clocks[max(steady.first - 1, 0)], clocks[steady.last - 1]
    return steady.window._replace(seconds=last - first, cut_before=first - clocks[0], cut_after=clocks[-1] - last)


def _steady(path: str, seconds: Sequence[float], samples: Sequence[float], remark: str) -> tuple[Figure, Steady]:
    times, totals = [0.0, *accumulate(seconds)], [0.0, *accumulate(samples)]
    found = steady_part(times, totals, by_amount=True)
    if found is None:
        raise IngestError(
            f"{path}: no steady part among {len(seconds)} lines of steps, expected at least {LEAST_BINS} at one rate"
        )
    given = {"observed_samples": totals[found.last] - totals[found.first], "window_seconds": found.window.seconds}
    rates = [amount / time for amount, time in zip(samples, seconds, strict=True)][found.first : found.last]
    tenths = quantiles(rates, n=10) if len(rates) > 1 else [rates[0]] * 9
    rate = float(solve("observed_samples_per_second", given))
    window = found.window._replace(note=f"{found.last - found.first} of {len(seconds)} lines of steps; {found.window.note}")
    ends = min(tenths[0], rate), max(tenths[-1], rate)
    return Figure(rate, "sample/s", SOURCE, window, low=ends[0], high=ends[1], note=remark), found._replace(window=window)


def long_lines(seconds: Sequence[float], samples: Sequence[float]) -> set[int]:
    """Lines that take far longer for their samples than the others do; none where they are many, or all vary as much.

    >>> long_lines([1.0] * 20 + [9.0], [64.0] * 21)
    {20}
    """
    paces = [time / amount for time, amount in zip(seconds, samples, strict=True)]
    usual = median(paces)
    spread = median(abs(pace - usual) for pace in paces) / MEDIAN_DEVIATION
    found = {at for at, pace in enumerate(paces) if pace > max(LONG_BEYOND * usual, usual + DEVIATIONS * spread)}
    return found if len(found) <= MOST_LONG * len(paces) else set()


def _without_checkpoints(
    log: TrainingLog, steps: Sequence[LogStep], seconds: Sequence[float], samples: Sequence[float]
) -> list[int]:
    """The lines whose time is that of training: all but long ones with a checkpoint since the line before."""
    long = long_lines(seconds, samples) if log.checkpoints else set()
    saved = [one.line for one in log.checkpoints]
    paused = {at for at in long if at and any(steps[at - 1].line < line <= steps[at].line for line in saved)}
    return [at for at in range(len(steps)) if at not in paused]


def _of_slow_lines(path: str, seconds: Sequence[float], samples: Sequence[float], steady: Steady, rate: float) -> Iterator[str]:
    """What slow lines do to the rate, within the steady part and outside: no log tells checkpoints from waits for data."""
    given = {"observed_samples": sum(samples), "window_seconds": sum(seconds)}
    mean = float(solve("observed_samples_per_second", given))
    if mean < (1 - MEAN_BELOW) * rate:
        yield (
            f"{path}: the whole run makes {mean:.4g} sample/s: it slows down or stops outside its steady part, which makes "
            f"{rate:.4g} sample/s"
        )
    inside = range(steady.first, steady.last)
    long = {at for at in long_lines(seconds, samples) if at in inside}
    if not long:
        return
    rest = [at for at in inside if at not in long]
    given = {"observed_samples": sum(samples[at] for at in rest), "window_seconds": sum(seconds[at] for at in rest)}
    other = float(solve("observed_samples_per_second", given))
    yield (
        f"{path}: {len(long):,} of {len(inside):,} lines take {LONG_BEYOND:g} times as long as usual or more: checkpoints, or "
        f"waits for data. The rate counts them; that of the other lines is {other:.4g} sample/s"
    )


def _per_gpu(whole: Figure, gpus: int) -> Figure:
    def each(rate: float) -> float:
        return float(solve("observed_samples_per_second_per_gpu", {"real_samples_per_second": rate, "observed_gpus": gpus}))

    low, high = (None if end is None else each(end) for end in (whole.low, whole.high))
    return whole._replace(value=each(whole.value), unit="sample/s/GPU", low=low, high=high)


def _rounds(seconds: Sequence[float], covered: Sequence[int], workers: int | None) -> dict[str, Figure]:
    """How the time of as many steps as there are workers varies, where each line of the log is one step."""
    if workers is None or max(covered) > 1 or len(seconds) < LEAST_ROUNDS * workers:
        return {}
    totals = [0.0, *accumulate(seconds)]
    rounds = [after - before for before, after in zip(totals, totals[workers:], strict=False)]
    varied = pstdev(rounds) / fmean(rounds)
    return {"step_round_variation": Figure(varied, "1", SOURCE, note=f"{workers} steps together")}


def _batch(log: TrainingLog, steps: Sequence[LogStep], given: float | None, gpus: int | None) -> dict[str, Figure]:
    """The batch of one GPU, where the log or the user states that of the job."""
    # A line of Megatron has the batch of its step; lines of other logs cover blocks, epochs or seconds.
    sizes = [float((one.samples if log.program == "Megatron" else None) or given or log.batch or 0) for one in steps]
    if gpus is None or not sizes or not median(sizes):
        return {}
    each = float(solve("observed_batch", {"job_samples_per_step": median(sizes), "observed_gpus": gpus}))
    return (
        {"samples_per_step": Figure(each, "sample/GPU", SOURCE, note="median of the steps")}
        if each >= 1 and each % 1 == 0
        else {}
    )


def _of_checkpoints(log: TrainingLog) -> dict[str, Figure]:
    """The mean pause of a checkpoint, where the log prints it or the clock shows it."""
    told = [one.seconds for one in log.checkpoints if one.seconds is not None]
    if not told:
        told = _pauses(log)
    return (
        {"checkpoint_stall_seconds": Figure(fmean(told), "s", SOURCE, note=f"mean; checkpoints: {len(told)}")} if told else {}
    )


def _pauses(log: TrainingLog) -> list[float]:
    """The time beyond the usual between two lines that have a checkpoint between them."""
    timed = [one for one in log.steps if one.clock is not None]
    gaps = [((after.clock or 0) - (before.clock or 0), before.line, after.line) for before, after in pairwise(timed)]
    if not gaps:
        return []
    usual = median(gap for gap, *_ in gaps)
    saved = [one.line for one in log.checkpoints]
    return [gap - usual for gap, first, last in gaps if gap > PAUSE_BEYOND * usual and any(first < one < last for one in saved)]


def _of_restarts(log: TrainingLog, restarts: int) -> dict[str, Figure]:
    clocks = [one.clock for one in log.steps if one.clock is not None]
    if not restarts or len(clocks) < 2 or clocks[-1] <= clocks[0]:
        return {}
    given = {"observed_seconds": clocks[-1] - clocks[0], "observed_interrupts": restarts}
    note = f"{restarts} restarts: the step number falls back"
    return {
        "job_mean_time_to_interrupt": Figure(float(solve("observed_mean_time_to_interrupt", given)), "s", SOURCE, note=note)
    }
