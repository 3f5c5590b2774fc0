"""Hard texts, on which an engine is checked against the reference besides the first part of the real input."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ingest.corpus.vocabulary import Vocabulary

#: strings on which tokenizers are known to differ: spaces, contractions, marks, digits, long runs, odd code points
HARD = (
    "",
    " ",
    "\n",
    "  two  spaces \n\n \t\ttabs\r\n\r\n  end  ",
    "don't DON'T we'll I'VE o’clock it's's",
    "0 12 123 1234 12345 3.14 1,000,000 ٠١٢٣ ½ Ⅷ ²",
    "naïve naïve Å Å ﬁ ｆｕｌｌ 한국어 한국 e\u0301\u0323",
    "汉字和假名のテスト。中文，標點！ 日本語/\n/path//\n",
    "Привет, мир! Ελληνικά עברית العربية हिन्दी ไทย ქართული",
    "👩‍👩‍👧 🏳️‍🌈 \u200b\u200d\ufeff\u00a0\u2028\u2029\u0085 \x00\x01\x7f",
    "camelCaseHTTPServer snake_case __init__ a//b /*c*/ {}[]();:<=>=!=",
    "=" * 300 + " " * 300 + "a" * 300 + "\n" * 300 + "ab" * 300 + "é" * 300,
    "<|endoftext|> <s></s><unk>[CLS][SEP]<pad> <|im_start|>user\n",
    "▁ ▁a a▁b ▁▁",
)

#: tokens of the file that stand for no text of their own, of which this many are tried within text
ADDED_TRIED = 64


def hard_texts(vocabulary: Vocabulary) -> list[bytes]:
    """Texts on which engines are likely to differ, those with the vocabulary's own added tokens in them included."""
    added = [str(token["content"]) for token in json.loads(vocabulary.outline).get("added_tokens") or []]
    tried = [*added[:ADDED_TRIED], *added[-ADDED_TRIED:]]
    within = [f"a {token} b{token}c\n{token}{token} {token}" for token in tried]
    return [text.encode() for text in (*HARD, *within)]


def difference(texts: Sequence[bytes], found: Sequence[int], expected: Sequence[int], reference: str) -> str:
    """Where two counts differ first; empty where they are equal.

    >>> difference([b"a", b"be"], [1, 3], [1, 2], "tokenizers")
    "it counts 3 tokens where tokenizers counts 2, in the text that begins b'be'"
    """
    if found == expected:
        return ""
    if len(found) != len(expected):
        return f"it counted {len(found)} texts of {len(expected)}"
    place = next(at for at, (one, other) in enumerate(zip(found, expected, strict=True)) if one != other)
    counts = f"it counts {found[place]} tokens where {reference} counts {expected[place]}"
    return f"{counts}, in the text that begins {texts[place][:24]!r}"
