"""Strata of a corpus: files that are drawn alike, and how their units are drawn, read and counted.

Files lie end to end in path order, and every stored byte is equally likely to be drawn. The bytes are divided into runs of
equal length, with two independent draws in each: every folder is drawn in proportion to its size, and the variance is unbiased.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.corpus.counting.exact import DocumentCounter, ShardTally, count
from ingest.corpus.counting.ledger import OTHER, GroupTallies, Shard, ShardCount
from ingest.corpus.files.source import Unreadable
from ingest.corpus.formats.documents import can_seek, parts_of, read_block
from ingest.corpus.formats.rows import not_text_reason
from ingest.corpus.sampling.estimators import DrawnSample
from ingest.corpus.types import CorpusFile, LeftOut, SkippedFile, extension_of, folder_of, root_of

if TYPE_CHECKING:
    import numpy

#: shorter blocks split more characters and words, longer ones do not vary less
BLOCK_BYTES = 16 * 1024
#: blocks per call of the engine
BATCH_BLOCKS = 512
#: a drawn unit: its position in the frame, and the start of the block within it
UnitKey = tuple[int, int]
#: lines, rows and members that are named
NAMED = 1000
#: tokens, text bytes, documents (for blocks: less the lost files), and unreadable bytes and files
FIGURES = ("tokens", "text_bytes", "documents", "lost_bytes", "lost_files")
#: folders, and extensions, with figures of their own
MOST_NAMES = 1000
#: formats whose parts can be read alone, and the most files that are opened to list their parts
PARTED = ("parquet", "arrow")
MOST_OPENED = 1000
KINDS = ("folders", "extensions")


class DrawnUnit(NamedTuple):
    """Stored bytes and counts of a drawn block, file or part of a file; a block has no documents."""

    size: int
    tokens: int = 0
    text_bytes: int = 0
    documents: int = 0


def draw(frame_bytes: int, pairs: int, seed: str) -> list[int]:
    """Two random byte positions in each of `pairs` runs of consecutive bytes, run by run.

    >>> draw(100, 2, "1") == draw(100, 2, "1"), [position // 50 for position in draw(100, 2, "1")]
    (True, [0, 0, 1, 1])
    """
    chance = random.Random(seed)
    width = frame_bytes / pairs
    return [min(int((run + chance.random()) * width), frame_bytes - 1) for run in range(pairs) for _ in (1, 2)]


@dataclass
class SamplingFrame:
    """The units that can be drawn, end to end: files, parts of files, or files that are drawn by the block."""

    members: array[int] = field(default_factory=lambda: array("q"))  # for each unit the position of its file in the listing
    sizes: array[int] = field(default_factory=lambda: array("q"))  # for each unit its stored bytes
    _ends: numpy.ndarray[Any, Any] | None = field(default=None, repr=False)

    def add(self, member: int, size: int) -> None:
        """Append a unit; an empty one is never drawn."""
        self.members.append(member)
        self.sizes.append(size)

    @property
    def bytes(self) -> int:
        """Stored bytes of all units."""
        return int(self.ends[-1]) if len(self.sizes) else 0

    def column(self) -> numpy.ndarray[Any, Any]:
        import numpy

        return numpy.array(self.sizes, dtype=numpy.int64)

    @property
    def ends(self) -> numpy.ndarray[Any, Any]:
        """The end of each unit, in bytes from the start of the first."""
        import numpy

        if self._ends is None or len(self._ends) != len(self.sizes):
            self._ends = numpy.cumsum(self.column())
        return self._ends

    def locate(self, positions: list[int]) -> list[tuple[int, int]]:
        """The unit at each position, and the offset of the position within it."""
        import numpy

        units = numpy.searchsorted(self.ends, positions, side="right")
        return [
            (int(unit), position - int(self.ends[unit]) + self.sizes[unit])
            for unit, position in zip(units, positions, strict=True)
        ]


def block_at(offset: int, size: int) -> tuple[int, int]:
    """Start and length of the block that holds a byte of a file of `size` bytes.

    >>> block_at(20_000, 30_000), block_at(5, 100)
    ((16384, 13616), (0, 100))
    """
    start = offset // BLOCK_BYTES * BLOCK_BYTES
    return start, min(BLOCK_BYTES, size - start)


def whole_characters(raw: bytes, size: int, first: bool) -> bytes:
    """The characters that begin within the first `size` bytes; the bytes after those only complete the last character.

    >>> whole_characters("aé".encode(), 2, True).decode(), whole_characters("éa".encode()[1:], 2, False)
    ('aé', b'a')
    """
    begin, end = 0, min(size, len(raw))
    while not first and begin < min(3, size, len(raw)) and raw[begin] & 0xC0 == 0x80:
        begin += 1
    while end < len(raw) and raw[end] & 0xC0 == 0x80:
        end += 1
    return raw[begin:end]


@dataclass
class UnitReader:
    """Reads drawn units of a corpus."""

    listing: Sequence[CorpusFile]
    counter: DocumentCounter
    moved: Callable[[int], object]  # called with the stored bytes read since the last call
    bytes_read: int = 0
    skipped: dict[int, SkippedFile] = field(default_factory=dict)  # files that do not count, by position in the listing
    parts: LeftOut = field(default_factory=lambda: LeftOut(NAMED))  # what does not count of files that do

    def count(self, shards: Iterable[Shard], root: str = "") -> Iterator[ShardCount]:
        for counted in count(shards, self.counter, ShardTally(root), self.moved):
            self.bytes_read += counted.total.bytes_read
            yield counted


@dataclass
class Stratum:
    """Files that are drawn alike."""

    name: str  # the format and compression, or `plain text`
    blocks: bool  # whether blocks of files are drawn; otherwise whole files or parts
    parts: array[int] = field(default_factory=lambda: array("q"))  # of each unit, where parts of files are drawn
    files: array[int] = field(default_factory=lambda: array("q"))  # positions in the listing, including empty files
    stored_bytes: int = 0  # of all files
    #: files, stored bytes and bytes of the frame, by folder and by extension
    breakdown: dict[str, GroupTallies] = field(default_factory=lambda: {kind: GroupTallies(MOST_NAMES + 1) for kind in KINDS})
    frame: SamplingFrame = field(default_factory=SamplingFrame)  # the units that can be drawn
    drawn: list[UnitKey] = field(default_factory=list)  # the draws so far, in pairs
    pilot: list[UnitKey] = field(default_factory=list)  # dropped draws, which count only if there are no others
    units: dict[UnitKey, DrawnUnit] = field(default_factory=dict)  # drawn, the pilot's included: no unit is read twice
    file_units: dict[int, DrawnUnit] = field(default_factory=dict)  # units whose whole file was read
    checked: set[int] = field(default_factory=set)  # files read because nothing in a drawn part counts
    rounds: int = 0  # number of times that draws were added

    def add(self, member: int, size: int) -> None:
        self.files.append(member)
        self.stored_bytes += size
        self.frame.add(member, size)

    def cost_per_draw(self) -> float:
        """Mean stored bytes that a draw reads."""
        sizes = self.frame.column()
        read = sizes.clip(max=BLOCK_BYTES) if self.blocks else sizes
        return float((sizes / self.frame.bytes * read).sum())

    def bytes_for(self, draws: float) -> float:
        """Stored bytes that so many draws read; a unit drawn twice is read once."""
        if self.blocks:
            return min(draws * self.cost_per_draw(), self.frame.bytes)
        sizes = self.frame.column()
        return float((sizes * (1 - (1 - sizes / self.frame.bytes) ** draws)).sum())

    def extend(self, pairs: int, seed: str, reader: UnitReader) -> None:
        """Draw two units in each of so many runs of bytes, and count those that are new."""
        places = self.frame.locate(draw(self.frame.bytes, pairs, f"{seed} {self.name} {self.rounds}"))
        self.rounds += 1
        keys = [(unit, block_at(offset, self.frame.sizes[unit])[0] if self.blocks else 0) for unit, offset in places]
        new = sorted(set(keys) - self.units.keys())
        self.units.update(self.fetch(new, reader))
        self.drawn += keys

    def fetch(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        if self.parts:
            yield from self._count_parts(keys, reader)
            return
        if not self.blocks:
            yield from self._count_files(keys, reader)
            return
        refused: list[UnitKey] = []
        for start in range(0, len(keys), BATCH_BLOCKS):
            texts, sizes = [], {}
            for key in keys[start : start + BATCH_BLOCKS]:
                text, size = self._block_text(*key, reader)
                if text is None:
                    refused.append(key)
                else:
                    sizes[key] = size
                    texts.append(text)
            counts = reader.counter.engine.count(texts)
            yield from ((key, DrawnUnit(size, tokens, size)) for (key, size), tokens in zip(sizes.items(), counts, strict=True))
        yield from self._count_files(refused, reader)

    def _block_text(self, unit: int, start: int, reader: UnitReader) -> tuple[bytes | None, int]:
        """The text of a block and its size; None where it is not text: its file must be read to detect its format."""
        size = block_at(start, self.frame.sizes[unit])[1]
        try:
            raw = read_block(reader.listing[self.frame.members[unit]], start, size + 3)
        except Unreadable:
            return None, size
        reader.bytes_read += len(raw)
        reader.moved(len(raw))
        text = whole_characters(raw, size, first=start == 0)
        return None if not_text_reason(text, start) else text, size

    def _count_files(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Count whole files as an exact count does, each once; their content decides the format."""
        units = sorted({unit for unit, _ in keys} - self.file_units.keys())
        shards = (Shard(place, [reader.listing[self.frame.members[unit]]]) for place, unit in enumerate(units))
        for counted in reader.count(shards):
            unit, total = units[counted.number], counted.total
            documents = total.documents - self.blocks * total.files
            if counted.skipped:
                reader.skipped[self.frame.members[unit]] = counted.skipped[0]
            reader.parts.note(*counted.parts)
            self.file_units[unit] = DrawnUnit(self.frame.sizes[unit], total.tokens, total.text_bytes, documents)
        yield from ((key, self.file_units[key[0]]) for key in keys)

    def _count_parts(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Count row groups or record batches."""
        members, sizes = self.frame.members, self.frame.sizes
        shards = (
            Shard(place, [reader.listing[members[unit]]._replace(stored_bytes=sizes[unit])], [self.parts[unit]])
            for place, (unit, _) in enumerate(keys)
        )
        for key, counted in zip(keys, list(reader.count(shards)), strict=True):
            member, total = members[key[0]], counted.total
            if counted.skipped:
                reader.skipped[member] = counted.skipped[0]
            elif total.documents:
                reader.parts.note(*counted.parts)
            elif counted.parts and member not in self.checked:
                self.checked.add(member)
                list(self._count_files([key], reader))  # sees whether anything in the whole file counts
            yield key, DrawnUnit(sizes[key[0]], total.tokens, total.text_bytes, total.documents)

    def sample(self, reader: UnitReader) -> DrawnSample:
        """The amounts of each draw per stored byte; a file that is unreadable in one place is lost everywhere."""
        import numpy

        rows: list[tuple[float, ...]] = []
        for key in self.drawn:
            drawn, unit = self.units[key], key[0]
            member = self.frame.members[unit]
            if member in reader.skipped:
                one_file = 1 / (reader.listing[member].stored_bytes if self.parts else self.frame.sizes[unit])
                rows.append((0, 0, -one_file if self.blocks else 0, 1, one_file))
            else:
                rows.append((drawn.tokens / drawn.size, drawn.text_bytes / drawn.size, drawn.documents / drawn.size, 0, 0))
        table = numpy.array(rows, dtype=float).reshape(len(rows), len(FIGURES))
        return DrawnSample({name: table[:, place] for place, name in enumerate(FIGURES)}, self.frame.bytes)


class Strata:
    """The strata of a listing, with a breakdown by folder and by extension."""

    def __init__(self, listing: Sequence[CorpusFile]) -> None:
        self.root = root_of(listing[0].path, listing[-1].path)  # the folder that all files share
        self.names: dict[str, set[str]] = {kind: set() for kind in KINDS}  # with figures of their own; others are added up
        self.by_name: dict[str, Stratum] = {}
        for member, found in enumerate(listing):
            blocks = can_seek(found)
            name = "plain text" if blocks else " ".join(filter(None, (found.format, found.compression)))
            if not (found.stored_bytes or blocks):
                name = f"{name}, empty"
            stratum = self.by_name.setdefault(name, Stratum(name, blocks))
            stratum.add(member, found.stored_bytes)
            self._add_to_breakdown(stratum, found, 1, found.stored_bytes, found.stored_bytes)
        for stratum in self.by_name.values():
            if stratum.name in PARTED and len(stratum.files) <= MOST_OPENED:
                self._divide(stratum, listing)

    def _divide(self, stratum: Stratum, listing: Sequence[CorpusFile]) -> None:
        """Draw parts of files."""
        stratum.frame = SamplingFrame()
        for member in stratum.files:
            sizes = [listing[member].stored_bytes]
            with suppress(Unreadable):  # a broken file is one part, which is refused when it is read
                sizes = parts_of(listing[member]) or sizes
            for part, size in enumerate(sizes):
                stratum.frame.add(member, size)
                stratum.parts.append(part)
        for rows in stratum.breakdown.values():
            for row in rows.rows.values():
                row[2] = 0
        for member, size in zip(stratum.frame.members, stratum.frame.sizes, strict=True):
            self._add_to_breakdown(stratum, listing[member], 0, 0, size)

    def _add_to_breakdown(self, stratum: Stratum, found: CorpusFile, *numbers: int) -> None:
        for kind, names in self.names.items():
            if len(names) < MOST_NAMES:
                names.add(folder_of(found.path, self.root) if kind == "folders" else extension_of(found.path))
            stratum.breakdown[kind].add(self.name_of(found, kind), numbers)

    def name_of(self, found: CorpusFile, kind: str) -> str:
        """The folder or extension of a file in the breakdown."""
        name = folder_of(found.path, self.root) if kind == "folders" else extension_of(found.path)
        return name if name in self.names[kind] else OTHER
