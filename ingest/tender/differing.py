"""What is not as the buyer wrote it, on any sheet of a workbook that came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.errors import brief
from ingest.tender.asked import BUYER_SHEET, REQUIREMENTS_SHEET, RESPONSE_SHEET
from ingest.tender.comparing import apart, plain, same
from ingest.tender.found import Found
from ingest.tender.whole import Cells, Whole
from ingest.text import visible

#: Relative difference up to which two numbers are the same after a spreadsheet has stored them.
SAME_NUMBER = 1e-12
#: Sheets whose lines are compared by id and heading, wherever they stand.
BY_LINE = (REQUIREMENTS_SHEET, RESPONSE_SHEET)


def differences(whole: Whole, found: Mapping[str, Found], names: Mapping[str, str]) -> Iterator[str]:
    """What is not as it was sent out: one line for each sheet and kind of difference."""
    for name, cells in whole.sheets.items():
        shown = visible(name)
        if name not in found and name == BUYER_SHEET:
            continue
        if name not in found:
            yield f"{shown}: the sheet was removed"
            continue
        sheet = found[name]
        if sheet.state != "visible":
            yield f"{shown}: the sheet is hidden"
        if sheet.too_large:
            yield f"{shown}: the sheet has grown beyond what can be compared"
        elif name not in BY_LINE:
            yield from _cells(shown, cells, sheet.cells)
        yield from _disguised(shown, cells, sheet)
    moved = [name for name, place in whole.names.items() if _place(names.get(name, "")) != _place(place)]
    if moved:
        first = f"the first is {moved[0]}: {brief(names.get(moved[0], ''))}, was {brief(whole.names[moved[0]])}"
        yield f"defined names: {_counted(len(moved), 'name')} differ{_s(len(moved))} from what was sent, {first}"


def _cells(name: str, before: Cells, after: Cells) -> Iterator[str]:
    apart_at = [place for place, item in before.items() if item is not None and not alike(after.get(place), item)]
    if apart_at:
        first = apart_at[0]
        item, was = after.get(first), before[first]
        said = f"the first is {first}: {visible(apart(item, was))}, was {visible(apart(was, item))}"
        yield f"{name}: {_counted(len(apart_at), 'cell')} differ{_s(len(apart_at))} from what was sent, {said}"


def _disguised(name: str, cells: Cells, sheet: Found) -> Iterator[str]:
    """Cells of the buyer's whose number format shows something else than they hold."""
    places = [place for place in sheet.disguised if cells.get(place) is not None]
    if places:
        first = f"the first is {places[0]}: {visible(brief(sheet.disguised[places[0]]))}"
        yield f"{name}: number formats hide what stands in {_counted(len(places), 'cell')}, {first}"


def alike(found: Any, expected: Any) -> bool:
    """Whether a cell holds what it held; a text however its words are spaced.

    >>> alike("two  words", "two words"), alike(None, 0), alike(1 + 1e-14, 1), alike(1 + 1e-9, 1)
    (True, False, True, False)
    """
    if found in (None, "") or expected in (None, ""):
        return found in (None, "") and expected in (None, "")
    if isinstance(found, str) and isinstance(expected, str) and found.split() == expected.split():
        return True
    return same(found, expected, SAME_NUMBER)


def _place(written: str) -> str:
    return plain(written.removeprefix("="))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _s(count: int) -> str:
    return "s" if count == 1 else ""
