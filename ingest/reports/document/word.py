"""A document as .docx: plain, editable tables, charts with alternative text; or a buyer's own template, filled; and as PDF."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, brief
from ingest.files import open_regular
from ingest.reports.document.model import Document, Paragraph
from ingest.reports.document.word_blocks import PAGE, SMALL, WordWriter, add_field
from ingest.reports.document.word_template import WHOLE, fields_of, fill, listed
from ingest.text import all_visible

#: Characters that the title in a file's properties may have.
LONGEST_TITLE = 255
#: Bytes of all parts of a template, unpacked.
MOST_BYTES = 200_000_000
MACROS = "--template: '{template}' holds macros, expected a .docx without them"


def as_docx(document: Document, template: str | Path | None = None, printed: bool = False) -> bytes:
    """Render as bytes, which become a PDF where it is `printed`: no field is updated by its reader.

    A template is a .docx with `{{all}}`, `{{scope}}` and other fields; without any, everything goes to its end.

    Raises:
        IngestError: the template is not a Word document.
        UsageError: an unknown field, or a field where its content cannot be inserted.
    """
    document = all_visible(document)
    word = opened(template)
    if template is None:
        _set_page(word, document.title)
        word.core_properties.title = document.title[:LONGEST_TITLE]
        word.core_properties.author = "ingest"
    if template is None or not fill(word, document, printed):
        # To the end of the text, before the properties of its last section.
        body = word.element.body
        for element in WordWriter(word, printed=printed).whole(document):
            if body.sectPr is None:
                body.append(element)
            else:
                body.sectPr.addprevious(element)
    # Each picture has a number of its own; those that a template brings keep theirs.
    drawn = word.element.body.xpath(".//wp:docPr")
    given = {one.get("id") for one in drawn}
    free = (number for number in map(str, count(1)) if number not in given)
    seen: set[str] = set()
    for one in drawn:
        if one.get("id") in seen:
            one.set("id", next(free))
        seen.add(one.get("id"))
    buffer = io.BytesIO()
    word.save(buffer)
    return _undated(buffer)


def _undated(written: io.BytesIO) -> bytes:
    """The package with no time in the names of its parts: one document is the same bytes whenever it is written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(written) as package, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as plain:
        for part in package.namelist():
            plain.writestr(zipfile.ZipInfo(part), package.read(part), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def opened(template: str | Path | None) -> Any:
    """A Word file to write in: a copy of the template, or an empty one.

    Raises IngestError: the template is not a Word document.
    """
    import docx

    if template is None:
        return docx.Document()
    if not Path(template).is_file():
        what = "is not a file" if Path(template).exists() else "does not exist"
        raise IngestError(f"--template: '{template}' {what}, expected a .docx")
    # The library would read the parts completely.
    try:
        with open_regular(Path(template)) as file, zipfile.ZipFile(file) as package:
            size = sum(part.file_size for part in package.infolist())
    except Exception:  # a broken package shows in many ways
        raise IngestError(f"--template: '{template}' is not readable as .docx") from None
    if size > MOST_BYTES:
        raise IngestError(f"--template: '{template}' unpacks to {size:,} B, expected at most {MOST_BYTES:,} B")
    try:
        word = docx.Document(str(template))
        list(word.styles), list(word.element.body)  # damaged parts are found where they are listed or saved
        with warnings.catch_warnings(action="error", category=UserWarning):
            word.save(io.BytesIO())
    except Exception as error:  # the library reports a broken package in many ways
        words = str(error.args[0]) if isinstance(error, (KeyError, ValueError)) and error.args else ""
        reason = words.rpartition(" is not a Word file, ")[2]
        if "macroEnabled" in reason:
            raise IngestError(MACROS.format(template=template)) from None
        # With the reason, where the library has words for it.
        why = f": {reason}" if " " in reason else ""
        raise IngestError(f"--template: '{template}' is not readable as .docx{why}") from None
    _check_inert(word, template)
    return word


def _check_inert(word: Any, template: str | Path) -> None:
    """Refuse a template whose documents would fetch a file or start a program on a reader's machine; detach its own template.

    Raises IngestError: an object, a picture or a text that is loaded from elsewhere, macros, or a field that loads one.
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


def _set_page(word: Any, title: str) -> None:
    """A4 upright, title at the head and number at the foot of each page; the first page has no head."""
    from docx.enum.section import WD_ORIENT
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm, Pt

    page, font = word.sections[0], word.styles["Normal"].font
    page.orientation = WD_ORIENT.PORTRAIT
    page.page_width, page.page_height = Cm(21), Cm(29.7)
    page.left_margin = page.right_margin = Cm((21 - PAGE) / 2)
    page.top_margin = page.bottom_margin = Cm(2)
    font.name, font.size = "Calibri", Pt(10)
    page.different_first_page_header_footer = True
    page.header.paragraphs[0].add_run(title).font.size = Pt(SMALL)
    for foot in (page.footer.paragraphs[0], page.first_page_footer.paragraphs[0]):
        foot.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        foot.add_run("Page ")
        add_field(foot, "PAGE", "1")
        foot.add_run(" of ")
        add_field(foot, "NUMPAGES", "1")


#: How a requirement begins: its id and its priority.
_STATED = re.compile(r"(?P<id>R-[A-Z]+-\d+) \((?P<priority>[^)]*)\)\.")


def template_warnings(document: Document, template: str | Path) -> tuple[str, ...]:
    """Warnings about a document made from a template that omits or repeats parts.

    Raises:
        IngestError: the template is not readable.
        UsageError: a field in it is not closed.
    """
    names = [field.name for field in fields_of(opened(template))]
    return tuple(f"--template: '{template}' {line}" for line in gaps(document, names))


def gaps(document: Document, names: Sequence[str]) -> Iterator[str]:
    """The sections, and the requirements stated there, that no field of the template brings, and the sections that several do.

    `names` are the template's fields; without any, the whole document goes to the template's end.
    """
    absent = [] if not names or WHOLE in names else [one for one in document.sections if one.name not in names]
    if absent:
        leads = [block.lead for section in absent for block in section.blocks if isinstance(block, Paragraph)]
        stated = [found for lead in leads if (found := _STATED.fullmatch(lead)) is not None and found["id"] not in names]
        titles = "; ".join(section.title for section in absent)
        requirements = ", ".join(f"{found['id']} ({found['priority']})" for found in stated)
        what = requirements or f"the section{'s' if len(absent) > 1 else ''} {titles}"
        yield f"leaves out {what}: add {listed(section.name for section in absent)} or {listed([WHOLE])}"
    counts = Counter(names)
    twice = [section.title for section in document.sections if counts[section.name] + counts[WHOLE] > 1]
    if twice:
        yield f"holds more than once: {'; '.join(twice)}"


#: Names of LibreOffice's program, the usual one first.
PROGRAMS = ("soffice", "libreoffice")
#: Seconds after which a conversion is given up; the largest example takes ten.
LONGEST = 180


def lacking_pdf() -> str:
    """Why no PDF can be written; empty where LibreOffice is installed."""
    return "" if _program() else "LibreOffice is not installed: install it, or write .docx or .html and print that file to PDF"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def as_pdf(word: bytes, seconds: float = LONGEST) -> bytes:
    """Convert the content of a .docx by LibreOffice, with a profile of its own.

    Raises IngestError: LibreOffice is not installed, takes longer, or makes no PDF.
    """
    program = _program()
    if program is None:
        raise IngestError(f"a PDF cannot be written: {lacking_pdf()}")
    with tempfile.TemporaryDirectory(prefix="ingest-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "document.docx").write_bytes(word)
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        options = ("--headless", "--norestore", "--convert-to", "pdf", "--outdir", name, str(folder / "document.docx"))
        quiet = subprocess.DEVNULL
        try:
            running = subprocess.Popen(
                [program, profile, *options], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet
            )
        except OSError as error:
            raise IngestError(f"a PDF cannot be written: LibreOffice does not start ({error.strerror})") from None
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            late = f"LibreOffice took longer than {seconds:g} s; write .docx instead"
            raise IngestError(f"a PDF cannot be written: {late}") from None
        finally:
            # With all processes that it has started.
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        try:
            made = (folder / "document.pdf").read_bytes()
        except OSError:
            made = b""
    if not made.startswith(b"%PDF-"):
        raise IngestError("a PDF cannot be written: LibreOffice made none; write .docx or .html and print that file to PDF")
    return made
