"""The steady part of a series: found within noise, cut where the rate shifts, refused where it drifts."""

import random
from math import log, sqrt

import pytest

from ingest.observation.steady_window import _by_chance, _steady_part, parts_cut, steady_part

#: Least share and number of intervals of a steady part; share below which rates are alike, and halves by chance.
LEAST_SHARE, LEAST_BINS, ALIKE, ALIKE_BY_CHANCE = 0.25, 5, 0.1, 0.25


def totals_of(rates):
    found = [0.0]
    for rate in rates:
        found.append(found[-1] + rate)
    return found


def part(rates):
    return steady_part([float(second) for second in range(len(rates) + 1)], totals_of(rates))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_warm_up_and_tail_are_cut(noise):
    """Batches in bursts are noise; a slow start, an epoch from the cache and an idle tail are phases."""
    draw = random.Random(7)
    steady = [100 * (1 + noise * draw.uniform(-1, 1)) for _ in range(60)]
    found = part([5.0] * 8 + steady + [400.0] * 9 + [0.0] * 6)
    assert abs(found.first - 8) <= 1
    assert abs(found.last - 68) <= 1
    assert found.window.seconds + found.window.cut_before + found.window.cut_after == 83


def test_a_series_of_400_intervals_is_searched_one_by_one():
    assert part([5.0] * 51 + [100.0] * 349).first == 51


def test_a_part_that_is_too_short_is_no_steady_state():
    least = int(100 * LEAST_SHARE)
    for length, steady in ((least, True), (least - 1, False)):
        idle = [30.0] * (100 - length)
        found = part(idle + [80.0] * length)
        assert found.first == (100 - length if steady else 0)
    # It is none that does most of the work.
    assert part([5.0] * 80 + [100.0] * 20).first == 80
    assert part([100.0] * LEAST_BINS) is not None
    assert part([100.0] * (LEAST_BINS - 1)) is None


def test_neighbours_of_nearly_one_rate_are_one_part():
    assert part([100.0] * 20 + [100 / (1 - ALIKE) - 0.1] * 20).window.seconds == 40
    assert part([100.0] * 20 + [100 / (1 - ALIKE) + 0.1] * 20).window.seconds == 20
    assert part([100 * 1.2**second for second in range(30)]) is None


def test_a_long_series_is_cut_as_a_short_one():
    found = part([5.0] * 2000 + [100.0] * 6000)
    assert found.first == pytest.approx(2000, abs=64)
    assert found.last == pytest.approx(8000, abs=64)


@pytest.mark.parametrize(("share", "steady"), [(0.9, True), (1.1, False)])
def test_halves_apart_by_chance(share, steady):
    """Halves that differ are of one level where the spread of the rates explains it, and not where it does not."""
    rates = [1.6, 2.4] * 20
    limit = _by_chance(rates)
    assert limit == pytest.approx(2.58 * sqrt(2 * 0.4**2 / 20) / 2)
    assert 0.1 < limit < ALIKE_BY_CHANCE
    moved = [rate * (1 - share * limit) if place < 20 else rate for place, rate in enumerate(rates)]
    totals = totals_of(moved)
    found = _steady_part([float(one) for one in range(41)], totals, 1)
    assert (found is not None and "within their spread" in found.window.note) is steady


@pytest.mark.parametrize(("share", "seconds"), [(0.09, None), (0.11, 60)])
def test_a_pause_is_not_the_fastest_part(share, seconds):
    """60 s of imports before two short phases of reads: below a tenth of the mean they are a pause."""
    slow = 30 * share / (95 - 60 * share)
    found = _steady_part(range(96), totals_of([slow] * 60 + [1.0] * 15 + [0.0] * 5 + [1.0] * 15), 1)
    assert (None if found is None else found.window.seconds) == seconds


@pytest.mark.parametrize("order", [1, -1])
def test_the_fastest_part_bounds_the_demand_wherever_it_lies(order):
    rates = ([100.0] * 60 + [600.0] * 40)[::order]
    found, totals = part(rates), totals_of(rates)
    assert totals[found.last] - totals[found.first] == pytest.approx(600 * 40)
    ((which, rate, share),) = parts_cut(range(101), totals, found)
    assert (which, rate, share) == ("before" if order == 1 else "after", 100, 0.2)
    # What is a thousandth of all is cut without a word.
    assert parts_cut([0, 1, 101], [0, 0.1, 100], found._replace(first=1, last=2)) == []


def test_a_fast_part_that_bursts_is_not_hidden_by_a_steady_slow_one():
    """24 s at 30 and 16 s at 240 on average, whose intervals spread: the fast part has no level, and its mean counts."""
    for seed in range(20):
        draw = random.Random(seed)
        totals = totals_of([30.0] * 120 + [240 * draw.lognormvariate(0, 0.6) for _ in range(80)])
        found = steady_part([second / 5 for second in range(201)], totals)
        fast = (totals[-1] - totals[120]) / 16
        assert found is None or (totals[found.last] - totals[found.first]) / found.window.seconds > 0.75 * fast


def test_by_amount_the_part_that_does_a_quarter_of_the_work_is_steady():
    """Rates of 8, 4, 2 and 1 in turn: each part does a quarter of the work, the first two half of it, faster than the third."""
    rates = [8.0] * 10 + [4.0] * 20 + [2.0] * 40 + [1.0] * 80
    for by_amount, seconds in ((False, 30), (True, 80)):
        assert steady_part(range(151), totals_of(rates), by_amount=by_amount).window.seconds == seconds
    fast = [9.0] * 10 + [1.0] * 10
    assert steady_part(range(21), totals_of(fast)).first == 0
    assert steady_part(range(41), totals_of(fast + [1.0] * 20)).last == 10
    assert steady_part(range(41), totals_of(fast + [1.0] * 20), by_amount=True).last == 10
    assert steady_part(range(156), totals_of([16.0] * 5 + rates), by_amount=True) is None


@pytest.mark.parametrize(("share", "cut"), [(0.98, False), (1.02, True)])
def test_a_shift_counts_where_it_removes_six_variances_per_logarithm_of_the_length(share, cut):
    """36 rates that alternate by ±5 around a level, which shifts in the middle; the deviation is that of neighbours ÷ 0.954."""
    shift = sqrt(share * 6 * (10 / 0.954) ** 2 * log(36) / 9)
    found = part([100 + 5 * (-1) ** second + (shift if second >= 18 else 0) for second in range(36)])
    assert (found is not None and (found.first, found.last) == (18, 36)) is cut


@pytest.mark.parametrize(("apart", "steady"), [(0.249, True), (0.251, False)])
def test_halves_a_quarter_apart_are_of_no_level_whatever_their_spread(apart, steady):
    rates = [(1 - apart if second < 10 else 1) * (1 + 0.7 * (-1) ** second) for second in range(20)]
    assert (_steady_part([float(one) for one in range(21)], totals_of(rates), 1) is not None) is steady
