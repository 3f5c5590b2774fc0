"""Questions: the options of a command and the results of its answer, each declared once.

An option is a key of a `TypedDict` whose type is annotated with `option(…)`. The tables of several commands share groups by
inheritance; `arguments_of` reads a function's table for the parser of the command line, its help, the Python signature, the
completion and the page. Results are a list of `Shown` in the order of every output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, Unpack, get_args, get_origin, get_type_hints

from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import default_of, is_quantity, read_value, unit_of
from ingest.errors import IngestError
from ingest.units import display

Table = TypeVar("Table")
#: The flag of a function that has a parameter such as `*paths`.
TAKES_MORE_BY_PLACE = 0x04
#: Options that count a machine and its parts: more than their own quantity follows from them.
OF_MACHINE = {"gpus", "nodes", *(f"{way}_parallel" for way in ("tensor", "pipeline", "context", "expert", "expert_tensor"))}
#: Times that people write in words.
IN_WORDS = {3600: "1 h", 86_400: "1 day"}
#: Shares below which help writes percent, and times in seconds.
SMALL, SHORT = 0.1, 120


class Declared(NamedTuple):
    """An option of a command."""

    #: one sentence; `{default}` stands for what holds where the option is not given, the name of a quantity of `usual` in
    #: braces for its default, and `{choices}` for the words to choose from. What help states `by default` changes nothing where
    #: it is given: of a value that decides more where it is given, help says so
    help: str
    metavar: str = "N"  # what its value is called in help; empty where help lists the choices in its place
    quantity: str = ""  # the quantity that it sets; its unit and range hold
    sets: str = ""  # other quantities that it sets, by name with a space between
    default: Any = None  # the value of the option itself where it is not given
    #: where the default of its quantity is declared, if not with it: inputs by name, or the default in words
    usual: Mapping[str, Any] | str = ""
    many: bool = False  # it may be given several times
    choices: Iterable[str] = ()  # the words to choose from, with a remark on each where they are a mapping

    @property
    def text(self) -> str:
        """The help, with its default and its choices."""
        text = self.help.replace("{default}", self.default_text) if "{default}" in self.help else self.help
        if "{choices}" in text:
            remarks = self.choices if isinstance(self.choices, Mapping) else {}
            *words, last = (f"{word} ({remarks[word]})" if remarks.get(word) else word for word in self.choices)
            text = text.replace("{choices}", f"{', '.join(words)} or {last}")
        if not isinstance(self.usual, str) and "{" in text:
            for name, item in self.usual.items():
                text = text.replace("{" + name + "}", default_text(getattr(item, "value", item), unit_of(name)))
        return text

    @property
    def default_text(self) -> str:
        """The default as people write it."""
        if isinstance(self.usual, str) and (self.usual or not self.quantity):
            return self.usual or str(self.default)
        found = None if isinstance(self.usual, str) else self.usual.get(self.quantity)
        value = default_of(self.quantity) if found is None else getattr(found, "value", found)
        return default_text(value, unit_of(self.quantity)) if value is not None else "none"


def default_text(value: float, unit: str) -> str:
    """A default as people write it.

    >>> default_text(120, "s"), default_text(0.05, "1"), default_text(128256, "token"), default_text(3, "1")
    ('2 min', '5%', '128,256', '3')
    >>> default_text(60, "s"), default_text(0, "s"), default_text(0.9, "1"), default_text(0, "B")
    ('60 s', '0 s', '0.9', '0')
    """
    if unit == "1" and 0 < value < SMALL:
        return f"{value * 100:g}%"
    if unit == "s" and value in IN_WORDS:
        return IN_WORDS[int(value)]
    if unit == "s" and value < SHORT:
        return f"{value:g} s"
    if value and unit.split("/")[0] in ("s", "B", "FLOP", "W", "J"):
        return display(value, unit, binary=False)
    return f"{value:,g}" if value != int(value) else f"{int(value):,}"


#: Declares an option, as the annotation of its type: `Annotated[str | None, option("…")]`.
option = Declared


class Argument(NamedTuple):
    """A parameter of a public function."""

    name: str  # as in Python; on the command line `--` with hyphens
    kind: Any  # its type
    declared: Declared | None  # its help and default; None for one that is no option, such as the source of `model`
    default: Any = None  # the value where it is not given
    required: bool = False  # it has no default
    place: bool = False  # it may be given by its place

    @property
    def states(self) -> set[str]:
        """The quantities that it states; a number also what has its own name."""
        one = self.declared
        if one is None or self.place:
            return set()
        number = (one.quantity or one.sets or one.metavar == "N") and not one.choices and self.kind is not bool
        return {one.quantity, *one.sets.split(), self.name if number else ""} - {""}


def arguments_of(function: Any) -> dict[str, Argument]:
    """The parameters of a public function by name, those of its table of options included."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False)) | (
        function.__kwdefaults__ or {}
    )
    found = {}
    for name in names:
        kind, declared = _parted(hints.get(name, Any))
        found[name] = Argument(name, kind, declared, defaults.get(name), name not in defaults, name in positional)
    if code.co_flags & TAKES_MORE_BY_PLACE:
        name = code.co_varnames[len(names)]
        found[name] = Argument(name, hints.get(name, Any), None, (), required=True, place=True)
    for hint in hints.values():
        if get_origin(hint) is Unpack:
            found |= {one.name: one for one in options_in(get_args(hint)[0])}
    return found


