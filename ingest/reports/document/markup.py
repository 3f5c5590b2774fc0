"""A document as one file, charts inside: HTML without scripts or anything loaded from elsewhere, or Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from ingest.reports.document.model import BLANK, Block, Bullets, Document, Figure, Paragraph, Subheading, Table
from ingest.text import all_visible

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
