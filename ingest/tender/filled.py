"""A vendor's filled response sheet, read as data: nothing in it is trusted, and what was changed is named."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.requirement import PRIORITIES

#: The sheet that carries what the buyer asked for, and the one that the vendor fills in.
KEY_SHEET, RESPONSE_SHEET, REQUIREMENTS_SHEET = "Key", "Vendor response", "Requirements"
#: A workbook that unpacks to more is no response.
MOST_BYTES = 300_000_000
#: Relative difference up to which two numbers are the same after a spreadsheet has stored them.
SAME = 1e-9


@dataclass(frozen=True)
class Asked:
    """One requirement as the buyer wrote it."""

    id: str
    priority: str
    value: float
    unit: str


@dataclass(frozen=True)
class Answered:
    """One line as the vendor filled it in; `found` are the cells by heading."""

    id: str
    required: Any
    unit: Any
    found: Mapping[str, Any]


def test_id(requirement_id: str) -> str:
    """The test of a requirement; the job files of `ingest accept` put the name of their tool behind it.

    >>> test_id("R-READ-01")
    'T-READ-01'
    """
    return f"T{requirement_id.removeprefix('R')}"


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


def read_filled(path: Path) -> tuple[list[Asked], list[Answered], list[str]]:
    """What was asked, what was answered, and what was changed that may not be.

    Raises:
        IngestError: no workbook, one that `ingest report` has not made, or one whose key was changed.
    """
    values, formulas = _opened(path, data_only=True), _opened(path, data_only=False)
    for name in (KEY_SHEET, RESPONSE_SHEET, REQUIREMENTS_SHEET):
        if name not in values.sheetnames:
            raise IngestError(f"{path}: there is no sheet '{name}', expected a workbook that `ingest report` made")
    asked = _key(path, values[KEY_SHEET])
    rows = list(values[RESPONSE_SHEET].iter_rows(values_only=True))
    heads = [str(head) for head in rows[0]] if rows else []
    places = {name: heads.index(name) for name in ("Id", "Required", "Unit") if name in heads}
    if len(places) < 3:
        raise IngestError(f"{path}: sheet '{RESPONSE_SHEET}' has lost its heading, expected Id, Required, Unit, …")
    answered = [
        Answered(str(row[places["Id"]]), row[places["Required"]], row[places["Unit"]], dict(zip(heads, row, strict=True)))
        for row in rows[1:]
        if row[places["Id"]]
    ]
    return asked, answered, list(_changes(asked, answered, formulas, places["Required"]))


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
        return openpyxl.load_workbook(path, data_only=data_only, keep_links=False)
    except IngestError:
        raise
    except FileNotFoundError:
        raise IngestError(f"{path}: there is no such file") from None
    except Exception as error:  # a broken package shows in many ways
        raise IngestError(f"{path}: not readable as .xlsx ({type(error).__name__})") from None


def _key(path: Path, sheet: Any) -> list[Asked]:
    # Long text is dealt out over rows: a cell holds 32,767 characters.
    written = "".join(str(row[0] or "") for row in sheet.iter_rows(max_col=1, values_only=True))
    try:
        found = json.loads(written)
        rows = found["requirements"]
        asked = [Asked(str(name), str(priority), float(value), str(unit)) for name, priority, value, unit in rows]
    except (ValueError, TypeError, KeyError):
        raise IngestError(f"{path}: sheet '{KEY_SHEET}' is damaged, expected it as `ingest report` wrote it") from None
    if found.get("seal") != seal(rows) or any(one.priority not in PRIORITIES for one in asked):
        raise IngestError(f"{path}: sheet '{KEY_SHEET}' was changed: its seal does not fit the requirements") from None
    return asked


def _changes(asked: Sequence[Asked], answered: Sequence[Answered], formulas: Any, column: int) -> Iterable[str]:
    """Requirement cells that are not what the buyer wrote."""
    by_id = {one.id: one for one in asked}
    present = [one.id for one in answered]
    yield from (f"{name}: the line was removed" for name in by_id if name not in present)
    yield from (f"{name}: the line stands {present.count(name)} times" for name in by_id if present.count(name) > 1)
    yield from (f"{name}: the line was added" for name in present if name not in by_id)
    for one in answered:
        wanted = by_id.get(one.id)
        if wanted is None:
            continue
        if not isinstance(one.required, (int, float)) or abs(one.required - wanted.value) > SAME * abs(wanted.value):
            yield f"{one.id}: the required value is {one.required!r}, was {wanted.value!r}"
        if one.unit != wanted.unit:
            yield f"{one.id}: the unit is {one.unit!r}, was {wanted.unit!r}"
    for row in formulas[RESPONSE_SHEET].iter_rows(min_row=2):
        written = row[column].value
        if row[0].value in by_id and not (isinstance(written, str) and written.startswith("=")):
            yield f"{row[0].value}: the required value is no formula any more"
