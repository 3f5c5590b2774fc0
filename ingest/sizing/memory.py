"""`ingest memory`: model states, activations and buffers in GPU memory, and the GPUs and nodes that hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.records import Node, Optimizer, Recipe, Value
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, chosen_words, filled, option, quantities_in, shown
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, revised
from ingest.errors import IngestError, UsageError, one_of
from ingest.sizing.checkpoint_files import check_division, expert_share
from ingest.sizing.evidence_choice import computed_in
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import (
    NODE,
    NODES,
    ONE_GPU,
    SIZED_MODEL,
    USUAL_GPU,
    Amount,
    CommonOptions,
    gpus_in_node,
    model_by_numbers,
    quantities_of,
    settings_of,
    shape_in,
)
from ingest.sizing.memory_inputs import (
    AGAIN,
    AGAIN_WITH_ADAPTERS,
    ATTENTIONS,
    DEFAULTS,
    LOSSES,
    OFF,
    OFFLOADS,
    PLACES,
    RECOMPUTES,
    ROOM,
    USUAL_RECIPE,
    USUAL_STAGE,
    UTILIZATION_OF_STEP,
    MemoryJob,
    P,
    ParallelSizes,
    check_known,
    gpus_hold,
    parts_again,
    place_shares,
    places_of,
)
from ingest.sizing.memory_search import MOST_CONTEXT, MOST_STAGES, SHAPES, Layout, highest, largest_model, search
from ingest.sizing.optimizer_states import STAGES, PreferenceOptions, Trained, composed, preference_inputs, zero_stage_of
from ingest.sizing.resolve import ModelSize, gpus_of, machine_of, model_named, optimizer_of, recipe_of, size_of
from ingest.sizing.rules import contradictions, finding, messages, unused
from ingest.units import display

#: Results of a training step; only with a sequence length, or where weights are gathered from outside of the GPU.
OF_STEP = (
    "activation_bytes_per_gpu", "logit_bytes_per_gpu", "gather_bytes_per_gpu", "gathered_token_bytes_per_gpu",
    "bucket_bytes_per_gpu", "reserve_bytes_per_gpu", "framework_bytes_per_gpu", "total_bytes_per_gpu",
)  # fmt: skip
#: The first result where the GPUs are given and a step is counted: whether they are full.
OF_GPUS_GIVEN = "memory_filled_share"
#: Results of states that lie off the GPU.
OFFLOADED = ("offloaded_bytes", "offloaded_bytes_per_node")
#: States on one GPU.
EACH = "model_state_bytes_per_gpu"
#: The fewest that hold the model.
FEWEST = ("gpus_to_hold", "nodes_to_hold")
#: What `memory` answers.
QUESTION = Question(
    "memory",
    (
        *shown("model_state_bytes", "model_state_bytes_per_parameter", EACH),
        *shown(*FEWEST, *OF_STEP, OF_GPUS_GIVEN, *OFFLOADED),
    ),
    (
        ("Fills", {"memory_filled_share": "{} of the memory", "total_bytes_per_gpu": "{} on each GPU",
                   "gpus_to_hold": "held by {} or more"}),
        ("Needs", {"gpus_to_hold": "{}", "nodes_to_hold": "{}", "model_state_bytes": "{} of model states"}),
        ("Needs", {"total_bytes_per_gpu": "{} on each GPU", "model_state_bytes": "{} of model states"}),
        ("Needs", {EACH: "{} on each GPU", "model_state_bytes": "{} of model states"}),
        ("Needs", {"model_state_bytes": "{} of model states"}),
    ),
)  # fmt: skip
#: The same where the upper end of a step does not fit: the line does not say that it does.
UNSURE = QUESTION._replace(
    headlines=(
        ("May not fit:", {**QUESTION.headlines[0][1], "gpus_to_hold": "held by {} at best"}),
        ("May need more than", {"gpus_to_hold": "{}", "total_bytes_per_gpu": "{} on each GPU"}),
        *QUESTION.headlines[2:],
    )
)
#: The same where not even the lower end of a step fits.
NOT_HELD = UNSURE._replace(headlines=(("Does not fit:", UNSURE.headlines[0][1]), *UNSURE.headlines[1:]))
#: The same where a step is not counted: it takes more than the states, and more GPUs.
STATES_ALONE = QUESTION._replace(
    headlines=tuple(("Needs at least" if "gpus_to_hold" in parts else verb, parts) for verb, parts in QUESTION.headlines)
)
#: Parallel sizes as the title names them.
SHORT = ("TP", "PP", "CP", "EP", "ETP")


class LayoutOptions(TypedDict, total=False):
    """The machine, and how a model is cut over its GPUs."""

    node: Annotated[str | None, NODE]
    gpus: Annotated[Amount, option(
        "GPUs of the job; by default the fewest that hold the model.", quantity="gpus", sets="gpus nodes")]  # fmt: skip
    nodes: Annotated[Amount, NODES]
    tensor_parallel: Annotated[
        Amount, option("GPUs that share a layer; {default} by default, any with --search.", quantity="tensor_parallel")
    ]
    pipeline_parallel: Annotated[
        Amount, option("Pipeline stages; {default} by default, any with --search.", quantity="pipeline_parallel")
    ]
    context_parallel: Annotated[
        Amount,
        option(
            "Replicas that share the tokens of a sequence; {default} by default, any with --search.",
            quantity="context_parallel",
        ),
    ]
    expert_parallel: Annotated[
        Amount, option("Replicas that share the experts; {default} by default, any with --search.", quantity="expert_parallel")
    ]
    expert_tensor_parallel: Annotated[
        Amount, option("Tensor ranks that share one expert; all of them by default.", quantity="expert_tensor_parallel")
    ]


class StepOptions(TypedDict, total=False):
    """What a training step keeps."""

    sequence_length: Annotated[
        Amount, option("Tokens of one sequence; counts activations, logits and buffers too.", quantity="sequence_length")
    ]
    micro_batch: Annotated[
        Amount, option("Sequences that a replica works on at a time; {default} by default.", quantity="micro_batch")
    ]
    micro_batches: Annotated[
        Amount, option("Micro-batches of one step, where they are fewer than pipeline stages.", quantity="micro_batches")
    ]
    virtual_stages: Annotated[
        Amount,
        option("Parts of the model on each pipeline rank; {default}, not interleaved, by default.", quantity="virtual_stages"),
    ]
    recompute: Annotated[
        str | None,
        option(
            "none, selective (scores of attention), full (layers keep their input alone), or parts of layers: norm, latent, "
            "activation, mlp, expert, separated by commas; {default} by default, full with lora and qlora, any with --search.",
            usual=RECOMPUTES[0],
            choices=RECOMPUTES,
        ),
    ]
    recompute_layers: Annotated[
        Amount,
        option(
            "Layers of each pipeline rank that full recomputation computes again; all by default.", quantity="recompute_layers"
        ),
    ]
    fp8_inputs: Annotated[
        bool, option("Matrices keep their inputs in 8 bits, as Transformer Engine does in FP8.", default=False)
    ]
    loss: Annotated[
        str | None,
        option(
            "How the loss is computed: fused with the head (Liger, Unsloth), chunked over the tokens, or plain; by the library "
            "where it is not said.",
            choices=LOSSES.keys(),
        ),
    ]
    step_in_backward: Annotated[
        bool, option("Each gradient is applied and freed in the backward pass, as by optimizer_in_bwd.", default=False)
    ]
    attention: Annotated[str, option("flash (scores are never kept) or scores.", default=ATTENTIONS[0], choices=ATTENTIONS)]
    dropout: Annotated[bool, option("Masks of dropout are kept.", default=False)]
    no_sequence_parallel: Annotated[bool, option("Tensor ranks do not share the tokens outside of matrices.", default=False)]


class StateOptions(PreferenceOptions, total=False):
    """What training keeps of each parameter, and where."""

    zero_stage: Annotated[
        int | str | None,
        option(
            "ZeRO stage; 0 is plain data parallelism; {default} by default, any with --search.",
            "0-3",
            usual=str(USUAL_STAGE),
            choices=STAGES,
        ),
    ]
    hybrid_shard: Annotated[
        Amount, option("Replicas that share the partitioned states, where they are not all (HSDP).", quantity="shard_group")
    ]
    offload: Annotated[str, option("{choices}.", "WHERE", default=OFFLOADS[0], choices=OFFLOADS)]
    recipe: Annotated[
        str | None,
        option(
            "Id in the catalogs, such as bf16-only, lora, qlora, or its bytes per parameter: 2, 12, 14, 16, 18 or 20; that of "
            "the published training run, else {default}.",
            "ID",
            usual=USUAL_RECIPE,
        ),
    ]
    optimizer: Annotated[
        str | None,
        option(
            "Optimizer instead of that of the recipe, whose adapters and width it keeps: adam8bit, adafactor, muon, sgd, …",
            "ID",
        ),
    ]
    utilization: Annotated[
        Amount,
        option(
            f"Share of the memory that may be filled: {{default}}, or {UTILIZATION_OF_STEP.value:g} with --sequence-length, "
            "where it is not given.",
            "F",
            quantity="memory_utilization",
            usual=DEFAULTS,
        ),
    ]
    residual: Annotated[
        Amount,
        option(
            "Bytes of activations, buffers and fragments on one GPU, as measured: they replace those that --sequence-length "
            "counts; without both, {default}.",
            "SIZE",
            quantity="residual_bytes_per_gpu",
            usual=DEFAULTS,
        ),
    ]
    search: Annotated[bool, option("Finds the layouts that hold a step at sequence_length, fewest GPUs first.", default=False)]
    largest: Annotated[bool, option(f"The largest model that these GPUs {SHAPES}", default=False)]


class MemoryOptions(LayoutOptions, StepOptions, StateOptions, CommonOptions, total=False):
    """The options of `memory`."""


#: option -> the quantity that it sets
QUANTITIES = quantities_in(MemoryOptions)


def memory(
    model: Annotated[str | None, SIZED_MODEL] = None,
    gpu: Annotated[str | None, ONE_GPU] = None,
    **options: Unpack[MemoryOptions],
) -> Answer:
    """Model states in GPU memory, and the GPUs and nodes that hold them.

    >>> answer = memory(set={"parameters": "17e9"}, gpu="a100-80-sxm")
    >>> answer.results["model_state_bytes"].display, answer.results["gpus_to_hold"].value
    ('272 GB (253.3 GiB)', 4)

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(MemoryOptions, options, "memory")}
    catalog = opened(asked["catalogs"])
    model, settings = model_by_numbers(model, settings_of(asked["set"]))
    if whole := next((name for name in ("model_state_bytes", "model_state_bytes_per_parameter") if name in settings), ""):
        raise UsageError(f"--set: found {whole}, a sum, expected its parts, such as weight_bytes_per_parameter=4")
    if asked.pop("largest"):
        if model is not None or asked["search"] or (asked["gpus"] or asked["nodes"]) is None:
            raise option_error("largest", ": expected --gpus or --nodes, and neither a model nor --search")
        numbers, kept = shape_in(settings)
        fixed = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
        step = math.lcm(*(int(fixed.get(one, 1)) for one in ("tensor_parallel", "pipeline_parallel")))
        inside, below = machine_of(gpu or (None if asked["node"] else USUAL_GPU), asked["node"], catalog)[1], asked["offload"]
        have, where = _below_gpus(inside, below)
        if below != OFFLOADS[0] and have is None:
            raise option_error("offload", f": the {where} of a node is not known, which --largest fills; set --node")

        def ask(made: str) -> Answer:
            return memory(made, gpu, **{**asked, "set": kept, "catalogs": catalog})

        return largest_model(ask, numbers, step, lambda answer: answer.unmet or _beyond_node(answer.results, inside, below))
    node, optimizer, recompute, attention = (asked[name] for name in ("node", "optimizer", "recompute", "attention"))
    offload, named = asked["offload"], gpu or (None if node else USUAL_GPU)
    asked["gpus"] = gpus_of(asked["gpus"], asked["nodes"], catalog, gpu=named, node=node, settings=settings)
    fixed = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
    stage_asked = None if asked["zero_stage"] is None else zero_stage_of(asked["zero_stage"])
    stage = USUAL_STAGE if stage_asked is None else stage_asked
    one_of("--attention", attention, ATTENTIONS)
    if asked["loss"] is not None:
        one_of("--loss", asked["loss"], LOSSES)
    places = places_of(stage, offload)
    size = size_of(model, catalog, settings)
    card, inside = machine_of(named, node, catalog, trains=True)
    assert card is not None
    machine = from_fields({"memory_bytes_per_gpu": card.memory_bytes})
    if gpu is None and node is None:
        machine = {name: item.by_default(f"of {card.name}", "gpu") for name, item in machine.items()}
    machine |= gpus_in_node(card, inside, *(["node"] if node is None else []))
    chosen, states = _states(asked, size, catalog)
    way = recompute or (RECOMPUTES[-1] if states.adapters and "sequence_length" in {**fixed, **settings} else RECOMPUTES[0])
    parts_again(way)
    if asked["recompute_layers"] is not None and way != "full":
        raise option_error("recompute_layers", f": found --recompute {way}, expected full")
    trained = Trained.of(asked, size, states)
    read = size.entry or (model_named(model, None, catalog) if model is not None and asked["algorithm"] else None)
    job = MemoryJob(
        size, chosen, states, machine, fixed, settings, attention, asked["dropout"], not asked["no_sequence_parallel"], offload,
        asked["fp8_inputs"], trained, asked["loss"], asked["step_in_backward"],
        preference_inputs(asked["algorithm"], bool(states.adapters), read, settings),
    )  # fmt: skip
    found: tuple[list[Layout], list[Layout]] = ([], [])
    if asked["search"]:
        check_known(size.architecture, size.name)
        if "sequence_length" not in job.fixed:
            raise UsageError("--search: found no --sequence-length, expected the tokens of a sequence")
        found = search(job, stage_asked, recompute)
        best = (found[0] or found[1])[0]
        stage, way = best.stage, best.recompute
        fixed |= {f"{kind}_parallel": float(size) for kind, size in best.sizes._asdict().items() if size}
        places = places_of(stage, offload)
    parallel = ParallelSizes.of(fixed)
    # One GPU has none to partition over; where it does not hold the step, more of them do.
    alone = stage_asked is None and fixed.get("gpus") == 1 and offload == OFFLOADS[0] and not asked["search"]
    if alone and job.known(job.given(parallel, 0, way), way).value(ROOM) > 0:
        stage, places = 0, places_of(0, offload)
    if size.architecture is not None:
        check_division(size.architecture, parallel.tensor, parallel.pipeline, parallel.expert)
    if parallel.expert_tensor and (size.architecture is None or not expert_share(size.architecture)):
        raise option_error("expert_tensor_parallel", f": found {parallel.expert_tensor}, expected a model with experts")
    given = job.given(parallel, stage, way)
    if way == RECOMPUTES[-1] and recompute is None and not asked["search"] and asked["recompute_layers"] is None:
        given[AGAIN] = AGAIN_WITH_ADAPTERS
    known, step, on_given = job.known(given, way), job.counts_step(places), asked["gpus"] is not None
    unknown = _fill(known, on_given, partial(_cures, job, parallel, stage, way))
    left_out = {*unknown, *OFFLOADED, *(() if step else OF_STEP), *(() if step and on_given else (OF_GPUS_GIVEN,))}
    results, missing = known.results([name for name in QUESTION.names if name not in left_out])
    if OFF in places:
        if "gpus" in known.given or EACH not in unknown:
            known.state("states_offloaded")
        results |= known.results(OFFLOADED)[0]
    question = QUESTION if step else STATES_ALONE
    cautions = [*filter(None, [_beyond_node(results, inside, offload)])]
    if not step and not job.fixed.get("residual_bytes_per_gpu"):
        cautions = [*messages([finding("W71", words={"activations": "not counted"})]), *cautions]
    if step and EACH not in unknown:
        # The ranges of the parts, on a number of GPUs that does not follow them.
        counted = job.known({**given, "gpus": Input(known.value("gpus"))}, way)
        results |= counted.results([name for name in (*OF_STEP, OF_GPUS_GIVEN) if name in results], ranged=True)[0]
        for most, caution in _unfused(job, given, way, results, unknown):
            cautions.append(caution)
            held = results["gpus_to_hold"]
            results["gpus_to_hold"] = Quantity(held.value, held.unit, held.low, most)
            full = results.get(OF_GPUS_GIVEN)
            question = NOT_HELD if full is not None and (full.low or full.value) > 1 else UNSURE
    if places[0] is OFF and not step:
        missing["total_bytes_per_gpu"] = "a GPU holds the layer at work: give a model with a config.json"
    words = {
        "model": (model, True),
        "recipe": (chosen.id, asked["recipe"] is not None),
        "optimizer": (states.id, optimizer is not None),
        "recompute": (way, recompute is not None),
        "attention": (attention, attention != ATTENTIONS[0]),
        "offload": (offload, offload != OFFLOADS[0]),
        "zero_stage": (stage, stage_asked is not None),
        **({"algorithm": (asked["algorithm"], True)} if asked["algorithm"] else {}),
    }
    # The name of a recipe tells the bytes of its own optimizer.
    keeping = chosen.name if states.id == chosen.optimizer else f"{states.name}; recipe {chosen.id}"
    shape = " × ".join(f"{short} {size}" for short, size in zip(SHORT, parallel, strict=True) if size > (short != "ETP"))
    keeping += f"; {shape}" if shape and step else ""
    keeping += "" if not step or way == RECOMPUTES[0] else f"; {way} recomputation"
    keeping += f"; {asked['algorithm'].upper()}" if asked["algorithm"] else ""
    machines = card.name if (count := fixed.get("gpus")) is None else f"{count:,.0f} × {card.name}"
    listed = zip(("layouts", "rejected"), found, strict=True)
    unmet = _unmet(known, results, unknown)
    if unmet and "sequence_length" in job.fixed and way != "full":
        fully = job.known(job.given(parallel, stage, "full"), "full")
        if gpus_hold(fully.value):
            fits = f"{display(fully.value('total_bytes_per_gpu'), 'B', binary=False)} on each, which fits"
            unmet = f"{unmet}; with --recompute full: {fits}"
    answer = Answer(
        question,
        f"{'Memory' if step else 'Model states'} of {size.name} on {machines}: {keeping}; ZeRO-{stage}, offload {offload}"
        + (computed_in(size.entry, card, count, states, catalog) if gpu or node else ""),
        chosen_words(words),
        known,
        results,
        {**missing, **unknown},
        {
            **_tables(known, given, unknown, step),
            **{name: [one.row(job.gpus_per_node) for one in layouts] for name, layouts in listed if layouts},
        },
        (*size.warnings, *cautions),
        catalog,
        f"no layout holds the model: {found[1][0].reason}" if found[1] and not found[0] else unmet,
        options=("gpu", *asked),
    )
    idle: list[Message] = []
    if not answer.unmet and "gpus_to_hold" not in answer.unknown:
        # Options on which no result depends; where results are missing nobody knows.
        options_of = {quantity: name for name, quantity in QUANTITIES.items()}
        for name, value in {**fixed, **settings}.items():
            if name not in answer.used and not (name.endswith("_parallel") and value == 1):
                idle.append(unused(Option(f"set.{name}" if name in settings else options_of[name])))
    of_tokens = "sequence_length" in job.fixed
    # Options that change nothing of what is counted, though their quantities are part of it.
    without = {
        **dict.fromkeys(("dropout", "fp8_inputs", "loss"), not of_tokens),
        "attention": not of_tokens and attention != ATTENTIONS[0],
        "recompute": not of_tokens or (way == "selective" and attention == ATTENTIONS[0]),
        "step_in_backward": not step,
        "no_sequence_parallel": not of_tokens or parallel.tensor == 1,
        **dict.fromkeys(("virtual_stages", "micro_batches"), parallel.pipeline == 1),
        "hybrid_shard": P not in places,
    }
    of_none = [unused(Option(name)) for name, changes_nothing in without.items() if asked[name] and changes_nothing]
    idle += [line for line in of_none if line not in idle]
    return revised(answer, cautions=(*answer.warnings, *idle, *contradictions(known, settings)))


