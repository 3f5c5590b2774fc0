"""Draws of stored bytes; totals and ratios with confidence intervals from them: of the corpus, of a folder, of an extension.

Files lie end to end in path order, and every stored byte is equally likely to be drawn. The bytes are divided into runs of
equal length, with two independent draws in each: every folder is drawn in proportion to its size, and the variance is unbiased.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.formulas import corpus as formulas

if TYPE_CHECKING:
    import numpy

    Column = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

#: shorter blocks split more characters and words, longer ones do not vary less
BLOCK_BYTES = 16 * 1024
#: with fewer draws no interval is given
FEWEST_DRAWS = 30
FEWEST_PER_PART = 5
#: weights of Simpson's rule
_STEPS = 200
_SIMPSON = tuple(1 if step in (0, _STEPS) else 4 if step % 2 else 2 for step in range(_STEPS + 1))
#: degrees of freedom from which the normal distribution equals Student's to eight digits
_MANY = 1e7


def draw(frame_bytes: int, pairs: int, seed: str) -> list[int]:
    """Two random byte positions in each of `pairs` runs of consecutive bytes, run by run."""
    chance = random.Random(seed)
    width = frame_bytes / pairs
    return [min(int((run + chance.random()) * width), frame_bytes - 1) for run in range(pairs) for _ in (1, 2)]


@dataclass
class SamplingFrame:
    """The units that can be drawn, end to end: files, parts of files, or files that are drawn by the block."""

    members: array[int] = field(default_factory=lambda: array("q"))  # for each unit the position of its file in the listing
    sizes: array[int] = field(default_factory=lambda: array("q"))  # for each unit its stored bytes
    bytes: int = 0  # stored bytes of all units

    def add(self, member: int, size: int) -> None:
        """Append a unit; an empty one is never drawn."""
        self.members.append(member)
        self.sizes.append(size)
        self.bytes += size

    def column(self) -> numpy.ndarray[Any, Any]:
        import numpy

        return numpy.array(self.sizes, dtype=numpy.int64)

    def locate(self, positions: list[int]) -> list[tuple[int, int]]:
        """The unit at each position, and the offset of the position within it."""
        import numpy

        ends = numpy.cumsum(self.column())
        units = numpy.searchsorted(ends, positions, side="right")
        located = zip(units, positions, strict=True)
        return [(int(unit), position - int(ends[unit]) + self.sizes[unit]) for unit, position in located]


def block_at(offset: int, size: int) -> tuple[int, int]:
    """Start and length of the block that holds a byte of a file of `size` bytes."""
    start = offset // BLOCK_BYTES * BLOCK_BYTES
    return start, min(BLOCK_BYTES, size - start)


def whole_characters(raw: bytes, size: int, first: bool) -> bytes:
    """The characters that begin within the first `size` bytes; the bytes after those only complete the last character.

    >>> whole_characters("aé".encode(), 2, True).decode(), whole_characters("éa".encode()[1:], 2, False)
    ('aé', b'a')
    """
    begin, end = 0, min(size, len(raw))
    while not first and begin < min(3, size, len(raw)) and raw[begin] & 0xC0 == 0x80:
        begin += 1
    while end < len(raw) and raw[end] & 0xC0 == 0x80:
        end += 1
    return raw[begin:end]


def student_quantile(confidence: float, degrees: float) -> float:
    """Student's t of a two-sided interval: confidence within 0 to 1, degrees of freedom one or more, not necessarily whole.

    P(|T| < t) is the integral of cos^(ν−1) from 0 to atan(t/√ν), over that to π/2; it is concave in t, so that Newton's method
    climbs from the normal quantile, which is smaller, to the solution without passing it.
    """
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    if degrees > _MANY:
        return quantile
    log_beta = math.lgamma(0.5) + math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)
    for _ in range(100):
        width = math.atan(quantile / math.sqrt(degrees)) / _STEPS
        powers = (weight * math.cos(step * width) ** (degrees - 1) for step, weight in enumerate(_SIMPSON))
        share = 2 * (width / 3 * math.fsum(powers)) * math.exp(-log_beta)
        slope = 2 * math.exp(-log_beta - (degrees + 1) / 2 * math.log1p(quantile * quantile / degrees)) / math.sqrt(degrees)
        step = (confidence - share) / slope
        quantile += step
        if abs(step) < 1e-10 * quantile:
            break
    return quantile


class RatioEstimate(NamedTuple):
    """A figure with its confidence interval; where it is exact, both ends equal the value."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DrawnSample:
    """The draws of one stratum, in the order of drawing: pairs share a run of consecutive bytes."""

    densities: Mapping[str, Column]  # for each figure the amount per stored byte of each draw
    frame_bytes: int  # stored bytes of the sampling frame


