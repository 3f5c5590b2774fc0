"""`ingest fit`: systems that meet a need, their bottlenecks and the units required."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import STORAGE_CLASSES, Storage, Tier
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.registry import check_value, solve, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import CatalogError, UsageError, brief, expected_one_of
from ingest.sizing.bandwidth import sized
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import job_of, quantities_of
from ingest.sizing.rules import unused
from ingest.storage import data_path, layers
from ingest.storage.data_path import LayerVerdict, layers_of, shown_only
from ingest.storage.existing import answer_alone, measured_entry, stock_of, without
from ingest.storage.fit_options import names_job, need_of
from ingest.storage.fit_result import RESULTS, Fit, Fits
from ingest.storage.need import REQUIRABLE, Need, from_numbers
from ingest.storage.services import Prices, check_prices, in_order, in_tier, of_tier, provision, read_prices
from ingest.storage.system_quantities import (
    System,
    changed,
    known_of,
    protection_of,
    reads_at_random,
    with_drives,
    with_technology,
)
from ingest.storage.units_required import DEGRADED, FURTHER, Spare, alternatives, count_units, decides
from ingest.units import display, parse

#: Every system of the catalogs that one can buy, rent or run.
ALL = "all"
#: Classes that `all` compares; entries of other classes are given by id.
COMPARED = ("system", "service", "software")
#: Classes of what is installed, which can lose a failure domain; that of a service is its operator's affair.
OWNED = ("system", "software")
#: Ceilings of the nodes and their links, which are no rates of the storage.
HARDWARE = {one.ceiling for one in layers.REMOTE if one.part == layers.NODE}
#: result -> the need without which it does not exist, and the options that set that need
REQUIRED_BY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "required_usable_bytes": ("required_usable_bytes", ("capacity",)),
    "required_raw_bytes": ("required_usable_bytes", ("capacity",)),
    "write_bandwidth_available": ("write_bandwidth_needed", ("write_bandwidth",)),
    "read_bandwidth_available": ("read_bandwidth_needed", ("read_bandwidth", "model")),
}


class Terms(NamedTuple):
    """The terms of a comparison.

    Attributes:
        client: id of the client, where an entry has none.
        protection: id of the protection scheme, where an entry has none or several.
        units: number of units; the number required by default.
        degraded: whether all reads must hold with one failure domain down and the rest rebuilding.
        spare: whether one failure domain is bought beyond the need, and 70 % of the reads must hold without it.
        sites: whether `all` includes installations that exist once.
        prices: a dated list of prices, by which the cheapest tier of a service is chosen.
    """

    client: str | None = None
    protection: str | None = None
    units: float | None = None
    degraded: bool = False
    spare: bool = True
    sites: bool = False
    prices: Prices | None = None


#: One failure domain spare, and no more.
PLAIN = Terms()


def fit_need(need: Need, storage: Sequence[str], catalog: Catalog, terms: Terms = PLAIN) -> Fits:
    """Compare systems with a need.

    Args:
        need: bandwidth, capacity and metadata rates required.
        storage: ids or YAML files, or `all` for every system, service and software of the catalogs.
        catalog: with the entries.
        terms: client, protection, units and spares.

    Raises:
        UsageError: an empty need, or an unknown id.
    """
    if not any(need.requires(name) for name in REQUIRABLE):
        raise UsageError("no need is given, expected --model and --gpu, --read-bandwidth, --capacity or a plan")
    stock = stock_of(need, catalog)
    requests = need.given.get("io_bytes")
    entries = _entries(storage, catalog, terms.sites, requests.value if requests is not None else None)
    if stock and not any(one.missing for one in stock):
        return Fits(need, (), catalog, ALL in storage, stock)
    wanted = without(need, stock)
    found = [_best(entry, wanted, terms, catalog) for entry in entries]
    wanted = replace(wanted, notes=(*wanted.notes, *_not_used(wanted, terms, [] if ALL in storage else entries)))
    return Fits(wanted, tuple(sorted(found, key=rank)), catalog, ALL in storage, stock)


def _not_used(need: Need, terms: Terms, entries: Sequence[Storage]) -> list[str]:
    """Options that change nothing."""
    found = []
    fixed = [one.id for one in entries if one.family in ("client", "drive") or one.tiers or one.usable_fraction is not None]
    if terms.protection is not None and fixed:
        found.append(f"--protection is not used: {', '.join(fixed)} sets its own usable capacity or has none to protect")
    if terms.client is not None and "nodes" not in need.given:
        found.append("--client is not used: the number of nodes is not known; set --nodes")
    return found


def rank(one: Fit) -> tuple[Any, ...]:
    """What fits first, then sizes beyond any installation, then those whose units are open; then by the share of ceilings
    that is known, published before recalled, then by headroom."""
    known = (0, 0) if one.fits is False else (-one.share_known, one.recalled)
    return (one.standing, *known, one.headroom is None, -(one.headroom or 0), one.entry.id)


def _entries(storage: Sequence[str], catalog: Catalog, sites: bool, io_bytes: float | None) -> list[Storage]:
    """The systems to compare."""
    named = {entry.id: entry for entry in (_storage_entry(name, catalog, io_bytes) for name in storage if name != ALL)}
    if ALL in storage:
        classes = (*COMPARED, *(("site",) if sites else ()))
        named |= {entry.id: with_technology(entry, catalog) for entry in catalog.all(Storage) if entry.family in classes}
    return list(named.values())


def _storage_entry(name: str, catalog: Catalog, io_bytes: float | None) -> Storage:
    """An entry of a class that has ceilings, or the result of `measure-storage`."""
    found = measured_entry(name, io_bytes) if str(name).endswith(".json") else catalog.get(Storage, name)
    if found.family not in STORAGE_CLASSES:
        raise CatalogError(f"{found.path}: family: found '{found.family}', {expected_one_of(found.family, STORAGE_CLASSES)}")
    return with_technology(found, catalog)


def _client(name: str, catalog: Catalog) -> Storage:
    """An entry with the rates of a client: no protection scheme and no drive."""
    found = catalog.get(Storage, name)
    if found.family not in ("client", "software"):
        known = ", ".join(entry.id for entry in catalog.all(Storage) if entry.family == "client")
        raise UsageError(f"--client: {found.id} is of the class {found.family}, expected a client: one of {known}")
    return with_technology(found, catalog)


def ids_in(storage: str | Path | Sequence[str]) -> list[str]:
    """Ids of storage systems, with commas between or as a list."""
    names = [storage] if isinstance(storage, (str, Path)) else storage
    return [part for name in names for part in str(name).split(",") if part]


def _best(entry: Storage, need: Need, terms: Terms, catalog: Catalog) -> Fit:
    """The verdict on an entry with the size of drive or the tier that suits the need."""
    tried = [_fit(system, need, terms, catalog) for system in _systems(entry, terms, catalog)]
    if len(tried) == 1:
        return tried[0]
    if entry.tiers:
        rows = tuple(one.tier_row for one in tried if one.fits is not False)
        return replace(_chosen_tier(tried), tiers=rows)
    return min(tried, key=_size)


#: Share by which the capacity of a lower tier may exceed the least that any tier takes: it costs less for each byte.
MORE_OF_A_LOWER_TIER = 0.25


def _chosen_tier(tried: Sequence[Fit]) -> Fit:
    """The tier of a service: of those that miss the fewest ceilings and leave the fewest unknown the cheapest by the prices.

    Without prices it is the lowest whose capacity is at most a quarter above the least that any of them takes.
    """
    reached = min(map(_shortfall, tried))
    left = [one for one in tried if _shortfall(one) == reached]
    priced = [one for one in left if one.cost is not None]
    if priced:
        return min(priced, key=lambda one: one.cost or 0)
    most = min(map(_rented, left)) * (1 + MORE_OF_A_LOWER_TIER)
    return next(one for one in left if _rented(one) <= most)


def _shortfall(one: Fit) -> tuple[int, int, int]:
    """Ceilings that are missed, file systems that would share the need, and ceilings that are unknown."""
    return sum(layer.holds is False for layer in one.layers), one.file_systems, len(one.not_known)


def _rented(one: Fit) -> float:
    """The capacity that a tier takes."""
    found = one.answer.known.find("tier_capacity")
    return math.inf if found is None else float(found.value)


def _size(one: Fit) -> tuple[bool, float, float]:
    """Order of the sizes of drive: fewest units, then the least raw capacity."""
    known = one.answer.known
    units, raw = known.find("units_required"), known.find("unit_raw_bytes")
    return (one.fits is False, units.value if units else 0, raw.value if raw else 0)


def _systems(entry: Storage, terms: Terms, catalog: Catalog) -> list[System]:
    """The forms in which an entry is sold: its tiers, its sizes of drive, or as it is."""
    client = _client(terms.client, catalog) if terms.client is not None else None
    protection = protection_of(entry, terms.protection, catalog)
    drive = catalog.referred(Storage, entry.drive, by=entry.path) if entry.drive else None
    made = System(entry, client, protection, drive, _largest_drive(entry, catalog))
    if entry.tiers:
        return [
            made._replace(entry=changed(entry, **in_tier(tier)), chosen=of_tier(tier), label=name)
            for name in in_order(entry.tiers)
            for tier in (entry.tiers[name],)
        ]
    sizes = entry.drive_choices if entry.drive_bytes is not None else {}
    return [
        made._replace(entry=with_drives(entry, name), label=f"{display(size.value, 'B', binary=False)} drives")
        for name, size in sizes.items()
    ] or [made]


def _largest_drive(entry: Storage, catalog: Catalog) -> Mapping[str, Input]:
    """The largest drive of the catalogs, which bounds a unit of which only the number of drives is known."""
    if entry.drives is None or entry.drive_bytes is not None:
        return {}
    sizes = [one.raw_bytes for one in catalog.all(Storage) if one.family == "drive" and one.raw_bytes]
    if not sizes:
        return {}
    return {"largest_drive_bytes": from_catalog(max(sizes, key=lambda one: one.value))}


def _fit(system: System, need: Need, terms: Terms, catalog: Catalog) -> Fit:
    entry = system.entry
    known = known_of(system, need)
    answer_alone(known, entry)
    tier = entry.tiers.get(system.label)
    if tier is not None:
        provision(known, tier)
        if terms.prices is not None:
            known.give(terms.prices.of(entry.id, system.label))
    loses = _can_lose_a_unit(entry, known, need)
    owned = entry.family in OWNED and not entry.fixed
    spare = Spare(terms.spare and owned, loses and (terms.spare or terms.degraded), 1 if terms.degraded and loses else None)
    left_out = count_units(known, need, entry, terms.units, spare)
    _with_zeros(known)
    path = _path(entry, known, tier, spare)
    judged = tuple(data_path.judge(known, path, shown_only(entry, system.client, known)))
    judged += _data_held(entry, known)
    if tier is not None and "tier_capacity_max" not in known.given:
        judged = data_path.without_largest_size(judged)
    if tier is not None and tier.disks == "yes" and reads_at_random(known, need):
        judged = data_path.of_disks(judged)
    narrow = data_path.bottleneck(judged)
    if narrow is not None and narrow.headroom is not None:
        known.adopt({"headroom_fraction": data_path.headroom_of(known, narrow.layer)})
    results, unknown = _results(known, need, judged, entry)
    fits = False if entry.verdict is not None else data_path.verdict(judged)
    if entry.family == "drive" and fits and layers.NVME_CAPACITY not in [one.layer for one in judged]:
        fits, left_out = None, Message("the bytes held on local drives are not known", supply=("capacity",))
    ceilings = known.results([one.layer.ceiling for one in judged if one.ceiling is not None])[0]
    units_fixed = (terms.units is not None and entry.family != "client") or bool(entry.fixed) or entry.family == "drive"
    of_degraded = DEGRADED if loses else ()
    more = known.results([*FURTHER, *of_degraded, *(["units"] if units_fixed else [])])[0]
    ways = alternatives(known, fits)
    beyond = _at_high_end(need, judged)
    answer = Answer(
        "fit",
        f"{entry.name}: {need.title}",
        {},
        known,
        {**ceilings, **{RESULTS[name]: item for name, item in results.items()}, **more},
        unknown,
        {"ways": ways} if ways else {},
        (*beyond, *([left_out] if left_out else [])),
        catalog,
    )
    one_down = _one_down(known, path) if loses else None
    decided = decides(known) if owned and not terms.units else ""
    spared = spare.kept and terms.units is None
    found = Fit(entry, fits, narrow, judged, {**results, **more}, answer, beyond, one_down, system.label, decided, spared)
    if tier is None:
        return found
    found = replace(found, file_systems=_file_systems(judged))
    if terms.prices is None:
        return found
    cost = known.find("cost_per_month")
    priced = f"{terms.prices.currency}, prices of {terms.prices.date}"
    return replace(found, cost=None if cost is None else float(cost.value), priced=priced)


def _file_systems(judged: Sequence[LayerVerdict]) -> int:
    """File systems of a tier that together meet the need which one of them does not; 1 where that is no way."""
    short = [one for one in judged if one.holds is False]
    if not short or any(one.times is None or one.layer not in layers.OF_ONE_FILE_SYSTEM for one in short):
        return 1
    return int(solve("file_systems_required", {"shortfall_factor": max(one.times for one in short if one.times)}))


def _path(entry: Storage, known: Quantities, tier: Tier | None, spare: Spare) -> tuple[layers.Layer, ...]:
    """The layers of the data path, with those of a loss and of a limit that reads and writes share."""
    path = layers_of(entry, known)
    if spare.judged:
        path += (layers.DEGRADED, *([layers.DEGRADED_REQUESTS] if layers.REQUESTS in path else []))
    return path + ((layers.READS_AND_WRITES,) if tier is not None and tier.shared == "yes" else ())


def _data_held(entry: Storage, known: Quantities) -> tuple[LayerVerdict, ...]:
    """The data that a system of unknown capacity must hold, where its units are counted for bandwidth alone."""
    held = known.find(layers.CAPACITY.need)
    if entry.family not in (*OWNED, "site") or (held is not None and held.value):
        return ()
    known.choose_first(layers.DATA.need, "dataset_bytes")
    if known.find("units_usable_bytes") is not None and not data_path.bound_behind(known, layers.DATA.of_unit):
        return ()
    found = data_path.judge(known, [layers.DATA], frozenset())
    # A bound settles nothing: units are not counted for these data.
    return tuple(
        one._replace(ceiling=None, headroom=None, at_most=False, why="its usable capacity is unknown") for one in found
    )


def _one_down(known: Quantities, path: Sequence[layers.Layer]) -> bool | None:
    """Whether all reads hold with one failure domain down, by bandwidth and by requests; None where that is unknown."""
    degraded = known.find("degraded_read_bandwidth")
    if degraded is None:
        return None
    if known.value("read_bandwidth_needed") > degraded.value:
        return False
    if layers.REQUESTS not in path or known.find("io_per_second_needed") is None:
        return True
    left = known.find("degraded_requests")
    return None if left is None else bool(known.value("io_per_second_needed") <= left.value)


def _with_zeros(known: Quantities) -> None:
    """A network between nodes and storage carries reads and writes, also where only one of them is needed."""
    if not any(name in known.given for layer in layers.FABRIC for name in layer.named_by):
        return
    for name in ("read_bandwidth_needed", "write_bandwidth_needed"):
        if known.find(name) is None:
            known.give({name: Input(0, grade="zero", note=f"no {name} is given")})


def _can_lose_a_unit(entry: Storage, known: Quantities, need: Need) -> bool:
    """Whether reads with one failure domain down are judged: of a system with a known rate and a read need."""
    owned = entry.family in OWNED and not entry.fixed
    return owned and need.requires("read_bandwidth_needed") and "unit_read_bandwidth" in known.given


def _at_high_end(need: Need, judged: Sequence[LayerVerdict]) -> tuple[str, ...]:
    """Layers that hold at the typical need and not at the high end of its range."""
    return tuple(
        f"{one.layer.name} meets the typical need, but not the high end of its range "
        f"({display(need.high[one.layer.need], one.unit, binary=False)} of {one.shown})"
        for one in judged
        if one.holds and need.high.get(one.layer.need, 0) > (one.ceiling or 0)
    )


def _results(
    known: Quantities, need: Need, judged: Sequence[LayerVerdict], entry: Storage
) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results of one system by their public names, and why others are missing."""
    of_nodes: dict[str, str] = {}
    for name, path in layers.AVAILABLE.items():
        rated = [one for one in judged if one.layer in path and _is_rate(one, entry)]
        # The NICs of the clients are no rate of the storage.
        if any(one.layer in layers.RATES_OF.get(entry.family, layers.SYSTEM) for one in rated):
            ceilings = [one.layer.ceiling for one in rated]
            if name == "read_bandwidth_available":
                # Requests of the size needed carry no more than this, also where their rate is a bound.
                counted = [one for one in judged if one.layer == layers.REQUESTS and one.ceiling and not one.at_least]
                ceilings += ["requests_read_ceiling"] * len(counted)
            narrowest = min(ceilings, key=known.value)
            if narrowest in HARDWARE:
                of_nodes[name] = f"the links of the nodes are narrower: {display(known.value(narrowest), 'B/s', binary=False)}"
            else:
                known.choose(name, narrowest)
    found: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    for name, quantity in RESULTS.items():
        computed = known.results([quantity])[0].get(quantity)
        required_by, options = REQUIRED_BY.get(quantity, ("", ()))
        if required_by and not need.requires(required_by):
            unknown[name] = Message("not required", supply=options)
        elif quantity in of_nodes:
            unknown[name] = of_nodes[quantity]
        elif computed is None or (name == "units_required" and not computed.value):
            unknown[name] = f"the inputs of {quantity.replace('_', ' ')} are not known"
        else:
            found[name] = computed
    return found, unknown


