"""Reading the documents of a listed file in chunks, in bounded memory: plain text, CSV and TSV, splits of `datasets`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain

from ingest.corpus.files.decompress import Stream, decompressed, decompressed_to_disk
from ingest.corpus.files.listing import DATASETS, SCHEME, list_splits
from ingest.corpus.files.names import first_line, kind_by_magic
from ingest.corpus.files.source import CHANGED, Meter, Source, StandardInput, Unreadable, open_file, read_small
from ingest.corpus.formats.archives import read_members, warc_texts
from ingest.corpus.formats.columnar import arrow_texts, parquet_texts, record_batches, row_groups
from ingest.corpus.formats.json_text import json_texts, jsonl_texts, values
from ingest.corpus.formats.rows import (
    CHUNK_BYTES,
    DEFAULT_FIELD,
    LIMIT_BYTES,
    TOO_LONG,
    SkippedRows,
    documents,
    field_texts,
    no_column,
    not_text_reason,
    text_in,
    whole_characters,
    whole_lines,
)
from ingest.corpus.types import Chunk, CorpusFile, Note

#: first bytes that are enough to detect the format
HEAD_BYTES = 2**16
#: delimiter of columns by format
DELIMITERS = {"csv": ",", "tsv": "\t"}


def read(
    file: CorpusFile, text_field: str, note: Note, meter: Meter | None = None, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file in chunks of at most 8 MiB.

    Args:
        file: as listed.
        text_field: field or column that holds the text, as a dotted path; empty for `text`.
        note: called with each skipped part of a file that counts otherwise.
        meter: receives stored bytes and bytes read.
        parts: indices of the parts to read, as `parts_of` counts them; all by default.

    Raises:
        Unreadable: the file cannot be counted; the chunks yielded so far must be dropped.
    """
    meter = meter or Meter()
    text = whole_text(file, meter)
    if text is None:
        yield from read_chunks(file, text_field, note, meter, parts)
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
    file: CorpusFile, text_field: str, note: Note, meter: Meter, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file as `read` does, whatever its size.

    Raises Unreadable: the file cannot be counted; the chunks yielded so far must be dropped.
    """
    if file.format == DATASETS:
        yield from _rows(dataset_texts, file.path, "row", note, file, text_field or DEFAULT_FIELD, meter)
        return
    source = open_file(file, meter)
    try:
        yield from _documents(source, file.format, file.compression, text_field, note, parts)
        source.finish()
    finally:
        source.close()


def _documents(
    source: Source, form: str, compression: str, text_field: str, note: Note, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    path = source.path
    if source.size == 0 and form != "text":
        return
    if form == "text" and not compression:
        head = source.read(CHUNK_BYTES)
        # what is named as text may be of a format that its first bytes prove
        kind = kind_by_magic(head) if not_text_reason(head[: whole_characters(head[:HEAD_BYTES])]) else None
        if kind is None:
            yield from _text(source, path, head)
        else:
            source.seek(0)
            yield from _documents(source, *kind, text_field, note)
        return
    if form in SOUGHT:
        on_disk = compression or isinstance(source, StandardInput)
        with decompressed_to_disk(source, compression) if on_disk else nullcontext(source) as whole:
            yield from _rows(SOUGHT[form], path, "row", note, whole, text_field, parts)
        return
    stream = decompressed(source, compression)
    if form == "json" and not text_field:
        try:  # it is text unless its first row has text in the field
            text_in(next(values(stream, path)), DEFAULT_FIELD)
        except (ValueError, StopIteration, Unreadable):
            form = "text"
        source.seek(0)
        stream = decompressed(source, compression)
    if form in STREAMED:
        unit, texts = STREAMED[form]
        yield from _rows(texts, path, unit, note, stream, text_field)
    elif form == "tar":
        yield from read_members(
            stream, path, note, lambda member, form, compression, note: _documents(member, form, compression, text_field, note)
        )
    else:
        yield from _text(stream, path)


def _text(stream: Stream, path: str, head: bytes = b"") -> Iterator[Chunk]:
    """Yield the document of a plain-text stream; `head` are first bytes that have been read already.

    Raises Unreadable: the stream is binary or not UTF-8.
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


