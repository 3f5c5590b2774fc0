"""Texts on which engines may differ because their Unicode tables do: the reference counts them.

Engines split text into words by character class (letter, number, space, …). The fast engine's table is a Unicode version ahead
of the reference's: the characters that Unicode 17 added are letters to the one and unassigned to the other. U+180E was a space
until Unicode 6.3. Normalization tables differ more, so a text that normalization would change is in doubt too.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal, cast

from ingest.corpus.tokenizers.tokenizer_json import kind, members
from ingest.corpus.types import Vocabulary

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

#: first and last code point of each range: those that `tests/corpus/find_disputes.py` prints and, to be safe, U+180E and
#: U+10EFA to U+10EFB, which count equally in its contexts
DISPUTED = (
    (0x088F, 0x088F), (0x0C5C, 0x0C5C), (0x0CDC, 0x0CDC), (0x180E, 0x180E), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB),
    (0x20C1, 0x20C1), (0x2B96, 0x2B96), (0xA7CE, 0xA7CF), (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7F1, 0xA7F1),
    (0xFBC3, 0xFBD2), (0xFD90, 0xFD91), (0xFDC8, 0xFDCE), (0x10940, 0x10959), (0x10EC5, 0x10EC7), (0x10ED0, 0x10ED8),
    (0x10EFA, 0x10EFB), (0x11B60, 0x11B67), (0x11DB0, 0x11DDB), (0x11DE0, 0x11DE9), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3),
    (0x16FF2, 0x16FF6), (0x187F8, 0x187FF), (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1CCFA, 0x1CCFC), (0x1CEBA, 0x1CED0),
    (0x1CEE0, 0x1CEF0), (0x1E6C0, 0x1E6DE), (0x1E6E0, 0x1E6F5), (0x1E6FE, 0x1E6FF), (0x1F6D8, 0x1F6D8), (0x1F777, 0x1F77A),
    (0x1F8D0, 0x1F8D8), (0x1FA54, 0x1FA57), (0x1FA8A, 0x1FA8A), (0x1FA8E, 0x1FA8E), (0x1FAC8, 0x1FAC8), (0x1FACD, 0x1FACD),
    (0x1FAEA, 0x1FAEA), (0x1FAEF, 0x1FAEF), (0x1FBFA, 0x1FBFA), (0x2B73A, 0x2B73F), (0x2CEA2, 0x2CEAD), (0x323B0, 0x33479),
)  # fmt: skip

#: normalizers without a Unicode table
_WITHOUT_TABLE = frozenset(("Prepend", "Replace", "Strip", "ByteLevel"))

_FORMS = frozenset(("NFC", "NFD", "NFKC", "NFKD"))

#: pre-tokenizers that use an older Unicode table, for punctuation or scripts
_OLD_TABLE = frozenset(("Punctuation", "BertPreTokenizer", "UnicodeScripts"))


def doubt_about(vocabulary: Vocabulary) -> Callable[[bytes], bool]:
    """A test of whether engines may differ on a text with this vocabulary."""
    described = json.loads(vocabulary.outline)
    normalizers = {kind(step) for step in members(described.get("normalizer"), "normalizers")}
    steps = {kind(step) for step in members(described.get("pre_tokenizer"), "pretokenizers")}
    if steps & _OLD_TABLE or normalizers - _FORMS - _WITHOUT_TABLE:
        return lambda text: not text.isascii()
    forms = [cast(Form, form) for form in sorted(normalizers & _FORMS)]
    if not forms:
        return has_disputed
    return lambda text: has_disputed(text) or any(is_changed(text, form) for form in forms)


def is_changed(text: bytes, form: Form) -> bool:
    """Whether normalization would change the text.

    >>> is_changed("é".encode(), "NFC"), is_changed("é".encode(), "NFD")
    (False, True)
    """
    return not text.isascii() and not unicodedata.is_normalized(form, text.decode())


def has_disputed(text: bytes) -> bool:
    """Whether a text holds a character whose class differs between engines.

    >>> has_disputed("plain, ünïcödé, 漢字, 🙂".encode()), has_disputed("\\U000323B0".encode())
    (False, True)
    """
    if text.isascii():
        return False
    return any(lead in text and pattern.search(text) for lead, pattern in patterns_by_lead())


@cache
def patterns_by_lead() -> list[tuple[bytes, re.Pattern[bytes]]]:
    """A pattern over UTF-8 for each first byte: a text without that byte needs no pattern."""
    last_bytes: dict[bytes, bytearray] = {}
    for first, last in DISPUTED:
        for point in range(first, last + 1):
            spelled = chr(point).encode()
            last_bytes.setdefault(spelled[:-1], bytearray()).append(spelled[-1])
    by_lead: dict[bytes, list[bytes]] = {}
    for prefix, lasts in last_bytes.items():
        by_lead.setdefault(prefix[:1], []).append(re.escape(prefix[1:]) + b"[" + re.escape(bytes(lasts)) + b"]")
    return [(lead, re.compile(re.escape(lead) + b"(?:" + b"|".join(ends) + b")")) for lead, ends in by_lead.items()]
