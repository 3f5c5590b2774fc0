"""The sheets of requirements and answers in a workbook from outside, read as data and within limits."""

from __future__ import annotations

import contextlib
import html
import itertools
import math
import os
import posixpath
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ingest.errors import IngestError, brief, cannot_be_read, listed, nearest
from ingest.files import open_regular
from ingest.rfp.response_form import CALCULATED, FORMAT_PROPERTY, HEADS, OFFERED_UNIT, REQUESTS, RESPONSE_SHEET
from ingest.text import grouped
from ingest.version import newer

#: Limits of a file, of the number of its parts, and of each sheet that is read.
MOST_FILE_BYTES, MOST_PARTS, MOST_SHEET_BYTES = 50_000_000, 2_000, 5_000_000
#: Bytes of a part by its name, of other parts of text, and of pictures; sheets are limited when they are read.
#: Styles are the slowest to read: a megabyte of formats takes ten seconds.
MOST_BYTES_OF = {"xl/styles.xml": 1_000_000}
MOST_TEXT_BYTES, MOST_PART_BYTES = 5_000_000, 20_000_000
MOST_ROWS, MOST_COLUMNS = 1_000, 100
#: Relative difference up to which two numbers are the same after a spreadsheet program has stored them.
SAME = 1e-9
Rows = list[tuple[Any, ...]]
_COMMENT = re.compile(
    rb'<(?:\w+:)?(?:threadedC|c)omment\b[^<>]*?\bref="[A-Z]+(\d+)"[^<>]*>(.*?)</(?:\w+:)?(?:threadedC|c)omment>', re.DOTALL
)
_ON_PAGE = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]+)<")
#: Of a page: the fonts and fields of its header; texts that show when a cell is chosen; rows and columns that do not show.
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K[0-9A-F]{6}|[A-Z])')
_ON_CELLS = re.compile(rb'\b(?:prompt|promptTitle|tooltip)="([^"]+)"')
_HIDDEN = re.compile(
    rb'<(?:\w+:)?(row|col)\b(?=[^<>]*\b(?:hidden="(?:1|true)"|(?:ht|width)="0?(?:\.\d*)?"))[^<>]*?\b(?:r|min)="(\d+)"'
)
#: Of a workbook: texts of drawings, constants with a name, properties, and cells that are struck out or white in part.
_DRAWN = re.compile(rb"<(?:\w+:)?t\b[^<>]*>([^<]+)</")
_NAMED = re.compile(rb"<(?:\w+:)?definedName\b[^<>]*>([^<]*(?:&quot;|\")[^<]*)<")
_PROPERTIES = re.compile(rb"<(?:\w+:)?(title|subject|keywords|description|category|contentStatus)\b[^<>]*>([^<]+)<")
_IN_PART = re.compile(rb'<(?:\w+:)?rPr>(?:(?!</(?:\w+:)?rPr>).)*<(?:\w+:)?(?:strike\b|color rgb="(?:FF|00)FFFFFF")', re.DOTALL)
#: What only a comparison with the workbook that was sent can tell to be the vendor's.
OF_THE_PAGE, PROPERTY = "header or footer", "property"
#: Characters that do not show.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028\u2029\u2060-\u2064\ufeff]")
#: Points below which nobody reads a text.
LEAST_POINTS = 4
WHITE = ("FFFFFFFF", "00FFFFFF")
#: Parts of the number format of a cell: texts, what is in brackets, padding, digits with their separators.
_FORMAT = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<bracket>\[[^\]]*\])|[_*].|;'
    r"|(?P<digits>General|[#0?](?:[#0?.,]*[#0?.])?(?:[eE][+-][#0?]+)?|,+)|(?P<other>[^;])"
)
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^<>]*?\bref="([A-Z0-9:$]+)"')
#: A number with its points, commas and spaces.
NUMBER = re.compile(r"[+]?\d(?:[\d.,'_’]|[  ](?=\d{3}(?!\d)))*(?:[eE][+-]?\d+)?")
#: An amount of a price with one comma before three digits is in thousands: nobody prices in thousandths.
MOST_CENTS = 1_000


