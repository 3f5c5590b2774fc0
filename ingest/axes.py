"""Ranges and lists as people write them: `1,8,128`, `1..1024*2`, `10..100+10`."""

from __future__ import annotations

import math
from typing import Any

from ingest.errors import UsageError
from ingest.units import parse

#: A range with more points than this is a slip of the pen.
MAX_POINTS = 10_000_000


def names_of(given: Any) -> list[Any]:
    """Return the ids of a list, or of text with commas; anything else stands for itself.

    >>> names_of("h100,a100"), names_of(["h100"]), names_of(None)
    (['h100', 'a100'], ['h100'], [None])
    """
    if isinstance(given, str):
        return given.split(",")
    return list(given) if isinstance(given, (list, tuple)) else [given]


def parse_axis(written: str, unit: str, what: str) -> list[float]:
    """Return the numbers of a list or range, in base units.

    `from..to*k` multiplies, `from..to+k` adds, `from..to` counts by one; lists are separated by commas.

    >>> parse_axis("1..1024*4", "node", "--nodes"), parse_axis("1,8,128", "node", "--nodes")
    ([1, 4, 16, 64, 256, 1024], [1, 8, 128])
    >>> parse_axis("1MB..3MB+1MB", "B/sample", "sample_bytes")
    [1000000, 2000000, 3000000]

    Raises:
        UsageError: a number in another unit, an empty or endless range.
    """
    numbers: list[float] = []
    for part in written.split(","):
        start, dots, rest = part.partition("..")
        if not dots:
            numbers.append(parse(part, unit, what))
            continue
        times, plus = rest.partition("*"), rest.partition("+")
        first, last = parse(start, unit, what), parse((times[0] if times[1] else plus[0]), unit, what)
        if times[1]:
            numbers += _geometric(first, last, parse(times[2], "1", what), what)
        else:
            numbers += _linear(first, last, parse(plus[2], unit, what) if plus[1] else 1, what)
    return numbers


def _geometric(first: float, last: float, factor: float, what: str) -> list[float]:
    if not (first > 0 and last >= first and factor > 1):
        raise UsageError(f"{what}: expected from..to*k with from above 0, to not below from, and k above 1")
    steps = math.floor(math.log(last / first) / math.log(factor) + 1e-9)
    points = [first * factor**step for step in range(steps + 1)]
    return [round(point) if point == round(point) else point for point in points]


def _linear(first: float, last: float, step: float, what: str) -> list[float]:
    if not (last >= first and step > 0) or (last - first) / step >= MAX_POINTS:
        raise UsageError(f"{what}: expected from..to+k with to not below from, k above 0, and fewer than {MAX_POINTS:,} points")
    return [first + step * count for count in range(math.floor((last - first) / step + 1e-9) + 1)]
