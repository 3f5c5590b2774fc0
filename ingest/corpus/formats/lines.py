"""Whole lines out of a stream, with a bound on what is held."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.corpus.compression import OUTPUT_BYTES, Stream
from ingest.corpus.formats.rows import LIMIT_BYTES
from ingest.corpus.opening import Source

#: read at a time to find where a line begins
_STEP_BYTES = 2**16


def whole_lines(stream: Stream, limit: int = LIMIT_BYTES) -> Iterator[bytes | None]:
    r"""Yield blocks of whole lines, with their line feeds; None stands for one line of more bytes than `limit`.

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
        del data  # a block may be large: nothing of it is held twice while it is worked on
        if block:
            yield block
    if held:
        yield b"".join(begun) if held <= limit else None


class Span:
    """The lines of a source that begin between two of its bytes; the spans of a file hold each line once."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self._source = source
        self._end = _line_start(source, stop)
        self._begin = _line_start(source, start)
        source.seek(self._begin)

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none at the end."""
        return self._source.read(max(0, min(size, self._end - self._source.tell())))


def _line_start(source: Source, offset: int) -> int:
    """Return where the first line begins that begins at an offset or behind it; the file's size after the last one."""
    if offset <= 0:
        return 0
    source.seek(offset - 1)
    while data := source.read(_STEP_BYTES):
        if (feed := data.find(b"\n")) >= 0:
            return source.tell() - len(data) + feed + 1
    return source.size
