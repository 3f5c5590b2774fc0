"""Rows of plain values as tables that fit a page, and the numbers of tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.formula import FORMULAS, LEAVES, unit_of
from ingest.reports.document.model import Block, Figure, Section, Table
from ingest.reports.labels import label
from ingest.units import display

#: Columns that a page holds; a wider table is turned, so many rows beside each other.
MOST_COLUMNS, BESIDE = 8, 5
SHARES = ("share_of_time", "checkpoint_stall_fraction", "cluster_allocation")


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


def tables_for(caption: str, rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Rows of plain values as text; a column stands wherever any row has it.

    A table wider than a page is turned: quantities as lines, a few rows beside each other, as many tables as it takes.
    """
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    if len(columns) <= MOST_COLUMNS:
        shown = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows)
        return [Table(caption, tuple(label(column) for column in columns), shown)]
    groups = [rows[start : start + BESIDE] for start in range(0, len(rows), BESIDE)]
    return [_turned(caption if place == 0 else f"{caption} (continued)", group, columns) for place, group in enumerate(groups)]


def _turned(caption: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    first, *rest = columns
    heads = (label(first), *(_cell(first, row.get(first)) for row in rows))
    lines = tuple((label(column), *(_cell(column, row.get(column)) for row in rows)) for column in rest)
    kept = tuple(line for line in lines if any(line[1:]))
    return Table(caption, heads, kept, (1.6, *(1.0,) * len(rows)))


def _cell(column: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if column in SHARES:
        return f"{value * 100:.3g} %"
    known = column in FORMULAS or column in LEAVES
    return display(value, unit_of(column), binary=False) if known else f"{value:,}"
