"""Results in a Python session: the first lines of their page as text, all of its tables and a chart as HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, UsageError, expected_one_of
from ingest.reports.charts.chart import DARK, LIGHT, Bar, Chart, lacking, ranges
from ingest.reports.labels import plain as plain
from ingest.reports.page import Section, as_text
from ingest.reports.pages import page_for
from ingest.text import all_visible
from ingest.units import display

if TYPE_CHECKING:
    from ingest.engine.interactive import InteractiveResult
    from ingest.engine.value import Quantity
    from ingest.requirement import Requirement

    #: Rates by name, with their ranges.
    Rates = Iterable[tuple[str, Quantity | Requirement | None]]

#: Rows of the first table, characters of a line, and warnings that a session shows without being asked.
MOST_ROWS, MOST_LETTERS, MOST_WARNINGS = 8, 118, 3
#: Rows of a table in a notebook; the frame has all.
MOST_CELLS = 40
#: Style of a cell in any notebook, and letters of a cell that stay on one line.
CELL, UNBROKEN = "text-align: left; padding: 2px 14px 2px 0", 28


def as_lines(result: InteractiveResult) -> str:
    """A result in a few lines: its title, the first rows of its first table, and how many more there are."""
    page = page_for(result)
    first = next((one for one in page.sections if one.rows or one.lines), Section(""))
    short = first._replace(rows=first.rows[:MOST_ROWS], lines=first.lines[:MOST_ROWS] if not first.rows else ())
    lines = as_text(page._replace(sections=(short,))).split("\n")
    more = len(first.rows or first.lines) - MOST_ROWS
    warnings = len(getattr(result, "warnings", ()))
    counted = [f"{more:,} more rows"] if more > 0 else []
    counted += [f"{warnings} warning{'s' if warnings > 1 else ''}"] if warnings else []
    lines += [f"  … {', '.join(counted)}"] if counted else []
    return "\n".join(line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…" for line in lines if line)


def as_html(result: InteractiveResult) -> str:
    """A result as HTML without scripts: the first table and a chart open, further tables folded, warnings last."""
    page = all_visible(page_for(result))
    first, *others = page.sections or (Section(""),)
    heading = "<br>".join(map(escape, as_text(page._replace(sections=())).split("\n")))
    parts = [f"<strong>{heading}</strong>", *_section(first)]
    parts += filter(None, [range_bars(*drawn)] if (drawn := _drawn(result)) is not None else ())
    for one in others:
        title = escape(one.title) or "More"
        parts.append(f"<details><summary>{title}</summary>{''.join(_section(one))}</details>")
    warnings = [f"<li>{escape(str(line))}</li>" for line in getattr(result, "warnings", ())]
    shown, more = ("".join(lines) for lines in (warnings[:MOST_WARNINGS], warnings[MOST_WARNINGS:]))
    parts += [f"<p>Warnings</p><ul>{shown}</ul>"] if shown else []
    parts += [f"<details><summary>{len(warnings) - MOST_WARNINGS} more</summary><ul>{more}</ul></details>"] if more else []
    return f'<div class="ingest-result">{"".join(parts)}</div>'


def _drawn(result: InteractiveResult) -> tuple[str, list[Bar]] | None:
    """The title of the chart of a result, and its rates above zero; None where it has no such rates."""
    found = next((CHARTS[one.__name__] for one in type(result).__mro__ if one.__name__ in CHARTS), None)
    if found is None:
        return None
    rates = ((name, item) for name, item in found[1](result) if item is not None and item.value > 0)
    return found[0], [Bar(name, item.value, item.low, item.high) for name, item in rates]


def chart_of(result: InteractiveResult, name: str = "") -> Chart:
    """A chart of a result, the first where none is named.

    Raises:
        IngestError: it has none, or charts cannot be rendered here.
        UsageError: none of that name.
    """
    if why := lacking():
        raise IngestError(f"no charts here, {why}")
    charts = {one.name: one for one in _charts(result)}
    if not charts:
        command = getattr(result, "command", type(result).__name__.lower())
        raise IngestError(f"a result of {command} has nothing to draw: it has fewer than two rates and no course")
    if name and name not in charts:
        raise UsageError(f"no chart '{name}', {expected_one_of(name, charts)}")
    return charts[name] if name else next(iter(charts.values()))


def _charts(result: Any) -> Iterator[Chart]:
    kinds = {one.__name__ for one in type(result).__mro__}
    drawn = _drawn(result)
    if drawn is not None and len(drawn[1]) > 1:
        yield ranges("rates", drawn[1], "B/s", "bandwidth", *drawn[:1] * 2)
    if "Plan" in kinds:
        yield from import_module("ingest.reports.charts.planning").charts_of(result)
    if "Usage" in kinds:
        yield from import_module("ingest.reports.charts.usage").charts_of_usage(result)
    tables = getattr(result, "tables", {})
    for table, (columns, rate) in COURSES.items():
        rows = [row for row in tables.get(table, ()) if all(row.get(one) is not None for one in columns)]
        if len(rows) > 1 and rate in result.results:
            draw = import_module("ingest.reports.charts.planning")
            label = result.inputs.get("model", {}).get("value", "the job")
            if table == "intervals":
                points = [tuple(row[one] for one in columns) for row in rows]
                yield draw.intervals(points, tuple(result[one].value for one in columns), label)
            else:
                known = [{one: value for one, value in row.items() if value != ""} for row in rows]
                yield draw.goodput(known, result[rate].value, label)


#: Tables of a course, each with its columns and the rate that is marked in it.
COURSES = {
    "intervals": (("checkpoint_interval", "checkpoint_overhead", "checkpoint_write_bandwidth"), "checkpoint_write_bandwidth"),
    "bandwidths": (("write_bandwidth", "goodput"), "checkpoint_write_bandwidth"),
}


def _section(section: Section) -> Iterator[str]:
    if section.rows:
        heads = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in section.columns)
        yield "<table>" + (f"<thead><tr>{heads}</tr></thead>" if any(section.columns) else "") + "<tbody>"
        for row in section.rows[:MOST_CELLS]:
            looks = (CELL + ("; white-space: nowrap" if len(text) <= UNBROKEN else "") for text in row)
            cells = (f'<td style="{look}">{escape(text)}</td>' for look, text in zip(looks, row, strict=True))
            yield f"<tr>{''.join(cells)}</tr>"
        yield "</tbody></table>"
        if len(section.rows) > MOST_CELLS:
            yield f"<p>… and {len(section.rows) - MOST_CELLS:,} more: <code>to_frame()</code> has all of them.</p>"
    if section.lines:
        lines = "\n".join(escape(line) for line in section.lines[:MOST_CELLS])
        yield f'<pre style="white-space: pre-wrap">{lines}</pre>'


#: Pixels: of the names, the plot, the values behind it, and from one bar to the next.
NAMES, PLOT, VALUES, STEP, HEAD = 260, 300, 170, 22, 26
#: Where the largest value is more than so many times the smallest, dots on a logarithmic axis stand in for bars.
LINEAR = 30
#: Letters of a name that fit.
MOST_NAME = 36


def range_bars(title: str, shown: Sequence[Bar]) -> str:
    """Bars of rates with their ranges as plain SVG; empty for fewer than two, which a table says better.

    >>> range_bars("one", [Bar("a", 1e9)]), range_bars("Reads", [Bar("a", 1e9), Bar("b", 2e9, 1e9, 4e9)])[:4]
    ('', '<svg')
    """
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
    text = "; ".join(f"{one.label}: {display(one.value, 'B/s', binary=False)}" for one in shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {NAMES + PLOT + VALUES} {height}" '
        f'style="max-width: {NAMES + PLOT + VALUES}px; width: 100%; font: 12px sans-serif" fill="currentColor">',
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>",
        f'<text x="0" y="14" font-weight="bold">{escape(title + axis)}</text>',
    ]
    for number, one in enumerate(shown):
        top = HEAD + STEP * number
        name = one.label if len(one.label) <= MOST_NAME else f"{one.label[: MOST_NAME - 1]}…"
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
        parts.append(f'<text x="{end + 9:.1f}" y="{top + 12}">{escape(display(one.value, "B/s", binary=False))}</text>')
    return "".join([*parts, "</svg>"])


#: class of a result -> the title of its chart, and the rates that it shows
CHARTS: Mapping[str, tuple[str, Callable[[Any], Rates]]] = {
    "Estimate": (
        "Read bandwidth per GPU by evidence level",
        lambda answer: ((level.basis, results.get("ingest_bandwidth_per_gpu")) for level, results in answer.levels),
    ),
    "Fits": (
        "Read bandwidth of the units required",
        lambda found: ((one.entry.id, one.results.get("read_bandwidth_available")) for one in found.systems[:MOST_ROWS]),
    ),
    "Plan": (
        "Bandwidth by requirement",
        lambda plan: ((f"{one.id} {plain(one.metric)}", one) for one in plan.requirements if one.unit == "B/s"),
    ),
    "Scenarios": (
        "Read bandwidth to require",
        lambda answers: (
            (
                " · ".join([*(part.id for part in (one.model, one.gpu) if part), f"{one.nodes:,.0f} nodes"]),
                one.results.get("mandatory_read_bandwidth"),
            )
            for one in answers.scenarios[:MOST_CELLS]
        ),
    ),
}
