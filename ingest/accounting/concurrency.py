"""Concurrency over time by events: exact between one start or end and the next, never sampled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

Array = NDArray[Any]
HOUR, DAY = 3600, 86_400
#: 1 January 1970 was a Thursday: seconds from then to the first Monday.
MONDAY = 4 * DAY


class Profile(NamedTuple):
    """A level over time: it holds from a time until the next; the last one is the end of the history."""

    times: Array
    levels: Array

    @property
    def peak(self) -> float:
        """The highest level."""
        return float(self.levels.max(initial=0))

    @property
    def total(self) -> float:
        """The sum of level times time."""
        return float((self.levels * numpy.diff(self.times)).sum())

    @property
    def mean(self) -> float:
        """The mean over time."""
        length = self.times[-1] - self.times[0] if len(self.times) else 0
        return self.total / length if length else 0.0

    def quantile(self, share: float) -> float:
        """The level that is not exceeded for that share of the time."""
        return self.quantiles(share)[0]

    def quantiles(self, *shares: float) -> list[float]:
        """The levels that are not exceeded for these shares of the time."""
        return weighted_quantiles(self.levels, numpy.diff(self.times), *shares)

    def integral(self, at: Array) -> Array:
        """Level times time from the beginning until some times."""
        summed = numpy.append(0, numpy.cumsum(self.levels * numpy.diff(self.times), dtype=float))
        found: Array = numpy.interp(at, self.times, summed)
        return found

    def means(self, edges: Array) -> Array:
        """The mean level between successive times."""
        found: Array = numpy.diff(self.integral(edges)) / numpy.diff(edges)
        return found

    def peaks(self, edges: Array) -> Array:
        """The highest level between successive times."""
        first = numpy.clip(numpy.searchsorted(self.times, edges[:-1], "right") - 1, 0, len(self.levels) - 1)
        last = numpy.clip(numpy.searchsorted(self.times, edges[1:], "left"), first + 1, len(self.levels))
        bounds = numpy.append(self.levels, 0)
        pairs = numpy.column_stack([first, last]).ravel()
        found: Array = numpy.maximum.reduceat(bounds, pairs)[::2]
        return found


def window_of(start: Array, end: Array) -> tuple[int, int]:
    """The first start and the last end; a moment where there are none."""
    return (int(start.min()), int(end.max())) if len(start) else (0, 0)


def profile(start: Array, end: Array, amount: Array, window: tuple[int, int] | None = None) -> Profile:
    """The sum of amounts over time, each from its start until its end in seconds, half-open; sums of whole numbers are exact.

    The `window` is the time that counts where it is longer than that of these runs.
    """
    begin, finish = window or window_of(start, end)
    times = numpy.concatenate([start, end, [begin, finish]])
    changes = numpy.concatenate([amount, -amount, numpy.zeros(2, amount.dtype)])
    order = numpy.argsort(times, kind="stable")
    times, changes = times[order], changes[order]
    last = numpy.append(times[1:] != times[:-1], True)
    levels = numpy.cumsum(changes)[last]
    return Profile(times[last], levels[:-1])


def weighted_quantiles(values: Array, weights: Array, *shares: float) -> list[float]:
    """For each share the smallest value such that values up to it have that share of the weight."""
    if not len(values) or not weights.sum():
        return [0.0 for _ in shares]
    order = numpy.argsort(values)
    summed = numpy.cumsum(weights[order], dtype=float)
    places = numpy.searchsorted(summed, numpy.array(shares) * summed[-1] * (1 - 1e-12), "left")
    return [float(values[order[min(int(place), len(order) - 1)]]) for place in places]


def starts_per_minute(start: Array, window: tuple[int, int]) -> tuple[float, float]:
    """Starts in a minute: the number that 99 % of the minutes do not exceed, and the highest."""
    if not len(start):
        return 0.0, 0.0
    _, counts = numpy.unique(start // 60, return_counts=True)
    minutes = max(window[1] // 60 - window[0] // 60 + 1, len(counts))
    values, weights = numpy.append(counts, 0), numpy.append(numpy.ones(len(counts)), minutes - len(counts))
    return weighted_quantiles(values, weights, 0.99)[0], float(counts.max())


def week_by_hour(found: Profile) -> Array:
    """The mean level in each hour of the week, Monday first: seven rows of 24; not a number for an hour that never passed."""
    begin, finish = int(found.times[0]), int(found.times[-1])
    edges = numpy.arange(begin // HOUR * HOUR, finish + HOUR, HOUR)
    if len(edges) < 2:
        return numpy.full((7, 24), numpy.nan)
    inside = numpy.clip(edges, begin, finish)
    sums, lengths = numpy.diff(found.integral(inside)), numpy.diff(inside)
    hours = (edges[:-1] - MONDAY) // HOUR % (7 * 24)
    total, time = (numpy.bincount(hours, weights, 7 * 24) for weights in (sums, lengths))
    with numpy.errstate(invalid="ignore"):
        found_mean: Array = (total / time).reshape(7, 24)
    return found_mean
