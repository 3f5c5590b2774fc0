"""`ingest bw`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import model_argument, options_of, output_options
from ingest.cli.plain import show_bandwidth
from ingest.sizing.bandwidth import bw


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
    show_bandwidth(form, output, **options)
