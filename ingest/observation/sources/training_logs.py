"""Logs of training runs and summaries of their profilers, by the program that wrote them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.observation.observation import Figure, Job, LogSource, Reading, is_number
from ingest.observation.training_run import (
    NUMBER,
    TWO_JOBS,
    Checkpoint,
    LogStep,
    TrainingLog,
    clock_of,
    lines_of,
    number_in,
    positive,
    rate_figures,
    training_source,
)

_MEGATRON = re.compile(r"\biteration\s+(\d+)\s*/\s*\d+\s*\|")
_ELAPSED = re.compile(r"elapsed time per iteration \((ms|s)\):\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)")
_NEMO = re.compile(r'\btrain_step_timing in s"?[:=]\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)')
# The world of one direction of parallelism is a part of the job.
_WORLD = re.compile(r"(?<!parallel[ _-])\bworld size:\s*(\d+)")
_SAVE = re.compile(r"save-checkpoint[ .]*:\s*\(([\d.]+),\s*(\d+(?:\.\d+)?)\)")
_GLOBAL_STEP, _ITERATION = re.compile(r'\bglobal_step"?[:= ]+(\d+)'), re.compile(r"\biteration[:= ]+(\d+)")
_CONSUMED = re.compile(rf'consumed[ _]samples"?[:=]\s*{NUMBER}')
_GLOBAL_BATCH = re.compile(rf"global[ _]batch[ _]size:\s*{NUMBER}")
_RATE = re.compile(rf"\bsamples per second:\s*{NUMBER}")
#: The batch that a log prints, the samples that it counts and the rate that it states agree within this share.
BATCH_WITHIN = 0.05


def megatron(text: str, path: str) -> TrainingLog | None:
    """A log of Megatron-LM, Megatron-DeepSpeed or NeMo: time per iteration and consumed samples."""
    if not (_ELAPSED.search(text) or ("train_step_timing" in text and _NEMO.search(text))):
        return None
    steps: list[LogStep] = []
    checkpoints: list[Checkpoint] = []
    gpus = batch = None
    consumed: tuple[int, float] | None = None
    unit = None
    counted: list[float] = []
    stated_rates: list[float] = []
    for place, line in enumerate(lines_of(text), 1):
        # A word that is not there costs far less than a pattern that does not match: a log has a million lines.
        if "world size:" in line and (world := _WORLD.search(line)):
            size = int(number_in(world[1], path, place))
            if gpus not in (None, size):
                raise IngestError(f"{path}:{place}: the world size is {size:,} after {gpus:,}: {TWO_JOBS}")
            gpus = size
        if "save-checkpoint" in line and (saved := _SAVE.search(line)):
            checkpoints[-1:] = [Checkpoint(place, number_in(saved[2], path, place) / 1000)]
        elif "successfully saved checkpoint" in line:
            checkpoints.append(Checkpoint(place, None))
        seconds = None
        if "elapsed time per iteration" in line and (elapsed := _ELAPSED.search(line)):
            seconds = number_in(elapsed[2], path, place) / (1000 if elapsed[1] == "ms" else 1)
            if unit not in (None, elapsed[1]):
                raise IngestError(f"{path}:{place}: found times in {elapsed[1]} after {unit}, expected one unit")
            unit = elapsed[1]
        elif "train_step_timing" in line and (timing := _NEMO.search(line)):
            seconds = number_in(timing[1], path, place)
        if seconds is None:
            continue
        # The iteration of NeMo counts within the epoch, its global step through the run.
        of_run = _GLOBAL_STEP.search(line) if "global_step" in line else None
        number = of_run or _MEGATRON.search(line) or _ITERATION.search(line)
        if number is None:
            continue
        stated = _GLOBAL_BATCH.search(line)
        each, step = (number_in(stated[1], path, place) if stated else None), int(number_in(number[1], path, place))
        batch = each or batch
        if told := _CONSUMED.search(line):
            total = number_in(told[1], path, place)
            if consumed is not None and total > consumed[1] and step > consumed[0]:
                mean = (total - consumed[1]) / (step - consumed[0])
                if each is not None:
                    counted.append(each / mean)
                each = each or mean
            consumed = (step, total)
        if each is None and steps:
            # A progress bar prints a step again.
            each = steps[-1].samples
        steps.append(LogStep(place, step, seconds, each, clock=clock_of(line)))
        if each and seconds > 0 and "samples per second:" in line and (rate := _RATE.search(line)):
            stated_rates.append(number_in(rate[1], path, place) * seconds / each)
    for what, shares in (("global batch size", counted), ("samples per second", stated_rates)):
        if shares and abs(median(shares) - 1) > BATCH_WITHIN:
            raise IngestError(
                f"{path}: its {what} is {median(shares):.3g} times what its samples and times give: expected one count of "
                "samples; give the rate with --real"
            )
    # Where only the total of the samples is printed, the first line leaves those of its step to the next.
    known = next((one.samples for one in steps if one.samples is not None), None)
    steps = [one if one.samples is not None else one._replace(samples=known) for one in steps]
    return TrainingLog(tuple(steps), tuple(checkpoints), gpus, batch, remark="time per iteration, as printed", single=True)


#: the events between which samples are trained on
SPANS = ("block_start", "block_stop", "epoch_start", "epoch_stop")
#: Larger epoch numbers count samples: no submission trains as many epochs.
MOST_EPOCHS = 10_000
#: benchmarks whose logs count tokens as samples
COUNT_TOKENS = ("gpt3",)
#: benchmarks whose logs may state the batches of an epoch as its samples -> the samples of an epoch (OpenImages of MLPerf)
COUNT_BATCHES = {"ssd": 1_170_301, "retinanet": 1_170_301}
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
#: Times of this size are seconds since 1970, of the years 2001 to 2096: as milliseconds they are of January 1970.
SECONDS_FROM, SECONDS_BELOW = 1e9, 4e9
#: Fewer stated rates are no series of steps.
LEAST_RATES = 5


class Event(NamedTuple):
    """An event of MLPerf: its line, its time in seconds, its key and value, and its metadata."""

    line: int
    clock: float
    key: str
    value: Any
    told: Mapping[str, Any]

    @property
    def epochs(self) -> dict[str, float]:
        """Its epoch numbers, and its samples."""
        names = ("first_epoch_num", "epoch_count", "epoch_num", "samples_count")
        return {name: value for name in names if (value := positive(self.told.get(name))) is not None}


def mllog(text: str, path: str) -> TrainingLog | None:
    """A log of MLPerf Training, lines of `:::MLLOG`: samples between events with their times, evaluations left out."""
    if ":::MLLOG" not in text:
        return None
    events = list(_events(text, path))
    starts = [one.line for one in events if one.key == "run_start"]
    if len(starts) > 1:
        raise IngestError(f"{path}:{starts[1]}: a second run_start, expected the log of one run; observe each run by itself")
    batch, epoch, length = _counted(events, path)
    largest, evaluated = (
        max((value for one in events if one.key in keys for value in one.epochs.values()), default=0)
        for keys in (SPANS, ("eval_accuracy",))
    )
    by_samples = largest > MOST_EPOCHS
    # Each block states one count of samples at its start and at its stop.
    blocks = [one for one in events if one.key.startswith("block_")]
    edges = [(one.told.get("samples_count"), other.told.get("samples_count")) for one, other in pairwise(blocks)
             if (one.key, other.key) == ("block_start", "block_stop")]  # fmt: skip
    if any(positive(last) for _, last in edges) and all(first == last for first, last in edges):
        events, by_samples = _by_blocks(events, path), True
    if not by_samples and evaluated > MOST_EPOCHS:
        events, by_samples = _by_evaluations(events, path), True
    if any(value % 1 for one in events if one.key in SPANS for value in one.epochs.values()):
        raise IngestError(f"{path}: its blocks are parts of an epoch, expected whole ones; give the rate with --real")
    steps: list[LogStep] = []
    began: dict[str, Event] = {}
    tested: list[tuple[float, float]] = []
    for one in events:
        kind, _, edge = one.key.partition("_")
        if kind == "eval" and edge == "start":
            tested.append((one.clock, one.clock))
        elif kind == "eval" and edge == "stop" and tested:
            tested[-1] = tested[-1][0], one.clock
        if one.key not in SPANS:
            continue
        if edge == "start":
            if kind in began and one.epochs != began[kind].epochs:
                raise IngestError(f"{path}:{one.line}: the next {kind} begins before the last one stops, expected one run")
            began.setdefault(kind, one)
        elif kind in began:
            first = began.pop(kind)
            if one.clock < first.clock:
                raise IngestError(f"{path}:{one.line}: {kind}_stop is before its start, expected times that ascend")
            done = _samples_between(first.told, one.told, by_samples, epoch) / length
            pauses = (stop - start for start, stop in tested if first.clock <= start <= stop <= one.clock)
            seconds = one.clock - first.clock - sum(pauses)
            # A block holds epochs, or an epoch holds blocks: the inner ones are the steps.
            if done and seconds > 0 and (not steps or first.clock >= (steps[-1].clock or 0)):
                steps.append(LogStep(one.line, len(steps) + 1, seconds, done, clock=one.clock))
    found = _by_throughput(events, steps, path)
    run = [next((one.clock for one in events if one.key == key), None) for key in ("run_start", "run_stop")]
    if run[0] is not None and run[1] is not None and run[1] > run[0] and found:
        share = sum(one.seconds or 0 for one in found) / (run[1] - run[0])
        if share < LEAST_SHARE:
            raise IngestError(
                f"{path}: blocks and epochs take {share:.0%} of the run: work goes on after they are logged as stopped; give "
                "the rate with --real"
            )
    return TrainingLog(found, batch=batch, remark="samples between start and stop of blocks or epochs")


def _events(text: str, path: str) -> Iterator[Event]:
    for place, line in enumerate(lines_of(text), 1):
        _, mark, rest = line.partition(":::MLLOG")
        if not mark:
            continue
        try:
            event = json.loads(rest)
        except ValueError:
            raise IngestError(
                f"{path}:{place}: found no whole JSON after :::MLLOG, expected an event; the log is cut off"
            ) from None
        if not isinstance(event, dict):
            continue
        time, told = event.get("time_ms"), event.get("metadata")
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time):
            raise IngestError(f"{path}:{place}: found time_ms {brief(time)}, expected milliseconds")
        if SECONDS_FROM <= time < SECONDS_BELOW:
            raise IngestError(f"{path}:{place}: found time_ms {time:g}, expected milliseconds since 1970; these are seconds")
        told = told if isinstance(told, dict) else {}
        yield Event(place, float(time) / 1000, str(event.get("key")), event.get("value"), told)


def _counted(events: Sequence[Event], path: str) -> tuple[float | None, float | None, float]:
    """The global batch, the samples of an epoch, and how many of what the log counts make a sample: 1, or tokens."""
    values = {one.key: one.value for one in events}
    batch, epoch = (positive(values.get(name)) for name in ("global_batch_size", "train_samples"))
    benchmark = values.get("submission_benchmark")
    if benchmark in WITHOUT_DATA:
        raise IngestError(f"{path}: {benchmark} plays against itself and reads no data set, expected training on data")
    if benchmark in COUNT_TOKENS:
        length = positive(values.get("max_sequence_length"))
        if length is None:
            raise IngestError(f"{path}: a log of {benchmark} counts tokens, expected its max_sequence_length")
        return batch, epoch, length
    whole = COUNT_BATCHES.get(str(benchmark))
    if whole and epoch and batch and abs(epoch * batch / whole - 1) < BATCHES_WITHIN:
        return batch, epoch * batch, 1
    return batch, None if benchmark in WHOLE_RUNS else epoch, 1


def _by_blocks(events: Sequence[Event], path: str) -> list[Event]:
    """Events whose blocks have the samples stated at both edges: those before the block, where the first has none, or its own.

    Refused: the evaluations count other samples, or there are none and the counts ascend as totals do.
    """
    stated = [positive(one.told.get("samples_count")) or 0 for one in events if one.key == "block_stop"]
    tested = {one.epochs["samples_count"] for one in events if one.key == "eval_accuracy" and "samples_count" in one.epochs}
    before = not stated[0]
    counts = [after - first for first, after in pairwise(stated)] if before else stated
    totals = {*stated} if before else {*accumulate(stated)}
    ascending = not before and not tested and len({*stated}) > 1
    # Nothing states the samples of the last block where counts are of those before: evaluations may lie behind it.
    behind = {one for one in tested if before and max(totals) < one <= max(totals) + max(counts, default=0)}
    if min(counts, default=0) <= 0 or ascending or not tested - behind <= totals:
        raise IngestError(
            f"{path}: the samples of its blocks and of its evaluations contradict each other, expected one count; give the "
            "rate with --real"
        )
    return _with_counts(events, counts)


def _by_evaluations(events: Sequence[Event], path: str) -> list[Event]:
    """Events whose blocks have the samples since the last evaluation, which numbers itself by samples.

    Blocks are numbered by steps or evaluations then. Refused: there are several blocks between two evaluations.
    """
    numbers = [one.epochs.get("epoch_num", 0) for one in events if one.key == "eval_accuracy"]
    stops = sum(one.key == "block_stop" for one in events)
    if not 0 <= stops - len(numbers) <= 1:
        raise IngestError(
            f"{path}: {len(numbers)} evaluations are numbered by samples, {stops} blocks are not: expected one after each; "
            "give the rate with --real"
        )
    return _with_counts(events, [after - before for before, after in pairwise([0, *numbers])])


def _with_counts(events: Sequence[Event], counts: Iterable[float]) -> list[Event]:
    """Events whose blocks have these samples, in the order of their stops."""
    left, found = iter(counts), []
    for one in events:
        count = next(left, None) if one.key == "block_stop" else None
        told = {} if count is None else {"epoch_count": count}
        found.append(one._replace(told=told) if one.key in SPANS else one)
    return found


def _samples_between(first: Mapping[str, Any], last: Mapping[str, Any], by_samples: bool, epoch: float | None) -> float:
    """Samples between two events by their metadata; 0 where it does not tell."""
    until = positive(last.get("samples_count"))
    if until is not None:
        return max(0, until - (positive(first.get("samples_count")) or 0))
    if not by_samples:
        return (positive(last.get("epoch_count")) or positive(first.get("epoch_count")) or 1) * (epoch or 0)
    counted = positive(first.get("epoch_count")) or positive(last.get("epoch_count"))
    if counted is not None:
        return counted
    return max(0, (positive(last.get("epoch_num")) or 0) - (positive(first.get("epoch_num")) or 0))


def _by_throughput(events: Sequence[Event], steps: Sequence[LogStep], path: str) -> tuple[LogStep, ...]:
    """The steps held against the throughput that the log states, or steps of that throughput where there are few of them."""
    rates: list[LogStep] = []
    before: float | None = None
    benchmark = next((one.value for one in events if one.key == "submission_benchmark"), None)
    for line, clock, key, value, _ in events:
        before = clock if before is None and key in ("block_start", "epoch_start") else before
        rate = positive(value.get("throughput")) if key == "tracked_stats" and isinstance(value, dict) else None
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


#: A rate of one GPU is printed with four decimals: a smaller one does not tell how many GPUs there are.
LEAST_PRINTED = 0.05
#: A mean lies between its epochs, up to rounding.
MEAN_WITHIN = 0.001
#: A utilization above is a mistake, not rounding.
MOST_PERCENT = 100.5
PROFILE = "TraceML summary"
#: Profiles name their parts near the start.
PROFILE_HEAD = 2**16
#: A step is the wait for data and the rest; summaries in which they do not add up use the names in another sense.
ADDS_UP_WITHIN = 0.05
#: milliseconds of a summary
MOST_MILLISECONDS = 1e9
MILLISECONDS = 1000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Each is looked for behind the one before it: one pattern with `.*?` takes quadratic time on a long line.
_TITAN = (re.compile(r"\bstep:\s*(\d+)\b"), re.compile(rf"\b(?:tps|wps):\s*({NUMBER}|-\S+|nan|inf)"))
_SAVED = (re.compile(r"[Ff]inished saving the checkpoint"), re.compile(rf"in {NUMBER} seconds"))


def torchtitan(text: str, path: str) -> TrainingLog | None:
    """A log of torchtitan: tokens per second of each GPU, and checkpoints."""
    if "tps:" not in text and "wps:" not in text and "\x1b" not in text:  # a colour may begin within the word
        return None

    def having(first: re.Pattern[str], second: re.Pattern[str]) -> Iterator[tuple[int, str, re.Match[str], re.Match[str]]]:
        for place, line in enumerate(map(partial(_COLOUR.sub, ""), lines_of(text)), 1):
            if (start := first.search(line)) and (end := second.search(line, start.end())):
                yield place, line, start, end

    steps = [
        LogStep(place, int(number_in(step[1], path, place)), per_gpu=number_in(rate[1], path, place), clock=clock_of(line))
        for place, line, step, rate in having(*_TITAN)
    ]
    if not steps:
        return None
    saved = [Checkpoint(place, number_in(seconds[1], path, place)) for place, _, _, seconds in having(*_SAVED)]
    return TrainingLog(tuple(steps), tuple(saved), unit="token", remark="tokens per second of each GPU, as printed")


_BATCH = re.compile(r"^\s*\[(?:epoch=(\d+)\]\[)?batch=(\d+)/(\d+)\]:\s*$")
_THROUGHPUT = re.compile(rf"^\s*Train throughput/(device/)?samples_per_sec: {NUMBER}\s*$")


def composer(text: str, path: str) -> TrainingLog | None:
    """The console of MosaicML's Composer with its SpeedMonitor: samples per second of each GPU, over the last batches."""
    if "Train throughput/device/samples_per_sec:" not in text:
        return None
    steps: list[LogStep] = []
    number, whole, gpus = 0, None, None
    for place, line in enumerate(lines_of(text), 1):
        if head := _BATCH.match(line):
            # Batches count within their epoch.
            epoch, batch, batches = (int(number_in(one or "1", path, place)) for one in head.groups())
            number, whole = (epoch - 1) * batches + batch, None
        elif rate := _THROUGHPUT.match(line):
            if rate[1] is None:
                whole = number_in(rate[2], path, place)
                continue
            each = number_in(rate[2], path, place)
            steps.append(LogStep(place, number, per_gpu=each))
            if whole and each >= LEAST_PRINTED:
                gpus = max(1, round(whole / each))
    return TrainingLog(tuple(steps), gpus=gpus, remark="mean of the last batches, as SpeedMonitor prints it")


