"""Reading a listed file: its documents, piece by piece, in bounded memory."""

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

#: enough of a file to tell its format
HEAD_BYTES = 2**16
#: formats whose readers go to and fro in the file
SOUGHT = ("parquet", "arrow")


@dataclass(frozen=True)
class Reading:
    """How documents are found in files.

    Attributes:
        text_field: the field or column that holds the text, as a dotted path; nothing for `text`.
    """

    text_field: str = ""

    @property
    def field(self) -> str:
        """The field that is read."""
        return self.text_field or DEFAULT_FIELD


def read(
    found: CorpusFile, reading: Reading, note: Note, meter: Meter | None = None, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file, in pieces of at most 8 MiB.

    Args:
        found: the file, as listed.
        reading: which field holds the text.
        note: called with what is left out although the rest of the file counts.
        meter: told what storage holds of the file and what was moved from it.
        parts: which of the parts that `parts_of` counts; all by default.

    Raises:
        Unreadable: the file cannot be counted; what was yielded of it must be dropped.
    """
    meter = meter or Meter()
    text = whole_text(found, meter)
    if text is None:
        yield from read_chunks(found, reading, note, meter, parts)
    else:
        yield Chunk(text, True)


def whole_text(found: CorpusFile, meter: Meter, most: int = CHUNK_BYTES) -> bytes | None:
    """Return the one document of a plain-text file of at most so many bytes, at the least cost.

    Nothing where the file is another one, or no text after all: reading it in pieces says what it is.
    """
    if found.stored_bytes > most or found.format != "text" or found.compression:
        return None
    text = read_small(found, meter)
    return None if text is None or not_text_reason(text) else text


def read_chunks(
    found: CorpusFile, reading: Reading, note: Note, meter: Meter, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file as `read` does, whatever its size.

    Raises:
        Unreadable: the file cannot be counted; what was yielded of it must be dropped.
    """
    if found.format == DATASETS:
        yield from read_split(found, reading.field, note, meter)
        return
    source = open_file(found, meter)
    try:
        yield from _documents(source, found.format, found.compression, reading, note, parts)
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
    """Yield the document of a file that is text by its name, or what its first bytes say if they are no text."""
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
        yield from read_members(stream, path, note, _Members(reading))
    else:
        yield from read_text(stream, path)


class _Members:
    """Reads members of an archive as the archive itself is read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __call__(self, held: Source, form: str, compression: str, note: Note) -> Iterator[Chunk]:
        return _documents(held, form, compression, self._reading, note)


def can_seek(found: CorpusFile) -> bool:
    """Whether any block of a file can be read without what comes before it: plain text that is not compressed.

    >>> can_seek(CorpusFile("a.txt", "/a.txt", 1, "", "text", "")), can_seek(CorpusFile("a.gz", "/a.gz", 1, "", "text", "gzip"))
    (True, False)
    """
    return found.format == "text" and not found.compression and found.location != "-"


def can_split(found: CorpusFile) -> bool:
    """Whether spans of a file can be read apart: lines that are not compressed."""
    return found.format == "jsonl" and not found.compression and found.location != "-"


def read_span(
    found: CorpusFile, start: int, stop: int, reading: Reading, note: Note, meter: Meter | None = None
) -> Iterator[Chunk]:
    """Yield the documents of the lines that begin from byte `start` up to, but without, byte `stop`.

    Spans that follow one another hold each line once. The file must be one of which `can_split` is true.

    Raises:
        Unreadable: the file cannot be counted; what was yielded of it must be dropped.
    """
    source = open_file(found, meter or Meter())
    try:
        yield from read_jsonl(Span(source, start, stop), found.path, reading.field, note, after=start)
        source.finish()
    finally:
        source.close()


def read_block(found: CorpusFile, offset: int, size: int, meter: Meter | None = None) -> bytes:
    """Return bytes of a file as they are, fewer only at its end; they may begin and end within a character.

    Raises:
        Unreadable: the file cannot be read.
    """
    source = open_file(found, meter or Meter())
    try:
        source.seek(offset)
        return source.read(size)
    finally:
        source.close()


def parts_of(found: CorpusFile, meter: Meter | None = None) -> list[int]:
    """Return the stored bytes of each part of a file that can be read without the others.

    Parts are the row groups of a Parquet file and the record batches of an Arrow file; other files are one part.

    Raises:
        Unreadable: the file is broken.
    """
    if found.format not in SOUGHT or found.compression or not found.stored_bytes:
        return [found.stored_bytes]
    source = open_file(found, meter or Meter())
    try:
        if found.format == "parquet":
            return [size for size, _ in row_groups(source)]
        batches = record_batches(source)
        return [found.stored_bytes // batches] * batches
    finally:
        source.close()
