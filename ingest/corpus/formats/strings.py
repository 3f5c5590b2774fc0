"""Texts out of Arrow's columns, as far as possible without making Python strings of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.corpus.formats.rows import DEFAULT_FIELD, LeftOut
from ingest.corpus.opening import Unreadable
from ingest.errors import nearest

#: columns that a message names
_NAMED = 8


def column_path(schema: Any, text_field: str, path: str) -> list[str]:
    """Return the names that lead to the column that holds the text.

    It is the one the user names, else `text`, else the only one.

    Raises:
        Unreadable: there is none, or it holds no text.
    """
    field = text_field or (DEFAULT_FIELD if DEFAULT_FIELD in schema.names or len(schema.names) != 1 else schema.names[0])
    steps = [field] if field in schema.names else field.split(".")
    kind = _type_at(schema, steps)
    if kind is None:
        known = ", ".join(schema.names[:_NAMED]) + (", …" if len(schema.names) > _NAMED else "")
        raise Unreadable(path, f"no column '{field}', it has {known or 'none'}{nearest(field, schema.names)}")
    if not _holds_text(kind):
        raise Unreadable(path, f"column '{field}' holds {kind}, expected text")
    return steps


def _type_at(schema: Any, steps: list[str]) -> Any:
    import pyarrow

    kind: Any = pyarrow.struct(list(schema))
    for step in steps:
        index = kind.get_field_index(step) if pyarrow.types.is_struct(kind) else -1
        if index < 0:
            return None
        kind = kind.field(index).type
    return kind


def _holds_text(kind: Any) -> bool:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_string_view)
    return any(test(inner) for test in (*tests, types.is_binary_view))


def leaf(batch: Any, steps: list[str]) -> Any:
    """Return the array at the end of a path of names in a record batch."""
    import pyarrow.compute

    array = batch.column(steps[0])
    return pyarrow.compute.struct_field(array, steps[1:]) if steps[1:] else array


def row_texts(array: Any, first_row: int, left_out: LeftOut) -> Iterator[bytes]:
    """Yield the texts of an array of strings, bytes or a dictionary of these; rows that have none are left out."""
    import pyarrow

    if array.null_count:
        for row, missing in enumerate(array.is_null().to_pylist(), first_row):
            if missing:
                left_out.add(row, "null")
    try:
        if pyarrow.types.is_dictionary(array.type):
            yield from _dictionary_texts(array.drop_null())
        else:
            yield from texts_of(_as_strings(array).drop_null())
    except pyarrow.ArrowInvalid:
        yield from _checked_one_by_one(array, first_row, left_out)


def _as_strings(array: Any) -> Any:
    import pyarrow
    from pyarrow import types

    if types.is_string(array.type) or types.is_large_string(array.type):
        return array
    return array.cast(pyarrow.large_string())


def _dictionary_texts(array: Any) -> Iterator[bytes]:
    """Yield texts that may recur, each of which is held once: a small file may repeat a long one very often."""
    used = array.indices.unique()
    texts = dict(zip(used.to_pylist(), texts_of(_as_strings(array.dictionary.take(used))), strict=True))
    for index in array.indices.to_pylist():
        yield texts[index]


def _checked_one_by_one(array: Any, first_row: int, left_out: LeftOut) -> Iterator[bytes]:
    import pyarrow

    values = array.dictionary_decode() if pyarrow.types.is_dictionary(array.type) else array
    for row, value in enumerate(values.cast(pyarrow.large_binary()), first_row):
        text = value.as_py()
        if text is None:
            continue
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            left_out.add(row, "not UTF-8")
        else:
            yield text


def check_utf8(data: bytes) -> None:
    """Refuse what is not UTF-8, without a copy.

    Raises:
        pyarrow.ArrowInvalid: it is not.
    """
    import pyarrow

    ends = pyarrow.array([0, len(data)], pyarrow.int64()).buffers()[1]
    pyarrow.LargeStringArray.from_buffers(1, ends, pyarrow.py_buffer(data)).validate(full=True)


def texts_of(strings: Any) -> Iterator[bytes]:
    """Yield the values of a string or large_string array without nulls.

    Raises:
        pyarrow.ArrowInvalid: before the first one, if any is not UTF-8.
    """
    import pyarrow

    strings.validate(full=True)
    if not len(strings):
        return
    _, offsets, values = strings.buffers()
    numbers = memoryview(offsets).cast("B")
    wide = pyarrow.types.is_large_string(strings.type)
    places = (numbers.cast("q") if wide else numbers.cast("i"))[strings.offset : strings.offset + len(strings) + 1].tolist()
    held = memoryview(values) if values is not None else b""
    start = places[0]
    for stop in places[1:]:
        yield bytes(held[start:stop])
        start = stop
