"""Splitting documents of any size where that changes no count, so that they are counted in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ingest.corpus.tokenizers.split_points import SplitRule, split_rule_of
from ingest.corpus.types import Chunk
from ingest.errors import IngestError

if TYPE_CHECKING:
    from ingest.corpus.tokenizers.engine_choice import Engine
    from ingest.corpus.types import Vocabulary


#: a text is split at the first safe place after this many bytes
TEXT_BYTES = 1 << 20

#: the most bytes of a document that wait for a safe place
MOST_WAITING_BYTES = 4 << 20

#: distance of the splits in the check on real text
CHECK_BYTES = 1 << 10

#: the longest spelling that a pattern looks ahead to
_REACH = 8


class CannotSplit(IngestError):
    """A document longer than `MOST_WAITING_BYTES` without a place where a split changes no count."""


def split(text: bytes, rule: SplitRule, text_bytes: int = TEXT_BYTES) -> Iterator[bytes]:
    """The text in parts whose counts add up to that of the text; each a little longer than `text_bytes`.

    >>> from ingest.corpus.tokenizers.split_points import BEFORE_STOP
    >>> list(split(b"three short words", BEFORE_STOP, text_bytes=4))
    [b'three', b' short', b' words']
    """
    yield from DocumentSplitter(rule, text_bytes).feed(Chunk(text, ends=True))


class DocumentSplitter:
    """Takes documents piece by piece and returns texts to count, whose counts add up to those of the documents.

    >>> from ingest.corpus.tokenizers.split_points import BEFORE_STOP
    >>> from ingest.corpus.types import Chunk
    >>> splitter = DocumentSplitter(BEFORE_STOP, text_bytes=4)
    >>> splitter.feed(Chunk(b"three sho", ends=False)), splitter.feed(Chunk(b"rt words", ends=True))
    ([b'three'], [b' short', b' words'])
    """

    def __init__(
        self, rule: SplitRule | None, text_bytes: int = TEXT_BYTES, most_waiting_bytes: int = MOST_WAITING_BYTES
    ) -> None:
        self._rule = rule
        self._text_bytes = text_bytes
        self._most_waiting_bytes = most_waiting_bytes
        self._waiting = b""
        self._searched = 0

    def feed(self, piece: Chunk) -> list[bytes]:
        """The texts that this piece completes.

        Raises:
            CannotSplit: too much text waits. It is dropped; the caller must pass over the rest of the document.
        """
        self._waiting += piece.text
        texts = list(self._split_off())
        if piece.ends:
            texts.append(self._waiting)
            self._clear()
        elif len(self._waiting) > self._most_waiting_bytes:
            self._clear()
            most = f"{self._most_waiting_bytes >> 20} MiB"
            if self._rule is None:
                raise CannotSplit(f"a document longer than {most}, which cannot be split for this vocabulary")
            raise CannotSplit(f"a document with more than {most} in one piece: {self._rule.missing}")
        return texts

    def _clear(self) -> None:
        self._waiting = b""
        self._searched = 0

    def _split_off(self) -> Iterator[bytes]:
        start = 0
        while self._rule and len(self._waiting) - start > self._text_bytes:
            place = self._rule.pattern.search(self._waiting, max(start + self._text_bytes, self._searched))
            if place is None:
                self._searched = len(self._waiting) - _REACH
                break
            yield self._waiting[start : place.end()]
            start = place.end() + self._rule.dropped
        self._waiting = self._waiting[start:]
        self._searched = max(0, self._searched - start)


def split_rule_for(vocabulary: Vocabulary, engine: Engine, proof: Sequence[bytes]) -> SplitRule | None:
    """Where texts may be split, checked on the first part of the real input.

    Returns:
        None where no safe place is known, or where splitting changed a count: then documents are counted whole.
    """
    rule = split_rule_of(vocabulary)
    return rule if rule and adds_up(rule, engine, proof) else None


def adds_up(rule: SplitRule, engine: Engine, texts: Iterable[bytes]) -> bool:
    """Whether the counts of the parts of each text add up to that of the text."""
    whole = list(texts)
    parts = [list(split(text, rule, CHECK_BYTES)) for text in whole]
    counts = iter(engine.count([part for text in parts for part in text]))
    return engine.count(whole) == [sum(next(counts) for _ in text) for text in parts]


class SplitText(NamedTuple):
    """Texts to count, from one piece of a document."""

    texts: list[bytes]  # complete ones; the rest of the piece comes with a later one
    size: int  # text bytes of the piece
    ends: bool  # whether the document ends with this piece
    refused: str = ""  # why the document does not count, where it cannot be split; drop its earlier texts


def split_texts(pieces: Iterable[Chunk], rule: SplitRule | None) -> Iterator[SplitText]:
    """Split documents into texts to count; of a refused document only the end is yielded.

    >>> from ingest.corpus.types import Chunk
    >>> [part.texts for part in split_texts([Chunk(b"one ", False), Chunk(b"two", True), Chunk(b"", True)], None)]
    [[], [b'one two'], []]
    """
    splitter = DocumentSplitter(rule)
    refused, opened = "", False
    for piece in pieces:
        if piece.ends and not opened and len(piece.text) <= TEXT_BYTES:
            yield SplitText([piece.text] if piece.text else [], len(piece.text), True)
            continue
        opened = not piece.ends
        if not refused:
            try:
                texts = [text for text in splitter.feed(piece) if text]
            except CannotSplit as error:
                refused = str(error)
            else:
                yield SplitText(texts, len(piece.text), piece.ends)
        if refused and piece.ends:
            yield SplitText([], 0, True, refused)
            refused = ""
