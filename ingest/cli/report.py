"""`ingest report`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import options_of, site_set_option, warn
from ingest.reports.plan_report import report


@click.command("report")
@click.argument("site", metavar="SITE.yaml")
@click.option("-o", "--output", multiple=True, required=True, metavar="FILE", help="File to write; repeatable.")
@options_of(report, "output", "set")
@site_set_option
def command(**options: Any) -> None:
    """Write the tender as a workbook with live formulas, as a document, or as data, by the suffix of the file.

    .xlsx is the workbook with the form that vendors fill in, .docx, .md and .html are the document,
    .csv and .json the requirement lines.

    \b
    ingest report site.yaml -o rfp.xlsx -o rfp.docx
    ingest report site.yaml -o rfp.docx --template house-style.docx
    """
    answer = report(**options)
    for path, size in answer.files.items():
        click.echo(f"{path}: {size:,} B")
    warn(answer.warnings)