def _states(asked: Mapping[str, Any], size: ModelSize, catalog: Catalog) -> tuple[Recipe, Optimizer]:
    """The recipe and the optimizer: as asked, as the published run of the model trains, or as usual.

    Raises UsageError: unknown ones, or an optimizer that contradicts the recipe.
    """
    entry, optimizer = size.entry, asked["optimizer"]
    given = None if optimizer is None else optimizer_of(optimizer, catalog)
    of_run = (entry.recipe, entry.optimizer) if entry is not None and asked["recipe"] is None else ("", "")
    chosen = recipe_of(
        asked["recipe"] or of_run[0] or ("lora" if given is not None and given.adapters else USUAL_RECIPE), catalog
    )
    own = optimizer_of(chosen.optimizer, catalog)
    if of_run[1] and of_run[1] != own.id:
        own = composed(own, optimizer_of(of_run[1], catalog), chosen)
    return chosen, composed(own, given, chosen)


def _fill(known: Quantities, asked: bool, cures: Callable[[], str]) -> dict[str, str]:
    """Count the GPUs; if no number of them suffices, return the reason and the options that help."""
    left = known.value(ROOM)
    if left <= 0:
        room = known.value("memory_utilization")
        held = known.value("resident_parameters_per_gpu") * known.value("replicated_bytes_per_parameter")
        need = held + known.value("residual_bytes_per_gpu")
        apart, size = (display(value, "B", binary=False) for value in (need, known.value("memory_bytes_per_gpu")))
        why = f"the bytes on each GPU that further GPUs do not divide ({apart}) exceed {room * 100:.3g} % of its memory "
        why += f"({size}) for any number of GPUs: set {cures() or '--search, as no option alone suffices'}"
        unknown: dict[str, str] = dict.fromkeys(FEWEST, why)
        if not asked:
            unknown[EACH] = Message("depends on the number of GPUs", supply=("gpus",))
        return unknown
    if not asked:
        known.state("fewest_gpus")
    group = known.given.get("shard_group")
    if group is None:
        return {}
    need = known.value("gpus_to_hold") / known.value("tensor_parallel") / known.value("pipeline_parallel")
    if need > group.value:
        why = f"groups of {group.value:,.0f} replicas do not hold the model: expected --hybrid-shard {need:,.0f} or more"
        return dict.fromkeys(FEWEST, why)
    return {}


