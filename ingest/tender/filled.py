"""A vendor's filled response sheet, read as data: nothing in it is trusted, and what was changed is named."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.requirement import PRIORITIES

#: The sheet that carries what the buyer asked for, and the one that the vendor fills in.
KEY_SHEET, RESPONSE_SHEET, REQUIREMENTS_SHEET = "Key", "Vendor response", "Requirements"
#: Headings of the response sheet that the vendor does not fill in, and those of the numbers that they do.
LOCKED = ("Id", "Priority", "Requirement", "Required", "Unit")
NUMBERS = ("As-is value", "Optimized value")
#: A workbook that unpacks to more, or has more rows or columns, is no response.
MOST_BYTES, MOST_ROWS, MOST_COLUMNS = 100_000_000, 20_000, 100
#: Relative difference up to which two numbers are the same after a spreadsheet has stored them.
SAME = 1e-9


@dataclass(frozen=True, order=True)
class Asked:
    """One requirement as the buyer wrote it."""

    id: str
    priority: str
    value: float
    unit: str


@dataclass(frozen=True)
class Answered:
    """One line as the vendor filled it in: values of its cells by heading, and what is written in them."""

    id: str
    found: Mapping[str, Any]
    live: Mapping[str, Any]


def key_of(asked: Iterable[Asked]) -> str:
    """What the buyer asked for as text with a seal: a change of either is noticed.

    >>> key_of([Asked("R-READ-01", "mandatory", 1e9, "B/s")])[:22]
    '{"seal": "sha256:d4bb4'
    """
    rows = [[one.id, one.priority, one.value, one.unit] for one in asked]
    return json.dumps({"seal": seal(rows), "requirements": rows}, ensure_ascii=True)


def seal(rows: Sequence[Sequence[Any]]) -> str:
    """SHA-256 of the requirements."""
    return f"sha256:{hashlib.sha256(json.dumps(rows).encode()).hexdigest()}"


def read_filled(path: Path, sent: Path | None = None) -> tuple[list[Asked], list[Answered], list[str]]:
    """What was asked, what was answered, and what was changed that may not be.

    Args:
        path: the filled workbook.
        sent: the workbook as it was sent out; what was asked is taken from there.

    Raises:
        IngestError: no workbook, one that `ingest report` has not made, or one whose key was changed.
    """
    values, formulas = _opened(path, data_only=True), _opened(path, data_only=False)
    asked = _key(path, values[KEY_SHEET])
    changes = []
    if sent is not None:
        original = _key(sent, _opened(sent, data_only=True)[KEY_SHEET])
        changes = [f"{one.id}: not as it was sent out" for one in sorted(set(original) ^ set(asked))]
        asked = original
    rows = list(values[RESPONSE_SHEET].iter_rows(values_only=True))
    heads = [str(head) for head in rows[0]] if rows else []
    lost = [name for name in LOCKED if name not in heads]
    if lost:
        expected = ", ".join(LOCKED)
        raise IngestError(f"{path}: sheet '{RESPONSE_SHEET}' has lost the heading '{lost[0]}', expected {expected}, …")
    written = list(formulas[RESPONSE_SHEET].iter_rows(values_only=True))
    answered = [
        Answered(str(row[heads.index("Id")]), dict(zip(heads, row, strict=True)), dict(zip(heads, live, strict=True)))
        for row, live in zip(rows[1:], written[1:], strict=True)
        if row[heads.index("Id")]
    ]
    return asked, answered, list(dict.fromkeys([*changes, *_changes(asked, answered)]))


def _opened(path: Path, data_only: bool) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise IngestError(
            "a workbook is read by openpyxl, expected it installed: pip install 'ingest-sizing[report]'"
        ) from None
    try:
        with zipfile.ZipFile(path) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > MOST_BYTES:
            raise IngestError(f"{path}: unpacks to {size:,} B, expected a workbook below {MOST_BYTES:,} B")
        book = openpyxl.load_workbook(path, data_only=data_only, keep_links=False)
    except IngestError:
        raise
    except FileNotFoundError:
        raise IngestError(f"{path}: there is no such file") from None
    except Exception as error:  # a broken package shows in many ways
        raise IngestError(f"{path}: not readable as .xlsx ({type(error).__name__})") from None
    for name in (KEY_SHEET, RESPONSE_SHEET, REQUIREMENTS_SHEET):
        if name not in book.sheetnames:
            raise IngestError(f"{path}: there is no sheet '{name}', expected a workbook that `ingest report` made")
        if book[name].max_row > MOST_ROWS or book[name].max_column > MOST_COLUMNS:
            raise IngestError(f"{path}: sheet '{name}' has {book[name].dimensions}, expected at most {MOST_ROWS:,} rows")
    return book


def _key(path: Path, sheet: Any) -> list[Asked]:
    # Long text is dealt out over rows: a cell holds 32,767 characters.
    written = "".join(str(row[0] or "") for row in sheet.iter_rows(max_col=1, values_only=True))
    try:
        found = json.loads(written)
        rows = found["requirements"]
        asked = [Asked(str(name), str(priority), float(value), str(unit)) for name, priority, value, unit in rows]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise IngestError(f"{path}: sheet '{KEY_SHEET}' is damaged, expected it as `ingest report` wrote it") from None
    if found.get("seal") != seal(rows) or any(one.priority not in PRIORITIES for one in asked):
        raise IngestError(f"{path}: sheet '{KEY_SHEET}' was changed: its seal does not fit the requirements") from None
    return asked


def _changes(asked: Sequence[Asked], answered: Sequence[Answered]) -> Iterator[str]:
    """Requirement cells that are not what the buyer wrote."""
    by_id = {one.id: one for one in asked}
    present = [one.id for one in answered]
    yield from (f"{name}: the line was removed" for name in by_id if name not in present)
    yield from (f"{name}: the line stands {present.count(name)} times" for name in by_id if present.count(name) > 1)
    yield from (f"{name}: the line was added" for name in dict.fromkeys(present) if name not in by_id)
    for one in answered:
        if one.id in by_id:
            yield from (f"{one.id}: {change}" for change in _changed(by_id[one.id], one))


def _changed(wanted: Asked, one: Answered) -> Iterator[str]:
    """What was changed in one line."""
    value, live = one.found["Required"], _is_formula(one.live["Required"])
    # A program that stores no values leaves the formula alone: what it gives is not known, and nothing was changed.
    if not (value is None and live) and not _same(value, wanted.value):
        yield f"the required value is {value!r}, was {wanted.value!r}"
    if not live:
        yield "the required value is no formula any more"
    if not _is_formula(one.live["Requirement"]):
        yield "the wording is no formula any more"
    for name, before in (("Priority", wanted.priority), ("Unit", wanted.unit)):
        if one.found[name] != before:
            yield f"the {name.lower()} is {one.found[name]!r}, was {before!r}"
    yield from (f"'{name}' is a formula, expected a number" for name in NUMBERS if _is_formula(one.live.get(name)))


def _same(value: Any, wanted: float) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value - wanted) <= SAME * abs(wanted)


def _is_formula(written: Any) -> bool:
    return isinstance(written, str) and written.startswith("=")
