"""A training run as its log states it: whether its lines agree with one another, its steady rate, its pauses and restarts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate, pairwise
from statistics import fmean, median, pstdev, quantiles
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError, brief
from ingest.observation.observation import Figure, Job, LogSource, Reading, is_number
from ingest.observation.steady_window import LEAST_BINS, Steady, parts_cut, steady_part

#: a number that may group its digits, as a pattern
NUMBER = r"([0-9][0-9,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)"
#: No step is shorter or longer, and none has fewer or more samples: microseconds to years.
LEAST_NUMBER, MOST_NUMBER = 1e-6, 1e12
#: Ranks of one job print a step at nearly one speed; lines of one step that differ by more, at the median, are of two jobs.
SAME_STEP_WITHIN = 0.1
#: Two runs in one log leap over each other again and again; a restart whose lines were lost leaps once.
LEAST_LEAPS = 2
#: Clocks of logs have whole seconds: parts of a log that last shorter are not held against their clock.
LEAST_CLOCK_SECONDS = 20.0
#: how many parts of a log are held against the clock
CLOCK_PARTS = 10
#: The clock cannot pass in fewer seconds than the steps take, up to rounding.
LEAST_CLOCK_SHARE = 0.8
#: Work between the steps is said beyond the first ratio; beyond the second the unit of the printed times is wrong.
MOST_CLOCK_SHARE, WRONG_UNIT = 1.25, 10.0
SOURCE = "training log"
TWO_JOBS = "two jobs, expected the log of one; observe each by itself"
#: A gap between two lines of the clock that takes this many times the usual one is a pause: a checkpoint, an evaluation.
PAUSE_BEYOND = 3.0
#: A line is long that takes so many times the usual time of its samples, and differs from it by so many deviations; more of
#: them than this share are the job's own rhythm.
LONG_BEYOND, DEVIATIONS, MOST_LONG = 1.5, 10.0, 0.1
#: The median of absolute deviations is this share of the standard deviation, if they are normal.
MEDIAN_DEVIATION = 0.6745
#: A run whose mean is so much below its steady rate slows down or stops: that is said.
MEAN_BELOW = 0.25
#: A gap between the numbers of two lines beyond so many usual ones: an excerpt leaves lines out.
LEFT_OUT = 1.5
#: Fewer rounds of all workers tell no spread.
LEAST_ROUNDS = 20
#: letters of a log that are cut into lines at a time
PART_LETTERS = 2**20
#: Some logs tell their GPUs by two printed rates, which leaves so much open.
GPUS_WITHIN = 0.01


class LogStep(NamedTuple):
    """One line of a log that states a step, or several steps together."""

    line: int  # in the file
    number: int  # of the last step, as printed
    seconds: float | None = None  # time of what the line covers; None where only the clock tells
    samples: float | None = None  # of the whole job that the line covers; None where only the batch of one GPU is known
    per_gpu: float | None = None  # samples or tokens per second of one GPU, where the log prints a rate
    rate: float | None = None  # samples per second of the whole job, where the log prints that and no time
    clock: float | None = None  # seconds of the wall clock, or of the run


class Checkpoint(NamedTuple):
    """One checkpoint that a log reports, and the seconds for which it held the job; None where the log does not tell."""

    line: int
    seconds: float | None


class TrainingLog(NamedTuple):
    """What a log of a training run states."""

    steps: tuple[LogStep, ...]  # in the order of the file
    checkpoints: tuple[Checkpoint, ...] = ()  # that were saved
    gpus: int | None = None  # of the job
    batch: float | None = None  # samples of one step of the whole job
    rate: float | None = None  # samples per second of the whole run, where the log has no single steps
    rates: tuple[float, ...] = ()  # samples per second of each epoch, beside the rate of the whole run
    unit: str = "sample"  # of `per_gpu` and `rate`: `sample` or `token`
    remark: str = ""  # how the rate was counted
    stall: float | None = None  # share of the time in which accelerators waited
    single: bool = False  # each line states batch and time of its step; lines of other logs cover blocks, epochs or seconds
    caution: str = ""  # a warning about every rate of the program
    program: str = ""  # the program or the format that wrote it


def training_source(
    program: str,
    parse: Callable[[str, str], TrainingLog | None],
    names: tuple[str, ...] = (),
    help: str = "",
    rank: int = LogSource._field_defaults["rank"],
) -> LogSource:
    """The source of a program's logs; `parse` takes text and path, and returns None for a text that another program wrote."""

    def read(text: str, path: str, job: Job) -> Reading | None:
        log = parse(text, path)
        return None if log is None else training_reading(log._replace(program=program), path, job)

    return LogSource(program, read, names, help, rank)


