"""`ingest verdict`."""

from __future__ import annotations

import click

from ingest.acceptance.verdict import verdict
from ingest.cli.options import hand_over, output_options, warn
from ingest.errors import RequirementNotMet
from ingest.reports.pages.acceptance import verdict_page


@click.command("verdict")
@click.argument("folder", metavar="DIR")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS…")
@click.option("--require-all", is_flag=True, help="Also exit with 3 if a test of a mandatory requirement has no result.")
@output_options
def command(folder: str, results: tuple[str, ...], require_all: bool, form: str | None, output: str | None) -> None:
    """Judge results of acceptance tests: pass, fail or not tested, with margins.

    Reads what fio, IOR, mdtest, elbencho, DLIO and MLPerf Storage write. A run whose settings differ from the test (block
    size, duration, errors, caches, threads) does not count and is listed. Exits with 3 if a mandatory requirement
    failed; with --require-all also if one that has a test was not tested.

    \b
    ingest verdict tests results/
    """
    answer = verdict(folder, results)
    hand_over(lambda: verdict_page(answer), answer.to_dict, form, output)
    warn(answer.warnings)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
    if require_all and answer.unshown:
        raise RequirementNotMet(f"verdict: mandatory requirements not tested: {', '.join(answer.unshown)}")
