"""Text from all over a corpus: what an engine is tried on, and what a vocabulary is trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from ingest.corpus.opening import STANDARD_INPUT
from ingest.corpus.reading import Meter, Reading, Unreadable, read
from ingest.corpus.terms import Found

#: From each place as much.
GLIMPSE_BYTES = 64 * 1024
#: The engine is checked on about a megabyte, a vocabulary is trained on about 64.
PROOF_PLACES, TRAINING_PLACES = 16, 1024


def proof_of(listing: Sequence[Found], reading: Reading) -> tuple[bytes, ...]:
    """Text on which an engine has to show that it is exact."""
    return tuple(glimpses(listing, reading, PROOF_PLACES))


def training_text(listing: Sequence[Found], reading: Reading) -> Iterator[bytes]:
    """Text that a vocabulary is trained on: always the same for the same corpus."""
    return glimpses(listing, reading, TRAINING_PLACES)


def glimpses(listing: Sequence[Found], reading: Reading, places: int) -> Iterator[bytes]:
    """The beginnings of files at equal distances in the listing; standard input cannot be read twice and gives none."""
    for place in range(min(places, len(listing))):
        found = listing[place * len(listing) // min(places, len(listing))]
        text = b"" if found.location == STANDARD_INPUT else _beginning(found, reading)
        if text:
            yield text


def _beginning(found: Found, reading: Reading) -> bytes:
    """The first text of a file; nothing of one that cannot be read, which counting will name."""
    held: list[bytes] = []
    try:
        with closing(read(found, reading, lambda _: None, Meter())) as pieces:  # type: ignore[type-var]
            for piece in pieces:
                held.append(piece.text)
                if sum(map(len, held)) >= GLIMPSE_BYTES:
                    break
    except Unreadable:
        return b""
    return b" ".join(held)[:GLIMPSE_BYTES].decode("utf-8", "ignore").encode("utf-8")
