"""The need that storage is sized for: from a `bw` question, requirement lines or plain numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from ingest.catalog.records import WITHOUT_GPUS, Decoder, Node
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import Sizes
from ingest.engine.messages import Message, Option, option_error, rule_of
from ingest.engine.question import option, quantities_in
from ingest.engine.registry import check_value, read_value, solve
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, one_of
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.site.load_conditions import mean_request, shares_of
from ingest.site.plan import Plan, RootOptions
from ingest.site.plan_file import SITE_SUFFIXES, lines_of, plan_data, plan_of_site
from ingest.sizing.bandwidth import MIXED, Estimate, estimate
from ingest.sizing.decoding import decoding_of
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import (
    BYTES,
    CARD,
    ONE_MODEL,
    SAMPLES,
    Amount,
    Job,
    Many,
    OneJobOptions,
    by_user,
    encoding_in,
    gpus_in_node,
)
from ingest.sizing.resolve import machine_of
from ingest.units import display, request_size

#: Random reads per second, which a need has of its own where they are not those of its read bandwidth.
REQUESTS_NEEDED = "io_per_second_needed"
#: What a need reads and writes, and the data that it holds.
READ, WRITE, HELD = "read_bandwidth_needed", "write_bandwidth_needed", "required_usable_bytes"
#: quantities that a need can include, in the order of the results
REQUIRABLE = (
    READ,
    "node_read_bandwidth_needed",
    WRITE,
    HELD,
    "opens_per_second_needed",
    "creates_per_second_needed",
    "files_needed",
    REQUESTS_NEEDED,
)
#: need -> the quantity of a `bw` answer that it is: what `bw` requires, and what lies beyond the NICs of the nodes
FROM_BW = {READ: "wanted_read_bandwidth", "opens_per_second_needed": "supported_opens_per_second",
           HELD: "stored_dataset_bytes"}  # fmt: skip
#: What the GPUs of a job read while nothing is cached.
ALL_READS = "ingest_bandwidth_per_job"


class NeedOptions(TypedDict, total=False):
    """Needs as plain numbers, for what a model or a plan leaves open."""

    read_bandwidth: Annotated[Amount, option("Read rate, without a model.", "RATE", quantity=READ)]
    write_bandwidth: Annotated[Amount, option("Write rate, such as that of checkpoints.", "RATE", quantity=WRITE)]
    capacity: Annotated[Amount, option("Bytes to hold.", "SIZE", quantity=HELD)]
    opens: Annotated[Amount, option("Files opened each second.", quantity="opens_per_second_needed")]
    creates: Annotated[Amount, option("Files created each second.", quantity="creates_per_second_needed")]
    files: Annotated[Amount, option("Files to hold.", quantity="files_needed")]
    io_size: Annotated[
        Amount, option("Bytes of one read request; by default the file, at most 1 MiB.", "SIZE", quantity="io_bytes")
    ]


PLAIN = quantities_in(NeedOptions)  # option of `fit` -> the quantity that it sets
#: (operation, unit) of a requirement line -> need
BY_OPERATION = {
    ("read", "B/s"): READ,
    ("read", "B/s/node"): "node_read_bandwidth_needed",
    ("write", "B/s"): WRITE,
    ("hold", "B"): HELD,
    ("open", "file/s"): "opens_per_second_needed",
    ("create", "file/s"): "creates_per_second_needed",
    ("hold", "file"): "files_needed",
}
TO_BUY = "site_capacity_to_buy"  # Metric of the line that holds the capacity to buy: data and reserve ÷ fill limit
#: Why a line of `plan` sets no need of the current system.
NOT_A_NEED = {
    "site_raw_bytes": "raw capacity follows from usable capacity",
    "site_grown_read_bandwidth": "growth is a later need",
    "site_mixed_bandwidth": "reads and writes are evaluated separately",
    "site_node_local_bytes": "local drives are evaluated by the bytes staged on them",
    "site_media_bytes_per_day": "endurance is not evaluated",
    **dict.fromkeys(("site_nvme_read_bandwidth", "site_nvme_write_bandwidth"), "drives in the nodes are not the storage"),
}
OTHERWISE = "`fit` has no layer for it"


class Listed(NamedTuple):
    """An item of `storage.existing` as it is written, its place for messages, and the folder of the site file."""

    place: str
    item: Any
    folder: Path = Path()


@dataclass(frozen=True)
class Need:
    """Read, write, capacity and metadata needs, and the machine that has them."""

    title: str  # what has the need, in a few words
    given: Mapping[str, Input]  # input quantities, those of `REQUIRABLE` among them
    computed: Mapping[str, str] = field(default_factory=dict)  # quantities of `REQUIRABLE` that a formula yields, and its name
    cases: tuple[str, ...] = ()  # cases of the question that the formulas follow
    high: Mapping[str, float] = field(default_factory=dict)  # the high end of a need whose range is known
    model: str = ""  # id of the model whose data set is read as published, for ceilings measured with it
    words: Mapping[str, Any] = field(default_factory=dict)  # options that are words, for the answer's inputs
    notes: tuple[str, ...] = ()  # what was left out or combined
    pattern: str = ""  # `random` or `sequential` reads; empty where nothing says so
    lines: tuple[Requirement, ...] = ()
    sizes: Sizes | None = None  # of its samples, each in a file of its own
    existing: tuple[Listed, ...] = ()  # storage that is in place, as the site file lists it

    def requires(self, name: str) -> bool:
        """Whether the need includes a quantity."""
        return name in self.computed or (name in self.given and self.given[name].value > 0)


def from_numbers(**written: str | float | None) -> dict[str, Input]:
    """Needs given as plain numbers with units, by quantity. Raises UsageError: not a number, another unit, or out of range."""
    return {
        name: Input(read_value(name, text, f"--{one.replace('_', '-')}"), origin="user")
        for one, name in PLAIN.items()
        if (text := written.get(one)) is not None
    }


def from_estimate(answer: Estimate) -> Need:
    """The need of a `bw` answer: reads and opens of one job on its machine.

    Raises IngestError: the read bandwidth is unknown; with what to supply.
    """
    if (reads_all := answer.results.get(ALL_READS)) is not None and not reads_all.value:
        raise option_error("cache_hit", ": found 1, no read reaches storage, expected less; 0 sizes the first epoch")
    # A rate of samples may stay unknown where the user sets the read bandwidth.
    found, unknown = answer.known.results([*FROM_BW.values()], ranged=True)
    reads = FROM_BW[READ]
    if reads not in found:
        raise IngestError(answer.incomplete or unknown[reads])
    computed = {name: source for name, source in FROM_BW.items() if source in found}
    high = {name: end for name, source in computed.items() if (end := found[source].high) is not None}
    gpus = answer.results["gpus"].value
    card, model = answer.gpu.name if answer.gpu else "GPU", answer.model.name if answer.model else "your model"
    title = f"{model} on {gpus:,.0f} × {card}, {display(answer.nodes, 'node')}, {answer.basis}: {found[reads].display}"
    if (all_reads := answer.question.headlines[0][1].get(ALL_READS)) is not None:
        # In the words of `bw`: cold caches, beyond the NICs.
        title += f", {all_reads.format(display(answer.results[ALL_READS].value, 'B/s', binary=False))}"
    held = found.get(FROM_BW[HELD])
    title += f"; data set of {display(held.value, 'B', binary=False)}" if held is not None else "; reads alone: set --capacity"
    given = from_fields({"host_link_bandwidth_per_gpu": answer.gpu.host_link_bandwidth if answer.gpu else None})
    data_set = ""
    if answer.model is not None:
        usual, chosen = next(iter(answer.model.encodings), ""), encoding_in(answer.model, answer.job.encoding)
        own_size = answer.given.get("sample_bytes", Input(0)).origin == "user"
        if not own_size and answer.job.encoding in (None, "stored", usual, f"{usual}/stored"):
            # It is read as published; no ceilings are measured with another encoding or size.
            data_set = answer.model.id
        given |= from_fields(
            {
                BYTES: answer.model.dataset_bytes if data_set else None,
                "decoded_sample_bytes": chosen.decoded if chosen else None,
            }
        )
        if held is not None and answer.given.get(SAMPLES, Input(0)).origin == "user":
            given[BYTES] = Input(held.value, origin="user")
        given |= decoding_of(chosen, None, lambda name: answer.catalog.get(Decoder, name))
    words = {name: item for name, item in answer.inputs.items() if "unit" not in item}
    # A training job reads its samples in random order.
    cases = answer.known.cases
    sizes = answer.job.sizes if MIXED in cases else None
    own = {
        name: item for name, item in answer.given.items() if not (name == "largest_request_bytes" and item.origin == "default")
    }
    return Need(title, {**given, **own}, computed, cases, high, data_set, words, answer.warnings, "random", sizes=sizes)


def from_requirements(lines: Iterable[Requirement], title: str = "requirement lines", priority: str = "mandatory") -> Need:
    """The need of requirement lines; of several lines for one quantity the largest counts.

    Lines are totals of the site under their own conditions, so they are not added up: a plan has a line of its own
    for concurrent needs. Lines below the priority do not count.

    Raises UsageError: no line that counts requires bandwidth, capacity, opens or creates.
    """
    counting: list[Requirement] = []
    too_low: list[Requirement] = []
    for line in lines:
        counts = PRIORITIES.index(line.priority) <= PRIORITIES.index(priority)
        if counts or need_in(line):
            (counting if counts else too_low).append(line)
    largest: dict[str, Requirement] = {}
    left_out: dict[str, list[str]] = {}
    for line in counting:
        name = need_in(line)
        if not name:
            left_out.setdefault(NOT_A_NEED.get(line.metric, OTHERWISE), []).append(line.id)
        else:
            # The capacity to buy counts before the data held, else the larger value.
            largest[name] = max(largest.get(name, line), line, key=lambda one: (one.metric == TO_BUY, one.value))
    if not largest:
        known = ", ".join(f"{operation} in {unit}" for operation, unit in BY_OPERATION)
        raise UsageError(f"{title}: no {priority} line sets a storage need, expected at least one of {known}")
    given = {
        name: Input(check_value(name, line.value, line.id), high=line.high, origin="user", note=f"{line.id}: {line.statement}")
        for name, line in largest.items()
    }
    high = {name: line.high for name, line in largest.items() if line.high is not None}
    if largest.get(HELD, counting[0]).metric == TO_BUY:
        given["fill_limit"] = Input(1, origin="user", note=f"{largest['required_usable_bytes'].id} includes the fill limit")
    notes: list[str] = []
    if left_out:
        reasons = "; ".join(f"{', '.join(ids)} ({why})" for why, ids in left_out.items())
        notes.append(f"lines that `fit` does not evaluate: {reasons}")
    if too_low:
        ids = ", ".join(line.id for line in too_low)
        notes.append(Message(f"lines below the priority {priority} do not count: {ids}", supply=("priority",)))
    conditions, pattern = _conditions(counting)
    requests = _smaller(counting, largest.get(READ))
    return Need(
        title, {**conditions, **requests, **given}, high=high, notes=tuple(notes), pattern=pattern, lines=tuple(counting)
    )


def need_in(line: Requirement) -> str:
    """The quantity that a line requires; empty where `fit` has no layer for it."""
    return "" if line.metric in NOT_A_NEED else BY_OPERATION.get((line.conditions.operation, line.unit), "")


def _conditions(counting: Sequence[Requirement]) -> tuple[dict[str, Input], str]:
    """Clients, I/O size and threads of the largest read line with clients, else of the largest write line; its pattern.

    What writes has the clients of the largest write line.
    """
    having = [line for line in counting if line.conditions.clients]
    reads, writes = (
        max((line for line in having if need_in(line) == need), key=lambda line: line.value, default=None)
        for need in (READ, WRITE)
    )
    line = reads or writes
    if line is None:
        return {}, ""
    conditions = line.conditions
    in_flight: float | None = conditions.threads
    if conditions.queue_depth is not None and conditions.clients:
        # Of one client: its threads, each with the outstanding I/Os that the line allows.
        depth = {"line_queue_depth": conditions.queue_depth, "line_clients": conditions.clients}
        in_flight = float(solve("queue_depth_of_client", depth))
    found = {
        "nodes": (line, conditions.clients),
        # The size of writes says nothing about reads.
        "io_bytes": (line, io_size_of(conditions) if reads else None),
        "requests_in_flight_per_node": (line, in_flight),
        "writing_nodes": (writes or line, writes.conditions.clients if writes else None),
    }
    given = {
        name: Input(check_value(name, value, f"{of.id}: {name}"), origin="user", note=f"a condition of {of.id}")
        for name, (of, value) in found.items()
        if value is not None
    }
    return given, _pattern(conditions) if reads else ""


def _pattern(conditions: Conditions) -> str:
    """The pattern of reads: random where any part of them is."""
    parts = [part.pattern for part in conditions.mix if part.operation == "read"] or [conditions.pattern]
    return "random" if "random" in parts else parts[0]


def _smaller(counting: Sequence[Requirement], largest: Requirement | None) -> dict[str, Input]:
    """The random reads of the line that has most requests, where these are more than those of the line of the highest rate."""
    reads = {line.id: line for line in counting if need_in(line) == READ}
    sizes = {name: size for name, line in reads.items() if (size := io_size_of(line.conditions))}
    counts = {name: float(solve(REQUESTS_NEEDED, {READ: reads[name].value, "io_bytes": size}))
              for name, size in sizes.items()}  # fmt: skip
    most = max(counts, key=counts.__getitem__, default="")
    if largest is None or counts.get(most, 0) <= counts.get(largest.id, 0) or _pattern(reads[most].conditions) != "random":
        return {}
    note = f"{most}: {counts[most]:,.0f} random {request_size(sizes[most])} reads/s"
    found = {REQUESTS_NEEDED: counts[most], "random_request_bytes": sizes[most]}
    return {name: Input(value, origin="user", note=note) for name, value in found.items()}


def io_size_of(conditions: Conditions) -> float | None:
    """Bytes of one read; of several patterns the mean over their requests."""
    reads = [part for part in conditions.mix if part.operation == "read"]
    if not reads:
        return conditions.io_size
    shares = shares_of([part.share for part in reads])
    return mean_request([one._replace(share=share) for one, share in zip(reads, shares, strict=True)])


ALL = "all"  # Every system of the catalogs that one can buy, rent or run


class SystemOptions(TypedDict, total=False):
    """The systems to compare."""

    storage: Annotated[
        str | Sequence[str],
        option("Systems: all, or ids, YAML files and results of measure-storage with commas between.", "ID…", default=ALL),
    ]
    client: Annotated[str | None, option("Client that reaches the systems: nfs-nconnect, lustre-e1000-1c, …", "ID")]
    protection: Annotated[
        str | None, option("Protection scheme: prot-rep3, prot-ec-8-3, …; that of the system by default.", "ID")
    ]
    units: Annotated[Amount, option("Units available; the number required by default.", quantity="units")]


class TermOptions(TypedDict, total=False):
    """The terms of the comparison."""

    priority: Annotated[
        str,
        option("The lowest priority of a plan's lines that counts: {choices}.", "P", default=PRIORITIES[0], choices=PRIORITIES),
    ]
    degraded: Annotated[
        bool, option("Require the whole read rate with one failure domain down and the rest rebuilding.", default=False)
    ]
    no_spare: Annotated[bool, option("Count units without a spare failure domain.", default=False)]
    flip: Annotated[
        bool, option("Show at which value of each input of the site a chosen system no longer meets a line.", default=False)
    ]
    offers: Annotated[
        str | Path | None,
        option("Offers whose flips --flip shows instead of those of systems: the JSON that ingest response wrote.", "FILE"),
    ]
    sites: Annotated[bool, option("Compare installations that exist once as well.", default=False)]
    prices: Annotated[
        str | Path | None, option("YAML file with date, currency and prices of a TiB for a month, by service and tier.", "FILE")
    ]


class StorageOptions(SystemOptions, NeedOptions, TermOptions, RootOptions, total=False):
    """The options of `fit` beside the job."""


class FitOptions(StorageOptions, OneJobOptions, total=False):
    """The options of `fit`."""

    model: Annotated[Many | None, ONE_MODEL]
    gpu: Annotated[Many | None, CARD]


#: Rules on what a plan was counted from.
OF_EVIDENCE = ("W54",)
READS, NODES = "cluster_read_bandwidth", "cluster_nodes"


def need_of(
    plan: str | Path | Plan | None,
    plain: Mapping[str, Input],
    question: Job,
    catalog: Catalog,
    priority: str = "mandatory",
    root: str | Path | None = None,
) -> Need:
    """The need of a plan, as a site file, JSON or itself, or of a job, whose machine and settings hold for other needs too.

    Raises UsageError: a value out of range, or two sources of one need; IngestError: a plan that cannot be read, or a missing
    fact.
    """
    one_of("--priority", priority, PRIORITIES)
    if isinstance(plan, str) and not Path(plan).suffix and not Path(plan).exists():
        raise UsageError(f"{plan}: not a file, expected SITE.yaml or plan.json; a model is --model {plan}")
    if plan is not None and question.model is not None:
        raise UsageError("--model: the plan sets the reads already; expected one of the two")
    if plan is not None:
        if not isinstance(plan, Plan) and Path(plan).suffix.lower() in SITE_SUFFIXES:
            plan = plan_of_site(plan, catalog, root=root)
        need = _of_site(plan, question, catalog, priority)
        _refuse_twice(plain.keys() & need.given.keys(), "plan")
    elif names_job(question):
        need = from_estimate(estimate(question, catalog))
        need = replace(need, given={**_of_node(question, catalog), **need.given})
    else:
        need = Need("the given rates", _machine(question, catalog))
    further = {**by_user(question.settings), **plain}
    # The storage of a job may hold more than its data set, or a part of it.
    if HELD in further and HELD in need.computed:
        need = replace(need, title=f"{need.title}, capacity for {display(further[HELD].value, 'B', binary=False)}")
    if READ in need.computed:
        left = "restores not sized: see `ingest checkpoint`"
        left = left if WRITE in further else "checkpoints not sized: set --write-bandwidth"
        need = replace(need, title=f"{need.title}; {left}")
    computed = {name: one for name, one in need.computed.items() if (name, name in further) != (HELD, True)}
    _refuse_twice(further.keys() & computed.keys(), "model")
    given = {**need.given, **further}
    reads, one = (given.get(name) for name in (READ, "node_read_bandwidth_needed"))
    if reads is not None and one is not None and one.value > reads.value:
        # One node reads no more than all of them.
        given["node_read_bandwidth_needed"] = reads
    return replace(need, given=given, computed=computed)


def _refuse_twice(names: Collection[str], source: str) -> None:
    """Refuse an option for a need that the model or the plan sets already."""
    for one, name in PLAIN.items():
        if name in names:
            raise UsageError(f"--{one.replace('_', '-')}: the {source} sets this already; expected one of the two")


def _of_site(plan: str | Path | Plan, question: Job, catalog: Catalog, priority: str) -> Need:
    """The lines of a plan on the nodes of the site, or on those that the user names.

    Raises IngestError: unreadable, or not a plan; with what was found.
    """
    if isinstance(plan, Plan):
        site, rows = plan.site, [row.values((NODES, READS)) for row in plan.rows["clusters"]]
        described = site.section("clusters")
        # Neither the network nor the storage in place is part of a plan.
        fabric = {f"fabric_{key}": item for key, item in site.section("fabric").items()}
        folder = site.path.parent if site.path is not None else Path()
        items = enumerate(site.section("storage").get("existing", ()))
        existing = tuple(Listed(site.place(("storage", "existing", str(number))), item, folder) for number, item in items)
        need = from_requirements(plan.requirements, f"plan {site.name}", priority)
        # What a system is bought for is no firmer than what it was counted from.
        need = replace(
            need, existing=existing, notes=(*need.notes, *(one for one in plan.warnings if rule_of(one) in OF_EVIDENCE))
        )
    else:
        data = plan_data(plan)
        rows, described, fabric = data.get("tables", {}).get("clusters", ()), {}, {}
        need = from_requirements(lines_of(plan, data), f"plan {plan}", priority)
    given, machine = {**need.given, **fabric}, _machine(question, catalog)
    rows = [row for row in rows if row["node"] != WITHOUT_GPUS]
    if question.node is not None or question.gpu is not None or not rows:
        return replace(need, given={**given, **machine})

    clusters = {
        row["name"]: (float(row.get(NODES, 1)), float(row.get(READS, 0)), link_of(catalog.get(Node, row["node"])))
        for row in rows
    }
    judged = most_demanding(clusters, given["nodes"].value if "nodes" in given else 0)
    chosen = next(row for row in rows if row["name"] == judged)
    nvme = described.get(chosen["name"], {}).get("nvme")
    local = {} if nvme is None else {"nvme_bytes_per_node": nvme}
    notes, node = need.notes, catalog.get(Node, chosen["node"])
    others = sorted({row["node"] for row in rows} - {chosen["node"]})
    if others:
        which = f"{chosen['name']} ({node.name}), the most demanding cluster of sufficient size"
        notes = (*notes, f"nodes are those of {which}, not {', '.join(others)}")
    return replace(need, given={**_machine(Job(node=chosen["node"]), catalog), **local, **machine, **given}, notes=notes)


def link_of(node: Node) -> float:
    """What the NICs of a node to the storage carry; 0 where that is unknown."""
    return node.storage_nic_bandwidth.value if node.storage_nic_bandwidth is not None else 0


def most_demanding(clusters: Mapping[str, tuple[float, float, float]], clients: float) -> str:
    """The cluster whose nodes count: it reads most per node, of those with as many nodes as clients, else of all.

    Args:
        clusters: nodes, reads, and bandwidth of the links of a node, by name; links decide between equal reads.
        clients: of the lines.
    """
    large = [name for name, (nodes, *_) in clusters.items() if nodes >= clients]

    def demand(name: str) -> tuple[float, float, str]:
        nodes, reads, link = clusters[name]
        return reads / max(nodes, 1), link, name

    return max(large or clusters, key=demand)


def names_job(question: Job) -> bool:
    """Whether the options describe a job whose reads are estimated."""
    return question.model is not None or bool({"samples_per_second", "flops_per_sample", "achieved"} & question.numbers.keys())


def _machine(question: Job, catalog: Catalog) -> dict[str, Input]:
    """Nodes, GPUs and links where no model is given."""
    given: dict[str, Input] = {}
    for name in ("nodes", "gpus_per_node"):
        if name in question.numbers:
            given[name] = Input(check_value(name, question.numbers[name], Option(name).on_command_line), origin="user")
    gpu, node = machine_of(question.gpu, question.node, catalog)
    link = from_fields({"host_link_bandwidth_per_gpu": gpu.host_link_bandwidth if gpu is not None else None})
    return {**_of_node(question, catalog), **link, **gpus_in_node(None, node), **given}


def _of_node(question: Job, catalog: Catalog) -> dict[str, Input]:
    """Storage NICs, local drives and host memory of the node; components that it does not have are left out."""
    _, node = machine_of(question.gpu, question.node, catalog)
    if node is None:
        return {}
    named = {
        "storage_nic_bandwidth_per_node": node.storage_nic_bandwidth,
        "nvme_drives_per_node": node.nvme_drives,
        "nvme_bytes_per_node": node.nvme_bytes,
        "nvme_read_bandwidth_per_node": node.nvme_read_bandwidth,
        "host_memory_per_node": node.host_memory_bytes,
    }
    return {name: item for name, item in from_fields(named).items() if item.value}
