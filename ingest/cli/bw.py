"""`ingest bw`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ingest.cli.main import later
from ingest.cli.options import hand_over, model_argument, options_of, output_options
from ingest.errors import IngestError
from ingest.reports.pages.sizing import estimate_page, scenarios_page
from ingest.sizing.bandwidth import Scenarios, bw

sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")


@click.command("bw")
@model_argument
@options_of(bw, "model")
@output_options
def command(form: str | None, output: str | None, **options: Any) -> None:
    """Read bandwidth that storage must deliver so that GPUs never wait.

    Sizes and rates take units: 16MiB, '2.83 MB', '35 TFLOP/s'; bare numbers are base units.

    \b
    ingest bw cosmoflow h100 --nodes 128
    ingest bw --model resnet50 --gpu b200,h100 --nodes 1..1024*4 --format csv
    ingest bw --model cosmoflow --gpu h100 --nodes 128 -o bw.xlsx
    """
    answer = bw(**options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if isinstance(answer, Scenarios):
        several = len({one.nodes for one in answer.scenarios}) > 1
        sweep = "ingest sweep with the same options, which writes a table of all scenarios" if several else ""
        hand_over(lambda: scenarios_page(answer), answer.to_dict, form, output, alternative=sweep, warnings=answer.warnings)
    else:
        book = partial(sizing_workbook, answer, answer.title)
        hand_over(lambda: estimate_page(answer), answer.to_dict, form, output, book, warnings=answer.warnings)
