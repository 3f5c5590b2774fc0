"""`ingest checkpoint`: size, files, write rate, interval, restore and retention of checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.catalog.device_names import released_in
from ingest.catalog.records import Failures, Gpu
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, chosen_words, filled, option, quantities_in, shown
from ingest.engine.registry import Step, solve
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Later, Quantity, derived
from ingest.errors import one_of
from ingest.sizing.checkpoint_files import (
    LAYOUTS,
    CheckpointContent,
    CheckpointFiles,
    RankLayout,
    expert_share,
    largest_stage_factor,
)
from ingest.sizing.checkpoint_ranks import SPREAD_STAGE, USUAL_STAGE, ranks_of
from ingest.sizing.checkpoint_schedule import (
    DECIDING,
    DEFAULTS,
    MODES,
    USUAL_MODE,
    ScheduleOptions,
    as_usual,
    failure_rate,
    failure_table,
    interval_table,
    plan_interval,
    tier_table,
    usual_failures,
)
from ingest.sizing.evidence_choice import computed_in
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import (
    NODES,
    SIZED_MODEL,
    USUAL_GPU,
    Amount,
    CommonOptions,
    by_user,
    counts_of,
    gpus_in_node,
    model_by_numbers,
    quantities_of,
    settings_of,
)
from ingest.sizing.memory_inputs import USUAL_RECIPE
from ingest.sizing.optimizer_states import STAGES, WIDTHS, Trained, TrainedOptions, composed, kept_by, released_width
from ingest.sizing.resolve import ModelSize, gpus_of, machine_of, optimizer_of, recipe_of, size_of
from ingest.sizing.rules import contradictions, finding, messages, told, unused, without_unit
from ingest.units import display

#: What a job trains with where nothing is published of its model.
USUAL_OPTIMIZER, USUAL_PRECISION = "adamw", "bf16"
#: Who reads a checkpoint in a restore, and where that is practised.
READERS = {
    "unique": "one rank of a group reads, then distributes: MegaScale, ByteCheckpoint",
    "replicated": "every replica reads the weights: Megatron by default, parallel load off",
    "all": "every replica reads everything: the worst case",
}
USUAL_READERS = "unique"


class JobSizeOptions(TypedDict, total=False):
    """The size of a job."""

    gpus: Annotated[Amount, option("GPUs of the job.", quantity="gpus", sets="gpus nodes")]
    nodes: Annotated[Amount, NODES]


class SavedStateOptions(TrainedOptions, total=False):
    """What a checkpoint holds, and how it is shared out."""

    tensor_parallel: Annotated[
        Amount,
        option(
            "GPUs that share a layer; as published for the model, else the smallest that fits the memory.",
            quantity="tensor_parallel",
        ),
    ]
    pipeline_parallel: Annotated[
        Amount,
        option(
            "Pipeline stages; as published for the model, else the fewest that fit the memory.", quantity="pipeline_parallel"
        ),
    ]
    expert_parallel: Annotated[int | str | None, option("Ranks that share the experts; as published for the model, else 1.")]
    zero_stage: Annotated[
        int | str | None,
        option(
            f"ZeRO stage; {{default}} by default, {SPREAD_STAGE} for recommenders.",
            "0-3",
            usual=f"{USUAL_STAGE}",
            choices=STAGES,
        ),
    ]
    layout: Annotated[
        str | None,
        option(
            "megatron, deepspeed, dcp (FSDP: 32-bit weights without a 16-bit copy) or safetensors; megatron with tensor or "
            "pipeline parallelism or on an unknown number of GPUs, else dcp.",
            "NAME",
            choices=LAYOUTS.keys(),
        ),
    ]
    optimizer: Annotated[
        str | None,
        option(
            "adamw, adamw-bf16, adamw-fp32, adam8bit, adafactor, muon, sgd, lora, …; that of the published training run, "
            f"else {USUAL_OPTIMIZER}.",
            "ID",
        ),
    ]


class WriteOptions(TypedDict, total=False):
    """The storage that takes the checkpoints."""

    write_bandwidth: Annotated[Amount, option("Write rate of the storage.", "RATE", quantity="write_bandwidth")]


class ContentOptions(JobSizeOptions, SavedStateOptions, total=False):
    """The checkpoints of a job of this size."""

    precision: Annotated[
        str | None,
        option(
            "Precision of the saved weights: bf16, fp16, fp32 or fp8; without it that of the model, else {default}, and with "
            "dcp that of the master copy, which it saves alone.",
            "P",
            usual=USUAL_PRECISION,
            choices=WIDTHS.keys(),
        ),
    ]


class KeptOptions(ContentOptions, ScheduleOptions, total=False):
    """Who reads checkpoints, and which are kept."""

    readers: Annotated[
        str,
        option(
            "unique (each byte is read once), replicated (each replica reads the weights, as Megatron does by default) or all "
            "(each reads everything).",
            "HOW",
            default=USUAL_READERS,
            choices=READERS.keys(),
        ),
    ]
    keep: Annotated[
        str | float | None,
        option(
            "Newest checkpoints kept, or last=3,every=10,final=1; {keep_last} by default.",
            usual=DEFAULTS,
            sets="keep_last keep_every keep_final",
        ),
    ]


class DurationOptions(TypedDict, total=False):
    """The end of a job."""

    duration: Annotated[Amount, option("Duration of the job; required by every.", "TIME", quantity="training_seconds")]


class TierOptions(WriteOptions, total=False):
    """The tier of the checkpoints, and the GPU whose memory they come from."""

    tier_capacity: Annotated[
        Amount, option("Capacity of the checkpoint tier, for its endurance.", "SIZE", quantity="checkpoint_tier_bytes")
    ]
    gpu: Annotated[
        str | None,
        option(
            "Id or YAML file of the GPU, for its memory; {default} by default. Where given, its node sizes the tiers too.",
            "ID",
            usual=USUAL_GPU,
        ),
    ]


class CheckpointOptions(KeptOptions, DurationOptions, TierOptions, CommonOptions, total=False):
    """The options of `checkpoint`."""


#: option -> the quantity that it sets
QUANTITIES = quantities_in(CheckpointOptions)
#: The headline where the bandwidth of writes is not known.
RESTORED = {"restart_read_bandwidth": "{} restore", "checkpoint_retained_bytes": "{} held"}
#: That where it is given: what is lost with it follows, and no need.
AT_GIVEN = "With", {"checkpoint_write_bandwidth": "{} write", "checkpoint_overhead": "{} of the time lost", **RESTORED}
#: What `checkpoint` answers. A result with a word of the question, such as `sync`, is one of that question only; one with an
#: input is missed only where that is given.
QUESTION = Question(
    "checkpoint",
    (
        Shown("checkpoint_bytes"),
        *shown("checkpoint_weights_bytes", "checkpoint_optimizer_bytes", main=False),
        Shown("checkpoint_files"),
        Shown("checkpoint_bytes_per_rank_max", main=False),
        *shown("job_mean_time_to_interrupt", "checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_dump_seconds"),
        *shown("checkpoint_stall_seconds", "checkpoint_stall_fraction", "writing_overhead", "lost_work_overhead", main=False),
        Shown("restart_waste", main=False),
        *shown("checkpoint_overhead", "total_overhead"),
        *shown("drain_duty", "restart_read_bytes", main=False),
        Shown("restart_read_bandwidth"),
        Shown("checkpoints_retained", main=False),
        *shown("checkpoint_retained_bytes", "checkpoint_bytes_written_per_day"),
        Shown("data_parallel", main=False, where="gpus"),
        Shown("checkpoint_extra_bytes", main=False, where="extra_bytes_per_rank"),
        *shown("young_interval", "daly_interval", "least_waste", main=False, where="sync"),
        Shown("staging_overhead", main=False, where="async"),
        Shown("drive_writes_per_day", main=False, where="checkpoint_tier_bytes"),
        # Megatron's readers beside those that the field uses at scale.
        Shown("restart_bytes_replicated", main=False, where="unique"),
    ),
    (
        ("Needs", {"checkpoint_write_bandwidth": "{} write", **RESTORED}),
        ("Needs", RESTORED),
        ("Writes", {"checkpoint_bytes": "{} per checkpoint", "checkpoint_retained_bytes": "{} held"}),
    ),
)


def checkpoint(model: Annotated[str | None, SIZED_MODEL] = None, **options: Unpack[CheckpointOptions]) -> Answer:
    """Size, files, write bandwidth, interval and restore bandwidth of checkpoints.

    >>> checkpoint("llama3-405b", gpus=16384, mode="async", interval="15 min").results["checkpoint_write_bandwidth"].display
    '63.13 GB/s (58.8 GiB/s)'

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(CheckpointOptions, options, "checkpoint")}
    catalog = opened(asked["catalogs"])
    model, settings = model_by_numbers(model, settings_of(asked["set"]))
    asked["model"] = model
    asked["gpus"] = gpus_of(asked["gpus"], asked["nodes"], catalog, gpu=asked["gpu"] or USUAL_GPU, settings=settings)
    found = saved_checkpoints(asked, settings, catalog)
    known, sized, groups, files, mode = found.known, found.sized, found.groups, found.files, found.mode
    results, unknown = results_of(found)
    if groups is None:
        unknown = dict.fromkeys(unknown, Message("files, ranks and failures follow from the number of GPUs", supply=("gpus",)))
    words = {"model": model, **found.words, "mode": mode, "readers": found.readers, "layout": found.layout}
    defaults = {**found.usual, "mode": USUAL_MODE, "readers": USUAL_READERS}
    chosen: dict[str, tuple[Any, bool]] = {name: (word, word != defaults.get(name)) for name, word in words.items()}
    if groups is not None:
        for name, size in (("zero_stage", groups.zero_stage), ("expert_parallel", groups.expert)):
            chosen[name] = (size, asked[name] is not None)

    def heading() -> str:
        on_gpus = f" on {display(groups.ranks, 'GPU')}" if groups is not None else ""
        master = known.given["weight_bytes_per_parameter"].source == "torchtitan"  # FSDP saves that copy alone
        stored = ["fp32" if master and name == "precision" else word for name, word in found.words.items()]
        return f"Checkpoints of {sized.name}{on_gpus}: {', '.join(stored)}, {found.layout}, {mode}{found.computed()}"

    given = "write_bandwidth" in found.options
    return Answer(
        QUESTION._replace(headlines=(AT_GIVEN, *QUESTION.headlines)) if given else QUESTION,
        heading,
        chosen_words(chosen),
        known,
        results,
        unknown,
        Deferred(lambda: _tables(found) | failure_table(found.options.get("gpus"), found.failures, catalog.all(Failures))),
        lambda _: cautions_of(found, results, settings),
        catalog,
        found.unmet,
        tuple((row.source, row.where, row.assumed) for row in files),
    )


