"""Objects of a long JSON list one by one: a year of `sacct --json` does not fit into memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ingest.errors import IngestError

#: The lists whose entries are objects of a history.
_LIST = re.compile(r'"(?:jobs|items)"\s*:\s*\[')
#: Letters that one object may have, and those that come before the list.
LONGEST, LONGEST_HEAD = 2**25, 2**22
#: Letters that are read between two attempts to take objects.
STEP = 2**18


def objects_in(lines: Iterable[str], place: str) -> Iterator[Mapping[str, Any]]:
    """The entries of the list `jobs` or `items` of a document, of a list, or documents that follow each other.

    Raises:
        IngestError: it is cut short or no JSON.
    """
    decoder, buffer, inside, found_any = json.JSONDecoder(), "", False, False
    for chunk in _chunks(lines):
        buffer += chunk
        if not inside:
            head = buffer.lstrip()
            listed = _LIST.search(head)
            if head.startswith("["):
                buffer, inside = head[1:], True
            elif listed is not None:
                buffer, inside = head[listed.end() :], True
            elif len(head) > LONGEST_HEAD:
                break
            else:
                continue
        at = 0
        while True:
            at = _past(buffer, at)
            if at >= len(buffer) or buffer[at] == "]":
                break
            try:
                one, end = decoder.raw_decode(buffer, at)
            except (ValueError, RecursionError):
                if len(buffer) - at > LONGEST:
                    raise IngestError(f"{place}: no whole JSON, expected a list of objects") from None
                break
            if not isinstance(one, Mapping):
                raise IngestError(f"{place}: an entry of the list is no object, expected jobs, pods or workloads")
            found_any = True
            yield one
            at = end
        if at < len(buffer) and buffer[at] == "]":
            return
        buffer = buffer[at:]
    if inside or found_any:
        raise IngestError(f"{place}: JSON that is cut short, expected the whole list")
    yield from _documents(decoder, buffer, place)


def _documents(decoder: json.JSONDecoder, text: str, place: str) -> Iterator[Mapping[str, Any]]:
    """Objects that follow each other, one for a line or one alone."""
    at = _past(text, 0)
    while at < len(text):
        try:
            one, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise IngestError(f"{place}: no whole JSON, expected an object or a list of objects") from None
        if not isinstance(one, Mapping):
            raise IngestError(f"{place}: JSON of another kind, expected an object or a list of objects")
        yield one
        at = _past(text, at)


def _past(text: str, at: int) -> int:
    """The next place that is neither space nor comma."""
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined to longer texts."""
    parts: list[str] = []
    size = 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size > STEP:
            yield "".join(parts)
            parts, size = [], 0
    yield "".join(parts)
