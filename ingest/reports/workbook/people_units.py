"""The units in which people read and enter an input; each converts back to the very number that the calculation uses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.reports.labels import is_share, unit_word
from ingest.units import BINARY, COUNTED, scale_of

#: Seconds of the units of time that people enter, the longest first.
TIMES = ((31_557_600, "years"), (86_400, "days"), (3_600, "h"), (60, "min"), (0.1, "s"), (0, "ms"))
FACTORS = {"s": 1, "ms": 0.001}
#: Prefixes of large counts, such as of tokens; smaller ones are read in full.
COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
#: Digits of a number that is short, and of one that is still read.
SHORT, LONG = 6, 10
#: Doubles next to a quotient that are tried, so that the product is the very number.
NEIGHBOURS = 3


class PeopleUnit(NamedTuple):
    """A unit for people.

    Attributes:
        factor: base units in one of it.
        unit: its name; `%` for a share, whose cell holds the share itself.
        style: how a number in it is shown.
    """

    factor: float
    unit: str
    style: str = "number"

    def entered(self, value: float) -> float:
        """The number to enter for a value in base units.

        >>> PeopleUnit(60, "min").entered(1800), PeopleUnit(1, "%", "share").entered(0.85)
        (30.0, 0.85)
        """
        return _entered(float(value), self.factor) if self.factor != 1 else float(value)


def people_unit(name: str, values: Sequence[float], unit: str) -> PeopleUnit:
    """The unit in which people enter a quantity: the largest that leaves short numbers and is exact.

    Args:
        name: of the quantity.
        values: in base units, all in one unit.
        unit: the base unit.

    >>> people_unit("test_seconds", [1800], "s"), people_unit("read_request_bytes", [2**20], "B")
    (PeopleUnit(factor=60, unit='min', style='number'), PeopleUnit(factor=1048576, unit='MiB', style='number'))
    >>> people_unit("data_tokens", [15.6e12], "token").unit, people_unit("nodes", [64], "node").unit
    ('T tokens', 'nodes')
    """
    if is_share(name, unit):
        return PeopleUnit(1, "%", "share")
    known = [value for value in values if value]
    largest = max(map(abs, known), default=0.0)
    # Longer numbers are better read in a large unit than in full.
    for digits in (SHORT, LONG) if largest >= 1e9 else (SHORT,):
        for found in _candidates(largest, unit) if known else ():
            if all(found.entered(value) * found.factor == value and _fits(found.entered(value), digits) for value in known):
                return found
    return PeopleUnit(1, _plain(name, unit))


def _candidates(largest: float, unit: str) -> Iterator[PeopleUnit]:
    if unit == "s":
        yield from (PeopleUnit(FACTORS.get(name, least), name) for least, name in TIMES if largest >= least)
    if unit == "B" and largest % 1024 == 0:
        binary = [(factor, f"{prefix}B") for prefix, factor in BINARY.items() if largest % factor == 0 and largest < 2**40]
        yield from (PeopleUnit(factor, name) for factor, name in reversed(binary))
    factor, name = scale_of(largest, unit, binary=False) if unit != "s" else (0, "")
    while factor > 1:
        yield PeopleUnit(factor, name)
        factor, name = scale_of(factor / 1000, unit, binary=False)
    if unit in COUNTED and largest >= COUNTS[-1][0]:
        yield from (PeopleUnit(factor, f"{prefix} {unit}s") for factor, prefix in COUNTS if largest >= factor)


def _plain(name: str, unit: str) -> str:
    parts = unit.split("/")
    # The name of the quantity has the rest: a rate per GPU.
    per = "/".join(parts[:2]) if len(parts) > 2 and parts[1] == "s" else unit
    return f"{unit}s" if unit in COUNTED else "" if unit == "1" else unit_word(name, per)


def _fits(number: float, digits: int) -> bool:
    """Whether a number has at most so many digits."""
    return float(f"{number:.{digits}g}") == number


def _entered(value: float, factor: float) -> float:
    found = value / factor
    for _ in range(NEIGHBOURS):
        if found * factor == value:
            break
        found = math.nextafter(found, math.inf if found * factor < value else -math.inf)
    return found
