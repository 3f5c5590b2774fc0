"""The floor of a site: the level of the vendor's reference architecture that holds for the GPUs of each cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.catalog.records import WITHOUT_GPUS, Gpu, Node, Storage
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import Step, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import listed
from ingest.site.site_file import Site
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.rules import Finding, finding
from ingest.text import grouped

NO_FLOOR = "none"
#: Levels that hold unless the site file names another, by preference.
USUAL_LEVELS = ("good", "standard")
#: What a level gives, and the field of its entry.
FIELDS = {
    "guidance_read_bandwidth": "read_bandwidth",
    "guidance_write_bandwidth": "write_bandwidth",
    "guidance_gpus": "gpus_per_unit",
    "guidance_units": "published_units",
    "guidance_client_read_bandwidth": "client_read_bandwidth",
    "guidance_client_write_bandwidth": "client_write_bandwidth",
}
#: Observed writes of checkpoints to shared storage.
PRACTICE = {
    "practice_least_writes": ("practice_least_per_gpu", 5e6, "practice: least written (1 to 12 MB/s per GPU in torchtitan, "
                              "ByteCheckpoint and Ant's GLM-65B, asynchronous)"),
    "practice_most_writes": ("practice_most_per_gpu", 160e6, "practice: most written (BLOOM 176B on 384 GPUs, synchronous)"),
}  # fmt: skip


class ClusterGuidance(NamedTuple):
    """What the reference architecture says about the GPUs of one cluster."""

    gpu: str  # of the cluster
    levels: tuple[Storage, ...]  # those that may be the floor, the lowest first
    floor: Storage | None  # the one that is; None for no floor
    known: Quantities  # the quantities of the floor and of a node, which the cluster and its jobs share

    @property
    def shared(self) -> Mapping[str, Step]:
        """The quantities as steps: one cell and one draw each."""
        return self.known.steps_of(*self.known.given, "node_drawable_bandwidth")


#: Beyond any node: nothing holds a load down that no known NIC carries.
UNLIMITED = Input(1e18, note="the storage NICs of this node type are not known")
NO_GPU = Input(0, note="nodes without GPUs")
NO_GUIDANCE = ClusterGuidance("", (), None, Quantities({"node_drawable_bandwidth": UNLIMITED}))


def level_in(site: Site) -> str | None:
    """The level of the guidance that the site file names; None where it names none."""
    floor = site.data.get("floor")
    level: str | None = floor["level"] if isinstance(floor, Mapping) else floor
    return level


def guidance_of(site: Site, catalog: Catalog, storage: Quantities) -> dict[str, ClusterGuidance]:
    """The guidance for each cluster, and what one of its nodes draws from the storage.

    Raises IngestError: a level that no GPU of the site has; with its line.
    """
    word = level_in(site)
    wanted = () if word == NO_FLOOR else ((word,) if word is not None else ()) + USUAL_LEVELS
    found = {}
    for name, described in site.section("clusters").items():
        nic = {"storage_nic_bandwidth_per_node": described["nic"]} if "nic" in described else {}
        if described["node"] == WITHOUT_GPUS:
            found[name] = ClusterGuidance("", (), None, _drawn({"gpus_per_node": NO_GPU, **nic}, name, storage))
            continue
        with site.blaming(("clusters", name, "node")):
            node = catalog.get(Node, described["node"])
            gpu = catalog.get(Gpu, node.gpu)
        # Per GPU, the reference of the nearest generation holds where none is published for this one.
        like = catalog.referred(Gpu, gpu.guidance_like, by=gpu.path) if gpu.guidance_like else gpu
        named = (catalog.referred(Storage, level, by=like.path) for level in like.guidance_levels)
        levels = tuple(level for level in named if level.confirmed != "no")
        by_word = {level.level: level for level in levels}
        floor = next((by_word[one] for one in wanted if one in by_word), None)
        fields = {} if floor is None else {quantity: getattr(floor, field) for quantity, field in FIELDS.items()}
        fields["storage_nic_bandwidth_per_node"] = node.storage_nic_bandwidth
        fields["gpus_per_node"] = node.gpus_per_node
        inputs = {quantity: from_catalog(value) for quantity, value in fields.items() if value is not None} | nic
        if like is not gpu:
            note = f"per GPU as for {like.name}, the nearest with a reference of its own"
            inputs |= {one: inputs[one]._replace(grade="assumed", note=note) for one in FIELDS if one in inputs}
        found[name] = ClusterGuidance(gpu.name, levels, floor, _drawn(inputs, name, storage))
    known = dict.fromkeys(level.level for _, one in sorted(found.items()) for level in one.levels)
    if word not in (None, NO_FLOOR, *known):
        gpus = listed(sorted({one.gpu for one in found.values()}))
        refused = finding("E10", words={"level": "unknown"}, level=word, gpus=gpus, known=", ".join((NO_FLOOR, *known)))
        assert refused is not None
        site.refuse(("floor",), refused.message())
    return found


def _drawn(inputs: dict[str, Input], name: str, storage: Quantities) -> Quantities:
    """The quantities of a node, with what it draws from the storage: of its NICs, or of a client that is known."""
    found = Quantities(inputs, name)
    found.adopt({one: storage.step(one) for one in ("nic_delivery", "client_bandwidth_per_node") if storage.find(one)})
    if "storage_nic_bandwidth_per_node" not in inputs:
        found.give({"node_drawable_bandwidth": UNLIMITED})
    elif storage.find("client_bandwidth_per_node"):
        found.state("client_known")
    return found


def place_floors(guidance: Mapping[str, ClusterGuidance], jobs: Sequence[QuantityRow]) -> None:
    """Give each job the guidance for its GPUs: for its reads, and where it saves checkpoints for writes and restores."""
    for row in jobs:
        one, known = guidance[str(row.words["cluster"])], row.known
        # A row says by itself how many GPUs its nodes have, if any.
        own = {*known.given, "gpus_per_node"} - FIELDS.keys()
        known.adopt({name: step for name, step in one.shared.items() if name not in own})
        if one.floor is not None and "restart_read_bandwidth" in known.steps:
            known.state("guided_saves")


def unguided(guidance: Mapping[str, ClusterGuidance], site: Site) -> Finding | None:
    """Clusters for whose GPUs no guidance is confirmed, so that nothing holds a line above the need of the workload."""
    without = sorted({one.gpu for one in guidance.values() if one.gpu and not one.levels})
    told = without and level_in(site) != NO_FLOOR
    return finding("W45", words={"guidance": "unconfirmed"}, gpus=listed(without)) if told else None


def guidance_rows(
    guidance: Mapping[str, ClusterGuidance], clusters: Sequence[QuantityRow], site: Quantities
) -> list[dict[str, Any]]:
    """Every level for the GPUs of each cluster, the workload, and what large runs were seen to write."""
    rows: list[dict[str, Any]] = []
    gpus = 0.0
    for row in clusters:
        own = row.known.value("cluster_gpus")
        gpus += own
        for level in guidance[row.name].levels:
            rows.append({"name": level.name, "cluster": row.name, "level": level.level, "cluster_gpus": own,
                         "floor": "yes" if level is guidance[row.name].floor else "no", **_compared(level, own)})  # fmt: skip
    needs = {"compared_reads": "workload_read_bandwidth", "compared_writes": "workload_write_bandwidth",
             "compared_node_reads": "workload_node_read_bandwidth"}  # fmt: skip
    rows.append({"name": "this workload", **{column: site.value(name) for column, name in needs.items()}})
    for name, (quantity, value, text) in PRACTICE.items() if site.value("workload_write_bandwidth") else ():
        rows.append({"name": text, "compared_writes": float(solve(name, {"cluster_gpus": gpus, quantity: value}))})
    return rows


def _compared(level: Storage, gpus: float) -> dict[str, float]:
    """The rates of a level for so many GPUs."""
    given = {quantity: value.value for quantity, field in FIELDS.items() if (value := getattr(level, field)) is not None}
    given["cluster_gpus"] = gpus
    found = {
        "compared_reads": float(solve("cluster_read_floor", given)),
        "compared_writes": float(solve("cluster_write_floor", given)),
    }
    clients = {
        "compared_node_reads": "guidance_client_read_bandwidth",
        "compared_node_writes": "guidance_client_write_bandwidth",
    }
    return found | {column: float(given[name]) for column, name in clients.items() if name in given}


def by_cluster(rows: Iterable[QuantityRow]) -> dict[str, list[QuantityRow]]:
    """Jobs or workloads by the cluster that they run on."""
    return grouped((str(row.words["cluster"]), row) for row in rows)
