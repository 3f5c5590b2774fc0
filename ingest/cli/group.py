"""The parser of the command line: subcommands that are imported when they run, and the refusals of its options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, dropwhile, pairwise, product, takewhile

import click

import ingest
from ingest.cli.main import COMMANDS, GROUPS, INTERRUPTED, command_of, later, loaded, overview, refuse, tell
from ingest.cli.options import (
    COMMAND,
    MOST_WORDS,
    OF_A_SITE,
    catalog_entries,
    counted_by,
    elsewhere,
    entry_meant,
    gathered,
    in_words,
    joined,
    kind_held,
    kind_named,
    meant_by,
    option_of,
    spellings,
    that_take,
    with_units,
)
from ingest.cli.output import forget_choices
from ingest.configuration import forget_configuration
from ingest.errors import IngestError, UsageError, brief, listed, nearest
from ingest.version import __version__

#: Commands with an option that a refusal names: more tell nobody where to go.
MOST_OTHERS = 3
#: A refusal without a hint of the value of an option, of a name, or of a word that is no file.
_REFUSED = re.compile(
    "(?:(--[a-z-]+)[: ].*|.*)(?:(?:found|unknown [a-z]+|data set|--output:) '([^']*[^' ][^']*)'"
    "(?:, expected (?:one |a finite)| is not| ends in ''|, nearest|;)"
    "|^'?([^':]+)'?(?:, expected one of|: no such file|: cannot be read| is no listed node)).*"
)
#: A refusal of a word by its place: a name of nothing, or of another kind.
_MISPLACED = re.compile("(unknown [a-z]+ |the data set |--gpus: found (?!'[0-9.,]+')|gpu )?'[^']+'(?! without).*")
COMPARING = ("compare", "versus", "vs", "diff")
#: Options of every command.
_EVERYWHERE = {"--output", "--format", "--set", "--catalogs", "--verbose", "--quiet", "--job"}
_TIMES = re.compile("(?:gpu:)?[a-z][a-z0-9-]*[:x*][0-9]+|[0-9]+[x*][a-z][a-z0-9-]*", re.IGNORECASE)
#: The key of a context with all words of the command line.
_WORDS = "ingest.words"


def of_catalog(word: str, plain: str, rest: Sequence[str]) -> str:
    """The command for words such as `get gpus`, `describe gpu h100`, `compare ceph weka`, `gpu h100` and `cosmoflow h100`."""
    words = [*rest]
    if not {"catalog list models", "catalog show"} & {*meant_by("commands", plain)}:
        if not kind_named(word):
            found = kind_held(word)
            return found and f"{'bw' if found == 'models' else 'catalog show'} {word}"
        words = [word, *words]
    words = [one for one in words if not meant_by("filling", one)]
    named = [one for one in words if not kind_named(one) and "catalog list models" not in meant_by("commands", one)]
    files = {one for word in rest for one in meant_by("compared", os.path.splitext(word)[1])}
    files = files or {each for one in words for each in meant_by("commands", one) if each in elsewhere()["compared"]}
    if len(files) == 1 and plain in COMPARING:
        return " ".join([*files, *(one for one in rest if not meant_by("commands", one))])
    if len(named) > 1 and plain in COMPARING:
        together = {"--gpu": f"bw MODEL {','.join(named)}", "--model": f"bw {','.join(named)} GPU", "--corpus": ""}
        kinds = {option_of(one) for one in named}
        return together.get(min(kinds), f"catalog compare {' '.join(named)}") if len(kinds) == 1 or "--" in kinds else ""
    if named:
        shown = kind_held(named[-1]) or not entry_meant(named[-1])[0]
        return f"catalog {'show' if shown else 'list'} {named[-1]}"
    kind = next(filter(None, map(kind_named, (word, *words))), "")
    return f"catalog list {kind}" if kind and words else ""


def instead_of(option: str, known: Mapping[str, Collection[str]], value: str = "") -> str:
    """Return the line for an option that a command does not have.

    Args:
        known: those that it has, and the words that each may be.
        value: the word behind it.
    """
    from difflib import get_close_matches

    written = re.sub("[-_./]", "", option).lower()
    spelt = spellings(option)
    if (ours := option.replace("_", "-").lower().replace("isation", "ization")) in known:
        return _line(option, ours)
    meant_anywhere = [f"--{one}" for one in _meant(spelt, known)]
    called = [f"--{one}" for one in meant_by("options", spelt[0]) if f"--{one}" in known]
    called = called or [one for one in known if re.sub("-", "", one) in spelt]
    called = called or [one for one in meant_anywhere if one in known]
    called = called or [one for one in known if "-" in one[2:] and "".join(part[0] for part in one[2:].split("-")) == written]
    for said in (one for one in (written, *spelt[1:], value.lower()) if not meant_by("little", one)):
        # Of a value, those alone that the option may mean: `--column text` means no `--input-format text`.
        free = not said.isdigit() and not (called and value)
        taking = [name for name, words in known.items() if said in words and (free or name in called)]
        if taking := [name for name in called if name in taking] or taking:
            return _line(option, "' or '".join(f"{name} {said}" for name in taking[:2]))
    bare = {one.removeprefix("--"): one for one in known}  # two dashes in common make no likeness
    parts = re.findall("[a-z0-9]{3,}", option)  # those of `--fp32-optimizer` tell of what `--precision` does not
    part = [(name, one) for one in parts for name in known if one in known[name]]
    if not called and part and not any(f"--{one}" in known for one in parts):
        return _line(option, " ".join(part[0]))
    # A word for an option of another command does not mean what is only spelt like it.
    close = [] if meant_anywhere else [bare[one] for one in get_close_matches(option.removeprefix("--"), bare, cutoff=0.7)]
    meaning = called or close or ([] if meant_anywhere else _of_parts(option, known))
    glued = re.search("[0-9]+$", option) if not value and not {*meaning} & {"--gpu", "--node", "--model"} else None
    if glued and meaning:  # `--tp8`
        return _line(option, f"{meaning[0]} {glued[0]}")
    return _line(option, "' or '".join(meaning[:2])) if meaning else f"no such option '{option}'"


def _meant(spelt: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """Our options for the spellings of one of others: those of the first spelling that a command has, else of the first."""
    found = [meant for one in spelt if (meant := meant_by("options", one, begun=not meant_by("quantities", one)))]
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
    for looked in ([{f"{one}s" for one in parts}] if any(meant_by("counting", one) for one in words) else []) + [parts]:
        near = {one: words for one, words in called.items() if one in known and one not in _EVERYWHERE and telling & words}
        shared = {one: len(looked & words) for one, words in near.items()}
        most = max(shared.values(), default=0)
        if most >= (len(looked) if whole else 1) > 0:
            return [one for one, count in shared.items() if count == most]
    return []


def command_instead_of(word: str, known: Collection[str], rest: Sequence[str] = ()) -> str:
    """Return the line for a command that there is not; `known` are those that there are, `rest` the words behind it."""
    from difflib import get_close_matches

    plain = re.sub("[-_]", "", word).lower()
    script = any(one.endswith(".py") for one in rest)
    if theirs := meant_by("programs", "torchrun" if script else plain):
        path = next((one for one in rest if re.match("[./~]|[a-z0-9]+://", one)), "PATH")
        return f"no such command '{word}'; {theirs[0].replace('PATH', path).replace('LINE', shlex.join([word, *rest]))}"
    slip = re.search("'(.+)'", nearest(word, known))
    if slip and rest and not meant_by("commands", plain):
        return f"no such command '{word}'; did you mean 'ingest {shlex.join([slip[1], *rest])}'?"
    if (needless := meant_by("needless of ingest", plain)) and " " not in in_words([word, *rest]):
        return f"no such command '{word}'; {needless[0]}"
    called = [one for one in known if one.replace("-", "") == plain] + meant_by("commands", plain)
    for part in re.split("[-_]", word.lower()):
        called += [part] if part in known else meant_by("commands", part)
    called += [f"{one} {word}" for one in meant_by("commands", f".{plain.rpartition('.')[2]}")]
    takes = that_take("", command_of(called[0])) if called and called[0] in known else {}
    is_file = "--model" not in takes and bool(re.match("[./~]|.*[.][a-z]+$", next(iter(rest), "")))
    if is_file and not os.path.splitext(rest[0])[1]:
        called.sort(key=lambda one: command_of(one.partition(" ")[0]).params[0].name != "path")
    theirs = [] if nearest(word, known) or meant_by("filling", plain) else " ".join(elsewhere()["commands"].values()).split()
    near = get_close_matches(plain, theirs, n=1, cutoff=0.75)  # a misspelt word of others
    called += [one for each in near for one in meant_by("commands", each)]
    said = [*(near if near and not called[len(near) :] else [word]), *takewhile(lambda one: not one.startswith("-"), rest)]
    read = (bool(takes) and is_file) or len(said) > MOST_WORDS
    entry = "" if read else of_catalog(word, plain, joined(said[1:]))
    listing = entry.startswith("catalog list") and kind_named(entry.split()[-1])
    few = len([one for one in said if not kind_named(one)]) < 3  # `describe model NAME` has a kind
    sure = entry and (plain in COMPARING or listing or (few and not entry.startswith("bw "))) and " " not in word
    spoken = "" if sure or read else in_words(said)
    others = "" if meant_by("filling", plain) else next(iter(called), "")
    if meant := (entry if spoken.startswith("catalog ") else spoken) or spoken or entry or others:
        behind = rest if is_file and rest[0] not in meant.split() else [*dropwhile(lambda one: not one.startswith("-"), rest)]
        asked = [one.partition("=")[0] for one in rest if one.startswith("--")]
        if meant in OF_A_SITE and not is_file:  # its words are those of a site that no file has yet
            if not asked or not {*asked} <= {*that_take("", command_of("plan"))}:
                return f"no such command '{word}'; {elsewhere()['of a site']['']}"
            meant = "plan --new"
        behind, left = _accepted(meant.split()[0], behind) if meant.split()[0] in known else ([], "")
        meant = meant if rest else elsewhere()["examples"].get(meant, meant)
        return f"no such command '{word}'; did you mean 'ingest {f'{meant} {shlex.join(behind)}'.rstrip()}'?{left}"
    return f"no such command {brief(word)}{nearest(word, known) or '; `ingest --help` lists them'}"


def _accepted(command: str, behind: Sequence[str]) -> tuple[list[str], str]:
    """The words behind a command by its own names, and what to say of the options for which it has none."""
    asked, kept, left, is_kept = command_of(command), list[str](), "", True
    names = {name for one in asked.params for name in one.opts}
    for word in behind:
        option, equals, value = word.partition("=")
        said, meant = f" `ingest {command}` has no {option}", option
        if word.startswith("--") and option not in names and not hasattr(asked, "commands"):
            needless = meant_by(f"needless of {command}", re.sub("[-_./0-9]", "", option))
            lead = re.search("mean '(--[^' ]+)'", "" if needless else instead_of(option, that_take(value, asked), value))
            said, meant = f" {option}: {needless[0]}" if needless else said, lead[1] if lead else ""
            left += "" if meant else said
        is_kept = bool(meant) if word.startswith("-") else is_kept
        kept += [f"{meant}{equals}{value}"] if is_kept else []
    return kept, left


def _apart(command: str, behind: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a command line that no option takes, or that are kind and number of its GPUs; and the others."""
    known = {name for one in command_of(command).params for name in one.opts}
    flags = {name for one in command_of(command).params if getattr(one, "is_flag", False) for name in one.opts}
    own, rest = list[str](), list[str]()
    for before, word in pairwise(["", *behind]):
        value = before.startswith("-") and "=" not in before and before not in flags
        unfit = value and (before == "--gpus" or before not in known) and bool(_TIMES.fullmatch(word))
        if word.startswith("-") or (value and not unfit):
            ours = _meant([word[1:].lower()], known) if re.fullmatch("-[^-]", word) and word not in known else []  # `-N 4`
            rest.append(next((f"--{one}" for one in ours if f"--{one}" in known), word))
        else:
            own.append(word)
            rest = rest[:-1] if unfit else rest
    return own, rest


