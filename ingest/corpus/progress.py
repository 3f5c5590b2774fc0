"""How far counting is: a line that is redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from ingest.units import display

REDRAW_SECONDS = 0.2
LINE_SECONDS = 10.0
BAR = 20


class Progress:
    """Tells on a stream how much of the corpus has been dealt with.

    Args:
        stream: where it is told, standard error by default; None tells nothing.
        clock: seconds that only grow.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.clock = clock
        self.redraws = stream is not None and stream.isatty()
        self.total = self.moved_bytes = self.taken_up = 0
        self.started = self.told = clock()
        self.shown = 0

    @classmethod
    def on_standard_error(cls) -> Progress:
        """The progress of a command."""
        return cls(sys.stderr)

    def begin(self, total: int, taken_up: int) -> None:
        """Start the clock: so many stored bytes, of which some are known from an earlier run."""
        self.total, self.moved_bytes, self.taken_up = total, taken_up, taken_up
        self.started = self.told = self.clock()

    def moved(self, size: int) -> None:
        """So many stored bytes more have been dealt with."""
        self.moved_bytes += size
        now = self.clock()
        if self.stream is None or now - self.told < (REDRAW_SECONDS if self.redraws else LINE_SECONDS):
            return
        self.told = now
        self._show(self.line())

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return self.clock() - self.started

    @property
    def rate(self) -> float:
        """Stored bytes per second so far."""
        return (self.moved_bytes - self.taken_up) / max(self.seconds, 1e-6)

    @property
    def seconds_left(self) -> float:
        """Time that the rest takes at this rate."""
        return (self.total - self.moved_bytes) / max(self.rate, 1e-6)

    def line(self) -> str:
        """What is told."""
        share = min(self.moved_bytes / self.total, 1.0) if self.total else 0.0
        size, rate = display(self.moved_bytes, "B", binary=False), display(self.rate, "B/s", binary=False)
        of_all = f" of {display(self.total, 'B', binary=False)}, {share:.0%}" if self.total else ""
        left = f", {display(self.seconds_left, 's')} left" if self.total and self.rate else ""
        bar = f"[{'#' * round(BAR * share):{BAR}}] " if self.redraws and self.total else ""
        return f"{bar}{size}{of_all}, {rate}{left}"

    def _show(self, line: str) -> None:
        assert self.stream is not None
        if self.redraws:
            self.stream.write(f"\r{line:{self.shown}}")
            self.shown = len(line)
        else:
            self.stream.write(f"ingest: {line}\n")
        self.stream.flush()

    def say(self, line: str) -> None:
        """One line of its own."""
        if self.stream is not None:
            self.clear()
            self.stream.write(f"ingest: {line}\n")
            self.stream.flush()

    def clear(self) -> None:
        """Wipe the redrawn line off, so that the result stands alone."""
        if self.stream is not None and self.shown:
            self.stream.write(f"\r{'':{self.shown}}\r")
            self.stream.flush()
            self.shown = 0
