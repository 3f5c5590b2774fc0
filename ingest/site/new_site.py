"""A site file to start from: the commented example, or one of given nodes, GPU and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.catalog.records import Gpu, Model
from ingest.catalog.store import Catalog, opened
from ingest.errors import UsageError
from ingest.sizing.job import names_of
from ingest.units import parse_whole

#: Nodes of a cluster at most.
MOST_NODES = 1_000_000
#: The protocol of a rate that is named where several disagree: its results are audited.
FIRST_PROTOCOL = "mlperf-training"
HEAD = """\
# A site for `ingest plan`, written for {models} on {nodes} × {node}.
# Edit what you know, then run: ingest plan site.yaml     (`ingest plan --new` without options writes a commented example)

format: 2
name: {nodes} × {node}
years: 5

clusters:
  main: {{node: {node}, count: {nodes}}}

jobs:                            # one run of each model, on its part of the nodes
"""
ONCE = """\
  {name}:
    cluster: main
    model: {model}
    nodes: {nodes}
    data: {name}-data
    tokens: 1T                   # read once
{further}    checkpoint: {{mode: async, keep: 3}}
"""
OFTEN = """\
  {name}:
    cluster: main
    model: {model}
    nodes: {nodes}
    data: {name}-data
{further}"""
TAIL = """\

storage:
  protection: {data: 8, parity: 2}
  fill_limit: 85%
  headroom: 20%

reserve:
  snapshots: 15%
  rebuild: 5%
  homes: 20 TB
  containers: 5 TB
  logs: 5 TB
"""


def new_site(
    *, nodes: int | str, gpu: str, models: str | Sequence[str], catalogs: Catalog | str | Path | Sequence[str | Path] = ()
) -> str:
    """A site file of one cluster with one job for each model.

    Args:
        nodes: nodes of the cluster.
        gpu: id or alias of the GPU; its usual node is the node type.
        models: ids or aliases, a list or text with commas.
        catalogs: folders with entries of your own.

    Raises:
        UsageError: an unknown id, with the nearest one; fewer nodes than models; a GPU without a usual node.
    """
    catalog = opened(catalogs)
    card, count = catalog.get(Gpu, gpu), parse_whole(nodes, "--nodes", 1, MOST_NODES)
    entries = [catalog.get(Model, str(name).strip()) for name in names_of(models)]
    if len({one.id for one in entries}) < len(entries):
        raise UsageError("--models: found a model twice, expected each once")
    if not card.usual_node:
        raise UsageError(f"--gpu: no node type of {card.id} is known, expected another GPU")
    if count < len(entries):
        raise UsageError(f"--nodes: found {count}, expected at least one for each of {len(entries)} models")
    each = count // len(entries)
    text = HEAD.format(models=", ".join(one.id for one in entries), nodes=count, node=card.usual_node)
    for one in entries:
        form, further = ONCE if one.family == "llm" else OFTEN, _further(one, card, catalog)
        text += form.format(name=one.id, model=one.id, nodes=each, further=further)
    text += "\ndatasets:                        # the sizes are examples: put yours\n"
    for one in entries:
        size = "tokens: 1T, format: megatron" if one.family == "llm" else "bytes: 50 TB"
        text += f"  {one.id}-data: {{{size}, file_bytes: 500 MB}}\n"
    return text + TAIL


def _further(model: Model, gpu: Gpu, catalog: Catalog) -> str:
    """What names the evidence where there is a choice: the precision of a language model, and the protocol of its rate."""
    found = [("precision", "bf16")] if model.family == "llm" else []
    protocols = {
        rate.protocol
        for rate in catalog.rates(model)
        if rate.gpu == gpu.id and rate.precision in ("bf16", *([] if found else [rate.precision]))
    }
    if len(protocols) > 1 and FIRST_PROTOCOL in protocols:
        found.append(("protocol", FIRST_PROTOCOL))
    return "".join(f"    {key}: {value}\n" for key, value in found)
