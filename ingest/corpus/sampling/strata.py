"""Files by how they can be drawn, in one pass over the listing."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.corpus.counting import exact
from ingest.corpus.counting.ledger import OTHER, SHARD_FILES, Shard, ShardCount
from ingest.corpus.formats.documents import Meter, Reading, Unreadable, can_seek, parts_of, read, read_block
from ingest.corpus.formats.plain_text import not_text_reason
from ingest.corpus.sampling.draws import BLOCK_BYTES, DrawnUnit, SamplingFrame, block_at, draw, whole_characters
from ingest.corpus.sampling.estimators import DrawnSample
from ingest.corpus.tokenizers.split_points import SplitRule
from ingest.corpus.tokenizers.splitter import split_texts
from ingest.corpus.types import CorpusFile, SkippedFile, Tally, extension_of, folder_of, root_of

#: blocks handed to the engine at once
BATCH_BLOCKS = 512
#: what a draw is known by: the unit, and where in it a block begins
UnitKey = tuple[int, int]
#: lines and members left out that are named
NAMED = 1000


@dataclass
class UnitReader:
    """What drawing needs of the corpus, and what it leaves out.

    Attributes:
        listing: the files.
        reading: how documents are found in files.
        engine: counts tokens.
        rule: where texts may be split.
        moved: called with the stored bytes that were dealt with.
        bytes_read: what was moved from storage.
        skipped: by place in the listing, the files that turned out not to be readable.
        parts: lines, rows and members left out of files that count.
    """

    listing: Sequence[CorpusFile]
    reading: Reading
    engine: exact.Counter
    rule: SplitRule | None
    moved: Callable[[int], object]
    bytes_read: int = 0
    skipped: dict[int, SkippedFile] = field(default_factory=dict)
    parts: list[SkippedFile] = field(default_factory=list)

    def took(self, size: int) -> None:
        """So many bytes were moved."""
        self.bytes_read += size
        self.moved(size)

    def note(self, skipped: SkippedFile) -> None:
        """A line, row or member does not count."""
        if len(self.parts) < NAMED:
            self.parts.append(skipped)

    def count(self, shards: Iterable[Shard], root: str = "") -> Iterator[ShardCount]:
        """Count files exactly."""
        counts = exact.counts_in_threads(self.engine)
        for counted in exact.count(shards, self.reading, self.rule, counts, exact.ShardTally(root), self.moved):
            self.bytes_read += counted.total.bytes_read
            yield counted


@dataclass
class Stratum:
    """Files that are drawn alike.

    Attributes:
        name: what a person calls them.
        blocks: whether files are cut in blocks; else a whole file is drawn.
        parts: for each unit which part of its file it is, where files are drawn in parts.
        files: their places in the listing, those without bytes too.
        stored_bytes: what storage holds of them.
        breakdown: by folder and by extension, files, stored bytes, and bytes that can be drawn.
        frame: what can be drawn.
        drawn: the draws so far, two and two.
        forgotten: the draws of a first look, which count only where nothing came after it.
        held: what each drawn key holds, forgotten draws too: none is read twice.
        read_whole: what each unit holds of which the whole file was read.
        judged: files that were read whole because nothing in a part of them counts.
        rounds: how often it was drawn from.
    """

    name: str
    blocks: bool
    parts: array[int] = field(default_factory=lambda: array("q"))
    files: array[int] = field(default_factory=lambda: array("q"))
    stored_bytes: int = 0
    breakdown: dict[str, dict[str, list[int]]] = field(default_factory=lambda: {"folders": {}, "extensions": {}})
    frame: SamplingFrame = field(default_factory=SamplingFrame)
    drawn: list[UnitKey] = field(default_factory=list)
    forgotten: list[UnitKey] = field(default_factory=list)
    held: dict[UnitKey, DrawnUnit] = field(default_factory=dict)
    read_whole: dict[int, DrawnUnit] = field(default_factory=dict)
    judged: set[int] = field(default_factory=set)
    rounds: int = 0

    def add(self, member: int, size: int) -> None:
        """Append a file."""
        self.files.append(member)
        self.stored_bytes += size
        self.frame.add(member, size)

    def divide(self, sizes_of: Callable[[int], Sequence[int]]) -> None:
        """Draw parts of files from now on; `sizes_of` gives the stored bytes of those of a file."""
        self.frame = SamplingFrame()
        for member in self.files:
            for part, size in enumerate(sizes_of(member)):
                self.frame.add(member, size)
                self.parts.append(part)

    @property
    def unit(self) -> str:
        """What is drawn."""
        return "block" if self.blocks else "part" if self.parts else "file"

    def cost_per_draw(self) -> float:
        """Mean stored bytes of what a draw reads."""
        sizes = self.frame.column()
        read = sizes.clip(max=BLOCK_BYTES) if self.blocks else sizes
        return float((sizes / self.frame.bytes * read).sum())

    def bytes_for(self, draws: float) -> float:
        """Stored bytes that so many draws read; what is drawn twice is read once."""
        if self.blocks:
            return min(draws * self.cost_per_draw(), self.frame.bytes)
        sizes = self.frame.column()
        return float((sizes * (1 - (1 - sizes / self.frame.bytes) ** draws)).sum())

    def extend(self, pairs: int, seed: str, reader: UnitReader) -> None:
        """Draw twice in each of so many strata, and count what was not drawn before."""
        places = self.frame.locate(draw(self.frame.bytes, pairs, f"{seed} {self.name} {self.rounds}"))
        self.rounds += 1
        keys = [(unit, block_at(offset, self.frame.sizes[unit])[0] if self.blocks else 0) for unit, offset in places]
        new = sorted(set(keys) - self.held.keys())
        self.held.update(self.fetch(new, reader))
        self.drawn += keys

    def forget(self) -> None:
        """Let the draws so far not count."""
        self.forgotten, self.drawn = self.drawn, []

    def remember(self) -> bool:
        """Let forgotten draws count where there are no others; return whether there are any."""
        self.drawn = self.drawn or self.forgotten
        return bool(self.drawn)

    def fetch(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Read and count what was drawn."""
        if self.parts:
            yield from ((key, self.part_drawn(key, reader)) for key in keys)
            return
        if not self.blocks:
            yield from self.files_drawn(keys, reader)
            return
        refused: list[UnitKey] = []
        for start in range(0, len(keys), BATCH_BLOCKS):
            batch = keys[start : start + BATCH_BLOCKS]
            texts = [self.block_text(key, reader) for key in batch]
            counts = iter(reader.engine.count([text for text in texts if text is not None]))
            for key, text in zip(batch, texts, strict=True):
                size = block_at(key[1], self.frame.sizes[key[0]])[1]
                if text is None:
                    refused.append(key)
                else:
                    yield key, DrawnUnit(size, next(counts), size)
        yield from self.files_drawn(refused, reader)

    def block_text(self, key: UnitKey, reader: UnitReader) -> bytes | None:
        """The text of a block; None where it is none, and its file has to be read to see what it is."""
        unit, start = key
        size = block_at(start, self.frame.sizes[unit])[1]
        try:
            raw = read_block(reader.listing[self.frame.members[unit]], start, size + 3)
        except Unreadable:
            return None
        reader.took(len(raw))
        text = whole_characters(raw, size, first=start == 0)
        return None if not_text_reason(text, start) else text

    def files_drawn(self, keys: Sequence[UnitKey], reader: UnitReader) -> Iterator[tuple[UnitKey, DrawnUnit]]:
        """Count files as an exact count does: as what they are in spite of their names, or not at all; each once."""
        units = sorted({unit for unit, _ in keys} - self.read_whole.keys())
        shards = (Shard(place, [reader.listing[self.frame.members[unit]]]) for place, unit in enumerate(units))
        for counted in reader.count(shards):
            unit, total = units[counted.number], counted.total
            documents = total.documents - self.blocks * total.files
            if counted.skipped:
                reader.skipped[self.frame.members[unit]] = counted.skipped[0]
            reader.parts += counted.parts[: NAMED - len(reader.parts)]
            self.read_whole[unit] = DrawnUnit(self.frame.sizes[unit], total.tokens, total.text_bytes, documents)
        yield from ((key, self.read_whole[key[0]]) for key in keys)

    def part_drawn(self, key: UnitKey, reader: UnitReader) -> DrawnUnit:
        """Count a row group or a record batch."""
        member, size = self.frame.members[key[0]], self.frame.sizes[key[0]]
        found, meter, left_out = reader.listing[member], Meter(), exact.LeftOut()
        whole, document = Tally(), Tally()
        try:
            for part in split_texts(read(found, reader.reading, left_out.note, meter, [self.parts[key[0]]]), reader.rule):
                tokens = sum(reader.engine.count(part.texts)) if part.texts else 0
                document = document.plus(Tally(documents=part.ends, text_bytes=part.size, tokens=tokens))
                if part.refused:
                    left_out.note(SkippedFile(found.path, part.refused))
                elif part.ends:
                    whole = whole.plus(document)
                document = Tally() if part.ends else document
        except Unreadable as error:
            reader.skipped[member] = SkippedFile(error.path, error.reason)
        reader.took(meter.bytes_read)
        if whole.documents:
            for skipped in left_out.rows(found.path):
                reader.note(skipped)
        elif left_out.named:
            self.judge(key, reader)
        return DrawnUnit(size, whole.tokens, whole.text_bytes, whole.documents)

    def judge(self, key: UnitKey, reader: UnitReader) -> None:
        """See whether a file counts of which a part has nothing that does; each file once."""
        if self.frame.members[key[0]] not in self.judged:
            self.judged.add(self.frame.members[key[0]])
            list(self.files_drawn([key], reader))

    def columns(self, reader: UnitReader) -> DrawnSample:
        """What the draws hold per stored byte; a file that was found unreadable anywhere is lost everywhere."""
        import numpy

        rows = [self.density(key, reader) for key in self.drawn]
        table = numpy.array(rows, dtype=float).reshape(len(rows), len(FIGURES))
        return DrawnSample({name: table[:, place] for place, name in enumerate(FIGURES)}, self.frame.bytes)

    def density(self, key: UnitKey, reader: UnitReader) -> tuple[float, ...]:
        """What one draw holds per stored byte, in the order of `FIGURES`."""
        held, unit = self.held[key], key[0]
        if self.frame.members[unit] in reader.skipped:
            member = self.frame.members[unit]
            one_file = 1 / (reader.listing[member].stored_bytes if self.parts else self.frame.sizes[unit])
            return 0, 0, -one_file if self.blocks else 0, 1, one_file
        return held.tokens / held.size, held.text_bytes / held.size, held.documents / held.size, 0, 0


