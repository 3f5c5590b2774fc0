"""`ingest offload`: training whose states lie below GPU memory, by class, tier and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.device_names import released_in
from ingest.catalog.records import Family, Optimizer, Recipe, Storage, efficiency_class
from ingest.catalog.store import opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, chosen_words, filled, option, quantities_in, shown
from ingest.engine.registry import read_value
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, derived
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing.evidence_ladder import from_fields, utilization_of
from ingest.sizing.job import (
    NODE,
    NODES,
    ONE_GPU,
    USUAL_GPU,
    Amount,
    CommonOptions,
    by_user,
    model_by_numbers,
    quantities_of,
    settings_of,
    shape_in,
)
from ingest.sizing.memory_search import SHAPES, largest_model
from ingest.sizing.offload_serving import SessionOptions, serving
from ingest.sizing.offload_tiers import (
    AWAY,
    DRIVES,
    FILL,
    HELD,
    PLACES,
    TIER_DEFAULTS,
    TIER_WORDS,
    TIERS,
    USUAL,
    USUAL_PRECISION,
    USUAL_UNITS,
    InferenceOptions,
    OffloadJob,
    Part,
    compute,
    drives,
    idle_storage,
    inference,
    machine,
    placed,
    placement,
    tier_of,
    unknown_storage,
    unmet,
)
from ingest.sizing.optimizer_states import kept_by
from ingest.sizing.resolve import ModelSize, gpus_of, machine_of, optimizer_of, recipe_of, size_of
from ingest.sizing.rules import Finding, finding, messages, on_settings
from ingest.units import display

#: The classes in the order in which they are placed: those that move most often for each byte that they hold come first.
CLASSES = ("weights", "gradients", "optimizer", "activations")
#: class -> the option that places it
OPTIONS = {"weights": "parameters", "gradients": "gradients", "optimizer": "optimizer_states", "activations": "activations"}
#: class -> what people call it, where that is another word
NAMES = {"optimizer": "optimizer states"}
USUAL_RECIPE = "zero-infinity-20"
#: FLOPs per parameter and token: forward pass 2, backward pass 4, recomputing the forward pass 2.
RECOMPUTED, STORED = 8, 6
DEFAULTS = TIER_DEFAULTS | USUAL["offload"]
#: Parameters that the CPUs of a node update per second, where its host memory is unknown.
HOST_RATE = Input(
    3.34e9, 2e9, 4.6e9, source="deep-optimizer-states2024", grade="derived",
    where="act-output-13B-scale-gaps-a100, 12.58 billion parameters on 4 ranks of one node: 3.77 s on the CPU",
).by_default("the CPUs of a node update 3.34 billion parameters per second", "set.host_optimizer_rate_per_node")  # fmt: skip
#: of a job that has bytes on NVMe or shared storage
OF_DRIVES = ("drive_tier_bytes_per_node", "drive_tier_read_bandwidth_per_node", "drive_tier_write_bandwidth_per_node",
             "shared_read_bandwidth", "shared_write_bandwidth")  # fmt: skip
#: tier -> the wear of what it holds
WEAR = {"nvme": ("nvme_bytes_written_per_day", "nvme_writes_per_day", "nvme_endurance_bytes"),
        "storage": ("storage_bytes_written_per_day",)}  # fmt: skip
#: of an optimizer step that GPUs and CPUs share
INTERLEAVED = ("interleave_every", "interleaved_update_seconds", "interleaved_up_bytes", "interleaved_down_bytes",
               "interleaving_speedup")  # fmt: skip
#: What `offload` answers of training.
QUESTION = Question(
    "offload",
    (
        Shown("offload_states_bytes", main=False),
        Shown("offload_total_bytes"),
        *HELD,
        Shown("offload_working_bytes_per_gpu", main=False),
        Shown("offload_bytes_per_node"),
        # Most of it goes to host memory: a short page shows what drives have to give instead.
        *shown("offload_read_bandwidth_per_node", "offload_write_bandwidth_per_node", unless="offload_states_bytes"),
        Shown("step_compute_seconds"),
        *shown("pass_transfer_seconds", "update_seconds", main=False),
        Shown("step_seconds"),
        Shown("step_seconds_serial", main=False),
        *shown("offload_efficiency", "offload_flops_per_gpu", "offload_nodes_to_hold"),
        *shown(*OF_DRIVES),
        *shown(*(name for names in WEAR.values() for name in names), *INTERLEAVED, main=False),
    ),
    (
        ("Needs", {"drive_tier_bytes_per_node": "{} on drives per node",
                   "drive_tier_read_bandwidth_per_node": "{} read for the target",
                   "offload_efficiency": "{} reached", "drive_tier_write_bandwidth_per_node": "{} write"}),
        ("Needs", {"offload_bytes_per_node": "{} off the GPUs per node", "step_seconds": "{} per step",
                   "offload_efficiency": "{} of the rate of the GPUs"}),
    ),
)  # fmt: skip
#: Why a class lies in a tier, and what the formulas of a tier need of the job.
WHERE = {True: "as asked for", False: "the fastest tiers with room, in order"}
NEEDED = (*(f"held_{name}_bytes" for name in CLASSES), "moved_gradients_bytes", "weight_reads_per_step", "nodes_in_job",
          "parameters", "step_compute_seconds", "update_seconds_allowed", "host_link_bandwidth_of_job",
          "host_optimizer_rate_per_node")  # fmt: skip
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


class TrainingOptions(TypedDict, total=False):
    """The machine, and what lies where while a model trains."""

    node: Annotated[str | None, NODE]
    gpus: Annotated[Amount, option("GPUs of the job; one node by default.", quantity="gpus", sets="gpus nodes")]
    nodes: Annotated[Amount, NODES]
    batch: Annotated[Amount, option(
        "Sequences on each GPU in one step, with inference those of the whole job; {default} by default.",
        quantity="sequences_per_gpu", sets="batch inference_sequences", usual=DEFAULTS)]  # fmt: skip
    sequence_length: Annotated[
        Amount, option("Tokens of one sequence; {default} by default.", quantity="sequence_length", usual=DEFAULTS)
    ]
    parameters: Annotated[str | None, option(
        "Tier of the weights: gpu, cpu, nvme, storage, or {default} (default) for the fastest tiers with room.",
        "WHERE", usual=FILL, choices=TIER_WORDS)]  # fmt: skip
    gradients: Annotated[str | None, option("Tier of the gradients.", "WHERE", choices=TIER_WORDS)]
    optimizer_states: Annotated[str | None, option("Tier of the optimizer states.", "WHERE", choices=TIER_WORDS)]
    activations: Annotated[str | None, option("Tier of the activation checkpoints.", "WHERE", choices=TIER_WORDS)]
    recipe: Annotated[
        str | None, option("Id in the catalogs of the bytes per parameter; {default} by default.", "ID", usual=USUAL_RECIPE)
    ]
    storage: Annotated[str | None, option("Id of drives, for the NVMe of each node, or of a shared storage system.", "ID…")]
    units: Annotated[Amount, option(
        "Drives of each node, or units of the shared system; {default} by default.",
        usual=str(USUAL_UNITS), sets="offload_storage_units")]  # fmt: skip
    efficiency: Annotated[Amount, option(
        "Share of the dense peak that compute alone reaches; that of language models by default.",
        "F", quantity="model_flops_utilization")]  # fmt: skip
    target: Annotated[Amount, option(
        "Step efficiency for which bandwidth is sized; {default} by default.",
        "F", quantity="offload_target", usual=DEFAULTS)]  # fmt: skip
    no_recompute: Annotated[bool, option("Keep all activations instead of recomputing them.", default=False)]
    no_overlap: Annotated[bool, option("Let compute wait for every transfer.", default=False)]
    largest: Annotated[bool, option(f"The largest model that GPUs, hosts and drives of the nodes {SHAPES}", default=False)]
    optimizer_on_gpu: Annotated[str | None, option(
        "every=K updates each K-th part of the states on the GPU, auto takes the best K.",
        "every=K|auto", choices=("auto", "every="))]  # fmt: skip


class OffloadOptions(TrainingOptions, InferenceOptions, SessionOptions, CommonOptions, total=False):
    """The options of `offload`."""


#: option -> the quantity that it sets, of training
QUANTITIES = quantities_in(TrainingOptions)
#: Options without an effect where a model trains, and where text is generated; those of sessions; and those of the other tiers.
FOR_SESSIONS = ("users", "turns", "turn_time", "first_token_time", "retention")
FOR_INFERENCE = ("prompt", "generate", "weight_bits", "price", "kv", "hit", *FOR_SESSIONS)
FOR_TRAINING = ("gradients", "optimizer_states", "activations", "recipe", "sequence_length", "target", "optimizer_on_gpu",
                "no_recompute", "no_overlap")  # fmt: skip
#: What counts the tokens of training, and of inference.
TOKENS = {"sequence_length": "prompt", "prompt": "sequence_length"}
BESIDE_SESSIONS = ("kv", "price", "batch", "parameters", "weight_bits")


def offload(
    model: Annotated[
        str | None,
        option('Catalog id, config.json or YAML file; may be left out with `set={"layers": N, "hidden_size": N}`.', "ID"),
    ] = None,
    gpu: Annotated[str | None, ONE_GPU] = None,
    **options: Unpack[OffloadOptions],
) -> Answer:
    """Training or inference beyond GPU memory: what lies on GPU, host, NVMe and shared storage, and what must move.

    >>> answer = offload(set={"layers": 128, "hidden_size": 25_600, "attention_heads": 256}, node="dgx-2")
    >>> answer.results["nvme_tier_bytes"].display, answer.results["offload_nodes_to_hold"].value
    ('18.57 TB (16.88 TiB)', 1)

    Raises UsageError: an option is out of range or unknown; IngestError: an input is missing; names what to supply.
    """
    asked: dict[str, Any] = {**filled(OffloadOptions, options, "offload"), "model": model}
    catalog, settings, node = opened(asked["catalogs"]), settings_of(asked["set"]), asked["node"]
    stated = {name for name, value in asked.items() if value is not None and value is not False}
    infers, serves = asked["inference"], "users" in stated
    if asked.pop("largest"):
        if model is not None or serves:
            raise option_error("largest", ": expected neither a model nor --users")
        shape, kept = shape_in(settings)
        rest = {name: value for name, value in asked.items() if name != "model"} | {"set": kept, "catalogs": catalog}
        # GPUs, hosts and drives of the nodes have to hold it alone.
        return largest_model(
            lambda made: offload(made, gpu, **rest),
            shape,
            1,
            lambda answer: (
                answer.unmet
                or (
                    f"{display(shared, 'B', binary=False)} would lie on shared storage"
                    if (shared := answer.known.value("storage_tier_bytes"))
                    else ""
                )
            ),
        )
    if infers or "parameters" in settings or "attention_heads" not in settings:
        model, settings = model_by_numbers(model, settings)
        asked["model"] = model
    for name in FOR_TRAINING if infers else FOR_INFERENCE:
        if name in stated:
            found, expected = ("with", "without") if infers else ("without", "with")
            text = f": found {found} --inference, expected {expected} it"
            raise UsageError(Message(Option(name), text, supply=(TOKENS[name],) if name in TOKENS else ()))
    used = gpu or (None if node else USUAL_GPU)
    asked["gpus"] = gpus_of(asked["gpus"], asked["nodes"], catalog, gpu=used, node=node, settings=settings)
    card, inside = machine_of(used, node, catalog, trains=not infers)
    assert card is not None
    for name in BESIDE_SESSIONS if serves else (*FOR_SESSIONS, "hit"):
        if name in stated and serves:
            raise option_error(name, ": found with --users, which sizes the tier of the caches alone, expected without")
        if name in stated:
            raise option_error(name, ": found without --users, expected with it")
    if not infers:
        fixed = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
        tiers = {name: asked[OPTIONS[name]] or FILL for name in CLASSES}
        for name, tier in tiers.items():
            one_of(f"--{OPTIONS[name].replace('_', '-')}", tier, TIER_WORDS)
        recipe = recipe_of(asked["recipe"] or USUAL_RECIPE, catalog)
        if not recipe.gradients.value:
            raise option_error("recipe", f": found {recipe.id}, which has no gradients, expected a recipe of training")
    # Without a model, the parameters of training follow from layers and width.
    drawn = not infers and model is None and "parameters" not in settings and {"layers", "hidden_size"} <= settings.keys()
    size = ModelSize("your model", {}) if drawn else size_of(model, catalog, settings)
    optimizer = None if infers else optimizer_of(recipe.optimizer, catalog)
    storage = catalog.get(Storage, asked["storage"]) if asked["storage"] is not None else None
    made = size.architecture
    kind = "llm" if made is None else efficiency_class("llm", made.parameters, made.parameters_active, made.recurrent_layers)
    utilization = utilization_of(catalog.get(Family, kind), card)
    form = released_in(str(model), catalog.patterns["released"]) if infers else ""
    job = OffloadJob(size, card, inside, node is not None, storage, utilization, asked, settings, catalog, form)
    if optimizer is None:
        return serving(job) if serves else inference(job)
    return _training(job, fixed, tiers, recipe, optimizer)


def _training(
    job: OffloadJob, fixed: Mapping[str, float], tier_asked: Mapping[str, str], chosen: Recipe, optimizer: Optimizer
) -> Answer:
    """What a job keeps and moves whose states lie below GPU memory."""
    size, card, asked, settings = job.size, job.card, job.asked, job.settings
    model, stored = asked["model"], asked["no_recompute"]
    made, elements = size.architecture, {**settings, **fixed}.get("sequence_length")
    if made is not None and made.missing and not made.hidden:
        raise IngestError(f"the work of a step of {size.name} is not known: {next(iter(made.missing.values()))}")
    structure = {} if made is None else {"layers": made.layers, "hidden_size": made.hidden, "attention_heads": made.heads,
                                         "parameters_active": made.parameters_active}  # fmt: skip
    work = {"flops_per_parameter_and_token": STORED if stored else RECOMPUTED, "weight_reads_per_step": 2 if stored else 3}
    note = "activations are kept" if stored else "activations are recomputed: a third forward pass of work"
    known = Quantities(
        {
            **DEFAULTS,
            **size.given,
            **{name: derived(value, f"rows of {made.id}") for name, value in structure.items() if made and value},
            **kept_by(optimizer, USUAL_PRECISION, size, settings),
            **from_fields({"weight_bytes_per_parameter": chosen.weights, "gradient_bytes_per_parameter": chosen.gradients}),
            **machine(card, job.node, named=job.named),
            **drives(job.storage, asked["units"]),
            **compute(card, job.utilization),
            **{name: Input(value, source="zero-infinity2021", where="sec. 4", note=note) for name, value in work.items()},
            "sequence_elements": Input(elements, origin="user") if elements else DEFAULTS["sequence_length"],
            **by_user({**fixed, **settings}),
        }
    )
    _follow(known)
    if stored:
        known.state("activations_stored")
    parts = placed(known, tier_asked)
    why = {one: WHERE[all(part.asked for part in parts.values())] for one in (True, False)}
    tiers = {name: tier_of(known, parts, (name,), why, NEEDED) for name in TIERS}
    away, slow = (tier_of(known, parts, group, why, NEEDED) for group in (AWAY, DRIVES))
    choices = [*_interleaved(known, away, asked["optimizer_on_gpu"])]
    _link(known, tiers, away, slow, asked["no_overlap"])
    left_out = {
        *(() if slow.value("level_bytes") else OF_DRIVES),
        *(name for tier, names in WEAR.items() if not known.value(f"{tier}_tier_bytes") for name in names),
        *(() if choices else INTERLEAVED),
    }
    results, unknown = known.results([name for name in QUESTION.names if name not in left_out], ranged=True)
    for name in DRIVES:
        # The times of a step are unknown where the bandwidth of a tier that holds bytes is.
        if known.find(f"{name}_pass_seconds") is None or known.find(f"{name}_update_seconds") is None:
            what = f"{display(known.value(f'{name}_tier_bytes'), 'B', binary=False)} in {PLACES[name]} of unknown bandwidth"
            of_times = {"step_seconds", "offload_efficiency", "offload_flops_per_gpu"} & {*unknown}
            unknown = {one: Message(what, supply=("storage", "units")) for one in unknown if one in of_times}
    words = {
        "model": (model, True),
        "recipe": (chosen.id, asked["recipe"] is not None),
        **{f"{OPTIONS[name]}_tier": (tier, tier != FILL) for name, tier in tier_asked.items()},
        "storage": (asked["storage"], asked["storage"] is not None),
    }
    return Answer(
        QUESTION,
        f"Training {size.name} beyond GPU memory: {known.value('gpus'):,.0f} × {card.name}, {chosen.name}",
        chosen_words({name: one for name, one in words.items() if one[0]}),
        known,
        results,
        unknown,
        Deferred(
            lambda: (
                {"placement": placement(known, parts, NAMES), "traffic": [*_traffic(known, parts, away)]}
                | ({"interleaving": choices} if choices else {})
            )
        ),
        lambda answer: (*size.warnings, *_warnings(known, results), *idle_storage(job, known), *on_settings(answer, settings)),
        job.sources,
        unmet=_unmet(known),
        options=("gpu", *asked),
    )


def _follow(known: Quantities) -> None:
    """What follows from structure and machine, and what must be given."""
    if "parameters" not in known.given:
        known.state("equal_blocks")
    known.state("all_parameters_active", "one_node", "tiers_of_nodes")
    missing = [name for name in ("layers", "hidden_size", "attention_heads") if name not in known.given]
    if missing:
        ways = tuple(Option(f"set.{name}", "N") for name in missing)
        raise IngestError(Message("the layers, width or heads of the model are not known", supply=ways))
    if "host_memory_bandwidth_per_node" in known.given:
        known.state("host_memory_limits")
    else:
        known.give_default("host_optimizer_rate_per_node", HOST_RATE)


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
            # No time where nothing moves, and an unknown one where the bandwidth is.
            moved = sum(tiers[name].value(f"level_{phase}_{way}_bytes") for way in ("read", "write"))
            step = tiers[name].find(f"level_{phase}_seconds")
            if not moved:
                known.give({f"{name}_{phase}_seconds": Input(0, note=f"nothing moves to or from {PLACES[name]}")})
            elif step is not None:
                known.link(f"{name}_{phase}_seconds", step)
    if (step := away.find("link_pass_seconds")) is not None:
        known.adopt({"link_pass_seconds": step})
    if "interleave_every" in known.given:
        known.state("updates_interleaved")
        known.link("plain_update_seconds", away.step("host_update_seconds"))
    else:
        known.adopt(away.steps_of("host_update_seconds"))
    how = "serial" if serial else "overlapped"
    known.link("offload_bytes_per_node", away.step("level_bytes_per_node"))
    known.link("drive_tier_bytes_per_node", slow.step("level_bytes_per_node"))
    for prefix, group in (("offload", away), ("drive_tier", slow), *((f"{name}_tier", tiers[name]) for name in DRIVES)):
        for way in ("read", "write"):
            step = group.find(f"level_{way}_bandwidth_{how}")
            if step is not None:
                known.link(f"{prefix}_{way}_bandwidth_per_node", step)
    if serial:
        known.state("transfers_waited_for")


def _interleaved(known: Quantities, away: Quantities, written: str | None) -> Iterator[dict[str, Any]]:
    """The optimizer step by the part that is updated on the GPU; gives the one that is asked for, or the best.

    Raises UsageError: neither `auto` nor `every=K` with a whole K from 2.
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
            stated = float(read_value("interleave_every", number, word))
        except UsageError:
            raise option_error("optimizer_on_gpu", f": found '{written}', expected every=K with a whole K from 2") from None
        chosen = Input(stated, origin="user")
    known.give({"interleave_every": chosen})


