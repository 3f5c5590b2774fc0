"""Charts of an accounting history: GPUs in use over time, hours by class, sizes of runs, and a week by hour."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

import numpy

from ingest.accounting.ledger import FIRST_YEAR, PARTS
from ingest.reports.charts.chart import DARK, HEIGHT, LIGHT, SIGNAL, WIDTH, Chart, channel, layer, made, plot

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

#: Steps of the chart of time, and seconds that steps may have.
MOST_STEPS = 180
STEPS = (3600, 4 * 3600, 86_400, 7 * 86_400, 28 * 86_400)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Classes that have a bar of their own.
MOST_BARS = 14


def charts_of_usage(answer: Usage) -> list[Chart]:
    """All charts of a history; the days of a trace that begins at zero are of no week."""
    drawn = [concurrency(answer), hours(answer), sizes(answer)]
    return [*drawn, *([week(answer)] if answer.window[0] >= FIRST_YEAR else [])]


def steps_of(answer: Usage) -> tuple[Any, int]:
    """The edges of the steps of the chart of time, and the seconds of a step."""
    begin, finish = answer.window
    step = next((one for one in STEPS if (finish - begin) / one <= MOST_STEPS), STEPS[-1])
    edges = numpy.arange(begin // step * step, finish + step, step)
    return numpy.clip(edges, begin, finish), step


def concurrency(answer: Usage) -> Chart:
    """GPUs in use over time: the mean and the peak of each step, and the level of the P99."""
    edges, step = steps_of(answer)
    means, peaks = (found / PARTS for found in (answer.total.means(edges), answer.total.peaks(edges)))
    dated = answer.window[0] >= FIRST_YEAR

    def place(time: int) -> str | float:
        return datetime.datetime.fromtimestamp(time, datetime.UTC).isoformat() if dated else time / 86_400

    rows = [
        {"from": place(int(start)), "to": place(int(end)), "mean": float(mean), "peak": float(peak)}
        for start, end, mean, peak in zip(edges, edges[1:], means, peaks, strict=False)
    ]
    kind: dict[str, Any] = (
        {"type": "temporal", "title": None} if dated else {"type": "quantitative", "title": "day of the history"}
    )
    x, x2 = {"field": "from", **kind}, {"field": "to"}
    y = {"type": "quantitative", "title": "GPUs in use"}
    level = answer.results["concurrent_gpus_p99"].value
    shown = {3600: "hour", 4 * 3600: "4 hours", 86_400: "day", 7 * 86_400: "week", 28 * 86_400: "4 weeks"}[step]
    layers = [
        layer("rect", rows, {"color": LIGHT}, x=x, x2=x2, y={"field": "peak", **y}, y2={"datum": 0}),
        layer("rect", rows, {"color": DARK}, x=x, x2=x2, y={"field": "mean", **y}, y2={"datum": 0}),
        layer("rule", [{"level": level}], {"color": SIGNAL, "strokeDash": [6, 4]}, y={"field": "level", **y}),
    ]
    most, mean = (answer.results[f"concurrent_gpus_{name}"].value for name in ("max", "mean"))
    title = f"At most {most:,.5g} GPUs in use, {level:,.5g} or fewer for 99 % of the time, {mean:,.4g} on average"
    note = f"dark: mean of each {shown}; light: highest in each {shown}; dashed: P99 over time"
    body = {"width": WIDTH, "height": HEIGHT, "layer": layers}
    return made("concurrency", title, note, f"Bars of GPUs in use over time. {title}.", body)


def hours(answer: Usage) -> Chart:
    """GPU-hours by class."""
    classes = sorted(answer.classes, key=lambda one: -one.gpu_hours)
    rows = [{"class": one.name, "hours": one.gpu_hours, "text": f"{one.share:.1%}"} for one in classes[:MOST_BARS]]
    if rest := classes[MOST_BARS:]:
        share = sum(one.share for one in rest)
        rows.append({"class": f"{len(rest)} others", "hours": sum(one.gpu_hours for one in rest), "text": f"{share:.1%}"})
    y = channel("class", "nominal", title=None, sort=None)
    bars = layer("bar", look={"color": DARK}, x=channel("hours", title="GPU-hours"), y=y)
    texts = layer("text", look={"align": "left", "dx": 4, "fontSize": 10}, x=channel("hours"), y=y, text={"field": "text"})
    first = classes[0]
    title = f"{first.name} takes {first.share:.0%} of the GPU-hours"
    return made("hours", title, "", f"Bars of GPU-hours by class. {title}.", plot(rows, step=24, layer=[bars, texts]))


def sizes(answer: Usage) -> Chart:
    """GPU-hours and runs by the GPUs of a run, in powers of two."""
    runs = answer.runs
    gpus = runs.gpus / PARTS
    busy = gpus > 0
    power = numpy.ceil(numpy.log2(numpy.maximum(gpus[busy], 2**-3)) - 1e-9).astype(int)
    spent = numpy.bincount(power + 3, gpus[busy] * runs.seconds[busy] / 3600)
    count = numpy.bincount(power + 3)
    rows = [
        {"size": _power(place - 3), "share": float(values[place] / values.sum()), "of": name}
        for name, values in (("GPU-hours", spent), ("runs", count))
        for place in range(len(spent))
        if values.sum() and place >= power.min() + 3
    ]
    color = channel("of", "nominal", title=None, scale={"domain": ["GPU-hours", "runs"], "range": [DARK, LIGHT]})
    x = channel("size", "ordinal", title="GPUs of a run, up to", sort=None, axis={"labelAngle": 0})
    y = channel("share", title="share", axis={"format": "~%"})
    bars = layer("bar", x=x, y=y, color=color, xOffset={"field": "of", "sort": ["GPU-hours", "runs"]})
    large = float(spent[power.max() + 3] / spent.sum()) if spent.sum() else 0.0
    title = f"Runs of more than {_power(int(power.max()) - 1)} GPUs take {large:.0%} of the GPU-hours"
    return made("sizes", title, "", f"Bars of the shares of GPU-hours and runs by size. {title}.", plot(rows, HEIGHT, **bars))


def _power(power: int) -> str:
    """A power of two as a label."""
    return str(2**power) if power >= 0 else f"1/{2**-power}"


def week(answer: Usage) -> Chart:
    """Mean GPUs in use by day and hour of the week."""
    found = answer.week()
    rows: list[dict[str, Any]] = [
        {"day": DAYS[day], "hour": hour, "mean": float(found[day, hour])}
        for day in range(7)
        for hour in range(24)
        if math.isfinite(found[day, hour])
    ]
    by_level = sorted(rows, key=lambda row: (row["mean"], row["day"], row["hour"]))
    least, most = by_level[0], by_level[-1]
    x = channel("hour", "ordinal", title="hour of the day" + ("" if answer.runs.local else " (UTC)"), axis={"labelAngle": 0})
    y = channel("day", "ordinal", title=None, sort=[*DAYS])
    color = channel("mean", title="GPUs in use, mean", scale={"scheme": "blues", "zero": False})
    busiest, quietest = (f"{one['day']} at {one['hour']} h" for one in (most, least))
    title = f"Busiest on {busiest} with {most['mean']:,.4g} GPUs, quietest on {quietest}"
    body = plot(rows, step=22, **layer("rect", x=x, y=y, color=color))
    return made("week", title, f"least {least['mean']:,.4g} GPUs in use", f"A map of days by hours. {title}.", body)
