"""A buyer's own .docx, filled: every field between double braces is replaced, or refused with its place.

Word distributes the text of a paragraph over runs, so that a field is searched in the text of the whole
paragraph: in the text, a table, a text box, a header. All fields are checked before the first one is filled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ingest.errors import IngestError, UsageError, brief
from ingest.reports.document.model import Document
from ingest.reports.document.template_fields import FIELD, WHOLE, check_field
from ingest.reports.document.word_blocks import WordWriter
from ingest.reports.document.word_styles import width_at

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_PARAGRAPH_ID = "{http://schemas.microsoft.com/office/word/2010/wordml}paraId"
_PARAGRAPH, _TEXT, _TEXT_BOX, _TABLE = (f"{_WORD}{tag}" for tag in ("p", "t", "txbxContent", "tbl"))
#: What says how a part looks; it belongs to both halves of one that is cut.
_PROPERTIES = {f"{_WORD}{tag}" for tag in ("pPr", "rPr", "sdtPr")}
#: What makes a paragraph worth keeping although it has no text.
_KEPT = {f"{_WORD}{tag}" for tag in ("drawing", "pict", "object", "sectPr", "fldChar", "br")}


class TemplateField(NamedTuple):
    """A field of the template.

    Attributes:
        name: between the braces.
        start, end: its characters in the text of the paragraph.
        paragraph: that contains it.
        place: of the paragraph, in words.
        holds_sections: whether a section can be inserted there.
    """

    name: str
    start: int
    end: int
    paragraph: Any
    place: str
    holds_sections: bool


def fill(word: Any, document: Document, printed: bool = False) -> bool:
    """Replace each field of an opened template; tells whether there is any.

    Args:
        word: the template.
        document: what its fields ask for.
        printed: whether it becomes a PDF.

    Raises:
        UsageError: a field that does not exist, that is not closed, or that cannot be filled at its place.
    """
    values = dict(document.facts)
    sections = [WHOLE, *(section.name for section in document.sections)]
    fields = list(fields_of(word))
    for field in fields:
        check_field(field.name, [*sections, *values], field.place, document.kind)
        if field.name in sections:
            _check_room(field)
    _refuse_elsewhere(word)
    # A paragraph is filled from its end, so that the places of the fields before stay as they are.
    for field in reversed(fields):
        if field.name in values:
            _put(field, values[field.name])
        else:
            _open(field, WordWriter(word, width_at(field.paragraph), printed).part(document, field.name))
    _drop_emptied([field.paragraph for field in fields if field.name in sections])
    return bool(fields)


def fields_of(word: Any) -> Iterator[TemplateField]:
    """Every field of an opened template, in the text, and in headers and footers.

    Raises:
        UsageError: a field that is not closed.
    """
    yield from _fields_below(word.element.body, "the text", holds_sections=True)
    for name, part in _margins(word):
        yield from _fields_below(part.element, f"a {name}", holds_sections=False)


def _margins(word: Any) -> Iterator[tuple[str, Any]]:
    """Headers and footers, those of first and even pages too."""
    for relation in word.part.rels.values():
        name = relation.reltype.rpartition("/")[2]
        if name in ("header", "footer"):
            yield name, relation.target_part


def _fields_below(root: Any, place: str, holds_sections: bool) -> Iterator[TemplateField]:
    for paragraph in root.iter(_PARAGRAPH):
        text = "".join(one.text or "" for one in _texts(paragraph))
        if "{{" in text:
            above = {ancestor.tag for ancestor in paragraph.iterancestors()}
            boxed = _TEXT_BOX in above
            where = "a text box" if boxed else f"a table of {place}" if _TABLE in above else place
            shown = f"{where}, {brief(text)}"
            _check_closed(text, shown)
            for found in FIELD.finditer(text):
                yield TemplateField(found[1].strip(), *found.span(), paragraph, shown, holds_sections and not boxed)


def _texts(paragraph: Any) -> list[Any]:
    """The pieces of a paragraph's own text; a text box that hangs on it has paragraphs of its own."""
    return [text for text in paragraph.iter(_TEXT) if next(text.iterancestors(_PARAGRAPH)) is paragraph]


def _check_closed(text: str, place: str) -> None:
    if "{{" in FIELD.sub("", text):
        raise UsageError(f"--template: a field is not closed in {place}, expected '}}}}' in the same paragraph")


def _check_room(field: TemplateField) -> None:
    """A section has tables and pictures, and ends the paragraph of its field."""
    if not field.holds_sections:
        raise UsageError(
            f"--template: '{{{{{field.name}}}}}' is a section in {field.place}, expected it in the text or a table"
        )
    if _is_inside_a_code(field):
        raise UsageError(
            f"--template: '{{{{{field.name}}}}}' is a section inside one of Word's own fields in {field.place}, "
            "expected it in plain text"
        )


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
        for paragraph in _parsed(part).iter("{*}p"):
            text = "".join(one.text or "" for one in paragraph.iter("{*}t"))
            if FIELD.search(text):
                raise UsageError(
                    f"--template: a field in {part.partname.removeprefix('/')}, {brief(text)}, cannot be filled, "
                    "expected it in the text, a table, a text box, a header or a footer"
                )


def _parsed(part: Any) -> Any:
    from docx.oxml import parse_xml

    try:
        return parse_xml(part.blob)
    except SyntaxError:
        raise IngestError(f"--template: {part.partname.removeprefix('/')} is damaged, expected XML") from None


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
    _drop_beside(text, paragraph, before=False)
    _drop_beside(twin, rest, before=True)
    _leave_section_break(paragraph)
    last = paragraph
    for element in (*written, *(() if _is_empty(rest) else (rest,))):
        last.addnext(element)
        last = element


def _drop_beside(node: Any, top: Any, before: bool) -> None:
    """Remove the siblings before or behind a node, up to its paragraph."""
    while node is not top:
        parent = node.getparent()
        for sibling in list(node.itersiblings(preceding=before)):
            if sibling.tag not in _PROPERTIES:
                parent.remove(sibling)
        node = parent


def _leave_section_break(paragraph: Any) -> None:
    """A page layout ends with the last half of its paragraph."""
    for layout in paragraph.xpath("./w:pPr/w:sectPr"):
        layout.getparent().remove(layout)


def _is_empty(paragraph: Any) -> bool:
    text = "".join(one.text or "" for one in _texts(paragraph))
    return not text.strip() and not any(one.tag in _KEPT for one in paragraph.iter())


def _drop_emptied(paragraphs: Sequence[Any]) -> None:
    """A paragraph that held nothing but sections goes."""
    for paragraph in paragraphs:
        if paragraph.getparent() is not None and _is_empty(paragraph):
            paragraph.getparent().remove(paragraph)
