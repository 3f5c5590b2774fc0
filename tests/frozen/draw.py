"""Draw questions by seed, most of them sensible: options of every command as it declares them. Only recording needs this."""

import contextlib
import io
import random
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml
from frozen.ask import FILES, ROOT, SITES
from fuzz.seeds import Seeds, make
from fuzz.site_inputs import packed
from rfp.offers import told

from ingest.cli.group import command
from ingest.cli.main import COMMANDS
from ingest.engine.registry import is_quantity, unit_of
from ingest.units import physical

_WRITTEN = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text(encoding="utf-8"))
SHARES: dict[str, int] = _WRITTEN["shares"]
BASES: dict[str, list[str]] = _WRITTEN["bases"]
VALUES: dict[str, list[str]] = {option: values.split() for option, values in _WRITTEN["values"].items()}
CLASHES = [set(group.split()) for group in _WRITTEN["clashes"]]
#: words that stand for options without their names
POSITIONS = {"MODEL": "--model", "LLM": "--model", "GPU": "--gpu", "config.json": "--model"}
PRICES = "date: 2026-01-12\ncurrency: EUR\nprices:\n  efs: 300\n  fsx-lustre: 140\n"
#: options that show an answer in another way
SHOWING = ("--format", "--output", "--verbose", "--quiet")
#: options that watch processes, need a cluster, or stand before as they must
NEVER = {"--pid", "--command", "--window", "--scheduler", "--help", "--set"}


