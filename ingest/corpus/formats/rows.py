"""What the readers of several formats share: lines and small steps in bounded memory, chunks, skipped rows, fields by path."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ingest.corpus.files.source import OUTPUT_BYTES, Stream, Unreadable
from ingest.corpus.types import Chunk, Note, SkippedFile
from ingest.errors import nearest

#: largest chunk, which bounds the memory of reader and tokenizer
CHUNK_BYTES = 2**23
#: Longer lines, fields and members are skipped, because they would have to fit in memory.
LIMIT_BYTES = 32 * 2**20
TOO_LONG = f"longer than {LIMIT_BYTES // 2**20} MiB"
#: the field or column that holds the text, unless the user names one
DEFAULT_FIELD = "text"
#: accepts numbers of any length: `int` refuses those of more than some thousand digits
DECODER = json.JSONDecoder(parse_int=float)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: an object that begins with a key, or an array of such
_JSON = re.compile(rb'\s*(\[\s*)?\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
#: rows named individually per reason
_NAMED = 2
#: columns that a message names
MOST_COLUMNS = 8
#: a UTF-8 character has up to four bytes, of which a chunk may lack up to three at its end
_LONGEST_TAIL = 3
#: Damage at more than one place, and than one in so many bytes, or of a larger share of the bytes, is no text.
MOST_PLACES = 0.001
MOST_DAMAGED = 0.1
#: bytes that are decoded again after each damaged place
_WINDOW = 2**16
_NULS = re.compile(rb"\0+")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_KINDS = {type(None): "null", bool: "a truth value", list: "a list", dict: "an object", bytes: "bytes"}


def not_text_reason(data: bytes, offset: int = 0) -> str:
    r"""Return why bytes are not plain text; empty if they are. Positions count from `offset`.

    >>> not_text_reason(b"caf\xc3\xa9"), not_text_reason(b"a\0b"), not_text_reason(b"caf\xe9", 100)
    ('', 'binary: a NUL at byte 1', 'not UTF-8 at byte 103')
    """
    if b"\0" in data:
        if data.startswith(_UTF16) and offset == 0:
            return "not UTF-8: it begins like UTF-16"
        return f"binary: a NUL at byte {offset + data.index(0)}"
    view, place = memoryview(data), 0
    try:
        while place < len(data):  # in steps that stay in the cache of a core
            place += codecs.utf_8_decode(view[place : place + _WINDOW], "strict", place + _WINDOW >= len(data))[1]
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {offset + place + error.start}"
    return ""


def is_too_damaged(places: int, damaged: int, size: int) -> bool:
    """Whether a file of so many bytes, of which so many at so many places are no text, holds no text."""
    return places > max(1, MOST_PLACES * size) or damaged > MOST_DAMAGED * size


class Damage:
    """The NUL bytes and invalid sequences of a text: they are left out, counted and placed; too many of them are no text.

    Of a piece of a text only the damage of all pieces is judged.
    """

    def __init__(self, path: str, is_piece: bool = False) -> None:
        self.path, self._is_piece = path, is_piece
        self.seen = self.places = self.bytes = 0
        self._first: list[str] = []

    def without(self, data: bytes, offset: int) -> bytes:
        """Bytes, which begin at `offset` of the text, without their damage. Raises Unreadable: there is too much of it."""
        self.seen += len(data)
        if not (reason := not_text_reason(data, offset)):
            return data
        kept, place = [], 0
        while place < len(data):
            window = data[place : place + _WINDOW]
            try:
                end = bad = place + codecs.utf_8_decode(window, "strict", place + _WINDOW >= len(data))[1]
            except UnicodeDecodeError as error:
                end, bad = place + error.start, place + error.end
            for found in _NULS.finditer(data, place, end):
                self._add(found.end() - found.start(), f"NUL at byte {offset + found.start():,}", reason)
            kept.append(data[place:end].replace(b"\0", b""))
            if bad > end:
                self._add(bad - end, f"not UTF-8 at byte {offset + end:,}", reason)
            place = bad
        return b"".join(kept)

    def _add(self, size: int, what: str, reason: str) -> None:
        self.places += 1
        self.bytes += size
        if len(self._first) < _NAMED:
            self._first.append(what)
        if not self._is_piece and is_too_damaged(self.places, self.bytes, self.seen):
            raise Unreadable(self.path, reason)

    def tell(self, note: Note) -> None:
        """Report the damage, which leaves no document out."""
        if self.places:
            more = f" and {self.places - _NAMED:,} more" if self.places > _NAMED else ""
            note(SkippedFile(self.path, f"{self.bytes:,} B that are no text: {', '.join(self._first)}{more}", 0))


def whole_characters(data: bytes) -> int:
    r"""Return the number of bytes without an incomplete character at the end.

    >>> whole_characters(b"caf\xc3"), whole_characters(b"caf\xc3\xa9")
    (3, 5)
    """
    for back in range(1, min(_LONGEST_TAIL, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            wanted = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return len(data) - back if wanted > back else len(data)
        if byte < 0x80:
            break
    return len(data)


def documents(texts: Iterable[bytes]) -> Iterator[Chunk]:
    """Yield UTF-8 documents in chunks."""
    for text in texts:
        start = 0
        while len(text) - start > CHUNK_BYTES:
            stop = start + whole_characters(text[start : start + CHUNK_BYTES])
            yield Chunk(text[start:stop], False)
            start = stop
        yield Chunk(text[start:] if start else text, True)


class SkippedRows:
    """Skipped rows of one file, by reason: the first by number, the others counted."""

    def __init__(self, path: str, unit: str) -> None:
        self.path, self._unit = path, unit
        self._names: dict[str, list[str]] = {}
        self._times = Counter[str]()

    def add(self, name: object, reason: str) -> None:
        self._times[reason] += 1
        if self._times[reason] <= _NAMED:
            self._names.setdefault(reason, []).append(str(name))

    def tell(self, note: Note) -> None:
        """Report each reason once."""
        for reason, times in self._times.items():
            names = self._names[reason]
            who = f"{', '.join(names)} and {times - _NAMED} more" if times > _NAMED else " and ".join(names)
            note(SkippedFile(self.path, f"{self._unit}{'s' if times > 1 else ''} {who}: {reason}", times))


def fields_in(text_field: str) -> list[str]:
    """The fields that may hold the text, the first that there is; without one of the user's, `text`."""
    return text_field.split(",") if text_field else [DEFAULT_FIELD]


