"""`ingest measure`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import catalog_option, hand_over, output_options, stacked, warn
from ingest.corpus.measure import Interrupted, measure
from ingest.corpus.progress import Progress
from ingest.errors import IngestError
from ingest.reports.pages.corpus import corpus_page, samples_page

OPTIONS = [
    click.option(
        "--tokenizer", metavar="ID|FILE", help="Vocabulary id, tokenizer.json, .tiktoken, SentencePiece model, train:32000."
    ),
    click.option("--exact/--sample", default=None, help="Count everything, or a sample. [default: everything up to 30 s]"),
    click.option("--tolerance", default="0.5%", metavar="F", help="Half the width of a sample's interval. [default: 0.5%]"),
    click.option("--confidence", default="95%", metavar="F", help="Of that interval. [default: 95%]"),
    click.option("--seed", metavar="N", help="Of the sample; the same seed gives the same answer. [default: random, printed]"),
    click.option("--text-field", metavar="NAME", help="Field or column with the text, such as text or meta.body."),
    click.option("--input-format", metavar="NAME", help="Format of every file, if file names do not tell: text, jsonl, …"),
    click.option("--include", multiple=True, metavar="GLOB", help="Take only such files; repeatable."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out such files and folders; repeatable."),
    click.option("--resume", metavar="FILE", help="Keep a ledger in FILE, and resume an interrupted run. Counts everything."),
    click.option("--scheduler", metavar="ADDRESS", help="Count on the workers of a Dask cluster. Counts everything."),
    click.option("--samples", is_flag=True, help="Sizes of samples (images, records, files) instead of tokens."),
    click.option("--strict", is_flag=True, help="Exit with 1 if anything was left out."),
    click.option("--threads", metavar="N", help="Threads or processes that count. [default: one per core]"),
    click.option("--quiet", is_flag=True, help="Print no progress."),
    catalog_option,
]


@click.command("measure")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@stacked(OPTIONS)
@output_options
def command(form: str | None, output: str | None, paths: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Bytes per token, tokens and sizes of your own text, exactly or with an honest interval.

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
        answer = measure(*paths, **options, progress=None if quiet else Progress.on_standard_error())
    except Interrupted as interrupted:
        known = interrupted.known
        hand_over(lambda: corpus_page(known), known.to_dict, form, output)
        raise
    page = samples_page if options["samples"] else corpus_page
    hand_over(lambda: page(answer), answer.to_dict, form, output)
    warn(answer.warnings)
    if answer.unmet:
        raise IngestError(answer.unmet)
