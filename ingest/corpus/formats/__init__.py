"""Readers of documents and of samples, by format; a module declares the formats of samples that it reads in `SAMPLES`.

A reader raises Unreadable where a file is broken, truncated or of another format, or lacks the column; what it yielded so far
must then be dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any, NamedTuple

from ingest.corpus.files.listing import DATASETS
from ingest.corpus.files.names import FOREIGN, MEDIA, WHOLE, content_suffix, is_aside, kind_by_magic, suffix_of
from ingest.corpus.files.source import (
    STANDARD_INPUT,
    Meter,
    Source,
    Unreadable,
    decompressed,
    decompressed_to_disk,
    may_be_pointer,
    open_file,
)
from ingest.corpus.types import CorpusFile, Note, SkippedFile
from ingest.engine.registry import load_modules

#: stored bytes of a sample, and the number of such samples
SizesAndCounts = Iterator[tuple[int, int]]
#: suffixes of texts whose lines may be rows of JSON
LINES = (".txt", ".text")
#: of a file that marks a folder
MOST_MARK_BYTES = 2**24
#: first bytes by which a file is recognized where its name does not tell
HEAD_BYTES = 2**16


class SampleFormat(NamedTuple):
    """A format whose files hold many samples, which `measure --samples` finds without decoding them."""

    title: str  # as messages name it; in lower case its name in JSON
    #: yields the sizes of the samples of an open file; it raises Unreadable where the file is broken
    sizes: Callable[[Source, CorpusFile], SizesAndCounts]
    suffixes: tuple[str, ...] = ()  # of its files, in lower case, without that of a compression
    #: whether a name is of the format, where no suffix tells; it goes before all suffixes
    names: Callable[[str], bool] | None = None
    magic: bytes = b""  # the first bytes of its files, which decide where no name does
    #: whether a file is of the format, where no magic is fixed: by its first bytes, and the file itself
    tells: Callable[[bytes, Source, CorpusFile], bool] | None = None
    packed: bool = False  # whether `sizes` decompresses by itself; files of other formats are decompressed for it
    note: str = ""  # a caution about the counts


class FolderFormat(NamedTuple):
    """A format whose data set is a folder of many files."""

    title: str  # as messages name it; in lower case its name in JSON
    #: the number of samples, by the content of its marks, by path below the folder; None if it is of another format
    samples: Callable[[dict[str, bytes]], int | None]
    marks: tuple[str, ...]  # the ends of paths, of which each tells that the folder above it is of the format
    note: str = ""  # a caution about the counts


@cache
def declared(table: str) -> tuple[Any, ...]:
    """What the modules of this package declare in `SAMPLES`, `FOLDERS` or `STACKS`, in the order of their names."""
    return tuple(form for module in load_modules(__name__) for form in getattr(module, table, ()))


def _one(_: Source, file: CorpusFile) -> SizesAndCounts:
    yield file.stored_bytes, 1


#: A file that is one sample; one that describes others and holds none; and one of a format that nothing here reads.
WHOLE_FILE, ASIDE, NOT_READ = (
    SampleFormat("file", _one),
    SampleFormat("sidecar", lambda *_: iter(())),
    SampleFormat("unread", _one),
)


def recognized(file: CorpusFile, meter: Meter) -> tuple[SampleFormat, CorpusFile]:
    """The format of a file by its name, else by its content, and the file with the compression that was found.

    Raises Unreadable: it cannot be opened, or is compressed in a way that is not read.
    """
    if file.format == DATASETS or file.location == STANDARD_INPUT:
        raise Unreadable(file.path, "sample sizes are measured in files: give the folder or the file itself")
    if is_aside(file.path):
        return ASIDE, file
    if not file.stored_bytes:
        raise Unreadable(file.path, "empty")
    known, suffix, name = declared("SAMPLES"), content_suffix(file.path), file.path.rpartition("/")[2]
    if suffix in WHOLE and suffix not in LINES:
        return WHOLE_FILE, file
    if (packed := suffix_of(name)) in FOREIGN:
        raise Unreadable(file.path, f"{packed} files are not read")
    found = [form for form in known if form.names and form.names(name)] or [form for form in known if suffix in form.suffixes]
    if found:
        return found[0], file
    with closing(open_file(file, meter)) as source:
        head = source.read(HEAD_BYTES)
        compression = file.compression or (kind_by_magic(head) or ("", ""))[1]
        if compression:
            source.seek(0)
            head = decompressed(source, compression).read(HEAD_BYTES)
        found = [
            form
            for form in known
            if (form.magic and head.startswith(form.magic)) or (form.tells and form.tells(head, source, file))
        ]
    return (*found, WHOLE_FILE if suffix in LINES else NOT_READ)[0], file._replace(compression=compression)


def samples_of(file: CorpusFile, form: SampleFormat, meter: Meter) -> SizesAndCounts:
    """Yield the sizes of a file's samples; where it is broken, those yielded so far must be dropped."""
    if form.sizes is _one:
        if (parts := dict(declared("STACKS")).get(content_suffix(file.path))) or may_be_pointer(file.stored_bytes):
            with closing(open_file(file, meter)) as source:
                found = parts(source, file.compression) if parts else 0
                meter.parts = found if found > 1 else 0
        yield file.stored_bytes, 1
        return
    with closing(open_file(file, meter)) as source:
        if file.compression and not form.packed:
            with decompressed_to_disk(source, file.compression) as whole:
                sizes = form.sizes(whole, file._replace(stored_bytes=whole.size, compression=""))
                yield from stored_shares(sizes, file.stored_bytes)
        else:
            yield from form.sizes(source, file)
        source.finish()


