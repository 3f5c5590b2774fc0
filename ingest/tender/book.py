"""A workbook that came back, read as data: only the sheets that are needed, within bounds, whatever it holds."""

from __future__ import annotations

import contextlib
import itertools
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ingest.errors import IngestError, nearest
from ingest.tender.beside import beside_all, disguising_formats
from ingest.tender.checks import CHECKS_SHEET, failing_checks
from ingest.tender.found import MOST_BYTES, MOST_TAGS, Found, Room, found_in

#: A larger file is no response, nor one with more parts, or a larger sheet among those that are read.
MOST_FILE_BYTES, MOST_PARTS, MOST_SHEET_BYTES = 50_000_000, 2_000, 5_000_000
#: Bytes of a part by its name, of other parts of text, and of pictures; sheets are bounded when they are read.
#: Styles are the slowest to read: a megabyte takes ten seconds where it is nothing but formats.
MOST_BYTES_OF = {"xl/styles.xml": 1_000_000}
MOST_TEXT_BYTES, MOST_PART_BYTES = 5_000_000, 20_000_000
MOST_ROWS, MOST_COLUMNS = 1_000, 100
#: Sheets that are compared with what was sent.
MOST_SHEETS = 40
Rows = list[tuple[Any, ...]]
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z0-9:$]+)"')


class Line(NamedTuple):
    """One line of a sheet, by heading: what was calculated, and what is written."""

    row: int
    stored: Mapping[str, Any]
    live: Mapping[str, Any]


class Sheet(NamedTuple):
    """A sheet with a heading and an id in each line."""

    name: str
    heads: Sequence[str]
    lines: Sequence[Line]

    def heading(self, head: str) -> str:
        """The cell of a heading."""
        from openpyxl.utils import get_column_letter

        return f"{get_column_letter(self.heads.index(head) + 1)}1"

    def place(self, head: str, line: Line) -> str:
        """The cell of a line below a heading."""
        from openpyxl.utils import get_column_letter

        return f"{get_column_letter(self.heads.index(head) + 1)}{line.row}"


@dataclass(frozen=True)
class Book:
    """The rows of some sheets of a workbook.

    Attributes:
        path: of the file.
        stored: sheet -> rows of values.
        live: sheet -> rows as they are written, formulas included.
        merged: sheet -> areas that are one cell.
        found: every sheet but the key, as it is written.
        names: defined name -> what it stands for.
        beside: what the workbook as a whole carries that no report does.
        failing: lines of its own checks that do not hold, as it was calculated last.
    """

    path: Path
    stored: Mapping[str, Rows]
    live: Mapping[str, Rows]
    merged: Mapping[str, tuple[str, ...]]
    found: Mapping[str, Found]
    names: Mapping[str, str]
    beside: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()

    def rows(self, name: str) -> Rows:
        """The values of a sheet."""
        return self.stored[name]

    def sheet(self, name: str, expected: Sequence[str]) -> Sheet:
        """A sheet by its headings, of which the first is the id; lines without one are left out.

        Raises:
            IngestError: a heading that stands twice, or one that is lost.
        """
        rows = self.stored[name]
        heads = tuple("" if head is None else str(head).strip() for head in rows[0]) if rows else ()
        for head in expected:
            if head not in heads:
                listed = ", ".join(expected)
                raise IngestError(f"{self.path}: sheet '{name}' has lost the heading '{head}', expected {listed}")
            if heads.count(head) > 1:
                raise IngestError(f"{self.path}: sheet '{name}' has the heading '{head}' twice")
        lines = [
            Line(number, dict(zip(heads, stored, strict=True)), dict(zip(heads, live, strict=True)))
            for number, (stored, live) in enumerate(zip(rows[1:], self.live[name][1:], strict=True), start=2)
        ]
        return Sheet(name, heads, [line for line in lines if line.stored[expected[0]]])


def read_book(path: Path, sheets: Sequence[str]) -> Book:
    """Read some sheets of a workbook, of which the first is the key, and all others as they are written.

    Raises:
        IngestError: no such file, no workbook, a missing sheet, or more than a response can hold; in one line.
    """
    try:
        _check_parts(path)
        with zipfile.ZipFile(path) as package:
            with _loaded(path, data_only=True) as book:
                stored, merged = _read(path, package, book, sheets)
                failing = _checks(package, book)
            with _loaded(path, data_only=False) as book:
                live, _ = _read(path, package, book, sheets)
                found = _written(package, book, sheets[0])
                shown = (f"a conditional format shows {code}" for code in disguising_formats(package))
                others = (*beside_all(package), *shown)
                names = {str(name): str(one.attr_text) for name, one in book.defined_names.items()}
    except IngestError:
        raise
    except FileNotFoundError:
        raise IngestError(f"{path}: there is no such file") from None
    except Exception as error:  # a broken package shows in many ways
        raise IngestError(f"{path}: not readable as .xlsx ({type(error).__name__})") from None
    return Book(path, _even(stored, live), _even(live, stored), merged, found, names, others, failing)


