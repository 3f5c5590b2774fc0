"""The interval of the median of a test's runs, and the decision that it allows.

The runs are a sequence: each look at them may end it, and three to ten looks at one 95 % bound would err more often than
in 5 % of the cases. So each bound before the last run has a level of 99.5 %, and the one at the last run 97 %: together
they exceed the true median in about 5 % of the sequences. The bounds are Student's for a trimmed mean (Tukey and
McLaughlin 1963) of the logarithms of the rates: a single slow run decides nothing, and no bound is below zero.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ingest.corpus.sampling.estimators import student_quantile
from ingest.engine.registry import solve

PASS, FAIL, NOT_TESTED, UNDECIDED = "pass", "fail", "not tested", "undecided"
#: Runs at which a first interval exists, and at which a decision falls whatever their spread.
FEWEST_RUNS, MOST_RUNS = 3, 10
#: One-sided levels of a bound before the last run, and at it.
LEVEL, LAST_LEVEL = 0.995, 0.97
#: Share of the runs that a trimmed mean leaves out at each end.
TRIMMED = 0.2
#: Share of the fastest run that counts for a run of less, whose logarithm would be no number.
LEAST_SHARE = 1e-9


class RunInterval(NamedTuple):
    """Bounds of the median of the runs.

    Attributes:
        low, high: in the unit of the runs.
    """

    low: float
    high: float


class RunDecision(NamedTuple):
    """The result of a sequence of runs.

    Attributes:
        result: `pass`, `fail` or `undecided`.
        interval: of the median.
        more: runs that may suffice for a decision; 0 where there is one.
    """

    result: str
    interval: RunInterval
    more: int


def interval_of(rates: Sequence[float]) -> RunInterval:
    """The interval of the median of three to ten runs.

    >>> low, high = interval_of([99.0, 100.0, 101.0, 100.0, 100.0])
    >>> round(low, 1), round(high, 1)
    (100.0, 100.0)
    """
    return _interval(rates, len(rates))


def decision_of(rates: Sequence[float], required: float, allowed_deviation: float) -> RunDecision:
    """The decision that runs allow.

    They pass where the lower bound of their median reaches the accepted rate: the requirement less the allowed deviation.
    They fail where the upper bound is below the accepted rate too, and where ten runs do not pass. Between the two, more
    runs of the same median can still pass.

    Args:
        rates: of three to ten runs.
        required: rate.
        allowed_deviation: share of the required rate that counts as no difference.

    >>> decision_of([97.0, 99.0, 101.0], 100, 0.03).result
    'undecided'
    >>> decision_of([99.0, 99.1, 99.2], 100, 0.03).result
    'pass'
    """
    found = interval_of(rates)
    result = _result(found, required, allowed_deviation, len(rates))
    if result != UNDECIDED:
        return RunDecision(result, found, 0)
    later = range(len(rates) + 1, MOST_RUNS + 1)
    enough = (runs for runs in later if _result(_interval(rates, runs), required, allowed_deviation, runs) != UNDECIDED)
    return RunDecision(result, found, next(enough) - len(rates))


def limit_decision_of(times: Sequence[float], limit: float, allowed_deviation: float) -> RunDecision:
    """The decision on an upper limit, such as a latency: its reciprocal is a rate.

    >>> limit_decision_of([0.980e-3, 0.981e-3, 0.982e-3], 1e-3, 0.03).result
    'pass'
    """
    found = decision_of([1 / seconds for seconds in times], 1 / limit, allowed_deviation)
    low, high = found.interval
    return found._replace(interval=RunInterval(1 / high, 1 / low))


def _result(found: RunInterval, required: float, allowed_deviation: float, runs: int) -> str:
    accepted = solve("accepted_rate", {"required_rate": required, "allowed_deviation": allowed_deviation})
    if found.low >= accepted:
        return PASS
    return FAIL if found.high < accepted or runs >= MOST_RUNS else UNDECIDED


def _interval(rates: Sequence[float], runs: int) -> RunInterval:
    """The interval that a number of runs with the center and the spread of these has; spreads are shares, so of logarithms."""
    least = max(rates) * LEAST_SHARE or LEAST_SHARE
    ordered, cut = sorted(math.log(max(rate, least)) for rate in rates), int(TRIMMED * len(rates))
    kept = ordered[cut : len(ordered) - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    trimmed = int(TRIMMED * runs)
    given = {
        "trimmed_mean_rate": math.exp(statistics.fmean(kept)),
        "winsorized_deviation": statistics.stdev(winsorized),
        "judged_runs": runs,
        "trimmed_runs": trimmed,
        "student_factor": _student_factor(LEVEL if runs < MOST_RUNS else LAST_LEVEL, runs - 2 * trimmed - 1),
    }
    return RunInterval(float(solve("median_lower_bound", given)), float(solve("median_upper_bound", given)))


@lru_cache
def _student_factor(level: float, degrees: int) -> float:
    """Student's quantile of a one-sided level."""
    return student_quantile(2 * level - 1, degrees)
