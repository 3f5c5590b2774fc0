"""Values of service terms: what the buyer sets as a bound in words, and whether the value that a vendor writes keeps it."""

from __future__ import annotations

from ingest.errors import UsageError
from ingest.units import parse

#: Words of a bound before its value.
AT_LEAST, AT_MOST = "at least", "at most"
#: Base units of terms, in the order in which a value is tried; a share is read as such only with its `%`, or up to 1.
BASES = ("B/s", "W", "s", "1")
#: Relative difference of two values that are the same one, written in another unit.
SAME = 1e-9


def bound_kept(bound: str, offered: str) -> bool | None:
    """Whether an offered value keeps a bound; None where there is no bound, or the value does not read as one of its unit.

    >>> bound_kept("at least 99.9 %", "98 %"), bound_kept("at most 40 kW", "35 kW"), bound_kept("at most 24 h", "2 days")
    (False, True, False)
    >>> bound_kept("at least 99.9 %", "99.9"), bound_kept("at most 0.5 ms", "under a millisecond"), bound_kept("", "5 ms")
    (None, None, None)
    """
    most = bound.startswith(AT_MOST)
    if not offered or not (most or bound.startswith(AT_LEAST)):
        return None
    required = bound.removeprefix(AT_MOST).removeprefix(AT_LEAST).strip()
    for base in BASES:
        limit, value = _read(required, base), _read(offered, base)
        if limit is not None:
            if value is None or (base == "1" and limit <= 1 < value):
                return None
            return value <= limit * (1 + SAME) if most else value >= limit * (1 - SAME)
    return None


def _read(written: str, base: str) -> float | None:
    """A value with its unit in base units; None for another unit or for words. A number alone is a share or a count."""
    if base != "1" and written.replace(".", "").replace(",", "").strip().isdigit():
        return None
    try:
        return parse(written, base, "the value")
    except UsageError:
        return None
