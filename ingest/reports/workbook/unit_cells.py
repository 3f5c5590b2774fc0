"""Quantities in the unit in which people read them; shares in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.reports.labels import is_share, unit_word
from ingest.reports.workbook.sheet import Figure, Formula
from ingest.units import scale_of


class Readable(NamedTuple):
    """The unit in which people read a quantity.

    Attributes:
        factor: base units in one of it.
        unit: its name.
        style: how numbers in it are shown.
    """

    factor: int
    unit: str
    style: str

    def cell(self, base: str, value: float, strong: bool = False) -> Formula:
        """A cell that follows the cell or formula `base`, which is in base units."""
        written = f"={base}" if self.factor == 1 else f"={base} / {self.factor}"
        style = f"strong {self.style}" if strong and self.style != "number" else "strong" if strong else self.style
        return Formula(written, float(value) / self.factor, style)


def readable(name: str, value: float, unit: str, binary: bool = False) -> Readable | None:
    """The unit in which people read a quantity; None where there is no binary one."""
    if is_share(name, unit):
        return None if binary else Readable(1, "share", "share")
    factor, shown = scale_of(value, unit, binary)
    if factor:
        return Readable(factor, shown, "scaled")
    return None if binary else Readable(1, unit_word(name, unit), "number")


def style_of(name: str, unit: str, style: str = "number") -> str:
    """How a quantity in base units is shown: a share in percent, everything else as it is."""
    if not is_share(name, unit):
        return style
    return "share" if style == "number" else f"{style} share"


def assumed_rows(assumptions: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows of the sheet Assumptions; what is assumed may be a word."""
    return [(one["name"], _assumed(one), unit_word(one["name"], one["unit"]), one["why"]) for one in assumptions]


def _assumed(one: Mapping[str, Any]) -> Figure | str:
    value = one["value"]
    return Figure(value, style_of(one["name"], one["unit"])) if isinstance(value, (int, float)) else str(value)
