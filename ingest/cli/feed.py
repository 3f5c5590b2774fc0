"""`ingest feed`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import explain_option, model_argument, options_of, output_options
from ingest.errors import RequirementNotMet
from ingest.loader.feed import feed


@click.command("feed")
@model_argument
@options_of(feed, "model")
@explain_option
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Whether GPUs wait for their loaders: utilization, readers, decoding, caches.

    Exits with 3 if a given --utilization is not reached.

    \b
    ingest feed --model resnet50 --gpu h100 --nodes 4 --workers 16 --latency 4ms --latency-cv 2
    ingest feed --model llama3-405b --gpu h100 --nodes 2048 --loader megatron --tensor-parallel 8 --pipeline-parallel 16
    ingest feed --samples-per-second 200 --sample-bytes 100kB --gpus-per-node 8 --batch 32 --latency 20ms
    """
    answer = feed(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
