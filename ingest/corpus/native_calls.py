"""Calls into compiled extensions, which may panic: that too becomes one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ingest.errors import IngestError

Result = TypeVar("Result")


class NativeFailure(IngestError):
    """What a compiled extension raised, panics included, in one line."""


def guarded(call: Callable[[], Result]) -> Result:
    """Call into an extension; whatever it raises becomes a `NativeFailure`.

    A panic of a Rust extension is a `BaseException`, so that `except Exception` would let it through.

    >>> guarded(lambda: int("x"))
    Traceback (most recent call last):
    ingest.corpus.native_calls.NativeFailure: ValueError: invalid literal for int() with base 10: 'x'
    """
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise NativeFailure(one_line(error)) from None


def one_line(error: BaseException) -> str:
    """The kind and the first line of an exception, at most 160 characters.

    >>> one_line(ValueError("no", "way"))
    "ValueError: ('no', 'way')"
    """
    first = (str(error).splitlines() or [""])[0].strip()
    line = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return line if len(line) <= 160 else f"{line[:159]}…"


@contextmanager
def no_panic_message() -> Iterator[None]:
    """Keep what a panicking extension writes to standard error by itself off the terminal."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
