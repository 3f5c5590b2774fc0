"""The inputs of `ingest memory`: what training keeps per parameter, where ZeRO and offload place it, and what a step takes.

A matrix keeps its input until its gradient is computed, and matrices that read the same input keep it once. Its output is
kept where a function follows that is not linear: attention after q, k and v, an activation after gate and up. What the
last matrix of a block yields is added to the residual stream and not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import Weight
from ingest.catalog.records import Optimizer, Recipe, Value
from ingest.engine.expression import Num
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, derived
from ingest.errors import UsageError, one_of
from ingest.sizing import USUAL
from ingest.sizing.checkpoint_files import expert_share, largest_stage_factor
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import USUAL_GPUS_PER_NODE, by_user
from ingest.sizing.optimizer_states import NO_HIDDEN_MATRIX, WHOLE, Trained, kept_by
from ingest.sizing.resolve import ModelSize
from ingest.text import grouped

#: Inputs that nobody has to give.
DEFAULTS = USUAL["memory"]
OFFLOADS = ("none", "cpu", "nvme")
#: What of a GPU's memory partitioned states may fill.
ROOM = "memory_left_for_partitions"


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
    1, source="nemo-automodel", where="pull request 2673: 79.11 GiB, 84.9 GB, can be allocated of 80 GB", grade="published"
).by_default("the memory of the data sheet, which is 6 % less than can be allocated: that is left to fragments", "utilization")
#: The default recipe and ZeRO stage.
USUAL_RECIPE, USUAL_STAGE = "zero-16", 3

#: Bytes of a weight of an adapter; the frozen model may be narrower.
ADAPTER_WIDTH = 2
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

        Raises UsageError: sizes that do not divide the GPUs.
        """
        kinds = ("tensor", "pipeline", "context", "expert", "expert_tensor")
        sizes = cls(**{kind: int(options[f"{kind}_parallel"]) for kind in kinds if f"{kind}_parallel" in options})
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
    """A model, the GPU that holds it, and what the user set."""

    size: ModelSize
    #: recipe, optimizer: what training keeps per parameter
    recipe: Recipe
    optimizer: Optimizer
    machine: Mapping[str, Input]  # memory of a GPU and GPUs of a node, as inputs
    options: Mapping[str, float]  # options in base units, by the name of their quantity
    settings: Mapping[str, float]  # quantities set by name
    attention: str = "flash"  # `flash` or `scores`
    dropout: bool = False  # whether masks are kept
    sequence_parallel: bool = True  # whether tensor ranks share the tokens outside of matrices
    offload: str = "none"  # where states go besides the GPU
    fp8_inputs: bool = False  # whether matrices keep their inputs in 8 bits
    trained: Trained = WHOLE  # the part that is trained
    loss: str | None = None  # how the loss is computed, of `LOSSES`; None where it is not said
    step_in_backward: bool = False  # whether each gradient is applied and freed as it is computed
    preference: Mapping[str, Input] = MappingProxyType({})  # models beside the trained one, and sequences of an example

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
        kept = kept_inputs(self.recipe, self.optimizer, self.size, self.settings, places[1] is OFF, self.trained)
        if step:
            kept, buckets = self._gradients(kept, places)
            step = {**step, **buckets}
        found = {
            **self.size.given,
            **kept,
            **self.preference,
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

    def _gradients(self, kept: dict[str, Input], places: Places) -> tuple[dict[str, Input], dict[str, Input]]:
        """The width of gradients in a step, and the buckets that they pass."""
        width = kept["gradient_bytes_per_parameter"]
        if self.step_in_backward:
            note = "each gradient is applied and freed in the backward pass"
            kept = {**kept, "gradient_bytes_per_parameter": Input(0, origin="user", note=note)}
            model = check_known(self.size.architecture, self.size.name)
            largest = max(row.parameters / max(row.count, 1) for row in model.weights)
            held = derived(largest * width.value, f"the largest matrix of {model.id}", note="the gradient at work")
            return kept, {"bucket_bytes_per_gpu": held}
        if places != PLACES[2, "none"] or not width.value:
            return kept, {}
        share = width.value / self.recipe.gradients.value
        note = "the partition of the gradients is copied to 32 bits for the optimizer"
        wide = width._replace(value=max(width.value, 4 * share), source="deepspeed", where=f"{ZERO12}: step", note=note)
        numbers = self.settings.get("parameters") or self.size.given["parameters"].value
        # Buckets of few trained parameters are no larger than their gradients.
        most = min(BUCKET, numbers * share) * 2
        buckets = Input(2 * most, most, 6 * most, source="deepspeed", where=f"{ZERO12}: reduce_bucket_size", grade="derived")
        why = "two buckets of 5e8 gradients, as reduction overlaps the backward pass; up to 1e9, and one for gathered weights"
        bucket = buckets.by_default(why, "set.bucket_bytes_per_gpu")
        return {**kept, "gradient_bytes_per_parameter": wide}, {"bucket_bytes_per_gpu": bucket}

    def known(self, given: Mapping[str, Input], recompute: str) -> Quantities:
        """The quantities, with the formulas that these inputs take."""
        known = Quantities(given)
        if recompute == "full" and "layer_input_elements" in given:
            some = any(name in given for name in ("recompute_layers", AGAIN))
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
    single = fixed.get("gpus") == 1
    if single:
        found["framework_bytes_per_gpu"] = ALONE
    if single or places == PLACES[2, "none"]:
        # Weights of few bits are widened into what others free.
        most = 0.3 if job.recipe.rest is not None else 0.2
        held = STEP_DEFAULTS["fragment_share"]._replace(high=most)
        why = f"an allocator that holds back no fragments; up to {most * 100:.0f} % where lengths vary"
        found["fragment_share"] = held.by_default(why, "set.fragment_share")
    if job.loss is not None:
        found["logit_width"] = LOSSES[job.loss]
    elif job.preference or (not single and places == PLACES[2, "none"] and parallel.tensor * parallel.pipeline == 1):
        found["logit_width"] = LOSS_OF_TRAINERS
    elif single:
        found["logit_width"] = LOSS_ALONE
    nothing = Input(0, note="no sequence length is given")
    if "sequence_length" in fixed:
        counted = kept_elements(model, attention == "scores" and recompute == "none", parts_again(recompute))
        found |= {name: derived(value, f"counted over the weights of {model.id}") for name, value in counted.items()}
        kept = attention == "scores" and recompute != "selective"
        width = Input((5 if job.dropout else 2) if kept else 0, note=f"attention: {attention}; recompute: {recompute}")
        why = "flash attention, which keeps no scores"
        unkept = width.by_default(why, Option("attention", "scores"))
        found["kept_score_width"] = unkept if attention == "flash" else width
        if job.fp8_inputs:
            found["input_narrowing"] = Input(1, source="transformer-engine", where=FP8_WHERE, grade="derived")
        if job.dropout:
            found["mask_width"] = Input(1, source="korthikanti2022", where="sec. 4.1: a mask of one byte")
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
    elif places[0] is P and fixed.get("gpus") == parallel.tensor * parallel.pipeline:
        found["gather_bytes_per_gpu"] = Input(0, note="one replica has no other to gather weights from")
    else:
        largest = gathered_parameters(model, parallel.expert, parallel.pipeline)
        found["gathered_parameters"] = derived(largest, f"counted over the weights of {model.id}")
        if parallel.pipeline > 1:
            found["gathered_parts"] = STAGE_FROZEN if job.optimizer.adapters else STAGE
    return found


def places_of(stage: int, offload: str) -> Places:
    """Where weights, gradients and optimizer states lie. Raises UsageError: an offload that this ZeRO stage does not have."""
    one_of("--offload", offload, OFFLOADS)
    if (stage, offload) not in PLACES:
        stages = ", ".join(str(known) for known, way in PLACES if way == offload)
        raise UsageError(f"--offload: found {offload} at ZeRO stage {stage}, expected ZeRO stage {stages}")
    return PLACES[stage, offload]


def kept_inputs(
    recipe: Recipe,
    chosen: Optimizer,
    size: ModelSize,
    settings: Mapping[str, float],
    gradients_offloaded: bool = False,
    trained: Trained = WHOLE,
) -> dict[str, Input]:
    of_recipe = {
        # A frozen model keeps the width of its recipe, whatever that of its adapters.
        "weight_bytes_per_parameter": _width(recipe, size) if chosen.adapters else chosen.weights or recipe.weights,
        "gradient_bytes_per_parameter": recipe.gradients,
    }
    kept = {**kept_by(chosen, "bf16", size, settings, trained), **from_fields(of_recipe)}
    if chosen.paged:
        paged = f"paged to {chosen.paged} while a step fills the GPU"
        kept |= {
            f"{name}_bytes_per_parameter": Input(0, source="dettmers2022", note=paged) for name in ("momentum", "variance")
        }
    if gradients_offloaded and 0 < recipe.gradients.value < OFFLOADED_GRADIENT.value:
        kept["gradient_bytes_per_parameter"] = OFFLOADED_GRADIENT
    if not chosen.adapters and not {"trainable_parameters", "trainable_share"} & {*kept, *settings}:
        return kept
    if "parameters" not in size.given and "parameters" not in settings:
        raise UsageError("the model is missing: expected the frozen model of the adapters, or --set parameters=N")
    counted, whole = kept.pop("trainable_parameters", None), settings.get("parameters") or size.given["parameters"].value
    given = settings.get("trainable_parameters") or whole * settings.get("trainable_share", 1)
    adapters = counted or Input(given, origin="user")
    # What is frozen has neither gradients nor optimizer states: those of what is trained count for each parameter.
    share = adapters.value / whole
    weights = kept["weight_bytes_per_parameter"]
    what = "adapters of {:,.0f} parameters and a frozen model" if chosen.adapters else "{:,.0f} parameters are trained"
    note = "; ".join(filter(None, (what.format(adapters.value), adapters.note)))
    scaled = {
        name: item._replace(value=item.value * share, grade=adapters.grade or "derived", note=note)
        for name, item in kept.items()
        if name.endswith("_bytes_per_parameter")
    }
    if not chosen.adapters:
        return {**kept, **scaled, "weight_bytes_per_parameter": weights}
    added = max(weights.value, ADAPTER_WIDTH, chosen.weights.value if chosen.weights else 0) * share
    low, high = (end and end + added for end in (weights.low, weights.high))
    widened = weights._replace(value=weights.value + added, low=low, high=high, note=note)
    return {**kept, **scaled, "weight_bytes_per_parameter": widened}


def _width(recipe: Recipe, size: ModelSize) -> Value:
    """The width of a weight where a recipe leaves embedding, head and norms wide."""
    model = size.architecture
    if recipe.rest is None or model is None:
        return recipe.weights
    wide = sum(row.parameters for row in model.weights if row.kind in NO_HIDDEN_MATRIX) / model.parameters_trained
    few, rest = recipe.weights, recipe.rest
    mean, low, high = (few.value * (1 - wide) + (width or rest.value) * wide for width in (rest.value, rest.low, rest.high))
    note = f"{wide * 100:.3g} % of the weights are embedding, head and norms, in 16 bits; up to 32"
    return few._replace(value=mean, low=low, high=high, note=note)


def gpus_hold(value: Callable[[str], Num]) -> bool:
    """Whether the GPUs given hold the model; `value` gives its quantities."""
    return bool(value(ROOM) > 0 and value("gpus_to_hold") <= value("gpus"))


@cache
def place_shares(places: Places) -> Mapping[str, Input]:
    """The places as the shares that the formulas take."""
    return {
        f"{name}_{way}": Input(share, source="zero2020", where="sec. 5, figure 1")
        for name, part in zip(("weights", "gradients", "optimizer"), places, strict=True)
        for way, share in part._asdict().items()
    }


RECOMPUTES = ("none", "selective", "full")
#: Parts of a layer that can be computed again alone: outputs of norms, up-projections of latent attention, activated gates
#: before the last matrix, and whole MLPs or experts.
PARTS = ("norm", "latent", "activation", "mlp", "expert")
ATTENTIONS = ("flash", "scores")
#: Kinds of weights that are multiplied in the layers.
IN_LAYERS = ("attention", "mlp", "expert", "router", "ssm", "conv", "recurrent", "other")
#: Last words of the names of matrices that end a block: their output goes to the residual stream.
ENDS = ("o", "down", "out")
#: Last words of the names of matrices that widen what latent attention keeps.
LATENT = ("q_up", "kv_up")
#: Norms within attention.
HEAD_NORMS = ("qk_norm", "q_norm", "k_norm", "kv_norm", "bias")
#: A router works in full precision, twice as wide, and keeps scores and shares.
ROUTER_COPIES = 4
#: Flash attention keeps one number in full precision for each query and head.
FLASH_ELEMENTS = 2

#: Gradients of one bucket, and where DeepSpeed reduces them.
BUCKET, ZERO12 = 5e8, "runtime/zero/stage_1_and_2.py"
#: On one GPU nothing communicates.
ALONE = Input(
    0.5e9, 0.3e9, 2e9, source="ml-engineering", grade="assumed",
    where="training/performance/README.md, preloaded CUDA kernels: 0.5 to 2 GB",
).by_default("500 MB for the driver and its kernels on one GPU", "set.framework_bytes_per_gpu")  # fmt: skip
#: How a loss is computed -> bytes that it keeps of each score of the vocabulary.
LOSSES = {
    "fused": Input(
        0.5, 0.1, 2, source="liger-kernel", grade="derived", origin="user",
        where="ops/fused_linear_cross_entropy.py: scores of a part of the tokens at a time", note="a fused loss",
    ),
    "chunked": Input(
        5, 4, 6, source="torchtune", grade="derived", origin="user",
        where="modules/loss/ce_chunked_output_loss.py: 16-bit scores and gradients, 32 bits of one of 8 parts",
        note="a loss over parts of the tokens",
    ),
    "plain": Input(
        12, 10, 14, source="transformers", grade="derived", origin="user",
        where="loss/loss_utils.py: 16-bit scores, a copy in 32 bits, their exponentials and gradient; code of 2023 kept 20 B",
        note="a plain loss",
    ),
}  # fmt: skip
#: Libraries that train on one GPU compute a fused loss, in parts or a plain one.
LOSS_ALONE = LOSSES["fused"]._replace(value=1, low=0.5, high=12, origin="catalog").by_default(
    "a loss over parts of the tokens; up to 12 B where it is plain", Option("loss", "plain")
)  # fmt: skip
#: Trainers on DeepSpeed and of preferences compute the loss of their library, mostly a plain one.
LOSS_OF_TRAINERS = LOSSES["plain"]._replace(value=10, low=4, high=14, origin="catalog").by_default(
    "a plain loss, as trainers on ZeRO-2 and of preferences compute it; 4 B where it is chunked", Option("loss", "fused")
)  # fmt: skip
FP8_WHERE = "pytorch/module/linear.py, grouped_linear.py: the quantized input is saved for the gradient of the weights"

#: A pipeline stage gathers its weights once for all micro-batches, and adds their gradients up where they are not partitioned.
STAGE = Input(
    2, 1, 2, source="torchtitan", grade="derived",
    where="torchtitan/distributed/fsdp.py: no resharding after the forward pass of a pipeline; gradients added up in 32 bits",
).by_default("the weights of a stage, and its gradients in 32 bits; 16 bits at the low end", "set.gathered_parts")  # fmt: skip
STAGE_FROZEN = STAGE._replace(value=1, low=None, high=None).by_default("the weights of a stage", "set.gathered_parts")
#: Inputs that nobody has to give.
STEP_DEFAULTS = USUAL["step"]
#: Ranges of a step whose upper ends may come together.
VARIED = (*STEP_DEFAULTS, "bucket_bytes_per_gpu", AGAIN := "recomputed_layer_share")

#: Layers that an adapter run computes again, where it is not said. So do TRL (SFTConfig), ms-swift, LLaMA-Factory, axolotl's
#: LoRA example for Llama 3 and torchtune's for 70B; the Trainer of Transformers, LitGPT and torchtune's 8B_lora.yaml do not.
AGAIN_WITH_ADAPTERS = Input(
    1, 0, 1, source="transformers", where="training_args.py: gradient_checkpointing is off, and on in SFTConfig of TRL",
    grade="published",
).by_default("layers are computed again; up to none, as libraries differ", "recompute")  # fmt: skip


def kept_elements(model: Architecture, expanded: bool = False, again: Collection[str] = ()) -> dict[str, float]:
    """Count the numbers that a training step keeps of each token over all layers, by quantity.

    Where they are `expanded`, keys and values are copied for each query head, as kernels do that keep the scores; the parts of
    `PARTS` in `again` are computed again.

    >>> from ingest.architecture import describe
    >>> from ingest.catalog.store import Catalog
    >>> kept = kept_elements(describe("gpt3-175b", Catalog()))
    >>> # the 34 of Korthikanti et al., flash attention apart
    >>> (2 * (kept["split_elements"] + kept["common_elements"]) + kept["masked_elements"]) / (96 * 12_288)
    34.0...
    """
    norms = [row for row in model.weights if row.kind == "norm"]
    # The width between the layers, which the embedding may not have: that of most norms.
    between = [row for row in norms if len(row.shape) == 1 and _last(row) not in HEAD_NORMS]
    hidden = max(((row.count, row.shape[0]) for row in between), default=(0, model.hidden))[1]
    rows = [row for row in model.weights if row.kind in IN_LAYERS and row.passes and len(row.shape) > 1]
    first, ends = [row for row in rows if _last(row) not in ENDS], [row for row in rows if _last(row) in ENDS]
    split = dict.fromkeys(("", *PARTS), 0.0)
    for row in first:
        if row.kind != "router":
            split[_part(row, "latent" if _last(row) in LATENT else "", again)] += row.shape[0] * row.passes
    common = float(sum(ROUTER_COPIES * row.shape[0] * row.passes for row in first if row.kind == "router"))
    # Attention keeps what its last matrix reads, which in FP8 keeps a copy; a router reads what its norm yields unchanged.
    narrowed = dict.fromkeys(split, 0.0)
    for row in ends:
        part = _part(row, "activation" if _last(row) == "down" else "", again)
        split[part] += row.shape[-1] * row.passes
        narrowed[part] += row.shape[-1] * row.passes * (1 if _last(row) == "down" else -1)
    # Matrices of one block with the same width read the same input; a router reads what shared experts read.
    shared = ("router", "shared_expert")
    named = (("shared" if row.name.startswith(shared) else row.name.rpartition(".")[0], row) for row in first)
    readers = grouped(((block, row.shape[-1]), row) for block, row in named)
    blocks = narrowed_blocks = 0.0
    for (_, width), members in readers.items():
        passes = max(row.passes for row in members)
        if width == hidden and members[0].kind != "expert":
            blocks += passes
            narrowed_blocks += 0 if any(row.kind == "router" for row in members) else passes
        else:
            part = _part(members[0], "norm" if members[0].kind == "attention" else "", again)
            split[part] += width * passes
            narrowed[part] += width * passes
    scales = sum(row.count for row in norms if row.shape == (hidden,) and not row.name.endswith(".bias"))
    normed = max(scales, blocks)
    # The head reads what the last norm yields.
    yielded = hidden * (min(blocks, normed) + any(row.kind == "head" and row.passes for row in model.weights))
    heads = sum(row.heads * row.layers for row in model.attentions)
    split["latent" if any(_last(row) in LATENT for row in rows) else ""] += _expanded_keys(model, rows, expanded)
    split[""] += FLASH_ELEMENTS * heads
    if any(_last(row) in ("qk_norm", "q_norm") for row in norms) and not any(_last(row).endswith("_down") for row in rows):
        # Queries and keys before the norms of their heads.
        split[""] += sum(row.shape[0] * row.passes for row in rows if _last(row) in ("q", "k"))
    unfused = [row for row in first if _last(row) == "gate" and row.kind in ("mlp", "expert")]
    unfused += [row for row in ends if row.kind == "expert"]
    return {
        "split_elements": sum(count for part, count in split.items() if part not in again),
        "common_elements": common + hidden * normed + (0 if "norm" in again else yielded),
        "masked_elements": sum(row.shape[0] * row.passes for row in ends if row.kind != "expert"),
        "unfused_elements": sum(row.shape[0] * row.passes for row in unfused if row.kind not in again),
        "recomputed_elements": sum(count for part, count in split.items() if part in again)
        + (yielded if "norm" in again else 0),
        # Besides the layers, the last norm keeps its input, and the head that of its own.
        "layer_input_elements": hidden * (model.layers + 2),
        "score_elements": heads,
        "transformer_layers": model.layers,
        "narrowed_split_elements": sum(count for part, count in narrowed.items() if part not in again),
        "narrowed_common_elements": 0 if "norm" in again else hidden * min(narrowed_blocks, normed),
        "residual_elements": hidden,
        "scored_words": model.vocabulary,
    }


def _part(row: Weight, part: str, again: Collection[str]) -> str:
    """The part of a layer whose recomputation drops what a row keeps: its whole block where that is computed again."""
    block = row.kind if row.kind == "expert" else row.name.partition(".")[0]
    return block if block in again and block in PARTS else part


def _last(row: Weight) -> str:
    return row.name.rpartition(".")[2]


def _expanded_keys(model: Architecture, rows: Sequence[Weight], expanded: bool) -> float:
    """Keys and values beyond what their matrices yield: each head of latent attention has the part with positions."""
    latent = [row for row in rows if _last(row) == "kv_up"]
    if not latent and not expanded:
        return 0
    yielded = sum(row.shape[0] * row.passes for row in latent or rows if _last(row) in ("kv_up", "k", "v"))
    wanted = sum(row.heads * (row.key + row.value) * row.layers for row in model.attentions)
    return max(wanted - yielded, 0)


def gathered_parameters(model: Architecture, expert_parallel: int, stages: int) -> float:
    """Parameters of the largest part that ZeRO-3 gathers: a mean layer, or the embedding or head; all of a pipeline stage."""
    tables = [row.parameters for row in model.weights if row.kind in ("embedding", "head")]
    experts = sum(row.parameters for row in model.weights if row.kind == "expert")
    if stages > 1:
        return (model.parameters - experts + experts / expert_parallel) / stages
    others = model.parameters - sum(tables) - experts
    layer = (others + experts / expert_parallel) / max(model.layers, 1)
    return max([layer, *tables])


def parts_again(recompute: str) -> tuple[str, ...]:
    """The parts of a layer that are computed again, where they are named.

    >>> parts_again("norm,latent"), parts_again("full")
    (('norm', 'latent'), ())

    Raises UsageError: an unknown part.
    """
    if recompute in RECOMPUTES:
        return ()
    parts = tuple(part.strip() for part in recompute.split(","))
    for part in parts:
        one_of("--recompute", part, (*RECOMPUTES, *PARTS) if len(parts) == 1 else PARTS)
    return parts


def check_known(model: Architecture | None, name: str) -> Architecture:
    """The table of weights, without which activations are not known.

    Raises UsageError: a model of which only the parameters are known.
    """
    if model is None or not model.layers:
        raise option_error("sequence_length", f": the layers of {name} are not known, expected a model with a config.json")
    return model
