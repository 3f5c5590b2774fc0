"""Copies of this process: they share what it holds in memory, and no lock keeps one waiting for another."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.connection import Connection

#: the threads of engines are not copied, and to wait for one would be to wait for ever
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
#: of `prctl`: the signal that a process gets when the one that made it is gone
_SIGNAL_WHEN_ORPHANED = 1


def can_fork() -> bool:
    """Whether this process may be copied: on Linux, while it has no other thread, whose locks a copy would hold for ever."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    from multiprocessing import current_process

    return not current_process().daemon


class Copy:
    """A copy of this process that works with one end of a pipe and then ends; it ends with this process at the latest.

    Args:
        work: what it does; an exception of it is sent through the pipe.
        pipes: this process's ends of the pipes of other copies, which a copy must not keep open.

    Raises:
        OSError: the system allows no further process.
    """

    def __init__(self, work: Callable[[Connection], None], pipes: Sequence[Connection] = ()) -> None:
        from multiprocessing import get_context

        context = get_context("fork")
        self.pipe, theirs = context.Pipe()
        parent = os.getpid()
        self._process = context.Process(target=_run, args=(work, theirs, [self.pipe, *pipes], parent), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()

    def receive(self) -> Any:
        """What it sends next.

        Raises:
            IngestError: it failed, or is dead.
        """
        try:
            received = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise IngestError(f"a process of this run {_end(self._process.exitcode)}") from None
        if isinstance(received, BaseException):
            raise received
        return received

    def send(self, message: Any) -> None:
        """Send it something; that it is dead is noticed when something is received."""
        try:
            self.pipe.send(message)
        except OSError:
            return

    def end(self) -> None:
        """End it now, whatever it does."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


def _end(code: int | None) -> str:
    """How a process ended.

    >>> _end(-9), _end(1)
    ('was killed by SIGKILL', 'ended with 1')
    """
    return f"was killed by {signal.Signals(-code).name}" if code and code < 0 else f"ended with {code}"


def _run(work: Callable[[Connection], None], pipe: Connection, of_others: Sequence[Connection], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first process's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    _end_with(parent)
    for other in of_others:
        other.close()
    try:
        work(pipe)
    except (EOFError, BrokenPipeError):
        return  # nobody wants more
    except Exception as error:
        pipe.send(error)


def _end_with(parent: int) -> None:
    """End when the process that made this one does, however that ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_SIGNAL_WHEN_ORPHANED, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


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
