"""A document as .docx: plain, editable tables, charts with alternative text; or a buyer's own template, filled."""

from __future__ import annotations

import io
import zipfile
from itertools import count
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.reports.document.model import Document
from ingest.reports.document.word_blocks import PAGE, Writer
from ingest.reports.document.word_template import fill
from ingest.text import all_visible

#: Characters that the title in a file's properties may have.
LONGEST_TITLE = 255
#: Bytes of all parts of a template, unpacked.
MOST_BYTES = 200_000_000


def as_docx(document: Document, template: str | Path | None = None) -> bytes:
    """Render as bytes.

    Args:
        document: what to print.
        template: a .docx with `{{all}}`, `{{scope}}` and other fields; without any, everything goes to its end.

    Raises:
        IngestError: the template is not a Word document.
        UsageError: the template asks for something that does not exist, or where it cannot stand.
    """
    document = all_visible(document)
    word = opened(template)
    if template is None:
        _set_page(word)
        _append(word, Writer(word).whole(document))
        word.core_properties.title = document.title[:LONGEST_TITLE]
        word.core_properties.author = "ingest"
    elif not fill(word, document):
        _append(word, Writer(word).whole(document))
    _number_pictures(word)
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def opened(template: str | Path | None) -> Any:
    """A Word file to write in: a copy of the template, or an empty one.

    Raises:
        IngestError: the template is not a Word document.
    """
    import docx

    if template is None:
        return docx.Document()
    _check_size(Path(template))
    try:
        return docx.Document(str(template))
    except Exception:  # the library reports a broken package in many ways
        raise IngestError(f"--template: '{template}' is not readable as .docx") from None


def _check_size(template: Path) -> None:
    """Refuse what is no file, or unpacks to more than any document; the library would read all of it."""
    if not template.is_file():
        what = "is no file" if template.exists() else "does not exist"
        raise IngestError(f"--template: '{template}' {what}, expected a .docx")
    try:
        with zipfile.ZipFile(template) as package:
            size = sum(part.file_size for part in package.infolist())
    except (OSError, zipfile.BadZipFile):
        raise IngestError(f"--template: '{template}' is not readable as .docx") from None
    if size > MOST_BYTES:
        raise IngestError(f"--template: '{template}' unpacks to {size:,} B, expected at most {MOST_BYTES:,} B")


def _append(word: Any, written: list[Any]) -> None:
    """To the end of the text, before the properties of its last section."""
    body = word.element.body
    for element in written:
        if body.sectPr is None:
            body.append(element)
        else:
            body.sectPr.addprevious(element)


def _number_pictures(word: Any) -> None:
    """Each picture has a number of its own; those that a template brings keep theirs."""
    drawn = word.element.body.xpath(".//wp:docPr")
    given = {one.get("id") for one in drawn}
    free = (number for number in map(str, count(1)) if number not in given)
    seen: set[str] = set()
    for one in drawn:
        if one.get("id") in seen:
            one.set("id", next(free))
        seen.add(one.get("id"))


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
        run.element.append(part)
