"""The tiers below GPU memory, for training and inference: memory, links and drives of a machine, and what lies where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import CHOSEN
from ingest.catalog.records import Gpu, Node, Storage, Value
from ingest.engine.messages import Message
from ingest.engine.question import Shown
from ingest.engine.registry import solve
from ingest.engine.result import Sources
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed, derived
from ingest.errors import IngestError, UsageError
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Written, gpus_in_node, quantities_of
from ingest.sizing.resolve import ModelSize
from ingest.sizing.rules import ROUNDING, Finding, finding
from ingest.units import display

#: tier -> its column in a table of places
COLUMNS = {"gpu": "on_gpu", "cpu": "on_host", "nvme": "on_nvme", "storage": "on_storage"}
TIERS = ("gpu", "cpu", "nvme", "storage")
#: What the drives of a node deliver.
NVME_RATES = ("nvme_read_bandwidth_per_node", "nvme_write_bandwidth_per_node")
#: The results that say what each tier holds.
HELD = tuple(Shown(f"{tier}_tier_bytes", main=False) for tier in TIERS)
#: What places a class in the fastest tiers with room.
FILL = "fill"
TIER_WORDS = (FILL, *TIERS)
#: Groups of tiers, in the words of the results.
AWAY, DRIVES = ("cpu", "nvme", "storage"), ("nvme", "storage")
PLACES = {"gpu": "GPU memory", "cpu": "host memory", "nvme": "NVMe", "storage": "shared storage"}
#: tier -> what sets the size of it in a node
SIZES = {"gpu": "gpu", "cpu": "set.host_memory_per_node", "nvme": "set.nvme_bytes_per_node"}
#: What nobody has to give of the tiers.
TIER_DEFAULTS = {
    "memory_utilization": Input(0.9).by_default("90 % of the GPU memory", "set.memory_utilization"),
    "tier_utilization": assumed(0.9, "90 % of host memory and NVMe", "set.tier_utilization"),
    "host_link_delivery": Input(
        0.5, 0.3, 0.8, source="deepspeed-examples",
        where="README.md, 4-bit weights on the host: 9.5 to 17.2 of 31.5 GB/s; DeepNVMe blog: 48 of 63 GB/s from NVMe",
        grade="derived",
    ).by_default("copies reach half of the host link", "set.host_link_delivery"),
    "nvme_delivery": Input(
        0.43, 0.36, 0.76, source="deepnvme2025", where="10, 27, 48 GB/s of 4 × 7, 4 × 14, 8 × 14; ZeRO-Inference: 65 and "
        "76 % of a single drive", grade="derived",
    ).by_default("reads and writes of tensors reach 43 % of the datasheet", "set.nvme_delivery"),
    "nvme_write_share": Input(
        0.5, 0.41, 0.54, source="deepnvme2025", where="writes over reads: 5 of 10, 11 of 27, 26 of 48 GB/s", grade="derived",
    ).by_default("drives write half as fast as they read", "set.nvme_write_bandwidth_per_node"),
}  # fmt: skip
#: Drives whose bandwidth is measured are not discounted again.
MEASURED_WITH_TENSORS = Input(1, note="the bandwidth is measured with reads and writes of tensors")
USUAL_PRECISION, USUAL_UNITS = "bf16", 1
#: Kernels compute the scan in 32 bits; a cache of 16 bits halves it.
RECURRENT_WIDTH = Input(
    4, 2, 4, source="vllm-recurrent-state",
    where="`auto` is the width of the model or that of its config.json: Qwen3.5 and Nemotron 3 state float32", grade="derived",
).by_default("recurrent states of 32 bits; a server may keep 16", "set.bytes_per_recurrent_element")  # fmt: skip


class OffloadJob(NamedTuple):
    """A job with bytes below GPU memory."""

    size: ModelSize
    #: card, node: the machine; the node type is None if unknown
    card: Gpu
    node: Node | None
    named: bool  # whether the user named the node type
    storage: Storage | None  # drives of each node, or a shared system
    utilization: Value | None  # the share of the dense peak that language models reach
    asked: Mapping[str, Any]  # the options by name, as written
    settings: Mapping[str, float]  # what the user set
    sources: Sources  # what the answer cites


class Part(NamedTuple):
    """Where a class of bytes lies: its shares by tier, and whether the user placed it."""

    shares: Mapping[str, float]
    asked: bool


def machine(card: Gpu, inside: Node | None, *, named: bool) -> dict[str, Input]:
    """The tiers of a node as inputs: memory, links and drives; `named` where the user named the node type."""
    found = from_fields({"memory_bytes_per_gpu": card.memory_bytes, "host_link_bandwidth_per_gpu": card.host_link_bandwidth})
    found |= from_fields({"memory_bandwidth_per_gpu": card.memory_bandwidth})
    found |= gpus_in_node(card, inside, *([] if named else ["node"]))
    if inside is None:
        return found
    fields = {
        "host_memory_per_node": inside.host_memory_bytes,
        "host_memory_bandwidth_per_node": inside.host_memory_bandwidth,
        "host_uplink_bandwidth_per_node": inside.host_uplink_bandwidth,
        "nvme_bytes_per_node": inside.nvme_bytes,
        "nvme_read_bandwidth_per_node": inside.nvme_read_bandwidth,
        "nvme_write_bandwidth_per_node": inside.nvme_write_bandwidth,
        "storage_nic_bandwidth_per_node": inside.storage_nic_bandwidth,
    }
    given = {name: item for name, item in from_fields(fields).items() if item.value or name == "nvme_bytes_per_node"}
    count = "" if inside.nvme_drives is None else f"{inside.nvme_drives.value:g} "
    for name in NVME_RATES:
        if name in given:
            why = f"the {count}NVMe drives of a {inside.name}"
            given[name] = given[name].by_default(why, "storage", "units")
    reads = inside.nvme_read_bandwidth
    if reads is not None and reads.grade == "measured":
        given["nvme_delivery"] = MEASURED_WITH_TENSORS
    return {**found, **given}


def drives(entry: Storage | None, units: Written | None) -> dict[str, Input]:
    """The bandwidth and capacity of drives in each node, or of a shared system.

    Raises UsageError: units without an entry, or an entry whose bandwidth is not known.
    """
    if entry is None:
        if units is not None:
            raise UsageError("--units: found without --storage, expected the id of the drives or of the system")
        return {}
    count = quantities_of({"units": "offload_storage_units"}, {"units": units}).get("offload_storage_units", USUAL_UNITS)
    names = (*NVME_RATES, "nvme_bytes_per_node")
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
        scaled["nvme_delivery"] = MEASURED_WITH_TENSORS
    return scaled


def compute(card: Gpu, utilization: Value | None) -> dict[str, Input]:
    """The dense peak of a GPU, and the share of it that language models reach."""
    found = from_fields({"model_flops_utilization": utilization})
    found = {name: item.by_default("of runs of language models", "efficiency") for name, item in found.items()}
    top = evidence_ladder.peak_of(card, USUAL_PRECISION)
    return found if top is None else {**found, "peak_flops_per_gpu": top}


def tier_of(
    known: Quantities, parts: Mapping[str, Part], tiers: Sequence[str], where: Mapping[bool, str], needed: Sequence[str]
) -> Quantities:
    """The formulas of a tier, or of a group of tiers.

    `where` says why a class lies there, if the user asked for it and if not; the formulas rest on the `needed` of the job.
    """
    shares = {
        f"level_{name}_share": derived(sum(part.shares.get(tier, 0.0) for tier in tiers), where[part.asked])
        for name, part in parts.items()
    }
    found = Quantities(shares, " and ".join(PLACES[tier] for tier in tiers))
    found.adopt({name: step for name in needed if (step := known.find(name)) is not None})
    if len(tiers) == 1 and tiers[0] in DRIVES:
        for way in ("read", "write"):
            if (step := known.find(f"{tiers[0]}_{way}_bandwidth_of_job")) is not None:
                found.link(f"level_{way}_bandwidth", step)
    return found


def placement(known: Quantities, parts: Mapping[str, Part], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The table of what lies where; `names` of the classes where people call them otherwise."""
    rows: list[dict[str, Any]] = []
    for name, part in parts.items():
        size = known.value(f"held_{name}_bytes")
        rows.append({"class": names.get(name, name), **{COLUMNS[one]: size * part.shares.get(one, 0.0) for one in TIERS}})
    return [*rows, {"class": "all", **{COLUMNS[tier]: known.value(f"{tier}_tier_bytes") for tier in TIERS}}]


