"""Pages of the answers of `model`, `checkpoint` and `memory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.formula import is_quantity, unit_of
from ingest.reports.labels import is_share, plain
from ingest.reports.page import Page, Section
from ingest.units import display

if TYPE_CHECKING:
    from ingest.answer import Answer
    from ingest.engine.value import Quantity

TITLES = {
    "files": "Files of one checkpoint",
    "intervals": "Interval, waste, and the write bandwidth that it takes",
    "readers": "Restart, by who reads",
    "tiers": "Tiers",
    "stages": "Model states, by ZeRO stage",
    "weights": "Weights",
    "footprint": "Stages, and what is kept of them",
    "attention": "Attention",
}
#: columns that CSV and JSON carry in full and a page leaves to the sources
HIDDEN = ("source", "where", "assumed")
#: columns of tables that are no quantities of their own
UNITS = {"bytes_each": "B", "bytes_per_node": "B", "count": "file", "stage_bytes": "B", "kept_bytes": "B"}


def answer_page(answer: Answer) -> Page:
    """The page of an answer: results, tables, what is not known, assumptions, sources."""
    rows = tuple(
        (plain(name), _shown(name, item.value, item.unit), *_range(name, item)) for name, item in answer.results.items()
    )
    sections = [_results(rows)]
    sections += [_table(name, found) for name, found in answer.tables.items()]
    reasons: dict[str, list[str]] = {}
    for name, why in answer.unknown.items():
        reasons.setdefault(why, []).append(plain(name))
    if reasons:
        sections.append(Section("Not known", lines=tuple(f"{', '.join(names)}: {why}" for why, names in reasons.items())))
    assumed = tuple(_assumption(item) for item in answer.assumptions)
    sections.append(Section(f"Assumptions ({len(assumed)})", lines=assumed))
    sections.append(Section("Sources", lines=source_lines(answer)))
    return Page(answer.title, tuple(sections), flat_rows(answer))


def source_lines(answer: Answer) -> tuple[str, ...]:
    """The sources, one a line, with the places."""
    return tuple(f"{item['id']}: {item['title']}" + _place(item["where"]) for item in answer.sources)


def _results(rows: Sequence[tuple[str, ...]]) -> Section:
    """Results; with a column for ranges where one is known."""
    if not any(row[2] for row in rows):
        return Section("", ("", ""), tuple(row[:2] for row in rows))
    return Section("", ("", "value", "range"), tuple(rows))


def _range(name: str, item: Quantity) -> tuple[str]:
    if item.low is None or item.high is None:
        return ("",)
    share = is_share(name, item.unit)
    low, high = (f"{end * 100:.3g} %" if share else display(end, item.unit, binary=False) for end in (item.low, item.high))
    return (f"{low} – {high}",)


def _shown(name: str, value: float, unit: str) -> str:
    return f"{value * 100:.3g} %" if is_share(name, unit) else display(value, unit)


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    columns = tuple(column for column in rows[0] if column not in HIDDEN)
    shown = tuple(tuple(_cell(column, row[column]) for column in columns) for row in rows)
    return Section(TITLES[name], tuple(plain(column) for column in columns), shown)


def _cell(column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    unit = UNITS.get(column) or (unit_of(column) if is_quantity(column) else "1")
    return "small" if column == "bytes_each" and not value else _shown(column, value, unit)


def _assumption(item: Mapping[str, Any]) -> str:
    value = display(item["value"], item["unit"], binary=False) if item["unit"] else item["value"]
    return f"{item['name']}{' = ' if value else ''}{value}: {item['why']}"


def _place(where: str) -> str:
    return f", {where}" if where else ""


def flat_rows(answer: Answer) -> tuple[tuple[object, ...], ...]:
    """Results, then the tables, one value per row in base units."""
    rows: list[tuple[object, ...]] = [("table", "row", "name", "value", "unit", "low", "high")]
    rows += [("results", "", name, item.value, item.unit, item.low, item.high) for name, item in answer.results.items()]
    for table, found in answer.tables.items():
        for number, row in enumerate(found, start=1):
            for column, value in row.items():
                known = is_quantity(column)
                unit = UNITS.get(column, unit_of(column) if known else "")
                rows.append((table, number, column, value, unit, None, None))
    return tuple(rows)
