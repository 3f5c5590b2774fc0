"""The things that pass between listing, reading, counting and sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Found(NamedTuple):
    """A file of the corpus.

    Attributes:
        path: as it is shown, and by which it is sorted: below the argument's root, with `/`; or a URL.
        location: what is opened: a local path, an fsspec URL, or `-` for standard input.
        stored_bytes: what storage holds, when it was listed.
        stamp: modification time in nanoseconds, or an object's version: a file that changed has another one.
        format: `text`, `jsonl`, `csv`, `tsv`, `parquet`, `arrow`, `tar`, `warc`.
        compression: `gzip`, `zstd`, `xz`, `bz2`, or nothing.
    """

    path: str
    location: str
    stored_bytes: int
    stamp: str
    format: str
    compression: str


class Skipped(NamedTuple):
    """What was not counted, and why.

    Attributes:
        path: of the file.
        reason: why; of lines, rows, records and members within the file also which ones.
        number: how many.
    """

    path: str
    reason: str
    number: int = 1


class Piece(NamedTuple):
    """A part of a document: valid UTF-8, cut between characters; `ends` where the document does."""

    text: bytes
    ends: bool


#: called with whatever a reader leaves out although the rest of the file counts
Note = Callable[[Skipped], None]


class Tally(NamedTuple):
    """What has been counted.

    Attributes:
        files: files read whole.
        documents: lines, rows, members or files, by format.
        stored_bytes: what storage holds of them.
        text_bytes: UTF-8 bytes of their text.
        tokens: tokens of the text.
        bytes_read: what was moved from storage for it.
    """

    files: int = 0
    documents: int = 0
    stored_bytes: int = 0
    text_bytes: int = 0
    tokens: int = 0
    bytes_read: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together.

        >>> Tally(1, 10).plus(Tally(2, 5))[:2]
        (3, 15)
        """
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))
