"""Units that follow their number: what belongs to the largest start that a cell reaches, as a live formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Found = TypeVar("Found", float, str)


def reached(value: float, starts: Sequence[float], found: Sequence[Found]) -> Found:
    """What belongs to the largest start that a number reaches; to the first one where it reaches none.

    >>> reached(1500, [0, 1000], [" B", " kB"]), reached(5, [10, 1000], [1, 1000])
    (' kB', 1)
    """
    return [one for start, one in zip(starts, found, strict=True) if value >= start or start == starts[0]][-1]


def looked_up(place: str, starts: Sequence[float], found: Sequence[Found]) -> str:
    """The formula of `reached` for the number of a cell; no more than a literal where everything is the same.

    >>> looked_up("B2", [0, 1000], [" B", " kB"]), looked_up("B2", [0], [1])
    ('LOOKUP(B2, {0,1000}, {" B"," kB"})', '1')
    """
    if len(set(found)) == 1:
        return _literal(found[0])
    # Below the first start nothing would be found.
    columns = ([0, *starts[1:]], found)
    first, second = ("{" + ",".join(map(_literal, column)) + "}" for column in columns)
    return f"LOOKUP({place}, {first}, {second})"


def _literal(item: float | str) -> str:
    return '"' + item.replace('"', '""') + '"' if isinstance(item, str) else repr(item)
