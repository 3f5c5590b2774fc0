"""What a document is made of; every rendering prints the same parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ingest.reports.charts.chart import Chart


class Paragraph(NamedTuple):
    """Plain text; `lead` stands before it in bold; `small` is for what explains the paragraph above."""

    text: str
    lead: str = ""
    small: bool = False


class Bullets(NamedTuple):
    """A list of plain lines."""

    lines: tuple[str, ...]


class Table(NamedTuple):
    """A table.

    Attributes:
        caption: what it shows.
        heads: names of the columns, with units.
        rows: text by column.
        widths: shares of the page's width.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...] = ()


class Figure(NamedTuple):
    """A chart; the caption says what is drawn, the chart's own title what it shows."""

    chart: Chart
    caption: str = ""


class Listing(NamedTuple):
    """Lines whose indentation means something: a derivation."""

    title: str
    lines: tuple[str, ...]


Block = Paragraph | Bullets | Table | Figure | Listing


class Section(NamedTuple):
    """A numbered section; `name` is how a template asks for it, `letter` makes it an appendix."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    letter: str = ""


class Document(NamedTuple):
    """A document.

    Attributes:
        title, subtitle: what it is, and from what it was made.
        sections: in order; they are numbered from one.
        facts: single values that a template may ask for by name.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()

    def numbered(self) -> Iterator[tuple[str, Section]]:
        """The sections with their headings."""
        for number, section in enumerate(self.sections, start=1):
            yield f"{f'Appendix {section.letter}:' if section.letter else number} {section.title}", section
