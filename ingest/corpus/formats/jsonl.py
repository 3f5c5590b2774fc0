"""JSON lines: one document per line, in a field that a dotted path names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from ingest.corpus.compression import Stream
from ingest.corpus.formats.lines import whole_lines
from ingest.corpus.formats.rows import DECODER, TOO_LONG, LeftOut, encoded, value_in
from ingest.corpus.formats.strings import check_utf8, texts_of
from ingest.corpus.formats.text import documents
from ingest.corpus.terms import Note, Piece

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_jsonl(stream: Stream, path: str, field: str, note: Note, after: int = 0) -> Iterator[Piece]:
    """Yield the field's text of every line; lines that are broken or lack it are noted, not counted.

    Lines are numbered from the first one that begins at byte `after`, or behind it.
    """
    left_out = LeftOut(path, "line", f" after byte {after}" if after else "")
    one_by_one = _OneByOne(field, left_out)
    number = 1
    for block in whole_lines(stream):
        if block is None:
            left_out.add(number, TOO_LONG)
            number += 1
            continue
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        yield from documents(_at_once(block, lines, field) or one_by_one.texts(block, number))
        number += lines
    left_out.tell(note)


def _at_once(block: bytes, lines: int, field: str) -> Iterable[bytes] | None:
    """Return the texts of all lines, or nothing unless all of them are in order, which Arrow tells several times faster."""
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


class _OneByOne:
    """Texts of lines of which some may be broken or blank, or whose field is a path."""

    def __init__(self, field: str, left_out: LeftOut) -> None:
        self._text_of = text_getter(field)
        self._left_out = left_out

    def texts(self, block: bytes, first_number: int) -> Iterator[bytes]:
        for number, line in enumerate(block.split(b"\n"), first_number):
            if not line or line.isspace():
                continue
            try:
                yield self._text_of(line)
            except ValueError as error:
                self._left_out.add(number, str(error))


def text_getter(field: str) -> Callable[[bytes], bytes]:
    """Return what finds a field's text in a line of JSON.

    The function raises `ValueError`, with the reason, where there is none.

    >>> text_getter("a.b.0")(b'{"a": {"b": ["x"]}}')
    b'x'
    """

    def text_of(line: bytes) -> bytes:
        return encoded(value_in(_parsed(line), field))

    return text_of


def _parsed(line: bytes) -> Any:
    try:
        return DECODER.decode(line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
