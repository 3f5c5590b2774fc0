"""Lines for the user that hold the options they name as data: each front end words these itself.

The command line writes `--keep`, a site file `checkpoint.keep`, and a tender leaves the advice out. A `Message` is the text
of the command line, so that it prints, compares and serializes as any other text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeVar

from ingest.errors import UsageError

Value = TypeVar("Value")


class Option(NamedTuple):
    """Where the user sets a value."""

    path: str  # the key of a site file below the job or data set, such as `checkpoint.keep`; below `set` any quantity
    value: str = ""  # what to set there, where one value is meant

    @classmethod
    def of(cls, written: str) -> Option:
        """As a catalog writes it.

        >>> Option.of("shard_size"), Option.of("set.block_bytes=N")
        (Option(path='shard_size', value=''), Option(path='set.block_bytes', value='N'))
        """
        path, _, value = written.partition("=")
        return cls(path, value)

    @property
    def on_command_line(self) -> str:
        """As an option of a command.

        >>> Option("checkpoint.drain_fraction").on_command_line, Option("scaling", "strong").on_command_line
        ('--drain-fraction', '--scaling strong')
        >>> Option("set.shard_bytes").on_command_line, Option("set.parameters", "N").on_command_line
        ('--set shard_bytes=VALUE', '--set parameters=N')
        """
        *above, name = self.path.split(".")
        if above[-1:] == ["set"]:
            return f"--set {name}={self.value or 'VALUE'}"
        return f"--{name.replace('_', '-')}" + (f" {self.value}" if self.value else "")

    @property
    def in_site_file(self) -> str:
        """As a key of a site file.

        >>> Option("checkpoint.keep").in_site_file, Option("scaling", "strong").in_site_file
        ('checkpoint.keep', 'scaling: strong')
        """
        return self.path + (f": {self.value}" if self.value else "")


class Setting(Option):
    """A quantity that `--set`, or a key of a site file, gives: the subject of a line, where an `Option` is advice.

    >>> Setting("parameters").on_command_line, Setting("parameters").in_site_file
    ('--set parameters', 'parameters')
    """

    @property
    def on_command_line(self) -> str:
        """As an option of a command, without a value."""
        return f"--set {self.path}"


class Message(str):
    """A line of text and the options that it names.

    >>> kept = Message("the newest three are kept", supply=("checkpoint.keep",))
    >>> str(kept), in_site_words(kept), fact_of(kept)
    ('the newest three are kept; set --keep', 'the newest three are kept; set checkpoint.keep', 'the newest three are kept')
    >>> Message(Option("protocol"), " has no effect", supply=(Option("basis", "measured"), "protocol"))
    '--protocol has no effect; set --basis measured or --protocol'
    """

    parts: tuple[str | Option, ...]  # text and options, in order
    supply: tuple[Option, ...]  # the ways to set what the line is about; advice that follows the text
    rule: str  # the id of the rule that it comes from, such as `W16`; empty for other lines

    def __new__(cls, *parts: str | Option, supply: tuple[str | Option, ...] = (), rule: str = "") -> Self:
        flat = tuple(one for part in parts for one in (part.parts if isinstance(part, Message) else (part,)))
        inner = tuple(way for part in parts if isinstance(part, Message) for way in part.supply)
        ways = (*inner, *(way if isinstance(way, Option) else Option(way) for way in supply))
        made = super().__new__(cls, _worded(flat, ways, lambda option: option.on_command_line))
        made.parts, made.supply = flat, ways
        made.rule = rule or next(filter(None, map(rule_of, parts)), "")
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str | Option, ...], dict[str, Any]]:
        """For copies and other processes."""
        return self.parts, {"supply": self.supply, "rule": self.rule}


def message_of(error: Exception) -> str:
    """The message of an error, with the options that it names."""
    message: str = error.args[0]
    return message


def rule_of(text: object) -> str:
    """The id of the rule that a line comes from; empty where it comes from none."""
    return text.rule if isinstance(text, Message) else ""


def in_site_words(text: str) -> str:
    """A line with the keys of a site file, of the same rule; text that names no option as it is."""
    if not isinstance(text, Message):
        return text
    return Message(_worded(text.parts, text.supply, lambda option: option.in_site_file), rule=text.rule)


def of_owner(owner: str, text: str) -> Message:
    """A line about one of several things, in the words of a site file.

    >>> said = of_owner("unet3d", Message("reads are many", supply=("io_size",), rule="W32"))
    >>> str(said), said.rule
    ('unet3d: reads are many; set io_size', 'W32')
    """
    return Message(f"{owner}: ", in_site_words(text))


def fact_of(text: str) -> str:
    """A line without the advice how to set its value."""
    return _worded(text.parts, (), lambda option: option.path) if isinstance(text, Message) else text


def _worded(parts: tuple[str | Option, ...], ways: tuple[Option, ...], words: Callable[[Option], str]) -> str:
    text = "".join(words(part) if isinstance(part, Option) else part for part in parts)
    advice = " or ".join(map(words, ways))
    verb = "use" if advice.startswith(("--set ", "set.")) else "set"
    return "; ".join(filter(None, (text, f"{verb} {advice}" if advice else "")))


def option_error(option: str, text: str) -> UsageError:
    """Return the refusal of an option; a plan names the key of the site file instead."""
    return UsageError(Message(Option(option), text))


def each_once(option: str, pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Return the values of an option by name.

    >>> each_once("copies", [("raw", 1), ("clean", 2)])
    {'raw': 1, 'clean': 2}

    Raises UsageError: a name that is given twice.
    """
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise option_error(option, f": {name} is given more than once, expected it once")
        found[name] = value
    return found
