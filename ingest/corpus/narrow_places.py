"""Where a text that has no space and no stop may be cut: between a word, a number, a mark and a line.

Byte-level vocabularies cut text into words of one kind of characters: letters, up to three digits, marks, blanks. A letter may
have one mark or space before it, and marks may have line breaks after them. So whatever stands around it, a word ends

- after a letter before a digit, and after a digit before a letter;
- after a letter or digit before a mark (but an apostrophe: `'s` may belong to the word before);
- after a mark before a digit;
- after a single line break between two characters that are no blanks (but before `/`, which may belong to the marks before it).

Only characters of ASCII are looked at on the side that a wider table of characters might class otherwise.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable

#: of ASCII; marks without the apostrophe
LETTERS, DIGITS = string.ascii_letters.encode(), string.digits.encode()
MARKS = b'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'
LINE_BREAK = rb"[!-~]\n(?=[!-.0-~])"


def places_within(letters: bytes, before_stop: bytes, contents: Iterable[str]) -> re.Pattern[bytes]:
    r"""What matches up to a place where the words of a byte-level vocabulary end.

    Args:
        letters: a pattern of letters and digits, over the bytes of UTF-8.
        before_stop: a pattern of places that are known already.
        contents: tokens that are looked for in the text, within which there must be no place.

    >>> places_within(b"[a-z0-9]", b"[a-z](?= )", ["<end>"]).sub(rb"\g<0> ", b"ab12+3=cd-4<5>").decode()
    'ab 12 + 3 =cd - 4 < 5>'
    """
    tokens = "\0".join(contents).encode()
    word = b"(?:" + letters + b")"
    ends = _members(MARKS, lambda mark: not re.search(word + mark, tokens))
    begins = _members(MARKS, lambda mark: not re.search(mark + b"[0-9]", tokens))
    before_digit = _members(LETTERS, lambda letter: not re.search(letter + b"[0-9]", tokens))
    before_letter = _members(DIGITS, lambda digit: not re.search(digit + b"[A-Za-z]", tokens))
    places = [
        before_stop,
        before_digit + b"(?=[0-9])",
        before_letter + b"(?=[A-Za-z])",
        word + b"(?=" + ends + b")",
        begins + b"(?=[0-9])",
        *([] if b"\n" in tokens else [LINE_BREAK]),
    ]
    return re.compile(b"|".join(places))


def _members(characters: bytes, wanted: Callable[[bytes], bool]) -> bytes:
    """A pattern of those characters that are wanted; it matches nothing where none is."""
    kept = [escaped for character in characters if wanted(escaped := re.escape(bytes([character])))]
    return b"[" + b"".join(kept) + b"]" if kept else rb"[^\x00-\xff]"
