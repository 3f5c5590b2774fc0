"""The data sets of a site as rows: given, mixed, made from another; and the capacity in use year by year.

The loaders that a site file states read them: a simulation tells the latency that their reads may take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ingest.catalog.records import Decoder, Model, Pipeline, Value
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import Sizes, read_measurement, sizes_of
from ingest.engine.derivation_graph import QuantityRow, columns_of, replaced
from ingest.engine.registry import Step, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import IngestError, listed
from ingest.loader.feed import DEFAULTS, USUAL_SEED, USUAL_STEPS
from ingest.loader.stall import Loader, Utilization, longest_latency, tried
from ingest.site.schema import quantities_at
from ingest.site.site_file import Keys, Site
from ingest.sizing.dataset import dataset
from ingest.sizing.decoding import place_threads
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import encoding_in, encoding_of
from ingest.sizing.rules import applying, finding
from ingest.units import display

PUBLISHED_FOR = "recsys"
_WHERE = "growth of a recommender fleet over two years"
_PUBLISHED = {
    "capacity_growth_factor": Input(2, source="zhao2022", where=_WHERE, grade="assumed", note="capacity ×2 in two years"),
    "bandwidth_growth_factor": Input(4, source="zhao2022", where=_WHERE, grade="assumed", note="bandwidth ×4 in two years"),
    "growth_period_seconds": Input(63_115_200, source="zhao2022", where=_WHERE, grade="assumed", note="two years"),
}
_KEYS = quantities_at("datasets.*.growth")
#: keys of the growth of parameters and the quantity that each is
OF_PARAMETERS = {"factor": "parameter_growth_factor", "every": "growth_period_seconds"}
#: keys of a data set and the quantity that each is
OWN = quantities_at(
    "datasets.*",
    "bytes samples sample_bytes tokens bytes_per_token ratio samples_per_file file_bytes files "
    "copies refresh retention lifetime",
)
#: the tier that jobs read, and the one that they do not
PERFORMANCE, ARCHIVE = "performance", "archive"
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
#: keys of data that arrive and the quantity of each
OF_ARRIVAL = {"rate": "arriving_rate", "link": "link_rate", "duty": "arriving_duty", "buffer": "landing_buffer_seconds",
              "drain_within": "landing_drain_seconds"}  # fmt: skip
_FRAME = Input(38, source="ethernet-8023", where="preamble, delimiter, header, check sequence and gap", grade="published")
_TCP = Input(52, source="tcp-rfc9293", where="headers of TCP and IPv4, and timestamps", grade="published")
#: of RoCEv2 the payload is its own limit: all headers lie around it
_ROCE = _FRAME._replace(value=82, source="rocev2", where="Ethernet 38 B, IPv4 20 B, UDP 8 B, BTH 12 B, ICRC 4 B; no VLAN tag")
#: protocol -> largest packet, headers within it, bytes around it
FRAMINGS = {
    "tcp-1500": (Input(1500, source="ethernet-8023", where="largest payload of a frame", grade="published"), _TCP, _FRAME),
    "tcp-9000": (Input(9000, grade="assumed", note="jumbo frames, as data centers set them"), _TCP, _FRAME),
    **{
        f"rocev2-{size}": (Input(size, source="rocev2", where="payload sizes", grade="published"), Input(0), _ROCE)
        for size in (1024, 4096)
    },
}
USUAL_FRAMING = "tcp-1500"
#: what a mix of sizes says of a data set
OF_SIZES = {"sample_bytes": "data_sample_bytes", "samples_per_file": "samples_in_file"}
#: what gives the size of a data set by its samples, and the key of each
OF_SAMPLES = {"data_samples": "samples", "data_sample_bytes": "sample_bytes"}
#: what of this another layout of the files makes void, and the keys of such a layout
FILES = ("data_files", "samples_in_file")
REPACKED = ("files", "file_bytes", "samples_per_file")
#: keys of a data set that `ingest dataset` takes
ASKED = ("tokens", "samples", "sample_bytes", "bytes_per_token", "vocabulary")
#: what of a data set follows from its case
DECIDED = ("data_bytes", "data_files")
#: what is equal in all years, so that a draw is the same in all of them
SAME_IN_ALL_YEARS = ("data_bytes", "dataset_bytes", "data_files", "versions_held", "data_copies", "refresh_seconds",
                     "origin_bytes", "preparation_scratch_bytes", "prepared_copies")  # fmt: skip
#: keys of a data set, the quantity of each, and the time that holds unless the site file names another
TIMES_OF_DATASET = {
    "load_within": ("load_seconds", assumed(604_800, "a data set is loaded within 7 days", "datasets.*.load_within")),
    "prepare_within": (
        "preparation_seconds",
        assumed(604_800, "a data set is made from its origin within 7 days", "datasets.*.prepare_within"),
    ),
}
#: keys of a preparation and the quantity of each
OF_PREPARATION = quantities_at("datasets.*.preparation")
#: what a pipeline of the catalogs says of a preparation
OF_PIPELINE = ("preparation_passes", "dedup_hashes", "dedup_hash_bytes")
USUAL_PREPARATION = {
    "preparation_passes": assumed(1, "the preparation reads its origin once", "preparation.passes"),
    "intermediate_share": assumed(0, "the preparation writes no intermediate files", "preparation.intermediate"),
    "preparation_documents": Input(0, note="no signatures of documents are kept"),
    "dedup_hashes": Input(1, note="no signatures of documents are kept"),
}
#: (part, its key) -> quantity of a sample of several parts
PARTS = {
    (part, key): given
    for part in ("text", "images", "audio")
    for key, given in quantities_at(f"datasets.*.parts.{part}").items()
}
NO_PART = Input(0, note="a sample has no such part")
USUAL_WEIGHTS = "samples"
#: what a data set holds once it is in a mixture, and the quantity of its source
OF_SOURCE = {"data_bytes": "source_bytes", "data_samples": "source_samples", "samples_in_file": "source_samples_in_file"}
#: what all data sets of a mixture have to hold, and the case in which the mixture has it
KNOWN_OF_ALL = {"source_samples": "mixture_of_known_samples", "source_samples_in_file": "mixture_of_known_files"}
#: what weights count -> how a source yields its bytes for one of them, given or from its total; and the column of these bytes
PER_WEIGHT = {
    "samples": ("source_sample_bytes", "data_sample_bytes", "bytes_of_one_sample", "weighted_sample_bytes_of_sources"),
    "tokens": ("source_token_bytes", "data_bytes_per_token", "bytes_of_one_token", "weighted_token_bytes_of_sources"),
}
#: years to plan for unless the site file gives them
USUAL_YEARS = 5


def model_of(job: Mapping[str, Any], catalog: Catalog) -> Model | None:
    """The catalog entry of a job's model; None where the model is none of the catalogs."""
    source = catalog.model_id(str(job.get("model", "")))
    known = source.lower() in catalog.ids(Model.kind) or source.lower() in catalog.aliases.get(Model.kind, {})
    return catalog.get(Model, source) if known else None


