"""`ingest fit`: systems that meet a need, their bottlenecks and the units required; the ceilings that charts draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from ingest.catalog.records import STORAGE_CLASSES, Storage
from ingest.catalog.store import Catalog, opened
from ingest.engine.messages import Message, Option
from ingest.engine.question import filled, options_in
from ingest.engine.registry import read_value, solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import CatalogError, IngestError, MissingQuantity, UsageError, brief, expected_one_of
from ingest.requirement import PRIORITIES
from ingest.site.plan import Plan
from ingest.site.plan_file import SITE_SUFFIXES, plan_of_site, read_object
from ingest.sizing.bandwidth import sized
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import Job, job_of, quantities_of
from ingest.sizing.rules import Finding, finding, unused, without_unit
from ingest.storage import data_path
from ingest.storage.data_path import LayerVerdict, layers_of, shown_only
from ingest.storage.existing import measured_entry, stock_of, without
from ingest.storage.fit_result import MISFIT, NARROWER, QUESTION, RESULTS, UNKNOWN, Fit, Fits, Offer
from ingest.storage.flips import MOST_SYSTEMS, flips_of
from ingest.storage.need import ALL, PLAIN, REQUIRABLE, FitOptions, Need, StorageOptions, from_numbers, names_job, need_of
from ingest.storage.replanning import meets, same
from ingest.storage.system_quantities import (
    DEGRADED,
    FURTHER,
    MEASURED,
    Prices,
    Spare,
    System,
    alternatives,
    check_prices,
    count_units,
    decides,
    in_order,
    in_tier,
    known_of,
    of_tier,
    protection_of,
    provision,
    read_prices,
    with_drives,
    with_technology,
)
from ingest.text import visible
from ingest.units import display, physical

COMPARED = ("system", "service", "software")  # Classes that `all` compares; entries of other classes are given by id
#: Classes of what is installed, which can lose a failure domain; that of a service is its operator's affair.
OWNED = ("system", "software")
#: How a verdict begins on a system that meets a need.
MEETS = ("fits", "barely fits")
#: Ceilings of the nodes and their links, which are no rates of the storage.
HARDWARE = {one.ceiling for one in data_path.REMOTE if one.part == data_path.NODE}
#: result -> the need without which it does not exist, and the options that set that need
REQUIRED_BY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "required_usable_bytes": ("required_usable_bytes", ("capacity",)),
    "required_raw_bytes": ("required_usable_bytes", ("capacity",)),
    "write_bandwidth_available": ("write_bandwidth_needed", ("write_bandwidth",)),
    "read_bandwidth_available": ("read_bandwidth_needed", ("read_bandwidth", "model")),
}
#: Share by which the capacity of a lower tier may exceed the least that any tier takes: it costs less for each byte.
MORE_OF_A_LOWER_TIER = 0.25
MOST = 6  # More ceilings than this cannot be told apart in a chart
#: class of entry -> aggregate read bandwidth of its nodes, and the quantities it depends on, the first with a source
BY_NODES = {
    "client": ("clients_read_ceiling", ("client_bandwidth_per_node", "small_read_factor")),
    "drive": ("nvme_read_ceiling", ("nvme_read_bandwidth_per_node", "small_read_factor")),
}
OF_UNIT = "unit_read_bandwidth"


class Terms(NamedTuple):
    """The terms of a comparison."""

    client: str | None = None  # id of the client, where an entry has none
    protection: str | None = None  # id of the protection scheme, where an entry has none or several
    units: float | None = None  # number of units; the number required by default
    degraded: bool = False  # whether all reads must hold with one failure domain down and the rest rebuilding
    spare: bool = True  # whether one failure domain is bought beyond the need, and 70 % of the reads must hold without it
    sites: bool = False  # whether `all` includes installations that exist once
    prices: Prices | None = None  # a dated list of prices, by which the cheapest tier of a service is chosen


ONE_SPARE = Terms()  # One failure domain spare, and no more


def fit_need(need: Need, storage: Sequence[str], catalog: Catalog, terms: Terms = ONE_SPARE) -> Fits:
    """Compare systems with a need: ids or YAML files, or `all` for every system, service and software of the catalogs.

    Raises UsageError: an empty need, or an unknown id.
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
    # Options that change nothing.
    notes, named = [*wanted.notes], [] if ALL in storage else entries
    fixed = [one.id for one in named if one.family in ("client", "drive") or one.tiers or one.usable_fraction is not None]
    if terms.protection is not None and fixed:
        notes.append(f"--protection is not used: {', '.join(fixed)} sets its own usable capacity or has none to protect")
    if terms.client is not None and "nodes" not in wanted.given:
        notes.append("--client is not used: the number of nodes is not known; set --nodes")
    wanted = replace(wanted, notes=tuple(notes))
    return Fits(wanted, tuple(sorted(found, key=rank)), catalog, ALL in storage, stock)


