"""Where the texts of a vocabulary may be split, from its normalizers and pre-tokenizers.

A vocabulary splits text into words before it looks for tokens, and tokens never cross the end of a word. The patterns known
here read from left to right without look-behind, and in all of them a word that ends in a letter or digit ends where a space, a
line break or a stop follows. So the text after such a place has the same words with or without the text before it.
Byte-level vocabularies also split within words: see `rule_within_words`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.corpus.tokenizers.tiktoken_ranks import PATTERNS
from ingest.corpus.tokenizers.tokenizer_json import kind, load_sentencepiece, members
from ingest.corpus.types import Vocabulary

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

#: how SentencePiece spells a space
SPACE = "▁"

_ASCII = rb"[A-Za-z0-9]"
_LETTERS = b"|".join(
    (
        _ASCII,
        rb"\xc3[\x80-\x96\x98-\xb6\xb8-\xbf]",  # Latin with marks
        rb"\xce[\x91-\xa1\xa3-\xbf]|\xcf[\x80-\x8e]",  # Greek
        rb"[\xd0\xd1][\x80-\xbf]",  # Cyrillic
        rb"\xd7[\x90-\xaa]",  # Hebrew
        rb"\xd8[\xa1-\xba]|\xd9[\x81-\x8a]",  # Arabic
        rb"\xe0[\xa4\xa6\xa8\xaa\xac\xae\xb0\xb2\xb4][\x95-\xa8]",  # consonants of nine scripts of India
        rb"\xe0\xb8[\x81-\xb0]",  # Thai
        rb"\xe1\x83[\x90-\xb0]",  # Georgian
        rb"\xe3\x81[\x81-\xbf]|\xe3\x82[\x80-\x96\xa1-\xbf]|\xe3\x83[\x80-\xba]",  # kana
        rb"\xe4[\xb8-\xbf][\x80-\xbf]|[\xe5-\xe8][\x80-\xbf]{2}|\xe9[\x80-\xbe][\x80-\xbf]",  # Chinese
        rb"[\xeb\xec][\x80-\xbf]{2}",  # Korean
    )
)
_STOPS = rb"[ \n\r\t,.;!?]|\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]"


@dataclass(frozen=True)
class SplitRule:
    """Where the texts of a vocabulary may be split without changing their counts."""

    pattern: re.Pattern[bytes]  # matches up to the end of the left part, over the bytes of UTF-8
    dropped: int = 0  # bytes at the beginning of the right part that the vocabulary itself puts before every text
    missing: str = "no word boundary at which this vocabulary allows a split"  # what a text without a match lacks, for messages


def _before(what_follows: bytes) -> re.Pattern[bytes]:
    return re.compile(b"(?:" + _LETTERS + b")(?=" + what_follows + b")")


BEFORE_STOP = SplitRule(_before(_STOPS))
BEFORE_BLANK = SplitRule(_before(rb"[ \n]"))
BEFORE_SPACE = SplitRule(_before(b" (?:" + _LETTERS + b")"))
INSTEAD_OF_SPACE = SplitRule(_before(b" (?:" + _LETTERS + b")"), dropped=1)

#: split patterns of published vocabularies, all read from left to right without look-behind
KNOWN_PATTERNS = frozenset(
    (
        *PATTERNS.values(),
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        PATTERNS["cl100k"].replace(r"\p{N}{1,3}", r"\p{N}"),  # Qwen
        PATTERNS["o200k"].replace(r"\p{N}{1,3}", r"\p{N}").replace(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),  # Mistral
        # DeepSeek splits three times
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"""
        "\r\n"
        r"""\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+["""
        "\r\n"
        r"""]*|\s*["""
        "\r\n"
        r"""]+|\s+(?!\S)|\s+""",
    )
)