def _rows(texts: Callable[..., Iterator[bytes]], path: str, unit: str, note: Note, *arguments: object) -> Iterator[Chunk]:
    """Yield one document per row; `texts` receives the rows that do not count."""
    left_out = SkippedRows(path, unit)
    yield from documents(texts(*arguments, left_out))
    left_out.tell(note)


def can_seek(file: CorpusFile) -> bool:
    """Whether blocks of a file can be read independently: uncompressed plain text.

    >>> can_seek(CorpusFile("a.txt", "/a.txt", 1, "", "text", "")), can_seek(CorpusFile("a.gz", "/a.gz", 1, "", "text", "gzip"))
    (True, False)
    """
    return file.format == "text" and not file.compression and file.location != "-"


def read_block(file: CorpusFile, offset: int, size: int, meter: Meter | None = None) -> bytes:
    """Return raw bytes of a file, fewer only at its end; they may begin and end within a character.

    Raises Unreadable: the file cannot be read.
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

    Raises Unreadable: the file is broken.
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


def separated_texts(form: str, stream: Stream, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text column of every row; rows with another number of columns are skipped.

    Raises Unreadable: the column is missing, quoting is invalid, or the file is not UTF-8.
    """
    path = left_out.path
    csv.field_size_limit(LIMIT_BYTES)
    rows = csv.reader(chain.from_iterable(_lines(stream, path)), delimiter=DELIMITERS[form], strict=True)
    try:
        header = next(rows, None)
        if header is None:
            return
        field = header[0] if len(header) == 1 and not text_field else text_field or DEFAULT_FIELD
        if field not in header:
            raise Unreadable(path, no_column(field, header))
        column = header.index(field)
        for number, row in enumerate(rows, 2):
            if len(row) == len(header):
                yield row[column].encode("utf-8")
            elif row:
                left_out.add(number, f"other than the {len(header)} columns of the header")
    except csv.Error as error:
        raise Unreadable(path, f"line {rows.line_num} is not valid {form.upper()}: {error}") from None


def _lines(stream: Stream, path: str) -> Iterator[io.StringIO]:
    """Blocks of whole lines, each an iterator over its lines."""
    mark = "\ufeff"
    for block in whole_lines(stream):
        if block is None:
            raise Unreadable(path, f"a line {TOO_LONG}")
        try:
            text = block.decode("utf-8").removeprefix(mark)
        except UnicodeDecodeError:
            raise Unreadable(path, "not UTF-8") from None
        mark = ""
        # only line feeds end a line: str.splitlines also splits at characters that occur within texts
        yield io.StringIO(text, newline="\n")


def dataset_texts(file: CorpusFile, field: str, meter: Meter, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the texts of a split's rows; nothing is written to the cache of `datasets`.

    Raises Unreadable: `datasets` cannot read the split, the column is missing, or the data changed meanwhile.
    """
    import datasets

    folder, _, split = file.location.removeprefix(SCHEME).partition("#")
    meter.stored_bytes = meter.bytes_read = file.stored_bytes
    try:
        rows = datasets.load_dataset(folder, split=split, streaming=True)
        columns = rows.column_names or list(next(iter(rows.take(1)), {}))
        column = field if field in columns else field.partition(".")[0]
        if column not in columns:
            raise Unreadable(file.path, no_column(field, columns))
        # without the other columns, no image is decoded
        yield from field_texts(rows.select_columns([column]), field, left_out, LIMIT_BYTES)
    except Unreadable:
        raise
    except Exception as error:
        # builders raise any exception, and none may end in a traceback
        raise Unreadable(file.path, f"`datasets` cannot read it: {first_line(error.__cause__ or error)}") from None
    if {url: version for url, _, version in list_splits(file.location)} != {file.location: file.stamp}:
        raise Unreadable(file.path, CHANGED)


#: texts of the formats whose readers seek
SOUGHT: dict[str, Callable[..., Iterator[bytes]]] = {"parquet": parquet_texts, "arrow": arrow_texts}
#: unit of a document and texts of the formats that are read from the beginning
STREAMED: dict[str, tuple[str, Callable[..., Iterator[bytes]]]] = {
    "jsonl": ("line", jsonl_texts),
    "json": ("row", json_texts),
    "csv": ("row", partial(separated_texts, "csv")),
    "tsv": ("row", partial(separated_texts, "tsv")),
    "warc": ("record", warc_texts),
}
