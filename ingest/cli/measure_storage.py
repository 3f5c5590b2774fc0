"""`ingest measure-storage`."""

from __future__ import annotations

from typing import Any

import click

from ingest.acceptance.path_benchmark import measure_storage
from ingest.cli.options import catalog_option, hand_over, output_options, stacked, warn
from ingest.reports.pages.acceptance import measured_page

OPTIONS = [
    click.option("--size", default="256 MiB", metavar="SIZE", help="Of all test files together. [default: 256 MiB]"),
    click.option("--runtime", default="5 s", metavar="TIME", help="Of each of the two measurements. [default: 5 s]"),
    click.option("--io-size", default="128 KiB", metavar="SIZE", help="Of one request. [default: 128 KiB]"),
    click.option("--threads", default="4", metavar="N", help="Threads that issue requests. [default: 4]"),
    click.option("--gpu", default="h100", metavar="ID", help="GPUs to feed, a list with commas. [default: h100]"),
    catalog_option,
]


@click.command("measure-storage")
@click.argument("path", metavar="PATH")
@stacked(OPTIONS)
@output_options
def command(path: str, form: str | None, output: str | None, **options: Any) -> None:
    """Measure writes and reads below a folder with fio, and list the models that it can feed.

    The test files are in a new folder, which is removed at the end, also after Ctrl-C.

    \b
    ingest measure-storage /mnt/data
    ingest measure-storage . --size 4GiB --runtime 30s --threads 16 --gpu h100,a100
    """
    answer = measure_storage(path, **options)
    hand_over(lambda: measured_page(answer), answer.to_dict, form, output)
    warn(answer.warnings)
