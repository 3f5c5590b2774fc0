"""`ingest offload --inference`: weights and key-value cache below GPU memory, prefill, decode and tokens per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, TypedDict

from ingest.architecture.structure import Architecture
from ingest.engine.messages import Message
from ingest.engine.question import Question, Shown, option
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, derived
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing.job import Amount, by_user, quantities_of
from ingest.sizing.offload_tiers import (
    AWAY,
    DRIVES,
    FILL,
    HELD,
    PLACES,
    TIER_DEFAULTS,
    TIER_WORDS,
    TIERS,
    OffloadJob,
    Part,
    compute,
    drives,
    kept_by_attention,
    machine,
    placed,
    placement,
    recurrent_state,
    tier_of,
    unknown_storage,
    unmet,
    windowed_cache,
)
from ingest.sizing.rules import finding, messages, with_unused
from ingest.units import display, percent

#: What is placed, the key-value cache first: off the GPU it is read in every step as the weights are, and grows besides.
CLASSES = ("kv", "weights")
NAMES = {"kv": "key-value cache", "weights": "weights"}
#: Cases of a job that generates from these tiers.
CASES = ("weights_quantized", "one_node", "tiers_of_nodes", "weights_streamed")
#: Why a class lies in a tier, and what the formulas of a tier need of the job.
WHERE = {True: "as asked for", False: "the fastest tiers with room"}
NEEDED = ("held_weights_bytes", "held_kv_bytes", "nodes_in_job", "host_link_bandwidth_of_job", "streaming_efficiency",
          "decode_weights_share")  # fmt: skip
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
#: What `offload` answers of inference.
QUESTION = Question(
    "offload",
    (
        Shown("tokens_per_second"),
        Shown("tokens_per_second_per_price", where="machine_price"),
        Shown("decode_tokens_per_second", main=False),
        Shown("tokens_per_second_bound", main=False),
        Shown("prefill_seconds", main=False),
        Shown("decode_step_seconds"),
        Shown("generation_seconds", main=False),
        Shown("held_weights_bytes", main=False),
        Shown("kv_cache_bytes"),
        *HELD,
        Shown("levels_used", main=False),
        Shown("offload_bytes_per_node"),
        Shown("offload_read_bandwidth_per_node"),
        Shown("offload_write_bandwidth_per_node"),
        Shown("staged_host_bytes", main=False),
    ),
    (
        ("Gives", {"tokens_per_second": "{}", "offload_read_bandwidth_per_node": "{} read per node",
                   "offload_bytes_per_node": "{} off the GPU"}),
        ("Needs", {"offload_bytes_per_node": "{} off the GPUs per node"}),
    ),
)  # fmt: skip


class InferenceOptions(TypedDict, total=False):
    """What is generated."""

    inference: Annotated[bool, option("Generate text instead of training.", default=False)]
    prompt: Annotated[Amount, option("Tokens of a prompt; {default} by default.", quantity="prompt_tokens", usual=DEFAULTS)]
    generate: Annotated[
        Amount, option("Tokens generated for each sequence; {default} by default.", quantity="generated_tokens", usual=DEFAULTS)
    ]
    weight_bits: Annotated[
        Amount,
        option("Width of a stored weight; {default} by default.", quantity="weight_bits", usual={"weight_bits": FULL_BITS}),
    ]
    price: Annotated[
        Amount,
        option(
            "Price of the machine with its tiers, in any currency, for the tokens per second per price.",
            quantity="machine_price",
        ),
    ]
    kv: Annotated[
        str | None, option("Tier of the key-value cache: gpu, cpu, nvme, storage or fill.", "WHERE", choices=TIER_WORDS)
    ]


#: option -> the quantity that it sets here
QUANTITIES = {"batch": "inference_sequences", "prompt": "prompt_tokens", "generate": "generated_tokens",
              "efficiency": "model_flops_utilization", "price": "machine_price"}  # fmt: skip


def inference(job: OffloadJob) -> Answer:
    """What generation from tiers below GPU memory gives, and what it moves.

    Raises UsageError: an option is out of range or unknown; IngestError: a model of unknown structure.
    """
    size, given, settings = job.size, job.asked, job.settings
    words = {name: given[name] for name in ("model", "parameters", "kv", "storage")}
    asked = {"kv": words["kv"] or FILL, "weights": words["parameters"] or FILL}
    for name, one in (("kv", "--kv"), ("weights", "--parameters")):
        one_of(one, asked[name], TIER_WORDS)
    made = size.architecture
    if made is None:
        raise IngestError(Message(f"the structure of {size.name} is not known: give its config.json"))
    options = quantities_of(QUANTITIES, {name: given[name] for name in ("gpus", *QUANTITIES)})
    bits = quantities_of({}, {"weight_bits": given["weight_bits"]}).get("weight_bits", FULL_BITS)
    released_bits(bits, "--weight-bits")
    width = Input(bits).by_default("16-bit weights", "weight_bits")
    inputs = {
        **DEFAULTS,
        **size.given,
        "weight_bits": width if given["weight_bits"] is None else Input(bits, origin="user"),
        "group_scale_bytes": Input(
            0 if bits >= FULL_BITS else SCALE_BYTES, source="deepspeed-examples", where="README.md: groups of 64, asymmetric"
        ),
        **machine(job.card, job.node, named=job.named),
        **drives(job.storage, given["units"]),
        **compute(job.card, job.utilization),
        **by_user({**options, **settings}),
    }
    inputs["cached_elements"] = derived(kept_by_attention(made, inputs), f"attention of {made.id}")
    known = Quantities({**_structure(made), **recurrent_state(made), **inputs})
    known.state(*CASES)
    parts = placed(known, asked)
    best = Quantities({**known.given, **{name: Input(1, note="at its full rate") for name in AT_BEST}})
    best.state(*CASES)
    _link(known, parts)
    _link(best, parts)
    if (step := best.find("decode_tokens_per_second")) is not None:
        known.link("tokens_per_second_bound", step)
    shown = [one.name for one in QUESTION.results if not one.where or one.where in known.given]
    names = [name for name in shown if bits < FULL_BITS or name != "staged_host_bytes"]
    results, unknown = known.results(names, ranged=True)
    for name in DRIVES:
        if known.find(f"{name}_decode_seconds") is None or known.find(f"{name}_prefill_seconds") is None:
            # The rate is unknown because the bandwidth of a tier that holds bytes is.
            why = Message(f"the bandwidth of {PLACES[name]} is not known", supply=("storage", "units"))
            unknown = {key: why for key in unknown if key == "tokens_per_second"}
            break
    answer = Answer(
        QUESTION,
        f"Inference of {size.name} at {bits:g} bits beyond GPU memory: {known.value('gpus'):,.0f} × {job.card.name}",
        {
            "inference": {"value": "yes", "from": "user"},
            **{
                (f"{name}_tier" if name in TIERED else name): {"value": word or FILL, "from": "user" if word else "default"}
                for name, word in words.items()
                if word or name in TIERED
            },
        },
        known,
        results,
        unknown,
        {"placement": placement(known, parts, NAMES)},
        (*size.warnings, *_warnings(known, results, parts, made)),
        job.sources,
        unmet=unmet(known),
        options=("gpu", *given),
    )
    return with_unused(answer, settings)


def released_bits(bits: float, what: str) -> None:
    """Refuse a width in which no weights are released; `what` is how the user named it.

    Raises UsageError: another width, with the nearest one.
    """
    if bits not in RELEASED_BITS:
        expected = ", ".join(map(str, RELEASED_BITS))
        closest = min(RELEASED_BITS, key=lambda width: abs(width - bits))
        raise UsageError(f"{what}: found {bits:g}, expected a released width, {expected}; did you mean {closest}?")


def _structure(made: Architecture) -> dict[str, Input]:
    experts = [row for row in made.weights if row.kind == "expert" and row.active < row.count]
    counted: dict[str, float] = {"layers": made.layers, "parameters_active": made.parameters_active}
    if experts:
        routed = sum(row.parameters for row in experts)
        visited = sum(row.parameters_active for row in experts)
        counted |= {"routed_weights_share": routed / made.parameters_trained, "expert_share_of_token": visited / routed}
    found = {name: derived(value, f"rows of {made.id}") for name, value in counted.items()}
    whole = Input(1, note="no experts: a step reads all weights")
    return {**found, **({"expert_read_excess": EXPERTS_READ} if experts else {"decode_weights_share": whole})}


def _link(known: Quantities, parts: Mapping[str, Part]) -> None:
    """Hand the bytes and times of the tiers to the job."""
    tiers = {name: tier_of(known, parts, (name,), WHERE, NEEDED) for name in TIERS}
    for name, tier in tiers.items():
        known.link(f"{name}_tier_bytes", tier.step("level_stream_bytes"))
    away, slow = (tier_of(known, parts, group, WHERE, NEEDED) for group in (AWAY, DRIVES))
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


def _warnings(
    known: Quantities, results: Mapping[str, Quantity], parts: Mapping[str, Part], made: Architecture
) -> Iterator[str]:
    found = [
        windowed_cache(made, known.value("kv_context_tokens")),
        finding("W92", {**results, "host_memory_per_node": known.find("host_memory_per_node")}),
    ]
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
    found += unknown_storage(known, results)
    yield from messages(found)
