"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ingest.cli.output import QUIET, VERBOSE, choose
from ingest.cli.output import chosen_option as chosen_option
from ingest.cli.output import hand_over as hand_over
from ingest.cli.output import painter as painter
from ingest.cli.output import tell_answer as tell_answer
from ingest.cli.output import tell_written as tell_written
from ingest.cli.output import warn as warn
from ingest.engine.question import Declared, arguments_of
from ingest.errors import expected_one_of
from ingest.files import note_outputs
from ingest.reports.labels import helps_of
from ingest.reports.page import FORMATS

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


def _kept(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Keep a flag for what prints the result."""

    def keep(_: click.Context, __: click.Parameter, value: bool) -> None:
        if value:
            choose(name)

    return keep


#: How much is printed.
detail_options = stacked(
    [
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_kept(VERBOSE),
            help="Print everything: further results, tables, assumptions, sources, all cautions.",
        ),
        click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_kept(QUIET), help="Print only the answer."),
    ]
)


def note_output(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """Note the files that are there before the command replaces them."""
    note_outputs((value,) if isinstance(value, str) else value or ())
    return value


output_options = stacked(
    [
        detail_options,
        click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]"),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            callback=note_output,
            help="Write to a file, or replace it; its suffix selects the format.",
        ),
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
#: Where the words before the options are kept, by the option that each stands for.
WORD = "ingest.word.{}"


def _given_word(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    ctx.meta[WORD.format((parameter.name or "").removesuffix("_word"))] = value


def _one_word(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The value of an option, or the word before the options that stands for it.

    Raises:
        UsageError: two different ones.
    """
    name = parameter.name or ""
    word = ctx.meta.get(WORD.format(name))
    if word is not None and value not in (None, word):
        raise click.UsageError(f"{name.upper()}: found '{word}' and --{name} {value}, expected one of them")
    return value or word


def word_argument(name: str) -> Callable[[Command], Command]:
    """A word that stands for the option of this name, such as `h100` for `--gpu h100`."""
    return click.argument(
        f"{name}_word",
        required=False,
        metavar=f"[{name.upper()}]",
        is_eager=True,
        expose_value=False,
        callback=_given_word,
    )


#: The model and the kind of its GPUs: words, or the options of the same names.
model_argument = stacked(
    [
        word_argument("model"),
        word_argument("gpu"),
        click.option(
            "--model", metavar="ID", callback=_one_word, help="Id, alias, YAML file or config.json of the model; or MODEL."
        ),
    ]
)
explain_option = click.option("--explain", metavar="NAME", help="Show the derivation of one quantity instead.")


#: metavar -> the options that take it; N for all others
METAVARS = {
    "ID": "client encoding gpu model node optimizer protection protocol",
    "ID…": "storage",
    "NAME": "input_format text_field",
    "SIZE": "capacity client_memory io_size most_data sample_bytes server_cache size",
    "RATE": "achieved read_bandwidth write_bandwidth",
    "TIME": "latency runtime window",
    "F": "allowed_deviation cache_hit confidence efficiency tolerance utilization",
    "FLOP": "flops_per_sample",
    "FILE": "hosts resume prices derivations",
    "FILE.docx": "template",
    "ID|FILE": "tokenizer",
    "GLOB": "include exclude",
    "ADDRESS": "scheduler",
    "N|FILE": "bytes_per_token",
    "LEVEL": "basis",
    "P": "precision priority",
    "HOW": "scaling",
    "0-3": "zero_stage",
}
METAVAR_OF = {option: metavar for metavar, options in METAVARS.items() for option in options.split()}


def options_of(function: Callable[..., Any], *without: str) -> Callable[[Command], Command]:
    """Add the options of a public function: its parameters with a default, which the help of its `Args` describes.

    Args:
        function: the function that the command calls.
        without: parameters that the command declares itself, or that have no option.
    """
    shared = {"set": set_option, "catalogs": catalog_option}
    helps = helps_of(function)
    options = []
    for name, one in arguments_of(function).items():
        if name in without or one.required:
            continue
        told = Declared(helps.get(name, ""), METAVAR_OF.get(name, "N"), many=one.default == ())
        options.append(_option(name, one.default, one.declared or told) if one.declared or name not in shared else shared[name])
    return stacked(options)


def _option(name: str, default: Any, declared: Declared) -> Callable[[Command], Command]:
    shown = f"--{name.replace('_', '-')}"
    if default is False:
        return click.option(shown, is_flag=True, help=declared.text)
    if declared.many:
        return click.option(shown, multiple=True, metavar=declared.metavar, help=declared.text)
    known = None if default is None else str(default)
    callback = {"gpu": _one_word, "derivations": note_output}.get(name)
    return click.option(
        shown, default=known, show_default=known is not None, metavar=declared.metavar, help=declared.text, callback=callback
    )
