"""Logs of MLPerf Training: lines of `:::MLLOG` with events, whose samples and epochs each benchmark counts in its own way."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import Any, NamedTuple

from ingest.errors import IngestError, brief
from ingest.observation.training_run import LogStep, TrainingLog, lines_of, positive, training_source

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


SOURCES = (training_source("MLPerf", mllog, help="MLPerf", rank=1),)