def _respelt(words: Sequence[str]) -> str:
    """The line with each of its words in its place; empty where one is not understood, or where they stand right."""
    if (together := gathered(words)) != [*words]:
        return f"; did you mean 'ingest {shlex.join(together)}'?"
    command, *behind = words
    own, rest = _apart(command, behind) if command in COMMANDS else ([], [])
    if own and own[0] in getattr(command_of(command), "commands", {}):
        return ""
    rest = ["".join(joined(one.split())) if one[:1].isdigit() else one for one in rest]  # 15 trillion
    taken = [one.partition("=")[0].lstrip("-").replace("-", "_") for one in rest if one.startswith("--")]
    meant = in_words(own, command, taken) if own else ""
    if own and "catalog list models" in meant_by("commands", own[0]) and kind_named(command):
        meant = f"catalog list {kind_named(command)}"
    respelt = meant not in ("", command, " ".join([command, *own]))
    return f"; did you mean 'ingest {f'{meant} {shlex.join(rest)}'.rstrip()}'?" if respelt else ""


def _another(words: Sequence[str], said: str) -> str:
    """The line for a refused question that is another one: one of several values, or of models that nobody has published."""
    together, compared = gathered(words), [*dropwhile(lambda one: one in ("catalog", *COMPARING), words)]
    if together != [*words]:
        return f"found several values; did you mean 'ingest {shlex.join(together)}'?"
    for word in [one for one in words[1:] if one in said]:
        parts = word.rpartition("=")[2].split(",")
        if re.fullmatch(elsewhere()["unpublished"][""], word.rpartition("/")[2].lower()):
            return f"the layers of '{word}' are not published; its reads follow from a model of its size, or --set parameters=N"
        one_kind = len(parts) > 1 and {option_of(one) for one in parts} in ({"--model"}, {"--gpu"})
        if one_kind and words[0] not in elsewhere()["several"]:
            return f"found {brief(word)}, expected one at a time; `ingest bw` alone compares models and GPUs"
    comparing = len(compared) > 1 and {*words} & {*COMPARING} and any(one in said for one in compared)
    named = comparing and all(map(kind_held, compared))
    meant = of_catalog("compare", "compare", compared) if named else ""
    return f"found {brief(' '.join(words))}; did you mean 'ingest {meant}'?" if meant not in ("", " ".join(words)) else ""


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
    if "--corpus" in known and not meant:
        held = catalog_entries("corpora", " ".join(one for one in _apart(line[0], line[1:])[0])).results
        meant = f"; with that name: {listed(held)}" if held else ""
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
    of_entry = option_of(first)
    if of_entry != refusing and (of_entry != "--format" or "--corpus" in known):  # elsewhere it is that of the answer
        fitting.setdefault(of_entry, f"{of_entry} {first}")
    own = [said for option, said in fitting.items() if option == refusing]
    meant = [f"'{said}'" for said in own or [said for option, said in fitting.items() if option in known]]
    meant = meant or [f"'--{one}'" for option in fitting for one in meant_by("options", option[2:]) if f"--{one}" in known]
    return bool(own), f"; did you mean {' or '.join(meant[:2])}?" if meant else ""


