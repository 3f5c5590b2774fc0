"""A document as .docx: plain, editable tables, charts with alternative text; or a buyer's own template, filled."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, UsageError, nearest
from ingest.reports.document.model import Block, Bullets, Document, Figure, Listing, Paragraph, Section, Table

#: What a template holds where a section or a single value goes.
FIELD = re.compile(r"\{\{\s*([\w .:-]+?)\s*\}\}")
#: Control characters that XML has no place for.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: Width of the text in cm; of a blank that indents a derivation and of its lines' continuation, in points.
PAGE, STEP, HANGING = 16.5, 4.2, 8.0


def as_docx(document: Document, template: str | Path | None = None) -> bytes:
    """Render as bytes.

    Args:
        document: what to print.
        template: a .docx with `{{all}}`, `{{requirements}}` and other fields; without any, everything goes to its end.

    Raises:
        IngestError: the library is not installed, or the template is none.
        UsageError: the template asks for something that does not exist.
    """
    word = _opened(template)
    if template is None:
        _set_page(word)
        _write_whole(word, document)
    else:
        _fill(word, document)
    word.core_properties.title = clean(document.title)[:255]
    word.core_properties.author = "ingest"
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def clean(text: str) -> str:
    """Text without what XML cannot hold."""
    return _FORBIDDEN.sub("�", text)


def _opened(template: str | Path | None) -> Any:
    try:
        import docx
    except ImportError:
        raise IngestError("a .docx needs python-docx, expected it installed: pip install 'ingest-sizing[report]'") from None
    if template is None:
        return docx.Document()
    try:
        return docx.Document(str(template))
    except Exception:  # the library reports a broken package in many ways
        raise IngestError(f"--template: '{template}' is not readable as .docx") from None


def _set_page(word: Any) -> None:
    from docx.enum.section import WD_ORIENT
    from docx.shared import Cm, Pt

    page = word.sections[0]
    page.orientation = WD_ORIENT.PORTRAIT
    page.page_width, page.page_height = Cm(21), Cm(29.7)
    page.left_margin = page.right_margin = Cm((21 - PAGE) / 2)
    page.top_margin = page.bottom_margin = Cm(2)
    word.styles["Normal"].font.size = Pt(10)
    word.styles["Normal"].font.name = "Calibri"
    _page_number(page.footer.paragraphs[0])


def _page_number(paragraph: Any) -> None:
    """A field that the reader's program fills in."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    run = paragraph.add_run()
    for kind, text in (("begin", None), (None, "PAGE"), ("end", None)):
        part = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            part.set(qn("w:fldCharType"), kind)
        else:
            part.text = text
        run._r.append(part)


def _write_whole(word: Any, document: Document) -> None:
    word.add_heading(clean(document.title), 0)
    word.add_paragraph(clean(document.subtitle))
    for heading, section in document.numbered():
        _write_section(word, heading, section)


def _write_section(word: Any, heading: str, section: Section) -> None:
    word.add_heading(clean(heading), 1)
    for block in section.blocks:
        _block(word, block)


def _fill(word: Any, document: Document) -> None:
    """Replace each field; new parts are written at the end and moved to where the field stood."""
    parts: dict[str, Callable[[], None]] = {"all": lambda: _write_whole(word, document)}
    for heading, section in document.numbered():
        parts[section.name] = lambda heading=heading, section=section: _write_section(word, heading, section)  # type: ignore[misc]
    facts = dict(document.facts)
    filled = 0
    for paragraph in [
        *word.paragraphs,
        *(p for table in word.tables for row in table.rows for c in row.cells for p in c.paragraphs),
    ]:
        names = FIELD.findall(paragraph.text)
        for name in names:
            if name not in parts and name not in facts:
                known = [*parts, *facts]
                raise UsageError(
                    f"--template: unknown field '{{{{{name}}}}}', expected one of {', '.join(parts)}{nearest(name, known)}"
                )
        if len(names) == 1 and names[0] in parts:
            _replace(word, paragraph, parts[names[0]])
        elif names:
            # One run carries the whole line: a field may be spread over several runs of the same look.
            paragraph.runs[0].text = clean(FIELD.sub(lambda found: facts.get(found[1], found[0]), paragraph.text))
            for run in paragraph.runs[1:]:
                run.text = ""
        filled += len(names)
    if not filled:
        _write_whole(word, document)


