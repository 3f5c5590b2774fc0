"""The steady part of a series of counts: its start, its end and its rate, without warm-up and without the tail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import log, sqrt
from statistics import fmean, median, pvariance
from typing import NamedTuple

from ingest.observation.observation import Window

#: Longer series are summed in pairs until they are shorter: the search takes the square of their length.
MOST_BINS = 400
#: A shift of the rate is one where it lowers the squared error by more than so many variances per logarithm of the length.
PENALTY = 6.0
#: Neighbouring parts whose rates differ by less than this share are one part: bursts of batches, not phases of the job.
ALIKE = 0.1
#: Halves of a stretch that differ by more, up to this share, are of one level where their spread explains it: so many times the
#: standard error of their difference.
ALIKE_BY_CHANCE, CHANCE = 0.25, 2.58
#: A part that lasts a shorter share of the observation is a phase in passing, not the job's steady state, unless it has most
#: of what was done.
LEAST_SHARE, MOST_OF_ALL = 0.25, 0.5
#: A part slower than this share of the mean of the whole is a pause between phases of the job, however long it lasts.
LEAST_OF_MEAN = 0.1
#: Where the steady part is shorter than this share, intervals are summed in pairs, down to so many, and the longest part wins.
LONG_SHARE, COARSE_BINS = 0.75, 20
#: Fewer intervals tell no steady rate from a moving one.
LEAST_BINS = 5


#: Parts that were cut are named where they hold more than this share of the total.
NAMED_SHARE = 0.05


class Steady(NamedTuple):
    """The steady part of a series: the first and the last of its times, as positions, and what was cut."""

    first: int
    last: int
    window: Window


def steady_part(times: Sequence[float], totals: Sequence[float], *, by_amount: bool = False) -> Steady | None:
    """Find a stretch over which a running total, at ascending times in seconds, grows at one rate.

    Of those that last a quarter of the time, or in which the total grows by half, it is the fastest: a job may wait in the slow
    ones, and takes at least as much as in the fast one, which need not be steady where a slower one is. With `by_amount` it is
    the one in which the total grows most, by a quarter at least. None where no such stretch of five intervals is steady, its
    halves differ, or all are pauses.
    """
    step = 1
    while (len(times) - 1) / step > MOST_BINS:
        step *= 2
    best = _steady_part(times, totals, step, by_amount)

    def length(found: Steady | None) -> float:
        return totals[found.last] - totals[found.first] if found else 0.0

    def rate(found: Steady | None) -> float:
        return length(found) / found.window.seconds if found else 0.0

    while (len(times) - 1) / step >= 2 * COARSE_BINS and length(best) < LONG_SHARE * (totals[-1] - totals[0]):
        # Bursts hide a level that their sums show.
        step *= 2
        found = _steady_part(times, totals, step, by_amount)
        if length(found) > length(best) and (by_amount or rate(found) >= (1 - ALIKE_BY_CHANCE) * rate(best)):
            best = found
    return _faster_end(times, totals, best) if best and not by_amount else best


def _faster_end(times: Sequence[float], totals: Sequence[float], found: Steady) -> Steady:
    """What lies before or after a steady part, where it is as sustained and faster on average; else the steady part."""
    # A rate that bursts is no level, and the job still took that much.
    rate = (totals[found.last] - totals[found.first]) / found.window.seconds
    for first, last in ((0, found.first), (found.last, len(times) - 1)):
        seconds, amount = times[last] - times[first], totals[last] - totals[first]
        sustained = seconds >= LEAST_SHARE * (times[-1] - times[0]) or amount >= MOST_OF_ALL * (totals[-1] - totals[0])
        if last - first >= LEAST_BINS and sustained and amount > (1 + ALIKE_BY_CHANCE) * rate * seconds:
            window = Window(
                seconds, times[first] - times[0], times[-1] - times[last], "its rate varies: the mean over all of it"
            )
            return Steady(first, last, window)
    return found


def parts_cut(times: Sequence[float], totals: Sequence[float], found: Steady) -> list[tuple[str, float, float]]:
    """What lies before and after a steady part, where it counts: which it is, its rate, and its share of the total.

    >>> totals = [float(min(second, 60) + 6 * max(second - 60, 0)) for second in range(101)]
    >>> parts_cut(range(101), totals, steady_part(range(101), totals))
    [('before', 1.0, 0.2)]
    """
    ends = (("before", 0, found.first), ("after", found.last, len(times) - 1))
    parts = [(which, times[last] - times[first], totals[last] - totals[first]) for which, first, last in ends]
    whole = (totals[-1] - totals[0]) or 1.0
    return [(which, amount / time, amount / whole) for which, time, amount in parts if time and amount > NAMED_SHARE * whole]


def _steady_part(times: Sequence[float], totals: Sequence[float], step: int, by_amount: bool = False) -> Steady | None:
    """The steady part of a series of which so many intervals make one."""
    places = list(range(0, len(times), step))
    if len(places) - 1 < LEAST_BINS:
        return None
    spans = [times[after] - times[before] for before, after in pairwise(places)]
    amounts = [totals[after] - totals[before] for before, after in pairwise(places)]
    least = LEAST_OF_MEAN * sum(amounts) / sum(spans)
    going = []
    for start, end in _merged(_segments(amounts, spans), amounts, spans):
        seconds, amount = sum(spans[start:end]), sum(amounts[start:end])
        share, lasts = amount / (totals[-1] - totals[0] or 1), seconds / (times[-1] - times[0])
        sustained = share >= LEAST_SHARE if by_amount else lasts >= LEAST_SHARE or share >= MOST_OF_ALL
        if amount > least * seconds and sustained and end - start >= LEAST_BINS:
            going.append((amount if by_amount else amount / seconds, (start, end)))
    if not going:
        return None
    _, steady = max(going)
    first, last = places[steady[0]], places[steady[1]]
    seconds = times[last] - times[first]
    # By which share the rates of both halves differ: a rate that drifts has no level.
    middle = times[first] + seconds / 2
    half = min(range(first + 1, last), key=lambda at: abs(times[at] - middle))
    early = (totals[half] - totals[first]) / (times[half] - times[first])
    late = (totals[last] - totals[half]) / (times[last] - times[half])
    apart = abs(late - early) / max(early, late)
    if apart > ALIKE:
        rates = [amount / span for amount, span in zip(amounts, spans, strict=True)][steady[0] : steady[1]]
        if apart > min(ALIKE_BY_CHANCE, _by_chance(rates)):
            return None
    before, after = times[first] - times[0], times[-1] - times[last]
    note = "the rate shifts there" if before or after else "the whole observation is steady"
    if apart > ALIKE:
        note += f"; its halves differ by {apart:.0%}, within their spread: a longer one knows the rate better"
    return Steady(first, last, Window(seconds, before, after, note))


def _by_chance(rates: Sequence[float]) -> float:
    """The share by which the halves of so many independent rates differ in 1 of 100 cases at most."""
    halves = rates[: len(rates) // 2], rates[len(rates) // 2 :]
    return CHANCE * sqrt(sum(pvariance(half) / len(half) for half in halves)) / max(*map(fmean, halves), 1e-12)


def _segments(amounts: Sequence[float], spans: Sequence[float]) -> list[tuple[int, int]]:
    """Parts of constant rate by optimal partitioning: least squared error of the rate plus a penalty for each part."""
    rates = [amount / span for amount, span in zip(amounts, spans, strict=True)]
    steps = [abs(after - before) for before, after in pairwise(rates)]
    # The deviation of single intervals from their neighbours; a shift adds few large differences, which the median ignores.
    deviation = max(median(steps) / 0.954, 0.02 * max(rates), 1e-12)
    price = PENALTY * deviation**2 * log(len(rates))
    sums, squares = [0.0, *accumulate(rates)], [0.0, *accumulate(rate * rate for rate in rates)]
    best, came_from = [0.0], [0]
    for end in range(1, len(rates) + 1):
        costs = (
            best[start] + squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start) + price
            for start in range(end)
        )
        start, cost = min(enumerate(costs), key=lambda one: one[1])
        best.append(cost)
        came_from.append(start)
    parts, end = [], len(rates)
    while end > 0:
        parts.append((came_from[end], end))
        end = came_from[end]
    return parts[::-1]


def _merged(parts: Sequence[tuple[int, int]], amounts: Sequence[float], spans: Sequence[float]) -> list[tuple[int, int]]:
    """Neighbouring parts of nearly one rate as one."""
    found = [parts[0]]
    for start, end in parts[1:]:
        before, after = (sum(amounts[first:last]) / sum(spans[first:last]) for first, last in (found[-1], (start, end)))
        if abs(after - before) <= ALIKE * max(after, before):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
