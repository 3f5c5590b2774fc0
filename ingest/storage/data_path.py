"""The data path from GPU to drives: need and ceiling of each layer, and the bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.messages import Message
from ingest.engine.registry import FORMULAS, Step, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import MissingQuantity
from ingest.formulas.acceptance_results import headroom_fraction, shortfall_factor
from ingest.storage.units_required import has_metadata_servers
from ingest.units import display


class Layer(NamedTuple):
    """A layer of the data path, by the names of its quantities.

    Attributes:
        name: as shown.
        need, ceiling: quantities.
        supply: option that sets an unknown ceiling; empty where `--set` with the missing quantity does.
    """

    name: str
    need: str
    ceiling: str
    supply: str = ""


_READ, _WRITE, _NODE = "read_bandwidth_needed", "write_bandwidth_needed", "node_read_bandwidth_needed"
HOST_LINK = Layer("GPU host link", _READ, "host_links_read_ceiling", "gpu")
NIC = Layer("storage NIC", _READ, "nics_read_ceiling", "node")
CLIENT = Layer("protocol client", _READ, "clients_read_ceiling", "client")
NVME = Layer("node NVMe", _READ, "nvme_read_ceiling", "node")
READS = Layer("system reads", _READ, "units_read_ceiling")
NIC_WRITES = Layer("storage NIC, writes", _WRITE, "nics_read_ceiling", "node")
CLIENT_WRITES = Layer("protocol client, writes", _WRITE, "clients_write_ceiling", "client")
WRITES = Layer("system writes", _WRITE, "units_write_ceiling")
DEGRADED = Layer("reads, one unit down", _READ, "degraded_read_bandwidth")
REQUESTS = Layer("requests", "io_per_second_needed", "units_requests_ceiling")
OPENS = Layer("metadata, opens", "opens_per_second_needed", "units_opens_ceiling")
CREATES = Layer("metadata, creates", "creates_per_second_needed", "units_creates_ceiling")
METADATA_SERVERS = Layer("metadata servers", "metadata_servers_required", "metadata_servers_max")
CAPACITY = Layer("capacity", "required_usable_bytes", "units_usable_bytes")
NVME_WRITES = Layer("node NVMe, writes", _WRITE, "nvme_write_ceiling", "node")
NVME_CAPACITY = Layer("node NVMe, capacity", "required_usable_bytes", "nvme_capacity", "node")
NIC_ONE = Layer("NIC, one node", _NODE, "storage_nic_bandwidth_per_node", "node")
CLIENT_ONE = Layer("client, one node", _NODE, "client_read_ceiling", "client")
NVME_ONE = Layer("NVMe, one node", _NODE, "nvme_read_bandwidth_per_node", "node")
#: result -> the layers of which the narrowest decides it
AVAILABLE = {
    "read_bandwidth_available": (HOST_LINK, NVME, NIC, CLIENT, READS),
    "write_bandwidth_available": (NVME_WRITES, NIC_WRITES, CLIENT_WRITES, WRITES),
}
#: From the GPU to local drives, and to shared storage.
LOCAL = (HOST_LINK, NVME, NVME_ONE, NVME_WRITES, NVME_CAPACITY)
REMOTE = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, READS, NIC_WRITES, CLIENT_WRITES, WRITES)
SYSTEM = (READS, WRITES)
#: Layers of the nodes, judged only where the nodes are known.
OF_NODES = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, NIC_WRITES, CLIENT_WRITES)
#: Node hardware, which says nothing about the storage behind it.
OF_HARDWARE = (HOST_LINK, NIC, NIC_ONE, NIC_WRITES)
#: Layers of clients: the rate of one client in a run of many is not its ceiling.
OF_CLIENTS = (CLIENT, CLIENT_ONE, CLIENT_WRITES)

#: Headroom below which a layer barely holds.
TIGHT = 0.05


class LayerVerdict(NamedTuple):
    """The verdict on one layer.

    Attributes:
        ceiling: None where it is unknown.
        headroom: share of the ceiling that stays free; None where the ceiling is unknown or 0.
        at_least: the ceiling was demonstrated, and more may be possible.
        why: why the ceiling is unknown or 0.
    """

    layer: Layer
    need: float
    ceiling: float | None
    headroom: float | None
    at_least: bool = False
    why: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the layer carries the need; None where that is unknown."""
        if self.headroom is None:
            return False if self.ceiling == 0 else None
        return True if self.headroom >= 0 else None if self.at_least else False

    def to_dict(self) -> dict[str, Any]:
        """As JSON: numbers in base units."""
        row: dict[str, Any] = {"layer": self.layer.name, "need": self.need, "ceiling": self.ceiling, "unit": self.unit}
        row |= {"headroom_fraction": self.headroom, "holds": self.holds}
        if self.at_least:
            row["at_least"] = True
        return {**row, "why": self.why} if self.why else row

    @property
    def tight(self) -> bool:
        """Whether headroom is below `TIGHT`; a demonstrated rate is not a ceiling, so never tight."""
        return self.headroom is not None and self.headroom < TIGHT and not self.at_least

    @property
    def times(self) -> float | None:
        """Need divided by ceiling; None where the ceiling is unknown or 0."""
        return float(shortfall_factor(self.need, self.ceiling)) if self.ceiling else None

    @property
    def unit(self) -> str:
        """The base unit of need and ceiling."""
        return unit_of(self.layer.need)

    @property
    def shown(self) -> str:
        """The ceiling with its unit."""
        if self.ceiling is None:
            return "not known"
        return ("at least " if self.at_least else "") + display(self.ceiling, unit_of(self.layer.ceiling), binary=False)


