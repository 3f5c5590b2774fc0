"""`ingest plan`: a site file to its requirement lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog, opened
from ingest.engine.derivation_graph import QuantityRow, all_below, columns_of, is_column
from ingest.engine.messages import Message, message_of
from ingest.engine.monte_carlo import samples_for, spread
from ingest.engine.ranges import Tree
from ingest.engine.registry import Step, label_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import IngestError, MissingQuantity
from ingest.files import garbage_collection_paused
from ingest.site.checks import check, of_choices, of_clusters, of_drains, of_each, of_policies, of_storage, refuse, warnings_of
from ingest.site.datasets import USUAL_YEARS, Growth, dataset_rows, elapsed_until, growth_of, holdings_of, year_rows
from ingest.site.jobs import plan_jobs
from ingest.site.plan import TABLES, Plan, PlanScenarios
from ingest.site.requirement_wording import LINES
from ingest.site.requirement_writer import RequirementValue, RequirementWriter
from ingest.site.scenarios import expectations, scenarios_of
from ingest.site.site_file import Site, read_site
from ingest.sizing.derivation_text import DerivationWriter
from ingest.sizing.evidence_ladder import from_catalog
from ingest.units import parse_whole

#: keys of `storage` and `test`, and the quantity that each is
STORAGE = {
    "fill_limit": "fill_limit",
    "file_system": "filesystem_efficiency",
    "units": "storage_units",
    "failed": "failed_servers",
    "headroom": "performance_headroom",
}
TEST = {
    "duration": "test_seconds",
    "write_size": "write_request_bytes",
    "smallest_bandwidth": "smallest_bandwidth_asked",
    "smallest_file_rate": "smallest_file_rate_asked",
}
USUAL = {
    "fill_limit": assumed(0.85, "up to 85 % may be in use", "storage.fill_limit", source="ceph-docs", where="nearfull ratio"),
    "test_seconds": assumed(1800, "rates hold for 30 min", "test.duration"),
    "write_request_bytes": assumed(1_048_576, "checkpoints are written 1 MiB at a time", "test.write_size"),
    "smallest_bandwidth_asked": assumed(
        1e8, "rates below 100 MB/s are for information: a single solid-state drive delivers that", "test.smallest_bandwidth"
    ),
    "smallest_file_rate_asked": assumed(
        100, "rates below 100 files/s are for information: a single drive delivers that", "test.smallest_file_rate"
    ),
}
UNPROTECTED = Message("the protection scheme of the storage is not known", supply=("storage.protection",))
#: the keys of a site file that supply a missing quantity
MISSING = {
    "protection_efficiency": UNPROTECTED,
    "data_units": UNPROTECTED,
    "redundancy_units": UNPROTECTED,
    "site_grown_read_bandwidth": Message("no growth of bandwidth is planned", supply=("growth",)),
}
MOST_YEARS, MOST_SAMPLES = 30, 1_000_000
#: clients in tests of the whole site
SITE_CLIENTS = ("site_clients", "staging_clients", "writing_clients", "single_node")
#: quantities of a job that are the same in every year
SAME_EVERY_YEAR = ("ingest_bandwidth_per_job", "cold_share", "concurrent_runs", "nodes")


def plan(
    site: str | Path | Mapping[str, Any],
    *,
    years: str | int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    samples: str | int | None = None,
    seed: str | int = 0,
    catalogs: Catalog | str | Path | Sequence[str | Path] = (),
) -> Plan | PlanScenarios:
    """Plan a site: the storage requirements of all its jobs and data sets.

    Args:
        site: a YAML file as `ingest plan --new` writes it, or its content as keys and values.
        years: years to plan for after the start, 0 to 30. [default: of the file, else 5]
        set: values by path, such as `{"clusters.main.count": 256}`; a list or range gives several scenarios.
        samples: draws behind low and high, up to 1,000,000; 0 for none. [default: 10,000, fewer for hundreds of jobs]
        seed: seed of the Monte Carlo draws.
        catalogs: folders with entries of your own, or a catalog that is open already.

    Returns:
        A `Plan`; `PlanScenarios` for several scenarios.

    >>> site = {"clusters": {"main": {"node": "dgx-h100", "count": 128}},
    ...         "jobs": {"cosmology": {"model": "cosmoflow", "cluster": "main", "nodes": 128}}}
    >>> plan(site).results["R-READ-03"].display
    '827.5 GB/s (770.7 GiB/s)'

    Raises:
        UsageError: a path or a value that cannot be set, or a number out of range.
        IngestError: a site that cannot be, with the line of its file.
    """
    catalog = opened(catalogs)
    horizon = None if years is None else parse_whole(years, "--years", 0, MOST_YEARS)
    draws = None if samples is None else parse_whole(samples, "--samples", 0, MOST_SAMPLES)
    first = parse_whole(seed, "--seed", 0)
    with garbage_collection_paused():
        plans = tuple(
            plan_once(read_site(site, chosen), horizon, draws, first, catalog, chosen) for chosen in scenarios_of(set)
        )
    return plans[0] if len(plans) == 1 else PlanScenarios(plans)


def plan_once(
    site: Site, years: int | None, samples: int | None, seed: int, catalog: Catalog, chosen: Mapping[str, Any]
) -> Plan:
    """Plan one site.

    Raises:
        IngestError: a site that cannot be, with the line.
    """
    check(site)
    growth = growth_of(site, catalog)
    data = dataset_rows(site, catalog)
    planned = plan_jobs(site, catalog, data)
    jobs = [one.row for one in planned]
    policies = {one.row.name: one.policy for one in planned if one.policy is not None}
    sized = {one.row.name for one in planned if one.is_sized}
    clusters = _clusters(site, jobs)
    horizon = int(site.data.get("years", USUAL_YEARS)) if years is None else years
    storage = _storage(site, catalog)
    sizes, units = [*of_clusters(clusters, jobs)], [*of_storage(storage)]
    refuse(site, [*sizes, *units])
    holdings = holdings_of(site, data, horizon, growth)
    by_year = year_rows(site, jobs, holdings, storage)
    known = storage.with_inputs({})
    for table, rows in (("jobs", jobs), ("clusters", clusters), ("datasets", holdings[0]), ("years", by_year)):
        known.adopt(columns_of(table, rows))
    known.choose("writes_at_once", "site_write_bandwidth" if site.section("overlap").get("checkpoints") else
                 "site_writes_in_turn")  # fmt: skip
    grown = _grown(site, jobs, horizon, growth, storage)
    if grown is not None:
        known.link("site_grown_read_bandwidth", grown)
    tables = {"jobs": jobs, "clusters": clusters, "datasets": list(data.values()), "years": by_year}
    tables["holdings"] = [row for rows in holdings for row in rows]
    found, absent = _found(known)
    for row in jobs:
        row.step("read_request_bytes")
        row.step("samples_per_file")
    for name in SITE_CLIENTS:
        known.step(name)
    for whose, quantities in TABLES.values():
        for row in tables[whose]:
            row.values(quantities)  # derived now, so that what they rest on is known by where it was given
    for one in (known, *(row.known for rows in tables.values() for row in rows)):
        one.freeze()
    tree = Tree({name: one.step for name, one in found.items()})
    ends = spread(tree, samples_for(tree, samples), seed)
    writer = RequirementWriter(site, known, {row.name: row for row in jobs}, DerivationWriter(catalog), ends)
    lines = tuple(writer.write(one) for one in found.values())
    held = [
        *sizes,
        *of_choices(jobs, policies, sized),
        *of_policies(policies),
        *of_each(jobs, policies, site, catalog),
        *of_drains(site, jobs),
        *units,
    ]
    findings = [one for one in held if one is not None]
    told = dict.fromkeys(line for one in planned for line in one.warnings)
    warnings = (*told, *growth.warnings, *warnings_of(site, findings, jobs, data, horizon))
    return Plan(
        site=site,
        catalog=catalog,
        years=horizon,
        known=known,
        rows=tables,
        lines=lines,
        absent=absent,
        warnings=warnings,
        chosen=chosen,
        tree=tree,
        expectations=expectations(site, [one.requirement for one in lines]),
        questions={one.row.name: one.question for one in planned if one.question is not None},
        findings=(*findings, *(one for line in lines for one in line.findings)),
    )


def _clusters(site: Site, jobs: list[QuantityRow], *, later: bool = False) -> list[QuantityRow]:
    """One row per cluster, with the columns of its jobs; `later` for those of the last year, whose inputs are the site's."""
    rows = []
    for name, described in site.section("clusters").items():
        known = Quantities({"cluster_nodes": described["count"]}, name, shared_inputs=later)
        known.adopt(columns_of("jobs", [row for row in jobs if row.words["cluster"] == name], name))
        rows.append(QuantityRow(name, {"node": described["node"]}, known))
    return rows


