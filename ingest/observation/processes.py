"""A running job as its processes count it: `/proc/PID/io` of the whole tree, sampled, without root."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ingest.errors import IngestError

#: Processes that start all the time leave no moment without a change: the last try counts then, or the first without an end.
MOST_TRIES, MORE_TRIES = 5, 4
#: A whole second between samples loses little; a short window is cut into a hundred, a job of unknown length into fifty so far.
LONGEST_INTERVAL, SHORTEST_INTERVAL, INTERVALS = 1.0, 0.05, 100
FIRST_INTERVAL, INTERVALS_SO_FAR = 0.2, 50
LOWEST_PRIORITY = 19
#: A sample that took longer was interrupted: its counters are of several moments.
LONGEST_SAMPLE = 0.002
#: Among more numbers of new processes and threads, the tree is walked instead.
MOST_NEW = 200
#: A number without a process is looked for so many times more; now and then the tree is walked in any case.
MORE_LOOKS, EVERY_WALK = 3, 16
#: A process without files of the data path is looked at each time at first, and later only now and then.
EVERY_LOOK = 32


class Counters(NamedTuple):
    """Running totals of a process or of a tree."""

    rchar: int = 0  # bytes asked for with read calls, from any file, pipe or cache; wchar with write calls
    wchar: int = 0
    syscr: int = 0  # read calls; syscw write calls
    syscw: int = 0
    read_bytes: int = 0  # bytes that block devices read for it; write_bytes wrote
    write_bytes: int = 0

    def plus(self, *others: Counters) -> Counters:
        return Counters(*map(sum, zip(self, *others, strict=True)))

    def minus(self, other: Counters) -> Counters:
        """What was counted since another moment."""
        return Counters(*(mine - its for mine, its in zip(self, other, strict=True)))


class Sample(NamedTuple):
    """The tree at one moment."""

    seconds: float  # on a clock that never goes back
    total: Counters  # of all processes, those that have ended included
    readers: Counters  # the part of the processes that had files of the data path open
    processes: int  # how many run


class ProcessTree:
    """The processes below one, and their counters.

    A child that its parent waits for adds its counters to those of the parent. A child that nobody waited for takes them
    with it: they are kept here. A sample reads one open file of each process, and looks for children only where the machine has
    started processes since the last one: the job pays for what is watched.
    """

    def __init__(self, pid: int, path: str | None = None, proc: Path = Path("/proc")) -> None:
        self.pid, self._path, self._proc = pid, path, proc
        #: per process, its parent and its counters at the last sample
        self._last: dict[int, tuple[int, Counters]] = {}
        #: per process, its parent and its open file of counters, parents before children
        self._members: dict[int, tuple[int, int]] = {}
        self._newest: int | None = None
        self._expected: dict[int, int] = {}
        self._walks = 0
        self._moment = 0.0
        self._readers: set[int] = set()
        self._looks: dict[int, int] = {}
        self._lost, self._lost_by_readers = Counters(), Counters()

    def close(self) -> None:
        """Close the files of counters."""
        for pid in [*self._members]:
            os.close(self._members.pop(pid)[1])

    def sample(self) -> Sample | None:
        """The counters now; None once the first process has ended. Raises IngestError: it belongs to another user."""
        now = self._settled()
        if self.pid not in now:
            self.close()
            return None
        for pid, (parent, gone) in self._last.items():
            if pid in now:
                continue
            taken = False
            if parent in self._last and parent in now:  # the parent may have taken its counters over
                least = self._last[parent][1].plus(gone)
                taken = all(has >= had for has, had in zip(now[parent][1], least, strict=True))
            if not taken:
                self._lost = self._lost.plus(gone)
            if pid in self._readers and taken:
                # The parent's counters hold those of a reader from now on.
                self._readers.add(parent)
            elif pid in self._readers:
                self._lost_by_readers = self._lost_by_readers.plus(gone)
            self._readers.discard(pid)
            self._looks.pop(pid, None)
        self._last = now
        self._watch_files()
        total = self._lost.plus(*(one for _, one in now.values()))
        readers = self._lost_by_readers.plus(*(one for pid, (_, one) in now.items() if pid in self._readers))
        return Sample(self._moment, total, readers, len(now))

    def _settled(self) -> dict[int, tuple[int, Counters]]:
        """The processes at a moment at which none ended: a parent is not read before a child hands its counters over."""
        now: dict[int, tuple[int, Counters]] = {}
        for tries in range(MOST_TRIES * MORE_TRIES):
            self._find_children()
            now, began, members = {}, time.monotonic(), [*self._members.items()]
            for pid, (parent, file) in members:
                try:
                    fields = os.pread(file, 512, 0).split()
                except OSError:
                    os.close(self._members.pop(pid)[1])
                else:
                    now[pid] = parent, Counters(*map(int, fields[1 : 2 * len(Counters._fields) : 2]))
            ended = time.monotonic()
            self._moment = (began + ended) / 2
            at_once = ended - began <= LONGEST_SAMPLE and self._newest == self._newest_of_all()
            # A child that ended after its parent was read is in neither, and in its parent from then on: it would count twice.
            if len(now) == len(members) and (at_once or tries >= MOST_TRIES - 1):
                break
        return now

    def _find_children(self) -> None:
        """Join the processes that were started since the last look."""
        before, self._newest = self._newest, self._newest_of_all()
        if before is None:
            self._join(self.pid, 0)
        self._walks += 1
        few = before is not None and self._newest is not None and 0 <= self._newest - before <= MOST_NEW
        if not few or self._walks % EVERY_WALK == 0:
            # All processes below the known ones, parents first.
            waiting, seen = deque(self._members), set(self._members)
            while waiting:
                parent = waiting.popleft()
                threads = self._proc / str(parent) / "task"
                children: list[int] = []
                with suppress(OSError):
                    for thread in os.listdir(threads):
                        with suppress(OSError):
                            children += map(int, (threads / thread / "children").read_text(encoding="ascii").split())
                for pid in children:
                    if pid not in seen:
                        seen.add(pid)
                        waiting.append(pid)
                        self._join(pid, parent)
        if before is None or self._newest is None or not few:
            return
        # A number is given before its process appears: one that is not there yet is looked for again.
        expected = {pid: looks - 1 for pid, looks in self._expected.items() if looks > 1}
        expected |= dict.fromkeys(range(before + 1, self._newest + 1), MORE_LOOKS)
        self._expected = {}
        for pid, looks in sorted(expected.items()):
            try:
                status = (self._proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
            except OSError:
                self._expected[pid] = looks
                continue
            found = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith(("Tgid:", "PPid:")))
            # A thread has the number of its process.
            above = int(found["PPid"]) if found.get("Tgid") == str(pid) else 0
            if above in self._members:
                self._join(pid, above)

    def _newest_of_all(self) -> int | None:
        """The number of the process or thread that this machine started last; None where it does not tell."""
        try:
            return int((self._proc / "loadavg").read_text(encoding="ascii").split()[4])
        except (OSError, ValueError, IndexError):
            return None

    def _join(self, pid: int, parent: int) -> None:
        """Open the counters of a process: the open file stays that of this process where its number is used again.

        Raises IngestError: the first process belongs to another user, or there are more processes than files may be open.
        """
        if pid in self._members:
            return
        try:
            file = os.open(self._proc / str(pid) / "io", os.O_RDONLY)
            os.pread(file, 1, 0)
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise IngestError(
                    f"--pid: the job has more than {len(self._members):,} processes, expected a higher limit of open files: "
                    "ulimit -n 65536"
                ) from None
            if isinstance(error, PermissionError) and pid == self.pid:
                raise IngestError(f"--pid: process {pid} belongs to another user, expected one of yours") from None
            return
        self._members[pid] = (parent, file)

    def _watch_files(self) -> None:
        """Note which processes have files of the data path open, or map them: looked at less and less often."""
        if self._path is None:
            return
        inside = self._path.rstrip("/") + "/"
        for pid in self._last:
            if pid in self._readers:
                continue
            look = self._looks[pid] = self._looks.get(pid, 0) + 1
            if look > EVERY_LOOK and look % EVERY_LOOK:
                continue
            folder, mapped = f"{self._proc}/{pid}", ""
            with suppress(OSError):
                for name in os.listdir(f"{folder}/fd"):
                    with suppress(OSError):
                        file = os.readlink(f"{folder}/fd/{name}")
                        if file == self._path or file.startswith(inside):
                            self._readers.add(pid)
                            break
            if pid not in self._readers and look & (look - 1) == 0:
                with suppress(OSError):
                    mapped = Path(folder, "maps").read_text(encoding="utf-8", errors="replace")
            if f" {inside}" in mapped:
                self._readers.add(pid)


def interval_of(seconds: float | None, elapsed: float) -> float:
    """Seconds to the next sample: a hundredth of the window; without one, longer the longer the job runs."""
    if seconds is None:
        return min(LONGEST_INTERVAL, max(FIRST_INTERVAL, elapsed / INTERVALS_SO_FAR))
    return min(LONGEST_INTERVAL, max(SHORTEST_INTERVAL, seconds / INTERVALS))


def watch(tree: ProcessTree, seconds: float | None, ended: Callable[[], bool] = lambda: False) -> list[Sample]:
    """Sample a tree until its first process ends, `ended` says so, or the window of so many seconds is over; None is no end.

    The samples are taken in a thread of the lowest priority: the job goes first. Raises IngestError: there is no such process,
    or it belongs to another user.
    """
    stopped = threading.Event()

    def yield_to_others() -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)

    def sampled() -> list[Sample]:
        first = tree.sample()
        if first is None:
            raise IngestError(f"--pid: there is no process {tree.pid}, expected the id of a running job")
        samples, due = [first], first.seconds
        while not ended() and (seconds is None or samples[-1].seconds - first.seconds < seconds):
            due = max(due + interval_of(seconds, samples[-1].seconds - first.seconds), time.monotonic())
            if stopped.wait(max(0.0, due - time.monotonic())):
                break
            found = tree.sample()
            if found is None:
                break
            samples.append(found)
        tree.close()
        return samples

    with ThreadPoolExecutor(1, initializer=yield_to_others) as one:
        try:
            return one.submit(sampled).result()
        finally:
            stopped.set()  # an interrupted user does not wait for the window
