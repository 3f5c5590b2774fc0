"""The members of a tar archive as documents: each is read as a file of its name would be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from ingest.corpus.compression import Stream
from ingest.corpus.formats.rows import LIMIT_BYTES, TOO_LONG
from ingest.corpus.formats.tar import Archive, Member
from ingest.corpus.names import kind_of, shown, suffix_of
from ingest.corpus.opening import Unreadable
from ingest.corpus.terms import Note, Piece, Skipped

#: what must be sought, and archives in archives
_NOT_WITHIN = ("parquet", "arrow", "tar")
#: enough of a member to see that it is an image
HEAD_BYTES = 2**16


class Held:
    """A member that is held in memory."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.size = len(content)
        self.closed = False
        self._content = content
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        stop = self.size if size < 0 else self._position + size
        data = self._content[self._position : stop]
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position."""
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def finish(self) -> None:
        """Nothing can have changed."""

    def close(self) -> None:
        """Let it go."""
        self.closed = True


#: yields the documents of a held member of a format and a compression
DocumentsOf = Callable[[Held, str, str, Note], Iterable[Piece]]


class _LeftOut(Exception):
    """A member that does not count, with the reason."""


class _NoText:
    """Members that are no text, by suffix and reason: the first is named, the others are counted."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._first: dict[tuple[str, str], str] = {}
        self._others: dict[tuple[str, str], int] = {}

    def add(self, name: str, reason: str) -> None:
        key = (suffix_of(name), reason)
        if key in self._first:
            self._others[key] = self._others.get(key, 0) + 1
        else:
            self._first[key] = name

    def tell(self, note: Note) -> None:
        for (suffix, reason), first in self._first.items():
            others = self._others.get((suffix, reason), 0)
            more = f" and {others} more {suffix or 'without a suffix'}" if others else ""
            note(Skipped(self._path, f"member {first}{more}: {reason}", 1 + others))


def read_members(stream: Stream, path: str, note: Note, documents_of: DocumentsOf) -> Iterator[Piece]:
    """Yield the documents of the members that are text; the others are noted by suffix.

    Args:
        stream: the archive.
        path: what it is called.
        note: called with what is left out.
        documents_of: yields the documents of a held member of a format and a compression.

    Raises:
        Unreadable: the archive is broken or truncated.
    """
    left_out = _NoText(path)
    archive = Archive(stream, path)
    for member in archive.members():
        name = shown(os.fsdecode(member.name))
        try:
            yield from _documents(archive, member, name, note, documents_of)
        except _LeftOut as reason:
            left_out.add(name, str(reason))
    left_out.tell(note)


def _documents(archive: Archive, member: Member, name: str, note: Note, documents_of: DocumentsOf) -> list[Piece]:
    """Return a member's documents; it counts whole or not at all, so all of it is read before any of it is passed on."""
    form, compression = kind_of(name)
    if member.odd or form in _NOT_WITHIN:
        raise _LeftOut(member.odd or f"{form} within tar is not read")
    if member.size > LIMIT_BYTES:
        raise _LeftOut(TOO_LONG)
    head = archive.read(HEAD_BYTES)
    if b"\0" in head and form == "text" and not compression:
        raise _LeftOut("binary")
    held = Held(name, head + archive.rest())
    try:
        return _within_limit(documents_of(held, form, compression, note))
    except Unreadable as error:
        raise _LeftOut(error.reason.partition(" at byte ")[0]) from None


def _within_limit(pieces: Iterable[Piece]) -> list[Piece]:
    kept, size = [], 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece.text)
        if size > LIMIT_BYTES:
            raise _LeftOut(f"unfolded {TOO_LONG}")
    return kept
