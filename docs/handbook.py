"""Complete the built handbook: the calculator, the documents of a sample tender, and a check of every local link."""

from __future__ import annotations

import sys
from pathlib import Path

from common import DOCS, ROOT
from site_links import broken

from ingest.cli.main import main as main_command
from ingest.reports.document.word import lacking_pdf
from ingest.reports.plan_report import report

BUILT = DOCS / "_build" / "html"
SITE = ROOT / "examples" / "enterprise-64-nodes.yaml"
#: The calculator, and the tender of an example as it goes to vendors.
CALCULATOR, SAMPLES = "calculator.html", ("rfp.html", "rfp.docx", "rfp.xlsx", "rfp.pdf")


def complete(folder: Path) -> None:
    """Write the calculator and the sample tender; the PDF where LibreOffice is installed."""
    sys.argv = ["ingest", "page", "-o", str(folder / CALCULATOR)]
    try:
        main_command()
    except SystemExit as done:
        if done.code:
            raise
    sample = folder / "sample"
    sample.mkdir(exist_ok=True)
    lacking = lacking_pdf()
    names = [name for name in SAMPLES if not (lacking and name.endswith(".pdf"))]
    report(SITE, output=[sample / name for name in names], for_vendor=True)
    if lacking:
        print(f"docs/handbook.py: sample/rfp.pdf is left out: {lacking}", file=sys.stderr)


def main() -> int:
    """Complete the handbook; 1 if a link is broken."""
    complete(BUILT)
    found = [line for line in broken(BUILT) if not (lacking_pdf() and line.endswith("rfp.pdf: no such file"))]
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
