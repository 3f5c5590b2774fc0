"""`ingest completion`, and the words that a shell completes.

A key press must not import what computes: the options of all commands are listed in `completion.json`, which
`docs/generate.py` writes from the commands themselves, and ids are names of files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from ingest.cli.main import help_texts
from ingest.configuration import overlays_in_force, shipped_folder
from ingest.errors import IngestError, one_of

#: The variable by which a script asks for words.
VARIABLE = "_INGEST_COMPLETE"
INDEX = Path(__file__).with_name("completion.json")
#: Keys of a site file that one completion reads through.
MOST_PATHS = 2000

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Bash(BashComplete):
    """Completion in bash, which parts words at `=` and puts a space behind each word unless it is told not to."""

    # That of click, quoted: words with blanks stay whole, nothing else reaches the prompt, and no space follows a `=`.
    source_template = (
        BashComplete.source_template.replace("read type", "read -r type")
        .replace("bash_complete $1)", 'bash_complete "$1" 2>/dev/null)')
        .replace("+=($value)", '+=("$value")\n            [[ $value == *= ]] && compopt -o nospace')
    )

    def source(self) -> str:
        """The script; it may be printed where bash is not installed."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one to complete, and that one, with `--option = value` put together again."""
        words, incomplete = super().get_completion_args()
        if incomplete == "=":
            incomplete = ""
        elif words[-1:] == ["="]:
            words = words[:-1]
        found: list[str] = []
        for word in words:
            if found and (word == "=" or found[-1].endswith("=")):
                found[-1] += word
            else:
                found.append(word)
        return found, incomplete


class WholeWords(ShellComplete):
    """Completion in a shell that does not part words at `=`: what it inserts replaces the option too."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """The words, behind the option and its `=` where both are typed."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--"):
            for one in found:
                one.value = option + equals + one.value
        return found


class Zsh(WholeWords, ZshComplete):
    """Completion in zsh."""


class Fish(WholeWords, FishComplete):
    """Completion in fish; a word may hold commas."""

    source_template = FishComplete.source_template.replace('split ","', 'split -m 1 ","').replace(
        "%(prog_name)s);", "%(prog_name)s 2>/dev/null);"
    )


