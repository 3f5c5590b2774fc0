"""Releases by name: the table of structures that are known without a file, and names as people and machines write them.

One row of `architectures/releases.csv` is a structure, which its base, its instructed and its quantized releases share. A name
is compared by its words and numbers alone: `meta-llama/Llama-3.1-8B-Instruct`, `llama 3.1 8b` and `llama3.1:8b` are one name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.errors import CatalogError, UsageError, brief, in_width, listed, unknown
from ingest.files import table_beside

FILE = "releases.csv"  # in the folder of architectures
COLUMNS = "id,hub,also,model_type,config,parameters,check,source,where"
_WRITTEN = table_beside(__file__, "releases.yaml")
MOST_LETTERS = 200  # of a name; a hub allows 96 on each side of its slash
MOST_SHOWN = 6  # names that a refusal lists, fewer where a line of a terminal is too short, but three
_STORED, _TUNED, _DATED, _MAKERS, _SERVED, _OFFERED, _SERVING, _CONVERTING, _OTHER = map("|".join, _WRITTEN.values())
#: In brackets after the name of a model, how long it reasoned.
_EFFORT = r"((no|non|low|medium|high|x?high|max)[ -]?)?(reasoning|thinking|effort)?"
#: Tasks before the names of a catalog, whose tuned ones end in `-f`: meta-textgeneration-llama-2-13b-f; timm ends in `.in1k`.
_TASKS = r"meta-textgeneration(neuron)?|huggingface-(llm|tc|textgeneration\d?|sentencesimilarity)"
#: Words beside the name of a family that make no release of it: whoever trains one of that size may call it so.
_SIZES = {"tiny", "mini", "small", "base", "medium", "large", "xl", "xxl", "cased", "uncased"}
#: The size of a model within a name: 8b, 8x7b, 1.5b, a3b of active parameters, e2b, 270m; `Mistral7B` joins it to a word.
_SIZE = r"(?:(?<![a-z0-9.])[ae]?|(?<=[a-z]))(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])"
#: Begins the name of a model that gives rewards and has no lm_head, as ArmoRM-Llama3-8B; Llama-3-8B-PairRM was tuned by one.
_REWARDING = r"^[a-z]*rm-"
_LARGER = r"plus|pro|max|ultra|large|xl|flash|next|coder next"


class Release(NamedTuple):
    """One row of the table."""

    id: str
    hub: str  # organization and name on the hub; empty for a model without one
    also: tuple[str, ...]  # further names
    model_type: str  # empty: the structure stands in a file of its own
    config: str
    parameters: int
    check: str  # how its parameters were checked
    source: str
    where: str
    path: Path

    def keys(self) -> dict[str, Any]:
        """The keys of its configuration, as a config.json states them."""
        import json

        # Files of diffusers name a class, others a family.
        found: dict[str, Any] = {("model_type", "_class_name")[self.model_type.endswith(("Model", "Network"))]: self.model_type}
        for item in self.config.split(" "):
            place, _, value = item.partition("=")
            *tables, last = place.split(".")
            inner = found
            for table in tables:
                inner = inner.setdefault(table, {})
            if last != "tensors":
                inner[last] = json.loads(value)
                continue
            # Shapes alone, `64x3x7x7,2*128x64`: what passes through them is not told.
            for count, _, shape in (one.rpartition("*") for one in value.split(",")):
                row = {"name": last, "shape": [*map(int, shape.split("x"))], "count": int(count or 1)}
                inner.setdefault("weights", []).append(row)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All its names."""
        return (self.id, *([self.hub] if self.hub else ()), *self.also)


@lru_cache(maxsize=2**14)  # all names, however many catalogs a process opens
def words(name: str) -> str:
    """The words and numbers of a name, in lower case, separated by spaces; a plus that ends a word is one."""
    return " ".join(re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z0-9])\+(?![a-z0-9])", " plus", name.lower())))


