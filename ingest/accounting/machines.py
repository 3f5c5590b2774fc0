"""The node type of the runs of one kind of GPU: from the name of the kind, and the GPUs that runs have on a node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy

from ingest.accounting.ledger import PARTS, shown_name
from ingest.accounting.runs import Runs
from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog
from ingest.errors import IngestError

#: The node type that stands for one whose kind of GPU is not known.
STAND_IN = "dgx-h100"
#: What vendors write before the name of a GPU.
_VENDOR = re.compile(r"^(nvidia|tesla|amd|instinct|geforce)[-_ ]+", re.IGNORECASE)


class Machine(NamedTuple):
    """A node type.

    Attributes:
        gpu: the kind of GPU as it may be shown; empty where none is known.
        node: id of the node type.
        gpus_per_node: of that node type.
        known: whether the history, or the user, tells it.
        seen: the most GPUs that runs have on one node.
        how: where it comes from, in words.
    """

    gpu: str
    node: str
    gpus_per_node: float
    known: bool
    seen: int
    how: str


def machine_of(runs: Runs, kind: tuple[str, str], catalog: Catalog, node: str | None = None) -> Machine:
    """The node type of the runs of one kind of GPU.

    Args:
        runs: those runs.
        kind: cluster and GPU, as the scheduler calls them.
        catalog: node types.
        node: the node type that the user names.
    """
    seen = gpus_on_a_node(runs)
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
            wide = [one for one in fitting if seen > 1 and is_regular(runs, seen) and usual.gpus_per_node.value != seen]
            chosen = wide[0] if wide else usual
        elif fitting:
            chosen = fitting[0]
        if chosen is not None:
            how = f"usual node of {card.id}" if chosen is usual else f"node of {card.id} with {seen} GPUs"
            return Machine(card.id, chosen.id, chosen.gpus_per_node.value, True, seen, how)
        return Machine(card.id, STAND_IN, catalog.get(Node, STAND_IN).gpus_per_node.value, False, seen, "stands in")
    return Machine(shown_name(kind[1]), STAND_IN, catalog.get(Node, STAND_IN).gpus_per_node.value, False, seen, "stands in")


def gpus_on_a_node(runs: Runs) -> int:
    """The most GPUs that a run has on each of its nodes."""
    known = runs.nodes > 0
    if not known.any():
        return 0
    return int(numpy.ceil(runs.gpus[known] / PARTS / runs.nodes[known]).max(initial=0))


def is_regular(runs: Runs, seen: int) -> bool:
    """Whether most runs on several nodes have that many GPUs on each."""
    several = runs.nodes > 1
    each, counts = numpy.unique(runs.gpus[several] // PARTS // runs.nodes[several], return_counts=True)
    return bool(len(each)) and int(each[counts.argmax()]) == seen


def _cards(name: str, catalog: Catalog) -> Iterator[Gpu]:
    """The GPUs of the catalog that a name may mean, the longest part of it first: `nvidia_h100_80gb_hbm3` is an H100."""
    words = [word for word in re.split(r"[-_ ]+", _VENDOR.sub("", name.strip().lower())) if word]
    for length in range(len(words), 0, -1):
        for mark in ("-", "_", ""):
            try:
                yield catalog.get(Gpu, mark.join(words[:length]))
            except IngestError:
                continue