def field_of(text_field: str, names: Sequence[str]) -> str:
    """The first field that a table with these columns has, whole or as the beginning of a path; without one, all of them.

    >>> field_of("text,meta.body", ["meta", "id"]), field_of("text,content", ["id"])
    ('meta.body', 'text,content')
    """
    return next((one for one in fields_in(text_field) if {one, one.partition(".")[0]} & {*names}), text_field or DEFAULT_FIELD)


def no_column(field: str, names: Sequence[str]) -> str:
    """Return the reason why a table without this column cannot be read.

    >>> no_column("txt", ["text", "id"])
    "no column 'txt', it has text, id; did you mean 'text'?"
    """
    known = ", ".join(names[:MOST_COLUMNS]) + (", …" if len(names) > MOST_COLUMNS else "")
    return f"no column '{field}', it has {known or 'none'}{nearest(field, names)}"


def text_in(row: Any, text_field: str) -> bytes:
    """Return the text of a JSON row in the first field that it has and that is not null, as UTF-8.

    Raises ValueError: no such field, or it is not text, with the reason.

    >>> text_in({"text": None, "body": "x"}, "text,body")
    b'x'
    """
    *others, last = fields_in(text_field)
    for field in others:
        with suppress(NoField):
            return _text_at(row, field)
    try:
        return _text_at(row, last)
    except NoField as error:
        raise NoField(f"no field '{text_field}'") if others else error from None


class NoField(ValueError):
    """A row has no such field, or null there."""


def _text_at(row: Any, field: str) -> bytes:
    """Return the text of a JSON row at a dotted path, or at a key that contains dots, as UTF-8.

    The texts of a list, such as the turns of a chat, follow each other; turns without one, such as calls of tools, have none.

    Raises ValueError: it is not text, with the reason; NoField: there is none.

    >>> text_in({"a": [{"b": "x"}, {"b": "z"}]}, "a.0.b"), text_in({"a.b": "y"}, "a.b")
    (b'x', b'y')
    >>> text_in({"messages": [{"content": "hi "}, {"content": None}, {"content": "you"}]}, "messages.content")
    b'hi you'
    """
    if isinstance(row, dict) and field in row:
        row = row[field]
    else:
        try:
            step, _, rest = field.partition(".")
            while step:
                if isinstance(row, list) and not step.isdigit():
                    turns = [one for one in row if not isinstance(one, dict) or one.get(step) is not None] or row
                    return b"".join(_text_at(one, f"{step}.{rest}" if rest else step) for one in turns)
                row = row[int(step)] if isinstance(row, list) else row[step]
                step, _, rest = rest.partition(".")
        except (LookupError, TypeError):
            raise NoField(f"no field '{field}'") from None
    if not isinstance(row, str):
        raise (NoField if row is None else ValueError)(f"not text but {_KINDS.get(type(row), 'a number')}")
    try:
        return row.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair, which UTF-8 cannot hold") from None


