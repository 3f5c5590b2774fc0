"""The interval of the median of a test's runs, the decision that it allows, and the verdict on the test.

The runs are a sequence: each look at them may end it, and three to ten looks at one 95 % bound would err more often than
in 5 % of the cases. So each bound before the last run has a level of 99.5 %, and the one at the last run 97 %: together
they exceed the true median in about 5 % of the sequences. The bounds are Student's for a trimmed mean (Tukey and
McLaughlin 1963) of the logarithms of the rates: a single slow run decides nothing, and no bound is below zero.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ingest.acceptance.test_spec import AcceptanceTest, Load, Run, part_of
from ingest.corpus.estimators import student_quantile
from ingest.engine.expression import total
from ingest.engine.registry import solve
from ingest.requirement import least_accepted
from ingest.units import display

PASS, FAIL, NOT_TESTED, UNDECIDED = "pass", "fail", "not tested", "undecided"
#: Results of loads, the one first that decides about their test.
DECIDING = (FAIL, UNDECIDED, PASS)
#: Runs at which a first interval exists, and at which a decision falls whatever their spread.
FEWEST_RUNS, MOST_RUNS = 3, 10
#: One-sided levels of a bound before the last run, and at it.
LEVEL, LAST_LEVEL = 0.995, 0.97
#: Share of the runs that a trimmed mean leaves out at each end.
TRIMMED = 0.2
#: Share of the fastest run that counts for a run of less, whose logarithm would be no number.
LEAST_SHARE = 1e-9
#: Seconds from which IO500 counts a phase: a shorter one may end in caches.
SHORTEST_PHASE = 300
_quantile = lru_cache(student_quantile)


class RunInterval(NamedTuple):
    """Bounds of the median of the runs, in the unit of the runs."""

    low: float
    high: float


class RunDecision(NamedTuple):
    """The result of a sequence of runs, the interval of their median, and the runs that may suffice while it is undecided."""

    result: str
    interval: RunInterval
    more: int


def interval_of(rates: Sequence[float], runs: int = 0) -> RunInterval:
    """The interval of the median of three to ten runs, or of so many of their center and spread; spreads are of logarithms."""
    runs = runs or len(rates)
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
        "student_factor": _quantile(2 * (LEVEL if runs < MOST_RUNS else LAST_LEVEL) - 1, runs - 2 * trimmed - 1),
    }
    return RunInterval(float(solve("median_lower_bound", given)), float(solve("median_upper_bound", given)))


def decision_of(rates: Sequence[float], required: float, allowed_deviation: float) -> RunDecision:
    """The decision that three to ten runs allow.

    They pass where the lower bound of their median reaches the accepted rate: the requirement less the allowed deviation, a
    share of it. They fail where the upper bound is below the accepted rate too, and where ten runs do not pass. Between the
    two, more runs of the same median can still pass.
    """
    accepted = solve("accepted_rate", {"required_rate": required, "allowed_deviation": allowed_deviation})
    found = interval_of(rates)

    def result(runs: int) -> str:
        low, high = found if runs == len(rates) else interval_of(rates, runs)
        if low >= accepted:
            return PASS
        return FAIL if high < accepted or runs >= MOST_RUNS else UNDECIDED

    decided = result(len(rates))
    later = range(len(rates) + 1, MOST_RUNS + 1)
    more = next(runs for runs in later if result(runs) != UNDECIDED) - len(rates) if decided == UNDECIDED else 0
    return RunDecision(decided, found, more)


def limit_decision_of(times: Sequence[float], limit: float, allowed_deviation: float) -> RunDecision:
    """The decision on an upper limit, such as a latency: its reciprocal is a rate."""
    found = decision_of([1 / seconds for seconds in times], 1 / limit, allowed_deviation)
    low, high = found.interval
    return found._replace(interval=RunInterval(1 / high, 1 / low))


@dataclass(frozen=True)
class TestVerdict:
    """The verdict on one test, or on one requirement."""

    id: str
    requirement: str
    priority: str
    result: str  # `pass`, `fail`, `undecided` or `not tested`
    measured: float | None  # median of the runs that count; of all loads together
    required: float | None  # value of the requirement: the sum of the thresholds of all loads
    unit: str
    margin: float | None  # measured over required, less one
    why: str  # the reason of the result; it names the load that decides
    tests: tuple[str, ...] = ()  # ids of the tests that ran
    remark: str = ""  # a latency above the one that the line states beside its rate; it fails nothing
    runs: int = 0  # that count
    #: low, high: interval of the median of the runs; None for fewer than three
    low: float | None = None
    high: float | None = None
    more: int = 0  # runs that may suffice for a decision; 0 where there is one

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


class LoadVerdict(NamedTuple):
    """The verdict on one load: result, margin of the median over the threshold, runs that may suffice if undecided, reason."""

    result: str
    margin: float
    more: int
    why: str


def judged_test(test: AcceptanceTest, runs: Sequence[Run], reason: str = "") -> TestVerdict:
    """The verdict on a test by the runs that count: each of its loads must reach its threshold, their rates add up to the
    requirement. A reason says why an invalid run does not count."""
    required = float(f"{float(total([load.threshold for load in test.loads])):.12g}")
    why = f"not valid: {reason}" if reason else "no result"
    unit = test.loads[0].unit
    found = TestVerdict(test.id, test.requirement, test.priority, NOT_TESTED, None, required, unit, None, why)
    if not runs:
        return found
    rates: dict[str, list[float]] = {load.name: [] for load in test.loads}
    for seen in (seen for run in runs for seen in run.loads if seen.name in rates):
        rate = seen.rate
        if seen.unit == "sample/s":
            # DLIO counts samples; the requirement is in bytes.
            given = {"measured_samples_per_second": rate, "benchmark_record_bytes": test.parameters["record_length_bytes"]}
            rate = float(solve("bandwidth_of_samples", given))
        rates[seen.name].append(rate)
    sums = [float(total(list(parts))) for parts in zip(*rates.values(), strict=True)]
    low, high = interval_of(sums) if len(sums) >= FEWEST_RUNS else (None, None)
    result, more, why = _decided(test, runs, [_judged_load(test, load, rates[load.name]) for load in test.loads])
    latencies, remark = _latencies(test, runs)
    remark = "; ".join(filter(None, (remark, *_bursts(test, runs))))
    measured = statistics.median(sums)
    return replace(
        found,
        result=result,
        measured=measured,
        margin=float(solve("acceptance_margin", {"measured_rate": measured, "required_rate": required})),
        why="; ".join((why, *latencies)),
        remark=remark,
        runs=len(runs),
        low=low,
        high=high,
        more=more,
    )


def _decided(test: AcceptanceTest, runs: Sequence[Run], loads: Sequence[LoadVerdict]) -> tuple[str, int, str]:
    """The result of a test, the runs to add and the reason: too few runs, the tool itself, or its loads."""
    if len(runs) < test.repeats:
        return NOT_TESTED, test.repeats - len(runs), f"{len(runs)} of {test.repeats} runs"
    if failed := sum(run.judged == "fail" for run in runs):
        return FAIL, 0, f"{test.tool} reports {failed} of {len(runs)} runs as failed"
    counted = "one run" if len(runs) == 1 else f"median of {len(runs)} runs"
    worst = min(loads, key=lambda one: (DECIDING.index(one.result), one.margin))
    named = [worst] if worst.result == PASS else [one for one in loads if one.result == worst.result]
    more = max(one.more for one in named)
    asked = f": undecided, run {more} more" if worst.result == UNDECIDED else ""
    return worst.result, more, ", ".join(filter(None, (counted, "; ".join(filter(None, (one.why for one in named)))))) + asked


def _judged_load(test: AcceptanceTest, load: Load, rates: Sequence[float]) -> LoadVerdict:
    """The verdict on a load; the least rate that counts as required is the threshold as printed."""
    median, least = statistics.median(rates), least_accepted(load.threshold, load.unit)

    def shown(rate: float) -> str:
        return display(rate, load.unit, binary=False)

    several = len(test.loads) > 1
    part = f"{part_of(load)} " if several else ""
    goal = f"its {shown(load.threshold)}" if several else "the requirement"
    margin = float(solve("acceptance_margin", {"measured_rate": median, "required_rate": load.threshold}))
    if len(rates) < FEWEST_RUNS:
        if median >= least:
            return LoadVerdict(PASS, margin, 0, "")
        return LoadVerdict(FAIL, margin, 0, f"{part}{shown(median)}, below {goal}")
    found = decision_of(rates, least, test.allowed_deviation)
    low, high = map(shown, found.interval)
    accepted = f"{(1 - test.allowed_deviation) * 100:g} % of {goal}"
    if found.result == UNDECIDED:
        why = f"{part}{low} to {high}" + (f" where {goal} is required".replace("its ", "") if several else "")
    elif found.result == PASS:
        why = f"{part}at least {low}, which reaches {accepted}"
    elif len(rates) < MOST_RUNS:
        why = f"{part}at most {high}, below {accepted}"
    else:
        why = f"{part}at least {low} only: {MOST_RUNS} runs do not show {accepted}"
    return LoadVerdict(found.result, margin, found.more, why)


def _latencies(test: AcceptanceTest, runs: Sequence[Run]) -> tuple[list[str], str]:
    """Latencies of each load beside those that its rates imply and its line states, and those above the stated ones.

    They judge no line.
    """
    texts, above = [], []
    for load in test.loads:
        seen = [one for run in runs for one in run.loads if one.name == load.name]
        means = [one.latency_seconds for one in seen if one.latency_seconds is not None]
        slowest = [one.latency_99 for one in seen if one.latency_99 is not None]
        slow = statistics.median(slowest) if slowest else None
        if load.unit == "B/s" and means:
            allowed = test.implied.get(f"mean_latency_allowed.{part_of(load)}")
            of_mean = f" ({milliseconds(allowed)} at the required rate)" if allowed else ""
            if allowed and statistics.median(means) > allowed and load.pattern == "random":
                beside = f"beside an allowed {milliseconds(allowed)}"
                above.append(f"a mean {load.operation} latency of {milliseconds(statistics.median(means))}, {beside}")
            stated = f" ({milliseconds(load.latency_99)} stated)" if load.latency_99 else ""
            of_slow = f", 99 % within {milliseconds(slow)}{stated}" if slow is not None else ""
            texts.append(f"{part_of(load)} latency {milliseconds(statistics.median(means))}{of_mean}{of_slow}")
        if slow is not None and load.latency_99 is not None and slow > load.latency_99:
            beside = f"beside a stated {milliseconds(load.latency_99)}"
            above.append(f"99 % of the {load.operation} requests within {milliseconds(slow)}, {beside}")
    return texts, "; ".join(above)


def _bursts(test: AcceptanceTest, runs: Sequence[Run]) -> Iterator[str]:
    """Loads of a number of files that ended sooner than a phase that counts, where the required rate takes as long as one."""
    for load in test.loads if test.scale == "full" else ():
        seen = [one for run in runs for one in run.loads if one.name == load.name]
        times = [one.handled / one.rate for one in seen if one.handled and one.rate]
        if load.handled and times and statistics.median(times) < SHORTEST_PHASE <= load.handled / load.threshold:
            took, needed = (display(seconds, "s") for seconds in (statistics.median(times), load.handled / load.threshold))
            yield f"its files took {took}, {needed} at the required rate: a burst, shorter than the {SHORTEST_PHASE} s of IO500"


def milliseconds(seconds: float) -> str:
    """A latency in four digits, so that all of a line compare at a glance: `0.512 ms`, `1,500 ms`."""
    return f"{float(f'{seconds * 1e3:.4g}'):,.10g} ms"
