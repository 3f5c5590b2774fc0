"""`ingest plan`: a site file to its requirement lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.catalog.records import WITHOUT_GPUS, Storage
from ingest.catalog.store import CATALOGS, Catalog, opened
from ingest.configuration import decimal_units
from ingest.engine.derivation_graph import QuantityRow, columns_of
from ingest.engine.messages import Message, message_of, of_owner
from ingest.engine.monte_carlo import USUAL_SAMPLES, ArrayTree, all_below, samples_for, spread
from ingest.engine.question import filled, option
from ingest.engine.registry import Step, label_of
from ingest.engine.result import why_assumed
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, defaults_of
from ingest.errors import MissingQuantity, listed
from ingest.files import garbage_collection_paused, table_beside
from ingest.site import checks
from ingest.site.datasets import USUAL_YEARS, Growth, dataset_rows, growth_of, place_loaders, source_rows
from ingest.site.faults import every_fault, faults_of
from ingest.site.guidance import NO_GUIDANCE, UNLIMITED, ClusterGuidance, by_cluster, guidance_of, place_floors, unguided
from ingest.site.holdings import (
    MINIMUMS,
    elapsed_until,
    grown_models,
    holdings_of,
    place_grown_checkpoints,
    place_index_growth,
    place_minimums,
    year_rows,
)
from ingest.site.jobs import place_transfers, plan_jobs
from ingest.site.plan import MOST_YEARS, TABLES, Plan, PlanScenarios, RootOptions
from ingest.site.requirement_wording import LINES, RequirementValue
from ingest.site.requirement_writer import RequirementWriter
from ingest.site.scenarios import expectations, scenarios_of
from ingest.site.schema import quantities_at
from ingest.site.service import check_decisions, document_facts, owners_of, service_terms, stale, unearned, with_purchase
from ingest.site.site_file import Site, own_files, read_site
from ingest.site.tiers import serving_rows, states_on_storage, tier_columns
from ingest.site.training_day import YearBandwidth
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.explain import DerivationWriter
from ingest.sizing.offload import bounds
from ingest.sizing.rules import finding
from ingest.text import grouped
from ingest.units import parse_whole

#: The decisions of a site file that was written for the buyer.
DECISIONS = "decisions:                       # accepted for now, so that a tender can be drafted: decide each, then say why"
ACCEPTED = '{name}: {{accept: "not decided yet: an example written by ingest plan --new"}}'
#: keys of `storage` and `test`, and the quantity that each is
STORAGE = quantities_at("storage")
#: keys of `reserve` and `outage`, and the quantity that each is
RESERVE = quantities_at("reserve")
HOMES = {"users": "home_users", "quota": "home_quota"}
MIGRATE = {"bytes": "migrated_bytes", "files": "migrated_files", "within": "migration_seconds"}
OUTAGE = quantities_at("outage")
TEST = quantities_at("test")
USUAL = defaults_of(table_beside(__file__, "usual.yaml"), "assumed")
UNPROTECTED = Message("the protection scheme of the storage is not known", supply=("storage.protection",))
UNTIMED = Message("no served model states a time to load its weights", supply=("serving",))
NOT_PUBLISHED = Message("no job of reinforcement learning publishes weights", supply=("jobs.*.rl",))
NOT_OFFLOADED = Message("no job keeps its states below GPU memory", supply=("offload",))
UNOPENED = Message("the samples in a file are not known", supply=("samples_per_file of its data", "file_bytes of its data"))
#: the keys of a site file that supply a missing quantity
MISSING = {
    "protection_efficiency": UNPROTECTED,
    "data_units": UNPROTECTED,
    "redundancy_units": UNPROTECTED,
    "site_cold_read_bandwidth": Message("no job caches its data set: R-READ-03 is its cold rate"),
    "grown_read_bandwidth": Message("no growth of bandwidth is planned", supply=("growth",)),
    **dict.fromkeys(
        ("grown_write_bandwidth", "grown_restart_bandwidth"),
        Message("no growth of the parameters of models is planned", supply=("growth.parameters",)),
    ),
    "migrated_bytes": Message("no existing data are to be moved", supply=("migrate",)),
}
MOST_SAMPLES = 1_000_000
#: the checkpoints that write together, by `overlap.checkpoints`
WRITES = {None: "checkpoints_overlap", True: "checkpoints_coincide", False: "checkpoints_alternate"}
#: quantities of a job that are the same in every year
SAME_EVERY_YEAR = ("ingest_bandwidth_per_job", "cold_share", "warm_share", "concurrent_runs", "nodes", "miss_share",
                   "warm_up_bytes", "warm_up_seconds", "starting_runs", "job_offload_read_bandwidth",
                   "storage_tier_bytes", "read_requests_per_second", "query_block_bytes", "job_rebuild_bandwidth")  # fmt: skip


class YearsOptions(TypedDict, total=False):
    """How far ahead a site is planned."""

    years: Annotated[
        str | int | None,
        option(f"Years to plan for after the start, 0 to {MOST_YEARS}. [default: of the file, else {USUAL_YEARS}]"),
    ]


class SamplesOptions(TypedDict, total=False):
    """How exactly ranges are drawn."""

    samples: Annotated[
        str | int | None,
        option(
            f"Draws behind low and high, up to {MOST_SAMPLES:,}; 0 for none. "
            f"[default: {USUAL_SAMPLES:,}, fewer for hundreds of jobs]"
        ),
    ]


class SiteOptions(RootOptions, total=False):
    """Options of every command that plans a site."""

    seed: Annotated[str | int, option("Seed of the Monte Carlo draws.", default=0)]
    catalogs: Annotated[Catalog | str | Path | Sequence[str | Path], CATALOGS]
    set: Annotated[
        Mapping[str, Any] | Sequence[str] | None,
        option(
            "Replace a value of the site file; repeatable. Lists and ranges make several scenarios of `plan`.",
            "PATH=VALUE",
            many=True,
        ),
    ]


class PlanOptions(YearsOptions, SamplesOptions, SiteOptions, total=False):
    """The options of `plan`."""


def plan(site: str | Path | Mapping[str, Any], **options: Unpack[PlanOptions]) -> Plan | PlanScenarios:
    """Plan a site: the storage requirements of all its jobs and data sets.

    Args:
        site: a YAML file as `ingest plan --new` writes it, or its content as keys and values. Times in a file, and in the
            text of `set`, need their units; numbers from Python are in base units. `set` takes values by path, such as
            `{"clusters.main.count": 256}`, `catalogs` also a catalog that is open already.

    Returns:
        A `Plan`; `PlanScenarios` for several scenarios.

    >>> site = {"clusters": {"main": {"node": "dgx-h100", "count": 128}},
    ...         "jobs": {"cosmology": {"model": "cosmoflow", "cluster": "main", "nodes": 128}}}
    >>> plan(site).requirement("R-READ-03").display
    '303 GB/s (282.2 GiB/s)'

    Raises:
        UsageError: a path that cannot be set, a number out of range, or all faults of the site, a line each.
        IngestError: a file or a fact that is missing.
    """
    asked = filled(PlanOptions, options, "plan")
    years, samples = asked["years"], asked["samples"]
    catalog = opened(asked["catalogs"])
    horizon = None if years is None else parse_whole(years, "--years", 0, MOST_YEARS)
    draws = None if samples is None else parse_whole(samples, "--samples", 0, MOST_SAMPLES)
    first = parse_whole(asked["seed"], "--seed", 0)
    with garbage_collection_paused(), own_files(site, asked["root"], catalog):
        plans = []
        for chosen in scenarios_of(asked["set"]):
            read = read_site(site, chosen, partial(faults_of, catalog=catalog))
            with every_fault(read, catalog):
                plans.append(plan_once(read, horizon, draws, first, catalog, chosen))
    return plans[0] if len(plans) == 1 else PlanScenarios(tuple(plans))


@decimal_units()
def with_decisions(text: str, catalogs: Catalog | str | Path | Sequence[str | Path] = ()) -> str:
    """A site file with what it leaves open to the buyer, each accepted for the time being, with the question beside it.

    What the file itself asks stays open: its lines have no value before it is answered.
    """
    import yaml

    planned = plan(yaml.safe_load(text), samples=0, catalogs=catalogs)
    assert isinstance(planned, Plan), "several scenarios come from `set` only"
    made = [one for one in planned.decisions if one.id != "W115"]
    if not made:
        return text
    lines = []
    for name, owners in owners_of(made).items():
        alone = len(owners) == 1
        lines += [] if alone else [f"  {name}:"]
        indent = "  " if alone else "    "
        for owner in owners:
            lines += [f"{indent}# {one.why}" for one in made if (one.id, one.of) == (name, owner)]
            lines.append(indent + ACCEPTED.format(name=name if alone else owner))
    return "\n".join([text.rstrip("\n"), "", DECISIONS, *lines]) + "\n"


@decimal_units()
def plan_once(
    site: Site, years: int | None, samples: int | None, seed: int, catalog: Catalog, chosen: Mapping[str, Any]
) -> Plan:
    """Plan one site. Raises IngestError: a site that cannot be, with the line."""
    check_decisions(site)
    cover, overlap = document_facts(site), site.section("overlap")
    growth = growth_of(site, catalog)
    horizon = int(site.data.get("years", USUAL_YEARS)) if years is None else years
    data = dataset_rows(site, catalog)
    planned = plan_jobs(site, catalog, data)
    jobs = [one.row for one in planned]
    policies = {one.row.name: one.policy for one in planned if one.policy is not None}
    sized = {one.row.name for one in planned if one.is_sized}
    storage = _storage(site, catalog)
    guidance = guidance_of(site, catalog, storage)
    place_floors(guidance, jobs)
    place_transfers(site, jobs)
    place_index_growth(jobs, growth, horizon)
    place_loaders(site, jobs, storage, catalog)
    for row, policy in ((one.row, one.policy) for one in planned if one.policy is not None):
        # What saves checkpoints has the times of the site; what saves synchronously stops its reads meanwhile.
        row.known.adopt(storage.steps_of("create_seconds", "outage_restart_seconds"))
        if policy.mode == "sync" and row.step("job_read_bandwidth") is not None:
            row.known.state("saves_stop_reads")
    serving = serving_rows(site, catalog)
    for row in serving:
        row.known.adopt({"node_drawable_bandwidth": guidance[str(row.words["cluster"])].known.step("node_drawable_bandwidth")})
    tiers = tier_columns(jobs, serving)
    clusters = _clusters(site, jobs, serving, guidance)
    moving = storage.with_inputs({})
    moving.adopt(columns_of("clusters", clusters))
    sizes, units = [*checks.of_clusters(clusters, jobs, serving)], [*checks.of_storage(storage)]
    checks.refuse(site, [*sizes, *units])
    holdings = holdings_of(site, data, horizon, growth)
    of_jobs, drawn = columns_of("jobs", jobs), moving.steps_of("site_moving_drawable_bandwidth")
    by_year = year_rows(site, jobs, {**of_jobs, **tiers, **drawn}, holdings, storage, growth, tiers=bool(tiers))
    checks.refuse_what_is_lost(site, by_year)
    known = storage.with_inputs({})
    known.adopt({**of_jobs, **drawn})
    for table, rows in (("clusters", clusters), ("years", by_year), ("serving", serving)):
        known.adopt(columns_of(table, rows))
    known.state(WRITES[overlap.get("checkpoints")])
    if tiers:
        alternate = overlap.get("reads_and_checkpoints") is False
        known.state("tiers_shared", *(["reads_alternate_with_saves"] if alternate else ()))
    if any(row.step("local_kv_bytes") is not None for row in serving):
        known.state("caches_on_nodes")
    if any(row.step("miss_share") is not None for row in jobs):
        known.state("data_cached_beside_tiers" if tiers else "data_cached")
    if (grown := _grown(site, jobs, serving, horizon, growth, storage)) is not None:
        known.link("grown_read_bandwidth", grown)
    if growth.parameters and horizon:
        place_grown_checkpoints(known, jobs, growth, horizon, WRITES[overlap.get("checkpoints")])
    place_minimums(site, known)
    tables = {"jobs": jobs, "serving": serving, "clusters": clusters, "datasets": list(data.values()), "years": by_year}
    tables |= {"holdings": [row for rows in holdings for row in rows], "sources": source_rows(site, data)}
    tables["models"], outgrown = grown_models(site, jobs, growth, horizon, catalog)
    left_out = _left_out(site, bool(policies), bool(tiers))
    if not any("suggested_rate" in row.known.given for row in jobs):
        left_out["R-READ-06"] = "evidence agrees about the rate of each job"
    staged = {name for name, job in site.section("jobs").items() if job.get("placement", {}).get("mode") == "stage"}
    reads = [row.step("job_read_bandwidth") for row in jobs if row.name not in staged]
    tiered = any(row.step("storage_tier_bytes") is not None for row in jobs)
    # What the buyer states is required whether or not a job needs it.
    stated = site.section("storage").get("at_least", {})
    unstated = [line.id for line in LINES if line.metric not in [MINIMUMS[key][0] for key in stated if key in MINIMUMS]]
    if not tiered and not any(step and step.value for step in reads):
        left_out |= dict.fromkeys((name for name in unstated if name.startswith("R-READ")), "no job reads data")
        if "read" not in stated:
            known.state("no_job_reads")
    if not tiered and not policies:
        unsaved = (name for name in unstated if name.startswith(("R-WRITE", "R-MIX")))
        left_out |= dict.fromkeys(unsaved, "no job saves checkpoints")
        if "write" not in stated:
            known.state("no_job_saves")
    # How hard a job's load is beside its rate: fewer clients and readers, random and smaller reads, a longer phase.
    factors, hard = ("nodes", "read_request_bytes", "readers_per_node", "read_phase_seconds"), dict[str, tuple[float, ...]]()
    for row in jobs:
        nodes, size, readers, phase = (float(part.value) if (part := row.known.find(name)) else 0.0 for name in factors)
        hard[row.name] = -nodes, float(row.words.get("pattern") == "random"), -size, -readers, phase
    found, absent, tree = _found(known, left_out, hard)
    unopened = any(row.step("job_read_bandwidth") is not None and row.step("job_file_opens") is None for row in jobs)
    absent |= {"R-META-01": UNOPENED} if unopened and "R-META-01" in absent else {}
    for row in jobs:
        row.find_all(("read_request_bytes", "samples_per_file", "readers_per_node", "read_phase_seconds", "cold_phase_seconds"))
        if row.known.find("staging_bandwidth_of_run") is None and known.value("site_read_bandwidth"):
            row.known.link("staging_bandwidth_of_run", known.step("site_read_bandwidth"))
    known.steps_of("site_clients", "moving_clients", "loading_clients", "single_node")  # clients in tests of the whole site
    totals = [
        *checks.of_totals(site, known, holdings),
        *checks.of_transfers((*jobs, *serving), known, by_year),
        unguided(guidance, site),
    ]
    for whose, rows in tables.items():
        shown = [name for table in TABLES.values() if table.of == whose for name in table.columns]
        for row in rows:
            row.find_all(shown)  # derived now, so that what they rest on is known by where it was given
    for one in (known, *(row.known for rows in tables.values() for row in rows)):
        one.freeze()
    ends = spread(tree, samples_for(tree, samples), seed)
    known.step("workload_node_read_bandwidth")
    by_name, served = ({row.name: row for row in rows} for rows in (jobs, serving))
    named = listed(sorted({one.floor.name for one in guidance.values() if one.floor is not None}))
    writer = RequirementWriter(site, known, by_name, served, clusters, DerivationWriter(catalog), ends, named)
    lines = tuple(writer.write(one) for one in found.values())
    offloading = [row for row in jobs if row.step("offload_stops") is not None]
    held = [
        *sizes,
        *checks.of_choices(jobs, policies, sized),
        *checks.of_policies(policies),
        *checks.of_each(jobs, policies, site, catalog),
        *checks.of_drains(site, jobs),
        *(finding("W90", row.step, owner=row.name) for row in offloading),
        *(one for row in offloading for one in bounds(row.known, row.name)),
        *(states_on_storage(row) for row in jobs),
        # What the latency of a query leaves for a read of its index, against what one takes at a client.
        *(
            finding(
                "W105", {"latency_budget": row.step("latency_budget"), **storage.steps_of("client_latency")}, owner=row.name
            )
            for row in jobs
        ),
        *(finding("W89", row.step, owner=row.name) for row in serving),
        *(checks.of_replicas(row) for row in serving),
        *(finding("W115", words={"question": "open"}, owner=key, text=text) for key, text in site.section("questions").items()),
        *outgrown,
        *totals,
        *units,
    ]
    findings = [one for one in held if one is not None]
    of_lines = [one for line in lines for one in line.findings]
    of_lines += [one for one in checks.of_headline([line.requirement for line in lines], clusters) if one is not None]
    # The warnings of jobs, each once, with the names of the jobs that it is about.
    told = grouped((line, job.row.name) for job in planned for line in dict.fromkeys(job.warnings))
    of_jobs_told = (of_owner(listed(names), line) for line, names in told.items())
    warnings = (
        *of_jobs_told,
        *growth.warnings,
        *checks.warnings_of(site, [*findings, *of_lines], jobs, data, horizon, catalog),
    )
    made = Plan(
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
        findings=(*findings, *of_lines),
        guidance=guidance,
        document=with_purchase(cover, [one.requirement for one in lines], site.section("clusters")),
        service=service_terms(site, storage, catalog, [one.requirement for one in lines]),
    )
    # Whether a decision is still asked for, and whether an award can be earned, is known once the lines are.
    lost = stale(site, made.decided) if site.section("decisions") else []
    late = [*lost, *unearned(site, made.vendor_lines, made.vendor_terms)]
    return replace(made, warnings=(*warnings, *late)) if late else made


def _left_out(site: Site, saves: bool, tiers: bool) -> dict[str, str]:
    """The lines that the keys of the site leave without a meaning, with the reason."""
    found: dict[str, str] = {}
    if not tiers and not saves:
        found["R-MIX-01"] = "no job saves checkpoints beside the reads"
    elif not tiers and site.section("overlap").get("reads_and_checkpoints") is False:
        found["R-MIX-01"] = "`overlap.reads_and_checkpoints` is false: reads and checkpoints alternate"
    jobs, served = site.section("jobs").values(), site.section("serving").values()
    published = any("rl" in job for job in jobs)
    needed = {
        "R-KV": (served, Message("no workload keeps key-value caches", supply=("serving",))),
        "R-SERVE": (any("load_time" in one for one in served), UNTIMED),
        **dict.fromkeys(("R-SYNC", "R-TRACE"), (published, NOT_PUBLISHED)),
        "R-VEC": (site.section("indexes"), Message("the site has no vector index", supply=("indexes",))),
        "R-OFFLOAD": (served or any("offload" in job or "tier" in job.get("index", ()) for job in jobs), NOT_OFFLOADED),
    }
    return found | {one.id: why for one in LINES for start, (is_there, why) in needed.items()
                    if one.id.startswith(start) and not is_there}  # fmt: skip


def _clusters(
    site: Site,
    jobs: list[QuantityRow],
    serving: list[QuantityRow],
    guidance: Mapping[str, ClusterGuidance],
    *,
    later: bool = False,
) -> list[QuantityRow]:
    """One row per cluster, with the columns of what runs there; `later` for the last year, whose inputs are the site's."""
    rows, jobs_of, served_of, clusters = [], by_cluster(jobs), by_cluster(serving), site.section("clusters")
    # Data sets are loaded, prepared and moved by the nodes without GPUs where there are any, which are not bought to copy data;
    # which nodes a job occupies says nothing about those that load.
    movers = [name for name, one in clusters.items() if one["node"] == WITHOUT_GPUS] or clusters
    for name, described in clusters.items():
        known = Quantities({"cluster_nodes": described["count"]}, name, shared_inputs=later)
        known.adopt(guidance[name].shared)
        known.adopt(columns_of("jobs", jobs_of.get(name, []), name))
        served = served_of.get(name, [])
        if not (jobs or serving):
            known.state("cluster_prepares")
        if name in movers:
            known.state("cluster_moves")
        if served:
            known.adopt(columns_of("serving", served, name))
            known.state("cluster_serves")
        rows.append(QuantityRow(name, {"node": described["node"]}, known))
    return rows


