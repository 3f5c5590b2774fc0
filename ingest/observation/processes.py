"""A running job as its processes count it: `/proc/PID/io` of the whole tree, sampled, without root."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ingest.errors import IngestError

COUNTERS = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")

#: Processes that start and end all the time leave no moment without a change; the last try counts then.
MOST_TRIES = 5


class Counters(NamedTuple):
    """Running totals of a process or of a tree.

    Attributes:
        rchar, wchar: bytes asked for with read and write calls, from any file, pipe or cache.
        syscr, syscw: read and write calls.
        read_bytes, write_bytes: bytes that block devices moved for it.
    """

    rchar: int = 0
    wchar: int = 0
    syscr: int = 0
    syscw: int = 0
    read_bytes: int = 0
    write_bytes: int = 0

    def plus(self, other: Counters) -> Counters:
        """The sum of both."""
        return Counters(*(mine + its for mine, its in zip(self, other, strict=True)))

    def reaches(self, least: Counters, more: Counters) -> bool:
        """Whether each counter is at least the sum of two others."""
        return all(mine >= low + extra for mine, low, extra in zip(self, least, more, strict=True))


class Sample(NamedTuple):
    """The tree at one moment.

    Attributes:
        seconds: on a clock that never goes back.
        total: of all processes, those that have ended included.
        readers: the part of the processes that had files of the data path open.
        processes: how many run.
    """

    seconds: float
    total: Counters
    readers: Counters
    processes: int


class _Process(NamedTuple):
    parent: int
    counters: Counters


class ProcessTree:
    """The processes below one, and their counters.

    A child that its parent waits for adds its counters to those of the parent. A child that nobody waited for takes them
    with it: they are kept here.
    """

    def __init__(self, pid: int, path: str | None = None, proc: Path = Path("/proc")) -> None:
        self.pid, self._path, self._proc = pid, path, proc
        self._last: dict[int, _Process] = {}
        self._started: dict[int, str] = {}
        self._readers: set[int] = set()
        self._lost, self._lost_by_readers = Counters(), Counters()
        self.files_seen: set[str] = set()

    def sample(self) -> Sample | None:
        """The counters now; None once the first process has ended.

        Raises:
            IngestError: the process belongs to another user.
        """
        now = self._settled()
        if self.pid not in now:
            return None
        for pid, gone in self._last.items():
            if pid not in now:
                self._account_for(pid, gone, now)
        self._last = now
        self._watch_files()
        total, readers = self._lost, self._lost_by_readers
        for pid, one in now.items():
            total = total.plus(one.counters)
            readers = readers.plus(one.counters) if pid in self._readers else readers
        return Sample(time.monotonic(), total, readers, len(now))

    def _settled(self) -> dict[int, _Process]:
        """The processes at a moment at which none ended: a parent is not read before a child hands its counters over."""
        for _ in range(MOST_TRIES):
            members = set(self._members())
            now = {pid: one for pid in members if (one := self._read(pid)) is not None}
            if set(self._members()) == members == now.keys():
                break
        return now

    def _account_for(self, pid: int, gone: _Process, now: dict[int, _Process]) -> None:
        """Keep the counters of a process that has ended, unless its parent took them over."""
        before, after = self._last.get(gone.parent), now.get(gone.parent)
        taken = before is not None and after is not None and after.counters.reaches(before.counters, gone.counters)
        if not taken:
            self._lost = self._lost.plus(gone.counters)
        if pid in self._readers:
            if taken:
                # The parent's counters hold those of a reader from now on.
                self._readers.add(gone.parent)
            else:
                self._lost_by_readers = self._lost_by_readers.plus(gone.counters)
            self._readers.discard(pid)
        self._started.pop(pid, None)

    def _members(self) -> Iterator[int]:
        """The process, all below it, and those that were below it and lost their parent."""
        waiting, seen = [self.pid, *self._last], set()
        while waiting:
            pid = waiting.pop()
            if pid in seen or not self._is_same(pid):
                continue
            seen.add(pid)
            yield pid
            waiting.extend(self._children(pid))

    def _is_same(self, pid: int) -> bool:
        """Whether a process is the one that had this number before, by the time at which it started."""
        try:
            stat = (self._proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        fields = stat.rpartition(")")[2].split()
        return self._started.setdefault(pid, fields[19]) == fields[19]

    def _children(self, pid: int) -> Iterator[int]:
        with suppress(OSError):
            for thread in os.listdir(self._proc / str(pid) / "task"):
                with suppress(OSError):
                    place = self._proc / str(pid) / "task" / thread / "children"
                    yield from map(int, place.read_text(encoding="ascii").split())

    def _read(self, pid: int) -> _Process | None:
        place = self._proc / str(pid)
        try:
            lines = (place / "io").read_text(encoding="ascii").splitlines()
            stat = (place / "stat").read_text(encoding="utf-8", errors="replace")
        except PermissionError:
            if pid == self.pid:
                raise IngestError(f"--pid: process {pid} belongs to another user, expected one of yours") from None
            return None
        except OSError:
            return None
        found = dict(line.split(": ", 1) for line in lines if ": " in line)
        return _Process(int(stat.rpartition(")")[2].split()[1]), Counters(*(int(found.get(name, 0)) for name in COUNTERS)))

    def _watch_files(self) -> None:
        """Note which processes have files of the data path open, or map them."""
        if self._path is None:
            return
        inside = self._path.rstrip("/") + "/"
        for pid in self._last:
            with suppress(OSError):
                folder = self._proc / str(pid) / "fd"
                for name in os.listdir(folder):
                    with suppress(OSError):
                        file = os.readlink(folder / name)
                        if file == self._path or file.startswith(inside):
                            self._readers.add(pid)
                            self.files_seen.add(file)
            if pid not in self._readers:
                with suppress(OSError):
                    maps = (self._proc / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")
                    if f" {inside}" in maps:
                        self._readers.add(pid)


def watch(tree: ProcessTree, seconds: float | None, interval: float, ended: Callable[[], bool] = lambda: False) -> list[Sample]:
    """Sample a tree until its first process ends or the window is over.

    Args:
        tree: the processes.
        seconds: the window; None watches to the end of the job.
        interval: seconds between samples.
        ended: asks whether the job has ended, and waits for it if it is a child of this process.

    Raises:
        IngestError: there is no such process, or it belongs to another user.
    """
    first = tree.sample()
    if first is None:
        raise IngestError(f"--pid: there is no process {tree.pid}, expected the id of a running job")
    samples, due = [first], first.seconds
    while not ended() and (seconds is None or samples[-1].seconds - first.seconds < seconds):
        due += interval
        time.sleep(max(0.0, due - time.monotonic()))
        found = tree.sample()
        if found is None:
            break
        samples.append(found)
    return samples
