"""The parts of a document as those of a Word file: cover, headings, paragraphs, tables, pictures, and the styles they have."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache, partial
from itertools import zip_longest
from typing import Any, NamedTuple

from docx.blkcntnr import BlockItemContainer
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_COLOR_INDEX, WD_TAB_ALIGNMENT, WD_TAB_LEADER
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor

from ingest.reports.document.markup import (
    BLANK,
    Block,
    Bullets,
    Cover,
    DerivationListing,
    Document,
    DocumentSection,
    Figure,
    Paragraph,
    Subheading,
    Table,
)
from ingest.reports.labels import texts

#: Typeface and size in points of a derivation; size of a paragraph that explains the one above.
LISTING, SMALL = ("DejaVu Sans Mono", 7), 8.5
#: Fill of the headings of tables.
HEAD_FILL = "D9E2EC"
#: Colours of headings on the cover, and of what lies behind its values.
ACCENT, PALE = "1F4E79", "EAF1F8"
#: Appended to the name of a style where the template has another kind of style under that name.
_OWN = " (RFP)"
#: The paragraph styles that are made where a document has none.
LOOKS: Mapping[str, Mapping[str, float]] = texts("document")["looks"]


def xml(tag: str, **attributes: str) -> Any:
    """An element of Word's own namespace with attributes of it."""
    return OxmlElement(f"w:{tag}", {qn(f"w:{key}"): value for key, value in attributes.items()})


def _style(word: Any, name: str, table: bool = False) -> Any:
    """A style of paragraphs or of tables by its English name, made where the document has none."""
    kind = WD_STYLE_TYPE.TABLE if table else WD_STYLE_TYPE.PARAGRAPH
    for called in (name, name + _OWN):
        same_name = [style for style in word.styles if style.name == called]
        if same_name and same_name[0].type == kind:
            return same_name[0]
        if not same_name:
            made = word.styles.add_style(called, kind, builtin=called == name)
            if not table:
                _dress(made, name)
                return made
            # Lines around each cell.
            properties, borders = xml("tblPr"), xml("tblBorders")
            for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
                borders.append(xml(side, val="single", sz="4", space="0", color="auto"))
            properties.append(borders)
            made.element.append(properties)
            return made
    raise LookupError(name)


def _dress(style: Any, name: str) -> None:
    """Give a paragraph style that was made here its look."""
    look, spaces = LOOKS[name], style.paragraph_format
    if name == "toc 1":  # as the text, whose style a template may lack
        style.element.basedOn_val = "Normal"
    if name == "List Bullet":
        spaces.left_indent, spaces.first_line_indent = Cm(0.63), Cm(-0.63)
    if "size" in look:
        style.font.size, style.font.bold = Pt(look["size"]), True
    if "after" in look:
        spaces.space_after = Pt(look["after"])
    if "level" in look:
        spaces.space_before, spaces.keep_with_next = Pt(look["before"]), True
        style.element.get_or_add_pPr().append(xml("outlineLvl", val=str(look["level"])))


#: Twentieths of a point in a centimetre: the unit of Word's lengths.
TWENTIETHS = 1440 / 2.54
#: What a cell's own margins take, left and right together, in cm.
CELL_MARGINS = 0.4
#: The least plausible width; a damaged layout may give any number.
LEAST = 2.0


def width_at(paragraph: Any) -> float | None:
    """The width in cm at a paragraph, or None where the document does not say."""
    in_cell = _number(paragraph.xpath("ancestor::w:tc[1]/w:tcPr/w:tcW[@w:type='dxa']/@w:w"))
    if in_cell is not None:
        width = in_cell / TWENTIETHS - CELL_MARGINS
        return width if width >= LEAST else None
    layouts = paragraph.xpath("./w:pPr/w:sectPr") or paragraph.xpath("following::w:sectPr[1]")
    return _column(layouts[0]) if layouts else None


def _column(layout: Any) -> float | None:
    """The width in cm of a column of a page, or None where its layout does not say."""
    paths = ("pgSz/@w:w", "pgMar/@w:left", "pgMar/@w:right", "cols/@w:num", "cols/@w:space")
    page, left, right, number, space = (_number(layout.xpath(f"./w:{path}")) for path in paths)
    if page is None or left is None or right is None:
        return None
    columns = number or 1
    between = (space or 0) * (columns - 1)
    width = (page - left - right - between) / columns / TWENTIETHS
    return width if width >= LEAST else None


