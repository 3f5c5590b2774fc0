"""`ingest train`: GPU-hours, duration, energy, carbon and cost of a training run, with what it loses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog, opened
from ingest.configuration import configuration
from ingest.engine.frozen import revised
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed
from ingest.errors import IngestError, UsageError
from ingest.sizing.bandwidth import rate_warnings
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.checkpoint_schedule import USUAL_MODE
from ingest.sizing.evidence_choice import RateBasis, rate_basis_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import (
    RATE_OPTIONS,
    Settings,
    Written,
    by_user,
    gpus_in_node,
    job_of,
    machine_of,
    quantities_of,
    settings_of,
)
from ingest.sizing.job_size import gpus_of
from ingest.sizing.rules import contradictions, unused

#: The precision of most published training runs: benchmarks of a few GPUs in fp8 say little about a run of months.
USUAL_PRECISION = "bf16"
#: option -> the quantity that it sets, where their names differ
QUANTITIES = {
    "tokens": "training_tokens",
    "samples": "training_samples",
    "stall": "stall_fraction",
    "power": "power_per_gpu",
    "host_power": "host_power_per_gpu",
    "price_gpu_hour": "gpu_hour_price",
    "carbon": "carbon_intensity",
    "wue": "water_intensity",
}
#: What the run loses, in the terms of `ingest checkpoint`.
LOSSES = (
    "job_mean_time_to_interrupt", "checkpoint_interval", "checkpoint_stall_fraction", "writing_overhead",
    "lost_work_overhead", "restart_overhead", "checkpoint_overhead", "total_overhead", "goodput_closed_form",
)  # fmt: skip
RESULTS = (
    "training_seconds", "gpu_hours", "goodput", *LOSSES[:-2], "stall_fraction", "samples_per_second_per_gpu",
    "implied_flops_utilization", "power_drawn_per_gpu", "training_energy",
)  # fmt: skip
#: Results that exist only where these inputs are given; nobody misses them elsewhere.
OPTIONAL = {
    "tokens_per_second_per_gpu": ("tokens_per_sample",),
    "training_carbon": ("carbon_intensity",),
    "training_water": ("water_intensity",),
    "gpu_cost": ("gpu_hour_price",),
    "electricity_cost": ("electricity_price",),
    "training_cost": ("gpu_hour_price", "electricity_price"),
    "stall_cost_per_year": ("gpu_hour_price",),
    "storage_power_share": ("storage_power",),
}
#: Results that only a rate has.
OF_RATE = ("samples_per_second_per_gpu", "implied_flops_utilization", "tokens_per_second_per_gpu")
#: Results that follow from the duration of the run.
OF_DURATION = {
    "training_seconds", "gpu_hours", "goodput", "training_energy", "training_carbon", "training_water", "gpu_cost",
    "electricity_cost", "training_cost",
}  # fmt: skip
#: Inputs that nobody has to give. Money, carbon and water have no default.
DEFAULTS = {
    "stall_fraction": Input(0).by_default("the GPUs never wait for data", "stall"),
    "pue": assumed(1.1, "a building that adds 10 % to the energy of its machines; older ones add 58 %", "pue",
                   source="llama1", where="table 15"),
}  # fmt: skip

#: What machines draw of the power that their makers state, where that is the source of it.
USUAL_LOAD = Input(1, low=0.76, high=1, grade="measured", source="newkirk2025", where="abstract").by_default(
    "the power that makers state, of which training on nodes of 8 H100 draws 76 % to 82 %", "power", "set.power_load"
)


class Machine(NamedTuple):
    """The GPUs of a run: the GPU, its node, and the number of nodes."""

    gpu: Gpu | None
    node: Node | None
    options: Mapping[str, Any]


def train(
    model: str | None = None,
    gpu: str | None = None,
    *,
    tokens: Written | None = None,
    samples: Written | None = None,
    node: str | None = None,
    gpus: Written | None = None,
    nodes: Written | None = None,
    efficiency: Written | None = None,
    achieved: Written | None = None,
    samples_per_second: Written | None = None,
    precision: str | None = None,
    basis: str = "auto",
    protocol: str | None = None,
    sequence_length: Written | None = None,
    stall: Written | None = None,
    power: Written | None = None,
    host_power: Written | None = None,
    storage_power: Written | None = None,
    pue: Written | None = None,
    price_gpu_hour: Written | None = None,
    electricity_price: Written | None = None,
    carbon: Written | None = None,
    wue: Written | None = None,
    tensor_parallel: Written | None = None,
    pipeline_parallel: Written | None = None,
    expert_parallel: int | str | None = None,
    zero_stage: int | str | None = None,
    layout: str | None = None,
    optimizer: str | None = None,
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
    write_bandwidth: Written | None = None,
    set: Settings = None,
    catalogs: Sequence[str | Path] | Catalog = (),
) -> Answer:
    """GPU-hours, duration, energy, carbon and cost of a training run.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"gpu_hours": N}`.
        tokens: tokens of the whole run.
        samples: samples of the whole run, instead of tokens.
        gpu: id or YAML file of the GPU.
        node: id or YAML file of a node type; sets the GPU too.
        gpus: GPUs of the run.
        nodes: nodes of the GPUs instead.
        efficiency: model FLOPs utilization; that of the best evidence by default.
        achieved: FLOP/s that each GPU achieves, instead of `efficiency`.
        samples_per_second: samples per second of each GPU, instead of `efficiency`.
        precision: precision of the arithmetic; bf16 by default, in which most published runs train, although the fastest
            benchmarks are in fp8.
        basis: evidence for the rate: `auto`, `measured`, `emulated`, `transferred`, `efficiency` or `peak`.
        protocol: measurement protocol of the rate.
        sequence_length: tokens of one sequence, for the FLOPs of attention.
        stall: share of the running time in which the GPUs wait for data; 0 by default.
        power: power of one GPU, such as a cap on it; that of its data sheet by default.
        host_power: power of the host for each GPU; by default what the node takes beyond its GPUs without a cap, where it is
            known.
        storage_power: power of the storage that serves the run.
        pue: energy of the site over the energy of its machines; 1.1 by default.
        price_gpu_hour: price of a GPU-hour; no cost without it.
        electricity_price: price of electricity, such as `0.1/kWh`, where the price of a GPU-hour does not contain it.
        carbon: carbon intensity of the electricity, such as `385 g/kWh`; no carbon without it.
        wue: water for the energy of the machines, such as `0.55 L/kWh`; no water without it.
        tensor_parallel: GPUs that share a layer; as `ingest checkpoint` chooses it.
        pipeline_parallel: pipeline stages; as `ingest checkpoint` chooses them.
        expert_parallel: ranks that share the experts.
        zero_stage: ZeRO stage of the checkpoints.
        layout: layout of the checkpoints: `megatron`, `deepspeed`, `dcp` or `safetensors`.
        optimizer: optimizer whose states are saved.
        failures: failure rate to use without `mtti`: `llama3`, `rsc-1`, …
        mtti: mean time to interrupt of the job; from the failure rate by default.
        interval: compute time between two checkpoints.
        waste: share of time allowed for checkpoints, lost work and restores; 5% by default.
        mode: `sync` or `async` checkpoints.
        drain_fraction: share of the interval in which an asynchronous checkpoint drains.
        drain_time: longest time in which an asynchronous checkpoint drains.
        slow_down: share of training that is lost while an asynchronous checkpoint drains.
        persistent_every: every k-th checkpoint goes to shared storage.
        restart_time: time allowed for a restart to read its checkpoint; 2 min by default.
        reschedule_time: time from an interrupt to the start of the restore; 10 min by default.
        write_bandwidth: write rate of the storage.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.

    >>> answer = train("llama3-405b", tokens="15.6T", gpu="h100", gpus=16384, achieved="400 TFLOP/s")
    >>> answer.results["training_seconds"].display, "training_cost" in answer.results
    ('82.59 days', False)

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    catalog, settings = opened(catalogs), settings_of(set)
    gpus = gpus_of(gpus, nodes, catalog, gpu=gpu, node=node, settings=settings)
    written = {
        "tokens": tokens, "samples": samples, "gpus": gpus, "stall": stall, "power": power, "host_power": host_power,
        "storage_power": storage_power, "pue": pue, "price_gpu_hour": price_gpu_hour,
        "electricity_price": electricity_price, "carbon": carbon, "wue": wue,
    }  # fmt: skip
    rating = {
        "efficiency": efficiency, "achieved": achieved, "samples_per_second": samples_per_second,
        "precision": precision or USUAL_PRECISION, "protocol": protocol, "sequence_length": sequence_length,
    }  # fmt: skip
    saving = {
        "tensor_parallel": tensor_parallel, "pipeline_parallel": pipeline_parallel, "expert_parallel": expert_parallel,
        "zero_stage": zero_stage, "layout": layout, "optimizer": optimizer, "failures": failures, "mtti": mtti,
        "interval": interval, "waste": waste, "drain_fraction": drain_fraction, "drain_time": drain_time,
        "slow_down": slow_down, "persistent_every": persistent_every, "restart_time": restart_time,
        "reschedule_time": reschedule_time, "write_bandwidth": write_bandwidth,
    }  # fmt: skip
    options = quantities_of(QUANTITIES, written)
    fixed = {**options, **settings}
    _check(model, fixed)
    machine = _machine(gpu, node, fixed.get("gpus"), catalog)
    rate = None
    if "gpu_hours" not in fixed:
        rate = rate_basis_of(job_of(model=model, basis=basis, set=settings, **machine.options, **rating), catalog)
        _check_samples(rate, fixed)
    saved = None
    if not {"goodput", "gpu_hours", "total_overhead"} & fixed.keys():
        saved = _saved(
            model,
            machine.gpu.id if machine.gpu is not None and gpu is None else gpu,
            mode,
            {"gpus": gpus, **saving},
            settings,
            catalog,
        )
    given = {
        **DEFAULTS,
        **(saved.given if saved is not None else {}),
        **(rate.known if rate is not None else {}),
        **({} if "power_per_gpu" in fixed else {"power_load": USUAL_LOAD}),
        **_power(machine),
        **by_user(fixed),
    }
    known = Quantities(given)
    if saved is not None:
        known.adopt({name: step for name in LOSSES if (step := saved.known.find(name)) is not None and name not in fixed})
        closed = saved.known.find("goodput_closed_form")
        if closed is not None:
            known.adopt({"goodput_closed_form": closed})
            known.choose("goodput", "goodput_with_stalls")
    _complete(known, fixed, rate)
    results, unknown = _results(known, fixed)
    answer = Answer(
        "train",
        _title(model, rate, machine, fixed),
        _chosen(rate, machine, model, mode) | (_currency() if "training_cost" in results else {}),
        known,
        results,
        unknown,
        {},
        (),
        catalog,
        saved.unmet if saved is not None else "",
    )
    return revised(answer, warnings=tuple(_warnings(answer, rate, saved, written, options, settings)))


def _check(model: str | None, fixed: Mapping[str, float]) -> None:
    """Refuse a run without a length, or without its GPUs."""
    if "gpu_hours" in fixed:
        return
    if model is None:
        raise UsageError("the model is missing: expected a catalog id or a config.json, or --set gpu_hours=N")
    lengths = [name for name in ("training_tokens", "training_samples") if name in fixed]
    if len(lengths) != 1:
        raise option_error("tokens", f": found {' and '.join(lengths) or 'nothing'}, expected either --tokens or --samples")
    if "gpus" not in fixed:
        raise option_error("gpus", " is missing: expected the GPUs of the run, such as --gpus 1024")


def _check_samples(rate: RateBasis, fixed: Mapping[str, float]) -> None:
    """Refuse tokens of a model whose samples are not counted in tokens."""
    if "training_tokens" in fixed and "tokens_per_sample" not in rate.known:
        name = rate.model.id if rate.model is not None else "the model"
        raise option_error("tokens", f": a sample of {name} is not counted in tokens, expected --samples N")


def _machine(gpu: str | None, node: str | None, gpus: float | None, catalog: Catalog) -> Machine:
    """The GPUs of a run, and the options of `bw` for as many nodes as they fill."""
    card, inside = machine_of(gpu, node, catalog)
    options: dict[str, Any] = {"gpu": gpu, "node": node}
    per_node = gpus_in_node(card, inside).get("gpus_per_node")
    if gpus is not None and per_node is not None:
        options["nodes"] = math.ceil(gpus / per_node.value)
        if gpus < per_node.value:
            options["gpus_per_node"] = gpus
    return Machine(card, inside, options)


def _saved(
    model: str | None, gpu: str | None, mode: str, options: Mapping[str, Any], settings: Mapping[str, float], catalog: Catalog
) -> Answer:
    """The plan of the checkpoints, for what it costs.

    Raises:
        IngestError: a model whose checkpoints are unknown; names what to set instead.
    """
    try:
        return checkpoint(model, mode=mode, gpu=gpu, set=settings, catalogs=catalog, **options)
    except UsageError:
        raise
    except IngestError as error:
        raise IngestError(Message(str(error), supply=(Option("set.goodput", "SHARE"),))) from None


def _power(machine: Machine) -> dict[str, Input]:
    """The power of the GPU and of the host around it, as their makers state them."""
    found: dict[str, Input] = {}
    if machine.gpu is not None and machine.gpu.power is not None:
        found["rated_power_per_gpu"] = from_catalog(machine.gpu.power)
        found["power_per_gpu"] = found["rated_power_per_gpu"].by_default(f"of {machine.gpu.name}", "power")
    if machine.node is not None:
        found |= from_fields({"node_power": machine.node.power})
        found |= gpus_in_node(None, machine.node)
    return found


def _complete(known: Quantities, fixed: Mapping[str, float], rate: RateBasis | None) -> None:
    """Choose the formulas: samples of the tokens, the power of the host, and the parts of the cost that are given."""
    if rate is not None and "training_tokens" in fixed:
        known.choose("training_samples", "samples_of_tokens")
    if "power_per_gpu" in known.given:
        # Of a GPU without a data sheet only the power that is given is known.
        known.choose("rated_power_per_gpu", "power_per_gpu")
    if {"node_power", "gpus_per_node", "power_per_gpu"} <= known.given.keys() and known.value("host_power_of_node") > 0:
        known.choose("host_power_per_gpu", "host_power_of_node")
    else:
        known.give_default("host_power_per_gpu", Input(0).by_default("the power of the host is not known", "host_power"))
    if "gpus" in known.given:
        known.choose("training_seconds", "wall_clock_seconds")
    if "storage_power" not in fixed:
        known.give_default("storage_energy", Input(0).by_default("the power of the storage is not known", "storage_power"))
    if {"gpu_hour_price", "electricity_price"} & fixed.keys():
        for part, why in (("gpu", "no price of a GPU-hour is given"), ("electricity", "the price of a GPU-hour contains it")):
            option = {"gpu": "price_gpu_hour", "electricity": "electricity_price"}[part]
            if QUANTITIES.get(option, option) not in fixed:
                known.give_default(f"{part}_cost", Input(0).by_default(why, option))


def _results(known: Quantities, fixed: Mapping[str, float]) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results with their ranges, and why others are missing; nothing follows from a run that makes no progress."""
    lost = known.find("total_overhead")
    stuck = lost is not None and not {"gpu_hours", "goodput"} & fixed.keys() and float(lost.value) >= 1
    names = [name for name in (*RESULTS, *_asked(known)) if not (stuck and name in OF_DURATION)]
    results, unknown = known.results(names, ranged=True)
    elsewhere = {*LOSSES, "implied_flops_utilization"} | ({*OF_RATE, "goodput"} if "gpu_hours" in fixed else {*()})
    unknown = {name: why for name, why in unknown.items() if name not in elsewhere}
    if stuck:
        unknown |= dict.fromkeys(("training_seconds", "gpu_hours"), "checkpoints and failures take all of the time")
    elif "gpus" not in known.given:
        unknown["training_seconds"] = Message("the number of GPUs is not known", supply=("gpus",))
    if not stuck and "training_energy" in unknown:
        unknown["training_energy"] = Message("the power of a GPU is not known", supply=("power",))
    return results, unknown


def _asked(known: Quantities) -> Iterator[str]:
    """The optional results whose inputs are given."""
    for name, needs in OPTIONAL.items():
        if any(need in known.given for need in needs):
            yield name


def _title(model: str | None, rate: RateBasis | None, machine: Machine, fixed: Mapping[str, float]) -> str:
    name = rate.model.name if rate is not None and rate.model is not None else model or "Your model"
    gpu = machine.gpu.name if machine.gpu is not None else "GPU"
    count = f"{fixed['gpus']:,.0f} × " if "gpus" in fixed else ""
    if rate is None:
        return f"Training of {name} on {count}{gpu}: {fixed['gpu_hours']:,.0f} GPU-hours as given"
    own = next((option for option in RATE_OPTIONS if option in rate.job.numbers), "")
    level = "the rate you gave" if own else rate.levels[0].basis
    return f"Training of {name} on {count}{gpu}, {rate.precision}: {level}"


def _chosen(rate: RateBasis | None, machine: Machine, model: str | None, mode: str) -> dict[str, dict[str, Any]]:
    words = {"model": (model, True), "gpu": (machine.gpu and machine.gpu.id, True), "mode": (mode, mode != USUAL_MODE)}
    if rate is not None:
        words["precision"] = (rate.precision, rate.precision != USUAL_PRECISION)
        words["basis"] = (rate.levels[0].basis, rate.job.basis != "auto")
    return {
        name: {"value": word, "from": "user" if asked else "default"}
        for name, (word, asked) in words.items()
        if word is not None
    }


def _currency() -> dict[str, dict[str, Any]]:
    """The currency of the prices, where the configuration of the user names one; no price is converted."""
    found = configuration()
    return {"currency": {"value": found.currency, "from": found.origins["currency"]}} if found.currency else {}


def _warnings(
    answer: Answer,
    rate: RateBasis | None,
    saved: Answer | None,
    written: Mapping[str, Any],
    options: Mapping[str, float],
    settings: Mapping[str, float],
) -> Iterator[str]:
    if rate is not None:
        yield from rate_warnings(rate, answer.results.get)
    silent = {unused(Option(f"checkpoint.set.{name}")) for name in settings}
    if saved is not None:
        yield from (line for line in saved.warnings if line not in silent)
    if answer.unmet:
        return
    shown = {QUANTITIES.get(name, name): Option(name) for name in written if QUANTITIES.get(name, name) in options}
    shown |= {name: Option(f"set.{name}") for name in settings}
    yield from (unused(option) for name, option in shown.items() if name not in answer.used)
    yield from contradictions(answer.known, settings)
