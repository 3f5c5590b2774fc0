"""Reading the documents of a listed file in chunks, in bounded memory: plain text, JSON, CSV, TSV, splits of `datasets`."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from ingest.corpus.files.listing import DATASETS, SCHEME, list_splits
from ingest.corpus.files.names import AS_TEXT, content_suffix, first_line, kind_by_magic, suffix_of
from ingest.corpus.files.source import (
    CHANGED,
    STANDARD_INPUT,
    Meter,
    Source,
    SourceRange,
    StandardInput,
    Stream,
    Unreadable,
    decompressed,
    decompressed_to_disk,
    open_file,
    read_small,
)
from ingest.corpus.formats import HEAD_BYTES, SampleFormat, SizesAndCounts, even_shares, stored_shares
from ingest.corpus.formats.archives import read_members, warc_texts
from ingest.corpus.formats.columnar import arrow_texts, check_utf8, parquet_texts, record_batches, row_groups, texts_of
from ingest.corpus.formats.rows import (
    BYTE_ORDER_MARK,
    CHUNK_BYTES,
    DECODER,
    LIMIT_BYTES,
    MOST_COLUMNS,
    TOO_LONG,
    BrokenJson,
    Damage,
    JsonReader,
    SkippedRows,
    columns_of,
    documents,
    field_of,
    field_texts,
    fields_in,
    is_json,
    is_rows,
    json_form,
    no_column,
    not_text_reason,
    text_in,
    unwrapped,
    whole_characters,
    whole_lines,
)
from ingest.corpus.types import Chunk, CorpusFile, Note, Piece

#: delimiter of columns by format
DELIMITERS = {"csv": ",", "tsv": "\t"}
#: bytes of the first read of JSON, doubled while a value is longer
STEP_BYTES = 2**16
_BETWEEN = " \t\r\n"
_LINE_END = re.compile(rb"\n")
#: of a match of the places that split a text, the bytes that it may look ahead to
REACH = 8


def read(
    file: CorpusFile, text_field: str, note: Note, meter: Meter | None = None, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file in chunks of at most 8 MiB.

    `text_field` is the field or column that holds the text, as a dotted path, or several with commas, of which the first that
    there is counts; empty for `text`. `note` is called with each
    skipped part of a file that counts otherwise. `parts` are the indices of those to read, as `parts_of` counts them, or all.

    Raises Unreadable: the file cannot be counted; the chunks yielded so far must be dropped.
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
    if file.stored_bytes > most or file.format not in ("text", AS_TEXT) or file.compression:
        return None
    text = read_small(file, meter)
    return None if text is None or not_text_reason(text) or (file.format != AS_TEXT and json_form(text)) else text


def read_chunks(
    file: CorpusFile, text_field: str, note: Note, meter: Meter, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    """Yield the documents of a file as `read` does, whatever its size."""
    if file.format == DATASETS:
        yield from _rows(dataset_texts, file.path, "row", note, file, text_field, meter)
        return
    with closing(open_file(file, meter)) as source:
        yield from _documents(source, file.format, file.compression, text_field, note, parts)
        source.finish()


def _documents(
    source: Source, form: str, compression: str, text_field: str, note: Note, parts: Sequence[int] | None = None
) -> Iterator[Chunk]:
    path = source.path
    if source.size == 0 and form not in ("text", AS_TEXT):
        return
    if form == AS_TEXT:
        yield from _text(decompressed(source, compression), Damage(path), note)
        return
    if form == "text" and not compression:
        head = source.read(CHUNK_BYTES)
        # what is named as text may be of a format that its first bytes prove
        is_text = not not_text_reason(head[: whole_characters(head[:HEAD_BYTES])])
        rows = json_form(head) if is_text else ""
        kind = (rows, "") if rows else None if is_text else kind_by_magic(head)
        if kind is None:
            yield from _text(source, Damage(path), note, head)
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
    if form == "text":  # compressed: only its content tells whether it holds rows
        head = stream.read(CHUNK_BYTES)
        if not (form := json_form(head)):
            yield from _text(stream, Damage(path), note, head)
            return
        source.seek(0)
        stream = decompressed(source, compression)
    if form in STREAMED:
        unit, texts = STREAMED[form]
        yield from _rows(texts, path, unit, note, stream, text_field)
    else:  # tar
        yield from read_members(
            stream, path, note, lambda member, form, compression, note: _documents(member, form, compression, text_field, note)
        )


class PieceRead(NamedTuple):
    """A piece of a file with the range that is read; where all pieces are one document, the damage that is met on the way."""

    piece: Piece
    damage: Damage | None
    chunks: Iterator[Chunk]


def can_divide(file: CorpusFile) -> bool:
    """Whether a file may be read in pieces: uncompressed plain text or JSONL; its content may still forbid it."""
    return can_seek(file) or (file.format == "jsonl" and not file.compression and file.location != STANDARD_INPUT)


def read_piece(
    file: CorpusFile, piece: Piece, text_field: str, rule: re.Pattern[bytes] | None, note: Note, meter: Meter
) -> PieceRead:
    """A piece of a file that `can_divide`: the lines that begin in its range, or text cut where `rule` allows.

    The first piece of any other content is the whole file, and the others are empty.
    """
    with closing(open_file(file, meter)) as source:
        if (source.size, source.version) != (file.stored_bytes, file.stamp):
            raise Unreadable(file.path, CHANGED)
        form = "text" if file.format == AS_TEXT else file.format
        head = source.read(HEAD_BYTES) if form == "text" else b""
        if file.format == "text":
            if not_text_reason(head[: whole_characters(head)]):
                form = "" if kind_by_magic(head) else form
            elif json_form(head):
                form = json_form(head + source.read(CHUNK_BYTES - HEAD_BYTES)) or form
        if form == "text":
            Damage(file.path).without(head[: whole_characters(head)], 0)  # what is no text is refused at once
        places = rule if form == "text" else _LINE_END if form == "jsonl" else None
        if places is None and not piece.number:
            return PieceRead(piece._replace(stop=source.size), None, read_chunks(file, text_field, note, meter))
        start = None if places is None else _place(source, places, piece.start, piece.stop) if piece.start else 0
        if places is None or start is None or start == source.size:
            return PieceRead(piece._replace(start=source.size, stop=source.size), None, iter(()))
        stop = _place(source, places, piece.stop, source.size)
    read = piece._replace(start=start, stop=source.size if stop is None else stop)
    damage = Damage(file.path, is_piece=True) if form == "text" else None
    return PieceRead(read, damage, _in_range(file, read, damage, text_field, note, meter))


def _place(source: Source, places: re.Pattern[bytes], start: int, stop: int) -> int | None:
    """The end of the first match that begins within a range of a file; None where there is none."""
    data, offset = b"", start
    while offset < stop:
        source.seek(offset + len(data))
        more = source.read(STEP_BYTES)
        data += more
        found = places.search(data)
        if found and (found.end() + REACH <= len(data) or not more):
            return offset + found.end() if offset + found.start() < stop else None
        if not more:
            break
        if not found:
            offset, data = offset + max(len(data) - REACH, 0), data[-REACH:]
    return None


def _in_range(
    file: CorpusFile, piece: Piece, damage: Damage | None, text_field: str, note: Note, meter: Meter
) -> Iterator[Chunk]:
    with closing(open_file(file, meter)) as source:
        stream = SourceRange(source, piece.start, piece.stop)
        if damage:
            yield from _text(stream, damage, note, offset=piece.start)
        else:
            unit = f"from byte {piece.start:,} line" if piece.start else "line"
            yield from _rows(jsonl_texts, file.path, unit, note, stream, text_field)
        source.finish()


def _text(stream: Stream, damage: Damage, note: Note, head: bytes = b"", offset: int = 0) -> Iterator[Chunk]:
    """Yield the document of a plain-text stream without its damage; `head` are first bytes that have been read already.

    Where the stream begins at an offset of the text, it is the rest of a document.
    """
    data = head or stream.read(CHUNK_BYTES)
    if not offset:
        Damage(damage.path).without(data[: whole_characters(data[:HEAD_BYTES])], 0)  # what is no text is refused at once
    while data:
        following = stream.read(CHUNK_BYTES)
        cut = whole_characters(data) if following else len(data)
        yield Chunk(damage.without(data[:cut], offset), not following)
        offset, data = offset + cut, data[cut:] + following
    if not offset:
        yield Chunk(b"", True)
    damage.tell(note)


def _rows(texts: Callable[..., Iterator[bytes]], path: str, unit: str, note: Note, *arguments: object) -> Iterator[Chunk]:
    """Yield one document per row; `texts` receives the rows that do not count."""
    left_out = SkippedRows(path, unit)
    yield from documents(texts(*arguments, left_out))
    left_out.tell(note)


def can_seek(file: CorpusFile) -> bool:
    """Whether blocks of a file can be read independently: uncompressed plain text."""
    return file.format in ("text", AS_TEXT) and not file.compression and file.location != "-"


def read_block(file: CorpusFile, offset: int, size: int, meter: Meter | None = None) -> bytes:
    """Return raw bytes of a file, fewer only at its end; they may begin and end within a character."""
    with closing(open_file(file, meter or Meter())) as source:
        source.seek(offset)
        return source.read(size)


def parts_of(file: CorpusFile, meter: Meter | None = None) -> list[int]:
    """Return the stored bytes of each part of a file that can be read independently.

    Parts are the row groups of a Parquet file and the record batches of an Arrow file; other files are one part.
    """
    if file.format not in SOUGHT or file.compression or not file.stored_bytes:
        return [file.stored_bytes]
    with closing(open_file(file, meter or Meter())) as source:
        if file.format == "parquet":
            return [size for size, _ in row_groups(source)]
        batches = record_batches(source)
        return [file.stored_bytes // batches] * batches


def jsonl_texts(stream: Stream, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the field's text of every line; broken lines and lines without the field are skipped."""
    number = 1
    for block in whole_lines(stream):
        if block is None:
            left_out.add(number, TOO_LONG)
            number += 1
            continue
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        yield from _by_arrow(block, lines, text_field) or _line_by_line(block, number, text_field, left_out)
        number += lines


