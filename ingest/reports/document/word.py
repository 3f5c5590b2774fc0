"""A document as .docx: plain, editable tables, charts with alternative text; or a buyer's own template, filled; and as PDF."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import docx
from docx.enum.section import WD_ORIENT
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import parse_xml
from docx.shared import Cm, Pt

from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import now, open_regular, sha256
from ingest.reports.document.markup import Document, Paragraph
from ingest.reports.document.word_blocks import PAGE, SMALL, WordWriter, add_field, width_at
from ingest.reports.labels import texts
from ingest.requirement import GROUPS, said_of
from ingest.text import all_visible

#: Sections of each document by the name of their field, in order, with their titles for a site that has all kinds of load.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    kind: {name: said_of(look["title"], frozenset(GROUPS)) for name, look in texts("document")[kind]["sections"].items()}
    for kind in ("vendor", "buyer")
}
#: Why a document has no field of the other one.
OTHER: Mapping[str, str] = texts("document")["other"]
#: The field for the whole document.
WHOLE = "all"
#: Single values; the value of each requirement is a field too, under its id.
VALUES = ("title", "site", *texts("document")["cover"], "purchase", "version", "catalogs", "input")
#: Any text between the nearest double braces; an unknown name is refused.
FIELD = re.compile(r"\{\{((?:(?!\{\{).)*?)\}\}")
_REQUIREMENT = re.compile(r"R-[A-Z]+-\d+")

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_PARAGRAPH_ID = "{http://schemas.microsoft.com/office/word/2010/wordml}paraId"
_PARAGRAPH, _TEXT, _TEXT_BOX, _TABLE = (f"{_WORD}{tag}" for tag in ("p", "t", "txbxContent", "tbl"))
#: What says how a part looks; it belongs to both halves of one that is cut.
_PROPERTIES = {f"{_WORD}{tag}" for tag in ("pPr", "rPr", "sdtPr")}
#: What makes a paragraph worth keeping although it has no text.
_KEPT = {f"{_WORD}{tag}" for tag in ("drawing", "pict", "object", "sectPr", "fldChar", "br")}


class TemplateField(NamedTuple):
    """A field of the template."""

    name: str  # between the braces
    #: start, end: its characters in the text of the paragraph
    start: int
    end: int
    paragraph: Any  # that contains it
    place: str  # of the paragraph, in words
    holds_sections: bool  # whether a section can be inserted there


def listed(names: Iterable[str]) -> str:
    """Fields as they are written.

    >>> listed(["all", "scope"])
    '{{all}}, {{scope}}'
    """
    return ", ".join(f"{{{{{name}}}}}" for name in names)


def fill(word: Any, document: Document, printed: bool = False) -> bool:
    """Replace each field of an opened template by what it asks for; tells whether there is any. A `printed` one becomes a PDF.

    Raises UsageError: a field that does not exist, that is not closed, or that cannot be filled at its place.
    """
    values = dict(document.facts)
    sections = [WHOLE, *(section.name for section in document.sections)]
    fields = list(fields_of(word))
    for field in fields:
        _check_name(field, [*sections, *values], document.kind)
        # A section has tables and pictures, and ends the paragraph of its field.
        if field.name in sections and (not field.holds_sections or _is_inside_a_code(field)):
            place = f"in {field.place}, expected it in the text or a table"
            if field.holds_sections:
                place = f"inside one of Word's own fields in {field.place}, expected it in plain text"
            raise UsageError(f"--template: '{{{{{field.name}}}}}' is a section {place}")
    _refuse_elsewhere(word)
    # A paragraph is filled from its end, so that the places of the fields before stay as they are.
    for field in reversed(fields):
        if field.name in values:
            _put(field, values[field.name])
        else:
            writer = WordWriter(word, width_at(field.paragraph), printed)
            _open(field, writer.whole(document) if field.name == WHOLE else writer.part(document, field.name))
    # A paragraph that held nothing but sections goes.
    for paragraph in [field.paragraph for field in fields if field.name in sections]:
        if paragraph.getparent() is not None and _is_empty(paragraph):
            paragraph.getparent().remove(paragraph)
    return bool(fields)


def _check_name(field: TemplateField, known: list[str], kind: str) -> None:
    """Refuse a field that does not exist, with the fields that a document of this kind has, and the nearest one."""
    if field.name in known:
        return
    if any(field.name in sections for other, sections in SECTIONS.items() if kind and other != kind):
        raise UsageError(f"--template: '{{{{{field.name}}}}}' in {field.place} {OTHER[kind]}")
    ids = [word for word in known if _REQUIREMENT.fullmatch(word)]
    fixed = listed(word for word in known if word not in ids)
    of_requirements = f" or the id of a requirement such as {listed(ids[:1])}" if ids else ""
    raise UsageError(
        f"--template: unknown field '{{{{{field.name}}}}}' in {field.place}, "
        f"expected one of {fixed}{of_requirements}{nearest(field.name, known)}"
    )


def fields_of(word: Any) -> Iterator[TemplateField]:
    """Every field of an opened template, in the text, and in headers and footers.

    Raises UsageError: a field that is not closed.
    """
    margins = [(part.element, f"a {name}", False) for name, part in _margins(word)]
    for root, place, holds_sections in [(word.element.body, "the text", True), *margins]:
        for paragraph in root.iter(_PARAGRAPH):
            text = "".join(one.text or "" for one in _texts(paragraph))
            if "{{" not in text:
                continue
            above = {ancestor.tag for ancestor in paragraph.iterancestors()}
            boxed = _TEXT_BOX in above
            where = "a text box" if boxed else f"a table of {place}" if _TABLE in above else place
            shown = f"{where}, {brief(text)}"
            if "{{" in FIELD.sub("", text):
                raise UsageError(f"--template: a field is not closed in {shown}, expected '}}}}' in the same paragraph")
            for found in FIELD.finditer(text):
                yield TemplateField(found[1].strip(), *found.span(), paragraph, shown, holds_sections and not boxed)


def _margins(word: Any) -> Iterator[tuple[str, Any]]:
    """Headers and footers, those of first and even pages too."""
    for relation in word.part.rels.values():
        name = relation.reltype.rpartition("/")[2]
        if name in ("header", "footer"):
            yield name, relation.target_part


def _texts(paragraph: Any) -> list[Any]:
    """The pieces of a paragraph's own text; a text box that hangs on it has paragraphs of its own."""
    return [text for text in paragraph.iter(_TEXT) if next(text.iterancestors(_PARAGRAPH)) is paragraph]