@dataclass(frozen=True)
class StratumPart:
    """The part of a stratum that belongs to an estimand."""

    sample: DrawnSample  # the draws of the stratum
    bytes: int  # stored bytes of the part
    places: Any = None  # positions of the draws in the part, in order; None for all

    @property
    def draws(self) -> int:
        return len(next(iter(self.sample.densities.values())) if self.places is None else self.places)

    def column(self, figure: str) -> Column:
        column = self.sample.densities[figure]
        return column if self.places is None else column[self.places]

    def variances(self, column: Column) -> Column:
        """The contribution of each run to the variance of the part's total of a density.

        The stored bytes of the part are known, so only the spread around its mean counts, not the share of draws in it. Of a
        run across its border one draw may count alone.
        """
        import numpy

        spread = column - formulas.sampled_density(column, self.draws)
        if self.places is None:
            differences = spread[0::2] - spread[1::2]
        else:
            run = numpy.unique(self.places // 2, return_inverse=True)[1]
            differences = numpy.bincount(run, numpy.where(self.places % 2, -spread, spread))
        return formulas.pair_variances(self.bytes, differences, self.draws)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Estimand:
    """A population whose figures are estimated: sampled parts, and exact counts of the rest."""

    parts: Sequence[StratumPart]  # of the sampled strata
    exact: Mapping[str, float]  # exact counts, by figure
    confidence: float  # of all intervals

    def value(self, figure: str, over: str = "") -> float:
        """The total of a figure, or its ratio over the total of another; 0 where the other is 0."""
        sampled = (
            formulas.sampled_total(part.bytes, formulas.sampled_density(part.column(figure), part.draws)) for part in self.parts
        )
        total = float(self.exact.get(figure, 0) + sum(sampled))
        base = self.value(over) if over else 1.0
        return total / base if base else 0.0

    def estimate(self, figure: str, over: str = "") -> RatioEstimate:
        """The total of a figure, or its ratio over the total of another, with its interval."""
        if over and not self.value(over):
            return RatioEstimate(0, 0, 0)
        value, variances = self.value(figure, over), self.variances(figure, over)
        if not any(column.any() for column in variances):
            return RatioEstimate(value, value, value)
        variance = sum(formulas.sampling_variance(column) for column in variances)
        half = formulas.interval_half_width(variance, self.quantile(variances))
        return RatioEstimate(value, float(formulas.interval_low(value, half)), float(formulas.interval_high(value, half)))

    def variances(self, figure: str, over: str = "") -> list[Column]:
        """The contributions of each part's runs to the variance of a total or ratio."""
        columns = [part.column(figure) for part in self.parts]
        if over:
            guess, base = self.value(figure, over), self.value(over)
            pairs = zip(columns, self.parts, strict=True)
            columns = [formulas.ratio_residuals(column, guess, part.column(over), base) for column, part in pairs]
        return [part.variances(column) for part, column in zip(self.parts, columns, strict=True)]

    def quantile(self, variances: Sequence[Column]) -> float:
        """Student's t for the sum of these contributions."""
        import numpy

        return student_quantile(self.confidence, float(formulas.degrees_of_freedom(numpy.concatenate(variances))))


def remainder(total: float, lost: RatioEstimate) -> RatioEstimate:
    """A known total less an estimate."""
    return RatioEstimate(*(max(total - number, 0) for number in (lost.value, lost.high, lost.low)))
