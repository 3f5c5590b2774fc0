"""Latencies of the runs of a test beside those that its rates imply and its line states; they decide nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from ingest.acceptance.test_spec import AcceptanceTest, Load, Run, part_of


def latencies_of(test: AcceptanceTest, runs: Sequence[Run]) -> Iterator[str]:
    """One text for each load that moves data."""
    for load in test.loads:
        mean, slow = (_median_of(runs, load, name) for name in ("latency_seconds", "latency_99"))
        if load.unit != "B/s" or mean is None:
            continue
        allowed = test.implied.get(f"mean_latency_allowed.{part_of(load)}")
        of_mean = f" ({milliseconds(allowed)} at the required rate)" if allowed else ""
        stated = f" ({milliseconds(load.latency_99)} stated)" if load.latency_99 else ""
        of_slow = f", 99 % within {milliseconds(slow)}{stated}" if slow is not None else ""
        yield f"{part_of(load)} latency {milliseconds(mean)}{of_mean}{of_slow}"


def late_answers(test: AcceptanceTest, runs: Sequence[Run]) -> str:
    """The loads whose 99 % latency exceeds the stated one, which judges no line."""
    found = [(load, _median_of(runs, load, "latency_99")) for load in test.loads]
    above = [
        f"99 % of the {load.operation} requests within {milliseconds(slow)}, beside a stated {milliseconds(load.latency_99)}"
        for load, slow in found
        if slow is not None and load.latency_99 is not None and slow > load.latency_99
    ]
    return "; ".join(above)


def milliseconds(seconds: float) -> str:
    """A latency in four digits, so that all of a line compare at a glance.

    >>> milliseconds(0.000512), milliseconds(0.00535631), milliseconds(1.5), milliseconds(1750)
    ('0.512 ms', '5.356 ms', '1,500 ms', '1,750,000 ms')
    """
    return f"{float(f'{seconds * 1e3:.4g}'):,.10g} ms"


def _median_of(runs: Sequence[Run], load: Load, name: str) -> float | None:
    known = [getattr(seen, name) for run in runs for seen in run.loads if seen.name == load.name]
    known = [value for value in known if value is not None]
    return statistics.median(known) if known else None
