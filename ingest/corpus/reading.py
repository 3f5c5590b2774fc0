"""Reading a listed file: its documents, piece by piece, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.corpus.compression import Stream, unfolded
from ingest.corpus.formats.jsonl import read_jsonl
from ingest.corpus.formats.rows import DEFAULT_FIELD
from ingest.corpus.formats.text import PIECE_BYTES, read_text, whole_characters, why_no_text
from ingest.corpus.names import kind_by_magic
from ingest.corpus.opening import Meter, Source, Unreadable, is_local, open_found, whole_small_file
from ingest.corpus.terms import Found, Note, Piece

__all__ = ["Meter", "Reading", "Unreadable", "read"]

#: enough of a file to tell its format
HEAD_BYTES = 2**16


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
    meter = meter or Meter()
    if found.format == "text" and not found.compression and found.stored_bytes <= PIECE_BYTES and is_local(found):
        text = whole_small_file(found, meter)
        if text is not None and not why_no_text(text):
            yield Piece(text, True)
            return
    yield from _from_source(open_found(found, meter), found, reading, note)


def _from_source(source: Source, found: Found, reading: Reading, note: Note) -> Iterator[Piece]:
    try:
        if found.compression or found.format != "text":
            yield from _documents(source, found, reading, note)
        else:
            yield from _plain(source, found, reading, note)
        source.finish()
    finally:
        source.close()


def _plain(source: Source, found: Found, reading: Reading, note: Note) -> Iterator[Piece]:
    """Yield the document of a file that is text by its name, or what its first bytes say if they are no text."""
    head = source.read(PIECE_BYTES)
    kind = kind_by_magic(head) if why_no_text(head[: whole_characters(head[:HEAD_BYTES])]) else None
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
