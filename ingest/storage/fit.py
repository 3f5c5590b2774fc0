"""`ingest fit`: systems that meet a need, their bottlenecks and the units required."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.records import STORAGE_CLASSES, Storage
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message
from ingest.engine.registry import check_value, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Quantity
from ingest.errors import CatalogError, UsageError, brief, expected_one_of
from ingest.sizing.job import job_of
from ingest.storage import data_path
from ingest.storage.data_path import LayerVerdict, layers_of, shown_only
from ingest.storage.fit_options import need_of
from ingest.storage.fit_result import RESULTS, VERDICTS, Fit, Fits
from ingest.storage.need import REQUIRABLE, Need, from_numbers
from ingest.storage.system_quantities import known_of, protection_of
from ingest.storage.units_required import DEGRADED, FURTHER, alternatives, count_units
from ingest.units import display, parse

#: Every system of the catalogs.
ALL = "all"
#: Classes that `all` compares; entries of other classes are given by id.
COMPARED = ("client", "system", "software", "drive")
#: result -> the need without which it does not exist, and the options that set that need
REQUIRED_BY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "required_usable_bytes": ("required_usable_bytes", ("capacity",)),
    "required_raw_bytes": ("required_usable_bytes", ("capacity",)),
    "write_bandwidth_available": ("write_bandwidth_needed", ("write_bandwidth",)),
    "read_bandwidth_available": ("read_bandwidth_needed", ("read_bandwidth", "model")),
}


def fit_need(
    need: Need,
    storage: Sequence[str],
    catalog: Catalog,
    client: str | None = None,
    protection: str | None = None,
    units: float | None = None,
    degraded: bool = False,
) -> Fits:
    """Compare systems with a need.

    Args:
        need: bandwidth, capacity and metadata rates required.
        storage: ids or YAML files, or `all` for every client, system, software and local drive of the catalogs.
        catalog: with the entries.
        client: id of the client, where an entry has none.
        protection: id of the protection scheme, where an entry has none or several.
        units: number of units; the number required by default.
        degraded: whether reads must hold with one unit down and the others rebuilding.

    Raises:
        UsageError: an empty need, or an unknown id.
    """
    if not any(need.requires(name) for name in REQUIRABLE):
        raise UsageError("no need is given, expected --model and --gpu, --read-bandwidth, --capacity or a plan")
    entries = _entries(storage, catalog, need.shared)
    other = _client(client, catalog) if client is not None else None
    found = [_fit(entry, other, protection_of(entry, protection, catalog), need, units, degraded, catalog) for entry in entries]
    found.sort(key=lambda one: (VERDICTS.index(one.verdict), one.headroom is None, -(one.headroom or 0), one.entry.id))
    return Fits(need, tuple(found), catalog, compared=ALL in storage)


def _entries(storage: Sequence[str], catalog: Catalog, shared: bool) -> list[Storage]:
    """The systems to compare; of `all`, local drives only where the nodes do not share what is stored."""
    named = {entry.id: entry for entry in (_storage_entry(name, catalog) for name in storage if name != ALL)}
    if ALL in storage:
        classes = [family for family in COMPARED if not (shared and family == "drive")]
        named |= {entry.id: entry for entry in catalog.all(Storage) if entry.family in classes}
    return list(named.values())


def _storage_entry(name: str, catalog: Catalog) -> Storage:
    """An entry of a class that has ceilings."""
    found = catalog.get(Storage, name)
    if found.family not in STORAGE_CLASSES:
        raise CatalogError(f"{found.path}: family: found '{found.family}', {expected_one_of(found.family, STORAGE_CLASSES)}")
    return found


def _client(name: str, catalog: Catalog) -> Storage:
    """An entry with the rates of a client: no protection scheme and no drive."""
    found = catalog.get(Storage, name)
    if found.family in ("protection", "drive"):
        known = ", ".join(entry.id for entry in catalog.all(Storage) if entry.family == "client")
        raise UsageError(f"--client: {found.id} is of the class {found.family}, expected a client: one of {known}")
    return found


def ids_in(storage: str | Path | Sequence[str]) -> list[str]:
    """Ids of storage systems, with commas between or as a list."""
    names = [storage] if isinstance(storage, (str, Path)) else storage
    return [part for name in names for part in str(name).split(",") if part]


def _fit(
    entry: Storage,
    client: Storage | None,
    protection: Storage | None,
    need: Need,
    units: float | None,
    degraded: bool,
    catalog: Catalog,
) -> Fit:
    known = known_of(entry, client, protection, need)
    loses = _can_lose_a_unit(entry, known, need)
    if degraded and loses:
        known.choose("units_for_read", "units_required_degraded")
    left_out = count_units(known, need, entry, units)
    path = (*layers_of(entry, known), *((data_path.DEGRADED,) if degraded and loses else ()))
    layers = tuple(data_path.judge(known, path, shown_only(entry, client, known)))
    narrow = data_path.bottleneck(layers)
    if narrow is not None and narrow.headroom is not None:
        known.adopt({"headroom_fraction": data_path.headroom_of(known, narrow.layer)})
    results, unknown = _results(known, need, layers)
    fits = data_path.verdict(layers)
    if entry.family == "drive" and fits and data_path.NVME_CAPACITY not in [one.layer for one in layers]:
        fits, left_out = None, Message("the bytes held on local drives are not known", supply=("capacity",))
    ceilings = known.results([one.layer.ceiling for one in layers if one.ceiling is not None])[0]
    units_fixed = (units is not None and entry.family != "client") or bool(entry.fixed) or entry.family == "drive"
    of_degraded = DEGRADED if loses and known.value("units") > 1 else ()
    more = known.results([*FURTHER, *of_degraded, *(["units"] if units_fixed else [])])[0]
    ways = alternatives(known, fits)
    beyond = _at_high_end(need, layers)
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
    one_down = known.value("read_bandwidth_needed") <= known.value("degraded_read_bandwidth") if loses else None
    return Fit(entry, fits, narrow, layers, {**results, **more}, answer, beyond, one_down)


def _can_lose_a_unit(entry: Storage, known: Quantities, need: Need) -> bool:
    """Whether reads with one unit down are judged: of a system of several units with a read need."""
    several = entry.family in ("system", "software") and not entry.fixed
    return several and need.requires("read_bandwidth_needed") and "unit_read_bandwidth" in known.given


def _at_high_end(need: Need, layers: Sequence[LayerVerdict]) -> tuple[str, ...]:
    """Layers that hold at the typical need and not at the high end of its range."""
    return tuple(
        f"{one.layer.name} meets the typical need, but not the high end of its range "
        f"({display(need.high[one.layer.need], one.unit, binary=False)} of {one.shown})"
        for one in layers
        if one.holds and need.high.get(one.layer.need, 0) > (one.ceiling or 0)
    )


def _results(known: Quantities, need: Need, layers: Sequence[LayerVerdict]) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results of one system by their public names, and why others are missing."""
    for name, path in data_path.AVAILABLE.items():
        rated = [one for one in layers if one.layer in path and one.ceiling is not None and not one.at_least]
        if rated:
            known.choose(name, min(rated, key=lambda one: one.ceiling or 0.0).layer.ceiling)
    found: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    for name, quantity in RESULTS.items():
        computed = known.results([quantity])[0].get(quantity)
        required_by, options = REQUIRED_BY.get(quantity, ("", ()))
        if required_by and not need.requires(required_by):
            unknown[name] = Message("not required", supply=options)
        elif computed is None or (name == "units_required" and not computed.value):
            unknown[name] = f"the inputs of {quantity.replace('_', ' ')} are not known"
        else:
            found[name] = computed
    return found, unknown


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
    catalogs: str | Path | Sequence[str | Path] = (),
    **question: Any,
) -> Fits:
    """Storage systems that meet a need, their bottlenecks and the units required.

    Args:
        plan: a site file, or the JSON that `ingest plan` wrote of it.
        storage: systems: `all`, or ids and YAML files with commas between.
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
        degraded: require the read rate with one unit down and the others rebuilding.
        catalogs: folders with entries of your own.
        question: options of `bw`.

    >>> found = fit(read_bandwidth="500 GB/s", write_bandwidth="300 GB/s", capacity="1 PB", storage="ddn-ai400x2")
    >>> found.results["ddn-ai400x2"].results["units_required"].value
    6

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
    need = need_of(plan, plain, job_of(**question), catalog, priority)
    listed = ids_in(storage)
    if not listed:
        raise UsageError(f"--storage: found {brief(str(storage))}, expected ids with commas between, or all")
    counted = None if units is None else check_value("units", parse(units, unit_of("units"), "--units"), "--units")
    return fit_need(need, listed, catalog, client, protection, counted, degraded)
