"""`ingest dataset`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.commands import show_answer
from ingest.cli.options import detail_options, explain_option, note_output, options_of
from ingest.errors import UsageError
from ingest.reports.page import FORMATS
from ingest.sizing.dataset import USUAL_FORMATS, dataset


@click.command("dataset")
@options_of(dataset, "format")
@click.option(
    "--format",
    "words",
    multiple=True,
    metavar="ID",
    help=f"Format of the data set: megatron, mds, parquet, … [default: {USUAL_FORMATS['tokens']}, {USUAL_FORMATS['samples']}]; "
    f"or of the output: {', '.join(FORMATS)}. Repeatable.",
)
@explain_option
@click.option(
    "-o", "--output", metavar="FILE", callback=note_output, help="Write to a file; its suffix selects the format of the output."
)
@detail_options
def command(words: tuple[str, ...], output: str | None, explain: str | None, **options: Any) -> None:
    """Storage footprint of a data set, from raw input to the copies for training, with files and inodes.

    \b
    ingest dataset --tokens 15T --bytes-per-token 4 --copies 2
    ingest dataset --corpus fineweb --pipeline fineweb --format parquet-zstd
    ingest dataset --samples 1281167 --sample-bytes 114660 --format webdataset --format json
    """
    container, form = split_formats(words)
    show_answer(dataset(format=container, **options), explain, form, output)


def split_formats(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Separate the format of the data set from that of the output; both options are `--format`.

    >>> split_formats(("parquet", "json")), split_formats(())
    (('parquet', 'json'), (None, None))

    Raises:
        UsageError: two of a kind.
    """
    containers = [word for word in words if word not in FORMATS]
    forms = [word for word in words if word in FORMATS]
    for found, kind in ((containers, "data set"), (forms, "output")):
        if len(found) > 1:
            raise UsageError(f"--format: found {' and '.join(found)}, expected one format of the {kind}")
    return next(iter(containers), None), next(iter(forms), None)
