"""JSON files that are no JSON lines: an array of rows, one row over many lines, or rows one after the other."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

from ingest.corpus.compression import Stream
from ingest.corpus.formats.rows import DECODER, LIMIT_BYTES, TOO_LONG, LeftOut, encoded, value_in
from ingest.corpus.formats.text import documents
from ingest.corpus.opening import Unreadable
from ingest.corpus.terms import Note, Piece

#: read at first, doubled while a value is longer
STEP_BYTES = 2**16
_BETWEEN = " \t\r\n"


def read_json(stream: Stream, path: str, field: str, note: Note) -> Iterator[Piece]:
    """Yield the field's text of every row.

    Raises:
        Unreadable: what comes is no JSON.
    """
    left_out = LeftOut(path, "row")
    yield from documents(_texts(stream, path, field, left_out))
    left_out.tell(note)


def _texts(stream: Stream, path: str, field: str, left_out: LeftOut) -> Iterator[bytes]:
    for number, value in enumerate(values(stream, path), 1):
        try:
            text = encoded(value_in(value, field))
        except ValueError as error:
            left_out.add(number, str(error))
        else:
            yield text


def first_row_has(stream: Stream, path: str, field: str) -> bool:
    """Whether a JSON file begins with a row that holds text in a field."""
    try:
        encoded(value_in(next(values(stream, path)), field))
    except (ValueError, StopIteration, Unreadable):
        return False
    return True


def values(stream: Stream, path: str) -> Iterator[Any]:
    """Yield the elements of an array, or values one after the other; one at a time is held.

    Raises:
        Unreadable: what comes is no JSON, or a value is too long.
    """
    window = _Window(stream, path)
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


class _Window:
    """The part of a JSON text that is held."""

    def __init__(self, stream: Stream, path: str) -> None:
        self._stream = stream
        self._path = path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._parse = DECODER.raw_decode
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
        """Go to the next letter that is none of these, and return it, or nothing at the end."""
        while True:
            while self.position < len(self._text):
                if (letter := self._text[self.position]) not in letters:
                    return letter
                self.position += 1
            if self._ended:
                return ""
            self._more()

    def value(self) -> Any:
        """Return the value that begins here and go behind it."""
        while True:
            try:
                value, stop = self._parse(self._text, self.position)
            except RecursionError:
                raise Unreadable(self._path, "JSON that is nested too deep") from None
            except ValueError as error:
                if self._ended:
                    raise Unreadable(self._path, f"broken or truncated JSON: {str(error).partition(':')[0]}") from None
            else:
                # a number may go on in what has not been read yet
                if stop < len(self._text) or self._ended:
                    self.position = stop
                    return value
            if len(self._text) - self.position > LIMIT_BYTES:
                raise Unreadable(self._path, f"a JSON value {TOO_LONG}, or broken JSON")
            self._more()