def family_of(job: Mapping[str, Any], catalog: Catalog) -> str:
    """The class of a job's model, for factors that were published for one class only; empty where it is not known."""
    model = model_of(job, catalog)
    return model.family if model is not None else ""


@dataclass(frozen=True)
class Growth:
    """How jobs and data sets grow: quantities by name of the job or data set."""

    #: jobs, datasets: what each grows by; nothing where it does not
    jobs: Mapping[str, Mapping[str, Input]]
    datasets: Mapping[str, Mapping[str, Input]]
    #: what the parameters of the model of each job grow by; nothing where they do not
    parameters: Mapping[str, Mapping[str, Input]]
    together: frozenset[str] = frozenset()  # the data sets that add the amount of the site together
    warnings: tuple[str, ...] = ()  # where published factors were not applied


def growth_of(site: Site, catalog: Catalog) -> Growth:
    """Read who grows by what.

    Raises IngestError: published factors for a class that they were not published for; with the line.
    """
    jobs, datasets = site.section("jobs"), site.section("datasets")
    recommenders = {name for name, job in jobs.items() if family_of(job, catalog) == PUBLISHED_FOR}
    theirs = {jobs[name]["data"] for name in recommenders if "data" in jobs[name]}
    shared = site.data.get("growth")
    if shared == "published" and not recommenders:
        site.refuse(("growth",), "published factors apply to recommenders, and there are none; expected factors of your own")
    of_jobs = {name: _growth(site, ("jobs", name), job, shared, name in recommenders) for name, job in jobs.items()}
    of_data = {name: _growth(site, ("datasets", name), one, shared, name in theirs) for name, one in datasets.items()}
    left = sorted(jobs.keys() - recommenders)
    without = finding("W38", words={"growth": str(shared)}, jobs=listed(left)) if left else None
    described = {name: job.get("growth", shared) for name, job in jobs.items()}
    parameters = {
        name: {OF_PARAMETERS[key]: item for key, item in _of_parameters(one).items()}
        for name, one in described.items()
        if isinstance(one, Mapping) and "parameters" in one
    }
    added = isinstance(shared, Mapping) and "add" in shared
    together = (name for name, one in datasets.items() if added and {"growth", "mix", "arrives"}.isdisjoint(one))
    return Growth(of_jobs, of_data, parameters, frozenset(together), tuple(one.message() for one in applying([without])))