def spellings(name: str) -> Iterator[str]:
    """What a written name may stand for, as words: whole first, then without how it is stored, tuned and dated."""
    whole = re.sub(r"^(hf://|https://(www\.)?huggingface\.co/|ollama://|models--)|\.git$", "", name.strip().lower()).strip("/")
    *_, owner, whole = f"/{whole.replace('--', '/')}".split("/")
    # Another owner's `microsoft-phi` may be a model that only reads the tokens of that one; its quantized weights are the same.
    makers = _MAKERS if not owner or stored_as(whole) or re.match(rf"({_MAKERS})\b", owner) else "-"
    whole = re.sub(rf"\s*\(({_EFFORT})\)$", "", whole)
    whole = re.sub(rf"^({_TASKS})-|(?<=\db)-f$|\.(\w+_)?in1k(_\d+)*$", "", whole)
    # Services, and their regions.
    whole = re.sub(r"^(fw-|cc-|coding-|faster-(?=whisper|distil)|(us|us-gov|eu|apac|global|jp|au|in|ca)\.)", "", whole)
    # Quantized weights that keep the heads for further tokens; a name with those alone is that of a draft.
    offered = re.sub(rf"([-:]({_OFFERED}))+$", "", re.sub(rf"([-_. ]({_STORED}))[-_. ]mtp$", r"\1", whole))
    whole, offered = (re.sub(r"[\s_:]+|[.](?=i?q\d|b?f(16|32)|gguf|w\da\d)", "-", one) for one in (whole, offered))
    shorter, seen = [whole], [words(whole)]
    yield seen[0]
    # Services write qwen-v2p5-7b for Qwen 2.5, and qwen25-7b.
    whole = re.sub(r"(?<=\d)p(?=\d)", ".", re.sub(rf"(\d[bm].*)-({_SERVED})$", r"\1", offered))
    shorter.append(whole)
    for unwanted in (_STORED, _TUNED, _DATED):
        # The last such word first: a release may be known by the others.
        while found := [*re.finditer(rf"(?:^|-)(?:{unwanted})(?=-|$)", whole)]:
            whole = (whole[: found[-1].start()] + whole[found[-1].end() :]).strip("-")
            shorter.append(whole)
    for one in shorter:
        own = re.sub(rf"^({makers})[-.]", "", one)
        bare, dotted = re.sub(r"^([a-z]+)-v(?=\d)", r"\1-", one), re.sub(r"^([a-z]+[1-5])(\d)(?=-)", r"\1.\2", own)
        apart = re.sub(r"^([a-z]{3,})v(?=\d)", r"\1-v", re.sub(r"(\dx\d+)$", r"\1b", own))  # deepseekv2, mixtral8x7
        more, less = re.sub(r"(?<=\db)-(?=\d\.\d)", "-v", one), re.sub(r"(?<=\db)-v(?=\d\.\d)", "-", one)  # vicuna-7b-1.1
        for made in map(words, (one, own, bare, dotted, apart, more, less)):
            if made and made not in seen:
                seen.append(made)
                yield made


def stored_as(name: str) -> str:
    """The word of a name that tells how its weights are stored, or nothing."""
    found = re.search(rf"(^|[-_:. ])({_STORED})(?=[-_:. ]|$)", name.lower())
    return found.group(2) if found else ""