def _storage(site: Site, catalog: Catalog) -> Quantities:
    """The quantities of the storage to be bought and of its tests."""
    described, test = site.section("storage"), site.section("test")
    given = USUAL | {quantity: described[key] for key, quantity in STORAGE.items() if key in described}
    given |= {quantity: test[key] for key, quantity in TEST.items() if key in test}
    known, scheme = Quantities(given), described.get("protection")
    if isinstance(scheme, str):
        known = Quantities({**given, **_protection(site, scheme, catalog)})
    elif scheme is not None:
        named = {"replicas": "replicas", "data": "data_units", "parity": "redundancy_units"}
        known = Quantities({**given, **{named[key]: item for key, item in scheme.items()}})
        if "replicas" in scheme:
            known.give({"data_units": Input(1, note="each copy is whole")})
            known.choose("redundancy_units", "further_copies")
    if "storage_units" in known.given:
        known.choose("servers_left", "working_units")
    for name in known.given:
        known.step(name)  # one step for all years: one cell, one draw
    return known


def _protection(site: Site, name: str, catalog: Catalog) -> dict[str, Input]:
    """The usable share under a protection scheme of the catalogs: its data and redundancy units, where published."""
    keys = ("storage", "protection")
    try:
        found = catalog.get(Storage, name)
    except IngestError as error:
        site.refuse(keys, str(error))
    if found.usable_fraction is None:
        site.refuse(keys, f"{found.id} is not a protection scheme, expected an id such as prot-ec-8-3, or `data` and `parity`")
    if found.data_units is not None and found.redundancy_units is not None:
        return {"data_units": from_catalog(found.data_units), "redundancy_units": from_catalog(found.redundancy_units)}
    return {"protection_efficiency": from_catalog(found.usable_fraction)}


