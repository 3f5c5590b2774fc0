"""`ingest train`: GPU-hours, duration, energy, carbon and cost of a training run, with what it loses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from ingest.catalog.records import Gpu, Node, Optimizer
from ingest.catalog.store import Catalog, opened
from ingest.configuration import configuration
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, chosen_words, defaults_in, filled, option, quantities_in, shown
from ingest.engine.registry import solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Later, Quantity, derived, revised
from ingest.errors import IngestError, UsageError
from ingest.sizing import USUAL
from ingest.sizing.bandwidth import rate_warnings
from ingest.sizing.checkpoint import (
    JobSizeOptions,
    SavedCheckpoints,
    SavedStateOptions,
    WriteOptions,
    cautions_of,
    results_of,
    saved_checkpoints,
)
from ingest.sizing.checkpoint_schedule import USUAL_MODE, ScheduleOptions
from ingest.sizing.evidence_choice import RateBasis, rate_basis_of
from ingest.sizing.evidence_ladder import RATE, UTILIZATION, from_catalog, from_fields
from ingest.sizing.job import (
    BATCH,
    NODE,
    RATE_OPTIONS,
    Amount,
    CommonOptions,
    EvidenceOptions,
    batch_of,
    by_user,
    gpus_in_node,
    job_of,
    model_by_numbers,
    quantities_of,
    settings_of,
)
from ingest.sizing.memory_search import largest
from ingest.sizing.optimizer_states import WIDTHS, PreferenceOptions, preference_inputs
from ingest.sizing.resolve import gpus_of, machine_of, size_of
from ingest.sizing.rules import contradictions, told, unused
from ingest.units import display, parse, priced

#: Inputs that nobody has to give. Money, carbon and water have no default.
DEFAULTS = USUAL["train"]
#: What machines draw of the power that their makers state, where that is the source of it.
USUAL_LOAD = Input(1, low=0.76, high=1, grade="measured", source="newkirk2025", where="abstract").by_default(
    "the power that makers state, of which training on nodes of 8 H100 draws 76 % to 82 %", "power", "set.power_load"
)


MODEL = option('Catalog id, config.json or YAML file; may be left out with `set={"gpu_hours": N}`.', "ID")
GPU = option("Id or YAML file of the GPU.", "ID")


#: law of the tokens at which a run of given work ends at the least loss -> the quantity that they are
LAWS = {
    "20 tokens per parameter (Hoffmann et al. 2022)": "optimal_tokens_by_ratio",
    "loss by size and data (Besiroglu et al. 2024)": "optimal_tokens_by_loss",
}
#: Sizes of a model that fits a budget are whole multiples of so many parameters.
SIZE_STEP = 1_000_000


class RunLengthOptions(TypedDict, total=False):
    """How long the run is, and on which nodes."""

    tokens: Annotated[Amount, option("Tokens of the whole run.", quantity="training_tokens")]
    samples: Annotated[Amount, option("Samples of the whole run, instead of tokens.", quantity="training_samples")]
    optimal: Annotated[
        bool, option("Tokens by two laws of compute-optimal training, instead of a number; the first decides.", default=False)
    ]
    budget: Annotated[
        Amount,
        option("With --optimal and without a model: GPU-hours of the run; model and tokens follow.", "GPU-HOURS"),
    ]
    node: Annotated[str | None, NODE]


class CostOptions(TypedDict, total=False):
    """What the run loses by waiting for data, and what it takes: power, money, carbon and water."""

    stall: Annotated[Amount, option(
        "Share of the running time in which the GPUs wait for data; {default} by default.", "F", quantity="stall_fraction",
        usual=DEFAULTS)]  # fmt: skip
    power: Annotated[
        Amount,
        option("Power of one GPU, such as a cap on it; that of its data sheet by default.", "POWER", quantity="power_per_gpu"),
    ]
    host_power: Annotated[Amount, option(
        "Power of the host for each GPU; by default what the node takes beyond its GPUs without a cap, where it is known.",
        "POWER", quantity="host_power_per_gpu")]  # fmt: skip
    storage_power: Annotated[Amount, option("Power of the storage that serves the run.", "POWER", quantity="storage_power")]
    pue: Annotated[
        Amount,
        option("Energy of the site over the energy of its machines; {default} by default.", quantity="pue", usual=DEFAULTS),
    ]
    price_gpu_hour: Annotated[Amount, option("Price of a GPU-hour; no cost without it.", "PRICE", quantity="gpu_hour_price")]
    electricity_price: Annotated[Amount, option(
        "Price of electricity, such as 0.1/kWh, where the price of a GPU-hour does not contain it.", "PRICE",
        quantity="electricity_price")]  # fmt: skip
    carbon: Annotated[Amount, option(
        "Carbon intensity of the electricity, such as `385 g/kWh`; no carbon without it.", "PER kWh",
        quantity="carbon_intensity")]  # fmt: skip
    wue: Annotated[Amount, option(
        "Water for the energy of the machines, such as `0.55 L/kWh`; no water without it.", "PER kWh",
        quantity="water_intensity")]  # fmt: skip


class RunOptions(RunLengthOptions, JobSizeOptions, PreferenceOptions, CostOptions, total=False):
    """The run itself."""


class SavingOptions(SavedStateOptions, ScheduleOptions, WriteOptions, total=False):
    """The checkpoints of the run."""

    saved_precision: Annotated[
        str | None, option("Precision of the saved weights, as --precision of `ingest checkpoint`.", "P", choices=WIDTHS.keys())
    ]


class TrainOptions(RunOptions, EvidenceOptions, SavingOptions, CommonOptions, total=False):
    """The options of `train`."""


#: option -> the quantity of the run that it sets
QUANTITIES = quantities_in(RunOptions)
#: What the run loses, in the terms of `ingest checkpoint`.
LOST = (
    "job_mean_time_to_interrupt", "checkpoint_interval", "checkpoint_stall_fraction", "writing_overhead",
    "lost_work_overhead", "restart_overhead",
)  # fmt: skip
LOSSES = (*LOST, "checkpoint_overhead", "total_overhead", "goodput_closed_form")
#: What `train` answers; a result with inputs is missed only where one of them is given.
QUESTION = Question(
    "train",
    (
        Shown("training_seconds"),
        Shown("training_seconds_in_bf16", where="bf16_time_factor"),
        Shown("gpu_hours"),
        Shown("gpu_hours_in_bf16", where="bf16_time_factor"),
        Shown("goodput"),
        *shown(*LOST, main=False),
        *shown("checkpoint_overhead", "stall_fraction"),
        Shown("samples_per_second_per_gpu", unless="tokens_per_second_per_gpu"),
        Shown("tokens_per_second_per_gpu", where="tokens_per_sample"),
        Shown("implied_flops_utilization"),
        Shown("preference_work_factor", main=False, where="frozen_models"),
        Shown("power_drawn_per_gpu", main=False),
        Shown("training_energy"),
        Shown("training_carbon", where="carbon_intensity"),
        Shown("training_water", main=False, where="water_intensity"),
        Shown("gpu_cost", main=False, where="gpu_hour_price"),
        Shown("electricity_cost", main=False, where="electricity_price"),
        Shown("training_cost", where="gpu_hour_price electricity_price"),
        Shown("stall_cost_per_year", main=False, where="gpu_hour_price"),
        Shown("storage_power_share", main=False, where="storage_power"),
    ),
    (
        (
            "Takes",
            {
                "training_seconds": "{}",
                "training_seconds_in_bf16": "{} in bf16",
                "gpu_hours": "{}",
                "training_cost": "{} cost",
                "training_energy": "{}",
                "goodput": "{} goodput",
            },
        ),
        ("Takes", {"gpu_hours": "{}", "training_energy": "{}", "training_carbon": "{} CO₂e"}),
    ),
)
#: Rates that differ by less are one; their unit.
SAME_RATE, RATE_UNIT = 1e-3, "sample/s/GPU"
#: Results that only a rate has.
OF_RATE = ("samples_per_second_per_gpu", "implied_flops_utilization", "tokens_per_second_per_gpu")
#: A run that computes in fewer bits, which nobody asked for, as it takes in bf16.
IN_BF16 = ("training_seconds_in_bf16", "gpu_hours_in_bf16")
#: Results that follow from the duration of the run.
OF_DURATION = {
    "training_seconds", "gpu_hours", "goodput", "training_energy", "training_carbon", "training_water", "gpu_cost",
    "electricity_cost", "training_cost", *IN_BF16,
}  # fmt: skip


class Run(NamedTuple):
    """A training run, as far as it is given."""

    model: str | None  # as it is named
    #: gpu, node: of its machine
    gpu: Gpu | None
    node: Node | None
    fixed: Mapping[str, float]  # the quantities that the user sets
    rate: RateBasis | None  # the evidence for its rate; None where its GPU-hours are given
    saved: SavedCheckpoints | None  # the plan of its checkpoints; None where what they cost is given
    saving: Mapping[str, float]  # the quantities that are set, as far as they are none of the model of its checkpoints


def train(
    model: Annotated[str | None, MODEL] = None, gpu: Annotated[str | None, GPU] = None, **options: Unpack[TrainOptions]
) -> Answer:
    """GPU-hours, duration, energy, carbon and cost of a training run.

    >>> answer = train("llama3-405b", tokens="15.6T", gpu="h100", gpus=16384, achieved="400 TFLOP/s")
    >>> answer.results["training_seconds"].display, "training_cost" in answer.results
    ('82.59 days', False)

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(TrainOptions, options, "train")}
    if asked.pop("optimal"):
        return _optimal(model, gpu, asked)
    if asked.pop("budget") is not None:
        raise option_error("budget", ": found without --optimal, expected with it: FLOPs, no money")
    catalog, settings = opened(asked["catalogs"]), settings_of(asked["set"])
    if "gpu_hours" not in settings:
        model, settings = model_by_numbers(model, settings, alone=True)
    asked["gpus"] = gpus_of(asked["gpus"], asked["nodes"], catalog, gpu=gpu, node=asked["node"], settings=settings)
    numbers = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
    fixed = {**numbers, **settings}
    _check(model, fixed)
    card, node = machine_of(gpu, asked["node"], catalog, trains=True)
    rate = saved = None
    kept = settings
    few = asked["frozen"] or (asked["optimizer"] and catalog.get(Optimizer, asked["optimizer"]).adapters)
    if "gpu_hours" not in fixed:
        rating = {name: asked[name] for name in defaults_in(EvidenceOptions)}
        rating |= {"model": model, "gpu": gpu, "node": asked["node"], "batch_tokens": batch_of(fixed)}
        each = gpus_in_node(card, node).get("gpus_per_node")
        if "gpus" in fixed and each is not None:
            rating["nodes"] = math.ceil(fixed["gpus"] / each.value)
            if fixed["gpus"] < each.value:
                rating["gpus_per_node"] = fixed["gpus"]
        rate = _down_to_bf16(_over_phases(rate_basis_of(job_of(set=settings, **rating), catalog)), catalog, bool(few))
        if "training_tokens" in fixed and "tokens_per_sample" not in rate.known:
            name = rate.model.id if rate.model is not None else "the model"
            raise option_error("tokens", f": a sample of {name} is not counted in tokens, expected --samples N")
        counted = asked["algorithm"] and asked["sequence_length"]
        if "training_samples" in fixed and rate.model is not None and rate.model.sample_unit == "token" and not counted:
            why = "expected --tokens N, or for the pairs of --algorithm --sequence-length N too"
            raise option_error("samples", f": one sample of {rate.model.id} is one token, {why}")
    lossless = bool({"goodput", "gpu_hours", "total_overhead"} & fixed.keys())
    beside = preference_inputs(asked["algorithm"], False, rate.model if rate is not None else None, settings)
    if not lossless or (rate is not None and few):
        saving = {name: asked[name] for name in defaults_in(SavingOptions)}
        saving |= {
            "precision": saving.pop("saved_precision"),
            "gpus": asked["gpus"],
            "gpu": card.id if card is not None and gpu is None else gpu,
        }
        try:
            sized, kept = model_by_numbers(model, settings)
            saved = saved_checkpoints({**saving, "model": sized}, kept, catalog)
        except UsageError:
            raise
        except IngestError as error:
            # The checkpoints of the model are unknown.
            raise IngestError(Message(str(error), supply=(Option("set.goodput", "SHARE"),))) from None
    if beside and (rate is None or rate.level.basis == "given"):
        raise option_error("algorithm", ": found with GPU-hours or a rate, which have its work, expected neither")
    if rate is not None:
        # The plan of its checkpoints tells which weights are trained, too.
        rate = _as_trained(rate, saved, catalog, beside)
    if beside and (pairs := fixed.pop("training_samples", None)) is not None:
        fixed["training_examples"] = pairs
        numbers, settings = ({name: one for name, one in each.items() if name in fixed} for each in (numbers, settings))
    run = Run(model, card, node, fixed, rate, None if lossless else saved, kept)
    known = _known(run)
    results, unknown = _results(known, fixed)
    mode = asked["mode"]
    words = {"model": (run.model, True), "gpu": (run.gpu and run.gpu.id, True), "mode": (mode, mode != USUAL_MODE)}
    if rate is not None:
        words["precision"] = (rate.precision, asked["precision"] is not None)
        words["basis"] = (rate.level.basis, rate.job.basis != "auto")
        words["algorithm"] = (asked["algorithm"], True)
    chosen = chosen_words({name: one for name, one in words.items() if one[0] is not None})
    set_up, prices = configuration(), (asked["price_gpu_hour"], asked["electricity_price"])
    named = {one for price in prices if (one := priced(str(price).strip())[1])}
    currencies = sorted(named | {set_up.currency} - {""})
    if named and len(currencies) > 1:
        both = " and ".join(currencies)
        raise UsageError(f"prices: found {both}, expected one currency, that of the configuration: no price is converted")
    if "training_cost" in results and currencies:
        # As the prices name it, or the configuration of the user.
        chosen["currency"] = {"value": currencies[0], "from": "user" if named else set_up.origins["currency"]}
    unmet = run.saved.unmet if run.saved is not None else ""
    title, cautions = partial(_title, run, asked["algorithm"], *named), partial(_warnings, run, numbers, settings, catalog)
    return Answer(QUESTION, title, chosen, known, results, unknown, {}, cautions, catalog, unmet, options=("gpu", *asked))


