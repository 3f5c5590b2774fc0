"""Compiled extensions: their failures in one line, their memory, and worker processes, forked to share a loaded one."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ingest.errors import IngestError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Result = TypeVar("Result")

#: a fork does not copy the threads of an engine, and a call that waits for one never returns
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
#: by name of the exception, because the class of a panic cannot be imported
_PREFIXES = {"PanicException": "it broke down: ", "KeyError": "it has no "}


class NativeFailure(IngestError):
    """An exception or panic of a compiled extension, in one line."""


def guarded(call: Callable[[], Result]) -> Result:
    """Call into an extension; every exception becomes a `NativeFailure`.

    A panic of a Rust extension is a `BaseException`, so that `except Exception` would let it through.

    >>> guarded(lambda: int("x"))
    Traceback (most recent call last):
    ingest.corpus.native_calls.NativeFailure: invalid literal for int() with base 10: 'x'
    """
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise NativeFailure(one_line(error)) from None


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Raise the failure of an extension as an IngestError, `what` with its reason, and print nothing else on the terminal."""
    try:
        with no_panic_message():
            yield
    except NativeFailure as failure:
        raise IngestError(f"{what}: {failure}") from None


def one_line(error: BaseException) -> str:
    r"""The message of an exception, in one line of at most 160 characters.

    >>> one_line(ValueError("the merges are broken\nat line 3")), one_line(KeyError()), one_line(KeyError("vocab"))
    ('the merges are broken', 'it failed without a message', "it has no 'vocab'")
    """
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if not first:
        return "it failed without a message"
    message = f"{_PREFIXES.get(type(error).__name__, '')}{first}"
    return message if len(message) <= 160 else f"{message[:159]}…"


@contextmanager
def no_panic_message() -> Iterator[None]:
    """Keep the panic messages of an extension, written to standard error, off the terminal."""
    saved = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def return_freed_memory() -> None:
    """Return freed memory to the system, which glibc does not do by itself."""
    if os.name != "posix":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


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

    `prepare` is called in each worker before its first task, with `arguments`; neither is pickled.
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


def _begin(prepare: Callable[..., object] | None, arguments: tuple[object, ...]) -> None:
    """Begin a worker. It ends with the main process, even after SIGKILL: a worker keeps the lock of the ledger."""

    def end_with_parent() -> None:
        from multiprocessing import parent_process

        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    threading.Thread(target=end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


@contextmanager
def one_line_failure() -> Iterator[None]:
    """Report the death of a worker in one line. Raises IngestError: a worker process of the pool ended before its task."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise IngestError("a worker process was killed, perhaps for lack of memory: set fewer --threads") from None
