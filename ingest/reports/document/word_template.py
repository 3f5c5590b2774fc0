"""A buyer's own .docx, filled: every field between double braces is replaced, or refused with its place.

Word distributes the text of a paragraph over runs, so that a field is searched in the text of the whole
paragraph: in the text, a table, a text box, a header. All fields are checked before the first one is filled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.reports.document.model import Document
from ingest.reports.document.word_blocks import WordWriter, width_at
from ingest.reports.labels import texts
from ingest.requirement import GROUPS, said_of

#: Sections of each document by the name of their field, in order, with their titles for a site that has all kinds of load.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    kind: {name: said_of(look["title"], frozenset(GROUPS)) for name, look in texts("document")[kind]["sections"].items()}
    for kind in ("vendor", "buyer")
}
#: Why a document has no field of the other one.
OTHER = {
    "vendor": "is a section of the buyer's report, which vendors do not receive",
    "buyer": "is a section of the vendors' document, which --for-vendor writes",
}
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
    from docx.oxml import parse_xml

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