def unknown_storage(known: Quantities, results: Mapping[str, Quantity]) -> Iterator[Finding | None]:
    """Whether bytes lie on a shared storage whose bandwidth nobody stated."""
    held = results["storage_tier_bytes"]
    if held.value and known.find("system_read_bandwidth") is None:
        yield finding("W91", words={"storage": "unknown"}, held=display(held.value, "B", binary=False))


def placed(known: Quantities, asked: Mapping[str, str]) -> dict[str, Part]:
    """Where each class lies: what is asked for takes its room first, then each class fills the fastest tiers with room.

    Shared storage takes what is left; whether it has the room is for the caller to say. The classes are known as
    `held_…_bytes`, the tiers as `…_room_bytes`; each class asks for a tier or `fill`.

    Raises IngestError: a tier has to be filled whose size is not known.
    """
    size = {name: known.value(f"held_{name}_bytes") for name in asked}
    room = {tier: step.value for tier in TIERS[:-1] if (step := known.find(f"{tier}_room_bytes")) is not None}
    for name, tier in asked.items():
        if tier in room:
            room[tier] = max(room[tier] - size[name], 0.0)
    parts = {}
    for name, asked_for in asked.items():
        if asked_for != FILL:
            parts[name] = Part({asked_for: 1.0}, True)
            continue
        shares, left = {}, size[name]
        for tier in TIERS[:-1]:
            if left and tier not in room:
                raise IngestError(Message(f"the {PLACES[tier]} of a node is not known", supply=("node", SIZES[tier])))
            taken = min(left, room.get(tier, 0.0))
            if taken:
                shares[tier] = taken / size[name]
                room[tier] -= taken
                left -= taken
        if left:
            shares["storage"] = 1 - sum(shares.values())
        parts[name] = Part(shares, False)
    return parts


