"""The parts of a document, which every rendering prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ingest.reports.charts.chart import Chart

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