def _optimal(model: str | None, gpu: str | None, asked: dict[str, Any]) -> Answer:
    """The run whose tokens, and whose model if GPU-hours are given, the first of `LAWS` names; with those of all in a table."""
    budget, settings = asked.pop("budget"), settings_of(asked.pop("set"))
    catalog = asked["catalogs"] = opened(asked["catalogs"])
    if asked["tokens"] is not None or asked["samples"] is not None:
        raise option_error("optimal", ": found with --tokens or --samples, expected neither")
    named, _ = model_by_numbers(model, settings, alone=True)
    if (named is None) is (budget is None):
        raise option_error("optimal", ": expected either a model or --budget")

    def run(law: str, size: float, source: str | None = model) -> tuple[int, Answer]:
        tokens = round(float(solve(law, {"parameters": size})))
        numbers = settings if budget is None else {**settings, "parameters": size}
        return tokens, train(source, gpu, **{**asked, "tokens": tokens, "set": numbers})

    def fits(law: str, size: int) -> bool:
        # A run without progress has no GPU-hours.
        return hours is None or ((found := run(law, size)[1].results.get("gpu_hours")) is not None and found.value <= hours)

    answers, rows = [], []
    hours = None if budget is None else float(parse(budget, "GPU-hour", "--budget"))
    for law, quantity in LAWS.items():
        if hours is None:
            sized = size_of(named, catalog, settings)
            made, size = sized.architecture, sized.given["parameters"].value
            if made is not None and "active_weight_parameters" not in made.missing and made.parameters_active < made.parameters:
                raise option_error(
                    "optimal", f": found {sized.name}, whose tokens visit some experts: the laws are of dense models"
                )
        else:
            size = largest(partial(fits, quantity), SIZE_STEP)
            if not size:
                raise option_error("budget", f": found {budget}, less than a model of {SIZE_STEP:,} parameters takes")
        tokens, answer = run(quantity, size)
        answers.append(answer)
        took = {name: answer.results[name].value for name in ("gpu_hours", "training_seconds") if name in answer.results}
        rows.append({"law": law, "parameters": size, "training_tokens": tokens, **took})
    return revised(answers[0], tables={"laws": rows, **answers[0].tables})


