"""`ingest memory`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, explain_option, output_options, set_option, show_answer, stacked
from ingest.errors import IngestError
from ingest.sizing.memory import memory

OPTIONS = [
    click.option("--gpu", metavar="ID", help="GPU, or a YAML file. [default: h100]"),
    click.option("--node", metavar="ID", help="Node type, or a YAML file; sets the GPU too."),
    click.option("--gpus", metavar="N", help="GPUs of the job. [default: the fewest that hold the model]"),
    click.option("--tensor-parallel", metavar="N", help="GPUs that share a layer. [default: 1]"),
    click.option("--pipeline-parallel", metavar="N", help="Pipeline stages. [default: 1]"),
    click.option("--zero-stage", default="3", metavar="0-3", help="ZeRO stage. [default: 3]"),
    click.option("--offload", default="none", metavar="WHERE", help="none, cpu or nvme. [default: none]"),
    click.option("--recipe", default="zero-16", metavar="ID", help="Bytes per parameter: 2, 12, 14, 16, 18, 20. [default: 16]"),
    click.option("--optimizer", metavar="ID", help="Optimizer, instead of the recipe: adam8bit, adafactor, muon, sgd, …"),
    click.option("--utilization", metavar="F", help="Share of the memory that states may fill. [default: 0.9]"),
    click.option("--residual", metavar="SIZE", help="Activations and buffers on one GPU. [default: 0]"),
    set_option,
    explain_option,
    catalog_option,
]


@click.command("memory")
@click.argument("model", required=False, metavar="ID|config.json")
@stacked(OPTIONS)
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Model states in GPU memory, and the GPUs and nodes that hold them.

    \b
    ingest memory llama3-405b --gpu h100
    ingest memory --set parameters=7.5e9 --gpus 64 --zero-stage 2
    """
    answer = memory(**options)
    show_answer(answer, explain, form, output)
    if "model_state_bytes_per_gpu" in answer.unknown:
        raise IngestError(answer.unknown["gpus_to_hold"])
