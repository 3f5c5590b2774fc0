"""`ingest feed`: whether GPUs wait for their loaders, who reads what, and what decoding and caches take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.records import Decoder
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.question import Question, Shown, chosen_words, defaults_in, filled, option, quantities_in
from ingest.engine.registry import Step, derive, solve, unit_of
from ingest.engine.result import Answer, Deferred, inputs_below
from ingest.engine.solver import Quantities
from ingest.engine.value import EMPTY, Input, Quantity, assumed, revised
from ingest.errors import UsageError, one_of
from ingest.files import table_beside
from ingest.loader.observed_loader import CAUSES, OBSERVED, USUAL_NODE, ObservedLoader, find_latency, observed_loader
from ingest.loader.readers import (
    LOADERS,
    NEVER,
    USUAL_LOADER,
    place_cache,
    share_data,
    shuffle_of,
    staged_steps,
    warnings_of,
)
from ingest.loader.stall import MOST_PREFETCH, MOST_RANKS, MOST_WORKERS, Loader, remedies, simulate, tried
from ingest.sizing.bandwidth import rate_warnings, sized
from ingest.sizing.decoding import place_decoding
from ingest.sizing.evidence_choice import RateBasis, rate_basis_of
from ingest.sizing.evidence_ladder import RATE
from ingest.sizing.job import (
    CARD,
    ONE_MODEL,
    RATE_OPTIONS,
    Amount,
    CommonOptions,
    NodeOptions,
    RateOptions,
    SizeOptions,
    by_user,
    job_of,
    quantities_of,
)
from ingest.sizing.published_rates import samples_of
from ingest.sizing.rules import applying, contradictions, finding, unused
from ingest.units import display, parse_whole, percent

#: Steps that are simulated, and the seed of their draws.
USUAL_STEPS, USUAL_SEED = 1000, 1
#: Where no batch is given: a step of a tenth of a second at the median published rate of the model, or without any rate so many
#: samples. Neither follows the rate of the GPU: a faster GPU then never seems to wait less.
USUAL_STEP_SECONDS, USUAL_STEP_FLOPS, USUAL_BATCH = 0.1, 1e13, 32
USUAL_UTILIZATION = 0.95  # The share of the time in which GPUs are to compute
ACCEPTED = f"{USUAL_UTILIZATION * 100:g}"
#: A file is opened with a few requests to a busy shared file system, and read by one worker as one stream.
FILE_OPEN_SECONDS, STREAM_BANDWIDTH = 0.005, 1e9
OPENED, STREAMED = display(FILE_OPEN_SECONDS, "s"), display(STREAM_BANDWIDTH, "B/s", binary=False)
CACHES = {
    "pinned": "keeps what it read first",
    "lru": "evicts what was not read for longest; each epoch is shuffled anew",
    "partitioned": "each node keeps another part and serves it to the others",
    "staged": "the data set is copied to the drives of the nodes before the first epoch",
}
#: Inputs that nobody has to give.
DEFAULTS = {
    "loader_workers": assumed(4, "four workers per GPU; published recipes use 2 to 8", "workers", source="olmo-core",
        where="training scripts: 4 and 8 workers"),
    "loader_prefetch": Input(2, source="pytorch", where="torch.utils.data.DataLoader, prefetch_factor",
        grade="published").by_default("PyTorch's default of two batches per worker", "prefetch"),
    "file_open_seconds": assumed(FILE_OPEN_SECONDS,
        f"opening a file takes {OPENED}: a few requests to a busy shared file system", "latency"),
    "stream_bandwidth": assumed(STREAM_BANDWIDTH,
        f"a worker reads {STREAMED} in order, as one stream of a parallel file system", "latency"),
    "sample_read_variation": assumed(1, "the latency varies by as much as its mean", "latency_cv"),
    "handover_seconds": Input(1.5e-4, 3e-5, 8e-4, source="ingest-loader-runs", where="own loader and PyTorch's, 2 cores",
        grade="measured").by_default("a batch is handed over in 0.15 ms", Option("set.handover_seconds")),
    "accelerator_utilization": Input(1).by_default("rates and loads are those of GPUs that never wait"),
    "usual_step_flops": assumed(USUAL_STEP_FLOPS, "a step takes 10 TFLOP, a tenth of a second at 100 TFLOP/s", "batch"),
    "accepted_utilization": assumed(USUAL_UTILIZATION, f"GPUs compute {ACCEPTED} % of the time", "utilization"),
    "simulated_steps": assumed(USUAL_STEPS, f"runs of {USUAL_STEPS:,} steps", "steps"),
    "job_epochs": assumed(1, "one epoch", "epochs"),
}  # fmt: skip
#: Why a remedy is missing.
BEYOND = {
    "sufficient_workers": f"up to {MOST_WORKERS} workers per GPU do not suffice",
    "sufficient_prefetch": f"up to {MOST_PREFETCH} batches per worker do not suffice",
    "sufficient_latency_p99": "reads without any latency do not suffice",
    "sufficient_latency": "reads without any latency do not suffice",
    "staging_break_even_epochs": NEVER,
}
#: Lists of quantities, the results and the headline, which their table explains.
TABLE = table_beside(__file__, "feed.yaml")
SIMULATED_FROM, COMMON, UNLIMITED, DECODED, REMEDIES = (
    TABLE[one].split() for one in ("simulated from", "in common", "unlimited", "decoded", "remedies")
)
#: What `feed` answers; a result with words is missed only where one of them holds of the question.
QUESTION = Question(
    "feed", tuple(Shown(name, **how) for name, how in TABLE["results"].items()), (("Reaches", TABLE["headline"]),)
)


class LoaderOptions(TypedDict, total=False):
    """The loader, its storage and its caches, and how they are simulated."""

    loader: Annotated[str, option("Who reads what: {choices}.", default=USUAL_LOADER, choices=LOADERS.keys())]
    workers: Annotated[
        Amount, option("Worker processes per GPU; {default} by default.", quantity="loader_workers", usual=DEFAULTS)
    ]
    prefetch: Annotated[
        Amount,
        option("Batches requested ahead for each worker; {default} by default.", quantity="loader_prefetch", usual=DEFAULTS),
    ]
    batch: Annotated[Amount, option(
        f"Samples (of text: sequences) per GPU and step; those of {{default}} by default, or {USUAL_BATCH} where the FLOPs of "
        "a sample are not known.", quantity="samples_per_step", usual=display(USUAL_STEP_FLOPS, "FLOP"))]  # fmt: skip
    latency: Annotated[Amount, option(
        "Mean time to open and read one sample or sequence of text, such as 5ms; by default, its share of {default}.",
        "TIME", quantity="sample_read_seconds", usual=f"{OPENED} for a file, and {STREAMED}")]  # fmt: skip
    latency_cv: Annotated[Amount, option(
        "Standard deviation of the latency over its mean; {default} by default.",
        quantity="sample_read_variation", usual=DEFAULTS)]  # fmt: skip
    read_bandwidth: Annotated[
        Amount, option("Read bandwidth that storage gives to the job.", "RATE", quantity="feed_read_bandwidth")
    ]
    decode_time: Annotated[Amount, option(
        "Time of one core to decode and augment one sample; that of the catalog by default.",
        quantity="sample_decode_seconds")]  # fmt: skip
    decoder: Annotated[
        str | None, option("Id of a decoder of the catalog: torchvision or pillow on CPU cores, nvjpeg on the GPU.")
    ]
    cores: Annotated[Amount, option("CPU cores of a node that decode.", quantity="cores_per_node")]
    cache: Annotated[str | None, option(
        "lru, pinned or partitioned: a cache on the nodes that serves later epochs; staged: copies made before.",
        choices=CACHES.keys())]  # fmt: skip
    cache_memory: Annotated[Amount, option("Bytes of that cache on one node.", quantity="job_cache_bytes")]
    # It belongs to the rate of the job, as in `bw`.
    cache_hit: Annotated[Amount, option("Share of reads served by a cache on the node, in every epoch.", "F",
                                        sets="cache_hit_fraction later_hit_share node_cache_hit")]  # fmt: skip
    epochs: Annotated[Amount, option("Epochs of the job; {default} by default.", quantity="job_epochs", usual=DEFAULTS)]
    shuffle: Annotated[
        str | None, option("buffer=N samples of each worker, block=N samples, or global: what a permutation asks of storage.")
    ]
    tensor_parallel: Annotated[Amount, option("GPUs that share a layer, for megatron.", quantity="tensor_parallel")]
    pipeline_parallel: Annotated[Amount, option("Pipeline stages, for megatron.", quantity="pipeline_parallel")]
    context_parallel: Annotated[
        Amount, option("Ranks over which a sequence is distributed, for megatron.", quantity="context_parallel")
    ]
    utilization: Annotated[Amount, option(
        "Accelerator utilization that is required: the command exits with 3 below it. Where it is not given, the workers "
        "for {default} are shown.", "F", quantity="accepted_utilization", usual=f"{ACCEPTED}%")]  # fmt: skip
    from_observation: Annotated[
        str | Path | None,
        option("The JSON of `ingest observe` of a job that waits for its loader; every option replaces what it saw."),
    ]
    stalled_by: Annotated[str, option(
        "What the observed job waits for: latency of single reads, or bandwidth that all of them share.",
        default=CAUSES[0], choices=CAUSES)]  # fmt: skip
    latency_factor: Annotated[Amount, option(
        "Latency of the storage over that of the observed job, such as 2 for reads that take twice as long.",
        quantity="latency_factor")]  # fmt: skip
    steps: Annotated[
        Amount, option("Steps of a simulated run; {default} by default.", quantity="simulated_steps", usual=DEFAULTS)
    ]
    seed: Annotated[int | str, option("Seed of the simulation.", default=USUAL_SEED)]


class FeedOptions(SizeOptions, NodeOptions, RateOptions, LoaderOptions, CommonOptions, total=False):
    """The options of `feed`."""


QUANTITIES = quantities_in(LoaderOptions)  # option of the loader -> the quantity that it sets
#: The options that `bw` has too.
OF_JOB = ("nodes", *defaults_in(NodeOptions), *defaults_in(RateOptions), "cache_hit", "set")


class Feed(Answer):
    """The utilization of a job and its loaders."""

    own: Mapping[str, Step] = EMPTY  # results that are simulated, or that are those of later epochs, with their derivation

    def derivation(self, name: str) -> Step:
        """The derivation of a quantity; a simulated one was given by its simulation."""
        return self.own[name] if name in self.own else super().derivation(name)


def feed(
    model: Annotated[str | None, ONE_MODEL] = None, gpu: Annotated[str | None, CARD] = None, **options: Unpack[FeedOptions]
) -> Feed:
    """Whether GPUs wait for their loaders: utilization by simulation and by mean rates, readers, decoding, caches.

    >>> answer = feed(samples_per_second=200, sample_bytes="100kB", gpus_per_node=1, batch=4, latency="20ms", workers=6)
    >>> answer.results["accelerator_utilization_fluid"].value
    1.0

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(FeedOptions, options, "feed")}
    catalog, loader, cache, decoder = opened(asked["catalogs"]), asked["loader"], asked["cache"], asked["decoder"]
    one_of("--loader", loader, LOADERS)
    one_of("--stalled-by", asked["stalled_by"], CAUSES)
    seen = None if asked["from_observation"] is None else observed_loader(asked["from_observation"])
    if seen is None and asked["latency_factor"] is not None:
        raise UsageError("--latency-factor: there is no observed job, expected --from-observation FILE beside it")
    if cache is not None:
        one_of("--cache", cache, CACHES)
    draws = parse_whole(asked["seed"], "--seed", 0)
    rate, given, known = _job(model, gpu, asked, seen, catalog)
    share_data(known, loader)
    place_decoding(known, rate, decoder, lambda name: catalog.get(Decoder, name))
    if seen is not None:
        find_latency(known, seen, asked["stalled_by"], draws)
    _complete(known, rate)
    place_cache(known, cache, rate.node)
    load = known.find("storage_load") if "feed_read_bandwidth" in known.given else None
    facts = {
        "limited" if load is not None and load.value > 0 else "",
        "observed" if seen is not None else "",
        "tokens" if known.find("tokens_per_sample") is not None else "",
        cache,
        shuffle_of(known, asked["shuffle"]),
    }
    asked_for = [one.name for one in QUESTION.results if not one.where or facts.intersection(one.where.split())]
    known.freeze()
    first = _loader_of(known, loader)
    count, accepted = int(known.value("simulated_steps")), known.value("accepted_utilization")
    found = simulate(first, steps=count, seed=draws)
    where = f"{found.runs} runs of {count:,} steps, seed {draws}; median, P10 and P90"
    computing = _by_simulation(known, "accelerator_utilization", Input(found.median, found.low, found.high, where=where))
    own = {"accelerator_utilization": computing, **_fed(known, computing)}
    if cache == "staged":
        own |= staged_steps(known, first, computing, steps=count, seed=draws)
    elif cache is not None:
        own["cache_hit_fraction"] = known.step("later_hit_share")
    every = Deferred(lambda: {**own, **_remedies(known, first, count, draws)}, own)
    shown = [name for name in asked_for if name not in UNLIMITED or name not in known.given]
    results, unknown = known.results([name for name in shown if name not in own and name not in REMEDIES])
    unknown |= {name: why for name, why in BEYOND.items() if name in unknown}

    def quantity(name: str) -> Quantity:
        """A result of the simulations, with the range of their runs."""
        step = every[name]
        return Quantity(float(step.value), unit_of(name), *((step.source.low, step.source.high) if step.source else ()))

    def tables() -> dict[str, list[dict[str, Any]]]:
        curve = {"utilization": _curve(known, first, every, count, draws)}
        return curve if cache in (None, "staged") else {**curve, "epochs": _epochs(known, first, count, draws)}

    words = {"model": rate.model and rate.model.id, "gpu": rate.gpu and rate.gpu.id, "loader": loader, "cache": cache,
             "decoder": decoder, "seed": draws}  # fmt: skip
    usual = {"loader": loader == USUAL_LOADER, "gpu": gpu is None, "seed": draws == USUAL_SEED}
    ready = results | {name: quantity(name) for name in own}
    missed = f"--utilization: GPUs compute {found.median:.1%} of the time in the median of the runs, expected {accepted:.1%}"
    named = rate.model.name if rate.model is not None else "your model"
    answer = Feed(
        question=_question(known, found.median, accepted),
        heading=f"Loaders of {named}: {loader}, {first.workers} workers × {first.prefetch} batches per GPU",
        chosen=chosen_words({name: (word, not usual.get(name)) for name, word in words.items() if word is not None}),
        known=known,
        results=Deferred(
            lambda: {
                name: quantity(name) if name in every else results[name] for name in shown if name in every or name in results
            },
            ready,
        ),
        unknown=Deferred(
            lambda: {
                name: unknown[name] if name in unknown else BEYOND[name]
                for name in shown
                if name in unknown or (name in REMEDIES and name not in every)
            }
        ),
        tables=Deferred(tables),
        cautions=tuple(_warnings(known, rate, loader, first, own)),
        catalog=catalog,
        unmet=missed if asked["utilization"] is not None and found.median < accepted else "",
        own=every,
    )
    # The remedies rest on what the utilization rests on: nobody has to search them for a warning.
    used = inputs_below((own.get(name) or known.step(name) for name in ready), known.given)
    named_by = {name: Option(one) for one, name in QUANTITIES.items() if name in given}
    named_by |= {name: Option(f"set.{name}") for name in rate.job.settings}
    idle = [unused(one) for name, one in named_by.items() if name not in used]
    idle += [unused(Option("epochs"))] if cache is None and "job_epochs" in given else []
    idle += [unused(Option("decoder"))] if decoder is not None and not any(name in used for name in DECODED) else []
    return revised(answer, cautions=(*answer.warnings, *idle, *contradictions(known, rate.job.settings)))


