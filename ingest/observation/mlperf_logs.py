"""Logs of MLPerf Training: lines of `:::MLLOG` with events, whose samples and epochs each benchmark counts in its own way."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import Any

from ingest.errors import IngestError, brief
from ingest.observation.training_log import LogStep, TrainingLog, positive

#: an event of MLPerf: its line, the event, and its time in seconds
Event = tuple[int, dict[str, Any], float]
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
    if _unmoved(events):
        events, by_samples = list(_by_blocks(events, path)), True
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


def _counted(events: Sequence[Event], path: str) -> tuple[float | None, float | None, float]:
    """The global batch, the samples of an epoch, and how many of what the log counts make a sample: 1, or tokens."""
    values = {str(one.get("key")): one.get("value") for _, one, _ in events}
    batch, epoch = (positive(values.get(name)) for name in ("global_batch_size", "train_samples"))
    benchmark = values.get("submission_benchmark")
    if benchmark in WITHOUT_DATA:
        raise IngestError(f"{path}: {benchmark} plays against itself and reads no data set, expected training on data")
    if benchmark in COUNT_TOKENS:
        length = positive(values.get("max_sequence_length"))
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
    return {name: value for name in names if (value := positive(_told(event).get(name))) is not None}


def _largest_epoch(events: Sequence[Event], keys: Sequence[str]) -> float:
    return max((value for _, one, _ in events if one.get("key") in keys for value in _epochs(one).values()), default=0)


def _unmoved(events: Sequence[Event]) -> bool:
    """Whether each block states one count of samples at its start and at its stop."""
    edges = [
        (one.get("key"), _told(one).get("samples_count")) for _, one, _ in events if str(one.get("key")).startswith("block_")
    ]
    pairs = [(first[1], last[1]) for first, last in pairwise(edges) if (first[0], last[0]) == ("block_start", "block_stop")]
    return any(positive(last) for _, last in pairs) and all(first == last for first, last in pairs)


def _by_blocks(events: Sequence[Event], path: str) -> Iterator[Event]:
    """Events whose blocks have the samples stated at both edges: those before the block, where the first has none, or its own.

    Raises:
        IngestError: the evaluations count other samples, or there are none and the counts ascend as totals do.
    """
    stops = [place for place, (_, one, _) in enumerate(events) if one.get("key") == "block_stop"]
    stated = [positive(_told(events[place][1]).get("samples_count")) or 0 for place in stops]
    done = [_epochs(one).get("samples_count") for _, one, _ in events if one.get("key") == "eval_accuracy"]
    tested = {count for count in done if count is not None}
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
    yield from _with_counts(events, dict(zip(stops, counts, strict=False)))


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
    yield from _with_counts(events, since)


def _with_counts(events: Sequence[Event], counts: Mapping[int, float]) -> Iterator[Event]:
    """Events whose blocks have these samples, by the place of their stops."""
    for place, (line, one, clock) in enumerate(events):
        if one.get("key") in SPANS:
            count = {"epoch_count": counts[place]} if place in counts else {}
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
    if SECONDS_FROM <= found < SECONDS_BELOW:
        raise IngestError(f"{path}:{line}: found time_ms {found:g}, expected milliseconds since 1970; these are seconds")
    return float(found)
