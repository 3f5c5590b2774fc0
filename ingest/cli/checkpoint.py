"""`ingest checkpoint`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.sizing.checkpoint import checkpoint


@click.command("checkpoint")
@model_argument
@options_of(checkpoint, "model")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Size, files, write bandwidth and interval of checkpoints, and the read bandwidth of a restore.

    Exits with 3 if a given --waste or --write-bandwidth is not met, or if the job would make no progress.

    \b
    ingest checkpoint llama3-405b --gpus 16384 --mode sync --waste 5%
    ingest checkpoint llama3-405b --gpus 16384 --interval 15min
    ingest checkpoint config.json --gpus 64 --tensor-parallel 8 --layout deepspeed --zero-stage 1
    """
    answer = checkpoint(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
