"""What a vendor changed that only the buyer may change: cell by cell, against what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.errors import brief
from ingest.tender.asked import CALCULATED, ID, REQUIRED, REQUIREMENTS_SHEET, RESPONSE_SHEET, VALUE, Asked, Terms, is_formula
from ingest.tender.book import Sheet

#: Relative difference up to which two numbers are the same after a spreadsheet has stored them.
SAME = 1e-9
#: Digits of a number within a formula that spreadsheets keep.
DIGITS = 15
#: Characters before the first difference of two texts that are shown with it.
BEFORE = 20


def changes_of(terms: Terms, sheets: Mapping[str, Sheet]) -> list[str]:
    """Every change, each once."""
    found = [change for name, sheet in sheets.items() for change in _of_sheet(terms, name, sheet)]
    return list(dict.fromkeys(found))


def restated(before: Mapping[str, Sheet], sheets: Mapping[str, Sheet]) -> list[str]:
    """Sentences that a formula gives, and that show something else than the same formula gave in the workbook as it was sent.

    Args:
        before: the sheets as they were sent out.
        sheets: as they came back, with the same formulas and inputs.
    """
    return [change for name, (head, _) in CALCULATED.items() for change in _restated(name, head, before[name], sheets[name])]


def _restated(name: str, head: str, before: Sheet, sheet: Sheet) -> Iterator[str]:
    told = {str(line.stored[ID]): str(line.stored.get(head)) for line in before.lines}
    for line in sheet.lines:
        one, found = str(line.stored[ID]), str(line.stored.get(head))
        was = told.get(one, found)
        if is_formula(line.live.get(head)) and unseparated(found) != unseparated(was):
            yield f"{one}: '{head}' of sheet '{name}' shows {apart(found, was)}, its formula gave {apart(was, found)}"


def unseparated(text: str) -> str:
    """A sentence whatever a country's spreadsheet program puts between digits.

    >>> unseparated("2.916.086 files, 265,2 GB/s.") == unseparated("2,916,086 files, 265.2 GB/s.")
    True
    """
    return _SEPARATOR.sub("·", text)


def _of_sheet(terms: Terms, name: str, sheet: Sheet) -> Iterator[str]:
    asked = {one.id: one for one in terms.lines}
    yield from _lines(name, list(asked), [str(line.stored[ID]) for line in sheet.lines])
    for line in sheet.lines:
        one = asked.get(str(line.stored[ID]))
        if one is not None:
            yield from _value(one, line.stored.get(VALUE if name == REQUIREMENTS_SHEET else REQUIRED))
            yield from _cells(name, one.id, terms.cells[name].get(one.id, {}), line.live)


def _lines(name: str, asked: Sequence[str], present: Sequence[str]) -> Iterator[str]:
    """Lines that came, went, or stand twice."""
    where = "" if name == RESPONSE_SHEET else f" of sheet '{name}'"
    yield from (f"{one}: the line{where} was removed" for one in asked if one not in present)
    yield from (f"{one}: the line{where} stands {present.count(one)} times" for one in asked if present.count(one) > 1)
    yield from (f"{brief(one)[1:-1]}: the line{where} was added" for one in present if one not in asked)


def _value(asked: Asked, stored: Any) -> Iterator[str]:
    if not same(stored, asked.value):
        yield f"{asked.id}: the required value is {brief(stored)}, was {asked.value!r}"


def _cells(sheet: str, name: str, expected: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    for head, before in expected.items():
        found = live.get(head)
        if not same(found, before):
            yield f"{name}: '{head}' of sheet '{sheet}' is {apart(found, before)}, was {apart(before, found)}"


def same(found: Any, expected: Any, most: float = SAME) -> bool:
    """Whether a cell holds what it held: numbers within what a spreadsheet stores, formulas however they are spaced.

    >>> same(1.0000000000001, 1), same("=D2/1000", "=D2 / 1000.0"), same("low", "high"), same(None, "")
    (True, True, False, True)
    """
    if _is_number(found) and _is_number(expected):
        return bool(abs(found - expected) <= most * abs(expected))
    if is_formula(found) and is_formula(expected):
        return plain(str(found)) == plain(str(expected))
    return bool((found or "") == (expected or ""))


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def plain(formula: str) -> str:
    """A formula without what programs change when they store it: spaces and the spelling of numbers, but not its texts.

    >>> plain('=FIXED( D2 / 1E9, 1) & " GB/s"')
    '=FIXED(D2/1000000000,1)&" GB/s"'
    """
    parts = formula.split('"')
    parts[::2] = [_plain(part) for part in parts[::2]]
    return '"'.join(parts)


def _plain(part: str) -> str:
    unquoted = _QUOTED.sub(r"\1!", part).replace(" ", "")
    return _NUMBER.sub(lambda match: f"{float(match[0]):.{DIGITS}g}", unquoted).upper()


#: What stands between the digits of a number.
_SEPARATOR = re.compile(r"(?<=\d)[.,'\u2019\s](?=\d)")
#: Quotes around the name of a sheet that needs none.
_QUOTED = re.compile(r"'(\w+)'!", re.ASCII)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_$.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_.!:])")


def apart(text: Any, other: Any) -> str:
    """What is said of a cell: of a long text, from shortly before the first difference."""
    if not isinstance(text, str) or not isinstance(other, str):
        return brief(text)
    first = next((place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), 0)
    start = max(first - BEFORE, 0)
    return brief(f"…{text[start:]}" if start else text)
