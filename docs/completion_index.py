"""The index of options that shells complete: `ingest/cli/completion.json`, made from the commands themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import click
from common import ROOT

from ingest.catalog.commands import LISTED
from ingest.cli.completion import SHELLS
from ingest.cli.main import COMMANDS, command_of
from ingest.engine.registry import FORMULAS, INPUTS

PATH = ROOT / "ingest" / "cli" / "completion.json"

#: option or argument -> what it takes, in every command
TAKEN: Mapping[str, Any] = {
    "model": "models",
    "models": "models",
    "gpu": "gpus",
    "node": "nodes",
    "protocol": "protocols",
    "optimizer": "optimizers",
    "failures": "failures",
    "recipe": "recipes",
    "corpus": "corpora",
    "pipeline": "pipelines",
    "embedding": "architectures",
    "storage": "storage",
    "client": "storage:client",
    "protection": "storage:protection",
    "path": "file",
    "shell": tuple(SHELLS),
    "model_word": "models",
    "gpu_word": "gpus",
    "set": "quantity=",
    "explain": "quantity",
    "axes": "quantity=",
    "kind": tuple(LISTED),
}
#: what an option or argument of one command takes instead
SIZED = ("checkpoint", "goodput", "memory", "rl", "train", "offload")
TAKEN_BY: Mapping[tuple[str, str], Any] = {
    **{(command, "model"): "architectures,models" for command in SIZED},
    **{
        (command, "model_word"): "architectures,models"
        for command in ("checkpoint", "goodput", "memory", "rl", "train", "offload")
    },
    ("model", "source"): "architectures",
    ("dataset", "words"): "formats",
    ("vectors", "layout"): "layouts",
    ("fit", "plan"): "models",
    ("plan", "set"): "path=",
    ("report", "set"): "path=",
    ("plan", "explain"): "",
    ("explain", "name"): "quantity",
    ("validate", "name"): "published",
    ("catalog show", "words"): "entry",
    ("catalog compare", "names"): "storage",
    ("catalog new", "kind"): tuple(sorted(path.stem for path in (ROOT / "ingest" / "catalog" / "starters").glob("*.yaml"))),
}
#: words of a metavar -> what an option or argument takes that no table above lists
FILES = ("FILE", ".yaml", ".json", ".xlsx", "PATH", "RESULTS", "SOURCE", "OBSERVATION", "BUNDLE")
BY_METAVAR = {"DIR": "folder", "FOLDER": "folder", **dict.fromkeys(FILES, "file")}
#: Letters of the help that a shell shows next to an option.
MOST_LETTERS = 80


def taken(command: str, parameter: click.Parameter) -> Any:
    """What a parameter takes; empty where no word can be foretold."""
    name = parameter.name or ""
    if (command, name) in TAKEN_BY:
        return TAKEN_BY[command, name]
    if isinstance(parameter.type, click.Choice):
        return tuple(parameter.type.choices)
    if words := getattr(parameter, "words", ()):
        return words
    if name in TAKEN:
        return TAKEN[name]
    metavar = parameter.metavar or ""
    return next((kind for word, kind in BY_METAVAR.items() if word in metavar), "")


def listed(found: click.Command, path: str) -> dict[str, Any]:
    """One command in the index."""
    text = found.get_short_help_str(200)
    if isinstance(found, click.Group):
        return {"help": text, "commands": {name: listed(one, f"{path} {name}") for name, one in found.commands.items()}}
    return {"help": text, "parameters": [_parameter(path, one) for one in found.params]}


def _parameter(path: str, parameter: click.Parameter) -> dict[str, Any]:
    takes = {"takes": kind} if (kind := taken(path, parameter)) else {}
    if isinstance(parameter, click.Option):
        options = [*parameter.opts, *parameter.secondary_opts]
        flags = {key: True for key, held in (("flag", parameter.is_flag), ("many", parameter.multiple)) if held}
        return {"options": options, **flags, **({} if parameter.is_flag else takes), "help": _short(parameter.help or "")}
    return {"argument": parameter.name, **({"many": True} if parameter.nargs != 1 else {}), **takes}


def _short(text: str) -> str:
    """The first sentence, or its first words."""
    first = text.partition(". ")[0].removesuffix(".")
    return first if len(first) <= MOST_LETTERS else f"{first[:MOST_LETTERS].rpartition(' ')[0]} …"


def content() -> str:
    """The index as JSON."""
    index = {
        "kinds": [*LISTED],
        "quantities": sorted({*INPUTS, *FORMULAS}),
        "commands": {name: listed(command_of(name), name) for name in COMMANDS},
    }
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    # One parameter in a line, for people who compare two versions.
    return re.sub(r'\{"(options|argument|help)"', r'\n{"\1"', text) + "\n"
