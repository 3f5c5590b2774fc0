"""The command `ingest`: runs the subcommand and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module

import click

from ingest.cli.telling import MOST_LETTERS, tell
from ingest.errors import IngestError, expected_one_of, shortened
from ingest.version import __version__

#: subcommand -> one line; the module of the same name is imported when the command runs
COMMANDS = {
    "bw": "Read bandwidth that storage must deliver so that GPUs never wait.",
    "model": "Parameters, FLOPs and cache of a model, from its config.json.",
    "checkpoint": "Size, write bandwidth and interval of checkpoints, their overhead and their restore.",
    "memory": "Model states in GPU memory, and the GPUs and nodes that hold them.",
    "measure": "Bytes per token, tokens and sizes of your own corpus.",
    "fit": "Storage systems that meet a need: bottleneck, headroom and units required.",
    "accept": "Write acceptance tests from the requirement lines of a plan.",
    "verdict": "Judge results of acceptance tests: pass, fail or not tested.",
    "measure-storage": "Measure a path with fio, and list the models that it can feed.",
    "observe": "Read rate, requests, samples per second and stalls of your own job, as it runs.",
    "calibrate": "An observation beside the estimate of the same job, and entries that carry it on.",
    "dataset": "Storage footprint of a data set: stages, formats, copies, files, inodes.",
    "plan": "Requirement lines of a site for a tender, with their derivations.",
    "diff": "What changed between two plans, and why, by quantity.",
    "report": "Write a plan as a workbook, a tender document or data.",
    "response": "Compare a vendor's filled workbook with the requirements.",
    "explain": "Derivation of one quantity of `bw`, down to the datasheet.",
    "sweep": "Many scenarios in one call, over any quantity.",
    "catalog": "List, show, check and add entries: models, GPUs, nodes, storage, corpora and more.",
    "validate": "Reproduce published results and print the errors.",
}


#: package -> the extra that installs it
EXTRA_OF = dict.fromkeys(("tokenizers", "datasets", "pyarrow", "fsspec", "pathspec", "tqdm"), "corpus") | {"darshan": "observe"}


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
            ctx.fail(f"no such command '{args[0]}', {expected_one_of(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="ingest")
def command() -> None:
    """Storage sizing for AI training: what must storage do so that these GPUs never wait?

    Every number has a unit, a source and a range. `ingest explain` shows how it is derived.
    """


def main() -> None:
    """Run the command line; errors become one line on standard error."""
    _fill_closed_streams()
    try:
        code = command.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        code = 2
        tell(error.format_message())
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
        # click exits only when the reader of a pipe closes it, which is not a failure.
        code = 0
    except OSError as error:
        # Python flushes standard output at exit and would report the error again.
        with suppress(OSError):
            _point_to_nowhere(sys.stdout.fileno())
        full = not isinstance(error, BrokenPipeError)
        undelivered = error.filename is None and error.errno in UNDELIVERED
        what = "the result cannot be written" if undelivered else "the system refused"
        where = f"{error.filename}: " if error.filename is not None else ""
        code = _refuse(f"{where}{what}: {error.strerror}", 1) if full else 0
    sys.exit(code if isinstance(code, int) else 0)


#: what a standard output shows that is full, broken or closed
UNDELIVERED = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EBADF)


def _refuse(message: str, code: int) -> int:
    tell(shortened(f"ingest: {' '.join(message.split())}", MOST_LETTERS))
    return code


def _fill_closed_streams() -> None:
    """Take the places of closed streams, which the next opened file would get: what is printed is an error then."""
    for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            _point_to_nowhere(number, flags)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _point_to_nowhere(number: int, flags: int = os.O_WRONLY) -> None:
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
