"""The size of a job, given as GPUs or as nodes: each follows from the other by the GPUs in a node."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.catalog.store import Catalog
from ingest.engine.messages import option_error
from ingest.engine.registry import solve
from ingest.errors import UsageError
from ingest.sizing.job import Written, gpus_in_node, machine_of, quantities_of

#: GPUs in a node where neither a GPU nor a node type is known.
USUAL_GPUS_PER_NODE = 8.0


def gpus_per_node_of(gpu: str | None, node: str | None, settings: Mapping[str, float], catalog: Catalog) -> float:
    """The GPUs in a node: as set, of the node type, of the GPU, or as usual."""
    if "gpus_per_node" in settings:
        return settings["gpus_per_node"]
    found = gpus_in_node(*machine_of(gpu, node, catalog))
    return found["gpus_per_node"].value if found else USUAL_GPUS_PER_NODE


def gpus_of(
    gpus: Written | None,
    nodes: Written | None,
    catalog: Catalog,
    *,
    gpu: str | None = None,
    node: str | None = None,
    settings: Mapping[str, float] | None = None,
) -> Written | None:
    """The GPUs of a job that states its GPUs or its nodes; None where it states neither.

    >>> gpus_of(None, 128, Catalog(), gpu="h100"), gpus_of("1024", None, Catalog())
    (1024.0, '1024')

    Raises:
        UsageError: no number, or GPUs and nodes that contradict each other.
    """
    if nodes is None:
        return gpus
    each = gpus_per_node_of(gpu, node, settings or {}, catalog)
    found = quantities_of({}, {"nodes": nodes, "gpus": gpus})
    if found["nodes"] % 1:
        raise option_error("nodes", f": found {nodes}, expected a whole number")
    counted = float(solve("gpus", {"nodes": found["nodes"], "gpus_per_node": each}))
    check_size(found.get("gpus", counted), found["nodes"], each)
    return counted


def nodes_of(gpus: float, nodes: float | None, gpus_per_node: float) -> dict[str, float]:
    """The nodes of a job that states its GPUs, and their GPUs where it fills less than one node.

    >>> nodes_of(1024, None, 8), nodes_of(4, None, 8)
    ({'nodes': 128}, {'nodes': 1, 'gpus_per_node': 4})

    Raises:
        UsageError: a node that is not full, or nodes with other GPUs.
    """
    if nodes is not None:
        check_size(gpus, nodes, gpus_per_node)
        return {"nodes": nodes}
    if gpus < gpus_per_node:
        return {"nodes": 1, "gpus_per_node": gpus}
    if gpus % gpus_per_node:
        raise UsageError(f"--gpus: found {gpus:,.10g}, expected a multiple of {gpus_per_node:g}, the GPUs of a node, or fewer")
    return {"nodes": solve("nodes_in_job", {"gpus": gpus, "gpus_per_node": gpus_per_node})}


def check_size(gpus: float, nodes: float, gpus_per_node: float) -> None:
    """Refuse GPUs and nodes that contradict each other.

    Raises:
        UsageError: the nodes have other GPUs.
    """
    counted = solve("gpus", {"nodes": nodes, "gpus_per_node": gpus_per_node})
    if gpus != counted:
        what = f"found {gpus:,.10g} with --nodes {nodes:,.10g}"
        raise UsageError(f"--gpus: {what}, expected {counted:,.10g}: {gpus_per_node:g} in each node, or one of the two")
