"""What runs were of: the node type of their kind of GPU, and classes by size, by partition, or by the user's own map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from ingest.accounting.ledger import PARTS, account_of, shown_name
from ingest.accounting.runs import Runs
from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.errors import IngestError, UsageError, brief
from ingest.units import parse

Array = NDArray[Any]
#: Classes by size: the most nodes that a run of each has.
SIZES = {"1-node": 1, "2-4-nodes": 4, "5-16-nodes": 16, "17-64-nodes": 64, "65-256-nodes": 256}
SMALL = ("no-gpu", "part-gpu", "1-gpu", "part-node")
LARGEST = "over-256-nodes"
BY_SIZE, BY_PARTITION = "size", "partition"
#: Keys of a class that choose its runs; all others are keys of a job of the site file.
CHOOSING = ("partition", "account", "gpus", "nodes", "duration")
#: Keys of a job that the history gives.
GIVEN = ("cluster", "runs", "share")
FILE = Kind("a file of classes, by name: partition, account, gpus, nodes or duration, and keys of a job", "plan --new")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_HASH = re.compile(r"[0-9a-f]{12}")
LONGEST_NAME = 63


class Rule(NamedTuple):
    """A class of the user's map."""

    name: str  # of the class
    partition: str  # pattern of the partition; empty for any
    account: str  # hash of the account; empty for any
    spans: Mapping[str, tuple[float, float]]  # lowest and highest value by `gpus`, `nodes`, `duration`
    job: Mapping[str, Any]  # further keys of its job in the site file


class Classes(NamedTuple):
    """How runs are parted: by `size`, by `partition`, or by the rules of a map and what these leave by size."""

    by: str = BY_SIZE
    rules: tuple[Rule, ...] = ()

    @property
    def asked(self) -> dict[str, bool]:
        """Whether accounts and partitions tell the class of a run: names that a part holds for no other purpose."""
        partitions = self.by == BY_PARTITION or any(rule.partition for rule in self.rules)
        return {"accounts": any(rule.account for rule in self.rules), "partitions": partitions}


def read_classes(written: str | Path | None) -> Classes:
    """The classes: a word, or the file of a map.

    Raises:
        IngestError: a file that cannot be read.
        UsageError: a class that chooses nothing, or a span that is none.
    """
    if written is None or str(written) in (BY_SIZE, BY_PARTITION):
        return Classes(str(written or BY_SIZE))
    found = read_yaml(Path(written), kind=FILE)
    if not isinstance(found, Mapping) or not found:
        raise UsageError(f"--classes: {written} holds no class, expected {FILE.name}; or {BY_SIZE}, {BY_PARTITION}")
    return Classes("map", tuple(_rule(str(name), keys, str(written)) for name, keys in found.items()))


def _rule(name: str, keys: Any, place: str) -> Rule:
    if not _NAME.fullmatch(name):
        raise UsageError(f"--classes: {place}: class {brief(name)}, expected letters, digits, - and _")
    if not isinstance(keys, Mapping) or not keys.keys() & {*CHOOSING}:
        raise UsageError(f"--classes: {place}: {name} chooses no runs, expected one of {', '.join(CHOOSING)}")
    for key in GIVEN:
        if key in keys:
            raise UsageError(f"--classes: {place}: {name}.{key} follows from the history, expected no such key")
    for key in CHOOSING[:2]:
        if not isinstance(keys.get(key, ""), (str, int)):
            raise UsageError(f"--classes: {place}: {name}.{key}: found {brief(keys[key])}, expected one text")
    spans = {key: _span(keys[key], key, f"--classes: {place}: {name}.{key}") for key in CHOOSING[2:] if key in keys}
    account = str(keys.get("account") or "")
    hashed = account if _HASH.fullmatch(account) or not account else account_of(account)
    job = {key: value for key, value in keys.items() if key not in CHOOSING}
    return Rule(name, str(keys.get("partition") or ""), hashed, spans, job)


def _span(written: Any, key: str, place: str) -> tuple[float, float]:
    """The lowest and the highest value of `8`, `8..64`, `64..` or `..64`; a duration with its unit."""
    low, dots, high = str(written).partition("..")
    unit = "s" if key == "duration" else "1"
    ends = [parse(end.strip(), unit, place) if end.strip() else None for end in ((low, high) if dots else (low, low))]
    least, most = (0.0 if ends[0] is None else ends[0]), (float("inf") if ends[1] is None else ends[1])
    if ends == [None, None] or least > most:
        raise UsageError(f"{place}: found {brief(written)}, expected such as 8, 8..64, 64.. or ..64")
    return least, most


