"""What a site holds year by year: data sets, checkpoints and the rest, as they grow; and the capacity to buy."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow, column, columns_of, replaced
from ingest.engine.registry import Step, linked, unit_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.site.datasets import (
    ARCHIVE,
    DECIDED,
    EMPTY,
    PERFORMANCE,
    SAME_IN_ALL_YEARS,
    STILL,
    STORES_NOTHING,
    Growth,
    arrival_of,
    times_of_dataset,
)
from ingest.site.site_file import Site
from ingest.sizing.memory import memory
from ingest.sizing.rules import Finding, finding
from ingest.units import display, parse


def year_rows(
    site: Site,
    jobs: Sequence[QuantityRow],
    of_jobs: Mapping[str, Step],
    holdings: Sequence[Sequence[QuantityRow]],
    storage: Quantities,
    growth: Growth,
    *,
    tiers: bool,
) -> list[QuantityRow]:
    """One row per year, each with the columns of the data sets in that year, and those of the jobs and their tiers."""
    shared = {**storage.steps, **of_jobs}
    rows: list[QuantityRow] = []
    held, written = "dataset_bytes_held_of_datasets", "dataset_bytes_written_per_day_of_datasets"
    for year, present in enumerate(holdings):
        name = label_of(site, year)
        known = Quantities(storage.given, name, shared_inputs=True)
        of_data = _columns_by_tier(site, present, name)
        landing, landed = _landing(present, "dataset_landing_bytes", held), _landing(present, "landed_bytes_per_day", written)
        of_data[held] = column(held, (*of_data[held].inputs, *landing, *_read_besides(jobs, growth, year)), name)
        # Versions of weights, rollout traces and rebuilt indexes, as bytes that are written in a day.
        besides = [step for row in jobs for key in WRITTEN_BESIDES if (step := row.step(key)) is not None and step.value]
        more = (linked("dataset_bytes_written_per_day", grown_index(one, growth, year), one.owner) for one in besides)
        of_data[written] = column(written, (*of_data[written].inputs, *landed, *more), name)
        known.adopt({**shared, **_grown_columns(jobs, growth, year, name), **of_data})
        if tiers:
            known.state("tiers_shared")
        elif any("preparation" in one for one in site.section("datasets").values()):
            known.state("data_prepared")
        if "migrate" in site.data:
            known.state("data_migrated")
        place_minimums(site, known, of_years=True)
        rows.append(QuantityRow(name, {"year": year}, known))
    return rows


#: bytes of an index that are held and that are written in a day: they grow with its vectors
INDEX_HELD, INDEX_WRITTEN = "indexed_bytes_held", "index_bytes_per_day"
#: what jobs read and write besides data sets and checkpoints; each is held once
BESIDES = ("start_bytes", "evaluation_bytes", "export_bytes_of_runs", "weights_of_runs_bytes", "traces_of_runs_bytes",
           INDEX_HELD)  # fmt: skip
WRITTEN_BESIDES = ("job_versions_per_day", "job_traces_per_day", INDEX_WRITTEN)
#: what of it is as large as the model of the job
OF_MODEL = ("export_bytes_of_runs",)


def _landing(present: Sequence[QuantityRow], name: str, column_name: str) -> list[Step]:
    """What data that arrive add to a column of the data sets of a year."""
    steps = [step for row in present if (step := row.step(name)) is not None and step.value]
    return [linked(column_name.removesuffix("_of_datasets"), step, step.owner) for step in steps]


def _read_besides(jobs: Sequence[QuantityRow], growth: Growth, year: int) -> Iterator[Step]:
    """Environments, evaluation data and exported models, as bytes held in a year."""
    for row in jobs:
        for name in BESIDES:
            if (step := row.step(name)) is not None and step.value:
                factors = growth.parameters.get(row.name) if name in OF_MODEL and year else None
                grown = grown_index(step, growth, year) if factors is None else grown_step(step, factors, year)
                yield linked("dataset_bytes_held", grown, row.name)


def place_index_growth(jobs: Sequence[QuantityRow], growth: Growth, years: int) -> None:
    """Give each index the growth of its vectors until the last year, in which it is largest."""
    for row in jobs:
        if row.step(INDEX_HELD) is not None and years and "capacity_growth_factor" in growth.jobs[row.name]:
            own = Quantities({**growth.jobs[row.name], "elapsed_seconds": elapsed_until(years)}, row.name)
            row.known.link("index_growth", own.step("capacity_growth"))


def grown_index(step: Step, growth: Growth, year: int) -> Step:
    """Bytes of an index in a year, as many times those of the start as its vectors; any other step as it is."""
    factors = growth.jobs.get(step.owner, {})
    if not year or step.name not in (INDEX_HELD, INDEX_WRITTEN) or "capacity_growth_factor" not in factors:
        return step
    return grown_step(step, factors, year, (GROWN["B"][0], "grown_index_bytes"))


#: keys of `storage.at_least`, and what each holds up: of the whole site, and of a year
MINIMUMS = {
    "usable": ("site_capacity_to_buy", "year_capacity_to_buy"),
    "raw": ("site_raw_bytes", "year_raw_bytes"),
    "read": ("site_read_bandwidth", ""),
    "write": ("site_write_bandwidth", ""),
}


def place_minimums(site: Site, known: Quantities, *, of_years: bool = False) -> None:
    """Hold the capacities and rates of a site, or of a year, up to what the buyer states."""
    stated = site.section("storage").get("at_least", {})
    for key, names in MINIMUMS.items():
        name = names[of_years]
        if key not in stated or not name:
            continue
        kind = "bytes" if unit_of(name) == "B" else "rate"
        own = Quantities({f"stated_{kind}": stated[key]}, known.owner, shared_inputs=True)
        plain = known.with_inputs({})
        need = plain.find(name)
        if need is not None:
            known.adopt({one: step for one, step in plain.steps.items() if one != name and one not in known.steps})
            own.link(f"needed_{kind}", need)
        known.link(
            name, own.step(f"stated_{kind}" if need is None else "capacity_at_least" if kind == "bytes" else "rate_at_least")
        )


#: the columns of what comes from outside
OF_LOADS = ("dataset_load_bandwidth", "dataset_refresh_bandwidth")


def _columns_by_tier(site: Site, present: Sequence[QuantityRow], owner: str) -> dict[str, Step]:
    """The columns of the data sets of a year: of the tier that jobs read, of the archive, and of what is made from it."""
    sets = site.section("datasets")
    archived = [row for row in present if tier_of(sets[row.name]) == ARCHIVE]
    recalled = [row for row in present if tier_of(sets.get(sets[row.name].get("made_from"), {})) == ARCHIVE]
    found = columns_of("datasets", [row for row in present if row not in archived], owner)
    found |= columns_of("archived", archived, owner) | columns_of("recalled", recalled, owner)
    for table, rows in (("datasets", [row for row in present if row not in archived]), ("archived", archived)):
        # What is made on the site is written by its preparation, and loaded from nowhere.
        loaded = columns_of(table, [row for row in rows if "made_from" not in sets[row.name]], owner)
        found |= {name: step for name, step in loaded.items() if name.startswith(OF_LOADS)}
    if archived or recalled:
        # Reads of a preparation are those of its origin's tier; its scratch space lies where jobs read.
        reads = "dataset_preparation_bandwidth_of_datasets"
        others = columns_of("datasets", [row for row in present if row not in recalled], owner)
        every = columns_of("datasets", present, owner)
        found |= {reads: others[reads], **{name: step for name, step in every.items() if "scratch" in name}}
    return found


def tier_of(described: Mapping[str, Any]) -> str:
    """The tier that a data set lies on."""
    return str(described.get("tier", PERFORMANCE))


#: what of the checkpoints of a job grows with its parameters
GROWN = {"B": ("start_bytes_of_job", "grown_bytes_of_job"), "B/s": ("start_rate_of_job", "grown_rate_of_job")}
OF_CHECKPOINTS = ("job_checkpoint_bytes_held", "job_checkpoint_bytes_per_day", "job_export_bandwidth")


def grown_step(step: Step, factors: Mapping[str, Input], year: int, names: tuple[str, str] | None = None) -> Step:
    """A quantity of a job that grows, in a year: with its parameters, where no other `names` of start and growth are given."""
    start, grown = names or GROWN[unit_of(step.name)]
    own = Quantities({**factors, "elapsed_seconds": elapsed_until(year)}, step.owner)
    own.link(start, step)
    return linked(step.name, own.step(grown), step.owner)


#: rates of the checkpoints of a job that grow with its parameters, and the shape of their overlap, which stays
GROWING_RATES = ("run_write_bandwidth", "job_write_bandwidth", "job_sustained_write_bandwidth", "job_restart_bandwidth")
OF_OVERLAP = ("concurrent_runs", "write_duty", "runs_writing")


def place_grown_checkpoints(known: Quantities, jobs: Sequence[QuantityRow], growth: Growth, years: int, overlap: str) -> None:
    """Give a site the writes and restores of its checkpoints in the last year of the plan; `overlap` is how they coincide."""
    later = []
    for row in jobs:
        own = Quantities({}, row.name)
        own.adopt({name: step for name in OF_OVERLAP if (step := row.step(name)) is not None})
        factors = growth.parameters.get(row.name)
        for name in GROWING_RATES:
            if (step := row.step(name)) is not None:
                own.adopt({name: step if factors is None else grown_step(step, factors, years)})
        later.append(QuantityRow(row.name, row.words, own))
    total = Quantities(known.given)
    total.adopt(known.steps_of("performance_headroom") | columns_of("jobs", later))
    total.state(overlap)
    for name, workload in (("write", "workload_write_bandwidth"), ("restart", "workload_restart_bandwidth")):
        known.link(f"grown_{name}_bandwidth", total.step(workload))


#: bytes of the checkpoints of a run that grow with its parameters, and their names in a year
GROWN_BYTES = {"checkpoint_bytes": "grown_checkpoint_bytes", "restart_read_bytes": "grown_restart_bytes"}


def grown_models(
    site: Site, jobs: Sequence[QuantityRow], growth: Growth, years: int, catalog: Catalog
) -> tuple[list[QuantityRow], list[Finding | None]]:
    """The model of each job whose parameters grow, year by year, and the year from which its run no longer fits its nodes."""
    rows, found = [], []
    for row in jobs:
        factors, start = growth.parameters.get(row.name), row.checkpoints and row.checkpoints.find("parameters")
        if factors is None or not start:
            continue
        job = site.section("jobs")[row.name]
        optimizer = job.get("checkpoint", {}).get("optimizer")
        node, late = site.section("clusters")[job["cluster"]]["node"], False
        for year in range(years + 1):
            own = Quantities({**factors, "elapsed_seconds": elapsed_until(year)}, row.name)
            own.link("start_parameters", start)
            for name, grown in GROWN_BYTES.items():
                if (step := row.step(name)) is not None:
                    own.link(grown, grown_step(step, factors, year))
            parameters = own.step("grown_parameters")
            if "offload" not in job:
                # As `memory` counts the states of so many parameters, each once over all GPUs: no layout needs fewer.
                with site.blaming(("jobs", row.name, "checkpoint")):
                    held = memory(
                        set={"parameters": float(parameters.value)}, node=node, optimizer=optimizer, catalogs=catalog
                    ).known
                done: dict[Step, Step] = {}
                given = {"parameters": linked("parameters", parameters, row.name)}
                own.adopt(
                    {name: replaced(held.step(name), given, done, row.name) for name in HELD if held.find(name) is not None}
                )
                needed = own.steps.get("nodes_to_hold")
                if needed is not None and needed.value > row.known.value("nodes") and not late:
                    facts = {"nodes_to_hold": needed, "nodes": row.known.step("nodes")}
                    late, label = True, label_of(site, year)
                    states = display(own.value("model_state_bytes"), "B", binary=False)
                    found.append(finding("W102", facts.get, owner=row.name, year=label, states=states))
            rows.append(QuantityRow(row.name, {"year": label_of(site, year)}, own))
    return rows, found


#: what GPU memory holds of a model
HELD = ("model_state_bytes", "gpus_to_hold", "nodes_to_hold")


def _grown_columns(jobs: Sequence[QuantityRow], growth: Growth, year: int, owner: str) -> dict[str, Step]:
    """The columns of checkpoints in a year, of jobs whose parameters grow; nothing where none do."""
    if not growth.parameters or not year:
        return {}
    found = {}
    for name in OF_CHECKPOINTS:
        steps = [(row.name, step) for row in jobs if (step := row.step(name)) is not None]
        entries = [grown_step(step, growth.parameters[job], year) if job in growth.parameters else step for job, step in steps]
        found[f"{name}_of_jobs"] = column(f"{name}_of_jobs", tuple(entries), owner)
    return found


def label_of(site: Site, year: int) -> str:
    """The name of a year of the plan."""
    start = site.data.get("start")
    return str(start.year + year) if start else f"year {year}"


def holdings_of(site: Site, data: Mapping[str, QuantityRow], years: int, growth: Growth) -> list[list[QuantityRow]]:
    """The data sets in each year of the plan, each with what its first load and its growth write."""
    found: list[list[QuantityRow]] = []
    for year in range(years + 1):
        rows = _rows_in(site, data, year, growth)
        for row, before in zip(rows, found[-1] if found else [None] * len(rows), strict=True):
            loaded = bool(row.known.value("present")) and (before is None or not before.known.value("present"))
            row.known.give({"first_load": Input(float(loaded), note="in the year of its first load")})
            scratch = ("dataset_scratch_bytes_held",) if "preparation" in site.section("datasets")[row.name] else ()
            if before is not None and "lifetime" in site.section("datasets")[row.name] and before.known.value("present"):
                row.known.link("created_growth_before", before.known.step("created_growth"))
            for name in ("dataset_bytes_held", *scratch):
                if before is None:
                    row.known.give({f"{name}_before": EMPTY})
                elif "refresh_seconds" not in row.known.given or not before.known.value("present"):
                    # New versions of a refreshed data set include its growth.
                    row.known.link(f"{name}_before", before.known.step(name))
        found.append(rows)
    return found


def _rows_in(site: Site, data: Mapping[str, QuantityRow], year: int, growth: Growth) -> list[QuantityRow]:
    """The data sets in one year: grown since the start, absent before and after their time."""
    start: datetime.date | None = site.data.get("start")
    rows: dict[str, QuantityRow] = {}
    base = None
    if growth.together and year:
        for name in growth.together:
            data[name].known.step("bytes_at_start")
        shared = Quantities({})
        shared.adopt(columns_of("growing", [row for name, row in data.items() if name in growth.together]))
        base = shared.step("bytes_that_grow")
    for name, row in data.items():
        described = site.section("datasets")[name]
        here = Input(float(start is None or there(described, start.year + year)), note="in the years between from and until")
        here = STORES_NOTHING if "mix" in described else here
        own = growth.datasets[name]
        expires = "lifetime" in described
        grows = {**own, "elapsed_seconds": elapsed_until(year)} if own or expires else {"capacity_growth": STILL}
        arrives = arrival_of(described)
        known = Quantities({**row.known.given, **grows, **times_of_dataset(described), **arrives, "present": here}, name)
        if "link_rate" in arrives:
            known.state("link_stated")
        for one in SAME_IN_ALL_YEARS:
            if one in row.known.given or one in DECIDED:
                row.known.find(one)
        known.adopt({one: row.known.steps[one] for one in SAME_IN_ALL_YEARS if one in row.known.steps})
        rows[name] = QuantityRow(name, {"year": label_of(site, year)}, known)
        # By a factor or an amount, with or without data that are deleted.
        if "growth_amount" in known.given:
            known.link("growth_base_bytes", base if base and name in growth.together else known.step("data_bytes"))
            known.state("grows_by_amount")
        if expires:
            if "growth_amount" not in known.given:
                known.state("grows_by_factor")
            first = described.get("from")
            if start is not None and first is not None and first.year > start.year:
                known.give({"arrival_seconds": elapsed_until(first.year - start.year)})
            known.state("data_expire")
        if "made_from" in described:
            known.link("origin_growth", rows[described["made_from"]].known.step("capacity_growth"))
            known.state("prepared_in_passes" if "preparation" in described else "made_in_one_pass")
    return list(rows.values())


def elapsed_until(year: int) -> Input:
    """The time from the start of the plan to a year of it."""
    return Input(parse(f"{year} year", "s", "year"), note=f"year {year} of the plan")


def there(described: Mapping[str, Any], year: int) -> bool:
    """Whether a data set is on storage in a year."""
    first, last = (described.get(word) for word in ("from", "until"))
    return (first is None or first.year <= year) and (last is None or year <= last.year)
