"""What a person asked of `measure`, checked."""

from __future__ import annotations

from typing import NamedTuple

from ingest.errors import UsageError
from ingest.units import parse

#: Counting that is estimated to take longer is left to a sample, unless everything is asked for.
EXACT_SECONDS = 30.0


class Wanted(NamedTuple):
    """How surely, and at what cost.

    Attributes:
        counts: whether counting everything is tried.
        limit: seconds that this may take before a sample takes its place; None for any time.
        tolerance: half the width of the interval that a sample must reach, over its value.
        confidence: of that interval.
        seed: of the sample; None for a random one.
    """

    counts: bool
    limit: float | None
    tolerance: float
    confidence: float
    seed: int | None


def wanted(
    exact: bool | None, tolerance: str | float, confidence: str | float, seed: str | int | None, needs_exact: str
) -> Wanted:
    """Check what was asked for.

    Args:
        exact: True for everything, False for a sample, None for what takes little time.
        tolerance: as written.
        confidence: as written.
        seed: as written.
        needs_exact: what else was asked for that only counting everything can do, or nothing.

    >>> wanted(None, "1%", "95%", None, "").limit
    30.0

    Raises:
        UsageError: a value out of range, or a sample and what needs everything.
    """
    if exact is False and needs_exact:
        raise UsageError(f"--sample: found it with {needs_exact}, which counts everything; expected one of them")
    return Wanted(
        counts=exact is not False,
        limit=None if exact or needs_exact else EXACT_SECONDS,
        tolerance=_share(tolerance, "--tolerance"),
        confidence=_share(confidence, "--confidence"),
        seed=None if seed is None else whole(seed, "--seed", 0),
    )


def _share(written: str | float, option: str) -> float:
    found = parse(written, "1", option)
    if not 0 < found < 1:
        raise UsageError(f"{option}: found {written}, expected a share above 0 and below 1, such as 0.5% or 0.95")
    return float(found)


def whole(written: str | int, option: str, least: int) -> int:
    """A whole number.

    >>> whole("8", "--threads", 1)
    8
    """
    found = parse(written, "1", option)
    if found % 1 or found < least:
        raise UsageError(f"{option}: found {written}, expected a whole number from {least}")
    return int(found)
