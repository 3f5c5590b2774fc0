"""Logs of training runs: steps with their samples and times, checkpoints and restarts, by the program that wrote them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief

#: A rate of one GPU is printed with four decimals: a smaller one does not tell how many GPUs there are.
LEAST_PRINTED = 0.05
#: No step is shorter or longer, and none has fewer or more samples: microseconds to years.
LEAST_NUMBER, MOST_NUMBER = 1e-6, 1e12
#: A utilization above is a mistake, not rounding.
MOST_PERCENT = 100.5
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NUMBER = r"([0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)"


#: an event of MLPerf: its line, the event, and its time in seconds
Event = tuple[int, dict[str, Any], float]


class LogStep(NamedTuple):
    """One line of a log that states a step, or several steps together.

    Attributes:
        line: its line in the file.
        number: of the last step, as printed.
        seconds: time of what the line covers; None where only the clock tells.
        samples: samples of the whole job that the line covers; None where only the batch of one GPU is known.
        per_gpu: samples or tokens per second of one GPU, where the log prints a rate.
        clock: seconds of the wall clock, or of the run; None where the line has no time.
    """

    line: int
    number: int
    seconds: float | None = None
    samples: float | None = None
    per_gpu: float | None = None
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
    unit: str = "sample"
    remark: str = ""
    stall: float | None = None


def read_training_log(text: str, path: str) -> TrainingLog | None:
    """The training run in a log; None where no known program wrote the file.

    Args:
        text: the content of the file.
        path: its name, for messages.

    Raises:
        IngestError: a known form without usable steps, with a clock that runs backwards, negative numbers or two runs.
    """
    for form in FORMS:
        found = form(text, path)
        if found is not None:
            _check(found, path)
            return found
    return None


def _check(log: TrainingLog, path: str) -> None:
    if not log.steps and log.rate is None:
        raise IngestError(f"{path}: the {log.program} log has no step with a time, expected at least two")
    for one in log.steps:
        for what, value in (("seconds", one.seconds), ("samples", one.samples), ("rate", one.per_gpu)):
            if value is not None and value <= 0:
                raise IngestError(f"{path}:{one.line}: found {what} {value:g} in a step, expected a number above 0")
            if value is not None and not LEAST_NUMBER <= value <= MOST_NUMBER:
                raise IngestError(
                    f"{path}:{one.line}: found {what} {value:g} in a step, expected {LEAST_NUMBER:g} to {MOST_NUMBER:g}"
                )
    timed = [one for one in log.steps if one.clock is not None]
    for before, after in pairwise(log.steps):
        if after.number < before.number and None not in (before.samples, after.samples) and after.samples != before.samples:
            raise IngestError(
                f"{path}:{after.line}: step {after.number:,} follows step {before.number:,} with another batch: two jobs, "
                "expected the log of one; observe each by itself"
            )
    for before, after in pairwise(timed):
        if (after.clock or 0) < (before.clock or 0):
            raise IngestError(
                f"{path}:{after.line}: the clock runs backwards by {(before.clock or 0) - (after.clock or 0):g} s, expected one"
                " run in the order of its lines; sort joined logs by time"
            )


def _figure(found: str) -> float:
    return float(found.replace(",", ""))


def _clock(line: str) -> float | None:
    """Seconds of the first time stamp of a line.

    >>> _clock(" [2024-03-05 12:13:15] iteration 1") - _clock("2024-03-05 12:13:14,500 - root")
    0.5
    """
    found = re.search(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?", line)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
    except ValueError:
        return None
    return moment.timestamp() + float(f"0.{found[3] or 0}")


_MEGATRON = re.compile(r"\biteration\s+(\d+)\s*/\s*\d+\s*\|(.*)")
_ELAPSED = re.compile(r"elapsed time per iteration \((ms|s)\):\s*(-?[\d.,eE+-]+)")
_NEMO = re.compile(r'\btrain_step_timing in s"?[:=]\s*(-?[\d.,eE+-]+)')


def megatron(text: str, path: str) -> TrainingLog | None:
    """A log of Megatron-LM, Megatron-DeepSpeed or NeMo: time per iteration and consumed samples."""
    if not (_ELAPSED.search(text) or _NEMO.search(text)):
        return None
    steps: list[LogStep] = []
    checkpoints: list[Checkpoint] = []
    gpus = batch = None
    consumed: tuple[int, float] | None = None
    for place, line in enumerate(text.splitlines(), 1):
        if world := re.search(r"world size:\s*(\d+)", line):
            if gpus not in (None, int(world[1])):
                raise IngestError(
                    f"{path}:{place}: the world size is {int(world[1]):,} after {gpus:,}: two jobs, expected the log of one; "
                    "observe each by itself"
                )
            gpus = int(world[1])
        if saved := re.search(r"save-checkpoint[ .]*:\s*\(([\d.]+),\s*(\d+(?:\.\d+)?)\)", line):
            checkpoints[-1:] = [Checkpoint(place, float(saved[2]) / 1000)]
        elif re.search(r"successfully saved checkpoint", line):
            checkpoints.append(Checkpoint(place, None))
        seconds = _seconds_of(line)
        # The iteration of NeMo counts within the epoch, its global step through the run.
        number = (re.search(r'\bglobal_step"?[:= ]+(\d+)', line) or _MEGATRON.search(line)
                  or re.search(r"\biteration[:= ]+(\d+)", line))  # fmt: skip
        if seconds is None or number is None:
            continue
        told = re.search(r'consumed[ _]samples"?[:=]\s*(\d+(?:\.\d+)?)', line)
        size = re.search(r"global[ _]batch[ _]size:\s*(\d+)", line)
        batch = float(size[1]) if size else batch
        each, step = (float(size[1]) if size else None), int(number[1])
        if told:
            total = float(told[1])
            if each is None and consumed is not None and total > consumed[1] and step > consumed[0]:
                each = (total - consumed[1]) / (step - consumed[0])
            consumed = (step, total)
        if each is None and steps:
            # A progress bar prints a step again.
            each = steps[-1].samples
        steps.append(LogStep(place, step, seconds, each, clock=_clock(line)))
    # Where only the total of the samples is printed, the first line leaves those of its step to the next.
    known = next((one.samples for one in steps if one.samples is not None), None)
    steps = [one if one.samples is not None else one._replace(samples=known) for one in steps]
    return TrainingLog("Megatron", tuple(steps), tuple(checkpoints), gpus, batch, remark="time per iteration, as printed")


def _seconds_of(line: str) -> float | None:
    if elapsed := _ELAPSED.search(line):
        return _figure(elapsed[2]) / (1000 if elapsed[1] == "ms" else 1)
    timing = _NEMO.search(line)
    return _figure(timing[1]) if timing else None


def mllog(text: str, path: str) -> TrainingLog | None:
    """A log of MLPerf Training, lines of `:::MLLOG`: samples between events with their times, evaluations left out."""
    if ":::MLLOG" not in text:
        return None
    events = [(line, one, _milliseconds(one, path, line) / 1000) for line, one in _events(text, path)]
    starts = [line for line, one, _ in events if one.get("key") == "run_start"]
    if len(starts) > 1:
        raise IngestError(f"{path}:{starts[1]}: a second run_start, expected the log of one run; observe each run by itself")
    batch, epoch, length = _counted(events, path)
    by_samples = _largest_epoch(events, SPANS) > MOST_EPOCHS
    if not by_samples and _largest_epoch(events, ("eval_accuracy",)) > MOST_EPOCHS:
        # Evaluations are numbered by samples, blocks by steps or evaluations: a block has those since the last evaluation.
        events, by_samples = list(_by_evaluations(events, path)), True
    if any(value % 1 for _, one, _ in events if one.get("key") in SPANS for value in _epochs(one).values()):
        raise IngestError(f"{path}: its blocks are parts of an epoch, expected whole ones; give the rate with --real")
    steps: list[LogStep] = []
    began: dict[str, tuple[float, Mapping[str, Any]]] = {}
    tested: list[tuple[float, float]] = []
    for line, one, clock in events:
        kind, _, edge = str(one.get("key")).partition("_")
        if kind == "eval" and edge == "start":
            tested.append((clock, clock))
        elif kind == "eval" and edge == "stop" and tested:
            tested[-1] = tested[-1][0], clock
        if f"{kind}_{edge}" not in SPANS:
            continue
        told = _told(one)
        if edge == "start":
            if kind in began and _epochs(one) != _epochs({"metadata": began[kind][1]}):
                raise IngestError(f"{path}:{line}: the next {kind} begins before the last one stops, expected one run")
            began.setdefault(kind, (clock, told))
        elif kind in began:
            since, first = began.pop(kind)
            if clock < since:
                raise IngestError(f"{path}:{line}: {kind}_stop is before its start, expected times that ascend")
            done = _samples_between(first, told, by_samples, epoch) / length
            seconds = clock - since - sum(stop - start for start, stop in tested if since <= start <= stop <= clock)
            # A block holds epochs, or an epoch holds blocks: the inner ones are the steps.
            if done and seconds > 0 and (not steps or since >= (steps[-1].clock or 0)):
                steps.append(LogStep(line, len(steps) + 1, seconds, done, clock=clock))
    found = _by_throughput(events, steps, path)
    _refuse_little(events, found, path)
    return TrainingLog("MLPerf", found, (), None, batch, remark="samples between start and stop of blocks or epochs")


#: the events between which samples are trained on
SPANS = ("block_start", "block_stop", "epoch_start", "epoch_stop")
#: Larger epoch numbers count samples: no submission trains as many epochs.
MOST_EPOCHS = 10_000
#: benchmarks whose logs count tokens as samples
COUNT_TOKENS = ("gpt3",)
#: benchmarks whose logs may state the batches of an epoch as its samples -> the samples of an epoch (OpenImages of MLPerf)
COUNT_BATCHES = {"ssd": 1_170_301}
#: rounding up to whole batches adds less
BATCHES_WITHIN = 0.01
#: benchmarks that train on no data set
WITHOUT_DATA = ("minigo",)
#: benchmarks whose logs state the samples of the whole run as `train_samples`: their epochs have no known size
WHOLE_RUNS = ("bert",)
#: Steps of a smaller share of the run are dispatched, not done, when the log says so.
LEAST_SHARE = 0.5
#: The log's own throughput and its epochs agree within this ratio, or they count different things.
THROUGHPUT_WITHIN = 1.5
#: Fewer stated rates are no series of steps.
LEAST_RATES = 5


def _counted(events: Sequence[Event], path: str) -> tuple[float | None, float | None, float]:
    """The global batch, the samples of an epoch, and how many of what the log counts make a sample: 1, or tokens."""
    values = {str(one.get("key")): one.get("value") for _, one, _ in events}
    batch, epoch = (_positive(values.get(name)) for name in ("global_batch_size", "train_samples"))
    benchmark = values.get("submission_benchmark")
    if benchmark in WITHOUT_DATA:
        raise IngestError(f"{path}: {benchmark} plays against itself and reads no data set, expected training on data")
    if benchmark in COUNT_TOKENS:
        length = _positive(values.get("max_sequence_length"))
        if length is None:
            raise IngestError(f"{path}: a log of {benchmark} counts tokens, expected its max_sequence_length")
        return batch, epoch, length
    if benchmark in WHOLE_RUNS:
        return batch, None, 1
    whole = COUNT_BATCHES.get(str(benchmark))
    if whole and epoch and batch and abs(epoch * batch / whole - 1) < BATCHES_WITHIN:
        return batch, epoch * batch, 1
    return batch, epoch, 1


def _told(event: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = event.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _epochs(event: Mapping[str, Any]) -> dict[str, float]:
    """The epoch numbers of an event, and its samples."""
    names = ("first_epoch_num", "epoch_count", "epoch_num", "samples_count")
    return {name: value for name in names if (value := _positive(_told(event).get(name))) is not None}


def _largest_epoch(events: Sequence[Event], keys: Sequence[str]) -> float:
    return max((value for _, one, _ in events if one.get("key") in keys for value in _epochs(one).values()), default=0)


def _by_evaluations(events: Sequence[Event], path: str) -> Iterator[Event]:
    """Events whose blocks have the samples since the last evaluation, which numbers itself by samples.

    Raises:
        IngestError: there are several blocks between two evaluations.
    """
    numbers = [_epochs(one).get("epoch_num", 0) for _, one, _ in events if one.get("key") == "eval_accuracy"]
    stops = [place for place, (_, one, _) in enumerate(events) if one.get("key") == "block_stop"]
    if not 0 <= len(stops) - len(numbers) <= 1:
        raise IngestError(
            f"{path}: {len(numbers)} evaluations are numbered by samples, {len(stops)} blocks are not: expected one after "
            "each; give the rate with --real"
        )
    since = dict(zip(stops, (after - before for before, after in pairwise([0, *numbers])), strict=False))
    for place, (line, one, clock) in enumerate(events):
        if one.get("key") in SPANS:
            count = {"epoch_count": since[place]} if place in since else {}
            one = {**one, "metadata": count}  # noqa: PLW2901
        yield line, one, clock


def _refuse_little(events: Sequence[Event], steps: Sequence[LogStep], path: str) -> None:
    """Refuse steps that take a small share of their run: work goes on after they are logged as done."""
    edges = [next((clock for _, one, clock in events if one.get("key") == key), None) for key in ("run_start", "run_stop")]
    if edges[0] is None or edges[1] is None or edges[1] <= edges[0] or not steps:
        return
    share = sum(one.seconds or 0 for one in steps) / (edges[1] - edges[0])
    if share < LEAST_SHARE:
        raise IngestError(
            f"{path}: blocks and epochs take {share:.0%} of the run: work goes on after they are logged as stopped; give the "
            "rate with --real"
        )


def _samples_between(first: Mapping[str, Any], last: Mapping[str, Any], by_samples: bool, epoch: float | None) -> float:
    """Samples between two events by their metadata; 0 where it does not tell."""
    until = _positive(last.get("samples_count"))
    if until is not None:
        return max(0, until - (_positive(first.get("samples_count")) or 0))
    if not by_samples:
        return (_positive(last.get("epoch_count")) or _positive(first.get("epoch_count")) or 1) * (epoch or 0)
    counted = _positive(first.get("epoch_count")) or _positive(last.get("epoch_count"))
    if counted is not None:
        return counted
    return max(0, (_positive(last.get("epoch_num")) or 0) - (_positive(first.get("epoch_num")) or 0))


def _by_throughput(events: Sequence[Event], steps: Sequence[LogStep], path: str) -> tuple[LogStep, ...]:
    """The steps held against the throughput that the log states, or steps of that throughput where there are few of them.

    Raises:
        IngestError: both differ.
    """
    rates: list[LogStep] = []
    before: float | None = None
    benchmark = next((one.get("value") for _, one, _ in events if one.get("key") == "submission_benchmark"), None)
    for line, one, clock in events:
        key, value = one.get("key"), one.get("value")
        before = clock if before is None and key in ("block_start", "epoch_start") else before
        rate = _positive(value.get("throughput")) if key == "tracked_stats" and isinstance(value, dict) else None
        if rate is not None and before is not None and clock > before and benchmark not in COUNT_BATCHES:
            rates.append(LogStep(line, len(rates) + 1, clock - before, rate * (clock - before), clock=clock))
            before = clock
    if len(rates) < LEAST_RATES:
        return tuple(steps)
    if len(steps) < LEAST_RATES:
        return tuple(rates)
    mine, stated = (median((one.samples or 0) / (one.seconds or 1) for one in series) for series in (steps, rates))
    if not 1 / THROUGHPUT_WITHIN <= mine / stated <= THROUGHPUT_WITHIN:
        raise IngestError(
            f"{path}: epochs of {mine:.4g} sample/s, tracked_stats of {stated:.4g} sample/s: they count different things; "
            "give the rate with --real"
        )
    return tuple(steps)


def _events(text: str, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for place, line in enumerate(text.splitlines(), 1):
        _, mark, rest = line.partition(":::MLLOG")
        if not mark:
            continue
        try:
            found = json.loads(rest)
        except ValueError:
            raise IngestError(
                f"{path}:{place}: found no whole JSON after :::MLLOG, expected an event; the log is cut off"
            ) from None
        if isinstance(found, dict):
            yield place, found


def _milliseconds(event: Mapping[str, Any], path: str, line: int) -> float:
    found = event.get("time_ms")
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise IngestError(f"{path}:{line}: found time_ms {brief(found)}, expected milliseconds")
    return float(found)


def _positive(found: object) -> float | None:
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < 1e18 else None


_TITAN = re.compile(rf"\bstep:\s*(\d+)\b.*?\b(?:tps|wps):\s*{_NUMBER}")


def torchtitan(text: str, path: str) -> TrainingLog | None:
    """A log of torchtitan: tokens per second of each GPU, and checkpoints."""
    del path
    lines = [_COLOUR.sub("", line) for line in text.splitlines()]
    steps = [
        LogStep(place, int(found[1]), per_gpu=_figure(found[2]), clock=_clock(line))
        for place, line in enumerate(lines, 1)
        if (found := _TITAN.search(line))
    ]
    if not steps:
        return None
    saved = [
        Checkpoint(place, _figure(found[1]))
        for place, line in enumerate(lines, 1)
        if (found := re.search(rf"[Ff]inished saving the checkpoint.*?in {_NUMBER} seconds", line))
    ]
    return TrainingLog(
        "torchtitan", tuple(steps), tuple(saved), unit="token", remark="tokens per second of each GPU, as printed"
    )


_BATCH = re.compile(r"^\s*\[(?:epoch=\d+\]\[)?batch=(\d+)/\d+\]:\s*$")
_THROUGHPUT = re.compile(rf"^\s*Train throughput/(device/)?samples_per_sec: {_NUMBER}\s*$")


def composer(text: str, path: str) -> TrainingLog | None:
    """The console of MosaicML's Composer with its SpeedMonitor: samples per second of each GPU, over the last batches."""
    del path
    if "Train throughput/device/samples_per_sec:" not in text:
        return None
    steps: list[LogStep] = []
    number, whole, gpus = 0, None, None
    for place, line in enumerate(text.splitlines(), 1):
        if head := _BATCH.match(line):
            number, whole = int(head[1]), None
        elif rate := _THROUGHPUT.match(line):
            if rate[1] is None:
                whole = _figure(rate[2])
                continue
            each = _figure(rate[2])
            steps.append(LogStep(place, number, per_gpu=each))
            if whole and each >= LEAST_PRINTED:
                gpus = max(1, round(whole / each))
    return TrainingLog("Composer", tuple(steps), gpus=gpus, remark="mean of the last batches, as SpeedMonitor prints it")


