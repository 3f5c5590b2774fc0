"""Parallel sizes of a job: as given, as published for its model, or the smallest that fit the memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ingest.catalog.records import Gpu, Model, Node, Optimizer, Recipe
from ingest.engine.messages import Message, option_error
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.sizing.checkpoint_files import RankLayout, check_division
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import USUAL_GPUS_PER_NODE
from ingest.sizing.memory_inputs import DEFAULTS, PLACES, ROOM, ParallelSizes, gpus_hold, kept_inputs, place_shares
from ingest.sizing.optimizer_states import zero_stage_of
from ingest.sizing.resolve import ModelSize
from ingest.sizing.rules import finding, messages
from ingest.units import parse_whole

#: Families whose training spreads the weights themselves over all GPUs: embedding tables of recommenders.
SPREAD = ("recsys",)
#: ZeRO stage of a job that states none, and of these families.
USUAL_STAGE, SPREAD_STAGE = 1, 3
_WAYS = ("checkpoint.tensor_parallel", "checkpoint.pipeline_parallel")


class Ranks(NamedTuple):
    """Parallel sizes, the inputs that name them, and warnings about them."""

    layout: RankLayout
    given: Mapping[str, Input]
    warnings: tuple[Message, ...] = ()


def ranks_of(
    given: Mapping[str, Input],
    sized: ModelSize,
    optimizer: Optimizer,
    gpu: Gpu,
    node: Node | None,
    expert_parallel: int | str | None,
    zero_stage: int | str | None,
    recipe: Recipe,
) -> Ranks | None:
    """Return the parallel groups of a job; None if the number of GPUs is unknown.

    Recipe and optimizer decide the states that the memory of a GPU holds; `expert_parallel` and `zero_stage` are as written.

    Raises UsageError: sizes that do not divide the GPUs or the model.
    """
    usual = SPREAD_STAGE if sized.entry is not None and sized.entry.family in SPREAD else USUAL_STAGE
    stage = zero_stage_of(zero_stage if zero_stage is not None else usual)
    expert = None if expert_parallel is None else parse_whole(expert_parallel, "--expert-parallel", 1)
    if "gpus" not in given:
        return None
    gpus = int(given["gpus"].value)
    stated = {name: int(given[name].value) for name in ("tensor_parallel", "pipeline_parallel") if name in given}
    tensor, pipeline = stated.get("tensor_parallel", 1), stated.get("pipeline_parallel", 1)
    if gpus % (tensor * pipeline):
        raise option_error("gpus", f": found {gpus:,}, expected a multiple of tensor × pipeline = {tensor} × {pipeline}")
    if sized.architecture is not None:
        check_division(sized.architecture, tensor, pipeline, int(expert or 1))
    is_known = "parameters" in given and gpu.memory_bytes is not None

    job: dict[str, float] = {}
    if is_known:
        memory = from_fields({"memory_bytes_per_gpu": gpu.memory_bytes})
        counted = {**memory, **{name: given[name] for name in ("parameters", "gpus")}}
        states = kept_inputs(recipe, optimizer, sized, {name: item.value for name, item in counted.items()})
        inputs = {**sized.given, **states, **place_shares(PLACES[stage, "none"]), **DEFAULTS, **counted}
        job = {name: item.value for name, item in inputs.items()}

    def holds(tensor: int, pipeline: int, expert: int) -> bool:
        """Whether the memory of a GPU holds its share, as `memory` answers it; any sizes do where it is unknown."""
        if not is_known:
            return True
        sizes = ParallelSizes(tensor, pipeline, 1, expert).quantities(sized)
        known = {**job, **{name: item.value for name, item in sizes.items()}}
        known[ROOM] = solve(ROOM, known)  # once: what the GPUs must hold follows from it
        return gpus_hold(partial(solve, given=known))

    spread, chosen = int(expert or 1), dict[str, Input]()
    warnings: tuple[Message, ...] = ()
    published = _published(sized.entry, gpus, expert, holds) if not stated and sized.entry is not None else None
    if published is not None:
        tensor, pipeline, spread, chosen = published
    elif len(stated) < 2:
        # Tensor parallelism within a node first, then pipeline stages: the smallest sizes whose states fit the memory.
        each = node.gpus_per_node if node is not None else gpu.gpus_per_node
        found = False
        for tensor, pipeline in _candidates(gpus, stated, sized, int(each.value) if each is not None else USUAL_GPUS_PER_NODE):
            if found := holds(tensor, pipeline, spread):
                break
        why = f"the smallest that fit {gpu.name} at ZeRO stage {stage}, tensor parallelism within the node first"
        if not found:
            why = "the largest that divide the job; none fits the memory"
        if not is_known:
            why = "the parameters or the memory of the GPU are unknown"
        sizes = {"tensor_parallel": Input(tensor), "pipeline_parallel": Input(pipeline)}
        chosen = {name: item.by_default(why, *_WAYS) for name, item in sizes.items() if name not in stated}
        tight = finding("W26", words={"sizes": "" if found else "too small"}, gpus=gpus, gpu=gpu.name, stage=stage)
        warnings = tuple(messages([tight]))
    data = gpus // (tensor * pipeline)
    if data % spread:
        raise option_error("expert_parallel", f": found {spread:g}, expected a divisor of the {data} replicas")
    return Ranks(RankLayout(tensor, pipeline, data, spread, stage), chosen, warnings)


def _published(
    entry: Model, gpus: int, expert: float | None, holds: Callable[[int, int, int], bool]
) -> tuple[int, int, int, dict[str, Input]] | None:
    """The published sizes of the nearest number of GPUs that divide the job and fit its memory."""
    published = [size for size in entry.tensor_parallel if size.isdecimal() and int(size) and size in entry.pipeline_parallel]
    for counted in sorted(published, key=lambda size: (abs(math.log(int(size) / gpus)), int(size))):
        sizes = {"tensor_parallel": entry.tensor_parallel[counted], "pipeline_parallel": entry.pipeline_parallel[counted]}
        tensor, pipeline = (int(item.value) for item in sizes.values())
        of_experts = entry.expert_parallel.get(counted)
        spread = int(expert if expert is not None else of_experts.value if of_experts is not None else 1)
        divides = gpus % (tensor * pipeline) == 0 and gpus // (tensor * pipeline) % spread == 0
        if divides and holds(tensor, pipeline, spread):
            why = f"as published for {entry.name} on {int(counted):,} GPUs"
            why += f", with {spread}-way expert parallelism" if spread > 1 else ""
            given = {name: item.by_default(why, *_WAYS) for name, item in from_fields(sizes).items()}
            return tensor, pipeline, spread, given
    return None


def _candidates(gpus: int, stated: Mapping[str, int], sized: ModelSize, gpus_per_node: int) -> Iterator[tuple[int, int]]:
    """Sizes in the order of preference: powers of two within a node that divide the heads, then more stages."""
    model = sized.architecture
    heads, layers = (model.heads, model.layers) if model is not None else (0, 0)
    tensors = [stated["tensor_parallel"]] if "tensor_parallel" in stated else [
        size for size in (1 << step for step in range(gpus_per_node.bit_length()))
        if size <= gpus_per_node and gpus % size == 0 and (not heads or heads % size == 0)
    ]  # fmt: skip
    stages = stated.get("pipeline_parallel")
    most = gpus // tensors[-1]
    yield from ((size, stages or 1) for size in tensors if gpus % (size * (stages or 1)) == 0)
    if stages is None:
        yield from ((tensors[-1], parts) for parts in range(2, min(most, layers or most) + 1) if most % parts == 0)
