"""What the keys of a site refuse before its plan is computed: all faults in one run, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ingest.architecture.catalog_entries import model_of
from ingest.catalog.records import WITHOUT_GPUS, Corpus, Entry, Format, Gpu, Model, Node, Pipeline, Storage
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow, columns_of
from ingest.engine.messages import Message, fact_of, in_site_words, message_of
from ingest.engine.solver import Quantities
from ingest.errors import IngestError, MissingQuantity, RequirementNotMet, UsageError
from ingest.site.checks import of_clusters, of_storage, refusals
from ingest.site.datasets import ARCHIVE, dataset_rows, mixed_names
from ingest.site.datasets import SIZES as DATA_SIZES
from ingest.site.guidance import by_cluster
from ingest.site.holdings import tier_of
from ingest.site.jobs import RATES, SiteJob
from ingest.site.schema import Fault, supplying
from ingest.site.site_file import Keys, Site, unknown_name
from ingest.site.tiers import serving_rows
from ingest.sizing.rules import finding

#: Keys of the rows of a table that name an entry of the catalogs.
IDS: Sequence[tuple[str, str, type[Entry]]] = (
    ("clusters", "node", Node),
    ("jobs", "gpu", Gpu),
    ("datasets", "model", Model),
    ("datasets", "corpus", Corpus),
    ("datasets", "format", Format),
    ("datasets", "pipeline", Pipeline),
)
#: Keys of `storage` that name one.
OF_STORAGE = ("protection", "client")
WORKLOADS = ("jobs", "serving")


def faults_of(site: Site, found: Sequence[Fault], catalog: Catalog) -> list[Fault]:
    """The faults of a site beyond those of its schema: unknown names and ids, keys that contradict each other.

    Where there are any, the rows without one are planned, each by itself: what these are refused for is added.
    """
    faults = [*_of_site(site), *_of_ids(site, catalog)]
    for table in WORKLOADS:
        for name, one in site.section(table).items():
            faults += _unknown(site, (table, name, "cluster"), "clusters", one.get("cluster"))
            faults += _of_job(site, (table, name), one) if table == "jobs" else ()
            cluster = site.section("clusters").get(str(one.get("cluster")), {})
            if cluster.get("node") == WITHOUT_GPUS and "index" not in one:
                lacking = f"the nodes of {one['cluster']} have no GPUs, expected a cluster that has"
                faults.append(Fault((table, name, "cluster"), lacking))
    for name, described in site.section("datasets").items():
        faults += _of_dataset(site, ("datasets", name), described)
    return [*faults, *(of_rows(site, [*found, *faults], catalog) if found or faults else ())]


@contextmanager
def every_fault(site: Site, catalog: Catalog) -> Iterator[None]:
    """Where one row of a site is refused meanwhile, refuse the site because of all rows that cannot be planned.

    Raises IngestError: one row, or `Faults`, a line each.
    """
    try:
        yield
    except RequirementNotMet:
        raise
    except IngestError as error:
        faults = of_rows(site, (), catalog)
        if len(faults) > 1:
            site.refuse_all(faults)
        if isinstance(error, MissingQuantity):
            # The keys that give it, as `--set` of a site takes keys alone.
            ways = supplying(error.name)
            site.refuse((), in_site_words(Message(fact_of(message_of(error)), supply=ways)), kind=IngestError)
        raise


def of_rows(site: Site, found: Sequence[Fault], catalog: Catalog) -> list[Fault]:
    """What the rows of a site are refused for, each by itself; rows that another fault touches are left out."""
    faults: list[Fault] = []
    hurt = {one.keys[:2] for one in found}
    sets, clusters = site.section("datasets"), site.section("clusters")
    data: dict[str, QuantityRow] = {}
    rows: dict[str, list[QuantityRow]] = {table: [] for table in WORKLOADS}
    answers: dict[object, Any] = {}
    for name in sets:
        needed = [name]  # and those that it is made from or mixed of
        for one in needed:
            below = (*([sets[one]["made_from"]] if "made_from" in sets[one] else ()), *sets[one].get("mix", ()))
            needed += [other for other in dict.fromkeys(below) if other not in needed and other in sets]
        if not any(("datasets", one) in hurt for one in needed):
            own = replace(site, data={**site.data, "datasets": {one: sets[one] for one in needed}})
            with _noting(faults, hurt, ("datasets", name)):
                data |= dataset_rows(own, catalog)
    for table in WORKLOADS:
        for name, one in site.section(table).items():
            cluster, read = one.get("cluster"), one.get("data")
            place = ("indexes" if "index" in one else table, name)
            if {place, (table, name), ("clusters", str(cluster))} & hurt:
                continue
            if cluster not in clusters or (read and read not in data):
                continue
            with _noting(faults, hurt, place):
                if table == "jobs":
                    known = data[read].known if read else None
                    rows[table].append(SiteJob(name, one, site, catalog, known, answers).plan().row)
                else:
                    rows[table] += serving_rows(replace(site, data={**site.data, table: {name: one}}), catalog)
    sized, jobs_of, served_of = [], by_cluster(rows["jobs"]), by_cluster(rows["serving"])
    for name, described in clusters.items():
        if "count" in described:
            of_cluster = Quantities({"cluster_nodes": described["count"]}, name)
            of_cluster.adopt(columns_of("jobs", jobs_of.get(name, []), name))
            served = served_of.get(name, [])
            if served:
                of_cluster.adopt(columns_of("serving", served, name))
                of_cluster.state("cluster_serves")
            sized.append(QuantityRow(name, {}, of_cluster))
    return [*faults, *refusals(site, of_clusters(sized, rows["jobs"], rows["serving"]))]


@contextmanager
def _noting(faults: list[Fault], hurt: set[Keys], keys: Keys) -> Iterator[None]:
    """Add what a row is refused for to the faults, and the row to those that are; asking for too much is no fault."""
    try:
        yield
    except RequirementNotMet:
        pass
    except IngestError as error:
        faults.append(Fault(*(error.fault or (keys, str(error)))))
        hurt |= {keys, faults[-1].keys[:2]}


def _of_site(site: Site) -> Iterator[Fault]:
    """What contradicts in the keys of no row."""
    storage, jobs, written = site.section("storage"), site.section("jobs"), site.written
    if not any(table in written for table in ("jobs", "serving", "indexes", "datasets")):
        expected = "training jobs by name, or `serving`: served models by name, or `datasets` that are loaded and prepared"
        yield Fault((), f"'jobs' is missing: {expected}", ("jobs", "serving", "datasets"))
    yield from _of_growth(("growth",), site.data.get("growth"))
    for word in ("checkpoints", "reads_and_checkpoints"):
        if site.section("overlap").get(word) and not any("checkpoint" in job for job in jobs.values()):
            yield Fault(("overlap", word), "found true, but no job has checkpoints")
    if {"latency", "client"} <= storage.keys():
        yield Fault(("storage", "client"), "the latency is already given by `latency`, expected one of them")
    if isinstance(storage.get("protection"), Mapping) and set(protection := written["storage"]["protection"]) not in (
        {"replicas"},
        {"data", "parity"},
    ):
        yield Fault(("storage", "protection"), f"found {', '.join(protection)}, expected `replicas`, or `data` and `parity`")
    yield from refusals(site, of_storage(Quantities({OWN_UNITS[key]: storage[key] for key in OWN_UNITS if key in storage})))


#: Keys of `storage` whose numbers limit each other, and the quantity that each is.
OWN_UNITS = {"units": "storage_units", "failed": "failed_servers"}


def _of_ids(site: Site, catalog: Catalog) -> Iterator[Fault]:
    """Ids that are in no catalog."""
    named: list[tuple[Keys, type[Entry] | None, object]] = [
        ((table, name, key), record, one[key])
        for table, key, record in IDS
        for name, one in site.section(table).items()
        if key in one and one[key] != WITHOUT_GPUS
    ]
    named += [
        ((table, name, "model"), None, one.get("model")) for table in WORKLOADS for name, one in site.section(table).items()
    ]
    named += [(("storage", key), Storage, site.section("storage").get(key)) for key in OF_STORAGE]
    known: dict[object, str] = {}
    for keys, record, ident in named:
        if not isinstance(ident, str):
            continue
        if (record, ident) not in known:
            known[record, ident] = ""
            try:
                if record is not None:
                    catalog.get(record, ident)
                elif ident.lower() not in catalog.ids(Model.kind):
                    model_of(ident, catalog)
            except UsageError as error:
                known[record, ident] = str(error)
            except IngestError:
                pass  # it exists; what is wrong with it shows as its row is planned
        if known[record, ident]:
            yield Fault(keys, known[record, ident])


def _unknown(site: Site, keys: Keys, table: str, name: object) -> Iterator[Fault]:
    """A name that a table of the file does not hold; of a table that is refused, the names count as written."""
    written = site.written.get(table)
    known = written if isinstance(written, Mapping) else site.section(table)
    if name is not None and name not in known:
        lacking = f"unknown name '{name}', expected a table `{table}`"
        yield Fault(keys, unknown_name(str(name), table, known) if known else lacking)


def _of_job(site: Site, keys: Keys, job: Mapping[str, Any]) -> Iterator[Fault]:
    """What contradicts or is missing in the keys of a job."""
    yield from _unknown(site, (*keys, "data"), "datasets", job.get("data"))
    yield from _of_growth((*keys, "growth"), job.get("growth"))
    sets = site.section("datasets")
    for name in mixed_names(site, job.get("data", "")):
        if tier_of(sets.get(name, {})) == ARCHIVE:
            expected = "expected a data set that is made from it, or `tier: performance`"
            yield Fault((*keys, "data"), f"{name} lies on the archive tier, which no job reads, {expected}")
    nodes, cluster = job.get("nodes"), site.section("clusters").get(str(job.get("cluster")), {})
    if nodes is not None and "count" in cluster:
        sizes = {"nodes": nodes.value, "cluster_nodes": cluster["count"].value}
        yield from refusals(site, [finding("E06", sizes, owner=keys[-1], cluster=job["cluster"])])
    placed = job.get("placement", {})
    mode = placed.get("mode")
    if not any(key in job for key in (*RATES, "checkpoint", "index")) and ".".join(keys) not in site.section("questions"):
        missing = "the read rate is missing, expected `model` or `samples_per_second` with `sample_bytes`"
        yield Fault(keys, missing, (*RATES, "checkpoint"))
    if "tokens" in job and "epochs" in job:
        yield Fault((*keys, "epochs"), "the length is already given by `tokens`, expected one of them")
    if mode in ("stage", "cache") and "data" not in job:
        yield Fault((*keys, "placement"), f"mode {mode} needs the size of the data, expected `data`")
    if mode == "stage" and "within" not in placed:
        yield Fault((*keys, "placement"), "mode stage needs a time, expected `within`, such as `30 min`", ("within",))
    for word, wanted in (("within", "stage"), ("each", "stage"), ("hit", "cache"), ("partitioned", "cache")):
        if word in placed and mode not in (wanted, None):
            yield Fault((*keys, "placement", word), f"applies to mode {wanted} only, found mode {mode}")
    for word, other in (("threads", "readers"), ("loader", "threads"), ("loader", "readers")):
        if word in job and other in job:
            yield Fault((*keys, other), f"the reads of a node are already given by `{word}`, expected one of them")


def _of_dataset(site: Site, keys: Keys, described: Mapping[str, Any]) -> Iterator[Fault]:
    """What contradicts or is missing in the keys of a data set."""
    sizes = [key for key in DATA_SIZES if key in described and not (key in ("samples", "tokens") and "model" in described)]
    if "corpus" in described and "tokens" in described:
        sizes.remove("tokens")
    if len(sizes) != 1:
        found = " and ".join(sizes) or "no size"
        yield Fault(keys, f"found {found}, expected one of {', '.join(DATA_SIZES)}", () if sizes else DATA_SIZES)
    if "sample_bytes" in described and "parts" in described:
        yield Fault((*keys, "parts"), "the bytes of a sample are already given by `sample_bytes`, expected one of them")
    if "arrives" in described:
        given = [key for key in ("rate", "link") if key in described["arrives"]]
        if len(given) != 1:
            found = " and ".join(given) or "no rate"
            yield Fault((*keys, "arrives"), f"found {found}, expected one of `rate` and `link`", () if given else ("rate",))
        for other in ("mix", "made_from", "refresh"):
            if other in described:
                yield Fault((*keys, "arrives"), f"found with `{other}`, expected a data set that is kept as it arrives")
        if described.get("tier") == ARCHIVE:
            yield Fault((*keys, "arrives"), "data arrive on the performance tier, expected an archive that is made from it")
    for other in ("sample_bytes", "parts", "mix", "measured"):
        if "sizes" in described and other in described:
            yield Fault((*keys, "sizes"), f"the bytes of a sample are already given by `{other}`, expected one of them")
    for name in described.get("mix", ()):
        yield from _unknown(site, (*keys, "mix", name), "datasets", name)
    pairs = [
        ("samples", next((key for key in ("parts", "sizes") if key in described), "sample_bytes")),
        ("made_from", "ratio"),
        ("retention", "refresh"),
        ("parts", "samples"),
        ("by", "mix"),
    ]
    written = _written(site, keys)
    for word, partner in pairs:
        # A model has samples, and their bytes.
        if word in described and partner not in written and not ("model" in described and word in ("samples", "made_from")):
            hint = "; did you mean 'lifetime' (kept so long, then deleted)?" if word == "retention" else ""
            yield Fault((*keys, word), f"expected `{partner}` with it{hint}")
    if "tokens" in described and not {"bytes_per_token", "format"} & written.keys():
        yield Fault((*keys, "tokens"), "expected `bytes_per_token` or `format` with it")
    yield from _unknown(site, (*keys, "made_from"), "datasets", described.get("made_from"))
    yield from _of_preparation((*keys, "preparation"), described)
    yield from _of_growth((*keys, "growth"), described.get("growth"))
    if "lifetime" in described and "refresh" in described:
        yield Fault((*keys, "lifetime"), "versions of a refreshed data set are kept by `retention`, expected one of them")
    first, last = described.get("from"), described.get("until")
    if first is not None and last is not None and last < first:
        yield Fault((*keys, "until"), f"found {last}, before `from` ({first}), expected them in this order")
    if (first or last) and "start" not in site.written:
        missing = "dates need the year in which the plan starts, expected `start`"
        yield Fault((*keys, "from" if first else "until"), missing)


def _of_growth(keys: Keys, growth: object) -> Iterator[Fault]:
    """A growth by a factor and by an amount, of nothing, or an amount or a factor of parameters without its period."""
    if not isinstance(growth, Mapping):
        return
    if [*growth] == ["every"]:
        growing = ("capacity", "add", "bandwidth", "parameters")
        yield Fault(keys, "found a period alone (`every`), expected what grows in it with it", growing)
    if "add" in growth and "capacity" in growth:
        yield Fault((*keys, "add"), "the growth is already given by `capacity`, expected one of them")
    for key in ("add", "parameters"):
        if key in growth and "every" not in growth and not isinstance(growth[key], Mapping):
            yield Fault((*keys, key), "expected `every` with it, such as `1 year`")


def _written(site: Site, keys: Keys) -> Mapping[str, Any]:
    """The keys of a row as they are written, those that are refused among them."""
    found: Any = site.written
    for key in keys:
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _of_preparation(keys: Keys, described: Mapping[str, Any]) -> Iterator[Fault]:
    """A preparation without an origin, and one whose rate or scratch space is given twice or in part."""
    job = described.get("preparation")
    if job is None:
        return
    if "made_from" not in described:
        yield Fault(keys, "only a data set that is made from another one has a preparation, expected `made_from` with it")
    for word, others in (("scratch", ("intermediate", "documents")), ("measured", ("rate",))):
        twice = [other for other in others if word in job and other in job]
        if twice:
            yield Fault((*keys, twice[0]), f"already given by `{word}`, expected one of them")
    for word, partners in (("documents", ("hashes", "pipeline")), ("hashes", ("documents",))):
        if word in job and job.keys().isdisjoint(partners):
            yield Fault((*keys, word), f"expected {' or '.join(f'`{one}`' for one in partners)} with it")
