"""Shards of the corpus, their counts and totals, and the ledger of an interrupted run."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ingest.corpus.formats.rows import is_too_damaged
from ingest.corpus.types import CorpusFile, LeftOut, Piece, SkippedFile, Tally
from ingest.errors import IngestError, UsageError, brief
from ingest.files import identity_of, refuse_output

#: of a shard: small enough to keep all cores busy to the end, large enough to keep a ledger short
SHARD_BYTES = 16 * 2**20
SHARD_FILES = 1024
MOST_SHARDS = 20_000
#: folders, and extensions, with counts of their own in a shard
SHARD_GROUPS = 256
OTHER = "(other)"
#: why a file has no usable record, at most
NAMED_REASONS = 3


class Shard(NamedTuple):
    """A part of the listing: files by position, in path order; whole, or of each the part that is read, or one piece of one.

    A part may hold no document that counts.
    """

    number: int
    found: Sequence[CorpusFile]
    parts: Sequence[int] | None = None
    piece: Piece | None = None


class ShardCount(NamedTuple):
    """The counts of one shard, in total and by folder and extension, over the files that were read to their end.

    Of a shard that is one of the pieces of a file, `piece` holds the bytes that were read, which its neighbors must meet.
    """

    number: int
    total: Tally
    folders: dict[str, Tally]
    extensions: dict[str, Tally]
    skipped: tuple[SkippedFile, ...] = ()  # files that do not count
    parts: tuple[SkippedFile, ...] = ()  # lines, rows and members that do not count, of files that do
    piece: Piece | None = None


class Span(NamedTuple):
    """The positions of a shard's files in the listing; of a file in pieces its position, and which piece of how many."""

    files: range
    piece: int = 0
    pieces: int = 1


