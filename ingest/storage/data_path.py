"""The data path from GPU to drives: need and ceiling of each layer, and the bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ingest.catalog.records import Storage
from ingest.engine.messages import Message, Option
from ingest.engine.registry import FORMULAS, Step, solve, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import MissingQuantity
from ingest.formulas.acceptance_results import headroom_fraction, shortfall_factor
from ingest.storage.system_quantities import BOUNDS, opens_only_shown, reads_small
from ingest.storage.units_required import has_metadata_servers, of_metadata_servers
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
READS_AND_WRITES = Layer("reads and writes together", "read_and_write_needed", "units_read_ceiling")
DEGRADED = Layer("reads, one failure domain down", "degraded_read_bandwidth_needed", "degraded_read_bandwidth")
DEGRADED_REQUESTS = Layer("requests, one failure domain down", "degraded_requests_needed", "degraded_requests")
UNITS = Layer("units of one system", "units_required", "units_max")
INSTALLED = Layer("units of a published installation", "units_required", "units_proven")
_FABRIC = "fabric_bandwidth_needed"
UPLINKS = Layer("fabric, uplinks of the switches", _FABRIC, "fabric_uplinks_ceiling")
ISLANDS = Layer("fabric, links of the islands", _FABRIC, "fabric_islands_ceiling")
GATEWAYS = Layer("fabric, gateways", _FABRIC, "fabric_gateways_ceiling")
PORTS = Layer("fabric, storage ports", _FABRIC, "fabric_ports_ceiling")
#: layer of the fabric -> the quantity with which a site file names it
FABRIC = {
    UPLINKS: "fabric_oversubscription",
    ISLANDS: "fabric_islands",
    GATEWAYS: "fabric_gateways",
    PORTS: "fabric_ports",
}
REQUESTS = Layer("requests", "io_per_second_needed", "units_requests_ceiling")
OPENS = Layer("metadata, opens", "opens_per_second_needed", "units_opens_ceiling")
CREATES = Layer("metadata, creates", "creates_per_second_needed", "units_creates_ceiling")
FILES = Layer("files", "files_needed", "units_files_ceiling")
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
#: Hardware of the site, which says nothing about the storage behind it.
OF_HARDWARE = (HOST_LINK, NIC, NIC_ONE, NIC_WRITES, *FABRIC)
#: Layers that tell nothing of what the storage delivers.
OF_NO_RATE = (*OF_HARDWARE, UNITS, INSTALLED)
#: Layers whose ceiling falls with the latency of small requests.
OF_LATENCY = (CLIENT, CLIENT_ONE, NVME)
#: layer -> the quantity of one unit that its ceiling rests on
OF_ONE_UNIT = {
    READS: "unit_read_bandwidth",
    READS_AND_WRITES: "unit_read_bandwidth",
    WRITES: "unit_write_bandwidth",
    REQUESTS: "unit_io_per_second",
    DEGRADED_REQUESTS: "unit_io_per_second",
    CAPACITY: "unit_usable_bytes",
}
#: class -> the layers of the storage itself, without which its rates of reads and writes are unknown
RATES_OF = {"client": (CLIENT, CLIENT_WRITES), "drive": (NVME, NVME_WRITES)}
#: Layers of one file system of a service, of which several can share the need.
OF_ONE_FILE_SYSTEM = (READS, WRITES, READS_AND_WRITES, REQUESTS, OPENS, CREATES, CAPACITY)
#: Layers of a loss that is survived, and of a number: little headroom of them is no doubt.
SIZED = (DEGRADED, DEGRADED_REQUESTS, UNITS, INSTALLED)
#: What a vendor is asked first, where it is unknown.
ASKED_FIRST = (READS, WRITES, READS_AND_WRITES, CAPACITY, REQUESTS, CLIENT_ONE, CLIENT, CLIENT_WRITES, OPENS, CREATES,
    METADATA_SERVERS, FILES, *FABRIC, DEGRADED, DEGRADED_REQUESTS, INSTALLED)  # fmt: skip
#: Layers of clients: the rate of one client in a run of many is not its ceiling.
OF_CLIENTS = (CLIENT, CLIENT_ONE, CLIENT_WRITES)

#: formula that bounds a rate or capacity of the storage -> why less is likely
BOUNDED = {
    **dict.fromkeys(BOUNDS.values(), "a bound: nothing is published of the unit itself"),
    "service_bandwidth_in_steps": "the most throughput on sale is not known",
}
QUESTIONS = {
    READS: "Sustained read bandwidth",
    READS_AND_WRITES: "Sustained bandwidth of reads and writes together",
    WRITES: "Sustained write bandwidth",
    CAPACITY: "Usable capacity",
    REQUESTS: "Random reads per second at this I/O size",
    CLIENT: "Read bandwidth of all clients",
    CLIENT_ONE: "Read bandwidth of one client node",
    CLIENT_WRITES: "Write bandwidth of all clients",
    OPENS: "File opens per second",
    CREATES: "File creates per second",
    FILES: "Files that it can hold",
    METADATA_SERVERS: "Metadata servers that one file system can have",
    DEGRADED: "Controllers, servers or enclosures of one unit that can fail on their own, and its reads without one of them",
    INSTALLED: "Largest system in use",
}
#: `fixed` of a path that was measured from one machine: the system behind it delivers at least that.
MEASURED = "measured"
#: Headroom below which a layer barely holds.
TIGHT = 0.05
#: Difference that arithmetic on floating-point numbers makes.
ROUNDING = 1e-12


class LayerVerdict(NamedTuple):
    """The verdict on one layer.

    Attributes:
        ceiling: None where it is unknown.
        headroom: share of the ceiling that stays free; None where the ceiling is unknown or 0.
        at_least: the ceiling was demonstrated, and more may be possible.
        at_most: the ceiling is a bound, and less is likely.
        unsure: the ceiling rests on an assumed latency, or on a size that may not be on sale, so that the verdict is open.
        why: why the ceiling is unknown, 0 or unsure.
    """

    layer: Layer
    need: float
    ceiling: float | None
    headroom: float | None
    at_least: bool = False
    why: str = ""
    at_most: bool = False
    unsure: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the layer carries the need; None where that is unknown."""
        if self.headroom is None:
            return False if self.ceiling == 0 else None
        if self.unsure:
            return None
        if self.headroom >= -ROUNDING:
            return None if self.at_most else True
        return None if self.at_least else False

    def to_dict(self) -> dict[str, Any]:
        """As JSON: numbers in base units."""
        row: dict[str, Any] = {"layer": self.layer.name, "need": self.need, "ceiling": self.ceiling, "unit": self.unit}
        row |= {"headroom_fraction": self.headroom, "holds": self.holds}
        row |= {name: True for name in ("at_least", "at_most", "unsure") if getattr(self, name)}
        return {**row, "why": self.why} if self.why else row

    @property
    def waits(self) -> bool:
        """Whether the ceiling rests on an assumed latency."""
        return self.unsure and self.layer in OF_LATENCY

    @property
    def tight(self) -> bool:
        """Whether headroom is below `TIGHT`; a demonstrated rate is not a ceiling, so never tight."""
        sized = self.layer in SIZED
        return (
            self.headroom is not None
            and self.headroom < TIGHT
            and not sized
            and not (self.at_least or self.at_most or self.unsure)
        )

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
            return "unknown"
        known = "at least " if self.at_least else "at most " if self.at_most else "about " if self.waits else ""
        return known + display(self.ceiling, unit_of(self.layer.ceiling), binary=False)


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
        if not ceiling:
            yield LayerVerdict(layer, need, 0, None, why="no unit is left")
            continue
        judged = LayerVerdict(layer, need, ceiling, float(headroom_of(known, layer).value), layer in shown_only)
        yield _doubted(judged, known)


