"""`ingest fit`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from ingest.cli.main import later
from ingest.cli.options import BriefCommand, job_file, options_of, output_options, word_argument
from ingest.cli.output import VERBOSE, chosen_option, hand_over
from ingest.engine.question import arguments_of
from ingest.errors import RequirementNotMet, UsageError
from ingest.reports.pages import page_for
from ingest.sizing.bandwidth import bw
from ingest.sizing.explain import Explanation
from ingest.storage.fit import fit

#: The workbook of a comparison.
fit_workbook = later("ingest.reports.workbook.small_workbooks", "fit_workbook")


@click.command("fit", cls=BriefCommand)
@click.argument("plan", required=False, metavar="[SITE.yaml|plan.json|MODEL]")
@word_argument("gpu")
@options_of(fit, *arguments_of(bw))
@click.option("--require", is_flag=True, help="Exit with 3 unless every requested system fits.")
@click.option("--explain", metavar="NAME", help="Show the derivation of one quantity of a single system instead.")
@options_of(bw)
@output_options
@job_file("fit", fit)
def command(form: str | None, output: Sequence[str], explain: str | None, require: bool, **options: Any) -> None:
    found = fit(**options)
    if explain is not None:
        if len(found.systems) != 1:
            raise UsageError(f"--explain: found {len(found.systems)} systems, expected --storage with one")
        explanation = Explanation.of(found.systems[0].answer, found.systems[0].quantity(explain))
        hand_over(explanation, form, output, warnings=found.warnings)
    else:
        hand_over(found, form, output, fit_workbook, page=partial(page_for, found, chosen_option(VERBOSE)))
    if require and found.unmet:
        raise RequirementNotMet(found.unmet)
