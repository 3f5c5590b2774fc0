"""Releases by name: the table of structures that are known without a file, and names as people and machines write them.

One row of `architectures/releases.csv` is a structure, which its base, its instructed and its quantized releases share. A name
is compared by its words and numbers alone: `meta-llama/Llama-3.1-8B-Instruct`, `llama 3.1 8b` and `llama3.1:8b` are one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ingest.errors import CatalogError, UsageError, brief, listed

FILE = "releases.csv"  # in the folder of architectures
COLUMNS = "id,hub,also,model_type,config,parameters,check,source,where"
MOST_LETTERS = 200  # of a name; a hub allows 96 on each side of its slash
MOST_SHOWN = 6  # names that a refusal lists, fewer where a line of a terminal is too short, but three
WIDTH = 72  # letters of a refusal, after "ingest: "
#: Words for how the weights are stored: they change no structure.
_STORED = (
    r"awq|gptq|autoround|gguf|ggml|exl2|exl3|mlx|bnb|nf4|fp8|fp4|fp16|bf16|fp32|nvfp4|mxfp4|int4|int8|[2-8]-?bits?|w4a16|w8a8|w8a16|w4a8|g128|"
    r"qat|dynamic|static|unsloth|imatrix|marlin|quantized|onnx|cloud|i?q[2-8](-(k|[01]|xxs|xs|s|m|nl))?(-(xs|s|m|l|xl))?"
)
#: Words for what a release was tuned or converted for, and for its first version: they change no structure either.
_TUNED = (
    r"instruct|chat|it|base|hf|pt|latest|preview|sft|dpo|rlvr[12]?|abliterated|heretic|uncensored|obliterated|block|linearized|"
    r"dequantized|v0[.-]1|v1([.-]0)?"
)
#: Months, years and days in names: 2407, 2501, 0528.
_DATED = r"2[3-6](0[1-9]|1[0-2])|(0[1-9]|1[0-2])[0-3][0-9]"
_MAKERS = "huihui|meta|meta-llama|nvidia|google|microsoft|mistralai|qwen|ibm|hf"


#: Ids by the words of a name.
_Index = dict[str, dict[str, None]]


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
        found: dict[str, Any] = {"_class_name" if self.model_type.endswith("Model") else "model_type": self.model_type}
        for item in self.config.split(" "):
            place, _, value = item.partition("=")
            *tables, last = place.split(".")
            inner = found
            for table in tables:
                inner = inner.setdefault(table, {})
            inner[last] = json.loads(value)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All its names."""
        return (self.id, *([self.hub] if self.hub else ()), *self.also)


def words(name: str) -> str:
    """The words and numbers of a name, in lower case, separated by spaces.

    >>> words("Llama-3.1-8B"), words("llama3.1:8b")
    ('llama 3 1 8 b', 'llama 3 1 8 b')
    """
    return " ".join(re.findall(r"[a-z]+|[0-9]+", name.lower()))


def spellings(name: str) -> Iterator[str]:
    """What a written name may stand for, as words: whole first, then without how it is stored, tuned and dated."""
    whole = re.sub(r"^(hf://|https://(www\.)?huggingface\.co/|ollama://|models--)", "", name.strip().lower()).strip("/")
    whole = re.sub(r"[\s_:/]+|--", "-", whole.rpartition("--")[2].rpartition("/")[2])
    shorter, seen = [whole], [words(whole)]
    yield seen[0]
    for unwanted in (_STORED, _TUNED, _DATED):
        # The last such word first: a release may be known by the others.
        while found := [*re.finditer(rf"(?:^|-)(?:{unwanted})(?=-|$)", whole)]:
            whole = (whole[: found[-1].start()] + whole[found[-1].end() :]).strip("-")
            shorter.append(whole)
    for one in shorter:
        for made in (words(one), words(re.sub(rf"^({_MAKERS})-", "", one))):
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
        of_rows: _Index = {}
        of_entries: _Index = {}
        for row in rows.values():
            # A further name with its owner is that one alone: another owner gives the same name to other sizes.
            for name in row.names:
                of_rows.setdefault(words(name.rpartition("/")[2] if name == row.hub else name), {})[row.id] = None
        for name, entry in others.items():
            of_entries.setdefault(words(name), {})[entry] = None
        self._of_structures, self._of_models = {**of_entries, **of_rows}, {**of_rows, **of_entries}

    def named(self, written: str, *, structure: bool = False) -> str | None:
        """The id of the entry that a written name stands for; None where none does.

        Raises UsageError: a name that stands for several.
        """
        if len(written) > MOST_LETTERS:
            return None
        index = self._of_structures if structure else self._of_models
        *_, owner, _ = f"//{written}".split("/")
        for spelling in (f"{part}{one}" for one in spellings(written) for part in (f"{words(owner)} ", "")):
            found = index.get(spelling, {})
            if len(found) > 1:
                raise _several(written, found)
            if found:
                return next(iter(found))
        # A name of the hub is whole.
        for spelling in () if "/" in written else spellings(written):
            longer = {one for name, ids in index.items() if name.startswith(f"{spelling} ") for one in ids}
            if len(longer) > 1:
                raise _several(written, sorted(longer, key=partial(_plainness, spelling)))
        return None

    def hint(self, written: str) -> str:
        """What to give instead of an unknown name: the three nearest ids, and the hub for a name of its form; may be empty."""
        import difflib

        *_, short = spellings(written[:MOST_LETTERS])
        close = difflib.get_close_matches(short, self._of_models, n=12, cutoff=0.6)
        ids = [*dict.fromkeys(next(iter(self._of_models[name])) for name in close)][:3]
        own = "; hf:// before it reads the hub" if re.fullmatch(r"[\w-]+/[\w.-]+", written) else "; or its config.json"
        return f"; nearest {', '.join(ids)}{own}" if ids else own if "/" in written else ""


def _plainness(spelling: str, name: str) -> tuple[bool, int, list[tuple[int, str]]]:
    """Releases of a family before what others made of them, short names before long ones, small numbers before large ones."""
    parts = words(name).split()
    return not words(name).startswith(spelling), len(parts), [(int(one), "") if one.isdigit() else (0, one) for one in parts]


def _several(written: str, found: Iterable[str]) -> UsageError:
    lines = (f"{brief(written)} may be {listed(found, most)}: name one" for most in range(MOST_SHOWN, 2, -1))
    *_, shortest = texts = [*lines]
    return UsageError(next((text for text in texts if len(text) <= WIDTH), shortest))


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
