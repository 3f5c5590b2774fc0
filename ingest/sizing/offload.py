"""`ingest offload`: training whose states lie below GPU memory, by class, tier and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ingest.architecture import Architecture
from ingest.catalog.records import Family, Gpu, Node, Recipe, Storage
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, by_user, gpus_in_node, machine_of, quantities_of, settings_of
from ingest.sizing.optimizer_states import ModelSize, kept_by, optimizer_of, size_of
from ingest.sizing.rules import applying, finding
from ingest.units import display

TIERS = ("gpu", "cpu", "nvme", "storage")
#: The classes in the order in which they are placed: those that move most often for each byte that they hold come first.
CLASSES = ("weights", "gradients", "optimizer", "activations")
#: class -> the option that places it
OPTIONS = {"weights": "parameters", "gradients": "gradients", "optimizer": "optimizer_states", "activations": "activations"}
#: Groups of tiers, in the words of the results.
AWAY, DRIVES = ("cpu", "nvme", "storage"), ("nvme", "storage")
PLACES = {"gpu": "GPU memory", "cpu": "host memory", "nvme": "NVMe", "storage": "shared storage"}
USUAL_GPU, USUAL_RECIPE, USUAL_PRECISION = "h100-sxm", "zero-infinity-20", "bf16"
#: FLOPs per parameter and token: forward pass 2, backward pass 4, recomputing the forward pass 2.
RECOMPUTED, STORED = 8, 6
QUANTITIES = {"batch": "sequences_per_gpu", "efficiency": "model_flops_utilization", "target": "offload_target"}
DEFAULTS = {
    "sequences_per_gpu": Input(1).by_default("one sequence on each GPU", "batch"),
    "offload_target": Input(0.9).by_default("bandwidth is sized for 90 % of the rate without transfers", "target"),
    "memory_utilization": Input(0.9).by_default("90 % of the GPU memory", "set.memory_utilization"),
    "tier_utilization": assumed(0.9, "90 % of host memory and NVMe", "set.tier_utilization"),
    "residual_bytes_per_gpu": Input(0).by_default("no further buffers", "set.residual_bytes_per_gpu"),
    "host_link_delivery": Input(
        0.5, 0.3, 0.65, source="deepspeed-examples", where="ZeRO-Inference with weights on the host: 9.5 to 17.2 of 31.5 GB/s",
        grade="derived",
    ).by_default("copies reach half of the host link", "set.host_link_delivery"),
    "nvme_delivery": Input(
        0.43, 0.36, 0.48, source="deepnvme2025", where="10, 27, 48 GB/s of 4 × 7, 4 × 14, 8 × 14", grade="derived",
    ).by_default("reads and writes of tensors reach 43 % of the datasheet", "set.nvme_delivery"),
    "nvme_write_share": Input(
        0.5, 0.41, 0.54, source="deepnvme2025", where="writes over reads: 5 of 10, 11 of 27, 26 of 48 GB/s", grade="derived",
    ).by_default("drives write half as fast as they read", "set.nvme_write_bandwidth_per_node"),
    "host_optimizer_rate_per_node": Input(
        3.45e9, 2e9, 4.6e9, source="deep-optimizer-states2024", where="13B on 4 ranks of one node: 3.77 s on the CPU",
        grade="derived",
    ).by_default("the CPUs of a node update 3.45 billion parameters per second", "set.host_optimizer_rate_per_node"),
}  # fmt: skip
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
    "offload_nodes_to_hold",
)
#: of a job that has bytes on NVMe or shared storage
OF_DRIVES = (
    "drive_tier_bytes_per_node",
    "drive_tier_read_bandwidth_per_node",
    "drive_tier_write_bandwidth_per_node",
    "shared_read_bandwidth",
    "shared_write_bandwidth",
    "nvme_bytes_written_per_day",
    "nvme_writes_per_day",
    "storage_bytes_written_per_day",
)


class Part(NamedTuple):
    """Where a class of bytes lies: its shares by tier, and whether the user placed it."""

    shares: Mapping[str, float]
    asked: bool


def offload(
    model: str | None = None,
    *,
    gpu: str | None = None,
    node: str | None = None,
    gpus: Written | None = None,
    batch: Written | None = None,
    sequence_length: Written | None = None,
    parameters: str = "fill",
    gradients: str = "fill",
    optimizer_states: str = "fill",
    activations: str = "fill",
    recipe: str = USUAL_RECIPE,
    storage: str | None = None,
    units: Written | None = None,
    efficiency: Written | None = None,
    target: Written | None = None,
    no_recompute: bool = False,
    no_overlap: bool = False,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] = (),
) -> Answer:
    """Training or inference beyond GPU memory: what lies on GPU, host, NVMe and shared storage, and what must move.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"layers": N, "hidden_size": N}`.
        gpu: id or YAML file of the GPU; an H100 by default.
        node: id or YAML file of a node type; sets the GPU too.
        gpus: GPUs of the job; one node by default.
        batch: sequences on each GPU in one step; 1 by default.
        sequence_length: tokens of one sequence; 1,024 by default.
        parameters: tier of the weights: `gpu`, `cpu`, `nvme`, `storage`, or `fill` for the fastest tiers with room.
        gradients: tier of the gradients.
        optimizer_states: tier of the optimizer states.
        activations: tier of the activation checkpoints.
        recipe: id in the catalogs of the bytes per parameter.
        storage: id of drives, for the NVMe of each node, or of a shared storage system.
        units: drives of each node, or units of the shared system; 1 by default.
        efficiency: share of the dense peak that compute alone reaches; that of language models by default.
        target: step efficiency for which bandwidth is sized; 0.9 by default.
        no_recompute: keep all activations instead of recomputing them.
        no_overlap: let compute wait for every transfer.
        set: values of quantities, by name.
        catalogs: folders with entries of your own.

    >>> answer = offload(set={"layers": 128, "hidden_size": 25_600, "attention_heads": 256}, node="dgx-2")
    >>> answer.results["nvme_tier_bytes"].display, answer.results["offload_nodes_to_hold"].value
    ('18.58 TB (16.9 TiB)', 1)

    Raises:
        UsageError: an option is out of range or unknown.
        IngestError: an input is missing; names what to supply.
    """
    catalog, settings = Catalog(catalogs), settings_of(set)
    numbers = {"gpus": gpus, "batch": batch, "sequence_length": sequence_length, "efficiency": efficiency, "target": target}
    options = quantities_of(QUANTITIES, numbers)
    asked = dict(zip(CLASSES, (parameters, gradients, optimizer_states, activations), strict=True))
    for name, tier in asked.items():
        one_of(f"--{OPTIONS[name].replace('_', '-')}", tier, ("fill", *TIERS))
    one_of("--recipe", recipe, catalog.ids(Recipe.kind))
    chosen = catalog.get(Recipe, recipe)
    size = _size(model, catalog, settings)
    card, inside = machine_of(gpu or (None if node else USUAL_GPU), node, catalog)
    assert card is not None
    known = Quantities(
        {
            **DEFAULTS,
            **size.given,
            **_structure(size.architecture),
            **_states(chosen, catalog, size, settings),
            **machine(card, inside, named=node is not None),
            **drives(storage, units, catalog),
            **_compute(card, catalog, no_recompute),
            **_length(options.get("sequence_length") or settings.get("sequence_length")),
            **by_user({**options, **settings}),
        }
    )
    _complete(known)
    parts = placed(known, asked)
    tiers = {name: _tier(known, parts, (name,)) for name in TIERS}
    away, slow = _tier(known, parts, AWAY), _tier(known, parts, DRIVES)
    _link(known, tiers, away, slow, no_overlap)
    used = slow.value("level_bytes") > 0
    results, unknown = known.results((*RESULTS, *(OF_DRIVES if used else ())), ranged=True)
    words = {
        "model": (model, True),
        "recipe": (chosen.id, recipe != USUAL_RECIPE),
        **{OPTIONS[name]: (tier, tier != "fill") for name, tier in asked.items()},
        "storage": (storage, storage is not None),
    }
    return Answer(
        "offload",
        f"Training {size.name} beyond GPU memory: {known.value('gpus'):,.0f} × {card.name}, {chosen.name}",
        {name: {"value": word, "from": "user" if given else "default"} for name, (word, given) in words.items() if word},
        known,
        results,
        _explained(known, unknown),
        {"placement": [*_placement(known, parts)], "traffic": [*_traffic(known, parts, away)]},
        tuple(_warnings(known, results)),
        catalog,
        unmet=_unmet(known, tiers),
    )


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


def machine(card: Gpu, inside: Node | None, *, named: bool) -> dict[str, Input]:
    """The tiers of a node as inputs: memory, links and drives.

    Args:
        card: the GPU.
        inside: the node type; None if unknown.
        named: whether the user named the node type.
    """
    found = from_fields({"memory_bytes_per_gpu": card.memory_bytes, "host_link_bandwidth_per_gpu": card.host_link_bandwidth})
    found |= from_fields({"memory_bandwidth_per_gpu": card.memory_bandwidth})
    found |= gpus_in_node(card, inside, *([] if named else ["node"]))
    if inside is None:
        return found
    fields = {
        "host_memory_per_node": inside.host_memory_bytes,
        "host_uplink_bandwidth_per_node": inside.host_uplink_bandwidth,
        "nvme_bytes_per_node": inside.nvme_bytes,
        "nvme_read_bandwidth_per_node": inside.nvme_read_bandwidth,
        "nvme_write_bandwidth_per_node": inside.nvme_write_bandwidth,
        "storage_nic_bandwidth_per_node": inside.storage_nic_bandwidth,
    }
    return {**found, **{name: item for name, item in from_fields(fields).items() if item.value}}


def drives(storage: str | None, units: Written | None, catalog: Catalog) -> dict[str, Input]:
    """The bandwidth and capacity of drives in each node, or of a shared system.

    Raises:
        UsageError: an unknown entry, units without one, or an entry whose bandwidth is not known.
    """
    if storage is None:
        if units is not None:
            raise UsageError("--units: found without --storage, expected the id of the drives or of the system")
        return {}
    entry = catalog.get(Storage, storage)
    count = quantities_of({"units": "offload_storage_units"}, {"units": units}).get("offload_storage_units", 1)
    names = ("nvme_read_bandwidth_per_node", "nvme_write_bandwidth_per_node", "nvme_bytes_per_node")
    if entry.family != "drive":
        names = ("system_read_bandwidth", "system_write_bandwidth", "storage_room_bytes")
    fields = (entry.read_bandwidth, entry.write_bandwidth, entry.raw_bytes if entry.family == "drive" else entry.usable_bytes)
    found = from_fields(dict(zip(names, fields, strict=True)))
    if names[0] not in found:
        raise UsageError(f"--storage: the read bandwidth of one {entry.scaling_unit} of {entry.id} is not known")
    note = f"{count:g} × {entry.name}"
    scaled = {
        name: item._replace(value=item.value * count, low=item.low and item.low * count, high=item.high and item.high * count,
                            note=note)
        for name, item in found.items()
    }  # fmt: skip
    if entry.family == "drive" and entry.read_bandwidth is not None and entry.read_bandwidth.grade == "measured":
        scaled["nvme_delivery"] = Input(1, note="the bandwidth is measured with reads and writes of tensors")
    return scaled


def _compute(card: Gpu, catalog: Catalog, stored: bool) -> dict[str, Input]:
    found = from_fields({"model_flops_utilization": catalog.get(Family, "llm").efficiency})
    found = {name: item.by_default("of training runs of language models", "efficiency") for name, item in found.items()}
    top = evidence_ladder.peak_of(card, USUAL_PRECISION)
    if top is not None:
        found["peak_flops_per_gpu"] = top
    note = "activations are kept" if stored else "activations are recomputed: a third forward pass of work"
    factor, reads = (STORED, 2) if stored else (RECOMPUTED, 3)
    found["flops_per_parameter_and_token"] = Input(factor, source="zero-infinity2021", where="sec. 4", note=note)
    found["weight_reads_per_step"] = Input(reads, source="zero-infinity2021", where="sec. 4", note=note)
    return found


def _length(tokens: float | None) -> dict[str, Input]:
    usual = Input(1024).by_default("sequences of 1,024 tokens", "sequence_length")
    chosen = usual if tokens is None else Input(tokens, origin="user")
    return {"sequence_length": chosen, "sequence_elements": chosen}


def _complete(known: Quantities) -> None:
    """What follows from the structure, and what must be given."""
    if "parameters" not in known.given:
        known.choose("parameters", "block_parameters")
    known.choose("parameters_active", "parameters")
    if "gpus" not in known.given:
        known.choose("gpus", "gpus_of_one_node")
    if "host_uplink_bandwidth_per_node" not in known.given and known.find("host_link_bandwidth_per_gpu") is not None:
        known.choose("host_uplink_bandwidth_per_node", "host_links_of_node")
    if "nvme_write_bandwidth_per_node" not in known.given and "nvme_read_bandwidth_per_node" in known.given:
        known.choose("nvme_write_bandwidth_per_node", "nvme_write_bandwidth_from_reads")
    missing = [name for name in ("layers", "hidden_size", "attention_heads") if name not in known.given]
    if missing:
        ways = tuple(Option(f"set.{name}", "N") for name in missing)
        raise IngestError(Message("the structure of the model is not known: give its config.json", supply=ways))


def placed(known: Quantities, asked: Mapping[str, str]) -> dict[str, Part]:
    """Where each class lies: what is asked for takes its room first, then each class fills the fastest tiers with room.

    Shared storage takes what is left; whether it has the room is for the caller to say.

    Args:
        known: the classes as `held_…_bytes`, the tiers as `…_room_bytes`.
        asked: tier or `fill`, by class.
    """
    size = {name: known.value(f"held_{name}_bytes") for name in asked}
    room = {tier: known.value(f"{tier}_room_bytes") if known.find(f"{tier}_room_bytes") else 0.0 for tier in TIERS[:-1]}
    for name, tier in asked.items():
        if tier in room:
            room[tier] = max(room[tier] - size[name], 0.0)
    parts = {}
    for name, tier in asked.items():
        if tier != "fill":
            parts[name] = Part({tier: 1.0}, True)
            continue
        shares, left = {}, size[name]
        for place in room:
            taken = min(left, room[place])
            if taken:
                shares[place] = taken / size[name]
                room[place] -= taken
                left -= taken
        if left:
            shares["storage"] = 1 - sum(shares.values())
        parts[name] = Part(shares, False)
    return parts


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
        for phase in ("pass", "update"):
            _transfer(known, tiers[name], name, phase)
    for name in ("link_pass_seconds", "host_update_seconds"):
        step = away.find(name)
        if step is not None:
            known.adopt({name: step})
    how = "serial" if serial else "overlapped"
    for prefix, group in (("offload", away), ("drive_tier", slow)):
        known.link(f"{prefix}_bytes_per_node", group.step("level_bytes_per_node"))
        for way in ("read", "write"):
            step = group.find(f"level_{way}_bandwidth_{how}")
            if step is not None:
                known.link(f"{prefix}_{way}_bandwidth_per_node", step)
    if serial and known.find("step_seconds_serial") is not None:
        known.choose("step_seconds", "step_seconds_serial")


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
    return {name: why for name in unknown if name in ("step_seconds", "offload_efficiency")}


def _placement(known: Quantities, parts: Mapping[str, Part]) -> Iterator[dict[str, Any]]:
    for name, part in parts.items():
        size = known.value(f"held_{name}_bytes")
        held = {f"{tier}_tier_bytes": size * part.shares.get(tier, 0.0) for tier in TIERS}
        yield {"class": "optimizer states" if name == "optimizer" else name, **held}
    yield {"class": "all", **{f"{tier}_tier_bytes": known.value(f"{tier}_tier_bytes") for tier in TIERS}}


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
        row["arithmetic_intensity"] = intensity.value if intensity is not None else "with weights and optimizer"
        row["bandwidth_for_target"] = ""
        if intensity is not None and known.find("achieved_flops_per_gpu") is not None:
            row["bandwidth_for_target"] = known.with_inputs({"arithmetic_intensity": Input(intensity.value)}).value(
                "bandwidth_for_target"
            )
        yield row


def _unmet(known: Quantities, tiers: Mapping[str, Quantities]) -> str:
    """The first tier whose bytes exceed its room, GPU memory beside its working memory first."""
    memory = known.value("memory_bytes_per_gpu") * known.value("memory_utilization")
    working = known.value("offload_working_bytes_per_gpu")
    if working > memory:
        taken = " of ".join(display(value, "B", binary=False) for value in (working, memory))
        return f"working memory takes {taken} on each GPU: use a smaller --batch, or --set operator_share_per_gpu=F"
    for name in TIERS:
        room = known.find(f"{name}_room_bytes")
        held = tiers[name].value("level_bytes")
        if room is not None and held > room.value * (1 + 1e-9):
            shown = (display(value, "B", binary=False) for value in (held, room.value))
            return "{} must hold {}, but has room for {}: use more nodes, or place less there".format(PLACES[name], *shown)
    return ""


def _warnings(known: Quantities, results: Mapping[str, Quantity]) -> Iterator[str]:
    held = results["storage_tier_bytes"]
    found = [finding("W90", results.get)]
    if held.value and known.find("system_read_bandwidth") is None:
        found.append(finding("W91", words={"storage": "unknown"}, held=display(held.value, "B", binary=False)))
    yield from (one.message() for one in applying(found))
