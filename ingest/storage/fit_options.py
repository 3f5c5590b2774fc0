"""The options of `fit`, and as one `Need`: a model on its GPUs or a plan, with plain numbers for what they leave open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

from ingest.catalog.records import WITHOUT_GPUS, Node
from ingest.catalog.store import Catalog
from ingest.engine.messages import Option
from ingest.engine.question import option
from ingest.engine.registry import check_value
from ingest.engine.value import Input
from ingest.errors import UsageError, one_of
from ingest.requirement import PRIORITIES
from ingest.site.plan import Plan
from ingest.site.plan_file import SITE_SUFFIXES, lines_of, plan_data, plan_of_site
from ingest.sizing.bandwidth import estimate
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import GPU, MODEL, BandwidthOptions, Job, Many, Written, by_user, gpus_in_node
from ingest.sizing.resolve import machine_of
from ingest.storage.need import PLAIN, Listed, Need, NeedOptions, from_estimate, from_requirements

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
    units: Annotated[Written | None, option("Units available; the number required by default.", quantity="units")]


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
    sites: Annotated[bool, option("Compare installations that exist once as well.", default=False)]
    prices: Annotated[
        str | Path | None, option("YAML file with date, currency and prices of a TiB for a month, by service and tier.", "FILE")
    ]


class StorageOptions(SystemOptions, NeedOptions, TermOptions, total=False):
    """The options of `fit` beside the job."""


class JobOptions(TypedDict, total=False):
    """The model and its GPUs."""

    model: Annotated[Many | None, MODEL]
    gpu: Annotated[Many | None, GPU]


class FitOptions(StorageOptions, JobOptions, BandwidthOptions, total=False):
    """The options of `fit`."""


READS, NODES = "cluster_read_bandwidth", "cluster_nodes"


def need_of(
    plan: str | Path | Plan | None, plain: Mapping[str, Input], question: Job, catalog: Catalog, priority: str = "mandatory"
) -> Need:
    """The need of a plan, as a site file, JSON or itself, or of a job, whose machine and settings hold for other needs too.

    Raises:
        UsageError: a value out of range, or two sources of one need.
        IngestError: a plan that cannot be read, or a missing fact.
    """
    one_of("--priority", priority, PRIORITIES)
    if isinstance(plan, str) and not Path(plan).suffix and not Path(plan).exists():
        raise UsageError(f"{plan}: not a file, expected SITE.yaml or plan.json; a model is --model {plan}")
    if plan is not None and question.model is not None:
        raise UsageError("--model: the plan sets the reads already; expected one of the two")
    if plan is not None:
        if not isinstance(plan, Plan) and Path(plan).suffix.lower() in SITE_SUFFIXES:
            plan = plan_of_site(plan, catalog)
        need = _of_site(plan, question, catalog, priority)
        _refuse_twice(plain.keys() & need.given.keys(), "plan")
    elif names_job(question):
        need = from_estimate(estimate(question, catalog))
        need = replace(need, given={**_of_node(question, catalog), **need.given})
    else:
        need = Need("the given rates", _machine(question, catalog))
    further = {**by_user(question.settings), **plain}
    _refuse_twice(further.keys() & need.computed.keys(), "model")
    given = {**need.given, **further}
    reads, one = (given.get(name) for name in ("read_bandwidth_needed", "node_read_bandwidth_needed"))
    if reads is not None and one is not None and one.value > reads.value:
        # One node reads no more than all of them.
        given["node_read_bandwidth_needed"] = reads
    return replace(need, given=given)


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
        need = replace(from_requirements(plan.requirements, f"plan {site.name}", priority), existing=existing)
    else:
        data = plan_data(plan)
        rows, described, fabric = data.get("tables", {}).get("clusters", ()), {}, {}
        need = from_requirements(lines_of(plan, data), f"plan {plan}", priority)
    given, machine = {**need.given, **fabric}, _machine(question, catalog)
    rows = [row for row in rows if row["node"] != WITHOUT_GPUS]
    if question.node is not None or question.gpu is not None or not rows:
        return replace(need, given={**given, **machine})

    def nodes_and_reads(row: Mapping[str, Any]) -> tuple[float, float]:
        nodes = float(row.get(NODES, 1))
        return nodes, float(row.get(READS, 0)) / max(nodes, 1)

    # The cluster that reads most per node, of those with at least as many nodes as the lines have clients, else of all.
    clients = given["nodes"].value if "nodes" in given else 0
    large = [row for row in rows if nodes_and_reads(row)[0] >= clients]

    def demand(row: Mapping[str, Any]) -> tuple[float, float, str]:
        nics = catalog.get(Node, row["node"]).storage_nic_bandwidth
        return nodes_and_reads(row)[1], 0 if nics is None else nics.value, row["name"]

    # Of clusters that read as much, the one whose nodes draw most.
    chosen = max(large or rows, key=demand)
    nvme = described.get(chosen["name"], {}).get("nvme")
    local = {} if nvme is None else {"nvme_bytes_per_node": nvme}
    notes, node = need.notes, catalog.get(Node, chosen["node"])
    others = sorted({row["node"] for row in rows} - {chosen["node"]})
    if others:
        which = f"{chosen['name']} ({node.name}), the most demanding cluster of sufficient size"
        notes = (*notes, f"nodes are those of {which}, not {', '.join(others)}")
    return replace(need, given={**_machine(Job(node=chosen["node"]), catalog), **local, **machine, **given}, notes=notes)


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
