"""Staging a data set on the drives of the nodes: its time, the utilization with it, and the epochs from which it pays."""

from __future__ import annotations

from dataclasses import replace

from ingest.catalog.records import Node
from ingest.engine.messages import option_error
from ingest.engine.registry import Step, derive, linked, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.loader.stall import Loader, simulate
from ingest.sizing.evidence_ladder import from_fields
from ingest.units import display

#: results of `feed --cache staged`
RESULTS = ("stage_seconds", "staged_utilization", "fed_epoch_seconds", "staged_epoch_seconds", "staging_break_even_epochs")
DEFAULTS = {
    "local_request_seconds": assumed(1e-4, "a drive of the node answers in 0.1 ms", "set.local_request_seconds"),
    "local_stream_bandwidth": assumed(2e9, "a worker reads 2 GB/s from the drives of its node", "set.local_stream_bandwidth"),
}
NEVER = "GPUs wait no less with the data on the nodes: staging does not pay after any number of epochs"


def place_staging(known: Quantities, node: Node | None) -> None:
    """Choose what staging reads and what the drives of a node give.

    Args:
        known: the quantities of the job; the size of its data set and the bandwidth of the storage among them.
        node: the node type, for its drives.

    Raises:
        UsageError: no bandwidth of the storage is given, or the data set does not fit the drives of a node.
    """
    if "feed_read_bandwidth" not in known.given:
        raise option_error("cache", ": found staged without a bandwidth to stage at, expected --read-bandwidth, such as 10GB/s")
    if node is not None:
        drives = {"nvme_read_bandwidth_per_node": node.nvme_read_bandwidth, "nvme_bytes_per_node": node.nvme_bytes}
        known.give({name: item for name, item in from_fields(drives).items() if name not in known.given and item.value})
    known.give({name: item for name, item in DEFAULTS.items() if name not in known.given})
    copies = Input(known.value("nodes")).by_default("each node gets the whole data set", "set.copies_staged")
    known.give_default("copies_staged", copies)
    known.link("dataset_bytes", known.step("job_dataset_bytes"))
    known.link("read_bandwidth_available", known.step("feed_read_bandwidth"))
    _check_room(known)


def _check_room(known: Quantities) -> None:
    """Refuse data that the drives of a node do not hold."""
    room = known.find("job_cache_bytes") or known.find("nvme_bytes_per_node")
    if room is None:
        return
    share = {"dataset_bytes": known.value("dataset_bytes"), "nodes": known.value("nodes") / known.value("copies_staged")}
    held = float(solve("dataset_share_per_node", share))
    if held > room.value:
        sizes = f"{display(held, 'B')} per node for {display(room.value, 'B')} of drives"
        raise option_error("cache", f": staging takes {sizes}, expected lru, pinned or partitioned, or larger --cache-memory")


def staged_steps(known: Quantities, loader: Loader, shared: Step, *, steps: int, seed: int) -> dict[str, Step]:
    """The utilization with staged data, by simulation, and what follows from it; without a break-even where staging never pays.

    Args:
        known: the quantities of the job, frozen.
        loader: the loader that reads from shared storage.
        shared: its utilization.
        steps: steps of each simulated run.
        seed: of the draws.
    """
    load = known.find("local_drives_load")
    drives = {"storage_load": load.value if load is not None else 0.0}
    names = ("step_computation_seconds", "cores_load", "host_link_load", "gpu_decode_load")
    given = {**{name: known.value(name) for name in names}, **drives}
    local = replace(
        loader,
        latency_seconds=known.value("local_read_seconds"),
        shared_seconds=float(solve("shared_seconds_per_step", given)),
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
    made |= {"epoch_seconds": epoch, "stage_seconds": known.step("stage_seconds")}
    for name in ("fed_epoch_seconds", "staged_epoch_seconds"):
        own[name] = derive(name, known.given, made)
    made |= {"staged_epoch_seconds": own["staged_epoch_seconds"]}
    made |= {name: known.step(name) for name in ("stage_bytes", "job_epochs")}
    own["epochs_read_bandwidth"] = linked("epochs_read_bandwidth", derive("staged_read_bandwidth", known.given, made))
    gain = derive("gain_of_staging", known.given, made)
    if gain.value > 0:
        made["staging_gain"] = linked("staging_gain", gain)
        own["staging_break_even_epochs"] = derive("staging_break_even_epochs", known.given, made)
    return own