def _storage(site: Site, catalog: Catalog) -> Quantities:
    """The quantities of the storage to be bought and of its tests."""
    described = site.section("storage")
    given = USUAL | {quantity: described[key] for key, quantity in STORAGE.items() if key in described}
    homes = site.section("reserve").get("homes")
    for section, keys in (("test", TEST), ("reserve", RESERVE), ("outage", OUTAGE), ("migrate", MIGRATE)):
        given |= {quantity: site.section(section)[key] for key, quantity in keys.items() if key in site.section(section)}
    if isinstance(site.data.get("floor"), Mapping):
        given["floor_signed"] = Input(1, origin="user", where="floor")
    if isinstance(homes, Mapping):
        given |= {quantity: homes[key] for key, quantity in HOMES.items()}
        del given["home_bytes"]
    if "round" in site.data:
        given["significant_digits"] = Input(site.data["round"], origin="user", where="round")
    if "client" in described:
        given |= _of_storage(site, "client", described["client"], catalog)
    known, scheme = Quantities(given), described.get("protection")
    if isinstance(scheme, str):
        known = Quantities({**given, **_of_storage(site, "protection", scheme, catalog)})
    elif scheme is not None:
        named = {"replicas": "replicas", "data": "data_units", "parity": "redundancy_units"}
        known = Quantities({**given, **{named[key]: item for key, item in scheme.items()}})
        if "replicas" in scheme:
            known.give({"data_units": Input(1, note="each copy is whole")})
            known.link("redundancy_units", known.step("further_copies"))
    if isinstance(homes, Mapping):
        known.state("homes_have_quotas")
    if "storage_units" in known.given:
        known.link("servers_left", known.step("working_units"))
    # One step for all years: one cell, one draw.
    known.steps_of(*known.given, *RESERVE.values(), "filesystem_efficiency", "servers_left", "failed_servers")
    return known


