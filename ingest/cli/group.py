"""The parser of the command line: subcommands that are imported when they run, and the refusals of its options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise, takewhile

import click

from ingest.cli.main import COMMANDS, INTERRUPTED, command_of, later, overview, refuse, tell
from ingest.cli.output import forget_choices
from ingest.configuration import forget_configuration
from ingest.errors import IngestError, brief, expected_one_of
from ingest.files import table_beside
from ingest.version import __version__

#: Commands with an option that a refusal names: more tell nobody where to go.
MOST_OTHERS = 3
#: What a word after the last one that a command takes may be: form -> option.
_VALUES = {r"[0-9]+( nodes?)?": "--nodes", r"[0-9]+( GPUs?)?": "--gpus", r"\S+[.][a-z]+": "--output"}
_FORMS = ("json", "csv", "markdown", "table")


@cache
def elsewhere() -> Mapping[str, Mapping[str, str]]:
    """What others call our options and commands, in words."""
    found: Mapping[str, Mapping[str, str]] = table_beside(__file__, "elsewhere.yaml")
    return found


def instead_of(option: str, known: Collection[str]) -> str:
    """Return the line for an option that a command does not have; `known` are those that it has.

    >>> instead_of("--tp", ["--gpus", "--tensor-parallel"])
    "no such option '--tp'; did you mean '--tensor-parallel'?"
    >>> instead_of("--json", ["--format", "--set"])
    "no such option '--json'; did you mean '--format json'?"
    >>> instead_of("--bf16", ["--precision"])
    "no such option '--bf16'; did you mean '--precision bf16'?"
    """
    from difflib import get_close_matches

    written = re.sub("[-_]", "", option).lower()
    word = {"md": "markdown"}.get(written, written)
    if word in _FORMS and "--format" in known:
        return _line(option, f"--format {word}")
    if re.fullmatch("(bf|fp|tf)[0-9]+", word) and "--precision" in known:
        return _line(option, f"--precision {word}")
    if word in ("async", "sync") and "--mode" in known:
        return _line(option, f"--mode {word}")
    if word in ("params", "numparams", "parameters") and "--set" in known:
        return _line(option, "--set parameters=N")
    if option.replace("_", "-").lower() in known:
        return _line(option, option.replace("_", "-").lower())
    meant = (f"--{ours}" for ours, theirs in elsewhere()["options"].items() if re.sub("[0-9]", "", written) in theirs.split())
    found = next((one for one in meant if one in known), "")
    bare = {one.removeprefix("--"): one for one in known}  # two dashes in common make no likeness
    close = [found] if found else [bare[one] for one in get_close_matches(option.removeprefix("--"), bare, cutoff=0.66)]
    return _line(option, "' or '".join(close)) if close else f"no such option '{option}'"


def command_instead_of(word: str, known: Collection[str]) -> str:
    """Return the line for a command that there is not; `known` are those that there are.

    >>> command_instead_of("bandwidth", ["bw"])
    "no such command 'bandwidth'; did you mean 'ingest bw'?"
    >>> command_instead_of("chekpoint", ["bw", "checkpoint"])
    "no such command 'chekpoint', expected one of bw, checkpoint; did you mean 'checkpoint'?"
    """
    meant = [ours for ours, theirs in elsewhere()["commands"].items() if re.sub("[-_]", "", word).lower() in theirs.split()]
    if meant:
        return f"no such command '{word}'; did you mean 'ingest {meant[0]}'?"
    return f"no such command '{word}', {expected_one_of(word, known)}"


def _surplus(words: str, ctx: click.Context | None) -> str:
    """The line for words that a command does not take: the options that they may be the value of."""
    known = [name for one in ctx.command.params for name in one.opts] if ctx is not None else []
    meant = [f"'{one} {words.split()[0]}'" for form, one in _VALUES.items() if re.fullmatch(form, words) and one in known]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ", expected an option before it"
    return f"found {brief(words)}{hint}"


def _line(option: str, meant: str) -> str:
    return f"no such option '{option}'; did you mean '{meant}'?"


in_words_of_command = later("ingest.engine.question", "in_words_of_command")
#: The option of `observe` whose value is all the words that follow.
COMMAND = "--command"


class Commands(click.Group):
    """Subcommands that are imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "version" or args == ["help"]:
            click.echo(f"ingest, version {__version__}" if args[0] == "version" else self.get_help(ctx))
            ctx.exit()
        if args[0] == "help":
            args = [*args[1:], "--help"]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(command_instead_of(args[0], COMMANDS))
        ours = takewhile(lambda word: not word.startswith(COMMAND), args)  # the words behind it belong to a job
        for before, word in pairwise(ours):
            option, equals, value = word.partition("=")
            if not word:
                place = before if before.startswith("-") and before != "--" else args[0]
            elif option.startswith("--") and equals and not value:
                place = option
            else:
                continue
            raise click.UsageError(f"{place}: found '', expected a value")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except IngestError as error:
            asked = command_of(str(ctx.invoked_subcommand))
            own = [one for each in (asked, *getattr(asked, "commands", {}).values()) for one in each.params]
            names = {name.strip("-").replace("-", "_") for one in own for name in one.opts}
            raise in_words_of_command(error, names) from None

    def get_help(self, ctx: click.Context) -> str:
        return overview()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", prog_name="ingest")
def command() -> None:
    """Run a subcommand."""
    click.get_current_context().call_on_close(forget_choices)


def run() -> int:
    """Run the command line; returns the exit code. Errors of the options become one line on standard error."""
    forget_configuration()
    try:
        code = command.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        code = 2
        tell(error.format_message())
    except click.NoSuchOption as error:
        if error.option_name == "--help-all" and error.ctx is not None:
            # The help of a command with few options lists every one.
            click.echo(error.ctx.get_help())
            return 0
        asked = error.ctx.command.params if error.ctx is not None else ()
        known = [name for one in asked for name in one.opts if name.startswith("--")]
        listing = next(name for name in ("--help-all", "--help") if name in (*known, "--help"))
        here = f"; `{error.ctx.command_path} {listing}` lists them" if error.ctx is not None else ""
        said = instead_of(error.option_name, known)
        others = [name for name in COMMANDS if any(error.option_name in one.opts for one in command_of(name).params)]
        if 0 < len(others) <= MOST_OTHERS:
            here = f"; {' and '.join(f'`ingest {one}`' for one in others)} {'has' if len(others) == 1 else 'have'} it"
        code = refuse(said if "; did" in said else said + here, code=2)
    except click.MissingParameter as error:
        lacking = error.param
        metavar = lacking.make_metavar(error.ctx) if lacking and error.ctx else ""
        name = lacking.opts[-1] if isinstance(lacking, click.Option) else metavar
        code = refuse(f"{name} is missing", code=2)
    except click.UsageError as error:
        surplus = re.fullmatch(r"Got unexpected extra arguments? \((.+)\)", error.message)
        code = refuse(_surplus(surplus[1], error.ctx) if surplus else error.format_message(), code=2)
    except click.Abort:
        code = refuse("interrupted", code=INTERRUPTED)
    except click.ClickException as error:
        code = refuse(error.format_message(), code=error.exit_code)
    return code if isinstance(code, int) else 0
