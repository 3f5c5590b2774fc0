"""The nodes of a planned site: the cluster that reads most per node, and what its node type brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.records import Node
from ingest.catalog.store import Catalog
from ingest.engine.value import Input
from ingest.errors import IngestError, brief
from ingest.planned import lines_of, plan_data
from ingest.requirement import Requirement
from ingest.site.plans import Plan

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
        from ingest.site.planning import plan

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