def trainer_state(text: str, path: str) -> TrainingLog | None:
    """The `trainer_state.json` of Hugging Face: the rate of the whole run, evaluations and checkpoints included."""
    if '"log_history"' not in text:
        return None
    try:
        state = json.loads(text)
        history = [one for one in state["log_history"] if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise IngestError(f"{path}: found no whole trainer_state.json, expected an object with a list log_history") from None
    rates = [rate for one in history if (rate := positive(one.get("train_samples_per_second"))) is not None]
    if not rates:
        raise IngestError(f"{path}: log_history has no train_samples_per_second, expected the file of a finished run")
    if len(rates) > 1:
        raise IngestError(
            f"{path}: log_history has {len(rates)} summaries of runs, expected one: a resumed run divides all its samples by "
            "the time since; give the rate with --real"
        )
    done, planned = positive(state.get("global_step")), positive(state.get("max_steps"))
    if done is not None and planned is not None and done < planned:
        raise IngestError(
            f"{path}: the run stopped at step {done:,.0f} of {planned:,.0f}, and its rate counts the samples of all of them: "
            "give the rate with --real"
        )
    caution = (
        "the rate is the mean of the whole run: evaluations and checkpoints lower it; of a resumed run it is too high, for its "
        "time counts from there"
    )
    remark = "mean of the whole run, evaluations and checkpoints included"
    return TrainingLog((), rate=rates[-1], remark=remark, caution=caution)


#: Letters of a field of a table of metrics at most.
LONGEST_FIELD = 131_072


def lightning(text: str, path: str) -> TrainingLog | None:
    """The `metrics.csv` of Lightning with the columns of its ThroughputMonitor."""
    head = text.partition("\n")[0]
    if "," not in head or "step" not in head.split(","):
        return None
    # One limit for the whole process: readers of corpora raise it.
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as error:
        raise IngestError(f"{path}: found no table of comma-separated values, expected metrics.csv: {error}") from None
    finally:
        csv.field_size_limit(before)
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
        rate = row[device or whole or ""]
        if rate in ("", "nan", None):  # the metrics of an evaluation
            continue
        each, number = number_in(rate, path, place), int(number_in(row["step"] or "0", path, place))
        when = number_in(row[clock], path, place) if clock and row[clock] else None
        steps.append(LogStep(place, number, per_gpu=each if device else None, rate=None if device else each, clock=when))
    return TrainingLog(tuple(steps), remark="samples per second, as ThroughputMonitor prints them")


def dlio(text: str, path: str) -> TrainingLog | None:
    """The summary of DLIO, which MLPerf Storage writes too: rate and utilization of its emulated accelerators."""
    if '"num_accelerators"' not in text:
        return None
    try:
        found = json.loads(text)
        metric = found["metric"]
        rate, waited = positive(metric.get("train_throughput_mean_samples_per_second")), metric.get("train_au_mean_percentage")
        gpus = positive(found["num_accelerators"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise IngestError(f"{path}: found no whole summary of DLIO, expected the summary.json of a run that ended") from None
    if metric.get("train_throughput_mean_samples_per_second") == 0:
        raise IngestError(
            f"{path}: DLIO's summary has a rate of 0 samples/s: the run took no sample before it ended, or its storage gave "
            "none; expected a run with a rate"
        )
    if rate is None or gpus is None or gpus % 1:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected 'train_throughput_mean_samples_per_second'")
    used, epochs = positive(waited), {}
    for name, mean in (("train_throughput_samples_per_second", rate), ("train_au_percentage", used)):
        listed = metric.get(name)
        values = [value for one in listed if (value := positive(one)) is not None] if isinstance(listed, list) else []
        if values and mean is not None and not min(values) * (1 - MEAN_WITHIN) <= mean <= max(values) * (1 + MEAN_WITHIN):
            raise IngestError(
                f"{path}: the mean of {name} is {mean:.4g}, its epochs have {min(values):.4g} to {max(values):.4g}: expected "
                "the summary of one run"
            )
        epochs[name] = tuple(values)
    if waited is not None and (used is None or used > MOST_PERCENT):
        raise IngestError(f"{path}: found an accelerator utilization of {brief(waited)} %, expected above 0 up to 100 %")
    stall = None if used is None else float(solve("stall_of_utilization", {"accelerator_utilization": min(used, 100) / 100}))
    remark, rates = "emulated accelerators; mean of the epochs", epochs["train_throughput_samples_per_second"]
    return TrainingLog((), gpus=int(gpus), rate=rate, rates=rates, remark=remark, stall=stall)


#: What DLIO's own log prints at the end of a run, and at the end of each block of an epoch.
_DLIO_GPUS = re.compile(r"Number of Simulated Accelerators: (\d+)")
_DLIO_ENDS = (re.compile(rf"Training Accelerator Utilization \[AU\] \(%\): {NUMBER}"),
              re.compile(rf"Training Throughput \(samples/second\): {NUMBER}"))  # fmt: skip
_DLIO_BLOCKS = (re.compile(rf"\[Training\] Accelerator Utilization \[AU\] \(%\): {NUMBER}"),
                re.compile(rf"\[Training\] Throughput \(samples/second\): {NUMBER}"))  # fmt: skip


def dlio_log(text: str, path: str) -> TrainingLog | None:
    """The log that DLIO prints: rate and utilization at its end, or the means of the blocks of a run that was cut off."""
    found = [[positive(float(one[1])) for one in each.finditer(text)] for pair in (_DLIO_ENDS, _DLIO_BLOCKS) for each in pair]
    used, rates = next((pair for pair in (found[:2], found[2:]) if all(pair)), ([], []))
    if not used:
        return None
    if None in rates or None in used or max(one or 0 for one in used) > MOST_PERCENT:
        raise IngestError(
            f"{path}: DLIO's log has a rate or a utilization that is 0 or above 100 %: expected a run that took samples"
        )
    known, counted = [one for one in rates if one], _DLIO_GPUS.search(text)
    given = {"accelerator_utilization": min(fmean([one for one in used if one]), 100) / 100}
    remark = "emulated accelerators; " + ("mean of the blocks of the run" if not found[0] else "as printed at its end")
    rated = tuple(known) if len(known) > 1 else ()
    stall = float(solve("stall_of_utilization", given))
    return TrainingLog(
        (), gpus=int(counted[1]) if counted else None, rate=fmean(known), rates=rated, remark=remark, stall=stall
    )


def traceml(text: str, path: str, job: Job) -> Reading | None:
    """The stall of a job from the summary of TraceML, which states no samples of a step; None for a text that is no profile.

    Raises IngestError: a profile that shows no stall, with what does.
    """
    head = text[:PROFILE_HEAD]
    better = "it shows no stall. Give rates on real and on synthetic data (--synthetic), or a Darshan log"
    if '"traceEvents"' in head:
        raise IngestError(
            f"{path}: a Kineto trace has no reads, and its DataLoader spans are 0 ms where workers load: {better}"
        )
    if '"schema"' in head and "chakra" in head.lower():
        raise IngestError(f"{path}: a Chakra execution trace has operators and no times of reads: {better}")
    if '"step_time"' not in text or not text.lstrip().startswith("{"):
        return None

    def table(found: Any) -> Mapping[str, Any]:
        return found if isinstance(found, dict) else {}

    try:
        times = table(json.loads(text).get("step_time"))
    except (ValueError, RecursionError):
        return None
    average = table(table(times.get("global")).get("average"))
    if "step_time_ms" not in average:
        return None
    shares = {}
    names = {"input_wait_ms": "input_wait_seconds", "traced_step_time_ms": "rest", "step_time_ms": "mean_step_seconds"}
    for name, known in names.items():
        found = average.get(name)
        if not is_number(found) or not 0 <= found < MOST_MILLISECONDS:
            raise IngestError(
                f"{path}: found {name} {brief(found)}, expected milliseconds: the summary of a run whose data loader TraceML "
                "patched"
            )
        shares[known] = found / MILLISECONDS
    wait, rest, step = shares.values()
    if step <= 0 or not math.isclose(wait + rest, step, rel_tol=ADDS_UP_WITHIN):
        raise IngestError(
            f"{path}: step_time_ms is {MILLISECONDS * step:g}, input_wait_ms and traced_step_time_ms add up to "
            f"{MILLISECONDS * (wait + rest):g}: expected the summary of one run, of TraceML from schema 1.6 on"
        )
    metadata = table(times.get("metadata"))
    stated = metadata.get("gpus_observed", metadata.get("global_ranks_used"))
    count = job.gpus or (stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None)
    note = "wait of the training loop for data; a GPU may still compute in it"
    figures = {"stall_fraction": Figure(float(solve("stall_of_wait", shares)), "1", PROFILE, note=note)}
    unknown = {}
    if job.samples_per_step is None:
        unknown["real_samples_per_second"] = "the summary does not state the batch size; --samples-per-step does"
    else:
        rate = float(solve("observed_samples_per_second", {"observed_samples": job.samples_per_step, "window_seconds": step}))
        figures |= rate_figures(rate, count, job.samples_per_step, PROFILE, note="mean step")
    return Reading(PROFILE, figures, unknown, facts={"program": "TraceML", **({"gpus": count} if count else {})})


SOURCES = (
    training_source("Megatron", megatron, ("Megatron", "NeMo"), "Megatron, NeMo", rank=2),
    training_source("MLPerf", mllog, help="MLPerf", rank=1),
    training_source("torchtitan", torchtitan, help="torchtitan", rank=2),
    training_source("Hugging Face Trainer", trainer_state, ("Hugging Face",), "trainer_state.json"),
    training_source("Lightning", lightning, help="Lightning's metrics.csv", rank=4),
    training_source("Composer", composer, rank=2),
    training_source("DLIO", dlio),
    training_source("DLIO", dlio_log, rank=2),
    LogSource("TraceML", traceml, rank=0, kind=PROFILE),
)
