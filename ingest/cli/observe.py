"""`ingest observe`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from ingest.cli.options import COMMAND, HELP, BriefCommand, options_of, output_options
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


@click.command("observe", cls=ObserveCommand, help=HELP["observe"].format(logs=LOGS, counts=COUNTS))
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
