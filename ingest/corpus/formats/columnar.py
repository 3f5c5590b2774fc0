"""Parquet and Arrow: one document per row, in a column, read a few rows at a time; and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, starmap
from typing import Any

from ingest.corpus.files.names import first_line
from ingest.corpus.files.source import BorrowedSource, Source, Unreadable
from ingest.corpus.formats import HEAD_BYTES, SampleFormat, even_shares
from ingest.corpus.formats.rows import CHUNK_BYTES, SkippedRows, field_of, no_column, text_in
from ingest.corpus.native_calls import return_freed_memory
from ingest.corpus.types import CorpusFile

#: Most rows of a batch: rows differ in size, and a batch is held in memory.
BATCH_ROWS = 512
#: Column chunks up to this size are read as a dictionary, which holds a repeated text once; Arrow needs several times as much
#: memory for it.
DICTIONARY_BYTES = 16 * 2**20
#: Fewest and most rows of a batch where a dictionary is larger, and the most that they may decode to in a small file.
WARY_BATCH_ROWS = (4, 16)
UNFOLDED_BYTES = 256 * 2**20
_ARROW_FILE = b"ARROW1"


def column_path(schema: Any, text_field: str, path: str) -> list[str]:
    """Return the path of names to the text column: the first given one that there is, else `text`, else the only one."""
    import pyarrow
    from pyarrow import types

    lone = not text_field and len(schema.names) == 1
    field = schema.names[0] if lone else field_of(text_field, schema.names)
    steps = [field] if field in schema.names else field.split(".")
    kind: Any = pyarrow.struct(list(schema))
    for step in steps:
        while _is_list(kind):
            kind = kind.value_type
        index = kind.get_field_index(step) if types.is_struct(kind) else -1
        if index < 0:
            raise Unreadable(path, no_column(field, schema.names))
        kind = kind.field(index).type
    inner = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_string_view)
    if not any(test(inner) for test in (*tests, types.is_binary_view)):
        raise Unreadable(path, f"column '{field}' holds {kind}, expected text")
    return steps


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _through_lists(kind: Any, steps: Sequence[str]) -> bool:
    """Whether a path leads through a list, such as that of the turns of a chat."""
    for step in steps:
        if _is_list(kind):
            return True
        kind = kind.field(kind.get_field_index(step)).type
    return False


def check_places(array: Any) -> None:
    """Refuse an array whose offsets or indices lead outside of its buffers: Arrow would follow them, and crash.

    Whether the texts are UTF-8 is not checked. Raises pyarrow.ArrowInvalid: a file that is damaged.
    """
    import pyarrow
    from pyarrow import types

    array.validate()
    if types.is_dictionary(array.type):
        array.indices.validate(full=True)
        check_places(array.dictionary)
        pyarrow.DictionaryArray.from_arrays(array.indices, array.dictionary)
    else:
        binary = {
            types.is_string: pyarrow.binary,
            types.is_large_string: pyarrow.large_binary,
            types.is_string_view: pyarrow.binary_view,
        }
        as_bytes = next((made() for test, made in binary.items() if test(array.type)), array.type)
        found = array.view(as_bytes)
        if types.is_binary_view(as_bytes):  # a cast follows the views of null rows too
            found = pyarrow.Array.from_buffers(as_bytes, len(array), [None, *array.buffers()[1:]], offset=array.offset)
        found.validate(full=True)


def row_texts(batch: Any, steps: list[str], first_row: int, left_out: SkippedRows, check: bool = False) -> Iterator[bytes]:
    """Yield the texts of the column at a path: strings, bytes or a dictionary of these; null rows are skipped."""
    import pyarrow.compute

    array = batch.column(steps[0])
    if steps[1:] and _through_lists(array.type, steps[1:]):
        array.validate(full=True)
        for row, value in enumerate(array.to_pylist(), first_row):
            try:
                yield text_in(value, ".".join(steps[1:]))
            except ValueError as error:
                left_out.add(row, "null" if value is None else str(error))
        return
    if check:
        array.validate()
    array = pyarrow.compute.struct_field(array, steps[1:]) if steps[1:] else array
    if check:
        check_places(array)
    if array.null_count:
        for row, missing in enumerate(array.is_null().to_pylist(), first_row):
            if missing:
                left_out.add(row, "null")
    is_dictionary = pyarrow.types.is_dictionary(array.type)
    try:
        if is_dictionary:
            # texts that recur are held once each: a small file can repeat a long text very often
            present = array.drop_null()
            used = present.indices.unique()
            texts = dict(zip(used.to_pylist(), texts_of(_as_strings(present.dictionary.take(used))), strict=True))
            for index in present.indices.to_pylist():
                yield texts[index]
        else:
            yield from texts_of(_as_strings(array).drop_null())
    except pyarrow.ArrowInvalid:
        values = array.dictionary_decode() if is_dictionary else array
        for row, value in enumerate(values.cast(pyarrow.large_binary()), first_row):
            text = value.as_py()
            try:
                if text is not None:
                    text.decode("utf-8")
                    yield text
            except UnicodeDecodeError:
                left_out.add(row, "not UTF-8")


def _as_strings(array: Any) -> Any:
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type) or types.is_large_string(array.type):
        return array
    return array.cast(pyarrow.large_string())


def check_utf8(data: bytes) -> None:
    """Check that bytes are UTF-8, without a copy. Raises pyarrow.ArrowInvalid: they are not."""
    import pyarrow

    ends = pyarrow.array([0, len(data)], pyarrow.int64()).buffers()[1]
    pyarrow.LargeStringArray.from_buffers(1, ends, pyarrow.py_buffer(data)).validate(full=True)


def texts_of(strings: Any) -> Iterator[bytes]:
    """Yield the values of a string or large_string array without nulls.

    Raises pyarrow.ArrowInvalid: before the first one, if any is not UTF-8.
    """
    import pyarrow

    strings.validate(full=True)
    if not len(strings):
        return
    _, offsets, values = strings.buffers()
    wide = pyarrow.types.is_large_string(strings.type)
    size = 8 if wide else 4
    # In a damaged file, bytes that are no whole number may follow the offsets.
    numbers = memoryview(offsets).cast("B")[strings.offset * size : (strings.offset + len(strings) + 1) * size]
    places = (numbers.cast("q") if wide else numbers.cast("i")).tolist()
    held = memoryview(values) if values is not None else b""
    start = places[0]
    for stop in places[1:]:
        yield bytes(held[start:stop])
        start = stop


@contextmanager
def _refusals_of(path: str, form: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(path, f"broken or truncated {form}: {first_line(error)}") from None


def _lent(source: Source) -> Any:
    import pyarrow

    return pyarrow.PythonFile(BorrowedSource(source), mode="r")


def _parquet(source: Source, **how: Any) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(_lent(source), pre_buffer=False, buffer_size=2**20, **how)


def _row_group(file: Any, number: int) -> Any:
    """The metadata of a row group, with the sizes of its columns."""
    # Arrow ends the process where damaged metadata of a column are asked for alone; its reader raises. No row is read.
    list(file.reader.iter_batches(0, row_groups=[number], use_threads=False))
    return file.metadata.row_group(number)


def row_groups(source: Source) -> list[tuple[int, int]]:
    """Return stored bytes and rows of each row group of a Parquet file. Raises Unreadable: the file is broken."""
    with _refusals_of(source.path, "Parquet"):
        file = _parquet(source)
        groups = [_row_group(file, number) for number in range(file.metadata.num_row_groups)]
        return [
            (sum(group.column(place).total_compressed_size for place in range(group.num_columns)), group.num_rows)
            for group in groups
        ]


def parquet_texts(source: Source, text_field: str, parts: Sequence[int] | None, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text of every row, or of the rows of the row groups in `parts`."""
    import pyarrow

    with _refusals_of(source.path, "Parquet"):
        file = _parquet(source)
        steps = column_path(file.schema_arrow, text_field, source.path)
        row = 1
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            if parts is None or number in parts:
                try:
                    yield from _group_texts(source, file, number, steps, row, left_out)
                finally:  # return the memory of a row group to the system; Arrow's allocator keeps it otherwise
                    pyarrow.default_memory_pool().release_unused()
                    return_freed_memory()
            row += group.num_rows


