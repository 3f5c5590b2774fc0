"""Where a vocabulary's texts may be cut, told from how it normalizes text and cuts it into words."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ingest.corpus.tokenizers.sentencepiece_model import SPACE, loaded, pieces
from ingest.corpus.tokenizers.splitter import BEFORE_BLANK, BEFORE_SPACE, BEFORE_STOP, INSTEAD_OF_SPACE, Cuts, within_words
from ingest.corpus.tokenizers.tiktoken_ranks import PATTERNS
from ingest.corpus.tokenizers.tokenizer_json import kind, members
from ingest.corpus.tokenizers.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor


#: patterns that published vocabularies cut by, each read from left to right and none looking back
KNOWN_PATTERNS = frozenset(
    (
        *PATTERNS.values(),
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        PATTERNS["cl100k"].replace(r"\p{N}{1,3}", r"\p{N}"),  # Qwen
        PATTERNS["o200k"].replace(r"\p{N}{1,3}", r"\p{N}").replace(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),  # Mistral
        # DeepSeek cuts three times
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

#: those that alone end a word where a stop follows a letter; the others only cut further
_CUT_FURTHER = frozenset((r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+"))

#: normalizers that change no letter because of what stands beyond the space after it
_LOCAL_NORMALIZERS = frozenset(
    ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Precompiled", "Nmt")
)


def places_of(vocabulary: Vocabulary) -> Cuts | None:
    """Where texts may be cut, or nothing where that is not known."""
    if vocabulary.sentencepiece:
        return places_of_model(loaded(vocabulary.sentencepiece, vocabulary.source))
    described = json.loads(vocabulary.outline)
    tokens = described.get("added_tokens") or []
    if any(reaches_over_a_space(token) for token in tokens):
        return None
    normalizers = members(described.get("normalizer"), "normalizers")
    words = members(described.get("pre_tokenizer"), "pretokenizers")
    if any(spells_spaces(normalizer) for normalizer in normalizers) or any(kind(word) == "Metaspace" for word in words):
        return places_between_spelled_spaces(json.loads(vocabulary.tokenizer_json)["model"], normalizers, words)
    if not all(kind(normalizer) in _LOCAL_NORMALIZERS for normalizer in normalizers):
        return None
    cuts = places_between_words(words)
    if cuts is BEFORE_STOP and all(kind(word) in ("ByteLevel", "Split") for word in words):
        return places_of_byte_level(words, {kind(normalizer) for normalizer in normalizers}, tokens)
    return cuts


def places_of_byte_level(words: list[dict[str, Any]], normalizers: set[str], tokens: list[dict[str, Any]]) -> Cuts:
    """Where a byte-level vocabulary's texts may be cut: within long words too, where that is known to be safe."""
    if normalizers & {"NFD", "NFKD"}:
        return BEFORE_SPACE  # a letter's mark becomes a character of its own, and one word with a stop behind it
    if normalizers - {"NFC", "NFKC"} or not any(map(tells_numbers, words)) or any(map(looks_around, tokens)):
        return BEFORE_STOP
    return within_words(token["content"] for token in tokens)


def tells_numbers(word: dict[str, Any]) -> bool:
    """Whether a step has words of digits alone."""
    return (kind(word) == "ByteLevel" and word.get("use_regex", True)) or r"\p{N}" in str(word.get("pattern"))


def looks_around(token: dict[str, Any]) -> bool:
    """Whether a token is found depending on the text around it (`single_word`, `lstrip`, `rstrip`)."""
    return any(token.get(flag) for flag in ("single_word", "lstrip", "rstrip"))


def places_of_model(model: SentencePieceProcessor) -> Cuts | None:
    """Where a SentencePiece model's texts may be cut: at a space, which it may put back by itself before the right part."""
    spelled = model.normalize("a b")
    if spelled not in (f"{SPACE}a{SPACE}b", f"a{SPACE}b") or not no_token_reaches_over_a_space(pieces(model)):
        return None
    if spelled.startswith(SPACE):
        return INSTEAD_OF_SPACE
    drops_spaces = model.normalize("a  b") == spelled
    return None if drops_spaces else BEFORE_SPACE


