"""Whole lines out of a stream, with a bound on what is held."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.corpus.compression import OUTPUT_BYTES, Stream
from ingest.corpus.formats.rows import LIMIT_BYTES


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
        if block:
            yield block
        begun, held = [data[cut:]], len(data) - cut
    if held:
        yield b"".join(begun) if held <= limit else None
