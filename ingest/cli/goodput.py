"""`ingest goodput`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.goodput import goodput


@click.command("goodput")
@model_argument
@options_of(goodput, "model")
@options_of(checkpoint, "model", "duration", "set", "catalogs")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Share of a training run that is progress: simulated interrupts, the closed form, and the gain per GB/s.

    Exits with 3 if a given --waste or --write-bandwidth is not met.

    \b
    ingest goodput llama3-405b --gpus 16384 --mode sync --write-bandwidth 500GB/s
    ingest goodput llama3-405b --gpus 16384 --interval 15min --spares 16 --repair-time 2d
    ingest goodput llama3-405b --gpus 16384 --near-recovery 0.7 --persistent-every 10 --interval 2min
    """
    answer = goodput(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