def _number(found: list[Any]) -> float | None:
    try:
        return float(found[0])
    except (IndexError, ValueError):
        return None


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
    """Columns that are together as wide as their place, in cm; the `widths` of the table are the shares wished for."""
    longest = []  # the length of the longest word of each column, in letters' sizes
    for place in range(len(table.heads)):
        heads = [sum(map(_SIZE_OF, word)) * BOLD for word in _words(table.heads[place])]
        cells = [sum(map(_SIZE_OF, word)) for row in table.rows for word in _words(row[place])]
        longest.append(max([*heads, *cells], default=0.0))
    needs = {size: [length * size / PER_CM + MARGINS for length in longest] for size in SIZES}
    size = next((size for size in SIZES if sum(needs[size]) <= width), SIZES[-1])
    return ColumnWidths(_shared_out(width, table.widths or (1.0,) * len(table.heads), needs[size]), size)


def _words(text: str) -> list[str]:
    """What no line ends within; a path may be parted behind each of its strokes.

    >>> _words("GB/s of results/weak/result.txt")
    ['GB/s', 'of', 'results/', 'weak/', 'result.txt']
    """
    return [part for word in text.split() for part in (_PARTS.findall(word) if word.count("/") > 1 else (word,))]


_KINDS = ((str.isdigit, FIGURE), (str.isupper, CAPITAL), (str.isalpha, OTHER))
_SIZE_OF = cache(lambda letter: next((size for is_kind, size in _KINDS if is_kind(letter)), NARROW))


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


#: Sizes in points on the cover: of the kind of document, the sentence on the purchase, a main value and its name.
KIND, PURCHASE, VALUE, NAME = 11, 12, 15, 8.5
#: Width of the names of the cover's lines in cm.
NAMES = 4.2
#: Ids of bookmarks begin here, above those of a template.
FIRST_BOOKMARK = 9000
#: The levels of headings that Word lists when it updates the field.
CONTENTS = 'TOC \\o "1-1" \\h \\z \\u'
#: Width of the text in cm; of a blank that indents a derivation and of its lines' continuation, in points.
PAGE, STEP, HANGING = 16.5, 4.2, 8.0
#: A table of more rows may go on on the next page; one of quantities in lines has low ones.
MOST_TOGETHER, MOST_TURNED = 6, 24
#: Rows at the top of a longer table, its heading included, that stay together at the end of a page.
BEGINNING = 4


