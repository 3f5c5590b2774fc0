"""What the sheet Checks tests: ranges of inputs, sums over rows, units, and that the forms repeat the requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ingest.engine.registry import Step
from ingest.reports.workbook.plan_cells import FIRST, INPUT, MOST_ALONE, QUANTITY, limits_of, size_of
from ingest.reports.workbook.plan_forms import BASE_VALUE
from ingest.reports.workbook.styles import number_check, range_check
from ingest.site.plan import TABLES

if TYPE_CHECKING:
    from ingest.reports.workbook.plan_workbook import SiteBook
    from ingest.sizing.rules import Finding

#: name, what is expected, formula
Check = tuple[str, str, str]
#: Relative difference of two sums of the same numbers in another order.
SAME = "1E-9"
#: Findings of one rule that are tested in one formula, which holds 8,192 characters.
TOGETHER = 50
DECIDED = "as when the workbook was made; where an input changes it, plan again"


def checks_of(book: SiteBook, lines: Mapping[str, int]) -> Iterator[Check]:
    """All checks; `lines` are the rows of the requirements."""
    yield from _ranges(book)
    yield from _sums(book)
    yield from _findings(book)
    for one in book.plan.requirements:
        row = lines[one.id]
        yield (one.id, *number_check(f"Requirements!$D${row}"))
        yield f"{one.id}: unit", one.unit, f'=IF(EXACT(Requirements!$E${row}, "{one.unit}"), "ok", "fails")'
        places = f"Requirements!$D${row}, 'Vendor response'!$D${row}, Results!${BASE_VALUE}${row}"
        yield (
            f"{one.id}: forms",
            "Results and Vendor response repeat the requirement",
            f'=IF(MAX({places}) = MIN({places}), "ok", "fails")',
        )


def _ranges(book: SiteBook) -> Iterator[Check]:
    """One line per input; one per quantity where a site has so many rows that nobody would read as many lines."""
    by_quantity: dict[str, list[Step]] = {}
    for step in book.cells.inputs:
        by_quantity.setdefault(step.name, []).append(step)
    last = FIRST + sum(map(size_of, book.cells.inputs)) - 1
    names, values = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in (QUANTITY, INPUT))
    for quantity, steps in by_quantity.items():
        limits = {limits_of(step) for step in steps}
        if len(steps) > MOST_ALONE and len(limits) == 1 and all(size_of(step) == 1 for step in steps):
            yield (f"all {quantity}", *range_check(values, limits.pop(), len(steps), among=names))
            continue
        for step in steps:
            name = f"{book.cells.owner(step)}: {quantity}"
            yield (name, *range_check(book.cells.place(step), limits_of(step), size_of(step)))


def _findings(book: SiteBook) -> Iterator[Check]:
    """Each rule that was held against the site still has the same outcome, so that words, conditions and warnings hold.

    One line per finding; one per `TOGETHER` of a rule where a site has so many rows that nobody would read as many.
    """
    by_rule: dict[str, list[Finding]] = {}
    for one in book.plan.findings:
        if one.is_checked:
            by_rule.setdefault(one.what.partition(": ")[2], []).append(one)
    for kind, found in by_rule.items():
        expected = f"{found[0].rule.id}: {DECIDED}"
        if len(found) <= MOST_ALONE:
            for one in found:
                yield one.what, expected, f'=IF({one.condition(book.cells.place)}, "ok", "plan again")'
            continue
        for start in range(0, len(found), TOGETHER):
            some = found[start : start + TOGETHER]
            names = " to ".join(one.owner for one in (some[0], some[-1]))
            written = ", ".join(one.condition(book.cells.place) for one in some)
            yield f"{names}: {kind}", expected, f'=IF(AND({written}), "ok", "plan again")'


def _sums(book: SiteBook) -> Iterator[Check]:
    """The rows of a sheet add up to the column that the calculation works with."""
    from xlsxwriter.utility import xl_col_to_name

    columns = {frozenset(step.inputs): step for step in book.cells.columns if step.inputs}
    for sheet, rows in book.tables.items():
        for place, quantity in enumerate(TABLES[book.table(sheet)][1]):
            step = columns.get(frozenset(entry for _, steps in rows if (entry := steps[place]) is not None))
            if step is None:
                continue
            letter = xl_col_to_name(book.column(sheet, quantity))
            shown = f"SUM('{sheet}'!${letter}$2:${letter}${len(rows) + 1})"
            used = f"SUM({book.cells.place(step)})"
            expected = "its rows add up to what the calculation adds up"
            yield f"{sheet}: {quantity}", expected, f'=IF(ABS({shown} - {used}) <= {SAME} * {used}, "ok", "fails")'