def _of_parameters(growth: Mapping[str, Any]) -> Mapping[str, Input]:
    """Factor and period of the growth of parameters, which may have a period of its own."""
    found = growth["parameters"]
    return {"factor": found, "every": growth["every"]} if isinstance(found, Input) else found


def _growth(site: Site, keys: Keys, described: Mapping[str, Any], shared: Any, recommender: bool) -> dict[str, Input]:
    # What arrives is known better than a growth that the site assumes for all its data.
    own = described.get("growth", None if "arrives" in described else shared)
    if "arrives" in described and (own is None or {"capacity", "add"}.isdisjoint(own)):
        arriving = Quantities(arrival_of(described))
        if "link_rate" in arriving.given:
            arriving.state("link_stated")
        year = Input(arriving.value("bytes_arriving_per_year"), note="what arrives in a year")
        return {"growth_amount": year, "growth_period_seconds": Input(arriving.value("seconds_per_year"), note="a year")}
    if own is None:
        return {}
    place = (*keys, "growth") if "growth" in described else ("growth",)
    if own == "published":
        if not recommender and "growth" in described:
            site.refuse(place, "published factors apply to recommenders only, expected factors of your own")
        return dict(_PUBLISHED) if recommender else {}
    # The steepest case must not outgrow any storage, and with a long plan every number.
    every = own.get("every", _PUBLISHED["growth_period_seconds"])
    period = every.low or every.value
    factors: dict[Keys, tuple[Input, float]] = {(key,): (own[key], period) for key in ("capacity", "bandwidth") if key in own}
    if "parameters" in own:
        grown = _of_parameters(own)
        factors["parameters", "factor"] = (grown["factor"], grown["every"].low or grown["every"].value)
    for path, (item, time) in factors.items():
        factor = item.high or item.value
        known = {"doubling_seconds": solve("doubling_seconds", {"growth_factor": factor, "growth_period_seconds": time})}
        for one in applying([finding("E12", known, factor=factor, period=display(time, "s"))]):
            site.refuse((*place, *path), one.message())
    return {_KEYS[key]: item for key, item in own.items() if key in _KEYS}


def dataset_rows(site: Site, catalog: Catalog) -> dict[str, QuantityRow]:
    """One row per data set, each before those made from it.

    Raises IngestError: a data set of unknown size, or one made from itself; with its line.
    """
    rows: dict[str, QuantityRow] = {}
    for name in site.section("datasets"):
        _add(name, site, catalog, rows, ())
    return rows


def sizes_in(site: Site, name: str) -> Sizes | None:
    """The mix of sizes of the samples of a data set. Raises IngestError: no mix; with its line."""
    described = site.section("datasets").get(name, {})
    if "sizes" not in described:
        return None
    with site.blaming(("datasets", name, "sizes")):
        return sizes_of(described["sizes"], "value", site.folder)


