"""`ingest verdict`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingest.acceptance.verdict import verdict
from ingest.cli.main import later
from ingest.cli.options import hand_over, options_of, output_options, tell_written, warn
from ingest.errors import RequirementNotMet
from ingest.files import write_whole
from ingest.reports.document.page_document import verdict_document
from ingest.reports.document.word import as_docx
from ingest.reports.pages.acceptance import verdict_page

#: The workbook of a verdict.
verdict_workbook = later("ingest.reports.workbook.judged_workbooks", "verdict_workbook")


@click.command("verdict")
@click.argument("folder", metavar="DIR")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS…")
@click.option("--partial", is_flag=True, help="Exit with 0 although mandatory requirements have no result yet.")
@options_of(verdict)
@output_options
def command(
    folder: str,
    results: tuple[str, ...],
    partial: bool,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Judge results of acceptance tests: ACCEPTED, NOT ACCEPTED or INCOMPLETE, then line by line with margins.

    Reads the results of fio, IOR, mdtest, elbencho, DLIO and MLPerf Storage. A requirement passes where the one-sided 95 %
    lower bound of the median of its runs reaches 97 % of it. It is undecided, with the number of runs to add, where their
    spread is too wide; ten runs decide. Requirements and terms that no test shows are listed for inspection. A run whose
    settings differ from the test (block size, duration, errors, caches, threads) does not count and is listed. A file may end
    in .docx, .xlsx, .md, .csv, .json or .txt.

    Exits with 3 if a mandatory requirement failed, or has a test and no result; with --partial only if one failed.

    \b
    ingest verdict tests results/
    ingest verdict tests results/ -o verdict.docx
    ingest verdict tests results/ --degraded results-degraded/ --rebuild results-rebuild/
    """
    answer = verdict(folder, results, **options)
    if form is None and output is not None and Path(output).suffix.lower() == ".docx":
        write_whole(output, as_docx(verdict_document(answer)))
        warn(answer.warnings)
        tell_written(output)
    else:
        hand_over(
            lambda: verdict_page(answer),
            answer.to_dict,
            form,
            output,
            lambda: verdict_workbook(answer),
            warnings=answer.warnings,
        )
    if answer.unmet or (answer.incomplete and not partial):
        raise RequirementNotMet(answer.unmet or answer.incomplete)
