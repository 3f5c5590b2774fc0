"""Reading the documents of a listed file in chunks, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.corpus.files.decompress import decompressed, decompressed_to_disk
from ingest.corpus.files.file_kind import kind_by_magic
from ingest.corpus.files.open_file import StandardInput, open_file, read_small
from ingest.corpus.files.saved_datasets import FORMAT as DATASETS
from ingest.corpus.files.source import Meter, Source, Unreadable
from ingest.corpus.formats.buffered import Span
from ingest.corpus.formats.columnar import read_arrow, read_parquet, record_batches, row_groups
from ingest.corpus.formats.csv_text import DELIMITERS, read_separated
from ingest.corpus.formats.dataset_split import read_split
from ingest.corpus.formats.json_text import first_row_has, read_json, read_jsonl
from ingest.corpus.formats.plain_text import CHUNK_BYTES, not_text_reason, read_text, whole_characters
from ingest.corpus.formats.rows import DEFAULT_FIELD
from ingest.corpus.formats.tar import read_members
from ingest.corpus.formats.warc import read_warc
from ingest.corpus.types import Chunk, CorpusFile, Note

__all__ = [
    "Meter", "Reading", "Unreadable", "can_seek", "can_split", "parts_of", "read", "read_block", "read_chunks", "read_span",
    "whole_text",
]  # fmt: skip

#: first bytes that are enough to detect the format
HEAD_BYTES = 2**16
#: formats whose readers seek
SOUGHT = ("parquet", "arrow")


@dataclass(frozen=True)
class Reading:
    """Where the text of a document is found.

    Attributes:
        text_field: field or column that holds the text, as a dotted path; empty for `text`.
    """

    text_field: str = ""

    @property
    def field(self) -> str:
        """The field to read."""
        return self.text_field or DEFAULT_FIELD


def read(
    file: CorpusFile, reading: Reading, note: Note, meter: Meter | None = None, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file in chunks of at most 8 MiB.

    Args:
        file: as listed.
        reading: where the text is found.
        note: called with each skipped part of a file that counts otherwise.
        meter: receives stored bytes and bytes read.
        parts: indices of the parts to read, as `parts_of` counts them; all by default.

    Raises:
        Unreadable: the file cannot be counted; the chunks yielded so far must be dropped.
    """
    meter = meter or Meter()
    text = whole_text(file, meter)
    if text is None:
        yield from read_chunks(file, reading, note, meter, parts)
    else:
        yield Chunk(text, True)


def whole_text(file: CorpusFile, meter: Meter, most: int = CHUNK_BYTES) -> bytes | None:
    """Return a plain-text file of at most `most` bytes with one read.

    None for any other file, or if it is not text: `read_chunks` then reports what it is.
    """
    if file.stored_bytes > most or file.format != "text" or file.compression:
        return None
    text = read_small(file, meter)
    return None if text is None or not_text_reason(text) else text


