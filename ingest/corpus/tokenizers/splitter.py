"""Counting documents of any size in bounded memory: cutting them where a cut changes no count.

A vocabulary cuts text into words before it looks for tokens, and tokens never reach over the end of a word. The patterns known
here read from left to right and look back at nothing, and in all of them a word that ends in a letter or digit is over where a
space, a line break or a stop follows. So the text after such a place is cut into the same words whether or not the text before
it is there. Byte-level vocabularies have more such places: see `narrow_places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ingest.corpus.tokenizers.split_points import places_within
from ingest.corpus.types import Chunk
from ingest.errors import IngestError

if TYPE_CHECKING:
    from ingest.corpus.tokenizers.engine_choice import Engine
    from ingest.corpus.tokenizers.vocabulary import Vocabulary


#: a text is cut off at the first safe place after this much
TEXT_BYTES = 1 << 20

#: what is held of a document while no safe place has come
HELD_BYTES = 4 << 20

#: distance of the cuts when they are tried on real text
TRIED_BYTES = 1 << 10

#: the longest spelling of what a place is recognized by
_REACH = 8

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
class Cuts:
    """Where the texts of a vocabulary may be cut.

    Attributes:
        place: matches up to the end of the left part, over the bytes of UTF-8.
        dropped: bytes at the beginning of the right part that the vocabulary puts before every text by itself.
        lacking: what a text lacks that has no such place.
    """

    place: re.Pattern[bytes]
    dropped: int = 0
    lacking: str = "no end of a word, where this vocabulary could be cut"


def _before(what_follows: bytes) -> re.Pattern[bytes]:
    return re.compile(b"(?:" + _LETTERS + b")(?=" + what_follows + b")")


BEFORE_STOP = Cuts(_before(_STOPS))
BEFORE_BLANK = Cuts(_before(rb"[ \n]"))
BEFORE_SPACE = Cuts(_before(b" (?:" + _LETTERS + b")"))
INSTEAD_OF_SPACE = Cuts(_before(b" (?:" + _LETTERS + b")"), dropped=1)


def within_words(contents: Iterable[str]) -> Cuts:
    """Between words, numbers, marks and lines too, but not within these tokens."""
    lacking = "no end of a word, number or line, where this vocabulary could be cut"
    return Cuts(places_within(_LETTERS, BEFORE_STOP.place.pattern, contents), lacking=lacking)


class CannotCut(IngestError):
    """A document that is longer than what can be held, and has no place where a cut changes no count."""


def cut(text: bytes, cuts: Cuts, text_bytes: int = TEXT_BYTES) -> Iterator[bytes]:
    """The text in parts whose counts add up to the count of the whole; each a little longer than `text_bytes`.

    >>> list(cut(b"three short words", BEFORE_STOP, text_bytes=4))
    [b'three', b' short', b' words']
    """
    start = 0
    while place := cuts.place.search(text, start + text_bytes):
        yield text[start : place.end()]
        start = place.end() + cuts.dropped
    yield text[start:]


class Stitcher:
    """Takes pieces of documents as they are read, and hands out texts that are ready to be counted.

    The counts of a document's texts add up to the count of the document.

    >>> stitcher = Stitcher(BEFORE_STOP, text_bytes=4)
    >>> stitcher.feed(Chunk(b"three sho", ends=False)), stitcher.feed(Chunk(b"rt words", ends=True))
    ([b'three'], [b' short', b' words'])
    """

    def __init__(self, cuts: Cuts | None, text_bytes: int = TEXT_BYTES, held_bytes: int = HELD_BYTES) -> None:
        self._cuts = cuts
        self._text_bytes = text_bytes
        self._held_bytes = held_bytes
        self._held = b""
        self._searched = 0

    def feed(self, piece: Chunk) -> list[bytes]:
        """The texts that are complete with this piece.

        Raises:
            CannotCut: more would have to be held than is allowed. What was held is forgotten; the caller passes over the rest
                of the document.
        """
        self._held += piece.text
        texts = list(self._cut_off())
        if not piece.ends:
            self._refuse_if_too_long()
            return texts
        texts.append(self._held)
        self.abandon()
        return texts

    def abandon(self) -> None:
        """Forget what is held of a document that will not be finished."""
        self._held = b""
        self._searched = 0

    def _cut_off(self) -> Iterator[bytes]:
        start = 0
        while self._cuts and len(self._held) - start > self._text_bytes:
            place = self._cuts.place.search(self._held, max(start + self._text_bytes, self._searched))
            if place is None:
                self._searched = len(self._held) - _REACH
                break
            yield self._held[start : place.end()]
            start = place.end() + self._cuts.dropped
        self._held = self._held[start:]
        self._searched = max(0, self._searched - start)

    def _refuse_if_too_long(self) -> None:
        if len(self._held) <= self._held_bytes:
            return
        self.abandon()
        most = f"{self._held_bytes >> 20} MiB"
        if self._cuts is None:
            raise CannotCut(f"a document longer than {most}, which cannot be cut for this vocabulary")
        raise CannotCut(f"a document with more than {most} in one piece: {self._cuts.lacking}")


def cuts_for(vocabulary: Vocabulary, engine: Engine, proof: Sequence[bytes]) -> Cuts | None:
    """Where texts may be cut: known from how the vocabulary cuts words, and tried on the beginning of the real input.

    Returns:
        Nothing where cutting is not known to be safe, or where it changed a count: then documents are held whole.
    """
    from ingest.corpus.tokenizers.split_points import places_of

    cuts = places_of(vocabulary)
    return cuts if cuts and adds_up(cuts, engine, proof) else None


def adds_up(cuts: Cuts, engine: Engine, texts: Iterable[bytes]) -> bool:
    """Whether the parts of each text count as much as the whole."""
    whole = list(texts)
    parts = [list(cut(text, cuts, TRIED_BYTES)) for text in whole]
    counts = iter(engine.count([part for text in parts for part in text]))
    return engine.count(whole) == [sum(next(counts) for _ in text) for text in parts]


class Ready(NamedTuple):
    """What one piece made ready.

    Attributes:
        texts: to be counted; what is left of the piece comes with a later one.
        size: text bytes of the piece.
        ends: whether a document ends here.
        refused: why the document does not count, where it cannot be cut; what came of it before is to be dropped.
    """

    texts: list[bytes]
    size: int
    ends: bool
    refused: str = ""


def ready(pieces: Iterable[Chunk], cuts: Cuts | None) -> Iterator[Ready]:
    """Make pieces ready to be counted; of a refused document only its end is told.

    >>> [part.texts for part in ready([Chunk(b"one ", False), Chunk(b"two", True), Chunk(b"", True)], None)]
    [[], [b'one two'], []]
    """
    stitcher = Stitcher(cuts)
    refused, opened = "", False
    for piece in pieces:
        if piece.ends and not opened and len(piece.text) <= TEXT_BYTES:
            yield Ready([piece.text] if piece.text else [], len(piece.text), True)
            continue
        opened = not piece.ends
        if not refused:
            try:
                texts = [text for text in stitcher.feed(piece) if text]
            except CannotCut as error:
                refused = str(error)
                stitcher.abandon()
            else:
                yield Ready(texts, len(piece.text), piece.ends)
        if refused and piece.ends:
            yield Ready([], 0, True, refused)
            refused = ""
