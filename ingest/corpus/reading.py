"""Reading a listed file: its documents, piece by piece, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.corpus.compression import Stream, unfolded
from ingest.corpus.formats.jsonl import read_jsonl
from ingest.corpus.formats.rows import DEFAULT_FIELD
from ingest.corpus.formats.text import PIECE_BYTES, read_text
from ingest.corpus.names import kind_by_magic
from ingest.corpus.opening import Meter, Source, Unreadable, open_found
from ingest.corpus.terms import Found, Note, Piece

__all__ = ["Meter", "Reading", "Unreadable", "read"]


@dataclass(frozen=True)
class Reading:
    """How documents are found in files.

    Attributes:
        text_field: the field or column that holds the text, as a dotted path; nothing for `text`.
    """

    text_field: str = ""

    @property
    def field(self) -> str:
        """The field that is read."""
        return self.text_field or DEFAULT_FIELD


def read(found: Found, reading: Reading, note: Note, meter: Meter | None = None) -> Iterator[Piece]:
    """Yield the documents of a file, in pieces of at most 8 MiB.

    Args:
        found: the file, as listed.
        reading: which field holds the text.
        note: called with what is left out although the rest of the file counts.
        meter: told what storage holds of the file and what was moved from it.

    Raises:
        Unreadable: the file cannot be counted; what was yielded of it must be dropped.
    """
    source = open_found(found, meter or Meter())
    try:
        if found.compression or found.format != "text":
            yield from _documents(source, found, reading, note)
        else:
            yield from _plain(source, found, reading, note)
        source.finish()
    finally:
        source.close()


def _plain(source: Source, found: Found, reading: Reading, note: Note) -> Iterator[Piece]:
    """Yield the document of a file that is text by its name, or what it really is by its first bytes."""
    head = source.read(PIECE_BYTES)
    kind = kind_by_magic(head)
    if kind is None:
        yield from read_text(source, found.path, head)
    else:
        source.seek(0)
        yield from _documents(source, found._replace(format=kind[0], compression=kind[1]), reading, note)


def _documents(source: Source, found: Found, reading: Reading, note: Note) -> Iterator[Piece]:
    stream = unfolded(source, found.compression)
    yield from _of_format(stream, found, reading, note)


def _of_format(stream: Stream, found: Found, reading: Reading, note: Note) -> Iterator[Piece]:
    if found.format == "jsonl":
        return read_jsonl(stream, found.path, reading.field, note)
    return read_text(stream, found.path)
