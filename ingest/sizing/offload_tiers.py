"""The tiers below GPU memory, for training and inference: memory, links and drives of a machine, and what lies where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import CHOSEN, UNTRAINED
from ingest.catalog.records import Gpu, Node, Storage, Value
from ingest.engine.messages import Message, Option
from ingest.engine.question import Question, Shown, option, shown
from ingest.engine.registry import solve
from ingest.engine.result import Answer, Deferred, Sources
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, defaults_of, derived
from ingest.errors import IngestError, UsageError, one_of
from ingest.files import table_beside
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Amount, Written, by_user, gpus_in_node, quantities_of
from ingest.sizing.resolve import ModelSize
from ingest.sizing.rules import MOST_READ, ROUNDING, Finding, finding, messages, on_settings, unused
from ingest.units import display, percent

#: tier -> its column in a table of places
COLUMNS = {"gpu": "on_gpu", "cpu": "on_host", "nvme": "on_nvme", "storage": "on_storage"}
TIERS = ("gpu", "cpu", "nvme", "storage")
#: What the drives of a node deliver.
NVME_RATES = ("nvme_read_bandwidth_per_node", "nvme_write_bandwidth_per_node")
#: The results that say what each tier holds.
HELD = shown(*(f"{tier}_tier_bytes" for tier in TIERS), main=False)
#: What places a class in the fastest tiers with room.
FILL = "fill"
TIER_WORDS = (FILL, *TIERS)
#: Groups of tiers, in the words of the results.
AWAY, DRIVES = ("cpu", "nvme", "storage"), ("nvme", "storage")
PLACES = {"gpu": "GPU memory", "cpu": "host memory", "nvme": "NVMe", "storage": "shared storage"}
#: tier -> what sets the size of it in a node
SIZES = {"gpu": "gpu", "cpu": "set.host_memory_per_node", "nvme": "set.nvme_bytes_per_node"}
#: What nobody has to give, by part of the question; of the tiers.
_PARTS = table_beside(__file__, "offload_defaults.csv")
USUAL = {part: defaults_of(rows) for part, rows in _PARTS.items()}
TIER_DEFAULTS = USUAL["tiers"]
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
    form: str  # in which the model is released, where that is narrower than the weights counted; else nothing


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
    if entry.family == "drive":
        scaled |= from_fields({"rated_writes_per_day": entry.drive_writes_per_day})
    if entry.family == "drive" and entry.read_bandwidth is not None and entry.read_bandwidth.grade == "measured":
        scaled["nvme_delivery"] = MEASURED_WITH_TENSORS
    return {**scaled, "offload_storage_units": Input(count)}


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
    found.adopt(known.find_all(tuple(needed)))
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


def idle_storage(job: OffloadJob, known: Quantities) -> Iterator[Message]:
    """The warning about a storage that is named and holds nothing."""
    if job.storage is not None and not known.value(
        "nvme_tier_bytes" if job.storage.family == "drive" else "storage_tier_bytes"
    ):
        yield unused(Option("storage"))


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
    """What each kind of attention keeps of a sequence: all of its tokens, those of its window, or the frames it is heard in.

    Where a query chooses tokens, a later one may choose any, so all are kept: of compressed ones the entries, and what the
    compressors hold of tokens in no entry yet.
    """
    kept = []
    for row in made.attentions:
        looked_at = row.keys or tokens
        window = row.window if row.window and row.reach != CHOSEN else looked_at
        given = {"cached_elements_of_kind": row.cached * row.layers, "kv_context_tokens": looked_at, "attention_window": window}
        if row.block:
            given |= {"tokens_per_entry": row.block, "raw_elements_per_token": row.raw, "overlap_share": row.overlap}
            given["attention_window"] = solve("compressed_tokens", given)
        held = row.layers * solve("compressor_elements", given) if row.block else 0
        kept.append(solve("cached_elements_per_sequence", given) + held)
    return kept


def beyond_reach(made: Architecture, tokens: float) -> tuple[Finding | None, Finding | None]:
    """So many tokens beyond the positions of a model, and what a cache that ends at a window leaves out of them."""
    known = {"sequence_length": tokens, "kv_context_tokens": tokens, "longest_sequence": made.longest or None,
             "cache_window": made.cache_window or None}  # fmt: skip
    return finding("W70", known, model=made.id), finding("W121", known)


def kept_by_attention(made: Architecture, known: Mapping[str, Input], turns: int = 1) -> list[float]:
    """What each kind of attention keeps of so many turns; see `kept_elements`."""
    tokens = {name: known[name].value for name in ("prompt_tokens", "generated_tokens")}
    return kept_elements(made, solve("kv_context_tokens", tokens) * turns)


#: What is placed, the key-value cache first where it fits: off the GPU it is read in every step as the weights are, and grows.
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
    **USUAL["inference"],
    "streamed_layers_per_gpu": Input(STREAMED_LAYERS, note="one layer computes while the next arrives"),
}
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
        *shown("decode_tokens_per_second", "tokens_per_second_bound", "prefill_seconds", main=False),
        Shown("decode_step_seconds"),
        *shown("generation_seconds", "held_weights_bytes", main=False),
        Shown("kv_cache_bytes"),
        *HELD,
        Shown("levels_used", main=False),
        *shown("offload_bytes_per_node", "offload_read_bandwidth_per_node", "offload_write_bandwidth_per_node"),
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
        option(
            "Bits of a stored weight: as released, else {default}.", quantity="weight_bits", usual={"weight_bits": FULL_BITS}
        ),
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
    width = stored_width(job.form, size)
    if asks := given["weight_bits"] is not None:
        width = Input(quantities_of({}, {"weight_bits": given["weight_bits"]})["weight_bits"], origin="user")
        released_bits(width.value, "--weight-bits")
    packed = asks and width.value < FULL_BITS
    inputs = {
        **DEFAULTS,
        **size.given,
        "weight_bits": width,
        "group_scale_bytes": Input(
            SCALE_BYTES if packed else 0, source="deepspeed-examples", where="README.md: groups of 64, asymmetric"
        ),
        **machine(job.card, job.node, named=job.named),
        **drives(job.storage, given["units"]),
        **compute(job.card, job.utilization),
        **by_user({**options, **settings}),
    }
    inputs["cached_elements"] = derived(kept_by_attention(made, inputs), f"attention of {made.id}")
    known = Quantities({**_structure(made), **recurrent_state(made), **inputs})
    known.state(*CASES)
    asked = {**_in_order(known, asked)}
    parts = placed(known, asked)
    waiting = _waiting(known, asked, parts)
    best = Quantities({**known.given, **{name: Input(1, note="at its full rate") for name in AT_BEST}})
    best.state(*CASES)
    _link(known, parts)
    _link(best, parts)
    if (step := best.find("decode_tokens_per_second")) is not None:
        known.link("tokens_per_second_bound", step)
    shown = [one.name for one in QUESTION.results if not one.where or one.where in known.given]
    names = [name for name in shown if packed or name != "staged_host_bytes"]
    results, unknown = known.results(names, ranged=True)
    for name in DRIVES:
        if known.find(f"{name}_decode_seconds") is None or known.find(f"{name}_prefill_seconds") is None:
            # The rate is unknown because the bandwidth of a tier that holds bytes is.
            why = Message(f"the bandwidth of {PLACES[name]} is not known", supply=("storage", "units"))
            unknown = {key: why for key in unknown if key == "tokens_per_second"}
            break
    return Answer(
        QUESTION,
        f"Inference of {size.name} at {width.value:.3g} bits beyond GPU memory: {known.value('gpus'):,.0f} × {job.card.name}",
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
        Deferred(lambda: {"placement": placement(known, parts, NAMES)}),
        lambda answer: (
            *size.warnings,
            *_warnings(known, results, parts, made, waiting),
            *idle_storage(job, known),
            *on_settings(answer, settings),
        ),
        job.sources,
        unmet=unmet(known),
        options=("gpu", *given),
    )


def stored_width(form: str, size: ModelSize) -> Input:
    """The bits, with their scales, at which a server holds a weight of a model unless asked: those of its release.

    A config that says how its release is stored is counted by its tensors. A name tells only the form: FP8 in blocks of
    128 × 128, whose scales are below 0.1 %, or experts of 4 bits, nearly all of such a release, with scales of groups.
    """
    made = size.architecture
    if made is not None and made.released_row_bytes:
        bits = 8 * sum(made.released_row_bytes) / made.parameters
        return Input(bits).by_default(f"weights as released, {bits:.3g} bits each with their scales", "weight_bits")
    if form:
        return Input(8 if form == "FP8" else 4.5).by_default(f"weights as released, in {form}", "weight_bits")
    return Input(FULL_BITS).by_default("16-bit weights", "weight_bits")


def released_bits(bits: float, what: str) -> None:
    """Refuse a width in which no weights are released; `what` is how the user named it.

    Raises UsageError: another width, with the nearest one.
    """
    if bits not in RELEASED_BITS:
        expected = ", ".join(map(str, RELEASED_BITS))
        closest = min(RELEASED_BITS, key=lambda width: abs(width - bits))
        raise UsageError(f"{what}: found {bits:g}, expected a released width, {expected}; did you mean {closest}?")


def _in_order(known: Quantities, asked: Mapping[str, str]) -> Mapping[str, str]:
    """The classes in the order in which they take room.

    A step reads all of the cache and what it needs of the weights: where that is a part, the cache is read more for each byte.
    Where the cache leaves the GPU in any case and a step reads all weights, these stay: each byte of both is read once.
    """
    stays = known.value("held_kv_bytes") <= known.value("gpu_room_bytes")
    by_cache = stays or known.value("decode_weights_share") < MOST_READ
    return asked if by_cache else {name: asked[name] for name in reversed(CLASSES)}


def _waiting(known: Quantities, asked: Mapping[str, str], parts: Mapping[str, Part]) -> Quantities | None:
    """Generation of as many sequences at a time as fit in GPU memory beside the weights; none where all do, or no one."""
    if asked["kv"] != FILL or not any(parts["kv"].shares.get(tier) for tier in AWAY):
        return None
    if not (number := known.value("resident_sequences")):
        return None
    found = Quantities({**known.given, "inference_sequences": Input(number)})
    found.state(*CASES)
    _link(found, dict.fromkeys(asked, Part({"gpu": 1.0}, False)))
    return found


def _structure(made: Architecture) -> dict[str, Input]:
    experts = [row for row in made.weights if row.kind == "expert" and row.active < row.count]
    # Encoders are read once, with the prompt: decoding finds what they yield in the cache. Tokens pass those of text alone.
    aside = [row for row in made.weights if row.positions or row.kind in ("vision", "audio")]
    encoders = {*aside, *(row for row in made.weights if row.name.startswith("encoder.") and row.kind not in UNTRAINED)}
    unread = sum(row.parameters for row in encoders) / made.parameters_trained
    passed = made.parameters_active - sum(row.parameters_active for row in aside)
    once = sum(row.multiply_adds * row.positions for row in aside)
    counted: dict[str, float] = {"layers": made.layers, "parameters_active": passed, "encoder_weights_share": unread,
                                 "encoder_parameter_passes": once}  # fmt: skip
    if experts:
        routed = sum(row.parameters for row in experts)
        visited = sum(row.parameters_active for row in experts)
        counted |= {"routed_weights_share": routed / made.parameters_trained, "expert_share_of_token": visited / routed}
    found = {name: derived(value, f"rows of {made.id}") for name, value in counted.items()}
    rest = Input(1 - unread, note="no experts: a step reads all weights but those of encoders")
    return {**found, **({"expert_read_excess": EXPERTS_READ} if experts else {"decode_weights_share": rest})}


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
    known: Quantities,
    results: Mapping[str, Quantity],
    parts: Mapping[str, Part],
    made: Architecture,
    waiting: Quantities | None,
) -> Iterator[str]:
    rate = None if waiting is None else waiting.find("tokens_per_second")
    count = "" if waiting is None else f"{waiting.value('inference_sequences'):,.0f}"
    found = [
        *beyond_reach(made, known.value("kv_context_tokens")),
        finding("W128", {**results, "batched_tokens_per_second": rate and float(rate.value)}, count=count),
        finding("W92", {**results, "host_memory_per_node": known.find("host_memory_per_node")}),
    ]
    if any(parts["kv"].shares.get(tier) for tier in AWAY):
        found.append(finding("W93", words={"kv": "off the GPU"}))
    routing, step = known.given.get("expert_read_excess"), known.find("decode_step_seconds")
    if routing is not None and routing.origin != "user":
        number, share = known.value("decode_tokens"), percent(known.value("decode_weights_share"))
        found.append(finding("W77", known.find, tokens=f"{number:,.0f} token{'s' if number > 1 else ''}", share=share))
    waits = [known.find(name) for name in ("gpu_memory_seconds", "decode_compute_seconds")]
    if step is not None and any(wait is not None and step.value <= wait.value for wait in waits):
        count = f"{known.value('decode_exchanges'):,.0f}"
        found.append(finding("W78", known.find, count=count, time=display(step.value, "s")))
    found += unknown_storage(known, results)
    yield from messages(found)