def _cures(job: MemoryJob, parallel: ParallelSizes, stage: int, way: str) -> str:
    """The options that alone let the GPUs hold the model, each at the least value that does; empty where none does."""
    step, here, found = "sequence_length" in job.fixed, (stage, way, job.offload), dict[str, str]()
    most = {"tensor": job.gpus_per_node, "pipeline": MOST_STAGES, **({"context": MOST_CONTEXT} if step else {})}
    larger = [(kind, getattr(parallel, kind) * 2**power) for kind in most for power in range(1, 7)]
    tried = [
        *((f"--zero-stage {at}", parallel, (at, way, job.offload)) for at in STAGES[stage + 1 :]),
        *((f"--{kind}-parallel {n}", parallel._replace(**{kind: n}), here) for kind, n in larger if n <= most[kind]),
        *([("--recompute full", parallel, (stage, "full", job.offload))] if step and way != "full" else []),
        *([("--offload cpu", parallel, (stage, way, "cpu"))] if job.offload == "none" else []),
    ]
    for words, sizes, (at, again, offload) in tried:
        if (name := words.split()[0]) not in found:
            with suppress(IngestError):
                places_of(at, offload)
                asked = ParallelSizes.of({**{f"{kind}_parallel": n for kind, n in sizes._asdict().items() if n},
                                          "gpus": job.fixed.get("gpus", 0)})  # fmt: skip
                if job.size.architecture is not None:
                    check_division(job.size.architecture, asked.tensor, asked.pipeline)
                known = job._replace(offload=offload).known(job._replace(offload=offload).given(asked, at, again), again)
                if gpus_hold(known.value) if "gpus" in known.given else known.value(ROOM) > 0:
                    found[name] = words
    return " or ".join(found.values())


