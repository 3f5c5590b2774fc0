"""The document of a page, for readers who file it: its tables and lists, one section each."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Table
from ingest.reports.page import Page, Section


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


def _blocks(section: Section) -> Iterator[Block]:
    if section.rows:
        yield Table(section.title or "Verdict", section.columns, section.rows)
    if section.lines:
        yield Bullets(section.lines)
