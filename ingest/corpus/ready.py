"""From the pieces of a file to texts that an engine can count, whatever the length of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ingest.corpus.cutting import TEXT_BYTES, CannotCut, Cuts, Stitcher
from ingest.corpus.terms import Piece


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


def ready(pieces: Iterable[Piece], cuts: Cuts | None) -> Iterator[Ready]:
    """Make pieces ready to be counted; of a refused document only its end is told.

    >>> [part.texts for part in ready([Piece(b"one ", False), Piece(b"two", True), Piece(b"", True)], None)]
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
