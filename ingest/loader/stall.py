"""How long accelerators wait for an in-order loader: its recurrence, run for many draws of the latency at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy
from numpy.typing import ArrayLike, NDArray

Array = NDArray[numpy.float64]

#: Runs of a simulation; fewer where many ranks wait for each other.
MOST_RUNS, FEWEST_RUNS, FEWEST_RUNS_OF_TRIAL = 200, 16, 1
MOST_RANKS = 4096  # Ranks that are simulated at most: more ranks wait longer for the slowest, by little
#: Batches drawn in one simulation, and in each trial of a search.
MOST_BATCHES, MOST_BATCHES_OF_TRIAL = 6_000_000, 600_000
SHORT_AXIS = 64  # Ranks up to which the slowest is found column by column
TAKEN_TOGETHER = 100_000  # Batches taken from the pool at a time
#: Latencies drawn for the pool of batches, from which longer simulations draw again.
POOL_LATENCIES, POOL_BATCHES = 4_000_000, 200_000
#: Steps of a trial: at least, whatever the ranks, and at most, whatever the run. In fewer steps the first waits for the
#: slowest of many ranks weigh more than in the run.
FEWEST_STEPS_OF_TRIAL, MOST_STEPS_OF_TRIAL = 1_000, 2_000
MOST_DRAWN_BATCH = 10_000  # The latencies of a larger batch add up to a normal distribution
#: A search ends beyond these.
MOST_WORKERS, MOST_PREFETCH = 256, 256
#: Relative width at which the search of a latency ends, and by which a remedy grows that a whole simulation refutes.
NEAR, NEXT = 0.01, 0.05


@dataclass(frozen=True)
class Loader:
    """The loader of one rank, and what it loads from."""

    workers: int  # worker processes, W
    prefetch: int  # batches outstanding per worker, P
    batch: int  # samples of a batch
    step_seconds: float  # computation of one step
    latency_seconds: float  # mean time to read one sample
    latency_variation: float = 0.0  # standard deviation of that time over its mean; its distribution is lognormal
    hit_fraction: float = 0.0  # share of the samples that a cache serves, without latency
    decode_seconds: float = 0.0  # time of a worker to decode one sample
    shared_seconds: float = 0.0  # time between two batches of this rank that storage or cores deliver at their full rate
    ranks: int = 1  # loaders of the job, whose steps start together
    #: smallest and largest time in which the training process receives a batch
    handover_seconds: tuple[float, float] = (0.0, 0.0)


class Utilization(NamedTuple):
    """Accelerator utilization of simulated runs: the median, and the ends between which 80 % of the runs lie."""

    median: float
    low: float
    high: float
    runs: int


def utilizations(
    batch_seconds: Iterable[ArrayLike],  # for each step, the seconds to read and decode its batch: runs × ranks
    *,
    workers: int,  # worker processes of one rank, W
    prefetch: int,  # batches outstanding per worker, P
    step_seconds: float,  # computation of one step
    handover_seconds: ArrayLike = 0.0,  # time in which the training process receives a batch; one value, or one per run
    # time of a batch on a resource that serves the batches one after the other, such as the bandwidth
    shared_seconds: float = 0.0,
    from_request: bool = False,  # count the time from the request of the first batch on, not from the first step
    starts: list[Array] | None = None,  # takes the start of each step, one value per run
) -> Array:
    """Accelerator utilization of runs of an in-order loader, from the time that each batch takes its worker.

    Batch k goes to worker k mod W. It is requested when step k − W·P starts, and loaded when the worker is free. Step k starts
    when step k − 1 has ended and batch k is ready on every rank. The time before the first step does not count: batches that
    were loaded in it lift the utilization by up to W·P ÷ steps. From the request on, nothing that delays a batch lifts it.

    Returns the computation over the elapsed time, one value per run.
    """
    done = numpy.zeros((workers, 1, 1))
    started = deque([numpy.zeros((workers, 1))] * prefetch, prefetch)
    end = shared = first = numpy.zeros(1)
    steps, waiting = 0, iter(batch_seconds)
    with numpy.errstate(over="ignore"):
        # A batch of each worker at a time: these do not wait for each other, and all were requested before the first of them.
        while loads := [*islice(waiting, workers)]:
            count = len(loads)
            requested = started[0][:count]
            done = numpy.maximum(done[:count], requested[:, :, None]) + numpy.array(loads, float)
            if shared_seconds:
                served = []
                for asked in requested:
                    shared = numpy.maximum(shared, asked) + shared_seconds
                    served.append(shared)
                done = numpy.maximum(done, numpy.array(served)[:, :, None])
            begun = []
            # The slowest rank; NumPy reduces a short last axis forty times slower than it compares its columns.
            slowest = done.max(axis=2) if done.shape[2] > SHORT_AXIS else reduce(numpy.maximum, done.transpose(2, 0, 1))
            for latest in slowest:
                start = numpy.maximum(end, latest) + handover_seconds
                begun.append(start)
                end = start + step_seconds
            first = begun[0] if steps == 0 else first
            started.append(numpy.array(begun))
            steps += count
            if starts is not None:
                starts += begun
    if not numpy.isfinite(end).all():  # a wait beyond all numbers
        return numpy.zeros_like(end)
    elapsed = end if from_request else end - first
    if not elapsed.all():  # steps too short to be seen beside the waits
        return numpy.zeros_like(end)
    return numpy.minimum(1, steps * step_seconds / elapsed)


@lru_cache(maxsize=256)
def simulate(
    loader: Loader,
    *,
    steps: int,  # steps of each run
    seed: int,  # of the draws; the same seed gives the same numbers
    # batches drawn at most, which limits the number of runs, of which there are `fewest_runs` at least
    most_batches: int = MOST_BATCHES,
    fewest_runs: int = FEWEST_RUNS,
    from_request: bool = False,  # count the time from the request of the first batch on, not from the first step
) -> Utilization:
    """Utilization over the given number of steps: the median of many runs, and their 10th and 90th percentile."""
    runs = int(numpy.clip(most_batches // (steps * min(loader.ranks, MOST_RANKS)), fewest_runs, MOST_RUNS))
    chance = numpy.random.default_rng(seed)
    low, high = loader.handover_seconds
    # Each run has a processor of its own speed: a range of the hand-over moves a whole run.
    handover = numpy.exp(chance.uniform(numpy.log(low), numpy.log(high), runs)) if low > 0 else high
    found = _utilizations(loader, steps, seed, runs, handover, from_request=from_request)
    median, least, most = (float(end) for end in numpy.quantile(found, (0.5, 0.1, 0.9)))
    return Utilization(median, least, most, runs)


def round_variation(loader: Loader, *, steps: int, seed: int) -> float:
    """Standard deviation of the time of as many steps as there are workers, over its mean: the median of few runs.

    In so many steps each worker delivers one batch. Their sum shows how the latency varies, and not the bursts of workers that
    started together.

    >>> steady, varied = (round_variation(Loader(4, 2, 4, 0.02, 0.04, variation), steps=400, seed=1) for variation in (0.1, 1))
    >>> steady < 0.05 < varied
    True
    """
    starts: list[Array] = []
    affordable = MOST_BATCHES_OF_TRIAL // (4 * steps * min(loader.ranks, MOST_RANKS))
    runs = int(numpy.clip(affordable, FEWEST_RUNS_OF_TRIAL, MOST_RUNS))
    _utilizations(loader, steps, seed, runs, loader.handover_seconds[0], starts=starts)
    times = numpy.stack(starts)
    rounds = times[loader.workers :] - times[: -loader.workers]
    return float(numpy.median(rounds.std(axis=0) / rounds.mean(axis=0)))


def _utilizations(loader: Loader, steps: int, seed: int, runs: int, handover: ArrayLike, **options: Any) -> Array:
    """Accelerator utilization of runs of a loader, with latencies drawn."""
    return utilizations(
        _batches(loader, seed, steps, (runs, min(loader.ranks, MOST_RANKS))),
        workers=loader.workers,
        prefetch=loader.prefetch,
        step_seconds=loader.step_seconds,
        handover_seconds=handover,
        shared_seconds=loader.shared_seconds,
        **options,
    )


def tried(loader: Loader, *, steps: int, seed: int) -> Utilization:
    """Utilization of a variant, from fewer and shorter runs: for searches and curves."""
    few = min(steps, MOST_STEPS_OF_TRIAL)
    return simulate(loader, steps=few, seed=seed, most_batches=MOST_BATCHES_OF_TRIAL, fewest_runs=FEWEST_RUNS_OF_TRIAL)


def _batches(loader: Loader, seed: int, steps: int, shape: tuple[int, int]) -> Iterator[Array]:
    """Seconds of the batches of each step: those of a pool, each once where it suffices; one for all where none varies."""
    if not loader.latency_variation and not loader.hit_fraction:
        yield from repeat(numpy.array([[loader.batch * (loader.latency_seconds + loader.decode_seconds)]]), steps)
        return
    each, wanted = shape[0] * shape[1], steps * shape[0] * shape[1]
    size = max(1, min(wanted, POOL_BATCHES, POOL_LATENCIES // min(loader.batch, MOST_DRAWN_BATCH)))
    latencies = _latencies_of_batches(loader.latency_variation, loader.hit_fraction, loader.batch, size, seed)
    pool = loader.latency_seconds * latencies + loader.batch * loader.decode_seconds
    chance = numpy.random.default_rng((seed, size))
    together = max(1, TAKEN_TOGETHER // each)
    for step in range(0, steps, together):
        count = min(together, steps - step) * each
        chosen = slice(step * each, step * each + count) if size == wanted else chance.integers(size, size=count)
        yield from pool[chosen].reshape(-1, *shape)


@lru_cache(maxsize=4)
def _latencies_of_batches(variation: float, hit_fraction: float, batch: int, size: int, seed: int) -> Array:
    """Sum of the latencies of each batch, for a mean latency of 1."""
    chance = numpy.random.default_rng(seed)
    if batch > MOST_DRAWN_BATCH:
        spread = (batch * (1 - hit_fraction) * (variation**2 + hit_fraction)) ** 0.5
        return numpy.asarray(numpy.maximum(0, batch * (1 - hit_fraction) + spread * chance.standard_normal(size)))
    variance = numpy.log1p(variation**2)
    drawn = chance.lognormal(-variance / 2, variance**0.5, (size, batch))
    if hit_fraction:
        drawn *= chance.random((size, batch)) >= hit_fraction
    return numpy.asarray(drawn.sum(axis=1))


class Remedies(NamedTuple):
    """What alone lifts the median to the accepted utilization; None where it does not suffice."""

    workers: int | None  # fewest workers, with the prefetch as it is
    prefetch: int | None  # fewest batches per worker, with the workers as they are
    latency_seconds: float | None  # longest mean latency, with the workers and the prefetch as they are


def remedies(loader: Loader, accepted: float, *, steps: int, seed: int) -> Remedies:
    """Find the workers, the prefetch or the latency at which the median reaches an accepted utilization, by equal draws."""
    reaches, holds = _tests(loader, accepted, steps, seed)

    def fewest(changed: Callable[[int], Loader], most: int) -> int | None:
        """The smallest count that suffices, found by doubling and halving; None beyond the largest."""
        high = 1
        while not reaches(changed(high)):
            high *= 2
            if high > most:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(changed(middle)) else (middle, high)
        while not holds(changed(high)):
            if high >= most:
                return None
            high += math.ceil(high * NEXT)
        return high

    return Remedies(
        fewest(lambda count: replace(loader, workers=count), MOST_WORKERS),
        fewest(lambda count: replace(loader, prefetch=count), MOST_PREFETCH),
        longest_latency(loader, accepted, steps=steps, seed=seed),
    )


@lru_cache(maxsize=256)
def longest_latency(loader: Loader, accepted: float, *, steps: int, seed: int, near: float = NEAR) -> float | None:
    """The longest mean latency at which the median reaches an accepted utilization; None where no latency does.

    The search starts from the latency of the loader and ends at a relative width of `near`; all trials draw alike.

    >>> found = longest_latency(Loader(4, 2, 1, 0.02, 0.0), 0.95, steps=600, seed=1)
    >>> 0.08 < found < 0.085
    True
    """
    reaches, holds = _tests(loader, accepted, steps, seed)
    if not reaches(replace(loader, latency_seconds=0.0)):
        return None
    low, high = 0.0, max(loader.latency_seconds, loader.step_seconds / loader.batch)
    while reaches(replace(loader, latency_seconds=high)) and high < 1e6 * loader.step_seconds:
        low, high = high, 4 * high
    while high - low > near * high and high > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if reaches(replace(loader, latency_seconds=middle)) else (low, middle)
    while low and not holds(replace(loader, latency_seconds=low)):
        low *= 1 - NEXT
    return low or None


def matching_latency(loader: Loader, observed: float, *, steps: int, seed: int, near: float = NEAR) -> float | None:
    """The mean latency at which the median of whole simulations is an observed utilization; None where no latency is.

    The search starts from the latency of the loader and ends at a relative width of `near`; all simulations draw alike.

    >>> loader = Loader(4, 2, 32, 0.16, 0.0, ranks=8)
    >>> found = matching_latency(loader, 0.5, steps=600, seed=1, near=0.001)
    >>> round(simulate(replace(loader, latency_seconds=found), steps=600, seed=1).median, 3)
    0.5
    """
    low = longest_latency(loader, observed, steps=steps, seed=seed, near=near)
    if low is None:
        return None
    _, holds = _tests(loader, observed, steps, seed)
    high = low * (1 + NEXT)
    while high < 1e6 * loader.step_seconds and holds(replace(loader, latency_seconds=high)):
        low, high = high, high * (1 + NEXT)
    while high - low > near * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(replace(loader, latency_seconds=middle)) else (low, middle)
    return low


def _tests(loader: Loader, accepted: float, steps: int, seed: int) -> tuple[Callable[[Loader], bool], Callable[[Loader], bool]]:
    """Whether a variant reaches a utilization in a trial of a search, and whether the runs of a whole simulation confirm it."""
    # Fewer steps where many ranks wait for each other.
    affordable = MOST_BATCHES_OF_TRIAL // (FEWEST_RUNS_OF_TRIAL * min(loader.ranks, MOST_RANKS))
    few = min(steps, max(FEWEST_STEPS_OF_TRIAL, affordable))
    return (
        lambda changed: tried(changed, steps=few, seed=seed).median >= accepted,
        lambda changed: simulate(changed, steps=steps, seed=seed).median >= accepted,
    )