def _line(option: str, meant: str) -> str:
    return f"no such option '{option}'; did you mean '{meant}'?"


is_quantity, label_of = (later("ingest.engine.registry", one) for one in ("is_quantity", "label_of"))


def _no_such_option(option: str, ctx: click.Context | None) -> str:
    """The line for an option that a command does not have: the one that is meant, the commands that have it, or the help."""
    if ctx is None:
        return f"no such option '{option}'"
    # `--gres=gpu:8` is `--gres gpu:8`.
    words = [
        part for one in ctx.meta.get(_WORDS, []) for part in (one.split("=", 1) if one.startswith(f"{option}=") else [one])
    ]
    if len(option) == 2:  # of `-tp 8` the parser names the first letter, of `-var` the first that is no flag
        option = next((one for one in words if re.fullmatch(f"-(?=..)[a-z]*{option[1]}[a-z-]*", one)), option)
    value = next((after for before, after in pairwise(words) if before == option and not after.startswith("--")), "")
    if _TIMES.fullmatch(value) and (meant := _respelt(words)):
        return f"no such option '{option}'{meant}"
    unit = re.fullmatch(elsewhere()["unit of a name"][""], option)
    if unit and re.fullmatch("[0-9.]+", value):  # `--dataset-gb 500`
        written = f"{value}{elsewhere()['units'].get(unit[2].lower(), unit[2])}"
        if unit[1] in that_take(written, ctx.command):
            return _line(option, f"{unit[1]} {written}")
        ctx.meta[_WORDS] = [unit[1], written]
        return _no_such_option(unit[1], ctx).replace(unit[1], option, 1)
    foreign_name, equals, theirs = value.partition("=")
    if equals and "set" in _meant(spellings(option)) and not is_quantity(foreign_name):  # `--param dataset.num_files_train=9`
        option, value = f"--{foreign_name}", theirs
    known = that_take(value, ctx.command)
    plain = re.sub("[-_./0-9]", "", option).lower()
    names = [one.name for one in ctx.command.params if isinstance(one, click.Argument)]
    for form, said in elsewhere()["places"].get(ctx.info_name or "", elsewhere()["places"][""]).items() if names else ():
        if plain in said.split() and value and (re.fullmatch(form, value) or os.path.exists(value)):
            return f"no such option '{option}'; did you mean '{ctx.command_path} {value}'?"
        if plain in said.split() and not value and not meant_by("options", plain):
            return f"no such option '{option}'; it goes without one{_example(ctx)}"
    spelt = spellings(option)
    literal = option.strip("-").replace("-", "_")
    quantity = next((found[0] for one in spelt if (found := meant_by("quantities", one))), literal if "_" in literal else "")
    ours = _meant(spelt, known)
    foreign = not any(f"--{one}" in known for one in ours)
    begun = not any(f"--{one}" in known for one in meant_by("options", spelt[0]))  # what is only begun by a word of others
    # Of `--kvcache fp8` no tier is meant, which is what `--kv` takes.
    unfit = bool(value) and all(
        words and value not in words for words in (known[f"--{one}"] for one in ours if f"--{one}" in known)
    )
    counted = [f"steps of {ctx.info_name}"] if value.isdigit() else []  # `--save-interval 1000`, of a launcher
    if not {"--io-size", "--tool"} & {*known} and re.fullmatch("[0-9.]+ ?[kmg](i?b)?", value.lower()):
        counted += ["sized"]  # `--bs 1M`, of a benchmark
    tables = (*counted, f"needless of {ctx.info_name}", *(["needless"] if foreign or begun else []))
    for table, one in chain(
        product(tables, spellings(option.replace("-per-", "per"))), product(tables, ours if foreign else ())
    ):
        needless = meant_by(table, one.replace("-", ""))
        if needless and (one == spelt[0] or (foreign and not meant_by("quantities", spelt[0]))):
            return f"no such option '{option}'; {needless[0]}"
    if is_quantity(quantity) and "axes" in names:
        return _line(option, f"{quantity}={value}")
    if (meant := option_of(option.strip("-"))) in known:
        return _line(option, f"{meant} {option.strip('-')}")
    exact = begun and bool(meant_by("quantities", spelt[0]))  # `--nproc_per_node 8` is no `--gpus 8`, as `nproc` is
    unmeant = unfit or exact or ((foreign or ours == ["set"]) and not _of_parts(option, known, whole=True))
    sets = any(one.name == "set" and one.metavar == "NAME=VALUE" for one in ctx.command.params)  # that of a site takes paths
    if is_quantity(quantity) and sets and unmeant:
        widths = [f"{one}B" for one in meant_by("bytes of an element", value.lower())]
        number = value if value[:1].isdigit() else next(iter(widths), "VALUE")
        return _line(option, f"--set {quantity}={number}")
    every = [name for one in ctx.command.params for name in one.opts]
    for meant in _meant(spelt) if value else ():  # `--quantization awq` are `--weight-bits 4`
        own, hint = _taking(value, "refused", every, f"--{meant}")
        other = hint and value not in (known.get(f"--{meant}") or [value])
        if (own or other) and f"--{meant}" in every:
            return f"no such option '{option}'{hint}"
    said = instead_of(option, known, value)
    for one in (option.strip("-").lower(), plain or option):
        said = said if "; did" in said else f"{said}{_taking(one, 'refused', known)[1]}"
    if "; did" in said:
        return said
    taking_it = [f"{one} {value}" for each in counted_by(value) if (one := f"--{each.replace('_', '-')}") in known]
    taking = {name: that_take(value, command_of(name)) for name in COMMANDS}
    own = any(option in each for each in taking.values())  # that of another command
    if re.search("[a-z]", value.lower()) and taking_it and not own:  # a bare number or a share may be that of anything
        return _line(option, "' or '".join(taking_it[:2]))
    anywhere = {one for each in taking.values() for one in each}
    for meant in (option, *(f"--{one}" for one in ours), *_of_parts(option, anywhere, whole=True)):
        takers = {f"`ingest {name}`": each[meant] for name, each in taking.items() if meant in each}
        others = [name for name, each in takers.items() if meant == option or not (value and each) or value in each]
        if others:
            them = " and ".join(others) if len(others) < MOST_OTHERS else listed(others, MOST_OTHERS)
            return f"{said}; {them} {'has' if len(others) == 1 else 'have'} {'it' if meant == option else meant}"
    listing = next(name for name in ("--help-all", "--help") if name in (*known, "--help"))
    return f"{said}; `{ctx.command_path} {listing}` lists them"


