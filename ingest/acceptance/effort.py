"""The effort of an acceptance: what is filled once, and the time of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ingest.acceptance.datasets import required_write_rate
from ingest.acceptance.loads import Setting
from ingest.acceptance.run_interval import FEWEST_RUNS, MOST_RUNS
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load
from ingest.engine.expression import total
from ingest.engine.registry import INPUTS, solve
from ingest.requirement import Requirement
from ingest.units import display, scale_of


class Effort(NamedTuple):
    """What an acceptance takes if each test reaches its rate.

    Attributes:
        total_seconds: of filling and all runs; of the runs alone where the plan requires no write rate.
        fill_bytes: of data sets and ballast; 0 where nothing is filled before the tests.
        fill_seconds: at the required write rate; None without one.
        tools: that fill data sets of their own.
        runs: of all tests, before more are asked for.
        run_seconds: of these.
        most_run_seconds: of ten runs of each test, after which the verdict is decided.
        degraded_runs: runs of the tests that terms on degraded operation name.
        degraded_seconds: of these.
    """

    total_seconds: float
    fill_bytes: float
    fill_seconds: float | None
    tools: tuple[str, ...]
    runs: int
    run_seconds: float
    most_run_seconds: float
    degraded_runs: int = 0
    degraded_seconds: float = 0

    @property
    def words(self) -> str:
        """The effort in one line.

        >>> Effort(41_040, 2e15, 22_320, ("fio",), 18, 18_720, 62_400).words
        '11.4 h: fill 6.2 h once, 18 runs 5.2 h'
        """
        runs = f"{self.runs} {'run' if self.runs == 1 else 'runs'} {_time(self.run_seconds)}"
        if self.degraded_runs:
            runs += f", {self.degraded_runs} in degraded operation {_time(self.degraded_seconds)}"
        if not self.fill_bytes:
            return f"{_time(self.total_seconds)}: {runs}"
        often = "once" if len(self.tools) < 2 else f"once for each of {', '.join(self.tools)}"
        if self.fill_seconds is None:
            return f"{_time(self.total_seconds)} and the fill of {display(self.fill_bytes, 'B', binary=False)} {often}: {runs}"
        return f"{_time(self.total_seconds)}: fill {_time(self.fill_seconds)} {often}, {runs}"

    @property
    def filled(self) -> str:
        """What is filled before the tests; empty where nothing is."""
        return f"fill: {display(self.fill_bytes, 'B', binary=False)}, at the required write rate" if self.fill_bytes else ""

    @property
    def most(self) -> str:
        """The time where the verdict asks for ten runs of each test; empty where it asks for none."""
        if self.most_run_seconds <= self.run_seconds:
            return ""
        longest = _time(self.most_run_seconds)
        return f"up to {MOST_RUNS} runs of a test where their spread leaves the verdict open: {longest} if all tests do"


def effort_of(
    tests: Sequence[AcceptanceTest],
    lines: Sequence[Requirement],
    setting: Setting,
    fill: float,
    degraded: Sequence[AcceptanceTest] = (),
) -> Effort:
    """The effort of the tests of one folder.

    Args:
        tests: all of them.
        lines: of the plan.
        setting: common to all tests.
        fill: share of the capacity that the lines want in use.
        degraded: tests that are repeated in degraded operation.
    """
    data, rate = setting.data, required_write_rate(lines)
    tools = tuple(dict.fromkeys(test.tool for test in tests if any(load.dataset_bytes for load in test.loads)))
    seconds = [(test, _seconds_of(test)) for test in tests]
    runs = float(total([time for _, time in seconds]))
    again = float(total([_seconds_of(test) for test in degraded] or [0]))
    all_runs = float(total([runs, again]))
    most = [
        max(_seconds(load, MOST_RUNS) for load in test.loads) if test.repeats >= FEWEST_RUNS else time for test, time in seconds
    ]
    filled, fill_time, whole = 0.0, None, all_runs
    if data is not None:
        level = {"acceptance_usable_bytes": setting.usable, "fill_under_test": fill}
        ballast = solve("capacity_in_use", level) if setting.usable and fill else 0
        given = {"all_dataset_bytes": data.all_bytes, "filling_tools": max(len(tools), 1), "ballast_level_bytes": ballast}
        filled = float(solve("acceptance_fill_bytes", given))
        if rate:
            times = {"acceptance_fill_bytes": filled, "required_write_bandwidth": rate, "all_run_seconds": all_runs}
            fill_time = float(solve("acceptance_fill_seconds", times))
            whole = float(solve("acceptance_effort_seconds", times))
    counts = [sum(test.repeats for test in some) for some in (tests, degraded)]
    return Effort(whole, filled, fill_time, tools, counts[0], runs, float(total(most)), counts[1], again)


def _seconds_of(test: AcceptanceTest) -> float:
    """The time of the runs that a test begins with; its loads run concurrently."""
    return max(_seconds(load, test.repeats) for load in test.loads)


def _seconds(load: Load, runs: int) -> float:
    given = {name: found.default for name, found in INPUTS.items() if found.default is not None}
    files = {"files_handled": load.handled, "required_file_rate": load.threshold}
    seconds = load.seconds or float(solve("files_seconds", files))
    ramp = {} if load.operation in DATA else {"ramp_seconds": 0}
    return float(solve("seconds_of_runs", {**given, "test_runs": runs, "acceptance_seconds": seconds, **ramp}))


def _time(seconds: float) -> str:
    """A time in three digits.

    >>> _time(46_500), _time(90)
    ('12.9 h', '1.5 min')
    """
    factor, unit = scale_of(seconds, "s", binary=False)
    return f"{seconds / (factor or 1):,.3g} {unit or 's'}" if seconds < 3600 else f"{seconds / 3600:,.3g} h"
