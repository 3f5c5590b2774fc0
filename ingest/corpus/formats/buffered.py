"""Buffered reading of streams: whole lines and small steps, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.corpus.files.decompress import OUTPUT_BYTES, Stream
from ingest.corpus.formats.rows import LIMIT_BYTES


def whole_lines(stream: Stream, limit: int = LIMIT_BYTES) -> Iterator[bytes | None]:
    r"""Yield blocks of whole lines with their line feeds; None for a line of more than `limit` bytes.

    >>> import io
    >>> list(whole_lines(io.BytesIO(b"a\nbc\ndefg\nh"), limit=3))
    [b'a\n', b'bc\n', None, b'h']
    """
    begun: list[bytes] = []
    held = 0
    while data := stream.read(min(OUTPUT_BYTES, limit)):
        cut = data.rfind(b"\n") + 1
        if not cut:
            held += len(data)
            begun = [*begun, data] if held <= limit else []
            continue
        first = data.find(b"\n") + 1
        if held + first - 1 > limit:
            yield None
            block = data[first:cut]
        else:
            block = b"".join((*begun, data[:cut]))
        begun, held = [data[cut:]], len(data) - cut
        del data  # a block may be large: hold it once while it is processed
        if block:
            yield block
    if held:
        yield b"".join(begun) if held <= limit else None


class BufferedReader:
    """A stream read in small steps.

    >>> import io
    >>> window = BufferedReader(io.BytesIO(b"abc--defg"))
    >>> window.until(b"--", most=100), window.exactly(2), window.read(100), window.read(100)
    (b'abc--', b'de', b'fg', b'')
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held = b""
        self._position = 0

    def _more(self) -> bool:
        data = self._stream.read(OUTPUT_BYTES)
        self._held = self._held[self._position :] + data
        self._position = 0
        return bool(data)

    def read(self, size: int, /) -> bytes:
        """Return between 1 and `size` bytes; empty at the end."""
        if self._position == len(self._held) and not self._more():
            return b""
        data = self._held[self._position : self._position + size]
        self._position += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        data = self.read(size)
        if len(data) == size or not data:
            return data
        parts, missing = [data], size - len(data)
        while missing and (data := self.read(missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def skip(self, size: int) -> bool:
        """Skip `size` bytes; return whether there were as many."""
        while size and (data := self.read(min(size, OUTPUT_BYTES))):
            size -= len(data)
        return not size

    def skip_any(self, letters: bytes) -> bool:
        """Skip bytes out of `letters`; return whether any other byte follows."""
        while True:
            while self._position < len(self._held):
                if self._held[self._position] not in letters:
                    return True
                self._position += 1
            if not self._more():
                return False

    def until(self, end: bytes, most: int) -> bytes:
        """Return the bytes up to and including `end`; empty if it does not follow within `most` bytes."""
        while (stop := self._held.find(end, self._position, self._position + most)) < 0:
            if len(self._held) - self._position >= most or not self._more():
                return b""
        start, self._position = self._position, stop + len(end)
        return self._held[start : self._position]
