"""Streams out of compressed streams, in bounded memory, and never cut short in silence."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Protocol

from ingest.corpus.opening import Lent, Source, Unreadable

#: read from storage at a time
INPUT_BYTES = 2**20
#: asked of a decompressor at a time, so that a bomb unfolds in slices of this size
OUTPUT_BYTES = 2**22
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bz2": b"BZh"}
#: a zstd stream may begin with frames to be skipped, which carry one of sixteen magic numbers
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"


class Stream(Protocol):
    """Anything that is read in sequence."""

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and at most so many; none at the end."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """`zlib` with the manner of `bz2` and `lzma`: input that does not fit into the output is kept."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Gzip,
    "xz": lzma.LZMADecompressor,
    "bz2": bz2.BZ2Decompressor,
}


class Unfolded:
    """The text of a gzip, xz or bz2 stream of any number of members."""

    def __init__(self, source: Source, compression: str) -> None:
        self._source = source
        self._compression = compression
        self._member: _Decompressor | None = None
        self._waiting = b""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        while member := self._open_member():
            data = self._slice(member, size)
            if data:
                return data
        return b""

    def _slice(self, member: _Decompressor, size: int) -> bytes:
        """Return what the member has left of the last input, or of the next."""
        compressed, self._waiting = self._waiting, b""
        data = self._decompress(member, compressed, size)
        while not data and not member.eof:
            compressed = self._source.read(INPUT_BYTES)
            if not compressed:
                raise Unreadable(self._source.path, f"truncated: its {self._compression} data has no end")
            data = self._decompress(member, compressed, size)
        return data

    def _decompress(self, member: _Decompressor, compressed: bytes, size: int) -> bytes:
        try:
            return member.decompress(compressed, size)
        except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            raise Unreadable(self._source.path, f"broken {self._compression} data: {error}") from None

    def _open_member(self) -> _Decompressor | None:
        """Return the member that is being read, the next one where it has ended, or nothing after the last."""
        if self._member is not None and not self._member.eof:
            return self._member
        rest = self._member.unused_data if self._member else b""
        # members may be padded with zeros: to a tape's block (gzip), to four bytes (xz)
        while not (rest := rest.lstrip(b"\0")):
            rest = self._source.read(INPUT_BYTES)
            if not rest:
                return None
        if not MAGIC[self._compression].startswith(rest[: len(MAGIC[self._compression])]):
            where = "after the end of" if self._member else "instead of"
            raise Unreadable(self._source.path, f"other bytes {where} its {self._compression} data")
        self._member = _DECOMPRESSORS[self._compression]()
        self._waiting = rest
        return self._member


class UnfoldedZstd:
    """The text of a zstd stream of any number of frames.

    Arrow reads it, because `zstandard` does not notice that a stream was cut short.
    """

    def __init__(self, source: Source) -> None:
        import pyarrow

        self._path = source.path
        head = source.read(len(MAGIC["zstd"]))
        if head and head != MAGIC["zstd"] and head[1:] != ZSTD_SKIPPABLE:
            raise Unreadable(source.path, "other bytes instead of its zstd data")
        # Arrow closes what it reads
        self._stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(Lent(source, head), mode="r"), "zstd") if head else None

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        if self._stream is None:
            return b""
        try:
            return bytes(self._stream.read(size))
        except Unreadable:
            raise
        except OSError as error:
            truncated = "Truncated" in str(error)
            reason = "truncated: its zstd data has no end" if truncated else f"broken zstd data: {error}"
            raise Unreadable(self._path, reason) from None


def unfolded(source: Source, compression: str) -> Stream:
    """Return the stream that a source holds.

    Raises:
        Unreadable: while it is read, if the data is broken, truncated or of another kind.
    """
    if not compression:
        return source
    return UnfoldedZstd(source) if compression == "zstd" else Unfolded(source, compression)
