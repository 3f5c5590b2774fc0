"""`ingest accept`."""

from __future__ import annotations

from typing import Any

import click

from ingest.acceptance.accept import accept
from ingest.acceptance.observed_job import observed_job
from ingest.cli.options import OneOf, detail_options, hand_over, options_of
from ingest.reports.page import FORMATS
from ingest.reports.pages.acceptance import acceptance_page, observed_job_page


@click.command("accept")
@click.argument("plan", required=False, metavar="SITE.yaml|plan.json")
@click.option(
    "--from-observation", metavar="FILE", help="Write the jobs of an observed job instead: the JSON of `ingest observe`."
)
@click.option("--times", default="1", show_default=True, metavar="N", help="Copies of the observed job.")
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="New or empty folder for the tests.")
@options_of(accept)
@click.option("--format", "form", type=OneOf(FORMATS), help="Summary format: table, json, csv or markdown. [default: table]")
@detail_options
def command(
    plan: str | None,
    folder: str,
    form: str | None,
    tool: tuple[str, ...],
    from_observation: str | None,
    times: str,
    **options: Any,
) -> None:
    """Write runnable acceptance tests, each tied to a requirement line and its pass threshold.

    \b
    ingest accept site.yaml -o tests
    ingest accept plan.json -o rehearsal --scale 1node --tool fio
    ingest accept --from-observation job.json --times 8 -o observed
    """
    if (plan is None) is (from_observation is None):
        raise click.UsageError("expected SITE.yaml, plan.json or --from-observation FILE, one of them")
    if from_observation is not None:
        jobs = observed_job(from_observation, folder, times=times, force=options["force"])
        hand_over(lambda: observed_job_page(jobs), jobs.to_dict, form, None, warnings=jobs.warnings)
        return
    assert plan is not None
    made = accept(plan, folder, tool=tool or None, **options)
    hand_over(lambda: acceptance_page(made), made.to_dict, form, None, warnings=made.warnings)
