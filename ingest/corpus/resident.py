"""How much memory this process holds, to tell when an engine has to forget the words it has met."""

from __future__ import annotations

import os

#: what the process may hold before an engine begins anew
MOST_RESIDENT = 416 << 20

#: below this growth since it began, an engine is not what fills the memory
LEAST_GROWTH = 128 << 20

#: where the system does not say what a process holds, an engine begins anew after this much text
TEXT_WITHOUT_MEASURE = 256 << 20


def resident_bytes() -> int | None:
    """What this process holds in memory now; nothing where the system has no /proc."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def let_grow(most: int) -> None:
    """From now on this process may hold so many bytes more than it does: one of many that share a machine."""
    global MOST_RESIDENT, LEAST_GROWTH
    MOST_RESIDENT, LEAST_GROWTH = (resident_bytes() or 0) + most, most


def give_back() -> None:
    """Return what has been freed to the system; glibc keeps it unless it is asked."""
    if os.name != "posix":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


class Growth:
    """What an engine has added to the memory of the process since it began."""

    def __init__(self) -> None:
        self._start = resident_bytes()
        self._text = 0

    def fed(self, size: int) -> None:
        """Note that so many bytes of text went in."""
        self._text += size

    def more_than(self, most: int) -> bool:
        """Whether more than so many bytes have been added; not so where the system does not say."""
        now = resident_bytes()
        return now is not None and self._start is not None and now - self._start > most

    def too_many(self) -> bool:
        """Whether the engine should begin anew."""
        now = resident_bytes()
        if now is None or self._start is None:
            return self._text > TEXT_WITHOUT_MEASURE
        return now > MOST_RESIDENT and now - self._start > LEAST_GROWTH
