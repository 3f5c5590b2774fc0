"""Sources of bytes: what every reader expects of an opened file, wherever it is stored."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, Protocol

from ingest.corpus.files.file_kind import printable
from ingest.errors import IngestError

CHANGED = "changed while it was read"
VANISHED = "vanished since it was listed"
#: standard input has no name
STANDARD_INPUT = "-"


class Unreadable(IngestError):
    """A file cannot be counted; what was counted of it must be dropped."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"'{path}': {reason}")
        self.path = path  # as shown to the user
        self.reason = reason  # in a few words

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        return Unreadable, (self.path, self.reason)


@dataclass(slots=True)
class Meter:
    """The bytes moved to read a file."""

    stored_bytes: int = 0  # size of the file when it was opened; for standard input, bytes received
    bytes_read: int = 0  # bytes read from storage, also of a file that then failed


class Source(Protocol):
    """An open file, readable at any position up to the size it had when it was opened."""

    path: str
    size: int
    closed: bool

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all remaining bytes for -1."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""

    def tell(self) -> int:
        """Return the position."""

    def finish(self) -> None:
        """Check, after the last read, that the file did not change; raises `Unreadable` if it did."""

    def close(self) -> None:
        """Close the file."""


class Positioned:
    """A source whose bytes can be fetched at any offset."""

    def __init__(self, path: str, size: int, meter: Meter) -> None:
        self.path = path
        self.size = size
        self.closed = False
        self._meter = meter
        self._position = 0
        meter.stored_bytes = size

    def fetch(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes, or fewer if the file has shrunk."""
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        left = self.size - self._position
        wanted = left if size < 0 or size > left else size
        if wanted <= 0:
            return b""
        data = self.fetch(self._position, wanted)
        self._meter.bytes_read += len(data)
        if len(data) != wanted:
            raise Unreadable(self.path, CHANGED)
        self._position += wanted
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def finish(self) -> None:
        """Check that the file did not change; one in memory or on a temporary disk cannot."""

    def close(self) -> None:
        self.closed = True


class FileSource(Positioned):
    """A file object in memory or on the local disk, positioned at its end; reads of it are not metered."""

    def __init__(self, path: str, file: IO[bytes]) -> None:
        super().__init__(path, file.tell(), Meter())
        self._file = file

    def fetch(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)


class BorrowedSource:
    """A source passed to a library that would close it; `head` are bytes already read from it."""

    closed = False

    def __init__(self, source: Source, head: bytes = b"") -> None:
        self._source = source
        self._head = head
        self.seek = source.seek
        self.tell = source.tell

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        return head or self._source.read(size)

    def close(self) -> None:
        """Leave the source open."""


def system_reason(error: OSError) -> str:
    """Return an operating-system error as a reason.

    >>> system_reason(FileNotFoundError(2, "No such file or directory"))
    'vanished since it was listed'
    >>> system_reason(PermissionError(13, "Permission denied"))
    'permission denied'
    """
    if isinstance(error, FileNotFoundError):
        return VANISHED
    return printable((error.strerror or str(error) or type(error).__name__).lower())


def is_remote(location: str) -> bool:
    """Whether a location is a URL.

    >>> is_remote("s3://bucket/key"), is_remote("/data/a.txt")
    (True, False)
    """
    return "://" in location
