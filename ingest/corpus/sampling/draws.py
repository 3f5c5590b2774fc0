"""Where to look: the draws of a sample, and what they hold.

Files lie one behind the other in path order, and every stored byte is as likely to be drawn as another. Strata are runs of
consecutive bytes of equal length, so that every folder is met in proportion to its size; two independent draws in each give
a variance that is unbiased.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy

#: bytes of a block: shorter ones are cut too often, longer ones do not vary less
BLOCK_BYTES = 16 * 1024


class DrawnUnit(NamedTuple):
    """What one drawn block or file holds.

    Attributes:
        size: its stored bytes.
        tokens: tokens of its text.
        text_bytes: bytes of its text.
        documents: documents of a file; nothing for a block.
    """

    size: int
    tokens: int = 0
    text_bytes: int = 0
    documents: int = 0


def draw(frame_bytes: int, pairs: int, seed: str) -> list[int]:
    """Two random byte positions in each of `pairs` runs of consecutive bytes, stratum by stratum.

    >>> draw(100, 2, "1") == draw(100, 2, "1"), [position // 50 for position in draw(100, 2, "1")]
    (True, [0, 0, 1, 1])
    """
    chance = random.Random(seed)
    width = frame_bytes / pairs
    return [min(int((stratum + chance.random()) * width), frame_bytes - 1) for stratum in range(pairs) for _ in (1, 2)]


@dataclass
class SamplingFrame:
    """What can be drawn: units one behind the other, each a file, a part of a file, or a file that is cut in blocks.

    Attributes:
        members: for each unit its place in the listing.
        sizes: for each unit its stored bytes.
    """

    members: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))

    def add(self, member: int, size: int) -> None:
        """Append a unit; one without bytes is never drawn."""
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
        """Where each unit ends, counted from the start of the first."""
        import numpy

        if self._ends is None or len(self._ends) != len(self.sizes):
            self._ends = numpy.cumsum(self.column())
        return self._ends

    _ends: numpy.ndarray[Any, Any] | None = field(default=None, repr=False)

    def locate(self, positions: list[int]) -> list[tuple[int, int]]:
        """The unit at each position, and how far into it the position is."""
        import numpy

        units = numpy.searchsorted(self.ends, positions, side="right")
        return [
            (int(unit), position - int(self.ends[unit]) + self.sizes[unit])
            for unit, position in zip(units, positions, strict=True)
        ]


def block_at(offset: int, size: int) -> tuple[int, int]:
    """Start and length of the block of a file of `size` bytes in which a byte lies.

    >>> block_at(20_000, 30_000), block_at(5, 100)
    ((16384, 13616), (0, 100))
    """
    start = offset // BLOCK_BYTES * BLOCK_BYTES
    return start, min(BLOCK_BYTES, size - start)


def whole_characters(raw: bytes, size: int, first: bool) -> bytes:
    """The characters that begin within the first `size` bytes; those after them only complete the last one.

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
