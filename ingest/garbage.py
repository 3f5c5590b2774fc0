"""Pauses the search for garbage where nearly all that is made is kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No search for garbage within.

    The steps of a site and the cells of its workbook, hundreds of thousands, are kept until the end: to look through all
    of them again and again takes a tenth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
