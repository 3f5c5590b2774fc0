"""The parser of the command line: subcommands that are imported when they run, and the refusals of its options."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise, takewhile
from typing import Any

import click

import ingest
from ingest.cli.main import COMMANDS, GROUPS, INTERRUPTED, command_of, later, loaded, overview, refuse, tell
from ingest.cli.output import forget_choices
from ingest.configuration import forget_configuration
from ingest.errors import IngestError, UsageError, brief, listed, nearest
from ingest.files import table_beside
from ingest.version import __version__

#: Commands with an option that a refusal names: more tell nobody where to go.
MOST_OTHERS = 3
#: A refusal without a hint of the value of an option, of a name, or of a word that is no file.
_REFUSED = re.compile(
    "(?:(--[a-z-]+)[: ].*|.*)(?:(?:found|unknown [a-z]+|data set) '([^']+)'(?:, expected (?:one of|a finite)| is not|;)"
    "|^'?([^':]+)'?(?:, expected one of|: no such file|: cannot be read)).*"
)
#: A refusal of a word by its place: a name of nothing, or of another kind.
_MISPLACED = re.compile("(unknown [a-z]+ |the data set |--gpus: found )?'[^']+'(?! without)(?!.* may be ).*")
#: Words of an option that say that it is a number; options of every command.
_COMPARING = ("compare", "versus", "vs")
#: What follows a name in the name of a variant: `llama3 70b`, `a100 80gb`, `h100 pcie`.
_VARIANT = r"v?[0-9]{1,3}|v?[0-9][\w.]*[a-jl-z]|sxm[0-9]?|pcie|nvl|base|small|medium|large|xl|pro|max|mini|instruct|chat"
_COUNTING = {"num", "count", "number", "n", "nb"}
_EVERYWHERE = {"--output", "--format", "--set", "--catalogs", "--verbose", "--quiet", "--job"}
#: Options that words stand for, in this order.
WORDS = ("model", "gpu", "corpus")
#: A number in a question, with what it may be times: `8xh100`; the id of a rule.
_NUMBER = re.compile("x?([0-9][0-9.,]*(?:e[0-9]+)?(?:[kmgtp]?i?b(?:/s|ps)?|[kmbtshd]|min|%)?)(?:x(.*))?")
_TIMES = re.compile("(?:gpu:)?[a-z][a-z0-9-]*[:x*][0-9]+|[0-9]+[x*][a-z][a-z0-9-]*", re.IGNORECASE)
_RULE = re.compile("[wc][0-9]+")
#: The key of a context with all words of the command line.
_WORDS = "ingest.words"


@cache
def elsewhere() -> Mapping[str, Mapping[str, Any]]:
    """What others call our options and commands, in words."""
    found: Mapping[str, Mapping[str, Any]] = table_beside(__file__, "elsewhere.yaml")
    return found


def meant_by(table: str, word: str, begun: bool = False) -> list[str]:
    """What a word of others may mean here; with `begun` a word that it begins, as `quant` does `quantization`."""
    known = {ours: theirs.split() for ours, theirs in elsewhere().get(table, {}).items()}
    word = re.sub("is(e|ed|er|ation)$", r"iz\1", word)
    found = [ours for ours, theirs in known.items() if word in theirs or word.removesuffix("s") in theirs]
    return found or [
        ours for ours, theirs in known.items() if begun and len(word) > 3 and any(one.startswith(word) for one in theirs)
    ]


def instead_of(option: str, known: Mapping[str, Collection[str]], value: str = "") -> str:
    """Return the line for an option that a command does not have.

    Args:
        known: those that it has, and the words that each may be.
        value: the word behind it.

    >>> instead_of("--tp", {"--gpus": (), "--tensor-parallel": ()})
    "no such option '--tp'; did you mean '--tensor-parallel'?"
    >>> instead_of("--fio", {"--tool": ["fio"]}), instead_of("-f", {"--format": ["csv"]}, "CSV")
    ("no such option '--fio'; did you mean '--tool fio'?", "no such option '-f'; did you mean '--format csv'?")
    """
    from difflib import get_close_matches

    written = re.sub("[-_.]", "", option).lower()
    spelt = _spellings(option)
    if (ours := option.replace("_", "-").lower()) in known:
        return _line(option, ours)
    meant_anywhere = [f"--{one}" for one in _meant(spelt, known)]
    called = [one for one in known if re.sub("-", "", one) in spelt] or [one for one in meant_anywhere if one in known]
    called = called or [one for one in known if "-" in one[2:] and "".join(part[0] for part in one[2:].split("-")) == written]
    for said in (one for one in (written, *spelt[1:], value.lower()) if not meant_by("little", one)):
        # Of a value, those alone that the option may mean: `--column text` means no `--input-format text`.
        free = not said.isdigit() and not (called and value)
        taking = [name for name, words in known.items() if said in words and (free or name in called)]
        if taking := [name for name in called if name in taking] or taking:
            return _line(option, "' or '".join(f"{name} {said}" for name in taking[:2]))
    bare = {one.removeprefix("--"): one for one in known}  # two dashes in common make no likeness
    part = [(name, one) for one in re.findall("[a-z0-9]{3,}", option) for name in known if one in known[name]]
    if not called and (part := [one for one in part if f"--{one[1]}" not in known]):
        return _line(option, " ".join(part[0]))
    # A word for an option of another command does not mean what is only spelt like it.
    close = [] if meant_anywhere else [bare[one] for one in get_close_matches(option.removeprefix("--"), bare, cutoff=0.7)]
    meaning = called or close or ([] if meant_anywhere else _of_parts(option, known))
    meaning = meaning[:2]
    return _line(option, "' or '".join(meaning)) if meaning else f"no such option '{option}'"


def _spellings(option: str) -> list[str]:
    """An option without dashes and figures, then in full words, without those that tell nothing, and below its last dot.

    >>> _spellings("--reader.num-ckpt"), _spellings("--fio-only")
    (['readernumckpt', 'readercheckpoint', 'numcheckpoint', 'checkpoint'], ['fioonly', 'fio'])
    """
    found = [re.sub("[-_.0-9]", "", option).lower()]
    whole = re.split("[-_]per[-_](?=gpu|node|device|rank|host|task|proc|job)", option)[0]
    for name in (option, option.rpartition(".")[2], whole):
        parts = [next(iter(meant_by("full", part)), part) for part in re.findall("[a-z]+", name.lower())]
        found += ["".join(parts)] * (name != option) + ["".join(one for one in parts if not meant_by("little", one))]
    return [one for one in dict.fromkeys(found) if one]


def _meant(spelt: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """Our options for the spellings of one of others: those of the first spelling that a command has, else of the first."""
    found = [meant for one in spelt if (meant := meant_by("options", one, begun=True))]
    return next((meant for meant in found if any(f"--{one}" in known for one in meant)), [*found, []][0])


def _of_parts(option: str, known: Collection[str], whole: bool = False) -> list[str]:
    """The options that share most words with one that nobody has: `--interval`, called `every`, for `--save-every-n-steps`.

    Args:
        whole: whether all words must be shared.
    """
    words = {*re.findall("[a-z]+", option.lower())}
    parts = {one for one in words if len(one) > 1 and not meant_by("little", one)}
    called = {f"--{ours}": {*ours.split("-"), *theirs.split()} for ours, theirs in elsewhere()["options"].items()}
    telling = {each for one in parts if not meant_by("general", one) for each in (one, f"{one}s")}
    for looked in ([{f"{one}s" for one in parts}] if words & _COUNTING else []) + [parts]:
        near = {one: words for one, words in called.items() if one in known and one not in _EVERYWHERE and telling & words}
        shared = {one: len(looked & words) for one, words in near.items()}
        most = max(shared.values(), default=0)
        if most >= (len(looked) if whole else 1) > 0:
            return [one for one, count in shared.items() if count == most]
    return []


def command_instead_of(word: str, known: Collection[str], rest: Sequence[str] = ()) -> str:
    """Return the line for a command that there is not; `known` are those that there are, `rest` the words behind it.

    >>> command_instead_of("bandwidth", ["bw"])
    "no such command 'bandwidth'; did you mean 'ingest bw'?"
    >>> command_instead_of("get", ["bw"], ["gpus"]), command_instead_of("h100", ["bw"])[24:]
    ("no such command 'get'; did you mean 'ingest catalog list gpus'?", "did you mean 'ingest catalog show h100'?")
    >>> command_instead_of("chekpoint", ["bw", "checkpoint"])
    "no such command 'chekpoint'; did you mean 'checkpoint'?"
    """
    from difflib import get_close_matches

    plain = re.sub("[-_]", "", word).lower()
    parts = re.split("[-_]", word.lower())
    if needless := meant_by("needless of ingest", plain):
        return f"no such command '{word}'; {needless[0]}"
    called = [one for one in known if one.replace("-", "") == plain] + meant_by("commands", plain)
    called += [one for one in parts if one in known]
    called += [one for part in parts for one in meant_by("commands", part)]
    called += [f"{one} {word}" for one in meant_by("commands", f".{plain.rpartition('.')[2]}")]
    takes = _that_take("", command_of(called[0])) if called and called[0] in known and rest else {}
    is_file = "--model" not in takes and re.match("[./~]|.*[.][a-z]+$", next(iter(rest), ""))
    if takes and (is_file or rest[0].startswith("-")) and {one for one in rest if one.startswith("--")} <= takes.keys():
        return f"no such command '{word}'; did you mean 'ingest {called[0]} {shlex.join(rest)}'?"
    theirs = " ".join(elsewhere()["commands"].values()).split()
    if not nearest(word, known) and not meant_by("filling", plain):  # a misspelt word of others
        called += [one for near in get_close_matches(plain, theirs, n=1, cutoff=0.75) for one in meant_by("commands", near)]
    said = [word, *takewhile(lambda one: not one.startswith("-"), rest)]
    of_catalog = _of_catalog(word, plain, said[1:])
    spoken = "" if of_catalog and (len(said) < 3 or plain in _COMPARING) and " " not in word else in_words(said)
    if meant := spoken or of_catalog or next(iter(called), ""):
        return f"no such command '{word}'; did you mean 'ingest {meant}'?"
    having = [f"`ingest {one}`" for one in known if any(f"--{plain}" in each.opts for each in command_of(one).params)]
    options = f"; {listed(having, MOST_OTHERS)} {'has' if len(having) == 1 else 'have'} --{plain}" if having else ""
    return f"no such command {brief(word)}{nearest(word, known) or options or '; `ingest --help` lists them'}"


def in_words(words: Sequence[str], asked: str = "", taken: Collection[str] = ()) -> str:
    """The command line that a question in words means; empty where they do not tell.

    Args:
        asked: the command, where it is known; all words must then be understood.
        taken: its options that are given beside the words.

    >>> in_words(["how", "fast", "for", "resnet50", "on", "64", "h100?"]), in_words(["resnet50", "h100x8"], "bw")
    ('bw resnet50 h100 --gpus 64', 'bw resnet50 h100 --gpus 8')
    """
    votes: Counter[str] = Counter()
    given: dict[str, str] = {}
    numbers, before, awaiting, clear, last = list[str](), "", "", True, False
    params = command_of(asked).params if asked else []
    of_nodes, in_each = elsewhere()["each"]
    parts = _joined([part for word in words for part in re.split(r"[\s?!;]+|,$|(?<=[0-9])-(?=[a-z]+$)", word) if part])
    for one, after in zip(parts, [*parts[1:], ""], strict=True):
        low = one.lower().removeprefix("gpu:")
        plain, (option, equals, value) = re.sub("[-_]", "", low), one.partition("=")
        counting = _NUMBER.fullmatch(low)
        name, times = re.fullmatch("(.*?)(?:[x*:]([0-9]+))?", (counting[2] or "") if counting else low).groups()  # type: ignore[union-attr]
        kind = next(iter(meant_by("counted", name)), "")
        together = meant_by("commands", f"{before}{low}") if before else []
        called = together or ([low] if low in COMMANDS else meant_by("commands", plain))
        idle = bool(meant_by("filling", low))
        if _RULE.fullmatch(low) and not asked:
            return f"explain {one.upper()}"
        for command in called if together or not idle else ():
            votes[command] += 3 if together else 2 if command in (low, low.removesuffix("s")) else 1
        said = one[slice(*counting.span(1))] if counting else times
        awaited = next((each for each in params if each.name == awaiting), None)
        choosing = [str(each.name) for each in params if low in getattr(each, "words", ())]
        choosing = [each for each in choosing if all(other.endswith(each) for other in choosing)]
        named = [each for each in (plain, *meant_by("options", plain)) if any(f"--{each}" in one.opts for one in params)]
        if said and awaited is not None and not name:
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
        elif named and not idle and last and f"--{named[0]}" in _that_take(numbers[-1], command_of(asked)):
            given[named[0].replace("-", "_")] = numbers.pop()  # `8 tp`, where no number follows
        elif (named or kind) and not idle and asked:
            awaiting = (kind or named[0]).replace("-", "_")
        elif name and not (kind or idle or (called and not asked)):
            clear = clear and bool(found := _option_of(name)[2:]) and given.setdefault(found, name) == name
        before, last = low, said in numbers and not name and not (said.isdigit() and after[:1].isdigit())
    alone = "bw" if WORDS[0] in given else "".join(f"catalog show {one}" for one in given.values() if len(given) == 1)
    voted = next(iter(votes.most_common(1)), (alone if clear else "",))[0]
    command = asked or ("fit" if voted and "storage" in given else voted)
    if (asked and not clear) or not command:
        return ""
    if (
        command.startswith("catalog")
        and not given
        and (kind := next(filter(None, map(kind_named, " ".join(words).split())), ""))
    ):
        return f"catalog list {kind}"
    return _line_of(command, given, numbers, taken) if clear and command in COMMANDS else command


def _joined(words: Sequence[str]) -> list[str]:
    """The words, with those in one that name one thing or one number: `15 trillion`, `30 min`, `llama 3 70b`."""
    made: list[str] = []
    for word in words:
        letter = next(iter(meant_by("letters", word.lower())), "")
        if letter and made and re.fullmatch("[0-9][0-9.,]*", made[-1]):
            made[-1] += letter
            continue
        made.append(word)
        for count in (3, 2):
            first, *others = made[-count:]
            joined = bool(others) and re.match("[A-Za-z]", first) and re.fullmatch(_VARIANT, word.lower())
            if joined and (word[-1].isalpha() or _option_of("-".join([first, *others[:-1]])) == "--"):  # `h100 64` are two
                made[-count:] = [name] if _option_of(name := "-".join([first, *others])) != "--" else made[-count:]
    return made


def _line_of(command: str, given: dict[str, str], numbers: Sequence[str], taken: Collection[str] = ()) -> str:
    """A command with what was given for it, numbers as it takes them; empty where it has no such option."""
    params = command_of(command).params
    options = {name.lstrip("-").replace("-", "_") for one in params for name in (str(one.name), *one.opts)}.difference(taken)
    for number in sorted(numbers, key=str.isdigit):  # what has a letter says more
        form = next(form for form in elsewhere()["numbers"] if re.fullmatch(form, number, re.IGNORECASE))
        taking = [one for one in elsewhere()["numbers"][form].split() if one in options and one not in given]
        given[next(iter(taking), "")] = number
    places = [str(one.name).removesuffix("_word") for one in params if isinstance(one, click.Argument)]
    by_place = [given.pop(one) for one in WORDS if one in given and one in places and places[0] in WORDS]
    if not given.keys() <= options:
        return ""
    return " ".join([command, *by_place, *(f"--{one.replace('_', '-')} {value}" for one, value in given.items())])


def _of_catalog(word: str, plain: str, rest: Sequence[str]) -> str:
    """The command for words such as `get gpus`, `describe gpu h100`, `compare ceph weka`, `gpu h100` and `cosmoflow h100`."""
    words = [*rest]
    if not {"catalog list models", "catalog show"} & {*meant_by("commands", plain)}:
        if not kind_named(word):
            found = kind_named(word, catalog_entry)
            return found and f"{'bw' if found == 'models' else 'catalog show'} {word}"
        words = [word, *words]
    named = [one for one in words if not kind_named(one) and "catalog list models" not in meant_by("commands", one)]
    files = {one for word in rest for one in meant_by("compared", os.path.splitext(word)[1])}
    if len(files) == 1 and plain in _COMPARING:
        return f"{files.pop()} {' '.join(rest)}"
    if len(named) > 1 and plain in _COMPARING:
        together = {"--gpu": f"bw MODEL {','.join(named)}", "--model": f"bw {','.join(named)} GPU", "--corpus": ""}
        kinds = {_option_of(one) for one in named}
        return together.get(min(kinds), f"catalog compare {' '.join(named)}") if len(kinds) == 1 or "--" in kinds else ""
    if named:
        return f"catalog show {named[-1]}"
    kind = next(filter(None, map(kind_named, (word, *words))), "")
    return f"catalog list {kind}" if kind and words else ""


kind_of, catalog_entry = (later("ingest.catalog.commands", one) for one in ("kind_of", "show"))


def kind_named(word: str, of: Callable[[str], Any] = kind_of) -> str:
    """The kind that a word names, or that it has as an entry; empty for any other word."""
    with suppress(IngestError):
        found = of(word)
        return str(getattr(found, "entry", found).kind)
    return ""


def _option_of(word: str) -> str:
    """The option whose value an entry of the catalogs is; `--` for any other word."""
    kind = kind_named(word, catalog_entry).removesuffix("s")
    return f"--{ {'corpora': 'corpus', 'architecture': 'model'}.get(kind, kind) }"


def _apart(command: str, behind: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a command line that no option takes, or that are kind and number of its GPUs; and the others."""
    known = {name for one in command_of(command).params for name in one.opts}
    flags = {name for one in command_of(command).params if getattr(one, "is_flag", False) for name in one.opts}
    own, rest = list[str](), list[str]()
    for before, word in pairwise(["", *behind]):
        value = before.startswith("-") and "=" not in before and before not in flags
        unfit = value and (before == "--gpus" or before not in known) and bool(_TIMES.fullmatch(word))
        if word.startswith("-") or (value and not unfit):
            rest.append(word)
        else:
            own.append(word)
            rest = rest[:-1] if unfit else rest
    return own, rest


