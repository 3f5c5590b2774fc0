"""CSV and TSV: one document per row, in a column that the header names."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from ingest.corpus.files.decompress import Stream
from ingest.corpus.files.source import Unreadable
from ingest.corpus.formats.buffered import whole_lines
from ingest.corpus.formats.plain_text import documents
from ingest.corpus.formats.rows import DEFAULT_FIELD, LIMIT_BYTES, TOO_LONG, SkippedRows
from ingest.corpus.types import Chunk, Note
from ingest.errors import nearest

DELIMITERS = {"csv": ",", "tsv": "\t"}
_NAMED = 8


def read_separated(stream: Stream, path: str, form: str, text_field: str, note: Note) -> Iterator[Chunk]:
    """Yield the text column of every row; rows with another number of columns are skipped.

    Raises:
        Unreadable: the column is missing, quoting is invalid, or the file is not UTF-8.
    """
    left_out = SkippedRows(path, "row")
    csv.field_size_limit(LIMIT_BYTES)
    yield from documents(_texts(_rows(stream, path, form), path, text_field, left_out))
    left_out.tell(note)


def _rows(stream: Stream, path: str, form: str) -> Iterator[list[str]]:
    rows = csv.reader(_lines(stream, path), delimiter=DELIMITERS[form], strict=True)
    try:
        yield from rows
    except csv.Error as error:
        raise Unreadable(path, f"line {rows.line_num} is no {form.upper()}: {error}") from None


def _lines(stream: Stream, path: str) -> Iterator[str]:
    mark = "\ufeff"
    for block in whole_lines(stream):
        if block is None:
            raise Unreadable(path, f"a line {TOO_LONG}")
        try:
            text = block.decode("utf-8").removeprefix(mark)
        except UnicodeDecodeError:
            raise Unreadable(path, "not UTF-8") from None
        mark = ""
        # only line feeds end a line: str.splitlines also splits at characters that occur within texts
        yield from (line + "\n" for line in text.removesuffix("\n").split("\n"))


def _texts(rows: Iterator[list[str]], path: str, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    header = next(rows, None)
    if header is None:
        return
    column = _column(header, text_field, path)
    for number, row in enumerate(rows, 2):
        if len(row) == len(header):
            yield row[column].encode("utf-8")
        elif row:
            left_out.add(number, f"other than the {len(header)} columns of the header")


def _column(header: list[str], text_field: str, path: str) -> int:
    if len(header) == 1 and not text_field:
        return 0
    field = text_field or DEFAULT_FIELD
    if field not in header:
        known = ", ".join(header[:_NAMED]) + (", …" if len(header) > _NAMED else "")
        raise Unreadable(path, f"no column '{field}', it has {known}{nearest(field, header)}")
    return header.index(field)