def _job(
    model: str | None, gpu: str | None, asked: dict[str, Any], seen: ObservedLoader | None, catalog: Catalog
) -> tuple[RateBasis, Mapping[str, float], Quantities]:
    """The evidence for the rate of the job, the quantities that options of the loader set, and all that these give."""
    usual_node = None
    if seen is not None and all(asked[name] is None for name in ("nodes", "node", "gpus")):
        asked["gpus"] = seen.gpus
        if asked["gpus_per_node"] is None and gpu is None:
            # All GPUs of a small job are one node, a large one has nodes of eight where those make it up.
            small = seen.gpus <= USUAL_NODE
            usual_node = asked["gpus_per_node"] = seen.gpus if small else None if seen.gpus % USUAL_NODE else USUAL_NODE
    rated = (model, gpu, *(asked[name] for name in ("node", *RATE_OPTIONS)))
    own_rate = seen is not None and all(one is None for one in rated)
    if seen is not None and own_rate:
        asked["samples_per_second"] = seen.rate
    given = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES})
    job = job_of(**{name: asked[name] for name in OF_JOB})
    count = quantities_of({}, {"gpus": asked["gpus"]}).get("gpus")
    rate = rate_basis_of(sized(revised(job, model=model, gpu=gpu), count, catalog), catalog)
    inputs = {**rate.known, **DEFAULTS, **by_user({**given, **job.settings})}
    if rate.model is not None and rate.model.sample_unit == "token":
        if rate.model.sequence_length is None:
            what = f": a sample of {rate.model.id} is one token, expected the tokens of a sequence, which are read together"
            raise option_error("sequence_length", what)
        reads = rate.model.sequence_length
        why = f"a sequence of {reads.value:,.0f} tokens is read together"
        inputs["samples_per_read"] = Input(reads.value).by_default(why, "sequence_length")
        for name, factor in (("samples_per_step", reads.value), ("sample_read_seconds", 1 / reads.value)):
            if name in given:
                inputs[name] = inputs[name]._replace(value=given[name] * factor)
    if seen is not None:
        if usual_node is not None:
            inputs["gpus_per_node"] = assumed(usual_node, f"nodes have {usual_node} GPUs", "gpus_per_node")
        if own_rate:
            inputs[RATE] = inputs[RATE]._replace(origin="observation", where=Path(seen.place).name)
        # What the user names replaces what was observed.
        values = {name: seen.value(figure) for name, figure in OBSERVED.items()}
        kept = {name: value for name, value in values.items() if name not in given and name not in job.settings}
        inputs |= {name: seen.item(value) for name, value in kept.items() if value is not None}
    size = inputs.get("sample_bytes")
    of_parts = "images_per_sample" in inputs and (size is None or size.origin != "user")
    if of_parts:
        # A sample of text, images and audio, where its parts are given.
        inputs.pop("sample_bytes", None)
    known = Quantities(inputs)
    if of_parts:
        known.state("sample_of_parts")
        # Asked for at once: a part that is not known is the refusal.
        known.step("sample_bytes_of_parts")
    return rate, given, known


