"""The report of an accounting history: what was counted, charts, classes, what was left out, and what it does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.accounting.site_text import days
from ingest.configuration import decimal_units
from ingest.reports.charts.chart import lacking
from ingest.reports.charts.usage import charts_of_usage
from ingest.reports.document.model import Block, Bullets, Document, DocumentSection, Figure, Paragraph, Table
from ingest.reports.pages.usage import usage_page
from ingest.version import __version__

if TYPE_CHECKING:
    from ingest.accounting.result import Usage

#: Captions of the figures, in the order of the charts.
CAPTIONS = ("GPUs in use over time", "GPU-hours by class", "Runs by size", "A week by hour")
HEADS = {"": ("Quantity", "Value"), "Known": ("Of the GPU-hours, or of the allocations", "Share")}
#: Names of sections, by the title of the part of the page.
TITLES = {"": "What was counted"}


@decimal_units()
def usage_document(answer: Usage) -> Document:
    """The report of a history."""
    begin, finish = answer.window
    page = usage_page(answer)
    sections = [
        DocumentSection(
            f"part-{number}", TITLES.get(one.title, one.title), tuple(_blocks(one.title, one.columns, one.rows, one.lines))
        )
        for number, one in enumerate(page.sections, start=1)
    ]
    why = lacking()
    figures: tuple[Block, ...] = (Paragraph(f"The document has no charts, {why}."),)
    if not why:
        figures = tuple(Figure(chart, caption) for chart, caption in zip(charts_of_usage(answer), CAPTIONS, strict=False))
    sections.insert(1, DocumentSection("charts", "Charts", figures))
    local = "; times are those of the site's clock" if answer.runs.local else ""
    said = f"From an accounting history of {days(begin)} to {days(finish)}{local}. Made by ingest {__version__}."
    return Document(f"{page.title}: {page.answer}", said, tuple(sections))


def _blocks(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], lines: tuple[str, ...]) -> Iterator[Block]:
    if rows:
        heads = HEADS.get(title) or tuple(head[:1].upper() + head[1:] for head in columns)
        yield Table(TITLES.get(title, title), heads, rows)
    if lines:
        yield Bullets(lines)
