"""`ingest offload`: training whose states lie below GPU memory, by class, tier and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.architecture.structure import Architecture
from ingest.catalog.records import Recipe
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import check_value
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, by_user, machine_of, quantities_of, settings_of
from ingest.sizing.job_size import gpus_of
from ingest.sizing.memory_inputs import recipe_of
from ingest.sizing.offload_inference import inference as infer
from ingest.sizing.offload_serving import serving as serve
from ingest.sizing.offload_tiers import (
    AWAY,
    COLUMNS,
    DRIVES,
    PLACES,
    TIER_DEFAULTS,
    TIERS,
    USUAL_PRECISION,
    Part,
    complete,
    compute,
    drives,
    machine,
    placed,
    unmet,
)
from ingest.sizing.optimizer_states import ModelSize, kept_by, optimizer_of, size_of
from ingest.sizing.rules import Finding, applying, finding, with_unused
from ingest.units import display, parse

#: The classes in the order in which they are placed: those that move most often for each byte that they hold come first.
CLASSES = ("weights", "gradients", "optimizer", "activations")
#: class -> the option that places it
OPTIONS = {"weights": "parameters", "gradients": "gradients", "optimizer": "optimizer_states", "activations": "activations"}
USUAL_GPU, USUAL_RECIPE = "h100-sxm", "zero-infinity-20"
#: FLOPs per parameter and token: forward pass 2, backward pass 4, recomputing the forward pass 2.
RECOMPUTED, STORED = 8, 6
QUANTITIES = {"batch": "sequences_per_gpu", "efficiency": "model_flops_utilization", "target": "offload_target"}
DEFAULTS = {
    **TIER_DEFAULTS,
    "sequences_per_gpu": Input(1).by_default("one sequence on each GPU", "batch"),
    "offload_target": Input(0.9).by_default("bandwidth is sized for 90 % of the rate without transfers", "target"),
    "residual_bytes_per_gpu": Input(0).by_default("no further buffers", "set.residual_bytes_per_gpu"),
    "host_memory_delivery": Input(
        0.49, 0.29, 0.67, source="deep-optimizer-states2024", grade="derived",
        where="act-output-13B-scale-gaps-a100: 12.58 billion parameters in 3.77 s on one socket of eight channels at 3,200",
    ).by_default("the optimizer on the CPUs reaches half of the bandwidth of host memory", "set.host_memory_delivery"),
}  # fmt: skip
#: Parameters that the CPUs of a node update per second, where its host memory is unknown.
HOST_RATE = Input(
    3.34e9, 2e9, 4.6e9, source="deep-optimizer-states2024", grade="derived",
    where="act-output-13B-scale-gaps-a100, 12.58 billion parameters on 4 ranks of one node: 3.77 s on the CPU",
).by_default("the CPUs of a node update 3.34 billion parameters per second", "set.host_optimizer_rate_per_node")  # fmt: skip
RESULTS = (
    "offload_states_bytes",
    "offload_total_bytes",
    "gpu_tier_bytes",
    "cpu_tier_bytes",
    "nvme_tier_bytes",
    "storage_tier_bytes",
    "offload_working_bytes_per_gpu",
    "offload_bytes_per_node",
    "offload_read_bandwidth_per_node",
    "offload_write_bandwidth_per_node",
    "step_compute_seconds",
    "pass_transfer_seconds",
    "update_seconds",
    "step_seconds",
    "step_seconds_serial",
    "offload_efficiency",
    "offload_flops_per_gpu",
    "offload_nodes_to_hold",
)
#: of a job that has bytes on NVMe or shared storage
OF_DRIVES = (
    "drive_tier_bytes_per_node",
    "drive_tier_read_bandwidth_per_node",
    "drive_tier_write_bandwidth_per_node",
    "shared_read_bandwidth",
    "shared_write_bandwidth",
)
#: of an optimizer step that GPUs and CPUs share
INTERLEAVED = ("interleave_every", "interleaved_update_seconds", "interleaved_up_bytes", "interleaved_down_bytes",
               "interleaving_speedup")  # fmt: skip
#: The parts that are tried: each k-th on the GPU. All of them on the GPU (k = 1) would need room to stage them.
EVERY = (2, 3, 4, 5, 6, 8, 10, 16, 32)
#: What a step may wait for, in words.
BOUNDS = {
    "link_pass_seconds": "the host links of the GPUs",
    "nvme_pass_seconds": "the NVMe of the nodes during the passes",
    "storage_pass_seconds": "shared storage or storage NICs during the passes",
    "host_update_seconds": "the optimizer on the CPUs",
    "nvme_update_seconds": "the NVMe of the nodes while the optimizer runs",
    "storage_update_seconds": "shared storage or storage NICs while the optimizer runs",
}
#: tier -> the wear of what it holds
WEAR = {"nvme": ("nvme_bytes_written_per_day", "nvme_writes_per_day"), "storage": ("storage_bytes_written_per_day",)}


def offload(
    model: str | None = None,
    gpu: str | None = None,
    *,
    node: str | None = None,
    gpus: Written | None = None,
    nodes: Written | None = None,
    batch: Written | None = None,
    sequence_length: Written | None = None,
    parameters: str | None = None,
    gradients: str | None = None,
    optimizer_states: str | None = None,
    activations: str | None = None,
    recipe: str | None = None,
    storage: str | None = None,
    units: Written | None = None,
    efficiency: Written | None = None,
    target: Written | None = None,
    no_recompute: bool = False,
    no_overlap: bool = False,
    optimizer_on_gpu: str | None = None,
    inference: bool = False,
    prompt: Written | None = None,
    generate: Written | None = None,
    weight_bits: Written | None = None,
    kv: str | None = None,
    users: Written | None = None,
    turns: Written | None = None,
    turn_time: Written | None = None,
    hit: Written | None = None,
    first_token_time: Written | None = None,
    retention: Written | None = None,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] | Catalog = (),
) -> Answer:
    """Training or inference beyond GPU memory: what lies on GPU, host, NVMe and shared storage, and what must move.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"layers": N, "hidden_size": N}`.
        gpu: id or YAML file of the GPU; an H100 by default.
        node: id or YAML file of a node type; sets the GPU too.
        gpus: GPUs of the job; one node by default.
        nodes: nodes of the GPUs instead.
        batch: sequences on each GPU in one step, with `inference` those of the whole job; 1 by default.
        sequence_length: tokens of one sequence; 1,024 by default.
        parameters: tier of the weights: `gpu`, `cpu`, `nvme`, `storage`, or `fill` (default) for the fastest tiers with room.
        gradients: tier of the gradients.
        optimizer_states: tier of the optimizer states.
        activations: tier of the activation checkpoints.
        recipe: id in the catalogs of the bytes per parameter; `zero-infinity-20` by default.
        storage: id of drives, for the NVMe of each node, or of a shared storage system.
        units: drives of each node, or units of the shared system; 1 by default.
        efficiency: share of the dense peak that compute alone reaches; that of language models by default.
        target: step efficiency for which bandwidth is sized; 0.9 by default.
        no_recompute: keep all activations instead of recomputing them.
        no_overlap: let compute wait for every transfer.
        optimizer_on_gpu: `every=K` updates each K-th part of the states on the GPU, `auto` takes the best K.
        inference: generate text instead of training.
        prompt: tokens of a prompt; 512 by default.
        generate: tokens generated for each sequence; 32 by default.
        weight_bits: width of a stored weight; 16 by default.
        kv: tier of the key-value cache: `gpu`, `cpu`, `nvme`, `storage` or `fill`.
        users: sessions whose key-value cache a tier keeps between turns; with `inference`, sizes that tier.
        turns: turns of a session; 1 by default.
        turn_time: time between two turns of a user; 60 s by default.
        hit: share of the reused context that the tier holds, or a trace `FILE.jsonl` with `hash_ids`; 1 by default.
        first_token_time: time in which a turn reads its reused context; 0.5 s by default.
        retention: time that the tier keeps the cache of a session after its last turn; none by default.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> answer = offload(set={"layers": 128, "hidden_size": 25_600, "attention_heads": 256}, node="dgx-2")
    >>> answer.results["nvme_tier_bytes"].display, answer.results["offload_nodes_to_hold"].value
    ('18.57 TB (16.88 TiB)', 1)

    Raises:
        UsageError: an option is out of range or unknown.
        IngestError: an input is missing; names what to supply.
    """
    catalog, settings = opened(catalogs), settings_of(set)
    training = {"gradients": gradients, "optimizer_states": optimizer_states, "activations": activations, "recipe": recipe,
                "sequence_length": sequence_length, "target": target, "optimizer_on_gpu": optimizer_on_gpu}  # fmt: skip
    sessions = {"users": users, "turns": turns, "turn_time": turn_time, "first_token_time": first_token_time,
                "retention": retention}  # fmt: skip
    serving = {"prompt": prompt, "generate": generate, "weight_bits": weight_bits, "kv": kv, "hit": hit, **sessions}
    _check_options(serving if not inference else training, "without" if not inference else "with")
    used = gpu or (None if node else USUAL_GPU)
    gpus = gpus_of(gpus, nodes, catalog, gpu=used, node=node, settings=settings)
    card, inside = machine_of(used, node, catalog)
    assert card is not None
    if users is not None:
        for option, given in {"kv": kv, "batch": batch, "parameters": parameters, "weight_bits": weight_bits}.items():
            if given is not None:
                raise option_error(option, ": found with --users, which sizes the tier of the caches alone, expected without")
        return serve(
            size_of(model, catalog, settings), card, inside, catalog,
            numbers={"gpus": gpus, "prompt": prompt, "generate": generate, **sessions},
            hit=hit, model=model, settings=settings, named=node is not None,
        )  # fmt: skip
    for option, given in {**sessions, "hit": hit}.items():
        if given is not None:
            raise option_error(option, ": found without --users, expected with it")
    if inference:
        return infer(
            size_of(model, catalog, settings), card, inside, catalog,
            numbers={"gpus": gpus, "batch": batch, "prompt": prompt, "generate": generate, "efficiency": efficiency},
            words={"model": model, "parameters": parameters, "kv": kv, "storage": storage},
            weight_bits=weight_bits, units=units, settings=settings, named=node is not None,
        )  # fmt: skip
    numbers = {"gpus": gpus, "batch": batch, "sequence_length": sequence_length, "efficiency": efficiency, "target": target}
    options = quantities_of(QUANTITIES, numbers)
    written = (parameters, gradients, optimizer_states, activations)
    asked = {name: tier or "fill" for name, tier in zip(CLASSES, written, strict=True)}
    for name, tier in asked.items():
        one_of(f"--{OPTIONS[name].replace('_', '-')}", tier, ("fill", *TIERS))
    chosen = recipe_of(recipe or USUAL_RECIPE, catalog)
    if not chosen.gradients.value:
        raise option_error("recipe", f": found {chosen.id}, which has no gradients, expected a recipe of training")
    size = _size(model, catalog, settings)
    known = Quantities(
        {
            **DEFAULTS,
            **size.given,
            **_structure(size.architecture),
            **_states(chosen, catalog, size, settings),
            **machine(card, inside, named=node is not None),
            **drives(storage, units, catalog),
            **compute(card, catalog),
            **_work(no_recompute),
            **_length(options.get("sequence_length") or settings.get("sequence_length")),
            **by_user({**options, **settings}),
        }
    )
    _follow(known)
    if no_recompute:
        known.choose("held_activations_bytes", "stored_activations_bytes")
    parts = placed(known, asked)
    tiers = {name: _tier(known, parts, (name,)) for name in TIERS}
    away, slow = _tier(known, parts, AWAY), _tier(known, parts, DRIVES)
    choices = [*_interleaved(known, away, optimizer_on_gpu)]
    _link(known, tiers, away, slow, no_overlap)
    further = [*(OF_DRIVES if slow.value("level_bytes") else ())]
    further += [name for tier, names in WEAR.items() if known.value(f"{tier}_tier_bytes") for name in names]
    further += INTERLEAVED if choices else ()
    results, unknown = known.results((*RESULTS, *further), ranged=True)
    words = {
        "model": (model, True),
        "recipe": (chosen.id, recipe is not None),
        **{f"{OPTIONS[name]}_tier": (tier, tier != "fill") for name, tier in asked.items()},
        "storage": (storage, storage is not None),
    }
    answer = Answer(
        "offload",
        f"Training {size.name} beyond GPU memory: {known.value('gpus'):,.0f} × {card.name}, {chosen.name}",
        {name: {"value": word, "from": "user" if given else "default"} for name, (word, given) in words.items() if word},
        known,
        results,
        _explained(known, unknown),
        {"placement": [*_placement(known, parts)], "traffic": [*_traffic(known, parts, away)]}
        | ({"interleaving": choices} if choices else {}),
        (*size.warnings, *_warnings(known, results)),
        catalog,
        unmet=_unmet(known),
    )
    return with_unused(answer, settings)


def _check_options(others: Mapping[str, object], preposition: str) -> None:
    """Refuse options that have no effect here.

    Raises:
        UsageError: an option of training with `--inference`, or of inference without it.
    """
    for option, given in others.items():
        if given is not None:
            kind = "with" if preposition == "without" else "without"
            raise option_error(option, f": found {preposition} --inference, expected {kind} it")


def _size(model: str | None, catalog: Catalog, settings: dict[str, float]) -> ModelSize:
    """The model; without one, its parameters follow from layers and width."""
    if model is None and "parameters" not in settings and {"layers", "hidden_size"} <= settings.keys():
        return ModelSize("your model", {})
    return size_of(model, catalog, settings)


def _structure(made: Architecture | None) -> dict[str, Input]:
    """Layers, width and heads, as the working memory and the activation checkpoints take them."""
    if made is None:
        return {}
    where = f"rows of {made.id}"
    counted = {
        "layers": made.layers,
        "hidden_size": made.hidden,
        "attention_heads": made.heads,
        "parameters_active": made.parameters_active,
    }
    return {name: Input(value, source="arithmetic", where=where, grade="derived") for name, value in counted.items() if value}


def _states(recipe: Recipe, catalog: Catalog, size: ModelSize, settings: Mapping[str, float]) -> dict[str, Input]:
    kept = kept_by(optimizer_of(recipe.optimizer, catalog), USUAL_PRECISION, size, settings)
    widths = {"weight_bytes_per_parameter": recipe.weights, "gradient_bytes_per_parameter": recipe.gradients}
    return {**kept, **from_fields(widths)}


def _work(stored: bool) -> dict[str, Input]:
    """FLOPs per parameter and token, and reads of the weights, with recomputed or stored activations."""
    note = "activations are kept" if stored else "activations are recomputed: a third forward pass of work"
    factor, reads = (STORED, 2) if stored else (RECOMPUTED, 3)
    values = {"flops_per_parameter_and_token": factor, "weight_reads_per_step": reads}
    return {name: Input(value, source="zero-infinity2021", where="sec. 4", note=note) for name, value in values.items()}


def _length(tokens: float | None) -> dict[str, Input]:
    usual = Input(1024).by_default("sequences of 1,024 tokens", "sequence_length")
    chosen = usual if tokens is None else Input(tokens, origin="user")
    return {"sequence_length": chosen, "sequence_elements": chosen}


def _follow(known: Quantities) -> None:
    """What follows from structure and machine, and what must be given."""
    if "parameters" not in known.given:
        known.choose("parameters", "block_parameters")
    known.choose("parameters_active", "parameters")
    missing = [name for name in ("layers", "hidden_size", "attention_heads") if name not in known.given]
    if missing:
        ways = tuple(Option(f"set.{name}", "N") for name in missing)
        raise IngestError(Message("the structure of the model is not known: give its config.json", supply=ways))
    complete(known)
    if "host_memory_bandwidth_per_node" in known.given:
        known.choose("host_optimizer_rate_per_node", "host_optimizer_rate_of_memory")
    else:
        known.give_default("host_optimizer_rate_per_node", HOST_RATE)


def _tier(known: Quantities, parts: Mapping[str, Part], tiers: Sequence[str]) -> Quantities:
    """The formulas of a tier, or of a group of tiers."""
    where = "as asked for" if all(part.asked for part in parts.values()) else "the fastest tiers with room, in order"
    shares = {
        f"level_{name}_share": Input(sum(part.shares.get(tier, 0.0) for tier in tiers), source="arithmetic", where=where,
                                    grade="derived")
        for name, part in parts.items()
    }  # fmt: skip
    found = Quantities(shares, " and ".join(PLACES[tier] for tier in tiers), shared_inputs=False)
    needed = (
        *(f"held_{name}_bytes" for name in CLASSES),
        *("moved_gradients_bytes", "weight_reads_per_step", "nodes_in_job", "parameters", "step_compute_seconds"),
        *("update_seconds_allowed", "host_link_bandwidth_of_job", "host_optimizer_rate_per_node"),
    )
    found.adopt({name: step for name in needed if (step := known.find(name)) is not None})
    for way in ("read", "write"):
        step = known.find(f"{tiers[0]}_{way}_bandwidth_of_job") if len(tiers) == 1 and tiers[0] in DRIVES else None
        if step is not None:
            found.link(f"level_{way}_bandwidth", step)
    return found


def _link(known: Quantities, tiers: Mapping[str, Quantities], away: Quantities, slow: Quantities, serial: bool) -> None:
    """Hand the quantities of the tiers to the job."""
    for name, tier in tiers.items():
        known.link(f"{name}_tier_bytes", tier.step("level_bytes"))
    for name in DRIVES:
        known.link(f"{name}_step_write_bytes", tiers[name].step("level_step_write_bytes"))
    known.link("storage_step_read_bytes", tiers["storage"].step("level_step_read_bytes"))
    known.link("storage_update_read_bytes", tiers["storage"].step("level_update_read_bytes"))
    for name in DRIVES:
        for phase in ("pass", "update"):
            _transfer(known, tiers[name], name, phase)
    if (step := away.find("link_pass_seconds")) is not None:
        known.adopt({"link_pass_seconds": step})
    if "interleave_every" in known.given:
        known.choose("host_update_seconds", "interleaved_update_seconds")
        known.link("plain_update_seconds", away.step("host_update_seconds"))
    else:
        known.adopt({"host_update_seconds": away.step("host_update_seconds")})
    how = "serial" if serial else "overlapped"
    known.link("offload_bytes_per_node", away.step("level_bytes_per_node"))
    known.link("drive_tier_bytes_per_node", slow.step("level_bytes_per_node"))
    for prefix, group in (("offload", away), ("drive_tier", slow), *((f"{name}_tier", tiers[name]) for name in DRIVES)):
        for way in ("read", "write"):
            step = group.find(f"level_{way}_bandwidth_{how}")
            if step is not None:
                known.link(f"{prefix}_{way}_bandwidth_per_node", step)
    if serial and known.find("step_seconds_serial") is not None:
        known.choose("step_seconds", "step_seconds_serial")


def _interleaved(known: Quantities, away: Quantities, written: str | None) -> Iterator[dict[str, Any]]:
    """The optimizer step by the part that is updated on the GPU; gives the one that is asked for, or the best.

    Raises:
        UsageError: neither `auto` nor `every=K` with a whole K from 2.
    """
    if written is None and "interleave_every" in known.given:
        written = f"every={known.given['interleave_every'].value:g}"
    if written is None:
        return
    word, _, number = written.partition("=")
    if written != "auto" and (word != "every" or not number):
        raise option_error("optimizer_on_gpu", f": found '{written}', expected auto or every=K")
    known.link("update_parameters", away.step("update_parameters"))
    found = {}
    for every in EVERY:
        found[every] = known.with_inputs({"interleave_every": Input(every)}).value("interleaved_update_seconds")
        yield {"interleave_every": every, "interleaved_update_seconds": found[every]}
    best = min(found, key=lambda every: found[every])
    if written == "auto":
        chosen = Input(best, note="the shortest optimizer step", source="deep-optimizer-states2024", grade="derived")
    else:
        try:
            stated = float(check_value("interleave_every", parse(number, "1", word)))
        except UsageError:
            raise option_error("optimizer_on_gpu", f": found '{written}', expected every=K with a whole K from 2") from None
        chosen = Input(stated, origin="user")
    known.give({"interleave_every": chosen})


def _transfer(known: Quantities, tier: Quantities, name: str, phase: str) -> None:
    """The time of a tier in a phase: none where nothing moves, unknown where its bandwidth is."""
    moved = tier.value(f"level_{phase}_read_bytes") + tier.value(f"level_{phase}_write_bytes")
    step = tier.find(f"level_{phase}_seconds")
    if not moved:
        known.give({f"{name}_{phase}_seconds": Input(0, note=f"nothing moves to or from {PLACES[name]}")})
    elif step is not None:
        known.link(f"{name}_{phase}_seconds", step)


def _explained(known: Quantities, unknown: Mapping[str, str]) -> dict[str, str]:
    """Why the times of a step are unknown: the bandwidth of a tier that holds bytes is."""
    why = ""
    for name in DRIVES:
        if known.find(f"{name}_pass_seconds") is None or known.find(f"{name}_update_seconds") is None:
            what = f"{display(known.value(f'{name}_tier_bytes'), 'B', binary=False)} in {PLACES[name]} of unknown bandwidth"
            why = Message(what, supply=("storage", "units"))
    if not why:
        return dict(unknown)
    return {name: why for name in unknown if name in ("step_seconds", "offload_efficiency", "offload_flops_per_gpu")}


def _placement(known: Quantities, parts: Mapping[str, Part]) -> Iterator[dict[str, Any]]:
    for name, part in parts.items():
        size = known.value(f"held_{name}_bytes")
        held = {COLUMNS[tier]: size * part.shares.get(tier, 0.0) for tier in TIERS}
        yield {"class": "optimizer states" if name == "optimizer" else name, **held}
    yield {"class": "all", **{COLUMNS[tier]: known.value(f"{tier}_tier_bytes") for tier in TIERS}}


def _traffic(known: Quantities, parts: Mapping[str, Part], away: Quantities) -> Iterator[dict[str, Any]]:
    """Bytes that each class moves in a step, if it lies off the GPU; its intensity, and the bandwidth for the target."""
    alone = {name: {f"level_{other}_share": Input(float(other == name)) for other in CLASSES} for name in CLASSES}
    for name in CLASSES:
        one = Quantities(alone[name])
        one.adopt({key: away.step(key) for key in (*(f"held_{other}_bytes" for other in CLASSES), "moved_gradients_bytes",
                                                   "weight_reads_per_step")})  # fmt: skip
        row: dict[str, Any] = {
            "class": "optimizer states" if name == "optimizer" else name,
            "off_gpu": sum(parts[name].shares.get(tier, 0.0) for tier in AWAY),
            "level_step_read_bytes": one.value("level_step_read_bytes"),
            "level_step_write_bytes": one.value("level_step_write_bytes"),
        }
        intensity = known.find(f"{name}_intensity") if name != "gradients" else None
        row["arithmetic_intensity"] = intensity.value if intensity is not None else "see others"
        row["bandwidth_for_target"] = ""
        if intensity is not None and known.find("achieved_flops_per_gpu") is not None:
            row["bandwidth_for_target"] = known.with_inputs({"arithmetic_intensity": Input(intensity.value)}).value(
                "bandwidth_for_target"
            )
        yield row


def bounds(known: Quantities, owner: str = "") -> Iterator[Finding | None]:
    """Whether a link, the drives or the CPUs make steps longer than the efficiency wanted allows, and the NICs of the nodes."""
    times = {words: float(step.value) for name, words in BOUNDS.items() if (step := known.find(name)) is not None}
    if known.find("step_seconds") is not None and known.find("step_seconds_at_target") is not None and times:
        longest = max(times, key=lambda words: times[words])
        asked = display(known.value("offload_read_bandwidth_per_node"), "B/s", binary=False)
        yield finding("W94", known.find, owner=owner, part=longest, time=display(times[longest], "s"), asked=asked)
    if known.find("storage_tier_read_bandwidth_per_node") is not None:
        least = known.find("step_seconds_of_nics")
        yield finding("W95", known.find, owner=owner, least=display(least.value, "s") if least is not None else "longer")


def _unmet(known: Quantities) -> str:
    """Why the job does not fit: working memory beyond the GPU, or a tier without room."""
    memory = known.value("memory_bytes_per_gpu") * known.value("memory_utilization")
    working = known.value("offload_working_bytes_per_gpu")
    if working > memory:
        taken = " of ".join(display(value, "B", binary=False) for value in (working, memory))
        ways = ("batch", Option("set.operator_share_per_gpu", "F"))
        return Message(f"working memory takes {taken} on each GPU: use smaller batches or tiles", supply=ways)
    return unmet(known)


def _warnings(known: Quantities, results: Mapping[str, Quantity]) -> Iterator[str]:
    held = results["storage_tier_bytes"]
    found = [finding("W90", results.get), *bounds(known)]
    if held.value and known.find("system_read_bandwidth") is None:
        found.append(finding("W91", words={"storage": "unknown"}, held=display(held.value, "B", binary=False)))
    if held.value and known.find("shared_read_bandwidth") is not None:
        read, write = (display(known.value(f"shared_{way}_bandwidth"), "B/s", binary=False) for way in ("read", "write"))
        found.append(finding("W98", words={"storage": "states"}, read=read, write=write))
    yield from (one.message() for one in applying(found))
