"""Sizes, colours and axes of all charts; colours differ in grey print and for colour-blind readers."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from ingest.corpus.native_calls import guarded, no_panic_message
from ingest.units import scale_of

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
