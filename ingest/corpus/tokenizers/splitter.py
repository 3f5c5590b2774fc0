"""Splitting documents of any size where that changes no count, so that they are counted in bounded memory.

A vocabulary splits text into words before it looks for tokens, and tokens never cross the end of a word. The patterns known
here read from left to right without look-behind, and in all of them a word that ends in a letter or digit ends where a space, a
line break or a stop follows. So the text after such a place has the same words with or without the text before it. The places
follow from the normalizers and pre-tokenizers of a vocabulary. Byte-level vocabularies also split within words: see
`rule_within_words`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.corpus.tokenizers.vocabulary import PATTERNS, PUBLISHED, kind, load_sentencepiece, members
from ingest.corpus.types import Chunk, Vocabulary
from ingest.errors import IngestError

#: a text is split at the first safe place after this many bytes
TEXT_BYTES = 1 << 20
#: the most bytes of a document that wait for a safe place
MOST_WAITING_BYTES = 4 << 20
#: distance of the splits in the check on real text
CHECK_BYTES = 1 << 10
#: the longest spelling that a pattern looks ahead to
_REACH = 8

#: how SentencePiece spells a space
SPACE = "▁"

_LETTERS = "|".join(PUBLISHED["letters"].values()).encode("ascii")
_STOPS = rb"[ \n\r\t,.;!?]|\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]"


@dataclass(frozen=True)
class SplitRule:
    """Where the texts of a vocabulary may be split without changing their counts."""

    pattern: re.Pattern[bytes]  # matches up to the end of the left part, over the bytes of UTF-8
    dropped: int = 0  # bytes at the beginning of the right part that the vocabulary itself puts before every text
    missing: str = "no word boundary at which this vocabulary allows a split"  # what a text without a match lacks, for messages


_WORD = b"(?:" + _LETTERS + b")"
BEFORE_STOP = SplitRule(re.compile(_WORD + b"(?=" + _STOPS + b")"))
BEFORE_BLANK = SplitRule(re.compile(_WORD + rb"(?=[ \n])"))
BEFORE_SPACE = SplitRule(re.compile(_WORD + b"(?= " + _WORD + b")"))
INSTEAD_OF_SPACE = SplitRule(BEFORE_SPACE.pattern, dropped=1)

#: split patterns of published vocabularies, all read from left to right without look-behind
KNOWN_PATTERNS = frozenset(
    (
        *PATTERNS.values(),
        *PUBLISHED["further"],
        *PUBLISHED["others"],
        PATTERNS["cl100k"].replace(r"\p{N}{1,3}", r"\p{N}"),  # Qwen
        PATTERNS["o200k"].replace(r"\p{N}{1,3}", r"\p{N}").replace(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),  # Mistral
    )
)

#: patterns after which a stop does not end a word; they only split further
_SPLIT_FURTHER = frozenset(PUBLISHED["further"])

#: normalizers that change no letter because of what follows the next space
_LOCAL_NORMALIZERS = frozenset(
    ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Precompiled", "Nmt")
)
#: where other pre-tokenizers end words
_ENDS = {"Whitespace": "stop", "BertPreTokenizer": "stop", "WhitespaceSplit": "blank"}
_ENDS |= {"Digits": "further", "Punctuation": "further"}


def split_rule_of(vocabulary: Vocabulary) -> SplitRule | None:
    """Where texts may be split; None where no safe place is known."""
    if vocabulary.sentencepiece:
        model = load_sentencepiece(vocabulary.sentencepiece, vocabulary.source)
        # At a space, which a SentencePiece model may itself put before the right part.
        spelled = model.normalize("a b")
        pieces = model.id_to_piece(list(range(model.get_piece_size())))
        if spelled not in (f"{SPACE}a{SPACE}b", f"a{SPACE}b") or not no_token_crosses_a_space(pieces):
            return None
        if spelled.startswith(SPACE):
            return INSTEAD_OF_SPACE
        drops_spaces = model.normalize("a  b") == spelled
        return None if drops_spaces else BEFORE_SPACE
    described = json.loads(vocabulary.outline)
    tokens = described.get("added_tokens") or []
    # an added token may hold a place where text might be split, or take the space after it
    if any(token.get("rstrip") or re.search(r"\w[\s,.;!?。、！，？]", token["content"]) for token in tokens):
        return None
    normalizers = members(described.get("normalizer"), "normalizers")
    steps = members(described.get("pre_tokenizer"), "pretokenizers")
    if any(_spells_spaces(normalizer) for normalizer in normalizers) or any(kind(step) == "Metaspace" for step in steps):
        return _rule_of_spelled_spaces(json.loads(vocabulary.tokenizer_json)["model"], normalizers, steps)
    changes = {kind(normalizer) for normalizer in normalizers}
    if changes - _LOCAL_NORMALIZERS:
        return None
    rule = _rule_of_steps(steps)
    if rule is not BEFORE_STOP or not all(kind(step) in ("ByteLevel", "Split") for step in steps):
        return rule
    # of byte-level vocabularies within long words too, where that is safe
    if changes & {"NFD", "NFKD"}:
        return BEFORE_SPACE  # a letter's mark becomes a character of its own, and one word with the stop after it
    has_number_words = any(
        (kind(step) == "ByteLevel" and step.get("use_regex", True)) or r"\p{N}" in str(step.get("pattern")) for step in steps
    )
    depends_on_context = any(token.get(flag) for token in tokens for flag in ("single_word", "lstrip", "rstrip"))
    if changes - {"NFC", "NFKC"} or not has_number_words or depends_on_context:
        return BEFORE_STOP
    return rule_within_words(token["content"] for token in tokens)


def _rule_of_steps(steps: list[dict[str, Any]]) -> SplitRule | None:
    """For byte-level vocabularies and those that split at blanks.

    A pre-tokenizer certainly ends words before a `stop`, before a `blank`, `further` within words, or nowhere that is known.
    """
    ends: set[str] = set()
    for step in steps:
        if kind(step) == "ByteLevel":
            ends.add("stop" if step.get("use_regex", True) else "further")
        elif kind(step) == "Split":
            pattern = step.get("pattern", {}).get("Regex")
            if pattern not in KNOWN_PATTERNS or step.get("behavior") != "Isolated" or step.get("invert"):
                return None
            ends.add("further" if pattern in _SPLIT_FURTHER else "stop")
        elif kind(step) in _ENDS:
            ends.add(_ENDS[kind(step)])
        else:
            return None
    if any(step.get("add_prefix_space") for step in steps):
        return BEFORE_SPACE if len(steps) == 1 else None
    if "stop" in ends:
        return BEFORE_STOP
    return BEFORE_BLANK if "blank" in ends else None


def _rule_of_spelled_spaces(
    model: dict[str, Any], normalizers: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> SplitRule | None:
    """For vocabularies that spell a space as a character of its own."""
    for normalizer in normalizers:
        # it may change nothing at a space between letters except its spelling
        if kind(normalizer) == "Prepend":
            is_local = normalizer.get("prepend") == SPACE
        elif kind(normalizer) == "Strip":
            is_local = not normalizer.get("strip_left")
        else:
            runs = normalizer.get("pattern") == {"Regex": " {2,}"} and normalizer.get("content") in (" ", SPACE)
            is_local = kind(normalizer) in _LOCAL_NORMALIZERS or (kind(normalizer) == "Replace" and runs)
        if not is_local and not _spells_spaces(normalizer):
            return None
    if len(steps) > 1:
        return None
    vocab = model.get("vocab") or {}
    tokens = list(vocab) if isinstance(vocab, dict) else [piece for piece, _ in vocab]
    split_at_spaces = any(kind(step) == "Metaspace" and step.get("split", True) for step in steps)
    if not split_at_spaces and not no_token_crosses_a_space(tokens):
        return None
    if any(kind(step) not in ("Metaspace", "Split") for step in steps):
        return None
    return INSTEAD_OF_SPACE if any(kind(normalizer) == "Prepend" for normalizer in normalizers) else BEFORE_SPACE


def _spells_spaces(normalizer: dict[str, Any]) -> bool:
    return kind(normalizer) == "Replace" and normalizer.get("pattern") == {"String": " "} and normalizer.get("content") == SPACE


def no_token_crosses_a_space(tokens: list[str]) -> bool:
    """Whether no token has a space after another character: then none covers both sides of a space between letters."""
    return SPACE in tokens and not any(SPACE in token.lstrip(SPACE) or " " in token for token in tokens)


#: of ASCII; marks without the apostrophe
LETTERS, DIGITS = string.ascii_letters.encode(), string.digits.encode()
MARKS = b'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'
LINE_BREAK = rb"[!-~]\n(?=[!-.0-~])"


def rule_within_words(contents: Iterable[str]) -> SplitRule:
    r"""Where a byte-level vocabulary may be split: before stops, and between words, numbers, marks and lines.

    Added tokens, the `contents`, must not be split.

    >>> rule_within_words(["<end>"]).pattern.sub(rb"\g<0> ", b"ab12+3=cd-4<5>").decode()
    'ab 12 + 3 =cd - 4 < 5>'
    """
    tokens = "\0".join(contents).encode()
    marks = b"[" + re.escape(MARKS) + b"]"
    ends = _without(MARKS, re.findall(_WORD + b"(?=(" + marks + b"))", tokens))
    begins = _without(MARKS, re.findall(marks + b"(?=[0-9])", tokens))
    before_digit = _without(LETTERS, re.findall(b"[A-Za-z](?=[0-9])", tokens))
    before_letter = _without(DIGITS, re.findall(b"[0-9](?=[A-Za-z])", tokens))
    places = [
        BEFORE_STOP.pattern.pattern,
        before_digit + b"(?=[0-9])",
        before_letter + b"(?=[A-Za-z])",
        _WORD + b"(?=" + ends + b")",
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


class CannotSplit(IngestError):
    """A document longer than `MOST_WAITING_BYTES` without a place where a split changes no count."""


def split(text: bytes, rule: SplitRule, text_bytes: int = TEXT_BYTES) -> list[bytes]:
    """The text in parts whose counts add up to that of the text; each a little longer than `text_bytes`."""
    return DocumentSplitter(rule, text_bytes).feed(Chunk(text, ends=True))


class DocumentSplitter:
    """Takes documents piece by piece and returns texts to count, whose counts add up to those of the documents."""

    def __init__(
        self, rule: SplitRule | None, text_bytes: int = TEXT_BYTES, most_waiting_bytes: int = MOST_WAITING_BYTES
    ) -> None:
        self._rule, self._text_bytes, self._most_waiting_bytes = rule, text_bytes, most_waiting_bytes
        self._waiting, self._searched = b"", 0

    def feed(self, piece: Chunk) -> list[bytes]:
        """The texts that this piece completes.

        Raises CannotSplit: too much text waits. It is dropped; the caller must pass over the rest of the document.
        """
        self._waiting += piece.text
        texts, start = [], 0
        while self._rule and len(self._waiting) - start > self._text_bytes:
            place = self._rule.pattern.search(self._waiting, max(start + self._text_bytes, self._searched))
            if place is None:
                self._searched = len(self._waiting) - _REACH
                break
            texts.append(self._waiting[start : place.end()])
            start = place.end() + self._rule.dropped
        rest = self._waiting[start:]
        if not piece.ends and len(rest) <= self._most_waiting_bytes:
            self._waiting, self._searched = rest, max(0, self._searched - start)
            return texts
        self._waiting, self._searched = b"", 0
        if piece.ends:
            return [*texts, rest]
        most = f"{self._most_waiting_bytes >> 20} MiB"
        if self._rule is None:
            raise CannotSplit(f"a document longer than {most}, which cannot be split for this vocabulary")
        raise CannotSplit(f"a document with more than {most} in one piece: {self._rule.missing}")


class SplitText(NamedTuple):
    """Texts to count, from one piece of a document."""

    texts: list[bytes]  # complete ones; the rest of the piece comes with a later one
    size: int  # text bytes of the piece
    ends: bool  # whether the document ends with this piece
    refused: str = ""  # why the document does not count, where it cannot be split; drop its earlier texts


def split_texts(pieces: Iterable[Chunk], rule: SplitRule | None, continued: bool = False) -> Iterator[SplitText]:
    """Split documents into texts to count; of a refused document only the end is yielded.

    `continued` where the first document was cut by the rule, and this is not its beginning.
    """
    splitter = DocumentSplitter(rule)
    refused, opened = "", False
    dropped = rule.dropped if rule and continued else 0
    for given in pieces:
        piece, size = given._replace(text=given.text[dropped:]) if dropped else given, len(given.text)
        dropped = 0
        if piece.ends and not opened and len(piece.text) <= TEXT_BYTES:
            yield SplitText([piece.text] if piece.text else [], size, True)
            continue
        opened = not piece.ends
        if not refused:
            try:
                texts = [text for text in splitter.feed(piece) if text]
            except CannotSplit as error:
                refused = str(error)
            else:
                yield SplitText(texts, size, piece.ends)
        if refused and piece.ends:
            yield SplitText([], 0, True, refused)
            refused = ""