class SheetLine(NamedTuple):
    """One line of a sheet, by heading: the stored values, and the cells as written, formulas included."""

    row: int
    stored: Mapping[str, Any]
    live: Mapping[str, Any]


@dataclass(frozen=True)
class Sheet:
    """A sheet with one line per requirement."""

    path: Path  # of the workbook
    name: str  # of the sheet
    heads: Sequence[str]  # its headings
    lines: Sequence[SheetLine]  # those with an id, in order
    merged: Sequence[str] = ()  # areas that are one cell
    comments: Mapping[int, str] = field(default_factory=dict)  # what comments on the cells of a row say
    loose: Sequence[str] = ()  # what stands where no answer does: beside the form, below it, on its headings

    def place(self, head: str, line: SheetLine) -> str:
        """The cell of a line below a heading."""
        from openpyxl.utils import get_column_letter

        return f"{get_column_letter(self.heads.index(head) + 1)}{line.row}"


def read_sheets(path: Path) -> dict[str, Sheet]:
    """Read the sheets of requirements and answers.

    Raises:
        IngestError: no such file, no workbook, a format not known yet, a missing sheet, a lost or repeated heading,
            formulas without stored values, or more than a response can hold; in one line.
    """
    with _opened(path) as (package, book):
        # Programs that drop the property leave the columns, which decide.
        if why := newer({one.name: one.value for one in book.custom_doc_props.props}.get(FORMAT_PROPERTY)):
            raise IngestError(f"{path}: {why}")
        merged = {name: _merged(path, package, book, name) for name in HEADS}
        said = {name: _comments(package, str(book[name]._worksheet_path).lstrip("/")) for name in HEADS}
        stored = {name: _rows(path, book[name], _shown) for name in HEADS}
        # A sheet is parsed each time its rows are taken; styles and texts are loaded once.
        book._data_only = False
        live = {name: _rows(path, book[name]) for name in HEADS}
    return {name: _sheet(path, name, stored[name], live[name], merged[name], said[name]) for name in HEADS}


def other_sheets(path: Path) -> dict[str, Rows]:
    """The rows of the sheets that are neither the requirements nor the form, such as the terms.

    Raises IngestError: no workbook, or a sheet that is larger than a tender; in one line.
    """
    with _opened(path) as (package, book):
        others = [sheet for sheet in book.worksheets if sheet.title not in HEADS]
        for sheet in others:
            _part_of(path, package, sheet)
        return {str(sheet.title): _rows(path, sheet, _shown) for sheet in others}


def page_texts(path: Path) -> dict[str, list[str]]:
    """What stands beside the cells of each sheet and, without a name, of the workbook: headers and footers of pages, prompts,
    drawings, properties, comments where no line is read; and what is hidden.

    Raises IngestError: no workbook; in one line.
    """
    found = {}
    with _opened(path) as (package, book):
        for sheet in book.worksheets:
            part = _part_of(path, package, sheet)
            content = package.read(part)
            said = [f"{OF_THE_PAGE}: {_CODES.sub(' ', _text(one))}" for one in _ON_PAGE.findall(content)]
            said += [_text(one) for one in _ON_CELLS.findall(content)]
            hidden = [(kind.decode(), int(at)) for kind, at in _HIDDEN.findall(content)]
            said += [f"{kind} {at} is hidden" for kind, at in hidden if at <= (MOST_ROWS if kind == "row" else MOST_COLUMNS)]
            said += ["the sheet is hidden"] * (sheet.sheet_state != "visible")
            if sheet.title not in HEADS:
                said += [text for _, text in sorted(_comments(package, part).items())]
            found[str(sheet.title)] = [" ".join(text.split()) for text in said]
        names = package.namelist()
        drawn = [name for name in names if name.startswith(("xl/drawings/", "xl/charts/")) and name.endswith(".xml")]
        said = [_text(one) for name in drawn for one in _DRAWN.findall(package.read(name))]
        said += [f"a picture: {name}" for name in names if name.startswith("xl/media/")]
        said += [_text(one) for one in _NAMED.findall(package.read("xl/workbook.xml"))]
        if "docProps/core.xml" in names:
            stated = _PROPERTIES.findall(package.read("docProps/core.xml"))
            said += [f"{PROPERTY} {name.decode()}: {_text(one)}" for name, one in stated]
        if "xl/sharedStrings.xml" in names and _IN_PART.search(package.read("xl/sharedStrings.xml")):
            said.append("a cell is struck out or white in part")
        found[""] = [" ".join(text.split()) for text in said]
    return found