def _of_storage(site: Site, key: str, name: str, catalog: Catalog) -> dict[str, Input]:
    """What the catalogs know of a storage client or a protection scheme.

    Of a client that is the latency of a read and the bandwidth of one node, of a scheme its data and redundancy units where
    they are published, else its usable share.
    """
    keys = ("storage", key)
    with site.blaming(keys):
        found = catalog.get(Storage, name)
    if key == "client":
        known = {
            "client_latency": found.request_latency,
            "client_bandwidth_per_node": found.client_read_bandwidth,
            "nic_delivery": found.nic_efficiency,
        }
        if not any(known.values()):
            site.refuse(keys, f"neither latency nor bandwidth of a client is known of {found.id}, expected `latency`")
    else:
        if found.usable_fraction is None:
            expected = "expected an id such as prot-ec-8-3, or `data` and `parity`"
            site.refuse(keys, f"{found.id} is not a protection scheme, {expected}")
        known = {"data_units": found.data_units, "redundancy_units": found.redundancy_units}
        if None in known.values():
            known = {"protection_efficiency": found.usable_fraction}
    return {quantity: from_catalog(value) for quantity, value in known.items() if value is not None}


def _grown(
    site: Site, jobs: list[QuantityRow], serving: list[QuantityRow], years: int, growth: Growth, storage: Quantities
) -> Step | None:
    """The read bandwidth of all concurrent jobs in the last year of the plan; None where nothing grows."""
    factor = "bandwidth_growth_factor"
    if not years or not any(factor in growth.jobs[row.name] for row in jobs):
        return None
    later = []
    for row in jobs:
        grows = growth.jobs[row.name]
        kept = {name: item for name, item in row.known.given.items() if name != "bandwidth_growth" or factor not in grows}
        known = Quantities({**kept, **grows, "elapsed_seconds": elapsed_until(years)}, row.name, shared_inputs=True)
        known.adopt({name: step for name in SAME_EVERY_YEAR if (step := row.step(name)) is not None})
        # What the jobs need, whether the nodes of today draw it or not.
        known.give({"node_drawable_bandwidth": UNLIMITED})
        known.state("data_read", "queries_grow")
        later.append(QuantityRow(row.name, row.words, known))
    total = Quantities(storage.given)
    unguided_clusters = dict.fromkeys(site.section("clusters"), NO_GUIDANCE)
    total.adopt(columns_of("clusters", _clusters(site, later, serving, unguided_clusters, later=True)))
    if tiers := tier_columns(later, serving):
        total.adopt({**tiers, **columns_of("jobs", later)})
        total.state("tiers_shared")
    return total.step("workload_read_bandwidth")