def samples_in_file_by_reader(name: str, site: Site, catalog: Catalog) -> dict[str, Value]:
    """The samples in a file of a data set as the models of the jobs that read it have them, by job."""
    found = {}
    for job, described in site.readers.get(name, {}).items():
        encoding = encoding_in(model_of(described, catalog), described.get("encoding"))
        if encoding is not None and encoding.samples_per_file is not None:
            found[job] = encoding.samples_per_file
    return found


def _add(name: str, site: Site, catalog: Catalog, rows: dict[str, QuantityRow], path: tuple[str, ...]) -> None:
    if name in rows:
        return
    described = site.section("datasets")[name]
    keys = ("datasets", name)
    if name in path:
        circle = " is made from ".join([*path[path.index(name) :], name])
        which = "mix" if "mix" in described else "made_from"
        site.refuse((*keys, which), f"cyclic: {circle}; expected one of them to have a size of its own")
    for source in (*((described["made_from"],) if "made_from" in described else ()), *described.get("mix", ())):
        _add(source, site, catalog, rows, (*path, name))
    known = Quantities({quantity: described[key] for key, quantity in OWN.items() if key in described}, name)
    if (mix := sizes_in(site, name)) is not None:
        known.give({ours: mix.given[theirs] for theirs, ours in OF_SIZES.items() if theirs in mix.given})
    stated = [job["sample_bytes"] for job in site.readers.get(name, {}).values() if "sample_bytes" in job]
    if "model" in described and stated:
        # A model's data set holds its own samples, or the largest that a job says it reads of it.
        with site.blaming((*keys, "model")):
            own = encoding_of(catalog.get(Model, described["model"]), described.get("encoding")).get("sample_bytes")
        if own is not None:
            stated.append(from_catalog(own))
        known.give_default("data_sample_bytes", max(stated, key=lambda size: size.value))
    rows[name] = QuantityRow(name, {"of": _size(keys, described, known, site, catalog, rows)}, known)
    given = known.given
    told = not described.keys().isdisjoint(REPACKED) or not given.keys().isdisjoint(FILES)
    if not told and (by_reader := samples_in_file_by_reader(name, site, catalog)):
        # Nothing else tells the samples in a file: of the encodings of the jobs on the data set, the one with the most files.
        fewest = min(by_reader.values(), key=lambda value: (value.value, value.source, value.where))
        known.give({"samples_in_file": from_catalog(fewest)})
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
    """State what yields the bytes of a data set; returns in words what it is."""
    if "made_from" in described:
        known.link("origin_bytes", rows[described["made_from"]].known.step("data_bytes"))
        known.state("made_from_another")
        if "preparation" in described:
            _place_preparation((*keys, "preparation"), described, known, site, catalog)
        return f"made from {described['made_from']}"
    if "mix" in described:
        _place_mixture(keys, described, known, site, rows)
        return f"mix of {listed(list(described['mix']))}"
    if "parts" in described:
        parts = described["parts"]
        given = {quantity: parts[part][key] for (part, key), quantity in PARTS.items() if part in parts}
        absent = dict.fromkeys((quantity for (_, key), quantity in PARTS.items() if key != "bytes_per_token"), NO_PART)
        known.give({**absent, **given})
        known.state("samples_of_parts")
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
    with site.blaming(keys):
        made = dataset(**words, **numbers, copies=copies, catalogs=[*reversed(catalog.folders)]).known
        size = made.step("usable_bytes" if stages else "dataset_bytes")
        of_format = made.step("dataset_bytes") if "dataset_bytes" not in known.given else None
        files = made.step("dataset_files") if "data_files" not in known.given else None
    known.give({name: item for name, item in made.given.items() if name not in known.given})
    inputs = {name: step._replace(owner=known.owner) for name, step in made.steps.items() if step.source is not None}
    done: dict[Step, Step] = {}
    known.link("data_bytes", replaced(size, inputs, done))
    if of_format is not None:
        known.link("dataset_bytes", replaced(of_format, inputs, done))
    if files is not None:
        known.adopt({"dataset_files": replaced(files, inputs, done)})
    known.adopt(inputs)


