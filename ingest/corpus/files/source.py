"""Sources of bytes: what every reader expects of an opened file, wherever it is stored."""

from __future__ import annotations

import os
from typing import IO, Protocol

from ingest.corpus.files.file_kind import printable
from ingest.errors import IngestError

CHANGED = "changed while it was read"
VANISHED = "vanished since it was listed"
#: standard input has no name
STANDARD_INPUT = "-"


class Unreadable(IngestError):
    """A file that cannot be counted; what was counted of it must be dropped.

    Attributes:
        path: as it is shown.
        reason: in a few words.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"'{path}': {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        return Unreadable, (self.path, self.reason)


class Meter:
    """What reading has cost.

    Attributes:
        stored_bytes: what storage held of the file when it was opened; for standard input, what came.
        bytes_read: what was moved from storage, also for a file that then failed.
    """

    __slots__ = ("bytes_read", "stored_bytes")

    def __init__(self) -> None:
        self.stored_bytes = 0
        self.bytes_read = 0


class Source(Protocol):
    """An opened file: read in sequence or anywhere, never beyond the size that it had when it was opened."""

    path: str
    size: int
    closed: bool

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many as asked for unless the file ends; all that is left for -1."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""

    def tell(self) -> int:
        """Return the position."""

    def finish(self) -> None:
        """Say that all has been read. Raises `Unreadable` if the file changed meanwhile."""

    def close(self) -> None:
        """Let the file go."""


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
        """Return the next bytes; see `Source`."""
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
        """Go to a position."""
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position


class FileSource(Positioned):
    """A file object in memory or in a temporary file, positioned at its end; reading it moves nothing from storage."""

    def __init__(self, path: str, file: IO[bytes]) -> None:
        super().__init__(path, file.tell(), Meter())
        self._file = file

    def fetch(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes."""
        self._file.seek(offset)
        return self._file.read(size)

    def finish(self) -> None:
        """Nothing can have changed."""

    def close(self) -> None:
        """Leave the file object to its owner."""
        self.closed = True


class BorrowedSource:
    """A source in the hands of a library that would close it; `head` was read from it already."""

    closed = False

    def __init__(self, source: Source, head: bytes = b"") -> None:
        self._source = source
        self._head = head
        self.seek = source.seek
        self.tell = source.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        head, self._head = self._head, b""
        return head or self._source.read(size)

    def close(self) -> None:
        """Leave the source to its owner."""


def system_reason(error: OSError) -> str:
    """Return an error of the system as a reason.

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
