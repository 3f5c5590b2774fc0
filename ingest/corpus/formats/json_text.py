"""JSON lines and JSON files: one document per line or row, in a field given by a dotted path."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ingest.corpus.files.decompress import Stream
from ingest.corpus.files.source import Unreadable
from ingest.corpus.formats.columnar import check_utf8, texts_of
from ingest.corpus.formats.rows import (
    DECODER,
    DEFAULT_FIELD,
    LIMIT_BYTES,
    TOO_LONG,
    SkippedRows,
    field_texts,
    text_in,
    whole_lines,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def jsonl_texts(stream: Stream, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the field's text of every line; broken lines and lines without the field are skipped."""
    number, field = 1, text_field or DEFAULT_FIELD
    for block in whole_lines(stream):
        if block is None:
            left_out.add(number, TOO_LONG)
            number += 1
            continue
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        yield from _by_arrow(block, lines, field) or _line_by_line(block, number, field, left_out)
        number += lines


def _by_arrow(block: bytes, lines: int, field: str) -> Iterable[bytes] | None:
    """Return the texts of all lines by Arrow, which is several times faster; None unless all lines are valid."""
    import pyarrow
    import pyarrow.json

    schema = pyarrow.schema([(field, pyarrow.string())])
    try:
        check_utf8(block)  # Arrow checks it in no other field
        table = pyarrow.json.read_json(
            pyarrow.BufferReader(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        column = table.column(0)
        column.validate(full=True)
    except pyarrow.ArrowException:
        return None
    in_order = len(column) == lines and not column.null_count
    return chain.from_iterable(map(texts_of, column.chunks)) if in_order else None


def _line_by_line(block: bytes, first_number: int, field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the texts of lines of which some may be broken or blank, or whose field is a path."""
    for number, line in enumerate(block.split(b"\n"), first_number):
        if not line or line.isspace():
            continue
        try:
            row = DECODER.decode(line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"))
        except UnicodeDecodeError:
            left_out.add(number, "not UTF-8")
            continue
        except (ValueError, RecursionError):
            left_out.add(number, "not JSON")
            continue
        try:
            yield text_in(row, field)
        except ValueError as error:
            left_out.add(number, str(error))


#: bytes of the first read, doubled while a value is longer
STEP_BYTES = 2**16
_BETWEEN = " \t\r\n"


def json_texts(stream: Stream, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the field's text of every row. Raises Unreadable: the file is not JSON."""
    return field_texts(values(stream, left_out.path), text_field or DEFAULT_FIELD, left_out)


def values(stream: Stream, path: str) -> Iterator[Any]:
    """Yield the elements of a JSON array, or consecutive values, holding one at a time.

    Raises Unreadable: the file is not JSON, or a value is too long.
    """
    window = _JsonReader(stream, path)
    in_array = window.skip(_BETWEEN) == "["
    if in_array:
        window.position += 1
    while following := window.skip(_BETWEEN + "," if in_array else _BETWEEN):
        if in_array and following == "]":
            window.position += 1
            in_array = False
            continue
        yield window.value()
    if in_array:
        raise Unreadable(path, "truncated: its JSON array has no end")


class _JsonReader:
    def __init__(self, stream: Stream, path: str) -> None:
        self._stream = stream
        self._path = path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._ended = False
        self.position = 0

    def _more(self) -> None:
        data = self._stream.read(max(STEP_BYTES, len(self._text) - self.position))
        self._ended = not data
        try:
            self._text = self._text[self.position :] + self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise Unreadable(self._path, f"not UTF-8: {error.reason}") from None
        self.position = 0

    def skip(self, letters: str) -> str:
        """Go to the next character that is not in `letters`, and return it; empty at the end."""
        while True:
            while self.position < len(self._text):
                if (letter := self._text[self.position]) not in letters:
                    return letter
                self.position += 1
            if self._ended:
                return ""
            self._more()

    def value(self) -> Any:
        """Return the value at the position, and move past it."""
        while True:
            try:
                value, stop = DECODER.raw_decode(self._text, self.position)
            except RecursionError:
                raise Unreadable(self._path, "JSON that is nested too deep") from None
            except ValueError as error:
                if self._ended:
                    raise Unreadable(self._path, f"broken or truncated JSON: {str(error).partition(':')[0]}") from None
            else:
                # a number may continue in data not yet read
                if stop < len(self._text) or self._ended:
                    self.position = stop
                    return value
            if len(self._text) - self.position > LIMIT_BYTES:
                raise Unreadable(self._path, f"a JSON value {TOO_LONG}, or broken JSON")
            self._more()
