"""What the buyer asked for, as a workbook carries it: requirements, and every cell of theirs that nobody else may change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.errors import IngestError
from ingest.requirement import PRIORITIES, Requirement
from ingest.tender.book import Book, Sheet
from ingest.tender.fields import FIELDS, OPEN
from ingest.tender.whole import Whole, packed, unpacked

#: The sheet that carries what the buyer asked for, the one that states it, and the one that the vendor fills in.
KEY_SHEET, REQUIREMENTS_SHEET, RESPONSE_SHEET = "Key", "Requirements", "Vendor response"
#: What is for the buyer alone, who takes it out before the workbook is sent.
BUYER_SHEET = "For the buyer"
#: Headings of the columns that the judge reads.
ID, PRIORITY, VALUE, UNIT, STATEMENT, REQUIRED = "Id", "Priority", "Value", "Unit", "Statement", "Required"
#: The headings that a sheet must have.
HEADS = {
    REQUIREMENTS_SHEET: (ID, PRIORITY, STATEMENT, VALUE, UNIT),
    RESPONSE_SHEET: (ID, PRIORITY, "Requirement", REQUIRED, UNIT, *(field.head for field in FIELDS)),
}
#: Columns with a number or a sentence that a program must have calculated.
CALCULATED = {REQUIREMENTS_SHEET: (STATEMENT, VALUE), RESPONSE_SHEET: ("Requirement", REQUIRED)}

#: id -> heading -> what stands in the cell: text, a number, or a formula as it is written
Cells = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, order=True)
class Asked:
    """One requirement as the buyer wrote it."""

    id: str
    priority: str
    value: float
    unit: str


@dataclass(frozen=True)
class Terms:
    """What was asked.

    Attributes:
        lines: the requirements.
        cells: sheet -> its cells that only the buyer changes, of the sheets with a line for each requirement.
        whole: all sheets as they were written.
        tender: name and hash of the site.
    """

    lines: tuple[Asked, ...]
    cells: Mapping[str, Cells]
    whole: Whole
    tender: tuple[str, str]


def key_of(requirements: Sequence[Requirement], cells: Mapping[str, Cells], whole: Whole, tender: tuple[str, str]) -> str:
    """What the buyer asked for as text with a seal: a change of either is noticed.

    >>> key_of([], {"Requirements": {"R-READ-01": {"Value": "=Calculation!$D$2"}}}, Whole({}, {}), ("A", "sha256:0"))[:16]
    '{"seal": "sha256'
    """
    asked = [[one.id, one.priority, one.value, one.unit] for one in requirements]
    found = {"requirements": asked, "cells": cells, "whole": packed(whole), "tender": list(tender)}
    return json.dumps({"seal": seal(found), **found}, ensure_ascii=True)


def seal(found: Mapping[str, Any]) -> str:
    """SHA-256 of what a key holds."""
    return f"sha256:{hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()}"


def terms_of_key(book: Book) -> Terms:
    """What was asked, by the key of a workbook.

    Raises:
        IngestError: a key that cannot be read, or was changed.
    """
    place = f"{book.path}: sheet '{KEY_SHEET}'"
    # Long text is dealt out over rows: a cell holds 32,767 characters.
    written = "".join(str(row[0] or "") for row in book.rows(KEY_SHEET))
    try:
        found = json.loads(written)
        kept = {name: found[name] for name in ("requirements", "cells", "whole", "tender")}
        lines = tuple(
            Asked(str(name), str(priority), float(value), str(unit)) for name, priority, value, unit in found["requirements"]
        )
        cells = {sheet: {name: dict(row) for name, row in found["cells"][sheet].items()} for sheet in CALCULATED}
        whole = unpacked(found["whole"])
        name, made_from = found["tender"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise IngestError(f"{place} is damaged, expected it as `ingest report` wrote it") from None
    if found.get("seal") != seal(kept) or any(not _possible(one) for one in lines):
        raise IngestError(f"{place} was changed: its seal does not fit the requirements")
    return Terms(lines, cells, whole, (str(name), str(made_from)))


def sheets_of(book: Book) -> dict[str, Sheet]:
    """The sheets with the requirements, and with the answers.

    Raises:
        IngestError: a heading that is lost or stands twice.
    """
    return {name: book.sheet(name, heads) for name, heads in HEADS.items()}


def terms_of_sheets(book: Book, key: Terms) -> Terms:
    """What was asked, by the sheets of the workbook as it was sent out: with the values that its inputs give.

    Args:
        book: the workbook.
        key: what its key says.

    Raises:
        IngestError: a line without a value, or one that no program has calculated.
    """
    sheets = sheets_of(book)
    for sheet in sheets.values():
        check_calculated(book, sheet)
    lines = tuple(_asked(book, line.stored) for line in sheets[REQUIREMENTS_SHEET].lines)
    cells = {name: cells_of(sheet) for name, sheet in sheets.items()}
    return Terms(lines, cells, _as_sent(key.whole, book), key.tender)


def _as_sent(whole: Whole, book: Book) -> Whole:
    """All sheets with what the buyer changed before they went out; what others fill in stays open."""
    sheets = {}
    for name, cells in whole.sheets.items():
        written = book.found[name].cells if name in book.found else {}
        sheets[name] = {**written, **{place: None for place, item in cells.items() if item is None}}
    return Whole(sheets, {name: book.names.get(name, place) for name, place in whole.names.items()})


def _asked(book: Book, stored: Mapping[str, Any]) -> Asked:
    name, priority, value, unit = (stored.get(head) for head in (ID, PRIORITY, VALUE, UNIT))
    number = float(value) if isinstance(value, (int, float)) else float("nan")
    found = Asked(str(name), str(priority), number, str(unit))
    if not _possible(found):
        expected = f"one of {', '.join(PRIORITIES)} and a number from 0"
        raise IngestError(f"{book.path}: sheet '{REQUIREMENTS_SHEET}': {name}: found {priority} {value}, expected {expected}")
    return found


def _possible(one: Asked) -> bool:
    return one.priority in PRIORITIES and 0 <= one.value < float("inf")


def check_calculated(book: Book, sheet: Sheet) -> None:
    """Refuse a workbook whose formulas have no stored values: what it asks, and whether that was changed, is not known.

    Raises:
        IngestError: the first cells without a value, and what to do.
    """
    empty = list(_empty(sheet))
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        raise IngestError(
            f"{book.path}: found formulas without values ({empty[0]}{more}), expected a file that a spreadsheet program has"
            " calculated: open it in one, save it, and judge that"
        )


def _empty(sheet: Sheet) -> Iterator[str]:
    for line in sheet.lines:
        for head in CALCULATED[sheet.name]:
            if is_formula(line.live.get(head)) and line.stored.get(head) in (None, ""):
                yield f"{sheet.name}!{sheet.place(head, line)}"


def cells_of(sheet: Sheet) -> Cells:
    """The cells of a sheet that only the buyer changes, by id and heading."""
    return {str(line.live[ID]): {head: line.live[head] for head in sheet.heads if head not in OPEN} for line in sheet.lines}


def is_formula(written: Any) -> bool:
    """Whether a cell holds a formula; one that fills an area is no text."""
    plain = written is None or isinstance(written, (bool, int, float)) or hasattr(written, "isoformat")
    return written.startswith("=") if isinstance(written, str) else not plain
