"""A stream of which a part is held, so that small steps in it cost little."""

from __future__ import annotations

from ingest.corpus.compression import OUTPUT_BYTES, Stream


class Window:
    """A stream that is read in small steps.

    >>> import io
    >>> window = Window(io.BytesIO(b"abc--defg"))
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
        """Return at least one byte and at most so many; none at the end."""
        if self._position == len(self._held) and not self._more():
            return b""
        data = self._held[self._position : self._position + size]
        self._position += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end."""
        data = self.read(size)
        if len(data) == size or not data:
            return data
        parts, missing = [data], size - len(data)
        while missing and (data := self.read(missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def skip(self, size: int) -> bool:
        """Go on by so many bytes; return whether there were as many."""
        while size and (data := self.read(min(size, OUTPUT_BYTES))):
            size -= len(data)
        return not size

    def skip_any(self, letters: bytes) -> bool:
        """Go on to the next byte that is none of these; return whether there is one."""
        while True:
            while self._position < len(self._held):
                if self._held[self._position] not in letters:
                    return True
                self._position += 1
            if not self._more():
                return False

    def until(self, end: bytes, most: int) -> bytes:
        """Return what comes up to and with an end, or nothing if it does not come within so many bytes."""
        while (stop := self._held.find(end, self._position, self._position + most)) < 0:
            if len(self._held) - self._position >= most or not self._more():
                return b""
        start, self._position = self._position, stop + len(end)
        return self._held[start : self._position]
