"""`ingest site`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ingest.accounting.usage import part, usage
from ingest.cli.main import later
from ingest.cli.options import BriefCommand, options_of, output_options
from ingest.cli.output import DOCUMENTS, hand_over, tell_written
from ingest.errors import UsageError
from ingest.files import write_whole
from ingest.reports.page import SUFFIXES

usage_document = later("ingest.reports.document.page_document", "usage_document")
usage_workbook = later("ingest.reports.workbook.judged_workbooks", "usage_workbook")
#: What a file may end in: a site file, a report, a part.
SITE_FILES, PART = (".yaml", ".yml"), ".npz"


@click.command("site", cls=BriefCommand)
@click.option("--from", "histories", multiple=True, metavar="HISTORY", help="File or folder of a history, or -. Repeatable.")
@click.argument("further", nargs=-1, metavar="[HISTORY…]")
@options_of(usage)
@output_options
def command(
    histories: tuple[str, ...], further: tuple[str, ...], form: str | None, output: Sequence[str], **options: Any
) -> None:
    sources = (*histories, *further)
    suffixes = {path: Path(path).suffix.lower() for path in output}
    if options["part"]:
        if [*suffixes.values()] != [PART]:
            raise UsageError(f"--part: expected -o with one file, which ends in {PART}")
        write_whole(output[0], part(*sources, **options))
        tell_written(output[0])
        return
    known = (*SITE_FILES, *DOCUMENTS, *SUFFIXES)
    for path, suffix in suffixes.items():
        if suffix not in known:
            raise UsageError(f"--output: '{path}' ends in '{suffix}', expected {', '.join(known)}")
    answer = usage(*sources, **options)
    documents = {each: lambda made=made: made(usage_document(answer)) for each, made in DOCUMENTS.items()}
    files = documents | dict.fromkeys(SITE_FILES, lambda: answer.site)
    sites = [path for path in output if form and suffixes[path] in SITE_FILES]
    hand_over(answer, form, [path for path in output if path not in sites], usage_workbook, documents=files)
    for path in sites:
        write_whole(path, answer.site)
        tell_written(path)
