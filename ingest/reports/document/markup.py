"""The parts of a document, which every rendering prints, and two of them: one file of HTML or Markdown, charts inside.

The HTML has no scripts and nothing loaded from elsewhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from typing import NamedTuple

from ingest.reports.charts.chart import Chart
from ingest.text import all_visible

#: A number with its unit, its binary form, or the other end of its range.
_NUMBER = re.compile(r"-?\d[\d,.]*( ?(?!\d)[%\w/]+)?( \([^)]*\))?( to -?\d[\d,.]*( ?(?!\d)[%\w/]+)?)?")


class Paragraph(NamedTuple):
    """Plain text after a bold `lead`; `small` text explains the paragraph above."""

    text: str
    lead: str = ""
    small: bool = False


class Bullets(NamedTuple):
    """A list of plain lines."""

    lines: tuple[str, ...]


class Table(NamedTuple):
    """A table."""

    caption: str  # what it shows
    heads: tuple[str, ...]  # names of the columns, with units
    rows: tuple[tuple[str, ...], ...]  # text by column
    widths: tuple[float, ...] = ()  # shares of the page's width
    turned: bool = False  # whether quantities are rows, so that each column but the first holds values

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold values, with or without units: they are aligned on the right.

        >>> Table("", ("Id", "Value"), (("R-1", "4 GB/s (3.7 GiB/s)"), ("R-2", ""))).numeric
        (False, True)
        """
        if self.turned:
            return (False, *(True for _ in self.heads[1:]))
        columns = ([row[place] for row in self.rows if row[place]] for place in range(len(self.heads)))
        return tuple(bool(written) and all(map(_NUMBER.fullmatch, written)) for written in columns)


class Figure(NamedTuple):
    """A chart; the caption names what is drawn, the title of the chart states the finding."""

    chart: Chart
    caption: str = ""


class DerivationListing(NamedTuple):
    """Lines with significant indentation: a derivation."""

    title: str
    lines: tuple[str, ...]


class Subheading(NamedTuple):
    """A heading within a section, without a number."""

    text: str


Block = Paragraph | Bullets | Table | Figure | DerivationListing | Subheading

#: What a cover shows where the buyer has given nothing.
BLANK = "to be entered by the Buyer"


class Cover(NamedTuple):
    """The first page: what is bought, by whom, until when."""

    kind: str  # of the document
    purchase: str  # one sentence that says in figures what is bought
    figures: tuple[tuple[str, str], ...] = ()  # its main values, each with what it is
    facts: tuple[tuple[str, str], ...] = ()  # the lines of the cover; an empty value is a blank, which is marked


