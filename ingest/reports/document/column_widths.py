"""How wide the columns of a table are on paper: no word is cut, and what is left is shared out as the table says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ingest.reports.document.model import Table

#: Sizes of the letters in a table, in points: the largest at which every word has room.
SIZES = (8.0, 7.0, 6.0)
#: Width of a letter as a share of its size, for the widest of the usual typefaces; bold letters are wider.
CAPITAL, FIGURE, NARROW, OTHER, BOLD = 0.74, 0.64, 0.4, 0.62, 1.1
#: Points in a centimetre, and what the margins of a cell take, left and right together, in cm.
PER_CM, MARGINS = 72 / 2.54, 0.42


_PARTS = re.compile(r"[^/]*/|[^/]+")


class Columns(NamedTuple):
    """Widths in cm, and the size of the letters in points."""

    widths: tuple[float, ...]
    size: float


def columns_for(table: Table, width: float) -> Columns:
    """Columns that are together as wide as their place.

    Args:
        table: its `widths` are the shares wished for.
        width: of the place, in cm.

    >>> wide = Table("", ("Id", "What"), (("R-RESTART-01", "x"),), (1, 3))
    >>> [round(one, 1) for one in columns_for(wide, 16).widths], [round(one, 1) for one in columns_for(wide, 4).widths]
    ([4.0, 12.0], [2.7, 1.3])
    """
    wished = table.widths or (1.0,) * len(table.heads)
    needs = {size: _needs(table, size) for size in SIZES}
    size = next((size for size in SIZES if sum(needs[size]) <= width), SIZES[-1])
    return Columns(_shared_out(width, wished, needs[size]), size)


def _needs(table: Table, size: float) -> list[float]:
    """What the longest word of each column takes."""
    rows = (table.heads, *table.rows)
    longest = (
        max((_length(word) * (BOLD if row is table.heads else 1) for row in rows for word in _words(row[place])), default=0.0)
        for place in range(len(table.heads))
    )
    return [length * size / PER_CM + MARGINS for length in longest]


def _words(text: str) -> list[str]:
    """What no line ends within; a path may be parted behind each of its strokes.

    >>> _words("GB/s of results/weak/result.txt")
    ['GB/s', 'of', 'results/', 'weak/', 'result.txt']
    """
    return [part for word in text.split() for part in (_PARTS.findall(word) if word.count("/") > 1 else (word,))]


def _length(word: str) -> float:
    """The length of a word in letters' sizes."""
    return sum(map(_letter, word))


def _letter(letter: str) -> float:
    if letter.isdigit():
        return FIGURE
    if letter.isupper():
        return CAPITAL
    return OTHER if letter.isalpha() else NARROW


def _shared_out(width: float, wished: Sequence[float], needs: Sequence[float]) -> tuple[float, ...]:
    """Shares of the width as wished, but no column below its need; all by their needs where these do not fit."""
    if sum(needs) >= width:
        return tuple(width * need / sum(needs) for need in needs)
    fixed: dict[int, float] = {}
    while True:
        free = [place for place in range(len(needs)) if place not in fixed]
        left, shares = width - sum(fixed.values()), sum(wished[place] for place in free)
        found = {place: left * wished[place] / shares for place in free}
        short = {place: needs[place] for place in free if found[place] < needs[place]}
        if not short:
            return tuple({**fixed, **found}[place] for place in range(len(needs)))
        fixed |= short
