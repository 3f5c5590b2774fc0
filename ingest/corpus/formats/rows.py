"""Formats with one document per row or line: skipped rows, and fields by dotted path."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ingest.corpus.types import Note, SkippedFile
from ingest.errors import nearest

#: Longer lines, fields and members are skipped, because they would have to fit in memory.
LIMIT_BYTES = 32 * 2**20
TOO_LONG = f"longer than {LIMIT_BYTES // 2**20} MiB"
#: the field or column that holds the text, unless the user names one
DEFAULT_FIELD = "text"
#: accepts numbers of any length: `int` refuses those of more than some thousand digits
DECODER = json.JSONDecoder(parse_int=float)
#: rows named individually per reason
_NAMED = 2
#: columns that a message names
MOST_COLUMNS = 8


class SkippedRows:
    """Skipped rows of one file, by reason: the first by number, the others counted."""

    def __init__(self, path: str, unit: str) -> None:
        self.path = path
        self._unit = unit
        self._names: dict[str, list[str]] = {}
        self._times = Counter[str]()

    def add(self, name: object, reason: str) -> None:
        self._times[reason] += 1
        if self._times[reason] <= _NAMED:
            self._names.setdefault(reason, []).append(str(name))

    def tell(self, note: Note) -> None:
        """Report each reason once, and clear.

        >>> left_out = SkippedRows("a.jsonl", "line")
        >>> for number in (3, 17, *range(100, 140)):
        ...     left_out.add(number, "not JSON")
        >>> left_out.tell(print)
        SkippedFile(path='a.jsonl', reason='lines 3, 17 and 40 more: not JSON', number=42)
        """
        for reason, times in self._times.items():
            names = self._names[reason]
            who = f"{', '.join(names)} and {times - _NAMED} more" if times > _NAMED else " and ".join(names)
            note(SkippedFile(self.path, f"{self._unit}{'s' if times > 1 else ''} {who}: {reason}", times))
        self._names, self._times = {}, Counter()


def no_column(field: str, names: Sequence[str]) -> str:
    """Return the reason why a table without this column cannot be read.

    >>> no_column("txt", ["text", "id"])
    "no column 'txt', it has text, id; did you mean 'text'?"
    """
    known = ", ".join(names[:MOST_COLUMNS]) + (", …" if len(names) > MOST_COLUMNS else "")
    return f"no column '{field}', it has {known or 'none'}{nearest(field, names)}"


def value_in(row: Any, field: str) -> Any:
    """Return the value of a JSON row at a dotted path, or at a key that contains dots.

    Raises:
        ValueError: no such field, with the reason.

    >>> value_in({"a": [{"b": "x"}]}, "a.0.b"), value_in({"a.b": "y"}, "a.b")
    ('x', 'y')
    """
    if isinstance(row, dict) and field in row:
        return row[field]
    try:
        for step in field.split("."):
            row = row[int(step)] if isinstance(row, list) else row[step]
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"no field '{field}'") from None
    return row


def encoded(value: object) -> bytes:
    """Return a text as UTF-8.

    Raises:
        ValueError: the value is not text, with the reason.
    """
    if not isinstance(value, str):
        raise ValueError(f"not text but {_KINDS.get(type(value), 'a number')}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair, which UTF-8 cannot hold") from None


def field_texts(rows: Iterable[Any], field: str, left_out: SkippedRows, limit: float = math.inf) -> Iterator[bytes]:
    """Yield the texts of a field of JSON rows; rows without it or with more than `limit` bytes are skipped."""
    for number, row in enumerate(rows, 1):
        try:
            text = encoded(value_in(row, field))
        except ValueError as error:
            left_out.add(number, str(error))
        else:
            if len(text) > limit:
                left_out.add(number, TOO_LONG)
            else:
                yield text


_KINDS = {type(None): "null", bool: "a truth value", list: "a list", dict: "an object", bytes: "bytes"}