def _replace(word: Any, paragraph: Any, write: Callable[[], None]) -> None:
    body = word.element.body
    before = set(body)
    write()
    for element in [element for element in body if element not in before]:
        paragraph._p.addprevious(element)
    paragraph._p.getparent().remove(paragraph._p)


def _block(word: Any, block: Block) -> None:
    if isinstance(block, Paragraph):
        _paragraph(word, block)
    elif isinstance(block, Bullets):
        for line in block.lines:
            _styled(word, clean(line), "List Bullet")
    elif isinstance(block, Table):
        _table(word, block)
    elif isinstance(block, Figure):
        _figure(word, block)
    else:
        _listing(word, block)


def _paragraph(word: Any, block: Paragraph) -> None:
    from docx.shared import Cm, Pt

    paragraph = word.add_paragraph()
    if block.lead:
        paragraph.add_run(clean(block.lead) + " ").bold = True
        paragraph.paragraph_format.space_after = Pt(3)
    run = paragraph.add_run(clean(block.text))
    if block.small:
        run.font.size = Pt(8.5)
        paragraph.paragraph_format.left_indent = Cm(0.6)


def _styled(word: Any, text: str, style: str) -> Any:
    """A paragraph in a style, where the template has it."""
    known = {found.name for found in word.styles}
    return word.add_paragraph(text, style=style if style in known else None)


def _table(word: Any, block: Table) -> None:
    from docx.shared import Cm, Pt

    caption = _styled(word, clean(block.caption), "Caption")
    caption.paragraph_format.keep_with_next = True
    table = word.add_table(rows=1, cols=len(block.heads))
    if any(found.name == "Table Grid" for found in word.styles):
        table.style = "Table Grid"
    table.autofit = False
    shares = block.widths or (1,) * len(block.heads)
    widths = [Cm(PAGE * share / sum(shares)) for share in shares]
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    _row(table.rows[0], block.heads, widths, bold=True)
    _repeat(table.rows[0])
    for cells in block.rows:
        _row(table.add_row(), cells, widths)
    word.add_paragraph().paragraph_format.space_after = Pt(2)


def _row(row: Any, texts: Sequence[str], widths: Sequence[Any], bold: bool = False) -> None:
    from docx.oxml import OxmlElement
    from docx.shared import Pt

    row._tr.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
    for cell, text, width in zip(row.cells, texts, widths, strict=True):
        cell.width = width
        cell.paragraphs[0].paragraph_format.space_after = Pt(0)
        run = cell.paragraphs[0].add_run(clean(text))
        run.font.size, run.bold = Pt(8), bold
        if bold:
            _shade(cell)


def _shade(cell: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    shade = OxmlElement("w:shd")
    shade.set(qn("w:val"), "clear")
    shade.set(qn("w:fill"), "D9E2EC")
    cell._tc.get_or_add_tcPr().append(shade)


def _repeat(row: Any) -> None:
    """The heading again on every page."""
    from docx.oxml import OxmlElement

    row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))


def _figure(word: Any, block: Figure) -> None:
    from docx.shared import Cm

    picture = word.add_picture(io.BytesIO(block.chart.png()), width=Cm(PAGE))
    picture._inline.docPr.set("descr", clean(block.chart.alt))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    _styled(word, clean(block.caption or block.chart.title), "Caption")


def _listing(word: Any, block: Listing) -> None:
    """One paragraph per line: where a line is too long, it goes on below its own beginning."""
    from docx.shared import Pt

    title = word.add_paragraph()
    title.add_run(clean(block.title)).bold = True
    title.paragraph_format.keep_with_next = True
    for line in block.lines:
        text = clean(line).lstrip(" ")
        paragraph = word.add_paragraph()
        run = paragraph.add_run(text)
        run.font.name, run.font.size = "DejaVu Sans Mono", Pt(7)
        look = paragraph.paragraph_format
        look.left_indent, look.first_line_indent = Pt(STEP * (len(line) - len(text)) + HANGING), Pt(-HANGING)
        look.space_after, look.line_spacing = Pt(0), 1.0
    word.add_paragraph().paragraph_format.space_after = Pt(2)
