"""Input quantities of a storage system from its catalog entry, with defaults and those of the need; the units that it takes.

Services are rented by the byte: the tier and the capacity that a need takes, and what they cost by a file of prices.
Alternatives to reading from it: staging and caching.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.catalog.records import Storage, Tier
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, defaults_of
from ingest.errors import IngestError, MissingQuantity, UsageError, brief, expected_one_of
from ingest.files import table_beside
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.storage.need import REQUESTS_NEEDED, Need
from ingest.text import one_line
from ingest.units import parse

_WRITTEN = table_beside(__file__, "units.yaml")
#: defaults: of any system, of the drives in a node, and of a service whose sizes are not published
DEFAULTS = defaults_of(_WRITTEN["defaults"], "assumed")
LOCAL = defaults_of(_WRITTEN["local_defaults"], "assumed")
USUAL = defaults_of(_WRITTEN["tier_defaults"], "assumed")
#: field of an entry -> quantity
OF_UNIT, OF_CLIENT, OF_DRIVE, OF_UNIT_DRIVE, OF_TIER = (
    _WRITTEN[f"of_{name}"] for name in ("unit", "client", "drive", "unit_drive", "tier")
)
#: count of what is bought -> the need that decides it: capacity of a tier, units, metadata servers, drives; clients
TIER_PARTS, PARTS, METADATA_PARTS, DRIVE_PARTS, CLIENT_PARTS = (
    _WRITTEN[f"{name}parts"] for name in ("tier_", "", "metadata_", "drive_", "client_")
)
FURTHER = _WRITTEN["further"]  # further results, shown where their inputs are known
OF_PROTECTION = {name: name for name in ("data_units", "redundancy_units")}
OF_SYSTEM = {
    "usable_fraction": "protection_efficiency",
    **{name: name for name in ("filesystem_efficiency", "fill_limit")},
    "files_max": "files_per_metadata_server",
    **{name: name for name in ("metadata_servers_max", "creates_per_metadata_server", "opens_per_metadata_server")},
}
#: Fields that an appliance shares with the software it runs.
SHARED = ("client_read_bandwidth", "client_write_bandwidth", "nic_efficiency", "request_latency", "reference_io_bytes")
#: `fixed` of a path that was measured from one machine: the system behind it delivers at least that.
MEASURED = "measured"
#: factors that are 1 where they cannot be computed
NEUTRAL = {
    "small_read_factor": "requests of the size at which the rate was measured",
    "decoded_expansion": "decoded samples of the stored size",
}


def with_drives(entry: Storage, choice: str) -> Storage:
    """The entry with another size of drive on offer, and the capacity and files that are published for that size.

    Where nothing is published for it, raw capacity follows from the drives, and usable capacity from its published share.
    """
    size = entry.drive_choices[choice]
    usable, files = entry.usable_by_drive.get(choice), entry.files_by_drive.get(choice)
    if entry.drive_bytes is not None and size.value == entry.drive_bytes.value:
        return changed(entry, drive_bytes=size, usable_bytes=usable or entry.usable_bytes, files_max=files or entry.files_max)
    kept = {} if entry.files_by_drive == {} else {"files_max": files}
    return changed(entry, drive_bytes=size, raw_bytes=None, usable_bytes=usable, **kept)


class System(NamedTuple):
    """A storage system as it is judged."""

    entry: Storage  # the system
    client: Storage | None = None  # another entry whose client is used, or None for its own
    protection: Storage | None = None  # the protection scheme, or None where the entry states a usable share
    drive: Storage | None = None  # the kind of its drives, where it is known
    #: inputs of the size of drive or the tier of a service that is considered, and what it is called
    chosen: Mapping[str, Input] = MappingProxyType({})
    label: str = ""


def with_technology(entry: Storage, catalog: Catalog) -> Storage:
    """The entry with the latency and the client rates of the software that it runs, where it has none of its own."""
    if not entry.technology:
        return entry
    software = catalog.referred(Storage, entry.technology, by=entry.path)
    own = {name: getattr(entry, name) for name in SHARED}
    shared = {name: getattr(software, name) for name, value in own.items() if value is None}
    # What one client of many showed is no ceiling where the software has one.
    if entry.gpu_read_bandwidth is None and (shared.get("nic_efficiency") or shared.get("client_read_bandwidth")):
        shared["client_read_bandwidth_shown"] = None
    return changed(entry, **shared)


def changed(entry: Storage, **fields: object) -> Storage:
    """The entry with other values in some fields."""
    return Storage(entry.id, entry.path, **{**{name: getattr(entry, name) for name in entry.shapes}, **fields})


def known_of(system: System, need: Need) -> Quantities:
    """Quantities of need and system; values that the user sets by name override the catalog."""
    entry, client, local = system.entry, system.client or system.entry, system.entry.family == "drive"
    usable, given = _fields(entry, OF_SYSTEM), need.given
    if system.protection is not None:
        # The published share of a whole system includes spares; elsewhere the share is k / (k + m), unrounded.
        if entry.family not in ("system", "service", "site"):
            usable = {name: item for name, item in usable.items() if name != "protection_efficiency"}
        usable = {**usable, **_fields(system.protection, OF_PROTECTION)}
    if local:
        # The drives under test replace those that the node usually has.
        usual = "nvme_read_bandwidth_per_node"
        given = {name: item for name, item in given.items() if name != usual or item.origin == "user"}
    # Ceilings measured with the data set of a model include the effect of its I/O sizes.
    own = "nvme_drive_read_bandwidth" if local else "unit_read_bandwidth"
    rates = {own: entry.read_bandwidth_by_model, "client_bandwidth_per_node": client.client_read_bandwidth_by_model}
    measured = {name: from_catalog(by_model[need.model]) for name, by_model in rates.items() if need.model in by_model}
    if {*measured} - {"unit_read_bandwidth"}:
        measured["small_read_factor"] = Input(1, note=f"measured with the data set of {need.model}")
    supplied = {
        **DEFAULTS,
        **(LOCAL if local else {}),
        **_fields(entry, OF_DRIVE if local else OF_UNIT),
        **(_fields(system.drive, OF_UNIT_DRIVE) if system.drive else {}),
        **_fields(entry, {"request_latency": "request_seconds"}),
        **_fields(client, OF_CLIENT),
        **usable,
        **measured,
        **system.chosen,
    }
    known = Quantities({**supplied, **given})
    if need.sizes is not None:
        if "largest_request_bytes" not in given:
            known.link("largest_request_bytes", known.step("request_bytes_max"))
        need.sizes.place(known, "class_requests")
    known.state(
        "path_judged", *(["job_estimated", *need.cases] if need.computed else []), *(["local_drives_judged"] if local else [])
    )
    for name, note in NEUTRAL.items():
        if known.find(name) is None:
            known.give({name: Input(1).by_default(note)})
    if entry.family in ("system", "software", "site"):
        at_random = reads_at_random(known, need) or need.requires(REQUESTS_NEEDED)
        known.state("made_of_drives", *(["disks_read_at_random"] if at_random else []))
    if entry.fixed == MEASURED:
        # It answers for one machine where no number of nodes is given.
        known.give_default("nodes", Input(1).by_default("measured from one machine", "nodes"))
    return known


def reads_at_random(known: Quantities, need: Need) -> bool:
    """Whether the reads move the heads of disks: random ones, and those up to 1 MiB of which nothing else is known."""
    if need.pattern or known.find("io_bytes") is None:
        return need.pattern == "random"
    return known.value("io_bytes") <= known.value("request_bytes_max")


def opens_only_shown(entry: Storage, known: Quantities) -> bool:
    """Whether the rate of opens was demonstrated in one run: neither a rate of the entry or its tier nor one of the user."""
    shown, rate = entry.opens_per_second_shown, known.given.get("unit_opens_per_second")
    if shown is None or rate is None or entry.opens_per_second is not None:
        return False
    return rate.origin != "user" and rate == from_catalog(shown)


def reads_small(known: Quantities) -> bool:
    """Whether requests are smaller than those at which rates are published."""
    size = known.find("io_bytes")
    return size is not None and size.value < known.value("reference_io_bytes")


def _fields(entry: Storage, names: dict[str, str]) -> dict[str, Input]:
    return from_fields({quantity: value for field, quantity in names.items() if (value := getattr(entry, field)) is not None})


def protection_of(entry: Storage, name: str | None, catalog: Catalog) -> Storage | None:
    """The named protection scheme, or the entry's own or default one.

    Raises UsageError: an entry that is not a protection scheme.
    """
    if name is not None:
        found = catalog.get(Storage, name)
        if found.family != "protection":
            schemes = [one.id for one in catalog.all(Storage) if one.family == "protection"]
            raise UsageError(f"--protection: {found.id} is not a protection scheme, {expected_one_of(name, schemes)}")
        return found
    if entry.family == "protection":
        return entry
    return catalog.referred(Storage, entry.protections[0], by=entry.path) if entry.protections else None


OF_ENTRY = ("client_read_bandwidth", "client_write_bandwidth")  # Fields of a tier that replace those of the entry


class Prices(NamedTuple):
    """A dated price list of the user."""

    path: str
    #: currency, date: of all prices
    currency: str
    date: datetime.date
    per_byte: Mapping[tuple[str, str], float]  # price of a byte for a month, by service and tier


def read_prices(path: str | Path) -> Prices:
    """Read a price list: `date`, `currency`, and under `prices` the price of a TiB for a month by service and tier.

    Raises IngestError: unreadable, undated, or a price that is no number.
    """
    data = read_yaml(Path(path), Kind("a list of prices", "ingest fit --help"))
    known = ("date", "currency", "prices")
    if not isinstance(data, dict) or any(data.get(key) is None for key in known):
        raise IngestError(f"{path}: expected the keys {', '.join(known)}")
    try:
        date = datetime.date.fromisoformat(str(data["date"]))
    except ValueError:
        raise IngestError(f"{path}: date: found {brief(data['date'])}, expected a date such as 2026-11-30") from None
    if not isinstance(data["currency"], str) or not data["currency"].strip():
        raise IngestError(f"{path}: currency: found {brief(data['currency'])}, expected text such as USD")
    found: dict[tuple[str, str], float] = {}
    for service, tiers in _rows(data["prices"], f"{path}: prices"):
        for tier, price in _rows(tiers, f"{path}: prices: {service}"):
            if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 < price < float("inf"):
                raise IngestError(f"{path}: prices: {service}: {tier}: found {brief(price)}, expected a price above 0")
            found[service, tier] = parse(f"{price!r} 1/TiB", "1/B", f"{path}: prices: {service}: {tier}")
    return Prices(str(path), one_line(data["currency"]), date, found)


def check_prices(prices: Prices, sold: Mapping[str, Mapping[str, Tier]]) -> None:
    """Refuse prices of what is not among the tiers of each service.

    Raises IngestError: an unknown service or tier, with the nearest name.
    """
    for service, tier in prices.per_byte:
        place = f"{prices.path}: prices"
        if service not in sold:
            raise IngestError(f"{place}: unknown service {brief(service)}, {expected_one_of(service, sold)}")
        if tier not in sold[service]:
            raise IngestError(f"{place}: {service}: unknown tier {brief(tier)}, {expected_one_of(tier, sold[service])}")


def _rows(data: Any, place: str) -> list[tuple[str, Any]]:
    if not isinstance(data, dict):
        raise IngestError(f"{place}: found {brief(data)}, expected keys and values")
    return [(str(key), value) for key, value in data.items()]


def in_order(tiers: Mapping[str, Tier]) -> list[str]:
    """The names of the tiers, the one with the least throughput for each byte first; throughput sold apart comes last."""
    rates = {name: tier.read_bandwidth_per_byte for name, tier in tiers.items()}
    order = {name: float("inf") if rate is None else rate.value for name, rate in rates.items()}
    return sorted(tiers, key=lambda name: order[name])


def of_tier(tier: Tier) -> dict[str, Input]:
    """The limits of a tier as inputs."""
    given = from_fields({quantity: getattr(tier, field) for field, quantity in OF_TIER.items()})
    if tier.shared == "yes" and "tier_write_bandwidth_per_byte" not in given and "tier_read_bandwidth_per_byte" in given:
        given["tier_write_bandwidth_per_byte"] = given["tier_read_bandwidth_per_byte"]
    return {**USUAL, **given}


def in_tier(entry: Storage, tier: Tier) -> Storage:
    """The entry with the fields that the tier replaces."""
    return changed(entry, **{name: item for name in OF_ENTRY if (item := getattr(tier, name)) is not None})


def provision(known: Quantities, tier: Tier) -> None:
    """Set the capacity that the need takes of a tier, and what one file system of that capacity delivers."""
    for name in ("read_bandwidth_needed", "write_bandwidth_needed"):
        if known.find(name) is None:
            known.give({name: Input(0, grade="zero", note=f"no {name} is given")})
    known.state("rented", *(["one_limit_for_both"] if tier.shared == "yes" else []))
    for part, (name, rate) in TIER_PARTS.items():
        needed = known.find(name)
        if needed is None or not needed.value or (rate and known.find(rate) is None):
            known.give_default(part, Input(0, grade="zero", note="does not decide the capacity"))


UNIT_COUNT = "the number of units required"  # How a caution about the number of units begins
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
        return f"{UNIT_COUNT} is not known: {error.name.replace('_', ' ')} is missing"
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
    return f"{UNIT_COUNT} leaves out {' and '.join(unknown)}: the rate of one unit is not known" if unknown else ""


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
        if name == REQUESTS_NEEDED and known.find(name) is not None:
            # Bandwidth implies the IOPS of large requests; where IOPS are published, they count too.
            required |= known.find("unit_io_per_second") is not None or reads_small(known)
        if not required:
            known.give_default(part, Input(0, grade="zero", note=f"no {name} is given"))


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
