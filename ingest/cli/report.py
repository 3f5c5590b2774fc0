"""`ingest report`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import detail_options, options_of, tell_written, warn
from ingest.reports.plan_report import report


@click.command("report")
@click.argument("site", metavar="SITE.yaml")
@options_of(report)
@detail_options
def command(**options: Any) -> None:
    """Write the buyer's own report of a site, or with --for-vendor the files of an RFP.

    The suffix of each file selects its format: .xlsx is the workbook, .docx, .md, .html and .pdf are the document,
    .csv and .json the requirement lines. A .pdf needs LibreOffice.

    \b
    ingest report site.yaml -o report.docx -o model.xlsx
    ingest report site.yaml --for-vendor -o rfp.docx -o rfp.xlsx
    ingest report site.yaml --for-vendor -o rfp.docx --template house-style.docx
    """
    answer = report(**options)
    warn(answer.warnings)
    tell_written(*answer.files)
