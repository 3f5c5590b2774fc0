"""How many units of a system the need takes, and which part of the need decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.messages import Message
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import MissingQuantity
from ingest.storage.need import Need
from ingest.storage.system_quantities import is_known

#: what decides how many units it takes, and the need behind it
PARTS = {
    "units_for_read": "read_bandwidth_needed",
    "units_for_write": "write_bandwidth_needed",
    "units_for_capacity": "required_usable_bytes",
    "units_for_opens": "opens_per_second_needed",
    "units_for_creates": "creates_per_second_needed",
    "units_for_requests": "io_per_second_needed",
}
#: the same for metadata servers, where a system has them apart
METADATA_PARTS = {
    "metadata_servers_for_files": "files_needed",
    "metadata_servers_for_creates": "creates_per_second_needed",
    "metadata_servers_for_opens": "opens_per_second_needed",
}
#: the same for the drives of a system that is described by its drives
DRIVE_PARTS = {
    "drives_for_capacity": "required_usable_bytes",
    "drives_for_read": "read_bandwidth_needed",
    "drives_for_write": "write_bandwidth_needed",
}
#: a system is described by its drives where one of these is given
OF_A_DRIVE = ("drive_bytes", "drive_read_bandwidth", "drive_write_bandwidth")


def count_units(known: Quantities, need: Need, entry: Storage, units: float | None) -> str:
    """Choose how many there are and how many are required; returns what the latter leaves out."""
    if entry.family not in ("client", "drive"):
        return _size_units(known, need, entry, units)
    if entry.family == "client":
        # What the user says of the system behind a client is of so many units of it.
        one = Input(1, origin="default", note=Message("one unit behind the client", supply=("units",)))
        known.give({"units": one if units is None else Input(units, origin="user")})
    for part, name in (("clients_for_read", "read_bandwidth_needed"), ("clients_for_write", "write_bandwidth_needed")):
        if not need.asks(name):
            known.give_default(part, nothing(name))
    try:
        known.choose("units_required", "clients_required" if entry.family == "client" else "local_drives_required")
        if entry.family == "drive":
            known.choose("units", "local_drives")
    except MissingQuantity as error:
        return f"units_required is not known: {error.name} is missing"
    return ""


def _size_units(known: Quantities, need: Need, entry: Storage, asked: float | None) -> str:
    """Choose how many units there are; return what their number leaves out, or nothing.

    A part of the need whose rate per unit is not known does not count: its layer stays unjudged.
    """
    apart = metadata_apart(entry)
    if apart:
        _settle(known, need, METADATA_PARTS)
    elsewhere = _counted_elsewhere(entry, known, apart)
    for part, why in elsewhere.items():
        known.give_default(part, Input(0, grade="zero", note=why))
    unknown = _settle(known, need, {part: name for part, name in PARTS.items() if part not in elsewhere})
    if any(name in known.given for name in OF_A_DRIVE):
        for part in (part for part, name in DRIVE_PARTS.items() if not need.asks(name)):
            known.give_default(part, nothing(DRIVE_PARTS[part]))
    _choose_units(known, entry, asked)
    return f"units_required leaves out {' and '.join(unknown)}: the rate of one unit is not known" if unknown else ""


def _counted_elsewhere(entry: Storage, known: Quantities, apart: bool) -> dict[str, str]:
    """Parts by which no units are counted, and why."""
    if apart:
        return dict.fromkeys(("units_for_opens", "units_for_creates"), "metadata servers open and create files")
    rate = known.given.get("unit_opens_per_second")
    shown = rate is not None and rate.origin != "user" and entry.opens_per_second is None
    return {"units_for_opens": "what a run has shown is no limit to count by"} if shown else {}


def _choose_units(known: Quantities, entry: Storage, asked: float | None) -> None:
    if asked is not None:
        known.give({"units": Input(asked, origin="user")})
    elif entry.fixed:
        known.give({"units": Input(1, note="one site, as it stands")})
    elif known.value("units_required") >= 1:
        known.choose("units", "units_required")
    else:
        known.give({"units": Input(1, origin="default", note="one unit: nothing is asked that would count units")})


def metadata_apart(entry: Storage) -> bool:
    """Whether servers of their own open and create the files of a system."""
    return entry.files_max is not None or entry.opens_per_metadata_server is not None


def _settle(known: Quantities, need: Need, parts: Mapping[str, str]) -> list[str]:
    """Parts that are not asked for, or whose rate is not known, count nothing; returns the latter."""
    unknown = []
    for part, name in parts.items():
        if not _asked(known, need, name):
            known.give_default(part, nothing(name))
        elif not is_known(known, part):
            unknown.append(part.removeprefix("units_for_"))
            known.give({part: Input(0, grade="zero", note="not counted: the rate of one unit is not known")})
    return unknown


def nothing(name: str) -> Input:
    """None of a thing, because the need does not ask for it."""
    return Input(0, grade="zero", note=f"no {name} is given")


def _asked(known: Quantities, need: Need, name: str) -> bool:
    if name == "io_per_second_needed":
        # Few systems publish a rate of requests; where one does, it counts.
        return is_known(known, name) and "unit_io_per_second" in known.given
    return need.asks(name)


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
