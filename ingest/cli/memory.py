"""`ingest memory`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import IngestError, RequirementNotMet
from ingest.sizing.memory import memory


@click.command("memory")
@model_argument
@options_of(memory, "model")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Model states and activations in GPU memory, and the GPUs and nodes that hold them.

    Exits with 3 if the GPUs given do not hold the model.

    \b
    ingest memory llama3-405b --gpu h100
    ingest memory llama3-70b --gpu h100 --sequence-length 8192 --recompute full
    ingest memory --set parameters=7.5e9 --gpus 64 --zero-stage 2
    """
    answer = memory(**options)
    if "model_state_bytes_per_gpu" in answer.unknown and not answer.unmet:
        raise IngestError(answer.unknown["gpus_to_hold"])
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
