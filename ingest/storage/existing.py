"""Storage that is in place: what it delivers of a need, what is missing, and measured paths as entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Storage, Value
from ingest.catalog.store import Catalog
from ingest.engine.value import Input
from ingest.errors import IngestError, brief, expected_one_of
from ingest.files import read_json_object
from ingest.storage.data_path import CAPACITY, CREATES, MEASURED, OPENS, READS, WRITES, Layer, judge, shown_only
from ingest.storage.need import Need, need_in
from ingest.storage.system_quantities import System, known_of, protection_of, with_technology
from ingest.storage.units_required import Spare, count_units
from ingest.text import one_line

#: need -> the layer of the storage that meets it
LAYERS: Mapping[str, Layer] = {one.need: one for one in (READS, WRITES, CAPACITY, OPENS, CREATES)}
#: key of an item of `storage.existing` -> what it holds
KEYS = {
    "system": "an id of the storage catalog or a YAML file",
    "measured": "a result of `measure-storage`",
    "units": "a count",
}
#: result of `measure-storage` -> the fields of an entry that it sets
FROM_MEASUREMENT = {
    "read_bandwidth": ("client_read_bandwidth", "read_bandwidth"),
    "write_bandwidth": ("client_write_bandwidth", "write_bandwidth"),
    "small_read_latency": ("request_latency",),
    "capacity": ("usable_bytes",),
}


class Stock(NamedTuple):
    """What is in place of one need.

    Attributes:
        name: the quantity needed.
        need, have: in base units; `have` is None where nothing of it is known.
        at_least: more may be in place than is known.
    """

    name: str
    need: float
    have: float | None
    at_least: bool = False

    @property
    def missing(self) -> float | None:
        """What is to be added; None where that is unknown."""
        return None if self.have is None else max(self.need - self.have, 0)


class LineStock(NamedTuple):
    """What is in place of one requirement line; `have` and `missing` are None where that is unknown."""

    id: str
    priority: str
    unit: str
    need: float
    have: float | None = None
    missing: float | None = None
    at_least: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON: numbers in base units."""
        return self._asdict()


def measured_entry(path: str | Path) -> Storage:
    """The result of `measure-storage` as a client whose ceilings were measured.

    Raises:
        IngestError: another file.
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
    fields: dict[str, Any] = {"reference_io_bytes": _measured(path, "io_size", inputs.get("io_size"), "B", where)}
    for result, names in FROM_MEASUREMENT.items():
        if result in results:
            unit = Storage.shapes[names[0]].unit
            fields |= dict.fromkeys(names, _measured(path, result, results[result], unit, where))
    name = f"measured path of {Path(path).name}"
    return Storage(Path(path).stem, Path(path), name=name, family="client", scaling_unit="client", fixed=MEASURED, **fields)


def _measured(path: str | Path, name: str, item: Any, unit: str, where: str) -> Value:
    number = item.get("value") if isinstance(item, dict) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
        raise IngestError(f"{path}: {name}: found {brief(number)}, expected a number above 0")
    if item.get("unit") != unit:
        raise IngestError(f"{path}: {name}: unit: found {brief(item.get('unit'))}, expected '{unit}'")
    return Value(number, unit, "", "measured", where)


def stock_of(need: Need, catalog: Catalog) -> tuple[Stock, ...]:
    """What the storage in place delivers of each need; empty where the site lists none."""
    if not need.existing:
        return ()
    items = [_item(one, catalog) for one in need.existing]
    held = [_ceilings(need, entry, units, catalog) for entry, units in items]
    stock = []
    for name, layer in LAYERS.items():
        if not need.requires(name):
            continue
        amounts = [ceilings.get(layer, (None, True)) for ceilings in held]
        known = [amount for amount, _ in amounts if amount is not None]
        unsure = len(known) < len(amounts) or any(at_least for amount, at_least in amounts if amount is not None)
        have = sum(known) if known else None
        needed = need.given[name].value if name in need.given else known_of(System(_nothing()), need).value(name)
        stock.append(Stock(name, float(needed), have, unsure))
    return tuple(stock)


def _nothing() -> Storage:
    return Storage("nothing", Path(), name="nothing", family="client", scaling_unit="client")


def _item(item: Any, catalog: Catalog) -> tuple[Storage, float]:
    """An item of `storage.existing`: the entry and its units.

    Raises:
        IngestError: neither a system nor a measured path.
    """
    place = "storage.existing"
    if isinstance(item, str):
        item = {"measured" if item.endswith(".json") else "system": item}
    if not isinstance(item, Mapping):
        raise IngestError(f"{place}: found {brief(item)}, expected an id, or keys and values: {', '.join(KEYS)}")
    if unknown := [key for key in item if key not in KEYS]:
        raise IngestError(f"{place}: unknown key '{unknown[0]}', {expected_one_of(unknown[0], KEYS)}")
    units = item.get("units", 1)
    if isinstance(units, bool) or not isinstance(units, (int, float)) or units <= 0:
        raise IngestError(f"{place}: units: found {brief(units)}, expected a number above 0")
    if "measured" in item:
        return measured_entry(str(item["measured"])), 1
    if "system" not in item:
        raise IngestError(f"{place}: expected `system`, {KEYS['system']}, or `measured`, {KEYS['measured']}")
    return with_technology(catalog.get(Storage, str(item["system"])), catalog), float(units)


def _ceilings(need: Need, entry: Storage, units: float, catalog: Catalog) -> dict[Layer, tuple[float | None, bool]]:
    """What an entry delivers by layer, and whether it may be more."""
    system = System(entry, None, protection_of(entry, None, catalog))
    known = known_of(system, need)
    count_units(known, need, entry, units, Spare(False, False))
    found: dict[Layer, tuple[float | None, bool]] = {}
    for one in judge(known, LAYERS.values(), shown_only(entry, None, known)):
        # Of a bound it is unknown how much there is.
        found[one.layer] = (None if one.at_most else one.ceiling, one.at_least)
    return found


def without(need: Need, stock: tuple[Stock, ...]) -> Need:
    """The need less what is in place; the whole need where nothing is missing."""
    missing = {one.name: one.missing for one in stock if one.missing is not None}
    if not any(missing.values()):
        return need
    given = {
        name: Input(amount, origin="user", note="what the storage in place leaves missing") for name, amount in missing.items()
    }
    # All of it crosses the network between nodes and storage.
    carried = max((one.need for one in stock if one.name in (READS.need, WRITES.need)), default=0)
    given["fabric_bandwidth_needed"] = Input(carried, origin="user", note="the whole need")
    high = {name: end for name, end in need.high.items() if name not in given}
    kept = {name: item for name, item in {**need.given, **given}.items() if item.value or name not in missing}
    return replace(need, given=kept, high=high)


def lines_of_stock(need: Need, stock: tuple[Stock, ...]) -> tuple[LineStock, ...]:
    """Need, have and missing of every requirement line."""
    have = {one.name: one for one in stock}
    found = []
    for line in need.lines:
        held = have.get(need_in(line))
        if held is None or held.have is None:
            found.append(LineStock(line.id, line.priority, line.unit, line.value))
        else:
            missing = max(line.value - held.have, 0)
            found.append(LineStock(line.id, line.priority, line.unit, line.value, held.have, missing, held.at_least))
    return tuple(found)
