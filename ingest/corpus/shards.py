"""The corpus cut into shards: what one worker counts at a time, and what a ledger remembers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

from ingest.corpus.terms import Found, Skipped, Tally

#: A shard is as small as keeps all cores busy to the end, and as large as keeps a ledger short.
SHARD_BYTES = 16 * 2**20
SHARD_FILES = 1024
MOST_SHARDS = 20_000
#: Folders and extensions that one shard tells apart.
SHARD_GROUPS = 256
OTHER = "(other)"


class Shard(NamedTuple):
    """A part of the listing: files by position, in path order."""

    number: int
    found: Sequence[Found]


class Counted(NamedTuple):
    """What counting one shard gave.

    Attributes:
        number: of the shard.
        total: over the files that were read whole.
        folders: the same by folder.
        extensions: the same by extension.
        skipped: files left out.
        parts: lines, rows and members left out of files that count.
    """

    number: int
    total: Tally
    folders: dict[str, Tally]
    extensions: dict[str, Tally]
    skipped: tuple[Skipped, ...] = ()
    parts: tuple[Skipped, ...] = ()


def cuts(sizes: Sequence[int]) -> list[range]:
    """Where shards begin and end, by position: the same listing always gives the same shards.

    A file is never cut, so a file larger than a shard is one of its own.

    >>> cuts([40, 30, 2**40, 5, 5])
    [range(0, 2), range(2, 3), range(3, 5)]
    """
    most_bytes = max(SHARD_BYTES, sum(sizes) // MOST_SHARDS)
    most_files = max(SHARD_FILES, len(sizes) // MOST_SHARDS)
    found, start, held = [], 0, 0
    for position, size in enumerate(sizes):
        if position > start and (held + size > most_bytes or position - start >= most_files):
            found.append(range(start, position))
            start, held = position, 0
        held += size
    return [*found, range(start, len(sizes))] if len(sizes) else []


class Shards:
    """The shards of a listing, by number.

    Args:
        listing: the files.
        sizes: stored bytes of each.

    Attributes:
        total_bytes: of all files.
    """

    def __init__(self, listing: Sequence[Found], sizes: Sequence[int]) -> None:
        self._listing = listing
        self._spans = cuts(sizes)
        self.total_bytes = sum(sizes)

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, number: int) -> Shard:
        span = self._spans[number]
        return Shard(number, self._listing[span.start : span.stop])


class Sums:
    """Tallies by name, of a bounded number of names: what comes later is summed as `(other)`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: dict[str, list[int]] = {}

    def add(self, name: str, tally: Sequence[int]) -> None:
        """Add a tally to its name."""
        row = self.rows.get(name)
        if row is None:
            name = name if len(self.rows) < self.most else OTHER
            row = self.rows.setdefault(name, [0] * len(Tally._fields))
        row[:] = map(add, row, tally)

    def tallies(self) -> dict[str, Tally]:
        """What has been summed."""
        return {name: Tally(*row) for name, row in self.rows.items()}


class Totals:
    """The sum of all shards, added in their order whatever the order in which they come."""

    #: folders and extensions of the whole corpus that are told apart, and skipped things that are named
    GROUPS = 1000
    NAMED = 100_000

    def __init__(self) -> None:
        self.total = Tally()
        self.folders, self.extensions = Sums(self.GROUPS), Sums(self.GROUPS)
        self.skipped: list[Skipped] = []
        self.parts: list[Skipped] = []
        self.files_skipped = self.parts_skipped = self.documents_skipped = self.next = 0
        self.waiting: dict[int, Counted] = {}

    def add(self, counted: Counted) -> None:
        """Add a shard; it waits until those before it have come."""
        self.waiting[counted.number] = counted
        while self.next in self.waiting:
            self.merge(self.waiting.pop(self.next))
            self.next += 1

    def settle(self) -> None:
        """Add what still waits: an interrupted run has no shards before it."""
        for number in sorted(self.waiting):
            self.merge(self.waiting.pop(number))

    def merge(self, counted: Counted) -> None:
        """Add what was counted, whatever its place."""
        self.total = self.total.plus(counted.total)
        for sums, groups in ((self.folders, counted.folders), (self.extensions, counted.extensions)):
            for name, tally in groups.items():
                sums.add(name, tally)
        self.skip(counted.skipped)
        self.parts_skipped += len(counted.parts)
        self.documents_skipped += sum(part.number for part in counted.parts)
        self.parts += counted.parts[: self.NAMED - len(self.parts)]

    def having_read(self, bytes_read: int) -> Totals:
        """The same, where so much was moved from storage for it."""
        self.total = self.total._replace(bytes_read=bytes_read)
        return self

    def skip(self, skipped: Sequence[Skipped]) -> None:
        """Add files that were left out."""
        self.files_skipped += len(skipped)
        self.skipped += skipped[: self.NAMED - len(self.skipped)]
