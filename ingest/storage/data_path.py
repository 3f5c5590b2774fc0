"""The layers of the data path, from the GPU to the drives: need, ceiling, verdict, and the question to ask a vendor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ingest.catalog.records import Storage, Tier
from ingest.engine.messages import Message, Option
from ingest.engine.registry import FORMULAS, Step, solve, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import MissingQuantity
from ingest.formulas.acceptance import headroom_fraction, shortfall_factor
from ingest.storage.need import REQUESTS_NEEDED, Need
from ingest.storage.system_quantities import (
    MEASURED,
    has_metadata_servers,
    of_metadata_servers,
    opens_only_shown,
    reads_at_random,
    reads_small,
)
from ingest.units import display

#: Parts of the data path: hardware of the nodes, the storage client, the network between, the storage, local drives, counts.
NODE, CLIENTS, NETWORK, STORAGE, DRIVES, COUNT = "node", "client", "network", "storage", "drive", "count"


class Layer(NamedTuple):
    """A layer of the data path, by the names of its quantities."""

    name: str  # as shown
    #: need, ceiling: quantities
    need: str
    ceiling: str
    part: str = STORAGE  # the part of the data path that it belongs to
    question: str = ""  # what to ask the vendor for, where the ceiling is unknown
    of_unit: str = ""  # the quantity of one unit of the storage that the ceiling rests on; units are counted for it
    supply: str = ""  # option that sets an unknown ceiling; empty where `--set` with the missing quantity does
    named_by: tuple[str, ...] = ()  # quantities of which any makes it a layer of the path
    small_reads: bool = False  # the ceiling falls with the latency of small requests
    sized: bool = False  # a loss that is survived, or a count: little headroom is no doubt

    @property
    def asked(self) -> str:
        """What to ask for."""
        return self.question or self.name.capitalize()


_READ, _WRITE, _NODE = "read_bandwidth_needed", "write_bandwidth_needed", "node_read_bandwidth_needed"
_HELD, _FABRIC = "required_usable_bytes", "fabric_bandwidth_needed"
# Hardware of the nodes
HOST_LINK = Layer("GPU host link", _READ, "host_links_read_ceiling", NODE, supply="gpu")
NIC = Layer("storage NIC", _READ, "nics_read_ceiling", NODE, supply="node")
NIC_ONE = Layer("NIC, one node", _NODE, "storage_nic_bandwidth_per_node", NODE, supply="node")
NIC_WRITES = Layer("storage NIC, writes", _WRITE, "nics_write_ceiling", NODE, supply="node")
# The storage client
CLIENT = Layer(
    "protocol client", _READ, "clients_read_ceiling", CLIENTS, "Read bandwidth of all clients", supply="client",
    small_reads=True,
)  # fmt: skip
CLIENT_ONE = CLIENT._replace(
    name="client, one node", need=_NODE, ceiling="client_read_ceiling", question="Read bandwidth of one client"
)
CLIENT_WRITES = Layer(
    "protocol client, writes", _WRITE, "clients_write_ceiling", CLIENTS, "Write bandwidth of all clients", supply="client"
)
# The network between nodes and storage
FABRIC = (
    Layer("fabric, uplinks of the switches", _FABRIC, "fabric_uplinks_ceiling", NETWORK, "Bandwidth of the switches’ uplinks",
        named_by=("fabric_oversubscription",)),
    Layer("fabric, links of the islands", _FABRIC, "fabric_islands_ceiling", NETWORK,
        "Bandwidth between one island and the storage", named_by=("fabric_islands", "fabric_island_bandwidth")),
    Layer("fabric, gateways", _FABRIC, "fabric_gateways_ceiling", NETWORK, "Bandwidth of one router or gateway",
        named_by=("fabric_gateways", "fabric_gateway_bandwidth")),
    Layer("fabric, storage ports", _FABRIC, "fabric_ports_ceiling", NETWORK, "Bandwidth of one port on the side of the storage",
        named_by=("fabric_ports", "fabric_port_bandwidth")),
)  # fmt: skip
# The storage
READS = Layer("system reads", _READ, "units_read_ceiling", question="Sustained read bandwidth", of_unit="unit_read_bandwidth")
WRITES = Layer(
    "system writes", _WRITE, "units_write_ceiling", question="Sustained write bandwidth", of_unit="unit_write_bandwidth"
)
READS_AND_WRITES = Layer(
    "reads and writes together", "read_and_write_needed", "units_read_ceiling",
    question="Sustained bandwidth of reads and writes together", of_unit="unit_read_bandwidth",
)  # fmt: skip
REQUESTS = Layer(
    "requests", REQUESTS_NEEDED, "units_requests_ceiling", question="Random reads per second", of_unit="unit_io_per_second"
)
CAPACITY = Layer("capacity", _HELD, "units_usable_bytes", question="Usable capacity", of_unit="unit_usable_bytes")
#: Data that a system must hold although its units are counted for bandwidth alone.
DATA = CAPACITY._replace(need="held_bytes_needed")
OPENS = Layer("metadata, opens", "opens_per_second_needed", "units_opens_ceiling", question="File opens per second")
#: Opens that one unit has shown in a run: further units may add nothing, so that it is a bound from below for any number.
OPENS_SHOWN = OPENS._replace(ceiling="unit_opens_per_second")
CREATES = Layer("metadata, creates", "creates_per_second_needed", "units_creates_ceiling", question="File creates per second")
FILES = Layer("files", "files_needed", "units_files_ceiling", question="Files that it can hold")
METADATA_SERVERS = Layer(
    "metadata servers", "metadata_servers_required", "metadata_servers_max",
    question="Metadata servers that one file system can have",
)  # fmt: skip
UNITS = Layer("units of one system", "units_required", "units_max", COUNT, named_by=("units_max",), sized=True)
INSTALLED = Layer(
    "units of a published installation", "units_required", "units_proven", COUNT, "Largest system in use", sized=True
)
DEGRADED = Layer(
    "reads, one failure domain down", "degraded_read_bandwidth_needed", "degraded_read_bandwidth",
    question="Controllers, servers or enclosures of one unit that can fail on their own, and its reads without one of them",
    sized=True,
)  # fmt: skip
DEGRADED_REQUESTS = Layer(
    "requests, one failure domain down", "degraded_requests_needed", "degraded_requests",
    of_unit="unit_io_per_second", sized=True,
)  # fmt: skip
# Local drives
NVME = Layer("node NVMe", _READ, "nvme_read_ceiling", DRIVES, supply="node", small_reads=True)
NVME_ONE = Layer("NVMe, one node", _NODE, "nvme_read_bandwidth_per_node", DRIVES, supply="node")
NVME_WRITES = Layer("node NVMe, writes", _WRITE, "nvme_write_ceiling", DRIVES, supply="node")
NVME_REQUESTS = Layer(
    "node NVMe, random reads", REQUESTS_NEEDED, "nvme_requests_ceiling", DRIVES, "Random reads/s of one drive"
)
NVME_CAPACITY = Layer("node NVMe, capacity", _HELD, "nvme_capacity", DRIVES, supply="node")

#: From the GPU to local drives, and to shared storage.
LOCAL = (HOST_LINK, NVME, NVME_ONE, NVME_WRITES, NVME_CAPACITY)
REMOTE = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, READS, NIC_WRITES, CLIENT_WRITES, WRITES)
#: What storage in place adds to its rates.
OF_SYSTEM = (CAPACITY, CREATES, FILES, REQUESTS)
#: The rates of the storage itself, by its class.
SYSTEM = (READS, WRITES)
RATES_OF = {"client": (CLIENT, CLIENT_WRITES), "drive": (NVME, NVME_WRITES)}
#: result -> the layers of which the narrowest decides it
AVAILABLE = {
    "read_bandwidth_available": (HOST_LINK, NVME, NIC, CLIENT, READS),
    "write_bandwidth_available": (NVME_WRITES, NIC_WRITES, CLIENT_WRITES, WRITES),
}
#: The order in which a vendor is asked.
ASKED_FIRST = (READS, WRITES, READS_AND_WRITES, CAPACITY, DATA, REQUESTS, CLIENT_ONE, CLIENT, CLIENT_WRITES, OPENS, OPENS_SHOWN,
    CREATES, METADATA_SERVERS, FILES, NVME_REQUESTS, *FABRIC, DEGRADED, DEGRADED_REQUESTS, INSTALLED)  # fmt: skip
#: Layers without which the number of units is only a bound from below.
SIZING = (READS, WRITES, CAPACITY, DATA, DEGRADED)
#: Layers of one file system of a service, of which several can share the need.
OF_ONE_FILE_SYSTEM = (READS, WRITES, READS_AND_WRITES, REQUESTS, OPENS, OPENS_SHOWN, CREATES, CAPACITY)

#: Why less capacity is likely where not even the size of the drives is known.
OF_LARGEST_DRIVES = "a bound: its drives at the largest size of the catalogs"
#: formula that bounds a rate or capacity of the storage -> why less is likely
BOUNDED = {
    **dict.fromkeys(
        ("unit_usable_bound", "unit_read_bound", "unit_write_bound", "unit_requests_bound"),
        "a bound: nothing is published of the unit itself",
    ),
    "unit_usable_of_largest_drives": OF_LARGEST_DRIVES,
    "service_bandwidth_in_steps": "the most throughput on sale is not known",
}
TIGHT = 0.05  # Headroom below which a layer barely holds
ROUNDING = 1e-12  # Difference that arithmetic on floating-point numbers makes


class LayerVerdict(NamedTuple):
    """The verdict on one layer."""

    layer: Layer
    need: float
    ceiling: float | None  # None where it is unknown
    headroom: float | None  # share of the ceiling that stays free; None where the ceiling is unknown or 0
    at_least: bool = False  # the ceiling was demonstrated, and more may be possible
    why: str = ""  # why the ceiling is unknown, 0 or unsure
    at_most: bool = False  # the ceiling is a bound, and less is likely
    #: the ceiling rests on an assumed latency, or on a size that may not be on sale, so that the verdict is open
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
        return self.unsure and self.layer.small_reads

    @property
    def tight(self) -> bool:
        """Whether headroom is below `TIGHT`; a demonstrated rate is not a ceiling, so never tight."""
        doubted = self.at_least or self.at_most or self.unsure
        return self.headroom is not None and self.headroom < TIGHT and not self.layer.sized and not doubted

    @property
    def times(self) -> float | None:
        """Need divided by ceiling; None where the ceiling is unknown or 0."""
        return float(shortfall_factor(self.need, self.ceiling)) if self.ceiling else None

    @property
    def unit(self) -> str:
        """The base unit of need and ceiling."""
        return unit_of(self.layer.need)

    @property
    def needed(self) -> str:
        """The need with its unit."""
        return display(self.need, self.unit, binary=False)

    @property
    def shown(self) -> str:
        """The ceiling with its unit."""
        if self.ceiling is None:
            return "unknown"
        known = "at least " if self.at_least else "at most " if self.at_most else "about " if self.waits else ""
        return known + display(self.ceiling, unit_of(self.layer.ceiling), binary=False)


def layers_of(entry: Storage, known: Quantities) -> tuple[Layer, ...]:
    """The layers of the data path that an entry is part of."""
    if entry.family == "protection":
        return SYSTEM
    if entry.family == "drive":
        return (*LOCAL, *([NVME_REQUESTS] if REQUESTS.need in known.given else []), FILES)
    path = [one for one in REMOTE if _is_judged(one, entry, known)]
    path += [one for one in (*FABRIC, UNITS) if any(name in known.given for name in one.named_by)]
    needed, client = known.find("units_required"), entry.family == "client"
    if not client and "units_max" not in known.given and needed is not None and needed.value > known.value("units_proven"):
        # More units than any published installation has; of clients any number is plausible.
        path.append(INSTALLED)
    if REQUESTS.need in known.given or (not client and (known.find("unit_io_per_second") is not None or reads_small(known))):
        # Bandwidth implies the IOPS of large requests; small ones count, those that are stated, and a rate that is published.
        path.append(REQUESTS)
    if has_metadata_servers(entry):
        path.append(METADATA_SERVERS)
    # Opens and creates are of separate metadata servers where the entry has them and their rate is known.
    rates = {opens_of(entry, known): "opens", CREATES: "creates"}
    path += [layer for layer, what in rates.items() if not of_metadata_servers(entry, known, what)]
    # Metadata servers are counted by files only where it is known how many one of them holds.
    return (*path, *((FILES,) if entry.files_max is None else ()), CAPACITY)


def _is_judged(layer: Layer, entry: Storage, known: Quantities) -> bool:
    """Requirement lines and plain numbers may leave nodes or GPUs open: their layers are not judged then."""
    if layer == HOST_LINK:
        return "nodes" in known.given and "gpus_per_node" in known.given
    if layer.part == CLIENTS and entry.family == "client":
        return True
    if layer.part == NODE and entry.fixed == MEASURED and known.find(layer.ceiling) is None:
        # The reads that were measured crossed it.
        return False
    return "nodes" in known.given or layer.part not in (NODE, CLIENTS)


def opens_of(entry: Storage, known: Quantities) -> Layer:
    """The layer of opens: by the units, or as one unit has shown."""
    return OPENS_SHOWN if opens_only_shown(entry, known) else OPENS


def shown_only(entry: Storage, client: Storage | None, known: Quantities) -> frozenset[Layer]:
    """Layers whose ceiling is a rate from a published run: of one client among many, of opens, or of a measured path."""
    observed = entry.client_read_bandwidth is None and entry.client_read_bandwidth_shown is not None
    by_user = "client_bandwidth_per_node" in known.given and known.given["client_bandwidth_per_node"].origin == "user"
    found = {OPENS_SHOWN, INSTALLED}
    if observed and client is None and not by_user:
        found |= {CLIENT, CLIENT_ONE, CLIENT_WRITES}
    if entry.fixed == MEASURED:
        found |= {READS, WRITES, REQUESTS}
        if known.given["nodes"].origin == "default":
            # Nobody says how many machines will read: one of them was measured.
            found |= {CLIENT, CLIENT_WRITES}
    return frozenset(found)


def judge(known: Quantities, path: Iterable[Layer], demonstrated: frozenset[Layer]) -> Iterator[LayerVerdict]:
    """Compare each layer with its need; layers without a need are left out, and ceilings may be demonstrated rates."""
    for layer in path:
        needed = known.find(layer.need)
        if needed is not None and needed.value:
            yield _judged(known, layer, float(needed.value), layer in demonstrated)


def _judged(known: Quantities, layer: Layer, need: float, demonstrated: bool) -> LayerVerdict:
    try:
        ceiling = known.value(layer.ceiling)
    except MissingQuantity as error:
        option = "nodes" if error.name == "nodes" else layer.supply or f"set.{error.name}"
        if layer.part == NETWORK and error.name.startswith("fabric_"):
            why = Message(f"`{error.name.replace('_', '.', 1)}` of the site file is not known", supply=(option,))
        else:
            why = Message(f"{error.name.replace('_', ' ')} is not known", supply=(option,))
        return LayerVerdict(layer, need, None, None, why=why)
    if not ceiling:
        return LayerVerdict(layer, need, 0, None, why="no unit is left")
    judged = LayerVerdict(layer, need, ceiling, float(headroom_of(known, layer).value), demonstrated)
    bound = bound_behind(known, layer.of_unit)
    if bound:
        return judged._replace(at_most=True, why=bound)
    if not layer.small_reads or not reads_small(known):
        return judged
    # Of small reads, open where their latency or their queue depth is assumed.
    factor = known.given.get("small_read_factor")
    if factor is not None:
        return judged if factor.origin != "default" else judged._replace(unsure=True, why="the queue depth is not known")
    wait = known.given["request_seconds"]
    recalled = wait.origin == "catalog" and wait.grade == "assumed" and not judged.holds
    if wait.origin != "default" and not recalled:
        return judged
    text = f"rests on an assumed latency of {display(wait.value, 's')} per request"
    return judged._replace(unsure=True, why=Message(text, supply=(Option("set.request_seconds", "T"),)))


def bound_behind(known: Quantities, of_unit: str) -> str:
    """Why a rate or capacity of one unit is only a bound; empty where it is known."""
    step = known.find(of_unit) if of_unit else None
    return BOUNDED.get(step.formula.needs[0], "") if step is not None and step.formula is not None else ""


def headroom_of(known: Quantities, layer: Layer) -> Step:
    """The headroom of a layer with its derivation. Raises MissingQuantity: need or ceiling is unknown."""
    made = FORMULAS[headroom_fraction.__name__]
    need, ceiling = known.step(layer.need), known.step(layer.ceiling)
    return Step(
        made.name, made.function(need.value, ceiling.value), made._replace(needs=(need.name, ceiling.name)), (need, ceiling)
    )


def of_tier(verdicts: Sequence[LayerVerdict], tier: Tier, known: Quantities, need: Need) -> tuple[LayerVerdict, ...]:
    """The verdicts on a tier of a service whose largest size nobody has published, or that has hard disks."""
    if "tier_capacity_max" not in known.given:
        # Its capacity is open, or the rates that it buys.
        held = [one.layer for one in verdicts if one.layer == CAPACITY] or SYSTEM
        why = "the largest size on sale is not known"
        verdicts = [one._replace(unsure=True, why=why) if one.layer in held else one for one in verdicts]
    if tier.disks == "yes" and reads_at_random(known, need):
        why, reads = "a bound: no rate of random reads from its hard disks is published", (READS, READS_AND_WRITES)
        verdicts = [one._replace(at_most=True, why=why) if one.layer in reads and one.ceiling else one for one in verdicts]
    return tuple(verdicts)


def bottleneck(verdicts: Iterable[LayerVerdict]) -> LayerVerdict | None:
    """The layer with the least headroom, which binds first as the need grows.

    A bound counts as well: the headroom is at most that. A demonstrated rate below the need is not a bottleneck: the layer
    may carry more. Nor is a loss that is survived.
    """
    rated = [one for one in verdicts if one.holds is False or ((one.holds or one.at_most) and not one.layer.sized)]
    return min(rated, key=lambda one: float("-inf") if one.headroom is None else one.headroom, default=None)


def verdict(verdicts: Iterable[LayerVerdict]) -> bool | None:
    """Whether all layers hold: False where one does not, None where one is unknown."""
    holds = [one.holds for one in verdicts]
    if False in holds:
        return False
    return True if holds and all(holds) else None


def question_of(judged: LayerVerdict, entry: Storage, known: Quantities) -> str:
    """The question that settles an unknown ceiling, with the number that it must reach."""
    layer, asked, units = judged.layer, f"{judged.layer.asked}: {judged.needed} needed", known.find("units")
    if entry.fixed == MEASURED and judged.ceiling is not None:
        # A path that was measured from one machine: more machines are to be measured at the same time.
        required = known.find("clients_required")
        machines = "several machines" if required is None or required.value <= 1 else f"{required.value:,.0f} machines"
        measured = display(judged.ceiling, judged.unit, binary=False)
        return f"{asked}, one machine measured {measured}; measure from {machines} at once."
    if judged.waits:
        size, depth = known.value("io_bytes"), known.find("requests_in_flight_per_node")
        asked = f"Mean latency of a read of {display(size, 'B', binary=False)}"
        if depth is None:
            return f"{asked} under load, and at which queue depth."
        each = known.find("io_per_second_per_node")
        if judged.layer == CLIENT_ONE or each is None:
            requests = solve(REQUESTS_NEEDED, {"read_bandwidth_needed": judged.need, "io_bytes": size})
        else:
            requests = each.value
        given = {"requests_in_flight_per_node": depth.value, "io_per_second_per_node": requests}
        allowed = display(solve("request_seconds_allowed", given), "s")
        return f"{asked} at {depth.value:,.0f} outstanding I/Os per client: at most {allowed} allowed."
    if judged.unsure:
        return f"Largest {entry.scaling_unit} on sale: {display(known.value('tier_capacity'), 'B', binary=False)} needed."
    if layer == REQUESTS:
        asked = f"{layer.asked} of {display(known.value('random_request_bytes'), 'B', binary=False)}: {judged.needed} needed"
    if layer == OPENS_SHOWN:
        return f"{asked}, one {entry.scaling_unit} has shown {display(judged.ceiling or 0, judged.unit, binary=False)}."
    if not layer.of_unit or units is None or units.value <= 1:
        return f"{asked}."
    share = solve("amount_of_each_unit", {"amount_needed": judged.need, "units": units.value})
    return f"{asked}, {display(share, judged.unit, binary=False)} from each of {units.value:,.0f} ({entry.scaling_unit})."
