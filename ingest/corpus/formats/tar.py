"""Tar archives, WebDataset's among them: members that are text, read in sequence and never written anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ingest.corpus.compression import Stream
from ingest.corpus.formats.window import Window
from ingest.corpus.opening import Unreadable

BLOCK = 512
#: longer names and extended headers belong to no archive that was made in earnest
MOST_HEADER_BYTES = 2**20
NO_TAR = "no tar archive, or a broken one"
CUT_SHORT = "truncated: the archive ends within a member"
_REGULAR = (b"0", b"\0", b"7")
_FOLDER = b"5"
_KINDS = {
    b"1": "a link",
    b"2": "a link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
    b"M": "a part of a file",
}


class Member(NamedTuple):
    """A member of an archive; `odd` says what it is if it is no file."""

    name: bytes
    size: int
    odd: str


class Archive:
    """A tar stream: ask for the next member, then read it or not."""

    def __init__(self, stream: Stream, path: str) -> None:
        self._window = Window(stream)
        self._path = path
        self._left = 0
        self._padding = 0

    def members(self) -> Iterator[Member]:
        """Yield the members that are no folders.

        Raises:
            Unreadable: the archive is broken or truncated.
        """
        long_name: bytes | None = None
        extended: dict[bytes, bytes] = {}
        while header := self._header():
            size, kind = self._number(header[124:136]), header[156:157]
            if kind in (b"L", b"K", b"x", b"g", b"X"):
                content = self._extension(size)
                if kind == b"L":
                    long_name = content.rstrip(b"\0")
                elif kind in (b"x", b"X"):
                    extended = _records(content)
                continue
            size = self._number_of(extended.get(b"size"), size)
            self._expect(size)
            if kind != _FOLDER:
                name = extended.get(b"path") or long_name or _name(header)
                yield Member(name, size, "a sparse file" if _sparse(extended) else _odd(kind))
            self.skip()
            long_name, extended = None, {}

    def read(self, size: int, /) -> bytes:
        """Return the next bytes of the member; none at its end."""
        data = self._window.read(min(size, self._left)) if self._left else b""
        if self._left and not data:
            raise Unreadable(self._path, CUT_SHORT)
        self._left -= len(data)
        return data

    def rest(self) -> bytes:
        """Return what is left of the member."""
        data = self._window.exactly(self._left) if self._left else b""
        if len(data) < self._left:
            raise Unreadable(self._path, CUT_SHORT)
        self._left = 0
        return data

    def skip(self) -> None:
        """Go behind the member."""
        if not self._window.skip(self._left + self._padding):
            raise Unreadable(self._path, CUT_SHORT)
        self._left = self._padding = 0

    def _expect(self, size: int) -> None:
        self._left = size
        self._padding = -size % BLOCK

    def _extension(self, size: int) -> bytes:
        if size > MOST_HEADER_BYTES:
            raise Unreadable(self._path, f"a tar header of {size} bytes")
        self._expect(size)
        content = self.rest()
        self.skip()
        return content

    def _header(self) -> bytes:
        """Return the next header; nothing at the archive's end, which is a block of zeros or the stream's end."""
        header = self._window.exactly(BLOCK)
        if not header or not header.strip(b"\0"):
            return b""
        if len(header) < BLOCK:
            raise Unreadable(self._path, "truncated: the archive ends within a header")
        total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
        if total != self._number(header[148:156]):
            raise Unreadable(self._path, NO_TAR)
        return header

    def _number(self, field: bytes) -> int:
        if field[0] & 0x80:
            return self._number_of(b"%d" % int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big"), 0)
        try:
            return int(field.strip(b" \0") or b"0", 8)
        except ValueError:
            raise Unreadable(self._path, NO_TAR) from None

    def _number_of(self, written: bytes | None, otherwise: int) -> int:
        if written is None:
            return otherwise
        if not written.isdigit() or len(written) > len(str(2**63)):
            raise Unreadable(self._path, NO_TAR)
        return int(written)


def _odd(kind: bytes) -> str:
    return "" if kind in _REGULAR else _KINDS.get(kind, "of an unknown kind")


def _sparse(extended: dict[bytes, bytes]) -> bool:
    return any(key.startswith(b"GNU.sparse.") for key in extended)


def _name(header: bytes) -> bytes:
    name, prefix = header[:100].partition(b"\0")[0], header[345:500].partition(b"\0")[0]
    return prefix + b"/" + name if prefix and header[257:263] == b"ustar\0" else name


def _records(content: bytes) -> dict[bytes, bytes]:
    """Return the records `length key=value` of an extended header."""
    records = {}
    while content.strip(b"\0"):
        length = content.partition(b" ")[0]
        if not length.isdigit() or not 0 < int(length[:9]) <= len(content):
            break
        key, _, value = content[len(length) + 1 : int(length) - 1].partition(b"=")
        records[key] = value
        content = content[int(length) :]
    return records