def _variant(known: Quantities, loader: Loader) -> dict[str, float]:
    """The inputs of the mean rates, with the workers and the hits of a loader."""
    storage = "storage_load" if "storage_load" in known.given else "feed_read_bandwidth"
    same = {name: step.value for name in (*COMMON, storage) if (step := known.find(name)) is not None}
    return {**same, "loader_workers": loader.workers, "cache_hit_fraction": loader.hit_fraction}


def _curve(known: Quantities, loader: Loader, own: Mapping[str, Step], steps: int, seed: int) -> list[dict[str, Any]]:
    """Utilization by the number of workers: what further workers gain, up to those that suffice."""
    enough = [int(own["sufficient_workers"].value)] if "sufficient_workers" in own else []
    powers = {2**power for power in range(max(2 * loader.workers, 16, *enough).bit_length())}
    rows = []
    for workers in sorted({*powers, loader.workers, *enough}):
        changed = replace(loader, workers=workers)
        rows.append({"loader_workers": workers, **_utilization(_variant(known, changed), changed, steps, seed)})
    return rows


def _epochs(known: Quantities, loader: Loader, steps: int, seed: int) -> list[dict[str, Any]]:
    """Reads and utilization of the first epoch, in which the cache is cold, and of the later ones."""
    rows = []
    for epoch, hits in (("first", loader.hit_fraction), ("later", known.value("later_hit_share"))):
        given = _variant(known, replace(loader, hit_fraction=hits))
        changed = replace(loader, hit_fraction=hits, shared_seconds=float(solve("shared_seconds_per_step", given)))
        reads = {"cache_hit_fraction": hits, "amplified_read_bandwidth": float(solve("amplified_read_bandwidth", given))}
        rows.append({"epoch": epoch, **reads, **_utilization(given, changed, steps, seed)})
    return rows