#: tokens, bytes of text, documents (for blocks: less those files that are lost), and what is not readable
FIGURES = ("tokens", "text_bytes", "documents", "lost_bytes", "lost_files")


def pairs_for(draws: float) -> int:
    """Strata of two draws each for at least so many draws.

    >>> pairs_for(30.2)
    16
    """
    return math.ceil(draws / 2)


#: folders and extensions that are told apart
MOST_NAMES = 1000
PLAIN = "plain text"
#: formats of which parts can be read without the others, and how many files are opened to see theirs
PARTED = ("parquet", "arrow")
MOST_OPENED = 1000
KINDS = ("folders", "extensions")


class GroupNames:
    """Names of folders or extensions, of a bounded number; what comes later is `(other)`."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def learn(self, name: str) -> str:
        """The name under which a file is summed."""
        if name not in self.known and len(self.known) < MOST_NAMES:
            self.known[name] = name
        return self.of(name)

    def of(self, name: str) -> str:
        """The name under which it was summed."""
        return self.known.get(name, OTHER)


class Strata:
    """The groups of a listing, and the names of their breakdown.

    Attributes:
        root: the folder that all files share.
        groups: by name.
        names: the folders and the extensions.
    """

    def __init__(self, listing: Sequence[CorpusFile]) -> None:
        self.root = root_of(listing[0].path, listing[-1].path)
        self.names = {kind: GroupNames() for kind in KINDS}
        self.groups: dict[str, Stratum] = {}
        for member, found in enumerate(listing):
            self._add(member, found)
        for group in self.groups.values():
            if group.name in PARTED and len(group.files) <= MOST_OPENED:
                self._divide(group, listing)

    def _add(self, member: int, found: CorpusFile) -> None:
        blocks = can_seek(found)
        name = PLAIN if blocks else " ".join(filter(None, (found.format, found.compression)))
        if not (found.stored_bytes or blocks):
            name = f"{name}, empty"
        group = self.groups.setdefault(name, Stratum(name, blocks))
        group.add(member, found.stored_bytes)
        self._sum(group, found, 1, found.stored_bytes, found.stored_bytes)

    def _divide(self, group: Stratum, listing: Sequence[CorpusFile]) -> None:
        group.divide(lambda member: sizes_of_parts(listing[member]))
        for rows in group.breakdown.values():
            for row in rows.values():
                row[2] = 0
        for member, size in zip(group.frame.members, group.frame.sizes, strict=True):
            self._sum(group, listing[member], 0, 0, size)

    def _sum(self, group: Stratum, found: CorpusFile, *numbers: int) -> None:
        for kind, name in self.parts_of(found).items():
            row = group.breakdown[kind].setdefault(self.names[kind].learn(name), [0, 0, 0])
            for place, number in enumerate(numbers):
                row[place] += number

    def parts_of(self, found: CorpusFile) -> dict[str, str]:
        """Folder and extension of a file."""
        return {"folders": folder_of(found.path, self.root), "extensions": extension_of(found.path)}

    def part_of(self, found: CorpusFile, kind: str) -> str:
        """Folder or extension under which a file is summed."""
        return self.names[kind].of(self.parts_of(found)[kind])


def shards_of(listing: Sequence[CorpusFile], members: Sequence[int]) -> Iterator[Shard]:
    """Some files of a listing, by place, in portions that fit into memory."""
    for start in range(0, len(members), SHARD_FILES):
        yield Shard(start, [listing[member] for member in members[start : start + SHARD_FILES]])


def sizes_of_parts(found: CorpusFile) -> list[int]:
    """Stored bytes of each part of a file; one that is broken is a part of its own, and refused when it is drawn."""
    try:
        return parts_of(found) or [found.stored_bytes]
    except Unreadable:
        return [found.stored_bytes]
