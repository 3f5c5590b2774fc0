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
    """A table.

    Attributes:
        caption: what it shows.
        heads: names of the columns, with units.
        rows: text by column.
        widths: shares of the page's width.
        turned: whether quantities are rows, so that each column but the first holds values.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...] = ()
    turned: bool = False

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
    """The first page: what is bought, by whom, until when.

    Attributes:
        kind: of the document.
        purchase: one sentence that says in figures what is bought.
        figures: its main values, each with what it is.
        facts: the lines of the cover; an empty value is a blank, which is marked.
    """

    kind: str
    purchase: str
    figures: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class DocumentSection(NamedTuple):
    """A numbered section; `name` is its field in a template, `letter` makes it an appendix."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    letter: str = ""


class Document(NamedTuple):
    """A document.

    Attributes:
        title, subtitle: what it is, and from what it was made.
        sections: in order, numbered from one.
        facts: single values by the name of their field in a template.
        cover: the first page; without one, the document begins with its title and subtitle.
        kind: of the document, a key of `document.yaml`; empty for one that fills no template.
    """

    title: str
    subtitle: str
    sections: tuple[DocumentSection, ...]
    facts: tuple[tuple[str, str], ...] = ()
    cover: Cover | None = None
    kind: str = ""

    def numbered(self) -> Iterator[tuple[str, DocumentSection]]:
        """The sections with their headings."""
        for number, section in enumerate(self.sections, start=1):
            yield f"{f'Appendix {section.letter}:' if section.letter else number} {section.title}", section
