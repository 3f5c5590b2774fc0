"""Options that several commands share, and output of results."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar
from zipfile import ZipFile

import click

from ingest.cli.telling import MOST_LETTERS, tell
from ingest.engine.messages import rule_of
from ingest.errors import UsageError, expected_one_of
from ingest.errors import shortened as shortened_line
from ingest.files import write_whole
from ingest.reports.labels import counted, helps_of
from ingest.reports.page import (
    FORMATS,
    Page,
    Paint,
    as_text,
    format_of,
    render,
    shortened,
    suffixes,
    terminal_width,
    unpainted,
    wrapped,
)
from ingest.sizing.rules import ranked
from ingest.units import display

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


VERBOSE, QUIET = "ingest.verbose", "ingest.quiet"


def _kept(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Keep a flag for what prints the result, so that no command has to pass it on."""

    def keep(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[name] = ctx.meta.get(name, False) or value

    return keep


def chosen_option(name: str) -> bool:
    """Whether `VERBOSE` or `QUIET` is set for the command that runs."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(name))


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
EXISTING = "ingest.existing"


def note_existing(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
    """Note which files of `-o` are there before the command runs: what replaces a file says so."""
    named = (value,) if isinstance(value, str) else value or ()
    ctx.meta[EXISTING] = {str(path) for path in named if Path(path).is_file()}
    return value


output_options = stacked(
    [
        detail_options,
        click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]"),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            callback=note_existing,
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
    """Add the options of a public function: its parameters with a default, which the help of its `Args` describes.

    Args:
        function: the function that the command calls.
        without: parameters that the command declares itself, or that have no option.
    """
    shared = {"set": set_option, "catalogs": catalog_option}
    helps = helps_of(function)
    options = [
        shared.get(name) or _option(name, parameter.default, helps.get(name))
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in without and _is_optional(parameter)
    ]
    return stacked(options)


def _is_optional(parameter: inspect.Parameter) -> bool:
    positional = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is not parameter.empty
    return positional or parameter.kind is parameter.KEYWORD_ONLY


def _option(name: str, default: Any, text: str | None) -> Callable[[Command], Command]:
    shown = f"--{name.replace('_', '-')}"
    if default is False:
        return click.option(shown, is_flag=True, help=text)
    metavar = METAVAR_OF.get(name, "N")
    if default == ():
        return click.option(shown, multiple=True, metavar=metavar, help=text)
    known = None if default is None else str(default)
    word = _one_word if name == "gpu" else None
    return click.option(shown, default=known, show_default=known is not None, metavar=metavar, help=text, callback=word)


def hand_over(
    page: Callable[[], Page],
    data: Callable[[], Mapping[str, Any]],
    form: str | None,
    output: str | None,
    book: Callable[[], bytes] | None = None,
    alternative: str = "",
    warnings: Sequence[str] = (),
) -> None:
    """Print a result or write it to a file, and its warnings on standard error.

    A table begins and ends with the answer, and leaves details out unless `-v` is given; `-q` prints the answer alone. Files
    and other formats hold everything.

    Args:
        page, data: build the result, as a page or as plain values.
        form, output: `--format` and `--output`.
        book: builds the workbook; None if the command has none.
        alternative: the command that writes a workbook instead.
        warnings: one line each.

    Raises:
        UsageError: a workbook is requested of a command that has none.
    """
    chosen = format_of(output, form, book is not None)
    if output is None:
        _print(page, data, chosen, warnings)
        return
    if chosen == "xlsx" and book is None:
        known = ", ".join(suffixes(book=False))
        other = alternative and f", or {alternative}"
        raise UsageError(f"--output: '{output}': this result has no workbook; expected {known}{other}")
    write_whole(output, book() if chosen == "xlsx" and book is not None else render(page, data, chosen) + "\n")
    warn(warnings)
    tell_written(output)


def _print(page: Callable[[], Page], data: Callable[[], Mapping[str, Any]], form: str, warnings: Sequence[str]) -> None:
    """Print a result, its warnings, and the answer again."""
    if form != "table":
        click.echo(render(page, data, form))
        warn(warnings)
        return
    made, width, paint = page(), terminal_width(), painter(sys.stdout)
    answer = "\n".join(paint("answer", line) for line in wrapped(made.answer or made.title, "", width))
    if chosen_option(QUIET):
        click.echo(answer)
        return
    click.echo(as_text(made if chosen_option(VERBOSE) else shortened(made), width, paint))
    warn(warnings)
    if made.answer:
        sys.stdout.flush()
        click.echo(answer)


def tell_written(*paths: str | Path) -> None:
    """Say which files were written or replaced, and how large they are, unless `-q` is given."""
    ctx = click.get_current_context(silent=True)
    existing = ctx.meta.get(EXISTING, ()) if ctx is not None else ()
    for path in paths:
        if not chosen_option(QUIET):
            facts = ", ".join(_facts_of(Path(path)))
            done = "replaced" if str(path) in existing else "wrote"
            tell(f"{done} {path}" + (f" ({facts})" if facts else ""))


def _facts_of(path: Path) -> Iterator[str]:
    """The sheets of a workbook, and the size of a file; nothing of a device or of a folder."""
    if path.is_file():
        if path.suffix.lower() == ".xlsx":
            with ZipFile(path) as book:
                yield counted(sum(name.startswith("xl/worksheets/sheet") for name in book.namelist()), "sheet")
        yield display(path.stat().st_size, "B", binary=False, digits=3)


#: How a line of each kind looks where colours are shown.
STYLES: Mapping[str, Mapping[str, Any]] = {
    "answer": {"bold": True}, "note": {"dim": True}, "caution": {"fg": "yellow"}, "miss": {"fg": "red"},
}  # fmt: skip


def painter(stream: TextIO | None) -> Paint:
    """Colours for a terminal; none where `NO_COLOR` is set, for a dumb terminal, a file or a pipe."""
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return unpainted
    return lambda kind, line: click.style(line, **STYLES[kind]) if kind in STYLES else line


#: Cautions that are shown unless `-v` is given.
MOST_CAUTIONS = 3


def warn(lines: Sequence[str]) -> None:
    """Print warnings on standard error, the most severe first, each with the id of its rule; `-q` prints none."""
    if chosen_option(QUIET):
        return
    most = None if chosen_option(VERBOSE) else MOST_CAUTIONS
    width, paint = terminal_width(sys.stderr), painter(sys.stderr)
    for line in ranked(lines)[:most]:
        said = " ".join(filter(None, ("ingest: warning:" if width is None else "warning:", rule_of(line), line)))
        tell("\n".join(paint("caution", part) for part in wrapped(shortened_line(said, MOST_LETTERS), "", width)))
    if most is not None and len(lines) > most:
        tell(f"{'ingest: warning: ' if width is None else ''}{len(lines) - most} more: -v")
