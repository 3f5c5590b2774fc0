"""Rows of a local `datasets` builder: one document per row, in a column."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.corpus.files.saved_datasets import SCHEME, list_splits, one_line
from ingest.corpus.files.source import CHANGED, Meter, Unreadable
from ingest.corpus.formats.plain_text import chunks
from ingest.corpus.formats.rows import LIMIT_BYTES, TOO_LONG, SkippedRows, encoded, value_in
from ingest.corpus.types import Chunk, CorpusFile, Note
from ingest.errors import nearest


def read_split(file: CorpusFile, field: str, note: Note, meter: Meter) -> Iterator[Chunk]:
    """Yield the texts of a split's rows; nothing is written to the cache of `datasets`.

    Raises:
        Unreadable: `datasets` cannot read the split, the column is missing, or the data changed meanwhile.
    """
    import datasets

    folder, _, split = file.location.removeprefix(SCHEME).partition("#")
    left_out = SkippedRows(file.path, "row")
    meter.stored_bytes = meter.bytes_read = file.stored_bytes
    try:
        rows = datasets.load_dataset(folder, split=split, streaming=True)
        columns = rows.column_names or list(next(iter(rows.take(1)), {}))
        column = field if field in columns else field.partition(".")[0]
        if column not in columns:
            raise Unreadable(file.path, f"no column '{field}', it has {', '.join(columns) or 'none'}{nearest(field, columns)}")
        # without the other columns, no image is decoded
        for number, row in enumerate(rows.select_columns([column]), 1):
            try:
                text = encoded(value_in(row, field))
            except ValueError as error:
                left_out.add(number, str(error))
                continue
            if len(text) > LIMIT_BYTES:
                left_out.add(number, TOO_LONG)
            else:
                yield from chunks(text)
    except Unreadable:
        raise
    except Exception as error:
        # builders raise any exception, and none may end in a traceback
        raise Unreadable(file.path, f"`datasets` cannot read it: {one_line(error)}") from None
    if {url: version for url, _, version in list_splits(file.location)} != {file.location: file.stamp}:
        raise Unreadable(file.path, CHANGED)
    left_out.tell(note)
