"""JSON lines: one document per line, in a field that a dotted path names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ingest.corpus.compression import Stream
from ingest.corpus.formats.lines import line_blocks
from ingest.corpus.formats.rows import LIMIT_BYTES, LeftOut, Missing, at_path, encoded
from ingest.corpus.formats.text import PIECE_BYTES, pieces
from ingest.corpus.terms import Note, Piece

TOO_LONG = f"longer than {LIMIT_BYTES // 2**20} MiB"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_jsonl(stream: Stream, path: str, field: str, note: Note) -> Iterator[Piece]:
    """Yield the field's text of every line; lines that are broken or lack it are noted, not counted."""
    left_out = LeftOut(path, "line")
    text_of = text_getter(field)
    number = 0
    for lines in line_blocks(stream):
        for line in lines:
            number += 1
            if line is None:
                left_out.add(number, TOO_LONG)
                continue
            if not line or line.isspace():
                continue
            try:
                text = text_of(line)
            except ValueError as error:
                left_out.add(number, str(error))
                continue
            if len(text) <= PIECE_BYTES:
                yield Piece(text, True)
            else:
                yield from pieces(text)
    left_out.tell(note)


def text_getter(field: str) -> Callable[[bytes], bytes]:
    """Return what finds a field's text in a line of JSON.

    The function raises `ValueError`, with the reason, where there is none.

    >>> text_getter("a.b.0")(b'{"a": {"b": ["x"]}}')
    b'x'
    """
    steps = tuple(field.split("."))
    parse = json.JSONDecoder().decode

    def text_of(line: bytes) -> bytes:
        try:
            value = parse(line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"))
        except UnicodeDecodeError:
            raise ValueError("not UTF-8") from None
        except (ValueError, RecursionError):
            raise ValueError("not JSON") from None
        return encoded(found_at(value, field, steps))

    return text_of


def found_at(value: Any, field: str, steps: tuple[str, ...]) -> Any:
    """Return what a row holds in a field, which may also be one key that has dots in it.

    Raises:
        ValueError: nothing.
    """
    if isinstance(value, dict) and field in value:
        return value[field]
    try:
        return at_path(value, steps)
    except Missing:
        raise ValueError(f"no field '{field}'") from None
