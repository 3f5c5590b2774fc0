"""`ingest measure --samples`: how many samples a data set holds, how large they are, and how they lie in files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import OTHER
from ingest.corpus.files.source import Meter, Unreadable
from ingest.corpus.measurement import CorpusMeasurement, skipped_rows
from ingest.corpus.record_framing import FILE, framing_of, samples_of
from ingest.corpus.types import CorpusFile, SkippedFile, extension_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError

#: sizes that are told apart; beyond them they are rounded
MOST_SIZES = 1_000_000
#: binary digits that rounding keeps: a thousandth
KEPT_BITS = 10
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


class SizeBin(NamedTuple):
    """Sizes from a power of two up to the next: how many, and their bytes; `low` belongs to it, `high` does not."""

    low: int
    high: int
    times: int
    bytes: int


class SizeCounts:
    """How often each size occurs.

    Attributes:
        count: how many.
        bytes: their sum.
        rounded: whether percentiles are exact to a thousandth only, because too many sizes differ.
    """

    def __init__(self) -> None:
        self.count = self.bytes = self.largest = 0
        self.rounded = False
        self._times: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._most = MOST_SIZES

    def add(self, size: int, times: int = 1) -> None:
        """So many of a size."""
        self.count += times
        self.bytes += size * times
        self.largest = max(self.largest, size)
        place = size.bit_length()
        self._bytes[place] = self._bytes.get(place, 0) + size * times
        key = rounded(size) if self.rounded else size
        self._times[key] = self._times.get(key, 0) + times
        if len(self._times) > self._most and not self.rounded:
            self._round()

    def _round(self) -> None:
        self.rounded = True
        before, self._times = self._times, {}
        for size, times in before.items():
            self._times[rounded(size)] = self._times.get(rounded(size), 0) + times

    def percentiles(self, asked: Sequence[int] = PERCENTILES) -> dict[int, int]:
        """For each percentage the smallest size that so many do not exceed.

        >>> sizes = SizeCounts()
        >>> for size in range(1, 101):
        ...     sizes.add(size)
        >>> sizes.percentiles((1, 50, 99))
        {1: 1, 50: 50, 99: 99}
        """
        found: dict[int, int] = {}
        wanted = [(percent, math.ceil(percent * self.count / 100)) for percent in asked]
        passed = 0
        for size in sorted(self._times):
            passed += self._times[size]
            found |= {percent: size for percent, rank in wanted if percent not in found and passed >= rank}
        return found

    def bins(self) -> list[SizeBin]:
        """The histogram.

        >>> sizes = SizeCounts()
        >>> sizes.add(3), sizes.add(2), sizes.add(4, times=2)
        (None, None, None)
        >>> sizes.bins()
        [SizeBin(low=2, high=4, times=2, bytes=5), SizeBin(low=4, high=8, times=2, bytes=8)]
        """
        counts: dict[int, int] = {}
        for size, times in self._times.items():
            counts[size.bit_length()] = counts.get(size.bit_length(), 0) + times
        return [SizeBin(2**place // 2, max(2**place, 1), count, self._bytes[place]) for place, count in sorted(counts.items())]


def rounded(size: int) -> int:
    """A size with its ten leading binary digits.

    >>> rounded(1023), rounded(1_000_001)
    (1023, 999424)
    """
    dropped = max(size.bit_length() - KEPT_BITS, 0)
    return size >> dropped << dropped


#: extensions that are told apart, and skipped files that are named
MOST_ROWS, MOST_NAMED = 1000, 100_000
#: results, and which formula or count they come from
CHOSEN = {
    "sample_bytes": "mean_sample_bytes",
    "samples_per_file": "mean_samples_per_file",
    "dataset_bytes": "sample_files_bytes",
    "files": "sample_files",
}
RESULTS = (
    "sample_bytes",
    "samples",
    "files",
    "dataset_bytes",
    "samples_per_file",
    "mean_file_bytes",
    "bytes_read",
    "files_skipped",
)
HDF5_NOTE = (
    "HDF5 samples are counted along the first axis of the largest data set of each file; "
    "if each file is one sample, use mean_file_bytes"
)


@dataclass
class SampleSizes:
    """What has been seen.

    Attributes:
        samples, files: how their sizes are distributed.
        forms: files of each form.
        extensions: files, samples and stored bytes by extension.
        skipped: files that are broken, and how many.
        bytes_read: what was moved from storage to walk framing.
    """

    samples: SizeCounts = field(default_factory=SizeCounts)
    files: SizeCounts = field(default_factory=SizeCounts)
    forms: Counter[str] = field(default_factory=Counter)
    extensions: dict[str, list[int]] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    files_skipped: int = 0
    bytes_read: int = 0

    def take(self, found: CorpusFile) -> None:
        """Add a file, or say why it does not count."""
        meter, sizes = Meter(), Counter[int]()
        form = framing_of(found)
        try:
            for size, times in samples_of(found, meter):
                sizes[size] += times
        except Unreadable as error:
            self.skip(SkippedFile(error.path, error.reason))
            return
        finally:
            self.bytes_read += meter.bytes_read
        for size, times in sizes.items():
            self.samples.add(size, times)
        self.files.add(found.stored_bytes)
        self.forms[form] += 1
        self._sum(extension_of(found.path), 1, sizes.total(), found.stored_bytes)

    def skip(self, skipped: SkippedFile) -> None:
        """A file does not count."""
        self.files_skipped += 1
        if len(self.skipped) < MOST_NAMED:
            self.skipped.append(skipped)

    def _sum(self, name: str, *numbers: int) -> None:
        if name not in self.extensions and len(self.extensions) >= MOST_ROWS:
            name = OTHER
        row = self.extensions.setdefault(name, [0, 0, 0])
        for place, number in enumerate(numbers):
            row[place] += number


def sizes_of(listing: Sequence[CorpusFile], skipped: Sequence[SkippedFile], moved: Callable[[int], object]) -> SampleSizes:
    """Look at every file; only what holds several samples is opened."""
    sizes = SampleSizes()
    for item in skipped:
        sizes.skip(item)
    for found in listing:
        sizes.take(found)
        moved(found.stored_bytes)
    return sizes


def measured_samples(
    named: str,
    listing: Sequence[CorpusFile],
    skipped: Sequence[SkippedFile],
    catalog: Catalog,
    moved: Callable[[int], object],
    **about: Any,
) -> CorpusMeasurement:
    """The answer of `measure --samples`.

    Args:
        named: as the user named the data set.
        listing: its files.
        skipped: what could not be listed.
        catalog: where sources come from.
        moved: called with the stored bytes that were dealt with.
        about: what else the answer says: date and manifest hash.

    Raises:
        IngestError: no file holds a sample.
    """
    sizes = sizes_of(listing, skipped, moved)
    if not sizes.samples.count:
        first = f": the first file left out is {sizes.skipped[0].path}: {sizes.skipped[0].reason}" if sizes.skipped else ""
        raise IngestError(f"{named}: found no sample, expected at least one{first}")
    known = quantities_of(sizes)
    results, unknown = known.results(RESULTS)
    return CorpusMeasurement(
        "measure",
        f"{named}: sizes of samples",
        {},
        known,
        results,
        unknown,
        tables_of(sizes),
        tuple(notes_of(sizes)),
        catalog,
        design={"design": "samples", "forms": dict(sizes.forms)},
        **about,
    )


def quantities_of(sizes: SampleSizes) -> Quantities:
    """The counts, and which results they give."""
    counts = {
        "samples": sizes.samples.count,
        "sample_files": sizes.files.count,
        "sample_files_bytes": sizes.files.bytes,
        "bytes_read": sizes.bytes_read,
        "files_skipped": sizes.files_skipped,
    }
    known = Quantities({name: Input(value, origin="measured") for name, value in counts.items()})
    for name, formula in CHOSEN.items():
        known.choose(name, formula)
    return known


def tables_of(sizes: SampleSizes) -> dict[str, list[dict[str, Any]]]:
    """The distributions, the extensions, and what was left out."""
    tables = {
        "sample_sizes": distribution(sizes.samples),
        "file_sizes": distribution(sizes.files),
        "sample_histogram": histogram(sizes.samples),
        "file_histogram": histogram(sizes.files),
        "extensions": [
            {"extension": name, "files": files, "samples": samples, "stored_bytes": size}
            for name, (files, samples, size) in sorted(sizes.extensions.items(), key=lambda item: (-item[1][2], item[0]))
        ],
        "files_skipped": skipped_rows(sizes.skipped, sizes.files_skipped),
    }
    return {name: rows for name, rows in tables.items() if rows}


def distribution(sizes: SizeCounts) -> list[dict[str, Any]]:
    """Percentiles, and the largest."""
    rows: list[Mapping[str, Any]] = [{"size": f"p{percent}", "bytes": size} for percent, size in sizes.percentiles().items()]
    return [dict(row) for row in [*rows, {"size": "max", "bytes": sizes.largest}]]


def histogram(sizes: SizeCounts) -> list[dict[str, Any]]:
    """How many lie between two powers of two, and their bytes."""
    return [{"from": item.low, "below": item.high, "count": item.times, "bytes": item.bytes} for item in sizes.bins()]


def notes_of(sizes: SampleSizes) -> list[str]:
    """What a user should know of these numbers."""
    notes = [HDF5_NOTE] if sizes.forms["hdf5"] else []
    if sizes.forms[FILE] and len(sizes.forms) > 1:
        notes.append("files of a form that is not known to hold several samples count as one sample each; see the extensions")
    if sizes.samples.rounded or sizes.files.rounded:
        notes.append("percentiles are exact to a thousandth: more than a million sizes differ")
    return notes
