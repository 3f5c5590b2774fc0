"""The command `ingest`: finds the subcommand, and turns every refusal into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from ingest.errors import IngestError, nearest
from ingest.version import __version__

#: subcommand -> one line; the module of the same name is imported when the command runs
COMMANDS = {
    "bw": "Read bandwidth that storage must deliver so that GPUs never wait.",
    "model": "Parameters, FLOPs and cache of a model, from its config.json.",
    "checkpoint": "How big, how fast, how often: checkpoints, their waste and their restart.",
    "memory": "Model states in GPU memory, and the GPUs and nodes that hold them.",
    "measure": "Bytes per token, tokens and sizes of your own corpus.",
    "fit": "Which storage systems feed a need, where the bottleneck is, and how many units it takes.",
    "accept": "Write acceptance tests from the requirement lines of a plan.",
    "verdict": "Judge results of acceptance tests: pass, fail or not tested.",
    "measure-storage": "Time a path at hand, and say which models it could feed.",
    "dataset": "What a data set takes on storage: stages, formats, copies, files, inodes.",
    "plan": "A whole site in one file: requirement lines for a tender, with their derivations.",
    "diff": "What changed between two plans, and why, by quantity.",
    "report": "A plan as workbook, tender document or data.",
    "response": "A vendor's filled workbook against what was asked.",
    "explain": "Explain one quantity of `bw`, down to the datasheet.",
    "sweep": "Many scenarios at once, over any quantity.",
    "catalog": "List, show, check and add entries: models, GPUs, nodes, storage, corpora and more.",
    "validate": "Reproduce published results, and print by how much.",
}


#: package -> the extra that installs it
EXTRA_OF = dict.fromkeys(("tokenizers", "datasets", "pyarrow", "fsspec", "pathspec", "tqdm"), "corpus")


class Commands(click.Group):
    """Subcommands that are imported only when they run, so that `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"ingest.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no such command '{args[0]}', expected one of {', '.join(COMMANDS)}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="ingest")
def command() -> None:
    """Storage sizing for AI training: what must storage do so that these GPUs never wait?

    Every number carries unit, source and range. `ingest explain` shows how it came about.
    """


def main() -> None:
    """Run the command line; refusals become one line on standard error."""
    try:
        code = command.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.UsageError as error:
        code = _refuse(error.format_message(), 2)
    except click.Abort:
        code = _refuse("interrupted", 130)
    except click.ClickException as error:
        code = _refuse(error.format_message(), error.exit_code)
    except IngestError as error:
        code = _refuse(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA_OF:
            raise
        code = _refuse(f"this needs the package {package}: pip install 'ingest-sizing[{EXTRA_OF[package]}]'", 1)
    except SystemExit:
        # click exits by itself where the reader of a pipe has seen enough, and only then; that is no failure.
        code = 0
    except OSError as error:
        # Whatever is left to write has nowhere to go: without this Python complains at exit.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        full = not isinstance(error, BrokenPipeError)
        what = "the result cannot be written" if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG) else "the system refused"
        code = _refuse(f"{what}: {error.strerror}", 1) if full else 0
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str, code: int) -> int:
    click.echo(f"ingest: {' '.join(message.split())}", err=True)
    return code
