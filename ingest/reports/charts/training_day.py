"""Charts for a vendor: the load of a training day, the requests of each load, the bandwidth of each year."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ingest.reports.charts.chart import COLOURS, DARK, HEIGHT, LIGHT, SIGNAL, WIDTH, Chart, channel, layer, made, plot, scaled
from ingest.reports.labels import capitalised
from ingest.units import display, request_size

#: From which share on a bar has room for the name of its requests, or for the share alone.
ROOM, SMALL_ROOM = 0.45, 0.08
HOURS = [0, 3, 6, 9, 12, 15, 18, 21, 24]


class DayLoad(NamedTuple):
    """One kind of load over a day: its mean in steps of equal length."""

    name: str
    values: Sequence[float]


class Share(NamedTuple):
    """The share of one kind of request in the bytes of a load."""

    load: str
    share: float
    operation: str
    io_size: int
    pattern: str


class YearRates(NamedTuple):
    """Required bandwidth in a year; None where there is none."""

    year: str
    reads: float | None
    writes: float | None


def training_day(reads: DayLoad, copies: DayLoad, writes: DayLoad, restored: str = "", at: float = 12) -> Chart:
    """The load of a day: reads above, checkpoint writes below.

    Args:
        reads: of training jobs.
        copies: staging and restores.
        writes: of checkpoints.
        restored: the job of which a run is restored; empty for none.
        at: the hour of its interrupt.

    >>> flat, burst = [1e9] * 1440, [0.0] * 1438 + [2e9] * 2
    >>> training_day(DayLoad("reads", flat), DayLoad("restores", burst), DayLoad("checkpoints", burst)).title
    'Over a day: reads up to 1 GB/s, restores up to 2 GB/s, checkpoints up to 2 GB/s'
    """
    drawn = [one for one in (reads, copies, writes) if max(one.values, default=0) > 0]
    peaks = [f"{one.name} up to {display(max(one.values), 'B/s', binary=False)}" for one in drawn]
    title = f"Over a day: {', '.join(peaks)}" if peaks else "No load over the day"
    panels = [
        _hours([one for one in drawn if one is not writes], "reads", (LIGHT, SIGNAL)),
        _hours([writes], writes.name, (DARK,)),
    ]
    if restored:
        mark = [{"hour": at, "text": f"a run of {restored} fails and restarts"}]
        above = {"align": "center", "baseline": "bottom", "y": -3, "fontSize": 11}
        panels[0]["layer"] += [
            layer("rule", mark, {"strokeDash": [4, 3]}, x=channel("hour")),
            layer("text", mark, above, x=channel("hour"), text={"field": "text"}),
        ]
    failed = f" A run of {restored} fails at {at:g}:00 and restarts." if restored else ""
    alt = f"Two charts over 24 hours, of reads and of checkpoint writes. {title}.{failed}"
    body = {"vconcat": panels, "resolve": {"scale": {"color": "independent"}}}
    return made("training_day", title, "a day that begins with the start of all jobs, at the required rates", alt, body)


def _hours(loads: Sequence[DayLoad], what: str, colours: Sequence[str]) -> dict[str, Any]:
    """Loads over the hours of a day: the first as an area, a second one as bars in front."""
    values, unit = scaled([value for one in loads for value in one.values], "B/s")
    x: dict[str, Any] = {"scale": {"domain": [0, 24], "nice": False}, "title": "hour of the day", "axis": {"values": HOURS}}
    y = channel("value", title=f"{what} ({unit})", stack=None)
    scale = {"domain": [one.name for one in loads], "range": list(colours)[: len(loads)]}
    color = channel("load", "nominal", title=None, scale=scale, legend={"orient": "bottom"} if len(loads) > 1 else None)
    layers = []
    for place, one in enumerate(loads):
        steps = _steps(values[place * len(one.values) : (place + 1) * len(one.values)])
        rows = [{"from": first, "to": last, "value": value, "load": one.name} for first, last, value in steps]
        if place:
            bars = [row for row in rows if row["value"]]
            look = {"stroke": colours[place], "strokeWidth": 1.5}
            layers.append(
                layer("bar", bars, look, x=channel("from", **x), x2={"field": "to"}, y=y, y2={"datum": 0}, color=color)
            )
        else:
            look = {"interpolate": "step-after", "opacity": 1, "line": {"strokeWidth": 1, "color": colours[0]}}
            ends = [*rows, {**rows[-1], "from": rows[-1]["to"]}] if rows else []
            layers.append(layer("area", ends, look, x=channel("from", **x), y=y, color=color))
    return {"width": WIDTH, "height": HEIGHT / 2, "layer": layers}


def _steps(values: Sequence[float]) -> list[tuple[float, float, float]]:
    """The times of a day between which a load stays the same, in hours, and the load.

    >>> _steps([1, 1, 3, 3])
    [(0.0, 12.0, 1), (12.0, 24.0, 3)]
    """
    starts = [place for place, value in enumerate(values) if not place or value != values[place - 1]]
    hours = [24 * place / len(values) for place in starts] + [24.0]
    return [(hours[place], hours[place + 1], values[start]) for place, start in enumerate(starts)]


def request_sizes(rows: Sequence[Share]) -> Chart:
    """Share of the bytes of each load by operation, pattern and request size.

    >>> request_sizes([Share("reads", 0.75, "read", 2**20, "sequential"), Share("reads", 0.25, "read", 4096, "random")]).title
    'Reads: 75 % of the bytes in sequential 1 MiB reads'
    """
    kinds = list(dict.fromkeys(_kind(one) for one in sorted(rows, key=lambda one: (one.operation, -one.io_size))))
    drawn: list[dict[str, Any]] = []
    start: dict[str, float] = {}
    for one in rows:
        begin = start.get(one.load, 0.0)
        start[one.load] = begin + one.share
        share = f"{one.share * 100:.3g} %"
        text = f"{share} {_kind(one)}" if one.share >= ROOM else share if one.share >= SMALL_ROOM else ""
        drawn.append({"load": one.load, "kind": _kind(one), "from": begin, "to": start[one.load], "text": text})
    y = channel("load", "nominal", sort=None, title=None)
    x = channel("from", title="share of the bytes", scale={"domain": [0, 1]}, axis={"format": "%"})
    colours = {"domain": kinds, "range": [COLOURS[place % len(COLOURS)] for place in range(len(kinds))]}
    color = channel("kind", "nominal", title=None, scale=colours, legend={"columns": 2})
    bars = layer("bar", look={"stroke": "white", "strokeWidth": 1}, x=x, x2={"field": "to"}, y=y, color=color)
    for row in drawn:
        row["middle"] = (row["from"] + row["to"]) / 2
    dark = [kind for place, kind in enumerate(kinds) if COLOURS[place % len(COLOURS)] in (DARK, SIGNAL, "#009E73", "#000000")]
    white = {"condition": {"test": f"indexof({dark!r}, datum.kind) >= 0", "value": "white"}, "value": "black"}
    labels = layer("text", look={"fontSize": 11}, x=channel("middle"), y=y, text={"field": "text"}, color=white)
    first = rows[0] if rows else Share("", 0, "read", 0, "")
    title = f"{capitalised(first.load)}: {first.share * 100:.3g} % of the bytes in {_kind(first)}" if rows else "No requests"
    listing = "; ".join(f"{one.load} {one.share * 100:.3g} % {_kind(one)}" for one in rows)
    alt = f"Stacked bars of the share of bytes by request: {listing}."
    return made("request_sizes", title, "", alt, plot(drawn, step=30, layer=[bars, labels]))


def _kind(one: Share) -> str:
    return f"{one.pattern} {request_size(one.io_size)} {one.operation}s"


def bandwidth_by_year(rows: Sequence[YearRates]) -> Chart:
    """Required read and write bandwidth by year.

    >>> bandwidth_by_year([YearRates("2026", 1e11, 1e10), YearRates("2027", 2e11, 1e10)]).title
    'Reads grow from 100 GB/s in 2026 to 200 GB/s in 2027, writes stay at 10 GB/s'
    """
    pairs = [(one.year, kind, value) for one in rows for kind, value in (("reads", one.reads), ("writes", one.writes)) if value]
    values, unit = scaled([value for _, _, value in pairs], "B/s")
    drawn = [
        {"year": year, "kind": kind, "value": value, "text": display(exact, "B/s", binary=False)}
        for (year, kind, exact), value in zip(pairs, values, strict=True)
    ]
    x = channel("year", "ordinal", title="year", axis={"labelAngle": 0})
    y = channel("value", title=f"required bandwidth ({unit})", scale={"domainMin": 0})
    offset = {"field": "kind", "type": "nominal"}
    colours = {"domain": ["reads", "writes"], "range": [LIGHT, DARK]}
    bars = layer("bar", x=x, xOffset=offset, y=y, color=channel("kind", "nominal", title=None, scale=colours))
    labels = layer("text", look={"dy": -6, "fontSize": 9}, x=x, xOffset=offset, y=y, text={"field": "text"})
    said = [words for kind in ("reads", "writes") if (words := _course(kind, [one for one in pairs if one[1] == kind]))]
    title = capitalised(", ".join(said) or "no bandwidth is required")
    listing = "; ".join(f"{row['year']} {row['kind']} {row['text']}" for row in drawn)
    alt = f"Bars of required bandwidth by year: {listing}."
    return made("bandwidth_by_year", title, "", alt, plot(drawn, HEIGHT, layer=[bars, labels]))


def _course(kind: str, rows: Sequence[tuple[str, str, float]]) -> str:
    """How a required bandwidth changes from the first year to the last."""
    if not rows:
        return ""
    (year, _, before), (last, _, after) = rows[0], rows[-1]
    first, end = (display(value, "B/s", binary=False) for value in (before, after))
    return f"{kind} stay at {first}" if first == end else f"{kind} grow from {first} in {year} to {end} in {last}"
