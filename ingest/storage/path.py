"""The way to storage that an entry is part of: which layers are in question, and which have only been shown."""

from __future__ import annotations

from ingest.catalog.records import Storage
from ingest.engine.solver import Quantities
from ingest.storage import layers
from ingest.storage.counting import metadata_apart


def layers_of(entry: Storage, known: Quantities) -> tuple[layers.Layer, ...]:
    """The layers of the way that an entry is part of."""
    if entry.family == "protection":
        return layers.SYSTEM
    if entry.family == "drive":
        return layers.LOCAL
    names = (layers.METADATA_SERVERS,) if metadata_apart(entry) else (layers.OPENS, layers.CREATES)
    # Requests are judged where a rate of them is published: bandwidth and latency say the same.
    requests = (layers.REQUESTS,) if entry.io_per_second and entry.family != "client" else ()
    path = (one for one in layers.REMOTE if _in_question(one, entry, known))
    # Servers of one's own are bought with as many drives as the raw capacity takes: that is a size, no ceiling.
    own = entry.family == "software" and "unit_usable_bytes" not in known.given
    return (*path, *requests, *names, *(() if own else (layers.CAPACITY,)))


def _in_question(layer: layers.Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may say nothing about nodes or GPUs: then these are not judged."""
    if layer is layers.HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer in layers.OF_CLIENTS and entry.family == "client":
        return True
    return "nodes" in known.given or layer not in layers.OF_NODES


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[layers.Layer]:
    """What a client took in a run of many, and opens counted from a run, are no ceilings: more may be possible."""
    own_client = entry.family == "system" and client is None and not _set_by_user(known, "client_bandwidth_per_node")
    counted = entry.opens_per_second is None and not _set_by_user(known, "unit_opens_per_second")
    return frozenset((*(layers.OF_CLIENTS if own_client else ()), *((layers.OPENS,) if counted else ())))


def _set_by_user(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"