#: patterns after which a stop does not end a word; they only split further
_SPLIT_FURTHER = frozenset((r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+"))

#: normalizers that change no letter because of what follows the next space
_LOCAL_NORMALIZERS = frozenset(
    ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Precompiled", "Nmt")
)


def split_rule_of(vocabulary: Vocabulary) -> SplitRule | None:
    """Where texts may be split; None where no safe place is known."""
    if vocabulary.sentencepiece:
        return _rule_of_model(load_sentencepiece(vocabulary.sentencepiece, vocabulary.source))
    described = json.loads(vocabulary.outline)
    tokens = described.get("added_tokens") or []
    if any(_crosses_a_split(token) for token in tokens):
        return None
    normalizers = members(described.get("normalizer"), "normalizers")
    steps = members(described.get("pre_tokenizer"), "pretokenizers")
    if any(_spells_spaces(normalizer) for normalizer in normalizers) or any(kind(step) == "Metaspace" for step in steps):
        return _rule_of_spelled_spaces(json.loads(vocabulary.tokenizer_json)["model"], normalizers, steps)
    if not all(kind(normalizer) in _LOCAL_NORMALIZERS for normalizer in normalizers):
        return None
    rule = _rule_of_steps(steps)
    if rule is BEFORE_STOP and all(kind(step) in ("ByteLevel", "Split") for step in steps):
        return _rule_of_byte_level(steps, {kind(normalizer) for normalizer in normalizers}, tokens)
    return rule


def _rule_of_byte_level(steps: list[dict[str, Any]], normalizers: set[str], tokens: list[dict[str, Any]]) -> SplitRule:
    """Within long words too, where that is safe."""
    if normalizers & {"NFD", "NFKD"}:
        return BEFORE_SPACE  # a letter's mark becomes a character of its own, and one word with the stop after it
    has_number_words = any(
        (kind(step) == "ByteLevel" and step.get("use_regex", True)) or r"\p{N}" in str(step.get("pattern")) for step in steps
    )
    depends_on_context = any(token.get(flag) for token in tokens for flag in ("single_word", "lstrip", "rstrip"))
    if normalizers - {"NFC", "NFKC"} or not has_number_words or depends_on_context:
        return BEFORE_STOP
    return rule_within_words(token["content"] for token in tokens)


def _rule_of_model(model: SentencePieceProcessor) -> SplitRule | None:
    """At a space, which a SentencePiece model may itself put before the right part."""
    spelled = model.normalize("a b")
    pieces = model.id_to_piece(list(range(model.get_piece_size())))
    if spelled not in (f"{SPACE}a{SPACE}b", f"a{SPACE}b") or not no_token_crosses_a_space(pieces):
        return None
    if spelled.startswith(SPACE):
        return INSTEAD_OF_SPACE
    drops_spaces = model.normalize("a  b") == spelled
    return None if drops_spaces else BEFORE_SPACE


def _rule_of_steps(steps: list[dict[str, Any]]) -> SplitRule | None:
    """For byte-level vocabularies and those that split at blanks."""
    ends = [_end_of_words(step) for step in steps]
    if not steps or "unknown" in ends:
        return None
    if any(step.get("add_prefix_space") for step in steps):
        return BEFORE_SPACE if len(steps) == 1 else None
    if "stop" in ends:
        return BEFORE_STOP
    return BEFORE_BLANK if "blank" in ends else None


def _end_of_words(step: dict[str, Any]) -> str:
    """Where a pre-tokenizer certainly ends words: before a `stop`, before a `blank`, `further` within words, or `unknown`."""
    if kind(step) == "ByteLevel":
        return "stop" if step.get("use_regex", True) else "further"
    if kind(step) == "Split":
        pattern = step.get("pattern", {}).get("Regex")
        if pattern not in KNOWN_PATTERNS or step.get("behavior") != "Isolated" or step.get("invert"):
            return "unknown"
        return "further" if pattern in _SPLIT_FURTHER else "stop"
    ends = {"Whitespace": "stop", "BertPreTokenizer": "stop", "WhitespaceSplit": "blank"}
    return {**ends, "Digits": "further", "Punctuation": "further"}.get(kind(step), "unknown")


def _rule_of_spelled_spaces(
    model: dict[str, Any], normalizers: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> SplitRule | None:
    """For vocabularies that spell a space as a character of its own."""
    if not all(_is_local_or_spells(normalizer) for normalizer in normalizers) or len(steps) > 1:
        return None
    vocab = model.get("vocab") or {}
    tokens = list(vocab) if isinstance(vocab, dict) else [piece for piece, _ in vocab]
    split_at_spaces = any(kind(step) == "Metaspace" and step.get("split", True) for step in steps)
    if not split_at_spaces and not no_token_crosses_a_space(tokens):
        return None
    if any(kind(step) not in ("Metaspace", "Split") for step in steps):
        return None
    return INSTEAD_OF_SPACE if any(kind(normalizer) == "Prepend" for normalizer in normalizers) else BEFORE_SPACE


def _is_local_or_spells(normalizer: dict[str, Any]) -> bool:
    """Whether a normalizer changes nothing at a space between letters except its spelling."""
    if kind(normalizer) == "Prepend":
        return bool(normalizer.get("prepend") == SPACE)
    if kind(normalizer) == "Strip":
        return not normalizer.get("strip_left")
    runs = normalizer.get("pattern") == {"Regex": " {2,}"} and normalizer.get("content") in (" ", SPACE)
    return kind(normalizer) in _LOCAL_NORMALIZERS or _spells_spaces(normalizer) or (kind(normalizer) == "Replace" and runs)


def _spells_spaces(normalizer: dict[str, Any]) -> bool:
    return kind(normalizer) == "Replace" and normalizer.get("pattern") == {"String": " "} and normalizer.get("content") == SPACE


def no_token_crosses_a_space(tokens: list[str]) -> bool:
    """Whether no token has a space after another character: then none covers both sides of a space between letters.

    >>> no_token_crosses_a_space(["▁", "▁a", "▁▁"]), no_token_crosses_a_space(["▁", "a▁b"])
    (True, False)
    """
    return SPACE in tokens and not any(SPACE in token.lstrip(SPACE) or " " in token for token in tokens)


def _crosses_a_split(token: dict[str, Any]) -> bool:
    """Whether an added token holds a place where text might be split, or takes the space after it."""
    return bool(token.get("rstrip")) or re.search(r"\w[\s,.;!?。、！，？]", token["content"]) is not None


#: of ASCII; marks without the apostrophe
LETTERS, DIGITS = string.ascii_letters.encode(), string.digits.encode()
MARKS = b'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'
LINE_BREAK = rb"[!-~]\n(?=[!-.0-~])"


def rule_within_words(contents: Iterable[str]) -> SplitRule:
    r"""Where a byte-level vocabulary may be split: before stops, and between words, numbers, marks and lines.

    Args:
        contents: the added tokens, which must not be split.

    >>> rule_within_words(["<end>"]).pattern.sub(rb"\g<0> ", b"ab12+3=cd-4<5>").decode()
    'ab 12 + 3 =cd - 4 < 5>'
    """
    tokens = "\0".join(contents).encode()
    word = b"(?:" + _LETTERS + b")"
    marks = b"[" + re.escape(MARKS) + b"]"
    ends = _without(MARKS, re.findall(word + b"(?=(" + marks + b"))", tokens))
    begins = _without(MARKS, re.findall(marks + b"(?=[0-9])", tokens))
    before_digit = _without(LETTERS, re.findall(b"[A-Za-z](?=[0-9])", tokens))
    before_letter = _without(DIGITS, re.findall(b"[0-9](?=[A-Za-z])", tokens))
    places = [
        BEFORE_STOP.pattern.pattern,
        before_digit + b"(?=[0-9])",
        before_letter + b"(?=[A-Za-z])",
        word + b"(?=" + ends + b")",
        begins + b"(?=[0-9])",
        *([] if b"\n" in tokens else [LINE_BREAK]),
    ]
    missing = "no end of a word, number or line at which this vocabulary allows a split"
    return SplitRule(re.compile(b"|".join(places)), missing=missing)


def _without(characters: bytes, unsafe: Iterable[bytes]) -> bytes:
    """A pattern of the characters that are not unsafe; it matches nothing where none is left."""
    excluded = b"".join(unsafe)
    safe = bytes(character for character in characters if character not in excluded)
    return b"[" + re.escape(safe) + b"]" if safe else rb"[^\x00-\xff]"
