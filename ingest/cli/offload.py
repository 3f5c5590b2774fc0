"""`ingest offload`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.sizing.offload import offload


@click.command("offload")
@model_argument
@options_of(offload, "model")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Training and inference beyond GPU memory: what lies where, what moves, step time and bandwidth.

    Exits with 3 if a tier has no room for what is placed in it.

    \b
    ingest offload llama3-70b --gpu h100 --gpus 8
    ingest offload --set layers=128 --set hidden_size=25600 --set attention_heads=256 --node dgx-2
    ingest offload llama3-70b --inference --gpu h200 --gpus 1 --batch 96 --parameters nvme
    ingest offload llama3-70b --inference --users 1000 --turns 8 --prompt 1000 --generate 500
    """
    answer = offload(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
