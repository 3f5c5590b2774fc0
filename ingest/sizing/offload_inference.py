"""`ingest offload --inference`: weights and key-value cache below GPU memory, prefill, decode and tokens per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.architecture.structure import Architecture
from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message
from ingest.engine.registry import solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing.job import Written, by_user, quantities_of
from ingest.sizing.offload_tiers import (
    AWAY,
    COLUMNS,
    DRIVES,
    PLACES,
    TIER_DEFAULTS,
    TIERS,
    Part,
    complete,
    compute,
    drives,
    machine,
    placed,
    recurrent_state,
    unmet,
)
from ingest.sizing.optimizer_states import ModelSize
from ingest.sizing.rules import applying, finding, with_unused
from ingest.units import display, percent

#: What is placed, the key-value cache first: off the GPU it is read in every step as the weights are, and grows besides.
CLASSES = ("kv", "weights")
NAMES = {"kv": "key-value cache", "weights": "weights"}
QUANTITIES = {
    "batch": "inference_sequences",
    "prompt": "prompt_tokens",
    "generate": "generated_tokens",
    "efficiency": "model_flops_utilization",
}
#: options that place a class
TIERED = ("parameters", "kv")
#: Layers that a GPU holds at a time while they stream: one computes, one arrives.
STREAMED_LAYERS = 2
#: Widths in which weights are released: GPTQ packs 2, 3, 4 and 8 bits, all else is 16 or 32.
RELEASED_BITS = (2, 3, 4, 8, 16, 32)
#: Weights of fewer bits are quantized in groups with a scale and a zero point of 16 bits each.
FULL_BITS, SCALE_BYTES = 16, 4
DEFAULTS = {
    **TIER_DEFAULTS,
    "inference_sequences": Input(1).by_default("one sequence", "batch"),
    "prompt_tokens": Input(512).by_default("prompts of 512 tokens, as ZeRO-Inference measures", "prompt"),
    "generated_tokens": Input(32).by_default("32 tokens are generated, as ZeRO-Inference measures", "generate"),
    "bytes_per_cached_element": Input(2).by_default("16-bit key-value cache", "set.bytes_per_cached_element"),
    "residual_bytes_per_gpu": Input(0).by_default("no further buffers", "set.residual_bytes_per_gpu"),
    "streamed_layers_per_gpu": Input(STREAMED_LAYERS, note="one layer computes while the next arrives"),
    "streaming_efficiency": Input(
        0.93, 0.8, 1.03, source="deepnvme2025", where="Llama-3-70B from 10, 27 and 48 GB/s: 103, 93 and 80 % of the bound",
        grade="derived",
    ).by_default("generation reaches 93 % of what drives deliver", "set.streaming_efficiency"),
}  # fmt: skip
#: Skewed routing visits fewer experts, and engines that fetch whole layers read all.
EXPERTS_READ = Input(0, 0, 1, grade="assumed").by_default(
    "a decode step reads the experts that its tokens visit, each as likely; at most all", "set.expert_read_excess"
)
#: Links, drives and GPUs at their full rate, for the bound.
AT_BEST = ("nvme_delivery", "host_link_delivery", "streaming_efficiency", "model_flops_utilization")
RESULTS = (
    "tokens_per_second",
    "decode_tokens_per_second",
    "tokens_per_second_bound",
    "prefill_seconds",
    "decode_step_seconds",
    "generation_seconds",
    "held_weights_bytes",
    "kv_cache_bytes",
    "gpu_tier_bytes",
    "cpu_tier_bytes",
    "nvme_tier_bytes",
    "storage_tier_bytes",
    "levels_used",
    "offload_bytes_per_node",
    "offload_read_bandwidth_per_node",
    "offload_write_bandwidth_per_node",
)


def inference(
    size: ModelSize,
    card: Gpu,
    inside: Node | None,
    catalog: Catalog,
    *,
    numbers: Mapping[str, Written | None],
    words: Mapping[str, str | None],
    weight_bits: Written | None,
    units: Written | None,
    settings: Mapping[str, float],
    named: bool,
) -> Answer:
    """What generation from tiers below GPU memory gives, and what it moves.

    Args:
        size: the model.
        card, inside: the machine.
        catalog: where drives and systems are looked up.
        numbers: the options that are numbers, as written.
        words: the options `model`, `parameters`, `kv` and `storage`; None where not given.
        weight_bits: width of a stored weight, as written.
        units: drives of each node, or units of the shared system, as written.
        settings: what the user set.
        named: whether the user named the node type.

    Raises:
        UsageError: an option is out of range or unknown.
        IngestError: a model of unknown structure.
    """
    asked = {"kv": words["kv"] or "fill", "weights": words["parameters"] or "fill"}
    for name, option in (("kv", "--kv"), ("weights", "--parameters")):
        one_of(option, asked[name], ("fill", *TIERS))
    if size.architecture is None:
        raise IngestError(Message(f"the structure of {size.name} is not known: give its config.json"))
    options = quantities_of(QUANTITIES, numbers)
    bits = quantities_of({}, {"weight_bits": weight_bits}).get("weight_bits", FULL_BITS)
    released_bits(bits, "--weight-bits")
    inputs = {
        **DEFAULTS,
        **size.given,
        **_weights(bits, asked_for=weight_bits is not None),
        **machine(card, inside, named=named),
        **drives(words["storage"], units, catalog),
        **compute(card, catalog),
        **by_user({**options, **settings}),
    }
    inputs |= _cache(size.architecture, inputs)
    known = Quantities({**_structure(size.architecture), **recurrent_state(size.architecture), **inputs})
    _follow(known)
    parts = placed(known, asked)
    best = Quantities({**known.given, **{name: Input(1, note="at its full rate") for name in AT_BEST}})
    _follow(best)
    for one in (known, best):
        _link(one, parts)
    if (step := best.find("decode_tokens_per_second")) is not None:
        known.link("tokens_per_second_bound", step)
    results, unknown = known.results((*RESULTS, *(["staged_host_bytes"] if bits < FULL_BITS else [])), ranged=True)
    answer = Answer(
        "offload",
        f"Inference of {size.name} at {bits:g} bits beyond GPU memory: {known.value('gpus'):,.0f} × {card.name}",
        {
            "inference": {"value": "yes", "from": "user"},
            **{
                (f"{name}_tier" if name in TIERED else name): {"value": word or "fill", "from": "user" if word else "default"}
                for name, word in words.items()
                if word or name in TIERED
            },
        },
        known,
        results,
        _explained(known, unknown),
        {"placement": [*_placement(known, parts)]},
        tuple(_warnings(known, results, parts)),
        catalog,
        unmet=unmet(known),
    )
    return with_unused(answer, settings)


def released_bits(bits: float, what: str) -> None:
    """Refuse a width in which no weights are released.

    Args:
        bits: of a weight.
        what: how the user named it.

    Raises:
        UsageError: another width, with the nearest one.
    """
    if bits not in RELEASED_BITS:
        expected = ", ".join(map(str, RELEASED_BITS))
        closest = min(RELEASED_BITS, key=lambda width: abs(width - bits))
        raise UsageError(f"{what}: found {bits:g}, expected a released width, {expected}; did you mean {closest}?")


def _weights(bits: float, *, asked_for: bool) -> dict[str, Input]:
    scale = 0 if bits >= FULL_BITS else SCALE_BYTES
    width = Input(bits, origin="user") if asked_for else Input(bits).by_default("16-bit weights", "weight_bits")
    return {
        "weight_bits": width,
        "group_scale_bytes": Input(scale, source="deepspeed-examples", where="README.md: groups of 64, asymmetric"),
    }


def _structure(made: Architecture) -> dict[str, Input]:
    experts = [row for row in made.weights if row.kind == "expert" and row.active < row.count]
    counted: dict[str, float] = {"layers": made.layers, "parameters_active": made.parameters_active}
    if experts:
        routed = sum(row.parameters for row in experts)
        visited = sum(row.parameters_active for row in experts)
        counted |= {"routed_weights_share": routed / made.parameters_trained, "expert_share_of_token": visited / routed}
    found = {
        name: Input(value, source="arithmetic", where=f"rows of {made.id}", grade="derived") for name, value in counted.items()
    }
    whole = Input(1, note="no experts: a step reads all weights")
    return {**found, **({"expert_read_excess": EXPERTS_READ} if experts else {"decode_weights_share": whole})}


def _cache(made: Architecture, inputs: Mapping[str, Input]) -> dict[str, Input]:
    """What each kind of attention keeps for a sequence: all of its tokens, or those of its window."""
    tokens = {name: inputs[name].value for name in ("prompt_tokens", "generated_tokens")}
    context = solve("kv_context_tokens", tokens)
    kept = [
        solve(
            "cached_elements_per_sequence",
            {"cached_elements_of_kind": row.cached * row.layers, "kv_context_tokens": context,
             "attention_window": row.window or context},
        )
        for row in made.attentions
    ]  # fmt: skip
    return {"cached_elements": Input(kept, source="arithmetic", where=f"attention of {made.id}", grade="derived")}  # type: ignore[arg-type]


def _follow(known: Quantities) -> None:
    known.choose("weight_bytes_per_parameter", "quantized_bytes_per_parameter")
    complete(known)
    known.choose("offload_working_bytes_per_gpu", "streamed_bytes_per_gpu")


def _link(known: Quantities, parts: Mapping[str, Part]) -> None:
    """Hand the bytes and times of the tiers to the job."""
    tiers = {name: _tier(known, parts, (name,)) for name in TIERS}
    for name, tier in tiers.items():
        known.link(f"{name}_tier_bytes", tier.step("level_stream_bytes"))
    away, slow = _tier(known, parts, AWAY), _tier(known, parts, DRIVES)
    for phase in ("prefill", "decode"):
        for name in DRIVES:
            step = tiers[name].find(f"level_{phase}_seconds")
            if not tiers[name].value("level_stream_bytes"):
                known.give({f"{name}_{phase}_seconds": Input(0, note=f"nothing lies on {PLACES[name]}")})
            elif step is not None:
                known.link(f"{name}_{phase}_seconds", step)
        if (step := away.find("link_stream_seconds" if phase == "prefill" else "link_step_seconds")) is not None:
            known.link(f"link_{phase}_seconds", step)
    known.link("drive_weights_bytes", slow.step("level_weights_bytes"))
    known.link("drive_kv_bytes", slow.step("level_kv_bytes"))
    known.link("kv_on_host_bytes", tiers["cpu"].step("level_kv_bytes"))
    known.link("offload_bytes_per_node", away.step("level_stream_bytes_per_node"))
    for way in ("read", "write"):
        if (step := known.find(f"drive_{way}_bandwidth_to_match")) is not None:
            known.link(f"offload_{way}_bandwidth_per_node", step)


def _tier(known: Quantities, parts: Mapping[str, Part], tiers: tuple[str, ...]) -> Quantities:
    shares = {
        f"level_{name}_share": Input(sum(part.shares.get(tier, 0.0) for tier in tiers), source="arithmetic",
                                     where="as asked for" if part.asked else "the fastest tiers with room", grade="derived")
        for name, part in parts.items()
    }  # fmt: skip
    found = Quantities(shares, " and ".join(PLACES[tier] for tier in tiers))
    needed = ("held_weights_bytes", "held_kv_bytes", "nodes_in_job", "host_link_bandwidth_of_job", "streaming_efficiency",
              "decode_weights_share")  # fmt: skip
    found.adopt({name: step for name in needed if (step := known.find(name)) is not None})
    for way in ("read", "write"):
        step = known.find(f"{tiers[0]}_{way}_bandwidth_of_job") if len(tiers) == 1 and tiers[0] in DRIVES else None
        if step is not None:
            found.link(f"level_{way}_bandwidth", step)
    return found


def _placement(known: Quantities, parts: Mapping[str, Part]) -> Iterator[dict[str, Any]]:
    for name, part in parts.items():
        size = known.value(f"held_{name}_bytes")
        yield {"class": NAMES[name], **{COLUMNS[tier]: size * part.shares.get(tier, 0.0) for tier in TIERS}}
    yield {"class": "all", **{COLUMNS[tier]: known.value(f"{tier}_tier_bytes") for tier in TIERS}}


def _explained(known: Quantities, unknown: Mapping[str, str]) -> dict[str, str]:
    """Why the rate is unknown: the bandwidth of a tier that holds bytes is."""
    for name in DRIVES:
        if known.find(f"{name}_decode_seconds") is None or known.find(f"{name}_prefill_seconds") is None:
            why = Message(f"the bandwidth of {PLACES[name]} is not known", supply=("storage", "units"))
            return {key: why for key in unknown if key == "tokens_per_second"}
    return dict(unknown)


def _warnings(known: Quantities, results: Mapping[str, Quantity], parts: Mapping[str, Part]) -> Iterator[str]:
    found = [finding("W92", {**results, "host_memory_per_node": known.find("host_memory_per_node")})]
    if any(parts["kv"].shares.get(tier) for tier in AWAY):
        found.append(finding("W93", words={"kv": "off the GPU"}))
    routing, step = known.given.get("expert_read_excess"), known.find("decode_step_seconds")
    if routing is not None and routing.origin != "user":
        number, share = known.value("decode_tokens"), known.value("decode_weights_share")
        tokens = f"{number:,.0f} token{'s' if number > 1 else ''}"
        found.append(finding("W77", {"decode_weights_share": share}, tokens=tokens, share=percent(share)))
    waits = [known.find(name) for name in ("gpu_memory_seconds", "decode_compute_seconds")]
    if step is not None and any(wait is not None and step.value <= wait.value for wait in waits):
        count = f"{known.value('decode_exchanges'):,.0f}"
        found.append(finding("W78", {"gpus": known.find("gpus")}, count=count, time=display(step.value, "s")))
    held = results["storage_tier_bytes"]
    if held.value and known.find("system_read_bandwidth") is None:
        found.append(finding("W91", words={"storage": "unknown"}, held=display(held.value, "B", binary=False)))
    yield from (one.message() for one in applying(found))
