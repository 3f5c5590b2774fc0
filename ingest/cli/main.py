"""The command `ingest`: runs the subcommand and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ingest.errors import IngestError, in_one_line, refused_by_system

#: group -> subcommands, in the order of use; the module of the same name is imported when the command runs
GROUPS = {
    "One job": ("bw", "model", "memory", "checkpoint", "goodput", "rl", "train", "feed", "offload", "sweep", "explain"),
    "Data": ("measure", "dataset", "vectors"),
    "Site": ("site", "plan", "diff", "fit"),
    "Procurement": ("report", "response", "accept", "verdict"),
    "Evidence": ("catalog", "validate", "measure-storage", "observe", "calibrate"),
    "Tools": ("page", "mcp", "completion"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
#: Commands with a module of their own; all others are in the table of `ingest.cli.commands`.
APART = ("catalog", "observe", "mcp", "completion")
#: package -> the extra that installs it
EXTRA_OF = dict.fromkeys(("tokenizers", "datasets", "pyarrow", "fsspec", "pathspec", "tqdm"), "corpus") | {
    "darshan": "observe",
    "mcp": "mcp",
    "anyio": "mcp",
}
ABOUT = (
    "Storage sizing for AI training: what must storage do so that these GPUs never wait?",
    "Every number has a unit, a source and a range. `ingest explain` shows how it is derived.",
)
#: new objects from which on garbage is looked for
FEWEST_OBJECTS = 50_000
#: in what the loader of libraries and Python say where no memory or thread is left
EXHAUSTED = ("failed to map segment", "can't start new thread")
#: exit code after Ctrl-C
INTERRUPTED = 130
#: what asks for the list of commands, which is printed without the parser of options
HELP = (["--help"], ["-h"])


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is called: few commands call it, all of them start."""

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return call


def command_of(name: str) -> Any:
    """A subcommand: from the module of the same name, or of the table of those that ask one function."""
    return loaded(f"ingest.cli.{name}").command if name in APART else loaded("ingest.cli.commands").command(name)


def loaded(module: str) -> Any:
    """A module of a command. Ctrl-C ends the process meanwhile: an import that it cuts short shows in many exceptions."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        return import_module(module)
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        return import_module(module)
    finally:
        signal.signal(signal.SIGINT, before)


def help_texts() -> dict[str, str]:
    """The help of each command. It is read as text: neither the list of commands nor completion waits for a parser."""
    import re
    from pathlib import Path
    from textwrap import dedent

    text = Path(__file__).with_name("commands.yaml").read_text(encoding="utf-8")
    blocks = re.findall(r"^(\S+): \|-\n((?:(?:  .*)?\n)+)", text, re.MULTILINE)
    return {name: dedent(block).strip().replace("\\b", "\b") for name, block in blocks}


def overview() -> str:
    """The list of commands, for a terminal of 80 columns or a narrower one."""
    from functools import partial
    from textwrap import fill

    width = 80
    with suppress(OSError, ValueError, AttributeError):
        width = max(50, min(width, os.get_terminal_size(sys.stdout.fileno()).columns))
    options = {"-V, --version": "Show the version and exit.", "-h, --help": "Show this message and exit."}
    lines = partial(fill, width=width, break_on_hyphens=False)
    about = [lines(f"  {text}", subsequent_indent="  ") + "\n" for text in ABOUT]
    parts, column = ["Usage: ingest [OPTIONS] COMMAND [ARGS]...\n", *about], max(map(len, COMMANDS)) + 4
    told = help_texts()
    groups = ((f"{title}:", {name: told[name].partition("\n\n")[0] for name in names}) for title, names in GROUPS.items())
    for title, rows in (("Options:", options), *groups):
        listed = (lines(f"  {name:{column - 2}}{text}", subsequent_indent=" " * column) for name, text in rows.items())
        parts += [title, *listed, ""]
    return "\n".join(parts).rstrip()


def main() -> None:
    """Run the command line; errors become one line on standard error."""
    # Imports make thousands of objects that stay: looking for garbage among them takes a tenth of a short command.
    gc.set_threshold(FEWEST_OBJECTS)
    # Take the places of closed streams, which the next opened file would get: what is printed is an error then.
    for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            _point_to_nowhere(number, flags)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    try:
        if "_INGEST_COMPLETE" in os.environ:
            code = import_module("ingest.cli.completion").answer(os.environ["_INGEST_COMPLETE"])
        elif sys.argv[1:] in HELP:
            print(overview())
            code = 0
        elif sys.argv[1:2] == ["bw"] and loaded("ingest.cli.plain").plain(sys.argv[2:]):
            code = 0
        else:
            code = int(loaded("ingest.cli.group").run())
        sys.stdout.flush()
    except IngestError as error:
        code = refuse(*error.lines, code=error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA_OF:
            raise
        code = refuse(f"this needs the package {package}: pip install 'ingest-sizing[{EXTRA_OF[package]}]'")
    except (MemoryError, ImportError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in EXHAUSTED):
            raise
        code = refuse("not enough memory or threads, expected a larger machine or higher limits (`ulimit -v`, `ulimit -u`)")
    except KeyboardInterrupt:
        code = refuse("interrupted", code=INTERRUPTED)
    except SystemExit:
        # click exits only when the reader of a pipe closes it, which is not a failure.
        code = 0
    except OSError as error:
        # Python flushes standard output at exit and would report the error again.
        with suppress(OSError):
            _point_to_nowhere(sys.stdout.fileno())
        full = not isinstance(error, BrokenPipeError)
        undelivered = error.filename is None and error.errno in UNDELIVERED
        said = f"the result cannot be written: {error.strerror}" if undelivered else refused_by_system(error)
        code = refuse(said) if full else 0
    sys.exit(code)


#: what a standard output shows that is full, broken or closed
UNDELIVERED = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EBADF)


def refuse(*messages: str, code: int = 1) -> int:
    """Print a refusal, a line for each fault; returns its exit code."""
    for message in messages:
        tell(in_one_line(f"ingest: {message}"))
    return code


def tell(line: str) -> None:
    """Print a line on standard error; what it cannot take changes neither the result nor the exit code."""
    whole = line.encode("utf-8", "replace").decode()  # half a surrogate pair would be printed as six letters
    try:
        print(whole, file=sys.stderr, flush=True)
    except OSError:
        # Python would flush the line again at exit.
        with suppress(OSError):
            _point_to_nowhere(sys.stderr.fileno())


def _point_to_nowhere(number: int, flags: int = os.O_WRONLY) -> None:
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
