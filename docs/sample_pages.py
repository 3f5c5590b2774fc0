"""The sample: the tender of an example as one HTML file, and pictures of its first pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from common import DOCS, ROOT

from ingest.reports.document.word import lacking_pdf
from ingest.reports.plan_report import report

SITE = ROOT / "examples" / "enterprise-64-nodes.yaml"
PATH = DOCS / "_static" / "sample-rfp.html"
#: pages whose pictures the README shows, and their dots per inch
PICTURED, DOTS_PER_INCH = (1, 3, 6), 60
#: Bytes of a picture at most.
MOST_BYTES = 150_000
#: What changes with every change of a catalog, and what a renderer of charts may draw differently.
_VARYING = re.compile(r"(?s)<svg.*?</svg>|reference \w+-\w+")


class _Words(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(_VARYING.sub("", page))

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def words(page: str) -> str:
    """The text of the sample, by which it is current or not.

    >>> words("<p>One <b>word</b>, reference 0a1b-2c3d</p><svg><text>7</text></svg>")
    'One word ,'
    """
    return " ".join(" ".join(_Words(page).found).split())


def stale() -> list[Path]:
    """The files of the sample whose text is not that of the tender, or that are absent or too large."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name, "rfp.html")
        report(SITE, output=made, for_vendor=True)
        current = PATH.exists() and words(PATH.read_text(encoding="utf-8")) == words(made.read_text(encoding="utf-8"))
    absent = [path for path in map(picture, PICTURED) if not path.exists() or path.stat().st_size > MOST_BYTES]
    return [*([] if current else [PATH]), *absent]


def write() -> None:
    """Write the sample; its pictures where LibreOffice and poppler are installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawn = not lacking_pdf() and shutil.which("pdftoppm") is not None
        report(SITE, output=[PATH, *([folder / "rfp.pdf"] if drawn else [])], for_vendor=True)
        for page in PICTURED if drawn else ():
            number = str(page)
            options = ["-r", str(DOTS_PER_INCH), "-png", "-f", number, "-l", number, "-singlefile"]
            subprocess.run(["pdftoppm", *options, folder / "rfp.pdf", picture(page).with_suffix("")], check=True, timeout=60)


def picture(page: int) -> Path:
    """The picture of a page."""
    return PATH.with_name(f"sample-rfp-{page}.png")