def _utilization(given: Mapping[str, float], loader: Loader, steps: int, seed: int) -> dict[str, float]:
    """Utilization of a variant: by mean rates, and of few simulated runs."""
    few = tried(loader, steps=steps, seed=seed)
    return {
        "accelerator_utilization_fluid": float(solve("accelerator_utilization_fluid", given)),
        "accelerator_utilization": few.median,
        "accelerator_utilization_p10": few.low,
        "accelerator_utilization_p90": few.high,
    }


def _complete(known: Quantities, rate: RateBasis) -> None:
    """Fill in the latency, the batch, and the resources that nobody limits."""
    known.state("latency_not_given")
    if known.find("sample_read_seconds") is None:
        count = known.value("samples_per_read")
        why = f"a {'sample' if count == 1 else 'sequence'} takes 5 ms: a few requests to a busy file system"
        known.give({"sample_read_seconds": assumed(0.005 / count, why, "latency")})
    if "samples_per_step" not in known.given and known.find("flops_per_sample") is not None:
        known.state("batch_of_usual_operations")
    elif "samples_per_step" not in known.given:
        # A batch that follows the model, and not the rate of the GPU.
        model = rate.model
        rates = rate.rates
        rows = [] if rates is None else [row for row in rates.rows if not rates.is_emulation(row.protocol)]
        published = [speed for row in rows if model is not None and (speed := samples_of(model, row)) is not None]
        samples, why = USUAL_BATCH, f"{USUAL_BATCH} samples per GPU and step: neither a batch nor FLOPs of a sample are known"
        if published:
            samples = math.ceil(USUAL_STEP_SECONDS * median(published) * known.value("gpus_per_loader"))
            why = f"a step takes {display(USUAL_STEP_SECONDS, 's')} at the median of the published rates of the model"
        known.give({"samples_per_step": assumed(samples, why, "batch")})
    if "feed_read_bandwidth" not in known.given:
        known.give({"storage_load": Input(0).by_default("the bandwidth of the storage is no limit", "read_bandwidth")})
    if "host_link_bandwidth_per_gpu" not in known.given:
        supply = Option("set.host_link_bandwidth_per_gpu", "RATE")
        known.give({"host_link_load": Input(0).by_default("the link from the host to the GPU is no limit", supply)})
    if "gpu_decode_rate" not in known.given:
        known.give({"gpu_decode_load": Input(0).by_default("no GPU decodes", "decoder")})
    if "cores_per_node" not in known.given:
        known.give({"cores_load": Input(0).by_default("the workers have a core each", "cores")})


