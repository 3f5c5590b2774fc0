"""Rows of plain values as tables that fit a page, and the numbers of tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.formula import FORMULAS, LEAVES, unit_of
from ingest.reports.document.model import Block, Figure, Section, Table
from ingest.reports.labels import label
from ingest.units import display

#: Columns that a page holds; a wider table is turned, so many rows beside each other.
MOST_COLUMNS, BESIDE = 8, 5
#: Rows that are turned; more are a list with the main columns only.
MOST_TURNED = 20
#: Quantities without a unit that are shares of a whole.
_SHARE = re.compile(r"share|fraction|efficiency|utilization|headroom|fill_limit|allocation|cache_hit|waste")
#: Rates below this are told by the time between two.
RARE = 1e-3


def with_numbers(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The same sections; captions say which table or figure of the document each one is."""
    counts = {Table: 0, Figure: 0}

    def numbered(blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            if isinstance(block, (Table, Figure)):
                kind = type(block)
                counts[kind] += 1
                yield block._replace(caption=f"{kind.__name__} {counts[kind]}: {block.caption}")
            else:
                yield block

    return tuple(section._replace(blocks=tuple(numbered(section.blocks))) for section in sections)


def tables_for(
    caption: str,
    rows: Sequence[Mapping[str, Any]],
    words: Sequence[str],
    heads: Mapping[str, str],
    main: Sequence[str] = (),
) -> list[Table]:
    """Rows of plain values as text; a column stands wherever any row has it.

    A table wider than a page is turned: quantities as lines, a few rows beside each other, as many tables as it takes.
    Where there are too many rows for that, each stands on a line of its own with the main columns.

    Args:
        caption: what the table shows.
        rows: plain values in base units, by column.
        words: the columns of text to show; others of text would repeat what another table says.
        heads: headings that differ from the usual ones.
        main: the columns of a list of many rows.
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
        return [Table(caption, tuple(named.values()), shown)]
    groups = [rows[start : start + BESIDE] for start in range(0, len(rows), BESIDE)]
    return [_turned(caption if place == 0 else f"{caption} (continued)", group, named) for place, group in enumerate(groups)]


def _is_shown(column: str, rows: Sequence[Mapping[str, Any]], words: Sequence[str]) -> bool:
    return column in words or (is_quantity(column) and any(row.get(column) is not None for row in rows))


def is_quantity(name: str) -> bool:
    """Whether a column holds numbers that have a unit, or could."""
    return name in FORMULAS or name in LEAVES


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
    """A value as a reader says it: shares in per cent, rare events by the time between two.

    >>> quantity_text("fill_limit", 0.8, "1"), quantity_text("data_copies", 2, "1")
    ('80 %', '2')
    >>> quantity_text("failures_per_node_second", 7.523148148e-08, "1/s/node")
    'one in 153.8 days'
    """
    if unit == "1" and _SHARE.search(name):
        return f"{value * 100:.3g} %"
    if unit.startswith("1/s") and 0 < value < RARE:
        return f"one in {display(1 / value, 's')}"
    return display(value, unit, binary=False)