def class_of_each(runs: Runs, classes: Classes, per_node: Array) -> tuple[list[str], Array]:
    """The names of the classes, and the place among them of each run; `per_node` are the GPUs of a node of its cluster."""
    sizes, place = by_size(runs.gpus, per_node)
    names = list(sizes)
    if classes.by == BY_PARTITION:
        names, by_group = partitions(runs)
        return names, by_group[runs.group] if len(runs.group) else place
    place = place + len(classes.rules)
    values = {"gpus": runs.gpus / PARTS, "nodes": runs.nodes, "duration": runs.seconds}
    for at, rule in reversed([*enumerate(classes.rules)]):
        named = [not rule.partition or fnmatchcase(group.partition, rule.partition) for group in runs.groups]
        fitting = numpy.array(
            [fits and rule.account in ("", group.account) for fits, group in zip(named, runs.groups, strict=True)] or [False]
        )
        chosen = fitting[runs.group] if len(runs.group) else numpy.zeros(0, bool)
        for key, (least, most) in rule.spans.items():
            chosen &= (values[key] >= least) & (values[key] <= most)
        place = numpy.where(chosen, at, place)
    return [*(rule.name for rule in classes.rules), *names], place


def by_size(gpus: Array, per_node: Array) -> tuple[Sequence[str], Array]:
    """The names of the classes by size, and the place among them of each run."""
    nodes = gpus / PARTS / per_node
    names = (*SMALL, *SIZES, LARGEST)
    steps = numpy.searchsorted([*SIZES.values()], nodes - 1e-9, "left") + len(SMALL)
    place = numpy.where(nodes < 1 - 1e-9, 3, steps)
    place = numpy.where(gpus == PARTS, numpy.where(per_node > 1, 2, place), place)
    place = numpy.where(gpus < PARTS, 1, place)
    return names, numpy.where(gpus == 0, 0, place)


def partitions(runs: Runs) -> tuple[list[str], Array]:
    """A class for each partition, and the class of each group; a name that may be anything is numbered instead."""
    every = {name: place for place, name in enumerate(sorted({group.partition for group in runs.groups}))}
    plain, hidden = (re.sub(r"[^A-Za-z0-9_-]", "-", shown_name(name)) for name in every), count(1)
    names = distinct(shown or f"partition-{next(hidden)}" for shown in plain)
    return names, numpy.array([every[group.partition] for group in runs.groups] or [0])


def distinct(names: Iterable[str]) -> list[str]:
    """Names that a site file may have, each once: of those that are alike the later ones have a number."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name[: LONGEST_NAME - 5]}-{number}" for number in count(2))
        found.append(next(one for one in chain([name[:LONGEST_NAME]], numbered) if one not in found))
    return found


#: The node type that stands for one whose kind of GPU is not known.
STAND_IN = "dgx-h100"
#: What vendors write before the name of a GPU.
_VENDOR = re.compile(r"^(nvidia|tesla|amd|instinct|geforce)[-_ ]+", re.IGNORECASE)


class Machine(NamedTuple):
    """A node type."""

    gpu: str  # the kind of GPU as it may be shown; empty where none is known
    node: str  # id of the node type
    gpus_per_node: float  # of that node type
    known: bool  # whether the history, or the user, tells it
    seen: int  # the most GPUs that runs have on one node
    how: str  # where it comes from, in words


def machine_of(runs: Runs, kind: tuple[str, str], catalog: Catalog, node: str | None = None) -> Machine:
    """The node type of the runs of one kind, a cluster and a GPU as the scheduler calls them; the user may name the `node`."""
    # The most GPUs that a run has on each of its nodes.
    told = runs.nodes > 0
    seen = int(numpy.ceil(runs.gpus[told] / PARTS / runs.nodes[told]).max(initial=0))
    if node is not None:
        found = catalog.get(Node, node)
        return Machine(shown_name(kind[1]), found.id, found.gpus_per_node.value, True, seen, "--node")
    card = next(_cards(kind[1], catalog), None)
    if card is not None:
        nodes = [catalog.get(Node, one) for one in catalog.ids(Node.kind)]
        fitting = [one for one in nodes if one.gpu == card.id and one.gpus_per_node.value == seen]
        usual = catalog.get(Node, card.usual_node) if card.usual_node else None
        chosen: Node | None = None
        if usual is not None and (usual.gpus_per_node.value >= seen or not fitting):
            # Whether most runs on several nodes have that many GPUs on each.
            several = runs.nodes > 1
            each, counts = numpy.unique(runs.gpus[several] // PARTS // runs.nodes[several], return_counts=True)
            regular = seen > 1 and bool(len(each)) and int(each[counts.argmax()]) == seen
            wide = [one for one in fitting if regular and usual.gpus_per_node.value != seen]
            chosen = wide[0] if wide else usual
        elif fitting:
            chosen = fitting[0]
        if chosen is not None:
            how = f"usual node of {card.id}" if chosen is usual else f"node of {card.id} with {seen} GPUs"
            return Machine(card.id, chosen.id, chosen.gpus_per_node.value, True, seen, how)
    name = shown_name(kind[1]) if card is None else card.id
    return Machine(name, STAND_IN, catalog.get(Node, STAND_IN).gpus_per_node.value, False, seen, "stands in")


def _cards(name: str, catalog: Catalog) -> Iterator[Gpu]:
    """The GPUs of the catalog that a name may mean, the longest part of it first: `nvidia_h100_80gb_hbm3` is an H100."""
    words = [word for word in re.split(r"[-_ ]+", _VENDOR.sub("", name.strip().lower())) if word]
    for length in range(len(words), 0, -1):
        for mark in ("-", "_", ""):
            try:
                yield catalog.get(Gpu, mark.join(words[:length]))
            except IngestError:
                continue
