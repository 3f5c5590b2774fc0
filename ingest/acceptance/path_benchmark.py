"""`ingest measure-storage`: a short fio test of a path, and the models that its read rate supports.

fio runs in a temporary folder below the user's path, which is removed afterwards in every case.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.acceptance.test_spec import Observed, within
from ingest.acceptance.tools import fio
from ingest.catalog.records import Gpu
from ingest.catalog.store import CATALOGS, Catalog, opened
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import Question, Shown, filled, option, shown
from ingest.engine.registry import solve
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError
from ingest.sizing.bandwidth import Estimate, bw
from ingest.sizing.job import Written, names_of, parse_axis
from ingest.text import one_line
from ingest.units import display

MOST_THREADS = 256
#: The knee is the fewest threads that reach this share of the best rate; there is none where only the most threads reach it.
KNEE = 0.9
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What `measure-storage` answers.
QUESTION = Question(
    "measure-storage",
    (
        *(Shown(f"{way}_{what}") for way in ("read", "write") for what in ("bandwidth", "requests_per_second", "latency")),
        *shown("small_read_latency", "capacity"),
    ),
    (("Delivers", {"read_bandwidth": "{} read", "write_bandwidth": "{} write"}),),
)


@dataclass(frozen=True)
class FioRun:
    """Parameters of a path measurement: bytes of all files, seconds of each measurement, bytes of one request, threads."""

    bytes: int
    seconds: float
    io_bytes: int
    threads: int


class Point(NamedTuple):
    """Reads and writes of one number of threads and one size of request."""

    run: FioRun
    read: Observed
    write: Observed


def run_fio(path: Path, runs: Sequence[FioRun]) -> tuple[tuple[Point, ...], bool]:
    """Reads and writes of each run in an existing folder, and whether direct I/O bypassed the page cache.

    Runs with the same number of threads share their files.

    Raises IngestError: no such folder, no fio, not enough space, or fio failed.
    """
    command = shutil.which("fio")
    if command is None:
        raise IngestError("fio: not found, expected version 3.27 or newer on the PATH (Debian: apt install fio)")
    if not path.is_dir():
        found = "a file" if path.exists() else "nothing"
        raise IngestError(f"{path}: found {found}, expected a folder on the storage to measure")
    try:
        free = shutil.disk_usage(path).free
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    if free < runs[0].bytes:
        least = display(runs[0].bytes, "B")
        raise IngestError(f"{path}: found {display(free, 'B')} free, expected {least}; set a smaller --size")
    with _own_folder(path) as folder:
        direct = _takes_direct(folder)
        points = []
        for threads in dict.fromkeys(run.threads for run in runs):
            alike = [run for run in runs if run.threads == threads]
            for old in folder.glob("file.*"):
                old.unlink()
            _fio(command, folder, "fill", max(alike, key=lambda run: run.io_bytes), direct)
            for run in alike:
                write = _fio(command, folder, "write", run, direct)
                points.append(Point(run, _fio(command, folder, "read", run, direct), write))
        return tuple(points), direct


def _fio(command: str, folder: Path, name: str, run: FioRun, direct: bool) -> Observed:
    """One run of fio, in its own process group, so that it ends before its files are removed."""
    job = fio.path_job(name, run.bytes, run.seconds, run.io_bytes, run.threads, direct)
    (folder / f"{name}.fio").write_text(job, encoding="utf-8")
    words = [command, "--output-format=json", f"{name}.fio"]
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
    )
    try:
        out, err = process.communicate()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        text = one_line(err.replace(str(folder), "")) or one_line(out)
        raise IngestError(f"{folder.parent}: fio failed: {text[:200] or f'exit code {process.returncode}'}")
    found = fio.read(out, f"fio {name}")
    if not found or found[0].loads[0].errors:
        what = found[0].loads[0].errors if found else "no result"
        raise IngestError(f"{folder.parent}: fio {name}: {what}, expected none")
    return found[0].loads[0]


def in_memory(path: Path) -> str:
    """The type of a file system in main memory, such as `tmpfs`; empty for others."""
    try:
        real, mounts = path.resolve(), Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    points = [(words[1].replace("\\040", " "), words[2]) for line in mounts if len(words := line.split()) > 2]
    above = [(point, kind) for point, kind in points if real.is_relative_to(point)]
    kind = max(above, key=lambda pair: len(pair[0]))[1] if above else ""
    return kind if kind in ("tmpfs", "ramfs") else ""


@contextmanager
def _own_folder(path: Path) -> Iterator[Path]:
    """A new folder below the path; the first termination signal ends the measurement, later ones wait for the clean-up."""
    # Only the main thread may set handlers.
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS} if main else {}

    def ignore() -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature is Python's
        ignore()
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, interrupt)
    try:
        with tempfile.TemporaryDirectory(prefix=".ingest-measure-storage-", dir=path, ignore_cleanup_errors=True) as folder:
            try:
                yield Path(folder)
            finally:
                ignore()
    except OSError as error:
        raise IngestError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _takes_direct(folder: Path) -> bool:
    if not hasattr(os, "O_DIRECT"):
        return False
    try:
        os.close(os.open(folder / "direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600))
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class SupportedGpus:
    """The number of whole GPUs that a read rate feeds with a model, each at so many B/s."""

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


@dataclass(frozen=True, repr=False, eq=False)
class PathBenchmark(InteractiveResult):
    """Rates of a path, and the GPUs that its read rate supports."""

    path: str  # the folder that was measured
    points: tuple[Point, ...]  # reads and writes by number of threads and size of request
    direct: bool  # whether direct I/O bypassed the page cache
    capacity: int  # bytes of the file system
    supported: tuple[SupportedGpus, ...]  # models and GPUs, the most demanding first
    catalog: Catalog

    @property
    def knees(self) -> dict[int, Point]:
        """The knee of each size of request, or the most threads where the curve has not bent yet."""
        return {size: knee_of([one for one in self.points if one.run.io_bytes == size]) for size in self.sizes}

    @property
    def bent(self) -> dict[int, bool]:
        """Whether the curve of each size of request has a knee: threads beyond it add latency and hardly any bandwidth."""
        most = {size: max(one.run.threads for one in self.points if one.run.io_bytes == size) for size in self.sizes}
        return {size: knee.run.threads < most[size] for size, knee in self.knees.items()}

    @property
    def sizes(self) -> list[int]:
        """The sizes of request, the smallest first."""
        return sorted({one.run.io_bytes for one in self.points})

    @property
    def chosen(self) -> Point:
        """The point that stands for the path: the knee of the largest requests."""
        return self.knees[self.sizes[-1]]

    @property
    def results(self) -> Mapping[str, Quantity]:
        """Bandwidth, requests per second and mean latency of reads and writes."""
        found = _rates(self.chosen)
        first = min(self.points, key=lambda one: (one.run.io_bytes, one.run.threads))
        if first.read.latency_seconds is not None:
            found["small_read_latency"] = Quantity(first.read.latency_seconds, "s")
        return {**found, "capacity": Quantity(self.capacity, "B")}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per size of request and number of threads, in base units."""
        knees, bent = self.knees, self.bent
        found = []
        for one in sorted(self.points, key=lambda one: (one.run.io_bytes, one.run.threads)):
            rates = {name: item.value for name, item in _rates(one).items()}
            knee = bent[one.run.io_bytes] and knees[one.run.io_bytes] is one
            found.append({"io_size": one.run.io_bytes, "threads": one.run.threads, **rates, "knee": knee})
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the measurement."""
        cached = (f"{self.path} refuses direct I/O: I/O went through the page cache, reads may come from memory",)
        amount = f"{display(self.chosen.run.seconds, 's')} and {display(self.chosen.run.bytes, 'B')}"
        short = (f"one machine, {amount}: caches of drives and servers may hold that much, and no other client was measured",)
        kind = in_memory(Path(self.path))
        memory = (f"{self.path} is {kind}: this measures main memory, not storage",) if kind else ()
        return memory + (() if self.direct else cached) + short

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        run = self.chosen.run
        numbers = {
            "size": (run.bytes, "B"),
            "runtime": (run.seconds, "s"),
            "io_size": (run.io_bytes, "B"),
            "threads": (run.threads, "1"),
        }
        inputs = {
            "path": {"value": self.path, "from": "user"},
            **{name: {"value": value, "unit": unit, "from": "user"} for name, (value, unit) in numbers.items()},
            "direct": {"value": self.direct, "from": "the file system"},
        }
        body = {"basis": "measured", "feeds": [vars(one) for one in self.supported], "points": self.rows}
        return envelope(
            QUESTION.command, body, catalog=self.catalog, inputs=inputs, results=self.results, warnings=self.warnings
        )

    def to_frame(self) -> DataFrame:
        """One row per model and GPU."""
        return frame_of([vars(one) for one in self.supported])


def knee_of(points: Sequence[Point]) -> Point:
    """The fewest threads that reach `KNEE` of the best read rate."""
    best = max(one.read.rate for one in points)
    return min((one for one in points if one.read.rate >= KNEE * best), key=lambda one: one.run.threads)


def _rates(point: Point) -> dict[str, Quantity]:
    """Bandwidth, requests per second and mean latency of the reads and the writes of a point."""
    found: dict[str, Quantity] = {}
    for load in (point.read, point.write):
        given = {"required_bandwidth": load.rate, "aligned_io_bytes": load.io_bytes or point.run.io_bytes}
        found[f"{load.operation}_bandwidth"] = Quantity(load.rate, "B/s")
        found[f"{load.operation}_requests_per_second"] = Quantity(solve("required_requests_per_second", given), "1/s")
        if load.latency_seconds is not None:
            found[f"{load.operation}_latency"] = Quantity(load.latency_seconds, "s")
    return found


class MeasureOptions(TypedDict, total=False):
    """The options of `measure-storage`."""

    size: Annotated[Written, option("Size of all test files together.", "SIZE", default="256 MiB")]
    runtime: Annotated[Written, option("Duration of each of the two measurements.", "TIME", default="5 s")]
    io_size: Annotated[
        Written,
        option("Size of one request, rounded up to whole pages; several with commas between.", "SIZE", default="128 KiB"),
    ]
    threads: Annotated[
        int | str,
        option("Threads that issue requests, one outstanding request each; a range such as 1..256*2 makes a sweep.", default=4),
    ]
    gpu: Annotated[str | Sequence[str], option("GPUs to feed, with commas between.", "ID", default="h100")]
    catalogs: Annotated[Sequence[str | Path], CATALOGS]


def measure_storage(path: str | Path, **options: Unpack[MeasureOptions]) -> PathBenchmark:
    """Measure a path with fio, and list the models that its read rate supports.

    fio writes and reads files in a new folder below the path, which is removed at the end, also after Ctrl-C, a
    termination signal or a full disk. Existing files are not touched.

    Args:
        path: an existing folder on the storage in question.

    Raises:
        UsageError: a size, time or number out of range.
        IngestError: no such folder, no fio, not enough space, or fio failed.
    """

    def values(option: str, written: str | float, unit: str, low: float, high: float) -> list[float]:
        """Those of a list or a range; a single one as it is written, for messages."""
        listed: Sequence[str | float] = [written]
        if isinstance(written, str) and (".." in written or "," in written):
            listed = parse_axis(written, unit, option)
        return [within(option, one, unit, low, high) for one in listed]

    asked = filled(MeasureOptions, options, "measure_storage")
    total, seconds = within("--size", asked["size"], "B", 2**20, 2**50), within("--runtime", asked["runtime"], "s", 1, 3600)
    sizes = values("--io-size", asked["io_size"], "B", 512, 2**30)
    counts = values("--threads", asked["threads"], "1", 1, MOST_THREADS)
    aligned = dict.fromkeys(round(solve("aligned_io_bytes", {"requested_io_bytes": one})) for one in sizes)
    runs = [FioRun(int(total), seconds, each, int(count)) for count in dict.fromkeys(counts) for each in aligned]
    most = max(run.threads * run.io_bytes for run in runs)
    if total < most:
        least = display(most, "B")
        raise UsageError(f"--size: found {display(total, 'B')}, expected at least {least}: one request for each thread")
    catalog = opened(asked["catalogs"])
    gpus = [catalog.get(Gpu, name).id for name in names_of(asked["gpu"])]
    points, direct = run_fio(Path(path), runs)
    measured = PathBenchmark(str(path), points, direct, shutil.disk_usage(path).total, (), catalog)
    return replace(measured, supported=supported_gpus(measured.chosen.read.rate, gpus, catalog))
