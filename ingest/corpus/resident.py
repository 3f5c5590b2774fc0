"""The memory limit of this process, at which an engine restarts."""

from __future__ import annotations

import os

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
