"""`ingest train`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.sizing.train import train


@click.command("train")
@model_argument
@options_of(train, "model")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """GPU-hours, duration, energy, carbon and cost of a training run, with the time that it loses.

    Exits with 3 if the job would make no progress.

    \b
    ingest train llama3-405b --tokens 15.6T --gpu h100 --gpus 16384
    ingest train resnet50 --set parameters=25.6M --samples 115M --gpu a100 --gpus 64 --stall 5% --price-gpu-hour 2
    ingest train --set gpu_hours=1720320 --power 400 --carbon 385g/kWh
    """
    answer = train(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