def _with_value(said: str, ctx: click.Context | None) -> str:
    """A line whose leads can be typed: an option that takes a value has one behind it, unless the one it stands for has."""
    words = [] if ctx is None else [*ctx.meta.get(_WORDS, []), "-"]
    theirs = said.partition("'")[2].partition("'")[0]
    given = any(one == theirs and not after.startswith("-") for one, after in pairwise(words))
    if ctx is None or given or any(one.startswith(f"{theirs}=") for one in words):
        return said
    taking = [one for one in ctx.command.params if isinstance(one, click.Option) and not one.is_flag]
    options = {name: one for one in taking for name in one.opts}

    def typed(lead: re.Match[str]) -> str:
        if lead[1] not in options:
            return lead[0]
        own, on = _taking("true", "refused", [lead[1]], lead[1])
        return on.split("'")[1] if own else f"{lead[1]} {options[lead[1]].make_metavar(ctx).partition('[')[0]}"

    line, mean, leads = said.partition("did you mean ")
    return line + mean + re.sub("(?<=')(--[a-z-]+)(?=')", typed, leads)


def _example(ctx: click.Context | None) -> str:
    """An example of a command that runs as it stands, else the first one of its help, or its help."""
    if ctx is None:
        return ""
    name = ctx.command_path.partition(" ")[2].removeprefix("-m ingest ")
    found = re.search(rf"^ *ingest ({name} .*)", ctx.command.help or "", re.MULTILINE)
    return _as_in(name, found[1] if found else f"{name} --help")