def _grown(site: Site, jobs: list[QuantityRow], years: int, growth: Growth, storage: Quantities) -> Step | None:
    """The read bandwidth of all concurrent jobs in the last year of the plan; None where nothing grows."""
    if not years or not any("bandwidth_growth_factor" in growth.jobs[row.name] for row in jobs):
        return None
    later = []
    for row in jobs:
        grows = growth.jobs[row.name]
        kept = {name: item for name, item in row.known.given.items() if name != "bandwidth_growth" or not grows}
        known = Quantities({**kept, **grows, "elapsed_seconds": elapsed_until(years)}, row.name, shared_inputs=True)
        known.adopt({name: step for name in SAME_EVERY_YEAR if (step := row.step(name)) is not None})
        later.append(QuantityRow(row.name, row.words, known))
    total = Quantities(storage.given)
    total.adopt(columns_of("clusters", _clusters(site, later, later=True)))
    return total.step("site_read_bandwidth")


def _found(known: Quantities) -> tuple[dict[str, RequirementValue], dict[str, str]]:
    """The value of each requirement, and for each line without one the reason."""
    steps: dict[str, Step] = {}
    absent: dict[str, str] = {}
    for line in LINES:
        try:
            steps[line.id] = known.step(line.metric)
        except MissingQuantity as error:
            absent[line.id] = MISSING.get(error.name, message_of(error))
    below = all_below(steps, lambda step: step.formula is None or is_column(step))
    found = {line.id: RequirementValue(line, steps[line.id], below[line.id]) for line in LINES if line.id in steps}
    required = {name: one for name, one in found.items() if _is_required(one)}
    absent |= {name: f"this site needs no {plain_name(one.line.metric)}" for name, one in found.items() if name not in required}
    return required, {line.id: absent[line.id] for line in LINES if line.id in absent}


def _is_required(value: RequirementValue) -> bool:
    """Whether the value is above zero, or a job has an entry in its column."""
    return float(value.step.value) != 0 or bool(value.line.clients and value.entries)


def plain_name(metric: str) -> str:
    """A quantity of the site in words.

    >>> plain_name("site_staging_bandwidth")
    'staging bandwidth'
    """
    return label_of(metric) or metric.removeprefix("site_").replace("_", " ")