def shard_spans(sizes: Sequence[int], divisible: Callable[[int], bool] = lambda _: False) -> list[Span]:
    """The shards of a listing, where the file at a position is divisible or not; equal listings give equal shards.

    A file that is larger than a shard is a shard of its own; one of twice that size is cut in pieces, if it is divisible.
    """
    most_bytes = max(SHARD_BYTES, sum(sizes) // MOST_SHARDS)
    most_files = max(SHARD_FILES, len(sizes) // MOST_SHARDS)
    spans, start, shard_bytes = [], 0, 0
    for position, size in enumerate(sizes):
        pieces = size // most_bytes if size >= 2 * most_bytes and divisible(position) else 1
        if position > start and (pieces > 1 or shard_bytes + size > most_bytes or position - start >= most_files):
            spans.append(Span(range(start, position)))
            start, shard_bytes = position, 0
        if pieces > 1:
            spans += [Span(range(position, position + 1), piece, pieces) for piece in range(pieces)]
            start = position + 1
        else:
            shard_bytes += size
    return [*spans, Span(range(start, len(sizes)))] if start < len(sizes) else spans


class Shards:
    """The shards of a listing with these stored bytes of its files, by number; files may be divisible in pieces."""

    def __init__(
        self, listing: Sequence[CorpusFile], sizes: Sequence[int], divisible: Callable[[CorpusFile], bool] = lambda _: False
    ) -> None:
        self._listing, self._sizes = listing, sizes
        self._spans = shard_spans(sizes, lambda position: divisible(listing[position]))
        self.total_bytes = sum(sizes)

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, number: int) -> Shard:
        span = self._spans[number]
        found = self._listing[span.files.start : span.files.stop]
        if span.pieces == 1:
            return Shard(number, found)
        return Shard(number, found, piece=Piece(span.piece, span.pieces, *self._range(span)))

    def stored_bytes(self, number: int) -> int:
        """The stored bytes of a shard."""
        span = self._spans[number]
        if span.pieces == 1:
            return sum(self._sizes[span.files.start : span.files.stop])
        start, stop = self._range(span)
        return stop - start

    def _range(self, span: Span) -> tuple[int, int]:
        size = self._sizes[span.files.start]
        return size * span.piece // span.pieces, size * (span.piece + 1) // span.pieces


class GroupTallies:
    """Sums by folder or extension; those beyond a number are added up as `(other)`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: dict[str, list[int]] = {}

    def add(self, name: str, numbers: Sequence[int]) -> None:
        row = self.rows.get(name)
        if row is None:
            name = name if len(self.rows) < self.most else OTHER
            row = self.rows.setdefault(name, [0] * len(numbers))
        row[:] = map(add, row, numbers)

    def tallies(self) -> dict[str, Tally]:
        return {name: Tally(*row) for name, row in self.rows.items()}


class Totals:
    """The sum of all shards, added in the order of their numbers."""

    #: folders, and extensions, with counts of their own in the corpus
    GROUPS = 1000

    def __init__(self) -> None:
        self.total = Tally()
        self.folders, self.extensions = GroupTallies(self.GROUPS), GroupTallies(self.GROUPS)
        self.skipped, self.parts = LeftOut(), LeftOut()
        self.next = 0
        self.waiting: dict[int, ShardCount] = {}
        self._pieces: list[ShardCount] = []  # of the file that is not complete

    def add(self, counted: ShardCount) -> None:
        """Add a shard; it waits for those before it, a piece of a file for all others."""
        self.waiting[counted.number] = counted
        while self.next in self.waiting:
            one = self.waiting.pop(self.next)
            self.next += 1
            if one.piece is None:
                self.merge(one)
                continue
            self._pieces.append(one)
            if one.piece.number + 1 == one.piece.pieces:
                self.merge(joined(self._pieces))
                self._pieces = []

    def merge_waiting(self) -> None:
        """Add what waits, after an interruption: of a file whose pieces are not all there, the text alone."""
        for one in (*self._pieces, *(self.waiting[number] for number in sorted(self.waiting))):
            read = Tally(text_bytes=one.total.text_bytes, tokens=one.total.tokens, bytes_read=one.total.bytes_read)
            self.merge(one if one.piece is None else ShardCount(one.number, read, {}, {}))

    def merge(self, counted: ShardCount) -> None:
        """Add a shard now."""
        self.total = self.total.plus(counted.total)
        for sums, groups in ((self.folders, counted.folders), (self.extensions, counted.extensions)):
            for name, tally in groups.items():
                sums.add(name, tally)
        self.skipped.note(*counted.skipped)
        self.parts.note(*counted.parts)


class Kept(Totals):
    """The shards of a part, each by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.shards: list[ShardCount] = []

    def add(self, counted: ShardCount) -> None:
        self.shards.append(counted)


def joined(pieces: Sequence[ShardCount]) -> ShardCount:
    """A file from all its pieces: it counts whole or, where one of them does not, not at all.

    Raises IngestError: the pieces do not meet, because they were cut by other rules.
    """
    first, total = pieces[0], reduce(Tally.plus, (one.total for one in pieces))
    read = [one.piece for one in pieces if one.piece and one.piece.start < one.piece.stop]
    skipped = next((one.skipped for one in pieces if one.skipped), ())
    parts = tuple(part for one in pieces for part in one.parts)
    if not skipped and [0, *(piece.stop for piece in read)] != [*(piece.start for piece in read), total.stored_bytes]:
        raise IngestError("the pieces of a file do not meet: they were counted by other engines; count it again in one way")
    places, damaged = sum(piece.places for piece in read), sum(piece.damaged_bytes for piece in read)
    if not skipped and is_too_damaged(places, damaged, total.stored_bytes):
        skipped = (parts[0]._replace(number=1, stored_bytes=total.stored_bytes),)
    elif not skipped and parts and not total.documents:
        reasons = "; ".join(part.reason for part in parts[:NAMED_REASONS])
        skipped = (SkippedFile(parts[0].path, f"no usable record: {reasons}", stored_bytes=total.stored_bytes),)
    counted = Tally(bytes_read=total.bytes_read) if skipped else total
    folders, extensions = (dict.fromkeys(groups, counted) for groups in (first.folders, first.extensions))
    return ShardCount(first.number, counted, folders, extensions, skipped, () if skipped else parts)


#: how every ledger begins, whatever its format
KIND = "ingest-ledger/"
FORM = f"{KIND}5"
#: keys of the header and what a difference means
IDENTITY = {
    "manifest": "another corpus, or its files have changed",
    "vocabulary": "another tokenizer",
    "options": "other options",
    "version": "another version of ingest",
}


class Ledger:
    """An open ledger, created where it does not exist, and locked against other runs; `identity` as in `IDENTITY`.

    Raises IngestError: it cannot be opened, is in use, is no ledger, or belongs to another corpus, tokenizer or version.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.done: dict[int, ShardCount] = {}
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"--resume: '{self.path}' is not a regular file, expected one or a new name")
        try:
            self.file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115  open for the whole run
        except OSError as error:
            raise UsageError(f"--resume: '{self.path}' cannot be opened: {error.strerror}") from None
        try:
            refuse_output(identity_of(os.fstat(self.file.fileno())))
            try:  # the lock ends with the process
                if os.name == "nt":
                    import msvcrt

                    msvcrt.locking(self.file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
                else:
                    import fcntl

                    fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise IngestError(f"--resume: '{self.path}' is in use by another run; set another file") from None
            self._take_up({"ledger": FORM, **identity})
        except BaseException:
            self.close()
            raise

    def _take_up(self, header: dict[str, Any]) -> None:
        """Read the entries, remove a half-written last line, and write the header of a new ledger."""
        self.file.seek(0)
        intact = 0
        for number, line in enumerate(self.file, start=1):
            if not line.endswith(b"\n") and (number > 1 or entry_line(header).startswith(line)):
                break  # A kill cuts off the header that this run would write, or a shard; any other file is the user's.
            try:
                # Take up the header, which must be that of this run, or a shard; any other error where the line is damaged.
                entry = entry_in(
                    line, number == 1, f"--resume: '{self.path}'", "a ledger of ingest measure, expected one or a new file"
                )
                if number > 1:
                    counted = counted_in(entry)
                    self.done[counted.number] = counted
                elif difference := difference_between(entry, header):
                    raise IngestError(f"--resume: '{self.path}' belongs to {difference}; set a new file")
            except (ValueError, KeyError, TypeError, AttributeError):
                expected = "the header of a ledger" if number == 1 else "a shard"
                found = f"'{self.path}' line {number} is damaged"
                raise IngestError(f"--resume: {found}, expected {expected}; set a new file") from None
            intact += len(line)
        self.file.truncate(intact)
        if intact == 0:
            self._append(header)

    def finished(self, counted: ShardCount) -> None:
        """Record the counts of a shard; they are on disk on return."""
        self.done[counted.number] = counted
        self._append(entry_of(counted))

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            self.file.write(entry_line(entry))
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise IngestError(f"--resume: '{self.path}' cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Close the file, which unlocks it."""
        with suppress(OSError):  # again for an entry that could not be written
            self.file.close()


def entry_of(counted: ShardCount) -> dict[str, Any]:
    """The counts of a shard as an entry."""
    entry = counted._asdict()
    return {"shard": entry.pop("number"), **entry}


def entry_line(entry: Mapping[str, Any]) -> bytes:
    """An entry as it lies in the file, with its check sum: one digit that a disk has changed would be another corpus."""
    content = json.dumps(entry, separators=(",", ":"))
    return json.dumps({**entry, "crc32": f"{zlib.crc32(content.encode('ascii')):08x}"}, separators=(",", ":")).encode() + b"\n"


def entry_in(line: bytes, is_header: bool, place: str, expected: str) -> dict[str, Any]:
    """The entry in a line.

    Raises IngestError: another program or version has written the header; any other error where the line is damaged.
    """
    if not line.endswith(b"\n"):
        raise ValueError(line)
    entry: dict[str, Any] = json.loads(line)
    form = entry.get("ledger")
    if is_header and form != FORM:
        if isinstance(form, str) and form.startswith(KIND):
            other = f"expected {FORM}: another version of ingest has written it; set a new file"
            raise IngestError(f"{place} has the format {brief(form)}, {other}")
        raise IngestError(f"{place} is not {expected}")
    stated = entry.pop("crc32")
    if json.loads(entry_line(entry))["crc32"] != stated:
        raise ValueError(line)
    return entry


def difference_between(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Why the counts under a header are not those of a run; empty where they are."""
    for name, reason in IDENTITY.items():
        if found.get(name) != expected[name]:
            return f"{reason} (found {found.get(name)}, expected {expected[name]})"
    return ""


def counted_in(entry: dict[str, Any]) -> ShardCount:
    """The counts of a shard; ValueError, KeyError, TypeError or AttributeError where `Ledger.finished` has not written it."""

    def tally(row: list[Any]) -> Tally:
        if len(row) != len(Tally._fields) or not all(type(value) is int and value >= 0 for value in row):
            raise ValueError(row)
        return Tally(*row)

    total = tally(entry["total"])
    folders, extensions = ({name: tally(row) for name, row in entry[key].items()} for key in ("folders", "extensions"))
    if any(reduce(Tally.plus, groups.values(), Tally()) != total for groups in (folders, extensions)):
        raise ValueError(entry)
    skipped, parts = (
        tuple(SkippedFile(str(path), str(reason), int(number), size and int(size)) for path, reason, number, size in entry[key])
        for key in ("skipped", "parts")
    )
    piece = None if entry["piece"] is None else Piece(*map(int, entry["piece"]))
    return ShardCount(int(entry["shard"]), total, folders, extensions, skipped, parts, piece)
