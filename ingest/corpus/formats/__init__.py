"""Readers of documents and of samples, by format; a module declares the formats of samples that it reads in `SAMPLES`.

A reader raises Unreadable where a file is broken, truncated or of another format, or lacks the column; what it yielded so far
must then be dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from typing import NamedTuple

from ingest.corpus.files.names import content_suffix
from ingest.corpus.files.source import Meter, Source, open_file
from ingest.corpus.types import CorpusFile
from ingest.engine.registry import load_modules

#: stored bytes of a sample, and the number of such samples
SizesAndCounts = Iterator[tuple[int, int]]


class SampleFormat(NamedTuple):
    """A format whose files hold many samples, which `measure --samples` finds without decoding them.

    Attributes:
        title: as messages name it; in lower case its name in JSON.
        sizes: yields the sizes of the samples of an open file; it raises Unreadable where the file is broken.
        suffixes: of its files, in lower case, without that of a compression.
        names: whether a name is of the format, where no suffix tells; it goes before all suffixes.
        magic: the first bytes of its files, which decide where no name does.
        packed: whether compressed files are read too; of other formats they are one sample each.
        local: whether files are read from file systems only, by a library that opens them itself.
        note: a caution about the counts.
    """

    title: str
    sizes: Callable[[Source, CorpusFile], SizesAndCounts]
    suffixes: tuple[str, ...] = ()
    names: Callable[[str], bool] | None = None
    magic: bytes = b""
    packed: bool = False
    local: bool = False
    note: str = ""


@cache
def sample_formats() -> tuple[SampleFormat, ...]:
    """What the modules of this package declare in `SAMPLES`, in the order of their names."""
    return tuple(form for module in load_modules(__name__) for form in getattr(module, "SAMPLES", ()))


def sample_format_of(file: CorpusFile, meter: Meter) -> SampleFormat | None:
    """The format of a file of many samples; None for a file that is one sample. Raises Unreadable: it cannot be opened."""
    known, suffix, name = sample_formats(), content_suffix(file.path), file.path.rpartition("/")[2]
    found = [form for form in known if form.names and form.names(name)] or [form for form in known if suffix in form.suffixes]
    marks = [form.magic for form in known if form.magic]
    if not found and marks and file.stored_bytes:
        with closing(open_file(file, meter)) as source:
            head = source.read(max(map(len, marks)))
        found = [form for form in known if form.magic and head.startswith(form.magic)]
    return next((form for form in found if form.packed or not file.compression), None)
