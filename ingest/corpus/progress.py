"""Progress of a measurement: a bar on a terminal, single lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TextIO

REDRAW_SECONDS = 0.2


class Progress:
    """The progress of reading a corpus.

    Args:
        stream: receives bar and lines; None for none. Only a terminal gets the bar.
        clock: monotonic seconds.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.clock = clock
        self.total = self.moved_bytes = self.taken_up = 0
        self.started = clock()
        self._bar: Any = None

    def begin(self, total: int, taken_up: int) -> None:
        """Start the clock on `total` stored bytes, of which `taken_up` were counted by an earlier run."""
        self.total, self.moved_bytes, self.taken_up = total, taken_up, taken_up
        self.started = self.clock()

    def moved(self, size: int) -> None:
        """Add `size` stored bytes as read."""
        if self._bar is None and self.stream is not None and self.stream.isatty():
            self._bar = _bar(self.stream, self.total, self.moved_bytes)
        self.moved_bytes += size
        if self._bar is not None:
            self._bar.update(size)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.started

    @property
    def seconds_left(self) -> float:
        """Seconds that the remaining bytes take at the rate so far."""
        rate = (self.moved_bytes - self.taken_up) / max(self.seconds, 1e-6)
        return (self.total - self.moved_bytes) / max(rate, 1e-6)

    def say(self, line: str) -> None:
        if self.stream is not None:
            if self._bar is not None:
                self._bar.clear()
            self.stream.write(f"ingest: {line}\n")
            self.stream.flush()

    def clear(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar(stream: TextIO, total: int, initial: int) -> Any:
    from threading import RLock

    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]  # it has no types
        # neither a thread nor a lock between processes: the process forks while the bar is shown
        monitor_interval = 0

    Bar.set_lock(RLock())
    return Bar(
        total=total or None, initial=initial, file=stream, unit="B", unit_scale=True, leave=False, dynamic_ncols=True,
        mininterval=REDRAW_SECONDS,
    )  # fmt: skip
