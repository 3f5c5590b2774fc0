"""Calls into compiled extensions, whose panics become errors of one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ingest.errors import IngestError

Result = TypeVar("Result")


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
    """Report the failure of an extension as `what`, with its reason, and nothing else on the terminal.

    Raises:
        IngestError: a `NativeFailure` was raised.
    """
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


#: by name of the exception, because the class of a panic cannot be imported
_PREFIXES = {"PanicException": "it broke down: ", "KeyError": "it has no "}


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