def _of_model(
    keys: Keys, described: Mapping[str, Any], site: Site, catalog: Catalog, own: Mapping[str, Input]
) -> dict[str, Input]:
    """The data set that a model of the catalogs is trained on."""
    with site.blaming((*keys, "model")):
        model = catalog.get(Model, described["model"])
        encoding = encoding_of(model, described.get("encoding"))
    whole, samples, each = model.dataset_bytes, model.dataset_samples, encoding.get("sample_bytes")
    if whole is not None and (samples is None or each is None) and own.keys().isdisjoint(OF_SAMPLES):
        return {"data_bytes": from_catalog(whole)}
    named = {"data_samples": samples, "data_sample_bytes": each, "samples_in_file": encoding.get("samples_per_file")}
    void = {*own, *(() if described.keys().isdisjoint(REPACKED) else FILES)}
    found = {name: from_catalog(value) for name, value in named.items() if value is not None and name not in void}
    for name, what in OF_SAMPLES.items():
        if name not in found and name not in own:
            site.refuse((*keys, "model"), f"the {what} of the data set of {model.id} are not known, expected `{what}`")
    return found


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


def _place_preparation(keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, catalog: Catalog) -> None:
    """Give a data set what its key `preparation` says: what it reads, writes, keeps meanwhile, and how fast a core is.

    Raises IngestError: an unknown pipeline, or a measurement without a rate; with its line.
    """
    job = described["preparation"]
    given: dict[str, Input] = {}
    if "pipeline" in job:
        with site.blaming((*keys, "pipeline")):
            found = catalog.get(Pipeline, job["pipeline"])
        values = {quantity: getattr(found, quantity) for quantity in OF_PIPELINE}
        given = {quantity: from_catalog(value) for quantity, value in values.items() if value is not None}
    given |= {quantity: job[key] for key, quantity in OF_PREPARATION.items() if key in job}
    if "documents" in job and "dedup_hashes" not in given:
        site.refuse((*keys, "documents"), f"the pipeline {job['pipeline']} has no number of hashes, expected `hashes`")
    if "measured" in job:
        # The rate at which one core tokenized in a measurement.
        try:
            rate = read_measurement(site.folder / job["measured"], "measured").rate_of_core()
        except IngestError as error:
            site.refuse((*keys, "measured"), str(error))
        given["preparation_rate"] = rate._replace(origin="user", where=f"measured: {job['measured']}: rate_of_core")
    scratch = "preparation_scratch_bytes" in given
    usual = {name: item for name, item in USUAL_PREPARATION.items() if not (scratch and name != "preparation_passes")}
    known.give({**usual, **given, **times_of_dataset(described)})
    known.link("prepared_copies", known.step("data_copies"))


def arrival_of(described: Mapping[str, Any]) -> dict[str, Input]:
    """What an instrument or a link delivers to a data set, over which protocol; nothing where none does."""
    if "arrives" not in described:
        return {}
    arrival = described["arrives"]
    given = {OF_ARRIVAL[key]: item for key, item in arrival.items() if key in OF_ARRIVAL}
    packet, header, frame = FRAMINGS[arrival.get("over", USUAL_FRAMING)]
    if "over" not in arrival and "link" in arrival:
        packet = packet.by_default("packets of 1,500 B, which every link carries", "datasets.*.arrives.over")
    usual = given["landing_buffer_seconds"].by_default("a full buffer is drained as fast as it filled", "arrives.drain_within")
    return {
        "mtu_bytes": packet,
        "packet_header_bytes": header,
        "line_frame_bytes": frame,
        "landing_drain_seconds": usual,
        **given,
    }


