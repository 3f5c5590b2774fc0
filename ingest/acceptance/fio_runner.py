"""Runs of fio in a temporary folder below the user's path, removed afterwards in every case."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from ingest.acceptance.test_spec import Observed
from ingest.acceptance.tools import fio
from ingest.acceptance.tools.fio import path_job
from ingest.errors import IngestError
from ingest.text import one_line
from ingest.units import display

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class FioRun:
    """Parameters of a path measurement.

    Attributes:
        bytes: of all files.
        seconds: of each measurement.
        io_bytes: of one request.
        threads: that issue requests.
    """

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
    """Reads and writes of each run, and whether direct I/O bypassed the page cache.

    Args:
        path: an existing folder.
        runs: those with the same number of threads share their files.

    Raises:
        IngestError: no such folder, no fio, not enough space, or fio failed.
    """
    command = shutil.which("fio")
    if command is None:
        raise IngestError("fio: not found, expected version 3.27 or newer on the PATH (Debian: apt install fio)")
    _check_path(path, runs[0])
    with _own_folder(path) as folder:
        direct = _takes_direct(folder)
        points = []
        for threads in dict.fromkeys(run.threads for run in runs):
            alike = [run for run in runs if run.threads == threads]
            for old in folder.glob("file.*"):
                old.unlink()
            _job(command, folder, "fill", max(alike, key=lambda run: run.io_bytes), direct)
            for run in alike:
                write = _job(command, folder, "write", run, direct)
                points.append(Point(run, _job(command, folder, "read", run, direct), write))
        return tuple(points), direct


def _job(command: str, folder: Path, name: str, run: FioRun, direct: bool) -> Observed:
    job = path_job(name, run.bytes, run.seconds, run.io_bytes, run.threads, direct)
    (folder / f"{name}.fio").write_text(job, encoding="utf-8")
    return _fio(command, folder, name)


def in_memory(path: Path) -> str:
    """The type of a file system in main memory, such as `tmpfs`; empty for others.

    >>> in_memory(Path("/nonexistent"))
    ''
    """
    try:
        real, mounts = path.resolve(), Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    points = [(words[1].replace("\\040", " "), words[2]) for line in mounts if len(words := line.split()) > 2]
    above = [(point, kind) for point, kind in points if real.is_relative_to(point)]
    kind = max(above, key=lambda pair: len(pair[0]))[1] if above else ""
    return kind if kind in ("tmpfs", "ramfs") else ""


def _check_path(path: Path, run: FioRun) -> None:
    if not path.is_dir():
        found = "a file" if path.exists() else "nothing"
        raise IngestError(f"{path}: found {found}, expected a folder on the storage to measure")
    try:
        free = shutil.disk_usage(path).free
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    if free < run.bytes:
        raise IngestError(f"{path}: found {display(free, 'B')} free, expected {display(run.bytes, 'B')}; set a smaller --size")


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


def _fio(command: str, folder: Path, name: str) -> Observed:
    """One run of fio, in its own process group, so that it ends before its files are removed."""
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