def read_chunks(
    file: CorpusFile, reading: Reading, note: Note, meter: Meter, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file as `read` does, whatever its size.

    Raises:
        Unreadable: the file cannot be counted; the chunks yielded so far must be dropped.
    """
    if file.format == DATASETS:
        yield from read_split(file, reading.field, note, meter)
        return
    source = open_file(file, meter)
    try:
        yield from _documents(source, file.format, file.compression, reading, note, parts)
        source.finish()
    finally:
        source.close()


def _documents(
    source: Source, form: str, compression: str, reading: Reading, note: Note, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    if source.size == 0 and form != "text":
        return
    if form == "text" and not compression:
        yield from _plain(source, reading, note)
    elif form in SOUGHT:
        yield from _sought(source, form, compression, reading, note, parts)
    else:
        yield from _streamed(source, form, compression, reading, note)


def _plain(source: Source, reading: Reading, note: Note) -> Iterator[Chunk]:
    """Yield the document of a file named as text, or its documents in the format that its first bytes prove."""
    head = source.read(CHUNK_BYTES)
    kind = kind_by_magic(head) if not_text_reason(head[: whole_characters(head[:HEAD_BYTES])]) else None
    if kind is None:
        yield from read_text(source, source.path, head)
    else:
        source.seek(0)
        yield from _documents(source, *kind, reading, note)


def _sought(
    source: Source, form: str, compression: str, reading: Reading, note: Note, parts: Sequence[int] | None
) -> Iterator[Chunk]:
    read_table = read_parquet if form == "parquet" else read_arrow
    if compression or isinstance(source, StandardInput):
        with decompressed_to_disk(source, compression) as whole:
            yield from read_table(whole, reading.text_field, note, parts)
    else:
        yield from read_table(source, reading.text_field, note, parts)


def _streamed(source: Source, form: str, compression: str, reading: Reading, note: Note) -> Iterator[Chunk]:
    stream, path = decompressed(source, compression), source.path
    if form == "json" and not reading.text_field:
        form = "json" if first_row_has(stream, path, reading.field) else "text"
        source.seek(0)
        stream = decompressed(source, compression)
    if form == "jsonl":
        yield from read_jsonl(stream, path, reading.field, note)
    elif form == "json":
        yield from read_json(stream, path, reading.field, note)
    elif form in DELIMITERS:
        yield from read_separated(stream, path, form, reading.text_field, note)
    elif form == "warc":
        yield from read_warc(stream, path, note)
    elif form == "tar":
        yield from read_members(
            stream, path, note, lambda member, form, compression, note: _documents(member, form, compression, reading, note)
        )
    else:
        yield from read_text(stream, path)


def can_seek(file: CorpusFile) -> bool:
    """Whether blocks of a file can be read independently: uncompressed plain text.

    >>> can_seek(CorpusFile("a.txt", "/a.txt", 1, "", "text", "")), can_seek(CorpusFile("a.gz", "/a.gz", 1, "", "text", "gzip"))
    (True, False)
    """
    return file.format == "text" and not file.compression and file.location != "-"


def can_split(file: CorpusFile) -> bool:
    """Whether spans of a file can be read independently: uncompressed lines."""
    return file.format == "jsonl" and not file.compression and file.location != "-"


def read_span(
    file: CorpusFile, start: int, stop: int, reading: Reading, note: Note, meter: Meter | None = None
) -> Iterator[Chunk]:
    """Yield the documents of the lines that begin at byte `start` or later, and before byte `stop`.

    Adjacent spans hold each line once. `can_split` must be true of the file.

    Raises:
        Unreadable: the file cannot be counted; what was yielded of it must be dropped.
    """
    source = open_file(file, meter or Meter())
    try:
        yield from read_jsonl(Span(source, start, stop), file.path, reading.field, note, after=start)
        source.finish()
    finally:
        source.close()


def read_block(file: CorpusFile, offset: int, size: int, meter: Meter | None = None) -> bytes:
    """Return raw bytes of a file, fewer only at its end; they may begin and end within a character.

    Raises:
        Unreadable: the file cannot be read.
    """
    source = open_file(file, meter or Meter())
    try:
        source.seek(offset)
        return source.read(size)
    finally:
        source.close()


def parts_of(file: CorpusFile, meter: Meter | None = None) -> list[int]:
    """Return the stored bytes of each part of a file that can be read independently.

    Parts are the row groups of a Parquet file and the record batches of an Arrow file; other files are one part.

    Raises:
        Unreadable: the file is broken.
    """
    if file.format not in SOUGHT or file.compression or not file.stored_bytes:
        return [file.stored_bytes]
    source = open_file(file, meter or Meter())
    try:
        if file.format == "parquet":
            return [size for size, _ in row_groups(source)]
        batches = record_batches(source)
        return [file.stored_bytes // batches] * batches
    finally:
        source.close()
