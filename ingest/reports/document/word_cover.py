"""The first page of a Word file: what is bought, by whom and until when, and the list of the sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingest.reports.document.model import BLANK, Cover
from ingest.reports.document.word_styles import ACCENT, PALE, SMALL, paragraph_style, xml

#: Sizes in points: of the kind of document, the sentence on the purchase, a main value and its name.
KIND, PURCHASE, VALUE, NAME = 11, 12, 15, 8.5
#: Width of the names of the cover's lines in cm.
NAMES = 4.2
#: Ids of bookmarks begin here, above those of a template.
FIRST_BOOKMARK = 9000
#: The levels of headings that Word lists when it updates the field.
CONTENTS = 'TOC \\o "1-1" \\h \\z \\u'


def write_cover(place: Any, word: Any, title: str, subtitle: str, cover: Cover, width: float) -> None:
    """The lines of a cover, in order.

    Args:
        place: where they go.
        word: the file; its styles are used.
        title, subtitle: of the document.
        cover: what the first page shows.
        width: of the place, in cm.
    """
    kind = _paragraph(place, cover.kind, KIND, bold=True, colour=ACCENT)
    kind.paragraph_format.keep_with_next = True
    place.add_paragraph(title).style = paragraph_style(word, "Title")
    _paragraph(place, cover.purchase, PURCHASE)
    if cover.figures:
        _figures(place, cover.figures, width)
    if cover.facts:
        _facts(place, cover.facts, width)
    _paragraph(place, subtitle, SMALL)


def _paragraph(place: Any, text: str, size: float, bold: bool = False, colour: str = "") -> Any:
    paragraph = place.add_paragraph()
    _write(paragraph, text, size, bold, colour)
    return paragraph


def _write(paragraph: Any, text: str, size: float, bold: bool = False, colour: str = "") -> None:
    from docx.shared import Pt, RGBColor

    run = paragraph.add_run(text)
    run.font.size, run.bold = Pt(size), bold or None
    if colour:
        run.font.color.rgb = RGBColor.from_string(colour)


def _figures(place: Any, figures: Sequence[tuple[str, str]], width: float) -> None:
    """The main values side by side, each above its name."""
    from docx.shared import Cm, Pt

    table = place.add_table(1, len(figures), Cm(width))
    table.autofit = False
    for cell, (value, name) in zip(table.rows[0].cells, figures, strict=True):
        cell.width = Cm(width / len(figures))
        cell._tc.get_or_add_tcPr().append(xml("shd", val="clear", fill=PALE))
        first = cell.paragraphs[0]
        _write(first, value, VALUE, bold=True, colour=ACCENT)
        first.paragraph_format.space_before, first.paragraph_format.space_after = Pt(6), Pt(0)
        _paragraph(cell, name, NAME).paragraph_format.space_after = Pt(6)
    place.add_paragraph().paragraph_format.space_after = Pt(0)


def _facts(place: Any, facts: Sequence[tuple[str, str]], width: float) -> None:
    """Names and values; what the buyer has not given is marked."""
    from docx.enum.text import WD_COLOR_INDEX
    from docx.shared import Cm, Pt

    table = place.add_table(0, 2, Cm(width))
    table.autofit = False
    for name, value in facts:
        cells = table.add_row().cells
        for cell, share in zip(cells, (NAMES, width - NAMES), strict=True):
            cell.width = Cm(share)
            cell.paragraphs[0].paragraph_format.space_after = Pt(2)
        cells[0].paragraphs[0].add_run(name).bold = True
        run = cells[1].paragraphs[0].add_run(value or BLANK)
        if not value:
            run.font.highlight_color = WD_COLOR_INDEX.YELLOW
    place.add_paragraph().paragraph_format.space_after = Pt(0)


def write_contents(place: Any, word: Any, headings: Sequence[str], width: float, printed: bool) -> None:
    """The list of the sections.

    Word lists its headings itself, in a field that it updates. LibreOffice updates only the numbers of pages, and those
    only outside such a field: a document to be printed has these.

    Args:
        place: where it goes.
        word: the file; its styles are used.
        headings: of the sections, in the order of their bookmarks.
        width: of the place, in cm.
        printed: whether the document is only to be printed.
    """
    from docx.enum.text import WD_TAB_ALIGNMENT, WD_TAB_LEADER
    from docx.shared import Cm, Pt

    title = _paragraph(place, "Contents", KIND, bold=True, colour=ACCENT)
    title.paragraph_format.keep_with_next = True
    for number, heading in enumerate(headings):
        line = place.add_paragraph()
        line.style = paragraph_style(word, "toc 1")
        line.paragraph_format.space_after = Pt(1)
        line.paragraph_format.tab_stops.add_tab_stop(Cm(width), WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
        if printed:
            line.add_run(f"{heading}\t")
            add_field(line, f"PAGEREF {bookmark(number)} \\h", "0")
            continue
        if number == 0:
            _mark(line, "begin", dirty="true")
            _instruct(line, CONTENTS)
            _mark(line, "separate")
        line.add_run(heading)
        if number == len(headings) - 1:
            _mark(line, "end")


def bookmark(number: int) -> str:
    """The name of the bookmark at a heading."""
    return f"_Toc{FIRST_BOOKMARK + number}"


def mark_heading(paragraph: Any, number: int) -> None:
    """Put the bookmark of a section around its heading."""
    at = str(FIRST_BOOKMARK + number)
    start = xml("bookmarkStart", id=at, name=bookmark(number))
    paragraph._p.r_lst[0].addprevious(start)
    paragraph._p.append(xml("bookmarkEnd", id=at))


def add_field(paragraph: Any, instruction: str, shown: str = "") -> None:
    """A field that the reader's program fills in; `shown` until then."""
    _mark(paragraph, "begin")
    _instruct(paragraph, instruction)
    _mark(paragraph, "separate")
    paragraph.add_run(shown)
    _mark(paragraph, "end")


def _mark(paragraph: Any, kind: str, **more: str) -> None:
    paragraph.add_run()._r.append(xml("fldChar", fldCharType=kind, **more))


def _instruct(paragraph: Any, instruction: str) -> None:
    element = xml("instrText")
    element.text = instruction
    paragraph.add_run()._r.append(element)


def frame(word: Any, title: str) -> None:
    """Title at the head and number at the foot of each page; the first page has no head."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    page = word.sections[0]
    page.different_first_page_header_footer = True
    head = page.header.paragraphs[0]
    head.add_run(title).font.size = Pt(SMALL)
    for foot in (page.footer.paragraphs[0], page.first_page_footer.paragraphs[0]):
        foot.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        foot.add_run("Page ")
        add_field(foot, "PAGE", "1")
        foot.add_run(" of ")
        add_field(foot, "NUMPAGES", "1")
