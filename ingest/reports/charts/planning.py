"""Charts of a plan, drawn from its results: all of them for the buyer, for vendors what they size for.

The years, checkpoint intervals, goodput, loaders, sensitivity, the load of a training day, and requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.errors import IngestError
from ingest.reports.charts.chart import (
    COLOURS,
    DARK,
    HEIGHT,
    LIGHT,
    SIGNAL,
    WIDTH,
    Bar,
    Chart,
    Point,
    channel,
    demand,
    diamond,
    ladder,
    layer,
    made,
    plot,
    scaled,
    scaling,
    sideways,
    upwards,
)
from ingest.reports.labels import capitalised, plain
from ingest.requirement import GROWTH
from ingest.site import planner
from ingest.site import training_day as load
from ingest.site.datasets import LatencyPoint, utilization_course
from ingest.site.load_conditions import latency_in_words
from ingest.site.plan import (
    TORNADO,
    Plan,
    bandwidth_by_nodes,
    capacity_by_use,
    evidence_levels,
    largest_checkpoint_course,
    largest_checkpoint_goodput,
)
from ingest.site.training_day import RequestShare, YearBandwidth
from ingest.sizing.checkpoint_schedule import Point as IntervalPoint
from ingest.storage.fit import read_ceilings
from ingest.units import display, request_size

#: The stage that holds no data, and its colour.
RESERVE, PALE = "reserve", "#D0D0D0"
#: From which share on a bar has room for the name of its requests, or for the share alone.
ROOM, SMALL_ROOM = 0.45, 0.08
HOURS = [0, 3, 6, 9, 12, 15, 18, 21, 24]
#: Room below the lowest point of a line for its number, as a share of the height of the line.
BELOW = 0.12
#: How a line, and a share on an axis, look.
LINE, SHARES = {"color": DARK, "strokeWidth": 2}, {"format": "~%"}
#: The axis of years.
YEARS = channel("year", "ordinal", title="year", axis={"labelAngle": 0})


class YearBytes(NamedTuple):
    """Bytes of one stage or data set in one year."""

    year: str
    stage: str
    value: float


class Swing(NamedTuple):
    """A requirement with one input at its low and at its high end."""

    quantity: str
    low: float
    high: float


def capacity(rows: Sequence[YearBytes], to_buy: Sequence[YearBytes]) -> Chart:
    """Data held by year and stage, below the usable capacity to buy."""
    values, shown = scaled([row.value for row in (*rows, *to_buy)], "B")
    years = list(dict.fromkeys(row.year for row in rows))
    sums = {year: sum(row.value for row in rows if row.year == year) for year in years}
    drawn = [{**row._asdict(), "value": value} for row, value in zip(rows, values, strict=False)]
    bought = [{**row._asdict(), "value": value} for row, value in zip(to_buy, values[len(rows) :], strict=True)]
    x, y = YEARS, channel("value", title=f"capacity ({shown})")
    stages = list(dict.fromkeys(row.stage for row in rows))
    palette = [PALE if stage == RESERVE else COLOURS[place % len(COLOURS)] for place, stage in enumerate(stages)]
    color = channel("stage", "nominal", title=None, scale={"domain": stages, "range": palette})
    bars = layer("bar", drawn, {"stroke": "white", "strokeWidth": 1}, x=x, y=y, color=color)
    most = max(to_buy, key=lambda row: row.value)
    look, label = {"thickness": 3, "color": "black", "size": 70}, {"dy": -8, "fontSize": 10}
    texts = [{**row, "text": display(one.value, "B", binary=False)} for row, one in zip(bought, to_buy, strict=True)]
    marks = [layer("tick", bought, look, x=x, y=y), layer("text", texts, label, x=x, y=y, text={"field": "text"})]
    title = f"{course(sums)}; {most.stage}: {display(most.value, 'B', binary=False)}"
    alt = f"Stacked bars of data held by year, with marks at the {most.stage}. {title}."
    body = {"width": WIDTH, "height": HEIGHT, "layer": [bars, *marks]}
    return made("capacity", title, f"black marks: {most.stage}", alt, body)


def course(sums: Mapping[str, float]) -> str:
    """The course of capacity over the years: it grows, stays, or peaks before the end."""
    years = list(sums)
    first, last, peak = years[0], years[-1], max(years, key=lambda year: sums[year])
    held = {year: display(sums[year], "B", binary=False) for year in (first, last, peak)}
    if held[first] == held[last] == held[peak]:
        return f"Capacity stays at {held[first]}" if first != last else f"Capacity is {held[first]} in {first}"
    if held[peak] == held[last]:
        return f"Capacity grows from {held[first]} in {first} to {held[last]} in {last}"
    return f"Capacity is largest in {peak}, {held[peak]}, and {held[last]} in {last}"


def intervals(rows: Sequence[IntervalPoint], chosen: IntervalPoint, job: str, how: str = "") -> Chart:
    """Checkpoint overhead and write bandwidth by interval, under the condition `how`; the chosen interval is marked.

    Each point is an interval in s, the overhead as a share of the time, and the write bandwidth in B/s.
    """
    values, shown = scaled([bandwidth for *_, bandwidth in (*rows, chosen)], "B/s")
    *data, mark = (
        {"minutes": seconds / 60, "waste": waste, "bandwidth": value}
        for (seconds, waste, _), value in zip((*rows, chosen), values, strict=True)
    )
    rate, cost, every = display(chosen[2], "B/s", binary=False), f"{chosen[1] * 100:.3g} %", display(chosen[0], "s")
    every_minute = sideways([row["minutes"] for row in [*data, mark]], WIDTH, exact=True)
    axis = channel("minutes", title=f"interval between checkpoints of {job} (min)", **every_minute)
    rises = rows[-1][1] > rows[0][1]
    names = {"waste": "share of the time lost", "bandwidth": f"write bandwidth ({shown})"}
    lost, asked = (
        {"title": name, **upwards([row[field] for row in [*data, mark]], HEIGHT / 2)} for field, name in names.items()
    )
    lost["axis"] = {**lost.get("axis", {}), "format": "~%"}
    panels = [
        _panel(axis, {**mark, "text": f"{every}: {cost}"}, {"field": "waste", **lost}, rises),
        _panel(axis, {**mark, "text": f"{every}: {rate}"}, {"field": "bandwidth", **asked}),
    ]
    title = f"{job}: a checkpoint every {every} costs {cost} of the time and needs {rate} of writes"
    alt = f"Two line charts over the interval between checkpoints: share of the time lost, and write bandwidth. {title}."
    return made("intervals", title, how, alt, {"data": {"values": data}, "vconcat": panels})


def _panel(x: Mapping[str, Any], mark: Mapping[str, Any], upward: Mapping[str, Any], rises: bool = False) -> dict[str, Any]:
    """A line by interval, and on it the chosen one as a diamond with its value."""
    y = {"type": "quantitative", **upward}
    # The label is on the side away from the line.
    side = {"align": "right", "dx": -10} if rises else {"align": "left", "dx": 10}
    label = {**side, "dy": -10, "fontSize": 12, "fontWeight": "bold"}
    return {
        "width": WIDTH,
        "height": HEIGHT / 2,
        "layer": [
            layer("line", look=LINE, x=x, y=y),
            layer("rule", [mark], {"color": SIGNAL, "strokeDash": [4, 3]}, x=x),
            diamond([mark], x, y),
            layer("text", [mark], label, x=x, y=y, text={"field": "text"}),
        ],
    }


def goodput(rows: Sequence[Mapping[str, float]], chosen: float, job: str) -> Chart:
    """Goodput by write bandwidth bought, with the GPUs that one more GB/s gains at each; at the highest nobody knows."""
    values, shown = scaled([row["write_bandwidth"] for row in rows], "B/s")
    at = min(rows, key=lambda row: abs(row["write_bandwidth"] - chosen))
    gains = [gpus_in_words(row["gpus_gained"]) if "gpus_gained" in row else "" for row in rows]
    data = [
        {"bandwidth": value, "goodput": row["goodput"], "text": gain}
        for value, row, gain in zip(values, rows, gains, strict=True)
    ]
    x = channel("bandwidth", title=f"write bandwidth for checkpoints of {job} ({shown})", **sideways(values, WIDTH))
    ends = [row["goodput"] for row in rows]
    # The number of the lowest point is written below it.
    least = max(0.0, min(ends) - BELOW * (max(ends) - min(ends)))
    y = channel("goodput", title="share of the time that is progress", scale={"domain": [least, max(ends)]}, axis=SHARES)
    mark = [row for row, one in zip(data, rows, strict=True) if one is at]
    layers = [
        layer("line", look=LINE, x=x, y=y),
        layer("point", look={"filled": True, "size": 60, "color": DARK}, x=x, y=y),
        diamond(mark, x, y),
        layer("text", look={"align": "left", "dx": 8, "dy": 12, "fontSize": 11}, x=x, y=y, text={"field": "text"}),
    ]
    rate, gained = display(at["write_bandwidth"], "B/s", binary=False), mark[0]["text"]
    gain = f", and one more GB/s gains {gained} GPUs" if gained else ""
    title = f"{job}: at {rate}, {at['goodput'] * 100:.3g} % of the time is progress{gain}"
    alt = f"Line chart of goodput against the write bandwidth bought. {title}."
    how = "numbers: GPUs that one more GB/s gains; diamond: this plan; closed form, restores unchanged"
    return made("goodput", title, how, alt, plot(data, HEIGHT, layer=layers))


def utilization(points: Sequence[LatencyPoint], own: LatencyPoint, job: str) -> Chart:
    """Utilization of a job by the 99 % latency of its reads, its own point marked.

    >>> from ingest.site.datasets import LatencyPoint
    >>> points = [LatencyPoint(0.01, 0.99, 0.98, 1), LatencyPoint(0.02, 0.95, 0.94, 0.96), LatencyPoint(0.04, 0.6, 0.58, 0.62)]
    >>> utilization(points, points[1], "vision").title
    'vision: 99 % of its reads within 20 ms keep its GPUs computing 95 % of the time; within 40 ms, 60 %'
    """
    data = [{**one._asdict(), "latency": one.latency * 1000} for one in points]
    mark = [{**own._asdict(), "latency": own.latency * 1000}]
    x = channel("latency", title=f"99 % latency of the reads of {job} (ms)", scale={"zero": True})
    y = channel("utilization", title="share of the time that GPUs compute", scale={"domain": [0, 1]}, axis=SHARES)
    layers = [
        layer("area", look={"color": LIGHT, "opacity": 0.5}, x=x, y={**y, "field": "low"}, y2={"field": "high"}),
        layer("line", look=LINE, x=x, y=y),
        diamond(mark, x, y),
    ]
    title = fed_in_words(points, own, job)
    alt = f"Line chart of the utilization of {job} by the 99 % latency of its reads. {title}."
    how = "line: median of simulated runs; band: P10 to P90; diamond: the latency that the requirement states"
    return made("utilization", title, how, alt, plot(data, HEIGHT, layer=layers))


def fed_in_words(points: Sequence[LatencyPoint], own: LatencyPoint, job: str) -> str:
    """What the latency of a job keeps of its time, and what twice that latency would."""
    shown, share = latency_in_words(own.latency), own.utilization * 100
    twice = min(points, key=lambda one: abs(one.latency - 2 * own.latency))
    more = f"within {latency_in_words(twice.latency)}, {twice.utilization * 100:.3g} %"
    return f"{job}: 99 % of its reads within {shown} keep its GPUs computing {share:.3g} % of the time; {more}"


def gpus_in_words(number: float) -> str:
    """A number of GPUs, of which a part may be gained."""
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.2g}"


def tornado(rows: Sequence[Swing], typical: float, unit: str, requirement: str) -> Chart:
    """A requirement with one input at a time at its ends, the largest effect first.

    >>> tornado([Swing("rate", 1e9, 3e9)], 2e9, "B/s", "R-READ-01").title
    'Rate has the largest effect: R-READ-01 lies between 1 GB/s and 3 GB/s'
    """
    ordered = sorted(rows, key=lambda row: -abs(row.high - row.low))[:12]
    ends = [end for row in ordered for end in (row.low, row.high)]
    values, shown = scaled([*ends, typical], unit)
    middle = values[-1]
    data = [
        {"quantity": row.quantity, "side": side, "from": middle, "to": values[2 * place + offset]}
        for place, row in enumerate(ordered)
        for offset, side in enumerate(("input low", "input high"))
    ]
    sides = {"domain": ["input low", "input high"], "range": [LIGHT, DARK]}
    swings = layer(
        "bar",
        look={"height": 16},
        y=channel("quantity", "nominal", sort=None, title=None),
        x=channel("from", title=f"{requirement} ({shown})", scale={"zero": False}),
        x2={"field": "to"},
        color=channel("side", "nominal", title=None, scale=sides),
    )
    typical_line = layer("rule", look={"color": "black"}, x={"datum": middle, "type": "quantitative"})
    top = ordered[0]
    low, high = (display(end, unit, binary=False) for end in sorted((top.low, top.high)))
    title = f"{capitalised(top.quantity)} has the largest effect: {requirement} lies between {low} and {high}"
    return made("tornado", title, "", f"Tornado chart. {title}.", plot(data, step=26, layer=[swings, typical_line]))


class DayLoad(NamedTuple):
    """One kind of load over a day: its mean in steps of equal length."""

    name: str
    values: Sequence[float]


def training_day(reads: DayLoad, copies: DayLoad, writes: DayLoad, restored: str = "", at: float = 12) -> Chart:
    """The load of a day: reads above, checkpoint writes below; a run of the job `restored` is interrupted at an hour."""
    drawn = [one for one in (reads, copies, writes) if max(one.values, default=0) > 0]
    loaded = [one for one in drawn if one is not writes]
    peaks = [f"{one.name} up to {display(max(one.values), 'B/s', binary=False)}" for one in drawn]
    title = f"Over a day: {', '.join(peaks)}"
    panels = [_hours(loaded, "reads", (LIGHT, SIGNAL))] if loaded else []
    panels += [_hours([writes], writes.name, (DARK,))] if writes in drawn else []
    if restored:
        mark = [{"hour": at, "text": f"a run of {restored} fails and restarts"}]
        above = {"align": "center", "baseline": "bottom", "y": -3, "fontSize": 11}
        panels[0]["layer"] += [
            layer("rule", mark, {"strokeDash": [4, 3]}, x=channel("hour")),
            layer("text", mark, above, x=channel("hour"), text={"field": "text"}),
        ]
    failed = f" A run of {restored} fails at {at:g}:00 and restarts." if restored else ""
    alt = f"Load over 24 hours. {title}.{failed}"
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
        own = values[place * len(one.values) : (place + 1) * len(one.values)]
        # A row for each time of the day between which the load stays the same.
        starts = [at for at, value in enumerate(own) if not at or value != own[at - 1]]
        hours = [24 * at / len(own) for at in starts] + [24.0]
        times = zip(hours, hours[1:], starts, strict=False)
        rows = [{"from": first, "to": last, "value": own[at], "load": one.name} for first, last, at in times]
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


def request_sizes(rows: Sequence[RequestShare]) -> Chart:
    """Share of the bytes of each load by operation, pattern and request size.

    >>> from ingest.requirement import MixPart
    >>> from ingest.site.training_day import RequestShare
    >>> request_sizes([RequestShare("reads", MixPart(0.75, "read", 2**20, "sequential"))]).title
    'Reads: 75 % of the bytes in sequential 1 MiB reads'
    """
    kinds = list(dict.fromkeys(_kind(one) for one in sorted(rows, key=lambda one: (one.part.operation, -one.part.io_size))))
    drawn: list[dict[str, Any]] = []
    said = []
    start: dict[str, float] = {}
    for one in rows:
        begin, kind, part = start.get(one.load, 0.0), _kind(one), one.part.share
        start[one.load] = begin + part
        share = f"{part * 100:.3g} %"
        text = f"{share} {kind}" if part >= ROOM else share if part >= SMALL_ROOM else ""
        said.append(f"{one.load} {share} {kind}")
        drawn.append({"load": one.load, "kind": kind, "from": begin, "to": start[one.load], "text": text})
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
    title = f"{capitalised(rows[0].load)}: {rows[0].part.share * 100:.3g} % of the bytes in {_kind(rows[0])}"
    alt = f"Stacked bars of the share of bytes by request: {'; '.join(said)}."
    return made("request_sizes", title, "", alt, plot(drawn, step=30, layer=[bars, labels]))


def _kind(one: RequestShare) -> str:
    return f"{one.part.pattern} {request_size(one.part.io_size)} {one.part.operation}s"


def bandwidth_by_year(rows: Sequence[YearBandwidth]) -> Chart:
    """Required read and write bandwidth by year.

    >>> from ingest.site.training_day import YearBandwidth
    >>> bandwidth_by_year([YearBandwidth("2026", 1e11, 1e10), YearBandwidth("2027", 2e11, 1e10)]).title
    'Reads grow from 100 GB/s in 2026 to 200 GB/s in 2027, writes stay at 10 GB/s'
    """
    pairs = [(one.year, kind, value) for one in rows for kind, value in (("reads", one.reads), ("writes", one.writes)) if value]
    values, unit = scaled([value for _, _, value in pairs], "B/s")
    drawn = [
        {"year": year, "kind": kind, "value": value, "text": display(exact, "B/s", binary=False)}
        for (year, kind, exact), value in zip(pairs, values, strict=True)
    ]
    x, y = YEARS, channel("value", title=f"required bandwidth ({unit})", scale={"domainMin": 0})
    offset = {"field": "kind", "type": "nominal"}
    colours = {"domain": ["reads", "writes"], "range": [LIGHT, DARK]}
    bars = layer("bar", x=x, xOffset=offset, y=y, color=channel("kind", "nominal", title=None, scale=colours))
    labels = layer("text", look={"dy": -6, "fontSize": 9}, x=x, xOffset=offset, y=y, text={"field": "text"})
    said = []
    for kind in colours["domain"]:
        own = [(year, display(value, "B/s", binary=False)) for year, one, value in pairs if one == kind]
        if own:
            (year, first), (last, end) = own[0], own[-1]
            said.append(f"{kind} stay at {first}" if first == end else f"{kind} grow from {first} in {year} to {end} in {last}")
    title = capitalised(", ".join(said))
    listing = "; ".join(f"{row['year']} {row['kind']} {row['text']}" for row in drawn)
    alt = f"Bars of required bandwidth by year: {listing}."
    return made("bandwidth_by_year", title, "", alt, plot(drawn, HEIGHT, layer=[bars, labels]))


#: Jobs whose growth with the machine is drawn; more lines cannot be told apart.
MOST_LINES = 4
TO_BUY = "usable capacity to buy"


def charts_of(plan: Plan, storage: Sequence[str] = ()) -> list[Chart]:
    """The charts that a plan has the numbers for, with the ceilings of systems, by their ids, over the reads of the jobs.

    Raises:
        UsageError: an unknown id.
        IngestError: ceilings are requested, and no job reads.
    """
    charts: list[Chart] = []
    jobs = [(row, step.value) for row in plan.rows["jobs"] if (step := row.step("job_read_bandwidth")) is not None]
    jobs.sort(key=lambda job: -job[1])
    total = plan.results.get("R-READ-03")
    if jobs and total is not None:
        needed = plan.known.value("workload_read_bandwidth")
        why = "by guidance" if needed < plan.computed["R-READ-03"] else "headroom included"
        charts.append(demand([Bar(row.name, value) for row, value in jobs], Bar(f"R-READ-03, {why}", total.value)))
        points = [Point(row.name, *point) for row, _ in jobs[:MOST_LINES] for point in bandwidth_by_nodes(row)]
        charts.append(scaling(points, read_ceilings(plan, storage, sorted({one.nodes for one in points})) if storage else ()))
        levels = evidence_levels(plan, largest := jobs[0][0].name)
        if len(levels) > 1:
            bars = [Bar(basis, one.value, one.low, one.high) for basis, one in levels]
            charts.append(ladder(bars, levels[0][1].unit, f"read bandwidth per GPU of {largest}"))
    elif storage:
        raise IngestError("--storage: no job of the site reads data, so there is no chart that could show the ceilings")
    charts += vendor_charts(plan)
    if (fed := utilization_course(plan.rows["jobs"])) is not None:
        row, own, latencies = fed
        charts.append(utilization(latencies, own, row.name))
    if (course := largest_checkpoint_course(plan)) is not None:
        name, chosen, around, condition = course
        charts.append(intervals(around, chosen, name, condition))
        if (found := largest_checkpoint_goodput(plan)) is not None:
            charts.append(goodput(found[1], chosen[2], found[0]))
    # The requirement that most inputs affect, a binding one if there is any; reads before capacity where they tie.
    moved = {name: plan.sensitivity(name) for name in TORNADO if name in plan.results}
    binding = {name for name in moved if moved[name] and plan.requirement(name).priority != "information"}
    name = max(binding or moved, key=lambda one: (len(moved[one]), -TORNADO.index(one)), default="")
    if name and moved[name]:
        labels = [" of ".join(filter(None, (plain(one.name), ", ".join(one.rows)))) for one in moved[name]]
        swings = [Swing(label, one.at_low, one.at_high) for label, one in zip(labels, moved[name], strict=True)]
        charts.append(tornado(swings, plan.computed[name], plan.requirement(name).unit, name))
    return charts


def vendor_charts(plan: Plan) -> list[Chart]:
    """The load of a training day, the requests of each load, capacity and bandwidth by year; nothing of the argument."""
    charts: list[Chart] = []
    day = load.training_day(plan)
    if any(day.reads) or any(day.writes):
        copied = " and ".join(kind for kind in ("staging", "restores") if kind in plan.kinds)
        reads, copies = DayLoad("training reads", day.reads), DayLoad(copied, day.copies)
        charts.append(training_day(reads, copies, DayLoad("checkpoint writes", day.writes), day.restored))
    if shares := load.request_shares(plan.requirements):
        charts.append(request_sizes(shares))
    if "R-CAP-03" in plan.results:
        # Data held and reserve by year, and the usable capacity to buy, rounded as the requirements are.
        held, bought = [], []
        used = {use for row in plan.rows["years"] for use, size in capacity_by_use(row) if size}
        for row in plan.rows["years"] if GROWTH in plan.kinds else plan.rows["years"][:1]:
            held += [YearBytes(row.name, *part) for part in capacity_by_use(row) if part[0] in used]
            reserve, usable = row.step("year_reserve_bytes"), row.step("year_capacity_to_buy")
            if reserve is not None and float(reserve.value):
                held.append(YearBytes(row.name, RESERVE, float(reserve.value)))
            if usable is not None:
                bought.append(YearBytes(row.name, TO_BUY, plan.rounded(float(usable.value))))
        charts.append(capacity(held, bought))
    rates = planner.bandwidth_by_year(plan) if GROWTH in plan.kinds else []
    if len({(one.reads, one.writes) for one in rates}) > 1:
        charts.append(bandwidth_by_year(rates))
    return charts