SHELLS: Mapping[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


@click.command("completion", help=help_texts()["completion"])
@click.argument("shell", metavar="bash|zsh|fish")
def command(shell: str) -> None:
    one_of("SHELL", shell, SHELLS)
    click.echo(SHELLS[shell](command, {}, "ingest", VARIABLE).source())


def answer(request: str) -> int:
    """Print the words for what a shell asks (`bash_complete`), or its script (`bash_source`); returns the exit code."""
    shell, _, what = request.partition("_")
    if shell not in SHELLS or what not in ("complete", "source"):
        return 1
    if what == "source":
        click.echo(SHELLS[shell](command, {}, "ingest", VARIABLE).source())
        return 0
    index = json.loads(INDEX.read_text(encoding="utf-8"))
    tree = click.Group("ingest", commands={name: _light(name, one, index) for name, one in index["commands"].items()})
    with suppress(IngestError, OSError, KeyError, ValueError):  # nothing broken writes into a prompt
        click.echo(SHELLS[shell](tree, {}, "ingest", VARIABLE).complete())
    return 0


def _light(name: str, listed: Mapping[str, Any], index: Mapping[str, Any]) -> click.Command:
    """A command as the index lists it, which completes and does nothing."""
    inner = listed.get("commands")
    if inner is not None:
        commands = {key: _light(key, one, index) for key, one in inner.items()}
        return click.Group(name, commands=commands, help=listed["help"])
    params: list[click.Parameter] = []
    for one in listed["parameters"]:
        complete, many = completer(one.get("takes", ""), index), one.get("many", False)
        if "argument" in one:
            params.append(click.Argument([one["argument"]], nargs=-1 if many else 1, required=False, shell_complete=complete))
        else:
            flag = one.get("flag", False)
            params.append(click.Option(one["options"], is_flag=flag, multiple=many, help=one["help"], shell_complete=complete))
    return click.Command(name, params=params, help=listed["help"], context_settings={"help_option_names": ["-h", "--help"]})


def completer(takes: str | Sequence[str], index: Mapping[str, Any]) -> Complete:
    """The words for one option or argument.

    Args:
        takes: words; or `file`, `folder`, `quantity`, `quantity=`, `path=` of a site file, `entry` for an id after its kind;
            or a kind of entries such as `gpus` or `storage:client`, or several such as `models,architectures`.
        index: the index.
    """

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if takes in ("file", "folder"):
            return [CompletionItem(incomplete, type="file" if takes == "file" else "dir")]
        if not isinstance(takes, str):
            return _starting(incomplete, takes)
        if takes in ("quantity", "quantity="):
            return _starting(incomplete, (name + takes.removeprefix("quantity") for name in index["quantities"]))
        if takes == "path=":
            return _starting(incomplete, _paths(context.params.get("site")))
        folders = [one.folder for one in overlays_in_force(context.params.get("catalogs") or ())]
        folders.append(shipped_folder())
        if takes == "entry":
            named = context.params.get("words") or ()
            # Kinds may be singular or plural.
            meant = named and (named[0], {"family": "families", "corpus": "corpora"}.get(named[0], f"{named[0]}s"))
            kinds = [kind for kind in index["kinds"] if not named or kind in meant]
            own = () if named else index["kinds"]
            return _starting(incomplete, [*own, *sorted({one for kind in kinds for one in ids(kind, folders)})])
        kinds = takes.split(",") if takes else []
        found = _starting(incomplete, sorted({one for kind in kinds for one in ids(kind, folders)}))
        # An alias is offered where no id begins that way: it would only repeat them.
        found = found or _starting(incomplete, (one for kind in kinds for one in aliases(kind, folders)))
        return found or [CompletionItem(incomplete, type="file")]

    return complete


def _starting(incomplete: str, words: Iterable[str]) -> list[CompletionItem]:
    """The words that go on what is typed, behind the last comma of a list."""
    head, comma, last = incomplete.rpartition(",")
    return [CompletionItem(head + comma + word) for word in words if word.startswith(last)]


def ids(kind: str, folders: Sequence[Path]) -> list[str]:
    """The ids of one kind; after a colon, only those of one family."""
    name, _, family = kind.partition(":")
    found: dict[str, Path] = {}
    for folder in reversed(folders):
        with suppress(OSError):
            found |= {one[:-5]: folder / name / one for one in os.listdir(folder / name) if one.endswith(".yaml")}
    line = re.compile(rf"^family: *{re.escape(family)}(?!\S)", re.MULTILINE)
    return sorted(
        one for one, path in found.items() if not family or line.search(path.read_text(encoding="utf-8", errors="replace"))
    )


def aliases(kind: str, folders: Sequence[Path]) -> list[str]:
    """The other names of the ids of one kind; of one family none are offered."""
    import yaml

    found: set[str] = set()
    for folder in folders:
        with suppress(OSError, ValueError, yaml.YAMLError, AttributeError):
            listed = yaml.load((folder / "aliases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
            found |= {str(one) for one in listed.get(kind, ())}
    return sorted(found)


def _paths(site: object) -> Iterator[str]:
    """The keys of a site file, each with `=`; none where the file cannot be read."""
    import yaml

    with suppress(OSError, ValueError, yaml.YAMLError):
        text = Path(str(site)).read_text(encoding="utf-8")
        below = [("", yaml.load(text, Loader=yaml.CSafeLoader))]
        for _ in range(MOST_PATHS):
            if not below:
                return
            path, value = below.pop(0)
            if isinstance(value, dict):
                below += [(f"{path}.{key}" if path else str(key), one) for key, one in value.items()]
            elif path:
                yield f"{path}="