def _traffic(known: Quantities, parts: Mapping[str, Part], away: Quantities) -> Iterator[dict[str, Any]]:
    """Bytes that each class moves in a step, if it lies off the GPU; its intensity, and the bandwidth for the target."""
    alone = {name: {f"level_{other}_share": Input(float(other == name)) for other in CLASSES} for name in CLASSES}
    for name in CLASSES:
        one = Quantities(alone[name])
        one.adopt(
            away.steps_of(*(f"held_{other}_bytes" for other in CLASSES), "moved_gradients_bytes", "weight_reads_per_step")
        )
        row: dict[str, Any] = {
            "class": NAMES.get(name, name),
            "off_gpu": sum(parts[name].shares.get(tier, 0.0) for tier in AWAY),
            **one.values_of("level_step_read_bytes", "level_step_write_bytes"),
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
    # Of drives that hold nothing no writes are asked: they have none to wear out.
    worn = {**results, "rated_writes_per_day": known.find("rated_writes_per_day")}
    found = [finding("W90", worn), *bounds(known), *unknown_storage(known, results)]
    if held.value and known.find("shared_read_bandwidth") is not None:
        read, write = (display(known.value(f"shared_{way}_bandwidth"), "B/s", binary=False) for way in ("read", "write"))
        found.append(finding("W98", words={"storage": "states"}, read=read, write=write))
    yield from messages(found)