def _doubted(judged: LayerVerdict, known: Quantities) -> LayerVerdict:
    """The verdict with its doubts: a bound, or a latency that is assumed."""
    bound = known.steps.get(OF_ONE_UNIT.get(judged.layer, ""))
    why = BOUNDED.get(bound.formula.needs[0]) if bound is not None and bound.formula is not None else None
    if why is not None:
        return judged._replace(at_most=True, why=why)
    if judged.layer not in OF_LATENCY or not reads_small(known):
        return judged
    wait, factor = known.given["request_seconds"], known.given.get("small_read_factor")
    if factor is not None:
        return judged if factor.origin != "default" else judged._replace(unsure=True, why="the queue depth is not known")
    guessed = wait.origin == "default"
    recalled = wait.origin == "catalog" and wait.grade == "assumed" and not judged.holds
    if not (guessed or recalled):
        return judged
    why = Message(
        f"rests on an assumed latency of {display(wait.value, 's')} per request", supply=(Option("set.request_seconds", "T"),)
    )
    return judged._replace(unsure=True, why=why)


def question_of(judged: LayerVerdict, entry: Storage, known: Quantities) -> str:
    """The question that settles an unknown ceiling, with the number that it must reach."""
    layer, unit = judged.layer, entry.scaling_unit
    if judged.unsure and not judged.waits:
        return f"Largest {unit} on sale: {display(known.value('tier_capacity'), 'B', binary=False)} is needed."
    if judged.waits:
        size, depth = known.value("io_bytes"), known.find("requests_in_flight_per_node")
        if depth is None:
            return f"Mean latency of a read of {display(size, 'B', binary=False)} under load, and at which queue depth."
        all_nodes = {"read_bandwidth_needed": judged.need, "io_bytes": size}
        nodes = 1 if layer is CLIENT_ONE else known.value("nodes")
        each = solve("io_per_second_per_node", {"io_per_second_needed": solve("io_per_second_needed", all_nodes), "nodes": nodes})
        given = {"requests_in_flight_per_node": depth.value, "io_per_second_per_node": each}
        allowed = display(solve("request_seconds_allowed", given), "s")
        asked = (
            f"Mean latency of a read of {display(size, 'B', binary=False)} at {depth.value:,.0f} outstanding I/Os per client"
        )
        return f"{asked}: at most {allowed} is needed."
    need = display(judged.need, judged.unit, binary=False)
    if layer not in OF_ONE_UNIT or known.find("units") is None or known.value("units") <= 1:
        return f"{QUESTIONS.get(layer, layer.name.capitalize())}: {need} is needed."
    each = solve("need_of_one_unit", {"amount_needed": judged.need, "units": known.value("units")})
    share = display(each, judged.unit, binary=False)
    return f"{QUESTIONS[layer]}: {need} is needed, {share} from each of {known.value('units'):,.0f} ({unit})."


