"""How sizes are distributed, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: sizes that are told apart; beyond them they are rounded
MOST_SIZES = 1_000_000
#: binary digits that rounding keeps: a thousandth
KEPT_BITS = 10
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


class Bin(NamedTuple):
    """Sizes from a power of two up to the next: how many, and their bytes; `low` belongs to it, `high` does not."""

    low: int
    high: int
    times: int
    bytes: int


class SizeCounts:
    """How often each size occurs.

    Attributes:
        count: how many.
        bytes: their sum.
        rounded: whether percentiles are exact to a thousandth only, because too many sizes differ.
    """

    def __init__(self) -> None:
        self.count = self.bytes = self.largest = 0
        self.rounded = False
        self._times: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._most = MOST_SIZES

    def add(self, size: int, times: int = 1) -> None:
        """So many of a size."""
        self.count += times
        self.bytes += size * times
        self.largest = max(self.largest, size)
        place = size.bit_length()
        self._bytes[place] = self._bytes.get(place, 0) + size * times
        key = rounded(size) if self.rounded else size
        self._times[key] = self._times.get(key, 0) + times
        if len(self._times) > self._most and not self.rounded:
            self._round()

    def _round(self) -> None:
        self.rounded = True
        before, self._times = self._times, {}
        for size, times in before.items():
            self._times[rounded(size)] = self._times.get(rounded(size), 0) + times

    def percentiles(self, asked: Sequence[int] = PERCENTILES) -> dict[int, int]:
        """For each percentage the smallest size that so many do not exceed.

        >>> sizes = SizeCounts()
        >>> for size in range(1, 101):
        ...     sizes.add(size)
        >>> sizes.percentiles((1, 50, 99))
        {1: 1, 50: 50, 99: 99}
        """
        found: dict[int, int] = {}
        wanted = [(percent, math.ceil(percent * self.count / 100)) for percent in asked]
        passed = 0
        for size in sorted(self._times):
            passed += self._times[size]
            found |= {percent: size for percent, rank in wanted if percent not in found and passed >= rank}
        return found

    def bins(self) -> list[Bin]:
        """The histogram.

        >>> sizes = SizeCounts()
        >>> sizes.add(3), sizes.add(2), sizes.add(4, times=2)
        (None, None, None)
        >>> sizes.bins()
        [Bin(low=2, high=4, times=2, bytes=5), Bin(low=4, high=8, times=2, bytes=8)]
        """
        counts: dict[int, int] = {}
        for size, times in self._times.items():
            counts[size.bit_length()] = counts.get(size.bit_length(), 0) + times
        return [Bin(2**place // 2, max(2**place, 1), count, self._bytes[place]) for place, count in sorted(counts.items())]


def rounded(size: int) -> int:
    """A size with its ten leading binary digits.

    >>> rounded(1023), rounded(1_000_001)
    (1023, 999424)
    """
    dropped = max(size.bit_length() - KEPT_BITS, 0)
    return size >> dropped << dropped
