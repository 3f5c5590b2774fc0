"""`ingest measure-storage`: a short fio test of a path, and the models that its read rate supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.acceptance.fio_runner import FioRun, in_memory, run_fio
from ingest.acceptance.test_spec import Observed, within
from ingest.catalog.records import Gpu
from ingest.catalog.store import Catalog
from ingest.engine.registry import solve
from ingest.engine.result import envelope
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError
from ingest.sizing.bandwidth import Estimate, bw
from ingest.sizing.job import names_of
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


def supported_gpus(bandwidth: float, gpus: Sequence[str], catalogs: Sequence[str | Path] = ()) -> tuple[SupportedGpus, ...]:
    """Every model that was measured or emulated on one of the GPUs, the most demanding first."""
    supported: list[SupportedGpus] = []
    for model, gpu, basis in product(Catalog(catalogs).ids("models"), gpus, ("measured", "emulated")):
        if any((one.model, one.gpu) == (model, gpu) for one in supported):
            continue
        try:
            answer = bw(model=model, gpu=gpu, basis=basis, catalogs=catalogs)
        except IngestError:
            # No such rate of this model on this GPU is published.
            continue
        assert isinstance(answer, Estimate)
        if (need := answer.results.get("ingest_bandwidth_per_gpu")) is not None:
            count = solve("gpus_fed", {"measured_read_bandwidth": bandwidth, "ingest_bandwidth_per_gpu": need.value})
            supported.append(SupportedGpus(model, gpu, float(need.value), int(count)))
    return tuple(sorted(supported, key=lambda one: (-one.bandwidth_per_gpu, one.model)))


MOST_THREADS = 256


@dataclass(frozen=True)
class PathBenchmark:
    """Rates of a path, and the GPUs that its read rate supports.

    Attributes:
        path: the folder that was measured.
        fio_run: size, duration, request size and threads.
        read, write: results of fio.
        direct: whether direct I/O bypassed the page cache.
        supported: models and GPUs, the most demanding first.
    """

    path: str
    fio_run: FioRun
    read: Observed
    write: Observed
    direct: bool
    supported: tuple[SupportedGpus, ...]
    catalog: Catalog

    @property
    def results(self) -> Mapping[str, Quantity]:
        """Bandwidth, requests per second and mean latency of reads and writes."""
        found: dict[str, Quantity] = {}
        for load in (self.read, self.write):
            found[f"{load.operation}_bandwidth"] = Quantity(load.rate, "B/s")
            given = {"required_bandwidth": load.rate, "aligned_io_bytes": load.io_bytes or self.fio_run.io_bytes}
            found[f"{load.operation}_requests_per_second"] = Quantity(solve("required_requests_per_second", given), "1/s")
            if load.latency_seconds is not None:
                found[f"{load.operation}_latency"] = Quantity(load.latency_seconds, "s")
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
            {"basis": "measured", "feeds": [vars(one) for one in self.supported]},
            catalog=self.catalog,
            inputs=inputs,
            results=self.results,
            warnings=self.warnings,
        )

    def to_frame(self) -> pandas.DataFrame:
        """One row per model and GPU."""
        import pandas

        return pandas.DataFrame([vars(one) for one in self.supported])


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
        io_size: size of one request, rounded up to whole pages.
        threads: threads that issue requests, one outstanding request each.
        gpu: GPUs to feed, with commas between.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: a size, time or number out of range.
        IngestError: no such folder, no fio, not enough space, or fio failed.
    """
    io_bytes = within("--io-size", io_size, "B", 512, 2**30)
    run = FioRun(
        bytes=int(within("--size", size, "B", 2**20, 2**50)),
        seconds=within("--runtime", runtime, "s", 1, 3600),
        io_bytes=round(solve("aligned_io_bytes", {"requested_io_bytes": io_bytes})),
        threads=int(within("--threads", threads, "1", 1, MOST_THREADS)),
    )
    if run.bytes < run.threads * run.io_bytes:
        needed = display(run.threads * run.io_bytes, "B")
        raise UsageError(f"--size: found {display(run.bytes, 'B')}, expected at least {needed}: one request for each thread")
    catalog = Catalog(catalogs)
    gpus = [catalog.get(Gpu, name).id for name in names_of(gpu)]
    read, write, direct = run_fio(Path(path), run)
    return PathBenchmark(str(path), run, read, write, direct, supported_gpus(read.rate, gpus, catalogs), catalog)
