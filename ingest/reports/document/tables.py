"""Rows of plain values as tables that fit a page, and the numbers of tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ingest.acceptance.accept import KINDS_OF_TOOL, LoadRow, rows_of
from ingest.acceptance.loads import Setting, kind_of
from ingest.engine.registry import is_quantity, unit_of
from ingest.reports.document.model import Block, DocumentSection, Figure, Table
from ingest.reports.labels import capitalised, is_share, label
from ingest.reports.texts import texts
from ingest.requirement import Requirement
from ingest.site.requirement_wording import LINES
from ingest.units import display, request_size, stated

if TYPE_CHECKING:
    from ingest.site.service import ServiceTerm

#: Columns that fit a page, and rows per table where a wider table is turned.
MOST_COLUMNS, BESIDE = 8, 5
#: Rows that are turned; more are a list with the main columns only.
MOST_TURNED = 20
#: Rates below this are shown as the time between two events.
RARE = 1e-3


def with_numbers(sections: Sequence[DocumentSection]) -> tuple[DocumentSection, ...]:
    """The sections with numbered captions of tables and figures."""
    counts = Counter[str]()

    def numbered(block: Block) -> Block:
        if not isinstance(block, (Table, Figure)):
            return block
        kind = type(block).__name__
        counts[kind] += 1
        return block._replace(caption=f"{kind} {counts[kind]}: {block.caption}")

    return tuple(section._replace(blocks=tuple(map(numbered, section.blocks))) for section in sections)


def tables_for(
    caption: str,
    rows: Sequence[Mapping[str, Any]],
    words: Sequence[str],
    heads: Mapping[str, str],
    main: Sequence[str] = (),
    widths: Mapping[str, float] = MappingProxyType({}),
) -> list[Table]:
    """Rows of plain values as text, with the columns that any row has.

    A table wider than a page is turned: quantities as lines, `BESIDE` rows in each table.
    With too many rows for that, the table lists the main columns only.

    Args:
        caption: what the table shows.
        rows: plain values in base units, by column.
        words: the columns of text to show; others of text would repeat what another table says.
        heads: headings that differ from the usual ones.
        main: the columns of a list of many rows.
        widths: of columns, relative to the others.
    """
    columns = tuple(dict.fromkeys(column for row in rows for column in row if _is_shown(column, rows, words)))
    if all(column in words for column in columns):
        return []
    if main and len(columns) > MOST_COLUMNS and len(rows) > MOST_TURNED:
        columns = tuple(column for column in main if column in columns)
        caption = f"{caption}, main values; all others are in the workbook"
    named = {column: heads.get(column) or label(column) for column in columns}
    if len(columns) <= MOST_COLUMNS:
        shown = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows)
        shares = tuple(widths.get(column, 1.0) for column in columns) if widths else ()
        return [Table(caption, tuple(named.values()), shown, shares)]
    groups = [rows[start : start + BESIDE] for start in range(0, len(rows), BESIDE)]
    return [_turned(caption if place == 0 else f"{caption} (continued)", group, named) for place, group in enumerate(groups)]


def _is_shown(column: str, rows: Sequence[Mapping[str, Any]], words: Sequence[str]) -> bool:
    return column in words or (is_quantity(column) and any(row.get(column) is not None for row in rows))


def _turned(caption: str, rows: Sequence[Mapping[str, Any]], named: Mapping[str, str]) -> Table:
    first, *rest = named
    heads = (named[first], *(_cell(first, row.get(first)) for row in rows))
    lines = tuple((named[column], *(_cell(column, row.get(column)) for row in rows)) for column in rest)
    kept = tuple(line for line in lines if any(line[1:]))
    return Table(caption, heads, kept, (1.6, *(1.0,) * len(rows)), turned=True)


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return quantity_text(column, value, unit_of(column)) if is_quantity(column) else f"{value:,}"


def quantity_text(name: str, value: float, unit: str) -> str:
    """A value as text: shares in percent, rare events as the time between two.

    >>> quantity_text("fill_limit", 0.8, "1"), quantity_text("data_copies", 2, "1")
    ('80 %', '2')
    >>> quantity_text("failures_per_node_second", 7.523148148e-08, "1/s/node")
    'one in 153.8 days'
    >>> quantity_text("readers_per_gpu", 2, "1/GPU")
    '2 per GPU'
    """
    if is_share(name, unit):
        return f"{value * 100:.3g} %"
    if unit.startswith("1/s") and 0 < value < RARE:
        return f"one in {display(1 / value, 's')}"
    if unit.startswith("1/") and not unit.startswith("1/s"):
        return f"{value:,.4g} per {unit.removeprefix('1/')}"
    return display(value, unit, binary=False)


def form(name: str, rows: Iterable[Sequence[str]]) -> Table:
    """A table whose caption and columns `document.yaml` lists under `forms`."""
    look = texts("document")["forms"][name]
    heads = tuple(head for head, *_ in look["columns"])
    widths = tuple(width for _, *own in look["columns"] for width in own)
    return Table(look["caption"], heads, tuple(map(tuple, rows)), widths)


def required(one: Requirement) -> str:
    """The required value in the unit in which people read it."""
    return display(one.value, one.unit, binary=False)


def acceptance_table(requirements: Sequence[Requirement]) -> Table:
    """Load, repetitions and tools of each test."""
    return form("acceptance", map(_test_row, rows_of(requirements)))


def _test_row(row: LoadRow) -> tuple[str, ...]:
    load = row.load
    size = request_size(load.io_bytes) if load.io_bytes else ""
    runs = " × ".join(filter(None, (str(Setting().repeats), display(load.seconds, "s") if load.seconds else "")))
    tools = ", ".join(tool for tool, kinds in KINDS_OF_TOOL.items() if kind_of(row.line) in kinds)
    least = stated(load.threshold, load.unit)
    counts = f"{load.clients:,} × {load.threads:,} × {load.depth:,}"
    how = (f"{load.pattern} {load.operation}".strip(), counts, size, runs, tools)
    return (row.test, row.requirement, *how, least)


def inspection_table(requirements: Sequence[Requirement]) -> Table:
    """How requirements without a performance test are verified.

    Args:
        requirements: those that bind an offer and have no test.
    """
    inspected = {line.id: line.inspected for line in LINES}
    return form("inspection", ((one.id, label(one.metric), required(one), inspected[one.id]) for one in requirements))


def terms_table(terms: Sequence[ServiceTerm]) -> Table:
    """Terms of a tender: what each demands and how it is verified."""
    return form("service_terms", ((one.id, one.name, one.text, capitalised(one.verification)) for one in terms))


def response_table(requirements: Sequence[Requirement], terms: Sequence[ServiceTerm]) -> Table:
    """The lines of the form that vendors fill in.

    Args:
        requirements: those that bind an offer.
        terms: those that the tender states.
    """
    lines = [(one.id, one.priority, label(one.metric), required(one), "", "") for one in requirements]
    stated = [(one.id, "mandatory" if one.value else "answer", one.name, one.value or "", "", "") for one in terms]
    return form("response", (*lines, *stated))


def growth_table(
    years: Sequence[Mapping[str, Any]], reads: Mapping[str, float | None], rounded: Callable[[float], float]
) -> Table:
    """Required capacity and bandwidth by year, the trigger of each step, and a column for its price.

    Args:
        years: the data held and the usable capacity by year, in base units.
        reads: read bandwidth by year in B/s; None where there is no such requirement.
        rounded: rounds a value as the requirements are rounded.
    """
    columns = ("year_usable_bytes", "year_capacity_to_buy")
    rows = (
        (
            str(step),
            str(year["name"]),
            *(display(rounded(year[column]), "B", binary=False) for column in columns),
            "" if (rate := reads.get(year["name"])) is None else display(rate, "B/s", binary=False),
            _trigger(step, years),
            "",
        )
        for step, year in enumerate(years)
    )
    return form("growth", rows)


def _trigger(step: int, years: Sequence[Mapping[str, Any]]) -> str:
    """The trigger of a step; a year without more data than before has none."""
    if step == 0:
        return "delivery"
    if years[step]["year_usable_bytes"] <= max(year["year_usable_bytes"] for year in years[:step]):
        return "none: no more capacity than before"
    return f"start of {years[step]['name']}, or the fill limit reached before"
