"""The document of a page, for readers who file it: its tables and lists, one section each."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.configuration import decimal_units
from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Table
from ingest.reports.page import Page, Section


@decimal_units()
def response_document(page: Page, subtitle: str) -> Document:
    """The verdict on offers as a document.

    Args:
        page: of one offer or of several.
        subtitle: what it was made from.
    """
    sections = (
        DocumentSection(f"part-{number}", section.title or "Verdict", tuple(_blocks(section)))
        for number, section in enumerate(page.sections, start=1)
    )
    return Document(page.title, subtitle, tuple(sections))


#: What a table shows, by the first word of its section.
CAPTIONS = {
    "": "Verdict, lines met, score, changed lines and notes of each offer",
    "Lines": "Required and offered values",
    "Compliance": "Verdict on each line",
    "Margins": "Offered over required, less one",
    "Targets": "Share earned of each target, and the mean by weight",
}


def _blocks(section: Section) -> Iterator[Block]:
    if section.rows:
        yield Table(CAPTIONS[section.title.partition(" ")[0].rstrip(",")], section.columns, section.rows)
    if section.lines:
        yield Bullets(section.lines)
