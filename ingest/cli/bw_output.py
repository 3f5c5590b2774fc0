"""The answer of `ingest bw` on standard output or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ingest.cli.main import later
from ingest.cli.output import forget_choices, hand_over
from ingest.cli.plain import plain_options
from ingest.configuration import forget_configuration
from ingest.errors import IngestError
from ingest.reports.pages.sizing import estimate_page, scenarios_page
from ingest.sizing.bandwidth import Scenarios, bw

sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")


def show_bandwidth(form: str | None, output: str | None, **options: Any) -> None:
    """Print the read bandwidth of one job or of several."""
    answer = bw(**options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if isinstance(answer, Scenarios):
        several = len({one.nodes for one in answer.scenarios}) > 1
        sweep = "ingest sweep with the same options, which writes a table of all scenarios" if several else ""
        hand_over(lambda: scenarios_page(answer), answer.to_dict, form, output, alternative=sweep, warnings=answer.warnings)
    else:
        book = partial(sizing_workbook, answer, answer.title)
        hand_over(lambda: estimate_page(answer), answer.to_dict, form, output, book, warnings=answer.warnings)


def plain(words: Sequence[str]) -> bool:
    """Answer a line of options spelled in full; False for one that click has to read."""
    forget_configuration()
    try:
        options = plain_options(words, bw)
        if options is not None:
            show_bandwidth(**options)
    finally:
        forget_choices()
    return options is not None
