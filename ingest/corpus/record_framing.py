"""Samples within files, found by their framing; contents are not decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Any, Protocol

from ingest.corpus.files.decompress import MAGIC, decompressed
from ingest.corpus.files.file_kind import suffix_of
from ingest.corpus.files.open_file import open_file
from ingest.corpus.files.saved_datasets import FORMAT as DATASETS
from ingest.corpus.files.source import BorrowedSource, Meter, Source, Unreadable, is_remote
from ingest.corpus.formats.buffered import BufferedReader
from ingest.corpus.formats.columnar import arrow_rows, row_groups
from ingest.corpus.formats.tar import BLOCK, Archive
from ingest.corpus.types import CorpusFile
from ingest.errors import IngestError

#: stored bytes of a sample, and the number of such samples
SizesAndCounts = Iterator[tuple[int, int]]

HDF5 = (".h5", ".hdf5", ".hdf", ".he5")
#: length, checksum of the length; after the content a checksum of it
RECORD_HEAD, RECORD_TAIL = 12, 4
#: CRC-32C, as TFRecord writes it: reversed polynomial, then rotated and shifted by this
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
FILE = "file"


def framing_of(file: CorpusFile) -> str:
    """Return the framing of samples in a file: `tfrecord`, `hdf5`, `tar`, `parquet`, `arrow`, or `file` for one sample.

    >>> [framing_of(CorpusFile(name, name, 1, "", "text", "")) for name in ("a.jpg", "a.h5", "train.tfrecord-00000-of-01024")]
    ['file', 'hdf5', 'tfrecord']
    """
    if ".tfrecord" in file.path.rpartition("/")[2].lower():
        return "tfrecord"
    if suffix_of(file.path) in HDF5:
        return "hdf5"
    uncompressed = file.format in ("parquet", "arrow") and not file.compression
    return file.format if file.format == "tar" or uncompressed else FILE


def samples_of(file: CorpusFile, meter: Meter) -> SizesAndCounts:
    """Yield the stored bytes of the samples of a file, with the number of samples of that size.

    Raises:
        Unreadable: the file is broken; the sizes yielded so far must be dropped.
        IngestError: the package that reads the format is not installed.
    """
    form = framing_of(file)
    if file.format == DATASETS:
        raise Unreadable(file.path, "sample sizes are measured in files: give the folder itself")
    if form == FILE:
        yield file.stored_bytes, 1
        return
    if form == "hdf5" and is_remote(file.location):
        raise Unreadable(file.path, "HDF5 is read from file systems only")
    source = open_file(file, meter)
    try:
        yield from WALKS[form](source, file)
        source.finish()
    finally:
        source.close()


def even_shares(size: int, times: int) -> SizesAndCounts:
    """Yield the sizes of `times` samples that share a size evenly, to the byte.

    >>> list(even_shares(10, 4))
    [(2, 2), (3, 2)]
    """
    share, more = divmod(size, times)
    yield from ((share + extra, number) for extra, number in ((0, times - more), (1, more)) if number)


def stored_shares(decoded: SizesAndCounts, size: int) -> SizesAndCounts:
    """Yield the sizes of samples in a compressed file as shares of its stored bytes."""
    counts = Counter[int]()
    for length, times in decoded:
        counts[length] += times
    whole = max(sum(length * times for length, times in counts.items()), 1)
    yield from ((length * size // whole, times) for length, times in counts.items())


class RecordSteps(Protocol):
    """A reader of record framing."""

    def exactly(self, size: int) -> bytes:
        """Return the next `size` bytes, or fewer at the end."""

    def skip(self, size: int) -> bool:
        """Skip `size` bytes; return whether the file has as many."""


class SeekingSteps:
    """Framing of a seekable file, read without the contents of its records."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.exactly = source.read

    def skip(self, size: int) -> bool:
        """Skip `size` bytes; return whether the file has as many."""
        end = self._source.tell() + size
        self._source.seek(min(end, self._source.size))
        return end <= self._source.size