def _is_inside_a_code(field: TemplateField) -> bool:
    """Whether Word's own marks (of a link, a date, a reference) are open where the field begins."""
    opened, at = Counter[str](), 0
    own = set(_texts(field.paragraph))  # held, because lxml makes an element anew when no name refers to it
    for element in field.paragraph.iter(_TEXT, f"{_WORD}fldChar"):
        if element.tag != _TEXT:
            opened[element.get(f"{_WORD}fldCharType")] += 1
        elif element in own:
            at += len(element.text or "")
            if at > field.start:
                break
    return opened["begin"] != opened["end"]


def _refuse_elsewhere(word: Any) -> None:
    """Footnotes, comments, diagrams: fields there would stay as they are."""
    done = {word.part, *(part for _, part in _margins(word))}
    for part in word.part.package.iter_parts():
        if part in done or not part.partname.endswith(".xml") or "/glossary/" in part.partname:
            continue
        try:
            tree = parse_xml(part.blob)
        except SyntaxError:
            raise IngestError(f"--template: {part.partname.removeprefix('/')} is damaged, expected XML") from None
        for paragraph in tree.iter("{*}p"):
            text = "".join(one.text or "" for one in paragraph.iter("{*}t"))
            if FIELD.search(text):
                raise UsageError(
                    f"--template: a field in {part.partname.removeprefix('/')}, {brief(text)}, cannot be filled, "
                    "expected it in the text, a table, a text box, a header or a footer"
                )


def _put(field: TemplateField, value: str) -> tuple[Any, int]:
    """Write a value in the place of a field; the run in which the field begins lends its look.

    Returns:
        The piece of text that holds the value, and at which character.
    """
    holder: tuple[Any, int] | None = None
    at = 0
    for text in _texts(field.paragraph):
        own = text.text or ""
        if at < field.end and field.start < at + len(own):
            before, behind = own[: max(field.start - at, 0)], own[field.end - at :]
            text.text = before + (value if holder is None else "") + behind
            text.set(_PRESERVE, "preserve")
            holder = holder or (text, len(before))
        at += len(own)
    if holder is None:
        raise LookupError(field.name)
    return holder


def _open(field: TemplateField, written: Sequence[Any]) -> None:
    """Cut the paragraph at the field; what was written goes between the halves."""
    text, offset = _put(field, "")
    paragraph = field.paragraph
    rest = deepcopy(paragraph)
    rest.attrib.pop(_PARAGRAPH_ID, None)
    twin = list(rest.iter())[list(paragraph.iter()).index(text)]
    text.text, twin.text = text.text[:offset], text.text[offset:]
    for piece, top, before in ((text, paragraph, False), (twin, rest, True)):
        # The siblings before or behind the piece go, up to its paragraph.
        node = piece
        while node is not top:
            parent = node.getparent()
            for sibling in list(node.itersiblings(preceding=before)):
                if sibling.tag not in _PROPERTIES:
                    parent.remove(sibling)
            node = parent
    # A page layout ends with the last half of its paragraph.
    for layout in paragraph.xpath("./w:pPr/w:sectPr"):
        layout.getparent().remove(layout)
    last = paragraph
    for element in (*written, *(() if _is_empty(rest) else (rest,))):
        last.addnext(element)
        last = element


def _is_empty(paragraph: Any) -> bool:
    text = "".join(one.text or "" for one in _texts(paragraph))
    return not text.strip() and not any(one.tag in _KEPT for one in paragraph.iter())


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
    # Without the times of its parts: one document is the same bytes whenever it is written.
    undated = io.BytesIO()
    with zipfile.ZipFile(buffer) as package, zipfile.ZipFile(undated, "w") as plain:
        for part in package.namelist():
            plain.writestr(zipfile.ZipInfo(part), package.read(part), zipfile.ZIP_DEFLATED)
    return undated.getvalue()


def opened(template: str | Path | None) -> Any:
    """A Word file to write in: a copy of the template, or an empty one.

    Raises IngestError: the template is not a Word document.
    """
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
    return _settled(made)


def _settled(made: bytes) -> bytes:
    """A PDF whose date is that of `now`, and whose two sums are of its content: LibreOffice makes them of the moment.

    >>> first, other = (b"/CreationDate(D:%d) trailer /ID [ <%032X> ]" % (20260101000000 + n, n) for n in (1, 2))
    >>> len(_settled(first)) == len(first), _settled(first)[-36:] == _settled(other)[-36:] != first[-36:]
    (True, True)
    """
    date = time.strftime("(D:%Y%m%d%H%M%S", time.gmtime(now())).encode()
    body, trailer, sums = re.sub(rb"(?<=/CreationDate)\(D:[0-9]{14}", date, made).rpartition(b"trailer")
    own = sha256(body)[:32].upper().encode()
    return body + trailer + re.sub(rb"(?<=<)[0-9A-F]{32}(?=>)|(?<=/DocChecksum /)[0-9A-F]{32}", own, sums)