class WordWriter:
    """Writes parts of a document in the styles of a file, to be put where they belong; `printed` ones become a PDF.

    The width of the place is in cm, by default that of the last page.
    """

    def __init__(self, word: Any, width: float | None = None, printed: bool = False) -> None:
        last = word.element.body.sectPr
        self.word, self.printed, self._style = word, printed, cache(partial(_style, word))
        # The library looks for the default style each time that a style is set.
        self._style_id = cache(lambda *which: word.part.get_style_id(self._style(*which), self._style(*which).type))
        self._listed: dict[int, Any] = {}  # by indent: lines of derivations, which further ones copy
        self.width = width or (None if last is None else _column(last)) or PAGE
        self._body = OxmlElement("w:body")
        self._place: Any = BlockItemContainer(self._body, word.part)

    def whole(self, document: Document) -> list[Any]:
        """The whole document as elements."""
        if document.cover is None:
            self._line(document.title, "Title")
            self._place.add_paragraph(document.subtitle)
        else:
            self._cover(document, document.cover)
            self._contents([heading for heading, _ in document.numbered()])
        for number, (heading, section) in enumerate(document.numbered()):
            line = self._section(heading, section)
            if document.cover is not None:
                # The bookmark of a section, to which the list of contents refers.
                at = str(FIRST_BOOKMARK + number)
                line._p.r_lst[0].addprevious(xml("bookmarkStart", id=at, name=f"_Toc{at}"))
                line._p.append(xml("bookmarkEnd", id=at))
                line.paragraph_format.page_break_before = number == 0 or None
        return list(self._body)

    def part(self, document: Document, name: str) -> list[Any]:
        """The elements of one section."""
        for heading, section in document.numbered():
            if section.name == name:
                self._section(heading, section)
        return list(self._body)

    def _section(self, heading: str, section: DocumentSection) -> Any:
        """A section; the paragraph of its heading."""
        line = self._line(heading, "Heading 1")
        for block, follower in zip_longest(section.blocks, section.blocks[1:]):
            if isinstance(block, Paragraph):
                self._paragraph(block, follower)
            elif isinstance(block, Subheading):
                self._line(block.text, "Heading 2").paragraph_format.keep_with_next = True
            elif isinstance(block, Bullets):
                # A style that was made here puts no bullet before each line by itself.
                numbered = self._style("List Bullet").element.xpath("./w:pPr/w:numPr")
                for text in block.lines:
                    self._line(text if numbered else f"•\t{text}", "List Bullet")
            elif isinstance(block, Table):
                self._table(block)
            elif isinstance(block, Figure):
                self._figure(block)
            else:
                self._listing(block)
        return line

    def _line(self, text: str, style: str) -> Any:
        """A paragraph in a style."""
        paragraph = self._place.add_paragraph(text)
        paragraph._p.style = self._style_id(style)
        return paragraph

    def _cover(self, document: Document, cover: Cover) -> None:
        """The first page: what is bought, by whom and until when."""
        place = self._place
        kind = place.add_paragraph()
        _write(kind, cover.kind, KIND, bold=True, colour=ACCENT)
        kind.paragraph_format.keep_with_next = True
        self._line(document.title, "Title")
        _write(place.add_paragraph(), cover.purchase, PURCHASE)
        if cover.figures:
            # The main values side by side, each above its name.
            table = place.add_table(1, len(cover.figures), Cm(self.width))
            table.autofit = False
            for cell, (value, name) in zip(table.rows[0].cells, cover.figures, strict=True):
                cell.width = Cm(self.width / len(cover.figures))
                cell._tc.get_or_add_tcPr().append(xml("shd", val="clear", fill=PALE))
                first, second = cell.paragraphs[0], cell.add_paragraph()
                _write(first, value, VALUE, bold=True, colour=ACCENT)
                first.paragraph_format.space_before, first.paragraph_format.space_after = Pt(6), Pt(0)
                _write(second, name, NAME)
                second.paragraph_format.space_after = Pt(6)
            place.add_paragraph().paragraph_format.space_after = Pt(0)
        if cover.facts:
            # Names and values; what the buyer has not given is marked.
            table = place.add_table(0, 2, Cm(self.width))
            table.autofit = False
            for name, value in cover.facts:
                cells = table.add_row().cells
                for cell, share in zip(cells, (NAMES, self.width - NAMES), strict=True):
                    cell.width = Cm(share)
                    cell.paragraphs[0].paragraph_format.space_after = Pt(2)
                cells[0].paragraphs[0].add_run(name).bold = True
                run = cells[1].paragraphs[0].add_run(value or BLANK)
                if not value:
                    run.font.highlight_color = WD_COLOR_INDEX.YELLOW
            place.add_paragraph().paragraph_format.space_after = Pt(0)
        _write(place.add_paragraph(), document.subtitle, SMALL)

    def _contents(self, headings: Sequence[str]) -> None:
        """The list of the sections, in the order of their bookmarks.

        Word lists its headings itself, in a field that it updates. LibreOffice updates only the numbers of pages, and those
        only outside such a field: a document to be printed has these.
        """
        title = self._place.add_paragraph()
        _write(title, "Contents", KIND, bold=True, colour=ACCENT)
        title.paragraph_format.keep_with_next = True
        for number, heading in enumerate(headings):
            line = self._line("", "toc 1")
            line.paragraph_format.space_after = Pt(1)
            line.paragraph_format.tab_stops.add_tab_stop(Cm(self.width), WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
            if self.printed:
                line.add_run(f"{heading}\t")
                add_field(line, f"PAGEREF _Toc{FIRST_BOOKMARK + number} \\h", "0")
                continue
            if number == 0:
                _begin_field(line, CONTENTS, dirty="true")
            line.add_run(heading)
            if number == len(headings) - 1:
                line.add_run()._r.append(xml("fldChar", fldCharType="end"))

    def _paragraph(self, block: Paragraph, follower: Block | None) -> None:
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

    def _table(self, block: Table) -> None:
        self._line(block.caption, "Caption").paragraph_format.keep_with_next = True
        columns = columns_for(block, self.width)
        table = self._place.add_table(1, len(block.heads), Cm(self.width))
        element = self._body[-1]
        element.tblStyle_val = self._style_id("Table Grid", True)
        table.autofit = False
        for column, width in zip(table.columns, columns.widths, strict=True):
            column.width = Cm(width)
        look = (columns, block.numeric)
        _row(table.rows[0], element.tr_lst[0], block.heads, *look, bold=True)
        element.tr_lst[0].get_or_add_trPr().append(xml("tblHeader"))
        if block.rows:
            _row(table.add_row(), element.tr_lst[-1], block.rows[0], *look)
        whole = len(block.rows) < (MOST_TURNED if block.turned else MOST_TOGETHER)
        last = len(block.rows) if whole else BEGINNING - 1
        # Further rows are copies with other texts.
        apart = deepcopy(element.tr_lst[-1])
        for row in table.rows[:last]:
            for cell in row.cells:
                cell.paragraphs[0].paragraph_format.keep_with_next = True
        kept = element.tr_lst[-1]
        for number, words in enumerate(block.rows[1:], 2):
            element.append(_copied(kept if number < last else apart, words))
        self._place.add_paragraph().paragraph_format.space_after = Pt(2)

    def _figure(self, block: Figure) -> None:
        paragraph = self._place.add_paragraph()
        run = paragraph.add_run()
        run.add_picture(io.BytesIO(block.chart.png()), width=Cm(min(self.width, PAGE)))
        next(run.element.iter(qn("wp:docPr"))).set("descr", block.chart.alt)
        paragraph.paragraph_format.keep_with_next = True
        self._line(block.caption or block.chart.title, "Caption")

    def _listing(self, block: DerivationListing) -> None:
        """One paragraph per line: where a line is too long, it goes on below its own beginning."""
        title = self._place.add_paragraph()
        title.add_run(block.title).bold = True
        title.paragraph_format.keep_with_next = True
        for line in block.lines:
            text = line.lstrip(" ")
            indent = len(line) - len(text)
            if indent in self._listed:
                self._body.append(_copied(self._listed[indent], [text]))
                continue
            paragraph = self._place.add_paragraph()
            self._listed[indent] = paragraph._p
            font = paragraph.add_run(text).font
            font.name, font.size = LISTING[0], Pt(LISTING[1])
            look = paragraph.paragraph_format
            look.left_indent, look.first_line_indent = Pt(STEP * indent + HANGING), Pt(-HANGING)
            look.space_after, look.line_spacing = Pt(0), 1.0
        self._place.add_paragraph().paragraph_format.space_after = Pt(2)


def _copied(pattern: Any, words: Sequence[str]) -> Any:
    """A copy of a row or paragraph with other texts in its runs. Setting the text of a run takes the library 0.2 ms."""
    copy = deepcopy(pattern)
    for run, text in zip(copy.iter(qn("w:r")), words, strict=True):
        pieces = list(run.iter(qn("w:t")))
        if len(pieces) == 1 and text and text == text.strip() and text.isprintable():
            pieces[0].text = text
        else:
            run.text = text
    return copy


def _write(paragraph: Any, text: str, size: float, bold: bool = False, colour: str = "") -> None:
    """Add a text of a size in points."""
    run = paragraph.add_run(text)
    run.font.size, run.bold = Pt(size), bold or None
    if colour:
        run.font.color.rgb = RGBColor.from_string(colour)


def add_field(paragraph: Any, instruction: str, shown: str) -> None:
    """A field that the reader's program fills in; `shown` until then."""
    _begin_field(paragraph, instruction)
    paragraph.add_run(shown)
    paragraph.add_run()._r.append(xml("fldChar", fldCharType="end"))


def _begin_field(paragraph: Any, instruction: str, **more: str) -> None:
    """A field up to what is shown of it."""
    code = xml("instrText")
    code.text = instruction
    for part in (xml("fldChar", fldCharType="begin", **more), code, xml("fldChar", fldCharType="separate")):
        paragraph.add_run()._r.append(part)


def _row(
    row: Any, element: Any, words: Sequence[str], columns: ColumnWidths, numeric: Sequence[bool], bold: bool = False
) -> None:
    """Write the cells of a row: numbers at the right, no page end within."""
    element.get_or_add_trPr().append(xml("cantSplit"))
    cells = zip(row.cells, element.tc_lst, words, columns.widths, numeric, strict=True)
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
