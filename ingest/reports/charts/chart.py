"""Sizes, colours and axes of all charts, and those of bandwidth; colours differ in grey print and for colour-blind readers."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.corpus.native_calls import guarded, no_panic_message
from ingest.reports.labels import capitalised
from ingest.units import display, scale_of

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
#: Okabe and Ito's colours in an order whose greys differ step by step.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#000000")
DARK, LIGHT, SIGNAL = COLOURS[0], COLOURS[2], COLOURS[3]
WIDTH, HEIGHT = 560, 260
#: Characters in a line of a title.
LONGEST_LINE = 64
CONFIG = {
    "font": "Liberation Sans, Arial, Noto Sans, sans-serif",  # the renderer reads a file of the system for each other text
    "background": "white",
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": "bold", "subtitleFontSize": 11, "offset": 12},
    "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "gridColor": "#E5E5E5", "labelLimit": 340},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "orient": "bottom", "labelLimit": 260},
    "view": {"stroke": None},
    "range": {"category": list(COLOURS)},
}


class Chart(NamedTuple):
    """A chart."""

    name: str  # of its file
    title: str  # what it shows, as a finding
    alt: str  # text for readers who cannot see it
    spec: Mapping[str, Any]  # Vega-Lite
    note: str = ""  # sources, for its caption

    def __repr__(self) -> str:
        return f"{self.name}: {self.title}"

    def svg(self) -> str:
        """Rendered offline."""
        return str(_rendered(json.dumps(self.spec), None))

    def _repr_svg_(self) -> str:
        return self.svg()

    def png(self, scale: float = 2) -> bytes:
        """Rendered offline; `scale` 2 is sharp on paper."""
        return bytes(_rendered(json.dumps(self.spec), scale))  # type: ignore[arg-type]


NOT_INSTALLED = "which need the package vl-convert-python: pip install 'ingest-sizing[charts]'"
FAILED = "whose renderer failed: {why}"
NO_ADDRESSES = "whose renderer reserves more addresses than `ulimit -v` allows"
NO_DATA = "whose renderer may need more memory than `ulimit -d` allows"
#: Twice the limit of data, in B, under which the renderer still draws all charts of an example site; below it aborts.
LEAST_DATA = 1_800_000_000


def lacking() -> str:
    """Why charts cannot be rendered; empty where they can.

    The renderer reserves tens of gigabytes of addresses: under a limit it would abort the process.
    """
    if find_spec("vl_convert") is None:
        return NOT_INSTALLED
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return ""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return NO_ADDRESSES
    data, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return NO_DATA if data != resource.RLIM_INFINITY and data < LEAST_DATA else ""


@lru_cache(maxsize=64)
def _rendered(spec: str, scale: float | None) -> str | bytes:
    """A chart as SVG, or as PNG of a scale; kept, since each format of a report shows the same charts.

    Raises NativeFailure: the renderer failed, for example because it may open no more files.
    """
    import vl_convert

    # The renderer rounds the numbers of a text, not those of a dictionary.
    parts = json.loads(spec)
    with no_panic_message():
        return guarded(
            lambda: vl_convert.vegalite_to_svg(parts) if scale is None else vl_convert.vegalite_to_png(parts, scale=scale)
        )


def made(name: str, title: str, subtitle: str, alt: str, body: Mapping[str, Any]) -> Chart:
    """A chart with the common frame around its own part."""
    heading = {"text": textwrap.wrap(title, LONGEST_LINE) or [""], **({"subtitle": subtitle} if subtitle else {})}
    return Chart(name, title, alt, {"$schema": SCHEMA, "title": heading, "config": CONFIG, "description": alt, **body})


def plot(rows: Sequence[Mapping[str, Any]], height: float | None = None, step: float = 0, **parts: Any) -> dict[str, Any]:
    """A plot of rows, as high as it is said or with so many pixels for each name; `parts` are its marks or layers."""
    return {"data": {"values": rows}, "width": WIDTH, "height": height or {"step": step}, **parts}


def channel(field: str, kind: str = "quantitative", **more: Any) -> dict[str, Any]:
    """A channel of an encoding: the field of the rows that it shows, as a quantity or as names."""
    return {"field": field, "type": kind, **more}


def diamond(rows: Sequence[Mapping[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any]) -> dict[str, Any]:
    """The layer that marks the chosen point."""
    return layer("point", rows, {"shape": "diamond", "filled": True, "size": 160, "color": SIGNAL}, x=x, y=y)


def layer(
    mark: str, rows: Sequence[Mapping[str, Any]] | None = None, look: Mapping[str, Any] | None = None, **on: Any
) -> dict[str, Any]:
    """A layer of a chart: a kind of mark with its properties, its own rows if any, and the channels of its encoding."""
    data = {} if rows is None else {"data": {"values": rows}}
    return {**data, "mark": {"type": mark, **(look or {})}, "encoding": on}


def scaled(values: Sequence[float], unit: str) -> tuple[list[float], str]:
    """Values in the unit in which people read the largest of them, and that unit.

    >>> scaled([1.5e9, 2e8], "B/s")
    ([1.5, 0.2], 'GB/s')
    """
    factor, shown = scale_of(max(map(abs, values), default=0), unit, False)
    return ([value / factor for value in values], shown) if factor else (list(values), unit)


#: Labelled within a power of ten where there is room; below that only the power itself.
STEPS = (1, 2, 5)
#: Room for a label in pixels: its height upwards, its width to the right.
HIGH, WIDE = 16, 52


def upwards(values: Iterable[float], pixels: float) -> dict[str, Any]:
    """Scale and labels of a vertical axis for these values."""
    return _decades(values, int(pixels / HIGH))


def sideways(values: Iterable[float], pixels: float, exact: bool = False) -> dict[str, Any]:
    """Scale and labels of a horizontal axis; an exact one ends where the values do.

    >>> sideways([3, 30], 520)["axis"]["values"], sideways([3, 30], 520, exact=True)["axis"]["values"]
    ([2.0, 5.0, 10.0, 20.0, 50.0], [5.0, 10.0, 20.0])
    """
    return _decades(values, int(pixels / WIDE), exact)


def doublings(values: Iterable[float], pixels: float) -> dict[str, Any]:
    """Scale and labels of a horizontal axis of numbers that double."""
    known = list(values)
    low, high = min(known), max(known)
    powers = [2**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    scale = {"type": "log", "base": 2, "nice": False, "domain": [low, high]}
    return {"scale": scale, "axis": {"values": _thinned(powers, int(pixels / WIDE))}}


def _decades(values: Iterable[float], most: int, exact: bool = False) -> dict[str, Any]:
    """A logarithmic scale whose labels are 1, 2 and 5 of each power of ten, or the powers alone, or only some of these."""
    positive = [value for value in values if value > 0]
    if not positive:
        return {"scale": {"type": "log"}}
    low, high = min(positive), max(positive)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    rounds = [float(f"{step}e{power}") for power in powers for step in STEPS]
    if not exact or low == high:
        low, high = max(one for one in rounds if one < low * (1 + 1e-9)), min(one for one in rounds if one > high)
    labels = [value for value in rounds if low <= value <= high]
    if len(labels) > most:
        tens = [value for value in labels if f"{value:e}".startswith("1.0")]
        labels = _thinned(tens if len(tens) > 1 else labels, most)
    return {"scale": {"type": "log", "nice": False, "domain": [low, high]}, "axis": {"values": labels}}


def _thinned(values: Sequence[Any], most: int) -> list[Any]:
    """Every second value, or third, so that at most so many are left."""
    return list(values[:: max(1, math.ceil(len(values) / max(most, 1)))])


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