def trainer_state(text: str, path: str) -> TrainingLog | None:
    """The `trainer_state.json` of Hugging Face: the rate of the whole run, evaluations and checkpoints included."""
    if '"log_history"' not in text:
        return None
    try:
        state = json.loads(text)
        history = [one for one in state["log_history"] if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise IngestError(f"{path}: found no whole trainer_state.json, expected an object with a list log_history") from None
    rates = [rate for one in history if (rate := _positive(one.get("train_samples_per_second"))) is not None]
    if not rates:
        raise IngestError(f"{path}: log_history has no train_samples_per_second, expected the file of a finished run")
    if len(rates) > 1:
        raise IngestError(
            f"{path}: log_history has {len(rates)} summaries of runs, expected one: a resumed run divides all its samples by "
            "the time since; give the rate with --real"
        )
    return TrainingLog(
        "Hugging Face Trainer", (), rate=rates[-1], remark="mean of the whole run, evaluations and checkpoints included"
    )


def lightning(text: str, path: str) -> TrainingLog | None:
    """The `metrics.csv` of Lightning with the columns of its ThroughputMonitor."""
    head = text.partition("\n")[0]
    if "," not in head or "step" not in head.split(","):
        return None
    rows = list(csv.DictReader(io.StringIO(text)))
    names = rows[0].keys() if rows else []
    device, whole = (
        next((name for name in names if re.fullmatch(rf"(?:train[|/])?{kind}samples_per_sec", name or "")), None)
        for kind in (r"device[|/]", "")
    )
    clock = next((name for name in names if re.fullmatch(r"(?:train[|/])?time", name or "")), None)
    if device is None and whole is None:
        raise IngestError(f"{path}: no column samples_per_sec, expected the metrics of Lightning's ThroughputMonitor")
    steps = []
    for place, row in enumerate(rows, 2):
        try:
            rate = float(row[device or whole or ""] or "nan")
            when = float(row[clock]) if clock and row[clock] else None
            number = int(float(row["step"] or 0))
        except (TypeError, ValueError, OverflowError):
            raise IngestError(f"{path}:{place}: found no number in a column of numbers, expected a whole row") from None
        if rate == rate:
            steps.append(LogStep(place, number, per_gpu=rate if device else None, samples=None if device else rate,
                                 seconds=None if device else 1.0, clock=when))  # fmt: skip
    return TrainingLog("Lightning", tuple(steps), remark="samples per second, as ThroughputMonitor prints them")


def dlio(text: str, path: str) -> TrainingLog | None:
    """The summary of DLIO, which MLPerf Storage writes too: rate and utilization of its emulated accelerators."""
    if '"num_accelerators"' not in text:
        return None
    try:
        found = json.loads(text)
        metric = found["metric"]
        rate, waited = _positive(metric.get("train_throughput_mean_samples_per_second")), metric.get("train_au_mean_percentage")
        gpus = _positive(found["num_accelerators"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise IngestError(f"{path}: found no whole summary of DLIO, expected the summary.json of a run that ended") from None
    if rate is None or gpus is None or gpus % 1:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected 'train_throughput_mean_samples_per_second'")
    used = _positive(waited)
    if waited is not None and (used is None or used > MOST_PERCENT):
        raise IngestError(f"{path}: found an accelerator utilization of {brief(waited)} %, expected above 0 up to 100 %")
    given = {"accelerator_utilization": min(used or 0, 100) / 100}
    stall = None if used is None else float(solve("stall_of_utilization", given))
    return TrainingLog("DLIO", (), gpus=int(gpus), rate=rate, remark="emulated accelerators; mean of the run", stall=stall)


#: the readers, the most particular first
FORMS: tuple[Callable[[str, str], TrainingLog | None], ...] = (
    mllog, megatron, torchtitan, composer, trainer_state, dlio, lightning,
)  # fmt: skip