def _as_trained(rate: RateBasis, saved: SavedCheckpoints | None, catalog: Catalog, beside: Mapping[str, Input]) -> RateBasis:
    """The rate of a run that trains some parameters, or reads models beside: the evidence is of runs that train all."""
    step = saved.known.find("trained_work_share") if saved is not None else None
    run = rate.model.optimizer if rate.model is not None else ""
    trained = min(1.0, float(step.value)) if step is not None else 1.0
    work = {**beside, "trained_work_share": Input(trained)}
    share = float(Quantities(work).value("preference_work_factor"))
    # The work and the rates of a model that is itself such a run are its own.
    share /= trained if run and catalog.get(Optimizer, run).adapters else 1
    if share == 1 and not beside:
        return rate
    first, flops = rate.level, "flops_per_sample"
    why = "a reference model passes forward, too" if beside else "frozen weights need no gradients of their own"
    common, given = dict(rate.common), dict(first.given)
    for found in (common, given):
        if flops in found and found[flops].origin != "user":
            found[flops] = _times(found[flops], share, why)
    if RATE in given and first.basis != "given":
        given[RATE] = _times(given[RATE], 1 / share, why)
    if beside:
        # Work that the user states is that of the run.
        common |= work if (common, given) != (rate.common, first.given) else beside
    return rate._replace(common=common, level=first._replace(given=given))


