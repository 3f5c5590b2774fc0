"""Options that several commands share, and output of results."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from ingest.cli.telling import MOST_LETTERS, tell
from ingest.errors import UsageError, expected_one_of, shortened
from ingest.files import write_whole
from ingest.reports.labels import helps_of
from ingest.reports.page import FORMATS, Page, format_of, render, suffixes, terminal_width, wrapped

Command = TypeVar("Command", bound=Callable[..., Any])


class OneOf(click.Choice[str]):
    """A choice whose error names the nearest value."""

    name = "choice"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"found '{value}', {expected_one_of(value, self.choices)}", param, ctx)
        return str(value)


def stacked(options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Combine options into one decorator, listed in this order in the help."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


output_options = stacked(
    [
        click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]"),
        click.option("-o", "--output", metavar="FILE", help="Write to a file; its suffix selects the format."),
    ]
)
catalog_option = click.option(
    "--catalogs", multiple=True, metavar="DIR", help="Folder with entries of your own; repeatable, the last one overrides."
)
set_option = click.option("--set", multiple=True, metavar="NAME=VALUE", help="Set any quantity; repeatable.")
site_set_option = click.option(
    "--set",
    multiple=True,
    metavar="PATH=VALUE",
    help="Replace a value of the site file; repeatable. Lists and ranges make several scenarios of `plan`.",
)
explain_option = click.option("--explain", metavar="NAME", help="Show the derivation of one quantity instead.")


#: metavar -> the options that take it; N for all others
METAVARS = {
    "ID": "model gpu node protocol encoding optimizer failures recipe corpus pipeline client protection",
    "ID…": "storage",
    "NAME": "layout text_field input_format",
    "SIZE": "sample_bytes raw_bytes shard_size tier_capacity residual capacity io_size size client_memory server_cache "
    "most_data",
    "RATE": "achieved read_bandwidth write_bandwidth restore_bandwidth shared_reads",
    "POWER": "power host_power storage_power",
    "PRICE": "price_gpu_hour electricity_price",
    "PER kWh": "carbon wue",
    "TIME": "mtti interval drain_time restart_time reschedule_time repair_time near_restore_time duration runtime latency "
    "window turn_time first_token_time",
    "SHARE=TIME,…": "mixture",
    "F": "target efficiency utilization cache_hit waste stall slow_down drain_fraction near_recovery allowed_deviation "
    "tolerance confidence",
    "FLOP": "flops_per_sample",
    "FILE": "hosts resume prices derivations",
    "FILE.docx": "template",
    "ID|FILE": "tokenizer",
    "GLOB": "include exclude",
    "ADDRESS": "scheduler",
    "N|FILE": "bytes_per_token",
    "LEVEL": "basis",
    "P": "precision priority",
    "HOW": "scaling mode readers sizes",
    "WHERE": "offload parameters gradients optimizer_states activations kv",
    "every=K|auto": "optimizer_on_gpu",
    "F|FILE": "hit",
    "WHAT": "holds",
    "0-3": "zero_stage",
    "K": "persistent_every",
}
METAVAR_OF = {option: metavar for metavar, options in METAVARS.items() for option in options.split()}


def options_of(function: Callable[..., Any], *without: str) -> Callable[[Command], Command]:
    """Add the options of a public function: its keyword-only parameters, with their defaults and the help of its `Args`.

    Args:
        function: the function that the command calls.
        without: parameters that are no options, or that the command declares itself.
    """
    shared = {"set": set_option, "catalogs": catalog_option}
    helps = helps_of(function)
    options = [
        shared.get(name) or _option(name, parameter.default, helps.get(name))
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in without
    ]
    return stacked(options)


def _option(name: str, default: Any, text: str | None) -> Callable[[Command], Command]:
    shown = f"--{name.replace('_', '-')}"
    if default is False:
        return click.option(shown, is_flag=True, help=text)
    metavar = METAVAR_OF.get(name, "N")
    if default == ():
        return click.option(shown, multiple=True, metavar=metavar, help=text)
    known = None if default is None else str(default)
    return click.option(shown, default=known, show_default=known is not None, metavar=metavar, help=text)


def hand_over(
    page: Callable[[], Page],
    data: Callable[[], Mapping[str, Any]],
    form: str | None,
    output: str | None,
    book: Callable[[], bytes] | None = None,
    alternative: str = "",
) -> None:
    """Print a result or write it to a file.

    Args:
        page, data: build the result, as a page or as plain values.
        form, output: `--format` and `--output`.
        book: builds the workbook; None if the command has none.
        alternative: the command that writes a workbook instead.

    Raises:
        UsageError: a workbook is requested of a command that has none.
    """
    chosen = format_of(output, form, book is not None)
    if output is None:
        click.echo(render(page, data, chosen, terminal_width()))
    elif chosen != "xlsx":
        write_whole(output, render(page, data, chosen) + "\n")
    elif book is not None:
        write_whole(output, book())
    else:
        known = ", ".join(suffixes(book=False))
        other = alternative and f", or {alternative}"
        raise UsageError(f"--output: '{output}': this result has no workbook; expected {known}{other}")


def warn(lines: Sequence[str], most: int | None = None) -> None:
    """Print warnings, the most severe first, on standard error.

    Args:
        most: how many at most; a last line tells how to see the others.
    """
    width = terminal_width(sys.stderr)
    for line in lines[:most]:
        tell("\n".join(wrapped(shortened(f"ingest: warning: {line}", MOST_LETTERS), "", width)))
    if most is not None and len(lines) > most:
        tell(f"ingest: warning: {len(lines) - most} more: --verbose")
