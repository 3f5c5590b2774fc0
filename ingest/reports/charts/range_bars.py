"""Horizontal bars with ranges as plain SVG, for notebooks and pages without a chart library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from ingest.reports.charts.bandwidth import Bar as Bar
from ingest.reports.charts.chart import DARK, LIGHT
from ingest.units import display

#: Pixels: of the names, the plot, the values behind it, and from one bar to the next.
NAMES, PLOT, VALUES, STEP, HEAD = 260, 300, 170, 22, 26
#: Where the largest value is more than so many times the smallest, dots on a logarithmic axis stand in for bars.
LINEAR = 30
#: Letters of a name that fit.
MOST_LETTERS = 36


def range_bars(title: str, bars: Sequence[Bar], unit: str) -> str:
    """Bars with their ranges as SVG; empty for fewer than two bars above zero, which a table says better.

    >>> range_bars("one", [Bar("a", 1e9)], "B/s")
    ''
    >>> range_bars("Reads", [Bar("a", 1e9), Bar("b", 2e9, 1e9, 4e9)], "B/s").startswith("<svg")
    True
    """
    shown = [one for one in bars if one.value > 0]
    if len(shown) < 2:
        return ""
    largest = max(max(one.value, one.high or 0) for one in shown)
    smallest = min(min(one.value, one.low or one.value) for one in shown)
    logarithmic = largest > LINEAR * smallest
    floor = smallest / 2

    def place(value: float) -> float:
        if logarithmic:
            return NAMES + PLOT * math.log(max(value, floor) / floor) / math.log(largest / floor)
        return NAMES + PLOT * value / largest

    height = HEAD + STEP * len(shown) + 6
    axis = ", logarithmic axis" if logarithmic else ""
    text = "; ".join(f"{one.label}: {display(one.value, unit, binary=False)}" for one in shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {NAMES + PLOT + VALUES} {height}" '
        f'style="max-width: {NAMES + PLOT + VALUES}px; width: 100%; font: 12px sans-serif" fill="currentColor">',
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>",
        f'<text x="0" y="14" font-weight="bold">{escape(title + axis)}</text>',
    ]
    for number, one in enumerate(shown):
        top = HEAD + STEP * number
        name = one.label if len(one.label) <= MOST_LETTERS else f"{one.label[: MOST_LETTERS - 1]}…"
        parts.append(f'<text x="{NAMES - 8}" y="{top + 12}" text-anchor="end">{escape(name)}</text>')
        end = place(one.value)
        if logarithmic:
            parts.append(f'<circle cx="{end:.1f}" cy="{top + 7.5}" r="4.5" fill="{LIGHT}"/>')
        else:
            parts.append(f'<rect x="{NAMES}" y="{top}" width="{end - NAMES:.1f}" height="15" fill="{LIGHT}"/>')
        if one.low is not None and one.high is not None and one.high > one.low:
            left, right = place(one.low), place(one.high)
            line = f"M{left:.1f} {top + 3}v9M{left:.1f} {top + 7.5}H{right:.1f}M{right:.1f} {top + 3}v9"
            parts.append(f'<path d="{line}" stroke="{DARK}" stroke-width="1.5" fill="none"/>')
            end = max(end, right)
        parts.append(f'<text x="{end + 9:.1f}" y="{top + 12}">{escape(display(one.value, unit, binary=False))}</text>')
    return "".join([*parts, "</svg>"])
