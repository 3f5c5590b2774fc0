"""Where a returned workbook states other requirements than were sent: ids, values, units and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ingest.errors import UsageError, brief
from ingest.rfp import response_form as form
from ingest.rfp.requirement_lines import RequirementLine, is_value, required_in, visible_word
from ingest.rfp.response_units import ResponseUnit, read_unit, response_unit
from ingest.rfp.workbook_reader import Rows, Sheet, SheetLine, same
from ingest.text import visible
from ingest.units import physical

#: Characters of a long text that are shown before the first difference.
BEFORE = 20


class RequirementDifference(NamedTuple):
    """Where the returned workbook states another requirement than was sent."""

    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


def differences(
    sent: Sequence[RequirementLine], returned: Mapping[str, Sheet], stated: Sheet | None = None
) -> Iterator[RequirementDifference]:
    """Where ids, values and texts of the returned sheets differ from the requirements that were sent.

    Args:
        sent: the requirements that were sent.
        returned: the sheet of requirements and the response form of the returned workbook.
        stated: the sheet of requirements that was sent; None where a plan was. A sheet of its kind is compared cell by cell.
    """
    required = {one.id: one for one in sent}
    for name, sheet in returned.items():
        present = [str(line.stored[form.ID]) for line in sheet.lines]
        # A sheet of requirements may leave the terms of the service to another sheet.
        expected = [one.id for one in sent if name == form.RESPONSE_SHEET or one.value is not None]
        where = f"the line of sheet '{name}'"
        yield from (RequirementDifference(one, f"{where} was removed") for one in expected if one not in present)
        repeated = {one: n for one in required if (n := present.count(one)) > 1}
        yield from (RequirementDifference(one, f"{where} appears {n} times") for one, n in repeated.items())
        added = (one for one in dict.fromkeys(present) if one not in required)
        yield from (RequirementDifference(visible_word(one), f"{where} was added") for one in added)
        by_cell = stated if stated is not None and name == form.REQUIREMENTS_SHEET and _alike(stated, sheet) else None
        cells = {} if by_cell is None else {str(line.stored[form.ID]): line for line in reversed(by_cell.lines)}
        for line in sheet.lines:
            one = required.get(str(line.stored[form.ID]))
            if one is not None:
                own = cells.get(one.id)
                changes = _changes(one, sheet, line) if own is None or by_cell is None else _cells(by_cell, own, line)
                for head, change in changes:
                    yield RequirementDifference(one.id, visible(f"'{head}' of sheet '{name}' {change}"))


def sheet_differences(sent: Mapping[str, Rows], returned: Mapping[str, Rows]) -> Iterator[RequirementDifference]:
    """Where the other sheets of the returned workbook, such as the terms, differ from those that were sent, cell by cell.

    >>> sent, returned = {"Terms": [("Delay", "0.5 %")], "Prices": [("Support", None)]}, {"Terms": [("Delay", "0.1 %")]}
    >>> [str(one) for one in sheet_differences(sent, {**returned, "Prices": [("Support", 9)]})]
    ["Terms!B1: is '0.1 %', was '0.5 %'"]
    """
    from openpyxl.utils import get_column_letter

    for name, rows in sent.items():
        if name not in returned:
            yield RequirementDifference(visible_word(name), "the sheet was removed")
            continue
        for number, (was, found) in enumerate(zip_longest(rows, returned[name], fillvalue=()), start=1):
            for column, (before, after) in enumerate(zip_longest(was, found), start=1):
                # The vendor fills in the blank cells of the prices.
                if not same(after, before) and not (before is None and name == form.PRICES_SHEET):
                    place = f"{name}!{get_column_letter(column)}{number}"
                    shown = "blank" if before is None else _excerpt(before, after)
                    yield RequirementDifference(place, visible(f"is {_excerpt(after, before)}, was {shown}"))


def _alike(one: Sheet, other: Sheet) -> bool:
    """Whether both are buyer's sheets, or both are vendor's, which lack the computed value."""
    return (form.VALUE in one.heads) == (form.VALUE in other.heads)


def _cells(sheet: Sheet, own: SheetLine, line: SheetLine) -> Iterator[tuple[str, str]]:
    """The headings whose cells differ, with both contents."""
    for head in sheet.heads:
        found, was = line.stored.get(head), own.stored.get(head)
        if head not in ("", form.ID) and not same(found, was):
            yield head, f"is {_excerpt(found, was)}, was {_excerpt(was, found)}"


def _changes(one: RequirementLine, sheet: Sheet, line: SheetLine) -> Iterator[tuple[str, str]]:
    """What a line states otherwise than the requirement: priority, text, clients, and the value in whatever unit."""
    statement = form.REQUIREMENT if sheet.name == form.RESPONSE_SHEET else form.STATEMENT
    for head, was in ((form.PRIORITY, one.priority), (statement, one.statement), (form.CLIENTS, one.clients)):
        found = line.stored.get(head)
        if head in sheet.heads and not same(found, was):
            yield head, f"is {_excerpt(found, was)}, was {_excerpt(was, found)}"
    head = form.REQUIRED if sheet.name == form.RESPONSE_SHEET else required_in(sheet)
    found, written = line.stored.get(head), line.stored.get(form.UNIT)
    if one.value is None:
        if not same(found, one.bound):
            yield head, f"is {_excerpt(found, one.bound)}, was {_excerpt(one.bound, found) if one.bound else 'blank'}"
        return
    own = response_unit(one.value, one.unit)
    try:
        unit = read_unit(str(written or ""))
    except UsageError:
        yield form.UNIT, f"is {brief(written)}, was {own.name!r}"
        return
    if physical(unit.base) != physical(one.unit):
        yield form.UNIT, f"is {brief(written)}, was {own.name!r}"
    elif not (is_value(found) and same(found * unit.factor, one.value)):
        shown = _shown(found, unit) if is_value(found) else _excerpt(found, "")
        yield head, f"is {shown}, was {_shown(one.value / unit.factor, unit)}"


def _shown(number: float, unit: ResponseUnit) -> str:
    return f"{number:.12g} {unit.name}"


def _excerpt(text: Any, other: Any) -> str:
    """A cell in few words: of a long text, from shortly before the first difference."""
    if not isinstance(text, str) or not isinstance(other, str):
        return brief(text)
    first = next((place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), 0)
    start = max(first - BEFORE, 0)
    return brief(f"…{text[start:]}" if start else text)