def _group_texts(source: Source, file: Any, number: int, steps: list[str], row: int, left_out: SkippedRows) -> Iterator[bytes]:
    group = _row_group(file, number)
    column = ".".join(steps)
    all_chunks = [group.column(place) for place in range(group.num_columns)]
    chunks = [one for one in all_chunks if f"{one.path_in_schema}.".startswith(f"{column}.")]
    within_list = not chunks and len(steps) > 1  # whose path has further names
    if within_list:
        column = steps[0]
        chunks = [one for one in all_chunks if one.path_in_schema.startswith(f"{column}.")]
    if not chunks:
        raise ValueError(f"row group {number + 1} has no column '{column}', which the schema names")
    chunk = chunks[0]
    as_dictionary = not within_list and chunk.has_dictionary_page and chunk.total_uncompressed_size <= DICTIONARY_BYTES
    if as_dictionary:
        file = _parquet(source, metadata=file.metadata, read_dictionary=[column])
    most = BATCH_ROWS
    if chunk.has_dictionary_page and not as_dictionary:  # each row may be as long as the dictionary
        fewest, most = WARY_BATCH_ROWS
        most = max(fewest, min(most, UNFOLDED_BYTES // chunk.total_uncompressed_size))
    rows = CHUNK_BYTES * group.num_rows // max(chunk.total_uncompressed_size, 1)
    for batch in file.iter_batches(max(1, min(rows, most)), row_groups=[number], columns=[column], use_threads=False):
        yield from row_texts(batch, steps, row, left_out)
        row += batch.num_rows


def arrow_texts(source: Source, text_field: str, parts: Sequence[int] | None, left_out: SkippedRows) -> Iterator[bytes]:
    """Yield the text of every row of an Arrow file or stream, or of the record batches in `parts`."""
    import pyarrow

    with _refusals_of(source.path, "Arrow"):
        batches: Iterable[Any]
        if is_arrow_file(source):
            schema = pyarrow.ipc.open_file(_lent(source)).schema
            steps = column_path(schema, text_field, source.path)
            only = pyarrow.ipc.IpcReadOptions(included_fields=[schema.get_field_index(steps[0])], use_threads=False)
            file = pyarrow.ipc.open_file(_lent(source), options=only)
            batches = map(file.get_batch, range(file.num_record_batches) if parts is None else parts)
        else:
            batches = stream = pyarrow.ipc.open_stream(_lent(source))
            steps = column_path(stream.schema, text_field, source.path)
        row = 1
        for batch in batches:
            yield from row_texts(batch, steps, row, left_out, check=True)
            row += batch.num_rows


def is_arrow_file(source: Source) -> bool:
    """Whether this is an Arrow file, whose record batches can be read independently, rather than a stream.

    Raises Unreadable: it is a Feather file of before 2020, which is neither.
    """
    head = source.read(len(_ARROW_FILE))
    source.seek(0)
    if head.startswith(b"FEA1"):
        raise Unreadable(source.path, "Feather of version 1 is not read: write it again as version 2")
    return head == _ARROW_FILE


def _is_arrow_stream(head: bytes, _: Source, __: CorpusFile) -> bool:
    """Whether the first bytes are those of a message: four of ones, then the length of its description in whole words."""
    length = int.from_bytes(head[4:8], "little")
    return head.startswith(b"\xff" * 4) and 0 < length < HEAD_BYTES and length % 8 == 0


def record_batches(source: Source) -> int:
    """Return the number of record batches of an Arrow file; a stream counts as one."""
    import pyarrow

    with _refusals_of(source.path, "Arrow"):
        return int(pyarrow.ipc.open_file(_lent(source)).num_record_batches) if is_arrow_file(source) else 1


def arrow_rows(source: Source) -> int:
    """Return the number of rows of an Arrow file or stream. Raises Unreadable: the file is broken."""
    import pyarrow

    with _refusals_of(source.path, "Arrow"):
        if not is_arrow_file(source):
            rows: int = sum(batch.num_rows for batch in pyarrow.ipc.open_stream(_lent(source)))
            if source.tell() < source.size:
                raise ValueError("another stream, or damage, follows the first")
            return rows
        file = pyarrow.ipc.open_file(_lent(source))
        return sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))


SAMPLES = (
    # Each row has its share of the stored bytes of its row group.
    SampleFormat(
        "Parquet", lambda source, _: chain.from_iterable(starmap(even_shares, row_groups(source))),
        (".parquet", ".pq", ".parq", ".geoparquet"), magic=b"PAR1",
    ),
    SampleFormat(
        "Arrow", lambda source, file: even_shares(file.stored_bytes, arrow_rows(source)),
        (".arrow", ".arrows", ".feather", ".ipc"), magic=_ARROW_FILE, tells=_is_arrow_stream,
    ),
)  # fmt: skip
