"""What a vendor wrote into the open cells: read by what each takes, and all cells that cannot be read named at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.tender.asked import ID, UNIT, is_formula
from ingest.tender.book import Book, Line, Sheet
from ingest.tender.fields import AS_IS, CHOICE, COMPLY, COUNT, FIELDS, NUMBER, OPTIMIZED, Field
from ingest.units import parse

#: Cells that one refusal names, and characters of one remark.
MOST_NAMED, MOST_TEXT = 20, 4_000


@dataclass(frozen=True)
class Answer:
    """One line as the vendor filled it in.

    Attributes:
        id: of the requirement.
        comply: `yes`, `no`, `partial` or empty.
        as_is: the value as delivered, in the unit of the line.
        optimized: the tuned value.
        said: all fields as text, by heading.
    """

    id: str
    comply: str
    as_is: float | None
    optimized: float | None
    said: Mapping[str, str]


class _Unfit(Exception):
    """What is wrong with a cell."""


def answers_of(book: Book, sheet: Sheet) -> list[Answer]:
    """The answers on the response sheet.

    Raises:
        IngestError: cells that cannot be read; up to twenty of them, in one line.
    """
    bad = list(_merged(book, sheet))
    answers = []
    for line in sheet.lines:
        found: dict[str, Any] = {}
        for field in FIELDS:
            try:
                found[field.head] = _read(field, line)
            except _Unfit as why:
                bad.append(f"{sheet.place(field.head, line)} ({line.stored[ID]}, '{field.head}'): {why}")
        answers.append(_answer(str(line.stored[ID]), found))
    if bad:
        raise IngestError(f"{book.path}: sheet '{sheet.name}': {'; '.join(bad[:MOST_NAMED])}{_more(len(bad) - MOST_NAMED)}")
    return answers


def _more(count: int) -> str:
    return f"; and {count:,} more cells" if count > 0 else ""


def _answer(name: str, found: Mapping[str, Any]) -> Answer:
    said = {head: "" if value is None else str(value) for head, value in found.items()}
    return Answer(name, said.get(COMPLY, ""), found.get(AS_IS), found.get(OPTIMIZED), said)


def _merged(book: Book, sheet: Sheet) -> Iterator[str]:
    for area in book.merged[sheet.name]:
        yield f"{area} is one merged cell, expected a cell for each answer"


def _read(field: Field, line: Line) -> Any:
    """The value of an open cell: a word, a number, text, or nothing."""
    stored, live = line.stored.get(field.head), line.live.get(field.head)
    if is_formula(live):
        raise _Unfit(f"found the formula {brief(str(live))}, expected {_expected(field, line)}")
    if stored is None or (isinstance(stored, str) and not stored.strip()):
        return None
    if field.kind == CHOICE:
        return _choice(field, stored)
    if field.kind in (NUMBER, COUNT):
        return _number(field, line, stored)
    if len(str(stored)) > MOST_TEXT:
        raise _Unfit(f"found {len(str(stored)):,} characters, expected at most {MOST_TEXT:,}")
    return " ".join(str(stored).split())


def _choice(field: Field, stored: Any) -> str:
    word = str(stored).strip().lower()
    if word not in field.choices:
        raise _Unfit(f"found {brief(_shown(stored))}, expected one of {', '.join(field.choices)}{nearest(word, field.choices)}")
    return word


def _number(field: Field, line: Line, stored: Any) -> float | int:
    good = isinstance(stored, (int, float)) and not isinstance(stored, bool) and 0 <= stored < float("inf")
    if good and field.kind == COUNT:
        good = stored >= 1 and stored == int(stored)
    if not good:
        raise _Unfit(f"found {_shown(stored)!r:.60}, expected {_expected(field, line)}{_hint(field, line, stored)}")
    return int(stored) if field.kind == COUNT else float(stored)


def _shown(stored: Any) -> Any:
    """A date as people write it."""
    return stored.isoformat() if hasattr(stored, "isoformat") else stored


def _expected(field: Field, line: Line) -> str:
    if field.kind == NUMBER:
        return f"a number from 0 in {line.stored.get(UNIT)}"
    return {CHOICE: f"one of {', '.join(field.choices)}", COUNT: "a whole number from 1"}.get(field.kind, "text")


def _hint(field: Field, line: Line, stored: Any) -> str:
    """The number that a text with a unit stands for."""
    if field.kind != NUMBER or not isinstance(stored, str):
        return ""
    try:
        return f", such as {parse(stored, str(line.stored.get(UNIT)), field.head):.15g}"
    except (UsageError, IngestError):
        return ""
