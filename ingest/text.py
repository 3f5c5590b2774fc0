"""Escaping of user-supplied names and texts: on pages, in documents, job files, shell lines and Markdown; groups of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ingest.errors import IngestError, brief

Thing = TypeVar("Thing")
Key = TypeVar("Key")
#: What ends a line or a column.
_BREAKS = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]")
#: Other control characters, what reorders the letters after it, and what is no character.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}(,[0-9]{1,5})?")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


def grouped(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """The second parts of pairs by their first ones, both in the order in which they come.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    found: dict[Key, list[Thing]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return found


def visible(text: str) -> str:
    r"""A text on one line in which every character is seen where it stands.

    Right-to-left letters keep their direction; what would turn the letters after it around is marked instead.

    >>> visible("a\tb\x07 \u202egnp.exe")
    'a b� �gnp.exe'
    """
    return text if text.isprintable() else _UNSEEN.sub("\ufffd", _BREAKS.sub(" ", text))


def all_visible(thing: Thing) -> Thing:
    """A mapping, sequence or named tuple with every text in it visible.

    >>> all_visible({"a": ["b\\u202e", 1]})
    {'a': ['b�', 1]}
    """
    changed: Any = thing
    if isinstance(thing, str):
        changed = visible(thing)
    elif isinstance(thing, Mapping):
        changed = {all_visible(key): all_visible(value) for key, value in thing.items()}
    elif isinstance(thing, tuple) and hasattr(thing, "_fields"):
        changed = type(thing)(*(all_visible(part) for part in thing))
    elif isinstance(thing, (list, tuple)):
        changed = type(thing)(all_visible(part) for part in thing)
    return changed  # type: ignore[no-any-return]


def checked_id(found: object, where: str) -> str:
    """An id that can be a file name, a job name and a word of a shell line.

    >>> checked_id("R-READ-01", "plan.json")
    'R-READ-01'

    Raises IngestError: anything else.
    """
    if isinstance(found, str) and _ID.fullmatch(found):
        return found
    raise IngestError(
        f"{where}: found {brief(found)}, expected letters, digits, '-' and '_', a letter first, such as R-READ-01"
    )


def checked_host(found: str, where: str) -> str:
    """A host name or address, with a port behind a comma where it has one.

    >>> checked_host("node-001.example.org", "hosts.txt")
    'node-001.example.org'

    Raises IngestError: anything else.
    """
    if _HOST.fullmatch(found):
        return found
    raise IngestError(f"{where}: found {brief(found)}, expected a host name or an address")


def one_line(text: object) -> str:
    r"""A text without line breaks and control characters.

    >>> one_line("a\n[global]\texec=x")
    'a [global] exec=x'
    """
    return " ".join("".join(mark if mark.isprintable() else " " for mark in str(text)).split())


def comment(text: object) -> str:
    """A text as a comment line of a job file or a script, which ends at the line's end."""
    return "# " + one_line(text)


def markdown(text: object) -> str:
    """A text that Markdown shows as it is, in one line; it can be no heading, link, cell or tag.

    >>> markdown("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\]\\\\(y\\\\)'
    """
    return _MARKUP.sub(r"\\\1", one_line(text))
