"""`ingest measure --samples`: number and sizes of samples, found by their framing without decoding, and of files."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import GroupTallies
from ingest.corpus.files.listing import DATASETS, list_inputs
from ingest.corpus.files.names import short_title
from ingest.corpus.files.source import Meter, Unreadable, is_remote, open_file
from ingest.corpus.formats import SampleFormat, SizesAndCounts, sample_format_of, sample_formats
from ingest.corpus.measurement import CorpusMeasurement, measurement_of, skipped_rows
from ingest.corpus.types import CorpusFile, LeftOut, Progress, SkippedFile, extension_of
from ingest.engine.question import Question, Shown
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError

#: the name in JSON of files that are one sample each
FILE = "file"


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
            form = sample_format_of(found, meter)
            for size, times in _samples_of(found, form, meter):
                counts[size] += times
        except Unreadable as error:
            sizes.skipped.note(SkippedFile(error.path, error.reason))
        else:
            for size, times in counts.items():
                sizes.samples.add(size, times)
            sizes.files.add(found.stored_bytes)
            sizes.forms[form.title.lower() if form else FILE] += 1
            sizes.extensions.add(extension_of(found.path), (1, counts.total(), found.stored_bytes))
        sizes.bytes_read += meter.bytes_read
        moved(found.stored_bytes)
    return sizes


def _samples_of(file: CorpusFile, form: SampleFormat | None, meter: Meter) -> SizesAndCounts:
    """Yield the sizes of a file's samples; where it is broken, those yielded so far must be dropped."""
    if file.format == DATASETS:
        raise Unreadable(file.path, "sample sizes are measured in files: give the folder itself")
    if form is None:
        yield file.stored_bytes, 1
        return
    if form.local and is_remote(file.location):
        raise Unreadable(file.path, f"{form.title} is read from file systems only")
    with closing(open_file(file, meter)) as source:
        yield from form.sizes(source, file)
        source.finish()


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
    notes = [form.note for form in sample_formats() if form.note and sizes.forms[form.title.lower()]]
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
    about: dict[str, Any] = {"title": f"{named}: sizes of samples", "design": design, "manifest_hash": listing.manifest_hash()}
    return measurement_of(QUESTION, known, QUESTION.names, tables, catalog=catalog, warnings=tuple(notes), **about)
