"""The layers between GPU and drives: what each is asked, what it can carry, and which one binds first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.registry import FORMULAS, Step, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import MissingQuantity
from ingest.formulas.acceptance_results import headroom_fraction, shortfall_factor
from ingest.storage.units_required import metadata_apart
from ingest.units import display


class Layer(NamedTuple):
    """A layer of the way to storage, by the names of its quantities.

    Attributes:
        name: as people call it.
        need, ceiling: quantities.
        supply: how to give the ceiling where it is not known.
    """

    name: str
    need: str
    ceiling: str
    supply: str


HOST_LINK = Layer("GPU host link", "read_bandwidth_needed", "host_links_read_ceiling", "say --gpu, --nodes")
NIC = Layer("storage NIC", "read_bandwidth_needed", "nics_read_ceiling", "say --node and --nodes")
CLIENT = Layer("protocol client", "read_bandwidth_needed", "clients_read_ceiling", "say --client and --nodes")
NVME = Layer("node NVMe", "read_bandwidth_needed", "nvme_read_ceiling", "say --node and --nodes")
READS = Layer(
    "system reads",
    "read_bandwidth_needed",
    "units_read_ceiling",
    "that of the system; --set unit_read_bandwidth=RATE",
)
NIC_WRITES = Layer("storage NIC, writes", "write_bandwidth_needed", "nics_read_ceiling", "say --node and --nodes")
CLIENT_WRITES = Layer("protocol client, writes", "write_bandwidth_needed", "clients_write_ceiling", "say --client")
WRITES = Layer(
    "system writes",
    "write_bandwidth_needed",
    "units_write_ceiling",
    "that of the system; --set unit_write_bandwidth=RATE",
)
DEGRADED = Layer(
    "reads, one unit down",
    "read_bandwidth_needed",
    "degraded_read_bandwidth",
    "that of the system; --set unit_read_bandwidth=RATE",
)
REQUESTS = Layer(
    "requests",
    "io_per_second_needed",
    "units_requests_ceiling",
    "that of the system; --set unit_io_per_second=N",
)
OPENS = Layer(
    "metadata, opens",
    "opens_per_second_needed",
    "units_opens_ceiling",
    "that of the system; --set unit_opens_per_second=N",
)
CREATES = Layer(
    "metadata, creates",
    "creates_per_second_needed",
    "units_creates_ceiling",
    "that of the system; --set unit_creates_per_second=N",
)
METADATA_SERVERS = Layer(
    "metadata servers",
    "metadata_servers_required",
    "metadata_servers_max",
    "no limit is published; --set metadata_servers_max=N",
)
CAPACITY = Layer(
    "capacity",
    "required_usable_bytes",
    "units_usable_bytes",
    "that of the system; --set unit_usable_bytes=SIZE",
)
NVME_WRITES = Layer("node NVMe, writes", "write_bandwidth_needed", "nvme_write_ceiling", "say --node and --nodes")
NVME_CAPACITY = Layer("node NVMe, capacity", "required_usable_bytes", "nvme_capacity", "say --node and --nodes")
NIC_ONE = Layer("NIC, one node", "node_read_bandwidth_needed", "storage_nic_bandwidth_per_node", "say --node")
CLIENT_ONE = Layer("client, one node", "node_read_bandwidth_needed", "client_read_ceiling", "say --client")
NVME_ONE = Layer("NVMe, one node", "node_read_bandwidth_needed", "nvme_read_bandwidth_per_node", "say --node")
READ_PATH = (HOST_LINK, NVME, NIC, CLIENT, READS)
WRITE_PATH = (NVME_WRITES, NIC_WRITES, CLIENT_WRITES, WRITES)
#: The way from the GPU to local drives, and to storage.
LOCAL = (HOST_LINK, NVME, NVME_ONE, NVME_WRITES, NVME_CAPACITY)
REMOTE = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, READS, NIC_WRITES, CLIENT_WRITES, WRITES)
SYSTEM = (READS, WRITES)
#: Layers of the nodes: where nothing is known of the nodes, they are not part of the question.
OF_NODES = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, NIC_WRITES, CLIENT_WRITES)
#: Hardware of the nodes, which says nothing about the storage behind it.
OF_HARDWARE = (HOST_LINK, NIC, NIC_ONE, NIC_WRITES)
#: Layers of clients: what one client took in a run of many is no ceiling of it.
OF_CLIENTS = (CLIENT, CLIENT_ONE, CLIENT_WRITES)

#: Less head-room than this is gone with the next change of the job.
TIGHT = 0.05


class Judged(NamedTuple):
    """A layer held against the need.

    Attributes:
        ceiling: None where it is not known.
        headroom: share of the ceiling that stays free; None likewise.
        at_least: the ceiling is what has been shown, and more may be possible.
        why: why it is not known.
    """

    layer: Layer
    need: float
    ceiling: float | None
    headroom: float | None
    at_least: bool = False
    why: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the layer carries the need; None where that is not known."""
        if self.ceiling is None or self.headroom is None:
            return None
        return True if self.headroom >= 0 else None if self.at_least else False

    def to_dict(self) -> dict[str, Any]:
        """As JSON: numbers in base units."""
        unit = unit_of(self.layer.need)
        found: dict[str, Any] = {"layer": self.layer.name, "need": self.need, "ceiling": self.ceiling, "unit": unit}
        found |= {"headroom_fraction": self.headroom, "holds": self.holds}
        if self.at_least:
            found["at_least"] = True
        return {**found, "why": self.why} if self.why else found

    @property
    def tight(self) -> bool:
        """Whether little of a ceiling stays free; what has only been shown is no ceiling."""
        return self.headroom is not None and self.headroom < TIGHT and not self.at_least

    @property
    def times(self) -> float | None:
        """How many times its ceiling the layer would need; None where that is not known."""
        return None if self.ceiling is None else float(shortfall_factor(self.need, self.ceiling))

    @property
    def unit(self) -> str:
        """The base unit of need and ceiling."""
        return unit_of(self.layer.need)

    @property
    def shown(self) -> str:
        """The ceiling as people read it."""
        if self.ceiling is None:
            return "not known"
        return ("at least " if self.at_least else "") + display(self.ceiling, unit_of(self.layer.ceiling), binary=False)