def _unfused(
    job: MemoryJob, given: Mapping[str, Input], way: str, results: Mapping[str, Quantity], unknown: Mapping[str, str]
) -> Iterator[tuple[float | None, str]]:
    """The caution that a step may not fit, with the GPUs that hold it at the most; None where no number of them does."""
    name = "total_bytes_per_gpu"
    total = results[name]
    if unknown or total.high is None:
        return
    known = job.known(highest(given), way)
    held, gpus = "no number of GPUs holds that in this layout", None
    if known.value(ROOM) > 0:
        gpus = known.value("gpus_to_hold")
        held = f"{display(gpus, 'GPU')} {'holds' if gpus == 1 else 'hold'} that"
    room = known.value("memory_bytes_per_gpu")
    quantities: dict[str, Quantity | float | None] = {name: total, "memory_bytes_per_gpu": room}
    most, shown = (display(value, "B", binary=False) for value in (total.high, room))
    kept = ", as in plain PyTorch,"
    if AGAIN in given:
        again = job.known({**highest(given), AGAIN: given[AGAIN]}, way).value(name)
        kept = " or layers are kept,"
        held += f"; with --recompute full it takes up to {display(again, 'B', binary=False)}"
    for caution in messages([finding("W72", quantities, most=most, room=shown, held=held, kept=kept)]):
        yield gpus, caution