def rank(one: Fit) -> tuple[Any, ...]:
    """What fits first, then sizes beyond any installation, then those whose units are open; then by the share of ceilings
    that is known, published before recalled, then by headroom."""
    # How many known ceilings rest on a rate or capacity of one unit that is only recalled.
    given, named = one.answer.given, [layer.layer.of_unit for layer in one.layers if layer.holds is not None]
    recalled = sum(name in given and given[name].grade == "assumed" for name in named)
    known = () if one.fits is False else (-one.share_known, recalled)
    return (one.standing, *known, one.headroom is None, -(one.headroom or 0), one.entry.id)


def _entries(storage: Sequence[str], catalog: Catalog, sites: bool, io_bytes: float | None) -> list[Storage]:
    """The systems to compare: entries of a class that has ceilings, or results of `measure-storage`."""
    found: dict[str, Storage] = {}
    for name in storage:
        if name != ALL:
            entry = measured_entry(name, io_bytes) if str(name).endswith(".json") else catalog.get(Storage, name)
            if entry.family not in STORAGE_CLASSES:
                expected = expected_one_of(entry.family, STORAGE_CLASSES)
                raise CatalogError(f"{entry.path}: family: found '{entry.family}', {expected}")
            found[entry.id] = with_technology(entry, catalog)
    if ALL in storage:
        classes = (*COMPARED, *(("site",) if sites else ()))
        found |= {entry.id: with_technology(entry, catalog) for entry in catalog.all(Storage) if entry.family in classes}
    return list(found.values())


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
        left = [one for one in tried if one.fits is not False]
        rows = [{"tier": one.label, "capacity": one.answer.known.value("tier_capacity"), "fits": one.fits} for one in left]
        costs: list[dict[str, Any]] = [{} if one.cost is None else {"cost": one.cost} for one in left]
        return replace(_chosen_tier(tried), tiers=tuple(row | cost for row, cost in zip(rows, costs, strict=True)))

    def size(one: Fit) -> tuple[bool, float, float]:
        """Fewest units, then the least raw capacity."""
        units, raw = one.answer.known.find("units_required"), one.answer.known.find("unit_raw_bytes")
        return (one.fits is False, units.value if units else 0, raw.value if raw else 0)

    return min(tried, key=size)


def _chosen_tier(tried: Sequence[Fit]) -> Fit:
    """The tier of a service: of those that miss the fewest ceilings and leave the fewest unknown the cheapest by the prices.

    Without prices it is the lowest whose capacity is at most a quarter above the least that any of them takes.
    """
    # Ceilings that are missed, file systems that would share the need, and ceilings that are unknown.
    short = [(sum(layer.holds is False for layer in one.layers), one.file_systems, len(one.not_known)) for one in tried]
    left = [one for one, missed in zip(tried, short, strict=True) if missed == min(short)]
    priced = [one for one in left if one.cost is not None]
    if priced:
        return min(priced, key=lambda one: one.cost or 0)
    found = [one.answer.known.find("tier_capacity") for one in left]
    rented = [math.inf if one is None else float(one.value) for one in found]
    most = min(rented) * (1 + MORE_OF_A_LOWER_TIER)
    return next(one for one, capacity in zip(left, rented, strict=True) if capacity <= most)


