"""The layers of the data path, from the GPU to the drives, as a table: need, ceiling, and the question to ask a vendor."""

from __future__ import annotations

from typing import NamedTuple

#: Parts of the data path: hardware of the nodes, the storage client, the network between, the storage, local drives, counts.
NODE, CLIENTS, NETWORK, STORAGE, DRIVES, COUNT = "node", "client", "network", "storage", "drive", "count"


class Layer(NamedTuple):
    """A layer of the data path, by the names of its quantities.

    Attributes:
        name: as shown.
        need, ceiling: quantities.
        part: the part of the data path that it belongs to.
        question: what to ask the vendor for, where the ceiling is unknown.
        of_unit: the quantity of one unit of the storage that the ceiling rests on; units are counted for it.
        supply: option that sets an unknown ceiling; empty where `--set` with the missing quantity does.
        named_by: quantities of which any makes it a layer of the path.
        small_reads: the ceiling falls with the latency of small requests.
        sized: a loss that is survived, or a count: little headroom is no doubt.
    """

    name: str
    need: str
    ceiling: str
    part: str = STORAGE
    question: str = ""
    of_unit: str = ""
    supply: str = ""
    named_by: tuple[str, ...] = ()
    small_reads: bool = False
    sized: bool = False

    @property
    def asked(self) -> str:
        """What to ask for."""
        return self.question or self.name.capitalize()


_READ, _WRITE, _NODE, _HELD = (
    "read_bandwidth_needed",
    "write_bandwidth_needed",
    "node_read_bandwidth_needed",
    "required_usable_bytes",
)
# Hardware of the nodes
HOST_LINK = Layer("GPU host link", _READ, "host_links_read_ceiling", NODE, supply="gpu")
NIC = Layer("storage NIC", _READ, "nics_read_ceiling", NODE, supply="node")
NIC_ONE = Layer("NIC, one node", _NODE, "storage_nic_bandwidth_per_node", NODE, supply="node")
NIC_WRITES = Layer("storage NIC, writes", _WRITE, "nics_read_ceiling", NODE, supply="node")
# The storage client
CLIENT = Layer(
    "protocol client",
    _READ,
    "clients_read_ceiling",
    CLIENTS,
    "Read bandwidth of all clients",
    supply="client",
    small_reads=True,
)
CLIENT_ONE = Layer(
    "client, one node", _NODE, "client_read_ceiling", CLIENTS, "Read bandwidth of one client", supply="client",
    small_reads=True,
)  # fmt: skip
CLIENT_WRITES = Layer(
    "protocol client, writes", _WRITE, "clients_write_ceiling", CLIENTS, "Write bandwidth of all clients", supply="client"
)
# The network between nodes and storage
_FABRIC = "fabric_bandwidth_needed"
UPLINKS = Layer(
    "fabric, uplinks of the switches", _FABRIC, "fabric_uplinks_ceiling", NETWORK, "Bandwidth of the switches’ uplinks",
    named_by=("fabric_oversubscription",),
)  # fmt: skip
ISLANDS = Layer(
    "fabric, links of the islands", _FABRIC, "fabric_islands_ceiling", NETWORK, "Bandwidth between one island and the storage",
    named_by=("fabric_islands", "fabric_island_bandwidth"),
)  # fmt: skip
GATEWAYS = Layer(
    "fabric, gateways", _FABRIC, "fabric_gateways_ceiling", NETWORK, "Bandwidth of one router or gateway",
    named_by=("fabric_gateways", "fabric_gateway_bandwidth"),
)  # fmt: skip
PORTS = Layer(
    "fabric, storage ports", _FABRIC, "fabric_ports_ceiling", NETWORK, "Bandwidth of one port on the side of the storage",
    named_by=("fabric_ports", "fabric_port_bandwidth"),
)  # fmt: skip
FABRIC = (UPLINKS, ISLANDS, GATEWAYS, PORTS)
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
    "requests", "io_per_second_needed", "units_requests_ceiling",
    question="Random reads per second", of_unit="unit_io_per_second",
)  # fmt: skip
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
NVME_CAPACITY = Layer("node NVMe, capacity", _HELD, "nvme_capacity", DRIVES, supply="node")

#: From the GPU to local drives, and to shared storage.
LOCAL = (HOST_LINK, NVME, NVME_ONE, NVME_WRITES, NVME_CAPACITY)
REMOTE = (HOST_LINK, NIC, NIC_ONE, CLIENT, CLIENT_ONE, READS, NIC_WRITES, CLIENT_WRITES, WRITES)
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
    CREATES, METADATA_SERVERS, FILES, *FABRIC, DEGRADED, DEGRADED_REQUESTS, INSTALLED)  # fmt: skip
#: Layers without which the number of units is only a bound from below.
SIZING = (READS, WRITES, CAPACITY, DATA, DEGRADED)
#: Layers of one file system of a service, of which several can share the need.
OF_ONE_FILE_SYSTEM = (READS, WRITES, READS_AND_WRITES, REQUESTS, OPENS, OPENS_SHOWN, CREATES, CAPACITY)