PARTS = {"weights": ("gradient", "optimizer"), "gradients": ("weight", "optimizer"), "optimizer states": ("weight", "gradient")}
#: Further parts of a step: what of them is called as its quantity is.
STEP_PARTS = {
    "activations": "activation",
    "logits": "logit",
    "gathered weights": "gather",
    "gathered tokens": "gathered_token",
    "buckets": "bucket",
    "allocator reserve": "reserve",
    "driver and libraries": "framework",
}


def _tables(
    known: Quantities, given: Mapping[str, Input], unknown: Mapping[str, str], step: bool
) -> dict[str, list[dict[str, Any]]]:
    """The GPUs that each ZeRO stage takes without offload, or the parts of one GPU's memory where a step is counted."""
    rows: list[dict[str, Any]] = []
    if not step and "parameters" in given:
        for stage in range(4):
            one = Quantities({**given, **place_shares(PLACES[stage, "none"])})
            fits = one.value(ROOM) > 0
            found = {"zero_stage": str(stage), "gpus_to_hold": one.value("gpus_to_hold") if fits else "does not fit"}
            widths = ("replicated_bytes_per_parameter", "partitioned_bytes_per_parameter")
            rows.append({**found, **one.values_of(*widths)})
        return {"stages": rows}
    if not step or EACH in unknown:
        return {}
    gpus = {"gpus": Input(known.value("gpus"))}
    for part, others in PARTS.items():
        alone = {**given, **gpus, **{f"{other}_bytes_per_parameter": Input(0) for other in others}}
        trained = Quantities({**alone, "frozen_models": Input(0)}).value(EACH)
        rows.append({"part": part, "bytes_per_gpu": trained})
        beside = Quantities(alone).value(EACH) - trained
        rows += [{"part": "reference weights", "bytes_per_gpu": beside}] if beside else []
    further = {"residual": "residual"} if "residual_bytes_per_gpu" in given else STEP_PARTS
    for part, name in {**further, "total": "total"}.items():
        rows.append({"part": part, "bytes_per_gpu": known.value(f"{name}_bytes_per_gpu")})
    return {"parts": rows}


