"""Generators of cases: one per kind of input. The same generator and seeds make the same case."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import yaml
from fuzz.cases import PIPE, Case
from fuzz.job_logs import observed
from fuzz.mutations import TEXTS, encoded, mutated_bytes, mutated_text, mutated_tree, number, scalar
from fuzz.pairs import PAIRS
from fuzz.seeds import Seeds

from ingest.cli.group import command
from ingest.cli.main import COMMANDS

Generator = Callable[[random.Random, Seeds], tuple[list[str], dict[str, bytes]]]

#: share of the cases that run as processes of their own
APART = 0.02
FORMS = ("table", "json", "json", "csv", "markdown")


def case_of(seeds: Seeds, seed: int, index: int, only: Sequence[str] = ()) -> Case:
    """The case of a seed and an index.

    Args:
        only: kinds to choose from; all by default.
    """
    chance = random.Random(f"{seed}/{index}")
    kinds = [kind for kind in KINDS if not only or kind in only]
    kind = chance.choices(kinds, [KINDS[kind][0] for kind in kinds])[0]
    words, files = KINDS[kind][1](chance, seeds)
    # No operating system passes a NUL character to a process; words are what the shell hands on.
    words = [word.replace("\0", "").encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") for word in words]
    return Case(kind, tuple(words), files, chance.random() < APART)


def _form(chance: random.Random) -> list[str]:
    if chance.random() < 0.1:
        return ["-o", chance.choice(["out.json", "out.csv", "out.md", "out.txt", "out.xlsx", "out"])]
    return ["--format", chance.choice(FORMS)]


# --- site files ------------------------------------------------------------------------------------------------------


def _tree(text: str) -> Any:
    return yaml.safe_load(text)


def _dumped(chance: random.Random, tree: Any) -> str:
    style = chance.choice([None, False])
    try:
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, default_flow_style=style, width=10**6)
    except RecursionError:  # deeper than its writer goes; the reader has to refuse it all the same
        return "name: " + "[" * 2000 + "]" * 2000


def site(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """A site file under `plan`, `fit`, `accept` and `report`."""
    text = chance.choices(seeds.sites, [4, *[1] * (len(seeds.sites) - 1)])[0]
    if chance.random() < 0.7:
        text = _dumped(chance, mutated_tree(chance, _tree(text), seeds.site_keys))
    else:
        text = mutated_text(chance, text)
    files = {"site.yaml": encoded(chance, text)}
    sort = chance.random()
    if sort < 0.80:
        words = ["plan", "site.yaml", "--samples", chance.choice(["0", "0", "0", "100"]), *_form(chance)]
        if chance.random() < 0.2:
            words += chance.choice([["--check"], ["--explain", chance.choice(seeds.requirements)], ["--years", number(chance)]])
        if chance.random() < 0.2:
            place = ".".join(
                chance.choices(["clusters", "main", "jobs", "count", "policies", *seeds.site_keys], k=chance.randint(1, 4))
            )
            words += ["--set", f"{place}={number(chance)}"]
    elif sort < 0.88:
        words = ["fit", "site.yaml", "--storage", chance.choice(seeds.ids["storage"]), *_form(chance)]
    elif sort < 0.94:
        words = ["accept", "site.yaml", "-o", "tests"]
    else:
        words = ["report", "site.yaml", "-o", chance.choice(["rfp.xlsx", "rfp.xlsx", "rfp.csv", "rfp.json", "rfp.md"])]
    return words, files


# --- options ---------------------------------------------------------------------------------------------------------

#: what a command needs before its options
GOOD = {
    "bw": [
        ["--model", "cosmoflow", "--gpu", "h100"],
        ["--model", "llama3-8b", "--gpu", "h200"],
        ["--model", "resnet50", "--gpu", "a100"],
    ],
    "model": [["llama3-8b"], ["mixtral-8x7b"]],
    "checkpoint": [["llama3-8b", "--gpus", "64"], ["llama3-405b", "--gpus", "16384"]],
    "goodput": [["llama3-8b", "--gpus", "64", "--runs", "5"], ["llama3-405b", "--gpus", "16384", "--runs", "5"]],
    "memory": [["llama3-8b"], ["--set", "parameters=7e9"], ["llama3-8b", "--sequence-length", "8192", "--search"]],
    "train": [["llama3-8b", "--tokens", "1T", "--gpu", "h100", "--gpus", "64"]],
    "fit": [
        ["--read-bandwidth", "500GB/s", "--capacity", "1PB", "--storage", "ddn-ai400x2"],
        ["--model", "unet3d", "--gpu", "h100", "--storage", "nfs-tcp"],
    ],
    "feed": [["--model", "cosmoflow", "--gpu", "h100", "--batch", "4", "--steps", "100"]],
    "offload": [["llama3-8b", "--gpus", "8"], ["llama3-8b", "--gpus", "1", "--inference"]],
    "observe": [["megatron.log", "--gpus", "16"], ["observation.json"], ["--real", "900", "--gpus", "8"]],
    "calibrate": [["observation.json", "--model", "cosmoflow", "--gpu", "h100"]],
    "dataset": [["--tokens", "15T"], ["--samples", "1281167", "--sample-bytes", "114660"], ["--corpus", "fineweb"]],
    "explain": [["ingest_bandwidth_per_job", "--model", "cosmoflow", "--gpu", "h100"]],
    "sweep": [
        ["nodes=1..4", "--model", "cosmoflow", "--gpu", "h100"],
        ["sample_bytes=1MB,2MB", "--model", "resnet50", "--gpu", "a100"],
    ],
    "plan": [["site.yaml"], ["site.yaml"], ["--new"], ["--schema"]],
    "accept": [["site.yaml", "-o", "tests"], ["plan.json", "-o", "tests"]],
    "verdict": [["tests", "results"]],
    "diff": [["plan.json", "plan.json"]],
    "report": [["site.yaml", "-o", "out.xlsx"], ["site.yaml", "-o", "out.csv"]],
    "response": [["filled.xlsx"], ["filled.xlsx", "--sent", "sent.xlsx"]],
    "measure": [["a.txt", "--quiet", "--tokenizer", "tokenizer.json", "--threads", "1"], ["a.txt", "--quiet", "--samples"]],
    "catalog": [
        ["list", "gpus"],
        ["show", "h100"],
        ["show", "cosmoflow"],
        ["path"],
        ["new", "model", "x"],
        ["compare", "nfs-tcp"],
    ],
}
#: commands of seconds, or that run other programs
LEFT_OUT = ("validate", "measure-storage", "completion", "page")
#: options that reach the network, watch or start other processes, or run too long to try thousands of values
NEVER = ("--scheduler", "--help", "--pid", "--command", "--window")
#: metavar or option -> catalogs whose ids it takes
ID_KINDS = {
    "--model": ("models", "architectures"),
    "--gpu": ("gpus",),
    "--node": ("nodes",),
    "--storage": ("storage",),
    "--corpus": ("corpora",),
    "--optimizer": ("optimizers",),
    "--recipe": ("recipes",),
    "--failures": ("failures",),
    "--pipeline": ("pipelines",),
    "--protocol": ("protocols",),
    "--format": ("formats",),
    "--explain": (),
}
_WORDS = (
    "auto measured emulated transferred efficiency peak bf16 fp16 tf32 fp32 fp8 fp4 stored weak linear strong none cpu "
    "nvme sync async unique replicated megatron deepspeed dcp safetensors all varied equal tokens text samples mandatory every"
)
WORDS = _WORDS.split()
#: files that a command line may name; those of `_files_for` exist
PLACES = ("site.yaml", "plan.json", "a.txt", "measured.json", "sent.xlsx", "mine", "nowhere", "tests/tests.json")

#: what is no file: devices, folders and named pipes
STRANGE = ("/dev/zero", "/dev/null", "/dev/full", ".", "pipe.json", "pipe.xlsx", "pipe.yaml")


@functools.cache
def _options_of(name: str) -> list[tuple[str, str, bool]]:
    """Options of a command as it declares them: name, metavar, and whether it takes no value."""
    found = command.get_command(click.Context(command), name)
    parts = [found, *getattr(found, "commands", {}).values()]
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
    if option in ("--output", "-o"):
        return chance.choice(
            ["out.json", "out.csv", "out.md", "out.xlsx", "out.parquet", "out.docx", "out", "a/b.json", "", "site.yaml"]
        )
    if option == "--catalogs":
        return chance.choice(["mine", "a.txt", "nowhere", "."])
    if "FILE" in metavar and chance.random() < 0.6:
        return chance.choice(
            ["site.yaml", "plan.json", "a.txt", "measured.json", "sent.xlsx", "mine", "nowhere", "tests/tests.json"]
        )
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
    name = chance.choice([name for name in COMMANDS if name not in LEFT_OUT])
    words = [name, *chance.choice(GOOD[name])]
    if name == "plan":
        words += ["--samples", "0"]
    declared = _options_of(name)
    for option, metavar, flag in chance.choices(declared, k=chance.choice([1, 1, 2, 2, 3, 5])):
        words += [option] if flag else [option, _value(chance, seeds, option, metavar)]
    sort = chance.random()
    if sort < 0.08:
        words[chance.randrange(1, len(words))] = str(scalar(chance))
    elif sort < 0.14 and name == "sweep":
        words[1] = f"{chance.choice(seeds.quantities)}={number(chance)}"
    elif sort < 0.17:
        place = chance.randrange(1, len(words))
        # A command that writes into a pipe waits for its reader, as every program does.
        words[place] = chance.choice(STRANGE) if words[place - 1] not in ("-o", "--output") else "/dev/full"
    elif sort < 0.19:
        del words[chance.randrange(len(words))]
    if "json" not in words and chance.random() < 0.5:
        words += ["--format", "json"]
    return words, _files_for(words, seeds)


def pairs(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Options that exclude, repeat or contradict each other."""
    base = chance.choice(sorted(PAIRS))
    chosen = chance.sample(PAIRS[base].split(";"), chance.choice([2, 2, 2, 3, 4]))
    words = [*base.split(), *(word for option in chosen for word in option.split()), *_form(chance)]
    return words, _files_for(words, seeds)


