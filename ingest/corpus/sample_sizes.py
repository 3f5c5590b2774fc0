"""`ingest measure --samples`: number and sizes of samples, found by their framing without decoding, and of files."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import GroupTallies
from ingest.corpus.files.decompress import decompressed
from ingest.corpus.files.listing import DATASETS, list_inputs
from ingest.corpus.files.names import MAGIC, short_title, suffix_of
from ingest.corpus.files.source import BorrowedSource, Meter, Source, Unreadable, is_remote, open_file
from ingest.corpus.formats.archives import BLOCK, Archive
from ingest.corpus.formats.columnar import arrow_rows, row_groups
from ingest.corpus.formats.rows import BufferedReader
from ingest.corpus.measurement import CorpusMeasurement, measurement_of, skipped_rows
from ingest.corpus.types import CorpusFile, LeftOut, Progress, SkippedFile, extension_of
from ingest.engine.question import Question, Shown
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError

#: stored bytes of a sample, and the number of such samples
SizesAndCounts = Iterator[tuple[int, int]]

HDF5 = (".h5", ".hdf5", ".hdf", ".he5")
#: length, checksum of the length; after the content a checksum of it
RECORD_HEAD, RECORD_TAIL = 12, 4
#: CRC-32C, as TFRecord writes it: by byte for the reversed polynomial, then rotated and shifted by this
_MASK = 0xA282EAD8
_CRC_OF_BYTE = list(range(256))
for _ in range(8):
    _CRC_OF_BYTE = [value >> 1 ^ 0x82F63B78 * (value & 1) for value in _CRC_OF_BYTE]
FILE = "file"


def framing_of(file: CorpusFile) -> str:
    """Return the framing of samples in a file: `tfrecord`, `hdf5`, `tar`, `parquet`, `arrow`, or `file` for one sample."""
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
        if form == "tfrecord":
            yield from walk_tfrecord(source, file)
        elif form == "tar":
            yield from walk_tar(source, file)
        elif form == "parquet":  # each row has its share of the stored bytes of its row group
            for size, rows in row_groups(source):
                yield from even_shares(size, rows)
        else:  # each row or sample has its share of the file
            yield from even_shares(file.stored_bytes, arrow_rows(source) if form == "arrow" else hdf5_samples(file))
        source.finish()
    finally:
        source.close()


def even_shares(size: int, times: int) -> SizesAndCounts:
    """Yield the sizes of `times` samples that share a size evenly, to the byte.

    >>> list(even_shares(10, 4))
    [(2, 2), (3, 2)]
    """
    share, more = divmod(size, max(times, 1))
    yield from ((share + extra, number) for extra, number in ((0, times - more), (1, more)) if number)


def stored_shares(decoded: SizesAndCounts, size: int) -> SizesAndCounts:
    """Yield the sizes of samples in a compressed file as shares of its stored bytes."""
    counts = Counter[int]()
    for length, times in decoded:
        counts[length] += times
    whole = max(sum(length * times for length, times in counts.items()), 1)
    yield from ((length * size // whole, times) for length, times in counts.items())


def walk_tfrecord(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Records with their framing; TensorFlow compresses without a suffix in the name."""
    head = source.read(RECORD_HEAD)
    source.seek(0)
    packed = file.compression or ("gzip" if head.startswith(MAGIC["gzip"]) else "")
    if packed:
        reader = BufferedReader(decompressed(source, packed))
        yield from stored_shares(records(reader.exactly, reader.skip, file.path), file.stored_bytes)
        return

    def skip(size: int) -> bool:
        end = source.tell() + size
        source.seek(min(end, source.size))
        return end <= source.size

    yield from records(source.read, skip, file.path)


def records(read: Callable[[int], bytes], skip: Callable[[int], bool], path: str) -> SizesAndCounts:
    """Yield the size of each record of a TFRecord stream; `skip` tells whether there were as many bytes."""
    number = 0
    while head := read(RECORD_HEAD):
        number += 1
        length = int.from_bytes(head[:8], "little")
        if len(head) < RECORD_HEAD or masked_checksum(head[:8]) != int.from_bytes(head[8:], "little"):
            what = "not a TFRecord" if number == 1 else f"broken at record {number}"
            raise Unreadable(path, f"{what}: the checksum of a length is wrong")
        if not skip(length + RECORD_TAIL):
            raise Unreadable(path, f"truncated in record {number}")
        yield RECORD_HEAD + length + RECORD_TAIL, 1


