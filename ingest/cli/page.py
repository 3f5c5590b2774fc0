"""`ingest page`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import detail_options, options_of, tell_written
from ingest.reports.web.page import page


@click.command("page")
@options_of(page)
@detail_options
def command(output: str, **options: Any) -> None:
    """Write one page that computes in a browser, without a network: bandwidth, checkpoints, data sets, systems.

    It holds the catalogs and the formulas, with your own entries if --catalogs names them.

    \b
    ingest page -o calc.html
    ingest page --catalogs own -o calc.html
    """
    written = page(output=output, **options)
    tell_written(written.path)