def _loader_of(known: Quantities, kind: str) -> Loader:
    """The loader of one rank, for the simulation."""
    value, handover = known.value, known.given["handover_seconds"]
    read = value("samples_per_read")
    ranks = value("readers") if kind == "megatron" else value("gpus")
    ends = (handover.value, handover.value) if handover.low is None else (handover.low, handover.high or handover.value)
    return Loader(
        workers=int(value("loader_workers")),
        prefetch=int(value("loader_prefetch")),
        batch=math.ceil(value("samples_per_step") / read),
        step_seconds=value("step_computation_seconds"),
        latency_seconds=value("sample_read_seconds") * read,
        latency_variation=value("sample_read_variation"),
        hit_fraction=value("cache_hit_fraction"),
        decode_seconds=value("sample_decode_seconds") * read,
        shared_seconds=value("shared_seconds_per_step"),
        ranks=int(ranks),
        handover_seconds=ends,
    )


def _remedies(known: Quantities, loader: Loader, steps: int, seed: int) -> dict[str, Step]:
    """What alone would suffice, as steps that the simulation gave."""
    needed = remedies(loader, known.value("accepted_utilization"), steps=steps, seed=seed)
    counted = {
        "sufficient_workers": needed.workers,
        "sufficient_prefetch": needed.prefetch,
        "sufficient_latency": needed.latency_seconds,
    }
    own = {
        name: _by_simulation(known, name, Input(value, where="search by simulation"))
        for name, value in counted.items()
        if value is not None
    }
    if "sufficient_latency" in own:
        longest = {"sufficient_latency": own["sufficient_latency"]}
        own["sufficient_latency_p99"] = derive("sufficient_latency_p99", known.given, longest)
    return own