def judge(known: Quantities, layers: Iterable[Layer], shown_only: frozenset[Layer] = frozenset()) -> tuple[Judged, ...]:
    """Hold each layer that is asked something against its need.

    Args:
        known: what is known of need and system.
        layers: in the order of the way from the GPU to the drives.
        shown_only: layers whose ceiling is what has been shown, not what is possible.
    """
    return tuple(_judged(known, layers, shown_only))


def headroom_of(known: Quantities, layer: Layer) -> Step:
    """The head-room of a layer and how it came about.

    Raises:
        MissingQuantity: need or ceiling is not known.
    """
    made = FORMULAS[headroom_fraction.__name__]
    need, ceiling = known.step(layer.need), known.step(layer.ceiling)
    return Step(
        made.name, made.function(need.value, ceiling.value), made._replace(needs=(need.name, ceiling.name)), (need, ceiling)
    )


def _judged(known: Quantities, layers: Iterable[Layer], shown_only: frozenset[Layer]) -> Iterator[Judged]:
    for layer in layers:
        try:
            need = known.value(layer.need)
        except MissingQuantity:
            continue
        if not need:
            continue
        try:
            ceiling, headroom = known.value(layer.ceiling), float(headroom_of(known, layer).value)
        except MissingQuantity as error:
            yield Judged(layer, need, None, None, why=f"{error.name.replace('_', ' ')} is not known: {layer.supply}")
            continue
        yield Judged(layer, need, ceiling, headroom, layer in shown_only)


def bottleneck(judged: Iterable[Judged]) -> Judged | None:
    """The layer that binds first as the need grows: the one with the least head-room.

    What has only been shown to carry less than the need is no bottleneck, since it may carry more.
    """
    rated = [one for one in judged if one.headroom is not None and one.holds is not None]
    return min(rated, key=lambda one: one.headroom or 0.0, default=None)


def verdict(judged: Iterable[Judged]) -> bool | None:
    """Whether everything holds: False where one layer is too narrow, None where one is not known."""
    held = [one.holds for one in judged]
    if False in held:
        return False
    return True if held and all(held) else None


def layers_of(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """The layers of the way that an entry is part of."""
    if entry.family == "protection":
        return SYSTEM
    if entry.family == "drive":
        return LOCAL
    names = (METADATA_SERVERS,) if metadata_apart(entry) else (OPENS, CREATES)
    # Requests are judged where a rate of them is published: bandwidth and latency say the same.
    requests = (REQUESTS,) if entry.io_per_second and entry.family != "client" else ()
    path = (one for one in REMOTE if _in_question(one, entry, known))
    # Servers of one's own are bought with as many drives as the raw capacity takes: that is a size, no ceiling.
    own = entry.family == "software" and "unit_usable_bytes" not in known.given
    return (*path, *requests, *names, *(() if own else (CAPACITY,)))


def _in_question(layer: Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may say nothing about nodes or GPUs: then these are not judged."""
    if layer is HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer in OF_CLIENTS and entry.family == "client":
        return True
    return "nodes" in known.given or layer not in OF_NODES


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[Layer]:
    """What a client took in a run of many, and opens counted from a run, are no ceilings: more may be possible."""
    own_client = entry.family == "system" and client is None and not _set_by_user(known, "client_bandwidth_per_node")
    counted = entry.opens_per_second is None and not _set_by_user(known, "unit_opens_per_second")
    return frozenset((*(OF_CLIENTS if own_client else ()), *((OPENS,) if counted else ())))


def _set_by_user(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"