def is_rows(found: Any, kind: type = dict) -> bool:
    """Whether a JSON value is a list of objects, or of lists."""
    return isinstance(found, list) and bool(found) and all(isinstance(row, kind) for row in found)


def columns_of(found: Mapping[str, Any]) -> int | None:
    """The number of rows where an object holds equally long columns, as lists or by row; None where it does not.

    >>> columns_of({"id": [1, 2], "text": ["a", "b"]}), columns_of({"text": {"0": "a", "1": "b"}}), columns_of({"text": "a"})
    (2, 2, None)
    """
    columns = list(found.values())
    scalar = all(not isinstance(one, dict) for column in columns for one in _cells(column))
    lengths = {len(column) if isinstance(column, (list, dict)) else -1 for column in columns}
    kinds = {type(column) for column in columns}
    return lengths.pop() if scalar and len(lengths) == len(kinds) == 1 and kinds <= {list, dict} else None


def _cells(column: Any) -> Iterable[Any]:
    return column.values() if isinstance(column, dict) else column if isinstance(column, list) else ()


def unwrapped(found: Any, text_field: str) -> Iterator[Any]:
    """Yield the rows of a JSON value: itself, those of the lists of objects that it wraps, or those of its columns.

    >>> list(unwrapped({"data": [{"text": "a"}]}, "text")), list(unwrapped({"id": [7], "text": ["a"]}, "text"))
    ([{'text': 'a'}], [{'text': 'a'}])
    """
    field = field_of(text_field, [*found] if isinstance(found, dict) else [])
    column = found.get(field) if isinstance(found, dict) else None
    if isinstance(column, (list, dict)) and columns_of(found) is not None:
        yield from ({field: cell} for cell in _cells(column))
        return
    firsts = {one.partition(".")[0] for one in fields_in(text_field)}
    lists = [one for one in found.values() if is_rows(one)] if isinstance(found, dict) and firsts.isdisjoint(found) else []
    if rows := [row for one in lists if len(lists) == 1 or not firsts.isdisjoint(one[0]) for row in one]:
        yield from rows
    else:
        yield found


def json_form(head: bytes) -> str:
    r"""The format of a text that begins as JSON does: lines that are objects each, or one array or object; empty for others.

    >>> json_form(b'{"a": 1}\n{"a": 2'), json_form(b'[\n {"a": 1}'), json_form(b'{"a": 1}'), json_form(b"{a}")
    ('jsonl', 'json', 'json', '')
    """
    text = head[len(BYTE_ORDER_MARK) :] if head.startswith(BYTE_ORDER_MARK) else head
    if not _JSON.match(text):
        return ""
    first, _, rest = text.lstrip().partition(b"\n")
    return "jsonl" if first.startswith(b"{") and rest.lstrip() and is_json(first) else "json"


def is_json(text: bytes) -> bool:
    """Whether bytes are one value of JSON."""
    with suppress(ValueError, RecursionError):
        DECODER.decode(text.decode("utf-8"))
        return True
    return False


def is_one_text(data: bytes) -> bool:
    """Whether bytes are text without damage, no rows of JSON, and one chunk."""
    return len(data) <= CHUNK_BYTES and not not_text_reason(data) and not json_form(data)


def field_texts(rows: Iterable[Any], field: str, left_out: SkippedRows, limit: float = math.inf) -> Iterator[bytes]:
    """Yield the texts of a field of JSON rows; rows without it or with more than `limit` bytes are skipped."""
    for number, row in enumerate(rows, 1):
        try:
            text = text_in(row, field)
        except ValueError as error:
            left_out.add(number, str(error))
        else:
            if len(text) > limit:
                left_out.add(number, TOO_LONG)
            else:
                yield text


