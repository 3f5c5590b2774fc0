"""Tar archives, such as WebDataset's, read sequentially by `tarfile` without extraction to disk."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ingest.corpus.files.decompress import Stream
from ingest.corpus.files.file_kind import kind_of, printable, suffix_of
from ingest.corpus.files.source import BorrowedSource, FileSource, Source, Unreadable
from ingest.corpus.formats.buffered import BufferedReader
from ingest.corpus.formats.rows import LIMIT_BYTES, TOO_LONG
from ingest.corpus.types import Chunk, Note, SkippedFile

BLOCK = 512
#: larger extended headers are refused: they come only from broken or malicious archives
MOST_HEADER_BYTES = 2**20
_EXTENSIONS: tuple[Any, ...] = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
#: what `tarfile` raises at broken archives
_ERRORS = (tarfile.TarError, EOFError, ValueError, OverflowError)
_KINDS: dict[Any, str] = {
    tarfile.LNKTYPE: "a link",
    tarfile.SYMTYPE: "a link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}
#: formats that need seeking, and archives in archives
_NOT_WITHIN = ("parquet", "arrow", "tar")
#: first bytes of a member that are enough to detect binary data
HEAD_BYTES = 2**16
#: yields the documents of a member, held in memory, given its format and compression
DocumentsOf = Callable[[Source, str, str, Note], Iterable[Chunk]]


class _Header(tarfile.TarInfo):
    """A member's header; `tarfile` by itself ends silently at a broken header, and reads headers of any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header that a block holds."""
        if (header := cls._plain_file(buf, encoding, errors)) is not None:
            return header
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):
                raise  # the end of the archive
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > MOST_HEADER_BYTES):
            raise tarfile.ReadError(f"a tar header of {header.size} bytes")
        return header

    @classmethod
    def _plain_file(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self | None:
        """Return the name and size of a regular file without a prefix, the usual header, in a third of the time."""
        if len(buf) != BLOCK or buf[156:157] != tarfile.REGTYPE or buf[345]:
            return None
        name, size, checksum = (buf[start:stop].partition(b"\0")[0] for start, stop in ((0, 100), (124, 136), (148, 156)))
        if not size.isdigit() or not checksum.isdigit() or int(checksum, 8) != sum(buf) - sum(buf[148:156]) + 8 * 32:
            return None
        header = cls(name.decode(encoding, errors))
        header.size = int(size, 8)
        return header


class _Forward:
    """A forward-only file object over a stream, much faster than the stream mode of `tarfile`."""

    def __init__(self, stream: Stream) -> None:
        self._window = BufferedReader(stream)
        self._position = 0

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        if position < self._position:
            raise tarfile.StreamError("a member inside another member")
        if not self._window.skip(position - self._position):
            raise tarfile.ReadError("unexpected end of data")
        self._position = position

    def read(self, size: int) -> bytes:
        data = self._window.exactly(size)
        self._position += len(data)
        return data


class Archive:
    """A tar archive read sequentially from a stream, or from a seekable file object, in which unread members are skipped.

    Raises:
        Unreadable: the archive is broken or truncated; raised by every method.
    """

    def __init__(self, path: str, file: Stream | BorrowedSource) -> None:
        self._path = path
        archive: Any = file if isinstance(file, BorrowedSource) else _Forward(file)
        self._file = archive
        try:
            self._tar = tarfile.TarFile(fileobj=archive, tarinfo=_Header, encoding="utf-8", errors="surrogateescape")
        except _ERRORS as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> Unreadable:
        return Unreadable(self._path, f"broken or truncated tar: {str(error)[:200]}")

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield the members that are not folders."""
        while (member := self._next()) is not None:
            if not member.isdir():
                yield member

    def _next(self) -> tarfile.TarInfo | None:
        tar: Any = self._tar
        try:
            if isinstance(self._file, _Forward) and tar.firstmember is None:
                self._file.seek(tar.offset)  # `tarfile` would stop one byte before, and read that
            member: tarfile.TarInfo | None = tar.next()
        except _ERRORS as error:
            raise self._broken(error) from None
        if member is not None and member.size < 0:
            raise self._broken(ValueError(f"a member of {member.size} bytes"))
        tar.members = []  # a million headers are not kept
        return member

    def read(self, size: int) -> bytes:
        """Return the next bytes of the current member, which must have as many."""
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise Unreadable(self._path, "truncated: the archive ends within a member")
        return data


class _SkippedMember(Exception):
    """A member is skipped, with the reason."""


class _SkippedMembers:
    """Skipped members, by suffix and reason: the first is named, the others are counted."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._first: dict[tuple[str, str], str] = {}
        self._times = Counter[tuple[str, str]]()

    def add(self, name: str, reason: str) -> None:
        key = (suffix_of(name), reason)
        self._first.setdefault(key, name)
        self._times[key] += 1

    def tell(self, note: Note) -> None:
        for (suffix, reason), times in self._times.items():
            more = f" and {times - 1} more {suffix or 'without a suffix'}" if times > 1 else ""
            note(SkippedFile(self._path, f"member {self._first[suffix, reason]}{more}: {reason}", times))


def read_members(stream: Stream, path: str, note: Note, documents_of: DocumentsOf) -> Iterator[Chunk]:
    """Yield the documents of text members, each read by the format of its name; other members are skipped.

    Raises:
        Unreadable: the archive is broken or truncated.
    """
    left_out = _SkippedMembers(path)
    archive = Archive(path, stream)
    for member in archive.members():
        name = printable(member.name)
        try:
            yield from _documents(archive, member, name, note, documents_of)
        except _SkippedMember as reason:
            left_out.add(name, str(reason))
    left_out.tell(note)


def _documents(archive: Archive, member: tarfile.TarInfo, name: str, note: Note, documents_of: DocumentsOf) -> list[Chunk]:
    """Return the documents of a member, which counts completely or not at all."""
    form, compression = kind_of(name)
    if kind := _not_a_file(member):
        raise _SkippedMember(kind)
    if form in _NOT_WITHIN:
        raise _SkippedMember(f"{form} within tar is not read")
    if member.size > LIMIT_BYTES:
        raise _SkippedMember(TOO_LONG)
    head = archive.read(min(member.size, HEAD_BYTES))
    if form == "text" and not compression and b"\0" in head:
        raise _SkippedMember("binary")
    held = io.BytesIO(head if len(head) == member.size else head + archive.read(member.size - len(head)))
    held.seek(0, io.SEEK_END)
    try:
        return _within_limit(documents_of(FileSource(name, held), form, compression, note))
    except Unreadable as error:
        raise _SkippedMember(error.reason.partition(" at byte ")[0]) from None


def _not_a_file(member: tarfile.TarInfo) -> str:
    """Return the kind of a member that is not a regular file; empty for a regular file."""
    if member.issparse():
        return "a sparse file"
    return "" if member.isreg() else _KINDS.get(member.type, "of an unknown kind")


def _within_limit(pieces: Iterable[Chunk]) -> list[Chunk]:
    kept, size = [], 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece.text)
        if size > LIMIT_BYTES:
            raise _SkippedMember(f"unfolded {TOO_LONG}")
    return kept