def _respelt(words: Sequence[str]) -> str:
    """The line with each of its words in its place; empty where one is not understood, or where they stand right."""
    command, *behind = words
    own, rest = _apart(command, behind) if command in COMMANDS else ([], [])
    taken = [one.partition("=")[0].lstrip("-").replace("-", "_") for one in rest if one.startswith("--")]
    meant = in_words(own, command, taken) if own else ""
    if len(own) > 1 and command in COMMANDS:
        flags = [one for one in meant_by("options", own[0]) for each in command_of(command).params if f"--{one}" in each.opts]
        meant = f"{command} {' '.join(own[1:])} --{flags[0]}" if flags and not meant else meant
    if own and "catalog list models" in meant_by("commands", own[0]) and kind_named(command):
        meant = f"catalog list {kind_named(command)}"
    respelt = meant and meant != " ".join([command, *own])
    return f"; did you mean 'ingest {f'{meant} {shlex.join(rest)}'.rstrip()}'?" if respelt else ""


def _surplus(words: str, ctx: click.Context | None) -> str:
    """The line for words that a command does not take: the options that they may be the value of."""
    line = ctx.meta.get(_WORDS, [""]) if ctx is not None else [""]
    if meant := _respelt(line):
        return f"found {brief(words)}{meant}"
    params = ctx.command.params if ctx is not None else []
    known = [name for one in params for name in one.opts]
    flags = [name for one in params for name in one.opts if getattr(one, "is_flag", False)]
    for before, word in pairwise(line):
        if before in flags and word == words.split()[0]:
            return f"found '{word}' after {before}, which takes no value"
    meant = _taking(words, "surplus", known)[1]
    return f"found {brief(words)}{meant or ', expected an option before it, or quotes around a name'}"


