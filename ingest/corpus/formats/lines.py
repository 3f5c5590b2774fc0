"""Lines out of a stream, with a bound on what is held."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.corpus.compression import OUTPUT_BYTES, Stream
from ingest.corpus.formats.rows import LIMIT_BYTES


def line_blocks(stream: Stream, limit: int = LIMIT_BYTES) -> Iterator[list[bytes | None]]:
    """Yield lines, many at a time, without their line feeds; None stands for a line of more bytes than `limit`.

    >>> import io
    >>> list(line_blocks(io.BytesIO(b"a\\nbcd\\nef"), limit=2))
    [[b'a', None], [b'ef']]
    """
    kept: list[bytes] = []
    held = 0
    while data := stream.read(OUTPUT_BYTES):
        first, feed, rest = data.partition(b"\n")
        held += len(first)
        if held <= limit:
            kept.append(first)
        else:
            kept.clear()
        if not feed:
            continue
        lines: list[bytes | None] = [b"".join(kept) if held <= limit else None, *rest.split(b"\n")]
        last = lines.pop()
        kept, held = ([last] if last else []), len(last or b"")
        yield [line if line is None or len(line) <= limit else None for line in lines] if limit < OUTPUT_BYTES else lines
    if held:
        yield [b"".join(kept) if held <= limit else None]
