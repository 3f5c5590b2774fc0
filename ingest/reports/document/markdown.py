"""A document as Markdown: one file, charts inside; text from the user stays text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator

from ingest.reports.document.model import BLANK, Block, Bullets, Document, Figure, Paragraph, Subheading, Table
from ingest.text import all_visible

#: What Markdown or the HTML inside it would take for markup.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~$])")
#: What begins a list, a heading or a quotation at the start of a line.
_BEGINNING = re.compile(r"^(\s*)([#+>-]|\d+[.)])(?=\s|$)")


def as_markdown(document: Document) -> str:
    """Render; ends with a newline."""
    document = all_visible(document)
    lines = [f"# {plain(document.title)}", "", *_cover(document), plain(document.subtitle)]
    if document.cover is not None:
        lines += ["", *(f"- [{plain(heading)}](#{anchor(heading)})" for heading, _ in document.numbered())]
    for heading, section in document.numbered():
        lines += ["", f"## {plain(heading)}"]
        for block in section.blocks:
            lines += ["", *_block(block)]
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


def _block(block: Block) -> Iterator[str]:
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
