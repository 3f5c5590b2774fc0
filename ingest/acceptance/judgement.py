"""The verdict on one test: each of its loads must reach its threshold, their rates add up to the requirement."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.acceptance.latencies import late_answers, latencies_of
from ingest.acceptance.run_interval import (
    FAIL,
    FEWEST_RUNS,
    MOST_RUNS,
    NOT_TESTED,
    PASS,
    UNDECIDED,
    decision_of,
    interval_of,
)
from ingest.acceptance.test_spec import AcceptanceTest, Load, Observed, Run, part_of
from ingest.engine.expression import total
from ingest.engine.registry import solve
from ingest.requirement import least_accepted
from ingest.units import display

#: Results of loads, the one first that decides about their test.
DECIDING = (FAIL, UNDECIDED, PASS)


@dataclass(frozen=True)
class TestVerdict:
    """The verdict on one test, or on one requirement.

    Attributes:
        id: of the test or the requirement.
        requirement: id of the requirement.
        priority: of the requirement.
        result: `pass`, `fail`, `undecided` or `not tested`.
        measured: median of the runs that count; of all loads together.
        required: value of the requirement: the sum of the thresholds of all loads.
        unit: of both.
        margin: measured over required, less one.
        why: the reason of the result; it names the load that decides.
        tests: ids of the tests that ran.
        remark: a latency above the one that the line states beside its rate; it fails nothing.
        runs: that count.
        low, high: interval of the median of the runs; None for fewer than three.
        more: runs that may suffice for a decision; 0 where there is one.
    """

    id: str
    requirement: str
    priority: str
    result: str
    measured: float | None
    required: float | None
    unit: str
    margin: float | None
    why: str
    tests: tuple[str, ...] = ()
    remark: str = ""
    runs: int = 0
    low: float | None = None
    high: float | None = None
    more: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


class LoadVerdict(NamedTuple):
    """The verdict on one load of a test.

    Attributes:
        result: `pass`, `fail` or `undecided`.
        margin: of the median rate over the threshold.
        more: runs that may suffice for a decision.
        why: the reason.
    """

    result: str
    margin: float
    more: int
    why: str


def judged_test(test: AcceptanceTest, runs: Sequence[Run], reason: str = "") -> TestVerdict:
    """The verdict on a test.

    Args:
        test: with the thresholds of its loads.
        runs: that count.
        reason: why an invalid run does not count; empty without one.
    """
    required = float(f"{float(total([load.threshold for load in test.loads])):.12g}")
    why = f"invalid result: {reason}" if reason else "no result"
    unit = test.loads[0].unit
    found = TestVerdict(test.id, test.requirement, test.priority, NOT_TESTED, None, required, unit, None, why)
    if not runs:
        return found
    rates = {
        load.name: [_rate(test, seen) for run in runs for seen in run.loads if seen.name == load.name] for load in test.loads
    }
    sums = [float(total(list(parts))) for parts in zip(*rates.values(), strict=True)]
    low, high = interval_of(sums) if len(sums) >= FEWEST_RUNS else (None, None)
    result, more, why = _decided(test, runs, [_judged_load(test, load, rates[load.name]) for load in test.loads])
    measured = statistics.median(sums)
    return replace(
        found,
        result=result,
        measured=measured,
        margin=_margin(measured, required),
        why="; ".join((why, *latencies_of(test, runs))),
        remark=late_answers(test, runs),
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
    several = len(test.loads) > 1
    part = f"{part_of(load)} " if several else ""
    goal = f"its {_shown(load.threshold, load)}" if several else "the requirement"
    margin = _margin(median, load.threshold)
    if len(rates) < FEWEST_RUNS:
        if median >= least:
            return LoadVerdict(PASS, margin, 0, "")
        return LoadVerdict(FAIL, margin, 0, f"{part}{_shown(median, load)}, below {goal}")
    found = decision_of(rates, least, test.allowed_deviation)
    low, high = (_shown(end, load) for end in found.interval)
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


def _shown(rate: float, load: Load) -> str:
    return display(rate, load.unit, binary=False)


def _rate(test: AcceptanceTest, seen: Observed) -> float:
    """A rate in the unit of the requirement; DLIO counts samples."""
    if seen.unit != "sample/s":
        return seen.rate
    given = {"measured_samples_per_second": seen.rate, "benchmark_record_bytes": test.parameters["record_length_bytes"]}
    return float(solve("bandwidth_of_samples", given))


def _margin(measured: float, required: float) -> float:
    return float(solve("acceptance_margin", {"measured_rate": measured, "required_rate": required}))