def judge(known: Quantities, layers: Iterable[Layer], shown_only: frozenset[Layer]) -> Iterator[LayerVerdict]:
    """Compare each layer with its need; layers without a need are left out.

    Args:
        known: quantities of need and system.
        layers: in order from the GPU to the drives.
        shown_only: layers whose ceiling is a demonstrated rate.
    """
    for layer in layers:
        needed = known.find(layer.need)
        if needed is None or not needed.value:
            continue
        need = float(needed.value)
        try:
            ceiling = known.value(layer.ceiling)
        except MissingQuantity as error:
            option = "nodes" if error.name == "nodes" else layer.supply or f"set.{error.name}"
            why = Message(f"{error.name.replace('_', ' ')} is not known", supply=(option,))
            yield LayerVerdict(layer, need, None, None, why=why)
            continue
        if ceiling:
            yield LayerVerdict(layer, need, ceiling, float(headroom_of(known, layer).value), layer in shown_only)
        else:
            yield LayerVerdict(layer, need, 0, None, why="no unit is left")


def headroom_of(known: Quantities, layer: Layer) -> Step:
    """The headroom of a layer with its derivation.

    Raises:
        MissingQuantity: need or ceiling is unknown.
    """
    made = FORMULAS[headroom_fraction.__name__]
    need, ceiling = known.step(layer.need), known.step(layer.ceiling)
    return Step(
        made.name, made.function(need.value, ceiling.value), made._replace(needs=(need.name, ceiling.name)), (need, ceiling)
    )


def bottleneck(verdicts: Iterable[LayerVerdict]) -> LayerVerdict | None:
    """The layer with the least headroom, which binds first as the need grows.

    A demonstrated rate below the need is not a bottleneck: the layer may carry more.
    """
    rated = [one for one in verdicts if one.holds is not None]
    return min(rated, key=lambda one: float("-inf") if one.headroom is None else one.headroom, default=None)


def verdict(verdicts: Iterable[LayerVerdict]) -> bool | None:
    """Whether all layers hold: False where one does not, None where one is unknown."""
    holds = [one.holds for one in verdicts]
    if False in holds:
        return False
    return True if holds and all(holds) else None


def layers_of(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """The layers of the data path that an entry is part of."""
    if entry.family == "protection":
        return SYSTEM
    if entry.family == "drive":
        return LOCAL
    names = (METADATA_SERVERS,) if has_metadata_servers(entry) else (OPENS, CREATES)
    # Requests are judged where IOPS are published: bandwidth and latency imply them elsewhere.
    requests = (REQUESTS,) if entry.io_per_second and entry.family != "client" else ()
    path = (one for one in REMOTE if _is_judged(one, entry, known))
    # Servers that run storage software are bought with as many drives as the raw capacity takes: no ceiling.
    own = entry.family == "software" and "unit_usable_bytes" not in known.given
    return (*path, *requests, *names, *(() if own else (CAPACITY,)))


def _is_judged(layer: Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may leave nodes or GPUs open: their layers are not judged then."""
    if layer is HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer in OF_CLIENTS and entry.family == "client":
        return True
    return "nodes" in known.given or layer not in OF_NODES


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[Layer]:
    """Layers whose ceiling is a rate from a published run: of one client among many, or of opens."""
    own_client = entry.family == "system" and client is None and not _set_by_user(known, "client_bandwidth_per_node")
    counted = entry.opens_per_second is None and not _set_by_user(known, "unit_opens_per_second")
    return frozenset((*(OF_CLIENTS if own_client else ()), *((OPENS,) if counted else ())))


def _set_by_user(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"