def times_of_dataset(described: Mapping[str, Input]) -> dict[str, Input]:
    """The times in which a data set is loaded, and made from its origin where it has one."""
    keys = ("load_within", *(("prepare_within",) if "made_from" in described else ()))
    found = {TIMES_OF_DATASET[key][0]: described.get(key, TIMES_OF_DATASET[key][1]) for key in keys}
    due = described.get("refresh")
    if "made_from" in described and due is not None and due.value < found["preparation_seconds"].value:
        found["preparation_seconds"] = due  # a version is made before the next one is due
    return found


def _place_mixture(
    keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, rows: Mapping[str, QuantityRow]
) -> None:
    """Give a mixture the bytes, samples and files of its data sets, by weight.

    Raises IngestError: a data set whose bytes per sample or per token are not known; with its line.
    """
    by = described.get("by", USUAL_WEIGHTS)
    ours, given, formula, _ = PER_WEIGHT[by]
    sources = []
    for name, weight in described["mix"].items():
        data = rows[name].known
        step = data.find(given) or data.find(formula)
        if step is None:
            site.refuse((*keys, "mix", name), f"its bytes per {by[:-1]} are not known, expected `{by}` of {name}")
        own = Quantities({"source_weight": weight}, f"{keys[-1]}: {name}")
        own.link(ours, step)
        for theirs, quantity in OF_SOURCE.items():
            if (found := data.find(theirs)) is not None:
                own.link(quantity, found)
        sources.append(QuantityRow(own.owner, {"of": name}, own))
    known.adopt(columns_of("sources", sources, known.owner))
    known.state("mixture_of_sets", *(("mixture_by_samples",) if by == "samples" else ()))
    for known_of_all, case in KNOWN_OF_ALL.items():
        if all(one.step(known_of_all) is not None for one in sources) and (by == "samples" or known_of_all == "source_samples"):
            known.state(case)


def source_rows(site: Site, data: Mapping[str, QuantityRow]) -> list[QuantityRow]:
    """The data sets of all mixtures: the weight of each, and its bytes per sample or per token."""
    rows = []
    for name, row in data.items():
        described = site.section("datasets")[name]
        if "mix" in described:
            entries = row.known.steps[PER_WEIGHT[described.get("by", USUAL_WEIGHTS)][-1]].inputs
            for source, entry in zip(described["mix"], entries, strict=True):
                known = Quantities({}, entry.owner)
                known.adopt({step.name: step for step in entry.inputs})
                rows.append(QuantityRow(source, {"mixture": name}, known))
    return rows


def mixed_bytes_of(data: Quantities, tokens_per_sample: Input | None) -> float | None:
    """The bytes of a sample of a mixture, before its job is known in full; tokens per sample as that job states them."""
    if data.find("mixed_bytes") is None:
        return None
    if "data_sample_bytes" not in data.given and (of_sample := data.find("data_sample_bytes")) is not None:
        return float(of_sample.value)
    if tokens_per_sample is None:
        return None
    given = {**data.values_of("mixed_token_bytes"), "tokens_per_sample": tokens_per_sample.value}
    return float(solve("mixed_bytes_of_tokens", given))


def read_of_mixture(data: Quantities) -> dict[str, Step]:
    """What a job reads of a mixture: its samples and files, and all its samples in an epoch; what is not known is left out."""
    named = {"sample_bytes": "data_sample_bytes", "samples_per_file": "samples_in_file", "dataset_samples": "data_samples"}
    found = {ours: data.find(theirs) for ours, theirs in named.items() if theirs not in data.given}
    return {name: step for name, step in found.items() if step is not None}


def mixed_names(site: Site, name: str) -> Sequence[str]:
    """The data sets that a job reads under a name: those of a mixture, or the one."""
    described = site.section("datasets").get(name, {})
    return [*described["mix"]] if "mix" in described else [name]


