"""Worker processes: forked from this one, so that they share the engine that it has loaded."""

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


#: a fork does not copy the threads of an engine, and waiting for one of them would never end
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def can_fork() -> bool:
    """Whether workers can be forked: on Linux, while no other thread runs, whose locks a worker would hold for ever."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    from multiprocessing import current_process

    return not current_process().daemon


def worker_pool(processes: int, prepare: Callable[..., object] | None = None, *given: object) -> ProcessPoolExecutor | None:
    """Worker processes, forked now; None where this process cannot be forked or the system allows no more processes.

    Args:
        processes: how many.
        prepare: what each worker calls before its first task, with `given`; neither is pickled.
        given: arguments of `prepare`.
    """
    if not can_fork():
        return None
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    others = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("fork"), initializer=_begin, initargs=(prepare, given))
    try:
        pool.submit(os.getpid)
    except OSError:
        for worker in set(active_children()) - others:
            worker.kill()
        return None
    return pool


@contextmanager
def one_line_failure() -> Iterator[None]:
    """Report a worker that died in one line.

    Raises:
        IngestError: a worker process of the pool ended before its task.
    """
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise IngestError("a worker process was killed, perhaps for lack of memory; fewer --threads need less") from None


def _begin(prepare: Callable[..., object] | None, given: tuple[object, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    """End this worker when the main process has ended, even by SIGKILL: a worker holds the lock of the ledger open."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


#: resident memory above which an engine restarts
MOST_RESIDENT = 416 << 20

#: growth below which the engine is not what fills the memory
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


def let_grow(most: int) -> None:
    """Limit this process, one of many on the machine, to so many bytes more than it holds now."""
    global MOST_RESIDENT, LEAST_GROWTH
    MOST_RESIDENT, LEAST_GROWTH = (resident_bytes() or 0) + most, most


def give_back() -> None:
    """Return freed memory to the system; glibc keeps it unless asked."""
    if os.name != "posix":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


class Growth:
    """Memory that the process has gained since an engine started."""

    def __init__(self) -> None:
        self._start = resident_bytes()
        self._text = 0

    def fed(self, size: int) -> None:
        """Add the bytes of text that the engine has counted."""
        self._text += size

    def over_limit(self) -> bool:
        """Whether the engine should restart."""
        now = resident_bytes()
        if now is None or self._start is None:
            return self._text > TEXT_WITHOUT_MEASURE
        return now > MOST_RESIDENT and now - self._start > LEAST_GROWTH