def unmet(known: Quantities) -> str:
    """The first tier whose bytes exceed its room; empty where all fit."""
    for name in TIERS:
        room, held = known.find(f"{name}_room_bytes"), known.value(f"{name}_tier_bytes")
        if room is not None and held > room.value * (1 + ROUNDING):
            have, free = (display(value, "B", binary=False) for value in (held, room.value))
            return f"{PLACES[name]} must hold {have}, but has room for {free}: use more nodes, or place less there"
    return ""


def recurrent_state(made: Architecture) -> dict[str, Input]:
    """The state that the linear and recurrent layers of a model keep of a sequence, whatever its length."""
    kept = [row.state * row.layers for row in made.attentions]
    if not any(kept):
        return {"recurrent_state_bytes": Input(0, note="no linear or recurrent layers")}
    width = RECURRENT_WIDTH
    if made.state_bytes is not None:
        width = derived(made.state_bytes, f"width of the state in the config.json of {made.id}")
    return {"recurrent_elements": derived(kept, f"layers of {made.id}"), "bytes_per_recurrent_element": width}


def kept_elements(made: Architecture, tokens: float) -> list[float]:
    """What each kind of attention keeps of a sequence: all of its tokens, or those of its window.

    Where a query chooses tokens, a later one may choose any, so all are kept: of compressed ones the entries, and what the
    compressors hold of tokens in no entry yet.
    """
    kept = []
    for row in made.attentions:
        window = row.window if row.window and row.reach != CHOSEN else tokens
        given = {"cached_elements_of_kind": row.cached * row.layers, "kv_context_tokens": tokens, "attention_window": window}
        if row.block:
            given |= {"tokens_per_entry": row.block, "raw_elements_per_token": row.raw, "overlap_share": row.overlap}
            given["attention_window"] = solve("compressed_tokens", given)
        held = row.layers * solve("compressor_elements", given) if row.block else 0
        kept.append(solve("cached_elements_per_sequence", given) + held)
    return kept


def windowed_cache(made: Architecture, tokens: float) -> Finding | None:
    """What a cache that ends at a window leaves out of so many tokens."""
    return finding("W121", {"kv_context_tokens": tokens, "cache_window": made.cache_window or None})


def kept_by_attention(made: Architecture, known: Mapping[str, Input], turns: int = 1) -> list[float]:
    """What each kind of attention keeps of so many turns; see `kept_elements`."""
    tokens = {name: known[name].value for name in ("prompt_tokens", "generated_tokens")}
    return kept_elements(made, solve("kv_context_tokens", tokens) * turns)
