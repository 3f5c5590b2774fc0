"""The options of `fit` as one `Need`: a model on its GPUs or a plan, with plain numbers for what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Node
from ingest.catalog.store import Catalog
from ingest.engine.messages import Option
from ingest.engine.registry import check_value
from ingest.engine.value import Input
from ingest.errors import UsageError, one_of
from ingest.requirement import PRIORITIES, Requirement
from ingest.site.plan import Plan
from ingest.site.plan_file import SITE_SUFFIXES, lines_of, plan_data, plan_of_site
from ingest.sizing.bandwidth import estimate
from ingest.sizing.evidence_ladder import from_fields
from ingest.sizing.job import Job, by_user, gpus_in_node, machine_of
from ingest.storage.need import Listed, Need, from_estimate, from_requirements, refuse_twice

READS, NODES = "cluster_read_bandwidth", "cluster_nodes"


class PlannedCluster(NamedTuple):
    """A cluster of a planned site.

    Attributes:
        name: in the site file.
        node: id or file of its node type.
        nodes: number of nodes.
        reads: mean read bandwidth of one node, B/s; 0 without reads.
        nvme: local bytes of one node, where the site file sets them.
    """

    name: str
    node: str
    nodes: float
    reads: float
    nvme: Input | None = None


def lines_and_clusters(path: str | Path | Plan, catalog: Catalog) -> tuple[Sequence[Requirement], Sequence[PlannedCluster]]:
    """Requirement lines and clusters of a site file, of the JSON that `ingest plan` wrote, or of a plan.

    Raises:
        IngestError: unreadable, or not a plan; with what was found.
    """
    if not isinstance(path, Plan) and Path(path).suffix.lower() in SITE_SUFFIXES:
        path = plan_of_site(path, catalog)
    if isinstance(path, Plan):
        return path.requirements, _clusters_of(path)
    data = plan_data(path)
    return lines_of(path, data), [_cluster(row) for row in data.get("tables", {}).get("clusters", ())]


def _most_demanding(clusters: Sequence[PlannedCluster], clients: float) -> PlannedCluster | None:
    """The cluster that reads most per node, of those with at least this number of nodes, else of all."""
    large = [cluster for cluster in clusters if cluster.nodes >= clients]
    return max(large or clusters, key=lambda cluster: cluster.reads, default=None)


def _other_node_types(clusters: Sequence[PlannedCluster], chosen: PlannedCluster, node: Node) -> tuple[str, ...]:
    others = sorted({cluster.node for cluster in clusters} - {chosen.node})
    if not others:
        return ()
    chosen_one = f"{chosen.name} ({node.name})"
    return (f"nodes are those of {chosen_one}, the most demanding cluster of sufficient size, not {', '.join(others)}",)


def _clusters_of(plan: Plan) -> list[PlannedCluster]:
    described = plan.site.section("clusters")
    rows = [row.values((NODES, READS)) for row in plan.rows["clusters"]]
    return [_cluster(row, described[row["name"]].get("nvme")) for row in rows]


def _cluster(row: Mapping[str, Any], nvme: Input | None = None) -> PlannedCluster:
    nodes = float(row.get(NODES, 1))
    # Orders clusters; it is not shown.
    per_node = float(row.get(READS, 0)) / max(nodes, 1)
    return PlannedCluster(row["name"], row["node"], nodes, per_node, nvme)


def need_of(
    plan: str | Path | Plan | None,
    plain: Mapping[str, Input],
    question: Job,
    catalog: Catalog,
    priority: str = "mandatory",
) -> Need:
    """The need that the options of `fit` describe.

    Args:
        plan: a site file, the JSON of its plan, or a plan.
        plain: needs given as plain numbers.
        question: the job of `bw`, or the machine and the settings of other needs.
        catalog: with the entries.
        priority: the lowest priority of a plan's lines that counts.

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
        refuse_twice(plain.keys() & need.given.keys(), "plan")
    elif names_job(question):
        need = from_estimate(estimate(question, catalog))
        need = replace(need, given={**_of_node(question, catalog), **need.given})
    else:
        need = Need("the given rates", _machine(question, catalog))
    return _node_reads_at_most_all(need.merged({**by_user(question.settings), **plain}))


def _node_reads_at_most_all(need: Need) -> Need:
    """The need in which one node reads no more than all of them."""
    reads, one = (need.given.get(name) for name in ("read_bandwidth_needed", "node_read_bandwidth_needed"))
    if reads is None or one is None or one.value <= reads.value:
        return need
    return replace(need, given={**need.given, "node_read_bandwidth_needed": reads})


def _of_site(plan: str | Path | Plan, question: Job, catalog: Catalog, priority: str) -> Need:
    """The lines of a plan on the nodes of the site, or on those that the user names."""
    lines, clusters = lines_and_clusters(plan, catalog)
    need = from_requirements(lines, f"plan {plan.site.name if isinstance(plan, Plan) else plan}", priority)
    fabric, existing = _in_place(plan)
    need = replace(need, given={**need.given, **fabric}, existing=existing)
    clients = need.given["nodes"].value if "nodes" in need.given else 0
    named = question.node is not None or question.gpu is not None
    cluster = None if named else _most_demanding(clusters, clients)
    machine = _machine(question, catalog)
    if cluster is None:
        return replace(need, given={**need.given, **machine})
    local = {"nvme_bytes_per_node": cluster.nvme} if cluster.nvme is not None else {}
    given = {**_machine(Job(node=cluster.node), catalog), **local, **machine, **need.given}
    others = _other_node_types(clusters, cluster, catalog.get(Node, cluster.node))
    return replace(need, given=given, notes=(*need.notes, *others))


def _in_place(plan: str | Path | Plan) -> tuple[dict[str, Input], tuple[Listed, ...]]:
    """The network and the storage that the site file describes: neither is part of a plan."""
    if not isinstance(plan, Plan):
        return {}, ()
    fabric = {f"fabric_{key}": item for key, item in plan.site.section("fabric").items()}
    listed = enumerate(plan.site.section("storage").get("existing", ()))
    folder = plan.site.path.parent if plan.site.path is not None else Path()
    return fabric, tuple(Listed(plan.site.place(("storage", "existing", str(number))), item, folder) for number, item in listed)


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
