"""An exact count of a listing: estimated after a second, kept in a ledger, interrupted at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.corpus.counting.ledger import Ledger, Shards, Totals
from ingest.corpus.counting.runners import Runner, Task
from ingest.corpus.progress import Progress
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.corpus.files.listing import FileListing

#: The rate is known well enough after this time.
PROBE_SECONDS = 1.0


class TooLong(Exception):
    """Counting everything would take longer than allowed."""


class Counting:
    """An exact count on its way.

    Args:
        listing: what is counted.
        shards: its parts.
        progress: where it is told.
        limit: seconds that it may take; None allows any time.
    """

    def __init__(self, listing: FileListing, shards: Shards, progress: Progress, limit: float | None) -> None:
        self.listing, self.shards, self.progress, self.limit = listing, shards, progress, limit
        self.totals = Totals()
        self.totals.skip(listing.skipped)
        self.probed = False

    def run(self, runner: Runner, ledger: Ledger | None) -> str:
        """Count every shard that the ledger does not know.

        Returns:
            How much of the corpus this is, where it was interrupted.

        Raises:
            TooLong: the first second shows that it would take longer than the limit.
        """
        self._take_up(ledger)
        try:
            with closing(runner.run(self._starting(ledger), self.moved)) as results:  # type: ignore[type-var]
                for counted in results:
                    self.totals.add(counted)  # first, so that Ctrl-C while the ledger is written does not forget it
                    if ledger is not None:
                        ledger.finished(counted)
        except KeyboardInterrupt:
            return self._interrupted(runner)
        finally:
            self.progress.clear()
            if ledger is not None:
                ledger.close()
        return ""

    def _take_up(self, ledger: Ledger | None) -> None:
        done = ledger.done if ledger is not None else {}
        known = sum(one.total.stored_bytes for one in done.values())
        for counted in list(done.values()):
            self.totals.add(counted)
        if ledger is not None and done:
            self.progress.say(f"taking up '{ledger.path}': {len(done):,} shards with {display(known, 'B')} are known")
        self.progress.begin(self.listing.total_bytes, known)

    def _starting(self, ledger: Ledger | None) -> Iterator[int]:
        done = frozenset(ledger.done) if ledger else frozenset()
        for number in range(len(self.shards)):
            if number not in done:
                if ledger is not None:
                    ledger.started(number)
                yield number

    def moved(self, size: int) -> None:
        """So many stored bytes more have been dealt with; once the rate is known, say what the whole takes."""
        self.progress.moved(size)
        if self.probed or self.progress.seconds < PROBE_SECONDS or not self.progress.total:
            return
        self.probed = True
        whole = self.progress.seconds + self.progress.seconds_left
        took = f"about {display(whole, 's')} for {display(self.progress.total, 'B', binary=False)} exactly"
        if self.limit is not None and whole > self.limit:
            self.progress.say(f"{took}: measuring a sample instead; --exact counts everything")
            raise TooLong
        self.progress.say(took)

    def _interrupted(self, runner: Runner) -> str:
        """Take what is known of the shards under way; return how much of the corpus that is."""
        self.totals.settle()
        unfinished = runner.unfinished()
        if unfinished is not None:
            self.totals.merge(unfinished)
        files, of_all = self.totals.total.files, len(self.listing)
        return f"interrupted after {files:,} of {of_all:,} files: everything here is of those alone"


def identity(listing: FileListing, task: Task) -> dict[str, Any]:
    """What a ledger belongs to."""
    return {
        "manifest": listing.manifest_hash(),
        "vocabulary": task.vocabulary.sha256,
        "options": repr(task.reading),
        "version": __version__,
    }


def open_ledger(path: str | Path | None, listing: FileListing, task: Task) -> Ledger | None:
    """The ledger that `--resume` names."""
    return Ledger(path, identity(listing, task)) if path is not None else None
