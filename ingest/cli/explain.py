"""`ingest explain`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import hand_over, model_argument, options_of, output_options
from ingest.reports.pages.sizing import explanation_page
from ingest.sizing.explain import explain


@click.command("explain")
@click.argument("name")
@model_argument
@options_of(explain, "model")
@output_options
def command(name: str, form: str | None, output: str | None, **options: Any) -> None:
    """Derivation of one quantity of `bw`: the formula in names and in numbers, down to the catalog values and sources.

    \b
    ingest explain ingest_bandwidth_per_job --model cosmoflow --gpu h100 --nodes 128
    """
    answer = explain(name, **options)
    hand_over(lambda: explanation_page(answer), answer.to_dict, form, output, warnings=answer.estimate.warnings)