def _text(written: bytes) -> str:
    return html.unescape(written.decode("utf-8", "replace"))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, Any]]:
    """The package and the workbook in it with the values of its formulas; whatever is wrong with either becomes one line."""
    try:
        # The table of contents, before anything is unpacked.
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
        if size > MOST_FILE_BYTES:
            raise IngestError(f"{path}: has {size:,} B, expected a workbook of at most {MOST_FILE_BYTES:,} B")
        with zipfile.ZipFile(path) as package:
            parts = package.infolist()
        if len(parts) > MOST_PARTS:
            raise IngestError(f"{path}: has {len(parts):,} parts, expected at most {MOST_PARTS:,}")
        for part in parts:
            name, size = part.filename, part.file_size
            most = MOST_BYTES_OF.get(name, MOST_TEXT_BYTES if name.endswith((".xml", ".rels")) else MOST_PART_BYTES)
            if size > most and not name.startswith("xl/worksheets/"):
                raise IngestError(f"{path}: '{name[:60]}' unpacks to {size:,} B, expected at most {most:,.0f} B")
        import openpyxl

        with zipfile.ZipFile(path) as package, warnings.catch_warnings():
            # What openpyxl drops from a sheet, such as a print area, is no value; its warning would repeat the vendor's text.
            warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
            # A sheet is parsed when it is used.
            with contextlib.closing(openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)) as book:
                yield package, book
    except IngestError:
        raise
    except OSError as error:
        raise IngestError(cannot_be_read(path, error.strerror, "a workbook that `ingest report` made")) from None
    except Exception as error:  # a broken package shows in many ways
        raise IngestError(f"{path}: not readable as .xlsx: a part is missing or damaged ({brief(str(error))})") from None


def _merged(path: Path, package: zipfile.ZipFile, book: Any, name: str) -> tuple[str, ...]:
    """The merged areas of a sheet, after its size is checked."""
    sheet = next((sheet for sheet in book.worksheets if sheet.title == name), None)
    if sheet is None:
        titles = [str(sheet.title) for sheet in book.worksheets]
        hint = nearest(name, titles)
        raise IngestError(
            f"{path}: there is no sheet '{name}', expected a workbook that `ingest report --for-vendor` made{hint}"
        )
    return tuple(area.decode() for area in _MERGED.findall(package.read(_part_of(path, package, sheet))))


def _part_of(path: Path, package: zipfile.ZipFile, sheet: Any) -> str:
    """The part of the package that holds a sheet, after its size is checked."""
    part = str(sheet._worksheet_path).lstrip("/")
    size = package.getinfo(part).file_size
    if size > MOST_SHEET_BYTES:
        raise IngestError(
            f"{path}: sheet {brief(str(sheet.title))} unpacks to {size:,} B, expected at most {MOST_SHEET_BYTES:,} B"
        )
    return part


def _rows(path: Path, sheet: Any, read: Callable[[Any], Any] = lambda cell: cell.value) -> Rows:
    """The rows of a sheet down to the last one that holds anything, as `read` has each cell."""
    cells = sheet.iter_rows(max_row=MOST_ROWS + 1, max_col=MOST_COLUMNS)
    rows = [tuple(_double(read(cell)) for cell in row) for row in itertools.islice(cells, MOST_ROWS + 1)]
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    if len(rows) > MOST_ROWS:
        raise IngestError(f"{path}: sheet '{sheet.title}' has more than {MOST_ROWS:,} rows, expected one for each requirement")
    return rows


