"""A catalog entry as known quantities, and how many units of it the need takes."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.answer import Known
from ingest.catalog.records import Storage, Value
from ingest.catalog.store import Catalog
from ingest.errors import MissingQuantity, UsageError
from ingest.ladder import Given, from_catalog
from ingest.storage.need import Need

#: What a user may contest, and says with --set.
USUAL = {
    "fill_limit": Given(0.85, origin="default", note="filled to 85 % at most, where Ceph warns; say --set fill_limit=F"),
    "rebuild_share": Given(0.3, origin="default", note="a rebuild takes 30 % of the bandwidth; say --set rebuild_share=F"),
    "request_bytes_max": Given(1_048_576, origin="default", note="requests of at most 1 MiB; say --io-size"),
    "reference_io_bytes": Given(1_048_576, origin="default", note="published rates stand for requests of 1 MiB or more"),
    "request_seconds": Given(
        0.0005, origin="default", note="0.5 ms for a small read over a network; say --set request_seconds=T"
    ),
    "readers_per_gpu": Given(
        4, origin="default", source="mlperf-storage-v2", where="configs/dlio/workload/unet3d_h100.yaml, read_threads",
        note="four readers for each GPU; say --set readers_per_gpu=N",
    ),
    "cache_memory_share": Given(
        0.5, origin="default", note="half of the host memory is left to cache data; say --set cache_memory_share=F"
    ),
    "stall_bridged_seconds": Given(
        1, origin="default", note="prefetching bridges a pause of 1 s; say --set stall_bridged_seconds=T"
    ),
}  # fmt: skip
#: field of an entry, and the quantity that it gives
OF_UNIT = {
    "read_bandwidth": "unit_read_bandwidth",
    "write_bandwidth": "unit_write_bandwidth",
    "io_per_second": "unit_io_per_second",
    "opens_per_second_shown": "unit_opens_per_second",
    "opens_per_second": "unit_opens_per_second",
    "creates_per_second": "unit_creates_per_second",
    "usable_bytes": "unit_usable_bytes",
    "raw_bytes": "unit_raw_bytes",
}
OF_CLIENT = {
    "client_read_bandwidth": "client_bandwidth_per_node",
    "client_write_bandwidth": "client_write_bandwidth_per_node",
    "gpu_read_bandwidth": "client_bandwidth_per_gpu",
    "nic_efficiency": "nic_efficiency",
    "request_latency": "request_seconds",
    "reference_io_bytes": "reference_io_bytes",
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


def _fields(entry: Storage, names: dict[str, str]) -> dict[str, Given]:
    values: list[tuple[str, Value | None]] = [(quantity, getattr(entry, field)) for field, quantity in names.items()]
    return {quantity: from_catalog(value) for quantity, value in values if value is not None}


def known_of(entry: Storage, client: Storage | None, protection: Storage | None, need: Need) -> Known:
    """Need and system as known quantities; what the user set by name wins over the catalog.

    Args:
        entry: the system.
        client: another entry whose client reaches the system, or None for its own.
        protection: the protection scheme, or None where the entry states a usable share.
        need: what is asked.
    """
    given = {**USUAL, **_fields(entry, OF_UNIT), **_fields(client or entry, OF_CLIENT), **_fields(entry, OF_SYSTEM)}
    if protection is not None:
        given |= _fields(protection, OF_PROTECTION)
        if entry.family != "system":
            # The share follows from k and m, with every digit; a whole system states its own, spares included.
            given.pop("protection_efficiency", None)
    given |= _of_drive(entry) | _measured_with(entry, client, need.model)
    known = Known({**given, **need.given})
    if entry.family == "drive" and need.given.get("nvme_read_bandwidth_per_node", Given(0)).origin != "user":
        # The drives in question take the place of those that the node usually has.
        known.given.pop("nvme_read_bandwidth_per_node", None)
    # Another encoding or size of the samples makes another data set.
    _choose_first(known, "dataset_bytes", ("bytes_of_samples",))
    if entry.family == "drive" and "required_usable_bytes" not in known.given and _is_known(known, "dataset_bytes"):
        # Local drives serve only what has been staged on them.
        known.choose("required_usable_bytes", "dataset_bytes")
    for name, source in need.computed.items():
        known.choose(name, source)
    _follow(known, entry)
    return known


def _follow(known: Known, entry: Storage) -> None:
    """What follows in one of several ways; where in none, the neutral value."""
    local = ("nvme_bandwidth_of_drives",) if entry.family == "drive" else ()
    _choose_first(known, "nvme_read_bandwidth_per_node", ("nvme_bandwidth_of_drives",))
    _choose_first(known, "client_bandwidth_per_node", (*local, "client_bandwidth_of_gpus", "client_bandwidth_of_nics"))
    _choose_first(known, "io_bytes", ("request_bytes_of_open",))
    _choose_first(known, "requests_in_flight_per_node", ("requests_in_flight_of_readers",))
    neutral = {
        "small_read_factor": "requests as large as when the rate was measured",
        "decoded_expansion": "as many bytes decoded as stored",
    }
    for name, note in neutral.items():
        if not _is_known(known, name):
            known.given[name] = Given(1, origin="default", note=note)


def _choose_first(known: Known, name: str, formulas: tuple[str, ...]) -> None:
    for formula in formulas:
        if _is_known(known, formula):
            known.choose(name, formula)
            return


def _is_known(known: Known, name: str) -> bool:
    try:
        known.step(name)
    except MissingQuantity:
        return False
    return True


def _of_drive(entry: Storage) -> dict[str, Given]:
    if entry.family != "drive" or entry.read_bandwidth is None:
        return {}
    written = entry.write_bandwidth
    return {
        "nvme_drive_read_bandwidth": from_catalog(entry.read_bandwidth),
        **({"nvme_drive_write_bandwidth": from_catalog(written)} if written is not None else {}),
    }


def _measured_with(entry: Storage, client: Storage | None, model: str) -> dict[str, Given]:
    """Ceilings that were measured with the very data set; the size of its requests is in them already."""
    found: dict[str, Given] = {}
    if model in entry.read_bandwidth_by_model:
        name = "nvme_drive_read_bandwidth" if entry.family == "drive" else "unit_read_bandwidth"
        found[name] = from_catalog(entry.read_bandwidth_by_model[model])
        if entry.family == "drive":
            found["small_read_factor"] = Given(1, note=f"measured with the data set of {model}")
    if model in (client or entry).client_read_bandwidth_by_model:
        found["client_bandwidth_per_node"] = from_catalog((client or entry).client_read_bandwidth_by_model[model])
        found["small_read_factor"] = Given(1, note=f"measured with the data set of {model}")
    return found


def protection_of(entry: Storage, asked: str | None, catalog: Catalog) -> Storage | None:
    """The protection scheme asked for, or the entry's own or default one.

    Raises:
        UsageError: no such scheme.
    """
    if asked is not None:
        found = catalog.get(Storage, asked)
        if found.family != "protection":
            schemes = [one.id for one in catalog.all(Storage) if one.family == "protection"]
            raise UsageError(f"--protection: {found.id} is no protection scheme, expected one of {', '.join(schemes)}")
        return found
    if entry.family == "protection":
        return entry
    return catalog.referred(Storage, entry.protections[0], by=entry.path) if entry.protections else None


def size_units(known: Known, need: Need, entry: Storage, asked: float | None) -> str:
    """Choose how many units there are; return what their number leaves out, or nothing.

    A part of the need whose rate per unit is not known does not count: its layer stays unjudged.
    """
    apart, shown = metadata_apart(entry), entry.opens_per_second is None and entry.opens_per_second_shown is not None
    elsewhere = {"units_for_opens", "units_for_creates"} if apart else {"units_for_opens"} if shown else set()
    unknown = _settle(known, need, {part: name for part, name in PARTS.items() if part not in elsewhere})
    for part in elsewhere:
        why = "metadata servers open and create files" if apart else "what a run has shown is no limit to count by"
        known.given.setdefault(part, Given(0, grade="zero", note=why))
    if apart:
        _settle(known, need, METADATA_PARTS)
    for part, name in DRIVE_PARTS.items():
        if any(given in known.given for given in OF_A_DRIVE) and not need.asks(name):
            known.given.setdefault(part, nothing(name))
    if asked is not None:
        known.given["units"] = Given(asked, origin="user")
    elif entry.fixed:
        known.given["units"] = Given(1, note="one site, as it stands")
    elif known.value("units_required") >= 1:
        known.choose("units", "units_required")
    else:
        known.given["units"] = Given(1, origin="default", note="one unit: nothing is asked that would count units")
    return f"units_required leaves out {' and '.join(unknown)}: the rate of one unit is not known" if unknown else ""


def metadata_apart(entry: Storage) -> bool:
    """Whether servers of their own open and create the files of a system."""
    return entry.files_max is not None or entry.opens_per_metadata_server is not None


def _settle(known: Known, need: Need, parts: Mapping[str, str]) -> list[str]:
    """Parts that are not asked for, or whose rate is not known, count nothing; returns the latter."""
    unknown = []
    for part, name in parts.items():
        if not _asked(known, need, name):
            known.given.setdefault(part, nothing(name))
        elif not _is_known(known, part):
            unknown.append(part.removeprefix("units_for_"))
            known.given[part] = Given(0, grade="zero", note="not counted: the rate of one unit is not known")
    return unknown


def nothing(name: str) -> Given:
    """None of a thing, because the need does not ask for it."""
    return Given(0, grade="zero", note=f"no {name} is given")


def _asked(known: Known, need: Need, name: str) -> bool:
    if name == "io_per_second_needed":
        # Few systems publish a rate of requests; where one does, it counts.
        return _is_known(known, name) and "unit_io_per_second" in known.given
    return need.asks(name)
