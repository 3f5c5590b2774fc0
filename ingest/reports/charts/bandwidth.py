"""Charts of bandwidth: demand of each job, growth with the number of nodes, evidence levels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.reports.charts.chart import (
    DARK,
    HEIGHT,
    LIGHT,
    SIGNAL,
    WIDTH,
    Chart,
    channel,
    doublings,
    layer,
    made,
    plot,
    scaled,
    sideways,
    upwards,
)
from ingest.reports.labels import capitalised
from ingest.units import display

if TYPE_CHECKING:
    from ingest.storage.fit import ReadCeiling

#: Characters in a line of a name; pixels from one such line to the next, between names, and from the plot to the name.
BREADTH, LEADING, GAP, LEADER = 30, 14.0, 4.0, 14


class Bar(NamedTuple):
    """A value with a label and, where known, its range."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


class PlacedLabel(NamedTuple):
    """A label in lines, and the distance of its middle from the top of the plot in pixels."""

    lines: tuple[str, ...]
    value: float
    middle: float


def height_for(names: Sequence[Bar], least: float) -> float:
    """The height in pixels of a plot with room for all labels next to it."""
    return max(least, sum(LEADING * len(_lines(one.label)) + GAP for one in names))


def placed_labels(names: Sequence[Bar], domain: Sequence[float], height: float) -> list[PlacedLabel]:
    """The place of each label: as near to the end of its line as the others allow.

    `domain` are the ends of the logarithmic axis; the height in pixels has room for all names (`height_for`).
    """
    low, high = map(math.log10, domain)
    found: list[PlacedLabel] = []
    free = 0.0
    ordered = sorted(names, key=lambda one: -one.value)
    below = sum(LEADING * len(_lines(one.label)) + GAP for one in ordered)
    for one in ordered:
        lines = _lines(one.label)
        own = LEADING * len(lines) + GAP
        wanted = height * (high - math.log10(one.value)) / (high - low) - own / 2
        # Below everything that is placed, and above the room that the others need.
        top = max(free, min(wanted, height - below))
        found.append(PlacedLabel(lines, one.value, top + own / 2))
        free, below = top + own, below - own
    return found


def label_layers(names: Sequence[PlacedLabel], domain: Sequence[float], width: float, height: float) -> list[dict[str, Any]]:
    """Marks for labels next to a plot: a short leader line and the text."""
    low, high = map(math.log10, domain)

    def value_at(middle: float) -> float:
        """The value of the axis at so many pixels below its top."""
        return float(10 ** (high - middle / height * (high - low)))

    leads = [{"from": one.value, "to": value_at(one.middle)} for one in names]
    texts = [
        {"text": line, "at": value_at(one.middle + (place - (len(one.lines) - 1) / 2) * LEADING)}
        for one in names
        for place, line in enumerate(one.lines)
    ]
    label = {"align": "left", "baseline": "middle", "dx": LEADER, "fontSize": 11, "color": SIGNAL}
    x, x2 = {"value": width}, {"value": width + LEADER - 2}
    return [
        layer("rule", leads, {"color": SIGNAL, "strokeWidth": 1}, x=x, x2=x2, y=channel("from"), y2={"field": "to"}),
        layer("text", texts, label, x=x, y=channel("at"), text={"field": "text"}),
    ]


def _lines(label: str) -> tuple[str, ...]:
    return tuple(textwrap.wrap(label, BREADTH)) or ("",)


#: Bars of a chart; further jobs are summed in one.
MOST_BARS = 15
#: Width in pixels of a plot with labels next to it.
NARROW = 430


class Point(NamedTuple):
    """Bandwidth of a series at a number of nodes."""

    series: str
    nodes: float
    value: float


def demand(jobs: Sequence[Bar], together: Bar) -> Chart:
    """Read bandwidth of each job, and of all concurrent jobs."""
    ordered = sorted(jobs, key=lambda bar: -bar.value)
    rest = ordered[MOST_BARS:]
    others = [Bar(f"{len(rest)} smaller jobs", sum(bar.value for bar in rest))] if rest else []
    bars = [*ordered[:MOST_BARS], *others, together]
    values, shown = scaled([bar.value for bar in bars], "B/s")
    texts = [display(bar.value, "B/s", binary=False) for bar in bars]
    rows = [
        {"job": bar.label, "value": value, "text": text, "kind": "sum" if bar is together else "job"}
        for bar, value, text in zip(bars, values, texts, strict=True)
    ]
    title = f"{ordered[0].label} needs the most, {texts[0]}; {together.label}: {texts[-1]}"
    listing = "; ".join(f"{row['job']} {row['text']}" for row in rows)
    scale = {"domainMax": 1.18 * max(values)}
    colours = {"domain": ["job", "sum"], "range": [LIGHT, DARK]}
    y = channel("job", "nominal", sort=None, title=None)
    x = channel("value", title=f"read bandwidth ({shown})", scale=scale)
    layers = [
        layer("bar", color=channel("kind", "nominal", scale=colours, legend=None)),
        layer("text", look={"align": "left", "dx": 4, "fontSize": 11}, text={"field": "text"}),
    ]
    body = plot(rows, step=26, encoding={"y": y, "x": x}, layer=layers)
    return made("demand", title, "", f"Bar chart of read bandwidth by job: {listing}.", body)


