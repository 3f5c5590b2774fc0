"""Who reads what: how the ranks of a job share its data set, by the loader that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingest.engine.messages import Message, Option, option_error
from ingest.engine.solver import Quantities
from ingest.engine.value import Input


class LoaderKind(NamedTuple):
    """How a library distributes a data set over the ranks.

    Attributes:
        what: one line.
        readers, of_node, amplification: the formulas that apply.
    """

    what: str
    readers: str
    of_node: str
    amplification: str
    source: str
    where: str


_OF_WORKERS = ("readers_of_workers", "readers_of_every_node")
_OF_STAGES = ("readers_of_stages", "readers_of_stage_node")
LOADERS: Mapping[str, LoaderKind] = {
    "pytorch": LoaderKind(
        "workers of each GPU; a distributed sampler gives each rank other samples",
        *_OF_WORKERS, "", "pytorch", "torch.utils.data.distributed.DistributedSampler",
    ),
    "pytorch-iterable": LoaderKind(
        "an iterable data set that is not split: every worker of every rank reads the whole",
        *_OF_WORKERS, "amplification_of_copies", "pytorch", "torch.utils.data.IterableDataset, Example 1",
    ),
    "megatron": LoaderKind(
        "tensor rank 0 of the first and last pipeline stage reads",
        *_OF_STAGES, "amplification_of_stages", "megatron-lm", "issue 441",
    ),
    "huggingface": LoaderKind(
        "a streamed data set: each rank reads its shards where the ranks divide their number, else every rank reads all",
        *_OF_WORKERS, "amplification_of_shards", "hf-datasets", "split_dataset_by_node; issue 6623",
    ),
    "mosaic": LoaderKind(
        "workers of each GPU share the shards that their node has downloaded",
        *_OF_WORKERS, "", "mosaicml-streaming", "shards are kept in a folder of the node",
    ),
    "node": LoaderKind(
        "one loader per node feeds its GPUs through shared memory",
        *_OF_WORKERS, "", "megascale2024", "one loader per node",
    ),
}  # fmt: skip
USUAL_LOADER = "pytorch"


def share_data(known: Quantities, loader: str) -> None:
    """Choose who reads and how often a sample is read, for the loader of a job.

    Raises:
        UsageError: GPUs that the parallel sizes do not divide.
    """
    kind = LOADERS[loader]
    if loader == "megatron":
        known.choose("gpus_per_loader", "gpus_of_replica")
        gpus, size = known.value("gpus"), known.value("gpus_per_loader")
        if gpus % size:
            what = f": {gpus:,.0f} GPUs, expected a multiple of tensor × pipeline × context = {size:,.0f}"
            raise option_error("tensor_parallel", what)
    if loader == "huggingface":
        known.give_default(
            "dataset_shards",
            Input(known.value("gpus")).by_default("the ranks divide the number of shards", Option("set.dataset_shards", "N")),
        )
    known.choose("readers", kind.readers)
    known.choose("readers_of_busiest_node", kind.of_node)
    if kind.amplification:
        known.choose("read_amplification", kind.amplification)
    else:
        known.give_default("read_amplification", Input(1, source=kind.source, where=kind.where, grade="published"))


def warnings_of(known: Quantities, loader: str) -> list[Message]:
    """Warnings about samples that are read more than once."""
    times = known.value("read_amplification")
    if times <= 1 or loader == "megatron":
        return []
    if loader == "huggingface":
        shards, ranks = known.value("dataset_shards"), known.value("gpus")
        what = f"{shards:,.0f} shards over {ranks:,.0f} ranks leave a remainder: every rank reads the whole data set"
        return [Message(what, supply=(Option("set.dataset_shards", "N"),))]
    return [Message(f"every worker reads the whole data set, {times:,.0f} times in all", supply=(Option("loader", "pytorch"),))]
