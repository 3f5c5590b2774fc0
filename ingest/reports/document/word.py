"""A document as .docx: plain, editable tables, charts with alternative text; or a buyer's own template, filled."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, brief
from ingest.files import open_regular
from ingest.reports.document.model import Document, DocumentSection, Paragraph
from ingest.reports.document.template_fields import WHOLE, listed
from ingest.reports.document.word_blocks import PAGE, WordWriter
from ingest.reports.document.word_cover import frame
from ingest.reports.document.word_styles import BODY, set_font
from ingest.reports.document.word_template import fields_of, fill
from ingest.text import all_visible

#: Characters that the title in a file's properties may have.
LONGEST_TITLE = 255
#: Bytes of all parts of a template, unpacked.
MOST_BYTES = 200_000_000


def as_docx(document: Document, template: str | Path | None = None, printed: bool = False) -> bytes:
    """Render as bytes.

    Args:
        document: what to print.
        template: a .docx with `{{all}}`, `{{scope}}` and other fields; without any, everything goes to its end.
        printed: whether it becomes a PDF, in which no field is updated by its reader.

    Raises:
        IngestError: the template is not a Word document.
        UsageError: an unknown field, or a field where its content cannot be inserted.
    """
    document = all_visible(document)
    word = opened(template)
    if template is None:
        _set_page(word, document.title)
        _append(word, WordWriter(word, printed=printed).whole(document))
        word.core_properties.title = document.title[:LONGEST_TITLE]
        word.core_properties.author = "ingest"
    elif not fill(word, document, printed):
        _append(word, WordWriter(word, printed=printed).whole(document))
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
        word = docx.Document(str(template))
        list(word.styles), list(word.element.body)  # damaged parts are found where they are listed or saved
        with warnings.catch_warnings(action="error", category=UserWarning):
            word.save(io.BytesIO())
    except Exception as error:  # the library reports a broken package in many ways
        raise _unreadable(template, error) from None
    _check_inert(word, template)
    return word


MACROS = "--template: '{template}' holds macros, expected a .docx without them"


def _unreadable(template: str | Path, error: Exception) -> IngestError:
    """The refusal of a package that the library cannot open: with the reason, where the library has words for it."""
    words = str(error.args[0]) if isinstance(error, (KeyError, ValueError)) and error.args else ""
    reason = words.rpartition(" is not a Word file, ")[2]
    if "macroEnabled" in reason:
        return IngestError(MACROS.format(template=template))
    return IngestError(f"--template: '{template}' is not readable as .docx" + (f": {reason}" if " " in reason else ""))


def _check_inert(word: Any, template: str | Path) -> None:
    """Refuse a template whose documents would fetch a file or start a program on a reader's machine; detach its own template.

    Raises:
        IngestError: an object, a picture or a text that is loaded from elsewhere, macros, or a field that loads one.
    """
    from docx.oxml import parse_xml

    for part in word.part.package.iter_parts():
        if "macro" in part.content_type.lower() or "vbaProject" in part.content_type:
            raise IngestError(MACROS.format(template=template))
        for link in [link for link in part.rels.values() if link.is_external]:
            kind = link.reltype.rpartition("/")[2]
            if kind == "attachedTemplate":
                tags = part.element.findall(_WORD + "attachedTemplate") if hasattr(part, "element") else ()
                for tag in tags:
                    part.element.remove(tag)
                del part.rels[link.rId]
            elif kind != "hyperlink":
                found = f"loads {kind} {brief(link.target_ref)} when it is opened"
                raise IngestError(f"--template: '{template}' {found}, expected everything inside the file")
        if part.partname.endswith(".xml"):
            try:
                tree = parse_xml(part.blob)
            except SyntaxError:  # no XML: refused where fields are filled
                continue
            for code, has_made_name in _field_codes(tree):
                if _LOADING.match(code) or (has_made_name and not code.strip()):
                    found = f"has the field {brief(' '.join(code.split()))} in {part.partname.lstrip('/')}"
                    raise IngestError(f"--template: '{template}' {found}, expected none that loads other files or programs")


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
#: Fields that load a file or call a program.
_LOADING = re.compile(r"\s*(DDE|DDEAUTO|INCLUDE|INCLUDETEXT|INCLUDEPICTURE|IMPORT|LINK|DATABASE|RD)(?![A-Z])", re.IGNORECASE)


def _field_codes(tree: Any) -> Iterator[tuple[str, bool]]:
    """The instructions of Word's fields, up to a field inside them, and whether one is."""
    for simple in tree.iter(_WORD + "fldSimple"):
        yield simple.get(_WORD + "instr", ""), False
    waiting: list[str] = []
    for one in tree.iter(_WORD + "fldChar", _WORD + "instrText"):
        kind = one.get(_WORD + "fldCharType")
        if kind == "begin":
            if waiting:
                yield waiting[-1], True
            waiting.append("")
        elif waiting and kind is None:
            waiting[-1] += one.text or ""
        elif waiting:  # "separate" or "end"
            yield waiting[-1], False
            if kind == "end":
                waiting.pop()


