"""Groups of files that are drawn alike: blocks where files can be sought, whole files where not; and what the draws hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from ingest.corpus.cutting import cut
from ingest.corpus.estimating import Drawn
from ingest.corpus.formats.text import why_no_text
from ingest.corpus.reading import Meter, Reading, Unreadable, read, read_block
from ingest.corpus.sampling import BLOCK, Frame, Held, block_at, draw, whole_characters
from ingest.corpus.terms import Found, Skipped

#: text handed to the engine at once
BATCH_BYTES = 8 * 2**20
#: what a draw is known by: the unit, and where in it a block begins
Key = tuple[int, int]
#: lines and members left out that are named
NAMED = 1000


class Counter(Protocol):
    """What an engine does."""

    def count(self, texts: list[bytes]) -> list[int]:
        """Tokens of each text."""


@dataclass
class Reader:
    """What drawing needs of the corpus, and what it leaves out.

    Attributes:
        listing: the files.
        reading: how documents are found in files.
        engine: counts tokens.
        moved: called with the stored bytes that were read.
        bytes_read: their sum.
        skipped: by place in the listing, the files that turned out not to be readable.
        parts: lines, rows and members left out of files that count.
    """

    listing: Sequence[Found]
    reading: Reading
    engine: Counter
    moved: Callable[[int], object]
    bytes_read: int = 0
    skipped: dict[int, Skipped] = field(default_factory=dict)
    parts: list[Skipped] = field(default_factory=list)

    def took(self, size: int) -> None:
        """So many bytes were moved."""
        self.bytes_read += size
        self.moved(size)

    def leave_out(self, member: int, error: Unreadable) -> None:
        """A file is not readable."""
        self.skipped[member] = Skipped(error.path, error.reason)

    def note(self, skipped: Skipped) -> None:
        """A part of a file is not readable."""
        if len(self.parts) < NAMED:
            self.parts.append(skipped)


@dataclass
class Group:
    """Files that are drawn alike.

    Attributes:
        name: what a person calls them.
        blocks: whether files are cut in blocks; else a whole file is drawn.
        files: how many, those without bytes too.
        breakdown: by folder and by extension, files and stored bytes.
        frame: what can be drawn.
        drawn: the draws so far, two and two.
        held: what each drawn key holds.
    """

    name: str
    blocks: bool
    files: int = 0
    breakdown: dict[str, dict[str, list[int]]] = field(default_factory=lambda: {"folders": {}, "extensions": {}})
    frame: Frame = field(default_factory=Frame)
    drawn: list[Key] = field(default_factory=list)
    held: dict[Key, Held] = field(default_factory=dict)

    def add(self, member: int, size: int) -> None:
        """Append a file."""
        self.files += 1
        self.frame.add(member, size)

    def cost_per_draw(self) -> float:
        """Mean stored bytes of what a draw reads."""
        sizes = self.frame.column()
        return BLOCK if self.blocks else float((sizes / self.frame.bytes * sizes).sum())

    def bytes_for(self, draws: float) -> float:
        """Stored bytes that so many draws read; what is drawn twice is read once."""
        if self.blocks:
            return min(draws * BLOCK, self.frame.bytes)
        sizes = self.frame.column()
        return float((sizes * (1 - (1 - sizes / self.frame.bytes) ** draws)).sum())

    def extend(self, pairs: int, seed: str, reader: Reader) -> None:
        """Draw twice in each of so many strata, and count what was not drawn before."""
        places = self.frame.locate(draw(self.frame.bytes, pairs, f"{seed} {self.name} {len(self.drawn)}"))
        keys = [(unit, block_at(offset, self.frame.sizes[unit])[0] if self.blocks else 0) for unit, offset in places]
        new = sorted(set(keys) - self.held.keys())
        texts = chain.from_iterable((self.block if self.blocks else self.file)(key, reader) for key in new)
        for key, held in counted(texts, reader.engine):
            self.held[key] = held
        self.drawn += keys

    def block(self, key: Key, reader: Reader) -> Iterator[Text]:
        """The text of a block.

        Where it is none, its file is read as exact counting would read it: as what it is in spite of its name, or not at all.
        """
        unit, start = key
        size = block_at(start, self.frame.sizes[unit])[1]
        try:
            raw = read_block(reader.listing[self.frame.members[unit]], start, size + 3)
            text = whole_characters(raw, size, first=start == 0)
        except Unreadable:
            text, refused = b"", True
        else:
            refused = bool(why_no_text(text, start))
        if refused:
            yield from self.file(key, reader)
        else:
            reader.took(size)
            yield Text(text, key, Held(size, text_bytes=size))

    def file(self, key: Key, reader: Reader) -> Iterator[Text]:
        """The text of a file, piece by piece; the last piece says what the file held."""
        member, size = self.frame.members[key[0]], self.frame.sizes[key[0]]
        documents = text_bytes = 0
        try:
            for text, ends in cut(read(reader.listing[member], reader.reading, reader.note)):
                documents += ends
                text_bytes += len(text)
                yield Text(text, key, None)
        except Unreadable as error:
            reader.leave_out(member, error)
        reader.took(size)
        yield Text(b"", key, Held(size, text_bytes=text_bytes, documents=documents - self.blocks))

    def columns(self, reader: Reader) -> Drawn:
        """What the draws hold per stored byte; a file that was found unreadable anywhere is lost everywhere."""
        import numpy

        rows = [self.density(key, reader) for key in self.drawn]
        table = numpy.array(rows, dtype=float).reshape(len(rows), len(FIGURES))
        return Drawn({name: table[:, place] for place, name in enumerate(FIGURES)}, self.frame.bytes)

    def density(self, key: Key, reader: Reader) -> tuple[float, ...]:
        """What one draw holds per stored byte, in the order of `FIGURES`."""
        held, unit = self.held[key], key[0]
        if self.frame.members[unit] in reader.skipped:
            one_file = 1 / self.frame.sizes[unit]
            return 0, 0, -one_file if self.blocks else 0, 1, one_file
        return held.tokens / held.size, held.text_bytes / held.size, held.documents / held.size, 0, 0


#: tokens, bytes of text, documents (for blocks: less those files that are lost), and what is not readable
FIGURES = ("tokens", "text_bytes", "documents", "lost_bytes", "lost_files")


@dataclass(frozen=True)
class Text:
    """A piece of what was drawn; the last one of a key carries what the key holds beside its tokens."""

    text: bytes
    key: Key
    held: Held | None


def counted(texts: Iterable[Text], engine: Counter) -> Iterator[tuple[Key, Held]]:
    """What each key holds, tokens included."""
    waiting: list[Text] = []
    size, tokens = 0, 0
    for text in _with_end(texts):
        if text is not None:
            waiting.append(text)
            size += len(text.text)
        if size < BATCH_BYTES and text is not None:
            continue
        for piece, count in zip(waiting, engine.count([piece.text for piece in waiting]), strict=True):
            tokens += count
            if piece.held is not None:
                yield piece.key, piece.held._replace(tokens=tokens)
                tokens = 0
        waiting, size = [], 0


def _with_end(texts: Iterable[Text]) -> Iterator[Text | None]:
    yield from texts
    yield None


def pairs_for(draws: float) -> int:
    """Strata of two draws each for at least so many draws.

    >>> pairs_for(30.2)
    16
    """
    return math.ceil(draws / 2)
