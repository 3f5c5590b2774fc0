"""Opening listed files: local files, objects behind URLs and standard input."""

from __future__ import annotations

import os
import stat
import sys

from ingest.corpus.files.object_store import RemoteSource, read_small_object
from ingest.corpus.files.source import CHANGED, STANDARD_INPUT, Meter, Positioned, Source, Unreadable, is_remote, system_reason
from ingest.corpus.types import CorpusFile


class LocalSource(Positioned):
    def __init__(self, file: CorpusFile, meter: Meter) -> None:
        try:
            # the reader must not wait for a pipe that replaced the file
            self._descriptor = os.open(file.location, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise Unreadable(file.path, system_reason(error)) from None
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise Unreadable(file.path, "no longer a regular file")
        self._opened = (status.st_size, status.st_mtime_ns)
        super().__init__(file.path, status.st_size, meter)

    def fetch(self, offset: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, offset)
            while len(data) < size and (more := os.pread(self._descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise Unreadable(self.path, system_reason(error)) from None
        return data

    def finish(self) -> None:
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != self._opened:
            raise Unreadable(self.path, CHANGED)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self._descriptor)


class StandardInput:
    """Standard input: of unknown size, and read once except for its first bytes."""

    #: first bytes that are kept, because detecting the format may need them twice
    KEPT_BYTES = 2**24

    def __init__(self, path: str, meter: Meter) -> None:
        self.path = path
        self.size = sys.maxsize
        self.closed = False
        self._meter = meter
        self._kept = b""
        self._position = 0

    def read(self, size: int = -1) -> bytes:
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
        if whence != os.SEEK_SET or not offset <= self._position <= len(self._kept):
            raise Unreadable(self.path, "standard input does not allow the seeks that this format needs")
        self._position = offset
        return offset

    def tell(self) -> int:
        return self._position

    def finish(self) -> None:
        """Do nothing: standard input cannot change."""

    def close(self) -> None:
        self.closed = True


def read_small(file: CorpusFile, meter: Meter) -> bytes | None:
    """Return the bytes of a small file with one request; None if that fails or its size has changed."""
    remote = is_remote(file.location)
    # storage of an unknown size lists 0 B
    if file.location == STANDARD_INPUT or (remote and not file.stored_bytes):
        return None
    try:
        data = read_small_object(file) if remote else _read_small_file(file)
    except (OSError, Unreadable):
        return None
    if len(data) != file.stored_bytes:
        return None
    meter.stored_bytes = len(data)
    meter.bytes_read += len(data)
    return data


def _read_small_file(file: CorpusFile) -> bytes:
    descriptor = os.open(file.location, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, file.stored_bytes + 1)
    finally:
        os.close(descriptor)


def open_file(file: CorpusFile, meter: Meter) -> Source:
    """Open a listed file.

    Raises:
        Unreadable: the file vanished, may not be read, or is not a regular file any more.
    """
    if file.location == STANDARD_INPUT:
        return StandardInput(file.path, meter)
    if is_remote(file.location):
        return RemoteSource(file, meter)
    return LocalSource(file, meter)
