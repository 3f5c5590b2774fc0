"""The inputs of `ingest memory`: what training keeps per parameter, where ZeRO and offload place it, and what a step takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ingest.catalog.records import Optimizer, Recipe
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import UsageError, expected_one_of, one_of
from ingest.sizing.checkpoint_files import expert_share, largest_stage_factor
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import by_user
from ingest.sizing.memory_activations import DEFAULTS as STEP_DEFAULTS
from ingest.sizing.memory_activations import (
    check_known,
    gathered_parameters,
    kept_elements,
    parts_again,
    recompute_inputs,
    residual_width,
)
from ingest.sizing.optimizer_states import ModelSize, kept_by, zero_stage_of

#: Inputs that nobody has to give.
DEFAULTS = {
    "memory_utilization": Input(0.9).by_default("90 % of the memory for states", "utilization"),
    "residual_bytes_per_gpu": Input(0).by_default("no activations or buffers", "residual"),
}
OFFLOADS = ("none", "cpu", "nvme")


class MemoryPart(NamedTuple):
    """The place of one part of the model states: 1 at its place, 0 elsewhere."""

    replicated: int = 0
    partitioned: int = 0
    offloaded: int = 0


R, P, OFF = MemoryPart(replicated=1), MemoryPart(partitioned=1), MemoryPart(offloaded=1)
#: ZeRO stage, offload -> weights, gradients, optimizer states (ZeRO figure 1; ZeRO-Offload; ZeRO-Infinity)
PLACES: dict[tuple[int, str], tuple[MemoryPart, MemoryPart, MemoryPart]] = {
    (0, "none"): (R, R, R),
    (1, "none"): (R, R, P),
    (2, "none"): (R, P, P),
    (3, "none"): (P, P, P),
    (1, "cpu"): (R, R, OFF),
    (2, "cpu"): (R, OFF, OFF),
    (3, "cpu"): (P, OFF, OFF),
    (3, "nvme"): (OFF, OFF, OFF),
}
#: An optimizer on the host takes gradients in full precision.
OFFLOADED_GRADIENT = Input(
    4, source="zero-infinity2021", where="sec. 3: full-precision gradients next to the optimizer", grade="assumed",
    note="gradients are offloaded in full precision, with the optimizer states",
)  # fmt: skip
#: Where the parts of a step are counted, fragments are what remains.
UTILIZATION_OF_STEP = Input(
    1,
    source="nemo-automodel",
    where="pull request 2673: 79.11 GiB, 84.9 GB, can be allocated of 80 GB",
    grade="published",
).by_default("the memory of the data sheet, which is 6 % less than can be allocated: that is left to fragments", "utilization")


#: The default recipe and ZeRO stage.
USUAL_RECIPE, USUAL_STAGE = "zero-16", 3

#: Bytes of a weight of an adapter; the frozen model may be narrower.
ADAPTER_WIDTH = 2
#: GPUs of a node where neither the node type nor the GPU names them.
USUAL_GPUS_PER_NODE = 8
Places = tuple[MemoryPart, MemoryPart, MemoryPart]


class ParallelSizes(NamedTuple):
    """The parallel sizes of a job; `expert_tensor` is 0 where all tensor ranks share each expert."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int = 0

    @classmethod
    def of(cls, options: Mapping[str, float]) -> ParallelSizes:
        """The sizes among the options, checked against the number of GPUs.

        Raises:
            UsageError: sizes that do not divide the GPUs.
        """
        sizes = cls(**{kind: int(options[f"{kind}_parallel"]) for kind in cls._fields if f"{kind}_parallel" in options})
        gpus, shards = options.get("gpus", 0), sizes.tensor * sizes.pipeline
        if gpus % shards:
            raise option_error("gpus", f": found {gpus:g}, expected a multiple of tensor × pipeline = {shards}")
        if gpus // shards % sizes.context:
            found = f": found {sizes.context}, expected a divisor of the {gpus // shards:g} replicas"
            raise option_error("checkpoint.context_parallel", found)
        within = sizes.tensor_of_experts
        if sizes.tensor % within:
            found = f": found {within}, expected a divisor of {sizes.tensor} tensor ranks"
            raise option_error("checkpoint.expert_tensor_parallel", found)
        if (ranks := gpus // sizes.pipeline // within) % sizes.expert:
            what = f"the {ranks:g} {'replicas' if within == sizes.tensor else 'ranks of a stage'}"
            found = f": found {sizes.expert}, expected a divisor of {what}"
            other = Option("checkpoint.expert_tensor_parallel", "1")
            parts = () if gpus // sizes.pipeline % sizes.expert else (", or ", other)
            raise UsageError(Message(Option("checkpoint.expert_parallel"), found, *parts))
        return sizes

    def quantities(self, size: ModelSize) -> dict[str, Input]:
        """The sizes and what follows from them for a model, as inputs."""
        sizes = {f"{kind}_parallel": Input(getattr(self, kind)) for kind in ("tensor", "pipeline", "context")}
        sizes["replica_group"] = Input(self.replica_group)
        found = {name: item for name, item in sizes.items() if item.value > 1}
        model, within = size.architecture, self.tensor_of_experts
        if model is None:
            return found
        if self.expert > 1 or within != self.tensor:
            # The parameters in experts are not divided as the layers are.
            found["expert_share"] = derived(expert_share(model), f"counted over the weights of {model.id}")
            found |= {"expert_parallel": Input(self.expert), "expert_tensor_parallel": Input(within)}
        if 1 < self.pipeline <= model.layers:
            where = f"blocks of {model.id} distributed over {self.pipeline} stages"
            found["largest_stage_factor"] = derived(largest_stage_factor(model, self.pipeline), where)
        return found

    @property
    def tensor_of_experts(self) -> int:
        """Tensor ranks that share one expert."""
        return self.expert_tensor or self.tensor

    @property
    def replica_group(self) -> int:
        """Replicas that come together."""
        return math.lcm(self.tensor * self.context, self.expert * self.tensor_of_experts) // self.tensor


class MemoryJob(NamedTuple):
    """A model, the GPU that holds it, and what the user set.

    Attributes:
        size: the model.
        recipe, optimizer: what training keeps per parameter.
        machine: memory of a GPU and GPUs of a node, as inputs.
        options: options in base units, by the name of their quantity.
        settings: quantities set by name.
        attention: `flash` or `scores`.
        dropout: whether masks are kept.
        sequence_parallel: whether tensor ranks share the tokens outside of matrices.
        offload: where states go besides the GPU.
        fp8_inputs: whether matrices keep their inputs in 8 bits.
    """

    size: ModelSize
    recipe: Recipe
    optimizer: Optimizer
    machine: Mapping[str, Input]
    options: Mapping[str, float]
    settings: Mapping[str, float]
    attention: str = "flash"
    dropout: bool = False
    sequence_parallel: bool = True
    offload: str = "none"
    fp8_inputs: bool = False

    @property
    def fixed(self) -> dict[str, float]:
        """All that the user set, by quantity."""
        return {**self.options, **self.settings}

    @property
    def gpus_per_node(self) -> int:
        """GPUs of a node; 8 where they are unknown."""
        return int(self.machine["gpus_per_node"].value) if "gpus_per_node" in self.machine else USUAL_GPUS_PER_NODE

    def counts_step(self, places: Places) -> bool:
        """Whether a training step is counted: with a sequence length, or where weights are gathered from off the GPU."""
        return "sequence_length" in self.fixed or (places[0] is OFF and self.size.architecture is not None)

    def given(self, parallel: ParallelSizes, stage: int, recompute: str) -> dict[str, Input]:
        """The inputs at parallel sizes, a ZeRO stage and a way to compute again."""
        places = PLACES[stage, self.offload]
        step = _step(self, places, recompute, parallel) if self.counts_step(places) else {}
        found = {
            **self.size.given,
            **kept_inputs(self.recipe, self.optimizer, self.size, self.settings, places[1] is OFF),
            **self.machine,
            **place_shares(places),
            **DEFAULTS,
            **step,
            **by_user(self.fixed),
            **parallel.quantities(self.size),
        }
        if step and "residual_bytes_per_gpu" not in self.fixed:
            del found["residual_bytes_per_gpu"]
        return found

    def known(self, given: Mapping[str, Input], recompute: str) -> Quantities:
        """The quantities, with the formulas that these inputs take."""
        known = Quantities(given)
        if recompute == "full" and "layer_input_elements" in given:
            some = "recompute_layers" in given
            known.state("some_layers_recomputed" if some else "all_layers_recomputed")
        elif parts_again(recompute) and "recomputed_elements" in given:
            known.state("parts_recomputed")
        if "residual_bytes_per_gpu" not in given:
            known.state("step_counted")
        return known


def _step(job: MemoryJob, places: Places, recompute: str, parallel: ParallelSizes) -> dict[str, Input]:
    """What a training step takes besides the model states."""
    fixed, attention = job.fixed, job.attention
    model = check_known(job.size.architecture, job.size.name)
    found = {**STEP_DEFAULTS, "memory_utilization": UTILIZATION_OF_STEP}
    nothing = Input(0, note="no sequence length is given")
    if "sequence_length" in fixed:
        where = f"counted over the weights of {model.id}"
        found |= {
            **kept_elements(model, attention == "scores" and recompute == "none", parts_again(recompute)).quantities(where),
            **dict(recompute_inputs(recompute, attention, job.dropout, job.fp8_inputs)),
        }
        found["residual_elements"] = derived(residual_width(model), where)
        found["scored_words"] = derived(model.vocabulary, where)
    else:
        found |= dict.fromkeys(("activation_bytes_per_gpu", "logit_bytes_per_gpu", "gathered_token_bytes_per_gpu"), nothing)
    if not job.sequence_parallel:
        found["sequence_split"] = Input(0, origin="user")
    elif parallel.tensor > 1:
        why = "sequence parallelism: tensor ranks share the tokens outside of matrices"
        found["sequence_split"] = Input(1).by_default(why, "no_sequence_parallel")
    if recompute != "full" and not parts_again(recompute):
        found["recomputed_layer_bytes"] = Input(0, note="no layer is computed again")
    elif fixed.get("recompute_layers", model.layers) * parallel.pipeline < model.layers:
        first = "the first layers are computed again when the later ones have freed theirs"
        found["recomputed_layer_bytes"] = Input(0, note=first)
    if places[0] is R:
        found["gather_bytes_per_gpu"] = Input(0, note="every replica holds the weights")
    else:
        found["gathered_parameters"] = derived(
            gathered_parameters(model, parallel.expert), f"counted over the weights of {model.id}"
        )
    return found


def places_of(zero_stage: int | str, offload: str) -> Places:
    one_of("--offload", offload, OFFLOADS)
    stage = zero_stage_of(zero_stage)
    if (stage, offload) not in PLACES:
        stages = ", ".join(str(known) for known, way in PLACES if way == offload)
        raise UsageError(f"--offload: found {offload} at ZeRO stage {stage}, expected ZeRO stage {stages}")
    return PLACES[stage, offload]


def recipe_of(name: str, catalog: Catalog) -> Recipe:
    known = catalog.ids(Recipe.kind)
    for found in known:
        if name.isdecimal() and name == found.rpartition("-")[2]:
            return catalog.get(Recipe, found)
    if name.isdecimal():
        sizes = {int(number): found for found in known if (number := found.rpartition("-")[2]).isdecimal()}
        closest = sizes[min(sizes, key=lambda size: abs(size - int(name)))]
        raise option_error("recipe", f": found {name}, expected one of {', '.join(known)}; did you mean '{closest}'?")
    if name not in known and not name.endswith((".yaml", ".yml")):
        raise option_error("recipe", f": found '{name}', {expected_one_of(name, known)}")
    return catalog.get(Recipe, name)


def kept_inputs(
    recipe: Recipe, chosen: Optimizer, size: ModelSize, settings: Mapping[str, float], gradients_offloaded: bool = False
) -> dict[str, Input]:
    of_recipe = {
        "weight_bytes_per_parameter": chosen.weights or recipe.weights,
        "gradient_bytes_per_parameter": recipe.gradients,
    }
    kept = {**kept_by(chosen, "bf16", size, settings), **from_fields(of_recipe)}
    if gradients_offloaded and 0 < recipe.gradients.value < OFFLOADED_GRADIENT.value:
        kept["gradient_bytes_per_parameter"] = OFFLOADED_GRADIENT
    if not chosen.adapters:
        return kept
    if "parameters" not in size.given and "parameters" not in settings:
        raise UsageError("the model is missing: expected the frozen model of the adapters, or --set parameters=N")
    counted = kept.pop("trainable_parameters", None)
    adapters = counted or Input(settings["trainable_parameters"], origin="user")
    # The frozen model has neither gradients nor optimizer states: those of its adapters count for each of its parameters.
    share = adapters.value / (settings.get("parameters") or size.given["parameters"].value)
    weights = kept["weight_bytes_per_parameter"]
    note = "; ".join(filter(None, (f"adapters of {adapters.value:,.0f} parameters and a frozen model", adapters.note)))
    scaled = {
        name: item._replace(value=item.value * share, grade=adapters.grade or "derived", note=note)
        for name, item in kept.items()
        if name.endswith("_bytes_per_parameter")
    }
    width = weights.value + max(weights.value, ADAPTER_WIDTH) * share
    return {**kept, **scaled, "weight_bytes_per_parameter": weights._replace(value=width, note=note)}


@cache
def place_shares(places: Places) -> Mapping[str, Input]:
    """The places as the shares that the formulas take."""
    return {
        f"{name}_{way}": Input(share, source="zero2020", where="sec. 5, figure 1")
        for name, part in zip(("weights", "gradients", "optimizer"), places, strict=True)
        for way, share in part._asdict().items()
    }
