"""The options of `fit` to one `Need`: a model on its GPUs, a plan, plain numbers, or several of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Node
from ingest.catalog.store import Catalog
from ingest.engine.registry import check_value, unit_of
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief
from ingest.requirement import Requirement
from ingest.site.plan import Plan
from ingest.site.plan_file import lines_of, plan_data
from ingest.sizing.bandwidth import estimate
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import Job, machine_of
from ingest.storage.need import Need, from_estimate, from_numbers, from_requirements
from ingest.units import parse

SITES = (".yaml", ".yml")
READS, NODES = "cluster_read_bandwidth", "cluster_nodes"


class Cluster(NamedTuple):
    """A cluster of the site.

    Attributes:
        name: in the site file.
        node: id or file of its node type.
        nodes: how many it has.
        reads: what each of its nodes reads on average, in B/s; 0 where it reads nothing.
        nvme: local bytes of one node, where the site says them.
    """

    name: str
    node: str
    nodes: float
    reads: float
    nvme: Input | None = None


class Planned(NamedTuple):
    """What `fit` takes from a plan: its lines and its clusters."""

    lines: Sequence[Requirement]
    clusters: Sequence[Cluster]


def planned(path: str | Path | Plan, catalog: Catalog) -> Planned:
    """Lines and clusters of a site file, of the JSON that `ingest plan` wrote, or of a plan at hand.

    Raises:
        IngestError: unreadable, or no plan; with what was found.
    """
    if isinstance(path, Plan):
        return Planned(path.requirements, _of_plan(path))
    if Path(path).suffix.lower() in SITES:
        from ingest.site.planner import plan

        site = plan(path, samples=0, catalogs=catalog)
        assert isinstance(site, Plan), "several scenarios come from `set` only"
        return Planned(site.requirements, _of_plan(site))
    data = plan_data(path)
    return Planned(lines_of(Path(path), data), _of_json(Path(path), data))


def hungriest(clusters: Sequence[Cluster], clients: float) -> Cluster | None:
    """The cluster that reads most per node, of those that have as many nodes as clients are asked for, else of all.

    Args:
        clusters: of the site.
        clients: nodes that read at once.
    """
    large = [cluster for cluster in clusters if cluster.nodes >= clients]
    return max(large or clusters, key=lambda cluster: cluster.reads, default=None)


def told(clusters: Sequence[Cluster], chosen: Cluster, node: Node) -> tuple[str, ...]:
    """A note, where the site has nodes of other types too."""
    others = sorted({cluster.node for cluster in clusters} - {chosen.node})
    if not others:
        return ()
    there = f"{chosen.name} ({node.name})"
    return (f"nodes are judged as those of {there}, which read most of those large enough; not as {', '.join(others)}",)


def _of_plan(site: Plan) -> list[Cluster]:
    described = site.site.section("clusters")
    rows = [row.values((NODES, READS)) for row in site.rows["clusters"]]
    return [
        Cluster(row["name"], row["node"], float(row.get(NODES, 1)), _per_node(row), described[row["name"]].get("nvme"))
        for row in rows
    ]


def _of_json(path: Path, data: Mapping[str, Any]) -> list[Cluster]:
    """The clusters of a plan as data; none where its tables carry none."""
    tables = data.get("tables", {})
    rows = tables.get("clusters", []) if isinstance(tables, dict) else tables
    if not isinstance(rows, list):
        raise IngestError(f"{path}: tables: found {brief(rows)}, expected clusters with name and node")
    return [_cluster(f"{path}: tables: clusters: {number}", row) for number, row in enumerate(rows, start=1)]


def _cluster(place: str, row: Any) -> Cluster:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not isinstance(row.get("node"), str):
        raise IngestError(f"{place}: found {brief(row)}, expected a name and the id of a node type")
    for name in (NODES, READS):
        number = row.get(name, 1)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < float("inf"):
            raise IngestError(f"{place}: {name}: found {brief(number)}, expected a number from 0")
    return Cluster(row["name"], row["node"], float(row.get(NODES, 1)), _per_node(row))


def _per_node(row: Mapping[str, Any]) -> float:
    """A key to order clusters by, no quantity that is shown."""
    return float(row.get(READS, 0)) / max(float(row.get(NODES, 1)), 1)


def need_of(
    plan: str | Path | Plan | None,
    options: Mapping[str, Any],
    question: Job,
    catalog: Catalog,
    priority: str = "mandatory",
) -> Need:
    """The need that the options of `fit` stand for.

    Args:
        plan: a site file, the JSON of its plan, or a plan at hand.
        options: plain numbers.
        question: what is asked of `bw`, or the machine and the settings of other needs.
        catalog: where entries are found.
        priority: the lowest priority of a plan's lines that counts.

    Raises:
        UsageError: a value out of range, or two answers to the same question.
        IngestError: a plan that cannot be read, or a missing fact.
    """
    settings = {name: Input(value, origin="user") for name, value in question.settings.items()}
    for name, item in settings.items():
        check_value(name, item.value, f"--set {name}")
    plain = from_numbers(options)
    if options.get("io_size") is not None:
        size = check_value("io_bytes", parse(options["io_size"], unit_of("io_bytes"), "--io-size"), "--io-size")
        plain["io_bytes"] = Input(size, origin="user")
    if plan is not None and question.model is not None:
        raise UsageError("--model: the plan says what is read already; expected one of the two")
    if plan is not None:
        need = _of_site(plan, question, catalog, priority)
    elif _asks_bw(question):
        need = _with_machine(from_estimate(estimate(question, catalog)), question, catalog)
    else:
        need = Need("plain numbers", _machine(question, catalog))
    return need.merged({**settings, **plain})


def _of_site(plan: str | Path | Plan, question: Job, catalog: Catalog, priority: str) -> Need:
    """The lines of a plan on the nodes of the site, or on those that the user names."""
    found = planned(plan, catalog)
    need = from_requirements(found.lines, f"plan {plan.site.name if isinstance(plan, Plan) else plan}", priority)
    clients = need.given["nodes"].value if "nodes" in need.given else 0
    cluster = None if _names_machine(question) else hungriest(found.clusters, clients)
    if cluster is None:
        return replace(need, given={**need.given, **_machine(question, catalog)})
    node = catalog.get(Node, cluster.node)
    local = {"nvme_bytes_per_node": cluster.nvme} if cluster.nvme is not None else {}
    machine_ = {**_machine(Job(node=cluster.node), catalog), **local, **_machine(question, catalog)}
    return replace(need, given={**machine_, **need.given}, notes=(*need.notes, *told(found.clusters, cluster, node)))


def _names_machine(question: Job) -> bool:
    return question.node is not None or question.gpu is not None


def _asks_bw(question: Job) -> bool:
    asked = (question.model, question.samples_per_second, question.flops_per_sample, question.achieved)
    return any(one is not None for one in asked)


def _with_machine(need: Need, question: Job, catalog: Catalog) -> Need:
    given = {**_of_node(question, catalog), **need.given}
    return replace(need, given=given)


def _machine(question: Job, catalog: Catalog) -> dict[str, Input]:
    """Nodes, GPUs and links where no model is asked about."""
    given: dict[str, Input] = {}
    for name, count in (("nodes", question.nodes), ("gpus_per_node", question.gpus_per_node)):
        if count is not None:
            given[name] = Input(check_value(name, count, f"--{name.replace('_', '-')}"), origin="user")
    gpu, node = machine_of(question.gpu, question.node, catalog)
    if gpu is not None and gpu.host_link_bandwidth is not None:
        given["host_link_bandwidth_per_gpu"] = from_catalog(gpu.host_link_bandwidth)
    if node is not None:
        given.setdefault("gpus_per_node", from_catalog(node.gpus_per_node))
    return {**_of_node(question, catalog), **given}


def _of_node(question: Job, catalog: Catalog) -> dict[str, Input]:
    """Storage NICs, local drives and host memory of the node."""
    _, node = machine_of(question.gpu, question.node, catalog)
    return {} if node is None else of_node(node)


def of_node(node: Node) -> dict[str, Input]:
    """What a node type brings to the way to storage; having none of a thing is left out."""
    named = {
        "storage_nic_bandwidth_per_node": node.storage_nic_bandwidth,
        "nvme_drives_per_node": node.nvme_drives,
        "nvme_bytes_per_node": node.nvme_bytes,
        "nvme_read_bandwidth_per_node": node.nvme_read_bandwidth,
        "host_memory_per_node": node.host_memory_bytes,
    }
    return {name: from_catalog(value) for name, value in named.items() if value is not None and value.value}
