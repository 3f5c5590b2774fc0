"""`ingest model`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.answers import show_answer
from ingest.cli.options import options_of, output_options
from ingest.sizing.model import model


@click.command("model")
@click.argument("source", metavar="ID|config.json|FOLDER")
@options_of(model)
@output_options
def command(form: str | None, output: str | None, **options: Any) -> None:
    """Parameters, weight bytes, FLOPs per token and key-value cache, from a model's own files.

    Of a folder with safetensors files it reads the headers, never the weights. FLOPs are those of
    forward and backward pass, per token. A config of an unknown family without weights is refused;
    list its weights as rows of a YAML file instead.

    \b
    ingest model llama3-405b --sequence-length 8192
    ingest model config.json --precision fp8 --format json
    ingest model path/of/a/release
    """
    answer = model(**options)
    show_answer(answer, None, form, output)