def _files_for(words: Sequence[str], seeds: Seeds) -> dict[str, bytes]:
    """The good files that a command line names."""
    known: Mapping[str, Callable[[], bytes]] = {
        "site.yaml": seeds.sites[0].encode,
        "plan.json": seeds.plans[-1].encode,
        "a.txt": lambda: b"line of text\n" * 5,
        "measured.json": seeds.measures[1].encode,
        "observation.json": seeds.observation.encode,
        "megatron.log": lambda: seeds.logs["megatron.log"],
        "tokenizer.json": lambda: seeds.tokenizers["tokenizer.json"],
        "sent.xlsx": lambda: seeds.books[0],
        "filled.xlsx": lambda: seeds.books[1],
    }
    files = {name: made() for name, made in known.items() if name in words}
    files |= {word: b"" for word in words if word.startswith(PIPE)}
    if "tests" in words or "tests/tests.json" in words:
        files |= _pack(seeds.tests[0], True) if words[0] == "verdict" else {}
    if "results" in words:
        files |= {"results/T-READ-01-fio.run1.json": seeds.results["T-READ-01-fio.run1.json"]}
    if "mine" in words:
        files["mine/models/mine.yaml"] = next(iter(seeds.entries["models"].values()))
    return files


# --- JSON of our own and of others -----------------------------------------------------------------------------------


