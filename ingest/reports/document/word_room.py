"""How wide a place in a Word document is: its column, its page, or the cell of a table."""

from __future__ import annotations

from typing import Any

#: Twentieths of a point in a centimetre: the unit of Word's lengths.
PER_CM = 1440 / 2.54
#: What a cell's own margins take, left and right together, in cm.
CELL_MARGINS = 0.4
#: The narrowest place that is taken for true; a damaged layout may say anything.
LEAST = 2.0


def width_at(paragraph: Any) -> float | None:
    """The width in cm at a paragraph, or None where the document does not say."""
    in_cell = _number(paragraph.xpath("ancestor::w:tc[1]/w:tcPr/w:tcW[@w:type='dxa']/@w:w"))
    if in_cell is not None:
        return _plausible(in_cell / PER_CM - CELL_MARGINS)
    layouts = paragraph.xpath("./w:pPr/w:sectPr") or paragraph.xpath("following::w:sectPr[1]")
    return _column(layouts[0]) if layouts else None


def last_width(word: Any) -> float | None:
    """The width in cm at the end of the document."""
    layout = word.element.body.sectPr
    return None if layout is None else _column(layout)


def _column(layout: Any) -> float | None:
    page, left, right = (_number(layout.xpath(f"./w:{path}")) for path in ("pgSz/@w:w", "pgMar/@w:left", "pgMar/@w:right"))
    if page is None or left is None or right is None:
        return None
    columns = _number(layout.xpath("./w:cols/@w:num")) or 1
    between = (_number(layout.xpath("./w:cols/@w:space")) or 0) * (columns - 1)
    return _plausible((page - left - right - between) / columns / PER_CM)


def _plausible(width: float) -> float | None:
    return width if width >= LEAST else None


def _number(found: list[Any]) -> float | None:
    try:
        return float(found[0])
    except (IndexError, ValueError):
        return None