def _is_rate(judged: LayerVerdict, entry: Storage) -> bool:
    """Whether a ceiling is a rate: no bound, and no rate of one client of many; a measured path delivers what was measured."""
    shown = judged.at_least and entry.fixed != data_path.MEASURED
    return judged.ceiling is not None and not judged.at_most and not shown


def fit(
    plan: str | Path | None = None,
    *,
    storage: str | Sequence[str] = ALL,
    client: str | None = None,
    protection: str | None = None,
    units: str | float | None = None,
    read_bandwidth: str | float | None = None,
    write_bandwidth: str | float | None = None,
    capacity: str | float | None = None,
    opens: str | float | None = None,
    creates: str | float | None = None,
    files: str | float | None = None,
    io_size: str | float | None = None,
    priority: str = "mandatory",
    degraded: bool = False,
    no_spare: bool = False,
    sites: bool = False,
    prices: str | Path | None = None,
    catalogs: str | Path | Sequence[str | Path] = (),
    **question: Any,
) -> Fits:
    """Storage systems that meet a need, their bottlenecks and the units required.

    Args:
        plan: a site file, or the JSON that `ingest plan` wrote of it.
        storage: systems: `all`, or ids, YAML files and results of `measure-storage` with commas between.
        client: client that reaches the systems: `nfs-nconnect`, `lustre-e1000-1c`, …
        protection: protection scheme: `prot-rep3`, `prot-ec-8-3`, …; that of the system by default.
        units: units available; the number required by default.
        read_bandwidth: read rate, without a model.
        write_bandwidth: write rate, such as that of checkpoints.
        capacity: bytes to hold.
        opens: files opened each second.
        creates: files created each second.
        files: files to hold.
        io_size: bytes of one read request; by default the file, at most 1 MiB.
        priority: the lowest priority of a plan's lines that counts: `mandatory`, `target` or `information`.
        degraded: require the whole read rate with one failure domain down and the rest rebuilding.
        no_spare: count units without a spare failure domain.
        sites: compare installations that exist once as well.
        prices: YAML file with `date`, `currency` and `prices` of a TiB for a month, by service and tier.
        catalogs: folders with entries of your own.
        question: options of `bw`.

    >>> found = fit(read_bandwidth="500 GB/s", write_bandwidth="300 GB/s", capacity="1 PB", storage="ddn-ai400x2")
    >>> found.results["ddn-ai400x2"].results["units_required"].value
    7

    Raises:
        UsageError: an invalid option or combination of options.
        IngestError: a missing fact, and what to supply.
    """
    catalog = Catalog(catalogs)
    plain = from_numbers(
        read_bandwidth=read_bandwidth,
        write_bandwidth=write_bandwidth,
        capacity=capacity,
        opens=opens,
        creates=creates,
        files=files,
        io_size=io_size,
    )
    count = quantities_of({}, {"gpus": question.pop("gpus", None)}).get("gpus")
    asked = sized(job_of(**question), count, catalog)
    need = need_of(plan, plain, asked, catalog, priority)
    listed = ids_in(storage)
    if not listed:
        raise UsageError(f"--storage: found {brief(str(storage))}, expected ids with commas between, or all")
    counted = None if units is None else check_value("units", parse(units, unit_of("units"), "--units"), "--units")
    listed_prices = None if prices is None else read_prices(prices)
    if listed_prices is not None:
        check_prices(listed_prices, {entry.id: entry.tiers for entry in catalog.all(Storage) if entry.tiers})
    terms = Terms(client, protection, counted, degraded, not no_spare, sites, listed_prices)
    found = fit_need(need, listed, catalog, terms)
    # An estimate has its own warnings about the settings that it does not use.
    settings = () if names_job(asked) or not found.systems else asked.settings
    used = {name for one in found.systems for name in one.answer.used}
    notes = [unused(Option(f"set.{name}")) for name in settings if name not in used]
    return replace(found, need=replace(found.need, notes=(*found.need.notes, *notes)))
