"""Services that are rented by the byte: the tier and the capacity that a need takes, and what they cost by a file of prices."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Tier, Value
from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import IngestError, brief, expected_one_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.text import one_line
from ingest.units import parse

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
#: Fields of a tier that replace those of the entry.
OF_ENTRY = ("client_read_bandwidth", "client_write_bandwidth")
USUAL = {
    "tier_capacity_min": assumed(2**40, "the smallest size is not published: 1 TiB", "set.tier_capacity_min"),
    "tier_capacity_step": assumed(
        2**40, "the step in which capacity is sold is not published: 1 TiB", "set.tier_capacity_step"
    ),
}
#: part of the capacity -> the need that decides it, and the rate without which it does not count
PARTS = {
    "tier_bytes_for_data": ("required_usable_bytes", ""),
    "tier_bytes_for_read": ("tier_read_needed", "tier_read_bandwidth_per_byte"),
    "tier_bytes_for_write": ("write_bandwidth_needed", "tier_write_bandwidth_per_byte"),
    "tier_bytes_for_requests": ("io_per_second_needed", "tier_io_per_second_per_byte"),
}
#: what one file system of the tier offers -> formulas that yield it, the best first
OFFERS = {
    "tier_capacity": ("service_capacity_on_sale", "service_capacity"),
    "unit_usable_bytes": ("tier_capacity",),
    "unit_read_bandwidth": (
        "tier_read_ceiling",
        "tier_read_bandwidth",
        "service_read_of_steps",
        "service_bandwidth_in_steps",
        "tier_read_bandwidth_max",
    ),
    "unit_write_bandwidth": (
        "tier_write_ceiling",
        "tier_write_bandwidth",
        "service_write_of_steps",
        "service_bandwidth_in_steps",
        "tier_write_bandwidth_max",
    ),
    "unit_io_per_second": ("tier_requests_ceiling", "tier_io_per_second", "tier_io_per_second_max"),
}


class Prices(NamedTuple):
    """A dated price list of the user.

    Attributes:
        currency, date: of all prices.
        per_byte: price of a byte for a month, by service and tier.
    """

    path: str
    currency: str
    date: datetime.date
    per_byte: Mapping[tuple[str, str], float]

    def of(self, service: str, tier: str) -> dict[str, Input]:
        """The price of a tier as an input; empty where the list has none."""
        price = self.per_byte.get((service, tier))
        note = f"{self.path}, {self.date}"
        return {} if price is None else {"price_per_byte": Input(price, origin="user", note=note)}


def read_prices(path: str | Path) -> Prices:
    """Read a price list: `date`, `currency`, and under `prices` the price of a TiB for a month by service and tier.

    Raises:
        IngestError: unreadable, undated, or a price that is no number.
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
    """Refuse prices of what is not sold.

    Args:
        sold: the tiers of each service.

    Raises:
        IngestError: an unknown service or tier, with the nearest name.
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

    def rate(item: Value | None) -> float:
        return float("inf") if item is None else item.value

    return sorted(tiers, key=lambda name: rate(tiers[name].read_bandwidth_per_byte))


def of_tier(tier: Tier) -> dict[str, Input]:
    """The limits of a tier as inputs."""
    given = from_fields({quantity: getattr(tier, field) for field, quantity in OF_TIER.items()})
    if tier.shared == "yes" and "tier_write_bandwidth_per_byte" not in given and "tier_read_bandwidth_per_byte" in given:
        given["tier_write_bandwidth_per_byte"] = given["tier_read_bandwidth_per_byte"]
    return {**USUAL, **given}


def in_tier(tier: Tier) -> dict[str, object]:
    """The fields of the entry that the tier replaces."""
    return {name: item for name in OF_ENTRY if (item := getattr(tier, name)) is not None}


def provision(known: Quantities, tier: Tier) -> None:
    """Set the capacity that the need takes of a tier, and what one file system of that capacity delivers."""
    for name in ("read_bandwidth_needed", "write_bandwidth_needed"):
        if known.find(name) is None:
            known.give({name: Input(0, grade="zero", note=f"no {name} is given")})
    if tier.shared == "yes":
        known.choose("tier_read_needed", "read_and_write_needed")
    else:
        known.choose("tier_read_needed", "read_bandwidth_needed")
    for part, (name, rate) in PARTS.items():
        needed = known.find(name)
        if needed is None or not needed.value or (rate and known.find(rate) is None):
            known.give_default(part, Input(0, grade="zero", note="does not decide the capacity"))
    for name, formulas in OFFERS.items():
        known.choose_first(name, *formulas)