def _over_phases(rate: RateBasis) -> RateBasis:
    """The rate of a whole run: published rates of runs that change their precision are of the faster steps, which read most."""
    first = rate.level
    share = rate.rates.share_of_fast_steps(rate.gpu.id, rate.precision) if rate.rates and rate.gpu else None
    if share is None or first.basis not in ("measured", "transferred") or RATE not in first.given:
        return rate
    fast = first.given[RATE]
    mean = _times(fast, share, "the mean of a run whose last steps compute in a wider precision")
    line = told("W123", own=display(mean.value, RATE_UNIT), other=display(fast.value, RATE_UNIT))
    lines = Later(lambda: (*first.warnings, line))
    return rate._replace(level=first._replace(given={**first.given, RATE: mean}, warnings=lines))


def _down_to_bf16(rate: RateBasis, catalog: Catalog, few: bool) -> RateBasis:
    """The rate of a run in fewer bits that nobody asked for: its range down to that in bf16, and how much longer bf16 takes.

    A run that trains `few` parameters computes in bf16: what is published in fewer bits trains all.
    """
    job, first = rate.job, rate.level
    if job.precision is not None or rate.ladder.own is not None or rate.precision not in ("fp8", "fp4"):
        return rate
    try:
        wide = _over_phases(rate_basis_of(revised(job, precision="bf16", basis="auto"), catalog))
    except IngestError:
        return rate
    if few:
        return wide
    own, other = (float(Quantities(one.known).value(RATE)) for one in (rate, wide))
    name = RATE if RATE in first.given else UTILIZATION
    item = first.given[name]
    given = {**first.given, name: item._replace(low=min(item.low or item.value, item.value * other / own))}
    if own > other:
        given["bf16_time_factor"] = derived(own / other, f"rates of the run in {rate.precision} and in bf16")
    return rate._replace(level=first._replace(given=given))


