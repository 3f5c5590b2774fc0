"""`ingest plan`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, hand_over, output_options, stacked, warn
from ingest.errors import UsageError
from ingest.report.site_views import lines_page, plan_page, plans_page
from ingest.site.planning import plan
from ingest.site.plans import Plans

OPTIONS = [
    click.option("--years", type=click.IntRange(0, 30), metavar="N", help="Years to plan for. [default: as the file says]"),
    click.option("--check", is_flag=True, help="Exit with 3 where an `expect` of the file is not met."),
    click.option("--set", multiple=True, metavar="PATH=VALUE", help="Replace a value of the file; lists and ranges allowed."),
    click.option("--explain", metavar="ID", help="Show how one requirement came about instead, such as R-READ-01."),
    click.option("--samples", type=click.IntRange(0, 1_000_000), default=10_000, show_default=True, metavar="N",
                 help="Draws behind low and high."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Of the draws."),
    click.option("--new", is_flag=True, help="Write a commented site file to start from instead."),
    catalog_option,
]  # fmt: skip


@click.command("plan")
@click.argument("site", required=False, metavar="SITE.yaml")
@stacked(OPTIONS)
@output_options
def command(
    site: str | None, form: str | None, output: str | None, check: bool, explain: str | None, new: bool, **options: Any
) -> None:
    """What a whole site asks of its storage: requirement lines for a tender, each with its derivation.

    \b
    ingest plan --new -o site.yaml
    ingest plan site.yaml
    ingest plan site.yaml --explain R-READ-01
    ingest plan site.yaml --set clusters.main.count=128,256 --format csv
    """
    if site is None:
        raise UsageError("SITE.yaml is missing, expected a file (`ingest plan --new` writes one)")
    answer = plan(site, **options)
    if isinstance(answer, Plans):
        hand_over(lambda: plans_page(answer), answer.to_dict, form, output)
    elif explain:
        lines = answer.explain(explain)
        told = {**answer.requirement(explain).to_dict(), "derivation": lines}
        hand_over(lambda: lines_page(f"How {explain} came about", lines), lambda: told, form, output)
    else:
        hand_over(lambda: plan_page(answer), answer.to_dict, form, output)
    warn(answer.warnings)