class SavedCheckpoints(NamedTuple):
    """The checkpoints of a job."""

    known: Quantities
    sized: ModelSize
    options: Mapping[str, float]  # the numbers that were given, by quantity
    #: mode, readers: how they are saved and read
    mode: str
    readers: str
    #: words, usual: optimizer and precision; those that hold unless others are given, and the layout where it was left open
    words: Mapping[str, str]
    usual: Mapping[str, str]
    layout: str  # how they are laid out in files
    failures: tuple[str, ...]  # the published failures from which the mean time to interrupt follows
    groups: RankLayout | None  # None where the GPUs are unknown
    files: list[CheckpointFiles]
    computed: Callable[[], str]  # the precision in which the run computes, where it saves another, as words for a title
    unmet: str  # the requirement that is not met; empty where all are
    warnings: Sequence[str]


def saved_checkpoints(
    # the model, and options of `checkpoint` as they were written; what is missing or None follows from the rest
    asked: Mapping[str, Any],
    settings: Mapping[str, float],  # values of quantities, by name
    catalog: Catalog,  # where entries come from
    steps: Mapping[str, Step] = MappingProxyType({}),  # quantities of the job that a number of the question comes from
    # inputs that say more of a number of the question, such as its key in a file
    stated: Mapping[str, Input] = MappingProxyType({}),
    owner: str = "",  # the job that they belong to
    *,
    relaxed: bool = False,  # whether an overhead that no storage keeps is a goal out of reach, instead of a refusal
) -> SavedCheckpoints:
    """The quantities of a job's checkpoints.

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    mode, readers = asked.get("mode", USUAL_MODE), asked.get("readers", USUAL_READERS)
    one_of("--mode", mode, MODES)
    one_of("--readers", readers, READERS)
    options = quantities_of(QUANTITIES, {name: asked.get(name) for name in QUANTITIES})
    sized = size_of(asked["model"], catalog, settings)
    saved, precision = sized.entry, asked.get("precision")
    usual = {
        "optimizer": (saved and saved.optimizer) or USUAL_OPTIMIZER,
        "precision": (saved and saved.precision) or USUAL_PRECISION,
    }
    written = asked.get("optimizer")
    kind = composed(optimizer_of(usual["optimizer"], catalog), None if written is None else optimizer_of(written, catalog))
    trained = Trained.of(asked, sized, kind)
    gpu = asked.get("gpu")
    card, node = machine_of(gpu, None, catalog, trains=True)
    if card is not None and usual["precision"] == "bf16" and {"bf16", "fp16"} & {*card.peak_flops} == {"fp16"}:
        usual["precision"] = "fp16"
    width = precision or usual["precision"]
    given = {**sized.given, **kept_by(kind, width, sized, settings, trained)}
    given |= {**(gpus_in_node(None, node) if gpu is not None else {}), **by_user({**options, **settings}), **stated}
    failures = asked.get("failures")
    rated: list[Failures] = []
    if "job_mean_time_to_interrupt" not in given and (failures is not None or "gpus" in options):
        if failures is not None:
            rated, rates = [catalog.get(Failures, failures)], failure_rate(catalog.get(Failures, failures))
        else:
            rated, rates = usual_failures(options["gpus"], catalog)
        given = {**rates, **given}
    kept = kept_by_policy(asked.get("keep"))
    if "keep_every" not in kept:
        kept = {"checkpoints_kept_forever": Input(0, note="none is kept permanently"), **kept}
    elif not {"training_seconds", "checkpoints_written"} & {*options, *settings}:
        raise option_error("keep", ": found every=M without an end of the job, expected --duration, such as 60d")
    given = {**DEFAULTS, **kept, **{name: item if name in DECIDING else as_usual(name, item) for name, item in given.items()}}
    card = card or catalog.get(Gpu, USUAL_GPU)
    sizes = asked.get("expert_parallel"), asked.get("zero_stage")
    ranks = ranks_of(given, sized, kind, card, node, *sizes, recipe_of(USUAL_RECIPE, catalog))
    given |= ranks.given if ranks is not None else {}
    groups = ranks.layout if ranks is not None else None
    # On an unknown number of GPUs a model of text, or one that only its parameters tell, may need Megatron's copies.
    text = saved is None or saved.family == "llm" or sized.architecture is not None
    layout = asked.get("layout") or ("megatron" if (groups.shards > 1 if groups is not None else text) else "dcp")
    one_of("--layout", layout, LAYOUTS)
    given |= (released := released_width(sized, settings) if layout == "safetensors" and precision is None else {})
    known = Quantities(given, owner, shared_inputs=True)
    known.adopt(steps)
    known.state(f"{readers}_readers")
    if card.memory_bytes is not None:
        known.give_default("memory_bytes_per_gpu", from_catalog(card.memory_bytes))
        known.state("copied_from_gpus")
    files = _lay_out(known, layout, groups, sized, precision is not None)
    unmet, warnings = plan_interval(known, mode, relaxed=relaxed)
    said = {"layout": layout, "zero_stage": str(groups.zero_stage) if groups is not None else ""}

    def cautions() -> Iterator[str]:
        yield from (*sized.warnings, *warnings, *(ranks.warnings if ranks is not None else ()))
        yield from messages(finding(rule, {}, said) for rule in ("W22", "W23"))
        narrower = layout == "safetensors" and precision is None and not released
        if narrower and (form := released_in(str(asked["model"]), catalog.patterns["released"])):
            yield told("W131", form=form, instead="give its folder")
        frozen = known.find("parameters")
        if kind.adapters and frozen is not None:
            each = given["weight_bytes_per_parameter"].value
            base = solve("checkpoint_weights_bytes", {"saved_parameters": frozen.value, "weight_bytes_per_parameter": each})
            yield from messages([finding("W120", {}, {"saved": "adapters"}, base=display(base, "B", binary=False))])

    computed = partial(computed_in, saved, card, options.get("gpus"), kind, catalog)
    return SavedCheckpoints(
        known,
        sized,
        options,
        mode,
        readers,
        {"optimizer": kind.id, "precision": width},
        usual if asked.get("layout") else {**usual, "layout": layout},
        layout,
        tuple(one.id for one in rated),
        groups,
        files,
        str if width in ("fp8", "fp4") or gpu is None else computed,
        unmet,
        Later(cautions),
    )


def kept_by_policy(keep: str | float | None) -> dict[str, Input]:
    """Return the retention that `--keep` sets; empty without it. Raises UsageError: not a number, or an unknown word."""
    names = {"last": "keep_last", "every": "keep_every", "final": "keep_final"}
    return by_user(counts_of("keep", keep, names, usual="last", expected="N, or last=N,every=M,final=1"))


def asked_results(saved: SavedCheckpoints) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The results that a question misses where they are unknown, and those that it has only where they are known and not 0."""
    others = {*MODES, *READERS} - {saved.mode, saved.readers}
    missed = tuple(one.name for one in QUESTION.results if not one.where)
    return missed, tuple(one.name for one in QUESTION.results if one.where and one.where not in others)


