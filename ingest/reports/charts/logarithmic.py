"""Logarithmic axes: which values are labelled, so that every power of ten is where there is room, and labels keep apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

#: Labelled within a power of ten where there is room; below that only the power itself.
STEPS = (1, 2, 5)
#: Room for a label in pixels: its height upwards, its width to the right.
HIGH, WIDE = 16, 52


def upwards(values: Iterable[float], pixels: float) -> dict[str, Any]:
    """Scale and labels of a vertical axis for these values.

    >>> upwards([3, 300], 80)["axis"]["values"]
    [10.0, 100.0]
    """
    return _decades(values, int(pixels / HIGH))


def sideways(values: Iterable[float], pixels: float, exact: bool = False) -> dict[str, Any]:
    """Scale and labels of a horizontal axis; an exact one ends where the values do.

    >>> sideways([3, 30], 520)["axis"]["values"]
    [2.0, 5.0, 10.0, 20.0, 50.0]
    >>> sideways([3, 30], 520, exact=True)["axis"]["values"]
    [5.0, 10.0, 20.0]
    """
    return _decades(values, int(pixels / WIDE), exact)


def doublings(values: Iterable[float], pixels: float) -> dict[str, Any]:
    """Scale and labels of a horizontal axis of numbers that double.

    >>> doublings([1, 2048], 560)["axis"]["values"]
    [1, 4, 16, 64, 256, 1024]
    """
    known = list(values)
    low, high = min(known), max(known)
    powers = [2**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    scale = {"type": "log", "base": 2, "nice": False, "domain": [low, high]}
    return {"scale": scale, "axis": {"values": _thinned(powers, int(pixels / WIDE))}}


def _decades(values: Iterable[float], most: int, exact: bool = False) -> dict[str, Any]:
    positive = [value for value in values if value > 0]
    if not positive:
        return {"scale": {"type": "log"}}
    low, high = min(positive), max(positive)
    if not exact or low == high:
        low, high = _round_below(low), _round_above(high)
    return {"scale": {"type": "log", "nice": False, "domain": [low, high]}, "axis": {"values": _labelled(low, high, most)}}


def _labelled(low: float, high: float, most: int) -> list[float]:
    """The labels: 1, 2 and 5 of each power of ten, or the powers alone, or only some of these."""
    every = [value for value in _rounds(low, high) if low <= value <= high]
    if len(every) <= most:
        return every
    powers = [value for value in every if f"{value:e}".startswith("1.0")]
    return _thinned(powers, most) if len(powers) > 1 else _thinned(every, most)


def _thinned(values: Sequence[Any], most: int) -> list[Any]:
    """Every second value, or third, so that at most so many are left."""
    return list(values[:: max(1, math.ceil(len(values) / max(most, 1)))])


def _rounds(low: float, high: float) -> list[float]:
    """Round values, from below the range to above it."""
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    return [float(f"{step}e{power}") for power in range(first, last + 1) for step in STEPS]


def _round_below(value: float) -> float:
    return max(one for one in _rounds(value, value) if one < value * (1 + 1e-9))


def _round_above(value: float) -> float:
    return min(one for one in _rounds(value, value) if one > value)
