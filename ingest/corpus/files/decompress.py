"""Decompression of gzip, bz2, xz and zstd files in bounded memory; a truncated file is an error."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ingest.corpus.files.names import MAGIC
from ingest.corpus.files.source import BorrowedSource, Meter, Source, Unreadable

#: read from storage at a time
INPUT_BYTES = 2**20
#: output of a decompressor per read, which bounds the memory of a decompression bomb
OUTPUT_BYTES = 2**22
#: a zstd file may begin with skippable frames, which carry one of sixteen magic numbers
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
#: share of the free temporary disk space that one file may use
MOST_OF_ROOM = 0.5


class Stream(Protocol):
    """A sequential reader of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return between 1 and `size` bytes; none at the end."""


class _Input:
    """A buffered source: the decompressors of the standard library read in small steps."""

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._held = io.BytesIO(head)
        self.at_end = False

    def read(self, size: int) -> bytes:
        data = self._held.read(size)
        while len(data) < size and (more := self._source.read(max(size, INPUT_BYTES))):
            self._held = io.BytesIO(more)
            data += self._held.read(size - len(data))
        self.at_end = not data
        return data


_FILES: dict[str, Callable[[Any], Stream]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    "xz": lambda file: lzma.LZMAFile(file, format=lzma.FORMAT_XZ),  # noqa: SIM115
    "bz2": bz2.BZ2File,
}


class Decompressed:
    """The contents of a compressed file with any number of members or frames."""

    def __init__(self, source: Source, compression: str) -> None:
        self._path = source.path
        self._compression = compression
        head = source.read(len(MAGIC[compression]))
        if head and not (head == MAGIC[compression] or (compression == "zstd" and head[1:] == ZSTD_SKIPPABLE)):
            raise Unreadable(source.path, f"other bytes instead of its {compression} data")
        self._input = _Input(source, head)
        self._file: Any = None
        if head and compression == "zstd":
            import pyarrow

            # Arrow closes what it reads; `zstandard` does not notice that a file is truncated
            self._file = pyarrow.CompressedInputStream(pyarrow.PythonFile(BorrowedSource(source, head), mode="r"), "zstd")
        elif head:
            self._file = _FILES[compression](self._input)

    def read(self, size: int, /) -> bytes:
        if self._file is None:
            return b""
        try:
            data: bytes = self._file.read(size)
        except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, EOFError) or "Truncated" in str(error):
                raise Unreadable(self._path, f"truncated: its {self._compression} data has no end") from None
            raise Unreadable(self._path, f"broken {self._compression} data: {error}") from None
        # bz2 and lzma stop silently at data of another format
        if not data and self._compression in ("bz2", "xz") and not self._input.at_end:
            raise Unreadable(self._path, f"other bytes after the end of its {self._compression} data")
        return data


def decompressed(source: Source, compression: str) -> Stream:
    """Return the decompressed contents of a source, or the source itself if it is not compressed.

    Raises Unreadable: now or during a read, if the data is broken, truncated or of another format.
    """
    return Decompressed(source, compression) if compression else source


@contextmanager
def decompressed_to_disk(source: Source, compression: str) -> Iterator[Source]:
    """Decompress a file whose format needs seeking into a temporary file, deleted at the end of the block.

    Raises Unreadable: the file is broken, or needs more than half of the free temporary disk space.
    """
    with tempfile.TemporaryFile() as file:
        room = int(shutil.disk_usage(tempfile.gettempdir()).free * MOST_OF_ROOM)
        stream = decompressed(source, compression)
        try:
            while data := stream.read(OUTPUT_BYTES):
                file.write(data)
                if file.tell() > room:
                    raise Unreadable(source.path, f"decompresses to more than {room} B, half of the room for temporary files")
        except OSError as error:
            raise Unreadable(source.path, f"cannot be decompressed into a temporary file: {error.strerror}") from None
        yield Source(source.path, file.tell(), Meter(), file)
