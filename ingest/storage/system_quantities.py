"""Input quantities of a storage system from its catalog entry, with defaults and those of the need."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.engine.messages import Option
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import UsageError, expected_one_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.storage.need import Need

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
    "failure_domains": "failure_domains",
    "units_min": "units_min",
    "units_max": "units_max",
    "units_shown": "units_shown",
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
OF_PROTECTION = {"data_units": "data_units", "redundancy_units": "redundancy_units"}
OF_SYSTEM = {
    "usable_fraction": "protection_efficiency",
    "filesystem_efficiency": "filesystem_efficiency",
    "fill_limit": "fill_limit",
    "files_max": "files_per_metadata_server",
    "metadata_servers_max": "metadata_servers_max",
    "creates_per_metadata_server": "creates_per_metadata_server",
    "opens_per_metadata_server": "opens_per_metadata_server",
}
#: quantity -> formulas that yield it, the best first
FOLLOWS = {
    "nvme_read_bandwidth_per_node": ("nvme_bandwidth_of_drives",),
    "client_bandwidth_per_node": ("client_bandwidth_of_gpus", "client_bandwidth_of_nics"),
    "client_write_bandwidth_per_node": ("client_write_bandwidth_of_nics",),
    "io_bytes": ("request_bytes_of_open",),
    "requests_in_flight_per_node": ("requests_in_flight_of_readers",),
    "decode_samples_per_second_per_core": ("decode_rate_in_loader",),
}
#: capacity of a unit -> what its drives and their protection make of it
OF_RAW = {"unit_raw_bytes": "unit_raw_of_drives", "unit_usable_bytes": "unit_usable_of_raw"}
#: rate or capacity of a unit -> what its drives bound it by, where nothing is published of the unit
BOUNDS = {
    "unit_usable_bytes": ("unit_usable_bound", "unit_usable_of_largest_drives"),
    "unit_read_bandwidth": ("unit_read_bound",),
    "unit_write_bandwidth": ("unit_write_bound",),
    "unit_io_per_second": ("unit_requests_bound",),
}
#: Fields that an appliance shares with the software it runs.
SHARED = ("client_read_bandwidth", "client_write_bandwidth", "nic_efficiency", "request_latency", "reference_io_bytes")
#: Local drives are their own client and serve the data staged on them.
FOLLOWS_LOCALLY = {
    "client_bandwidth_per_node": ("nvme_bandwidth_of_drives",),
    "required_usable_bytes": ("dataset_bytes",),
}
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
    """A storage system as it is judged.

    Attributes:
        entry: the system.
        client: another entry whose client is used, or None for its own.
        protection: the protection scheme, or None where the entry states a usable share.
        drive: the kind of its drives, where it is known.
        chosen: inputs of the size of drive or the tier of a service that is considered, and what it is called.
    """

    entry: Storage
    client: Storage | None = None
    protection: Storage | None = None
    drive: Storage | None = None
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
    """Quantities of need and system; values that the user sets by name override the catalog.

    Args:
        system: the system, its client and its protection.
        need: bandwidth, capacity and metadata rates required.
    """
    entry, client = system.entry, system.client
    local = entry.family == "drive"
    supplied = {
        **DEFAULTS,
        **(LOCAL if local else {}),
        **_fields(entry, OF_DRIVE if local else OF_UNIT),
        **(_fields(system.drive, OF_UNIT_DRIVE) if system.drive else {}),
        **_fields(entry, {"request_latency": "request_seconds"}),
        **_fields(client or entry, OF_CLIENT),
        **_protected(entry, system.protection),
        **_measured_with(entry, client, need.model),
        **system.chosen,
    }
    known = Quantities({**supplied, **(_without_usual_drives(need.given) if local else need.given)})
    # Another encoding or size of the samples makes another data set.
    known.choose_first("dataset_bytes", "samples_bytes")
    for name, source in need.computed.items():
        known.choose(name, source)
    for name, formulas in (*(FOLLOWS_LOCALLY.items() if local else ()), *FOLLOWS.items()):
        known.choose_first(name, *formulas)
    for name, note in NEUTRAL.items():
        if known.find(name) is None:
            known.give({name: Input(1).by_default(note)})
    if entry.family in ("system", "software", "site"):
        _bound(known, need)
    return known


def _bound(known: Quantities, need: Need) -> None:
    """What nobody has published of a unit, from its drives: usable of raw capacity, and bounds."""
    for name, formula in OF_RAW.items():
        known.choose_first(name, formula)
    # Drives of which no rate at random is known read at random no faster than in sequence.
    known.choose_first("unit_drive_random_bandwidth", "unit_drive_read_bandwidth")
    for name, formulas in BOUNDS.items():
        if name == "unit_io_per_second" and not reads_at_random(known, need):
            continue
        if known.find(name) is None:
            known.choose_first(name, *formulas)


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


def _without_usual_drives(given: Mapping[str, Input]) -> Mapping[str, Input]:
    """The inputs without the drives that the node usually has: those under test replace them."""
    name = "nvme_read_bandwidth_per_node"
    return {key: item for key, item in given.items() if key != name or item.origin == "user"}


def _protected(entry: Storage, protection: Storage | None) -> dict[str, Input]:
    """Usable share of raw capacity, from the entry or from the protection scheme."""
    own = _fields(entry, OF_SYSTEM)
    if protection is None:
        return own
    scheme = _fields(protection, OF_PROTECTION)
    if entry.family in ("system", "service", "site"):
        # The published share of a whole system includes spares.
        return {**own, **scheme}
    # Elsewhere the share is k / (k + m), unrounded.
    return {**{name: item for name, item in own.items() if name != "protection_efficiency"}, **scheme}


def _fields(entry: Storage, names: dict[str, str]) -> dict[str, Input]:
    return from_fields({quantity: value for field, quantity in names.items() if (value := getattr(entry, field)) is not None})


def _measured_with(entry: Storage, client: Storage | None, model: str) -> dict[str, Input]:
    """Ceilings measured with the data set of a model, which include the effect of its I/O sizes."""
    own = "nvme_drive_read_bandwidth" if entry.family == "drive" else "unit_read_bandwidth"
    rates = {own: entry.read_bandwidth_by_model, "client_bandwidth_per_node": (client or entry).client_read_bandwidth_by_model}
    found = {name: from_catalog(by_model[model]) for name, by_model in rates.items() if model in by_model}
    if {*found} - {"unit_read_bandwidth"}:
        found["small_read_factor"] = Input(1, note=f"measured with the data set of {model}")
    return found


def protection_of(entry: Storage, name: str | None, catalog: Catalog) -> Storage | None:
    """The named protection scheme, or the entry's own or default one.

    Raises:
        UsageError: an entry that is not a protection scheme.
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