def _systems(entry: Storage, terms: Terms, catalog: Catalog) -> list[System]:
    """The forms in which an entry is sold: its tiers, its sizes of drive, or as it is."""
    client, largest = None, {}
    if terms.client is not None:
        # An entry with the rates of a client: no protection scheme and no drive.
        named = catalog.get(Storage, terms.client)
        if named.family not in ("client", "software"):
            clients = ", ".join(one.id for one in catalog.all(Storage) if one.family == "client")
            raise UsageError(f"--client: {named.id} is of the class {named.family}, expected a client: one of {clients}")
        client = with_technology(named, catalog)
    protection = protection_of(entry, terms.protection, catalog)
    drive = catalog.referred(Storage, entry.drive, by=entry.path) if entry.drive else None
    if entry.drives is not None and entry.drive_bytes is None:
        # The largest drive of the catalogs bounds a unit of which only the number of drives is known.
        sizes = [one.raw_bytes for one in catalog.all(Storage) if one.family == "drive" and one.raw_bytes]
        largest = {"largest_drive_bytes": from_catalog(max(sizes, key=lambda one: one.value))} if sizes else {}
    made = System(entry, client, protection, drive, largest)
    if entry.tiers:
        tiers = {name: entry.tiers[name] for name in in_order(entry.tiers)}
        return [made._replace(entry=in_tier(entry, tier), chosen=of_tier(tier), label=name) for name, tier in tiers.items()]
    choices = entry.drive_choices if entry.drive_bytes is not None else {}
    return [
        made._replace(entry=with_drives(entry, name), label=f"{display(size.value, 'B', binary=False)} drives")
        for name, size in choices.items()
    ] or [made]


