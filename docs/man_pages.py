"""Manual pages in `docs/man`, made from the help of the commands; the wheel installs them under `share/man/man1`.

A change of the help needs `docs/generate.py`, as the reference pages do.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

import click
from common import DOCS

from ingest.cli.group import command as root
from ingest.cli.main import ABOUT, COMMANDS, help_texts
from ingest.configuration import VARIABLES
from ingest.version import __version__

FOLDER = DOCS / "man"
MANUAL = "ingest manual"
#: Pages that every page but the first names.
OTHERS = ("ingest", "ingest-catalog", "ingest-completion", "ingest-explain")
#: Lines that all pages share.
EXITS = {
    "0": "Success.",
    "1": "Failure: a bad file, a missing fact.",
    "2": "Invalid request: an unknown name, a misspelt option, a number out of range.",
    "3": "A stated requirement is not met.",
}
ENVIRONMENT = {
    VARIABLES["catalogs"]: "Folders with entries of your own, separated by colons; above those of the configuration file.",
    VARIABLES["units"]: "decimal or binary: what sizes and rates are displayed in first.",
    VARIABLES["currency"]: "Currency of the prices that you give, such as EUR.",
    "XDG_CONFIG_HOME": "Folder of the configuration, ~/.config by default.",
    "NO_COLOR": "No colour where it is set.",
}
FILES = {
    "$XDG_CONFIG_HOME/ingest/config.yaml": "Configuration: catalogs (folders), units (decimal or binary), currency.",
    "$XDG_CONFIG_HOME/ingest/catalogs": "Entries of your own, laid out like the shipped ones.",
}
#: What the list of commands says of each.
LINES = {name: " ".join(text.partition("\n\n")[0].split()) for name, text in help_texts().items()}
#: The requests of roff that the pages use.
REQUESTS = (".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi", ".RS", ".RE")


def pages() -> dict[str, str]:
    """Each page by its name, such as `ingest-bw.1`."""
    context = click.Context(root, info_name="ingest", **root.context_settings)
    found = {"ingest.1": _page(context, "\n".join(ABOUT))}
    for name in COMMANDS:
        inner = root.get_command(context, name)
        if inner is not None:
            found[f"ingest-{name}.1"] = _page(click.Context(inner, info_name=name, parent=context), LINES[name])
    return found


def _page(context: click.Context, summary: str) -> str:
    return "\n".join(line for line in _lines(context, summary) if line) + "\n"


def _lines(context: click.Context, summary: str) -> Iterator[str]:
    title = context.command_path.replace(" ", "-")
    yield f'.TH "{title.upper()}" "1" "" "ingest {__version__}" "{MANUAL}"'
    yield ".SH NAME"
    yield f"{_plain(title)} \\- {_plain(summary.partition(chr(10))[0].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield from _synopsis(context)
    yield ".SH DESCRIPTION"
    text = "\n\n".join(ABOUT) if context.command is root else context.command.help or summary
    yield from _prose(text)
    if context.command is root:
        yield ".SH COMMANDS"
        for name in COMMANDS:
            yield f".TP\n\\fBingest\\-{_plain(name)}\\fR(1)\n{_filled(LINES[name])}"
    elif isinstance(context.command, click.Group):
        yield ".SH COMMANDS"
        for name, inner in context.command.commands.items():
            child = click.Context(inner, info_name=name, parent=context)
            yield ".SS " + _plain(" ".join(_usage(child)))
            yield from _prose(inner.help or "")
            yield from _options(child)
    else:
        yield ".SH OPTIONS"
        yield from _options(context)
    for heading, rows in (("EXIT STATUS", EXITS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        yield f".SH {heading}"
        yield from (f".TP\n\\fB{_plain(name)}\\fR\n{_filled(line)}" for name, line in rows.items())
    yield ".SH SEE ALSO"
    others = tuple(f"ingest-{name}" for name in COMMANDS) if context.command is root else OTHERS
    listed = [f"\\fB{_plain(name)}\\fR(1)" for name in others if name != title]
    yield ",\n".join(listed)


def _usage(context: click.Context) -> list[str]:
    return [context.command_path, *context.command.collect_usage_pieces(context)]


def _synopsis(context: click.Context) -> Iterator[str]:
    name, *pieces = _usage(context)
    yield f"\\fB{_plain(name)}\\fR {_plain(' '.join(pieces))}"


def _options(context: click.Context) -> Iterator[str]:
    """Each option with its metavar and its help."""
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            names, text = record
            bold = re.sub(r"(--?[a-zA-Z][\w-]*)", r"\\fB\1\\fR", names)
            yield f".TP\n{_plain(bold, escape=False)}\n{_filled(text)}"


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; what the help keeps as it is (a block of examples) has a fixed width."""
    first = True
    for block in inspect.cleandoc(text).split("\n\n"):
        if "\b" in block:
            yield ".PP\n.nf\n.RS 2"
            yield from (_plain(line) for line in block.replace("\b", "").strip("\n").split("\n"))
            yield ".RE\n.fi"
        else:
            yield "" if first else ".PP"
            yield _filled(block)
        first = False


def _filled(text: str) -> str:
    """Text in lines of at most 72 letters, which roff fills again."""
    return "\n".join(map(_plain, textwrap.wrap(" ".join(text.split()), 72, break_on_hyphens=False)))


def _plain(text: str, escape: bool = True) -> str:
    """Text in which roff sees no request, no escape and no hyphenated option."""
    shown = text.replace("\\", "\\e") if escape else text
    shown = shown.replace("-", "\\-").replace("…", "...").replace("’", "\\(cq").replace("'", "\\(aq")
    return f"\\&{shown}" if shown[:1] in (".", "'") else shown
