"""Plain text: one document per file, in chunks that end between characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.corpus.files.decompress import Stream
from ingest.corpus.files.source import Unreadable
from ingest.corpus.types import Chunk

#: largest chunk, which bounds the memory of reader and tokenizer
CHUNK_BYTES = 2**23
#: a UTF-8 character has up to four bytes, of which a chunk may lack up to three at its end
_LONGEST_TAIL = 3
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def not_text_reason(data: bytes, offset: int = 0) -> str:
    r"""Return why bytes are not plain text; empty if they are. Positions count from `offset`.

    >>> not_text_reason(b"caf\xc3\xa9"), not_text_reason(b"a\0b"), not_text_reason(b"caf\xe9", 100)
    ('', 'binary: a NUL at byte 1', 'not UTF-8 at byte 103')
    """
    if b"\0" in data:
        if data.startswith(_UTF16) and offset == 0:
            return "not UTF-8: it begins like UTF-16"
        return f"binary: a NUL at byte {offset + data.index(0)}"
    if data.isascii():
        return ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {offset + error.start}"
    return ""


def whole_characters(data: bytes) -> int:
    r"""Return the number of bytes without an incomplete character at the end.

    >>> whole_characters(b"caf\xc3"), whole_characters(b"caf\xc3\xa9")
    (3, 5)
    """
    for back in range(1, min(_LONGEST_TAIL, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            wanted = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return len(data) - back if wanted > back else len(data)
        if byte < 0x80:
            break
    return len(data)


def documents(texts: Iterable[bytes]) -> Iterator[Chunk]:
    """Yield UTF-8 documents in chunks."""
    for text in texts:
        start = 0
        while len(text) - start > CHUNK_BYTES:
            stop = start + whole_characters(text[start : start + CHUNK_BYTES])
            yield Chunk(text[start:stop], False)
            start = stop
        yield Chunk(text[start:] if start else text, True)


def read_text(stream: Stream, path: str, head: bytes = b"") -> Iterator[Chunk]:
    """Yield the document of a plain-text stream; `head` are first bytes that have been read already.

    Raises:
        Unreadable: the stream is binary or not UTF-8.
    """
    data, offset = head or stream.read(CHUNK_BYTES), 0
    while data:
        following = stream.read(CHUNK_BYTES)
        cut = whole_characters(data) if following else len(data)
        if reason := not_text_reason(data[:cut], offset):
            raise Unreadable(path, reason)
        yield Chunk(data[:cut], not following)
        offset, data = offset + cut, data[cut:] + following
    if not offset:
        yield Chunk(b"", True)