def _shown(cell: Any) -> Any:
    """The value of a cell as a reader sees it: a text where it is struck out, or in the colour of its ground, or tiny."""
    value = _formatted(cell)
    value = INVISIBLE.sub("", value) if isinstance(value, str) else value
    if value in (None, "") or cell.row == 1:
        return value
    font, fill = cell.font, cell.fill
    colour = font.color
    ground = fill.fgColor.rgb if fill.fill_type == "solid" else WHITE[0]
    is_white = colour is not None and (
        (colour.type == "rgb" and colour.rgb in (*WHITE, ground)) or (colour.type == "theme" and colour.theme == 0)
    )
    mark = "struck out" if font.strike else "not shown" if is_white or (font.sz or LEAST_POINTS) < LEAST_POINTS else ""
    return f"{value:.15g} ({mark})" if mark and isinstance(value, float) else f"{value} ({mark})" if mark else value


def _formatted(cell: Any) -> Any:
    """The value of a cell; of a number with words in its format, in thousands, in % or hidden, the text that a reader sees."""
    number = cell.value
    if not isinstance(number, (int, float)) or isinstance(number, bool) or cell.number_format in (None, "General"):
        return number
    sections: list[list[re.Match[str]]] = [[]]
    for part in _FORMAT.finditer(cell.number_format):
        if part[0] == ";":
            sections.append([])
        else:
            sections[-1].append(part)
    if any(part["bracket"] and part[0][1:2] in "<=>" for section in sections for part in section):
        chosen = [part for section in sections for part in section]  # which of them holds is for a person to see
    else:
        by_sign = 1 if number < 0 else 2 if number == 0 else 0
        chosen = sections[by_sign if by_sign < len(sections) else 0]
    words = [part["quoted"] or part["escaped"] or part["other"] or ("\0" if part["digits"] else "") for part in chosen]
    before, _, after = "".join(words).partition("\0")
    thousands = sum(part["digits"].count(",") for part in chosen if part["digits"] and set(part["digits"]) == {","})
    if not (number == 0 and words) and not any(part["digits"] for part in chosen):
        return f"{number:.15g} (not shown)"
    percent = any(part["other"] == "%" for part in chosen)
    if not thousands and not re.search(r"[\w%]", before + after.replace("\0", "")):
        return number
    return f"{before}{number * 100**percent / 1000**thousands:.15g}{after}".replace("\0", "")


def _double(value: Any) -> Any:
    """A number as spreadsheet programs hold it, however many digits the file has."""
    if not isinstance(value, int) or abs(value) <= 2**53:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _comments(package: zipfile.ZipFile, part: str) -> dict[int, str]:
    """What comments on cells say, by row; those of threads too."""
    folder, _, name = part.rpartition("/")
    links = f"{folder}/_rels/{name}.rels"
    if links not in package.namelist():
        return {}
    targets = re.findall(rb'Target="([^"]*[Cc]omment[^"]*\.xml)"', package.read(links))
    places = (posixpath.normpath(posixpath.join(folder, target.decode())).lstrip("/") for target in targets)
    comments = (pair for one in places if one in package.namelist() for pair in _COMMENT.findall(package.read(one)))
    plain = ((row, re.sub(rb"<[^>]*>", b"", text).decode("utf-8", "replace").split()) for row, text in comments)
    found = grouped((int(row), html.unescape(" ".join(words))) for row, words in plain)
    return {row: "; ".join(dict.fromkeys(words)) for row, words in found.items()}


def _sheet(path: Path, name: str, stored: Rows, live: Rows, merged: Sequence[str], comments: Mapping[int, str]) -> Sheet:
    """A sheet by its headings, of which the first is the id; lines without an id are left out."""
    heads = tuple("" if head is None else str(head).strip() for head in stored[0]) if stored else ()
    expected = HEADS[name]
    for head in expected:
        if head not in heads:
            raise IngestError(f"{path}: sheet '{name}' lacks the heading '{head}', expected {', '.join(expected)}")
        if heads.count(head) > 1:
            raise IngestError(f"{path}: sheet '{name}' has the heading '{head}' twice")
    # The last rows may hold formulas without stored values, or the other way round.
    pairs = itertools.zip_longest(stored[1:], live[1:], fillvalue=(None,) * len(heads))
    lines = [
        SheetLine(number, dict(zip(heads, values, strict=True)), dict(zip(heads, written, strict=True)))
        for number, (values, written) in enumerate(pairs, start=2)
    ]
    own = [line for line in lines if line.stored[expected[0]]]
    sheet = Sheet(
        path, name, heads, own, merged, comments, tuple(_loose(name, heads, stored, {line.row for line in own}, comments))
    )
    # What formulas without stored values require is unknown.
    empty = [
        f"{sheet.name}!{sheet.place(head, line)}"
        for line in sheet.lines
        for head in CALCULATED[sheet.name]
        if is_formula(line.live.get(head)) and line.stored.get(head) in (None, "")
    ]
    if empty:
        raise IngestError(
            f"{sheet.path}: found formulas without values ({listed(empty, 1)}), expected a file that a spreadsheet program has"
            " calculated: open it in one, save it, and evaluate that file"
        )
    return sheet