def results_of(saved: SavedCheckpoints) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results that a question shows, and why others are missing."""
    missed, further = asked_results(saved)
    results, unknown = saved.known.results(missed)
    return results | {name: item for name, item in saved.known.results(further)[0].items() if item.value}, unknown


def cautions_of(saved: SavedCheckpoints, results: Iterable[str], settings: Iterable[str]) -> Iterator[str]:
    """The warnings about checkpoints, and about what is set and changes none of the results."""
    known = saved.known
    yield from (*saved.warnings, *unused_options(saved, results, settings), *messages([finding("W29", known.find)]))
    yield from contradicted(known, settings)
    yield from without_unit({"tier_capacity": known.given.get("checkpoint_tier_bytes")})


def unused_options(saved: SavedCheckpoints, results: Iterable[str], settings: Iterable[str]) -> list[Message]:
    """Warnings about options on which none of the results depends."""
    shown = {name: Option(f"checkpoint.{option}") for option, name in QUANTITIES.items() if name in saved.options}
    shown |= {name: Option(f"checkpoint.set.{name}") for name in settings}
    # A given overhead and a given bandwidth are compared with the results, even if none depends on them.
    used = {"waste_allowed", "write_bandwidth", *saved.known.names_below(results)}
    return [unused(option) for name, option in shown.items() if name not in used]


def contradicted(known: Quantities, settings: Iterable[str]) -> list[Message]:
    """Warnings about results that are set far from the rest; a quantity with an option of its own is the user's choice."""
    return [*contradictions(known, [name for name in settings if name not in QUANTITIES.values()])]


