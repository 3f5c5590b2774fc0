"""Units of a system that the need takes, and alternatives to reading from it: staging and caching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity
from ingest.storage.need import Need
from ingest.storage.system_quantities import opens_only_shown, reads_small

COUNTED = "the number of units required"  # How a caution about the number of units begins
#: count of units -> the need that decides it, and what decides where it is the largest
PARTS = {
    "units_for_read": ("read_bandwidth_needed", "reads"),
    "units_for_write": ("write_bandwidth_needed", "writes"),
    "units_for_capacity": ("required_usable_bytes", "capacity"),
    "units_for_opens": ("opens_per_second_needed", "file opens"),
    "units_for_creates": ("creates_per_second_needed", "file creates"),
    "units_for_requests": ("io_per_second_needed", "requests"),
    "units_for_degraded": ("read_bandwidth_needed", "reads with one failure domain down"),
    "units_for_degraded_requests": ("io_per_second_needed", "requests with one failure domain down"),
}
#: count of metadata servers -> the need that decides it, for a system with separate ones
METADATA_PARTS = {
    "metadata_servers_for_files": "files_needed",
    "metadata_servers_for_creates": "creates_per_second_needed",
    "metadata_servers_for_opens": "opens_per_second_needed",
}
#: count of drives -> the need that decides it, for a system described by its drives
DRIVE_PARTS = {
    "drives_for_capacity": "required_usable_bytes",
    "drives_for_read": "read_bandwidth_needed",
    "drives_for_write": "write_bandwidth_needed",
}
#: count of clients or local drives -> the need that decides it
CLIENT_PARTS = {"clients_for_read": "read_bandwidth_needed", "clients_for_write": "write_bandwidth_needed"}
UNKNOWN_DOMAINS = "the failure domains of a unit are not known"
#: a system is described by its drives where one of these is given
OF_A_DRIVE = ("drive_bytes", "drive_read_bandwidth", "drive_write_bandwidth")


class Spare(NamedTuple):
    """What may be down."""

    kept: bool  # whether one failure domain is bought beyond the need
    judged: bool  # whether the reads are judged with one failure domain down
    share: float | None = None  # share of the reads that is required then, where the user says so


#: what metadata servers do -> the rate of one of them
METADATA_RATES = {"opens": "opens_per_metadata_server", "creates": "creates_per_metadata_server"}


def of_metadata_servers(entry: Storage, known: Quantities, what: str) -> bool:
    """Whether separate metadata servers do this at a known rate."""
    return has_metadata_servers(entry) and METADATA_RATES[what] in known.given


def has_metadata_servers(entry: Storage) -> bool:
    """Whether separate metadata servers open and create the files of a system."""
    return entry.files_max is not None or entry.opens_per_metadata_server is not None


def count_units(known: Quantities, need: Need, entry: Storage, units: float | None, spare: Spare) -> str:
    """Set the number of units and the number required; return what the latter leaves out, or nothing."""
    if entry.family not in ("client", "drive"):
        return _size_units(known, need, entry, units, spare)
    if entry.family == "client":
        # Rates that the user sets for the system behind a client are those of this many units.
        one = Input(1).by_default("one unit behind the client", "units")
        known.give({"units": one if units is None else Input(units, origin="user")})
    _settle(known, need, CLIENT_PARTS)
    try:
        if entry.family == "client":
            known.state("clients_counted")
        known.step("units_required")
        if entry.family == "drive":
            known.state("local_drives_counted")
            known.step("units")
    except MissingQuantity as error:
        return f"{COUNTED} is not known: {error.name.replace('_', ' ')} is missing"
    return ""


def _size_units(known: Quantities, need: Need, entry: Storage, units: float | None, spare: Spare) -> str:
    """Count units of a system; a part of the need whose rate per unit is unknown does not count, its layer stays unjudged."""
    # The share of a unit that may fail; where its failure domains are unknown no spare is counted, and the loss is open.
    failed = known.find("failed_units")
    if spare.kept and failed is not None:
        known.state("spare_kept")
    else:
        why = UNKNOWN_DOMAINS if spare.kept else "no spare is asked for"
        known.give_default("spare_units", Input(0, grade="zero", note=why))
    if spare.share is not None:
        known.give({"degraded_share": Input(spare.share, origin="user")})
    excluded: dict[str, str] = {}
    if has_metadata_servers(entry):
        _unrated(known, need, METADATA_PARTS)
        # A rate that nobody publishes of a metadata server is not counted as none.
        served = [f"units_for_{what}" for what in sorted(METADATA_RATES) if of_metadata_servers(entry, known, what)]
        excluded = dict.fromkeys(served, "metadata servers open and create files")
    elif opens_only_shown(entry, known):
        excluded = {"units_for_opens": "a rate demonstrated in one run is not a limit to size by"}
    if not spare.judged or known.find("failed_units") is None:
        why = UNKNOWN_DOMAINS if spare.judged else "reads with one failure domain down are not required"
        excluded |= dict.fromkeys(("units_for_degraded", "units_for_degraded_requests"), why)
    for part, why in excluded.items():
        known.give_default(part, Input(0, grade="zero", note=why))
    unknown = _unrated(known, need, {part: name for part, (name, _) in PARTS.items() if part not in excluded})
    if any(name in known.given for name in OF_A_DRIVE):
        _settle(known, need, DRIVE_PARTS)
    if entry.fixed:
        known.give({"units": Input(1, note="one installed site")})
    elif entry.tiers:
        known.give({"units": Input(1, note="one file system"), "units_required": Input(1, note="one file system")})
    elif units is not None:
        known.give({"units": Input(units, origin="user")})
    elif known.value("units_required") >= 1:
        known.state("units_bought")
    else:
        known.give({"units": Input(1).by_default("one unit, because no need determines the number")})
    return f"{COUNTED} leaves out {' and '.join(unknown)}: the rate of one unit is not known" if unknown else ""


def _unrated(known: Quantities, need: Need, parts: Mapping[str, str]) -> list[str]:
    """Set parts that are not required, or whose rate is unknown, to 0; return the latter."""
    _settle(known, need, parts)
    unknown = [part for part in parts if known.find(part) is None]
    known.give(dict.fromkeys(unknown, Input(0, grade="zero", note="not counted: the rate of one unit is not known")))
    return [part.removeprefix("units_for_").replace("_", " ") for part in unknown]


def _settle(known: Quantities, need: Need, parts: Mapping[str, str]) -> None:
    """Set the parts that the need does not include to 0."""
    for part, name in parts.items():
        required = need.requires(name)
        if name == "io_per_second_needed" and known.find(name) is not None:
            # Bandwidth implies the IOPS of large requests; where IOPS are published, they count too.
            required = known.find("unit_io_per_second") is not None or reads_small(known)
        if not required:
            known.give_default(part, Input(0, grade="zero", note=f"no {name} is given"))


#: Further results, shown where their inputs are known.
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
    "spare_units",
    "tier_capacity",
    "cache_hit_needed",
    "bytes_in_flight_per_node",
    "prefetch_bytes_per_node",
    "decode_cores_per_node",
)
DEGRADED = ("degraded_read_bandwidth",)  # Results for systems that can lose a failure domain


def decides(known: Quantities) -> str:
    """What the number of units is bought for; empty where no single need decides."""
    counts = {what: float(step.value) for part, (_, what) in PARTS.items() if (step := known.find(part)) is not None}
    most = max(counts.values(), default=0)
    if not most:
        return ""
    largest = [what for what, count in counts.items() if count == most]
    if "reads" in largest:
        largest = [what for what in largest if what != PARTS["units_for_degraded"][1]]
    held = counts.get("capacity", 0)
    if "capacity" in largest:
        return "capacity decides" if len(largest) == 1 else "capacity and throughput alike"
    text = f"{' and '.join(largest)} decide"
    return f"{text}: capacity is bought for bandwidth" if held else text


class Alternative(NamedTuple):
    """A way to feed the GPUs other than streaming from storage."""

    name: str  # as shown
    room: tuple[str, str] | None  # (bytes to hold, capacity) as quantities of one node; None where nothing is held on drives
    rate: tuple[str, str]  # (rate to read, rate available) as quantities
    shown: tuple[str, ...]  # quantities of its cost
    copies: str  # `nodes` where each node holds the whole data set, `one` where the nodes share a copy


_NVME = ("ingest_bandwidth_per_node", "nvme_read_bandwidth_per_node")
_STAGED = ("stage_bytes", "stage_seconds")
_HITS = ("cache_hit_needed", "cache_hit_reachable")
ALTERNATIVES = (
    Alternative("stage the whole data set on every node", ("dataset_bytes", "nvme_bytes_per_node"), _NVME, _STAGED, "nodes"),
    Alternative("stage a share of it on each node", ("dataset_share_per_node", "nvme_bytes_per_node"), _NVME, _STAGED, "one"),
    Alternative("cache it in the memory of every node", None, _HITS, _HITS, "nodes"),
    Alternative("cache a share of it in each node's memory", None, _HITS, _HITS, "one"),
)


def alternatives(known: Quantities, streams: bool | None) -> list[dict[str, Any]]:
    """Each way to feed the GPUs, whether it holds, and its cost; `streams` tells whether streaming from storage holds."""
    rows: list[dict[str, Any]] = [{"way": "stream from storage", "holds": streams}]
    if "nodes" not in known.given or known.find("dataset_bytes") is None:
        return []
    for one in ALTERNATIVES:
        # One copy of the data set, or one for each node.
        number = known.given["nodes"].value if one.copies == "nodes" else 1
        own = Input(number, note="one copy for each node" if one.copies == "nodes" else "the nodes share one copy")
        quantities = known.with_inputs({"copies_staged": own, "copies_cached": own})
        ends = [[quantities.find(name) for name in pair] for pair in (one.room, one.rate) if pair is not None]
        checks = [None if least is None or most is None else bool(least.value <= most.value) for least, most in ends]
        found = quantities.results(one.shown)[0]
        if found:
            holds = False if False in checks else None if None in checks else True
            rows.append({"way": one.name, "holds": holds, **{name: item.value for name, item in found.items()}})
    return rows if len(rows) > 1 else []
