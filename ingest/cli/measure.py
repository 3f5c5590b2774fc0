"""`ingest measure`."""

from __future__ import annotations

import sys
from typing import Any

import click

from ingest.cli.options import options_of, output_options
from ingest.cli.output import QUIET, chosen_option, hand_over
from ingest.corpus.measure import Interrupted, measure
from ingest.corpus.types import Progress
from ingest.errors import IngestError


@click.command("measure")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--exact/--sample", default=None, help="Count everything, or a sample. [default: everything up to 30 s]")
@options_of(measure, "exact", "progress")
@output_options
def command(form: str | None, output: str | None, paths: tuple[str, ...], **options: Any) -> None:
    """Bytes per token, tokens and sizes of your own text, exactly or with a confidence interval.

    PATH is a folder, file, glob, URL (s3://…), datasets://FOLDER, @list.txt, or - for standard input; plain text, JSONL,
    CSV, Parquet, Arrow, tar, WARC, also compressed. Unreadable files are listed in files_skipped. Ctrl-C prints the
    result so far.

    \b
    ingest measure books/
    ingest measure books/ --tokenizer tokenizer.json -o corpus.json
    ingest measure 's3://bucket/c4/*.json.gz' --text-field text --tolerance 1%
    ingest measure books/ --exact --resume books.ledger
    ingest bw --model config.json --gpu h100 --bytes-per-token corpus.json
    ingest measure images/ --samples -o samples.json
    """
    try:
        answer = measure(*paths, **options, progress=None if chosen_option(QUIET) else Progress(sys.stderr))
    except Interrupted as interrupted:
        hand_over(interrupted.known, form, output, warnings=())
        raise
    hand_over(answer, form, output)
    if answer.unmet:
        raise IngestError(answer.unmet)