#: keys below `loader` of a job and the quantity that each is
OF_LOADER = quantities_at("jobs.*.loader")
LOADER_SOURCE = "ingest-loader-recurrence"
NO_DECODING = Input(0).by_default(
    "decoding takes no time: no rate of a decoder is known for these samples", "loader.decode_time"
)
USUAL_LOADER = {"loader_prefetch": DEFAULTS["loader_prefetch"], "accepted_utilization": DEFAULTS["accepted_utilization"]}
#: Points of a curve, as multiples of the longest latency; the job itself stands at 1.
OF_LONGEST = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def place_loaders(site: Site, jobs: Sequence[QuantityRow], storage: Quantities, catalog: Catalog) -> None:
    """Give each job that states its loader the longest latency of a read that keeps its GPUs computing.

    One read takes a lognormal time whose 99th percentile over its mean is `test.latency_tail`; each worker has one read
    outstanding. Nothing is cached, as in a first epoch.
    """
    for row in jobs:
        job = site.section("jobs")[row.name]
        described = job.get("loader")
        if described is not None and row.step("read_request_bytes") is not None:
            row.known.give(
                {**USUAL_LOADER, **{quantity: described[key] for key, quantity in OF_LOADER.items() if key in described}}
            )
            if "decode_time" not in described:
                encoding = encoding_in(model_of(job, catalog), job.get("encoding"))
                place_threads(row.known, encoding, None, lambda name: catalog.get(Decoder, name))
                if "thread_decode_rate" not in row.known.given:
                    row.known.give({"sample_decode_seconds": NO_DECODING})
            row.known.adopt(storage.steps_of("latency_tail"))
            loader = _loader_of(row.known)
            where = f"runs of {USUAL_STEPS:,} steps, seed {USUAL_SEED}; median"
            best = tried(loader, steps=USUAL_STEPS, seed=USUAL_SEED).median
            row.known.state("loader_simulated")
            row.known.give({"loader_utilization": Input(best, source=LOADER_SOURCE, grade="derived", where=where)})
            longest = longest_latency(loader, row.known.value("accepted_utilization"), steps=USUAL_STEPS, seed=USUAL_SEED)
            if longest is not None:
                searched = Input(longest, source=LOADER_SOURCE, grade="derived", where=f"search by simulation: {where}")
                row.known.give({"loader_latency": searched})
                row.known.state("loader_stated")


def _loader_of(known: Quantities) -> Loader:
    """The loader of one GPU, whose reads take no time."""
    value = known.value
    reads = int(value("reads_of_batch"))
    rate = {"unstalled_samples_per_second_per_gpu": value("samples_per_second_per_gpu"), "gpus_per_loader": 1}
    handover = DEFAULTS["handover_seconds"].value
    return Loader(
        workers=int(value("loader_workers")),
        prefetch=int(value("loader_prefetch")),
        batch=reads,
        step_seconds=float(solve("step_computation_seconds", {"samples_per_step": value("samples_per_step"), **rate})),
        latency_seconds=0.0,
        latency_variation=value("latency_variation"),
        decode_seconds=value("samples_per_step") * value("sample_decode_seconds") / reads,
        ranks=int(value("gpus")),
        handover_seconds=(handover, handover),
    )


class LatencyPoint(NamedTuple):
    """The utilization that a loader keeps at a 99 % latency of its reads: the median, P10 and P90 of simulated runs."""

    latency: float
    utilization: float
    low: float
    high: float


def utilization_course(jobs: Sequence[QuantityRow]) -> tuple[QuantityRow, LatencyPoint, list[LatencyPoint]] | None:
    """The job whose loader takes the shortest latency, its own point, and its utilization at shorter and longer latencies.

    None where no job states a loader, or none has a latency that suffices.
    """
    found = [(row, float(step.value)) for row in jobs if (step := row.step("loader_latency")) is not None]
    if not found:
        return None
    row, longest = min(found, key=lambda one: one[1])
    tail = row.known.value("latency_tail")
    points = [
        LatencyPoint(tail * factor * longest, *tries[:3])
        for factor, tries in zip(OF_LONGEST, _course(_loader_of(row.known), longest), strict=True)
    ]
    return row, points[OF_LONGEST.index(1.0)], points


@lru_cache(maxsize=16)
def _course(loader: Loader, longest: float) -> tuple[Utilization, ...]:
    latencies = (factor * longest for factor in OF_LONGEST)
    return tuple(tried(replace(loader, latency_seconds=one), steps=USUAL_STEPS, seed=USUAL_SEED) for one in latencies)
