"""Shared parts of the generated pages: tables, pages, values with their grade, and the shipped catalogs without overlays."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ingest.catalog.records import Entry, Value
from ingest.catalog.store import Catalog
from ingest.units import display, physical

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
WIDTH = 92
# Neither the terminal nor the catalog overlays of the user may affect the documentation.
os.environ |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "XDG_CONFIG_HOME": str(DOCS / "_build" / "none")}
for name in ("APPDATA", "INGEST_CATALOGS"):
    os.environ.pop(name, None)

CATALOG = Catalog()
NOTE = "<!-- Written by docs/generate.py; do not edit. -->"
GRADES = "The letter after a value is its grade: m measured, p published, v vendor, d derived, a assumed."
SHOW = "`ingest catalog show {kind} ID` prints an entry in full, with the source and the place of each value."
UNBROKEN: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; pipes and line breaks in cells are escaped."""
    heads = list(columns)
    cells = [["" if cell is None else str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *cells])


def page(title: str, *parts: str) -> str:
    """A generated page."""
    return "\n\n".join([f"# {title}", NOTE, *(_filled(part) for part in parts if part)]) + "\n"


def _filled(part: str) -> str:
    """Paragraphs at most 118 columns wide; tables, headings, lists and code unchanged."""
    paragraphs = part.split("\n\n")
    if any(paragraph.startswith("```") for paragraph in paragraphs):
        return part
    return "\n\n".join(item if item[0] in "#|-(" else textwrap.fill(item, 118, **UNBROKEN) for item in paragraphs)


def shown(value: Value | None) -> str:
    """A catalog value for a cell: decimal prefix and grade."""
    return (
        f"{display(value.value, physical(value.unit), binary=False)} {value.grade[0]}".replace(" ", "\u00a0") if value else ""
    )


def entry_rows(entries: Iterable[Entry], *fields: str | Callable[[Any], object]) -> list[tuple[object, ...]]:
    """A row for each entry: its id and fields, catalog values with their grade."""

    def cell(one: Entry, field: str | Callable[[Any], object]) -> object:
        value = getattr(one, field) if isinstance(field, str) else field(one)
        return shown(value) if isinstance(value, Value) else value

    return [(f"`{one.id}`", *(cell(one, field) for field in fields)) for one in entries]


def limits(value: Value | None) -> str:
    """The range of a catalog value."""
    return f"{value.low:g} – {value.high:g}" if value and value.low is not None and value.high is not None else ""


def missing_part(entries: Iterable[Entry]) -> str:
    """Missing values of entries, with the reason or what to supply."""
    rows = [(f"`{one.id}`", f"`{name}`", why) for one in entries for name, why in one.missing.items()]
    intro = "The tool does not invent unpublished numbers: it names what is missing and how to supply it."
    return f"## Missing\n\n{intro}\n\n" + table(("id", "value", "reason, or what to supply"), rows) if rows else ""


def aliases_part(kind: str) -> str:
    """Everyday names."""
    rows = [(f"`{alias}`", f"`{name}`") for alias, name in sorted(CATALOG.aliases.get(kind, {}).items())]
    return "## Everyday names\n\n" + table(("name", "entry"), rows) if rows else ""


def notes_part(entries: Iterable[Entry]) -> str:
    """Notes of entries."""
    rows = [(f"`{one.id}`", note) for one in entries for note in one.notes]
    return "## Notes\n\n" + table(("id", "note"), rows) if rows else ""