def whole_lines(stream: Stream, limit: int = LIMIT_BYTES) -> Iterator[bytes | None]:
    r"""Yield blocks of whole lines with their line feeds; None for a line of more than `limit` bytes.

    >>> import io
    >>> list(whole_lines(io.BytesIO(b"a\nbc\ndefg\nh"), limit=3))
    [b'a\n', b'bc\n', None, b'h']
    """
    begun: list[bytes] = []
    held = 0
    while data := stream.read(min(OUTPUT_BYTES, limit)):
        cut = data.rfind(b"\n") + 1
        if not cut:
            held += len(data)
            begun = [*begun, data] if held <= limit else []
            continue
        first = data.find(b"\n") + 1
        if held + first - 1 > limit:
            yield None
            block = data[first:cut]
        else:
            block = b"".join((*begun, data[:cut]))
        begun, held = [data[cut:]], len(data) - cut
        del data  # a block may be large: hold it once while it is processed
        if block:
            yield block
    if held:
        yield b"".join(begun) if held <= limit else None


class BrokenJson(ValueError):
    """JSON is broken, cut short, or too long."""


class JsonReader:
    """JSON of which a value is held at a time: `read_on` gives further letters for the number that is held, none at the end.

    Raises BrokenJson, by every method: a value has more than `most` letters, or is broken.
    """

    def __init__(self, read_on: Callable[[int], str], most: int, decoder: json.JSONDecoder = DECODER) -> None:
        self._read_on, self._most, self._decode = read_on, most, decoder.raw_decode
        self._text, self._ended = "", False
        self.position = 0

    def _more(self) -> None:
        text = self._read_on(len(self._text) - self.position)
        self._text, self.position, self._ended = self._text[self.position :] + text, 0, not text

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

    def value(self, between: str = "") -> Any:
        """Return the value at the position, or behind the characters `between`, and move past it."""
        self.skip(between)
        while True:
            try:
                value, stop = self._decode(self._text, self.position)
            except RecursionError:
                raise BrokenJson("JSON that is nested too deep") from None
            except ValueError as error:
                if self._ended:
                    raise BrokenJson(f"broken or truncated JSON: {str(error).partition(':')[0]}") from None
            else:
                # a number may continue in text not yet read
                if stop < len(self._text) or self._ended:
                    self.position = stop
                    return value
            if len(self._text) - self.position > self._most:
                raise BrokenJson(f"a JSON value {TOO_LONG}, or broken JSON")
            self._more()


class BufferedReader:
    """A stream read in small steps.

    >>> import io
    >>> window = BufferedReader(io.BytesIO(b"abc--defg"))
    >>> window.until(b"--", most=100), window.exactly(2), window.read(100), window.read(100)
    (b'abc--', b'de', b'fg', b'')
    """

    def __init__(self, stream: Stream) -> None:
        self._stream, self._held, self._position = stream, b"", 0

    def _more(self) -> bool:
        data = self._stream.read(OUTPUT_BYTES)
        self._held, self._position = self._held[self._position :] + data, 0
        return bool(data)

    def read(self, size: int, /) -> bytes:
        """Return between 1 and `size` bytes; empty at the end."""
        if self._position == len(self._held) and not self._more():
            return b""
        data = self._held[self._position : self._position + size]
        self._position += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        data = self.read(size)
        if len(data) == size or not data:
            return data
        parts, missing = [data], size - len(data)
        while missing and (data := self.read(missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def skip(self, size: int) -> bool:
        """Skip `size` bytes; return whether there were as many."""
        while size and (data := self.read(min(size, OUTPUT_BYTES))):
            size -= len(data)
        return not size

    def skip_any(self, letters: bytes) -> bool:
        """Skip bytes out of `letters`; return whether any other byte follows."""
        while True:
            while self._position < len(self._held):
                if self._held[self._position] not in letters:
                    return True
                self._position += 1
            if not self._more():
                return False

    def until(self, end: bytes, most: int) -> bytes:
        """Return the bytes up to and including `end`; empty if it does not follow within `most` bytes."""
        while (stop := self._held.find(end, self._position, self._position + most)) < 0:
            if len(self._held) - self._position >= most or not self._more():
                return b""
        start, self._position = self._position, stop + len(end)
        return self._held[start : self._position]
