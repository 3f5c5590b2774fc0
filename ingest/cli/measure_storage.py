"""`ingest measure-storage`."""

from __future__ import annotations

from typing import Any

import click

from ingest.acceptance.path_benchmark import measure_storage
from ingest.cli.options import hand_over, options_of, output_options
from ingest.reports.pages.acceptance import measured_page


@click.command("measure-storage")
@click.argument("path", metavar="PATH")
@options_of(measure_storage)
@output_options
def command(path: str, form: str | None, output: str | None, **options: Any) -> None:
    """Measure writes and reads below a folder with fio, and list the models that it can feed.

    The test files are in a new folder, which is removed at the end, even after Ctrl-C.

    \b
    ingest measure-storage /mnt/data
    ingest measure-storage . --size 4GiB --runtime 30s --threads 16 --gpu h100,a100
    """
    answer = measure_storage(path, **options)
    hand_over(lambda: measured_page(answer), answer.to_dict, form, output, warnings=answer.warnings)