def _taking(words: str, table: str, known: Collection[str], refusing: str | None = None) -> tuple[bool, str]:
    """The options of a command that take words which something else refuses, such as `--cache 512GB`; empty without any.

    Returns whether the option that refuses them has a word of its own for them, and the hint.

    Args:
        refusing: the option that refuses them: where it has a word of its own for them, no other is meant.
    """
    first = words.split()[0]
    fitting: dict[str, str] = {}
    for entry, form in elsewhere()[table].items():
        option, _, value = entry.partition(" ")
        if found := re.fullmatch(form, words, re.IGNORECASE):
            fitting.setdefault(option, f"{option} {found.expand(value) or first}".removesuffix(" -"))
    of_entry = _option_of(first)
    if of_entry != refusing and (of_entry != "--format" or "--corpus" in known):  # elsewhere it is that of the answer
        fitting.setdefault(of_entry, f"{of_entry} {first}")
    own = [said for option, said in fitting.items() if option == refusing]
    meant = [f"'{said}'" for said in own or [said for option, said in fitting.items() if option in known]]
    return bool(own), f"; did you mean {' or '.join(meant[:2])}?" if meant else ""


def _that_take(value: str, asked: click.Command) -> dict[str, Collection[str]]:
    """The options of a command that a value fits by its form, and the words that each may be."""
    found = {name: one for one in asked.params for name in one.opts if name.startswith("--")}
    words = {name: getattr(one, "words", ()) or getattr(one.type, "choices", ()) for name, one in found.items()}
    forms = {name: elsewhere()["values"].get(str(one.metavar), ".*") for name, one in found.items()}
    return {one: of for one, of in words.items() if not value or of or re.fullmatch(forms[one], value, re.IGNORECASE)}


