"""Opening listed files: local files, objects behind URLs and standard input."""

from __future__ import annotations

import os
import stat
import sys

from ingest.corpus.files.object_store import RemoteSource, read_small_object
from ingest.corpus.files.source import CHANGED, STANDARD_INPUT, Meter, Positioned, Source, Unreadable, is_remote, system_reason
from ingest.corpus.types import CorpusFile


class LocalSource(Positioned):
    """A file of this machine."""

    def __init__(self, found: CorpusFile, meter: Meter) -> None:
        try:
            # a pipe that took the place of the file must not make the reader wait
            self._descriptor = os.open(found.location, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise Unreadable(found.path, system_reason(error)) from None
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise Unreadable(found.path, "no longer a regular file")
        self._opened = (status.st_size, status.st_mtime_ns)
        super().__init__(found.path, status.st_size, meter)

    def fetch(self, offset: int, size: int) -> bytes:
        """Return exactly these bytes, or fewer if the file has shrunk."""
        try:
            data = os.pread(self._descriptor, size, offset)
            while len(data) < size and (more := os.pread(self._descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise Unreadable(self.path, system_reason(error)) from None
        return data

    def finish(self) -> None:
        """Say that all has been read; see `Source`."""
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != self._opened:
            raise Unreadable(self.path, CHANGED)

    def close(self) -> None:
        """Let the file go."""
        if not self.closed:
            self.closed = True
            os.close(self._descriptor)


class StandardInput:
    """What is piped into the command: of unknown size, and read once, but for its first bytes."""

    #: so many are kept, because a format may have to be tried
    KEPT_BYTES = 2**24

    def __init__(self, path: str, meter: Meter) -> None:
        self.path = path
        self.size = sys.maxsize
        self.closed = False
        self._meter = meter
        self._kept = b""
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; see `Source`."""
        data = self._kept[self._position :][: size if size >= 0 else None] or self._piped(size)
        self._position += len(data)
        return data

    def _piped(self, size: int) -> bytes:
        if sys.stdin is None:
            raise Unreadable(self.path, "standard input is closed")
        try:
            data = sys.stdin.buffer.read(size)
        except OSError as error:
            raise Unreadable(self.path, system_reason(error)) from None
        if self._position == len(self._kept) and self._position + len(data) <= self.KEPT_BYTES:
            self._kept += data
        else:
            self._kept = b""
        self._meter.bytes_read += len(data)
        self._meter.stored_bytes += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go back to a position whose bytes have been kept."""
        if whence != os.SEEK_SET or not offset <= self._position <= len(self._kept):
            raise Unreadable(self.path, "standard input cannot be sought so far, which this format needs")
        self._position = offset
        return offset

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def finish(self) -> None:
        """Nothing can have changed."""

    def close(self) -> None:
        """Leave standard input to its owner."""
        self.closed = True


def read_small(found: CorpusFile, meter: Meter) -> bytes | None:
    """Return the bytes of a small file at the least cost, or nothing if that cannot be done, or it has another size by now."""
    if found.location == STANDARD_INPUT:
        return None
    if is_remote(found.location):
        return read_small_object(found, meter)
    return _whole_small_file(found, meter)


def _whole_small_file(found: CorpusFile, meter: Meter) -> bytes | None:
    try:
        descriptor = os.open(found.location, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        data = os.read(descriptor, found.stored_bytes + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if len(data) != found.stored_bytes:
        return None
    meter.stored_bytes = len(data)
    meter.bytes_read += len(data)
    return data


def open_file(found: CorpusFile, meter: Meter) -> Source:
    """Open a file that was listed.

    Raises:
        Unreadable: it vanished, may not be read, or is no file any more.
    """
    if found.location == STANDARD_INPUT:
        return StandardInput(found.path, meter)
    if is_remote(found.location):
        return RemoteSource(found, meter)
    return LocalSource(found, meter)
