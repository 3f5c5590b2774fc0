"""The document of a verdict, for the file of a purchase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.configuration import decimal_units
from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Table
from ingest.reports.pages.acceptance import verdict_page, verdict_word
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.verdict import Verdict
    from ingest.reports.page import Section


@decimal_units()
def verdict_document(answer: Verdict) -> Document:
    """The sections of the page as a document, the word in its title."""
    page = verdict_page(answer)
    sections = tuple(DocumentSection("", section.title, tuple(_blocks(section))) for section in page.sections)
    title = f"{verdict_word(answer)}: acceptance of {answer.manifest.site}"
    rehearsal = "Rehearsal on one machine, which proves no requirement of the whole system. " if answer.rehearsal else ""
    return Document(title, f"{rehearsal}{answer.counted}. Made by ingest {__version__}.", sections)


def _blocks(section: Section) -> Iterator[Block]:
    if section.rows:
        heads = tuple(head.capitalize() for head in section.columns)
        yield Table(section.title, heads, section.rows)
    if section.lines:
        yield Bullets(section.lines)
