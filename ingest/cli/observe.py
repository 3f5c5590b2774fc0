"""`ingest observe`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from ingest.cli.group import COMMAND
from ingest.cli.options import BriefCommand, options_of, output_options
from ingest.cli.output import hand_over
from ingest.observation.observation import CountSource, LogSource, bundle_of, declared_sources
from ingest.observation.observe import observe


class ObserveCommand(BriefCommand):
    """A command whose option `--command` takes all words after it: they belong to the job."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = next((at for at, word in enumerate(args) if word == COMMAND or word.startswith(f"{COMMAND}=")), None)
        if place is not None:
            words = [args[place].partition("=")[2]] if "=" in args[place] else args[place + 1 :]
            rest = args[place + 1 :] if "=" in args[place] else []
            if not any(words):
                raise click.UsageError(f"{COMMAND} needs the program to start, and its arguments, as the last words", ctx)
            try:
                ctx.meta["job"] = tuple(shlex.split(words[0]) if len(words) == 1 else words)
            except ValueError:
                raise click.UsageError(f"{COMMAND}: found '{words[0]}', expected closed quotation marks", ctx) from None
            args = [*args[:place], *rest]
        return super().parse_args(ctx, args)


LOGS = ", ".join(one.help for one in declared_sources(LogSource) if one.help)
COUNTS = " or ".join(f"its {one.kind}s" for one in declared_sources(CountSource))
HELP = f"""Read rate, request sizes, samples per second and stalls of your own job, each with window and coverage.

SOURCE is a log of the job ({LOGS}), {COUNTS}; a folder stands for all logs and traces in it, those of one job. A running job
needs no root: --pid or --command watch its processes. Output of a started job goes to standard error. What would mislead is
refused, with what to do instead.

\b
ingest observe --pid 4711 --path /data --window 60s
ingest observe train.log --gpus 64 --synthetic '1000 sample/s'
ingest observe logs/ train.log --path /data --gpus 8
ingest observe job.json --bundle -o bundle.json
ingest observe --path /data -o job.json --command python train.py --epochs 1
"""


@click.command("observe", cls=ObserveCommand, help=HELP)
@click.argument("sources", nargs=-1, metavar="[SOURCE…]")
@options_of(observe, "command")
@click.option(COMMAND, "job", metavar="CMD…", help="Start a job and watch it; all words after this option belong to it.")
@click.option("--bundle", is_flag=True, help="Print the numbers alone, without paths, hosts, users and command lines.")
@output_options
@click.pass_context
def command(
    ctx: click.Context, /, form: str | None, output: Sequence[str], sources: tuple[str, ...], bundle: bool, **options: Any
) -> None:
    options.pop("job", None)
    answer = observe(*sources, command=ctx.meta.get("job", ()), **options)
    if bundle:
        form = form or (None if output else "json")
        if form not in (None, "json"):
            raise click.UsageError(f"--bundle: found --format {form}, expected json: a bundle is data", ctx)
        hand_over(answer, form, output, data=lambda: bundle_of(answer), warnings=())
    else:
        hand_over(answer, form, output)
