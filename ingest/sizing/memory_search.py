"""Searches over answers: the parallel layouts that hold a training step, and the largest size that a question accepts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS
from ingest.architecture.model_description import HEAD_WIDTH, of_numbers
from ingest.architecture.structure import Architecture, Numbers, numbers_in
from ingest.engine.messages import option_error
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, revised
from ingest.errors import UsageError
from ingest.sizing.memory_inputs import AGAIN, LATENT, PLACES, VARIED, MemoryJob, ParallelSizes
from ingest.text import grouped
from ingest.units import display

#: Shorter parts of a sequence leave too little work between two exchanges of keys and values: Llama 3 cuts 131,072 tokens
#: into 16 parts of 8,192.
LEAST_CONTEXT_TOKENS = 4096
#: Ranks along which a layout is cut at most; published runs use up to 64 stages and 64 ranks of experts.
MOST_STAGES, MOST_CONTEXT, MOST_EXPERT_RANKS = 64, 64, 64
#: Fuller GPUs run out of memory where libraries or an uneven router take more: of equal layouts the roomier one comes first.
TIGHT = 0.95
#: ZeRO stages that are practised with pipeline stages, and without.
STAGES = (1, 3)
#: The parts of a GPU's memory, for the reason of a rejection.
PARTS = {
    "model_state_bytes_per_gpu": "model states",
    "activation_bytes_per_gpu": "activations",
    "logit_bytes_per_gpu": "logits",
    "gather_bytes_per_gpu": "gathered weights",
}


#: What the help of `--largest` says of the shapes, after the machine that holds the model.
SHAPES = "hold: by --set hidden_size or --set layers, else of width 128 × layers; with --set experts, one of experts."
#: Quantities of a step that some layouts are given and others compute.
GIVEN_OR_NOT = {"gather_bytes_per_gpu", "recomputed_layer_bytes", "gathered_token_bytes_per_gpu"}
#: GPUs that stand for any number of them, and the value of a size that a candidate does not have.
VERY_MANY, NEUTRAL = 1e8, 1.0


class Layout(NamedTuple):
    """A parallel layout, and whether it holds the step."""

    sizes: ParallelSizes  # parallel sizes
    stage: int  # ZeRO stage
    recompute: str  # what is computed again
    gpus: int  # the fewest GPUs that hold it, or the GPUs given; 0 where no number of them does
    bytes_per_gpu: float  # on each of them; the least for any number of them where none holds it
    filled: float  # share of the memory of a GPU
    at_most: float  # that share where all ranges end high
    reason: str = ""  # why it is rejected; empty where it holds

    @property
    def effort(self) -> tuple[int, ...]:
        """What a layout costs in speed and complexity: recomputation, then ranks that exchange data in each layer."""
        # Nothing is computed again, scores or small parts, whole blocks, or all.
        whole = 2 if {"mlp", "expert"} & {*self.recompute.split(",")} else 1
        return ({"none": 0, "full": 3}.get(self.recompute, whole), *self.sizes, self.stage)

    @property
    def costs(self) -> tuple[float, ...]:
        """Whether it may run out of memory, being nearly full or where all ranges end high, then its effort."""
        return (self.filled > TIGHT, self.at_most > 1, *self.effort)

    def displaces(self, other: Layout) -> bool:
        """Whether it is as simple as another one in every way; parts of layers are computed again by Megatron alone."""
        if other.recompute == "full" and "," in self.recompute:
            return False
        return all(mine <= theirs for mine, theirs in zip(self.costs, other.costs, strict=True))

    def row(self, gpus_per_node: int) -> dict[str, Any]:
        """A row of the table."""
        sizes = {f"{kind}_parallel": getattr(self.sizes, kind) for kind in ("tensor", "pipeline", "context", "expert")}
        found = {**sizes, "zero_stage": str(self.stage), "recompute": self.recompute, "bytes_per_gpu": self.bytes_per_gpu}
        if self.reason:
            return {**found, "reason": self.reason}
        ranks = self.sizes.tensor * self.sizes.pipeline * self.sizes.context
        return {"gpus": self.gpus, "nodes": -(-self.gpus // gpus_per_node), **found, "data_parallel": self.gpus // ranks}


def highest(given: Mapping[str, Input]) -> dict[str, Input]:
    """The inputs with the ranges of a step at the ends that take most memory."""
    ends = {name: item.low if name == AGAIN else item.high for name, item in given.items() if name in VARIED and item.high}
    return {**given, **{name: given[name]._replace(value=end or 0) for name, end in ends.items()}}


def ways_of(model: Architecture, attention: str) -> tuple[str, ...]:
    """The ways to compute again that the search tries, the least work first; attention is `flash` or `scores`.

    >>> from ingest.architecture import describe
    >>> from ingest.catalog.store import Catalog
    >>> ways_of(describe("deepseek-v3", Catalog()), "flash")
    ('none', 'norm,latent,activation', 'norm,latent,mlp,expert', 'full')
    """
    kinds = [name for name in ("mlp", "expert") if any(row.kind == name for row in model.weights)]
    small = ["norm", *(["latent"] if any(row.name.endswith(LATENT) for row in model.weights) else [])]
    parts = [",".join([*small, "activation"]), ",".join([*small, *kinds])] if kinds else []
    return ("none", *(["selective"] if attention == "scores" else []), *parts, "full")


def search(job: MemoryJob, stage: int | None, recompute: str | None) -> tuple[list[Layout], list[Layout]]:
    """Return the layouts that hold a step and are not worse in every way, fewest GPUs first, and the rejected ones.

    The ZeRO stage is None for 1 and 3, what is computed again for each of `ways_of`.

    Raises UsageError: the layers of the model are unknown, or no layout divides the GPUs given.
    """
    stages = tuple(one for one in STAGES if (one, job.offload) in PLACES) if stage is None else (stage,)
    model = job.size.architecture
    assert model is not None
    ways = ways_of(model, job.attention) if recompute is None else (recompute,)
    gpus = int(job.fixed.get("gpus", 0))
    found: list[Layout] = []
    for level in stages:
        # ZeRO-2 and 3 gather at each micro-batch, which pipelines do not do, unless the user asks for it.
        shapes = (sizes for sizes in _candidates(job) if stage is not None or level != 3 or sizes.pipeline == 1)
        candidates = [sizes for sizes in shapes if gpus % group_of(sizes) == 0]
        for way in ways:
            # What is given of some and computed of others, such as weights that one replica gathers from none, is no column.
            alike = grouped((frozenset(GIVEN_OR_NOT & {*job.given(sizes, level, way)}), sizes) for sizes in candidates)
            for members in alike.values():
                found += _judged(job, members, level, way, gpus)
    if not found:
        raise UsageError(f"--gpus: found {gpus:,}, expected a number that some layout divides")
    fitting = sorted(
        (one for one in found if not one.reason),
        key=lambda one: (one.gpus, *one.costs[:3], math.prod(one.sizes[:4]), one.effort),
    )
    rejected = sorted((one for one in found if one.reason), key=lambda one: (one.bytes_per_gpu, one.effort))
    kept: list[Layout] = []
    for one in fitting:
        # None is listed for which another one takes as few GPUs and is as simple in every way.
        if not any(best.displaces(one) for best in kept):
            kept.append(one)
    return kept, rejected


def _candidates(job: MemoryJob) -> Iterator[ParallelSizes]:
    """Sizes that divide the model: tensor ranks within a node, and powers of two."""
    model, fixed = job.size.architecture, job.fixed
    assert model is not None
    experts = {row.shape[0] for row in model.weights if row.kind == "router" and len(row.shape) == 2}
    tokens = fixed["sequence_length"] / LEAST_CONTEXT_TOKENS
    # The largest size of each kind, and the numbers that it has to divide.
    limits: dict[str, tuple[float, Iterable[int]]] = {
        "tensor": (job.gpus_per_node, [model.heads]),
        "pipeline": (min(MOST_STAGES, model.layers), ()),
        "context": (min(MOST_CONTEXT, max(tokens, 1)), ()),
        "expert": (MOST_EXPERT_RANKS if experts else 1, experts),
    }
    axes: list[list[int]] = []
    for kind, (most, divided) in limits.items():
        given = fixed.get(f"{kind}_parallel")
        powers = [1 << step for step in range(int(most).bit_length())]
        sizes = [size for size in powers if size <= most and all(count % size == 0 for count in divided)]
        axes.append(sizes if given is None else [int(given)])
    within = int(fixed.get("expert_tensor_parallel", 0))
    for tensor, pipeline, context, expert in product(*axes):
        if not within or tensor % within == 0:
            yield ParallelSizes(tensor, pipeline, context, expert, within)


def group_of(sizes: ParallelSizes) -> int:
    """GPUs of which a job takes a multiple."""
    return sizes.tensor * sizes.pipeline * sizes.replica_group


def _judged(job: MemoryJob, candidates: list[ParallelSizes], level: int, way: str, gpus: int) -> Iterator[Layout]:
    """Judge all candidates at once: the quantities are columns."""
    import numpy

    singles = [job.given(sizes, level, way) for sizes in candidates]
    names = {name for single in singles for name in single}
    first = {name: next(single[name] for single in singles if name in single) for name in names}
    columns: dict[str, Input] = {}
    for name, item in first.items():
        values = [single[name].value if name in single else NEUTRAL for single in singles]
        columns[name] = item if len({*values}) == 1 else item._replace(value=numpy.array(values, dtype=float))  # type: ignore[arg-type]
    count = len(candidates)

    def column(known: Quantities, name: str) -> Any:
        return numpy.broadcast_to(numpy.asarray(known.step(name).value, dtype=float), (count,))

    known = job.known(columns, way)
    left, needed = column(known, "memory_left_for_partitions"), column(known, "gpus_to_hold")
    if gpus:
        held = [(float(one) > 0) and need <= gpus for one, need in zip(left, needed, strict=True)]
        used = numpy.full(count, float(gpus))
    else:
        held = [float(one) > 0 for one in left]
        # Where no number of GPUs suffices, what each of very many would hold.
        sizes_held = zip(needed, candidates, held, strict=True)
        node = job.gpus_per_node
        used = numpy.array([rented(int(need), group_of(one), node) if holds else VERY_MANY for need, one, holds in sizes_held])
    placed = job.known({**columns, "gpus": Input(used)}, way)  # type: ignore[arg-type]
    most = column(job.known({**highest(columns), "gpus": Input(used)}, way), "total_bytes_per_gpu")  # type: ignore[arg-type]
    total, parts = column(placed, "total_bytes_per_gpu"), {name: column(placed, name) for name in PARTS}
    memory = float(columns["memory_bytes_per_gpu"].value)
    room = memory * float(columns["memory_utilization"].value)
    for place, sizes in enumerate(candidates):
        size, reason = float(total[place]), ""
        if not held[place]:
            largest = max(parts, key=lambda name: float(parts[name][place]))
            shown = [display(value, "B", binary=False, digits=3) for value in (size, room, float(parts[largest][place]))]
            reason = f"{shown[0]} on a GPU exceed {shown[1]}; {PARTS[largest]} take {shown[2]}"
        yield Layout(
            sizes, level, way, 0 if reason else int(used[place]), size, size / memory, float(most[place]) / memory, reason
        )


def rented(needed: int, group: int, gpus_per_node: int) -> int:
    """The GPUs that a job takes where it needs some: whole nodes, or a power of two of one node, in multiples of a group.

    >>> rented(20, 2, 8), rented(12, 4, 8), rented(3, 1, 8), rented(12, 12, 8)
    (24, 16, 4, 24)
    """
    parts = (1 << step for step in range(gpus_per_node.bit_length()))
    part = next((one for one in parts if needed <= one <= gpus_per_node and one % group == 0), 0)
    whole = math.lcm(group, gpus_per_node)
    return part or -(-needed // whole) * whole


def largest(fits: Callable[[int], bool], step: int = 1) -> int:
    """The largest multiple of a step that fits, of which the next does not; 0 where the step itself does not fit."""
    low, high = 0, step
    while fits(high):
        low, high = high, 2 * high
    while high - low > step:
        middle = (low + high) // (2 * step) * step
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def largest_model(
    ask: Callable[[str], Answer],
    shape: Mapping[str, float],
    step: int,
    short: Callable[[Answer], str] = lambda answer: answer.unmet,
) -> Answer:
    """The answer about the largest decoder that its machine holds, with that one and the next larger in a table.

    Width or layers vary where the other is part of the shape; else the width is 128 × the layers, as in GPT-3 175B (Llama 3.1
    405B: 130). `short` says of an answer what its machine is short of.

    Raises UsageError: a shape that leaves nothing to vary, or of which no model fits.
    """
    total, layers, width = Numbers._fields[:3]
    if total in shape or {layers, width} <= shape.keys():
        raise option_error("largest", ": found the size of the model, expected its layers or its width alone")
    of_one = {name: each for name, each in ((layers, 1), (width, HEAD_WIDTH)) if name not in shape}

    @cache
    def asked(size: int) -> tuple[str, Answer]:
        if layers in of_one and size > MAX_LAYERS:
            raise option_error("largest", f": more than {MAX_LAYERS / 2:,.0f} layers of this width fit: set a larger {width}")
        made = numbers_in({**shape, **{name: size * each for name, each in of_one.items()}})
        return made, ask(made)

    found = largest(lambda size: not short(asked(size)[1]), step)
    if not found:
        name, answer = asked(step)
        raise UsageError(f"no model of this shape fits; {name}: {short(answer)}")
    rows = []
    for name, answer in map(asked, (found, found + step)):
        made, why = of_numbers(name), short(answer)
        numbers = {layers: made.layers, width: made.hidden, total: made.parameters}
        rows.append({**numbers, "fits": "no" if why else "yes", "reason": why})
    answer = asked(found)[1]
    return revised(answer, heading=f"The largest that fits. {answer.title}", tables={"largest": rows, **answer.tables})
