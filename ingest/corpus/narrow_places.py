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
from collections.abc import Iterable

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
    marks = b"[" + re.escape(MARKS) + b"]"
    ends = _without(MARKS, re.findall(word + b"(?=(" + marks + b"))", tokens))
    begins = _without(MARKS, re.findall(marks + b"(?=[0-9])", tokens))
    before_digit = _without(LETTERS, re.findall(b"[A-Za-z](?=[0-9])", tokens))
    before_letter = _without(DIGITS, re.findall(b"[0-9](?=[A-Za-z])", tokens))
    places = [
        before_stop,
        before_digit + b"(?=[0-9])",
        before_letter + b"(?=[A-Za-z])",
        word + b"(?=" + ends + b")",
        begins + b"(?=[0-9])",
        *([] if b"\n" in tokens else [LINE_BREAK]),
    ]
    return re.compile(b"|".join(places))


def _without(characters: bytes, unsafe: Iterable[bytes]) -> bytes:
    """A pattern of the characters that are safe; it matches nothing where none is."""
    met = b"".join(unsafe)
    safe = bytes(character for character in characters if character not in met)
    return b"[" + re.escape(safe) + b"]" if safe else rb"[^\x00-\xff]"