def _tables(saved: SavedCheckpoints) -> dict[str, list[dict[str, Any]]]:
    known, mode, readers = saved.known, saved.mode, []
    for word, who in READERS.items():
        step = known.find(f"restart_bytes_{word}")
        if step is not None:
            row = {"restart_read_bytes": step.value}
            row["restart_read_bandwidth"] = float(solve("restart_read_bandwidth", row | known.values_of("restart_seconds")))
            readers.append({"readers": word, **row, "note": who})
    tables = {"files": [row._asdict() for row in saved.files], **interval_table(known, mode), **tier_table(known, mode)}
    return {name: table for name, table in {**tables, "readers": readers}.items() if table}


def _lay_out(
    known: Quantities, layout: str, groups: RankLayout | None, sized: ModelSize, stated: bool
) -> list[CheckpointFiles]:
    """Set the bytes saved, the ranks that write and the number of files; no files if the ranks are unknown."""
    form, given, model = LAYOUTS[layout], known.given, sized.architecture
    if not form.optimizer:
        note = f"{layout} saves weights only"
        known.give({f"{name}_bytes_per_parameter": Input(0, note=note) for name in ("master", "momentum", "variance")})
    width, master = given["weight_bytes_per_parameter"], given["master_bytes_per_parameter"]
    if layout == "dcp" and not stated and width.origin != "user" and master.origin != "user" and width.value < master.value:
        # FSDP2 shards parameters in the precision of the master copy, and casts them to 16 bits as it gathers them.
        note = "FSDP shards 32-bit parameters, which are their own master copy: no 16-bit weights beside them"
        whole = Input(master.value, source="torchtitan", where="issue 336: 90 GiB of 8B; FSDP2 mixed precision", note=note)
        known.give(
            {"weight_bytes_per_parameter": whole, "master_bytes_per_parameter": Input(0, source="torchtitan", note=note)}
        )
    if groups is None and "extra_bytes_per_rank" not in given:
        known.give_default("checkpoint_extra_bytes", Input(0, note="no further bytes"))
    if groups is None and form.optimizer:
        return []
    ranks = groups or RankLayout()
    partitioned = layout == "deepspeed" and ranks.zero_stage == 3
    user_width = given["weight_bytes_per_parameter"].origin == "user"
    if partitioned and given["master_bytes_per_parameter"].value and not user_width:
        # The optimizer file of each rank holds its share of the master copy, from which 16-bit weights are restored.
        note = "at ZeRO-3 the 16-bit weights are not saved: they are restored from the master copy"
        known.give({"weight_bytes_per_parameter": Input(0, source="deepspeed", where="issues 3820 and 4029", note=note)})
    by_every_rank = form.files_per_rank > 0 and "gpus" in given
    if by_every_rank:
        known.state("written_by_every_rank")
    elif form.optimizer or "gpus" in given:
        weights: float = ranks.ranks
        states = ranks.ranks
        if layout == "safetensors":
            weights, states = 1, 1
        elif layout == "deepspeed":
            # The first replica writes what ZeRO does not partition; every rank writes its partition.
            weights = ranks.ranks if ranks.zero_stage == 3 else ranks.shards
            states = ranks.ranks if ranks.zero_stage else ranks.shards
            if ranks.expert > 1 and ranks.zero_stage < 3 and model is not None:
                # The busiest rank writes all weights but the experts, and its own share of them.
                share = expert_share(model)
                weights /= 1 - share + share / ranks.expert
        known.give_default("ranks_writing_weights", Input(weights, note=f"as {layout} writes"))
        known.give_default("ranks_writing_optimizer", Input(states, note=f"as {layout} writes"))
    if model is not None and ranks.pipeline > 1 and form.optimizer:
        where = f"blocks of {model.id} distributed over {ranks.pipeline} stages"
        known.give_default("largest_stage_factor", derived(largest_stage_factor(model, ranks.pipeline), where))
    parts = known.values_of(*(f"checkpoint_{part}_bytes" for part in ("weights", "optimizer", "extra")))
    files = form.files(ranks, CheckpointContent(*parts.values()), int(known.value("safetensors_shards")), model)
    count = sum(row.count for row in files)
    if by_every_rank:
        known.give_default("files_per_rank", Input(form.files_per_rank, note=f"as {layout} writes"))
        known.give_default("files_beside", Input(count - form.files_per_rank * ranks.ranks, note=f"indexes of {layout}"))
    else:
        known.give_default("checkpoint_files", Input(count, note=f"sum of the files of {layout}"))
    return files
