"""`ingest checkpoint`: size, files, write rate, interval, restore and retention of checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import Step, solve
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed
from ingest.errors import one_of
from ingest.sizing.checkpoint_failures import failure_rate, failure_table, usual_failures
from ingest.sizing.checkpoint_files import (
    LAYOUTS,
    CheckpointContent,
    CheckpointFiles,
    RankLayout,
    expert_spread,
    largest_stage_factor,
)
from ingest.sizing.checkpoint_ranks import Machine, ranks_of
from ingest.sizing.checkpoint_schedule import MODES, USUAL_MODE, interval_table, plan_interval, tier_table
from ingest.sizing.job import Written, by_user, counts_of, gpus_in_node, machine_of, quantities_of, settings_of
from ingest.sizing.job_size import gpus_of
from ingest.sizing.optimizer_states import ModelSize, kept_by, optimizer_of, released_width, size_of
from ingest.sizing.rules import applying, contradictions, finding, unused
from ingest.units import display

#: The GPU whose memory is the default.
USUAL_GPU = "h100-sxm"


class Default(NamedTuple):
    """A figure that holds until the user sets it: its option, and where it comes from."""

    quantity: str
    option: str
    note: str
    item: Input


def _practised(
    value: float, source: str, where: str, grade: str = "published", low: float | None = None, high: float | None = None
) -> Input:
    return Input(value, low, high, source=source, where=where, grade=grade)


DEFAULTS = (
    Default("waste_allowed", "waste", "5 % of the time for checkpoints, lost work and restores", assumed(0.05, "")),
    Default("longest_interval", "interval", "an interval of at most 1 h",
            _practised(3600, "kokolis2024", "typical interval of larger jobs")),
    Default("interval_share", "interval", "an interval of a tenth of the mean time to interrupt", assumed(0.1, "")),
    Default("drain_fraction", "drain_fraction", "a tenth of the interval drains", assumed(0.1, "")),
    Default("drain_time", "drain_time", "a drain within 2 min",
            _practised(120, "pytorch-async-2025", "67 s for 70B on 1,856 GPUs; 51 s for 405B (ByteCheckpoint, table 8)",
                       "assumed", low=51, high=200)),
    Default("slow_down", "slow_down", "training loses half of its rate while a checkpoint drains; less beside a process",
            _practised(0.5, "pytorch-async-2025", "700 tokens/s per GPU fall to 315 to 372 beside a thread", "derived",
                       low=0, high=0.55)),
    Default("staging_fixed_seconds", "set.staging_fixed_seconds", "half a second for each copy into host memory",
            _practised(0.5, "bytecheckpoint2024", "fitted to 0.59 s (405B, 8,960 GPUs), 0.78 s (70B, 1,856)",
                       "derived", low=0.2, high=0.8)),
    Default("staging_bandwidth_per_gpu", "set.staging_bandwidth_per_gpu", "each GPU copies 1.7 GB/s into host memory",
            _practised(1.7e9, "pytorch-async-2024", "fitted to 6.3 s for 7B, 0.78 s for 70B on 1,856 GPUs",
                       "derived", low=1.4e9, high=7e9)),
    Default("persistent_every", "persistent_every", "every checkpoint reaches shared storage", assumed(1, "")),
    Default("restart_seconds", "restart_time", "a restore takes 2 min",
            _practised(120, "bytecheckpoint2024", "table 8: 129 s for 405B on 8,960 GPUs", "derived", low=60, high=300)),
    Default("reschedule_seconds", "reschedule_time", "10 min from an interrupt to the restore",
            _practised(600, "kokolis2024", "restart overhead u0 of 5 to 20 min", low=300, high=1200)),
    Default("keep_last", "keep", "the newest three are kept; BLOOM kept 15 to 20 on scratch beside an archive",
            assumed(3, "", source="bigscience-bloom", where="README.md, lines 773 to 775")),
)  # fmt: skip


def of_machine(gpu: str | None, node: Node | None) -> dict[str, Input]:
    """Return the GPUs of a node, where the user names the GPU."""
    return gpus_in_node(None, node) if gpu is not None else {}


def of_policy(options: Mapping[str, float], keep: str | float | None) -> dict[str, Input]:
    """Return the checkpoint policy and its defaults: overhead, drain window, restore time, retention."""
    default = dict(_defaults())
    kept = kept_by_policy(keep)
    if "keep_every" in kept:
        if not {"training_seconds", "checkpoints_written"} & options.keys():
            raise option_error("keep", ": found every=M without an end of the job, expected --duration, such as 60d")
        del default["checkpoints_kept_forever"]
    return {**default, **kept}


@cache
def _defaults() -> Mapping[str, Input]:
    default = {one.quantity: one.item.by_default(one.note, f"checkpoint.{one.option}") for one in DEFAULTS}
    return {**default, "checkpoints_kept_forever": Input(0, note="none is kept permanently")}


def kept_by_policy(keep: str | float | None) -> dict[str, Input]:
    """Return the retention that `--keep` sets; empty without it.

    Raises:
        UsageError: not a number, or an unknown word.
    """
    names = {"last": "keep_last", "every": "keep_every", "final": "keep_final"}
    return by_user(counts_of("keep", keep, names, usual="last", expected="N, or last=N,every=M,final=1"))


#: Who reads a checkpoint in a restore, and where that is practised.
READERS = {
    "unique": "one rank of a group reads, then distributes: MegaScale, ByteCheckpoint",
    "replicated": "every replica reads the weights: Megatron by default, parallel load off",
    "all": "every replica reads everything: the worst case",
}
USUAL_READERS = "unique"
#: option -> the quantity that it sets
QUANTITIES = {
    "gpus": "gpus",
    "tensor_parallel": "tensor_parallel",
    "pipeline_parallel": "pipeline_parallel",
    "mtti": "job_mean_time_to_interrupt",
    "interval": "checkpoint_interval",
    "waste": "waste_allowed",
    "drain_fraction": "drain_fraction",
    "drain_time": "drain_time",
    "slow_down": "slow_down",
    "persistent_every": "persistent_every",
    "restart_time": "restart_seconds",
    "reschedule_time": "reschedule_seconds",
    "write_bandwidth": "write_bandwidth",
    "duration": "training_seconds",
    "tier_capacity": "checkpoint_tier_bytes",
}
RESULTS = (
    "checkpoint_bytes",
    "checkpoint_weights_bytes",
    "checkpoint_optimizer_bytes",
    "checkpoint_files",
    "checkpoint_bytes_per_rank_max",
    "job_mean_time_to_interrupt",
    "checkpoint_interval",
    "checkpoint_write_bandwidth",
    "checkpoint_dump_seconds",
    "checkpoint_stall_seconds",
    "checkpoint_stall_fraction",
    "writing_overhead",
    "lost_work_overhead",
    "restart_waste",
    "checkpoint_overhead",
    "total_overhead",
    "drain_duty",
    "restart_read_bytes",
    "restart_read_bandwidth",
    "checkpoints_retained",
    "checkpoint_retained_bytes",
    "checkpoint_bytes_written_per_day",
)
#: printed if their inputs are given; not reported as unknown
OPTIONAL = {
    "sync": (
        "data_parallel",
        "checkpoint_extra_bytes",
        "young_interval",
        "daly_interval",
        "least_waste",
        "drive_writes_per_day",
    ),
    "async": ("data_parallel", "checkpoint_extra_bytes", "staging_overhead", "drive_writes_per_day"),
}


def checkpoint(
    model: str | None = None,
    *,
    gpus: Written | None = None,
    nodes: Written | None = None,
    tensor_parallel: Written | None = None,
    pipeline_parallel: Written | None = None,
    expert_parallel: int | str | None = None,
    zero_stage: int | str | None = None,
    layout: str | None = None,
    optimizer: str | None = None,
    precision: str | None = None,
    failures: str | None = None,
    mtti: Written | None = None,
    interval: Written | None = None,
    waste: Written | None = None,
    mode: str = USUAL_MODE,
    drain_fraction: Written | None = None,
    drain_time: Written | None = None,
    slow_down: Written | None = None,
    persistent_every: Written | None = None,
    restart_time: Written | None = None,
    reschedule_time: Written | None = None,
    readers: str = USUAL_READERS,
    keep: str | float | None = None,
    duration: Written | None = None,
    write_bandwidth: Written | None = None,
    tier_capacity: Written | None = None,
    gpu: str | None = None,
    set: Mapping[str, Written] | Sequence[str] | None = None,
    catalogs: Sequence[str | Path] | Catalog = (),
) -> Answer:
    """Size, files, write bandwidth, interval and restore bandwidth of checkpoints.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"parameters": N}`.
        gpus: GPUs of the job.
        nodes: nodes of the GPUs instead.
        tensor_parallel: GPUs that share a layer; as published for the model, else the smallest that fits the memory.
        pipeline_parallel: pipeline stages; as published for the model, else the fewest that fit the memory.
        expert_parallel: ranks that share the experts; as published for the model, else 1.
        zero_stage: ZeRO stage; 1 by default, 3 for recommenders.
        layout: `megatron`, `deepspeed`, `dcp` or `safetensors`; megatron with tensor or pipeline parallelism, else dcp.
        optimizer: `adamw`, `adamw-bf16`, `adamw-fp32`, `adam8bit`, `adafactor`, `muon`, `sgd`, `lora`, …; that of the
            published training run, else adamw.
        precision: precision of the weights: `bf16`, `fp16`, `fp32` or `fp8`; bf16 by default.
        failures: failure rate to use without `mtti`: `llama3`, `rsc-1`, …; that of jobs of the nearest size by default.
        mtti: mean time to interrupt of the job; from the failure rate by default.
        interval: compute time between two checkpoints; async: a tenth of the mean time to interrupt, sync: that of the
            least overhead, and at most 1 h.
        waste: share of time allowed for checkpoints, lost work and restores; 5% by default.
        mode: `sync` (GPUs wait for the dump) or `async` (for the copy into host memory only).
        drain_fraction: share of the interval in which an asynchronous checkpoint drains; 0.1 by default.
        drain_time: longest time in which an asynchronous checkpoint drains; 2 min by default.
        slow_down: share of training that is lost while an asynchronous checkpoint drains; 0.5 by default.
        persistent_every: every k-th checkpoint goes to shared storage; every one by default.
        restart_time: time allowed for a restart to read its checkpoint; 2 min by default.
        reschedule_time: time from an interrupt to the start of the restore; 10 min by default.
        readers: `unique` (each byte is read once), `replicated` (each replica reads the weights, as Megatron does by
            default) or `all` (each reads everything).
        keep: newest checkpoints kept, or `last=3,every=10,final=1`; 3 by default.
        duration: duration of the job; required by `every`.
        write_bandwidth: write rate of the storage.
        tier_capacity: capacity of the checkpoint tier, for its endurance.
        gpu: id or YAML file of the GPU, for its memory and its node; an H100 by default.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> checkpoint("llama3-405b", gpus=16384, mode="async", interval="15 min").results["checkpoint_write_bandwidth"].display
    '63.13 GB/s (58.8 GiB/s)'

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog = opened(catalogs)
    settings = settings_of(set)
    numbers = {
        "gpus": gpus_of(gpus, nodes, catalog, gpu=gpu or USUAL_GPU, settings=settings),
        "tensor_parallel": tensor_parallel,
        "pipeline_parallel": pipeline_parallel,
        "mtti": mtti,
        "interval": interval,
        "waste": waste,
        "drain_fraction": drain_fraction,
        "drain_time": drain_time,
        "slow_down": slow_down,
        "persistent_every": persistent_every,
        "restart_time": restart_time,
        "reschedule_time": reschedule_time,
        "write_bandwidth": write_bandwidth,
        "duration": duration,
        "tier_capacity": tier_capacity,
    }
    asked = CheckpointQuestion(
        model, numbers, settings, gpu, mode, readers, keep, optimizer, precision, layout, failures, expert_parallel, zero_stage
    )
    found = saved_checkpoints(asked, catalog)
    known, sized, groups, files = found.known, found.sized, found.groups, found.files
    results, unknown = _results(known, mode, readers, groups)
    words = {"model": model, **found.words, "mode": mode, "readers": readers, "layout": found.layout}
    defaults = {**found.usual, "mode": USUAL_MODE, "readers": USUAL_READERS}
    inputs: dict[str, dict[str, Any]] = {
        name: {"value": word, "from": "default" if word == defaults.get(name) else "user"} for name, word in words.items()
    }
    if groups is not None:
        inputs["zero_stage"] = {"value": groups.zero_stage, "from": "user" if zero_stage is not None else "default"}
        inputs["expert_parallel"] = {"value": groups.expert, "from": "user" if expert_parallel is not None else "default"}
    on_gpus = f" on {display(groups.ranks, 'GPU')}" if groups is not None else ""
    return Answer(
        "checkpoint",
        f"Checkpoints of {sized.name}{on_gpus}: {', '.join(found.words.values())}, {found.layout}, {mode}",
        inputs,
        known,
        results,
        unknown,
        Deferred(lambda: {**_tables(known, files, mode), **failure_table(found.options.get("gpus"), found.failures, catalog)}),
        (*found.warnings, *_unused(found, results, asked), *_too_many(known), *contradicted(known, settings)),
        catalog,
        found.unmet,
        tuple((row.source, row.where, row.assumed) for row in files),
    )


class CheckpointQuestion(NamedTuple):
    """How a job saves checkpoints, as it was written; what is None follows from the rest.

    Attributes:
        numbers: by option, those of `QUANTITIES`.
        settings: values of quantities, by name.
        The others are the arguments of `checkpoint`.
    """

    model: str | None
    numbers: Mapping[str, Written | None]
    settings: Mapping[str, float]
    gpu: str | None = None
    mode: str = USUAL_MODE
    readers: str = USUAL_READERS
    keep: str | float | None = None
    optimizer: str | None = None
    precision: str | None = None
    layout: str | None = None
    failures: str | None = None
    expert_parallel: int | str | None = None
    zero_stage: int | str | None = None


class SavedCheckpoints(NamedTuple):
    """The checkpoints of a job.

    Attributes:
        known: the quantities.
        options: the numbers that were given, by quantity.
        words, usual: optimizer and precision; those that hold unless others are given, and the layout where it was left open.
        layout: how they are laid out in files.
        failures: the failure rate, where the mean time to interrupt follows from one.
        groups: the ranks; None where the GPUs are unknown.
        unmet: the requirement that is not met; empty where all are.
    """

    known: Quantities
    sized: ModelSize
    options: Mapping[str, float]
    words: Mapping[str, str]
    usual: Mapping[str, str]
    layout: str
    failures: str | None
    groups: RankLayout | None
    files: list[CheckpointFiles]
    unmet: str
    warnings: tuple[str, ...]


def saved_checkpoints(
    asked: CheckpointQuestion,
    catalog: Catalog,
    derived: Mapping[str, Step] = MappingProxyType({}),
    stated: Mapping[str, Input] = MappingProxyType({}),
    owner: str = "",
) -> SavedCheckpoints:
    """The quantities of a job's checkpoints.

    Args:
        asked: the question.
        catalog: where entries come from.
        derived: quantities of the job that a number of the question comes from.
        stated: inputs that say more of a number of the question, such as its key in a file.
        owner: the job that they belong to.

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    one_of("--mode", asked.mode, MODES)
    one_of("--readers", asked.readers, READERS)
    settings, options = asked.settings, quantities_of(QUANTITIES, asked.numbers)
    sized = size_of(asked.model, catalog, settings)
    saved = sized.entry
    usual = {"optimizer": (saved and saved.optimizer) or "adamw", "precision": (saved and saved.precision) or "bf16"}
    kind, width = optimizer_of(asked.optimizer or usual["optimizer"], catalog), asked.precision or usual["precision"]
    named, node = machine_of(asked.gpu, None, catalog)
    machine = Machine(named or catalog.get(Gpu, USUAL_GPU), node)
    given = {**sized.given, **kept_by(kind, width, sized, settings), **of_machine(asked.gpu, node)}
    given |= {**by_user({**options, **settings}), **stated}
    rated = None if "job_mean_time_to_interrupt" in given else asked.failures or usual_failures(options.get("gpus"), catalog)
    if rated is not None:
        given = {**failure_rate(rated, catalog, by_size=asked.failures is None), **given}
    given = {**of_policy({**options, **settings}, asked.keep), **given}
    ranks = ranks_of(given, sized, kind, machine, asked.expert_parallel, asked.zero_stage, catalog)
    given |= ranks.given if ranks is not None else {}
    groups = ranks.layout if ranks is not None else None
    layout = asked.layout or ("megatron" if groups is not None and groups.shards > 1 else "dcp")
    one_of("--layout", layout, LAYOUTS)
    if layout == "safetensors" and asked.precision is None:
        given |= released_width(sized, settings)
    known = Quantities(given, owner, shared_inputs=True)
    known.adopt(derived)
    files = _lay_out(known, layout, groups, sized)
    unmet, warnings = plan_interval(known, asked.mode)
    known.choose_first("restart_read_bytes", f"restart_bytes_{asked.readers}")
    return SavedCheckpoints(
        known,
        sized,
        options,
        {"optimizer": kind.id, "precision": width},
        usual if asked.layout else {**usual, "layout": layout},
        layout,
        rated,
        groups,
        files,
        unmet,
        (*sized.warnings, *warnings, *(ranks.warnings if ranks is not None else ()), *_warnings(layout, groups)),
    )


def unused_options(saved: SavedCheckpoints, asked: CheckpointQuestion) -> list[Message]:
    """Warnings about options on which no result depends."""
    found = saved.known.find_all((*RESULTS, *_further(asked.mode, asked.readers)))
    return _unused(saved, [name for name, step in found.items() if name in RESULTS or step.value], asked)


def _results(
    known: Quantities, mode: str, readers: str, ranks: RankLayout | None
) -> tuple[dict[str, Quantity], dict[str, str]]:
    results, unknown = known.results(RESULTS)
    if ranks is None:
        unknown = dict.fromkeys(unknown, Message("files, ranks and failures follow from the number of GPUs", supply=("gpus",)))
    further = {name: item for name, item in known.results(_further(mode, readers))[0].items() if item.value}
    return {**results, **further}, unknown


def _further(mode: str, readers: str) -> tuple[str, ...]:
    """Results that are printed if they are known; Megatron's readers are named beside those that the field uses at scale."""
    return (*OPTIONAL[mode], *(("restart_bytes_replicated",) if readers == "unique" else ()))


def _tables(known: Quantities, files: Sequence[CheckpointFiles], mode: str) -> dict[str, list[dict[str, Any]]]:
    tables = {
        "files": [row._asdict() for row in files],
        **interval_table(known, mode),
        **tier_table(known, mode),
        "readers": _readers(known),
    }
    return {name: table for name, table in tables.items() if table}


def _lay_out(known: Quantities, layout: str, ranks: RankLayout | None, sized: ModelSize) -> list[CheckpointFiles]:
    """Set the ranks that write and the number of files; no files if the ranks are unknown."""
    form = LAYOUTS[layout]
    _unsaved_bytes(known, layout, ranks)
    if ranks is None and form.optimizer:
        return []
    ranks = ranks or RankLayout()
    if form.optimizer or "gpus" in known.given:
        _writers(known, layout, ranks, sized)
    if sized.architecture is not None and ranks.pipeline > 1 and form.optimizer:
        where = f"blocks of {sized.architecture.id} distributed over {ranks.pipeline} stages"
        factor = largest_stage_factor(sized.architecture, ranks.pipeline)
        known.give_default("largest_stage_factor", Input(factor, source="arithmetic", where=where, grade="derived"))
    return _files(known, layout, ranks, sized)


def _unsaved_bytes(known: Quantities, layout: str, ranks: RankLayout | None) -> None:
    """Set to 0 the bytes per parameter that a layout does not save."""
    given = known.given
    if not LAYOUTS[layout].optimizer:
        for name in ("master", "momentum", "variance"):
            known.give({f"{name}_bytes_per_parameter": Input(0, note=f"{layout} saves weights only")})
    if layout == "deepspeed" and ranks is not None and ranks.zero_stage == 3 and given["master_bytes_per_parameter"].value:
        # The optimizer file of each rank holds its share of the master copy, from which 16-bit weights are restored.
        note = "at ZeRO-3 the 16-bit weights are not saved: they are restored from the master copy"
        if given["weight_bytes_per_parameter"].origin != "user":
            restored = Input(0, source="deepspeed", where="issues 3820 and 4029", note=note)
            known.give({"weight_bytes_per_parameter": restored})
    if ranks is None and "extra_bytes_per_rank" not in given:
        known.give_default("checkpoint_extra_bytes", Input(0, note="no further bytes"))


def _writers(known: Quantities, layout: str, ranks: RankLayout, sized: ModelSize) -> None:
    form = LAYOUTS[layout]
    if form.files_per_rank and "gpus" in known.given:
        known.choose("ranks_writing_weights", "gpus")
        known.choose("ranks_writing_optimizer", "gpus")
        return
    weights: float
    weights, states = form.writers(ranks)
    if layout == "deepspeed" and ranks.expert > 1 and ranks.zero_stage < 3 and sized.architecture is not None:
        weights /= expert_spread(sized.architecture, ranks.expert)
    known.give_default("ranks_writing_weights", Input(weights, note=f"as {layout} writes"))
    known.give_default("ranks_writing_optimizer", Input(states, note=f"as {layout} writes"))


def _files(known: Quantities, layout: str, ranks: RankLayout, sized: ModelSize) -> list[CheckpointFiles]:
    form = LAYOUTS[layout]
    parts = (known.value(f"checkpoint_{part}_bytes") for part in ("weights", "optimizer", "extra"))
    files = form.files(ranks, CheckpointContent(*parts), int(known.value("safetensors_shards")), sized.architecture)
    count = sum(row.count for row in files)
    if form.files_per_rank and "gpus" in known.given:
        known.give_default("files_per_rank", Input(form.files_per_rank, note=f"as {layout} writes"))
        known.give_default("files_beside", Input(count - form.files_per_rank * ranks.ranks, note=f"indexes of {layout}"))
        known.choose("checkpoint_files", "files_of_ranks")
    else:
        known.give_default("checkpoint_files", Input(count, note=f"sum of the files of {layout}"))
    return files


def _readers(known: Quantities) -> list[dict[str, Any]]:
    rows = []
    for readers, who in READERS.items():
        found, _ = known.results([f"restart_bytes_{readers}"])
        for item in found.values():
            asked = {"restart_read_bytes": item.value, "restart_seconds": known.value("restart_seconds")}
            rate = float(solve("restart_read_bandwidth", asked))
            rows.append({"readers": readers, "restart_read_bytes": item.value, "restart_read_bandwidth": rate, "note": who})
    return rows


def _too_many(known: Quantities) -> list[Message]:
    """The warning about more checkpoints than their tier holds."""
    return [one.message() for one in applying([finding("W29", known.find)])]


def contradicted(known: Quantities, settings: Iterable[str]) -> Iterator[Message]:
    """Warnings about results that are set far from the rest; a quantity with an option of its own is the user's choice."""
    return contradictions(known, [name for name in settings if name not in QUANTITIES.values()])


def _unused(saved: SavedCheckpoints, results: Iterable[str], asked: CheckpointQuestion) -> list[Message]:
    """Warnings about options on which none of the results depends."""
    shown = {name: Option(f"checkpoint.{option}") for option, name in QUANTITIES.items() if name in saved.options}
    shown |= {name: Option(f"checkpoint.set.{name}") for name in asked.settings}
    # A given overhead and a given bandwidth are compared with the results, even if none depends on them.
    used = {"waste_allowed", "write_bandwidth", *saved.known.names_below(results)}
    return [unused(option) for name, option in shown.items() if name not in used]


def _warnings(layout: str, ranks: RankLayout | None) -> list[Message]:
    words = {"layout": layout, "zero_stage": str(ranks.zero_stage) if ranks is not None else ""}
    return [one.message() for one in applying(finding(rule, {}, words) for rule in ("W22", "W23"))]
