"""`ingest sweep`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.main import later
from ingest.cli.options import hand_over, options_of, output_options, tell_answer, tell_written, warn
from ingest.errors import IngestError
from ingest.files import write_whole
from ingest.reports.page import format_of, render
from ingest.reports.pages.sizing import sweep_page
from ingest.sizing.sweep import sweep

#: The workbook of a sweep.
sweep_workbook = later("ingest.reports.workbook.small_workbooks", "sweep_workbook")


@click.command("sweep")
@click.argument("axes", nargs=-1, metavar="NAME=RANGE…")
@options_of(sweep)
@output_options
def command(axes: tuple[str, ...], form: str | None, output: str | None, **options: Any) -> None:
    """Many scenarios in one call: every combination of the ranges, of any quantity.

    A range is from..to*k, from..to+k or from..to; a list has commas. `--nodes` may be a range too.
    A file may end in .csv, .json, .md, .parquet or .xlsx.

    \b
    ingest sweep nodes=1..1024*2 sample_bytes=1MB,2.83MB,16MiB --model cosmoflow --gpu h100
    """
    answer = sweep(axes=axes, **options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if output is None and form != "csv":
        hand_over(lambda: sweep_page(answer), answer.to_dict, form, None, warnings=answer.warnings)
        return
    if output is None:
        click.echo(answer.to_csv(), nl=False)
    elif output.lower().endswith((".csv", ".parquet")):
        answer.write(output)
    elif output.lower().endswith(".xlsx"):
        write_whole(output, sweep_workbook(answer))
    else:
        write_whole(output, render(lambda: sweep_page(answer, most=10**9), answer.to_dict, format_of(output, form)) + "\n")
    warn(answer.warnings)
    if output is not None:
        tell_answer(sweep_page(answer, most=0))
    tell_written(*([output] if output is not None else []))