def places_between_words(words: list[dict[str, Any]]) -> Cuts | None:
    """Where byte-level vocabularies and those that cut at blanks may be cut."""
    ends = [end_of_words(word) for word in words]
    if not words or "unknown" in ends:
        return None
    if any(word.get("add_prefix_space") for word in words):
        return BEFORE_SPACE if len(words) == 1 else None
    if "stop" in ends:
        return BEFORE_STOP
    return BEFORE_BLANK if "blank" in ends else None


def end_of_words(word: dict[str, Any]) -> str:
    """Where one step ends words for certain: before a `stop`, before a `blank`, `further` within words, or `unknown`."""
    if kind(word) == "ByteLevel":
        return "stop" if word.get("use_regex", True) else "further"
    if kind(word) in ("Whitespace", "BertPreTokenizer"):
        return "stop"
    if kind(word) == "WhitespaceSplit":
        return "blank"
    if kind(word) in ("Digits", "Punctuation"):
        return "further"
    return end_by_pattern(word) if kind(word) == "Split" else "unknown"


def end_by_pattern(word: dict[str, Any]) -> str:
    """The same for a step that cuts by a pattern."""
    pattern = word.get("pattern", {}).get("Regex")
    if pattern not in KNOWN_PATTERNS or word.get("behavior") != "Isolated" or word.get("invert"):
        return "unknown"
    return "further" if pattern in _CUT_FURTHER else "stop"


def places_between_spelled_spaces(
    model: dict[str, Any], normalizers: list[dict[str, Any]], words: list[dict[str, Any]]
) -> Cuts | None:
    """Where vocabularies may be cut that spell a space as a character of its own."""
    if not all(is_local_or_spells(normalizer) for normalizer in normalizers) or len(words) > 1:
        return None
    split_at_spaces = any(kind(word) == "Metaspace" and word.get("split", True) for word in words)
    if not split_at_spaces and not no_token_reaches_over_a_space(pieces_of(model)):
        return None
    if any(kind(word) not in ("Metaspace", "Split") for word in words):
        return None
    return INSTEAD_OF_SPACE if any(kind(normalizer) == "Prepend" for normalizer in normalizers) else BEFORE_SPACE


def is_local_or_spells(normalizer: dict[str, Any]) -> bool:
    """Whether a normalizer changes nothing at a space between letters but the way it is spelled."""
    if kind(normalizer) == "Prepend":
        return bool(normalizer.get("prepend") == SPACE)
    if kind(normalizer) == "Strip":
        return not normalizer.get("strip_left")
    runs = normalizer.get("pattern") == {"Regex": " {2,}"} and normalizer.get("content") in (" ", SPACE)
    return kind(normalizer) in _LOCAL_NORMALIZERS or spells_spaces(normalizer) or (kind(normalizer) == "Replace" and runs)


def spells_spaces(normalizer: dict[str, Any]) -> bool:
    """Whether a normalizer writes a space as SentencePiece does."""
    return kind(normalizer) == "Replace" and normalizer.get("pattern") == {"String": " "} and normalizer.get("content") == SPACE


def pieces_of(model: dict[str, Any]) -> list[str]:
    """The tokens of a model as they are spelled."""
    vocab = model.get("vocab") or {}
    return list(vocab) if isinstance(vocab, dict) else [piece for piece, _ in vocab]


def no_token_reaches_over_a_space(pieces: list[str]) -> bool:
    """Whether no token has a space after another character: then none lies on both sides of a space between letters.

    >>> no_token_reaches_over_a_space(["▁", "▁a", "▁▁"]), no_token_reaches_over_a_space(["▁", "a▁b"])
    (True, False)
    """
    return SPACE in pieces and not any(SPACE in piece.lstrip(SPACE) or " " in piece for piece in pieces)


def reaches_over_a_space(token: dict[str, Any]) -> bool:
    """Whether a token that is looked for in the text holds a place where it might be cut, or takes the space after it."""
    return bool(token.get("rstrip")) or re.search(r"\w[\s,.;!?。、！，？]", token["content"]) is not None


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