def without_largest_size(layers: Sequence[LayerVerdict]) -> tuple[LayerVerdict, ...]:
    """The layers of a tier whose largest size nobody has published: its capacity is open, or the rates that it buys."""
    held = [one.layer for one in layers if one.layer is CAPACITY] or SYSTEM
    why = "the largest size on sale is not known"
    return tuple(one._replace(unsure=True, why=why) if one.layer in held else one for one in layers)


def of_disks(layers: Sequence[LayerVerdict]) -> tuple[LayerVerdict, ...]:
    """The layers of a tier of hard disks that is read at random: its rates are those of reads in sequence."""
    why = "a bound: no rate of random reads from its hard disks is published"
    return tuple(
        one._replace(at_most=True, why=why) if one.layer in (READS, READS_AND_WRITES) and one.ceiling else one for one in layers
    )


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

    A bound counts as well: the headroom is at most that. A demonstrated rate below the need is not a bottleneck: the layer
    may carry more. Nor is a loss that is survived.
    """
    rated = [one for one in verdicts if one.holds is False or ((one.holds or one.at_most) and one.layer not in SIZED)]
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
        return (*LOCAL, FILES)
    rates = {OPENS: "opens", CREATES: "creates"}
    names = tuple(layer for layer, what in rates.items() if not of_metadata_servers(entry, known, what))
    names = (METADATA_SERVERS, *names) if has_metadata_servers(entry) else names
    # Metadata servers are counted by files only where it is known how many one of them holds.
    names = names if entry.files_max is not None else (*names, FILES)
    # Bandwidth implies the IOPS of large requests.
    counted = known.find("unit_io_per_second") is not None or reads_small(known)
    requests = (REQUESTS,) if counted and entry.family != "client" else ()
    path = (one for one in REMOTE if _is_judged(one, entry, known))
    fabric = (layer for layer, named in FABRIC.items() if named in known.given)
    limit = (UNITS,) if "units_max" in known.given else (INSTALLED,) if _beyond_proof(entry, known) else ()
    return (*path, *fabric, *requests, *names, *limit, CAPACITY)


def _beyond_proof(entry: Storage, known: Quantities) -> bool:
    """Whether the need takes more units than any published installation has; of clients any number is plausible."""
    needed = known.find("units_required")
    return entry.family != "client" and needed is not None and needed.value > known.value("units_proven")


def _is_judged(layer: Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may leave nodes or GPUs open: their layers are not judged then."""
    if layer is HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer in OF_CLIENTS and entry.family == "client":
        return True
    return "nodes" in known.given or layer not in OF_NODES


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[Layer]:
    """Layers whose ceiling is a rate from a published run: of one client among many, or of opens."""
    observed = entry.client_read_bandwidth is None and entry.client_read_bandwidth_shown is not None
    own_client = observed and client is None and not _set_by_user(known, "client_bandwidth_per_node")
    counted = opens_only_shown(entry, known)
    seen = (READS, WRITES, REQUESTS) if entry.fixed == MEASURED else ()
    return frozenset((INSTALLED, *(OF_CLIENTS if own_client else ()), *((OPENS,) if counted else ()), *seen))


def _set_by_user(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"
