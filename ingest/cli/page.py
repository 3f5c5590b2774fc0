"""`ingest page`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import options_of
from ingest.cli.telling import tell
from ingest.reports.web.page import page


@click.command("page")
@click.option("-o", "--output", metavar="FILE.html", default="calc.html", show_default=True, help="The file to write.")
@options_of(page, "output")
def command(output: str, **options: Any) -> None:
    """Write one page that computes in a browser, without a network: bandwidth, checkpoints, data sets, systems.

    It holds the catalogs and the formulas, with your own entries if --catalogs names them.

    \b
    ingest page -o calc.html
    ingest page --catalogs own -o calc.html
    """
    written = page(output=output, **options)
    tell(f"ingest: wrote {written.path} ({written.size})")