class DocumentSection(NamedTuple):
    """A numbered section; `name` is its field in a template, `letter` makes it an appendix."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    letter: str = ""


class Document(NamedTuple):
    """A document."""

    #: title, subtitle: what it is, and from what it was made
    title: str
    subtitle: str
    sections: tuple[DocumentSection, ...]  # in order, numbered from one
    facts: tuple[tuple[str, str], ...] = ()  # single values by the name of their field in a template
    cover: Cover | None = None  # the first page; without one, the document begins with its title and subtitle
    kind: str = ""  # of the document, a key of `document.yaml`; empty for one that fills no template

    def numbered(self) -> Iterator[tuple[str, DocumentSection]]:
        """The sections with their headings."""
        for number, section in enumerate(self.sections, start=1):
            yield f"{f'Appendix {section.letter}:' if section.letter else number} {section.title}", section


#: An id of a requirement or of a test, which no line may end within.
_ID = re.compile(r"[RT]-[A-Z]+-\d+")
#: What Markdown or the HTML inside it would take for markup.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~$])")
#: What begins a list, a heading or a quotation at the start of a line.
_BEGINNING = re.compile(r"^(\s*)([#+>-]|\d+[.)])(?=\s|$)")


def as_html(document: Document) -> str:
    """Render; whatever the user wrote is escaped."""
    document = all_visible(document)
    style = (files("ingest.reports.document") / "document.css").read_text(encoding="utf-8")
    title = escape(document.title)
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f'<!doctype html>\n<html lang="en"><head>{meta}<title>{title}</title><style>\n{style}</style></head><body>'
    parts = [head, *_beginning(document, title)]
    entries = (f'<li><a href="#{section.name}">{escape(heading)}</a></li>' for heading, section in document.numbered())
    parts.append(f"<nav><ul>{''.join(entries)}</ul></nav>")
    for heading, section in document.numbered():
        parts.append(f'<section id="{section.name}"><h2>{escape(heading)}</h2>')
        parts += [line for block in section.blocks for line in _html_block(block)]
        parts.append("</section>")
    return "\n".join([*parts, "</body></html>", ""])


def _beginning(document: Document, title: str) -> Iterator[str]:
    """The cover, or the title alone, and the subtitle."""
    if document.cover is None:
        yield f"<h1>{title}</h1>"
    else:
        yield f'<header><p class="kind">{escape(document.cover.kind)}</p><h1>{title}</h1>'
        yield f'<p class="purchase" dir="auto">{escape(document.cover.purchase)}</p>'
        figures = (f"<li><strong>{escape(value)}</strong> {escape(name)}</li>" for value, name in document.cover.figures)
        yield f'<ul class="figures">{"".join(figures)}</ul>'
        for name, value in document.cover.facts:
            shown = escape(value) if value else f"<mark>{BLANK}</mark>"
            yield f'<p class="fact" dir="auto"><strong>{escape(name)}</strong> {shown}</p>'
        yield "</header>"
    yield f'<p class="subtitle">{escape(document.subtitle)}</p>'


def _html_block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        lead = f"<strong>{escape(block.lead)}</strong> " if block.lead else ""
        kind = ' class="small"' if block.small else ""
        yield f'<p{kind} dir="auto">{lead}{escape(block.text)}</p>'
    elif isinstance(block, Subheading):
        yield f"<h3>{escape(block.text)}</h3>"
    elif isinstance(block, Bullets):
        lines = "".join(f'<li dir="auto">{escape(line)}</li>' for line in block.lines)
        yield f"<ul>{lines}</ul>"
    elif isinstance(block, Table):
        yield f'<div class="wide"><table><caption>{escape(block.caption)}</caption>'
        if block.widths:
            columns = "".join(f'<col style="width:{width / sum(block.widths) * 100:.1f}%">' for width in block.widths)
            yield f"<colgroup>{columns}</colgroup>"
        yield f"<thead><tr>{_cells('th', block.heads, block.numeric)}</tr></thead><tbody>"
        yield from (f"<tr>{_cells('td', row, block.numeric)}</tr>" for row in block.rows)
        yield "</tbody></table></div>"
    elif isinstance(block, Figure):
        yield f'<figure role="img" aria-label="{escape(block.chart.alt)}">{block.chart.svg()}'
        yield f"<figcaption>{escape(block.caption or block.chart.title)}</figcaption></figure>"
    else:
        text = "\n".join(block.lines)
        yield f"<p><strong>{escape(block.title)}</strong></p><pre>{escape(text)}</pre>"


def _cells(tag: str, texts: Iterable[str], numeric: Iterable[bool]) -> str:
    """The cells of a row; numbers and their heading are aligned at the right."""
    cells = []
    for text, number in zip(texts, numeric, strict=True):
        kind = ' class="number"' if number else ' class="id"' if _ID.fullmatch(text) else ' dir="auto"'
        cells.append(f"<{tag}{kind}>{escape(text)}</{tag}>")
    return "".join(cells)


def as_markdown(document: Document) -> str:
    """Render; ends with a newline."""
    document = all_visible(document)
    lines = [f"# {plain(document.title)}", "", *_cover(document), plain(document.subtitle)]
    if document.cover is not None:
        lines += ["", *(f"- [{plain(heading)}](#{anchor(heading)})" for heading, _ in document.numbered())]
    for heading, section in document.numbered():
        lines += ["", f"## {plain(heading)}"]
        for block in section.blocks:
            lines += ["", *_markdown_block(block)]
    return "\n".join(lines) + "\n"


def _cover(document: Document) -> Iterator[str]:
    """The purchase, its main values, and the lines of the cover."""
    if document.cover is not None:
        yield from (f"**{plain(document.cover.kind)}**", "", plain(document.cover.purchase), "")
        yield from (f"- **{plain(value)}** {plain(name)}" for value, name in document.cover.figures)
        yield from ("", _row(("", "")), "| --- | --- |")
        for name, value in document.cover.facts:
            yield _row((f"**{plain(name)}**", plain(value) or f"*{BLANK}*"), escape=False)
        yield ""


def anchor(heading: str) -> str:
    """The address of a heading within the page, as renderers of Markdown make it.

    >>> anchor("Appendix A: Terms, definitions, units")
    'appendix-a-terms-definitions-units'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    flat = " ".join(text.split())
    return _BEGINNING.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", flat))


def _markdown_block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield f"**{plain(block.lead)}** {plain(block.text)}" if block.lead else plain(block.text)
    elif isinstance(block, Subheading):
        yield f"### {plain(block.text)}"
    elif isinstance(block, Bullets):
        yield from (f"- {plain(line)}" for line in block.lines)
    elif isinstance(block, Table):
        yield from (f"*{plain(block.caption)}*", "", _row(block.heads))
        yield _row(("---:" if number else "---" for number in block.numeric), escape=False)
        yield from (_row(row) for row in block.rows)
    elif isinstance(block, Figure):
        picture = base64.b64encode(block.chart.svg().encode()).decode()
        yield f"![{plain(block.chart.alt)}](data:image/svg+xml;base64,{picture})"
        yield from ("", f"*{plain(block.caption or block.chart.title)}*")
    else:
        # A fence longer than any run of backticks inside.
        longest = max((len(run) for line in block.lines for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (f"**{plain(block.title)}**", "", f"{fence}text", *block.lines, fence)


def _row(cells: Iterable[str], escape: bool = True) -> str:
    return "| " + " | ".join(plain(cell) if escape else cell for cell in cells) + " |"
