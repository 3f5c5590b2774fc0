"""Worker processes, forked to share the loaded engine, and the memory limit of an engine in each."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ingest.errors import IngestError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


#: a fork does not copy the threads of an engine, and a call that waits for one never returns
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def can_fork() -> bool:
    """Whether workers can be forked: on Linux, while no other thread runs, whose locks a worker would inherit."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    from multiprocessing import current_process, get_context

    try:
        get_context("fork").Lock()
    except OSError:  # it needs a file in shared memory, which `ulimit -f 0` or a container may refuse
        return False
    return not current_process().daemon


def worker_pool(processes: int, prepare: Callable[..., object] | None = None, *arguments: object) -> ProcessPoolExecutor | None:
    """Fork worker processes; None where this process cannot be forked or the system allows no more processes.

    Args:
        processes: number of workers.
        prepare: called in each worker before its first task; not pickled.
        arguments: of `prepare`; not pickled.
    """
    if not can_fork():
        return None
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    others = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("fork"), initializer=_begin, initargs=(prepare, arguments))
    try:
        pool.submit(os.getpid)
    except OSError:
        for worker in set(active_children()) - others:
            worker.kill()
        return None
    return pool


@contextmanager
def one_line_failure() -> Iterator[None]:
    """Report the death of a worker in one line.

    Raises:
        IngestError: a worker process of the pool ended before its task.
    """
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise IngestError("a worker process was killed, perhaps for lack of memory: set fewer --threads") from None


def _begin(prepare: Callable[..., object] | None, arguments: tuple[object, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    """End this worker with the main process, even after SIGKILL: a worker keeps the lock of the ledger."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


#: resident memory above which an engine restarts
MOST_RESIDENT = 416 << 20

#: growth below which a restart of the engine would free little
LEAST_GROWTH = 128 << 20

#: text after which an engine restarts where the system does not report resident memory
TEXT_WITHOUT_MEASURE = 256 << 20


def resident_bytes() -> int | None:
    """Resident memory of this process; None where the system has no /proc."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def limit_growth(most: int) -> None:
    """Limit this worker process to its current resident memory plus `most` bytes."""
    global MOST_RESIDENT, LEAST_GROWTH
    MOST_RESIDENT, LEAST_GROWTH = (resident_bytes() or 0) + most, most


def return_freed_memory() -> None:
    """Return freed memory to the system, which glibc does not do by itself."""
    if os.name != "posix":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


class MemoryGrowth:
    """Growth of the process since an engine started."""

    def __init__(self) -> None:
        self._start = resident_bytes()
        self._text = 0

    def add_text(self, size: int) -> None:
        self._text += size

    def over_limit(self) -> bool:
        """Whether the engine should restart."""
        now = resident_bytes()
        if now is None or self._start is None:
            return self._text > TEXT_WITHOUT_MEASURE
        return now > MOST_RESIDENT and now - self._start > LEAST_GROWTH
