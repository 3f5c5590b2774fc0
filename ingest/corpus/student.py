"""Student's t without a statistics library."""

from __future__ import annotations

import math
from statistics import NormalDist

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
