"""Workbook and document of each example as a reader sees them: on paper, by LibreOffice, kept as PDF and PNG to be looked at.

PDF and pictures stay in `build/artefacts`, or in the folder that INGEST_ARTEFACTS names: one PDF of each, and its pages.
"""

import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from conftest import ROOT
from office import all_converted, office

from ingest.reports.document.word import SECTIONS
from ingest.reports.plan_report import report

#: One for each push, the others before an issue is closed.
SITES = ("hpc-128-nodes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llm-16384-gpus", "enterprise-64-nodes")))
#: Height of a line of the smallest letters that are read on paper, 7.5 points of the narrowest of the usual typefaces.
LINE = 9.0
DOTS_PER_INCH = 60
#: What a cell shows that is too narrow, or whose formula fails.
BROKEN = re.compile(r"###|#(REF|NAME|VALUE|DIV/0|NUM|N/A)|Err:5\d\d")


def artefacts() -> Path:
    return Path(os.environ.get("INGEST_ARTEFACTS") or ROOT / "build" / "artefacts")


@pytest.fixture(scope="module", params=SITES)
def papers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The PDF of the workbook and of the document of a site, by their suffixes, where they are kept."""
    office()
    if shutil.which("pdftoppm") is None:
        (pytest.fail if os.environ.get("INGEST_TEST_ALL") else pytest.skip)("needs poppler's tools")
    folder, kept = tmp_path_factory.mktemp(request.param), artefacts() / request.param
    files = [folder / "workbook.xlsx", folder / "document.docx"]
    report(ROOT / "examples" / f"{request.param}.yaml", output=files)
    shutil.rmtree(kept, ignore_errors=True)
    pages = all_converted(files, "pdf", folder / "office")
    for path in files:
        (kept / path.suffix[1:]).mkdir(parents=True)
    return {path.suffix[1:]: Path(shutil.copy(pdf, kept / path.suffix[1:])) for path, pdf in zip(files, pages, strict=True)}


def text_of(pdf: Path) -> str:
    return subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True, timeout=300).stdout


def heights(pdf: Path) -> dict[int, Counter[float]]:
    """Heights of the lines of all words in points, by page."""
    boxes = subprocess.run(["pdftotext", "-bbox", pdf, "-"], check=True, capture_output=True, text=True, timeout=300).stdout
    found: dict[int, Counter[float]] = defaultdict(Counter)
    for number, page in enumerate(boxes.split("<page ")[1:], start=1):
        for top, bottom in re.findall(r'yMin="([\d.]+)" xMax="[\d.]+" yMax="([\d.]+)"', page):
            found[number][round(float(bottom) - float(top), 1)] += 1
    return found


#: Sections that a site may be without.
MAYBE = ("decisions", "guidance")


def test_no_cell_is_too_narrow_or_fails(papers):
    assert not BROKEN.findall(text_of(papers["xlsx"]))


def test_letters_of_every_page_of_the_workbook_can_be_read(papers):
    found = heights(papers["xlsx"])
    assert len(found) > len(SECTIONS["buyer"])
    for page, counted in found.items():
        assert counted.most_common(1)[0][0] >= LINE, f"page {page} of {papers['xlsx']}"


def test_the_document_has_every_section_and_nothing_for_the_buyer_alone(papers):
    text = " ".join(text_of(papers["docx"]).split())
    for name, title in SECTIONS["buyer"].items():
        assert name in MAYBE or title in text
    assert not re.search(r"notes? to the buyer|warning|the buyer should", text, re.IGNORECASE)


@pytest.mark.slow  # takes longer than everything before it; only people look at pictures
def test_every_page_is_kept_as_a_picture(papers):
    for pdf in papers.values():
        picture = ["pdftoppm", "-r", str(DOTS_PER_INCH), "-png", pdf, pdf.parent / "page"]
        subprocess.run(picture, check=True, timeout=300)
        pages = text_of(pdf).count("\f")
        assert len(list(pdf.parent.glob("page-*.png"))) == pages > 1
