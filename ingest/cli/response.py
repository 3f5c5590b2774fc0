"""`ingest response`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import click

from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.cli.main import later
from ingest.cli.options import BriefCommand, options_of, output_options
from ingest.cli.output import DOCUMENTS, VERBOSE, chosen_option, hand_over
from ingest.errors import IngestError, RequirementNotMet
from ingest.reports.document.page_document import response_document
from ingest.reports.pages import page_for
from ingest.rfp.offer_verdict import response
from ingest.text import one_line
from ingest.version import __version__

#: The workbook of a comparison of responses.
response_workbook = later("ingest.reports.workbook.judged_workbooks", "response_workbook")

#: What a document says about itself.
SUBTITLE = f"Offers against the requirements of {{sent}}. Made by ingest {__version__}."
WEIGHTS = Kind("weights of targets, such as `R-READ-05: 2`", "ingest response --help")
DECISIONS = Kind("decisions on reservations, such as `R-CAP-03: {accept: why}`", "ingest response --help")


@click.command("response", cls=BriefCommand)
@click.argument("offers", nargs=-1, required=True, metavar="OFFER.xlsx…")
@options_of(response)
@output_options
def command(offers: tuple[str, ...], sent: str | None, form: str | None, output: Sequence[str], **options: Any) -> None:
    for name, kind in (("weights", WEIGHTS), ("decisions", DECISIONS)):
        if options[name]:
            options[name] = read_yaml(path := Path(options[name]), kind)
            if not isinstance(options[name], dict):
                raise IngestError(f"{path}: expected {kind.name}")
    with redirect_stdout(StringIO()):  # on which openpyxl reports a style that is not there
        compared = response(offers, sent=sent, **options)
    answer = compared.offers[0] if len(offers) == 1 else compared
    # A file is filed: it holds every line.
    page = partial(page_for, answer, chosen_option(VERBOSE) or bool(output))
    subtitle = SUBTITLE.format(sent=one_line(Path(sent).name) if sent else "the first offer")
    documents = {suffix: lambda made=made: made(response_document(page(), subtitle)) for suffix, made in DOCUMENTS.items()}
    hand_over(answer, form, output, lambda _: response_workbook(compared), page=page, documents=documents)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