def lines_of(text: str) -> Iterator[str]:
    """The lines of a log, of which not all are held at once beside the text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + PART_LETTERS) + 1 or len(text)
        yield from text[start:end].splitlines()
        start = end


def positive(found: object) -> float | None:
    """A number above 0 in a log, below any that a run can have; None for all else."""
    return float(found) if is_number(found) and found > 0 else None


def number_in(found: str | None, path: str, line: int) -> float:
    """A number of a line of a log, which may group its digits. Raises IngestError: the line is damaged."""
    try:
        number = float((found or "").replace(",", ""))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise IngestError(f"{path}:{line}: found {brief(found)}, expected a number; the line is damaged")
    return number


def clock_of(line: str) -> float | None:
    """Seconds of the first time stamp of a line.

    >>> clock_of(" [2024-03-05 12:13:15] iteration 1") - clock_of("2024-03-05 12:13:14,500 - root")
    0.5
    """
    found = _STAMP.search(line)
    if found is None:
        return None
    day, hours, minutes, seconds, part = found.groups()
    midnight = _midnight(day)
    if midnight is None or hours > "23" or minutes > "59" or seconds > "59":
        return None
    return midnight + int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{part or 0}")


_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?", re.ASCII)


@lru_cache(maxsize=64)
def _midnight(day: str) -> float | None:
    """Seconds at which a day begins, which many lines have in common."""
    try:
        return datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
    except ValueError:
        return None


def one_line_per_step(steps: Sequence[LogStep], path: str) -> tuple[LogStep, ...]:
    """The first line of each step: ranks and progress bars print one several times, two jobs at different speeds (refused)."""
    found, apart = [*steps[:1]], []
    for before, after in pairwise(steps):
        if after.number != before.number:
            found.append(after)
            continue
        first, second = (one.seconds or one.per_gpu or one.rate or 1 for one in (before, after))
        apart.append((abs(first - second) / max(first, second), after.line))
    if apart and median(share for share, _ in apart) > SAME_STEP_WITHIN:
        share, line = max(apart)
        raise IngestError(f"{path}:{line}: a step is printed twice, at speeds {share:.0%} apart: {TWO_JOBS}")
    return tuple(found)


def refuse_interleaved(steps: Sequence[LogStep], path: str) -> None:
    """Refuse two runs whose lines alternate: their steps fall back and leap on, while those of a restart count on."""
    furthest, fallen, leaps = steps[0].number if steps else 0, False, 0
    for before, after in pairwise(steps):
        fallen = fallen or after.number < before.number
        if fallen and before.number < furthest < after.number:
            leaps += 1
            fallen = False
        furthest = max(furthest, after.number)
        if leaps >= LEAST_LEAPS:
            raise IngestError(
                f"{path}:{after.line}: step {after.number:,} follows step {before.number:,} after a fall back: {TWO_JOBS}"
            )


def clock_share(steps: Sequence[LogStep], covered: Sequence[int], path: str) -> float | None:
    """Seconds of the clock for each second that the steps print, the median of parts of the log; None where no clock tells.

    Refused: less time passes than the steps take, or ten times as much: the unit is wrong, or lines are of two jobs.
    """
    if len(steps) < CLOCK_PARTS + 1 or any(one.clock is None or one.seconds is None for one in steps):
        return None
    edges = [round(part * (len(steps) - 1) / CLOCK_PARTS) for part in range(CLOCK_PARTS + 1)]
    shares = []
    for first, last in pairwise(edges):
        passed = (steps[last].clock or 0) - (steps[first].clock or 0)
        printed = sum((steps[at].seconds or 0) * covered[at] for at in range(first + 1, last + 1))
        if max(passed, printed) >= LEAST_CLOCK_SECONDS:
            shares.append(passed / printed)
    if not shares:
        return None
    share = median(shares)
    if not LEAST_CLOCK_SHARE <= share <= WRONG_UNIT:
        raise IngestError(
            f"{path}: the clock passes {share:.3g} s for each second that the steps take: the unit of the times is wrong, or "
            "the lines are of two jobs; give the rate with --real"
        )
    return share


def training_reading(log: TrainingLog, path: str, job: Job) -> Reading:
    """Figures of a training log of a job.

    Raises UsageError: an option contradicts the log; IngestError: it has no usable steps, a clock that runs backwards, negative
    numbers or two runs; it leaves the rate open, with what would settle it; or no part of the run is steady.
    """
    steps = _checked_steps(log, path)
    gpus, samples_per_step = job.gpus, job.samples_per_step
    if gpus is not None and log.gpus is not None and abs(gpus - log.gpus) > GPUS_WITHIN * log.gpus:
        raise UsageError(f"--gpus: found {gpus:,}, expected the {log.gpus:,} that {path} states, or no --gpus")
    count = gpus or log.gpus
    stated = {one.samples for one in steps if one.samples is not None} if log.single else set()
    if samples_per_step is not None and stated and samples_per_step not in stated:
        raise UsageError(
            f"--samples-per-step: found {samples_per_step:g}, expected the {median(stated):g} that {path} states, or no "
            "--samples-per-step"
        )
    level, restarts, warnings = _longest_attempt(steps, path)
    figures: dict[str, Figure] = {}
    if log.rate is None:
        figures, level, slow = _of_steps(log, level, path, job._replace(gpus=count))
        warnings += slow
    else:
        low, high = (min(log.rate, *log.rates), max(log.rate, *log.rates)) if log.rates else (None, None)
        figures["real_samples_per_second"] = Figure(log.rate, "sample/s", SOURCE, low=low, high=high, note=log.remark)
        if low is not None and high is not None and low < (1 - MEAN_BELOW) * high:
            warnings.append(
                f"{path}: its epochs make {low:.4g} to {high:.4g} sample/s: a cache may serve the fast ones; the rate is their "
                "mean"
            )
        warnings += [f"{path}: {log.caution}"] if log.caution else []
    unknown = {}
    whole = figures["real_samples_per_second"]
    if count is None:
        unknown["samples_per_second_per_gpu"] = "the log does not state the GPUs of the job; --gpus does"
    else:
        figures["samples_per_second_per_gpu"] = per_gpu(whole, count)
    if whole.window is not None:
        figures["window_seconds"] = Figure(whole.window.seconds, "s", SOURCE, whole.window)
    if log.stall is not None:
        figures["stall_fraction"] = Figure(log.stall, "1", SOURCE, note="1 − accelerator utilization")
    sizes = [float((one.samples if log.single else None) or samples_per_step or log.batch or 0) for one in level]
    if count is not None and sizes and median(sizes):
        batch = float(solve("observed_batch", {"job_samples_per_step": median(sizes), "observed_gpus": count}))
        if batch >= 1 and batch % 1 == 0:
            figures["samples_per_step"] = Figure(batch, "sample/GPU", SOURCE, note="median of the steps")
    figures |= _interruptions(log._replace(steps=steps), restarts)
    facts = {"program": log.program, "steps": len(steps), "checkpoints": len(log.checkpoints), "restarts": restarts}
    return Reading(SOURCE, figures, unknown, tuple(warnings), facts=facts | ({"gpus": count} if count else {}))


def per_gpu(whole: Figure, gpus: int) -> Figure:
    """Samples per second of one GPU, from those of the whole job."""

    def each(rate: float) -> float:
        return float(solve("observed_samples_per_second_per_gpu", {"real_samples_per_second": rate, "observed_gpus": gpus}))

    low, high = (None if end is None else each(end) for end in (whole.low, whole.high))
    return whole._replace(value=each(whole.value), unit="sample/s/GPU", low=low, high=high)


def rate_figures(
    rate: float, gpus: int | None, samples_per_step: float | None, source: str, *, basis: str = "measured", note: str = ""
) -> dict[str, Figure]:
    """A rate of the whole job, and those of one GPU and its batch where GPUs and steps are known."""
    figures = {"real_samples_per_second": Figure(rate, "sample/s", source, basis=basis, note=note)}
    if gpus is not None:
        figures["samples_per_second_per_gpu"] = per_gpu(figures["real_samples_per_second"], gpus)
        if samples_per_step is not None:
            batch = float(solve("observed_batch", {"job_samples_per_step": samples_per_step, "observed_gpus": gpus}))
            figures["samples_per_step"] = Figure(batch, "sample/GPU", source, basis=basis)
    return figures


def _longest_attempt(steps: Sequence[LogStep], path: str) -> tuple[Sequence[LogStep], int, list[str]]:
    """The longest stretch of ascending steps, whose rate stands for the job, the restarts, and an attempt of another speed.

    Step numbers fall at a restart from a checkpoint.
    """
    falls = [place for place, (before, after) in enumerate(pairwise(steps), 1) if after.number < before.number]
    attempts = [steps[first:last] for first, last in pairwise([0, *falls, len(steps)])]
    longest = max(attempts, key=len)
    # The median speed of the lines, in a measure of the log's own.
    speeds = [
        (median(one.rate or one.per_gpu or (one.samples or 1) / (one.seconds or 1) for one in part), part)
        for part in attempts
        if len(part) >= LEAST_BINS
    ]
    mine = next((speed for speed, part in speeds if part is longest), 0)
    if not mine:
        return longest, len(falls), []
    found, other = max(speeds, key=lambda one: max(one[0], mine) / (min(one[0], mine) or 1))
    if min(found, mine) >= (1 - MEAN_BELOW) * max(found, mine):
        return longest, len(falls), []
    warning = (
        f"{path}:{other[0].line}: the job ran {found / mine:.3g} times as fast between two restarts, from step "
        f"{other[0].number:,} on: the rate is that of its longest attempt, from step {longest[0].number:,} on"
    )
    return longest, len(falls), [warning]


def _checked_steps(log: TrainingLog, path: str) -> tuple[LogStep, ...]:
    """The steps of a log, one line each, where they can be those of one run."""
    if not log.steps and log.rate is None:
        raise IngestError(f"{path}: the {log.program} log has no step with a time, expected at least two")
    for one in log.steps:
        for what, value in (("seconds", one.seconds), ("samples", one.samples), ("rate", one.per_gpu), ("rate", one.rate)):
            if value is not None and not LEAST_NUMBER <= value <= MOST_NUMBER:
                expected = "a number above 0" if value <= 0 else f"{LEAST_NUMBER:g} to {MOST_NUMBER:g}"
                raise IngestError(f"{path}:{one.line}: found {what} {value:g} in a step, expected {expected}")
    for before, after in pairwise(log.steps):
        if after.number < before.number and None not in (before.samples, after.samples) and after.samples != before.samples:
            raise IngestError(
                f"{path}:{after.line}: step {after.number:,} follows step {before.number:,} with another batch: {TWO_JOBS}"
            )
    for before, after in pairwise([one for one in log.steps if one.clock is not None]):
        if (back := (before.clock or 0) - (after.clock or 0)) > 0:
            raise IngestError(
                f"{path}:{after.line}: the clock runs backwards by {back:g} s, expected one run in the order of its lines; "
                "sort joined logs by time"
            )
    steps = one_line_per_step(log.steps, path)
    refuse_interleaved(steps, path)
    return steps


def _of_steps(
    log: TrainingLog, steps: Sequence[LogStep], path: str, job: Job
) -> tuple[dict[str, Figure], Sequence[LogStep], list[str]]:
    """The rate of the steady steps and how rounds of all workers vary, the steps of its level, and what slow lines do."""
    # How many steps each line covers: those since the line before; the first line as many as the second. Steps whose lines an
    # excerpt leaves out are of no line.
    printed = [max(1, after.number - before.number) for before, after in pairwise(steps)]
    usual = median(printed) if printed else 1
    covered = [int(usual) if one > LEFT_OUT * usual else one for one in printed]
    left_out = [at for at, (one, known) in enumerate(zip(printed, covered, strict=True), 1) if one > known]
    printed, covered = ([*each[:1], *each] or [1] for each in (printed, covered))
    if steps[0].per_gpu is not None or steps[0].rate is not None:
        each = 1.0 if log.unit == "sample" else job.tokens_per_sample
        if each is None or (job.gpus is None and steps[0].rate is None):
            need = "--gpus" if each is not None else "--tokens-per-sample (the sequence length)"
            raise IngestError(f"{path}: the {log.program} log has {log.unit}s per second of one GPU, expected {need} beside it")
        # Steps are of one size: a slow one counts by the time that it takes.
        amounts = [float(one) for one in covered]
        speeds = [one.rate if one.rate is not None else (one.per_gpu or 1) * (job.gpus or 1) for one in steps]
        whole, steady, warnings = _steady(path, [one * each / speed for one, speed in zip(amounts, speeds, strict=True)],
                                          amounts, log.remark)  # fmt: skip
        # The window is by the times of the lines; None where they have none.
        window, clocks = None, [one.clock for one in steps if one.clock is not None]
        if len(clocks) == len(steps):
            first, last = clocks[max(steady.first - 1, 0)], clocks[steady.last - 1]
            window = steady.window._replace(seconds=last - first, cut_before=first - clocks[0], cut_after=clocks[-1] - last)
        return {"real_samples_per_second": whole._replace(window=window)}, steps, warnings
    batches = [one.samples or job.samples_per_step or log.batch for one in steps]
    if None in batches:
        raise IngestError(f"{path}: the {log.program} log does not state the batch size, expected --samples-per-step beside it")
    seconds = [(one.seconds or 0) * lines for one, lines in zip(steps, covered, strict=True)]
    amounts = [(one or 0) * lines for one, lines in zip(batches, covered, strict=True)]
    share = clock_share(steps, printed, path) if log.single else None
    # Long lines with a checkpoint since the line before are no training.
    long, saved = long_lines(seconds, amounts) if log.checkpoints else set(), [one.line for one in log.checkpoints]
    paused = {at for at in long if at and any(steps[at - 1].line < line <= steps[at].line for line in saved)}
    kept = [at for at in range(len(steps)) if at not in paused]
    seconds = [seconds[at] for at in kept]
    whole, steady, warnings = _steady(path, seconds, [amounts[at] for at in kept], log.remark)
    if left_out:
        at = left_out[0]
        warnings.append(
            f"{path}:{steps[at].line}: the lines between step {steps[at - 1].number:,} and step {steps[at].number:,} are left "
            "out: their time is not counted"
        )
    if share is not None and share > MOST_CLOCK_SHARE:
        warnings.append(
            f"{path}: the clock passes {share:.3g} s for each second that the steps take: evaluations, checkpoints or "
            "waits lie between them, and the rate is that of the steps alone"
        )
    figures = {}
    level, workers = kept[steady.first : steady.last], job.workers
    # As many steps as there are workers are a round, where each line of the log is one step.
    if workers is not None and max(covered[at] for at in kept) <= 1 and len(level) >= LEAST_ROUNDS * workers:
        totals = [0.0, *accumulate(seconds[steady.first : steady.last])]
        rounds = [after - before for before, after in zip(totals, totals[workers:], strict=False)]
        figures["step_round_variation"] = Figure(pstdev(rounds) / fmean(rounds), "1", SOURCE, note=f"{workers} steps together")
    return {**figures, "real_samples_per_second": whole}, [steps[at] for at in level], warnings


def _steady(path: str, seconds: Sequence[float], samples: Sequence[float], remark: str) -> tuple[Figure, Steady, list[str]]:
    """The rate of the steady part, and what slow lines do to it, within and outside: no log tells checkpoints from waits."""
    times, totals = [0.0, *accumulate(seconds)], [0.0, *accumulate(samples)]
    found = steady_part(times, totals, by_amount=True)
    if found is None:
        raise IngestError(
            f"{path}: no steady part among {len(seconds)} lines of steps, expected at least {LEAST_BINS} at one rate"
        )

    def rate_of(amount: float, time: float) -> float:
        return float(solve("observed_samples_per_second", {"observed_samples": amount, "window_seconds": time}))

    inside = range(found.first, found.last)
    rate, mean = rate_of(totals[found.last] - totals[found.first], found.window.seconds), rate_of(sum(samples), sum(seconds))
    rates = [samples[at] / seconds[at] for at in inside]
    tenths = quantiles(rates, n=10) if len(rates) > 1 else [rates[0]] * 9
    cut = [one for one in parts_cut(times, totals, found) if one[1] * (1 - MEAN_BELOW) > rate]
    window = found.window._replace(note=f"{len(inside)} of {len(seconds)} lines of steps; {found.window.note}")
    whole = Figure(rate, "sample/s", SOURCE, window, low=min(tenths[0], rate), high=max(tenths[-1], rate), note=remark)
    warnings = [
        f"{path}: the job was faster {which} its steady part: {faster:.4g} sample/s over {part:.1%} of its samples. The rate, "
        f"{rate:.4g} sample/s, is that of the part in which it took most"
        for which, faster, part in cut
    ]
    if mean < (1 - MEAN_BELOW) * rate:
        warnings.append(
            f"{path}: the whole run makes {mean:.4g} sample/s: it slows down or stops outside its steady part, which makes "
            f"{rate:.4g} sample/s"
        )
    long = {at for at in long_lines(seconds, samples) if at in inside}
    if long:
        rest = [at for at in inside if at not in long]
        other = rate_of(sum(samples[at] for at in rest), sum(seconds[at] for at in rest))
        warnings.append(
            f"{path}: {len(long):,} of {len(inside):,} lines take {LONG_BEYOND:g} times as long as usual or more: checkpoints, "
            f"or waits for data. The rate counts them; that of the other lines is {other:.4g} sample/s"
        )
    return whole, found._replace(window=window), warnings


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


def _interruptions(log: TrainingLog, restarts: int) -> dict[str, Figure]:
    """The mean pause of a checkpoint, printed or by the clock, and the mean time between restarts, where the log has them."""
    figures: dict[str, Figure] = {}
    timed = [one for one in log.steps if one.clock is not None]
    gaps = [((after.clock or 0) - (before.clock or 0), before.line, after.line) for before, after in pairwise(timed)]
    pauses = [one.seconds for one in log.checkpoints if one.seconds is not None]
    if gaps and not pauses:
        # The time beyond the usual between two lines that have a checkpoint between them.
        usual, saved = median(gap for gap, *_ in gaps), [one.line for one in log.checkpoints]
        long = [(gap, first, last) for gap, first, last in gaps if gap > PAUSE_BEYOND * usual]
        pauses = [gap - usual for gap, first, last in long if any(first < one < last for one in saved)]
    if pauses:
        note = f"mean; checkpoints: {len(pauses)}"
        figures["checkpoint_stall_seconds"] = Figure(fmean(pauses), "s", SOURCE, note=note)
    elapsed = (timed[-1].clock or 0) - (timed[0].clock or 0) if timed else 0
    if restarts and elapsed > 0:
        given = {"observed_seconds": elapsed, "observed_interrupts": restarts}
        mean, note = float(solve("observed_mean_time_to_interrupt", given)), f"{restarts} restarts: the step number falls back"
        figures["job_mean_time_to_interrupt"] = Figure(mean, "s", SOURCE, note=note)
    return figures