def scaling(points: Sequence[Point], ceilings: Sequence[ReadCeiling] = ()) -> Chart:
    """Bandwidth of each job against the number of nodes, with ceilings of storage systems at the same numbers of nodes.

    >>> scaling([Point("a", 1, 1e9), Point("a", 10, 1e10)]).title
    'a reads 10 GB/s on 10 nodes, 1 GB/s on each'
    """
    ends = [Bar(f"{one.label}: {one.rate}", one.points[-1][1]) for one in ceilings]
    width, height = (NARROW if ends else WIDTH), height_for(ends, HEIGHT)
    drawn = [point.value for point in points] + [value for one in ceilings for _, value in one.points]
    y_axis, x_axis = upwards(drawn, height), doublings([point.nodes for point in points], width)
    x = channel("nodes", title="nodes of the job", **x_axis)
    y = channel("value", title="read bandwidth", **y_axis)
    # The lines span many powers of ten: each tick has a prefix of its own.
    written = "replace(format(datum.value, '~s'), /([a-zA-Z]*)$/, ' $1') + 'B/s'"
    y["axis"] = {**y.get("axis", {}), "labelExpr": written}
    # Each job has a colour, dashes and a shape of points; these carry the legend, so that colours and shapes are one.
    series, rows = channel("series", "nominal", title=None), [point._asdict() for point in points]
    without_legend = {**series, "legend": None}
    layers = [
        layer("line", rows, {"strokeWidth": 2}, x=x, y=y, stroke=without_legend, strokeDash=without_legend),
        layer("point", rows, {"filled": True, "size": 70, "opacity": 1}, x=x, y=y, color=series, shape=series),
    ]
    if ends:
        limits = [{"label": one.label, "nodes": nodes, "value": value} for one in ceilings for nodes, value in one.points]
        dashed = {"strokeDash": [6, 4], "strokeWidth": 2, "color": SIGNAL}
        layers.append(layer("line", limits, dashed, x=x, y=y, detail=channel("label", "nominal")))
        domain = y_axis["scale"]["domain"]
        layers += label_layers(placed_labels(ends, domain, height), domain, width, height)
    body: dict[str, Any] = {"width": width, "height": height, "layer": layers}
    most = max(points, key=lambda point: point.value)
    if ceilings:
        # The ceiling that supports the most demanding series up to the largest size, and that size.
        asked = {point.nodes: point.value for point in points if point.series == most.series}
        held = [dict(one.points) for one in ceilings]
        fed = [(max((at for at in asked if asked[at] <= one[at]), default=0), one[max(asked)]) for one in held]
        best, (nodes, _) = max(zip(ceilings, fed, strict=True), key=lambda one: one[1])
        reach = f"up to {nodes:,.0f} node{'s' if nodes > 1 else ''}" if nodes else "at no size shown"
        title = f"{best.label} ({best.rate}) supports {most.series} {reach}"
    else:
        # Bandwidth of the most demanding job at its full size, and per node.
        whole, each = (display(value, "B/s", binary=False) for value in (most.value, most.value / most.nodes))
        title = f"{most.series} reads {whole} on {most.nodes:,.0f} node{'s' if most.nodes > 1 else ''}, {each} on each"
    named = ", ".join(dict.fromkeys(point.series for point in points))
    listing = "".join(f" Ceiling: {one.label}, {one.rate}." for one in ceilings)
    alt = f"Line chart of read bandwidth against nodes: {named}. {title}.{listing}"
    sources = "; ".join(one.source for one in ceilings)
    return made("scaling", title, "", alt, body)._replace(note=sources and f"dashed: ceilings of storage: {sources}")


def ladder(rungs: Sequence[Bar], unit: str, quantity: str) -> Chart:
    """Evidence levels on a logarithmic axis.

    >>> ladder([Bar("measured", 1e9, 8e8, 1.2e9), Bar("peak", 5e9)], "B/s/GPU", "read bandwidth per GPU").title
    'Peak arithmetic gives 5 times the measured rate'
    """
    first, last = rungs[0], rungs[-1]
    times = last.value / first.value if first.value else 0
    title = (
        f"{capitalised(last.label)} arithmetic gives {times:.3g} times the {first.label} rate"
        if last.label == "peak" and first.label == "measured"
        else f"{capitalised(quantity)}, by evidence level"
    )
    return ranges("ladder", rungs, unit, quantity, title, f"{quantity} by evidence level")


def ranges(name: str, rows: Sequence[Bar], unit: str, quantity: str, title: str, alt: str) -> Chart:
    """Values with their ranges on a logarithmic axis, one below the other."""
    values, shown = scaled([bar.value for bar in rows], unit)
    factor = rows[0].value / values[0] if values and values[0] else 1
    data: list[dict[str, Any]] = [
        {
            "rung": bar.label,
            "value": value,
            "low": (bar.value if bar.low is None else bar.low) / factor,
            "high": (bar.value if bar.high is None else bar.high) / factor,
            "text": display(bar.value, unit, binary=False),
        }
        for bar, value in zip(rows, values, strict=True)
    ]
    axis = sideways([row[end] for row in data for end in ("low", "value", "high")], WIDTH)
    x, from_low = (channel(end, title=f"{quantity} ({shown})", **axis) for end in ("value", "low"))
    y = channel("rung", "nominal", sort=None, title=None)
    label = {"align": "left", "dx": 8, "dy": -9, "fontSize": 11}
    layers = [
        layer("rule", look={"strokeWidth": 6, "color": LIGHT}, x=from_low, x2={"field": "high"}, y=y),
        layer("point", look={"filled": True, "size": 90, "color": DARK}, x=x, y=y),
        layer("text", look=label, x=x, y=y, text={"field": "text"}),
    ]
    listing = "; ".join(f"{row['rung']} {row['text']}" for row in data)
    return made(name, title, "dot: typical value, bar: range", f"{alt}: {listing}.", plot(data, step=34, layer=layers))
