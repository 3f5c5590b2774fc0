"""One sheet of a workbook that came back, as it is written: every cell, its comments, and what hides or disguises it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

from ingest.tender.beside import beside, links_of

#: Bytes and tags of all sheets that are read cell by cell.
MOST_BYTES, MOST_TAGS = 60_000_000, 5_000_000
MOST_ROWS, MOST_COLUMNS = 60_000, 100
#: Comments of one sheet that are read.
MOST_COMMENTS = 50
#: A format that shows letters of its own, or nothing at all.
_LETTERS = re.compile(r'"[^"]*\w[^"]*"|\\\w')
_HIDDEN = re.compile(rb"""<(?:\w+:)?(?:row|col)\b[^>]*?\s(?:hidden=["'](?:1|true)["']|(?:ht|width)=["']0(?:\.\d*)?["'])""")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Room(NamedTuple):
    """How much more may be read."""

    bytes: int
    tags: int


class Found(NamedTuple):
    """A sheet as it is written.

    Attributes:
        cells: place -> text, number, formula; only cells that hold anything.
        state: `visible` or not.
        disguised: place -> number format that shows something else than the cell holds.
        comments: place -> text.
        hidden: rows, and groups of columns, that are not shown.
        beside: what stands beside the cells.
        too_large: whether it was too large to be read; then it has no cells.
    """

    cells: Mapping[str, Any]
    state: str
    disguised: Mapping[str, str]
    comments: Mapping[str, str]
    hidden: int
    beside: tuple[str, ...] = ()
    too_large: bool = False


def found_in(package: zipfile.ZipFile, part: str, sheet: Any, room: Room) -> tuple[Found, Room]:
    """Read a sheet; returns it, and how much room is left.

    Args:
        package: the workbook.
        part: the name of the sheet's part.
        sheet: the same, as openpyxl reads it, formulas and not their values.
        room: how much may be read.
    """
    state = str(sheet.sheet_state)
    data = b"" if package.getinfo(part).file_size > room.bytes else package.read(part)
    tags = data.count(b"<")
    if not data or tags > room.tags:
        return Found({}, state, {}, {}, 0, too_large=True), room
    cells: dict[str, Any] = {}
    disguised: dict[str, str] = {}
    for cell in _cells(sheet):
        cells[cell.coordinate] = cell.value
        if is_disguise(str(cell.number_format)):
            disguised[cell.coordinate] = str(cell.number_format)
    comments, hidden = dict(_comments(package, part)), len(_HIDDEN.findall(data))
    found = Found(cells, state, disguised, comments, hidden, beside(package, part, data))
    return found, Room(room.bytes - len(data), room.tags - tags)


def _cells(sheet: Any) -> Iterator[Any]:
    """The cells that hold anything."""
    for row in sheet.iter_rows(max_row=MOST_ROWS, max_col=MOST_COLUMNS):
        yield from (cell for cell in row if cell.value not in (None, ""))


def is_disguise(shown: str) -> bool:
    """Whether a number format shows letters of its own, or nothing where something stands.

    >>> is_disguise("#,##0.0##"), is_disguise(';;;"nothing"'), is_disguise(";;;"), is_disguise("[>=1000]#,##0;General")
    (False, True, True, False)
    """
    return bool(_LETTERS.search(shown)) or any(not section.strip() for section in shown.split(";"))


def _comments(package: zipfile.ZipFile, part: str) -> Iterator[tuple[str, str]]:
    """The comments on a sheet."""
    for link in links_of(package, part):
        if link.kind == "comments" and link.target in package.namelist():
            written = ElementTree.fromstring(package.read(link.target)).iter(f"{_MAIN}comment")
            for comment in list(written)[:MOST_COMMENTS]:
                yield comment.get("ref", ""), "".join(text.text or "" for text in comment.iter(f"{_MAIN}t"))
