"""Who reads what: how the ranks of a job share and shuffle its data set, and what copies on the drives of their nodes take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.catalog.records import Node
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import Step, derive, linked, read_value, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import UsageError, nearest
from ingest.files import table_beside
from ingest.loader.stall import Loader, simulate
from ingest.sizing.evidence_ladder import from_fields
from ingest.units import display

POLICIES = ("buffer", "block", "global")  # How samples are shuffled
DRIVES = {
    "local_request_seconds": assumed(1e-4, "a drive of the node answers in 0.1 ms", "set.local_request_seconds"),
    "local_stream_bandwidth": assumed(2e9, "a worker reads 2 GB/s from the drives of its node", "set.local_stream_bandwidth"),
}
#: The computation of a step, and how full that keeps what it shares.
STEP_LOADS = ("step_computation_seconds", "cores_load", "host_link_load", "gpu_decode_load")
NEVER = "GPUs wait no less with the data on the nodes: staging does not pay after any number of epochs"


class LoaderKind(NamedTuple):
    """How a library distributes a data set over the ranks."""

    what: str  # one line
    cases: Sequence[str]  # who reads, and how often a sample is read where it is read more than once
    source: str
    where: str


LOADERS: Mapping[str, LoaderKind] = {name: LoaderKind(**one) for name, one in table_beside(__file__, "readers.yaml").items()}
USUAL_LOADER = "pytorch"


def share_data(known: Quantities, loader: str) -> None:
    """State who reads and how often a sample is read, for the loader of a job.

    Raises UsageError: GPUs that the parallel sizes do not divide.
    """
    kind = LOADERS[loader]
    known.state(*kind.cases)
    if loader == "megatron":
        gpus, size = known.value("gpus"), known.value("gpus_per_loader")
        if gpus % size:
            what = f": {gpus:,.0f} GPUs, expected a multiple of tensor × pipeline × context = {size:,.0f}"
            raise option_error("tensor_parallel", what)
    if loader == "huggingface":
        known.give_default(
            "dataset_shards",
            Input(known.value("gpus")).by_default("the ranks divide the number of shards", Option("set.dataset_shards", "N")),
        )
    if "read_by_workers" in kind.cases:
        # Asked for at once: where the GPUs of a node are not known, this is the refusal.
        known.step("readers_of_workers")
    if kind.cases == ["read_by_workers"]:
        known.give_default("read_amplification", Input(1, source=kind.source, where=kind.where, grade="published"))


def warnings_of(known: Quantities, loader: str) -> list[Message]:
    """Warnings about samples that are read more than once."""
    times = known.value("read_amplification")
    if times <= 1 or loader == "megatron":
        return []
    if loader == "huggingface":
        shards, ranks = known.value("dataset_shards"), known.value("gpus")
        what = f"{shards:,.0f} shards over {ranks:,.0f} ranks leave a remainder: every rank reads the whole data set"
        return [Message(what, supply=(Option("set.dataset_shards", "N"),))]
    return [Message(f"every worker reads the whole data set, {times:,.0f} times in all", supply=(Option("loader", "pytorch"),))]


def shuffle_of(known: Quantities, written: str | None) -> str:
    """Set the samples that are shuffled together; returns the policy.

    Raises UsageError: an unknown policy, or not a number of samples.
    """
    policy, equals, count = (written or "").partition("=")
    if written is not None and (policy not in POLICIES or (policy == "global") == bool(equals)):
        hint = nearest(policy, POLICIES) if policy not in POLICIES else ""
        raise option_error("shuffle", f": found '{written}', expected buffer=N, block=N or global{hint}")
    if equals:
        known.give({"shuffle_samples": Input(float(read_value("shuffle_samples", count, "--shuffle")), origin="user")})
    return policy


def place_cache(known: Quantities, cache: str | None, node: Node | None) -> None:
    """State what the cache holds of the data set, and which reads it serves after the first epoch.

    Raises UsageError: a cache without its size, or what `place_staging` refuses; MissingQuantity: the size of the data set is
    not known.
    """
    if cache not in (None, "staged") and "job_cache_bytes" not in known.given:
        raise UsageError(f"--cache: found {cache} without its size, expected --cache-memory, such as 500GB")
    hit = known.given.get("cache_hit_fraction")
    if cache is not None and hit is not None and hit.origin == "user":
        raise option_error("cache_hit", f": found with --cache {cache}, whose hits are computed, expected one of them")
    if cache is not None:
        known.state("dataset_on_nodes")
        if "job_dataset_bytes" not in known.given:
            # Asked for at once: without the number of its samples this is the refusal.
            known.step("stored_dataset_bytes")
    if cache == "staged":
        place_staging(known, node)
    if cache in (None, "staged"):
        # A hit in every epoch is in the rate of the job already.
        known.give_default("later_hit_share", Input(0, note="no cache is given: all epochs read alike"))
    else:
        known.state({"pinned": "cache_pinned", "lru": "cache_of_recent_reads", "partitioned": "cache_partitioned"}[cache])


def place_staging(known: Quantities, node: Node | None) -> None:
    """Give what staging reads and what the drives of a node give, by its type.

    Raises UsageError: no bandwidth of the storage is given, or the data set does not fit the drives of a node.
    """
    if "feed_read_bandwidth" not in known.given:
        raise option_error("cache", ": found staged without a bandwidth to stage at, expected --read-bandwidth, such as 10GB/s")
    if node is not None:
        drives = {"nvme_read_bandwidth_per_node": node.nvme_read_bandwidth, "nvme_bytes_per_node": node.nvme_bytes}
        known.give({name: item for name, item in from_fields(drives).items() if name not in known.given and item.value})
    known.give({name: item for name, item in DRIVES.items() if name not in known.given})
    copies = Input(known.value("nodes")).by_default("each node gets the whole data set", "set.copies_staged")
    known.give_default("copies_staged", copies)
    known.link("dataset_bytes", known.step("job_dataset_bytes"))
    known.link("read_bandwidth_available", known.step("feed_read_bandwidth"))
    room = known.find("job_cache_bytes") or known.find("nvme_bytes_per_node")
    share = {**known.values_of("dataset_bytes"), "nodes": known.value("nodes") / known.value("copies_staged")}
    held = float(solve("dataset_share_per_node", share))
    if room is not None and held > room.value:
        sizes = f"{display(held, 'B')} per node for {display(room.value, 'B')} of drives"
        raise option_error("cache", f": staging takes {sizes}, expected lru, pinned or partitioned, or larger --cache-memory")


def staged_steps(known: Quantities, loader: Loader, shared: Step, *, steps: int, seed: int) -> dict[str, Step]:
    """The utilization with staged data, by simulation, and what follows from it; without a break-even where staging never pays.

    `shared` is the utilization of the loader that reads from shared storage.
    """
    load = known.find("local_drives_load")
    drives = {"storage_load": load.value if load is not None else 0.0}
    given = {**{name: known.value(name) for name in STEP_LOADS}, **drives}
    local = replace(
        loader, latency_seconds=known.value("local_read_seconds"), shared_seconds=float(solve("shared_seconds_per_step", given))
    )
    found = simulate(local, steps=steps, seed=seed)
    where = f"{found.runs} runs of {steps:,} steps, seed {seed}; median, P10 and P90"
    item = Input(found.median, found.low, found.high, source="ingest-loader-recurrence", grade="derived", where=where)
    inputs = tuple(known.step(name) for name in ("local_read_seconds", "step_computation_seconds", "loader_workers"))
    staged = Step("staged_utilization", found.median, None, inputs, item)
    own = {"staged_utilization": staged}
    epoch = known.find("epoch_seconds")
    if epoch is None:
        return own
    made = {"accelerator_utilization": shared, "staged_utilization": staged}
    made |= {"epoch_seconds": epoch, **known.steps_of("stage_seconds")}
    for name in ("fed_epoch_seconds", "staged_epoch_seconds"):
        own[name] = derive(name, known.given, made)
    made |= {"staged_epoch_seconds": own["staged_epoch_seconds"]}
    made |= known.steps_of("stage_bytes", "job_epochs")
    own["epochs_read_bandwidth"] = linked("epochs_read_bandwidth", derive("staged_read_bandwidth", known.given, made))
    gain = derive("gain_of_staging", known.given, made)
    if gain.value > 0:
        made["staging_gain"] = linked("staging_gain", gain)
        own["staging_break_even_epochs"] = derive("staging_break_even_epochs", known.given, made)
    return own
