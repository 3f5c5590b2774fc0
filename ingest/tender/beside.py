"""What stands beside the cells of a workbook that came back: text boxes, pictures, page headers, input messages, links.

None of it is an answer, and all of it is seen by whoever opens the workbook: a condition may stand there.
"""

from __future__ import annotations

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

#: What the sheets of a report print below each page.
FOOTER = "&L&A&RPage &P of &N"
#: Parts below one sheet that are read.
MOST_BELOW = 100
#: Kinds of parts that programs write when they save, and that show nothing of their own.
SILENT = frozenset({
    "officeDocument", "worksheet", "styles", "theme", "sharedStrings", "calcChain", "sheetMetadata", "metadata", "person",
    "core-properties", "extended-properties", "custom-properties", "thumbnail", "printerSettings", "chartStyle",
    "chartColorStyle", "customXml", "customXmlProps", "classificationlabels", "comments", "drawing", "chart",
})  # fmt: skip
#: What codes of a header or a footer stand for nothing but a place, a font, or a number that programs fill in.
_CODES = re.compile(r'&"[^"]*"|&K[0-9A-Fa-f]{6}|&K\d\d[+-]\d{3}|&\d+|&[A-Za-z]')
_PRINTED = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)\b[^>]*>(.*?)</", re.DOTALL)
_PROMPT = re.compile(rb"""\bprompt(?:Title)?=(?:"([^"]+)"|'([^']+)')""")
_VALIDATION = re.compile(rb"<(?:\w+:)?dataValidation\b[^>]*>")
_CONTROL = re.compile(r"""ObjectType=["'](\w+)["']""")
_BOX = re.compile(r"<(?:\w+:)?textbox\b.*?</(?:\w+:)?textbox>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
#: Elements of a drawing that are no frame of a chart.
SHAPES = {"sp": "text box", "cxnSp": "line", "pic": "picture", "contentPart": "ink"}


class Link(NamedTuple):
    """How one part of a package names another: what that is, where it lies, and whether it lies outside."""

    kind: str
    target: str
    outside: bool


def beside(package: zipfile.ZipFile, part: str, data: bytes) -> tuple[str, ...]:
    """What stands beside the cells of a sheet, in words, each once; charts do not count, programs write their titles anew.

    Args:
        package: the workbook.
        part: the name of the sheet's part.
        data: what the part holds.
    """
    links = list(_below(package, part))
    notes = [*_printed(data), *_prompts(data), *(note for link in links for note in _of_link(package, link))]
    return tuple(dict.fromkeys(notes))


def beside_all(package: zipfile.ZipFile) -> tuple[str, ...]:
    """What the workbook as a whole carries that no report does: links to other files, programs, sheets of other kinds."""
    links = [link for part in ("", "xl/workbook.xml") for link in links_of(package, part)]
    kinds = dict.fromkeys(link.kind for link in links if link.kind not in SILENT)
    return tuple(f"the workbook carries a part that was not sent: {kind}" for kind in kinds)


def links_of(package: zipfile.ZipFile, part: str) -> Iterator[Link]:
    """The parts that a part of the package names; those of the package itself for none."""
    folder, name = posixpath.split(part)
    listed = posixpath.join(folder, "_rels", f"{name}.rels")
    if listed not in package.namelist():
        return
    for link in ElementTree.fromstring(package.read(listed)):
        target, kind = link.get("Target", ""), link.get("Type", "").rpartition("/")[2]
        outside = link.get("TargetMode") == "External"
        yield Link(kind, target if outside else posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/"), outside)


def _below(package: zipfile.ZipFile, part: str) -> Iterator[Link]:
    """All that a sheet names, and what that names, each once."""
    waiting, told = [part], {part}
    while waiting and len(told) <= MOST_BELOW:
        for link in links_of(package, waiting.pop()):
            if link.target not in told:
                told.add(link.target)
                yield link
                if not link.outside:
                    waiting.append(link.target)


def _of_link(package: zipfile.ZipFile, link: Link) -> Iterator[str]:
    if link.outside:
        yield f"link to {link.target}"
    elif link.kind == "drawing":
        yield from _shapes(package, link.target)
    elif link.kind == "vmlDrawing":
        yield from _controls(package, link.target)
    elif link.kind == "threadedComment":
        yield from (f"comment: {text}" for text in _texts(package, link.target, "text"))
    elif link.kind not in SILENT:
        yield "picture" if link.kind == "image" else f"a part that was not sent: {link.kind}"


def _shapes(package: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Text boxes and pictures of a drawing."""
    for shape in _elements(package, part):
        kind = SHAPES.get(_plain(shape.tag))
        if kind is not None:
            text = " ".join(found.text or "" for found in shape.iter() if _plain(found.tag) == "t").strip()
            yield f"{kind}: {text}" if text else kind


def _controls(package: zipfile.ZipFile, part: str) -> Iterator[str]:
    """Buttons and boxes of the old kind of drawing, which comments are drawn with too."""
    written = package.read(part).decode("utf-8", "replace") if part in package.namelist() else ""
    yield from (f"form control: {kind}" for kind in _CONTROL.findall(written) if kind != "Note")
    texts = (html.unescape(_TAG.sub(" ", box)).strip() for box in _BOX.findall(written))
    yield from (f"text box: {' '.join(text.split())}" for text in texts if text)


def _texts(package: zipfile.ZipFile, part: str, tag: str) -> Iterator[str]:
    """The texts of a part."""
    yield from (one.text for one in _elements(package, part) if _plain(one.tag) == tag and one.text)


def _elements(package: zipfile.ZipFile, part: str) -> Iterator[ElementTree.Element]:
    if part in package.namelist():
        yield from ElementTree.fromstring(package.read(part)).iter()


def _plain(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def _printed(data: bytes) -> Iterator[str]:
    """Headers and footers that are not those of a report."""
    for found in _PRINTED.findall(data):
        text = html.unescape(found.decode("utf-8", "replace"))
        if _spoken(text) not in ("", _spoken(FOOTER)):
            yield f"header or footer: {_spoken(text)}"


def _spoken(printed: str) -> str:
    """The words of a header or footer.

    >>> _spoken("&L&A&RPage &P of &N"), _spoken('&C&"Arial,Bold"&12We sell && deliver')
    ('Page of', 'We sell & deliver')
    """
    return " ".join("&".join(_CODES.sub(" ", part) for part in printed.split("&&")).split())


def _prompts(data: bytes) -> Iterator[str]:
    """Messages that are shown when a cell is chosen; no report has any."""
    for rule in _VALIDATION.findall(data):
        words = (one or other for one, other in _PROMPT.findall(rule))
        text = " ".join(html.unescape(word.decode("utf-8", "replace")) for word in words).strip()
        if text:
            yield f"input message: {text}"


def disguising_formats(package: zipfile.ZipFile, part: str = "xl/styles.xml") -> Iterator[str]:
    """Number formats of conditional formats: no report has any."""
    for style in _elements(package, part):
        if _plain(style.tag) == "dxf":
            yield from (one.get("formatCode", "") for one in style if _plain(one.tag) == "numFmt")
