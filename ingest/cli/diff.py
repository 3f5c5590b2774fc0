"""`ingest diff`."""

from __future__ import annotations

import click

from ingest.cli.options import hand_over, output_options
from ingest.reports.pages.plan import diff_page
from ingest.site.plan_diff import diff


@click.command("diff")
@click.argument("before", metavar="BEFORE.json")
@click.argument("after", metavar="AFTER.json")
@output_options
def command(before: str, after: str, form: str | None, output: str | None) -> None:
    """Differences between two plans, with the changed inputs behind each of them.

    \b
    ingest plan site.yaml -o before.json
    ingest plan site.yaml --set clusters.main.count=256 -o after.json
    ingest diff before.json after.json
    """
    answer = diff(before, after)
    hand_over(lambda: diff_page(answer), answer.to_dict, form, output, warnings=answer.notes)