def even_shares(size: int, times: int) -> SizesAndCounts:
    """Yield the sizes of `times` samples that share a size evenly, to the byte."""
    share, more = divmod(size, max(times, 1))
    yield from ((share + extra, number) for extra, number in ((0, times - more), (1, more)) if number)


def doubt_members(source: Source, archive: str, members: Counter[str]) -> None:
    """Caution that members of an archive, by suffix, may be other than one sample: only media are one each for sure."""
    if doubted := ", ".join(f"{suffix or 'no suffix'} {members[suffix]:,}" for suffix in sorted(members.keys() - MEDIA)):
        source.caution(f"members of {archive} files that may hold or describe several samples count as one each: {doubted}")


def stored_shares(decoded: SizesAndCounts, size: int) -> SizesAndCounts:
    """Yield the sizes of samples in a compressed file as shares of its stored bytes."""
    counts = Counter[int]()
    for length, times in decoded:
        counts[length] += times
    whole = max(sum(length * times for length, times in counts.items()), 1)
    yield from ((length * size // whole, times) for length, times in counts.items())


class SampleFolder(NamedTuple):
    """A folder that is one data set, and its files."""

    form: FolderFormat
    files: list[CorpusFile]
    samples: int


def folders_in(listing: Sequence[CorpusFile], meter: Meter, note: Note) -> dict[str, SampleFolder]:
    """The folders that are one data set, the outermost ones, by the beginning of the paths of their files."""
    marked: dict[tuple[str, FolderFormat], list[CorpusFile]] = {}
    ends = tuple(mark for form in declared("FOLDERS") for mark in form.marks)
    for file in listing:
        for form in declared("FOLDERS") if file.path.endswith(ends) else ():
            if mark := next((mark for mark in form.marks if f"/{file.path}".endswith(f"/{mark}")), ""):
                marked.setdefault((file.path.removesuffix(mark), form), []).append(file)
    found: dict[str, SampleFolder] = {}
    for root, form in sorted(marked, key=lambda one: (len(one[0]), one[1].title)):
        if root_above(root, found) is None:
            contents = {}
            for file in (
                file for (place, one), files in marked.items() if one is form and place.startswith(root) for file in files
            ):
                try:
                    with closing(open_file(file, meter)) as source:
                        contents[file.path.removeprefix(root)] = source.read(MOST_MARK_BYTES)
                except Unreadable as error:
                    note(SkippedFile(error.path, error.reason))
            if (samples := form.samples(contents)) is not None:
                found[root] = SampleFolder(form, [], samples)
    return found


def root_above(path: str, roots: Mapping[str, object]) -> str | None:
    """The outermost of these beginnings of paths that a path has; None where it has none."""
    if not roots:
        return None
    ends = (0, *(place + 1 for place, letter in enumerate(path) if letter == "/"))
    return next((path[:end] for end in ends if path[:end] in roots), None)