def walk_tfrecord(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Records with their framing; TensorFlow compresses without a suffix in the name."""
    head = source.read(RECORD_HEAD)
    source.seek(0)
    packed = file.compression or ("gzip" if head.startswith(MAGIC["gzip"]) else "")
    if packed:
        yield from stored_shares(records(BufferedReader(decompressed(source, packed)), file.path), file.stored_bytes)
    else:
        yield from records(SeekingSteps(source), file.path)


def records(steps: RecordSteps, path: str) -> SizesAndCounts:
    """Yield the size of each record of a TFRecord stream."""
    number = 0
    while head := steps.exactly(RECORD_HEAD):
        number += 1
        length = int.from_bytes(head[:8], "little")
        if len(head) < RECORD_HEAD or masked_checksum(head[:8]) != int.from_bytes(head[8:], "little"):
            what = "not a TFRecord" if number == 1 else f"broken at record {number}"
            raise Unreadable(path, f"{what}: the checksum of a length is wrong")
        if not steps.skip(length + RECORD_TAIL):
            raise Unreadable(path, f"truncated in record {number}")
        yield RECORD_HEAD + length + RECORD_TAIL, 1


def masked_checksum(data: bytes) -> int:
    """CRC-32C as TFRecord stores it.

    >>> hex(masked_checksum(bytes(8)))
    '0x7980329'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _table()[(value ^ byte) & 0xFF]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + _MASK) & 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    values = list(range(256))
    for _ in range(8):
        values = [value >> 1 ^ _POLYNOMIAL * (value & 1) for value in values]
    return tuple(values)


def walk_tar(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples as WebDataset groups them: consecutive members whose names agree up to the first dot."""
    members = tar_members(source, file)
    grouped = (sum(size for _, size in group) for _, group in groupby(members, lambda member: member[0]))
    sizes = ((size, 1) for size in grouped)
    yield from stored_shares(sizes, file.stored_bytes) if file.compression else sizes


def tar_members(source: Source, file: CorpusFile) -> Iterator[tuple[str, int]]:
    """Yield key and stored bytes of each file in an archive, including its header and padding."""
    archive = Archive(file.path, decompressed(source, file.compression) if file.compression else BorrowedSource(source))
    for member in archive.members():
        if member.isfile():
            padded = -(-member.size // BLOCK) * BLOCK
            yield key_of(member.name), member.offset_data - member.offset + padded


def key_of(name: str) -> str:
    """Return the part of a name that the members of one sample share.

    >>> key_of("a.b/0001.seg.png"), key_of("0001.cls")
    ('a.b/0001', '0001')
    """
    folder, slash, file = name.rpartition("/")
    return folder + slash + file.partition(".")[0]


def walk_parquet(source: Source, file: CorpusFile) -> SizesAndCounts:  # noqa: ARG001  one signature for all formats
    """Rows, each with its share of the stored bytes of its row group."""
    for size, rows in row_groups(source):
        yield from even_shares(size, rows) if rows else ()


def walk_arrow(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Rows, each with its share of the file."""
    if rows := arrow_rows(source):
        yield from even_shares(file.stored_bytes, rows)


def walk_hdf5(source: Source, file: CorpusFile) -> SizesAndCounts:  # noqa: ARG001  the library opens the file itself
    """Samples along the first axis of the largest data set, each with its share of the file."""
    try:
        import h5py
    except ImportError:
        raise IngestError(f"'{file.path}': HDF5 needs the package h5py: pip install 'ingest-sizing[formats]'") from None
    largest = [0, 1]

    def see(_: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.id.get_storage_size() > largest[0]:
            largest[:] = item.id.get_storage_size(), item.shape[0] if item.shape else 1

    try:
        with h5py.File(file.location, "r") as hdf5:
            hdf5.visititems(see)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise Unreadable(file.path, f"broken or truncated HDF5: {str(error)[:200]}") from None
    yield from even_shares(file.stored_bytes, max(largest[1], 1))


WALKS: dict[str, Callable[[Source, CorpusFile], SizesAndCounts]] = {
    "tfrecord": walk_tfrecord,
    "tar": walk_tar,
    "parquet": walk_parquet,
    "arrow": walk_arrow,
    "hdf5": walk_hdf5,
}