def _mutated_json(chance: random.Random, text: str, keys: Sequence[str] = ()) -> bytes:
    with contextlib.suppress(ValueError, RecursionError):
        if chance.random() < 0.75:
            return encoded(chance, json.dumps(mutated_tree(chance, json.loads(text), keys)))
    if chance.random() < 0.1:
        return mutated_bytes(chance, text.encode())
    return encoded(chance, mutated_text(chance, text))


def config(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Structures of models, as `config.json` or YAML."""
    text = chance.choice(seeds.configs)
    if text.startswith("{"):
        name, content = "config.json", _mutated_json(chance, text, seeds.config_keys)
    elif chance.random() < 0.7:
        name, content = "model.yaml", encoded(chance, _dumped(chance, mutated_tree(chance, _tree(text), seeds.config_keys)))
    else:
        name, content = "model.yaml", encoded(chance, mutated_text(chance, text))
    words = chance.choice(
        [
            ["model", name],
            ["model", name, "--sequence-length", "8192"],
            ["checkpoint", name, "--gpus", "64"],
            ["memory", name],
            ["bw", "--model", name, "--gpu", "h100"],
        ]
    )
    return [*words, *_form(chance)], {name: content}


def plan(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Plans under `fit`, `accept` and `diff`."""
    good = chance.choices(seeds.plans, [3, 1, 8])[0]
    files = {"plan.json": _mutated_json(chance, good)}
    sort = chance.random()
    if sort < 0.4:
        words = ["fit", "plan.json", "--storage", chance.choice(seeds.ids["storage"]), *_form(chance)]
    elif sort < 0.75:
        words = [
            "accept",
            "plan.json",
            "-o",
            "tests",
            *chance.choice([[], ["--scale", "1node"], ["--tool", "ior"], ["--tool", "dlio"]]),
        ]
    else:
        files["other.json"] = good.encode()
        words = ["diff", *chance.choice([["plan.json", "other.json"], ["other.json", "plan.json"], ["plan.json", "plan.json"]])]
        words += _form(chance)
    return words, files


def _pack(tests: str, summed: bool) -> dict[str, bytes]:
    """A folder of tests with its checksum."""
    content = tests.encode("utf-8", "surrogatepass")
    found = hashlib.sha256(content if summed else b"").hexdigest()
    return {"tests/tests.json": content, "tests/SHA256SUMS": f"{found}  tests.json\n".encode()}


def verdict(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Lists of tests, and results of benchmark tools."""
    good = seeds.tests[0]
    results = {name: content for name, content in seeds.results.items() if chance.random() < 0.4}
    if chance.random() < 0.4:
        good = _mutated_json(chance, good).decode("utf-8", "replace")
    else:
        name = chance.choice(sorted(seeds.results))
        content = seeds.results[name].decode()
        results[name] = (
            _mutated_json(chance, content) if name.endswith(".json") else encoded(chance, mutated_text(chance, content))
        )
    files = _pack(good, chance.random() < 0.95) | {f"results/{name}": content for name, content in results.items()}
    return ["verdict", "tests", "results", *_form(chance)], files


def measured(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Results of `measure` and of other commands where options take a file."""
    files = {"m.json": _mutated_json(chance, chance.choice(seeds.measures))}
    words = chance.choice(
        [
            ["bw", "--model", "resnet50", "--gpu", "h100", "--sample-bytes", "m.json"],
            ["bw", "--model", "llama3-8b", "--gpu", "h100", "--bytes-per-token", "m.json"],
            ["dataset", "--tokens", "1T", "--bytes-per-token", "m.json"],
            ["dataset", "--samples", "1M", "--sample-bytes", "m.json"],
            ["fit", "--read-bandwidth", "1GB/s", "--storage", "m.json"],
        ]
    )
    return [*words, *_form(chance)], files


# --- catalogs --------------------------------------------------------------------------------------------------------


def catalog(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Entries of every kind, in a folder of the user's own."""
    kind = chance.choice(sorted(seeds.entries))
    name = chance.choice(sorted(seeds.entries[kind]))
    stem = name.rpartition(".")[0]
    files = {
        f"mine/{kind}/{other}" if kind else f"mine/{other}": content
        for other, content in seeds.entries[kind].items()
        if other.startswith(f"{stem}.")
    }
    place = f"mine/{kind}/{name}" if kind else f"mine/{name}"
    text = seeds.entries[kind][name].decode()
    if name.endswith(".yaml") and chance.random() < 0.7:
        with contextlib.suppress(yaml.YAMLError, RecursionError):
            text = _dumped(chance, mutated_tree(chance, _tree(text)))
    else:
        text = mutated_text(chance, text)
    files[place] = encoded(chance, text) if chance.random() < 0.97 else mutated_bytes(chance, text.encode())
    sort = chance.random()
    if sort < 0.05:
        words = ["catalog", "check", "mine"]
    elif sort < 0.5:
        words = ["catalog", "show", stem]
    elif kind == "storage":
        words = chance.choice([["fit", "--read-bandwidth", "1GB/s", "--storage", stem], ["catalog", "compare", stem]])
    elif kind == "gpus":
        words = ["bw", "--model", "cosmoflow", "--gpu", stem]
    elif kind == "corpora":
        words = ["dataset", "--corpus", stem]
    elif kind == "formats":
        return ["dataset", "--samples", "1000", "--sample-bytes", "1MB", "--format", stem, "--catalogs", "mine"], files
    elif kind in ("architectures", "recipes", "optimizers"):
        words = [
            "memory",
            *{"architectures": [stem], "recipes": ["llama3-8b", "--recipe", stem]}.get(
                kind, ["llama3-8b", "--optimizer", stem]
            ),
        ]
    elif kind == "models":
        words = ["bw", "--model", chance.choice([stem, place]), "--gpu", "h100"]
    else:
        words = ["bw", "--model", "cosmoflow", "--gpu", "h100", *(["--node", stem] if kind == "nodes" else [])]
    if words[:2] != ["catalog", "check"]:
        words += ["--catalogs", "mine"]
    return [*words, *_form(chance)], files


# --- corpora ---------------------------------------------------------------------------------------------------------

COUNT = ["measure", "c", "--quiet", "--threads", "1", "--tokenizer"]


def ledger(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Ledgers from which a measurement is resumed."""
    lines = seeds.ledgers[0].splitlines()
    if chance.random() < 0.6:
        place = chance.randrange(len(lines))
        lines[place] = _mutated_json(chance, lines[place]).decode("utf-8", "replace")
        content = ("\n".join(lines) + "\n").encode()
    else:
        content = mutated_bytes(chance, seeds.ledgers[0].encode())
    files = {
        "c/a.txt": b"".join([seeds.corpora["plain.txt"]]),
        "tokenizer.json": seeds.tokenizers["tokenizer.json"],
        "t.ledger": content,
    }
    words = [*COUNT, "tokenizer.json", "--exact", "--resume", "t.ledger", *_form(chance)]
    return [word if word != "c" else "corpus" for word in words], {
        name.replace("c/", "corpus/"): text for name, text in files.items()
    }


def tokenizer(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Vocabularies in each of their formats."""
    name = chance.choice(sorted(seeds.tokenizers))
    content = seeds.tokenizers[name]
    if name.endswith(".json"):
        content = _mutated_tokenizer(chance, content.decode())
    elif name.endswith(".tiktoken") and chance.random() < 0.6:
        content = encoded(chance, mutated_text(chance, content.decode()))
    else:
        content = mutated_bytes(chance, content)
    return [*COUNT, name, "--exact", *_form(chance)], {name: content, "c/a.txt": b"a line of text\n" * 3}


def _mutated_tokenizer(chance: random.Random, text: str) -> bytes:
    """Mostly the settings, which a draw over all words of the vocabulary would hardly meet."""
    if chance.random() < 0.3:
        return _mutated_json(chance, text)
    held = json.loads(text)
    vocabulary, merges = held["model"].pop("vocab", {}), held["model"].pop("merges", [])
    mutated = mutated_tree(chance, held)
    if isinstance(mutated, dict) and isinstance(mutated.get("model"), dict):
        mutated["model"] = {**mutated["model"], "vocab": vocabulary, "merges": merges}
    return json.dumps(mutated).encode()


def corpus(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Files of every format beside a good one, counted wholly, in a sample, or by their samples."""
    name = chance.choice(sorted(seeds.corpora))
    content = seeds.corpora[name]
    other = seeds.corpora[chance.choice(sorted(seeds.corpora))]
    if name.endswith((".gz", ".tgz")) and chance.random() < 0.5:
        content = gzip.compress(mutated_bytes(chance, gzip.decompress(content), other), mtime=0)
    elif name.endswith((".jsonl", ".json", ".csv", ".tsv", ".txt")) and chance.random() < 0.6:
        content = encoded(chance, mutated_text(chance, content.decode()))
    else:
        content = mutated_bytes(chance, content, other)
    if chance.random() < 0.05:
        name = chance.choice(sorted(seeds.corpora))
    files = {f"c/{name}": content, "c/ok.txt": b"a good line\n" * 3}
    if chance.random() < 0.25:
        words = ["measure", "c", "--quiet", "--samples"]
    else:
        files["tokenizer.json"] = seeds.tokenizers["tokenizer.json"]
        words = [*COUNT, "tokenizer.json", *chance.choice([["--exact"], ["--exact"], []])]
        words += (
            ["--text-field", chance.choice(["text", "id", "parts", "none", "kind", "x", "meta.a"])]
            if chance.random() < 0.3
            else []
        )
        words += ["--strict"] if chance.random() < 0.1 else []
    return [*words, *_form(chance)], files


# --- workbooks -------------------------------------------------------------------------------------------------------


def _zip_parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 1)
    return held.getvalue()


def mutated_archive(chance: random.Random, content: bytes, favoured: str) -> bytes:
    """A workbook or document with changes to its parts, or to the bytes of the archive."""
    if chance.random() < 0.15:
        return mutated_bytes(chance, content)
    parts = _zip_parts(content)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        names = [name for name in parts if favoured in name] if chance.random() < 0.85 else list(parts)
        name = chance.choice(names or [*parts])
        sort = chance.random()
        if sort < 0.75:
            parts[name] = _mutated_xml(chance, parts[name])
        elif sort < 0.85:
            parts[name] = mutated_bytes(chance, parts[name])
        elif sort < 0.90:
            del parts[name]
        elif sort < 0.95:
            parts[name] = parts[chance.choice(list(parts))]
        else:
            parts[f"{name}{chance.choice(['x', '/../../y', '/'])}"] = parts.pop(name)
        if not parts:
            return b""
    return _zipped(parts)


def _mutated_xml(chance: random.Random, content: bytes) -> bytes:
    """XML with another text between two tags, another attribute, or a tag more or less."""
    text = content.decode("utf-8", "replace")
    pattern = chance.choice([r"(?<=<v>)[^<]*", r">[^<]+(?=<)", r'="[^"]*"', r"</?[a-z:A-Z]+[^>]*>", r"(?<=<f>)[^<]*"])
    found = list(re.finditer(pattern, text))
    if not found:
        return mutated_bytes(chance, content)
    place = chance.choice(found)
    new = str(scalar(chance)) if chance.random() < 0.7 else chance.choice(found)[0]
    new = (
        "".join(letter for letter in new if letter >= " " or letter in "\t\n").replace("<", "&lt;")
        if chance.random() < 0.9
        else new
    )
    if place[0].startswith('="') and not new.startswith('="'):
        places = [
            "A1",
            "A1048577",
            "XFE1",
            "A0",
            "ZZZZ9",
            "s",
            "str",
            "inlineStr",
            "b",
            "e",
            "d",
            "n",
            "-1",
            "99999",
            "1:1048576",
            "A1:XFD1048576",
        ]
        new = f'="{chance.choice([*places, new])}"'
    elif place[0].startswith(">") and not new.startswith(">"):
        new = f">{new}"
    return (text[: place.start()] + new + text[place.end() :]).encode("utf-8", "replace")


def book(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Workbooks as vendors return them."""
    files = {"filled.xlsx": mutated_archive(chance, seeds.books[1], "sheet")}
    words = ["response", "filled.xlsx", *_form(chance), *(["--optimized"] if chance.random() < 0.2 else [])]
    if chance.random() < 0.1:
        files["sent.xlsx"] = seeds.books[0] if chance.random() < 0.5 else mutated_archive(chance, seeds.books[0], "sheet")
        words += ["--sent", "sent.xlsx"]
    if chance.random() < 0.1:
        files["other.xlsx"] = seeds.books[1]
        words.insert(chance.choice([1, 2]), "other.xlsx")
    return words, files


def template(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Documents of a buyer's own in which `report` writes."""
    files = {"site.yaml": seeds.sites[0].encode(), "t.docx": mutated_archive(chance, seeds.templates[0], "word/")}
    return ["report", "site.yaml", "-o", "rfp.docx", "--template", "t.docx"], files


def text_value(chance: random.Random, seeds: Seeds) -> tuple[list[str], dict[str, bytes]]:
    """Names and texts of a site that reach pages, workbooks and documents."""
    tree = _tree(seeds.sites[0])
    new = chance.choice(TEXTS)
    where = chance.choice(["name", "cluster", "job", "dataset", "note"])
    if where == "name":
        tree["name"] = new
    elif where == "note":
        tree["notes"] = new
    else:
        held = tree[f"{where}s"]
        held[new] = held.pop(next(iter(held)))
        if where != "job":
            key = {"cluster": "cluster", "dataset": "data"}[where]
            tree["jobs"]["universe"][key] = new
    out = chance.choice(["rfp.xlsx", "rfp.csv", "rfp.json"])
    words = chance.choice([["plan", "site.yaml", "--samples", "0", *_form(chance)], ["report", "site.yaml", "-o", out]])
    return words, {"site.yaml": _dumped(chance, tree).encode("utf-8", "surrogatepass")}


#: kind -> its weight, its generator
KINDS: dict[str, tuple[float, Generator]] = {
    "site": (20, site),
    "options": (26, options),
    "pairs": (6, pairs),
    "config": (8, config),
    "plan": (9, plan),
    "verdict": (6, verdict),
    "measured": (4, measured),
    "observed": (6, observed),
    "catalog": (8, catalog),
    "ledger": (2, ledger),
    "tokenizer": (3, tokenizer),
    "corpus": (9, corpus),
    "book": (6, book),
    "template": (0.1, template),
    "text": (2, text_value),
}