def _fit(system: System, need: Need, terms: Terms, catalog: Catalog) -> Fit:
    entry = system.entry
    known = known_of(system, need)
    tier = entry.tiers.get(system.label)
    if tier is not None:
        provision(known, tier)
        price = None if terms.prices is None else terms.prices.per_byte.get((entry.id, system.label))
        if terms.prices is not None and price is not None:
            known.give({"price_per_byte": Input(price, origin="user", note=f"{terms.prices.path}, {terms.prices.date}")})
    owned = entry.family in OWNED and not entry.fixed
    # Reads with one failure domain down are judged of a system with a known rate and a read need.
    loses = owned and need.requires("read_bandwidth_needed") and "unit_read_bandwidth" in known.given
    spare = Spare(terms.spare and owned, loses and (terms.spare or terms.degraded), 1 if terms.degraded and loses else None)
    left_out = count_units(known, need, entry, terms.units, spare)
    if any(name in known.given for layer in data_path.FABRIC for name in layer.named_by):
        # A network between nodes and storage carries reads and writes, also where only one of them is needed.
        for name in ("read_bandwidth_needed", "write_bandwidth_needed"):
            if known.find(name) is None:
                known.give({name: Input(0, grade="zero", note=f"no {name} is given")})
    path = layers_of(entry, known)
    if spare.judged:
        path += (data_path.DEGRADED, *([data_path.DEGRADED_REQUESTS] if data_path.REQUESTS in path else []))
    if tier is not None and tier.shared == "yes":
        path += (data_path.READS_AND_WRITES,)
    judged = (*data_path.judge(known, path, shown_only(entry, system.client, known)), *_data_held(entry, known))
    if tier is not None:
        judged = data_path.of_tier(judged, tier, known, need)
    narrow = data_path.bottleneck(judged)
    if narrow is not None and narrow.headroom is not None:
        known.adopt({"headroom_fraction": data_path.headroom_of(known, narrow.layer)})
    results, unknown = _results(known, need, judged, entry)
    fits = False if entry.verdict is not None else data_path.verdict(judged)
    if entry.family == "drive" and fits and data_path.NVME_CAPACITY not in [one.layer for one in judged]:
        fits, left_out = None, Message("the bytes held on local drives are not known", supply=("capacity",))
    ceilings = known.results([one.layer.ceiling for one in judged if one.ceiling is not None])[0]
    units_fixed = (terms.units is not None and entry.family != "client") or bool(entry.fixed) or entry.family == "drive"
    of_degraded = DEGRADED if loses else ()
    more = known.results([*FURTHER, *of_degraded, *(["units"] if units_fixed else [])])[0]
    ways = alternatives(known, fits)
    # Layers that hold at the typical need and not at the high end of its range.
    beyond = tuple(
        f"{one.layer.name} meets the typical need, but not the high end of its range "
        f"({display(need.high[one.layer.need], one.unit, binary=False)} of {one.shown})"
        for one in judged
        if one.holds and need.high.get(one.layer.need, 0) > (one.ceiling or 0)
    )
    answer = Answer(
        QUESTION,
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
    return found if tier is None else _of_tier(found, known, terms.prices)


def chosen(found: Fit, terms: Terms, catalog: Catalog) -> Callable[[Need], Fit]:
    """The verdict on a system as it is chosen, for any need: with its size of drive and so many units, or in its tier."""
    system = next(one for one in _systems(found.entry, terms, catalog) if one.label == found.label)
    if found.entry.family in OWNED and not found.entry.fixed:
        terms = terms._replace(units=found.answer.known.value("units"))
    return lambda need: _fit(system, need, terms, catalog)


def _of_tier(found: Fit, known: Quantities, prices: Prices | None) -> Fit:
    """The verdict on a tier: its cost, and the file systems that together meet the need which one of them does not."""
    short = [one for one in found.layers if one.holds is False]
    times = [one.times for one in short if one.times and one.layer in data_path.OF_ONE_FILE_SYSTEM]
    several = bool(times) and len(times) == len(short)
    found = replace(found, file_systems=int(solve("file_systems_required", {"shortfall_factor": max(times)})) if several else 1)
    if prices is None:
        return found
    cost = known.find("cost_per_month")
    priced = f"{prices.currency}, prices of {prices.date}"
    return replace(found, cost=None if cost is None else float(cost.value), priced=priced)


def _data_held(entry: Storage, known: Quantities) -> tuple[LayerVerdict, ...]:
    """The data that a system of unknown capacity must hold, where its units are counted for bandwidth alone."""
    held = known.find(data_path.CAPACITY.need)
    if entry.family not in (*OWNED, "site") or (held is not None and held.value):
        return ()
    if known.find("units_usable_bytes") is not None and not data_path.bound_behind(known, data_path.DATA.of_unit):
        return ()
    found = data_path.judge(known, [data_path.DATA], frozenset())
    # A bound settles nothing: units are not counted for these data.
    return tuple(LayerVerdict(one.layer, one.need, None, None, why="its usable capacity is unknown") for one in found)


def _one_down(known: Quantities, path: Sequence[data_path.Layer]) -> bool | None:
    """Whether all reads hold with one failure domain down, by bandwidth and by requests; None where that is unknown."""
    degraded = known.find("degraded_read_bandwidth")
    if degraded is None:
        return None
    if known.value("read_bandwidth_needed") > degraded.value * (1 + data_path.ROUNDING):
        return False
    if data_path.REQUESTS not in path or known.find(data_path.REQUESTS.need) is None:
        return True
    left = known.find("degraded_requests")
    return None if left is None else bool(known.value(data_path.REQUESTS.need) <= left.value)


def _results(
    known: Quantities, need: Need, judged: Sequence[LayerVerdict], entry: Storage
) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results of one system by their public names, and why others are missing."""
    of_nodes: dict[str, str] = {}
    for name, path in data_path.AVAILABLE.items():
        # Of rates that are no bounds, nor of one client of many; a measured path delivers what was measured.
        rated = [
            one
            for one in judged
            if one.layer in path
            and one.ceiling is not None
            and not one.at_most
            and (not one.at_least or entry.fixed == MEASURED)
        ]
        # The NICs of the clients are no rate of the storage.
        if any(one.layer in data_path.RATES_OF.get(entry.family, data_path.SYSTEM) for one in rated):
            ceilings = [one.layer.ceiling for one in rated]
            if name == "read_bandwidth_available":
                # Requests of the size needed carry no more than this, also where their rate is a bound.
                counted = [one for one in judged if one.layer == data_path.REQUESTS and one.ceiling and not one.at_least]
                ceilings += ["requests_read_ceiling"] * len(counted)
            narrowest = min(ceilings, key=known.value)
            if narrowest in HARDWARE:
                of_nodes[name] = NARROWER + display(known.value(narrowest), "B/s", binary=False, digits=3)
            elif name not in known.given:
                known.link(name, known.step(narrowest))
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
            unknown[name] = "not known of this system"
        else:
            found[name] = computed
    return found, unknown


def fit(plan: str | Path | None = None, **options: Unpack[FitOptions]) -> Fits:
    """Storage systems that meet a need, their bottlenecks and the units required.

    Options are a job as `bw` takes it, needs as plain numbers, and the systems to compare.

    Args:
        plan: a site file, the JSON that `ingest plan` wrote of it, or the model of a job.

    >>> found = fit(read_bandwidth="500 GB/s", write_bandwidth="300 GB/s", capacity="1 PB", storage="ddn-ai400x2")
    >>> found.results["ddn-ai400x2"].results["units_required"].value
    7

    Raises UsageError: an invalid option or combination of options; IngestError: a missing fact, and what to supply.
    """
    asked: dict[str, Any] = {**filled(FitOptions, options, "fit")}
    if plan is not None and asked["model"] is None and not Path(plan).suffix and not Path(plan).exists():
        asked["model"] = str(plan)
        plan = None
    given = {one.name: asked.pop(one.name) for one in options_in(StorageOptions)}
    catalog, gpus = opened(asked.pop("catalogs")), asked.pop("gpus")
    plain = from_numbers(**{name: given[name] for name in PLAIN})
    job = sized(job_of(**asked).named(), quantities_of({}, {"gpus": gpus}).get("gpus"), catalog)
    if given["offers"] is not None and not given["flip"]:
        raise UsageError("--offers: only their flips are shown, expected --flip")
    site = _site_of(plan, catalog, given["root"], given["offers"] is not None) if given["flip"] else None
    offers = () if site is None or given["offers"] is None else offers_in(given["offers"], site, given["priority"])
    need = need_of(site or plan, plain, job, catalog, given["priority"], given["root"])
    listed = ids_in(given["storage"])
    if not listed:
        raise UsageError(f"--storage: found {brief(str(given['storage']))}, expected ids with commas between, or all")
    units, prices = given["units"], None if given["prices"] is None else read_prices(given["prices"])
    counted = None if units is None else read_value("units", units, "--units")
    if prices is not None:
        check_prices(prices, {entry.id: entry.tiers for entry in catalog.all(Storage) if entry.tiers})
    spare = not given["no_spare"]
    terms = Terms(given["client"], given["protection"], counted, given["degraded"], spare, given["sites"], prices)
    found = fit_need(need, listed, catalog, terms)
    # An estimate has its own warnings about the settings that it does not use.
    settings = () if names_job(job) or not found.systems else job.settings
    used = {name for one in found.systems for name in one.answer.used}
    notes = [unused(Option(f"set.{name}")) for name in settings if name not in used]
    notes += without_unit({"capacity": plain.get("required_usable_bytes")})
    if site is not None:
        found = with_flips(found, site, terms, given["priority"], offers)
    return replace(found, need=replace(found.need, notes=(*found.need.notes, *notes)))


def with_flips(
    found: Fits, plan: Plan, terms: Terms = ONE_SPARE, priority: str = PRIORITIES[0], offers: Sequence[Offer] = ()
) -> Fits:
    """The comparison with what would change the verdicts on offers, else on the first systems to choose, or on all named."""
    able = [one for one in found.systems if not found.compared or one.verdict not in (UNKNOWN, MISFIT)][:MOST_SYSTEMS]
    able = [one for one in able if not one.ruled_out and not offers]
    judges = [chosen(one, terms, found.catalog) for one in able]
    return replace(found, flips=flips_of(plan, able, judges, found.need, priority, offers))


def fit_plan(plan: Plan, storage: Sequence[str], offers: str | Path | None = None) -> Fits:
    """Systems compared with the mandatory lines of a plan, with their flips or those of offers; systems that storage is in
    place beside have none.

    Raises UsageError: an unknown id, or what `offers_in` refuses.
    """
    found = fit_need(need_of(plan, {}, Job(), plan.catalog), ids_in(storage), plan.catalog)
    judged = () if offers is None else offers_in(offers, plan, PRIORITIES[0])
    return with_flips(found, plan, offers=judged) if judged or not found.need.existing else found


def _site_of(plan: str | Path | None, catalog: Catalog, root: str | Path | None, offered: bool) -> Plan:
    """The plan of a site file, whose inputs are turned for systems, or for offers.

    Raises UsageError: another source of needs, or storage in place, which offers do not share the need with.
    """
    if plan is None or Path(plan).suffix.lower() not in SITE_SUFFIXES:
        raise UsageError("--flip: the inputs of a site are turned, expected SITE.yaml")
    found = plan_of_site(plan, catalog, root=root)
    if found.site.section("storage").get("existing") and not offered:
        raise UsageError(
            "--flip: the storage in place delivers another part of the need at other inputs, expected a copy of the site "
            "without `storage.existing`: units are then those of the whole need; or --offers"
        )
    return found


#: Verdicts of `ingest response` on a line that a value decides, by whether the value meets the line.
BY_VALUE = {"met": True, "missed": False}


def offers_in(path: str | Path, plan: Plan, priority: str) -> tuple[Offer, ...]:
    """The offers in the JSON of `ingest response`, with what each states for the lines of a plan.

    Raises UsageError: not such a file, or one of other requirements than those of the plan; IngestError: it cannot be read.
    """
    data, found = read_object(Path(path), "the JSON of `ingest response`"), list[Offer]()
    lines = [one for one in plan.requirements if PRIORITIES.index(one.priority) <= PRIORITIES.index(priority)]
    try:
        for body in data.get("offers", [data]) if data.get("command") == "response" else ():
            name, values = visible(str(body.get("name") or Path(body["file"]).stem)), dict[str, float]()
            rows = {row["id"]: row for row in body["requirements"]}
            for line in lines:
                row = rows.get(line.id)
                if row is None or physical(row["unit"]) != physical(line.unit) or not same(float(row["required"]), line.value):
                    found_other = f"{name}: {line.id}: other requirements than those of this site"
                    raise UsageError(
                        f"--offers: {path}: {found_other}, expected {display(line.value, line.unit, binary=False)}"
                    )
                offered = math.nan if row["offered"] is None else float(row["offered"])
                if BY_VALUE.get(row["result"]) is meets(offered, line.value) and not math.isnan(offered):
                    values[line.id] = offered
            found.append(Offer(name, str(body["verdict"]), values, tuple(one.id for one in lines if one.id not in values)))
    except (KeyError, TypeError, ValueError, AttributeError):
        found = []
    if not found:
        raise UsageError(f"--offers: {path}: expected what `ingest response … --format json` wrote")
    return tuple(found)


def unmeetable(plan: Plan) -> Iterator[Finding]:
    """The finding that no catalogued system meets the mandatory lines of a plan; none as soon as one does."""
    try:
        need = need_of(plan, {}, Job(), plan.catalog)
    except IngestError:
        return
    if not any(need.requires(name) for name in REQUIRABLE):
        return
    requests = need.given.get("io_bytes")
    verdicts: dict[str, int] = {}
    for entry in _entries((ALL,), plan.catalog, False, requests.value if requests is not None else None):
        verdict = _best(entry, need, ONE_SPARE, plan.catalog).verdict
        if verdict.startswith(MEETS):
            return
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    why = ", ".join(f"{verdict}: {count}" for verdict, count in sorted(verdicts.items()))
    found = finding("W83", words={"systems": "none fits"}, why=why)
    assert found is not None
    yield found


class ReadCeiling(NamedTuple):
    """Read bandwidth of a storage system: its name and units, the bandwidth in words, B/s by number of nodes, its source."""

    label: str
    rate: str
    points: tuple[tuple[float, float], ...]
    source: str


def read_ceilings(plan: Plan, storage: Sequence[str], sizes: Sequence[float]) -> list[ReadCeiling]:
    """The ceiling of each system at so many nodes; the plan's mandatory requirements set the number of units.

    Raises UsageError: an unknown id, or more ids than a chart can show; IngestError: a system whose read bandwidth is unknown.
    """
    names = ids_in(storage)
    if ALL in names or not 0 < len(names) <= MOST:
        raise UsageError(f"--storage: found {', '.join(names) or 'nothing'}, expected one to {MOST} ids of storage to draw")
    found = []
    for one in fit_need(need_of(plan, {}, Job(), plan.catalog), names, plan.catalog).systems:
        entry, known = one.entry, one.answer.known
        formula, inputs = BY_NODES.get(entry.family, ("", (OF_UNIT,)))
        item = one.answer.given.get(inputs[0])
        title = f": {plan.catalog.source(item.source).title}" if item is not None and item.source else ""
        how = f"{item.grade}{title}" if item is not None and item.grade else "derived"
        units = "" if formula or entry.fixed else ", as many units as the mandatory requirements take"
        source, label = f"{entry.name}{units} ({how})", entry.name
        try:
            if formula:
                given = known.values_of(*inputs)
                rates = [float(solve(formula, {**given, "nodes": size})) for size in (1, *sizes)]
                rate = f"{display(rates.pop(0), 'B/s', binary=False)} for each node"
            else:
                rates = [known.value("units_read_ceiling")] * len(sizes)
                rate = display(known.value("units_read_ceiling"), "B/s", binary=False)
                if not entry.fixed:
                    label = f"{entry.name}, {known.value('units'):,.0f} × {entry.scaling_unit or 'unit'}"
        except MissingQuantity as error:
            expected = "expected a read bandwidth to draw: leave it out, or name a YAML file with yours"
            raise IngestError(f"--storage: {entry.id}: {error.name} is not known, {expected}") from None
        found.append(ReadCeiling(label, rate, tuple(zip(sizes, rates, strict=True)), source))
    return found
