"""The document of a page, for readers who file it: its tables and lists, one section each; of a history, with charts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.accounting.result import days
from ingest.configuration import decimal_units
from ingest.reports.charts.chart import lacking
from ingest.reports.charts.usage import charts_of_usage
from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.labels import capitalised
from ingest.reports.page import Page, Section
from ingest.reports.pages.acceptance import verdict_page, verdict_word
from ingest.reports.pages.plan import usage_page
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.acceptance.verdict import Verdict
    from ingest.accounting.result import Usage

#: What a table of offers shows, by the first word of its section.
CAPTIONS = {
    "": "Verdict, lines met, score, changed lines and notes of each offer",
    "Ranking": "Points of each offer by the criteria of the award, and its cost over the planned years",
    "Lines": "Required and offered values",
    "Compliance": "Verdict on each line",
    "Margins": "Offered over required, less one",
    "Targets": "Share earned of each target, and the mean by weight",
}


@decimal_units()
def response_document(page: Page, subtitle: str) -> Document:
    """The page of one offer or of several as a document; the subtitle says what it was made from."""
    sections = []
    for number, section in enumerate(page.sections, start=1):
        caption = CAPTIONS[section.title.partition(" ")[0].rstrip(",")] if section.rows else ""
        blocks = tuple(_blocks(section, caption, section.columns))
        sections.append(DocumentSection(f"part-{number}", section.title or "Verdict", blocks))
    return Document(page.title, subtitle, tuple(sections))


@decimal_units()
def verdict_document(answer: Verdict) -> Document:
    """The sections of the page of a verdict as a document, the word in its title."""
    sections = [
        DocumentSection("", one.title, tuple(_blocks(one, one.title, tuple(head.capitalize() for head in one.columns))))
        for one in verdict_page(answer).sections
    ]
    title = f"{verdict_word(answer)}: acceptance of {answer.manifest.site}"
    rehearsal = "Rehearsal on one machine, which proves no requirement of the whole system. " if answer.rehearsal else ""
    return Document(title, f"{rehearsal}{answer.counted}. Made by ingest {__version__}.", tuple(sections))


def _blocks(section: Section, caption: str, heads: tuple[str, ...]) -> Iterator[Block]:
    if section.rows:
        yield Table(caption, heads, section.rows)
    if section.lines:
        yield Bullets(section.lines)


#: Captions of the figures, in the order of the charts.
FIGURES = ("GPUs in use over time", "GPU-hours by class", "Runs by size", "A week by hour")
HEADS = {"": ("Quantity", "Value"), "Known": ("Of the", "Share")}
#: Names of sections, by the title of the part of the page.
TITLES = {"": "What was counted"}


@decimal_units()
def usage_document(answer: Usage) -> Document:
    """The report of a history."""
    begin, finish = answer.window
    page = usage_page(answer)
    sections = []
    for number, section in enumerate(page.sections, start=1):
        title = TITLES.get(section.title, section.title)
        one = section._replace(rows=tuple((capitalised(str(first)), *more) for first, *more in section.rows))
        blocks = _blocks(one, title, HEADS.get(one.title) or tuple(map(capitalised, one.columns)))
        sections.append(DocumentSection(f"part-{number}", title, tuple(blocks)))
    why = lacking()
    figures: tuple[Block, ...] = (Paragraph(f"The document has no charts, {why}."),)
    if not why:
        figures = tuple(Figure(chart, caption) for chart, caption in zip(charts_of_usage(answer), FIGURES, strict=False))
    sections.insert(1, DocumentSection("charts", "Charts", figures))
    local = "; times are those of the site's clock" if answer.runs.local else ""
    said = f"From an accounting history of {days(begin)} to {days(finish)}{local}. Made by ingest {__version__}."
    return Document(f"{page.title}: {page.answer}", said, tuple(sections))