def _by_simulation(known: Quantities, name: str, item: Input) -> Step:
    inputs = tuple(known.step(name) for name in SIMULATED_FROM)
    return Step(name, item.value, None, inputs, item._replace(source="ingest-loader-recurrence", grade="derived"))


def _fed(known: Quantities, utilization: Step) -> dict[str, Step]:
    """The rates of a GPU with its loader, in samples and in their tokens, with the range of the simulated runs."""
    source = utilization.source
    assert source is not None
    fed, inputs = {}, [known.step("unstalled_samples_per_second_per_gpu")]
    for name, more in (("fed_samples_per_second_per_gpu", None), ("fed_tokens_per_second_per_gpu", "tokens_per_sample")):
        step = None if more is None else known.find(more)
        if more is not None and step is None:
            break
        inputs += [] if step is None else [step]
        values = {one.name: one.value for one in inputs}
        ends = [float(solve(name, {**values, utilization.name: one})) for one in (source.value, source.low, source.high)]
        item = source._replace(value=ends[0], low=ends[1], high=ends[2])
        fed[name] = Step(name, item.value, None, (*inputs, utilization), item)
    return fed


def _question(known: Quantities, reached: float, accepted: float) -> Question:
    """The question whose headline names what limits the GPUs, and the result that ends their wait."""
    ((verb, parts),) = QUESTION.headlines
    if reached >= accepted:
        return QUESTION
    loads = {name: step.value for name in [*TABLE["limits"]][:-1] if (step := known.find(name)) is not None}
    largest = max(loads, key=lambda name: loads[name])
    limit, remedy, words = TABLE["limits"][largest if loads[largest] * accepted > 1 else "tail"]
    first = {"accelerator_utilization": f"{{}} utilization ({limit})"} | ({remedy: words} if remedy else {})
    return QUESTION._replace(headlines=((verb, {**first, **{name: parts[name] for name in parts if name not in first}}),))


