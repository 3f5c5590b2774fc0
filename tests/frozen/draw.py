"""Draw questions by seed, most of them sensible: options of every command as it declares them. Only `draw` needs this."""

import random
import re
from collections import Counter
from typing import Any

from frozen.ask import ROOT
from frozen.edits import forms, written
from fuzz.command_lines import options_of

_WRITTEN = written("questions.yaml")
#: command, how many questions, and what stands after it; then those whose files are drawn
ASKED: list[tuple[str, int, list[str]]] = [(name, count, _WRITTEN["bases"][name]) for name, count in _WRITTEN["shares"].items()]
ASKED += [(name, one["count"], one["bases"]) for name, one in _WRITTEN["drawn"].items()]
VALUES: dict[str, list[str]] = {option: values.split() for option, values in _WRITTEN["values"].items()}


class Draws:
    """Draws questions; a word in capitals is drawn from a list."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        folders = sorted(path for path in (ROOT / "catalogs").iterdir() if path.is_dir())
        ids = {folder.name: sorted(path.stem for path in folder.glob("*.yaml")) for folder in folders}
        self.lists = {"SET": ids.pop("published"), "LLM": ids["architectures"], "CORPUS": ids["corpora"], "KIND": [*ids]}
        self.lists |= {kind.removesuffix("s").upper(): names for kind, names in ids.items()}
        self.lists |= {"FAILURES": ids["failures"], "ID": [name for names in ids.values() for name in names]}
        self.lists |= {"PROTECTION": [name for name in ids["storage"] if name.startswith("prot-")], "FORM": [*forms()]}
        self.lists |= {name: words.split() for name, words in _WRITTEN["lists"].items()}

    def word(self, word: str) -> str:
        """A word of a question: itself, or drawn where it is in capitals."""
        chance = self.random
        if word in ("NODES", "COUNT"):
            largest = 10 if word == "NODES" else 14
            return str(chance.choice([round(2 ** chance.uniform(0, largest)), 2 ** chance.randint(0, largest)]))
        drawn = re.sub("[A-Z]{2,}", lambda found: chance.choice(self.lists.get(found[0], [found[0]])), word)
        return re.sub("[~+](?=[.]|$)", lambda found: f"{found[0]}{chance.randrange(10**6)}", drawn)

    def question(self, name: str, bases: list[str]) -> list[str]:
        """A question with a few options: as JSON, or one in fourteen as a person reads it."""
        words = [*name.split(), *map(self.word, self.random.choice(bases).split())]
        known, form = {option: flag for option, _, flag in options_of(name)}, self.random.random()
        options = [one for one in known if one not in ("--verbose", "--quiet")]
        for option in self.random.sample(options, min(len(options), self.random.choice([0, 1, 1, 2, 3]))):
            if option not in words and (option not in ("--format", "--output") or name == "dataset" or form < 0.3):
                values = VALUES.get(f"{name.replace(' ', '-')} {option}") or VALUES.get(option, [])
                words += [option] if known[option] else [option, self.word(self.random.choice(values))]
        if "--format" in known and not {"--output", "-o", "--explain", "--format"} & {*words}:
            shown = {0.003: "-q", 0.01: "--format csv", 0.02: "--format markdown", 0.05: "-v", 1: "--format json"}
            words += next(option.split() for most, option in shown.items() if form <= most)
        return words

    def chosen(self, pairs: list[tuple[list[str], dict[str, Any]]], wanted: int) -> list[Any]:
        """So many questions with their answers, of which a share is refused, in many different words."""
        told, refusals, sorts = [], [], Counter[str]()
        for pair in pairs:
            sort = re.sub(r"[\d'].*?\b", "", pair[1]["err"])[:100]
            sorts[sort] += 1
            # A requirement that is stated may be missed: that is no refusal.
            if pair[1]["code"] in (0, 3):
                told.append(pair)
            elif sorts[sort] <= 1 + wanted / 100:
                refusals.append(pair)
        self.random.shuffle(told)
        self.random.shuffle(refusals)
        refusals = refusals[: round(0.3 * wanted)]
        return refusals + told[: wanted - len(refusals)]