def _line(option: str, meant: str) -> str:
    return f"no such option '{option}'; did you mean '{meant}'?"


is_quantity = later("ingest.engine.registry", "is_quantity")


def _no_such_option(option: str, ctx: click.Context | None) -> str:
    """The line for an option that a command does not have: the one that is meant, the commands that have it, or the help."""
    if ctx is None:
        return f"no such option '{option}'"
    words = ctx.meta.get(_WORDS, [])
    if len(option) == 2:  # of `-tp 8` the parser names the first letter
        option = next((one for one in words if re.fullmatch(f"{option}[a-z-]+", one)), option)
    value = next((after for before, after in pairwise(words) if before == option and not after.startswith("--")), "")
    if _TIMES.fullmatch(value) and (meant := _respelt(words)):
        return f"no such option '{option}'{meant}"
    known = _that_take(value, ctx.command)
    plain = re.sub("[-_.0-9]", "", option).lower()
    names = [one.name for one in ctx.command.params if isinstance(one, click.Argument)]
    for form, said in elsewhere()["places"].get(ctx.info_name or "", elsewhere()["places"][""]).items() if names else ():
        if plain in said.split() and value and (re.fullmatch(form, value) or os.path.exists(value)):
            return f"no such option '{option}'; did you mean '{ctx.command_path} {value}'?"
        if plain in said.split() and not value and not meant_by("options", plain):
            return f"no such option '{option}'; it goes without one{_example(ctx)}"
    spelt = _spellings(option)
    literal = option.strip("-").replace("-", "_")
    quantity = next((found[0] for one in spelt if (found := meant_by("quantities", one))), literal if "_" in literal else "")
    ours = _meant(spelt, known)
    foreign = not any(f"--{one}" in known for one in ours)
    # Of `--kvcache fp8` no tier is meant, which is what `--kv` takes.
    unfit = bool(value) and all(
        words and value not in words for words in (known[f"--{one}"] for one in ours if f"--{one}" in known)
    )
    counted = [f"steps of {ctx.info_name}"] if value.isdigit() else []  # `--save-interval 1000`, of a launcher
    for table in (*counted, f"needless of {ctx.info_name}", *(["needless"] if foreign else [])):
        for one in (*_spellings(option.replace("-per-", "per")), *(() if not foreign else ours)):
            if needless := meant_by(table, one.replace("-", "")):
                return f"no such option '{option}'; {needless[0]}"
    if is_quantity(quantity) and "axes" in names:
        return _line(option, f"{quantity}={value}")
    if (meant := _option_of(option.strip("-"))) in known:
        return _line(option, f"{meant} {option.strip('-')}")
    unmeant = unfit or ((foreign or ours == ["set"]) and not _of_parts(option, known, whole=True))
    if is_quantity(quantity) and "--set" in known and unmeant:
        return _line(option, f"--set {quantity}={value or 'VALUE'}")
    said = instead_of(option, known, value)
    said = said if "; did" in said else f"{said}{_taking(plain or option, 'refused', known)[1]}"
    if "; did" in said:
        return said
    taking = {name: _that_take(value, command_of(name)) for name in COMMANDS}
    every = {one for each in taking.values() for one in each}
    for meant in (option, *(f"--{one}" for one in ours), *_of_parts(option, every, whole=True)):
        others = [f"`ingest {name}`" for name, each in taking.items() if meant in each]
        if others:
            them = " and ".join(others) if len(others) < MOST_OTHERS else listed(others, MOST_OTHERS)
            return f"{said}; {them} {'has' if len(others) == 1 else 'have'} {'it' if meant == option else meant}"
    listing = next(name for name in ("--help-all", "--help") if name in (*known, "--help"))
    return f"{said}; `{ctx.command_path} {listing}` lists them"


