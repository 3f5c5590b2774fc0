"""Options that several commands share; a job asked from a file, and kept in one; what the words of others mean."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial, reduce, wraps
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ingest import JOB
from ingest.cli.main import COMMANDS, command_of, help_texts, later, tell
from ingest.cli.output import QUIET, VERBOSE, choose
from ingest.engine.question import Argument, Declared, arguments_of
from ingest.errors import IngestError, RequirementNotMet, UsageError, one_of
from ingest.files import note_outputs, table_beside, write_whole
from ingest.reports.page import FORMATS
from ingest.units import without_commas

Command = TypeVar("Command", bound=Callable[..., Any])


class OneOf(click.Choice[str]):
    """A choice whose error names the nearest value."""

    name = "choice"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        meant = value if value in self.choices else str(value).lower()
        one_of(param.opts[-1] if param else self.name, meant, self.choices)
        return str(meant)


class DeclaredOption(click.Option):
    """An option with the words to choose from, which shells complete; they may be typed in capitals, bf16 as bfloat16."""

    def __init__(self, *names: Any, words: Iterable[object] = (), **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.words = tuple(map(str, words))

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, or the declared word that it is in other letters."""
        cast = super().type_cast_value(ctx, value)
        if not isinstance(cast, str) or cast in self.words:
            return cast
        meant = (cast.lower(), cast.lower().replace("bfloat", "bf").replace("float", "fp"))
        return next((word for word in self.words if word.lower() in meant), cast)


#: command -> the options that its `--help` lists
USUAL: Mapping[str, str] = table_beside(__file__, "usual_options.yaml")
#: The help of each command.
HELP: Mapping[str, str] = help_texts()
#: The option of `observe` whose value is all the words that follow.
COMMAND = "--command"
#: key of a context whose help lists every option
EVERY_OPTION = "ingest.every_option"


def _help_of_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[EVERY_OPTION] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class BriefCommand(click.Command):
    """A command whose `--help` lists its usual options, and `--help-all` every one."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **{**settings, "help": settings.get("help") or HELP.get(str(name))})
        if name in USUAL:
            several = sum(isinstance(one, click.Option) for one in self.params) + 2  # with the two of help
            said: dict[str, Any] = {"help": f"Show all {several} options and exit.", "callback": _help_of_all}
            self.params.append(click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, **said))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options in a help text."""
        usual = USUAL[str(self.name)].split() if self.name in USUAL and EVERY_OPTION not in ctx.meta else None
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [one for one in options if usual is None or one.name in usual or "--help" in " ".join(one.opts)]
        with formatter.section("Options" if usual is None else "Usual options"):
            formatter.write_dl([record for one in shown if (record := one.get_help_record(ctx)) is not None])


def stacked(options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Combine options into one decorator, listed in this order in the help."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


def _keep(name: str, _: click.Context, __: click.Parameter, value: bool) -> None:
    """Keep a flag for what prints the result."""
    if value:
        choose(name)


#: How much is printed.
detail_options = stacked(
    [
        click.option(*names, is_flag=True, expose_value=False, callback=partial(_keep, kept), help=text)
        for kept, text, *names in (
            (VERBOSE, "Print everything: further results, tables, assumptions, sources, all cautions.", "-v", "--verbose"),
            (QUIET, "Print only the answer.", "-q", "--quiet"),
        )
    ]
)


def note_output(_: click.Context, option: click.Parameter, value: Any) -> Any:
    """Note the files that are there before the command replaces them.

    Raises IngestError: one of them cannot be written, or is given twice.
    """
    try:
        note_outputs(() if option.metavar == "DIR" else value)
    except IngestError as error:
        raise type(error)(str(error).replace("--output", option.opts[-1], 1)) from None
    return value


def one_output(ctx: click.Context, option: click.Parameter, value: tuple[str, ...]) -> str | None:
    """The file of an option that writes one, noted; of two, click would write the last alone.

    Raises:
        IngestError: it cannot be written.
        UsageError: the option names two files.
    """
    several = tuple(dict.fromkeys(value))
    if len(several) > 1:
        raise UsageError(f"{option.opts[-1]}: found '{several[0]}' and '{several[1]}', expected one of them")
    return next(iter(note_output(ctx, option, several)), None)


#: An option for a file that is written.
one_file = partial(click.option, multiple=True, callback=one_output)


format_option = click.option("--format", "form", type=OneOf(FORMATS), help="table, json, csv or markdown. [default: table]")
output_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    multiple=True,
    callback=note_output,
    help="Write or replace a file; its suffix selects the format. Repeatable.",
)
output_options = stacked([detail_options, format_option, output_option])
#: Where the words before the options are kept, by the option that each stands for.
WORD = "ingest.word.{}"


