"""`ingest response`."""

from __future__ import annotations

import click

from ingest.cli.options import hand_over, output_options, warn
from ingest.errors import RequirementNotMet
from ingest.reports.pages.acceptance import response_page
from ingest.rfp.response import response


@click.command("response")
@click.argument("filled", metavar="FILLED.xlsx")
@click.option("--optimized", is_flag=True, help="Count tuned values too, not only those as delivered.")
@click.option("--sent", metavar="FILE.xlsx", help="The workbook as you sent it: the requirements are read from there.")
@output_options
def command(filled: str, optimized: bool, sent: str | None, form: str | None, output: str | None) -> None:
    """Compare a vendor's filled workbook with the requirements, line by line.

    Exits with 3 if a mandatory requirement is missed or only partly met, or if the requirements in FILLED differ
    from those that were sent.

    Without --sent the requirements are read from FILLED itself, which the vendor may have changed.

    \b
    ingest response offer.xlsx
    ingest response offer.xlsx --sent rfp.xlsx --format json
    """
    answer = response(filled, sent=sent, optimized=optimized)
    hand_over(lambda: response_page(answer), answer.to_dict, form, output)
    warn(answer.warnings)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
