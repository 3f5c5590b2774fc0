"""The parts of a document as those of a Word file: headings, paragraphs, tables, pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import Any, NamedTuple

from ingest.reports.document.model import (
    Block,
    Bullets,
    DerivationListing,
    Document,
    DocumentSection,
    Figure,
    Paragraph,
    Subheading,
    Table,
)
from ingest.reports.document.template_fields import WHOLE
from ingest.reports.document.word_cover import mark_heading, write_contents, write_cover
from ingest.reports.document.word_styles import (
    HEAD_FILL,
    LISTING,
    SMALL,
    last_width,
    numbers_its_lines,
    paragraph_style,
    set_font,
    table_style,
    xml,
)

#: Sizes of the letters in a table, in points: the largest at which every word has room.
SIZES = (8.0, 7.0, 6.0)
#: Width of a letter as a share of its size, for the widest of the usual typefaces; bold letters are wider.
CAPITAL, FIGURE, NARROW, OTHER, BOLD = 0.74, 0.64, 0.4, 0.62, 1.1
#: Points in a centimetre, and what the margins of a cell take, left and right together, in cm.
PER_CM, MARGINS = 72 / 2.54, 0.42


_PARTS = re.compile(r"[^/]*/|[^/]+")


class ColumnWidths(NamedTuple):
    """Widths in cm, and the size of the letters in points."""

    widths: tuple[float, ...]
    size: float


def columns_for(table: Table, width: float) -> ColumnWidths:
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
    return ColumnWidths(_shared_out(width, wished, needs[size]), size)


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


#: Width of the text in cm; of a blank that indents a derivation and of its lines' continuation, in points.
PAGE, STEP, HANGING = 16.5, 4.2, 8.0
#: A table of more rows may go on on the next page; one of quantities in lines has low ones.
MOST_TOGETHER, MOST_TURNED = 16, 24
#: Rows at the top of a longer table, its heading included, that stay together at the end of a page.
BEGINNING = 4


class WordWriter:
    """Writes parts of a document, to be put where they belong.

    Args:
        word: the file; its styles are used.
        width: of the place, in cm; that of the last page by default.
        printed: whether it becomes a PDF.
    """

    def __init__(self, word: Any, width: float | None = None, printed: bool = False) -> None:
        from docx.blkcntnr import BlockItemContainer
        from docx.oxml import OxmlElement

        self.word, self.width, self.printed = word, width or last_width(word) or PAGE, printed
        self._body = OxmlElement("w:body")
        self._place: Any = BlockItemContainer(self._body, word.part)

    def whole(self, document: Document) -> list[Any]:
        """The whole document as elements."""
        if document.cover is None:
            self._line(document.title, "Title")
            self._place.add_paragraph(document.subtitle)
        else:
            write_cover(self._place, self.word, document.title, document.subtitle, document.cover, self.width)
            headings = [heading for heading, _ in document.numbered()]
            write_contents(self._place, self.word, headings, self.width, self.printed)
        for number, (heading, section) in enumerate(document.numbered()):
            line = self._section(heading, section)
            if document.cover is not None:
                mark_heading(line, number)
                line.paragraph_format.page_break_before = number == 0 or bool(section.letter) or None
        return list(self._body)

    def part(self, document: Document, name: str) -> list[Any]:
        """The elements of one section, or of the whole document."""
        if name == WHOLE:
            return self.whole(document)
        for heading, section in document.numbered():
            if section.name == name:
                self._section(heading, section)
        return list(self._body)

    def _section(self, heading: str, section: DocumentSection) -> Any:
        """A section; the paragraph of its heading."""
        line = self._line(heading, "Heading 1")
        line.paragraph_format.page_break_before = bool(section.letter) or None
        for block, follower in zip_longest(section.blocks, section.blocks[1:]):
            self._block(block, follower)
        return line

    def _block(self, block: Block, follower: Block | None) -> None:
        if isinstance(block, Paragraph):
            self._paragraph(block, follower)
        elif isinstance(block, Subheading):
            self._line(block.text, "Heading 2").paragraph_format.keep_with_next = True
        elif isinstance(block, Bullets):
            self._bullets(block)
        elif isinstance(block, Table):
            self._table(block)
        elif isinstance(block, Figure):
            self._figure(block)
        else:
            self._listing(block)

    def _line(self, text: str, style: str) -> Any:
        """A paragraph in a style."""
        paragraph = self._place.add_paragraph(text)
        paragraph.style = paragraph_style(self.word, style)
        return paragraph

    def _paragraph(self, block: Paragraph, follower: Block | None) -> None:
        from docx.shared import Cm, Pt

        paragraph = self._place.add_paragraph()
        explained = isinstance(follower, Paragraph) and follower.small
        introduces = isinstance(follower, Table) or not block.text
        if block.lead:
            paragraph.add_run(block.lead + " ").bold = True
        if explained or not block.text:
            paragraph.paragraph_format.space_after = Pt(3)
        paragraph.paragraph_format.keep_with_next = explained or introduces
        run = paragraph.add_run(block.text)
        if block.small:
            run.font.size = Pt(SMALL)
            paragraph.paragraph_format.left_indent = Cm(0.6)

    def _bullets(self, block: Bullets) -> None:
        style = paragraph_style(self.word, "List Bullet")
        mark = "" if numbers_its_lines(style) else "•\t"
        for line in block.lines:
            self._line(mark + line, "List Bullet")

    def _table(self, block: Table) -> None:
        from docx.shared import Cm, Pt

        self._line(block.caption, "Caption").paragraph_format.keep_with_next = True
        columns = columns_for(block, self.width)
        table = self._place.add_table(1, len(block.heads), Cm(self.width))
        element = self._body[-1]
        table.style = table_style(self.word)
        table.autofit = False
        for column, width in zip(table.columns, columns.widths, strict=True):
            column.width = Cm(width)
        look = (columns, block.numeric)
        _row(table.rows[0], element.tr_lst[0], block.heads, *look, bold=True)
        element.tr_lst[0].get_or_add_trPr().append(xml("tblHeader"))
        if block.rows:
            _row(table.add_row(), element.tr_lst[-1], block.rows[0], *look)
            _copies(element, block.rows[1:])
        whole = len(table.rows) <= (MOST_TURNED if block.turned else MOST_TOGETHER)
        _keep_together(table.rows if whole else table.rows[:BEGINNING])
        self._place.add_paragraph().paragraph_format.space_after = Pt(2)

    def _figure(self, block: Figure) -> None:
        from docx.oxml.ns import qn
        from docx.shared import Cm

        paragraph = self._place.add_paragraph()
        run = paragraph.add_run()
        run.add_picture(io.BytesIO(block.chart.png()), width=Cm(min(self.width, PAGE)))
        next(run.element.iter(qn("wp:docPr"))).set("descr", block.chart.alt)
        paragraph.paragraph_format.keep_with_next = True
        self._line(block.caption or block.chart.title, "Caption")

    def _listing(self, block: DerivationListing) -> None:
        """One paragraph per line: where a line is too long, it goes on below its own beginning."""
        from docx.shared import Pt

        title = self._place.add_paragraph()
        title.add_run(block.title).bold = True
        title.paragraph_format.keep_with_next = True
        for line in block.lines:
            text = line.lstrip(" ")
            paragraph = self._place.add_paragraph()
            run = paragraph.add_run(text)
            set_font(run.font, *LISTING)
            look = paragraph.paragraph_format
            look.left_indent, look.first_line_indent = Pt(STEP * (len(line) - len(text)) + HANGING), Pt(-HANGING)
            look.space_after, look.line_spacing = Pt(0), 1.0
        self._place.add_paragraph().paragraph_format.space_after = Pt(2)


def _row(
    row: Any, element: Any, texts: Sequence[str], columns: ColumnWidths, numeric: Sequence[bool], bold: bool = False
) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm, Pt

    element.get_or_add_trPr().append(xml("cantSplit"))
    cells = zip(row.cells, element.tc_lst, texts, columns.widths, numeric, strict=True)
    for cell, cell_element, text, width, number in cells:
        cell.width = Cm(width)
        paragraph = cell.paragraphs[0]
        if number:
            paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        paragraph.paragraph_format.space_before = paragraph.paragraph_format.space_after = Pt(1)
        run = paragraph.add_run(text)
        run.font.size, run.bold = Pt(columns.size), bold
        if bold:
            cell_element.get_or_add_tcPr().append(xml("shd", val="clear", fill=HEAD_FILL))


def _copies(table: Any, rows: Sequence[Sequence[str]]) -> None:
    """Rows as copies of the last one with other texts: a thousand take a second."""
    from docx.oxml.ns import qn

    pattern = table.tr_lst[-1]
    for texts in rows:
        copy = deepcopy(pattern)
        for run, text in zip(copy.iter(qn("w:r")), texts, strict=True):
            run.text = text
        table.append(copy)


def _keep_together(rows: Sequence[Any]) -> None:
    """No page ends between these rows."""
    for row in rows[:-1]:
        for cell in row.cells:
            cell.paragraphs[0].paragraph_format.keep_with_next = True
