"""Storage that is in place: what it delivers of a need, what is missing, and measured paths as entries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Storage, Tier, Value
from ingest.catalog.store import Catalog
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import confined, read_json_object
from ingest.storage import data_path
from ingest.storage.data_path import ROUNDING, judge, opens_of, shown_only
from ingest.storage.need import REQUIRABLE, Need
from ingest.storage.system_quantities import (
    MEASURED,
    Spare,
    System,
    count_units,
    in_tier,
    known_of,
    of_tier,
    protection_of,
    provision,
    with_technology,
)
from ingest.text import one_line
from ingest.units import display, parse, written_in_file

#: Needs of which several systems deliver the sum.
ADDED_UP = [name for name in REQUIRABLE if name != "node_read_bandwidth_needed"]
#: key of an item of `storage.existing` -> what it holds
KEYS = {
    "system": "an id of the storage catalog or a YAML file",
    "measured": "a result of `measure-storage`",
    "units": "a count of a system",
    "tier": "a tier of a service",
    "capacity": "the capacity provisioned of that tier",
}
#: Classes of which units can be in place, and why the others cannot.
OWNED = ("system", "site")
NOT_IN_PLACE = {
    "software": "is software: measure its path (`measured`), or describe a server in a YAML file of the class system",
    "client": "is a path to storage: expected the storage behind it",
    "drive": "is a part of a system: expected the system",
    "protection": "is a scheme, not storage: expected the system that it protects",
    "guidance": "is a vendor’s guidance: expected the system bought by it",
}
#: result of `measure-storage` -> the fields of an entry that it sets
FROM_MEASUREMENT = {
    "read_bandwidth": ("client_read_bandwidth", "read_bandwidth"),
    "write_bandwidth": ("client_write_bandwidth", "write_bandwidth"),
    "small_read_latency": ("request_latency",),
    "capacity": ("usable_bytes",),
}
#: No storage at all: a need by itself.
NOTHING = Storage("nothing", Path(), name="nothing", family="client", scaling_unit="client")


class Stock(NamedTuple):
    """What is in place of one need."""

    name: str  # the quantity needed
    #: need, have: in base units; `have` is None where nothing of it is known
    need: float
    have: float | None
    at_least: bool = False  # more may be in place than is known

    @property
    def missing(self) -> float | None:
        """What is to be added; None where that is unknown."""
        given = {"amount_needed": self.need, "amount_in_place": self.have or 0}
        return None if self.have is None else float(solve("amount_missing", given))


class LineStock(NamedTuple):
    """What is in place of one requirement line; `have` and `missing` are None where that is unknown."""

    id: str
    priority: str
    unit: str
    need: float
    have: float | None = None
    missing: float | None = None
    at_least: bool = False


def measured_entry(path: str | Path, io_bytes: float | None = None) -> Storage:
    """The result of `measure-storage`, as JSON, as a client whose ceilings were measured.

    Smaller requests of the need are judged by the points of a sweep that were measured with requests of at most their size.

    Raises IngestError: another file.
    """
    data = read_json_object(Path(path), "a result of `ingest measure-storage --format json`", most=2**24)
    results, inputs = data.get("results"), data.get("inputs")
    if data.get("command") != "measure-storage" or not isinstance(results, dict):
        raise IngestError(f"{path}: found the result of '{one_line(str(data.get('command')))}', expected measure-storage")
    if not isinstance(inputs, dict):
        raise IngestError(f"{path}: inputs: found {brief(inputs)}, expected keys and values")
    if not any(name in results for name in FROM_MEASUREMENT):
        raise IngestError(f"{path}: results: found {brief(results)}, expected one of {', '.join(FROM_MEASUREMENT)}")
    measured = inputs.get("path", {})
    if not isinstance(measured, dict):
        raise IngestError(f"{path}: inputs: path: found {brief(measured)}, expected keys and values")
    where = f"measure-storage of {one_line(str(measured.get('value', '')))}"
    size = _measured(path, "io_size", inputs.get("io_size"), "B", where)
    points = data.get("points")
    if io_bytes is not None and io_bytes < size.value and isinstance(points, list):
        # The knee, or the fastest point, of a sweep with the largest requests up to the size.
        listed = [one for one in points if isinstance(one, Mapping) and isinstance(one.get("read_bandwidth"), (int, float))]
        sizes = [each for one in points if isinstance(one, Mapping) and isinstance(each := one.get("io_size"), int)]
        largest = max((each for each in sizes if 0 < each <= io_bytes), default=None)
        known = [one for one in listed if largest is not None and one.get("io_size") == largest]
        for point in sorted(known, key=lambda one: (not one.get("knee"), -one["read_bandwidth"]))[:1]:
            size = size._replace(value=point["io_size"])
            rates = {name: point[name] for name in ("read_bandwidth", "write_bandwidth") if name in point}
            results = {**results, **{name: {"value": rate, "unit": "B/s"} for name, rate in rates.items()}}
    fields: dict[str, Any] = {"reference_io_bytes": size}
    for result, names in FROM_MEASUREMENT.items():
        if result in results:
            fields |= dict.fromkeys(names, _measured(path, result, results[result], Storage.shapes[names[0]].unit, where))
    name = f"measured path of {Path(path).name}, one machine"
    return Storage(Path(path).stem, Path(path), name=name, family="client", scaling_unit="client", fixed=MEASURED, **fields)


def _measured(path: str | Path, name: str, item: Any, unit: str, where: str) -> Value:
    number = item.get("value") if isinstance(item, dict) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
        raise IngestError(f"{path}: {name}: found {brief(number)}, expected a number above 0")
    if item.get("unit") != unit:
        raise IngestError(f"{path}: {name}: unit: found {brief(item.get('unit'))}, expected '{unit}'")
    return Value(number, unit, "", "measured", where)


class InPlace(NamedTuple):
    """An item of `storage.existing`: so many units of an entry, or the capacity provisioned of a tier."""

    entry: Storage
    units: float = 1
    tier: Tier | None = None
    capacity: float = 0


def _item(item: Any, place: str, folder: Path, catalog: Catalog) -> InPlace:
    """An item of `storage.existing`. Raises IngestError: neither a system, a tier of a service nor a measured path."""
    if isinstance(item, str):
        item = {"measured" if item.endswith(".json") else "system": item}
    if ("measured" in item) == ("system" in item):
        found = "both" if "system" in item else "neither"
        raise IngestError(f"{place}: found {found}, expected `system`, {KEYS['system']}, or `measured`, {KEYS['measured']}")

    def only(what: str, *keys: str) -> None:
        if extra := [key for key in item if key not in keys]:
            raise IngestError(f"{place}.{extra[0]}: not used by {what}, expected {' and '.join(keys)}")

    if "measured" in item:
        only("a measured path", "measured")
        return InPlace(measured_entry(folder / str(item["measured"])))
    try:
        entry = catalog.get(Storage, str(item["system"]))
    except UsageError as error:
        raise IngestError(f"{place}.system: {error}") from None
    entry = with_technology(entry, catalog)
    if entry.tiers:
        only(f"{entry.id}, a service", "system", "tier", "capacity")
        return _rented(entry, item, place)
    if entry.family not in OWNED:
        raise IngestError(f"{place}: {entry.id} {NOT_IN_PLACE.get(entry.family, 'has no tiers: expected a system')}")
    only(entry.id, "system", "units")
    units = item.get("units", 1)
    if entry.fixed and units != 1:
        raise IngestError(f"{place}.units: found {brief(units)}, expected 1: {entry.id} exists once")
    return InPlace(entry, float(units))


def _rented(entry: Storage, item: Mapping[str, Any], place: str) -> InPlace:
    """A tier of a service and its capacity, within the sizes on sale."""
    name, expected = str(item.get("tier", "")), f"expected a tier of {entry.id} (`ingest catalog show {entry.id}`)"
    if name not in entry.tiers:
        found = f"found {brief(name)}" if name else "missing"
        raise IngestError(f"{place}.tier: {found}, {expected}{nearest(name, entry.tiers)}")
    tier, option = entry.tiers[name], f"{place}.capacity"
    if "capacity" not in item:
        raise IngestError(f"{option}: missing, expected the capacity provisioned of {entry.id} {name}, such as 500 TiB")
    try:
        capacity = float(parse(written_in_file(item["capacity"]), "B", option))
    except UsageError as error:
        raise IngestError(str(error)) from None
    least, most = (one.value if one else end for one, end in ((tier.capacity_min, 0), (tier.capacity_max, math.inf)))
    if capacity <= 0 or not least * (1 - ROUNDING) <= capacity <= most * (1 + ROUNDING):
        above = f"from {display(least, 'B', binary=False)}" if least else "above 0"
        to = f" to {display(most, 'B', binary=False)}" if most < math.inf else ""
        raise IngestError(f"{option}: found {brief(item['capacity'])}, expected a capacity {above}{to}, the sizes of {name}")
    return InPlace(in_tier(entry, tier), tier=tier, capacity=capacity)


def stock_of(need: Need, catalog: Catalog) -> tuple[Stock, ...]:
    """What the storage in place delivers of each need; empty where the site lists none."""
    if not need.existing:
        return ()
    items = []
    for one in need.existing:
        with confined(one.folder, *catalog.folders):
            items.append(_item(one.item, one.place, one.folder, catalog))
    held = [_delivered(need, one, catalog) for one in items]
    needs, found = known_of(System(NOTHING), need), []
    for name in filter(need.requires, REQUIRABLE):
        # The sum of what each item delivers; what one node reads is not added up.
        amounts = [amounts[name] for amounts in held if name in amounts] if name in ADDED_UP else []
        have, at_least = None, True
        if amounts:
            have = float(solve("amount_in_place", {"amounts_in_place": [amount for amount, _ in amounts]}))
            at_least = len(amounts) < len(held) or any(more for _, more in amounts)
        found.append(Stock(name, needs.value(name), have, at_least))
    return tuple(found)


def _delivered(need: Need, one: InPlace, catalog: Catalog) -> dict[str, tuple[float, bool]]:
    """What an item delivers by need, and whether it may be more; nothing where that is unknown or only a bound."""
    entry, chosen = one.entry, of_tier(one.tier) if one.tier else {}
    known = known_of(System(entry, None, protection_of(entry, None, catalog), chosen=chosen), need)
    if one.tier is not None:
        known.give({"tier_capacity": Input(one.capacity, origin="user")})
        provision(known, one.tier)
    count_units(known, need, entry, one.units, Spare(False, False))
    path = (*data_path.SYSTEM, *data_path.OF_SYSTEM, opens_of(entry, known))
    judged = judge(known, path, shown_only(entry, None, known))
    return {found.layer.need: (found.ceiling, found.at_least) for found in judged if found.ceiling and not found.at_most}


def without(need: Need, stock: tuple[Stock, ...]) -> Need:
    """The need less what is in place; the whole need where nothing is missing."""
    missing = {one.name: one.missing for one in stock if one.missing is not None}
    if not any(missing.values()):
        return need
    given = {
        name: Input(amount, origin="user", note="what the storage in place leaves missing") for name, amount in missing.items()
    }
    # All of it crosses the network between nodes and storage.
    carried = max((one.need for one in stock if one.name in [layer.need for layer in data_path.SYSTEM]), default=0)
    given["fabric_bandwidth_needed"] = Input(carried, origin="user", note="the whole need")
    high = {name: end for name, end in need.high.items() if name not in given}
    if missing.get(data_path.CAPACITY.need) == 0:
        held = need.given[data_path.CAPACITY.need].value
        given[data_path.DATA.need] = Input(
            held, origin="user", note="the storage in place holds it; reads need it where they go"
        )
    kept = {name: item for name, item in {**need.given, **given}.items() if item.value or name not in missing}
    return replace(need, given=kept, high=high)
