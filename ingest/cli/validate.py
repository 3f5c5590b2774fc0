"""`ingest validate`."""

from __future__ import annotations

import click

from ingest.cli.options import hand_over, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.reports.pages.sizing import validation_page
from ingest.validation import validate


@click.command("validate")
@click.argument("name", required=False, metavar="[SET]")
@options_of(validate)
@output_options
def command(name: str | None, form: str | None, output: str | None, catalogs: tuple[str, ...]) -> None:
    """Reproduce published results: the published value, the computed value and the error. Exits with 3 if a set misses its bar.

    \b
    ingest validate
    ingest validate mlperf-storage
    """
    answer = validate(name, catalogs=catalogs)
    hand_over(lambda: validation_page(answer), answer.to_dict, form, output)
    missed = [one.name for one in answer.sets if not one.passed]
    if missed:
        raise RequirementNotMet(f"validate: missed the bar: {', '.join(missed)}")