def bandwidth_by_year(plan: Plan) -> list[YearBandwidth]:
    """The required read and write bandwidth in each year of a plan: reads grow as its jobs do, checkpoints stay."""
    growth = growth_of(plan.site, plan.catalog)
    reads, writes = (plan.results.get(name) for name in ("R-READ-03", "R-WRITE-01"))
    limit, floor = plan.known.find("site_drawable_bandwidth"), plan.known.step("signed_read_floor")
    found = []
    for year, row in enumerate(plan.rows["years"]):
        read = None if reads is None else reads.value
        grown = _grown(plan.site, plan.rows["jobs"], plan.rows["serving"], year, growth, plan.known)
        if read is not None and grown is not None:
            read = plan.rounded(max(float(grown.value), float(floor.value)))
            read = read if limit is None else min(read, float(limit.value))
        found.append(YearBandwidth(row.name, read, None if writes is None else writes.value))
    return found


def _found(
    known: Quantities, left_out: Mapping[str, str], hardness: Mapping[str, tuple[float, ...]]
) -> tuple[dict[str, RequirementValue], dict[str, str], ArrayTree]:
    """The value of each requirement, for each line without one the reason, and the tree of the values."""
    steps: dict[str, Step] = {}
    absent = dict(left_out)
    named = {line.id: label_of(line.metric) or line.metric.removeprefix("site_").replace("_", " ") for line in LINES}
    unneeded = {name: f"this site needs no {words}" for name, words in named.items()}
    for line in LINES:
        if line.id in left_out:
            continue
        try:
            step = known.step(line.metric)
        except MissingQuantity as error:
            absent[line.id] = MISSING.get(error.name, message_of(error))
            continue
        # A tender of any size has some lines, whatever their value, where there is a job for them.
        if float(step.value) != 0 or line.at_any_size:
            steps[line.id] = step
        else:
            absent[line.id] = unneeded[line.id]
    tree = ArrayTree(steps)
    below = all_below(tree, lambda item: why_assumed(item) is not None)
    found = {line.id: RequirementValue(line, steps[line.id], *below[line.id], hardness) for line in LINES if line.id in steps}
    required = {name: one for name, one in found.items() if float(one.step.value) != 0 or one.entries}
    if len(required) < len(found):
        absent |= {name: unneeded[name] for name in found if name not in required}
        tree = ArrayTree({name: steps[name] for name in required})
    return required, {line.id: absent[line.id] for line in LINES if line.id in absent}, tree
