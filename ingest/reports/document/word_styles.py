"""The styles that the document is written in: those of the template, and made where it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Put behind the name of a style where the template has another kind of style under that name.
_OWN = " (tender)"


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


def _title(style: Any) -> None:
    from docx.shared import Pt

    style.font.size, style.font.bold = Pt(20), True
    style.paragraph_format.space_after = Pt(8)


def _heading(style: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Pt

    style.font.size, style.font.bold = Pt(14), True
    look = style.paragraph_format
    look.space_before, look.space_after, look.keep_with_next = Pt(18), Pt(4), True
    level = OxmlElement("w:outlineLvl")
    level.set(qn("w:val"), "0")
    style.element.get_or_add_pPr().append(level)


def _bullet(style: Any) -> None:
    from docx.shared import Cm

    style.paragraph_format.left_indent = Cm(0.63)
    style.paragraph_format.first_line_indent = Cm(-0.63)


def _caption(style: Any) -> None:
    from docx.shared import Pt

    style.font.size, style.font.bold = Pt(9), True
    style.paragraph_format.space_after = Pt(4)


def _grid(style: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    properties, borders = OxmlElement("w:tblPr"), OxmlElement("w:tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        line = OxmlElement(f"w:{side}")
        for key, value in (("val", "single"), ("sz", "4"), ("space", "0"), ("color", "auto")):
            line.set(qn(f"w:{key}"), value)
        borders.append(line)
    properties.append(borders)
    style.element.append(properties)


_LOOKS = {"Title": _title, "Heading 1": _heading, "List Bullet": _bullet, "Caption": _caption}