def _by_arrow(block: bytes, lines: int, text_field: str) -> Iterable[bytes] | None:
    """Return the texts of all lines by Arrow, which is several times faster; None unless all lines are valid."""
    import pyarrow.compute
    import pyarrow.json

    fields = fields_in(text_field)
    if len(fields) > 1 and "." in text_field:
        return None  # Arrow knows no paths: a later field would take the place of one
    schema = pyarrow.schema([(field, pyarrow.string()) for field in fields])
    try:
        check_utf8(block)  # Arrow checks it in no other field
        table = pyarrow.json.read_json(
            pyarrow.BufferReader(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        column = pyarrow.compute.coalesce(*table.select(fields).columns)
        return [*chain.from_iterable(map(texts_of, column.chunks))] if len(column) == lines and not column.null_count else None
    except pyarrow.ArrowException:
        return None


def _line_by_line(block: bytes, first_number: int, field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the texts of lines of which some may be broken or blank, or whose field is a path."""
    for number, line in enumerate(block.split(b"\n"), first_number):
        if not line or line.isspace():
            continue
        try:
            row = DECODER.decode(line.removeprefix(BYTE_ORDER_MARK).decode("utf-8"))
        except UnicodeDecodeError:
            left_out.add(number, "not UTF-8")
            continue
        except (ValueError, RecursionError):
            left_out.add(number, "not JSON")
            continue
        try:
            yield text_in(row, field)
        except ValueError as error:
            left_out.add(number, str(error))


def values(stream: Stream, path: str) -> Iterator[Any]:
    """Yield the elements of a JSON array, or consecutive values, holding one at a time."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode

    def read_on(held: int) -> str:
        while data := stream.read(max(STEP_BYTES, held)):
            if text := decode(data):
                return text
        return decode(b"", True)

    window = JsonReader(read_on, LIMIT_BYTES)
    try:
        in_array = window.skip(_BETWEEN) == "["
        if in_array:
            window.position += 1
        while following := window.skip(_BETWEEN + "," if in_array else _BETWEEN):
            if in_array and following == "]":
                window.position += 1
                in_array = False
                continue
            yield window.value()
    except (UnicodeDecodeError, BrokenJson) as error:
        raise Unreadable(path, f"not UTF-8: {error.reason}" if isinstance(error, UnicodeDecodeError) else str(error)) from None
    if in_array:
        raise Unreadable(path, "truncated: its JSON array has no end")


def json_texts(stream: Stream, field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the field's text of every row of a JSON file: of an array, of consecutive values, of a list within an object."""
    return field_texts(chain.from_iterable(unwrapped(one, field) for one in values(stream, left_out.path)), field, left_out)


def separated_texts(form: str, stream: Stream, text_field: str, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text column of every row; rows with another number of columns are skipped."""
    path, rows = left_out.path, _table(form, stream, left_out.path)
    if (header := next(rows, None)) is None:
        return
    field = header[0] if len(header) == 1 and not text_field else field_of(text_field, header)
    if field not in header:
        raise Unreadable(path, no_column(field, header))
    column = header.index(field)
    for number, row in enumerate(rows, 2):
        if len(row) == len(header):
            yield row[column].encode("utf-8")
        elif row:
            left_out.add(number, f"other than the {len(header)} columns of the header")


def _table(form: str, stream: Stream, path: str) -> Iterator[list[str]]:
    """Yield the rows of a table; a line before them may name their delimiter, as for Excel."""
    lines = chain.from_iterable(_lines(stream, path))
    first = next(lines, "")
    named = re.fullmatch(r"sep=(.)\r?\n", first)
    csv.field_size_limit(LIMIT_BYTES)
    lines = lines if named else chain([first] if first else (), lines)
    rows = csv.reader(lines, delimiter=named[1] if named else delimiter_of(first, form), strict=True)
    try:
        yield from rows
    except csv.Error as error:
        raise Unreadable(path, f"line {rows.line_num} is not valid {form.upper()}: {error}") from None


def delimiter_of(first: str, form: str) -> str:
    """What separates the columns of a table, by the names in its first line; CSV has semicolons where commas are decimal.

    >>> delimiter_of("id;text", "csv"), delimiter_of("id,text;s", "csv"), delimiter_of("a;b", "tsv")
    (';', ',', '\\t')
    """
    others = "" if form == "tsv" else ";|\t"
    usual = DELIMITERS[form]
    return usual if usual in first else next((mark for mark in others if mark in first), usual)


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


def dataset_texts(file: CorpusFile, text_field: str, meter: Meter, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the texts of a split's rows; nothing is written to the cache of `datasets`."""
    import datasets

    folder, _, split = file.location.removeprefix(SCHEME).partition("#")
    meter.stored_bytes = meter.bytes_read = file.stored_bytes
    try:
        rows = datasets.load_dataset(folder, split=split, streaming=True)
        columns = rows.column_names or list(next(iter(rows.take(1)), {}))
        field = field_of(text_field, columns)
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


def line_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Lines that hold a value, with their line feeds."""
    stream = decompressed(source, file.compression)
    sizes = ((len(line) + 1, 1) for line in _values_of_lines(stream, file.path))
    return stored_shares(sizes, file.stored_bytes)


def _values_of_lines(stream: Stream, path: str) -> Iterator[bytes]:
    number = 0
    for block in whole_lines(stream):
        if block is None:
            raise Unreadable(path, f"a line {TOO_LONG}")
        lines = block.split(b"\n")
        for place, line in enumerate(lines, number):
            if value := line.strip(b" \t\r\0\xef\xbb\xbf"):
                closed = value[-1] == _ENDS.get(value[0], value[-1])
                if value[0] not in _BEGINNINGS or not closed or (not place and not is_json(value)):
                    raise Unreadable(path, f"line {place + 1} is not JSON")
                yield line
        number += len(lines) - 1


def table_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Rows below the header, if the first row is one."""
    form = "tsv" if content_suffix(file.path) in (".tsv", ".tab") else "csv"
    rows = _table(form, decompressed(source, file.compression), file.path)
    header, second = next(rows, []), next(rows, [])
    widths = Counter(map(len, chain([second], rows)))
    del widths[0]  # blank lines
    if widths.keys() - {len(header)}:
        source.caution(f"rows of {form.upper()} with other than as many columns as its first row count as samples too")
    yield from even_shares(file.stored_bytes, bool(header and not is_header(header, second)) + widths.total())


def is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first row of a table names its columns: by words over numbers, or by words that are no numbers and no files.

    >>> is_header(["file", "class"], ["a.png", "3"]), is_header(["a.png", "3"], ["b.png", "4"]), is_header(["a"], ["b"])
    (True, False, True)
    """
    if any(_is_number(below) and not _is_number(cell) for cell, below in zip(first, second, strict=False)):
        return True
    return len(set(first)) == len(first) and not any(_is_number(cell) or "/" in cell or suffix_of(cell) for cell in first)


def _is_number(cell: str) -> bool:
    with suppress(ValueError):
        return isinstance(float(cell), float)
    return False


def json_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Values of an array or of a sequence, rows of a list within an object or of its columns, or one object."""
    found = values(decompressed(source, file.compression), file.path)
    first, more = next(found, None), sum(1 for _ in found)
    count = _rows_within(first, file.path) if isinstance(first, dict) and not more else (first is not None) + more
    yield from even_shares(file.stored_bytes, count)


def _rows_within(found: dict[str, Any], path: str) -> int:
    """The samples of an object. Raises Unreadable: a list of it may hold samples, or parts of one."""
    by_row = all("".join(column).isdecimal() for column in found.values() if isinstance(column, dict))
    if by_row and (rows := columns_of(found)) is not None:
        return rows
    lists = [name for name, one in found.items() if is_rows(one) or (name in WRAPPERS and is_rows(one, list))]
    inner = [name for name, one in found.items() if isinstance(one, dict)]
    if len(lists) == 1 and lists[0] in WRAPPERS:
        return len(found[lists[0]])
    if lists or len(inner) == len(found) > 1:
        names = ", ".join((lists or inner)[:MOST_COLUMNS])
        raise Unreadable(path, f"an object whose {names} may be samples, or parts of one: store samples as an array or lines")
    return 1


#: keys of an object below which its rows are a list
WRAPPERS = ("data", "rows", "records", "examples", "instances", "items", "samples", "documents", "train", "validation", "test")
#: first characters of a value of JSON
_BEGINNINGS = b'{["-0123456789tfn'
#: last characters by those first ones that have one
_ENDS = dict(zip(b'{["', b'}]"', strict=True))
SAMPLES = (
    SampleFormat(
        "JSONL", line_samples, (".jsonl", ".ndjson", ".jsonlines", ".jl"), tells=lambda head, *_: json_form(head) == "jsonl",
        packed=True,
    ),
    SampleFormat("JSON", json_samples, (".json",), tells=lambda head, *_: json_form(head) == "json", packed=True),
    SampleFormat("CSV", table_samples, (".csv", ".tsv", ".tab", ".psv"), packed=True),
)  # fmt: skip
