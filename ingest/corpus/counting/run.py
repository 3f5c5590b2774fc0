"""An exact count of a listing: its duration is estimated after a second, a ledger keeps its shards, Ctrl-C its results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.corpus.counting.ledger import Ledger, Shards, Totals
from ingest.corpus.counting.runners import CountingTask, Runner
from ingest.corpus.progress import Progress
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.corpus.files.listing import FileListing

#: time after which the rate is known well enough
PROBE_SECONDS = 1.0


class TooLong(Exception):
    """Counting everything would take longer than the limit."""


class ExactCount:
    """An exact count.

    Args:
        listing: the files to count.
        shards: of the listing.
        progress: shown while it runs.
        limit: the longest duration in seconds; None for any.
    """

    def __init__(self, listing: FileListing, shards: Shards, progress: Progress, limit: float | None) -> None:
        self.listing, self.shards, self.progress, self.limit = listing, shards, progress, limit
        self.totals = Totals()
        self.totals.skip(listing.skipped)
        self.probed = False

    def run(self, runner: Runner, ledger: Ledger | None) -> str:
        """Count every shard that is not in the ledger.

        Returns:
            The files counted, where the run was interrupted; otherwise empty.

        Raises:
            TooLong: the rate of the first second predicts more than the limit.
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
            self.progress.say(f"resuming '{ledger.path}': {len(done):,} shards with {display(known, 'B')} are done")
        self.progress.begin(self.listing.total_bytes, known)

    def _starting(self, ledger: Ledger | None) -> Iterator[int]:
        done = frozenset(ledger.done) if ledger else frozenset()
        for number in range(len(self.shards)):
            if number not in done:
                if ledger is not None:
                    ledger.started(number)
                yield number

    def moved(self, size: int) -> None:
        """Add stored bytes that are done; once the rate is known, report the duration of the run."""
        self.progress.moved(size)
        if self.probed or self.progress.seconds < PROBE_SECONDS or not self.progress.total:
            return
        self.probed = True
        duration = self.progress.seconds + self.progress.seconds_left
        estimate = f"an exact count of {display(self.progress.total, 'B', binary=False)} takes about {display(duration, 's')}"
        if self.limit is not None and duration > self.limit:
            self.progress.say(f"{estimate}: measuring a sample instead; set --exact to count everything")
            raise TooLong
        self.progress.say(estimate)

    def _interrupted(self, runner: Runner) -> str:
        """Add the counts of the open shards; return how many files are counted."""
        self.totals.settle()
        unfinished = runner.unfinished()
        if unfinished is not None:
            self.totals.merge(unfinished)
        files, of_all = self.totals.total.files, len(self.listing)
        return f"interrupted after {files:,} of {of_all:,} files: all results are of these files only"


def open_ledger(path: str | Path | None, listing: FileListing, task: CountingTask) -> Ledger | None:
    """Open the ledger of `--resume`; None without one.

    Raises:
        IngestError: see `Ledger`.
    """
    if path is None:
        return None
    identity = {
        "manifest": listing.manifest_hash(),
        "vocabulary": task.vocabulary.sha256,
        "options": repr(task.reading),
        "version": __version__,
    }
    return Ledger(path, identity)
