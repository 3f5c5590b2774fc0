"""What a buyer's template leaves out of the document, and what it holds twice: an omission binds nobody to anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.reports.document.fields import WHOLE, listed
from ingest.reports.document.model import Document, Paragraph, Section
from ingest.reports.document.word import opened
from ingest.reports.document.word_template import fields_of

#: How a requirement begins: its id and its priority.
_STATED = re.compile(r"(?P<id>R-[A-Z]+-\d+) \((?P<priority>[^)]*)\)\.")


def template_warnings(document: Document, template: str | Path) -> tuple[str, ...]:
    """What to tell the buyer about a document made from a template; nothing where it holds everything once.

    Raises:
        IngestError: the template is not readable.
        UsageError: a field in it is not closed.
    """
    names = [field.name for field in fields_of(opened(template))]
    return tuple(f"--template: '{template}' {line}" for line in (*left_out(document, names), *repeated(document, names)))


def left_out(document: Document, names: Sequence[str]) -> Iterator[str]:
    """The sections, and the requirements stated there, that no field of the template brings.

    Args:
        document: the whole of it.
        names: the template's fields; without any, the whole document goes to the template's end.

    >>> stated = Section("capacity", "Capacity", (Paragraph("The system shall …", "R-CAP-01 (mandatory)."),))
    >>> list(left_out(Document("", "", (Section("scope", "Scope", ()), stated)), ["title", "scope"]))
    ['leaves out R-CAP-01 (mandatory): add {{capacity}} or {{all}}']
    """
    if not names or WHOLE in names:
        return
    absent = [section for section in document.sections if section.name not in names]
    requirements = [line for section in absent for line in _stated(section, names)]
    if absent:
        what = ", ".join(requirements) or f"the section{'s' if len(absent) > 1 else ''} {_titles(absent)}"
        yield f"leaves out {what}: add {listed(section.name for section in absent)} or {listed([WHOLE])}"


def repeated(document: Document, names: Sequence[str]) -> Iterator[str]:
    """The sections that the filled document holds more than once.

    >>> list(repeated(Document("", "", (Section("scope", "Scope", ()),)), ["all", "scope"]))
    ['holds more than once: Scope']
    """
    counts = Counter(names)
    twice = [section for section in document.sections if counts[section.name] + counts[WHOLE] > 1]
    if twice:
        yield f"holds more than once: {_titles(twice)}"


def _stated(section: Section, names: Sequence[str]) -> Iterator[str]:
    """The requirements of a section whose value no field of the template names either."""
    for block in section.blocks:
        found = _STATED.fullmatch(block.lead) if isinstance(block, Paragraph) else None
        if found is not None and found["id"] not in names:
            yield f"{found['id']} ({found['priority']})"


def _titles(sections: Sequence[Section]) -> str:
    return "; ".join(section.title for section in sections)
