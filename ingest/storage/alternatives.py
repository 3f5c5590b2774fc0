"""What can be done instead of streaming: stage the data set on local drives, or cache it in host memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import MissingQuantity

#: Further results, shown where their inputs are known
FURTHER = (
    "small_read_factor",
    "io_per_second_needed",
    "request_seconds_allowed",
    "requests_in_flight_needed",
    "metadata_servers_required",
    "media_write_bandwidth",
    "drives_for_capacity",
    "drives_for_read",
    "drives_for_write",
    "drives_required",
    "units_usable_bytes",
    "units_raw_bytes",
    "cache_hit_needed",
    "bytes_in_flight_per_node",
    "prefetch_bytes_per_node",
    "decode_cores_per_node",
)


#: results that mean something where there are units to lose
DEGRADED = ("degraded_read_bandwidth", "units_required_degraded")


class Way(NamedTuple):
    """One way to feed the GPUs.

    Attributes:
        name: as people call it.
        room: (what it must hold, where) as quantities of one node; empty where it holds nothing.
        rate: (what is read, by what) as quantities; empty where storage itself is read.
        shown: quantities that say what it takes.
        copies: `nodes` where each node holds the whole data set, `one` where they share it.
    """

    name: str
    room: tuple[str, str] | None
    rate: tuple[str, str] | None
    shown: tuple[str, ...]
    copies: str


HITS = ("cache_hit_needed", "cache_hit_reachable")
WAYS = (
    Way(
        "stage the whole data set on every node",
        ("dataset_bytes", "nvme_bytes_per_node"),
        ("ingest_bandwidth_per_node", "nvme_read_bandwidth_per_node"),
        ("stage_bytes", "stage_seconds"),
        "nodes",
    ),
    Way(
        "stage a share of it on each node",
        ("dataset_share_per_node", "nvme_bytes_per_node"),
        ("ingest_bandwidth_per_node", "nvme_read_bandwidth_per_node"),
        ("stage_bytes", "stage_seconds"),
        "one",
    ),
    Way("cache it in the memory of every node", None, HITS, HITS, "nodes"),
    Way("cache a share of it in each node's memory", None, HITS, HITS, "one"),
)


def ways(known: Quantities, streams: bool | None) -> list[dict[str, Any]]:
    """Each way to feed the GPUs, whether it holds, and what it takes.

    Args:
        known: need and system.
        streams: whether reading straight from storage holds.
    """
    rows: list[dict[str, Any]] = [{"way": "stream from storage", "holds": streams}]
    for way in WAYS:
        apart = _with_copies(known, way.copies)
        if apart is None:
            continue
        held = [_at_most(apart, pair) for pair in (way.room, way.rate) if pair is not None]
        found = apart.results(way.shown)[0]
        if not found:
            continue
        holds = False if False in held else None if None in held else True
        rows.append({"way": way.name, "holds": holds, **{name: item.value for name, item in found.items()}})
    return rows if len(rows) > 1 else []


def _with_copies(known: Quantities, copies: str) -> Quantities | None:
    """The same quantities with one copy of the data set, or one for each node; None where the nodes are not known."""
    if "nodes" not in known.given or not {"dataset_bytes"} & {*known.given, *known.steps}:
        return None
    number = known.given["nodes"].value if copies == "nodes" else 1
    own = Input(number, note="one copy for each node" if copies == "nodes" else "the nodes share one copy")
    return known.with_inputs({"copies_staged": own, "copies_cached": own})


def _at_most(known: Quantities, pair: tuple[str, str]) -> bool | None:
    """Whether the first quantity is at most the second; None where one of them is not known."""
    try:
        return known.value(pair[0]) <= known.value(pair[1])
    except MissingQuantity:
        return None


def further(known: Quantities, wanted: Sequence[str]) -> Mapping[str, Quantity]:
    """The further results that can be computed.

    Args:
        known: need and system.
        wanted: those that mean something for this system only.
    """
    return known.results([*FURTHER, *wanted])[0]