class Releases:
    """Releases by id, with an index over all names.

    `others` are names of entries outside the table, such as models with measured rates: where a name is that of both, an answer
    about a structure takes the row, any other answer the entry.
    """

    def __init__(self, rows: Mapping[str, Release], others: Mapping[str, str]) -> None:
        self.rows = rows
        of_rows: dict[str, dict[str, None]] = {}  # ids by the words of a name, as those of entries
        of_entries: dict[str, dict[str, None]] = {}
        self._owned: dict[str, dict[str, None]] = {}  # further names without their owner, for weights that another converted
        for row in rows.values():
            # A further name with its owner is that one alone: another owner gives the same name to other sizes.
            for name in row.names:
                bare = words(name.rpartition("/")[2])
                of_rows.setdefault(bare if name == row.hub else words(name), {})[row.id] = None
                self._owned.setdefault(bare, {})[row.id] = None
        for name, entry in others.items():
            of_entries.setdefault(words(name), {})[entry] = None
        self._of_structures, self._of_models = {**of_entries, **of_rows}, {**of_rows, **of_entries}
        #: names met that say only on which release they are based
        self.based: dict[str, str] = {}

    def named(self, written: str, *, structure: bool = False) -> str | None:
        """The id of the entry that a written name stands for, or on which it says it is based; None where neither is known.

        Raises UsageError: a name that stands for several, or is cut off at a dash.
        """
        if not 0 < len(written) <= MOST_LETTERS:
            return None
        index = self._of_structures if structure else self._of_models
        asked = written
        *_, owner, served = f"//{written}".split("/")
        if re.fullmatch(_SERVING, owner.lower()):
            # What Ollama serves without a tag is its default one.
            written, owner = served if ":" in served or owner.lower() != "ollama" else f"{served}:latest", ""
        owned = self._owned if re.fullmatch(_CONVERTING, owner.lower()) else {}
        cut = written.rstrip().endswith(("-", "_"))  # off: what a terminal or a list left of a name
        for spelling in (f"{part}{one}" for one in spellings(written) for part in (f"{words(owner)} ", "")):
            found = {} if cut else index.get(spelling) or owned.get(spelling, {})
            # Of names that differ in their dots and dashes alone, that which is written so.
            exact = [one for one in found if one in self.rows and written.lower() in self.rows[one].names]
            if len(found) > 1 and len(exact) != 1:
                raise self._several(written, spelling, found)
            if found:
                one = next(iter(exact or found))
                return None if self._another(owner.lower(), written.lower(), spelling, one) else one
        # A name of the hub is whole, but where it ends in a dash.
        for spelling in () if "/" in written and not cut else spellings(written):
            longer = {one for name, ids in index.items() if f"{name} ".startswith(f"{spelling} ") for one in ids}
            if len(longer) > 1 - cut:
                raise self._several(written, spelling, longer)
        return None if cut else self._base_of(asked)

    def _base_of(self, written: str) -> str | None:
        """The structure on which a name says it is based, by family, version and size: `Hermes-3-Llama-3.1-8B`; else None.

        Raises UsageError: a name that holds several, or a family of several versions without its version.
        """
        whole = re.sub(r"[_\s:]", "-", written.lower().rpartition("/")[2][:MOST_LETTERS])
        plain = re.sub(rf"-({_STORED}|{_TUNED}|base)(?=-|$)", "-~", whole)
        sizes = [*dict.fromkeys(re.findall(_SIZE, plain))]
        size = words(" ".join([one for one in sizes if one.endswith("b")] or sizes))
        beside = re.findall(r"[a-z]+|[0-9]+|[#~]", re.sub(rf"({_SIZE}[-.]*)+", " # ", plain))
        apart = any(re.fullmatch(_OTHER, one) for one in beside)
        if not size or apart or re.search(rf"{_REWARDING}|(\+|\b({_LARGER}))$", whole):
            return None
        known = {name: ids for name, ids in self._of_structures.items() if re.search(rf"(?<!x) {size}( |$)", name)}
        family = {name: f" {name.replace(f' {size}', '')} " for name in known}
        line = f" {' '.join(beside)} "
        # A number that follows a family at once is that of another version, `pro` or `large` tells of another size.
        other = rf"(?!(v )?\d|([#~] )*({_LARGER}) )"
        held = [name for name in known if family[name] in re.sub("[#~] ", "", line)]
        held = [name for name in held if re.search(family[name].replace(" ", " ([#~] )*") + other, line)]
        found = [name for name in held if not any(family[name] in family[one] and family[name] != family[one] for one in held)]
        # A family without a version may be each of its versions.
        bare = [family[name] for name in found if not re.search(r"\d", family[name])]
        versions = [name for name in known for one in bare if re.match(rf"{one}(v )?\d", family[name])]
        ids = [*dict.fromkeys(one for name in (*found, *versions) for one in known[name] if one in self.rows)]
        # A name that begins with another release, `Kimi-K2-Qwen3-8B`, may be either, but where it was distilled.
        begun = (name for name in self._of_structures if f"{words(whole)} ".startswith(f"{name} ") and re.search(r"\d", name))
        if ids and (first := max(begun, key=len, default=size)) not in known and "distil" not in whole:
            ids += [one for one in self._of_structures.get(first, ()) if one not in ids]
        # One that begins as models with encoders do, `Ovis1.6-Gemma2-27B`, is a further size of these.
        begins = "" if "distil" in whole else words(whole).split(" ")[0]
        alike = {one.id: one.model_type for one in self.rows.values() if words(one.id).split(" ")[0] == begins}
        if any(kind == "composite" for kind in alike.values()) and not any(one in alike for one in ids):
            return None
        if len(ids) > 1:
            raise self._several(written, ids[0], ids)
        return self.based.setdefault(written, ids[0]) if ids else None

    def _another(self, owner: str, written: str, spelling: str, found: str) -> bool:
        """Whether a name is not the release found: an owner's draft, or a family and size alone, or `phi2-7b`, no Phi 2.7B."""
        row = self.rows.get(found)
        if row is None:
            return False
        size = re.search(r"[a-z]\d+[-_ ](\d+[bm])(?![a-z0-9])", written)
        alike = [name.lower() for name in row.names if size and words(name.rpartition("/")[2]) == spelling]
        if size and alike and all(f".{size[1]}" in name for name in alike):
            return True
        if not owner or re.fullmatch(_CONVERTING, owner) or any(name.lower().startswith(f"{owner}/") for name in row.names):
            return False
        beside = [word for word in spelling.split(" ") if word not in words(row.model_type).split(" ")]
        return bool(beside) and (all(word in _SIZES for word in beside) or bool(re.search(r"dspark|dflash|eagle", spelling)))

    def hint(self, written: str, what: str = "model") -> str:
        """The refusal of an unknown name: the three nearest ids, and the hub for a name of its form; empty without either."""
        import difflib

        *_, short = spellings(written[:MOST_LETTERS])
        # A family of one size, such as SmolLM3, before what is only spelt alike.
        longer = [name for name in self._of_models if name.startswith(f"{short} ")]
        longer += sorted((name for name in self._of_models if name.endswith(f" {short}")), key=len)
        alike = (difflib.get_close_matches(short, self._of_models, n=12, cutoff=cutoff) for cutoff in (0.8, 0.6))
        # What begins with another letter is near only if little else differs: `grok 2` is no slip of `k2`.
        close = dict.fromkeys((*longer, *next(alike), *(one for one in next(alike) if one[0] == short[:1])))
        ids = [*dict.fromkeys(next(iter(self._of_models[name])) for name in close)][:3]
        if re.match(_REWARDING, written.rpartition("/")[2].lower()):
            ids = [one for one in (f"{name}-reward" for name in ids) if one in self.rows] or ids
        named, of_hub = f"{what} {brief(written)}", re.fullmatch(r"[\w-]+/[\w.-]+", written)
        ways = ("hf:// before it for the hub", "hf://…") if of_hub else ("its config.json", "a file")
        if ids:
            return unknown(named, ids, *ways)
        return f"unknown {named}; hf:// before it reads the hub" if of_hub else ""

    def _several(self, written: str, spelling: str, several: Collection[str]) -> UsageError:
        # Those of a family before what others made of them, its maker's first, short names, small numbers.
        sizes = {name: [(int(one), "") if one.isdigit() else (0, one) for one in words(name).split()] for name in several}
        hubs = [self.rows[name].hub.partition("/")[0] for name in several if name in self.rows]
        maker = max(hubs, key=hubs.count, default="")
        rank = {name: -hubs.count(self.rows[name].hub.partition("/")[0] if name in self.rows else maker) for name in several}
        found = sorted(
            sizes, key=lambda one: (not words(one).startswith(spelling), rank[one], len(sizes[one]), sizes[one], one)
        )
        return UsageError(in_width(f"{brief(written)} may be {listed(found, n)}: name one" for n in range(MOST_SHOWN, 2, -1)))


def releases_in(folders: Sequence[Path]) -> dict[str, Release]:
    """The rows of the catalogs' folders by id, those of the nearest first in force."""
    return {row.id: row for folder in reversed(folders) for row in _read(folder / "architectures" / FILE)}


def _read(path: Path) -> Iterator[Release]:
    """The rows of one table. Raises CatalogError: a row without the columns of the table."""
    if not path.is_file():
        return
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if ",".join(next(lines, ())) != COLUMNS:
            raise CatalogError(f"{path}:1: expected the columns {COLUMNS}")
        for line in lines:
            if len(line) != COLUMNS.count(",") + 1 or not line[5].isdecimal():
                raise CatalogError(f"{path}:{lines.line_num}: expected a row of {COLUMNS}, parameters a whole number")
            name, hub, also, model_type, config, parameters, check, source, where = line
            yield Release(name, hub, tuple(also.split()), model_type, config, int(parameters), check, source, where, path)