def _as_in(command: str, example: str) -> str:
    """How to ask a command that lacks its first word: a line of the table, else the example."""
    line = elsewhere()["examples"].get(command, example)
    wanted = {"report", "accept", "plan"} & {command}
    return f"; `ingest {line}` writes one" if wanted else f", as in `ingest {line}`"


in_words_of_command = later("ingest.engine.question", "in_words_of_command")
#: What word processors make of two dashes.
_DASHES = "\u2013\u2014\u2212"


class Commands(click.Group):
    """Subcommands that are imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        args = [*dropwhile(lambda word: word == "ingest", args)] or ["help"]  # typed behind a script's own `ingest`
        if args[0] == "version" or args == ["help"]:
            click.echo(f"ingest, version {__version__}" if args[0] == "version" else self.get_help(ctx))
            ctx.exit()
        args = ["--help" if word in ("-help", "-?", "/?", "/help") else word for word in args]
        if "help" in (args[0], args[-1]) and len(args) > 1:
            args = [*(one for one in args if one != "help"), "--help"]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(command_instead_of(args[0], COMMANDS, args[1:]))
        args = with_units(args)
        if args[0] == "explain" and len(args) > 1:  # a name or a label without quotes, or the first words of one
            labels = [label_of(one) for one in loaded(ingest._PLACES["bw"]).QUESTION.names]
            begins = {end: " ".join(args[1:end]).lower() for end in range(2, len(args) + 1)}
            many = max([2, *(end for end, one in begins.items() if any(label.startswith(one) for label in labels))])
            named = max([2, *(end for end, one in begins.items() if is_quantity(one.replace(" ", "_")))])
            args[1 : max(many, named)] = ["_".join(args[1:named]) if named > many else " ".join(args[1:many])]
        ctx.meta[_WORDS] = args
        if any(word.startswith(tuple(_DASHES)) for word in args):
            meant = [re.sub(f"^[{_DASHES}]-?(?=[a-z])", "--", word) for word in args]
            ctx.fail(f"found a long dash, expected two short ones; did you mean 'ingest {shlex.join(meant)}'?")
        ours = [*takewhile(lambda word: not word.startswith(COMMAND), args)]  # the words behind it belong to a job
        params = [one for one in command_of(args[0]).params if isinstance(one, click.Option)] if args[0] in COMMANDS else []
        single = {name: one for one in params if not (one.multiple or one.is_flag) for name in one.opts}
        given: dict[click.Option, str] = {}
        for before, word in pairwise([*ours, "-"]):
            option, equals, value = before.partition("=")
            if option in single and given.setdefault(single[option], said := value if equals else word) != said:
                both = [given[single[option]], said]  # click would take the last
                several = option[2:] in elsewhere()["several"].get(args[0], "").split()
                instead = f"; did you mean '{option} {','.join(both)}'?" if several else ""
                raise click.UsageError(f"{option}: found '{both[0]}' and '{said}', expected one of them{instead}")
            option, equals, value = word.partition("=")
            if equals and re.fullmatch("-[a-z]{2,}", option):  # `-out=plan.json` is no `-o ut=plan.json`
                lead = re.search("mean '(--[^' ]+)'", instead_of(f"-{option}", that_take(value, command_of(args[0])), value))
                instead = f"{f'-{option}' if lead is None else lead[1]}={value}"
                raise click.UsageError(f"found '{word}', expected two dashes before a word; did you mean '{instead}'?")
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
            if another := _another(words, str(error)):
                raise UsageError(another) from None
            if _MISPLACED.fullmatch(str(error)) and (meant := _respelt(words)):
                raise UsageError(f"found {brief(' '.join(words[1:]))}{meant}") from None
            if ctx.invoked_subcommand == "explain" and "with that name" not in str(error):
                # Another command may compute it: a quantity of that name, else one with that word in its name.
                word, commands = words[1], [one for kind in ("One job", "Data") for one in GROUPS[kind]]
                asked = {one: loaded(ingest._PLACES[one]) for one in commands}
                names = [(one, name) for one in asked for name in getattr(getattr(asked[one], "QUESTION", None), "names", ())]
                partly = [one for one in names if word in one[1].split("_") and one[0] != "bw"]
                there, quantity = next(iter([one for one in names if one[1] == word] or partly), ("bw", ""))
                if there != "bw":
                    raise UsageError(f"`bw` computes no '{word}'; `ingest {there} … --explain {quantity}` shows it") from None
            if len(words) == 1 and "`ingest plan" not in str(error):  # nothing but the command: what it is about is missing
                error.args = (f"{error}{_as_in(words[0], f'{words[0]} --help')}",)
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
        code = refuse(_with_value(_no_such_option(error.option_name, error.ctx), error.ctx), code=2)
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
