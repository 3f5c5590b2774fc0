"""`ingest calibrate`."""

from __future__ import annotations

from typing import Any

import click

from ingest.cli.options import OneOf, detail_options, hand_over, options_of
from ingest.errors import RequirementNotMet
from ingest.observation.calibration import calibrate
from ingest.reports.page import FORMATS
from ingest.reports.pages.observation import calibration_page


@click.command("calibrate")
@click.argument("observations", metavar="OBSERVATION…", nargs=-1, required=True)
@options_of(calibrate)
@click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]")
@detail_options
def command(observations: tuple[str, ...], form: str | None, **options: Any) -> None:
    """Estimate beside observation, why they differ, and entries of your own that carry the observation on.

    OBSERVATION is the JSON of `ingest observe`; several, of one job at other sizes or batches, give the scaling exponent and
    the time in which a batch is handed over, with 95 % intervals, or a refusal where they do not determine them. The entries
    have the grade `measured` and the protocol `own`; a folder that holds those of other observations keeps them. With
    --tolerance, exits with 3 if the rates differ by more.

    \b
    ingest calibrate job.json --model unet3d --gpu h100 -o own
    ingest calibrate 8.json 32.json 128.json --model unet3d --gpu h100 -o own
    ingest plan site.yaml --catalogs own --set jobs.train.protocol=own
    """
    answer = calibrate(*observations, **options)
    hand_over(lambda: calibration_page(answer), answer.to_dict, form, None, warnings=answer.warnings)
    if answer.unmet:
        raise RequirementNotMet(answer.unmet)