def _loose(
    name: str, heads: Sequence[str], rows: Rows, answered: Collection[int], comments: Mapping[int, str]
) -> Iterator[str]:
    """What stands where no answer does: in a column that the form lacks, in a row without an id, in a comment on neither."""
    own = {*HEADS[name], OFFERED_UNIT, REQUESTS}
    for number, row in enumerate(rows, start=1):
        for head, value in zip(heads, row, strict=False):
            # Headings of requirements differ by the version that wrote them; the form has its own, and margins.
            foreign = not head or (name == RESPONSE_SHEET and head not in own and not head.startswith("Margin"))
            words = " ".join(str(value).split()) if value is not None else ""
            if words and (foreign or (number > 1 and number not in answered)):
                yield f"{name}, row {number}: {words}"
    # An answer has the comments on its own row.
    own_rows = answered if name == RESPONSE_SHEET else ()
    yield from (f"{name}, comment in row {row}: {text}" for row, text in comments.items() if row not in own_rows)


def number_of(written: str, plausible: Callable[[float], bool] = bool) -> float | None:
    """The number that digits with points, commas and spaces stand for; None where it may be one or another.

    Where one comma or point may group or separate, the reading counts that is `plausible` alone.

    >>> number_of("71,4"), number_of("1.441.000"), number_of("1 441 000"), number_of("1,441,000.5"), number_of("2.5e3")
    (71.4, 1441000.0, 1441000.0, 1441000.5, 2500.0)
    >>> number_of("1,500"), number_of("1,500", lambda value: value > 100)
    (None, 1500.0)
    """
    text = re.sub(r"[\s'_’  +]", "", written).rstrip(".,")
    mantissa, power, exponent = text.lower().partition("e")
    marks = [mark for mark in mantissa if mark in ".,"]
    if marks and len(set(marks)) == len(marks) == 1 and marks[0] == "," and re.fullmatch(r"\d{1,3},\d{3}", mantissa):
        readings = [one for one in (float(mantissa.replace(",", "")), float(mantissa.replace(",", "."))) if plausible(one)]
        return readings[0] if len(readings) == 1 else None
    last = marks[-1] if marks else "."
    if marks.count(last) > 1:  # it groups
        mantissa = mantissa.replace(",", "").replace(".", "")
    else:
        mantissa = mantissa.replace("," if last == "." else ".", "").replace(last, ".")
    try:
        return float(mantissa + power + exponent)
    except ValueError:
        return None


def number_in(written: object) -> float | None:
    """The only number of a cell, such as that of `1.250.000 EUR`; None where there is none, or it may be one or another."""
    if isinstance(written, (int, float)) and not isinstance(written, bool):
        return float(written)
    numbers = NUMBER.findall(str(written or ""))
    return number_of(numbers[0], lambda value: value >= MOST_CENTS) if len(numbers) == 1 else None


def is_formula(written: Any) -> bool:
    """Whether a cell holds a formula; openpyxl gives an object for one that fills an area."""
    plain = written is None or isinstance(written, (bool, int, float)) or hasattr(written, "isoformat")
    return written.startswith("=") if isinstance(written, str) else not plain


def same(found: Any, expected: Any) -> bool:
    """Whether two cells hold the same: numbers within `SAME`, texts word by word."""
    if all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (found, expected)):
        return bool(abs(found - expected) <= SAME * abs(expected))
    if isinstance(found, str) and isinstance(expected, str):
        return found.split() == expected.split()
    return bool(found == expected) or (found in (None, "") and expected in (None, ""))