def _check_parts(path: Path) -> None:
    """Look at the list of contents before anything is unpacked."""
    size = path.stat().st_size
    if size > MOST_FILE_BYTES:
        raise IngestError(f"{path}: has {size:,} B, expected a workbook of at most {MOST_FILE_BYTES:,} B")
    with zipfile.ZipFile(path) as package:
        parts = package.infolist()
    if len(parts) > MOST_PARTS:
        raise IngestError(f"{path}: has {len(parts):,} parts, expected at most {MOST_PARTS:,}")
    for part in parts:
        most = _most_bytes(part.filename)
        if part.file_size > most:
            raise IngestError(f"{path}: '{part.filename[:60]}' unpacks to {part.file_size:,} B, expected at most {most:,.0f} B")


def _most_bytes(name: str) -> float:
    if name.startswith("xl/worksheets/"):
        return float("inf")
    return MOST_BYTES_OF.get(name, MOST_TEXT_BYTES if name.endswith((".xml", ".rels")) else MOST_PART_BYTES)


@contextlib.contextmanager
def _loaded(path: Path, data_only: bool) -> Iterator[Any]:
    """The workbook, with the values of its formulas or with the formulas; sheets are read when they are asked for."""
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=data_only, keep_links=False)
    try:
        yield book
    finally:
        book.close()


def _read(
    path: Path, package: zipfile.ZipFile, book: Any, sheets: Sequence[str]
) -> tuple[dict[str, Rows], dict[str, tuple[str, ...]]]:
    """Rows and merged areas of some sheets."""
    rows, merged = {}, {}
    for name in sheets:
        part = _part(path, book, name)
        size = package.getinfo(part).file_size
        if size > MOST_SHEET_BYTES:
            raise IngestError(f"{path}: sheet '{name}' unpacks to {size:,} B, expected at most {MOST_SHEET_BYTES:,} B")
        merged[name] = tuple(area.decode() for area in _MERGED.findall(package.read(part)))
        rows[name] = _rows(path, book[name])
    return rows, merged


def _checks(package: zipfile.ZipFile, book: Any) -> tuple[str, ...]:
    """What the sheet of checks says, where there is one."""
    sheet = next((sheet for sheet in book.worksheets if sheet.title == CHECKS_SHEET), None)
    return () if sheet is None else failing_checks(package, _part_of(sheet), sheet)


def _written(package: zipfile.ZipFile, book: Any, key: str) -> dict[str, Found]:
    """Every sheet but the key as it is written, as far as all together are no larger than a workbook of ours."""
    found, left = {}, Room(MOST_BYTES, MOST_TAGS)
    for sheet in book.worksheets[:MOST_SHEETS]:
        if sheet.title != key:
            found[str(sheet.title)], left = found_in(package, _part_of(sheet), sheet, left)
    return found


def _part(path: Path, book: Any, name: str) -> str:
    """Where a sheet lies in the package."""
    found = next((sheet for sheet in book.worksheets if sheet.title == name), None)
    if found is None:
        titles = [str(sheet.title) for sheet in book.worksheets]
        hint = nearest(name, titles)
        raise IngestError(f"{path}: there is no sheet '{name}', expected a workbook that `ingest report` made{hint}")
    return _part_of(found)


def _part_of(sheet: Any) -> str:
    return str(sheet._worksheet_path).lstrip("/")


def _rows(path: Path, sheet: Any) -> Rows:
    """The rows of a sheet down to the last one that holds anything."""
    cells = sheet.iter_rows(max_row=MOST_ROWS + 1, max_col=MOST_COLUMNS, values_only=True)
    rows = list(itertools.islice(cells, MOST_ROWS + 1))
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    if len(rows) > MOST_ROWS:
        raise IngestError(f"{path}: sheet '{sheet.title}' has more than {MOST_ROWS:,} rows, expected one for each requirement")
    return rows


def _even(rows: Mapping[str, Rows], others: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows of each sheet, as many as in the other reading: formulas without values end no sheet."""
    empty = (None,) * MOST_COLUMNS
    return {name: [*found, *(empty,) * (len(others[name]) - len(found))] for name, found in rows.items()}
