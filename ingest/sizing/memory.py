"""`ingest memory`: model states, activations and buffers in GPU memory, and the GPUs and nodes that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Node, Optimizer, Recipe
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import UsageError, one_of
from ingest.sizing.checkpoint_files import check_division, expert_share, largest_stage_factor
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, by_user, gpus_in_node, machine_of, quantities_of, settings_of
from ingest.sizing.memory_activations import (
    ATTENTIONS,
    RECOMPUTES,
    check_known,
    gathered_parameters,
    kept_elements,
    recompute_inputs,
)
from ingest.sizing.memory_activations import DEFAULTS as STEP_DEFAULTS
from ingest.sizing.optimizer_states import ModelSize, kept_by, optimizer_of, size_of, zero_stage_of
from ingest.units import display

#: Inputs that nobody has to give.
DEFAULTS = {
    "memory_utilization": Input(0.9).by_default("90 % of the memory for states", "utilization"),
    "residual_bytes_per_gpu": Input(0).by_default("no activations or buffers", "residual"),
}
OFFLOADS = ("none", "cpu", "nvme")
USUAL_GPU = "h100-sxm"
#: option -> the quantity that it sets, where their names differ
QUANTITIES = {"utilization": "memory_utilization", "residual": "residual_bytes_per_gpu", "hybrid_shard": "shard_group"}
RESULTS = (
    "model_state_bytes",
    "model_state_bytes_per_parameter",
    "model_state_bytes_per_gpu",
    "gpus_to_hold",
    "nodes_to_hold",
)
#: Results of a training step; only with a sequence length, or where weights are gathered from outside of the GPU.
OF_STEP = (
    "activation_bytes_per_gpu",
    "logit_bytes_per_gpu",
    "gather_bytes_per_gpu",
    "framework_bytes_per_gpu",
    "total_bytes_per_gpu",
)


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
UTILIZATION_OF_STEP = Input(0.95, 0.9, 1).by_default("5 % of the memory is lost to fragments", "utilization")

#: The default recipe and ZeRO stage.
USUAL_RECIPE, USUAL_STAGE = "zero-16", 3


def memory(
    model: str | None = None,
    *,
    gpu: str | None = None,
    node: str | None = None,
    gpus: Written | None = None,
    tensor_parallel: Written | None = None,
    pipeline_parallel: Written | None = None,
    context_parallel: Written | None = None,
    expert_parallel: Written | None = None,
    sequence_length: Written | None = None,
    micro_batch: Written | None = None,
    micro_batches: Written | None = None,
    virtual_stages: Written | None = None,
    recompute: str = "none",
    attention: str = "flash",
    dropout: bool = False,
    no_sequence_parallel: bool = False,
    zero_stage: int | str = 3,
    hybrid_shard: Written | None = None,
    offload: str = "none",
    recipe: str = USUAL_RECIPE,
    optimizer: str | None = None,
    utilization: Written | None = None,
    residual: Written | None = None,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] = (),
) -> Answer:
    """Model states in GPU memory, and the GPUs and nodes that hold them.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"parameters": N}`.
        gpu: id or YAML file of the GPU; an H100 by default.
        node: id or YAML file of a node type; sets the GPU too.
        gpus: GPUs of the job; by default the fewest that hold the model.
        tensor_parallel: GPUs that share a layer; 1 by default.
        pipeline_parallel: pipeline stages; 1 by default.
        context_parallel: replicas that share the tokens of a sequence; 1 by default.
        expert_parallel: replicas that share the experts; 1 by default.
        sequence_length: tokens of one sequence; counts activations, logits and buffers too.
        micro_batch: sequences that a replica works on at a time; 1 by default.
        micro_batches: micro-batches of one step, where they are fewer than pipeline stages.
        virtual_stages: parts of the model on each pipeline rank; 1, not interleaved, by default.
        recompute: `none`, `selective` (scores of attention) or `full` (layers keep their input alone).
        attention: `flash` (scores are never kept) or `scores`.
        dropout: masks of dropout are kept.
        no_sequence_parallel: tensor ranks do not share the tokens outside of matrices.
        zero_stage: ZeRO stage; 0 is plain data parallelism.
        hybrid_shard: replicas that share the partitioned states, where they are not all (HSDP).
        offload: `none`, `cpu` or `nvme`.
        recipe: id in the catalogs, or its bytes per parameter: 2, 12, 14, 16, 18 or 20.
        optimizer: optimizer instead of that of the recipe: `adam8bit`, `adafactor`, `muon`, `sgd`, …
        utilization: share of the memory that states may fill; 0.9 by default.
        residual: bytes of activations, buffers and fragments on one GPU; 0 by default.
        set: values of quantities, by name.
        catalogs: folders with entries of your own.

    >>> answer = memory(set={"parameters": "17e9"}, gpu="a100-80-sxm")
    >>> answer.results["model_state_bytes"].display, answer.results["gpus_to_hold"].value
    ('272 GB (253.3 GiB)', 4)

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog, settings = Catalog(catalogs), settings_of(set)
    numbers = {
        "gpus": gpus,
        "tensor_parallel": tensor_parallel,
        "pipeline_parallel": pipeline_parallel,
        "context_parallel": context_parallel,
        "expert_parallel": expert_parallel,
        "sequence_length": sequence_length,
        "micro_batch": micro_batch,
        "micro_batches": micro_batches,
        "virtual_stages": virtual_stages,
        "hybrid_shard": hybrid_shard,
        "utilization": utilization,
        "residual": residual,
    }
    options = quantities_of(QUANTITIES, numbers)
    parallel = ParallelSizes.of(options)
    places = _places(zero_stage, offload)
    chosen = _recipe(recipe, catalog)
    size = size_of(model, catalog, settings)
    card, inside = machine_of(gpu or (None if node else USUAL_GPU), node, catalog)
    assert card is not None
    memory_of = from_fields({"memory_bytes_per_gpu": card.memory_bytes})
    if gpu is None and node is None:
        memory_of = {name: item.by_default(f"of {card.name}", "gpu") for name, item in memory_of.items()}
    step = {}
    counted = "sequence_length" in {**options, **settings}
    gathered = places[0] is OFF and size.architecture is not None
    if counted or gathered:
        step = _step(size, {**options, **settings}, places, recompute, attention, dropout, no_sequence_parallel)
    given = {
        **size.given,
        **_kept(chosen, optimizer_of(optimizer or chosen.optimizer, catalog), size, settings, places[1] is OFF),
        **memory_of,
        **gpus_in_node(card, inside, *(["node"] if node is None else [])),
        **_flags(places),
        **_experts(size, parallel.expert),
        **_stage_factor(size, parallel.pipeline),
        "replica_group": Input(parallel.replica_group),
        **DEFAULTS,
        **step,
        **by_user({**options, **settings}),
    }
    if step and "residual_bytes_per_gpu" not in {**options, **settings}:
        del given["residual_bytes_per_gpu"]
    known = Quantities(given)
    if recompute == "full" and step:
        known.choose_first("kept_activation_bytes", "layer_input_bytes")
    if "residual_bytes_per_gpu" not in given:
        known.choose("residual_bytes_per_gpu", "step_bytes_per_gpu")
    unknown = _fill(known, gpus is not None)
    if size.architecture is not None:
        check_division(size.architecture, parallel.tensor, parallel.pipeline, parallel.expert)
    wanted = (*RESULTS, *(OF_STEP if step else ()))
    results, missing = known.results([name for name in wanted if name not in unknown])
    results |= _offloaded(known, places, unknown)
    if places[0] is OFF and not step:
        missing["total_bytes_per_gpu"] = "a GPU holds the layer at work: give a model with a config.json"
    words = {
        "model": (model, True),
        "recipe": (chosen.id, recipe != USUAL_RECIPE),
        "optimizer": (optimizer or chosen.optimizer, optimizer is not None),
        "recompute": (recompute, recompute != "none"),
        "attention": (attention, attention != "flash"),
        "offload": (offload, offload != "none"),
        "zero_stage": (int(zero_stage), int(zero_stage) != USUAL_STAGE),
    }
    keeping = f"{chosen.name}, {optimizer}" if optimizer else chosen.name
    return Answer(
        "memory",
        f"Model states of {size.name}: {keeping}; ZeRO-{zero_stage}, offload {offload}",
        {name: {"value": word, "from": "user" if asked_for else "default"} for name, (word, asked_for) in words.items()},
        known,
        results,
        {**missing, **unknown},
        _tables(known, given, unknown, bool(step)),
        tuple(_warnings(results, inside, offload)),
        catalog,
        _unmet(known, results, unknown),
    )


class ParallelSizes(NamedTuple):
    """The parallel sizes of a job."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1

    @classmethod
    def of(cls, options: Mapping[str, float]) -> ParallelSizes:
        """The sizes among the options, checked against the number of GPUs.

        Raises:
            UsageError: sizes that do not divide the GPUs.
        """
        sizes = cls(*(int(options.get(f"{kind}_parallel", 1)) for kind in cls._fields))
        gpus, shards = options.get("gpus", 0), sizes.tensor * sizes.pipeline
        if gpus % shards:
            raise UsageError(f"--gpus: found {gpus:g}, expected a multiple of tensor × pipeline = {shards}")
        for kind in ("context", "expert"):
            found = getattr(sizes, kind)
            if gpus // shards % found:
                raise UsageError(f"--{kind}-parallel: found {found}, expected a divisor of the {gpus // shards:g} replicas")
        return sizes

    @property
    def replica_group(self) -> int:
        """Replicas that come together."""
        return math.lcm(self.context, self.expert)


def _step(
    size: ModelSize,
    fixed: Mapping[str, float],
    places: tuple[MemoryPart, MemoryPart, MemoryPart],
    recompute: str,
    attention: str,
    dropout: bool,
    no_sequence_parallel: bool,
) -> dict[str, Input]:
    """What a training step takes besides the model states."""
    one_of("--recompute", recompute, RECOMPUTES)
    one_of("--attention", attention, ATTENTIONS)
    model = check_known(size.architecture, size.name)
    found = {**STEP_DEFAULTS, "memory_utilization": UTILIZATION_OF_STEP}
    nothing = Input(0, note="no sequence length is given")
    if "sequence_length" in fixed:
        where = f"counted over the weights of {model.id}"
        found |= {
            **kept_elements(model, attention == "scores" and recompute == "none").quantities(where),
            **dict(recompute_inputs(recompute, attention, dropout)),
        }
        found["scored_words"] = Input(model.vocabulary, source="arithmetic", where=where, grade="derived")
    else:
        found |= dict.fromkeys(("activation_bytes_per_gpu", "logit_bytes_per_gpu"), nothing)
    if no_sequence_parallel:
        found["sequence_split"] = Input(0, origin="user")
    if recompute != "full":
        found["recomputed_layer_bytes"] = Input(0, note="no layer is computed again")
    if places[0] is R:
        found["gather_bytes_per_gpu"] = Input(0, note="every replica holds the weights")
    else:
        largest = gathered_parameters(model, int(fixed.get("expert_parallel", 1)))
        found["gathered_parameters"] = Input(
            largest, source="arithmetic", where=f"counted over the weights of {model.id}", grade="derived"
        )
    return found


def _stage_factor(size: ModelSize, pipeline: int) -> dict[str, Input]:
    """The largest pipeline stage over the mean one; empty where the layers are unknown."""
    if size.architecture is None or pipeline == 1 or pipeline > size.architecture.layers:
        return {}
    where = f"blocks of {size.architecture.id} distributed over {pipeline} stages"
    factor = largest_stage_factor(size.architecture, pipeline)
    return {"largest_stage_factor": Input(factor, source="arithmetic", where=where, grade="derived")}


def holds_states(
    given: Mapping[str, Input],
    size: ModelSize,
    optimizer: Optimizer,
    tensor: int,
    pipeline: int,
    expert: int,
    stage: int,
    catalog: Catalog,
) -> bool:
    """Whether GPUs hold the model states at parallel sizes, as this command answers it.

    Args:
        given: `gpus`, `parameters` and `memory_bytes_per_gpu`.
        size: the model.
        optimizer: of the states.
        tensor, pipeline, expert: parallel sizes.
        stage: ZeRO stage, without offload.
        catalog: where the recipe comes from.
    """
    counted = {name: item.value for name, item in given.items()}
    states = _kept(_recipe(USUAL_RECIPE, catalog), optimizer, size, counted)
    sizes = {
        "tensor_parallel": Input(tensor),
        "pipeline_parallel": Input(pipeline),
        "replica_group": Input(expert),
        **_experts(size, expert),
        **_stage_factor(size, pipeline),
    }
    return _holds(Quantities({**size.given, **states, **_flags(PLACES[stage, "none"]), **DEFAULTS, **given, **sizes}))


def _holds(known: Quantities) -> bool:
    """Whether the GPUs given hold the model."""
    return known.value("memory_left_for_partitions") > 0 and known.value("gpus_to_hold") <= known.value("gpus")


def _replicas_to_hold(known: Quantities) -> float:
    """Replicas that hold the model together."""
    return known.value("gpus_to_hold") / known.value("tensor_parallel") / known.value("pipeline_parallel")


def _experts(size: ModelSize, shared_by: int) -> dict[str, Input]:
    """The share of the parameters in experts, where replicas share them."""
    if shared_by == 1 or size.architecture is None:
        return {}
    where = f"counted over the weights of {size.architecture.id}"
    share = Input(expert_share(size.architecture), source="arithmetic", where=where, grade="derived")
    return {"expert_share": share, "expert_parallel": Input(shared_by)}


def _places(zero_stage: int | str, offload: str) -> tuple[MemoryPart, MemoryPart, MemoryPart]:
    one_of("--offload", offload, OFFLOADS)
    stage = zero_stage_of(zero_stage)
    if (stage, offload) not in PLACES:
        stages = ", ".join(str(known) for known, way in PLACES if way == offload)
        raise UsageError(f"--offload: found {offload} at ZeRO stage {stage}, expected ZeRO stage {stages}")
    return PLACES[stage, offload]


def _recipe(name: str, catalog: Catalog) -> Recipe:
    known = catalog.ids(Recipe.kind)
    for found in known:
        if str(name) == found.rpartition("-")[2]:
            return catalog.get(Recipe, found)
    if name not in known and not name.endswith((".yaml", ".yml")):
        one_of("--recipe", name, known)
    return catalog.get(Recipe, name)


def _kept(
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
    return _with_frozen_model(kept, adapters, settings.get("parameters") or size.given["parameters"].value)


def _with_frozen_model(kept: dict[str, Input], adapters: Input, parameters: float) -> dict[str, Input]:
    """Bytes per parameter of a frozen model whose adapters alone have gradients and optimizer states."""
    share, weights = adapters.value / parameters, kept["weight_bytes_per_parameter"]
    note = "; ".join(filter(None, (f"adapters of {adapters.value:,.0f} parameters and a frozen model", adapters.note)))
    scaled = {
        name: item._replace(value=item.value * share, grade=adapters.grade or "derived", note=note)
        for name, item in kept.items()
        if name.endswith("_bytes_per_parameter")
    }
    return {**kept, **scaled, "weight_bytes_per_parameter": weights._replace(value=weights.value * (1 + share), note=note)}


def _flags(places: tuple[MemoryPart, MemoryPart, MemoryPart]) -> dict[str, Input]:
    """The places as the shares that the formulas take."""
    return {
        f"{name}_{way}": Input(share, source="zero2020", where="sec. 5, figure 1")
        for name, part in zip(("weights", "gradients", "optimizer"), places, strict=True)
        for way, share in part._asdict().items()
    }


def _fill(known: Quantities, asked: bool) -> dict[str, str]:
    """Count the GPUs; if no number of them suffices, return the reason and the options that help."""
    left = known.value("memory_left_for_partitions")
    if left <= 0:
        size, room = known.value("memory_bytes_per_gpu"), known.value("memory_utilization")
        held = known.value("resident_parameters_per_gpu") * known.value("replicated_bytes_per_parameter")
        need = held + known.value("residual_bytes_per_gpu")
        why = (
            f"the bytes on each GPU ({display(need, 'B', binary=False)}) exceed {room * 100:.3g} % of its memory "
            f"({display(size, 'B', binary=False)}) for any number of GPUs: raise --zero-stage, --tensor-parallel or "
            "--pipeline-parallel, or set --offload"
        )
        if "transformer_layers" in known.given:
            why = why.replace("or set --offload", "raise --context-parallel, or set --recompute full")
        unknown: dict[str, str] = dict.fromkeys(("gpus_to_hold", "nodes_to_hold"), why)
        if not asked:
            unknown["model_state_bytes_per_gpu"] = Message("depends on the number of GPUs", supply=("gpus",))
        return unknown
    if not asked:
        known.choose("gpus", "gpus_to_hold")
    group = known.given.get("shard_group")
    if group is not None and (need := _replicas_to_hold(known)) > group.value:
        why = f"groups of {group.value:,.0f} replicas do not hold the model: expected --hybrid-shard {need:,.0f} or more"
        return dict.fromkeys(("gpus_to_hold", "nodes_to_hold"), why)
    return {}


PARTS = {"weights": ("gradient", "optimizer"), "gradients": ("weight", "optimizer"), "optimizer states": ("weight", "gradient")}


def _tables(
    known: Quantities, given: Mapping[str, Input], unknown: Mapping[str, str], step: bool
) -> dict[str, list[dict[str, Any]]]:
    """The GPUs of each ZeRO stage, or the parts of one GPU's memory where a step is counted."""
    if not step:
        return {"stages": _stages(given)} if "parameters" in given else {}
    if "model_state_bytes_per_gpu" in unknown:
        return {}
    gpus = {"gpus": Input(known.value("gpus"))}
    rows = []
    for part, others in PARTS.items():
        alone = Quantities({**given, **gpus, **{f"{other}_bytes_per_parameter": Input(0) for other in others}})
        rows.append({"part": part, "bytes_per_gpu": alone.value("model_state_bytes_per_gpu")})
    names = {"activations": "activation", "logits": "logit", "gathered weights": "gather", "driver and libraries": "framework"}
    if "residual_bytes_per_gpu" in given:
        rows.append({"part": "residual", "bytes_per_gpu": known.value("residual_bytes_per_gpu")})
    else:
        rows += [{"part": part, "bytes_per_gpu": known.value(f"{name}_bytes_per_gpu")} for part, name in names.items()]
    return {"parts": [*rows, {"part": "total", "bytes_per_gpu": known.value("total_bytes_per_gpu")}]}


def _unmet(known: Quantities, results: Mapping[str, Quantity], unknown: Mapping[str, str]) -> str:
    """Why the GPUs given do not hold the model; empty where they do, or where no number is given."""
    if "gpus" not in known.given or ("gpus_to_hold" not in unknown and _holds(known)):
        return ""
    gpus, name = known.value("gpus"), "total_bytes_per_gpu" if "total_bytes_per_gpu" in results else "model_state_bytes_per_gpu"
    if "gpus_to_hold" in unknown:
        return f"{gpus:,.0f} GPUs do not hold the model: {unknown['gpus_to_hold']}"
    each, least = display(known.value(name), "B", binary=False), results["gpus_to_hold"].value
    what = "model states" if name == "model_state_bytes_per_gpu" else "model and its activations"
    return f"{gpus:,.0f} GPUs do not hold the {what} ({each} on each): at least {least:,.0f} GPUs are needed"


def _offloaded(
    known: Quantities, places: tuple[MemoryPart, MemoryPart, MemoryPart], unknown: Mapping[str, str]
) -> dict[str, Any]:
    if OFF not in places:
        return {}
    if "gpus" in known.given or "gpus" in known.steps:
        known.choose("offload_nodes", "nodes_in_job")
    elif not unknown:
        known.choose("offload_nodes", "nodes_to_hold")
    return known.results(["offloaded_bytes", "offloaded_bytes_per_node"])[0]


def _stages(given: Mapping[str, Input]) -> list[dict[str, Any]]:
    """The GPUs that each ZeRO stage takes without offload."""
    rows = []
    for stage in range(4):
        known = Quantities({**given, **_flags(PLACES[stage, "none"])})
        fits = known.value("memory_left_for_partitions") > 0
        found = {"zero_stage": str(stage), "gpus_to_hold": known.value("gpus_to_hold") if fits else "does not fit"}
        for name in ("replicated_bytes_per_parameter", "partitioned_bytes_per_parameter"):
            found[name] = known.value(name)
        rows.append(found)
    return rows


def _warnings(results: Mapping[str, Quantity], node: Node | None, offload: str) -> Iterator[str]:
    need = results.get("offloaded_bytes_per_node")
    if node is None or need is None:
        return
    have, where = (node.host_memory_bytes, "host memory") if offload == "cpu" else (node.nvme_bytes, "NVMe")
    if have is not None and need.value > have.value:
        held, room = (display(value, "B", binary=False) for value in (need.value, have.value))
        yield f"each node must hold {held} of offloaded states, but the {where} of {node.name} has {room}: use more nodes"
