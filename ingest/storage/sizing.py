"""A catalog entry as known quantities, and how many units of it the need takes."""

from __future__ import annotations

from ingest.answer import Known
from ingest.catalog.records import Storage, Value
from ingest.catalog.store import Catalog
from ingest.errors import MissingQuantity, UsageError
from ingest.formula import unit_of
from ingest.ladder import Given, from_catalog
from ingest.storage.need import Need

#: Ceph warns above this fill; a file system that is fuller fragments and slows down.
USUAL_FILL = Given(0.85, origin="default", note="filled to 85 % at most, where Ceph warns; say --set fill_limit=F")
USUAL_REBUILD = Given(0.3, origin="default", note="a rebuild takes 30 % of the bandwidth; say --set rebuild_share=F")
USUAL_REQUEST = Given(
    1_048_576, origin="default", note="requests of at most 1 MiB; say --io-size, or --set request_bytes_max=N"
)
USUAL_REFERENCE = Given(1_048_576, origin="default", note="published rates stand for requests of 1 MiB or more")
USUAL_LATENCY = Given(0.0005, origin="default", note="0.5 ms for a small read over a network; say --set request_seconds=T")
USUAL_READERS = Given(
    4, origin="default", source="mlperf-storage-v2", where="configs/dlio/workload/unet3d_h100.yaml, read_threads",
    note="four readers for each GPU; say --set readers_per_gpu=N",
)  # fmt: skip
#: field of an entry, and the quantity that it gives
OF_UNIT = {
    "read_bandwidth": "unit_read_bandwidth",
    "write_bandwidth": "unit_write_bandwidth",
    "io_per_second": "unit_io_per_second",
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


def _fields(entry: Storage, names: dict[str, str]) -> dict[str, Given]:
    values: dict[str, Value | None] = {quantity: getattr(entry, field) for field, quantity in names.items()}
    return {quantity: from_catalog(value) for quantity, value in values.items() if value is not None}


def known_of(entry: Storage, client: Storage | None, protection: Storage | None, need: Need) -> Known:
    """Need and system as known quantities; what the user set by name wins over the catalog.

    Args:
        entry: the system.
        client: another entry whose client reaches the system, or None for its own.
        protection: the protection scheme, or None where the entry states a usable share.
        need: what is asked.
    """
    defaults = {
        "fill_limit": USUAL_FILL,
        "rebuild_share": USUAL_REBUILD,
        "request_bytes_max": USUAL_REQUEST,
        "reference_io_bytes": USUAL_REFERENCE,
        "request_seconds": USUAL_LATENCY,
        "readers_per_gpu": USUAL_READERS,
    }
    given = {**defaults, **_fields(entry, OF_UNIT), **_fields(client or entry, OF_CLIENT), **_fields(entry, OF_SYSTEM)}
    if protection is not None:
        given |= _fields(protection, OF_PROTECTION)
        given |= {} if entry.usable_fraction else _fields(protection, {"usable_fraction": "protection_efficiency"})
    if "data_units" in given and entry.family != "system":
        given.pop("protection_efficiency", None)
    given |= _of_drive(entry) | _measured_with(entry, client, need.model)
    known = Known({**given, **need.given})
    for name, source in need.computed.items():
        known.choose(name, source)
    _choose_first(known, "client_bandwidth_per_node", ("client_bandwidth_of_gpus", "client_bandwidth_of_nics"))
    _choose_first(known, "io_bytes", ("request_bytes_of_open",))
    _choose_first(known, "requests_in_flight_per_node", ("requests_in_flight_of_readers",))
    if not _is_known(known, "small_read_factor"):
        known.given["small_read_factor"] = Given(1, origin="default", note="requests as large as when the rate was measured")
    if not _is_known(known, "decoded_expansion"):
        known.given["decoded_expansion"] = Given(1, origin="default", note="as many bytes decoded as stored")
    return known


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
    return {"nvme_drive_read_bandwidth": from_catalog(entry.read_bandwidth)}


def _measured_with(entry: Storage, client: Storage | None, model: str) -> dict[str, Given]:
    """Ceilings that were measured with the very data set; the size of its requests is in them already."""
    found: dict[str, Given] = {}
    if model in entry.read_bandwidth_by_model:
        found["unit_read_bandwidth"] = from_catalog(entry.read_bandwidth_by_model[model])
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


def size_units(known: Known, need: Need, fixed: bool, asked: float | None) -> dict[str, str]:
    """Choose how many units there are; return why the number required is not known, or nothing.

    A part of the need whose rate per unit is not known does not count: its layer stays unjudged.
    """
    unknown: dict[str, str] = {}
    for part, name in PARTS.items():
        if not _asked(known, need, name):
            known.given[part] = Given(0, note=f"{name} is not asked for")
        elif not _is_known(known, part):
            unknown[part] = f"{part}: the rate of one unit is not known"
            known.given[part] = Given(0, note=unknown[part])
    if asked is not None:
        known.given["units"] = Given(asked, origin="user")
    elif fixed:
        known.given["units"] = Given(1, note="one site, as it stands")
    elif known.value("units_required") >= 1:
        known.choose("units", "units_required")
    else:
        known.given["units"] = Given(1, origin="default", note="one unit: nothing is asked that would count units")
    return unknown


def _asked(known: Known, need: Need, name: str) -> bool:
    if name == "io_per_second_needed":
        # Few systems publish a rate of requests; where one does, it counts.
        return _is_known(known, name) and "unit_io_per_second" in known.given
    return need.asks(name) and unit_of(name) is not None
