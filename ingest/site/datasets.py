"""The data sets of a site as rows, and the capacity in use year by year."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.catalog.records import Model
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import read_measurement
from ingest.engine.derivation_graph import QuantityRow, columns_of, replaced
from ingest.engine.messages import in_site_words, message_of
from ingest.engine.registry import Step, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError, listed
from ingest.site.jobs import encoding_in, family_of, model_of
from ingest.site.mixtures import place_mixture, place_parts
from ingest.site.preparation import place_preparation
from ingest.site.site_file import Keys, Site
from ingest.site.transfers import times_of_dataset
from ingest.sizing.dataset import dataset
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import encoding_of
from ingest.sizing.rules import applying, finding
from ingest.units import display, parse

PUBLISHED_FOR = "recsys"
_WHERE = "growth of a recommender fleet over two years"
_PUBLISHED = {
    "capacity_growth_factor": Input(2, source="zhao2022", where=_WHERE, grade="assumed", note="capacity ×2 in two years"),
    "bandwidth_growth_factor": Input(4, source="zhao2022", where=_WHERE, grade="assumed", note="bandwidth ×4 in two years"),
    "growth_period_seconds": Input(63_115_200, source="zhao2022", where=_WHERE, grade="assumed", note="two years"),
}
_KEYS = {"capacity": "capacity_growth_factor", "bandwidth": "bandwidth_growth_factor", "every": "growth_period_seconds"}


@dataclass(frozen=True)
class Growth:
    """How jobs and data sets grow: quantities by name of the job or data set.

    Attributes:
        jobs, datasets: what each grows by; nothing where it does not.
        warnings: where published factors were not applied.
    """

    jobs: Mapping[str, Mapping[str, Input]]
    datasets: Mapping[str, Mapping[str, Input]]
    warnings: tuple[str, ...] = ()


def growth_of(site: Site, catalog: Catalog) -> Growth:
    """Read who grows by what.

    Raises:
        IngestError: published factors for a class that they were not published for; with the line.
    """
    jobs = site.section("jobs")
    recommenders = {name for name, job in jobs.items() if family_of(job, catalog) == PUBLISHED_FOR}
    theirs = {jobs[name]["data"] for name in recommenders if "data" in jobs[name]}
    shared = site.data.get("growth")
    if shared == "published" and not recommenders:
        site.refuse(("growth",), "published factors apply to recommenders, and there are none; expected factors of your own")
    found = {
        "jobs": {name: _of(site, ("jobs", name), job, shared, name in recommenders) for name, job in jobs.items()},
        "datasets": {
            name: _of(site, ("datasets", name), one, shared, name in theirs) for name, one in site.section("datasets").items()
        },
    }
    left = sorted(jobs.keys() - recommenders)
    without = finding("W38", words={"growth": str(shared)}, jobs=listed(left)) if left else None
    return Growth(found["jobs"], found["datasets"], tuple(one.message() for one in applying([without])))


def _of(site: Site, keys: Keys, described: Mapping[str, Any], shared: Any, recommender: bool) -> dict[str, Input]:
    own = described.get("growth", shared)
    if own is None:
        return {}
    if own != "published":
        _refuse_absurd(site, (*keys, "growth") if "growth" in described else ("growth",), own)
        return {_KEYS[key]: item for key, item in own.items()}
    if recommender:
        return dict(_PUBLISHED)
    if "growth" in described:
        site.refuse((*keys, "growth"), "published factors apply to recommenders only, expected factors of your own")
    return {}


def _refuse_absurd(site: Site, keys: Keys, own: Mapping[str, Input]) -> None:
    """Refuse growth whose steepest case outgrows any storage, and with a long plan every number."""
    every = own.get("every", _PUBLISHED["growth_period_seconds"])
    period = every.low or every.value
    for key in own.keys() & {"capacity", "bandwidth"}:
        factor = own[key].high or own[key].value
        known = {"doubling_seconds": solve("doubling_seconds", {"growth_factor": factor, "growth_period_seconds": period})}
        for one in applying([finding("E12", known, factor=factor, period=display(period, "s"))]):
            site.refuse((*keys, key), one.message())


#: keys of a data set and the quantity that each is
OWN = {
    "bytes": "data_bytes",
    "samples": "data_samples",
    "sample_bytes": "data_sample_bytes",
    "tokens": "data_tokens",
    "bytes_per_token": "data_bytes_per_token",
    "ratio": "kept_share",
    "samples_per_file": "samples_in_file",
    "file_bytes": "file_bytes",
    "files": "data_files",
    "copies": "data_copies",
    "refresh": "refresh_seconds",
    "retention": "retention_seconds",
}
#: keys that give the size of a data set; exactly one of them
SIZES = ("bytes", "samples", "tokens", "model", "corpus", "measured", "made_from", "mix")
EMPTY = Input(0, note="every data set is loaded in the first year of the plan")
STORES_NOTHING = Input(0, note="a mixture reads data sets that are stored once, under their own names")
STILL = Input(1, note="no growth is planned")
#: further quantities of a measurement
MEASURED = {
    "data_files": "files",
    "data_samples": "samples",
    "data_sample_bytes": "sample_bytes",
    "samples_in_file": "samples_per_file",
    "data_tokens": "tokens",
}
#: what of this another layout of the files makes void, and the keys of such a layout
FILES = ("data_files", "samples_in_file")
REPACKED = ("files", "file_bytes", "samples_per_file")
#: keys of a data set that `ingest dataset` takes
ASKED = ("tokens", "samples", "sample_bytes", "bytes_per_token", "vocabulary")
#: what of a data set follows from its case
DECIDED = ("data_bytes", "data_files")
#: years to plan for unless the site file gives them
USUAL_YEARS = 5


def dataset_rows(site: Site, catalog: Catalog) -> dict[str, QuantityRow]:
    """One row per data set, each before those made from it.

    Raises:
        IngestError: a data set of unknown size, or one made from itself; with its line.
    """
    rows: dict[str, QuantityRow] = {}
    for name in site.section("datasets"):
        _add(name, site, catalog, rows, ())
    return rows


def _add(name: str, site: Site, catalog: Catalog, rows: dict[str, QuantityRow], path: tuple[str, ...]) -> None:
    if name in rows:
        return
    described = site.section("datasets")[name]
    keys = ("datasets", name)
    if name in path:
        circle = " is made from ".join([*path[path.index(name) :], name])
        which = "mix" if "mix" in described else "made_from"
        site.refuse((*keys, which), f"cyclic: {circle}; expected one of them to have a size of its own")
    if "made_from" in described:
        _add(described["made_from"], site, catalog, rows, (*path, name))
    for source in described.get("mix", ()):
        _add(source, site, catalog, rows, (*path, name))
    known = Quantities({quantity: described[key] for key, quantity in OWN.items() if key in described}, name)
    rows[name] = QuantityRow(name, {"of": _size(keys, described, known, site, catalog, rows)}, known)
    if described.keys().isdisjoint(REPACKED) and "data_files" not in known.given:
        known.give(_of_readers(name, site, catalog, known.given))
    # Choose what yields the files of a data set, where anything does.
    given = known.given
    if "data_files" not in given and {"samples_in_file", "data_samples"} <= given.keys():
        known.state("files_by_samples")
    elif "data_files" not in given and "file_bytes" in given:
        known.state("files_by_bytes")
    elif "dataset_files" in known.steps:
        known.state("files_of_format")
    if "refresh" in described:
        known.state("refreshed")
        known.step("versions_held")


def _size(
    keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, catalog: Catalog, rows: Mapping[str, QuantityRow]
) -> str:
    """Choose what yields the bytes of a data set; returns in words what it is."""
    if "made_from" in described:
        known.link("origin_bytes", rows[described["made_from"]].known.step("data_bytes"))
        known.state("made_from_another")
        if "preparation" in described:
            place_preparation((*keys, "preparation"), described, known, site, catalog)
        return f"made from {described['made_from']}"
    if "mix" in described:
        place_mixture(keys, described, known, site, rows)
        return f"mix of {listed(list(described['mix']))}"
    if "parts" in described:
        place_parts(described["parts"], known)
    if "model" in described:
        known.give(_of_model(keys, described, site, catalog, known.given))
    if "measured" in described:
        known.give(_measured((*keys, "measured"), described, site))
    if {"corpus", "format"} & described.keys():
        _footprint(keys, described, known, site, catalog)
    elif "data_samples" in known.given:
        known.state("size_in_samples")
    elif "data_tokens" in known.given:
        known.state("size_in_tokens")
    return str(described.get("model") or described.get("corpus") or described.get("measured") or "")


def _footprint(keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, catalog: Catalog) -> None:
    """The bytes of a corpus or a format, as `ingest dataset` computes them; with `stages`, of all those kept."""
    numbers: dict[str, Any] = {key: item.value for key, item in described.items() if isinstance(item, Input) and key in ASKED}
    words = {key: described[key] for key in ("corpus", "format", "pipeline") if key in described}
    stages = {stage: int(item.value) for stage, item in described.get("stages", {}).items()}
    copies = ",".join(f"{stage}={count}" for stage, count in stages.items()) or None
    try:
        made = dataset(**words, **numbers, copies=copies, catalogs=[*reversed(catalog.folders)]).known
        taken = {"data_bytes": made.step("usable_bytes" if stages else "dataset_bytes")}
        if "dataset_bytes" not in known.given:
            taken["dataset_bytes"] = made.step("dataset_bytes")
        files = made.step("dataset_files") if "data_files" not in known.given else None
    except IngestError as error:
        site.refuse(keys, in_site_words(message_of(error)))
    known.give({name: item for name, item in made.given.items() if name not in known.given})
    inputs = {name: step._replace(owner=known.owner) for name, step in made.steps.items() if step.source is not None}
    done: dict[Step, Step] = {}
    for name, step in taken.items():
        known.link(name, replaced(step, inputs, done))
    if files is not None:
        known.adopt({"dataset_files": replaced(files, inputs, done)})
    known.adopt(inputs)


def _of_model(
    keys: Keys, described: Mapping[str, Any], site: Site, catalog: Catalog, own: Mapping[str, Input]
) -> dict[str, Input]:
    """The data set that a model of the catalogs is trained on."""
    try:
        model = catalog.get(Model, described["model"])
        encoding = encoding_of(model, described.get("encoding"))
    except IngestError as error:
        site.refuse((*keys, "model"), in_site_words(message_of(error)))
    named = {
        "data_samples": model.dataset_samples,
        "data_sample_bytes": encoding.get("sample_bytes"),
        "samples_in_file": encoding.get("samples_per_file"),
    }
    found = {name: from_catalog(value) for name, value in named.items() if value is not None and name not in own}
    for name, what in (("data_samples", "samples"), ("data_sample_bytes", "sample_bytes")):
        if name not in found and name not in own:
            site.refuse((*keys, "model"), f"the {what} of the data set of {model.id} are not known, expected `{what}`")
    return found


def _of_readers(name: str, site: Site, catalog: Catalog, own: Mapping[str, Input]) -> dict[str, Input]:
    """The samples in a file of a data set that nothing else tells: those with which the first job on it counts its opens."""
    for job in site.section("jobs").values():
        model = model_of(job, catalog) if job.get("data") == name and "samples_in_file" not in own else None
        encoding = encoding_in(model, job.get("encoding")) if model is not None else None
        if encoding is not None and encoding.samples_per_file is not None:
            return {"samples_in_file": from_catalog(encoding.samples_per_file)}
    return {}


def _measured(keys: Keys, described: Mapping[str, Any], site: Site) -> dict[str, Input]:
    """The quantities of an `ingest measure` result: bytes, and where counted files, samples and tokens."""
    name: str = described["measured"]
    try:
        result = read_measurement(site.folder / name, "measured")
        size = result.quantity("stored_bytes") or result.quantity("dataset_bytes") or result.needed("corpus_bytes")
        counted = {quantity: result.quantity(theirs) for quantity, theirs in MEASURED.items()}
    except IngestError as error:
        site.refuse(keys, str(error))
    void = {quantity for key, quantity in OWN.items() if key in described}
    if not described.keys().isdisjoint(REPACKED):
        void.update(FILES)
    return {
        quantity: item._replace(origin="user", where=f"measured: {name}: {quantity}")
        for quantity, item in {"data_bytes": size, **counted}.items()
        if item is not None and quantity not in void
    }


def year_rows(
    site: Site, of_jobs: Mapping[str, Step], holdings: Sequence[Sequence[QuantityRow]], storage: Quantities, *, tiers: bool
) -> list[QuantityRow]:
    """One row per year, each with the columns of the data sets in that year, and those of the jobs and their tiers."""
    shared = {**storage.steps, **of_jobs}
    rows: list[QuantityRow] = []
    for year, present in enumerate(holdings):
        name = label_of(site, year)
        known = Quantities(storage.given, name, shared_inputs=True)
        known.adopt({**shared, **columns_of("datasets", present, name)})
        if tiers:
            known.state("tiers_shared")
        elif any("preparation" in one for one in site.section("datasets").values()):
            known.state("data_prepared")
        rows.append(QuantityRow(name, {"year": year}, known))
    return rows


def label_of(site: Site, year: int) -> str:
    """The name of a year of the plan."""
    start = site.data.get("start")
    return str(start.year + year) if start else f"year {year}"


def holdings_of(site: Site, data: Mapping[str, QuantityRow], years: int, growth: Growth) -> list[list[QuantityRow]]:
    """The data sets in each year of the plan, each with what its first load and its growth write."""
    found: list[list[QuantityRow]] = []
    for year in range(years + 1):
        rows = dataset_rows_in(site, data, year, growth)
        for row, before in zip(rows, found[-1] if found else [None] * len(rows), strict=True):
            row.known.give(
                {
                    "first_load": Input(
                        float(bool(row.known.value("present")) and (before is None or not before.known.value("present"))),
                        note="in the year of its first load",
                    )
                }
            )
            scratch = ("dataset_scratch_bytes_held",) if "preparation" in site.section("datasets")[row.name] else ()
            held = ("dataset_bytes_held", *scratch)
            for name in held:
                if before is None:
                    row.known.give({f"{name}_before": EMPTY})
                elif "refresh_seconds" not in row.known.given or not before.known.value("present"):
                    # New versions of a refreshed data set include its growth.
                    row.known.link(f"{name}_before", before.known.step(name))
        found.append(rows)
    return found


def dataset_rows_in(site: Site, data: Mapping[str, QuantityRow], year: int, growth: Growth) -> list[QuantityRow]:
    """The data sets in one year: grown since the start, absent before and after their time."""
    start: datetime.date | None = site.data.get("start")
    rows: dict[str, QuantityRow] = {}
    for name, row in data.items():
        described = site.section("datasets")[name]
        here = Input(float(start is None or there(described, start.year + year)), note="in the years between from and until")
        here = STORES_NOTHING if "mix" in described else here
        own = growth.datasets[name]
        grows = {**own, "elapsed_seconds": elapsed_until(year)} if own else {"capacity_growth": STILL}
        known = Quantities({**row.known.given, **grows, **times_of_dataset(described), "present": here}, name)
        known.adopt(_same(row.known))
        rows[name] = QuantityRow(name, {"year": label_of(site, year)}, known)
        if "made_from" in described:
            known.link("origin_growth", rows[described["made_from"]].known.step("capacity_growth"))
            if "preparation" in described:
                known.state("prepared_in_passes")
    return list(rows.values())


def _same(known: Quantities) -> dict[str, Step]:
    """The quantities that are equal in all years: one step, so that a draw is the same in all of them."""
    names = ("data_bytes", "dataset_bytes", "data_files", "versions_held", "data_copies", "refresh_seconds", "origin_bytes",
             "preparation_scratch_bytes", "prepared_copies")  # fmt: skip
    for name in names:
        if name in known.given or name in DECIDED:
            known.find(name)
    return {name: known.steps[name] for name in names if name in known.steps}


def elapsed_until(year: int) -> Input:
    """The time from the start of the plan to a year of it."""
    return Input(parse(f"{year} year", "s", "year"), note=f"year {year} of the plan")


def there(described: Mapping[str, Any], year: int) -> bool:
    """Whether a data set is on storage in a year."""
    first, last = (described.get(word) for word in ("from", "until"))
    return (first is None or first.year <= year) and (last is None or year <= last.year)
