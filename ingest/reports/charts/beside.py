"""Names at the ends of lines: beside the plot, apart from each other, each led to by its line."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.reports.charts.chart import SIGNAL

#: Characters in a line of a name; pixels from one such line to the next, between names, and from the plot to the name.
BREADTH, LEADING, GAP, LEADER = 30, 14.0, 4.0, 14


class Named(NamedTuple):
    """The end of a line and its name."""

    label: str
    value: float


class Placed(NamedTuple):
    """A name in lines, and how far below the top of the plot its middle stands, in pixels."""

    lines: tuple[str, ...]
    value: float
    middle: float


def height_for(names: Sequence[Named], least: float) -> float:
    """The height in pixels of a plot beside which all names find room."""
    return max(least, sum(_height(_lines(one.label)) + GAP for one in names))


def placed(names: Sequence[Named], domain: Sequence[float], height: float) -> list[Placed]:
    """Where each name stands: as near to the end of its line as the others allow.

    Args:
        names: in any order.
        domain: the ends of the logarithmic axis.
        height: of the plot, in pixels; room for all names (`height_for`).

    >>> first, second = placed([Named("a", 10), Named("b", 9.9)], [1, 100], 200)
    >>> second.middle - first.middle
    18.0
    """
    low, high = map(math.log10, domain)
    found: list[Placed] = []
    free = 0.0
    ordered = sorted(names, key=lambda one: -one.value)
    below = sum(_height(_lines(one.label)) + GAP for one in ordered)
    for one in ordered:
        lines = _lines(one.label)
        own = _height(lines) + GAP
        wanted = height * (high - math.log10(one.value)) / (high - low) - own / 2
        # Below everything that is placed, and above the room that the others need.
        top = max(free, min(wanted, height - below))
        found.append(Placed(lines, one.value, top + own / 2))
        free, below = top + own, below - own
    return found


def layers(names: Sequence[Placed], domain: Sequence[float], width: float, height: float) -> list[dict[str, Any]]:
    """Marks for names beside a plot: a short line that leads to each, and its text."""
    at = {one: _value_at(one.middle, domain, height) for one in names}
    leads = [{"from": one.value, "to": at[one]} for one in names]
    texts = [
        {"text": line, "at": _value_at(one.middle + (place - (len(one.lines) - 1) / 2) * LEADING, domain, height)}
        for one in names
        for place, line in enumerate(one.lines)
    ]
    return [
        {
            "data": {"values": leads},
            "mark": {"type": "rule", "color": SIGNAL, "strokeWidth": 1},
            "encoding": {
                "x": {"value": width},
                "x2": {"value": width + LEADER - 2},
                "y": _on_axis("from"),
                "y2": {"field": "to"},
            },
        },
        {
            "data": {"values": texts},
            "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": LEADER, "fontSize": 11, "color": SIGNAL},
            "encoding": {"x": {"value": width}, "y": _on_axis("at"), "text": {"field": "text"}},
        },
    ]


def _on_axis(field: str) -> Mapping[str, Any]:
    return {"field": field, "type": "quantitative"}


def _value_at(middle: float, domain: Sequence[float], height: float) -> float:
    """The value of the axis at so many pixels below its top."""
    low, high = map(math.log10, domain)
    return float(10 ** (high - middle / height * (high - low)))


def _lines(label: str) -> tuple[str, ...]:
    return tuple(textwrap.wrap(label, BREADTH)) or ("",)


def _height(lines: Sequence[str]) -> float:
    return LEADING * len(lines)
