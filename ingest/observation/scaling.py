"""What several observations of one job show together: how its rate scales, and what handing a batch over takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from ingest.corpus.sampling.estimators import student_quantile
from ingest.engine.registry import solve
from ingest.engine.value import Quantity
from ingest.errors import IngestError
from ingest.observation.observation import Observation

#: A line through fewer points leaves no interval.
LEAST_OBSERVATIONS = 3
#: An observation further from the line of the others, as a share of its rate, is of another job.
CONTRADICTS_BEYOND = 0.1
#: Rates that grow faster than the GPUs by this much are of two jobs.
SUPERLINEAR_FROM = 1.05
#: Of jobs that wait for longer, the wait is that for reads.
MOST_STALL = 0.1
CONFIDENCE = 0.95
RATES = ("demanded_samples_per_second_per_gpu", "samples_per_second_per_gpu")


class Point(NamedTuple):
    """One observation: samples per second per GPU, its size, and where known its batch per GPU and its stall."""

    place: str
    rate: float
    gpus: int
    batch: float | None
    stall: float | None


class Line(NamedTuple):
    """A line of least squares with the half widths of the 95 % intervals of slope and height at 0."""

    slope: float
    height: float
    slope_width: float
    height_width: float


class Scaling(NamedTuple):
    """What several observations show together.

    Attributes:
        results: `scaling_exponent` and `handover_seconds`, with their 95 % intervals, where they are determined.
        unknown: the reason why one is missing, by its name.
        points: number of the observations behind each, by its name.
    """

    results: Mapping[str, Quantity]
    unknown: Mapping[str, str]
    points: Mapping[str, int]


def scaling_of(observations: Sequence[tuple[str, Observation]]) -> Scaling:
    """The exponent of the total rate over the GPUs, and the time in which a batch is handed over.

    Args:
        observations: file and observation of several runs of one job.

    Raises:
        IngestError: they contradict each other, or determine neither.
    """
    points = [_point(place, seen) for place, seen in observations]
    results: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name, found in (("scaling_exponent", _exponent), ("handover_seconds", _handover)):
        try:
            results[name], counts[name] = found(points)
        except _Undetermined as why:
            unknown[name] = str(why)
    if not results:
        lines = "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in unknown.items())
        raise IngestError(f"{len(points)} observations determine nothing together: {lines}")
    return Scaling(results, unknown, counts)


class _Undetermined(Exception):
    """The observations leave a quantity open, with what would settle it."""


def _point(place: str, seen: Observation) -> Point:
    rate = next((seen.figures[name].value for name in RATES if name in seen.figures), None)
    gpus = seen.facts.get("gpus")
    if rate is None or not isinstance(gpus, int) or isinstance(gpus, bool) or gpus < 1:
        raise IngestError(
            f"{place}: no rate per GPU, or no number of GPUs, expected an observation with both: observe LOG --gpus N"
        )
    batch, stall = seen.figures.get("samples_per_step"), seen.figures.get("stall_fraction")
    return Point(place, rate, gpus, batch.value if batch else None, stall.value if stall else None)


def _exponent(points: Sequence[Point]) -> tuple[Quantity, int]:
    """The slope of the logarithm of the total rate over that of the GPUs, at one batch per GPU."""
    if len({one.gpus for one in points}) < 2:
        raise _Undetermined(f"all have {points[0].gpus:,} GPUs, expected two sizes or more")
    if len({one.batch for one in points if one.batch is not None}) > 1:
        raise _Undetermined("the batch per GPU changes with the size, expected one batch")
    if len(points) < LEAST_OBSERVATIONS:
        raise _Undetermined(f"two observations leave no interval, expected {LEAST_OBSERVATIONS} or more")
    logs = [(math.log(one.gpus), math.log(one.gpus * one.rate)) for one in points]
    line = line_through(logs)
    for one, (across, up) in zip(points, logs, strict=True):
        off = math.expm1(up - line.height - line.slope * across)
        if abs(off) > CONTRADICTS_BEYOND:
            raise IngestError(
                f"{one.place}: {one.rate:.4g} sample/s per GPU on {one.gpus:,} GPUs is {off:+.0%} off the line of the others: "
                "another job, or a disturbed one; leave it out"
            )
    if line.slope > SUPERLINEAR_FROM:
        raise IngestError(
            f"{points[0].place}: the total rate grows with GPUs^{line.slope:.3g}, faster than the GPUs: expected observations "
            "of one job, with stalls taken out (--synthetic)"
        )
    ends = (line.slope - line.slope_width, line.slope, line.slope + line.slope_width)
    low, value, high = (min(1.0, max(0.0, one)) for one in ends)
    return Quantity(value, "1", low, high), len(points)


def _handover(points: Sequence[Point]) -> tuple[Quantity, int]:
    """The wait of each step that does not grow with the batch, of jobs whose loader keeps up."""
    usable = [one for one in points if one.batch and one.stall is not None and one.stall <= MOST_STALL]
    if len(usable) < LEAST_OBSERVATIONS or len({one.batch for one in usable}) < 2:
        raise _Undetermined(
            f"expected {LEAST_OBSERVATIONS} observations or more, at two batches or more, with stalls up to {MOST_STALL:.0%} "
            "(--synthetic)"
        )
    waits = [_wait(one.batch or 0, one.rate, one.stall or 0) for one in usable]
    line = line_through([(one.batch or 0.0, wait) for one, wait in zip(usable, waits, strict=True)])
    low, high = line.height - line.height_width, line.height + line.height_width
    if low <= 0:
        raise _Undetermined(f"within the spread of the observations, at most {max(high, 0):.2g} s")
    return Quantity(line.height, "s", low, high), len(usable)


def _wait(batch: float, rate: float, stall: float) -> float:
    given = {"samples_per_step": batch, "demanded_samples_per_second_per_gpu": rate, "stall_fraction": stall}
    return float(solve("observed_wait_seconds", given))


def line_through(points: Sequence[tuple[float, float]]) -> Line:
    """The line of least squares through three points or more, with 95 % intervals.

    >>> line = line_through([(0, 1.0), (1, 3.0), (2, 5.0), (3, 7.2)])
    >>> round(line.slope, 2), round(line.height, 2), round(line.slope_width, 2)
    (2.06, 0.96, 0.15)
    """
    middle, level = fmean(across for across, _ in points), fmean(up for _, up in points)
    spread = sum((across - middle) ** 2 for across, _ in points)
    slope = sum((across - middle) * (up - level) for across, up in points) / spread
    height = level - slope * middle
    degrees = len(points) - 2
    variance = sum((up - height - slope * across) ** 2 for across, up in points) / degrees
    factor = student_quantile(CONFIDENCE, degrees)
    return Line(slope, height, factor * (variance / spread) ** 0.5,
                factor * (variance * (1 / len(points) + middle**2 / spread)) ** 0.5)  # fmt: skip