@cache
def options_in(table: type) -> tuple[Argument, ...]:
    """The options of a table, in the order of its groups."""
    # Without names of its own, so that each key is read with those of the module that declares it.
    hints = {name: _parted(hint) for name, hint in get_type_hints(table, localns={}, include_extras=True).items()}
    return tuple(Argument(name, kind, one, one.default if one is not None else None) for name, (kind, one) in hints.items())


@cache
def defaults_in(table: type) -> Mapping[str, Any]:
    """The options of a table by name, each with the value that it has where it is not given."""
    return {one.name: one.default for one in options_in(table)}


def _parted(hint: Any) -> tuple[Any, Declared | None]:
    """A type, and the option that it is annotated with."""
    declared = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Declared)), None)
    return (hint.__origin__ if declared is not None else hint), declared


def filled(table: type[Table], given: Table, function: str) -> Table:
    """Options with the defaults of those that are not given; what `set` states of `OF_MACHINE` is the option.

    Raises TypeError: an option that the table does not have, as Python says it of a parameter; UsageError: `set` states the
    quantity of an option that is given.
    """
    known = defaults_in(table)  # type: ignore[arg-type]
    for name in given:  # type: ignore[attr-defined]
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    asked: dict[str, Any] = {**known, **given}  # type: ignore[dict-item]
    if stated := asked.get("set"):
        written = [stated] if isinstance(stated, str) else stated
        parts = [str(one).partition("=") for one in written]
        pairs = written if isinstance(written, Mapping) else {name.strip(): value for name, equals, value in parts if equals}
        each_stated_once(table, asked, pairs, "--set")
        moved = {name for name in OF_MACHINE & pairs.keys() & known.keys() if len(pairs) == len(written)}
        asked |= {name: read_value(name, pairs[name], f"--set {name}") for name in moved}
        asked["set"] = {name: value for name, value in pairs.items() if name not in moved} if moved else stated
    return asked  # type: ignore[return-value]


def each_stated_once(table: type, asked: Mapping[str, Any], names: Collection[str], where: str) -> None:
    """Refuse quantities that are stated by these names and by an option, too. Raises UsageError: one is."""
    for one in options_in(table):
        if asked.get(one.name) not in (None, one.default):
            for quantity in one.states.intersection(names):
                raise option_error(one.name, f": found with {where} {quantity}, expected one of them")


def quantities_in(table: type) -> dict[str, str]:
    """The options of a table that set a quantity, each with it."""
    return {one.name: one.declared.quantity for one in options_in(table) if one.declared is not None and one.declared.quantity}


def in_words_of(options: Collection[str], text: str) -> str:
    """A line whose advice names options of one command alone: in place of another one `--set`, or nothing.

    >>> missing = Message("no FLOPs are known", supply=("samples_per_second", "flops_per_sample"))
    >>> in_words_of(["flops_per_sample"], missing), in_words_of(["set"], missing)[20:]
    ('no FLOPs are known; set --flops-per-sample', 'use --set flops_per_sample=VALUE')
    """
    if not isinstance(text, Message):
        return text
    ways = []
    for way in text.supply:
        *above, name = way.path.split(".")
        if name in options and above[-1:] != ["set"]:
            ways.append(way)
        elif "set" in options and is_quantity(name):
            ways.append(Option(f"set.{name}", way.value))
    return Message(*text.parts, supply=tuple(ways), rule=text.rule)


def in_words_of_command(error: IngestError, options: Collection[str]) -> IngestError:
    """A refusal whose advice names options of one command alone."""
    error.args = tuple(in_words_of(options, one) for one in error.args)
    return error


def chosen_words(words: Mapping[str, tuple[Any, bool]]) -> dict[str, dict[str, Any]]:
    """Options that are words, each with whether the user states it, as an answer lists them: with their origin."""
    return {name: {"value": word, "from": "user" if stated else "default"} for name, (word, stated) in words.items()}


class Shown(NamedTuple):
    """A result of a question."""

    name: str  # the quantity
    main: bool = True  # a short page shows it; other results are printed with `--verbose`
    unless: str = ""  # a result next to which a short page leaves it out
    #: the input without which nobody misses it, or the words of the question, such as `sync`, to which it belongs
    where: str = ""
    label: str = ""  # its words in this question, where its quantity is a result of other questions too


def shown(*names: str, **how: Any) -> tuple[Shown, ...]:
    """Results that are shown alike, in their order."""
    return tuple(Shown(name, **how) for name in names)


class Question(NamedTuple):
    """What a command answers."""

    command: str  # the command
    results: tuple[Shown, ...]  # its results, in the order of every output
    #: wordings of the answer in one line: a verb, and the parts by quantity; the first one counts whose first quantity is known
    headlines: tuple[tuple[str, Mapping[str, str]], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The results by name."""
        return tuple(one.name for one in self.results)
