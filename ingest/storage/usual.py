"""What is taken where nobody says: each can be contested, and is set with `--set`."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.catalog.records import Storage
from ingest.engine.value import Input
from ingest.messages import Message, Option


def _assumed(name: str, value: float, why: str) -> Input:
    return Input(value, origin="default", grade="assumed", note=Message(why, supply=(f"set.{name}",)))


WHY = {
    "fill_limit": (0.85, "no limit of this system is known: 15 % stay free for rebuilds and because full systems slow down"),
    "rebuild_share": (0.3, "what a rebuild takes is seldom published: between one in the background and one at full speed"),
    "request_bytes_max": (1_048_576, "no request is larger than 1 MiB, as most clients cut their reads"),
    "reference_io_bytes": (1_048_576, "rates are published for requests of 1 MiB or more"),
    "request_seconds": (0.0005, "a small read waits 0.5 ms: network, server and flash, tenths of a millisecond each"),
    "cache_memory_share": (0.5, "the other half of the memory is for the training, its workers and the system"),
    "stall_bridged_seconds": (1, "prefetching is to bridge a pause of 1 s"),
}
USUAL: Mapping[str, Input] = {
    **{name: _assumed(name, value, why) for name, (value, why) in WHY.items()},
    "readers_per_gpu": Input(
        4, origin="default", source="mlperf-storage-v2", where="configs/dlio/workload/unet3d_h100.yaml, read_threads",
        note=Message("four readers for each GPU", supply=(Option("set.readers_per_gpu", "N"),)),
    ),
}  # fmt: skip
#: A local drive is not reached over a network.
LOCAL = {"request_seconds": _assumed("request_seconds", 0.0001, "a small read of flash in the node waits 0.1 ms")}


def usual_of(entry: Storage) -> Mapping[str, Input]:
    """What is usual for a system of its class."""
    return {**USUAL, **LOCAL} if entry.family == "drive" else USUAL
