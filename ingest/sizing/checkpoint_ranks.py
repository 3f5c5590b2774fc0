"""Parallel sizes of a job: as given, as published for its model, or the smallest that fit the memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.catalog.records import Gpu, Model, Node, Optimizer
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, option_error
from ingest.engine.value import Input
from ingest.sizing.checkpoint_files import RankLayout, check_division
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.memory import holds_states
from ingest.sizing.optimizer_states import ModelSize, zero_stage_of
from ingest.sizing.rules import applying, finding
from ingest.units import parse

#: GPUs of a node where neither the node type nor the GPU names them.
USUAL_GPUS_PER_NODE = 8
#: Families whose training spreads the weights themselves over all GPUs: embedding tables of recommenders.
SPREAD = ("recsys",)
_WAYS = ("checkpoint.tensor_parallel", "checkpoint.pipeline_parallel")


class Machine(NamedTuple):
    """The GPU and the node type of a job."""

    gpu: Gpu
    node: Node | None

    @property
    def gpus_per_node(self) -> int:
        """GPUs that share a fast link."""
        counted = self.node.gpus_per_node if self.node is not None else self.gpu.gpus_per_node
        return int(counted.value) if counted is not None else USUAL_GPUS_PER_NODE


class Ranks(NamedTuple):
    """Parallel sizes, the inputs that name them, and warnings about them."""

    layout: RankLayout
    given: Mapping[str, Input]
    warnings: tuple[Message, ...] = ()


class Fit(NamedTuple):
    """Whether the memory of a GPU holds its share of the model states."""

    given: Mapping[str, Input]
    sized: ModelSize
    optimizer: Optimizer
    gpu: Gpu
    stage: int
    catalog: Catalog

    @property
    def is_known(self) -> bool:
        """Whether the parameters and the memory are known."""
        return "parameters" in self.given and self.gpu.memory_bytes is not None

    def holds(self, tensor: int, pipeline: int, expert: int) -> bool:
        """Whether it does at parallel sizes, as `memory` answers it; any sizes do where it is unknown."""
        if not self.is_known:
            return True
        states = {name: self.given[name] for name in ("parameters", "gpus")}
        states |= from_fields({"memory_bytes_per_gpu": self.gpu.memory_bytes})
        return holds_states(states, self.sized, self.optimizer, tensor, pipeline, expert, self.stage, self.catalog)


def ranks_of(
    given: Mapping[str, Input],
    sized: ModelSize,
    optimizer: Optimizer,
    machine: Machine,
    expert_parallel: int | str | None,
    zero_stage: int | str | None,
    catalog: Catalog,
) -> Ranks | None:
    """Return the parallel groups of a job; None if the number of GPUs is unknown.

    Args:
        given: `gpus`, parameters, and the sizes that the user sets.
        sized: the model.
        optimizer: decides the states that the memory holds.
        machine: whose memory holds them.
        expert_parallel, zero_stage: as written; None if not given.
        catalog: where the recipe of the states comes from.

    Raises:
        UsageError: sizes that do not divide the GPUs or the model.
    """
    stage = zero_stage_of(zero_stage if zero_stage is not None else usual_stage(sized))
    expert = None if expert_parallel is None else parse(expert_parallel, "1", "--expert-parallel")
    if expert is not None and (expert < 1 or expert % 1):
        raise option_error("expert_parallel", f": found {expert_parallel}, expected a whole number above 0")
    if "gpus" not in given:
        return None
    gpus = int(given["gpus"].value)
    stated = {name: int(given[name].value) for name in ("tensor_parallel", "pipeline_parallel") if name in given}
    if gpus % math.prod(stated.values()):
        shown = " × ".join(str(stated.get(name, 1)) for name in ("tensor_parallel", "pipeline_parallel"))
        raise option_error("gpus", f": found {gpus:,}, expected a multiple of tensor × pipeline = {shown}")
    if sized.architecture is not None:
        tensor, pipeline = (stated.get(name, 1) for name in ("tensor_parallel", "pipeline_parallel"))
        check_division(sized.architecture, tensor, pipeline, int(expert or 1))
    fits = Fit(given, sized, optimizer, machine.gpu, stage, catalog)
    found = None
    if not stated and sized.entry is not None:
        found = _published(sized.entry, gpus, expert, fits)
    if found is None and len(stated) < 2:
        found = _smallest(gpus, stated, machine, int(expert or 1), fits)
    ranks = found or Ranks(_layout(gpus, stated["tensor_parallel"], stated["pipeline_parallel"], int(expert or 1), stage), {})
    data = ranks.layout.data
    if data % ranks.layout.expert:
        raise option_error("expert_parallel", f": found {ranks.layout.expert:g}, expected a divisor of the {data} replicas")
    return ranks


def usual_stage(sized: ModelSize) -> int:
    """ZeRO stage by default: 1; 3 where the weights themselves are spread over all GPUs."""
    return 3 if sized.entry is not None and sized.entry.family in SPREAD else 1


def _layout(gpus: int, tensor: int, pipeline: int, expert: int, stage: int) -> RankLayout:
    return RankLayout(tensor, pipeline, gpus // (tensor * pipeline), expert, stage)


def _published(entry: Model, gpus: int, expert: float | None, fits: Fit) -> Ranks | None:
    """The published sizes of the nearest number of GPUs that divide the job and fit its memory."""
    published = [size for size in entry.tensor_parallel if size.isdecimal() and int(size) and size in entry.pipeline_parallel]
    for counted in sorted(published, key=lambda size: (abs(math.log(int(size) / gpus)), int(size))):
        sizes = {"tensor_parallel": entry.tensor_parallel[counted], "pipeline_parallel": entry.pipeline_parallel[counted]}
        tensor, pipeline = (int(item.value) for item in sizes.values())
        of_experts = entry.expert_parallel.get(counted)
        spread = int(expert if expert is not None else of_experts.value if of_experts is not None else 1)
        divides = gpus % (tensor * pipeline) == 0 and gpus // (tensor * pipeline) % spread == 0
        if not divides or not fits.holds(tensor, pipeline, spread):
            continue
        why = f"as published for {entry.name} on {int(counted):,} GPUs"
        why += f", with {spread}-way expert parallelism" if spread > 1 else ""
        found = {name: item.by_default(why, *_WAYS) for name, item in from_fields(sizes).items()}
        return Ranks(_layout(gpus, tensor, pipeline, spread, fits.stage), found)
    return None


def _smallest(gpus: int, stated: Mapping[str, int], machine: Machine, expert: int, fits: Fit) -> Ranks:
    """Tensor parallelism within a node first, then pipeline stages: the smallest sizes whose states fit the memory."""
    candidates = list(_candidates(gpus, stated, fits.sized, machine))
    found = next((one for one in candidates if fits.holds(*one, expert)), None)
    tensor, pipeline = found or candidates[-1]
    why = f"the smallest that fit {machine.gpu.name} at ZeRO stage {fits.stage}, tensor parallelism within the node first"
    if not found:
        why = "the largest that divide the job; none fits the memory"
    if not fits.is_known:
        why = "the parameters or the memory of the GPU are unknown"
    sizes = {"tensor_parallel": Input(tensor), "pipeline_parallel": Input(pipeline)}
    chosen = {name: item.by_default(why, *_WAYS) for name, item in sizes.items() if name not in stated}
    tight = {"sizes": "" if found else "too small"}
    warnings = applying([finding("W26", words=tight, gpus=gpus, gpu=machine.gpu.name, stage=fits.stage)])
    return Ranks(_layout(gpus, tensor, pipeline, expert, fits.stage), chosen, tuple(one.message() for one in warnings))


def _candidates(gpus: int, stated: Mapping[str, int], sized: ModelSize, machine: Machine) -> Iterator[tuple[int, int]]:
    """Sizes in the order of preference: powers of two within a node that divide the heads, then more stages."""
    model = sized.architecture
    heads, layers = (model.heads, model.layers) if model is not None else (0, 0)
    tensors = [stated["tensor_parallel"]] if "tensor_parallel" in stated else [
        size for size in (1 << step for step in range(machine.gpus_per_node.bit_length()))
        if size <= machine.gpus_per_node and gpus % size == 0 and (not heads or heads % size == 0)
    ]  # fmt: skip
    stages = stated.get("pipeline_parallel")
    most = gpus // tensors[-1]
    yield from ((size, stages or 1) for size in tensors if gpus % (size * (stages or 1)) == 0)
    if stages is None:
        yield from ((tensors[-1], parts) for parts in range(2, min(most, layers or most) + 1) if most % parts == 0)
