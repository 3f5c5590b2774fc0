"""Local links of built pages: each leads to a file, and to an anchor that it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that lead to a file.
LEADING = ("href", "src")


class Links(HTMLParser):
    """The anchors and the links of a page.

    >>> page = Links('<h1 id="a">A</h1><a href="b.html#c">b</a>')
    >>> page.anchors, page.links
    ({'a'}, ['b.html#c'])
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the attributes of a tag."""
        for name, value in attrs:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)
            elif value and name in LEADING:
                self.links.append(value)


def broken(folder: Path) -> Iterator[str]:
    """The links of the pages in a folder that lead to no file in it, or to no anchor of its page."""
    pages: Mapping[Path, Links] = {path.resolve(): Links(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    top = folder.resolve()
    for path, page in sorted(pages.items()):
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_relative_to(top) or not target.is_file():
                yield f"{path.relative_to(top)}: {link}: no such file"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(top)}: {link}: no such anchor"