def _warnings(known: Quantities, rate: RateBasis, kind: str, loader: Loader, own: Mapping[str, Step]) -> list[str]:
    decodes = known.value("sample_decode_seconds") > 0 or "gpu_decode_rate" in known.given
    decoded = decodes or rate.model is None or rate.model.family == "llm"
    batch = known.steps["samples_per_step"].source
    words = {
        "decode": "known" if decoded else "unknown",
        "batch": "given" if batch and batch.origin != "default" else "assumed",
        "loader": "late" if known.value("accelerator_utilization_fluid") < known.value("accepted_utilization") else "fast",
    }
    allowed = percent(1 / max(1, known.value("shared_load")))
    behind = finding("W130", known.find, words, workers=loader.workers, allowed=allowed)
    short = finding("W80", known.find, words, batch=f"{loader.batch:,}")
    late = finding("W82", {"job_epochs": known.find("job_epochs"), **own})
    found = [finding("W16", known.find), finding("W81", known.find), short, late, behind, finding("W97", words=words)]
    warnings = [*rate_warnings(rate, known.find), *(one.message() for one in applying(found)), *warnings_of(known, kind)]
    if loader.ranks > MOST_RANKS:
        warnings.append(Message(f"{MOST_RANKS:,} of {loader.ranks:,} loaders are simulated: the utilization is an upper bound"))
    return warnings
