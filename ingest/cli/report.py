"""`ingest report`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, stacked, warn
from ingest.reports.plan_report import report

OPTIONS = [
    click.option("-o", "--output", multiple=True, required=True, metavar="FILE", help="File to write; repeatable."),
    click.option("--template", metavar="FILE.docx", help="Document of your own with the fields above."),
    click.option("--storage", multiple=True, metavar="ID", help="System whose limit a chart shows, as in fit; repeatable."),
    click.option("--years", type=click.IntRange(0, 30), metavar="N", help="Years to plan for. [default: of the file]"),
    click.option("--set", multiple=True, metavar="PATH=VALUE", help="Replace a value of the site file; repeatable."),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the Monte Carlo draws."
    ),
    catalog_option,
]


@click.command("report")
@click.argument("site", metavar="SITE.yaml")
@stacked(OPTIONS)
def command(**options: Any) -> None:
    """Write the tender: a workbook with live formulas, a document, or data; the suffix chooses.

    .xlsx is the workbook with the form that vendors fill in, .docx, .md and .html are the document,
    .csv and .json the requirement lines.

    A template is filled in at {{all}} for the whole document, one of {{scope}}, {{workloads}},
    {{performance}}, {{capacity}}, {{checkpoints}}, {{metadata}}, {{resilience}}, {{protocols}}, {{growth}},
    {{acceptance}}, {{response}}, {{assumptions}}, {{derivations}}, {{information}} for a section,
    one of {{title}}, {{site}}, {{version}}, {{catalogs}}, {{input}} for a word, or a requirement's id, such as
    {{R-READ-01}}, for its value.

    \b
    ingest report site.yaml -o rfp.xlsx -o rfp.docx
    ingest report site.yaml -o rfp.docx --template house-style.docx
    """
    answer = report(**options)
    for path, size in answer.files.items():
        click.echo(f"{path}: {size:,} B")
    warn(answer.warnings)
