"""The draws of a sample.

Files lie end to end in path order, and every stored byte is equally likely to be drawn. The bytes are divided into runs of
equal length, with two independent draws in each: every folder is drawn in proportion to its size, and the variance is unbiased.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy

#: shorter blocks split more characters and words, longer ones do not vary less
BLOCK_BYTES = 16 * 1024


class DrawnUnit(NamedTuple):
    """The counts of a drawn block, file or part of a file.

    Attributes:
        size: its stored bytes.
        tokens: tokens of its text.
        text_bytes: bytes of its text.
        documents: its documents; 0 for a block.
    """

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
    """The units that can be drawn, end to end: files, parts of files, or files that are drawn by the block.

    Attributes:
        members: for each unit the position of its file in the listing.
        sizes: for each unit its stored bytes.
    """

    members: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
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
        """The sizes as an array."""
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
    begin = 0
    while not first and begin < min(3, size) and _continues(raw, begin):
        begin += 1
    end = min(size, len(raw))
    while end < len(raw) and _continues(raw, end):
        end += 1
    return raw[begin:end]


def _continues(raw: bytes, place: int) -> bool:
    return place < len(raw) and raw[place] & 0xC0 == 0x80
