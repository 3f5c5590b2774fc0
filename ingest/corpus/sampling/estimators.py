"""From draws to totals and ratios with intervals: of the whole corpus, of a folder, of an extension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.formulas import sampling as formulas

_STEPS = 200
#: beyond this many degrees the normal distribution is the same to eight digits
_MANY = 1e7


def student_quantile(confidence: float, degrees: float) -> float:
    """The t at which a two-sided interval has this confidence.

    P(|T| < t) is the integral of cos^(ν−1) up to atan(t/√ν), divided by the whole one; it is concave in t, so that Newton's
    steps from the normal quantile, which is smaller, climb to the answer and never pass it.

    Args:
        confidence: between 0 and 1, both excluded.
        degrees: degrees of freedom, one or more; need not be whole.

    >>> round(student_quantile(0.95, 9), 4), round(student_quantile(0.95, 1e6), 4)
    (2.2622, 1.96)
    """
    found = NormalDist().inv_cdf((1 + confidence) / 2)
    if degrees > _MANY:
        return found
    log_beta = math.lgamma(0.5) + math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)
    for _ in range(100):
        angle = math.atan(found / math.sqrt(degrees))
        held = 2 * _integral_of_cosine_power(angle, degrees - 1) * math.exp(-log_beta)
        slope = 2 * math.exp(-log_beta - (degrees + 1) / 2 * math.log1p(found * found / degrees)) / math.sqrt(degrees)
        step = (confidence - held) / slope
        found += step
        if abs(step) < 1e-10 * found:
            break
    return found


def _integral_of_cosine_power(end: float, power: float) -> float:
    """Simpson's rule from zero."""
    width = end / _STEPS
    weights = (1 if step in (0, _STEPS) else 4 if step % 2 else 2 for step in range(_STEPS + 1))
    return width / 3 * math.fsum(weight * math.cos(step * width) ** power for step, weight in enumerate(weights))


if TYPE_CHECKING:
    import numpy

    Column = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

#: with fewer draws an interval says nothing, and none is given
FEWEST_DRAWS = 30
FEWEST_OF_PART = 5


class RatioEstimate(NamedTuple):
    """A figure and its interval; where it is exact, both ends are the figure."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DrawnSample:
    """The draws of one group of files, in the order in which they came: two and two share a stratum.

    Attributes:
        densities: for each figure what each draw holds per stored byte.
        frame_bytes: stored bytes that could have been drawn.
    """

    densities: Mapping[str, Column]
    frame_bytes: int

    @property
    def draws(self) -> int:
        """How many."""
        return len(next(iter(self.densities.values())))


@dataclass(frozen=True)
class StratumPart:
    """A group of files as far as it belongs to what is estimated.

    Attributes:
        drawn: the draws of the group.
        bytes: stored bytes of the group that belong to it.
        places: of the draws that belong to it, in order; None where all do.
    """

    drawn: DrawnSample
    bytes: int
    places: Any = None

    @property
    def draws(self) -> int:
        """Draws that belong to it."""
        return self.drawn.draws if self.places is None else len(self.places)

    def column(self, figure: str) -> Column:
        """The densities of the draws that belong to it."""
        column = self.drawn.densities[figure]
        return column if self.places is None else column[self.places]

    def variances(self, column: Column) -> Column:
        """What each stratum adds to the variance of the total over this part of a density, given where it belongs to it.

        The part's stored bytes are known, so that only the spread around its mean counts; the share of all draws that
        fell into it is an accident. Of a stratum that lies across its border one draw may count alone.
        """
        import numpy

        spread = column - formulas.sampled_density(column, self.draws)
        if self.places is None:
            differences = spread[0::2] - spread[1::2]
        else:
            stratum = numpy.unique(self.places // 2, return_inverse=True)[1]
            differences = numpy.bincount(stratum, numpy.where(self.places % 2, -spread, spread))
        return formulas.pair_variances(self.bytes, differences, self.draws)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Estimand:
    """What is estimated: parts that were drawn, and what is known beside them.

    Attributes:
        parts: of the groups that were drawn.
        known: what was counted exactly.
        confidence: of all intervals.
    """

    parts: Sequence[StratumPart]
    known: Mapping[str, float]
    confidence: float

    def enough(self) -> bool:
        """Whether it was drawn often enough to say something, and no part of it hardly at all."""
        draws = [part.draws for part in self.parts]
        return not draws or (sum(draws) >= FEWEST_DRAWS and min(draws) >= FEWEST_OF_PART)

    def value(self, figure: str) -> float:
        """The total of a figure."""
        sampled = (
            formulas.sampled_total(part.bytes, formulas.sampled_density(part.column(figure), part.draws)) for part in self.parts
        )
        return float(self.known.get(figure, 0) + sum(sampled))

    def total(self, figure: str) -> RatioEstimate:
        """The total of a figure, with its interval."""
        return self.interval(self.value(figure), self.variances_of_total(figure))

    def variances_of_total(self, figure: str) -> list[Column]:
        """What each stratum of each part adds to the variance of a total."""
        return [part.variances(part.column(figure)) for part in self.parts]

    def ratio(self, top: str, bottom: str) -> RatioEstimate:
        """One total over another, with its interval; nothing over nothing is nothing."""
        base = self.value(bottom)
        if not base:
            return RatioEstimate(0, 0, 0)
        return self.interval(self.value(top) / base, self.variances_of_ratio(top, bottom))

    def variances_of_ratio(self, top: str, bottom: str) -> list[Column]:
        """What each stratum of each part adds to the variance of a ratio."""
        base = self.value(bottom)
        guess = self.value(top) / base
        return [
            part.variances(formulas.ratio_residuals(part.column(top), guess, part.column(bottom), base)) for part in self.parts
        ]

    def interval(self, value: float, variances: Sequence[Column]) -> RatioEstimate:
        """A value with its interval, from what each stratum of each part adds to its variance."""
        if not any(column.any() for column in variances):
            return RatioEstimate(value, value, value)
        variance = sum(formulas.sampling_variance(column) for column in variances)
        half = formulas.interval_half_width(variance, self.quantile(variances))
        return RatioEstimate(value, float(formulas.interval_low(value, half)), float(formulas.interval_high(value, half)))

    def quantile(self, variances: Sequence[Column]) -> float:
        """Student's t for a variance that is the sum of these."""
        import numpy

        return student_quantile(self.confidence, float(formulas.degrees_of_freedom(numpy.concatenate(variances))))


def half_width(estimated: RatioEstimate) -> float:
    """Half the width of an interval over its estimate; no width where there is nothing."""
    if not estimated.value:
        return 0.0
    return float(formulas.relative_half_width(estimated.high - estimated.value, estimated.value))


def fewer(all_of_them: float, lost: RatioEstimate) -> RatioEstimate:
    """What is left of a known number.

    >>> fewer(100, RatioEstimate(10, 5, 15))
    Estimated(value=90, low=85, high=95)
    """
    return RatioEstimate(*(max(all_of_them - number, 0) for number in (lost.value, lost.high, lost.low)))


def more(found: RatioEstimate, unseen: float) -> RatioEstimate:
    """A figure whose upper end lies higher by what nobody has seen."""
    return found._replace(high=found.high + unseen)
