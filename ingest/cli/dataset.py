"""`ingest dataset`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, explain_option, set_option, show_answer, stacked
from ingest.errors import UsageError
from ingest.reports.page import FORMATS
from ingest.sizing.dataset import dataset

OPTIONS = [
    click.option("--tokens", metavar="N", help="Tokens, each counted once, such as 15T."),
    click.option("--bytes-per-token", metavar="N|FILE", help="Bytes of text per token, or the JSON file of `ingest measure`."),
    click.option("--documents", metavar="N", help="Documents. [default: 600 tokens each]"),
    click.option("--samples", metavar="N", help="Samples, of a data set that is not text."),
    click.option("--sample-bytes", metavar="SIZE", help="Bytes of one sample as it is encoded."),
    click.option("--raw-bytes", metavar="SIZE", help="Raw input of the pipeline, instead of tokens."),
    click.option("--corpus", metavar="ID", help="Corpus, or a YAML file; `ingest catalog list corpora`."),
    click.option("--pipeline", metavar="ID", help="Pipeline of the clean text; `ingest catalog list pipelines`."),
    click.option(
        "--format",
        "words",
        multiple=True,
        metavar="ID",
        help="Of the data set: megatron, mds, parquet, … [default: megatron, file-per-sample]; "
        "and of the output: table, json, csv, markdown. Repeatable.",
    ),
    click.option("--holds", metavar="WHAT", help="tokens, text or samples, if the format can hold several."),
    click.option("--sizes", default="varied", metavar="HOW", help="Sizes of samples: varied or equal. [default: varied]"),
    click.option("--vocabulary", metavar="N", help="Token ids; up to 65,536 take 2 B each. [default: 128,256]"),
    click.option("--sequence-length", metavar="N", help="Tokens of a packed sequence."),
    click.option("--shard-size", metavar="SIZE", help="Size of a full shard. [default: of the format]"),
    click.option("--copies", metavar="N", help="Copies of the training data, or raw=1,clean=1,dataset=3. [default: 1]"),
    click.option("--epochs", metavar="N", help="Passes over the data set. [default: 1]"),
    set_option,
    explain_option,
    click.option("-o", "--output", metavar="FILE", help="Write to a file; its suffix chooses the format of the output."),
    catalog_option,
]


@click.command("dataset")
@stacked(OPTIONS)
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
