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
    ingest.corpus.tokenizers.native_calls.NativeFailure: invalid literal for int() with base 10: 'x'
    """
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise NativeFailure(one_line(error)) from None


def one_line(error: BaseException) -> str:
    r"""What an exception says, in a line of at most 160 characters; a panic says that it was one.

    >>> one_line(ValueError("the merges are broken\nat line 3")), one_line(KeyError()), one_line(KeyError("vocab"))
    ('the merges are broken', 'it failed and does not say why', "it has no 'vocab'")
    """
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if not first:
        return "it failed and does not say why"
    said = f"{_SAID_BEFORE.get(type(error).__name__, '')}{first}"
    return said if len(said) <= 160 else f"{said[:159]}…"


#: what a message alone would not say; a panic's class has no module that could be imported
_SAID_BEFORE = {"PanicException": "it broke down: ", "KeyError": "it has no "}


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
