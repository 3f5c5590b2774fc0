"""The styles that the document is written in: those of the template, and made where it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

#: Typefaces and sizes in points: of the text, of a derivation; of a paragraph that explains the one above.
BODY, LISTING, SMALL = ("Calibri", 10), ("DejaVu Sans Mono", 7), 8.5
#: Fill of the headings of tables.
HEAD_FILL = "D9E2EC"
#: Colours of headings on the cover, and of what lies behind its values.
ACCENT, PALE = "1F4E79", "EAF1F8"
#: Appended to the name of a style where the template has another kind of style under that name.
_OWN = " (RFP)"


def xml(tag: str, **attributes: str) -> Any:
    """An element of Word's own namespace with attributes of it."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    return OxmlElement(f"w:{tag}", {qn(f"w:{key}"): value for key, value in attributes.items()})


def set_font(font: Any, name: str, size: float) -> None:
    """Typeface and size in points."""
    from docx.shared import Pt

    font.name, font.size = name, Pt(size)


def paragraph_style(word: Any, name: str) -> Any:
    """A paragraph style by its English name, made where the document has none."""
    from docx.enum.style import WD_STYLE_TYPE

    return _style(word, name, WD_STYLE_TYPE.PARAGRAPH, _LOOKS.get(name, _heading))


def table_style(word: Any) -> Any:
    """The style of tables with lines around each cell."""
    from docx.enum.style import WD_STYLE_TYPE

    return _style(word, "Table Grid", WD_STYLE_TYPE.TABLE, _grid)


def numbers_its_lines(style: Any) -> bool:
    """Whether the style puts a bullet before each line by itself; one that was made here does not."""
    return bool(style.element.xpath("./w:pPr/w:numPr"))


def _style(word: Any, name: str, kind: Any, look: Callable[[Any], None]) -> Any:
    styles = word.styles
    for called in (name, name + _OWN):
        same_name = [style for style in styles if style.name == called]
        if not same_name:
            made = styles.add_style(called, kind, builtin=called == name)
            look(made)
            return made
        if same_name[0].type == kind:
            return same_name[0]
    raise LookupError(name)


def _bold(style: Any, size: float, after: float) -> None:
    """Bold letters of a size, and the space after them, in points."""
    from docx.shared import Pt

    style.font.size, style.font.bold = Pt(size), True
    style.paragraph_format.space_after = Pt(after)


def _heading(style: Any) -> None:
    from docx.shared import Pt

    _bold(style, 14, 4)
    style.paragraph_format.space_before, style.paragraph_format.keep_with_next = Pt(18), True
    style.element.get_or_add_pPr().append(xml("outlineLvl", val="0"))


def _subheading(style: Any) -> None:
    from docx.shared import Pt

    _bold(style, 11, 3)
    style.paragraph_format.space_before, style.paragraph_format.keep_with_next = Pt(10), True
    style.element.get_or_add_pPr().append(xml("outlineLvl", val="1"))


def _entry(style: Any) -> None:
    """As the text, whose style a template may lack."""
    from docx.shared import Pt

    style.element.basedOn_val = "Normal"
    style.paragraph_format.space_after = Pt(1)


def _bullet(style: Any) -> None:
    from docx.shared import Cm

    style.paragraph_format.left_indent = Cm(0.63)
    style.paragraph_format.first_line_indent = Cm(-0.63)


def _grid(style: Any) -> None:
    properties, borders = xml("tblPr"), xml("tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        borders.append(xml(side, val="single", sz="4", space="0", color="auto"))
    properties.append(borders)
    style.element.append(properties)


_LOOKS: Mapping[str, Callable[[Any], None]] = {
    "Title": partial(_bold, size=20, after=8),
    "Heading 1": _heading,
    "Heading 2": _subheading,
    "toc 1": _entry,
    "List Bullet": _bullet,
    "Caption": partial(_bold, size=9, after=4),
}

#: Twentieths of a point in a centimetre: the unit of Word's lengths.
PER_CM = 1440 / 2.54
#: What a cell's own margins take, left and right together, in cm.
CELL_MARGINS = 0.4
#: The least plausible width; a damaged layout may give any number.
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
