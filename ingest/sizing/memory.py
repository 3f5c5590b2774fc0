"""`ingest memory`: model states in GPU memory, and the GPUs and nodes that hold them."""

from __future__ import annotations

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
from ingest.sizing.checkpoint_files import check_division, expert_share
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, by_user, gpus_in_node, machine_of, quantities_of, settings_of
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
QUANTITIES = {"utilization": "memory_utilization", "residual": "residual_bytes_per_gpu"}
RESULTS = (
    "model_state_bytes",
    "model_state_bytes_per_parameter",
    "model_state_bytes_per_gpu",
    "gpus_to_hold",
    "nodes_to_hold",
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
    note="32-bit gradients are offloaded with the optimizer states",
)  # fmt: skip

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
    expert_parallel: Written | None = None,
    zero_stage: int | str = 3,
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
        expert_parallel: replicas that share the experts; 1 by default.
        zero_stage: ZeRO stage; 0 is plain data parallelism.
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
        "expert_parallel": expert_parallel,
        "utilization": utilization,
        "residual": residual,
    }
    options = quantities_of(QUANTITIES, numbers)
    shards = int(options.get("tensor_parallel", 1) * options.get("pipeline_parallel", 1))
    if options.get("gpus", 0) % shards:
        raise UsageError(f"--gpus: found {options['gpus']:g}, expected a multiple of tensor × pipeline = {shards}")
    experts = int(options.get("expert_parallel", 1))
    if options.get("gpus", 0) // shards % experts:
        raise UsageError(
            f"--expert-parallel: found {experts}, expected a divisor of the {options['gpus'] // shards:g} replicas"
        )
    places = _places(zero_stage, offload)
    chosen = _recipe(recipe, catalog)
    size = size_of(model, catalog, settings)
    card, inside = machine_of(gpu or (None if node else USUAL_GPU), node, catalog)
    assert card is not None
    memory_of = from_fields({"memory_bytes_per_gpu": card.memory_bytes})
    if gpu is None and node is None:
        memory_of = {name: item.by_default(f"of {card.name}", "gpu") for name, item in memory_of.items()}
    given = {
        **size.given,
        **_kept(chosen, optimizer_of(optimizer or chosen.optimizer, catalog), size, settings),
        **memory_of,
        **gpus_in_node(card, inside, *(["node"] if node is None else [])),
        **_flags(places),
        **_experts(size, experts),
        **DEFAULTS,
        **by_user({**options, **settings}),
    }
    known = Quantities(given)
    unknown = _fill(known, gpus is not None)
    results, missing = known.results([name for name in RESULTS if name not in unknown])
    results |= _offloaded(known, places, unknown)
    if size.architecture is not None:
        check_division(
            size.architecture, *(int(options.get(f"{kind}_parallel", 1)) for kind in ("tensor", "pipeline", "expert"))
        )
    words = {
        "model": (model, True),
        "recipe": (chosen.id, recipe != USUAL_RECIPE),
        "optimizer": (optimizer or chosen.optimizer, optimizer is not None),
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
        {"stages": _stages(given)} if size.given or "parameters" in settings else {},
        tuple(_warnings(known, results, unknown, inside, offload)),
        catalog,
    )


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
    sizes = {"tensor_parallel": Input(tensor), "pipeline_parallel": Input(pipeline), **_experts(size, expert)}
    return _holds(Quantities({**size.given, **states, **_flags(PLACES[stage, "none"]), **DEFAULTS, **given, **sizes}))


def _holds(known: Quantities) -> bool:
    """Whether the GPUs given hold the model states."""
    return known.value("memory_left_for_partitions") > 0 and known.value("gpus_to_hold") <= known.value("gpus")


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


def _kept(recipe: Recipe, chosen: Optimizer, size: ModelSize, settings: Mapping[str, float]) -> dict[str, Input]:
    of_recipe = {
        "weight_bytes_per_parameter": chosen.weights or recipe.weights,
        "gradient_bytes_per_parameter": recipe.gradients,
    }
    kept = {**kept_by(chosen, "bf16", size, settings), **from_fields(of_recipe)}
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
    flags = {
        f"{name}_{way}": Input(share, source="zero2020", where="sec. 5, figure 1")
        for name, part in zip(("weights", "gradients", "optimizer"), places, strict=True)
        for way, share in part._asdict().items()
    }
    offloaded = flags.pop("gradients_offloaded").value
    return {**flags, "offloaded_gradient_bytes_per_parameter": OFFLOADED_GRADIENT} if offloaded else flags


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
        unknown: dict[str, str] = dict.fromkeys(("gpus_to_hold", "nodes_to_hold"), why)
        if not asked:
            unknown["model_state_bytes_per_gpu"] = Message("depends on the number of GPUs", supply=("gpus",))
        return unknown
    if not asked:
        known.choose("gpus", "gpus_to_hold")
    return {}


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


def _warnings(
    known: Quantities, results: Mapping[str, Quantity], unknown: Mapping[str, str], node: Node | None, offload: str
) -> Iterator[str]:
    if "gpus" in known.given:
        gpus, each = known.value("gpus"), display(known.value("model_state_bytes_per_gpu"), "B", binary=False)
        if "gpus_to_hold" in unknown:
            yield unknown["gpus_to_hold"]
        elif not _holds(known):
            least = results["gpus_to_hold"].value
            yield f"{gpus:,.0f} GPUs do not hold the model states ({each} on each): at least {least:,.0f} GPUs are needed"
    need = results.get("offloaded_bytes_per_node")
    if node is None or need is None:
        return
    have, where = (node.host_memory_bytes, "host memory") if offload == "cpu" else (node.nvme_bytes, "NVMe")
    if have is not None and need.value > have.value:
        held, room = (display(value, "B", binary=False) for value in (need.value, have.value))
        yield f"each node must hold {held} of offloaded states, but the {where} of {node.name} has {room}: use more nodes"