def _given_word(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    ctx.meta[WORD.format((parameter.name or "").removesuffix("_word"))] = value


def _one_word(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The value of an option, or the word before the options that stands for it. Raises UsageError: two different ones."""
    name = parameter.name or ""
    word = ctx.meta.get(WORD.format(name))
    no_gpu = ctx.meta.get(WORD.format("gpu")) is None and ctx.params.get("gpu") is None
    takes_gpu = no_gpu and any(one.name == "gpu_word" for one in ctx.command.params)
    if name == "model" and None not in (word, value) and word != value and takes_gpu:
        # `bw h100 --model resnet50`: the one word is the GPU
        ctx.meta[WORD.format("gpu")], ctx.meta[WORD.format("moved")], word = word, value, None
    if word is not None and value not in (None, word):
        if moved := ctx.meta.get(WORD.format("moved")):
            name, value = "model", moved
        raise click.UsageError(f"{name.upper()}: found '{word}' and --{name} {value}, expected one of them")
    return value or word


def word_argument(name: str) -> Callable[[Command], Command]:
    """A word that stands for the option of this name, such as `h100` for `--gpu h100`."""
    return click.argument(
        f"{name}_word", required=False, metavar=f"[{name.upper()}]", is_eager=True, expose_value=False, callback=_given_word
    )


_model = click.option(
    "--model", metavar="ID", callback=_one_word, help="Id, alias, YAML file or config.json of the model; or MODEL."
)
#: The model, and the kind of its GPUs: words, or the options of the same names.
model_alone = stacked([word_argument("model"), _model])
model_argument = stacked([word_argument("model"), word_argument("gpu"), _model])
explain_option = click.option("--explain", metavar="NAME", help="Show the derivation of one quantity instead.")


#: What checks or notes the value of an option, or puts the word before the options in its place.
CALLBACKS = {"gpu": _one_word, "corpus": _one_word} | dict.fromkeys(("derivations", "output", "bundle"), one_output)


def options_of(function: Callable[..., Any], *without: str) -> Callable[[Command], Command]:
    """Add the options that a public function declares, without those that its command declares itself."""
    found = arguments_of(function).values()
    taken = [one for one in found if one.name not in without and not (one.required and one.place)]
    return stacked([_option(one, one.declared) for one in taken if one.declared is not None])


def _option(argument: Argument, declared: Declared) -> Callable[[Command], Command]:
    name, usual, text = argument.name, argument.default, declared.text
    shown = [*(["-o"] if name == "output" else []), f"--{name.replace('_', '-')}"]
    if usual is False:
        return click.option(*shown, is_flag=True, help=text)
    known = None if usual in (None, ()) else str(usual)
    callback = note_output if declared.many and name == "output" else CALLBACKS.get(name)
    return click.option(
        *shown,
        cls=DeclaredOption,
        words=declared.choices,
        required=argument.required,
        multiple=declared.many or callback is one_output,
        default=(known,) if known and callback is one_output else known,
        show_default=known is not None and "[default: " not in text,
        metavar=declared.metavar or None,
        type=None if declared.metavar else OneOf(declared.choices),
        help=text,
        callback=callback,
    )


asked_from = later("ingest.site.job_file", "asked_from")
job_of_options = later("ingest.site.job_file", "job_of_options")


def job_file(command: str, function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command take its options from a job file; those of the command line override them."""
    arguments = arguments_of(function)

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--job", metavar="FILE", help=JOB)
        @one_file("--save-job", metavar="FILE", help="Write what is asked as such an entry.")
        @wraps(run)
        def asked(job: str | None, save_job: str | None, **options: Any) -> Any:
            source = click.get_current_context().get_parameter_source
            # A word before the options stands for one.
            typed = {
                name: one
                for name, one in options.items()
                if (known := arguments.get(name))
                and (source(name) is ParameterSource.COMMANDLINE or one not in (known.default, ()))
            }
            given = asked_from(job, command, arguments, typed) if job is not None else typed
            unmet = None
            try:
                run(**{**options, **given})
            except RequirementNotMet as error:  # an answer, too
                unmet = error
            if save_job is not None:
                import yaml

                entry = job_of_options(command, arguments, {name: one for name, one in given.items() if one is not None})
                write_whole(Path(save_job), yaml.safe_dump(entry, sort_keys=False, allow_unicode=True))
                tell(f"wrote {save_job}")
            if unmet is not None:
                raise unmet

        return asked

    return decorate


@cache
def elsewhere() -> Mapping[str, Mapping[str, Any]]:
    """What others call our options and commands, in words."""
    return table_beside(__file__, "elsewhere.yaml")  # type: ignore[no-any-return]


@cache
def _theirs(table: str) -> dict[str, list[str]]:
    return {ours: theirs.split() for ours, theirs in elsewhere().get(table, {}).items()}


def meant_by(table: str, word: str, begun: bool = False) -> list[str]:
    """What a word of others may mean here; with `begun` a word that it begins, as `quant` does `quantization`."""
    known = _theirs(table)
    word = re.sub("is(e|ed|er|ation)$", r"iz\1", word)
    found = [ours for ours, theirs in known.items() if word in theirs or word.removesuffix("s") in theirs]
    return found or [
        ours for ours, theirs in known.items() if begun and len(word) > 3 and any(one.startswith(word) for one in theirs)
    ]


def that_take(value: str, asked: click.Command) -> dict[str, Collection[str]]:
    """The options of a command that a value fits by its form, and the words that each may be."""
    found = {name: one for one in asked.params for name in one.opts if name.startswith("--")}
    words = {name: getattr(one, "words", ()) or getattr(one.type, "choices", ()) for name, one in found.items()}
    forms = {name: elsewhere()["values"].get(str(one.metavar), ".*") for name, one in found.items()}
    return {one: of for one, of in words.items() if not value or of or re.fullmatch(forms[one], value, re.IGNORECASE)}


def counted_by(number: str) -> list[str]:
    """The options that a number among words may be the value of, by its form."""
    forms = elsewhere()["numbers"].items()
    return next(str(options).split() for form, options in forms if re.fullmatch(form, number, re.IGNORECASE))


def gathered(words: Sequence[str]) -> list[str]:
    """The words, with those behind the value of an option that takes several joined to it, as in `--nodes 1 2 4`."""
    several = elsewhere()["several"].get(words[0], "").split()
    made: list[str] = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        option, value = ["", "", *made][-2:]
        # A word with blanks was quoted: it is no part of a list in brackets.
        parts = [one if " " in one else one.strip("[](),") for one in (word, after)]
        numbers = value.replace(",", "").isdigit()
        fits = str.isdigit if numbers else lambda one, option=option: option_of(one) == option
        variant = option in ("--gpu", "--model") and re.fullmatch(elsewhere()["variant"][""], word.lower())
        if variant and kind_held(f"{value} {word}"):
            made[-1] += f" {word}"
        elif option[2:] not in several:
            made.append(parts[0] if value[2:] in several else word)
        elif fits(parts[0]) and (not numbers or fits(parts[1]) or re.fullmatch("(-.*)?", after)):
            made[-1] += f",{parts[0]}"  # the 64 of `--nodes 8 64 h100` are GPUs
        elif not (meant_by("filling", word) and fits(parts[1])):
            made.append(word)
    return made


def with_units(args: list[str]) -> list[str]:
    """The words, with a unit that stands apart from its number beside it, as in `--duration 30 days`."""
    own = len(list(takewhile(lambda word: not word.startswith(COMMAND), args)))
    made = args[:own]
    for place in range(own - 1, 1, -1):
        option, number = made[place - 2 : place]
        is_unit = any(meant_by(table, made[place].lower()) for table in ("letters", "counted", "apart", "behind"))
        if option.startswith("--") and re.fullmatch("[0-9][0-9.,_]*[A-Za-z]?", number) and is_unit:
            made[place - 1 : place + 1] = [f"{number} {made[place]}"]
    return made + args[own:]


def spellings(option: str) -> list[str]:
    """An option without dashes and figures, then in full words, without those that tell nothing, and below its last dot."""
    found = [re.sub("[-_./0-9]" if re.search("[A-Za-z]{2}", option) else "[-_./]", "", option).lower()]  # `--s3` is no `-s 3`
    whole = re.split("[-_]per[-_](?=gpu|node|device|rank|host|job)", option)[0]
    for name in (option, option.rpartition(".")[2], whole):
        parts = [next(iter(meant_by("full", part)), part) for part in re.findall("[a-z]+", name.lower())]
        bare = "".join(one for one in parts if not meant_by("little", one))
        counting = any(meant_by("counting", one) for one in parts)  # `--gpu-count` has gpus
        counted = f"{bare}s" if bare and not bare.endswith("s") and counting else bare
        found += ["".join(parts)] * (name != option) + [counted]
    return [one for one in dict.fromkeys(found) if one]


kind_of, kind_held, catalog_entry, catalog_entries, held, opened = (
    later("ingest.catalog.commands", one) for one in ("kind_of", "kind_held", "show", "list", "held", "opened")
)


def kind_named(word: str) -> str:
    """The kind that a word names; empty for any other word."""
    with suppress(IngestError):
        return str(kind_of(word).kind)
    return ""


def option_of(word: str) -> str:
    """The option whose value an entry of the catalogs is; `--` for any other word."""
    kind = kind_held(word).removesuffix("s")
    return f"--{ {'corpora': 'corpus', 'architecture': 'model'}.get(kind, kind) }"


def entry_meant(word: str) -> tuple[str, str]:
    """The option and the name of the entry that a word means: its own, that of a family, or of a name with its figures."""
    if (option := option_of(word)) != "--":
        return option[2:], word
    catalog = opened(())
    if any(one.startswith(f"{word.lower()}-") for one in catalog.ids("storage")):  # `ddn`, which many systems are of
        return "storage", word
    try:
        held(word, catalog)
        if len(word) > 3 and re.search("[0-9]", word):  # of a word without a number, one spelt alike is another
            catalog_entry(word)
    except IngestError as error:
        if family := re.search(" may be ([^ ,]+)", str(error)):
            return option_of(family[1])[2:], word
        name = next(iter(re.findall("did you mean '([^']+)'", str(error))), "")
        numbers = (re.findall("[0-9]+", one.lower().replace("o", "0")) for one in (word, name))
        if name and {*next(numbers)} <= {*next(numbers)}:  # of `dlrmv2`, `dlrmv3` is another
            return option_of(name)[2:], name
    return "", ""


#: Words that are read as a question: each of them is looked up in the catalogs.
MOST_WORDS = 16
#: Commands that read the file of a site.
OF_A_SITE = ("report", "plan", "accept")
#: Options that words stand for, in this order.
WORDS = ("model", "gpu", "corpus")
#: A number in a question, with what it may be times: `8xh100`.
_NUMBER = re.compile("x?([0-9][0-9.,]*(?:e[0-9]+)?(?:[kmgtp]?i?b(?:/s|ps)?|[kmbtshd]|min|%)?)(?:x(.*))?")


def in_words(words: Sequence[str], asked: str = "", taken: Collection[str] = ()) -> str:
    """The command line that a question in words means; empty where they do not tell.

    Args:
        asked: the command, where it is known; all words must then be understood.
        taken: its options that are given beside the words.
    """
    votes: Counter[str] = Counter()
    given: dict[str, str] = {}
    numbers, files, before, awaiting, clear, last = list[str](), list[str](), "", "", True, False
    params = command_of(asked).params if asked else []
    of_nodes, in_each = elsewhere()["each"]
    said_apart = [part for word in words for part in re.split(r"[\s?!;]+|,$|(?<=[0-9])-(?=[a-z]+$)", word) if part]
    if not 0 < len(said_apart) <= MOST_WORDS:
        return ""
    parts = joined(said_apart)
    for one, after in zip(parts, [*parts[1:], ""], strict=True):
        low = one.lower().removeprefix("gpu:")
        plain, (option, equals, value) = re.sub("[-_]", "", low), one.partition("=")
        counting = _NUMBER.fullmatch(low)
        whole = (counting[2] or "") if counting else low
        name, times = re.fullmatch("(.*?)(?:[x*:]([0-9]+))?", whole).groups()  # type: ignore[union-attr]
        if times and name and not meant_by("counted", name) and option_of(name) == "--":
            name, times = whole, None  # `mixtral8x7` is no eight of seven
        kind = next(iter(meant_by("counted", name)), "")
        together = meant_by("commands", f"{before}{low}") if before else []
        called = together or ([low] if low in COMMANDS else meant_by("commands", plain))
        idle = bool(meant_by("filling", low))
        if re.fullmatch("[wc][0-9]+", low) and not asked:
            return f"explain {one.upper()}"
        if not equals and (reading := meant_by("commands", os.path.splitext(low)[1])):
            votes[reading[0]] += 2
            files.append(one)
            continue
        for command in called if together or not idle else ():
            own = command in (low, low.removesuffix("s"))
            votes[command] += 6 if together else 4 if own else 1 if meant_by("verbs", low) else 2
        said = one[len(one) - len(low) :][slice(*counting.span(1))] if counting else times
        taking = [str(each.name) for each in params if low in getattr(each, "words", ())]
        choosing = [each for each in taking if all(other.endswith(each) for other in taking)]
        named = [each for each in (plain, *meant_by("options", plain)) if any(f"--{each}" in one.opts for one in params)]
        if said and any(each.name == awaiting for each in params) and not name:
            given[awaiting] = said
        elif said and low != one.lower() and of_nodes in taken:
            given[in_each] = said  # `--gres gpu:h100:8` counts those of a node
        elif said:
            numbers.append(said)
        awaiting = ""
        if equals:
            given[option.replace("-", "_")] = value
        elif kind and numbers:
            given[kind] = numbers.pop()
        elif choosing and not (kind or idle):
            given[choosing[0]] = low
        elif named and not idle and last and f"--{named[0]}" in that_take(numbers[-1], command_of(asked)):
            given[named[0].replace("-", "_")] = numbers.pop()  # `8 tp`, where no number follows
        elif named and not idle and any(getattr(one, "is_flag", False) and f"--{named[0]}" in one.opts for one in params):
            given[named[0].replace("-", "_")] = ""
        elif (named or kind) and not idle and asked:
            awaiting = (kind or named[0]).replace("-", "_")
        elif name and not (kind or idle or (called and (not asked or option_of(name) == "--"))):
            found, name = entry_meant(name)
            clear = clear and bool(found)
            given[found] = f"{given[found]},{name}" if given.get(found, name) != name else name
        before, last = low, said in numbers and not name and not (said.isdigit() and after[:1].isdigit())
    alone = "bw" if WORDS[0] in given else "".join(f"catalog show {one}" for one in given.values() if len(given) == 1)
    voted = next(iter(votes.most_common(1)), (alone if clear else "",))[0]
    voted = next((one for one in votes if one.startswith(f"{voted} --")), voted)  # `offload inference`
    command = asked or ("fit" if voted and "storage" in given else voted)
    if command in OF_A_SITE and not files and (given or numbers):
        command, given = "plan --new", {"models" if one == "model" else one: value for one, value in given.items()}
    if (asked and not clear) or not command:
        return ""
    kinds = [*filter(None, map(kind_named, " ".join(words).split()))] if command.startswith("catalog") and not given else []
    if kinds:
        return f"catalog list {kinds[0]}"
    if not clear or command.partition(" --")[0] not in COMMANDS:
        return command
    # What no command of these takes is a rate that storage has: `feed` tells what it does to GPUs.
    others = [] if asked else [*votes, *["feed"] * ("/s" in "".join(numbers)), *["fit"] * (command != "plan --new")]
    tried = [one for one in (command, *others) if one.partition(" --")[0] in COMMANDS]
    if not asked and command in COMMANDS and "gpu" not in {str(one.name) for one in command_of(command).params}:
        given.pop("gpu", None)  # `rl qwen3-8b h100`
    lines = [line_of(one, {**given}, numbers, files, taken) for one in tried]
    return next(filter(None, lines), "" if asked or numbers else command)


def joined(words: Sequence[str]) -> list[str]:
    """The words, with those in one that name one thing or one number: `15 trillion`, `30 min`, `llama 3 70b`."""
    made: list[str] = []
    for one in words:
        word = one
        letter = next(iter(meant_by("letters", word.lower())), word if meant_by("behind", word.lower()) else "")
        if letter and made and re.fullmatch("[0-9][0-9.,]*", made[-1]):
            word = made.pop() + letter
        made.append(word)
        for count in (3, 2):
            first, *others = made[-count:]
            known = first in COMMANDS or any(meant_by(table, first.lower()) for table in ("commands", "filling"))
            if not others or known or not first[0].isalpha():
                continue
            name, apart = "-".join([first, *others]), option_of("-".join([first, *others[:-1]])) == "--"
            variant = re.fullmatch(elsewhere()["variant"][""], word.lower())
            figures = not word[-1].isalpha()  # `h100 64` are two
            near = variant and apart and len(others) == 1 and not figures
            option, name = entry_meant(name) if near else (option_of(name)[2:], name)
            if not variant:  # `DGX Spark`
                apart = apart and option != option_of(word)[2:]
            elif option and not apart and (not figures or word.lower().startswith("nvl")):  # `gb200 nvl72`
                apart = figures or word.lower() in catalog_entry(name).id or (option == "gpu" and word.lower().endswith("gb"))
            if option and apart and (len(others) == 1 or option_of("-".join(others)) == "--"):
                made[-count:] = [name]
    return made


#: Commands that the parameters of a model suffice for: `8B` names none.
BY_SIZE = ("train", "memory", "checkpoint", "goodput", "model", "rl")


def line_of(command: str, given: dict[str, str], numbers: Sequence[str], files: Sequence[str], taken: Collection[str]) -> str:
    """A command with what was given for it, numbers as it takes them; empty where it has no such option."""
    command, _, flag = command.partition(" --")
    params = command_of(command).params
    options = {name.lstrip("-").replace("-", "_") for one in params for name in (str(one.name), *one.opts)}.difference(taken)
    for number in sorted(numbers, key=str.isdigit):  # what has a letter says more
        taking = [one for one in counted_by(number) if one in options and one not in given and command != "plan"]
        taking.sort(key=lambda one: one != "nodes" or not {"node"} & {*given, *taken})  # `8 dgx h100` are 64 GPUs
        given[next(iter(taking), "")] = number
    places = [str(one.name).removesuffix("_word") for one in params if isinstance(one, click.Argument)]
    places, options = (["model"], {*options, "model"}) if places == ["source"] else (places, options)
    if "model" in options and given and ("gpu" in given or places[:1] == ["model"]):  # a question that names none
        given = {"model": "MODEL", **given}
    if command in BY_SIZE and re.fullmatch("[0-9.]+[bm]", given.get("model", "").lower()):
        given["set"] = f"parameters={given.pop('model').upper()}"
    unnamed = "model" in places and "model" not in given  # then nothing has a place
    by_place = [
        given.pop(one)
        for one in (() if unnamed else WORDS)
        if one in given and one in {*places} & options and places[0] in WORDS
    ]
    if not given.keys() <= options or (files and (not places or places[0] in WORDS)):
        return ""
    given |= {flag: ""} if flag else {}
    said = [f"--{one.replace('_', '-')} {without_commas(value) or value}".rstrip() for one, value in given.items()]
    return " ".join([command, *by_place, *files, *said])
