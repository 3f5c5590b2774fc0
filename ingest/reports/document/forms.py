"""The tables of a tender that somebody works with: tests to run, answers to fill in, steps of growth to price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.acceptance.generation import ABLE
from ingest.acceptance.loads import Setting
from ingest.acceptance.table import Row, rows_of
from ingest.reports.document.model import Table
from ingest.reports.labels import label
from ingest.requirement import Requirement
from ingest.site.lines import LINES
from ingest.tender.response_form import FIELDS
from ingest.units import display, request_size

#: Fields of the answer beside the required value; the others are its evidence, on a table of their own.
ANSWERS = 4
#: The bandwidth of a year between the first and the last, where it grows.
NO_LESS = "no less than the year before"


def acceptance_table(requirements: Sequence[Requirement]) -> Table:
    """What each test asks of its clients, how often it runs, and which tools have job files for it."""
    rows = rows_of(requirements)
    parts = Counter((one.test, one.requirement) for one in rows)
    heads = (
        "Test", "Requirement", "Operation", "Clients × threads", "Request", "Runs × duration", "Tools", "Passes from",
    )  # fmt: skip
    lines = tuple(_test_row(one, mixed=parts[one.test, one.requirement] > 1) for one in rows)
    return Table("Acceptance tests", heads, lines, (1.35, 1.35, 1.15, 1.0, 0.95, 1.1, 1.0, 2.0))


def _test_row(row: Row, mixed: bool) -> tuple[str, ...]:
    load = row.load
    size = request_size(load.io_bytes) if load.io_bytes else ""
    runs = " × ".join(filter(None, (str(Setting().repeats), display(load.seconds, "s") if load.seconds else "")))
    kind = "mixed" if mixed else load.operation
    tools = ", ".join(tool for tool, kinds in ABLE.items() if kind in kinds)
    least = display(load.threshold, load.unit)
    counts = f"{load.clients:,} × {load.threads:,}"
    how = (f"{load.pattern} {load.operation}".strip(), counts, size, runs, tools)
    return (row.test, row.requirement, *how, least)


def inspection_table(requirements: Sequence[Requirement]) -> Table:
    """What shows that requirements without a performance test are met.

    Args:
        requirements: those that bind an offer and have no test.
    """
    rows = tuple(
        (one.id, label(one.metric), display(one.value, one.unit, binary=False), _inspected(one)) for one in requirements
    )
    heads = ("Requirement", "What", "Value", "Verified by")
    return Table("Requirements verified by inspection", heads, rows, (1.2, 1.3, 1.1, 3.4))


def _inspected(required: Requirement) -> str:
    return next(line.inspected for line in LINES if line.id == required.id)


def response_tables(requirements: Sequence[Requirement]) -> Iterator[Table]:
    """The form that offerors fill in: the answer, and its evidence."""
    heads = tuple(field.head for field in FIELDS)
    answers, evidence = heads[:ANSWERS], heads[ANSWERS:]
    asked = tuple((one.id, one.priority, display(one.value, one.unit, binary=False), *_blank(answers)) for one in requirements)
    yield Table("Response form", ("Id", "Priority", "Required", *answers), asked, (1.3, 1.0, 1.4, 0.85, 1.0, 1.0, 1.2))
    proofs = tuple((one.id, one.priority, *_blank(evidence)) for one in requirements)
    yield Table("Response form, evidence", ("Id", "Priority", *evidence), proofs)


def growth_table(years: Sequence[Mapping[str, Any]], requirements: Mapping[str, Requirement]) -> Table:
    """What is asked for by each year, what calls for it, and a column for its price.

    Args:
        years: the data held by year, in base units.
        requirements: by id; the bandwidth of the first year, and of the last one where it grows.
    """
    first, grown = requirements.get("R-READ-03"), requirements.get("R-GROW-01")
    reads = [_rate(first), *(_rate(first) if grown is None else NO_LESS for _ in years[1:])]
    if grown is not None:
        reads[-1] = _rate(grown)
    rows = tuple(
        (
            str(step),
            str(year["name"]),
            display(year["year_usable_bytes"], "B", binary=False),
            reads[step],
            _trigger(step, years),
            "",
        )
        for step, year in enumerate(years)
    )
    heads = ("Step", "Year", "Data held by then", "Read bandwidth by then", "Trigger", "Price of the step")
    return Table("Steps of growth", heads, rows, (0.6, 0.7, 1.3, 1.3, 2.4, 1.2))


def _trigger(step: int, years: Sequence[Mapping[str, Any]]) -> str:
    """What calls for a step; a year that holds no more than one before calls for none."""
    if step == 0:
        return "delivery"
    if years[step]["year_usable_bytes"] <= max(year["year_usable_bytes"] for year in years[:step]):
        return "none: no more capacity than before"
    return f"start of {years[step]['name']}, or the fill limit reached before"


def _rate(required: Requirement | None) -> str:
    return "" if required is None else display(required.value, required.unit, binary=False)


def _blank(heads: Sequence[str]) -> tuple[str, ...]:
    return ("",) * len(heads)