def _computing(name: str) -> list[str]:
    """The commands about a job or data that compute a quantity."""
    modules = {one: loaded(ingest._PLACES[one]) for group in ("One job", "Data") for one in GROUPS[group]}
    found = [one for one, module in modules.items() if name in getattr(getattr(module, "QUESTION", None), "names", ())]
    return [] if "bw" in found else found


def _example(ctx: click.Context | None) -> str:
    """The first example of a command, from its help."""
    found = re.search(rf"^ *(ingest {ctx.info_name} .*)", ctx.command.help or "", re.MULTILINE) if ctx is not None else None
    return f", as in `{found[1]}`" if found else ""


in_words_of_command = later("ingest.engine.question", "in_words_of_command")
#: What word processors make of two dashes.
_DASHES = "\u2013\u2014\u2212"
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
        if "help" in (args[0], args[-1]) and len(args) > 1:
            args = [*(one for one in args if one != "help"), "--help"]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(command_instead_of(args[0], COMMANDS, args[1:]))
        # A unit may stand apart from its number, as in `--duration 30 days`.
        own = len(list(takewhile(lambda word: not word.startswith(COMMAND), args)))
        for at in range(own - 1, 1, -1):
            option, number = args[at - 2 : at]
            is_unit = any(meant_by(table, args[at].lower()) for table in ("letters", "counted", "apart"))
            if option.startswith("--") and re.fullmatch("[0-9][0-9.,_]*[A-Za-z]?", number) and is_unit:
                args = [*args[: at - 1], f"{number} {args[at]}", *args[at + 1 :]]
        ctx.meta[_WORDS] = args
        if any(word.startswith(tuple(_DASHES)) for word in args):
            meant = [re.sub(f"^[{_DASHES}]-?(?=[a-z])", "--", word) for word in args]
            ctx.fail(f"found a long dash, expected two short ones; did you mean 'ingest {shlex.join(meant)}'?")
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
        except (IngestError, click.BadOptionUsage) as error:
            asked = command_of(str(ctx.invoked_subcommand))
            own = [one for each in (asked, *getattr(asked, "commands", {}).values()) for one in each.params]
            if isinstance(error, click.BadOptionUsage):
                about = [str(one.help) for one in own if isinstance(one, click.Option) and error.option_name in one.opts]
                raise click.UsageError(f"{error.message.rstrip('.')}: {about[0]}" if about else error.message) from None
            opts = [name for one in own for name in one.opts]
            words = ctx.meta[_WORDS]
            if _MISPLACED.fullmatch(str(error)) and (meant := _respelt(words)):
                raise UsageError(f"found {brief(' '.join(words[1:]))}{meant}") from None
            if ctx.invoked_subcommand == "explain" and "with that name" not in str(error) and (others := _computing(words[1])):
                there = f"`ingest {others[0]} … --explain {words[1]}` shows it"
                raise UsageError(f"`bw` computes no '{words[1]}'; {there}") from None
            said, near, _ = str(error).partition("; did you")
            if refused := _REFUSED.fullmatch(said):
                sure, meant = _taking(refused[2] or refused[3], "refused", opts, refused[1])
                instead = elsewhere()["instead"].get(refused[1] or said.split()[1], "") if not (meant or near) else ""
                error.args = (f"{said}{meant or instead}",) if sure or not near else error.args
            raise in_words_of_command(error, {name.strip("-").replace("-", "_") for name in opts}) from None

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
        code = refuse(_no_such_option(error.option_name, error.ctx), code=2)
    except click.MissingParameter as error:
        lacking = error.param
        metavar = lacking.make_metavar(error.ctx) if lacking and error.ctx else ""
        name = lacking.opts[-1] if isinstance(lacking, click.Option) else metavar
        code = refuse(f"{name} is missing{_example(error.ctx)}", code=2)
    except click.UsageError as error:
        surplus = re.fullmatch(r"Got unexpected extra arguments? \((.+)\)|[A-Z]+: found '(.+)' and --.*", error.message)
        found = surplus and _surplus(surplus[1] or surplus[2], error.ctx or click.get_current_context(silent=True))
        code = refuse(found if surplus and found and (surplus[1] or "ingest " in found) else error.format_message(), code=2)
    except click.Abort:
        code = refuse("interrupted", code=INTERRUPTED)
    except click.ClickException as error:
        code = refuse(error.format_message(), code=error.exit_code)
    return code if isinstance(code, int) else 0
