"""`ingest memory`: model states, activations and buffers in GPU memory, and the GPUs and nodes that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.records import Node, Optimizer
from ingest.catalog.store import Catalog, opened
from ingest.engine.frozen import revised
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import UsageError, one_of
from ingest.sizing.checkpoint_files import check_division, expert_share
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, gpus_in_node, machine_of, quantities_of, settings_of
from ingest.sizing.job_size import gpus_of
from ingest.sizing.memory_activations import ATTENTIONS, check_known, parts_again
from ingest.sizing.memory_activations import DEFAULTS as STEP_DEFAULTS
from ingest.sizing.memory_inputs import (
    DEFAULTS,
    OFF,
    PLACES,
    USUAL_RECIPE,
    USUAL_STAGE,
    MemoryJob,
    ParallelSizes,
    Places,
    kept_inputs,
    place_shares,
    places_of,
    recipe_of,
)  # fmt: skip
from ingest.sizing.memory_search import Layout
from ingest.sizing.memory_search import search as find_layouts
from ingest.sizing.optimizer_states import ModelSize, optimizer_of, size_of, zero_stage_of
from ingest.sizing.rules import applying, contradictions, finding, unused
from ingest.units import display

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
#: Parallel sizes as the title names them.
SHORT = ("TP", "PP", "CP", "EP", "ETP")
#: Results of a training step; only with a sequence length, or where weights are gathered from outside of the GPU.
OF_STEP = (
    "activation_bytes_per_gpu",
    "logit_bytes_per_gpu",
    "gather_bytes_per_gpu",
    "gathered_token_bytes_per_gpu",
    "framework_bytes_per_gpu",
    "total_bytes_per_gpu",
)
#: The first result where the GPUs are given and a step is counted: whether they are full.
OF_GPUS_GIVEN = "memory_filled_share"


def memory(
    model: str | None = None,
    gpu: str | None = None,
    *,
    node: str | None = None,
    gpus: Written | None = None,
    nodes: Written | None = None,
    tensor_parallel: Written | None = None,
    pipeline_parallel: Written | None = None,
    context_parallel: Written | None = None,
    expert_parallel: Written | None = None,
    expert_tensor_parallel: Written | None = None,
    sequence_length: Written | None = None,
    micro_batch: Written | None = None,
    micro_batches: Written | None = None,
    virtual_stages: Written | None = None,
    recompute: str | None = None,
    recompute_layers: Written | None = None,
    fp8_inputs: bool = False,
    attention: str = "flash",
    dropout: bool = False,
    no_sequence_parallel: bool = False,
    zero_stage: int | str | None = None,
    hybrid_shard: Written | None = None,
    offload: str = "none",
    recipe: str = USUAL_RECIPE,
    optimizer: str | None = None,
    utilization: Written | None = None,
    residual: Written | None = None,
    search: bool = False,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] | Catalog = (),
) -> Answer:
    """Model states in GPU memory, and the GPUs and nodes that hold them.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"parameters": N}`.
        gpu: id or YAML file of the GPU; an H100 by default.
        node: id or YAML file of a node type; sets the GPU too.
        gpus: GPUs of the job; by default the fewest that hold the model.
        nodes: nodes of the GPUs instead.
        tensor_parallel: GPUs that share a layer; 1 by default.
        pipeline_parallel: pipeline stages; 1 by default.
        context_parallel: replicas that share the tokens of a sequence; 1 by default.
        expert_parallel: replicas that share the experts; 1 by default.
        expert_tensor_parallel: tensor ranks that share one expert; all of them by default.
        sequence_length: tokens of one sequence; counts activations, logits and buffers too.
        micro_batch: sequences that a replica works on at a time; 1 by default.
        micro_batches: micro-batches of one step, where they are fewer than pipeline stages.
        virtual_stages: parts of the model on each pipeline rank; 1, not interleaved, by default.
        recompute: `none`, `selective` (scores of attention), `full` (layers keep their input alone), or parts of layers:
            `norm`, `latent`, `activation`, `mlp`, `expert`, separated by commas; none by default.
        recompute_layers: layers of each pipeline rank that full recomputation computes again; all by default.
        fp8_inputs: matrices keep their inputs in 8 bits, as Transformer Engine does in FP8.
        attention: `flash` (scores are never kept) or `scores`.
        dropout: masks of dropout are kept.
        no_sequence_parallel: tensor ranks do not share the tokens outside of matrices.
        zero_stage: ZeRO stage; 0 is plain data parallelism; 3 by default.
        hybrid_shard: replicas that share the partitioned states, where they are not all (HSDP).
        offload: `none`, `cpu` or `nvme`.
        recipe: id in the catalogs, such as `bf16-only`, `lora`, `qlora`, or its bytes per parameter: 2, 12, 14, 16, 18 or 20.
        optimizer: optimizer instead of that of the recipe: `adam8bit`, `adafactor`, `muon`, `sgd`, …
        utilization: share of the memory that states may fill; 0.9 by default.
        residual: bytes of activations, buffers and fragments on one GPU; 0 by default.
        search: finds the layouts that hold a step at `sequence_length`, fewest GPUs first.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> answer = memory(set={"parameters": "17e9"}, gpu="a100-80-sxm")
    >>> answer.results["model_state_bytes"].display, answer.results["gpus_to_hold"].value
    ('272 GB (253.3 GiB)', 4)

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog, settings = opened(catalogs), settings_of(set)
    named = gpu or (None if node else USUAL_GPU)
    gpus = gpus_of(gpus, nodes, catalog, gpu=named, node=node, settings=settings)
    numbers = {
        "gpus": gpus,
        "tensor_parallel": tensor_parallel,
        "pipeline_parallel": pipeline_parallel,
        "context_parallel": context_parallel,
        "expert_parallel": expert_parallel,
        "expert_tensor_parallel": expert_tensor_parallel,
        "sequence_length": sequence_length,
        "micro_batch": micro_batch,
        "micro_batches": micro_batches,
        "virtual_stages": virtual_stages,
        "recompute_layers": recompute_layers,
        "hybrid_shard": hybrid_shard,
        "utilization": utilization,
        "residual": residual,
    }
    options = quantities_of(QUANTITIES, numbers)
    asked = (None if zero_stage is None else int(zero_stage_of(zero_stage)), recompute)
    parts_again(recompute or "none")
    if recompute_layers is not None and recompute != "full":
        raise option_error("recompute_layers", f": found --recompute {recompute or 'none'}, expected full")
    one_of("--attention", attention, ATTENTIONS)
    stage, way = (asked[0] if asked[0] is not None else USUAL_STAGE), recompute or "none"
    places = places_of(stage, offload)
    chosen = recipe_of(recipe, catalog)
    size = size_of(model, catalog, settings)
    card, inside = machine_of(named, node, catalog)
    assert card is not None
    machine = from_fields({"memory_bytes_per_gpu": card.memory_bytes})
    if gpu is None and node is None:
        machine = {name: item.by_default(f"of {card.name}", "gpu") for name, item in machine.items()}
    machine |= gpus_in_node(card, inside, *(["node"] if node is None else []))
    states = optimizer_of(optimizer or chosen.optimizer, catalog)
    kernels = (attention, dropout, not no_sequence_parallel, offload, fp8_inputs)
    job = MemoryJob(size, chosen, states, machine, options, settings, *kernels)
    found: tuple[list[Layout], list[Layout]] = ([], [])
    if search:
        check_known(size.architecture, size.name)
        if "sequence_length" not in job.fixed:
            raise UsageError("--search: found no --sequence-length, expected the tokens of a sequence")
        found = find_layouts(job, *asked)
        best = (found[0] or found[1])[0]
        stage, way = best.stage, best.recompute
        options |= {f"{kind}_parallel": float(size) for kind, size in best.sizes._asdict().items() if size}
        places = places_of(stage, offload)
    parallel = ParallelSizes.of(options)
    if size.architecture is not None:
        check_division(size.architecture, parallel.tensor, parallel.pipeline, parallel.expert)
    if parallel.expert_tensor and (size.architecture is None or not expert_share(size.architecture)):
        raise option_error("expert_tensor_parallel", f": found {parallel.expert_tensor}, expected a model with experts")
    given = job.given(parallel, stage, way)
    known = job.known(given, way)
    step = job.counts_step(places)
    unknown = _fill(known, gpus is not None)
    wanted = (*RESULTS, *(OF_STEP if step else ()), *([OF_GPUS_GIVEN] if step and gpus is not None else ()))
    results, missing = known.results([name for name in wanted if name not in unknown])
    results |= _offloaded(known, places, unknown)
    cautions = [*_warnings(results, inside, offload, step or job.fixed.get("residual_bytes_per_gpu", 0) > 0)]
    if step and "model_state_bytes_per_gpu" not in unknown:
        results |= _ranged(job, given, way, known.value("gpus"), results)
        cautions += _unfused(job, given, way, results, unknown)
    if places[0] is OFF and not step:
        missing["total_bytes_per_gpu"] = "a GPU holds the layer at work: give a model with a config.json"
    words = {
        "model": (model, True),
        "recipe": (chosen.id, recipe != USUAL_RECIPE),
        "optimizer": (optimizer or chosen.optimizer, optimizer is not None),
        "recompute": (way, recompute is not None),
        "attention": (attention, attention != "flash"),
        "offload": (offload, offload != "none"),
        "zero_stage": (stage, asked[0] is not None),
    }
    keeping = f"{chosen.name}, {optimizer}" if optimizer else chosen.name
    shape = " × ".join(f"{short} {size}" for short, size in zip(SHORT, parallel, strict=True) if size > (short != "ETP"))
    keeping += f"; {shape}" if shape and step else ""
    answer = Answer(
        "memory",
        f"{'Memory' if step else 'Model states'} of {size.name}: {keeping}; ZeRO-{stage}, offload {offload}",
        {name: {"value": word, "from": "user" if asked_for else "default"} for name, (word, asked_for) in words.items()},
        known,
        results,
        {**missing, **unknown},
        {**_tables(known, given, unknown, step), **_layouts(found, job.gpus_per_node)},
        (*size.warnings, *cautions),
        catalog,
        _unmet(known, results, unknown) if found[0] or not search else f"no layout holds the model: {found[1][0].reason}",
    )
    flags = {"recompute": recompute, "dropout": dropout, "fp8_inputs": fp8_inputs}
    idle = [name for name, given in flags.items() if given and not step]
    unused_options = _unused(answer, {**options, **settings}, settings, idle)
    return revised(answer, warnings=(*answer.warnings, *unused_options, *contradictions(known, settings)))


def _unused(
    answer: Answer, fixed: Mapping[str, float], settings: Mapping[str, float], idle: Sequence[str]
) -> Iterator[Message]:
    """Warnings about options on which no result depends; none where results are missing."""
    if answer.unmet or "gpus_to_hold" in answer.unknown:
        return
    names = {quantity: option for option, quantity in QUANTITIES.items()}
    for name, value in fixed.items():
        if name not in answer.used and not (name.endswith("_parallel") and value == 1):
            yield unused(Option(f"set.{name}" if name in settings else names.get(name, name)))
    yield from (unused(Option(name)) for name in idle)


def _layouts(found: tuple[list[Layout], list[Layout]], gpus_per_node: int) -> dict[str, list[dict[str, Any]]]:
    """The layouts that fit and those that do not, as tables."""
    tables = zip(("layouts", "rejected"), found, strict=True)
    return {name: [one.row(gpus_per_node) for one in rows] for name, rows in tables if rows}


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
    states = kept_inputs(recipe_of(USUAL_RECIPE, catalog), optimizer, size, counted)
    sizes = ParallelSizes(tensor, pipeline, 1, expert).quantities(size)
    return _holds(Quantities({**size.given, **states, **place_shares(PLACES[stage, "none"]), **DEFAULTS, **given, **sizes}))


def _holds(known: Quantities) -> bool:
    """Whether the GPUs given hold the model."""
    return known.value("memory_left_for_partitions") > 0 and known.value("gpus_to_hold") <= known.value("gpus")


def _replicas_to_hold(known: Quantities) -> float:
    """Replicas that hold the model together."""
    return known.value("gpus_to_hold") / known.value("tensor_parallel") / known.value("pipeline_parallel")


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


def _ranged(
    job: MemoryJob, given: Mapping[str, Input], way: str, gpus: float, results: Mapping[str, Quantity]
) -> dict[str, Quantity]:
    """The parts of a step with their ranges, on a number of GPUs that does not follow the range."""
    fixed = job.known({**given, "gpus": Input(gpus)}, way)
    return fixed.results([name for name in (*OF_STEP, OF_GPUS_GIVEN) if name in results], ranged=True)[0]


def _unfused(
    job: MemoryJob, given: Mapping[str, Input], way: str, results: Mapping[str, Quantity], unknown: Mapping[str, str]
) -> Iterator[str]:
    """The caution that a step fits only where kernels and loss are fused, with the GPUs that hold it where they are not."""
    total = results["total_bytes_per_gpu"]
    if unknown or total.high is None:
        return
    highest = {name: item._replace(value=item.high) for name, item in given.items() if name in STEP_DEFAULTS and item.high}
    known = job.known({**given, **highest}, way)
    held = "no number of GPUs holds that in this layout"
    if known.value("memory_left_for_partitions") > 0:
        held = f"{known.value('gpus_to_hold'):,.0f} GPUs hold that"
    room = known.value("memory_bytes_per_gpu")
    quantities: dict[str, Quantity | float | None] = {"total_bytes_per_gpu": total, "memory_bytes_per_gpu": room}
    most, shown = (display(value, "B", binary=False) for value in (total.high, room))
    yield from (one.message() for one in applying([finding("W72", quantities, most=most, room=shown, held=held)]))


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
    names = {
        "activations": "activation",
        "logits": "logit",
        "gathered weights": "gather",
        "gathered tokens": "gathered_token",
        "driver and libraries": "framework",
    }
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
    held = f"{display(gpus, 'GPU')} {'does' if gpus == 1 else 'do'} not hold"
    if "gpus_to_hold" in unknown:
        return f"{held} the model: {unknown['gpus_to_hold']}"
    each, least = display(known.value(name), "B", binary=False), results["gpus_to_hold"].value
    what = "model states" if name == "model_state_bytes_per_gpu" else "model and its activations"
    return f"{held} the {what} ({each} on each): at least {least:,.0f} GPUs are needed"


def _offloaded(known: Quantities, places: Places, unknown: Mapping[str, str]) -> dict[str, Any]:
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
        known = Quantities({**given, **place_shares(PLACES[stage, "none"])})
        fits = known.value("memory_left_for_partitions") > 0
        found = {"zero_stage": str(stage), "gpus_to_hold": known.value("gpus_to_hold") if fits else "does not fit"}
        for name in ("replicated_bytes_per_parameter", "partitioned_bytes_per_parameter"):
            found[name] = known.value(name)
        rows.append(found)
    return rows


def _warnings(results: Mapping[str, Quantity], node: Node | None, offload: str, whole: bool) -> Iterator[str]:
    if not whole:
        yield from (one.message() for one in applying([finding("W71", words={"activations": "not counted"})]))
    need = results.get("offloaded_bytes_per_node")
    if node is None or need is None:
        return
    have, where = (node.host_memory_bytes, "host memory") if offload == "cpu" else (node.nvme_bytes, "NVMe")
    if have is not None and need.value > have.value:
        held, room = (display(value, "B", binary=False) for value in (need.value, have.value))
        yield f"each node must hold {held} of offloaded states, but the {where} of {node.name} has {room}: use more nodes"
