"""`ingest checkpoint`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, explain_option, output_options, set_option, show_answer, stacked
from ingest.errors import RequirementNotMet
from ingest.sizing.checkpoint import checkpoint

OPTIONS = [
    click.option("--gpus", metavar="N", help="GPUs of the job."),
    click.option("--tensor-parallel", metavar="N", help="GPUs that share a layer. [default: as published, else 1]"),
    click.option("--pipeline-parallel", metavar="N", help="Pipeline stages. [default: as published, else 1]"),
    click.option("--expert-parallel", default="1", metavar="N", help="Ranks that share the experts. [default: 1]"),
    click.option("--zero-stage", default="1", metavar="0-3", help="ZeRO stage. [default: 1]"),
    click.option("--layout", metavar="NAME", help="megatron, deepspeed, dcp or safetensors. [default: megatron or dcp]"),
    click.option(
        "--optimizer", default="adamw", metavar="ID", help="adamw, adam8bit, adafactor, muon, sgd, lora. [default: adamw]"
    ),
    click.option("--precision", default="bf16", metavar="P", help="Weight precision: bf16, fp16, fp32, fp8. [default: bf16]"),
    click.option("--mtti", metavar="TIME", help="Mean time to interrupt of the job. [default: from a failure rate]"),
    click.option("--failures", default="llama3", metavar="ID", help="Failure rate: llama3, rsc-1, … [default: llama3]"),
    click.option("--interval", metavar="TIME", help="Compute time between checkpoints. [default: least overhead]"),
    click.option("--waste", metavar="F", help="Share of time for checkpoints and lost work. [default: 5%]"),
    click.option("--mode", default="sync", metavar="HOW", help="sync or async. [default: sync]"),
    click.option("--drain-fraction", metavar="F", help="Drain window, a share of the interval. [default: 1]"),
    click.option("--persistent-every", metavar="K", help="Every k-th checkpoint goes to shared storage. [default: 1]"),
    click.option("--restart-time", metavar="TIME", help="Time to restore a checkpoint. [default: 10 min]"),
    click.option("--readers", default="unique", metavar="HOW", help="unique, replicated or all. [default: unique]"),
    click.option("--keep", metavar="N", help="Newest checkpoints kept, or last=3,every=10,final=1. [default: 3]"),
    click.option("--duration", metavar="TIME", help="Duration of the job; required by --keep every=M."),
    click.option("--write-bandwidth", metavar="RATE", help="Write rate of the storage."),
    click.option("--tier-capacity", metavar="SIZE", help="Capacity of the checkpoint tier, for its endurance."),
    click.option("--gpu", metavar="ID", help="GPU, for its host link. [default: h100]"),
    set_option,
    explain_option,
    catalog_option,
]


@click.command("checkpoint")
@click.argument("model", required=False, metavar="ID|config.json")
@stacked(OPTIONS)
@output_options
def command(form: str | None, output: str | None, explain: str | None, **options: Any) -> None:
    """Size, files, write rate and interval of checkpoints, and the read rate of a restore.

    Exits with 3 if a given --waste or --write-bandwidth is not met.

    \b
    ingest checkpoint llama3-405b --gpus 16384 --waste 5%
    ingest checkpoint llama3-405b --gpus 16384 --mode async --interval 15min
    ingest checkpoint config.json --gpus 64 --tensor-parallel 8 --layout deepspeed --zero-stage 1
    """
    answer = checkpoint(**options)
    show_answer(answer, explain, form, output)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
