"""`ingest measure-storage`: a short fio test of a path, and the models that its read rate supports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.acceptance.fio_runner import FioRun, Point, in_memory, run_fio
from ingest.acceptance.test_spec import Observed, within
from ingest.catalog.records import Gpu
from ingest.catalog.store import Catalog, opened
from ingest.engine.interactive import InteractiveResult
from ingest.engine.registry import solve
from ingest.engine.result import envelope, frame_of
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError
from ingest.sizing.bandwidth import Estimate, bw
from ingest.sizing.job import names_of, parse_axis
from ingest.units import display

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SupportedGpus:
    """The number of GPUs that a read rate supports for a model.

    Attributes:
        model, gpu: ids.
        bandwidth_per_gpu: read rate of one GPU, B/s.
        gpus: whole GPUs that the rate feeds.
    """

    model: str
    gpu: str
    bandwidth_per_gpu: float
    gpus: int


def supported_gpus(
    bandwidth: float, gpus: Sequence[str], catalogs: Catalog | Sequence[str | Path] = ()
) -> tuple[SupportedGpus, ...]:
    """Every model that was measured or emulated on one of the GPUs, the most demanding first."""
    supported: list[SupportedGpus] = []
    catalog = opened(catalogs)
    for model, gpu, basis in product(catalog.ids("models"), gpus, ("measured", "emulated")):
        if any((one.model, one.gpu) == (model, gpu) for one in supported):
            continue
        try:
            answer = bw(model=model, gpu=gpu, basis=basis, catalogs=catalog)
        except IngestError:
            # No such rate of this model on this GPU is published.
            continue
        assert isinstance(answer, Estimate)
        if (need := answer.results.get("ingest_bandwidth_per_gpu")) is not None:
            count = solve("gpus_fed", {"measured_read_bandwidth": bandwidth, "ingest_bandwidth_per_gpu": need.value})
            supported.append(SupportedGpus(model, gpu, float(need.value), int(count)))
    return tuple(sorted(supported, key=lambda one: (-one.bandwidth_per_gpu, one.model)))


MOST_THREADS = 256
#: The knee is the fewest threads that reach this share of the best rate; there is none where only the most threads reach it.
KNEE = 0.9


@dataclass(frozen=True, repr=False, eq=False)
class PathBenchmark(InteractiveResult):
    """Rates of a path, and the GPUs that its read rate supports.

    Attributes:
        path: the folder that was measured.
        points: reads and writes by number of threads and size of request.
        direct: whether direct I/O bypassed the page cache.
        capacity: bytes of the file system.
        supported: models and GPUs, the most demanding first.
    """

    path: str
    points: tuple[Point, ...]
    direct: bool
    capacity: int
    supported: tuple[SupportedGpus, ...]
    catalog: Catalog

    @property
    def knees(self) -> dict[int, Point]:
        """The knee of each size of request, or the most threads where the curve has not bent yet."""
        return {size: knee_of(self._of_size(size)) for size in self.sizes}

    @property
    def bent(self) -> dict[int, bool]:
        """Whether the curve of each size of request has a knee: threads beyond it add latency and hardly any bandwidth."""
        return {size: has_bent(self._of_size(size)) for size in self.sizes}

    def _of_size(self, size: int) -> list[Point]:
        return [one for one in self.points if one.run.io_bytes == size]

    @property
    def sizes(self) -> list[int]:
        """The sizes of request, the smallest first."""
        return sorted({one.run.io_bytes for one in self.points})

    @property
    def chosen(self) -> Point:
        """The point that stands for the path: the knee of the largest requests."""
        return self.knees[self.sizes[-1]]

    @property
    def fio_run(self) -> FioRun:
        """Size, duration, request size and threads of the chosen point."""
        return self.chosen.run

    @property
    def read(self) -> Observed:
        """The reads of the chosen point."""
        return self.chosen.read

    @property
    def write(self) -> Observed:
        """The writes of the chosen point."""
        return self.chosen.write

    @property
    def results(self) -> Mapping[str, Quantity]:
        """Bandwidth, requests per second and mean latency of reads and writes."""
        found = {name: item for load in (self.read, self.write) for name, item in self._of(load, self.fio_run.io_bytes)}
        first = min(self.points, key=lambda one: (one.run.io_bytes, one.run.threads))
        if first.read.latency_seconds is not None:
            found["small_read_latency"] = Quantity(first.read.latency_seconds, "s")
        return {**found, "capacity": Quantity(self.capacity, "B")}

    @staticmethod
    def _of(load: Observed, io_bytes: int) -> Iterator[tuple[str, Quantity]]:
        yield f"{load.operation}_bandwidth", Quantity(load.rate, "B/s")
        given = {"required_bandwidth": load.rate, "aligned_io_bytes": load.io_bytes or io_bytes}
        yield f"{load.operation}_requests_per_second", Quantity(solve("required_requests_per_second", given), "1/s")
        if load.latency_seconds is not None:
            yield f"{load.operation}_latency", Quantity(load.latency_seconds, "s")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per size of request and number of threads, in base units."""
        knees, bent = self.knees, self.bent
        found = []
        for one in sorted(self.points, key=lambda one: (one.run.io_bytes, one.run.threads)):
            rates = {name: item.value for load in (one.read, one.write) for name, item in self._of(load, one.run.io_bytes)}
            knee = bent[one.run.io_bytes] and knees[one.run.io_bytes] is one
            found.append({"io_size": one.run.io_bytes, "threads": one.run.threads, **rates, "knee": knee})
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the measurement."""
        cached = (f"{self.path} refuses direct I/O: I/O went through the page cache, reads may come from memory",)
        amount = f"{display(self.fio_run.seconds, 's')} and {display(self.fio_run.bytes, 'B')}"
        short = (f"one machine, {amount}: caches of drives and servers may hold that much, and no other client was measured",)
        kind = in_memory(Path(self.path))
        memory = (f"{self.path} is {kind}: this measures main memory, not storage",) if kind else ()
        return memory + (() if self.direct else cached) + short

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        inputs = {
            "path": {"value": self.path, "from": "user"},
            "size": {"value": self.fio_run.bytes, "unit": "B", "from": "user"},
            "runtime": {"value": self.fio_run.seconds, "unit": "s", "from": "user"},
            "io_size": {"value": self.fio_run.io_bytes, "unit": "B", "from": "user"},
            "threads": {"value": self.fio_run.threads, "unit": "1", "from": "user"},
            "direct": {"value": self.direct, "from": "the file system"},
        }
        return envelope(
            "measure-storage",
            {"basis": "measured", "feeds": [vars(one) for one in self.supported], "points": self.rows},
            catalog=self.catalog,
            inputs=inputs,
            results=self.results,
            warnings=self.warnings,
        )

    def to_frame(self) -> pandas.DataFrame:
        """One row per model and GPU."""
        return frame_of([vars(one) for one in self.supported])


def knee_of(points: Sequence[Point]) -> Point:
    """The fewest threads that reach `KNEE` of the best read rate."""
    best = max(one.read.rate for one in points)
    return min((one for one in points if one.read.rate >= KNEE * best), key=lambda one: one.run.threads)


def has_bent(points: Sequence[Point]) -> bool:
    """Whether more threads than those of the knee were tried, so that the curve is seen to bend."""
    return knee_of(points).run.threads < max(one.run.threads for one in points)


def measure_storage(
    path: str | Path,
    *,
    size: str | float = "256 MiB",
    runtime: str | float = "5 s",
    io_size: str | float = "128 KiB",
    threads: int | str = 4,
    gpu: str | Sequence[str] = "h100",
    catalogs: Sequence[str | Path] = (),
) -> PathBenchmark:
    """Measure a path with fio, and list the models that its read rate supports.

    fio writes and reads files in a new folder below the path, which is removed at the end, also after Ctrl-C, a
    termination signal or a full disk. Existing files are not touched.

    Args:
        path: an existing folder on the storage in question.
        size: size of all test files together.
        runtime: duration of each of the two measurements.
        io_size: size of one request, rounded up to whole pages; several with commas between.
        threads: threads that issue requests, one outstanding request each; a range such as `1..256*2` makes a sweep.
        gpu: GPUs to feed, with commas between.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: a size, time or number out of range.
        IngestError: no such folder, no fio, not enough space, or fio failed.
    """
    total, seconds = within("--size", size, "B", 2**20, 2**50), within("--runtime", runtime, "s", 1, 3600)
    sizes = [within("--io-size", one, "B", 512, 2**30) for one in _axis(io_size, "B", "--io-size")]
    counts = [within("--threads", one, "1", 1, MOST_THREADS) for one in _axis(threads, "1", "--threads")]
    aligned = dict.fromkeys(round(solve("aligned_io_bytes", {"requested_io_bytes": one})) for one in sizes)
    runs = [FioRun(int(total), seconds, each, int(count)) for count in dict.fromkeys(counts) for each in aligned]
    most = max(run.threads * run.io_bytes for run in runs)
    if total < most:
        least = display(most, "B")
        raise UsageError(f"--size: found {display(total, 'B')}, expected at least {least}: one request for each thread")
    catalog = opened(catalogs)
    gpus = [catalog.get(Gpu, name).id for name in names_of(gpu)]
    points, direct = run_fio(Path(path), runs)
    measured = PathBenchmark(str(path), points, direct, shutil.disk_usage(path).total, (), catalog)
    return replace(measured, supported=supported_gpus(measured.read.rate, gpus, catalog))


def _axis(written: str | float, unit: str, option: str) -> list[str | float]:
    """The values of a list or a range; a single one as it is written, for messages."""
    if isinstance(written, str) and (".." in written or "," in written):
        return [*parse_axis(written, unit, option)]
    return [written]
