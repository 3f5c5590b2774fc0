"""The decisions by number, from the headings of their pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common import DOCS, table

PAGES = DOCS / "decisions"
HEADING = re.compile(r"^## (\d{4}) (.+)$", re.MULTILINE)


def decisions() -> Iterator[tuple[str, str, str]]:
    """Number, title and page of each decision."""
    for path in sorted(PAGES.glob("*.md")):
        for number, title in HEADING.findall(path.read_text(encoding="utf-8")):
            yield number, title, path.name


def by_number() -> str:
    """Every decision with its place; the anchor is the one that headings have on the web and in the handbook."""
    rows = []
    for number, title, name in sorted(decisions()):
        anchor = re.sub(r"[^\w -]", "", f"{number} {title}".lower()).replace(" ", "-")
        rows.append((number, f"[{title}]({name}#{anchor})"))
    return table(("number", "decision"), rows)


TABLES = {"decisions": by_number}
