"""`ingest checkpoint`: size, files, write rate, interval, restore and retention of checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingest.catalog.records import Failures, Gpu
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import one_of
from ingest.sizing.checkpoint_files import (
    LAYOUTS,
    CheckpointContent,
    CheckpointFiles,
    RankLayout,
    check_division,
    expert_spread,
    largest_stage_factor,
)
from ingest.sizing.checkpoint_schedule import interval_table, plan_interval, tier_table
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import Written, by_user, counts_of, gpus_in_node, machine_of, quantities_of, settings_of
from ingest.sizing.optimizer_states import ModelSize, kept_by, optimizer_of, size_of, width_of, zero_stage_of
from ingest.sizing.rules import applying, finding, unused
from ingest.units import parse

#: The GPU whose host link is the default.
USUAL_GPU = "h100-sxm"


#: Quantity, value, note and option of each default.
DEFAULTS = (
    ("waste_allowed", 0.05, "5 % of the time for dumps and lost work", "waste"),
    ("drain_fraction", 1, "the whole interval drains", "drain_fraction"),
    ("persistent_every", 1, "every checkpoint reaches shared storage", "persistent_every"),
    ("restart_seconds", 600, "a restore takes 10 min", "restart_time"),
    ("keep_last", 3, "the newest three are kept", "keep"),
)


def of_machine(gpu: str | None, failures: str | None, catalog: Catalog) -> dict[str, Input]:
    """Return the inputs from the machine: host link and node of the GPU, failure rate of a node."""
    named, node = machine_of(gpu, None, catalog)
    card = named or catalog.get(Gpu, USUAL_GPU)
    given = from_fields({"device_to_host_bandwidth": card.host_link_bandwidth})
    if named is None:
        given = {name: item.by_default(f"the host link of {card.name}", "gpu") for name, item in given.items()}
    given |= gpus_in_node(None, node)
    if failures is not None:
        given |= _failure_rate(catalog.get(Failures, failures))
    return given


def _failure_rate(entry: Failures) -> dict[str, Input]:
    counted = {"observed_interrupts": entry.interrupts, "observed_seconds": entry.period, "observed_nodes": entry.nodes}
    named = from_fields({"failures_per_node_second": entry.rate} if entry.rate is not None else counted)
    note, ways = f"failure rate of {entry.name}", ("checkpoint.mtti", "checkpoint.failures")
    given = {name: item.by_default(note, *ways) for name, item in named.items()}
    # The failure rate is per node as its source counts nodes, so the job is counted in these nodes.
    return {**given, "gpus_per_node": from_catalog(entry.gpus_per_node)}


def of_policy(options: Mapping[str, float], keep: str | float | None) -> dict[str, Input]:
    """Return the checkpoint policy and its defaults: overhead, drain window, restore time, retention."""
    default = {name: Input(number).by_default(note, f"checkpoint.{option}") for name, number, note, option in DEFAULTS}
    default["checkpoints_kept_forever"] = Input(0, note="none is kept permanently")
    if "checkpoint_interval" in options and "write_bandwidth" in options:
        del default["waste_allowed"]
    kept = kept_by_policy(keep)
    if "keep_every" in kept:
        if not {"training_seconds", "checkpoints_written"} & options.keys():
            raise option_error("keep", ": found every=M without an end of the job, expected --duration, such as 60d")
        del default["checkpoints_kept_forever"]
    return {**default, **kept}


def kept_by_policy(keep: str | float | None) -> dict[str, Input]:
    """Return the retention that `--keep` sets; empty without it.

    Raises:
        UsageError: not a number, or an unknown word.
    """
    names = {"last": "keep_last", "every": "keep_every", "final": "keep_final"}
    return by_user(counts_of("keep", keep, names, usual="last", expected="N, or last=N,every=M,final=1"))


MODES = ("sync", "async")
READERS = ("unique", "replicated", "all")
#: option -> the quantity that it sets
QUANTITIES = {
    "gpus": "gpus",
    "tensor_parallel": "tensor_parallel",
    "pipeline_parallel": "pipeline_parallel",
    "mtti": "job_mean_time_to_interrupt",
    "interval": "checkpoint_interval",
    "waste": "waste_allowed",
    "drain_fraction": "drain_fraction",
    "persistent_every": "persistent_every",
    "restart_time": "restart_seconds",
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
    "checkpoint_stall_fraction",
    "restart_read_bytes",
    "restart_read_bandwidth",
    "restart_waste",
    "checkpoints_retained",
    "checkpoint_retained_bytes",
    "checkpoint_bytes_written_per_day",
)
#: printed if their inputs are given; not reported as unknown
OPTIONAL = {
    "sync": ("data_parallel", "checkpoint_extra_bytes", "young_interval", "daly_interval", "drive_writes_per_day"),
    "async": ("data_parallel", "checkpoint_extra_bytes", "device_copy_seconds", "drive_writes_per_day"),
}


def checkpoint(
    model: str | None = None,
    *,
    gpus: Written | None = None,
    tensor_parallel: Written | None = None,
    pipeline_parallel: Written | None = None,
    expert_parallel: int | str = 1,
    zero_stage: int | str = 1,
    layout: str | None = None,
    optimizer: str = "adamw",
    precision: str = "bf16",
    failures: str = "llama3",
    mtti: Written | None = None,
    interval: Written | None = None,
    waste: Written | None = None,
    mode: str = "sync",
    drain_fraction: Written | None = None,
    persistent_every: Written | None = None,
    restart_time: Written | None = None,
    readers: str = "unique",
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
        tensor_parallel: GPUs that share a layer; by default as in the published training run, else 1.
        pipeline_parallel: pipeline stages; by default as in the published training run, else 1.
        expert_parallel: ranks that share the experts.
        zero_stage: ZeRO stage.
        layout: `megatron`, `deepspeed`, `dcp` or `safetensors`; megatron with tensor or pipeline parallelism, else dcp.
        optimizer: optimizer: `adamw`, `adam8bit`, `adafactor`, `muon`, `sgd` or `lora`.
        precision: precision of the weights: `bf16`, `fp16`, `fp32` or `fp8`.
        failures: failure rate to use without `mtti`: `llama3`, `rsc-1`, …
        mtti: mean time to interrupt of the job; from the failure rate by default.
        interval: compute time between two checkpoints; that of the least overhead by default.
        waste: share of time allowed for checkpoints and lost work; 5% by default.
        mode: `sync` (GPUs wait for the dump) or `async` (for the copy into host memory only).
        drain_fraction: share of the interval in which an asynchronous checkpoint drains; 1 by default.
        persistent_every: every k-th checkpoint goes to shared storage; every one by default.
        restart_time: time allowed for a restart to read its checkpoint; 10 min by default.
        readers: `unique`, `replicated` (each replica reads the weights) or `all` (each reads everything).
        keep: newest checkpoints kept, or `last=3,every=10,final=1`; 3 by default.
        duration: duration of the job; required by `every`.
        write_bandwidth: write rate of the storage.
        tier_capacity: capacity of the checkpoint tier, for its endurance.
        gpu: id or YAML file of the GPU, for its host link; an H100 by default.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> checkpoint("llama3-405b", gpus=16384, mode="async", interval="15 min").results["checkpoint_write_bandwidth"].display
    '6.313 GB/s (5.88 GiB/s)'

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog = opened(catalogs)
    settings = settings_of(set)
    one_of("--mode", mode, MODES)
    one_of("--readers", readers, READERS)
    numbers = {
        "gpus": gpus,
        "tensor_parallel": tensor_parallel,
        "pipeline_parallel": pipeline_parallel,
        "mtti": mtti,
        "interval": interval,
        "waste": waste,
        "drain_fraction": drain_fraction,
        "persistent_every": persistent_every,
        "restart_time": restart_time,
        "write_bandwidth": write_bandwidth,
        "duration": duration,
        "tier_capacity": tier_capacity,
    }
    options = quantities_of(QUANTITIES, numbers)
    sized = size_of(model, catalog, settings)
    given = {**sized.given, **kept_by(optimizer_of(optimizer, catalog), precision, sized, settings)}
    given["weight_bytes_per_parameter"] = Input(width_of(precision), note=f"a weight at {precision}")
    given |= of_machine(gpu, failures if "job_mean_time_to_interrupt" not in options else None, catalog)
    given |= of_policy({**options, **settings}, keep)
    given |= by_user({**options, **settings})
    ranks = _rank_layout(given, sized, expert_parallel, zero_stage)
    chosen = layout or ("megatron" if ranks is not None and ranks.shards > 1 else "dcp")
    one_of("--layout", chosen, LAYOUTS)
    known = Quantities(given)
    files = _lay_out(known, chosen, ranks, sized)
    unmet, warnings = plan_interval(known, mode, options)
    known.choose_first("restart_read_bytes", f"restart_bytes_{readers}")
    results, unknown = _results(known, mode, ranks)
    words = {"model": model, "optimizer": optimizer, "precision": precision, "mode": mode, "readers": readers, "layout": chosen}
    defaults = {**_DEFAULTS, **({"layout": chosen} if layout is None else {})}
    inputs: dict[str, dict[str, Any]] = {
        name: {"value": word, "from": "default" if word == defaults.get(name) else "user"} for name, word in words.items()
    }
    if ranks is not None:
        inputs["zero_stage"] = {"value": ranks.zero_stage, "from": "user" if ranks.zero_stage else "default"}
    on_gpus = f" on {ranks.ranks:,} GPUs" if ranks is not None else ""
    answer = Answer(
        "checkpoint",
        f"Checkpoints of {sized.name}{on_gpus}: {optimizer}, {precision}, {chosen}, {mode}",
        inputs,
        known,
        results,
        unknown,
        _tables(known, files, mode),
        (*warnings, *_warnings(chosen, ranks, "job_mean_time_to_interrupt" not in given)),
        catalog,
        unmet,
        tuple((row.source, row.where, row.assumed) for row in files),
    )
    return replace(answer, warnings=(*answer.warnings, *_unused(answer, options, settings)))


def _results(known: Quantities, mode: str, ranks: RankLayout | None) -> tuple[dict[str, Quantity], dict[str, str]]:
    results, unknown = known.results(RESULTS)
    if ranks is None:
        unknown = dict.fromkeys(unknown, Message("files, ranks and failures follow from the number of GPUs", supply=("gpus",)))
    lost = known.results(["synchronous_waste" if mode == "sync" else "asynchronous_waste"])[0]
    further = {name: item for name, item in known.results(OPTIONAL[mode])[0].items() if item.value}
    return {**results, **lost, **further}, unknown


def _tables(known: Quantities, files: Sequence[CheckpointFiles], mode: str) -> dict[str, list[dict[str, Any]]]:
    tables = {
        "files": [row._asdict() for row in files],
        **interval_table(known, mode),
        **tier_table(known, mode),
        "readers": _readers(known),
    }
    return {name: table for name, table in tables.items() if table}


_DEFAULTS = {"optimizer": "adamw", "precision": "bf16", "mode": "sync", "readers": "unique"}


def _rank_layout(
    given: dict[str, Input], sized: ModelSize, expert_parallel: int | str, zero_stage: int | str
) -> RankLayout | None:
    """The parallel groups; None if the number of GPUs is unknown."""
    stage, expert = zero_stage_of(zero_stage), parse(expert_parallel, "1", "--expert-parallel")
    if expert < 1 or expert % 1:
        raise option_error("expert_parallel", f": found {expert_parallel}, expected a whole number above 0")
    gpus = int(given["gpus"].value) if "gpus" in given else None
    if sized.entry is not None and gpus is not None:
        given |= _as_published(given, sized, gpus)
    tensor, pipeline = (int(given[name].value) if name in given else 1 for name in ("tensor_parallel", "pipeline_parallel"))
    if gpus is None:
        return None
    if gpus % (tensor * pipeline):
        raise option_error("gpus", f": found {gpus:,}, expected a multiple of tensor × pipeline = {tensor} × {pipeline}")
    if sized.architecture is not None:
        check_division(sized.architecture, tensor, pipeline, int(expert))
    data = gpus // (tensor * pipeline)
    if data % expert:
        raise option_error("expert_parallel", f": found {expert:g}, expected a divisor of the {data} replicas")
    return RankLayout(tensor, pipeline, data, int(expert), stage)


def _as_published(given: Mapping[str, Input], sized: ModelSize, gpus: int) -> dict[str, Input]:
    """The published layout of a model, unless the user sets one or it does not divide the GPUs."""
    entry = sized.entry
    if entry is None or entry.tensor_parallel is None or entry.pipeline_parallel is None:
        return {}
    shards = entry.tensor_parallel.value * entry.pipeline_parallel.value
    if {"tensor_parallel", "pipeline_parallel"} & given.keys() or gpus % shards:
        return {}
    note, ways = "as in the published training run", ("checkpoint.tensor_parallel", "checkpoint.pipeline_parallel")
    named = from_fields({"tensor_parallel": entry.tensor_parallel, "pipeline_parallel": entry.pipeline_parallel})
    return {name: item.by_default(note, *ways) for name, item in named.items()}


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
    for readers in READERS:
        found, _ = known.results([f"restart_bytes_{readers}"])
        for item in found.values():
            asked = {"restart_read_bytes": item.value, "restart_seconds": known.value("restart_seconds")}
            rate = float(solve("restart_read_bandwidth", asked))
            rows.append({"readers": readers, "restart_read_bytes": item.value, "restart_read_bandwidth": rate})
    return rows


def _unused(answer: Answer, options: Mapping[str, float], settings: Mapping[str, float]) -> list[Message]:
    """Warnings about options on which no result depends."""
    shown = {name: Option(f"checkpoint.{option}") for option, name in QUANTITIES.items() if name in options}
    shown |= {name: Option(f"checkpoint.set.{name}") for name in settings}
    # A given overhead and a given bandwidth are compared with the results, even if none depends on them.
    used = {*answer.used, "waste_allowed", "write_bandwidth"}
    return [unused(option) for name, option in shown.items() if name not in used]


def _warnings(layout: str, ranks: RankLayout | None, by_rate: bool) -> list[Message]:
    words = {"layout": layout, "zero_stage": str(ranks.zero_stage) if ranks is not None else ""}
    words |= {"interrupts": "by the failure rate of nodes"} if by_rate else {}
    gpus = {"gpus": ranks.ranks if ranks is not None else None}
    return [one.message() for one in applying(finding(rule, gpus, words) for rule in ("W21", "W22", "W23"))]