def _unmet(known: Quantities, results: Mapping[str, Quantity], unknown: Mapping[str, str]) -> str:
    """Why the GPUs given do not hold the model; empty where they do, or where no number is given."""
    if "gpus" not in known.given or ("gpus_to_hold" not in unknown and gpus_hold(known.value)):
        return ""
    gpus, name = known.value("gpus"), "total_bytes_per_gpu" if "total_bytes_per_gpu" in results else EACH
    held = f"{display(gpus, 'GPU')} {'does' if gpus == 1 else 'do'} not hold"
    if "gpus_to_hold" in unknown:
        return f"{held} the model: {unknown['gpus_to_hold']}"
    each, least = display(known.value(name), "B", binary=False), results["gpus_to_hold"].value
    what = "model states" if name == EACH else "model and its activations"
    return f"{held} the {what} ({each} on each): at least {least:,.0f} GPUs are needed"


def _below_gpus(node: Node | None, offload: str) -> tuple[Value | None, str]:
    """Where a node keeps offloaded states: its room, where that is known, and what it is."""
    room = node and (node.host_memory_bytes if offload == "cpu" else node.nvme_bytes)
    return room or None, "host memory" if offload == "cpu" else "NVMe"


def _beyond_node(results: Mapping[str, Quantity], node: Node | None, offload: str) -> str:
    """Why a node does not hold the offloaded states; empty where it does, or where its room is unknown."""
    need, (have, where) = results.get("offloaded_bytes_per_node"), _below_gpus(node, offload)
    if node is None or need is None or have is None or need.value <= have.value:
        return ""
    held, room = (display(value, "B", binary=False) for value in (need.value, have.value))
    return f"each node must hold {held} of offloaded states, but the {where} of {node.name} has {room}: use more nodes"
