"""The commands that ask a function of options and print its answer: a table. What no table can say has a module of its own."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import click

from ingest.cli.main import later, loaded
from ingest.cli.options import explain_option, hand_over, model_argument, options_of, output_options
from ingest.engine.result import Answer
from ingest.errors import IngestError, RequirementNotMet
from ingest.reports.pages.sizing import answer_page, explanation_page
from ingest.sizing.explain import Explanation

#: the workbook of an answer
sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")


class Asked(NamedTuple):
    """A command.

    Attributes:
        module: where the function of the same name is.
        text: its help.
        place: what the first word is called, for a function that has to have one; others may be given a model and a GPU.
        needs: a result without which there is no answer, and the one whose absence says why.
    """

    module: str
    text: str
    place: str = ""
    needs: tuple[str, str] = ("", "")


COMMANDS = {
    "model": Asked(
        "ingest.sizing.model",
        """Parameters, weight bytes, FLOPs per token and key-value cache, from a model's own files.

        Of a folder with safetensors files it reads the headers, never the weights. FLOPs are those of
        forward and backward pass, per token. A config of an unknown family without weights is refused;
        list its weights as rows of a YAML file instead.

        \b
        ingest model llama3-405b --sequence-length 8192
        ingest model config.json --precision fp8 --format json
        ingest model path/of/a/release
        """,
        place="ID|config.json|FOLDER",
    ),
    "memory": Asked(
        "ingest.sizing.memory",
        """Model states and activations in GPU memory, and the GPUs and nodes that hold them.

        Exits with 3 if the GPUs given do not hold the model.

        \b
        ingest memory llama3-405b --gpu h100
        ingest memory llama3-70b --gpu h100 --sequence-length 8192 --recompute full
        ingest memory --set parameters=7.5e9 --gpus 64 --zero-stage 2
        """,
        needs=("model_state_bytes_per_gpu", "gpus_to_hold"),
    ),
    "checkpoint": Asked(
        "ingest.sizing.checkpoint",
        """Size, files, write bandwidth and interval of checkpoints, and the read bandwidth of a restore.

        Exits with 3 if a given --waste or --write-bandwidth is not met, or if the job would make no progress.

        \b
        ingest checkpoint llama3-405b --gpus 16384 --mode sync --waste 5%
        ingest checkpoint llama3-405b --gpus 16384 --interval 15min
        ingest checkpoint config.json --gpus 64 --tensor-parallel 8 --layout deepspeed --zero-stage 1
        """,
    ),
    "goodput": Asked(
        "ingest.sizing.goodput",
        """Share of a training run that is progress: simulated interrupts, the closed form, and the gain per GB/s.

        Exits with 3 if a given --waste or --write-bandwidth is not met.

        \b
        ingest goodput llama3-405b --gpus 16384 --mode sync --write-bandwidth 500GB/s
        ingest goodput llama3-405b --gpus 16384 --interval 15min --spares 16 --repair-time 2d
        ingest goodput llama3-405b --gpus 16384 --near-recovery 0.7 --persistent-every 10 --interval 2min
        """,
    ),
    "train": Asked(
        "ingest.sizing.train",
        """GPU-hours, duration, energy, carbon and cost of a training run, with the time that it loses.

        Exits with 3 if the job would make no progress.

        \b
        ingest train llama3-405b --tokens 15.6T --gpu h100 --gpus 16384
        ingest train resnet50 --set parameters=25.6M --samples 115M --gpu a100 --gpus 64 --stall 5% --price-gpu-hour 2
        ingest train --set gpu_hours=1720320 --power 400 --carbon 385g/kWh
        """,
    ),
    "feed": Asked(
        "ingest.loader.feed",
        """Whether GPUs wait for their loaders: utilization, readers, decoding, caches.

        Exits with 3 if a given --utilization is not reached.

        \b
        ingest feed --model resnet50 --gpu h100 --nodes 4 --workers 16 --latency 4ms --latency-cv 2
        ingest feed --model llama3-405b --gpu h100 --nodes 2048 --loader megatron --tensor-parallel 8 --pipeline-parallel 16
        ingest feed --samples-per-second 200 --sample-bytes 100kB --gpus-per-node 8 --batch 32 --latency 20ms
        """,
    ),
    "offload": Asked(
        "ingest.sizing.offload",
        """Training and inference beyond GPU memory: what lies where, what moves, step time and bandwidth.

        Exits with 3 if a tier has no room for what is placed in it.

        \b
        ingest offload llama3-70b --gpu h100 --gpus 8
        ingest offload --set layers=128 --set hidden_size=25600 --set attention_heads=256 --node dgx-2
        ingest offload llama3-70b --inference --gpu h200 --gpus 1 --batch 96 --parameters nvme
        ingest offload llama3-70b --inference --users 1000 --turns 8 --prompt 1000 --generate 500
        """,
    ),
}  # fmt: skip


@cache
def command(name: str) -> click.Command:
    """A command of the table; the module of its function is imported now."""
    asked = COMMANDS[name]
    function = getattr(loaded(asked.module), name)
    parts = [output_options]
    if not asked.place:
        parts.append(explain_option)
    parts.append(options_of(function, "model"))
    parts.append(click.argument("source", metavar=asked.place) if asked.place else model_argument)

    def run(form: str | None, output: str | None, explain: str | None = None, **options: Any) -> None:
        answer: Answer = function(**options)
        needed, why = asked.needs
        if needed in answer.unknown and not answer.unmet:
            raise IngestError(answer.unknown[why])
        show_answer(answer, explain, form, output)
        if answer.unmet:
            raise RequirementNotMet(answer.unmet)

    for part in parts:
        run = part(run)
    return click.command(name, help=asked.text)(run)


def show_answer(answer: Answer, explain: str | None, form: str | None, output: str | None) -> None:
    """Print an answer, or the derivation of its quantity `explain`; warnings go to standard error."""
    if explain is not None:
        explanation = Explanation.of(answer, explain)
        hand_over(lambda: explanation_page(explanation), explanation.to_dict, form, output, warnings=answer.warnings)
    else:
        book = partial(sizing_workbook, answer, answer.title)
        hand_over(lambda: answer_page(answer), answer.to_dict, form, output, book, warnings=answer.warnings)
