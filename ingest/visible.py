"""Text from users as every format shows it: what is invisible and changes what is seen is replaced, everywhere alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

Thing = TypeVar("Thing")
#: What ends a line or a column.
_BREAKS = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]")
#: Other control characters, what reorders the letters after it, and what is no character.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""A text on one line in which every character is seen where it stands.

    Right-to-left letters keep their direction; what would turn the letters after it around is marked instead.

    >>> visible("a\tb\x07 \u202egnp.exe")
    'a b� �gnp.exe'
    """
    return _UNSEEN.sub("\ufffd", _BREAKS.sub(" ", text))


def all_visible(thing: Thing) -> Thing:
    """The same thing with every text in it visible: mappings, sequences and named tuples of them.

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