def _times(item: Input, factor: float, why: str) -> Input:
    """An input and its range times a factor, which its note names."""
    low, high = (end if end is None else end * factor for end in (item.low, item.high))
    note = f"{item.note}; " if item.note else ""
    return item._replace(value=item.value * factor, low=low, high=high, note=f"{note}× {factor:.3g}: {why}")


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


def _known(run: Run) -> Quantities:
    """What is given of a run, and what it follows from: its samples, the power of its machines, the parts of its cost."""
    fixed, rate, saved = run.fixed, run.rate, run.saved
    given = {**DEFAULTS, **(saved.known.given if saved is not None else {}), **(rate.known if rate is not None else {})}
    if "power_per_gpu" not in fixed:
        given["power_load"] = USUAL_LOAD
    if run.gpu is not None and run.gpu.power is not None:
        # As its maker states it.
        given["rated_power_per_gpu"] = from_catalog(run.gpu.power)
        given["power_per_gpu"] = given["rated_power_per_gpu"].by_default(f"of {run.gpu.name}", "power")
    if run.node is not None:
        given |= from_fields({"node_power": run.node.power}) | gpus_in_node(None, run.node)
    known = Quantities({**given, **by_user(fixed)})
    if saved is not None:
        known.adopt(saved.known.find_all(tuple(name for name in LOSSES if name not in fixed)))
        if (closed := saved.known.find("goodput_closed_form")) is not None:
            known.adopt({"goodput_closed_form": closed})
            known.state("goodput_in_closed_form")
    if rate is not None and "training_tokens" in fixed:
        known.state("length_in_tokens")
    elif "training_examples" in fixed:
        by_token = rate is not None and rate.model is not None and rate.model.sample_unit == "token"
        known.state("length_in_pairs_of_tokens" if by_token else "length_in_pairs")
    if "power_per_gpu" in known.given:
        # Of a GPU without a data sheet only the power that is given is known.
        known.state("power_given")
    if {"node_power", "gpus_per_node", "power_per_gpu"} <= known.given.keys() and known.value("host_power_of_node") > 0:
        known.state("power_of_node_known")
    else:
        known.give_default("host_power_per_gpu", Input(0).by_default("the power of the host is not known", "host_power"))
    if "gpus" in known.given:
        known.state("duration_of_gpu_hours")
        known.step("training_seconds")
    if "storage_power" not in fixed:
        known.give_default("storage_energy", Input(0).by_default("the power of the storage is not known", "storage_power"))
    if {"gpu_hour_price", "electricity_price"} & fixed.keys():
        for part, price, option, why in (
            ("gpu_cost", "gpu_hour_price", "price_gpu_hour", "no price of a GPU-hour is given"),
            ("electricity_cost", "electricity_price", "electricity_price", "the price of a GPU-hour contains it"),
        ):
            if price not in fixed:
                known.give_default(part, Input(0).by_default(why, option))
    return known