def _check_size(template: Path) -> None:
    """Refuse what is not a file, or unpacks to more than `MOST_BYTES`, which the library would read completely."""
    if not template.is_file():
        what = "is not a file" if template.exists() else "does not exist"
        raise IngestError(f"--template: '{template}' {what}, expected a .docx")
    try:
        with open_regular(template) as file, zipfile.ZipFile(file) as package:
            size = sum(part.file_size for part in package.infolist())
    except Exception:  # a broken package shows in many ways
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


def _set_page(word: Any, title: str) -> None:
    from docx.enum.section import WD_ORIENT
    from docx.shared import Cm

    page = word.sections[0]
    page.orientation = WD_ORIENT.PORTRAIT
    page.page_width, page.page_height = Cm(21), Cm(29.7)
    page.left_margin = page.right_margin = Cm((21 - PAGE) / 2)
    page.top_margin = page.bottom_margin = Cm(2)
    set_font(word.styles["Normal"].font, *BODY)
    frame(word, title)


#: How a requirement begins: its id and its priority.
_STATED = re.compile(r"(?P<id>R-[A-Z]+-\d+) \((?P<priority>[^)]*)\)\.")


def template_warnings(document: Document, template: str | Path) -> tuple[str, ...]:
    """Warnings about a document made from a template that omits or repeats parts.

    Raises:
        IngestError: the template is not readable.
        UsageError: a field in it is not closed.
    """
    names = [field.name for field in fields_of(opened(template))]
    return tuple(f"--template: '{template}' {line}" for line in (*left_out(document, names), *repeated(document, names)))


def left_out(document: Document, names: Sequence[str]) -> Iterator[str]:
    """The sections, and the requirements stated there, that no field of the template brings.

    Args:
        document: the whole of it.
        names: the template's fields; without any, the whole document goes to the template's end.

    >>> stated = DocumentSection("capacity", "Capacity", (Paragraph("The system shall …", "R-CAP-01 (mandatory)."),))
    >>> list(left_out(Document("", "", (DocumentSection("scope", "Scope", ()), stated)), ["title", "scope"]))
    ['leaves out R-CAP-01 (mandatory): add {{capacity}} or {{all}}']
    """
    if not names or WHOLE in names:
        return
    absent = [section for section in document.sections if section.name not in names]
    requirements = [line for section in absent for line in _stated(section, names)]
    if absent:
        what = ", ".join(requirements) or f"the section{'s' if len(absent) > 1 else ''} {_titles(absent)}"
        yield f"leaves out {what}: add {listed(section.name for section in absent)} or {listed([WHOLE])}"


def repeated(document: Document, names: Sequence[str]) -> Iterator[str]:
    """The sections that the filled document holds more than once.

    >>> list(repeated(Document("", "", (DocumentSection("scope", "Scope", ()),)), ["all", "scope"]))
    ['holds more than once: Scope']
    """
    counts = Counter(names)
    twice = [section for section in document.sections if counts[section.name] + counts[WHOLE] > 1]
    if twice:
        yield f"holds more than once: {_titles(twice)}"


def _stated(section: DocumentSection, names: Sequence[str]) -> Iterator[str]:
    """The requirements of a section whose value no field of the template names either."""
    for block in section.blocks:
        found = _STATED.fullmatch(block.lead) if isinstance(block, Paragraph) else None
        if found is not None and found["id"] not in names:
            yield f"{found['id']} ({found['priority']})"


def _titles(sections: Sequence[DocumentSection]) -> str:
    return "; ".join(section.title for section in sections)
