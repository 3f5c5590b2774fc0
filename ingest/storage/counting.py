"""How many units of a system the need takes, and which part of the need decides."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.catalog.records import Storage
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity
from ingest.messages import Message
from ingest.storage.need import Need
from ingest.storage.supply import is_known

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
