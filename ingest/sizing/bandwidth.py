"""`ingest bw`: the read bandwidth of a job from its options, the catalogs and the best evidence for its rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Annotated, Any, Unpack

from ingest.catalog.records import Gpu, Model, Node, Storage
from ingest.catalog.store import Catalog, opened
from ingest.corpus.measurement_file import UNREAD, RowClass, part_counted, rows_of_trace
from ingest.engine.derivation_graph import QuantityRow, columns_of
from ingest.engine.interactive import InteractiveResults
from ingest.engine.messages import Message, Option, message_of
from ingest.engine.question import Question, Shown, filled, shown
from ingest.engine.ranges import Tree
from ingest.engine.registry import Step, derive, solve, unit_of
from ingest.engine.result import Answer, DataFrame, cited_by, scenarios, values
from ingest.engine.solver import Quantities
from ingest.engine.value import Frozen, Input, Quantity, assumed, revised
from ingest.errors import MissingQuantity, UsageError
from ingest.sizing.evidence_choice import OUTCOMES, RateBasis, disputed, rate_basis_of
from ingest.sizing.evidence_ladder import RATE, EvidenceLevel, blind_error, family_of, from_catalog, from_fields
from ingest.sizing.job import (
    BATCH,
    BYTES,
    CLIENTS,
    GPU,
    MODEL,
    QUANTITIES,
    SAMPLES,
    TOKENS,
    BandwidthOptions,
    Job,
    Many,
    encoding_in,
    job_of,
    names_of,
    nodes_of,
    on_nodes,
    parse_axis,
    quantities_of,
)
from ingest.sizing.published_rates import published
from ingest.sizing.resolve import foreign_size, gpus_per_node_of, reads_again
from ingest.sizing.rule import Valued
from ingest.sizing.rules import PAGE_CACHE, WARM_UP_SECONDS, Finding, contradictions, finding, messages, unused
from ingest.sizing.transfer import transferred
from ingest.units import display, parse

#: Parts of the answer in one line beside the bandwidth of the job.
PARTS = {
    "ingest_bandwidth_per_node": "{} per node",
    "file_opens_per_second_per_job": "{}",
    "ingest_bandwidth_per_gpu": "{} per GPU",
}
#: what embedding tables read of a tier below memory
EMBEDDED = ("embedding_table_bytes", "embedding_hot_share", "embedding_reads_per_sample", "embedding_reads_per_second",
            "embedding_request_bytes", "embedding_read_bandwidth", "embedding_nic_share")  # fmt: skip
#: What `bw` answers.
QUESTION = Question(
    "bw",
    (
        *shown("ingest_bandwidth_per_gpu", "ingest_bandwidth_per_node", "ingest_bandwidth_per_job", "mandatory_read_bandwidth"),
        # Of a language model people know the rate in tokens.
        Shown("samples_per_second_per_gpu", unless="tokens_per_second_per_gpu"),
        Shown("tokens_per_second_per_gpu", where="tokens_per_sample"),
        Shown("unstalled_bandwidth_per_gpu", main=False),
        Shown("file_opens_per_second_per_job"),
        Shown("bytes_per_file_open", main=False),
        Shown("sample_reads_per_second_per_job", where="largest_request_bytes"),
        Shown("request_of_sizes", main=False, where="largest_request_bytes"),
        Shown("small_file_share", where="largest_request_bytes"),
        *shown(*EMBEDDED, where="embedding_hot_bytes"),
        Shown("epoch_seconds"),
        Shown("gpus", main=False),
        Shown("storage_nic_share"),
        *shown("nfs_tcp_client_share", "nfs_nconnect_client_share", main=False),
        Shown("client_share", main=False, where="client_bandwidth_per_node"),
        Shown("guidance_share", where="guidance_read_bandwidth"),
        Shown("implied_flops_utilization", main=False),
    ),
    (("Needs", {"mandatory_read_bandwidth": "{} read", **PARTS}), ("Needs", {"ingest_bandwidth_per_job": "{} read", **PARTS})),
)
#: quantity -> the option that sets it
OPTION_OF = {name: option for option, name in QUANTITIES.items()}
#: Without these the answer is not complete.
NEEDED = ("samples_per_second_per_gpu", "ingest_bandwidth_per_gpu", "ingest_bandwidth_per_node", "ingest_bandwidth_per_job")


#: What a node caches of a data set that its job reads again, unless the user sets it.
CACHES = {
    "cache_memory_share": assumed(
        PAGE_CACHE, "half of the host memory of a node caches its data set", "set.cache_memory_share"
    ),
    "warm_up_seconds": assumed(WARM_UP_SECONDS, "caches fill within 10 min of the start of a run", "set.warm_up_seconds"),
}


#: the case of samples that each lie in a file of their own and differ in size
MIXED = "files_of_mixed_sizes"
LARGEST_REQUEST = assumed(
    2**20, "requests are at most 1 MiB, the size to which most clients split reads", "set.largest_request_bytes"
)

#: The read bandwidth of each of `CLIENTS` as an input; without one where it is unknown.
Clients = Mapping[str, Mapping[str, Input]]
Results = Mapping[str, Quantity]


class Estimate(Answer, Frozen, kw_only=True):
    """The read bandwidth of one job."""

    catalog: Catalog
    job: Job  # the options, checked
    model: Model | None
    gpu: Gpu | None
    node: Node | None
    precision: str
    basis: str  # the evidence level in use; `given` where the user gave the rate
    evidence: RateBasis
    clients: Clients  # the read bandwidth of each of `CLIENTS`

    @cached_property
    def levels(self) -> tuple[tuple[EvidenceLevel, Results], ...]:
        """The results of every evidence level that exists, for comparison: few who ask in a loop read them."""
        found, fixed = self.evidence, self.evidence.fixed
        plain = {name: item for name, item in fixed.items() if name not in OUTCOMES}
        pairs = [(found.level, fixed), *((one, plain) for one in found.others())]  # what users give changes the level in use
        return tuple(
            (one, _results(Quantities({**found.common, **one.given, **given}), self.clients)[0]) for one, given in pairs
        )

    @property
    def nodes(self) -> float:
        """Nodes of the job."""
        return self.given["nodes"].value

    def other_names(self) -> Mapping[str, str]:
        """The headings of the table of several scenarios."""
        found = {f"per {of}": f"ingest_bandwidth_per_{of.lower()}" for of in ("GPU", "node", "job")}
        return {**found, "to require": "mandatory_read_bandwidth"}

    @property
    def incomplete(self) -> str | None:
        """Why a required result is missing, and what to supply; None for a complete answer."""
        return self.unmet or None

    def derivation(self, name: str) -> Step:
        """The derivation of a quantity, also of the share that its reads take of one of `CLIENTS`."""
        if name not in CLIENTS:
            return super().derivation(name)
        return derive("client_share", {**self.given, **self.clients[name]})

    def _citations(self) -> Iterator[tuple[str, str]]:
        return (place for item in self.used.values() for place in cited_by(item))

    def _body(self) -> dict[str, Any]:
        levels = [
            {
                "basis": level.basis,
                "results": values(results),
                "note": level.note,
                **({"protocols": level.protocols} if level.protocols else {}),
                **({"blind_error": blind.figures} if (blind := blind_error(level.basis)) else {}),
            }
            for level, results in self.levels
        ]
        return {"basis": self.basis, "rungs": levels}


def estimate(job: Job, catalog: Catalog) -> Estimate:
    """Compute the read bandwidth of one job.

    >>> answer = estimate(job_of(model="cosmoflow", gpu="h100", nodes=128), Catalog())
    >>> answer.basis, answer.results["ingest_bandwidth_per_job"].display
    ('emulated', '827.5 GB/s (770.7 GiB/s)')

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: there is no evidence at the
    level requested; names what to supply.
    """
    basis = rate_basis_of(job, catalog)
    clients = {
        name: from_fields({"client_bandwidth_per_node": catalog.get(Storage, one).client_read_bandwidth})
        for name, one in CLIENTS.items()
    }
    job, model, best = basis.job, basis.model, basis.level
    known = Quantities(basis.known)
    place_requirement(basis, known)
    if job.sizes is not None and (packed := known.find("samples_per_file")) is not None and packed.value <= 1:
        known.give_default("largest_request_bytes", LARGEST_REQUEST)
        job.sizes.place(known, "class_requests", "class_small_share")
        known.state(MIXED)
    if "embedding_hot_bytes" in known.given:
        _place_embeddings(known, model, job.row_reads)
    results, unknown = _results(known, clients)
    if model is not None and "sample_bytes" in model.missing and "sample_bytes" not in known.given:
        why = f"the bytes of one sample of {model.id} are not known: {model.missing['sample_bytes']}"
        reason = Message(why, supply=("sample_bytes",))
        unknown = {name: reason if "sample_bytes" in line else line for name, line in unknown.items()}
    if best.basis == "given" and NEEDED[0] in unknown:
        reason = Message("the bandwidth that is given does not state the samples/s of a GPU", supply=("samples_per_second",))
        unknown = {name: reason if line == unknown[NEEDED[0]] else line for name, line in unknown.items()}

    def heading() -> str:
        of = f"{results['gpus'].value:,.0f} × " if "gpus" in results else ""
        machine = f"{of}{basis.gpu.name if basis.gpu else 'GPU'}, {display(known.given['nodes'].value, 'node')}"
        rate = "the rate you gave" if best.basis == "given" else best.basis
        return f"{model.name if model else 'Your model'} on {machine}, {basis.precision}: {rate}"

    return Estimate(
        question=_question(basis, known, results),
        heading=heading,
        chosen=_chosen(basis),
        known=known,
        results=results,
        unknown=unknown,
        tables={},
        cautions=_cautions,
        catalog=catalog,
        unmet=next((unknown[name] for name in NEEDED if name in unknown), ""),
        job=job,
        model=model,
        gpu=basis.gpu,
        node=basis.node,
        precision=basis.precision,
        basis=best.basis,
        evidence=basis,
        clients=clients,
    )


def _cautions(answer: Estimate) -> Iterator[str]:
    """The warnings about the rate, those about the results of the job, the most severe first, and about its options."""
    basis, known, results, job = answer.evidence, answer.known, answer.results, answer.job
    found = [*_of_job(basis, results, answer.clients), *_of_dataset(basis, results, known), *_of_precision(basis, results)]
    if job.sizes is not None and MIXED not in known.cases:
        found.append(sizes_unused(known))
    named = {name: f"set.{name}" for name in job.settings}
    named |= {name: one for one, name in QUANTITIES.items() if one in job.numbers and name not in named}
    used = {*answer.used, *(["tokens_per_sample"] if job.bytes_per_token is not None else [])}
    used |= {"sequence_length"} if basis.model is not None else set()
    # The evidence of a rate by its size takes the batch in.
    used |= {BATCH if BATCH in job.settings else TOKENS} if basis.level.is_sized else set()
    yield from (*basis.level.warnings, *messages(found))
    yield from (unused(Option(option)) for name, option in named.items() if name not in used)
    yield from contradictions(known, job.settings)


def _place_embeddings(known: Quantities, model: Model | None, counted: Sequence[RowClass]) -> None:
    """Give the embedding rows of a recommender by class, the hottest first, unless Zipf's law stands for them.

    Raises UsageError: a trace without the rows and lookups of its tables, or with more rows than they have.
    """
    classes: Sequence[tuple[str, Input, Input | Step]] = ()
    if model is not None and model.embedding_rows:
        lookups = {name: from_catalog(item) for name, item in model.embedding_lookups.items()}
        classes = [(name, from_catalog(item), lookups[name]) for name, item in model.embedding_rows.items()]
        # Of other rows or lookups than the model's nobody knows which are hot: Zipf's law or a trace has to say it.
        others = not {"zipf_exponent", "embedding_rows", "embedding_lookups"}.isdisjoint(known.given)
        known.give_default("embedding_rows", _summed([one[1] for one in classes]))
        known.give_default("embedding_lookups", _summed([*lookups.values()]))
        classes = () if others else classes
    if counted:
        classes = rows_of_trace(known, counted)
    if not classes or known.find("embedding_hot_rows") is None:
        return
    rows, before = [], 0.0
    for name, count, reads in sorted(classes, key=lambda one: one[2].value / one[1].value, reverse=True):
        own = Quantities({"rows_of_class": count, "rows_before_class": Input(before, note="hotter rows")}, name)
        if isinstance(reads, Input):
            own.give({"lookups_of_class": reads})
        else:
            own.link("lookups_of_class", reads)
        own.adopt(known.steps_of("embedding_hot_rows"))
        rows.append(QuantityRow(name, {}, own))
        before += count.value
    known.adopt(columns_of("tables", rows))
    known.state("rows_classed")


def _summed(items: Sequence[Input]) -> Input:
    """The sum of what an entry lists, with the source of the first."""
    return items[0]._replace(value=sum(item.value for item in items), note="the sum over all tables")


def place_requirement(basis: RateBasis, known: Quantities) -> None:
    """Give what a tender counts of a job beside its estimate: the rate that all evidence supports, its nodes, their caches."""
    job, model, node = basis.job, basis.model, basis.node
    dispute, own = disputed(basis.level, basis.others), "sample_bytes" in job.numbers and "sample_bytes" not in job.settings
    measured = foreign_size(model, job.encoding, known.given.get("sample_bytes") if own else None, job.numbers)
    if dispute is None and measured is None:
        known.state("evidence_supports_estimate")
    else:
        known.state("evidence_weighed")
        if dispute is None:
            known.state("rates_agree")
        else:
            known.give({"supported_rate": dispute.supported})
        if measured is None:
            known.state("samples_alike")
        else:
            known.give({"measured_sample_bytes": measured})
    if known.find("run_drawable_bandwidth") is None:
        known.state("nics_unknown")
    known.state("data_read", *(["dataset_in_bytes"] if BYTES in job.settings else []))
    memory = node.host_memory_bytes if node is not None else None
    cached = "cache_hit" in job.numbers or "cache_hit_fraction" in job.settings
    if model is None or memory is None or cached or not reads_again(model) or known.find(SAMPLES) is None:
        return
    encoding = encoding_in(model, job.encoding)
    if own or encoding is None or encoding.stored is None or {SAMPLES, BYTES} & job.settings.keys():
        known.state("dataset_on_nodes")
    else:
        # What a step reads of a sample, which `--set` states, leaves the data set as the model is known for.
        known.give_default("data_sample_bytes", from_catalog(encoding.stored))
        known.state("dataset_of_model")
    known.give_default("host_memory_per_node", from_catalog(memory))
    for name, usual in CACHES.items():
        known.give_default(name, usual)
    known.state("cache_in_memory", "cache_of_each_node", "cache_hits_estimated")


def _question(basis: RateBasis, known: Quantities, results: Results) -> Question:
    """The question with the estimate named beside the mandatory bandwidth, where both differ, and what holds for it."""
    mandatory, estimated = (results.get(name) for name in ("mandatory_read_bandwidth", "ingest_bandwidth_per_job"))
    if mandatory is None or estimated is None or _shown(mandatory) == _shown(estimated):
        return QUESTION
    drawable, cold = known.find("run_drawable_bandwidth"), known.find("run_cold_read_bandwidth")
    conditions = []
    if "measured_sample_bytes" in known.given:
        conditions.append("samples read whole")
    if "supported_rate" in known.given and known.value("supported_rate") < known.value(RATE):
        # The rate of the evidence level in use; of several protocols that were measured it is the median.
        level = basis.level
        conditions.append("median rate" if level.basis == "measured" and len(level.protocols) > 1 else level.basis)
    if drawable is not None and drawable.value < estimated.value:
        conditions.append("beyond the NICs")
    if cold is not None and mandatory.value < cold.value:
        conditions.append("cold caches")
    parts = {"mandatory_read_bandwidth": "{} read", "ingest_bandwidth_per_job": "{} " + ", ".join(conditions)}
    return QUESTION._replace(headlines=(("Needs", parts),))


def _shown(quantity: Quantity) -> str:
    """A bandwidth as the answer in one line shows it."""
    return display(quantity.value, quantity.unit, binary=False)


def _chosen(basis: RateBasis) -> dict[str, dict[str, Any]]:
    """The options that are words, and their origin: the user, a catalog, or a default."""
    job = basis.job
    entries = {name: entry for name in ("model", "gpu", "node") if (entry := getattr(basis, name)) is not None}
    chosen = {name: {"value": entry.id, "from": "user" if getattr(job, name) else "catalog"} for name, entry in entries.items()}
    chosen["precision"] = {"value": basis.precision, "from": "user" if job.precision else "default"}
    for option in ("basis", "protocol", "encoding", "scaling"):
        if value := getattr(job, option):
            chosen[option] = {"value": value, "from": "default" if value == getattr(Job, option) else "user"}
    return chosen


def _results(known: Quantities, clients: Clients) -> tuple[dict[str, Quantity], dict[str, str]]:
    """Every result that can be computed, with its range; and for the others what is missing."""
    found: dict[str, Step] = {}
    unknown: dict[str, str] = {}
    stalled = any(known.given[name].value != 1 for name in ("accelerator_utilization", "scaling_efficiency"))
    asked = tuple(one.name for one in QUESTION.results if not one.where or one.where in known.given)
    known.find_all(tuple(name for name in asked if name not in CLIENTS))
    for name in asked:
        try:
            if name not in CLIENTS:
                found[name] = known.step(name)
            elif "ingest_bandwidth_per_node" in found and (client := clients[name]):
                below = {"ingest_bandwidth_per_node": found["ingest_bandwidth_per_node"]}
                found[name] = derive("client_share", client, below)
        except MissingQuantity as error:
            one = OPTION_OF.get(error.name)
            ways = (one, f"set.{error.name}") if one else ()
            unknown[name] = Message(f"{error.name} is not known", supply=ways) if one else message_of(error)
    if not stalled:
        found.pop("unstalled_bandwidth_per_gpu", None)
        unknown.pop("unstalled_bandwidth_per_gpu", None)
    tree = Tree(found)
    ends = {"implied_flops_utilization": partial(_within_peak, tree)}
    results = {
        name: Quantity(step.value, unit_of(step.name), ends=partial(ends.get(name, tree.range_of), name))
        for name, step in found.items()
    }
    return results, unknown


def _within_peak(tree: Tree, name: str) -> tuple[float, float] | None:
    """The range of a share of the peak: its ends are those of the rate at typical FLOPs, and with others no run passes it."""
    found = tree.range_of(name)
    return found if found is None or tree.steps[name].value > 1 else (found[0], min(found[1], 1.0))


def sizes_unused(known: Quantities) -> Finding | None:
    """That the sizes of samples do not matter where a file holds several, or nobody says how many."""
    files = known.find("samples_per_file")
    held = "it is not known how many samples a file holds" if files is None else f"a file holds {files.value:,.4g} samples"
    return finding("W101", words={"samples": "packed"}, held=held)


def rate_warnings(basis: RateBasis, quantity: Callable[[str], Valued | None]) -> list[str]:
    """Warnings about the rate alone, for the commands that rest on it; `quantity` gives what is known by name."""
    return [*basis.level.warnings, *messages(_of_rate(basis, quantity))]


def _of_rate(basis: RateBasis, quantity: Callable[[str], Valued | None]) -> Iterator[Finding | None]:
    words = {"basis": basis.level.basis, "family": basis.model.family if basis.model is not None else ""}
    yield from (finding(rule, quantity, words) for rule in ("W01", "W02", "W33"))


def _of_job(basis: RateBasis, results: Results, clients: Clients) -> Iterator[Finding | None]:
    """What the results mean for the machine, and options that mean something else than they seem to, or that have no effect."""
    job, words = basis.job, {"family": basis.model.family if basis.model is not None else ""}
    yield from _of_rate(basis, results.get)
    read, many = results.get("mandatory_read_bandwidth"), results.get("nfs_nconnect_client_share")
    if read is not None:
        yield finding("W07", results.get, words, read=_shown(read))
    if basis.node is not None:
        node = f"{basis.node.name} ({basis.node.storage_nics})"
        compute = basis.node.compute_nic_bandwidth
        if compute is not None and not basis.node.storage_nics.startswith("shared"):
            rate = display(compute.value, compute.unit, binary=False)
            node += f"; its compute NICs ({rate}) are not the storage path"
        yield finding("W09", results.get, words, node=node)
    yield finding("W103", results.get)
    if (job.encoding or "").endswith("decoded") and "sample_bytes" not in job.numbers:
        yield finding("W03", words={"sample": "decoded"})
    part = part_counted([job.bytes_per_token])
    yield finding("W04", words={"text": part and "part"}, part=part)
    if job.sample_sizes and UNREAD in job.sample_sizes["sample_bytes"].note:
        yield finding("W54", words={"samples": "unread"}, unread=UNREAD)
    if job.protocol and basis.level.given.keys() != {RATE}:
        yield finding("W10", words={"protocol": "not measured"})
    if job.protocol and "samples_per_second" in job.numbers:
        yield finding("W11", words={"protocol": "rate given"})
    if job.encoding and "sample_bytes" in job.numbers:
        yield finding("W12", words={"encoding": "bytes given"})
    if "guidance_share" in results and basis.guidance is not None:
        known = {name: basis.known[name].value for name in ("guidance_read_bandwidth", "guidance_gpus")}
        shown = display(float(solve("guidance_read_bandwidth_per_gpu", known)), "B/s", binary=False)
        yield finding("W17", results, guidance=basis.guidance.name, level=shown)
    if many is not None:
        reach = [display(one["client_bandwidth_per_node"].value, "B/s", binary=False) for one in clients.values() if one]
        other = f"and so is nconnect ({reach[1]})" if many.value > 1 else f"nconnect ({reach[1]}) suffices"
        yield finding("W08", results.get, one=reach[0], other=other)


def _of_dataset(basis: RateBasis, results: Results, quantities: Quantities) -> Iterator[Finding | None]:
    """A small data set is read once, not at the rate of the GPUs for ever; samples of another size are a question."""
    known = basis.known
    if "measured_sample_bytes" in quantities.given:
        yield finding("W69", quantities.given)
    yield finding("W14", {**known, **results})
    yield finding("W16", results)
    yield finding("W19", known)
    mandatory = results.get("mandatory_read_bandwidth")
    if mandatory is not None and quantities.find("cached_share") is not None:
        sizes = (quantities.value(name) for name in ("job_dataset_bytes", "host_memory_per_node"))
        dataset, memory = (display(size, "B", binary=False) for size in sizes)
        warm_up = display(quantities.value("warm_up_seconds"), "s", binary=False)
        count, size = (quantities.given.get(name) for name in ("dataset_samples", "sample_bytes"))
        if count is not None and size is not None and (count.origin, size.origin) == ("catalog", "user"):
            # Whoever has samples of his own has his own number of them.
            dataset += f": the published {count.value:,.0f} samples of {display(size.value, 'B', binary=False)}"
        yield finding("W15", quantities.find, dataset=dataset, memory=memory, warm_up=warm_up, filling=_shown(mandatory))


def _of_precision(basis: RateBasis, results: Results) -> Iterator[Finding | None]:
    """Another precision may be faster, and then needs more of the storage."""
    job, rates, gpu = basis.job, basis.rates, basis.gpu
    level = basis.level.basis
    if rates is None or gpu is None or job.precision is not None or level not in ("measured", "transferred"):
        return
    if "bf16" not in family_of(basis.precision):
        words, then = {"precision": "the best evidence's"}, ", so that storage can feed it"
        yield finding("W05", words=words, precision=basis.precision, gpu=gpu.id, then=then)
    if job.protocol:
        return
    gpus = results["gpus"].value if "gpus" in results and job.scaling == "published" else None
    tokens = basis.known["tokens_per_sample"].value if "tokens_per_sample" in basis.known else 1.0
    for precision in dict.fromkeys(family_of(rate.precision)[0] for rate in rates.rows):
        if precision in family_of(basis.precision):
            continue
        find = transferred if level == "transferred" else partial(published, "measured")
        other = find(rates, gpu, precision, None, gpus)
        if other is not None:
            known: dict[str, Valued | float | None] = {**results, "rate_at_precision": other.given[RATE].value}
            rate = display(other.given[RATE].value * tokens, "token/s" if "tokens_per_sample" in basis.known else "sample/s")
            yield finding("W06", known, precision=precision, basis=other.basis, rate=rate)


#: Each scenario prints a page with sources; `sweep` takes more.
MOST_SCENARIOS = 1000


class Scenarios(InteractiveResults, Frozen):
    """The estimates of several jobs."""

    scenarios: tuple[Estimate, ...]

    @property
    def each(self) -> tuple[Estimate, ...]:
        """The estimates."""
        return self.scenarios

    @property
    def incomplete(self) -> str | None:
        """The first reason why an estimate is not complete."""
        return next((one.incomplete for one in self.scenarios if one.incomplete), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all scenarios, each once."""
        return tuple(dict.fromkeys(line for one in self.scenarios for line in one.warnings))

    @property
    def results(self) -> list[Mapping[str, Quantity]]:
        """The results of each scenario."""
        return [one.results for one in self.scenarios]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of several scenarios."""
        return scenarios(one.to_dict() for one in self.scenarios)

    def to_frame(self) -> DataFrame:
        """One row per scenario and result."""
        frames = [one.to_frame() for one in self.scenarios]
        import pandas

        named = ((*(one.inputs.get(key, {}).get("value") for key in ("model", "gpu")), one.nodes) for one in self.scenarios)
        return pandas.concat(frames, keys=list(named), names=["model", "gpu", "nodes"])


def bw(
    model: Annotated[Many | None, MODEL] = None, gpu: Annotated[Many | None, GPU] = None, **options: Unpack[BandwidthOptions]
) -> Estimate | Scenarios:
    """Read bandwidth that storage must deliver so that GPUs never wait.

    Returns an `Estimate`; `Scenarios` for several models, GPUs or numbers of nodes.

    >>> bw(model="cosmoflow", gpu="v100-sxm2", achieved="35 TFLOP/s", sample_bytes="16MB").results[
    ...     "ingest_bandwidth_per_gpu"
    ... ].display
    '2.267 GB/s (2.112 GiB/s)'

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: there is no evidence at the
    level requested; names what to supply.
    """
    asked: dict[str, Any] = {**filled(BandwidthOptions, options, "bw")}
    catalog, nodes, gpus = opened(asked.pop("catalogs")), asked.pop("nodes"), asked.pop("gpus")
    axes = [names_of(model), names_of(gpu), _numbers("nodes", nodes), _numbers("gpus", gpus)]
    if len(axes[2]) > 1 and gpus is not None:
        raise UsageError("--gpus: found with several --nodes, expected one of the two")
    count = math.prod(map(len, axes))
    if count == 0:
        raise UsageError("bw: found an empty list, expected at least one model, GPU and node count")
    if count > MOST_SCENARIOS:
        raise UsageError(f"--nodes: {count:,} scenarios, expected at most {MOST_SCENARIOS:,}; `ingest sweep` takes millions")
    job = job_of(**asked)
    answers = tuple(
        estimate(sized(revised(on_nodes(job, size), model=one, gpu=other), count, catalog), catalog)
        for one, other, size, count in product(*axes)
    )
    return answers[0] if len(answers) == 1 else Scenarios(answers)


def sized(job: Job, gpus: float | None, catalog: Catalog) -> Job:
    """The job on so many GPUs; as it is where they are not given.

    Raises UsageError: GPUs that fill no whole number of nodes, or that contradict the nodes of the job.
    """
    if gpus is None:
        return job
    quantities_of({}, {"gpus": gpus})
    each = job.numbers.get("gpus_per_node") or gpus_per_node_of(job.gpu, job.node, job.settings, catalog)
    return revised(job, numbers={**job.numbers, **nodes_of(gpus, job.numbers.get("nodes"), each)})


def _numbers(option: str, given: Many | None) -> list[float | None]:
    """The numbers of nodes or GPUs; None selects the default."""
    unit = unit_of(option)
    if isinstance(given, str):
        return [*parse_axis(given, unit, f"--{option}")]
    listed: Sequence[str | float | None] = [given] if given is None or isinstance(given, (int, float)) else given
    return [None if one is None else parse(one, unit, f"--{option}") for one in listed]
