"""Command lines: options of every command as the commands declare them, and pairs that contradict each other."""

import functools
import random
from collections.abc import Callable, Mapping, Sequence

import click
from conftest import table
from fuzz.cases import OUTPUT, PIPE
from fuzz.mutations import number, scalar
from fuzz.seeds import Seeds
from fuzz.site_inputs import form, packed

from ingest.cli.group import command
from ingest.cli.main import COMMANDS

PAIRS = table("fuzz/pairs.yaml")
#: what a command needs before its options, one of them
GOOD = table("fuzz/good_words.yaml")
#: command -> its share where it is not 1: few options, or the better part of a second
SHARES = {"validate": 0.3, "completion": 0.2, "page": 0.1, "measure-storage": 0.3, "mcp": 0.1}
#: commands whose words stay as they are: another path would be measured, and all sets take seconds
FIXED = ("validate", "measure-storage")
#: options that reach the network, watch or start other processes, or run too long to try thousands of values
NEVER = ("--scheduler", "--help", "--pid", "--command", "--window", "--help-all")
#: metavar or option -> catalogs whose ids it takes
ID_KINDS = {
    **{f"--{kind[:-1]}": (kind,) for kind in ("gpus", "nodes", "optimizers", "recipes", "pipelines", "protocols", "formats")},
    **{
        "--model": ("models", "architectures"),
        "--storage": ("storage",),
        "--corpus": ("corpora",),
        "--failures": ("failures",),
    },
}
_WORDS = (
    "auto measured emulated transferred efficiency peak bf16 fp16 tf32 fp32 fp8 fp4 stored weak linear strong none cpu "
    "nvme sync async unique replicated megatron deepspeed dcp safetensors all varied equal tokens text samples mandatory every"
)
WORDS = _WORDS.split()
#: name -> the content of a good file
FILES: Mapping[str, Callable[[Seeds], bytes]] = {
    "site.yaml": lambda seeds: seeds.sites[0].encode(),
    "plan.json": lambda seeds: seeds.plans[0].encode(),
    "a.txt": lambda _: b"line of text\n" * 5,
    "measured.json": lambda seeds: seeds.measures[1].encode(),
    "observation.json": lambda seeds: seeds.observation.encode(),
    "megatron.log": lambda seeds: seeds.logs["megatron.log"],
    "tokenizer.json": lambda seeds: seeds.tokenizers["tokenizer.json"],
    "sent.xlsx": lambda seeds: seeds.books[0],
    "filled.xlsx": lambda seeds: seeds.books[1],
}
#: what an option that takes a file may be given: files, folders, and what is not there
PLACES = (*FILES, "mine", "nowhere", "tests/tests.json")
OUTPUTS = ("out.json", "out.csv", "out.md", "out.xlsx", "out.parquet", "out.docx", "out.html", "out", "a/b.json", "", *FILES)
#: what is no file: devices, folders and named pipes
STRANGE = ("/dev/zero", "/dev/null", "/dev/full", ".", "pipe.json", "pipe.xlsx", "pipe.yaml")


@functools.cache
def options_of(name: str) -> list[tuple[str, str, bool]]:
    """Options of a command, or of one of its group, as it declares them: name, metavar, and whether it takes no value."""
    group, _, part = name.partition(" ")
    found = command.get_command(click.Context(command), group)
    parts = [found.commands[part]] if part else [found, *getattr(found, "commands", {}).values()]
    return [
        (max(one.opts, key=len), one.metavar or "", one.is_flag)
        for part in parts
        for one in getattr(part, "params", ())
        if isinstance(one, click.Option) and not set(one.opts) & set(NEVER)
    ]


def _value(chance: random.Random, seeds: Seeds, option: str, metavar: str) -> str:
    """A value for an option: of its own kind, or of any."""
    if chance.random() < 0.12:
        return str(scalar(chance))
    if option == "--set":
        return f"{chance.choice(seeds.quantities)}={number(chance)}"
    if option in OUTPUT:
        return chance.choice(OUTPUTS)
    if option == "--catalogs":
        return chance.choice(["mine", "a.txt", "nowhere", "."])
    if "FILE" in metavar and chance.random() < 0.6:
        return chance.choice(PLACES)
    if option == "--explain":
        return chance.choice([*seeds.quantities, *seeds.requirements])
    kinds = ID_KINDS.get(option)
    if kinds and chance.random() < 0.8:
        return chance.choice(seeds.ids[chance.choice(kinds)])
    if metavar in ("ID", "NAME", "LEVEL", "P", "HOW", "WHERE", "WHAT", "GLOB", "") and chance.random() < 0.8:
        return chance.choice([*WORDS, *(name for names in seeds.ids.values() for name in names[:5])])
    return number(chance)


def options(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Values and pairs of options of every command, taken from what the commands declare."""
    name = chance.choices([*COMMANDS], [SHARES.get(name, 1) for name in COMMANDS])[0]
    words = [name, *chance.choice(GOOD[name].split(";")).split()]
    if name == "plan":
        words += ["--samples", "0"]
    declared = options_of(name)
    for option, metavar, flag in chance.choices(declared, k=chance.choice([1, 1, 2, 2, 3, 5])) if declared else ():
        words += [option] if flag else [option, _value(chance, seeds, option, metavar)]
    sort = chance.random()
    if name in FIXED:
        return words, _files_for(words, seeds)
    if sort < 0.08:
        words[chance.randrange(1, len(words))] = str(scalar(chance))
    elif sort < 0.14 and name == "sweep":
        words[1] = f"{chance.choice(seeds.quantities)}={number(chance)}"
    elif sort < 0.17:
        place = chance.randrange(1, len(words))
        # A command that writes into a pipe waits for its reader, as every program does.
        words[place] = chance.choice(STRANGE) if words[place - 1] not in OUTPUT else "/dev/full"
    elif sort < 0.19:
        del words[chance.randrange(len(words))]
    if "json" not in words and chance.random() < 0.5:
        words += ["--format", "json"]
    return words, _files_for(words, seeds)


def pairs(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Options that exclude, repeat or contradict each other."""
    base = chance.choice(sorted(PAIRS))
    chosen = chance.sample(PAIRS[base].split(";"), chance.choice([2, 2, 2, 3, 4]))
    words = [*base.split(), *(word for option in chosen for word in option.split())]
    if "--format" in [option for option, _, _ in options_of(words[0])]:
        words += form(chance)
    return words, _files_for(words, seeds)


def _files_for(words: Sequence[str], seeds: Seeds) -> dict[str, bytes]:
    """The good files that a command line names."""
    files = {name: made(seeds) for name, made in FILES.items() if name in words}
    files |= {word: b"" for word in words if word.startswith(PIPE)}
    if words[0] == "verdict" and {"tests", "tests/tests.json"} & {*words}:
        files |= packed(seeds.tests)
    if "results" in words:
        files |= {"results/T-READ-01-fio.run1.json": seeds.results["T-READ-01-fio.run1.json"]}
    if "mine" in words:
        files["mine/models/mine.yaml"] = next(iter(seeds.entries["models"].values()))
    return files
