"""`ingest plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import get_annotations
from pathlib import Path
from typing import Any

import click

from ingest.cli.main import later
from ingest.cli.options import BriefCommand, options_of, output_options
from ingest.cli.output import VERBOSE, chosen_option, hand_over, tell_written
from ingest.engine.result import envelope
from ingest.errors import RequirementNotMet, UsageError
from ingest.files import write_whole
from ingest.reports.pages import page_for
from ingest.reports.pages.plan import lines_page
from ingest.site.plan import PlanScenarios
from ingest.site.planner import plan, with_decisions
from ingest.site.schema import schema_text, starter
from ingest.site.site_file import new_site

#: The workbook of a plan.
model_workbook = later("ingest.reports.workbook.model_workbook", "model_workbook")
#: What a site file without examples of other sites is made from.
NAMED = tuple(name for name in get_annotations(new_site) if name not in ("catalogs", "return"))


@click.command("plan", cls=BriefCommand)
@click.argument("site", required=False, metavar="SITE.yaml")
@options_of(plan)
@click.option("--check", is_flag=True, help="Exit with 3 if an `expect` of the file is not met.")
@click.option("--explain", metavar="ID", help="Show the derivation of one requirement instead, such as R-READ-01.")
@click.option("--new", is_flag=True, help="Write a commented site file to start from instead.")
@click.option("--nodes", metavar="N", help="With --new: nodes of the site, for a file without examples of other sites.")
@click.option("--gpu", metavar="ID", help="With --new and --nodes: the GPU; its usual node is the node type.")
@click.option("--models", metavar="ID,…", help="With --new and --nodes: the models, a job each.")
@click.option("--schema", is_flag=True, help="Write the JSON Schema of site files, for editors, instead.")
@output_options
def command(
    site: str | None, form: str | None, output: Sequence[str], check: bool, explain: str | None, new: bool, **options: Any
) -> None:
    named = {name: options.pop(name) for name in NAMED}
    if new and options["schema"]:
        raise UsageError("--new and --schema are given, expected one of them")
    if (schema := options.pop("schema")) or new:
        _write_new(site, output, schema, {**named, "catalogs": options["catalogs"]})
        return
    for option, value in named.items():
        if value is not None:
            raise UsageError(f"--{option}: found '{value}' without --new, expected it with --new; a site file has its own")
    if site is None:
        raise UsageError("SITE.yaml is missing, expected a file (`ingest plan --new` writes one)")
    answer = plan(site, **options)
    if isinstance(answer, PlanScenarios):
        if explain is not None:
            raise UsageError("--explain: found several scenarios, expected one")
        hand_over(answer, form, output)
    elif explain is not None:
        lines = answer.explain(explain)
        body = {**answer.requirement(explain).to_dict(), "derivation": lines}
        data = envelope(answer.command, body, catalog=answer.catalog)
        hand_over(answer, form, output, page=partial(lines_page, f"Derivation of {explain}", lines), data=lambda: data)
    else:
        hand_over(answer, form, output, model_workbook, page=partial(page_for, answer, chosen_option(VERBOSE)))
    if check and answer.unmet:
        raise RequirementNotMet(answer.unmet)


def _write_new(site: str | None, output: Sequence[str], schema: bool, named: Mapping[str, Any]) -> None:
    """Write the schema, the commented example, or the file of these nodes, GPU and models; never over an existing file."""
    expected = (".json",) if schema else (".yaml", ".yml")
    path = next(iter(output), None)
    if len(output) > 1:
        raise UsageError(f"--output: found '{path}' and '{output[1]}', expected one of them with --new or --schema")
    if path is not None and Path(path).suffix.lower() not in expected:
        raise UsageError(f"--output: '{path}' ends in '{Path(path).suffix}', expected {' or '.join(expected)}")
    given = [name for name in NAMED if named[name] is not None]
    if schema:
        text = schema_text()
    elif not given:
        text = starter()
    elif len(given) < len(NAMED):
        raise UsageError("--new: expected --nodes, --gpu and --models together, or none of them")
    else:
        text = with_decisions(new_site(**named), named["catalogs"])
    if site is not None:
        raise UsageError(f"SITE.yaml: found '{site}', expected none with --new or --schema; -o FILE names the new file")
    if path is None:
        click.echo(text, nl=False)
    elif Path(path).exists():
        raise UsageError(f"--output: '{path}' exists already, expected a new file")
    else:
        write_whole(path, text)
        tell_written(path)
