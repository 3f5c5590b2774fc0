"""Input quantities of a storage system from its catalog entry, with defaults and those of the need.

Services are rented by the byte: the tier and the capacity that a need takes, and what they cost by a file of prices.
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
from ingest.engine.messages import Option
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import IngestError, UsageError, brief, expected_one_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.storage.need import Need
from ingest.text import one_line
from ingest.units import parse

_DEFAULTS = {
    "fill_limit": (0.85, "no limit of this system is known: 15 % stay free for rebuilds and because full systems slow down"),
    "rebuild_share": (0.3, "rebuild load is seldom published: between a background rebuild and one at full speed"),
    "request_bytes_max": (1_048_576, "requests are at most 1 MiB, the size to which most clients split reads"),
    "reference_io_bytes": (1_048_576, "rates are published for requests of 1 MiB or more"),
    "request_seconds": (0.0005, "latency of a small read: tenths of a millisecond each for network, server and flash"),
    "degraded_share": (0.7, "at least 70 % of the reads are required with one failure domain down"),
    "cache_memory_share": (0.5, "training processes, data loaders and the system use the other half of the memory"),
    "stall_bridged_seconds": (1, "prefetching bridges a stall of 1 s"),
    "units_plausible": (100, "more units than 100 are beyond doubt only where a larger installation is published"),
}
DEFAULTS: Mapping[str, Input] = {
    **{name: assumed(value, why, f"set.{name}") for name, (value, why) in _DEFAULTS.items()},
    "readers_per_gpu": assumed(
        4,
        "four readers for each GPU",
        Option("set.readers_per_gpu", "N"),
        source="mlperf-storage-v2",
        where="configs/dlio/workload/unet3d_h100.yaml, read_threads",
    ),
}
#: Reads of local drives do not cross a network.
LOCAL = {"request_seconds": assumed(0.0001, "latency of a small read of flash in the node", "set.request_seconds")}
#: field of an entry -> quantity
OF_UNIT = {
    "read_bandwidth": "unit_read_bandwidth",
    "write_bandwidth": "unit_write_bandwidth",
    "io_per_second": "unit_io_per_second",
    "opens_per_second_shown": "unit_opens_per_second",
    "opens_per_second": "unit_opens_per_second",
    "creates_per_second": "unit_creates_per_second",
    "usable_bytes": "unit_usable_bytes",
    "raw_bytes": "unit_raw_bytes",
    "drives": "unit_drives",
    "drive_bytes": "unit_drive_bytes",
    **{name: name for name in ("failure_domains", "units_min", "units_max", "units_shown")},
}
OF_CLIENT = {
    "client_read_bandwidth_shown": "client_bandwidth_per_node",
    "client_read_bandwidth": "client_bandwidth_per_node",
    "client_write_bandwidth": "client_write_bandwidth_per_node",
    "gpu_read_bandwidth": "client_bandwidth_per_gpu",
    "nic_efficiency": "nic_efficiency",
    "request_latency": "request_seconds",
    "reference_io_bytes": "reference_io_bytes",
}
OF_DRIVE = {"read_bandwidth": "nvme_drive_read_bandwidth", "write_bandwidth": "nvme_drive_write_bandwidth"}
#: field of the drives in a unit -> quantity
OF_UNIT_DRIVE = {
    "read_bandwidth": "unit_drive_read_bandwidth",
    "write_bandwidth": "unit_drive_write_bandwidth",
    "random_read_bandwidth": "unit_drive_random_bandwidth",
    "io_per_second": "unit_drive_io_per_second",
}
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
    known.state(
        "path_judged", *(["job_estimated", *need.cases] if need.computed else []), *(["local_drives_judged"] if local else [])
    )
    for name, note in NEUTRAL.items():
        if known.find(name) is None:
            known.give({name: Input(1).by_default(note)})
    if entry.family in ("system", "software", "site"):
        known.state("made_of_drives", *(["disks_read_at_random"] if reads_at_random(known, need) else []))
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


#: field of a tier -> quantity
OF_TIER = {
    "capacity_min": "tier_capacity_min",
    "capacity_step": "tier_capacity_step",
    "capacity_max": "tier_capacity_max",
    "read_bandwidth_per_byte": "tier_read_bandwidth_per_byte",
    "write_bandwidth_per_byte": "tier_write_bandwidth_per_byte",
    "read_bandwidth_max": "tier_read_bandwidth_max",
    "write_bandwidth_max": "tier_write_bandwidth_max",
    "bandwidth_step": "tier_bandwidth_step",
    "io_per_second_per_byte": "tier_io_per_second_per_byte",
    "io_per_second_max": "tier_io_per_second_max",
    "metadata_per_second_max": "unit_opens_per_second",
}
OF_ENTRY = ("client_read_bandwidth", "client_write_bandwidth")  # Fields of a tier that replace those of the entry
USUAL = {
    "tier_capacity_min": assumed(2**40, "the smallest size is not published: 1 TiB", "set.tier_capacity_min"),
    "tier_capacity_step": assumed(
        2**40, "the step in which capacity is sold is not published: 1 TiB", "set.tier_capacity_step"
    ),
}
#: part of the capacity -> the need that decides it, and the rate without which it does not count
TIER_PARTS = {
    "tier_bytes_for_data": ("required_usable_bytes", ""),
    "tier_bytes_for_read": ("tier_read_needed", "tier_read_bandwidth_per_byte"),
    "tier_bytes_for_write": ("write_bandwidth_needed", "tier_write_bandwidth_per_byte"),
    "tier_bytes_for_requests": ("io_per_second_needed", "tier_io_per_second_per_byte"),
}


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
