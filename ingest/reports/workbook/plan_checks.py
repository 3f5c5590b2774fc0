"""The checks of a site's workbook: inputs in their ranges, sums that agree, decisions of the plan that still hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ingest.engine.registry import Step
from ingest.reports.workbook.derivation_cells import FIRST, limits_of, size_of
from ingest.reports.workbook.plan_cells import MOST_ALONE, PlanCells
from ingest.reports.workbook.styles import column_of, number_check, range_check
from ingest.reports.workbook.table_sheets import TableSheet

if TYPE_CHECKING:
    from ingest.site.plan import Plan
    from ingest.sizing.rules import Finding

#: name, what is expected, formula
Check = tuple[str, str, str]
#: Relative difference of two sums of the same numbers in another order.
SAME = "1E-9"
#: Findings of one rule that are tested in one formula, which holds 8,192 characters.
TOGETHER = 50
DECIDED = "same outcome as in the plan; otherwise run `ingest plan` again"


def checks_of(plan: Plan, cells: PlanCells, tables: Mapping[str, TableSheet], lines: Mapping[str, int]) -> Iterator[Check]:
    """All checks; `lines` are the rows of the requirements."""
    yield from _ranges(cells)
    yield from _sums(cells, tables)
    yield from _findings(plan.findings, cells)
    value, unit = (column_of("model", "Requirements", head) for head in ("Value", "Unit"))
    for one in plan.requirements:
        row = lines[one.id]
        yield (one.id, *number_check(f"{value}{row}"))
        yield f"{one.id}: unit", one.unit, f'=IF(EXACT({unit}{row}, "{one.unit}"), "ok", "fails")'


def _ranges(cells: PlanCells) -> Iterator[Check]:
    """One line per input; one per quantity where a site has more than `MOST_ALONE` of them."""
    by_quantity: dict[str, list[Step]] = {}
    for step in cells.inputs:
        by_quantity.setdefault(step.name, []).append(step)
    last = FIRST + sum(map(size_of, cells.inputs)) - 1
    letters = map(cells.layouts["Inputs"].letter, ("Quantity", "Value"))
    names, values = (f"Inputs!${letter}${FIRST}:${letter}${last}" for letter in letters)
    for quantity, steps in by_quantity.items():
        limits = {limits_of(step) for step in steps}
        if len(steps) > MOST_ALONE and len(limits) == 1 and all(size_of(step) == 1 for step in steps):
            yield (f"all {quantity}", *range_check(values, limits.pop(), len(steps), among=names))
            continue
        for step in steps:
            name = f"{cells.owner(step)}: {quantity}"
            yield (name, *range_check(cells.place(step), limits_of(step), size_of(step)))


def _findings(findings: Iterable[Finding], cells: PlanCells) -> Iterator[Check]:
    """Each rule still has the outcome of the plan, so that statements, conditions and warnings hold.

    One line per finding; one per `TOGETHER` of a rule where a site has more than `MOST_ALONE` of them.
    """
    by_rule: dict[str, list[Finding]] = {}
    for one in findings:
        if one.is_checked:
            by_rule.setdefault(one.what.partition(": ")[2], []).append(one)
    for kind, found in by_rule.items():
        expected = f"{found[0].rule.id}: {DECIDED}"
        if len(found) <= MOST_ALONE:
            for one in found:
                yield one.what, expected, f'=IF({one.condition(cells.place)}, "ok", "plan again")'
            continue
        for start in range(0, len(found), TOGETHER):
            some = found[start : start + TOGETHER]
            names = " to ".join(one.owner for one in (some[0], some[-1]))
            written = ", ".join(one.condition(cells.place) for one in some)
            yield f"{names}: {kind}", expected, f'=IF(AND({written}), "ok", "plan again")'


def _sums(cells: PlanCells, tables: Mapping[str, TableSheet]) -> Iterator[Check]:
    """The rows of a sheet add up to the column that the calculation works with."""
    from xlsxwriter.utility import xl_col_to_name

    columns = {frozenset(step.inputs): step for step in cells.columns if step.inputs}
    for table in tables.values():
        units = table.units
        for quantity in table.quantities:
            step = columns.get(frozenset(one for one in table.entries(quantity) if one is not None))
            if step is None:
                continue
            letter = xl_col_to_name(table.column(quantity))
            factor = units[quantity].factor
            shown = f"SUM('{table.name}'!${letter}$2:${letter}${len(table.rows) + 1}){f' * {factor}' if factor != 1 else ''}"
            used = f"SUM({cells.place(step)})"
            expected = "the sum of its rows is the sum in the calculation"
            yield f"{table.name}: {quantity}", expected, f'=IF(ABS({shown} - {used}) <= {SAME} * {used}, "ok", "fails")'