def _results(known: Quantities, fixed: Mapping[str, float]) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results with their ranges, and why others are missing; nothing follows from a run that makes no progress."""
    lost = known.find("total_overhead")
    stuck = lost is not None and not {"gpu_hours", "goodput"} & fixed.keys() and float(lost.value) >= 1
    asked = [one.name for one in QUESTION.results if not one.where or known.given.keys() & one.where.split()]
    results, unknown = known.results([name for name in asked if not (stuck and name in OF_DURATION)], ranged=True)
    # Their range is that of the results beside them, which reaches down to bf16 already.
    results |= {name: Quantity(results[name].value, results[name].unit) for name in IN_BF16 if name in results}
    elsewhere = {*LOSSES, "implied_flops_utilization"} | ({*OF_RATE, "goodput"} if "gpu_hours" in fixed else {*()})
    unknown = {name: why for name, why in unknown.items() if name not in elsewhere}
    if stuck:
        unknown |= dict.fromkeys(("training_seconds", "gpu_hours"), "checkpoints and failures take all of the time")
    elif "gpus" not in known.given:
        unknown["training_seconds"] = Message("the number of GPUs is not known", supply=("gpus",))
    if not stuck and "training_energy" in unknown:
        unknown["training_energy"] = Message("the power of a GPU is not known", supply=("power",))
    return results, unknown


def _title(run: Run, algorithm: str | None, currency: str = "") -> str:
    rate, fixed = run.rate, run.fixed
    name = rate.model.name if rate is not None and rate.model is not None else run.model or "Your model"
    gpu = run.gpu.name if run.gpu is not None else "GPU"
    count = f"{fixed['gpus']:,.0f} × " if "gpus" in fixed else ""
    if rate is None:
        return f"Training of {name} on {count}{gpu}: {fixed['gpu_hours']:,.0f} GPU-hours as given"
    own = any(option in rate.job.numbers for option in RATE_OPTIONS)
    title = f"Training of {name} on {count}{gpu}, {rate.precision}: {'the rate you gave' if own else rate.level.basis}"
    more = (algorithm.upper() if algorithm else "", f"prices in {currency}" if currency else "")
    return "; ".join((title, *filter(None, more)))


def _by_batch(rate: RateBasis, catalog: Catalog) -> Iterator[str]:
    """That a run of so many tokens has another rate than `bw` gives the job, which is not told them."""
    batch = rate.job.batch_tokens
    if batch is None or batch.origin == "user":
        return
    jobs = (rate.job, revised(rate.job, batch_tokens=None))
    own, other = (Quantities(rate_basis_of(job, catalog).known).find(RATE) for job in jobs)
    if own is not None and other is not None and not math.isclose(other.value, own.value, rel_tol=SAME_RATE):
        size = float(f"{batch.value:.3g}")
        yield told("W118", batch=f"{size:,.0f}", own=display(own.value, RATE_UNIT), other=display(other.value, RATE_UNIT))


def _warnings(
    run: Run, numbers: Mapping[str, float], settings: Mapping[str, float], catalog: Catalog, answer: Answer
) -> Iterator[str]:
    if run.rate is not None:
        yield from rate_warnings(run.rate, answer.results.get)
        took = [display(one.value, one.unit, binary=False) for one in map(answer.results.get, IN_BF16) if one is not None]
        if took and run.gpu is not None:
            wide = ", ".join(took)
            then = f": in bf16 the run takes {wide}; budget these unless your code computes in {run.rate.precision}"
            yield told("W05", precision=run.rate.precision, gpu=run.gpu.id, then=then)
        yield from _by_batch(run.rate, catalog)
    silent = {unused(Option(f"checkpoint.set.{name}")) for name in settings}
    if run.saved is not None:
        yield from (line for line in cautions_of(run.saved, results_of(run.saved)[0], run.saving) if line not in silent)
    if answer.unmet:
        return
    shown = {name: Option(option) for option, name in QUANTITIES.items() if name in numbers}
    shown |= {name: Option(f"set.{name}") for name in settings}
    # The evidence of a rate by its size takes the batch in.
    used = {*answer.used} | ({BATCH} if run.rate is not None and run.rate.level.is_sized else {*()})
    yield from (unused(option) for name, option in shown.items() if name not in used)
    # A batch is a choice, which none of the others fixes.
    yield from contradictions(answer.known, {name: item for name, item in settings.items() if name != BATCH})