def files() -> Seeds:
    """Make the files of all questions and keep them; returns what they came from."""
    seeds = make()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("observation.json").write_text(seeds.observation, encoding="utf-8")
        Path("metrics.csv").write_bytes(seeds.logs["metrics.csv"])
        told("observe", "observation.json", "--bundle", "-o", "bundle.json")
        job = ("--gpus", "8", "--samples-per-step", "256", "--synthetic", "2500 sample/s", "--workers", "4")
        told("observe", "metrics.csv", *job, "-o", "stalled.json")
        stated = ("--bundle", "contribution.json", "--licence", "CC0-1.0", "--source", "a drawn job")
        told("calibrate", "stalled.json", "--model", "resnet50", "--gpu", "h100", *stated)
        made = {name: Path(name).read_bytes() for name in ("bundle.json", "contribution.json", "stalled.json")}
    chosen = {
        "one-job.yaml": seeds.sites[0],
        "observation.json": seeds.observation.replace(f"{ROOT}/", ""),
        "config.json": seeds.configs[-2],
    }
    chosen |= dict(zip(("plan.json", "second.json", "good.json"), seeds.plans, strict=True))
    chosen |= dict(zip(("measured.json", "samples.json"), seeds.measures[1:], strict=True))
    chosen |= {"prices.yaml": PRICES, "weights.yaml": "R-READ-02: 2\n", "hosts.txt": "n1\nn2\nn3\n"}
    made |= {name: text.encode() for name, text in chosen.items()} | packed(seeds.tests) | seeds.logs | seeds.tokenizers
    made |= {"sent.xlsx": seeds.books[0], "filled.xlsx": seeds.books[1], "template.docx": seeds.templates[0]}
    made |= {f"results/{name}": content for name, content in seeds.results.items()}
    made |= {f"corpus/{name}": content for name, content in seeds.corpora.items()}
    for kind in ("models", "gpus"):
        made |= {f"mine/{kind}/{name}": seeds.entries[kind][name] for name in [*seeds.entries[kind]][:2]}
    for path in (ROOT / "docs/howto/structures/rows.yaml", *sorted((ROOT / "examples").glob("*.yaml"))):
        made[path.name] = path.read_bytes()
    with tarfile.open(FILES, "w:xz", preset=9) as archive:
        for name, content in sorted(made.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return seeds


def declared(name: str) -> dict[str, bool]:
    """Options of a command, and whether each takes no value."""
    group, _, part = name.partition(" ")
    found: Any = command.get_command(click.Context(command), group)
    found = found.commands[part] if part else found
    options = {max(one.opts, key=len): one.is_flag for one in found.params if isinstance(one, click.Option)}
    return {option: flag for option, flag in options.items() if option not in NEVER - {"--set"}}


class Draws:
    """Draws questions; inputs and results are names with their values, by command, as answers have them."""

    def __init__(self, seeds: Seeds, seed: int) -> None:
        self.random = random.Random(seed)
        self.inputs: dict[str, dict[str, float]] = {name: {} for name in SHARES}
        self.results: dict[str, list[str]] = {name: ["R-READ-01"] for name in SHARES}
        #: models of which a bare question has an answer
        self.sized: list[str] = []
        self.used: Counter[str] = Counter()
        ids = {kind: sorted(names) for kind, names in seeds.ids.items() if kind != "published"}
        self.lists: dict[str, list[str]] = {kind.removesuffix("s").upper(): names for kind, names in ids.items()}
        self.lists |= {
            "LLM": ids["architectures"],
            "CORPUS": ids["corpora"],
            "FAILURES": ids["failures"],
            "PROTECTION": [name for name in ids["storage"] if name.startswith("prot-")],
            "KIND": [*ids],
            "ID": [name for names in ids.values() for name in names],
            "SET": sorted(path.stem for path in (ROOT / "catalogs/published").glob("*.yaml")),
            "LOG": sorted(seeds.logs),
            "TEXT": [f"corpus/{name}" for name in sorted(seeds.corpora)],
            "VOCABULARY": sorted(seeds.tokenizers),
            "RESULTS": ["results", *(f"results/{name}" for name in sorted(seeds.results))],
            "RANGE": ["1..64*4", "1,8,128", "2..6+2", "16"],
            "PLAN": ["plan.json", "second.json"],
            "OUTPUT": ["out.md", "out.html", "out.csv", "out.json", "out.docx", "out.xlsx"],
        }

    def word(self, word: str, name: str) -> str:
        """A word of a question: itself, or drawn where it is in capitals."""
        chance = self.random
        if word in ("NODES", "COUNT"):
            largest = 10 if word == "NODES" else 14
            return str(chance.choice([round(2 ** chance.uniform(0, largest)), 2 ** chance.randint(0, largest)]))
        if word == "MODEL" and self.sized and chance.random() < 0.85:
            return chance.choice(self.sized)
        if word.endswith("=RANGE"):
            return word[:-5] + chance.choice(self.lists["RANGE"])
        if word in ("GPUS", "MODELS"):
            return ",".join(chance.sample(self.lists[word[:-1]], 2))
        if word == "RESULT":
            return chance.choice(self.results["bw" if name == "explain" else name])
        if word.startswith("INPUT="):
            return chance.choice([*self.inputs["bw"]] or ["nodes"]) + word[5:]
        return chance.choice(self.lists[word]) if word in self.lists else word

    def base(self, name: str) -> list[str]:
        self.shape = self.random.choice(BASES[name]).split()
        if self.shape[:1] in (["LLM"], ["MODEL"]) and name != "model" and self.random.random() < 0.3:
            named = [part for word in self.shape[:2] if word in POSITIONS for part in (POSITIONS[word], word)]
            self.shape = named + self.shape[len(named) // 2 :]
        return [*name.split(), *(self.word(word, name) for word in self.shape)]

    def option(self, name: str, option: str, flag: bool) -> list[str]:
        """An option with its value."""
        if flag:
            return [option]
        values = VALUES.get(f"{name.replace(' ', '-')} {option}")
        if option == "--set" and not values:
            known = self.inputs["bw" if name in ("explain", "sweep", "fit") else name]
            quantity = self.random.choice([*known] or ["nodes"])
            number = known.get(quantity, 1) * self.random.choice([1, 2, 0.5, 1.25, 0.1])
            unit = physical(unit_of(quantity)) if is_quantity(quantity) else "1"
            return [option, f"{quantity}={number:.6g}{'' if unit == '1' else f' {unit}'}"]
        return [option, self.word(self.random.choice(values or VALUES[option]), name)]

    def question(self, name: str) -> list[str]:
        """A question: as JSON, or one in fourteen as a person reads it. Options that are rare so far come first."""
        words = self.base(name)
        options = {option: flag for option, flag in declared(name).items() if option not in (*words, "--verbose", "--quiet")}
        if name == "plan" and "--new" not in words:
            options = {
                option: flag
                for option, flag in options.items()
                if option not in ("--new", "--schema", "--nodes", "--gpu", "--models")
            }
        for _ in range(self.random.choice([0, 1, 1] if len(options) < 12 else [0, 1, 1, 2, 2, 3, 4])):
            option = self.random.choices([*options], [1 / (1 + self.used[f"{name} {one}"]) ** 0.5 for one in options])[0]
            self.used[f"{name} {option}"] += 1
            taken = {*words, *(one for word, one in POSITIONS.items() if word in self.shape)}
            clash = any(option in group and group & taken for group in CLASHES)
            if option in words or (clash and self.random.random() < 0.9):
                continue
            if option not in ("--format", "--output") or name == "dataset" or self.random.random() < 0.3:
                words += self.option(name, option, options[option])
        chosen = {"--output", "-o", "--explain"} & {*words} or ("--format" in words and name != "dataset")
        form = self.random.random()
        if "--format" in declared(name) and not chosen:
            form *= 1 if SHARES[name] > 500 else 0.3
            forms = {
                0.005: ["-q"],
                0.02: ["--format", "csv"],
                0.035: ["--format", "markdown"],
                0.07: ["-v"],
                1: ["--format", "json"],
            }
            words += next(option for most, option in forms.items() if form <= most)
        elif form < 0.2 and "--verbose" in declared(name):
            words += [self.random.choice(["-v", "-q"])]
        return words

    def chosen(
        self, pairs: list[tuple[list[str], dict[str, Any]]], wanted: int, refused: float, sensible: tuple[int, ...]
    ) -> list[Any]:
        """So many questions with their answers, of which a share is refused, in many different words."""
        told = [pair for pair in pairs if pair[1]["code"] in sensible]
        sorts: Counter[str] = Counter()
        refusals = []
        for pair in pairs:
            sort = re.sub(r"[\d'].*?\b", "", pair[1]["err"])[:100]
            sorts[sort] += 1
            if pair[1]["code"] not in sensible and sorts[sort] <= 1 + wanted / 100:
                refusals.append(pair)
        self.random.shuffle(told)
        self.random.shuffle(refusals)
        refusals = refusals[: round(refused * wanted)]
        return refusals + told[: wanted - len(refusals)]

    def learn(self, name: str, out: Any) -> None:
        """Take names and values from an answer: `--set` and `--explain` name them."""
        if not isinstance(out, dict) or "results" not in out:
            return
        for quantity, held in out.get("inputs", {}).items():
            if isinstance(held, dict) and type(held.get("value")) in (int, float):
                self.inputs[name][quantity] = held["value"]
        self.results[name] = sorted({*self.results[name], *out["results"]} - {"R-READ-01"}) or ["R-READ-01"]


def helps() -> Iterator[list[str]]:
    """The help of every command."""
    yield ["--help"]
    for name in COMMANDS:
        yield [name, "--help"]
        for part in getattr(command.get_command(click.Context(command), name), "commands", {}):
            yield [name, part, "--help"]


def plans() -> list[list[str]]:
    """The plans of all sites, with ranges."""
    names = sorted(path.name for folder in (ROOT / "examples", SITES) for path in Path(folder).glob("*.yaml"))
    return [["plan", name, "--format", "json"] for name in names]


def rare(questions: list[list[str]], fewest: int = 10) -> list[str]:
    """Options that fewer questions have than they should: ten of what an answer follows from, two of what shows it."""
    found: Counter[tuple[str, str]] = Counter()
    for words in questions:
        name = " ".join(words[:2]) if words[0] == "catalog" else words[0]
        found.update(
            (name, {"-o": "--output", "-v": "--verbose", "-q": "--quiet"}.get(word, word))
            for word in {*words}
            if word[:1] == "-"
        )
    wanted = [(name, option) for name in SHARES for option in declared(name)]
    return [
        f"{name} {option}: {found[name, option]}"
        for name, option in wanted
        if found[name, option] < (2 if option in SHOWING else fewest)
    ]