def masked_checksum(data: bytes) -> int:
    """CRC-32C as TFRecord stores it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC_OF_BYTE[(value ^ byte) & 0xFF]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + _MASK) & 0xFFFFFFFF


def walk_tar(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples as WebDataset groups them: consecutive members whose names agree up to the first dot.

    The stored bytes of a member include its header and padding.
    """
    archive = Archive(file.path, decompressed(source, file.compression) if file.compression else BorrowedSource(source))
    members = (member for member in archive.members() if member.isfile())
    sizes = (
        (sum(one.offset_data - one.offset + -(-one.size // BLOCK) * BLOCK for one in group), 1)
        for _, group in groupby(members, lambda member: key_of(member.name))
    )
    return stored_shares(sizes, file.stored_bytes) if file.compression else sizes


def key_of(name: str) -> str:
    """Return the part of a name that the members of one sample share."""
    folder, slash, file = name.rpartition("/")
    return folder + slash + file.partition(".")[0]


def hdf5_samples(file: CorpusFile) -> int:
    """Number of samples along the first axis of the largest data set, at least one; the library opens the file itself."""
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
    return max(largest[1], 1)


#: distinct sizes that are counted exactly; with more, sizes are rounded
MOST_SIZES = 1_000_000
#: binary digits that rounding keeps: accurate to a thousandth
KEPT_BITS = 10
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


class SizeCounts:
    """The distribution of sizes: their number, sum and largest."""

    def __init__(self) -> None:
        self.count = self.bytes = self.largest = 0
        self.rounded = False  # with too many sizes, percentiles are accurate to a thousandth only
        self._times, self._bytes = Counter[int](), Counter[int]()
        self._most = MOST_SIZES

    def add(self, size: int, times: int = 1) -> None:
        """Add a size, `times` over."""
        self.count += times
        self.bytes += size * times
        self.largest = max(self.largest, size)
        self._bytes[size.bit_length()] += size * times
        self._times[rounded(size) if self.rounded else size] += times
        if len(self._times) > self._most and not self.rounded:
            self.rounded = True
            before, self._times = self._times, Counter()
            for exact, number in before.items():
                self._times[rounded(exact)] += number

    def percentiles(self, percentages: Sequence[int] = PERCENTILES) -> dict[int, int]:
        """Return, for each percentage, the smallest size that this percentage of sizes does not exceed."""
        sizes = sorted(self._times)
        ends = list(accumulate(self._times[size] for size in sizes))
        return {percent: sizes[bisect_left(ends, math.ceil(percent * self.count / 100))] for percent in percentages}

    def rows(self) -> list[dict[str, Any]]:
        """Return the percentiles and the largest size, as rows."""
        named = {f"p{percent}": size for percent, size in self.percentiles().items()}
        return [{"size": name, "bytes": size} for name, size in {**named, "max": self.largest}.items()]

    def bins(self) -> list[dict[str, int]]:
        """Return the histogram over powers of two."""
        counts = Counter[int]()
        for size, times in self._times.items():
            counts[size.bit_length()] += times
        return [
            {"from": 2**place // 2, "below": max(2**place, 1), "count": count, "bytes": self._bytes[place]}
            for place, count in sorted(counts.items())
        ]


def rounded(size: int) -> int:
    """Return a size rounded down to its ten leading binary digits."""
    dropped = max(size.bit_length() - KEPT_BITS, 0)
    return size >> dropped << dropped


#: most extensions with a row of their own
MOST_ROWS = 1000
#: What `measure --samples` answers.
QUESTION = Question(
    "measure",
    (
        Shown("sample_bytes"),
        Shown("samples"),
        Shown("files"),
        Shown("dataset_bytes"),
        Shown("samples_per_file"),
        Shown("mean_file_bytes"),
        Shown("bytes_read"),
        Shown("files_skipped"),
    ),
    (("Found", {"sample_bytes": "{}", "samples": "{}", "stored_bytes": "{} stored"}),),
)
HDF5_NOTE = (
    "HDF5 samples are counted along the first axis of the largest data set of each file; "
    "if each file is one sample, use mean_file_bytes"
)


@dataclass
class SampleSizes:
    """Sizes of samples and files."""

    samples: SizeCounts = field(default_factory=SizeCounts)  # their sizes
    files: SizeCounts = field(default_factory=SizeCounts)  # their sizes
    forms: Counter[str] = field(default_factory=Counter)  # files by framing
    extensions: GroupTallies = field(default_factory=lambda: GroupTallies(MOST_ROWS))  # files, samples, bytes by extension
    skipped: LeftOut = field(default_factory=LeftOut)  # broken files
    bytes_read: int = 0  # to find the samples


def sizes_of(listing: Sequence[CorpusFile], skipped: Sequence[SkippedFile], moved: Callable[[int], object]) -> SampleSizes:
    """Measure every file, or skip it with the reason; only files that may hold several samples are opened."""
    sizes = SampleSizes()
    sizes.skipped.note(*skipped)
    for found in listing:
        meter, counts = Meter(), Counter[int]()
        try:
            for size, times in samples_of(found, meter):
                counts[size] += times
        except Unreadable as error:
            sizes.skipped.note(SkippedFile(error.path, error.reason))
        else:
            for size, times in counts.items():
                sizes.samples.add(size, times)
            sizes.files.add(found.stored_bytes)
            sizes.forms[framing_of(found)] += 1
            sizes.extensions.add(extension_of(found.path), (1, counts.total(), found.stored_bytes))
        sizes.bytes_read += meter.bytes_read
        moved(found.stored_bytes)
    return sizes


def measured_samples(
    paths: Sequence[str | Path], include: Sequence[str], exclude: Sequence[str], catalog: Catalog, progress: Progress
) -> CorpusMeasurement:
    """Measure sizes of samples and files instead of tokens. Raises IngestError: no file holds a sample."""
    named, listing = short_title(paths), list_inputs([str(path) for path in paths], include, exclude)
    progress.begin(sum(listing.sizes), 0)
    sizes = sizes_of(listing, listing.skipped, progress.moved)
    progress.clear()
    if not sizes.samples.count:
        first = "".join(f": the first file left out is {one.path}: {one.reason}" for one in sizes.skipped.named[:1])
        raise IngestError(f"{named}: found no sample, expected at least one{first}")
    counts = {
        "samples": sizes.samples.count,
        "sample_files": sizes.files.count,
        "sample_files_bytes": sizes.files.bytes,
        "bytes_read": sizes.bytes_read,
        "files_skipped": sizes.skipped.count,
    }
    known = Quantities({name: Input(value, origin="measured") for name, value in counts.items()})
    known.state("samples_measured")
    notes = [HDF5_NOTE] if sizes.forms["hdf5"] else []
    if sizes.forms[FILE] and len(sizes.forms) > 1:
        notes.append("files of other formats count as one sample each; see the table of extensions")
    if sizes.samples.rounded or sizes.files.rounded:
        notes.append("percentiles are accurate to a thousandth: more than a million sizes differ")
    tables = {
        "sample_sizes": sizes.samples.rows(),
        "file_sizes": sizes.files.rows(),
        "sample_histogram": sizes.samples.bins(),
        "file_histogram": sizes.files.bins(),
        "extensions": [
            {"extension": name, "files": files, "samples": samples, "stored_bytes": size}
            for name, (files, samples, size) in sorted(sizes.extensions.rows.items(), key=lambda item: (-item[1][2], item[0]))
        ],
        "files_skipped": skipped_rows(sizes.skipped),
    }
    design = {"design": "samples", "forms": dict(sizes.forms)}
    title = f"{named}: sizes of samples"
    about = {"design": design, "manifest_hash": listing.manifest_hash()}
    return measurement_of(QUESTION, known, QUESTION.names, tables, title, catalog, tuple(notes), **about)
