"""Data path: the ceiling of each layer from drives to GPU, small reads, latency; what a byte of a service buys."""

from __future__ import annotations

from ingest.engine.expression import Num, ceil, maximum, minimum, total
from ingest.engine.registry import alternative, formula, input_quantity

# The layers between GPU and storage
input_quantity("host_link_bandwidth_per_gpu", "B/s/GPU", "Bandwidth of the link between host and one GPU.")
input_quantity("decoded_sample_bytes", "B/sample", "Bytes of one sample that the host hands to the GPU.")
input_quantity("node_read_bandwidth_needed", "B/s/node", "Read bandwidth that the most demanding single node needs.",
    above=False)  # fmt: skip
input_quantity("client_write_bandwidth_per_node", "B/s/node", "Write bandwidth of one storage client.")
alternative("client_write_bandwidth_per_node", "client_write_bandwidth_of_nics", when="path_judged", optional=True)
input_quantity("client_bandwidth_per_gpu", "B/s/GPU", "Read bandwidth of one GPU where each has a path of its own.")
input_quantity("nic_efficiency", "1", "Share of a NIC’s line rate that a protocol reaches.", high=1)
input_quantity("units", "1", "Units of the system, installed or to buy.", whole=True)
alternative("units", "units_required", when="units_bought")
alternative("units", "local_drives", when="local_drives_counted")
input_quantity("nvme_drives_per_node", "1/node", "Local drives in one node.", whole=True)
input_quantity("nvme_drive_read_bandwidth", "B/s", "Read bandwidth of one local drive.")
input_quantity("nvme_drive_write_bandwidth", "B/s", "Write bandwidth of one local drive.")
input_quantity("nvme_read_bandwidth_per_node", "B/s/node", "Aggregate read bandwidth of the local drives of one node.")
alternative("nvme_read_bandwidth_per_node", "nvme_bandwidth_of_drives", when="path_judged", optional=True)
input_quantity("nvme_bytes_per_node", "B/node", "Capacity of the local drives of one node.")
input_quantity("host_memory_per_node", "B/node", "Host memory of one node.")

# Requests
input_quantity("io_bytes", "B", "Bytes of one read request.")
alternative("io_bytes", "request_bytes_of_open", when="path_judged", optional=True)
input_quantity("reference_io_bytes", "B", "Size of the requests at which a ceiling was measured.")
input_quantity("request_seconds", "s", "Latency of a single small request.")
input_quantity("requests_in_flight_per_node", "1/node", "Queue depth of one node: outstanding I/Os.",
    whole=True, label="queue depth per node")  # fmt: skip
alternative("requests_in_flight_per_node", "requests_in_flight_of_readers", when="path_judged", optional=True)
input_quantity("readers_per_gpu", "1/GPU", "Threads that read for one GPU.", whole=True, label="readers per GPU")
input_quantity("requesting_threads", "1", "Threads of one client, one outstanding request each.", whole=True)
input_quantity("request_bytes_max", "B/file", "Largest read request that a client sends for one open file.")

# The way between nodes and storage
input_quantity("fabric_islands", "1", "Islands of nodes, each with its own links to the storage.", whole=True)
input_quantity("fabric_island_bandwidth", "B/s", "Bandwidth between one island and the storage.")
input_quantity(
    "fabric_oversubscription",
    "1",
    "Bandwidth of the nodes’ storage NICs over that of the switches’ uplinks.",
    low=1,
    above=False,
)
input_quantity("fabric_gateways", "1", "Routers or gateways between nodes and storage.", whole=True)
input_quantity("fabric_gateway_bandwidth", "B/s", "Bandwidth of one router or gateway.")
input_quantity("fabric_ports", "1", "Ports on the side of the storage.", whole=True)
input_quantity("fabric_port_bandwidth", "B/s", "Bandwidth of one port on the side of the storage.")

# What comes out of it
input_quantity("read_bandwidth_available", "B/s", "Read bandwidth of the narrowest known layer.")
input_quantity("write_bandwidth_available", "B/s", "Write bandwidth of the narrowest known layer.")


@formula(unit="1", source="definition")
def decoded_expansion(decoded_sample_bytes: Num, sample_bytes: Num) -> Num:
    """Decoded bytes for each stored byte: expansion of the data between host and GPU where the host decodes."""
    return decoded_sample_bytes / sample_bytes


@formula(unit="B/s", source="definition")
def host_links_read_ceiling(host_link_bandwidth_per_gpu: Num, gpus: Num, decoded_expansion: Num) -> Num:
    """Stored bytes per second whose decoded form the host links of all GPUs carry."""
    return host_link_bandwidth_per_gpu * gpus / decoded_expansion


@formula(unit="B/s", source="definition")
def nics_read_ceiling(storage_nic_bandwidth_per_node: Num, nodes: Num) -> Num:
    """Bandwidth of the storage NICs of all nodes."""
    return storage_nic_bandwidth_per_node * nodes


@formula(unit="B/s/node", source="definition")
def client_bandwidth_of_gpus(client_bandwidth_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Read bandwidth of a node where each GPU has a path of its own."""
    return client_bandwidth_per_gpu * gpus_per_node


@formula(unit="B/s/node", source="definition")
def client_bandwidth_of_nics(nic_efficiency: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Read bandwidth of a node over a protocol that fills its storage NICs to a known share."""
    return nic_efficiency * storage_nic_bandwidth_per_node


@formula(unit="B/s/node", source="definition")
def client_write_bandwidth_of_nics(nic_efficiency: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Write bandwidth of a node over a protocol that fills its storage NICs to a known share."""
    return nic_efficiency * storage_nic_bandwidth_per_node


@formula(unit="B/s", source="definition")
def clients_read_ceiling(client_bandwidth_per_node: Num, nodes: Num, small_read_factor: Num) -> Num:
    """Read bandwidth of the storage clients of all nodes, at the size of the requests."""
    return client_bandwidth_per_node * nodes * small_read_factor


@formula(unit="B/s/node", source="definition")
def client_read_ceiling(client_bandwidth_per_node: Num, small_read_factor: Num) -> Num:
    """Read bandwidth of the storage client of one node, at the size of the requests."""
    return client_bandwidth_per_node * small_read_factor


@formula(unit="B/s", source="definition")
def clients_write_ceiling(client_write_bandwidth_per_node: Num, nodes: Num) -> Num:
    """Write bandwidth of the storage clients of all nodes."""
    return client_write_bandwidth_per_node * nodes


@formula(unit="B/s", source="definition")
def units_read_ceiling(unit_read_bandwidth: Num, units: Num) -> Num:
    """Aggregate read bandwidth of the units of a system."""
    return unit_read_bandwidth * units


@formula(unit="B/s", source="definition")
def units_write_ceiling(unit_write_bandwidth: Num, units: Num) -> Num:
    """Aggregate write bandwidth of the units of a system."""
    return unit_write_bandwidth * units


@formula(unit="file/s", source="definition")
def units_opens_ceiling(unit_opens_per_second: Num, units: Num) -> Num:
    """Files that the units open each second."""
    return unit_opens_per_second * units


@formula(unit="file/s", source="definition")
def units_creates_ceiling(unit_creates_per_second: Num, units: Num) -> Num:
    """Files that the units create each second."""
    return unit_creates_per_second * units


@formula(unit="file", source="definition", whole=True)
def units_files_ceiling(unit_files_max: Num, units: Num) -> Num:
    """Files that the units can hold."""
    return unit_files_max * units


@formula(unit="1/s", source="definition")
def units_requests_ceiling(unit_io_per_second: Num, units: Num) -> Num:
    """IOPS of the units."""
    return unit_io_per_second * units


@formula(unit="B/s", source="definition")
def requests_read_ceiling(units_requests_ceiling: Num, io_bytes: Num) -> Num:
    """Read bandwidth of the units at their IOPS."""
    return units_requests_ceiling * io_bytes


@formula(unit="B/s/node", source="definition")
def nvme_bandwidth_of_drives(nvme_drive_read_bandwidth: Num, nvme_drives_per_node: Num) -> Num:
    """Aggregate read bandwidth of the local drives of one node."""
    return nvme_drive_read_bandwidth * nvme_drives_per_node


@formula(unit="B/s", source="definition")
def nvme_read_ceiling(nvme_read_bandwidth_per_node: Num, nodes: Num, small_read_factor: Num) -> Num:
    """Read bandwidth of the local drives of all nodes, at the size of the requests."""
    return nvme_read_bandwidth_per_node * nodes * small_read_factor


@formula(unit="B/s", source="definition")
def nvme_write_ceiling(nvme_drive_write_bandwidth: Num, nvme_drives_per_node: Num, nodes: Num) -> Num:
    """Write bandwidth of the local drives of all nodes."""
    return nvme_drive_write_bandwidth * nvme_drives_per_node * nodes


@formula(unit="B", source="definition")
def nvme_capacity(nvme_bytes_per_node: Num, nodes: Num, fill_limit: Num) -> Num:
    """Capacity of the local drives of all nodes up to the fill limit, each byte once."""
    return nvme_bytes_per_node * nodes * fill_limit


@formula(unit="B", source="definition")
def waiting_bytes(request_seconds: Num, client_bandwidth_per_node: Num, requests_in_flight_per_node: Num) -> Num:
    """Bytes that one stream could have moved during the latency of a request."""
    return request_seconds * client_bandwidth_per_node / requests_in_flight_per_node


@formula(unit="1", source="definition", high=1)
def read_efficiency_at_io_size(io_bytes: Num, waiting_bytes: Num) -> Num:
    """Share of the bandwidth that requests of one size reach: size ÷ (size + bytes lost to latency).

    >>> read_efficiency_at_io_size(131_072, 131_072)
    0.5
    """
    return io_bytes / (io_bytes + waiting_bytes)


@formula(unit="1", source="definition", high=1)
def read_efficiency_at_reference(reference_io_bytes: Num, waiting_bytes: Num) -> Num:
    """Share of the bandwidth that a stream reaches at the I/O size at which the ceiling was measured.

    >>> read_efficiency_at_reference(1_048_576, 131_072)
    0.8888888888888888
    """
    return reference_io_bytes / (reference_io_bytes + waiting_bytes)


@formula(unit="1", source="definition")
def small_read_factor(read_efficiency_at_io_size: Num, read_efficiency_at_reference: Num) -> Num:
    """Share of a ceiling that smaller requests reach; larger requests than in its measurement gain nothing.

    >>> small_read_factor(0.5, 0.8), small_read_factor(0.9, 0.8)
    (0.625, 1)
    """
    return minimum(1, read_efficiency_at_io_size / read_efficiency_at_reference)


@formula(unit="1/s", source="definition", label="IOPS needed")
def io_per_second_needed(read_bandwidth_needed: Num, io_bytes: Num) -> Num:
    """IOPS of all nodes."""
    return read_bandwidth_needed / io_bytes


@formula(unit="1/s/node", source="definition", label="IOPS per node")
def io_per_second_per_node(io_per_second_needed: Num, nodes: Num) -> Num:
    """IOPS of one node."""
    return io_per_second_needed / nodes


@formula(unit="s", source="little1961")
def request_seconds_allowed(requests_in_flight_per_node: Num, io_per_second_per_node: Num) -> Num:
    """Mean latency allowed at a queue depth: Little's law."""
    return requests_in_flight_per_node / io_per_second_per_node


@formula(unit="1/node", source="little1961", label="queue depth needed per node")
def requests_in_flight_needed(io_per_second_per_node: Num, request_seconds: Num) -> Num:
    """Queue depth per node that hides the latency of requests: Little's law."""
    return io_per_second_per_node * request_seconds


@formula(unit="1/node", source="definition", label="queue depth of the readers per node")
def requests_in_flight_of_readers(readers_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Queue depth of one node where each reader has one outstanding request."""
    return readers_per_gpu * gpus_per_node


@formula(unit="B/file", source="definition")
def request_bytes_of_open(bytes_per_file_open: Num, request_bytes_max: Num) -> Num:
    """I/O size per file: the whole file, unless the client splits it into several requests."""
    return minimum(bytes_per_file_open, request_bytes_max)


@formula(unit="node", source="definition", whole=True)
def clients_for_read(read_bandwidth_needed: Num, client_bandwidth_per_node: Num, small_read_factor: Num) -> Num:
    """Client nodes, one client each, that reach the required read bandwidth.

    >>> clients_for_read(18.2e9, 3e9, 1)
    7
    """
    return ceil(read_bandwidth_needed / (client_bandwidth_per_node * small_read_factor))


@formula(unit="node", source="definition", whole=True)
def clients_for_write(write_bandwidth_needed: Num, client_write_bandwidth_per_node: Num) -> Num:
    """Client nodes, one client each, that reach the required write bandwidth.

    >>> clients_for_write(20e9, 3e9)
    7
    """
    return ceil(write_bandwidth_needed / client_write_bandwidth_per_node)


@formula(unit="node", source="definition", whole=True)
def clients_required(clients_for_read: Num, clients_for_write: Num) -> Num:
    """Client nodes for reads and writes: the larger of both counts."""
    return maximum(clients_for_read, clients_for_write)


@formula(unit="1", source="definition", whole=True)
def local_drives_required(read_bandwidth_needed: Num, nodes: Num, nvme_drive_read_bandwidth: Num) -> Num:
    """Local drives in all nodes, equally many in each, that reach the required read bandwidth.

    >>> local_drives_required(100e9, 4, 7e9)
    16
    """
    return ceil(read_bandwidth_needed / (nvme_drive_read_bandwidth * nodes)) * nodes


@formula(unit="1", source="definition", whole=True)
def local_drives(nvme_drives_per_node: Num, nodes: Num) -> Num:
    """Local drives in all nodes."""
    return nvme_drives_per_node * nodes


@formula(unit="GPU", source="definition")
def gpus_fed_by_unit(unit_read_bandwidth: Num, ingest_bandwidth_per_gpu: Num) -> Num:
    """GPUs that one unit feeds; the fraction is headroom."""
    return unit_read_bandwidth / ingest_bandwidth_per_gpu


@formula(unit="B/s", source="definition")
def fabric_bandwidth_needed(read_bandwidth_needed: Num, write_bandwidth_needed: Num) -> Num:
    """Bandwidth that the network between nodes and storage needs in the busier direction."""
    return maximum(read_bandwidth_needed, write_bandwidth_needed)


@formula(unit="B/s", source="definition")
def fabric_uplinks_ceiling(nics_read_ceiling: Num, fabric_oversubscription: Num) -> Num:
    """Bandwidth that the uplinks of the switches leave to the storage NICs of all nodes."""
    return nics_read_ceiling / fabric_oversubscription


@formula(unit="B/s", source="definition")
def fabric_islands_ceiling(fabric_islands: Num, fabric_island_bandwidth: Num) -> Num:
    """Bandwidth between all islands and the storage."""
    return fabric_islands * fabric_island_bandwidth


@formula(unit="B/s", source="definition")
def fabric_gateways_ceiling(fabric_gateways: Num, fabric_gateway_bandwidth: Num) -> Num:
    """Bandwidth of all routers or gateways."""
    return fabric_gateways * fabric_gateway_bandwidth


@formula(unit="B/s", source="definition")
def fabric_ports_ceiling(fabric_ports: Num, fabric_port_bandwidth: Num) -> Num:
    """Bandwidth of all ports on the side of the storage."""
    return fabric_ports * fabric_port_bandwidth


@formula(unit="1/s", source="little1961", label="IOPS of the threads")
def requests_of_threads(requesting_threads: Num, request_seconds: Num) -> Num:
    """IOPS of threads that wait for each request: Little's law."""
    return requesting_threads / request_seconds


@formula(unit="1/s", source="definition", label="IOPS of the threads on one drive")
def requests_of_drive(requests_of_threads: Num, unit_drive_io_per_second: Num) -> Num:
    """IOPS of threads on one drive, at most those of the drive."""
    return minimum(requests_of_threads, unit_drive_io_per_second)


input_quantity("parts_seconds", "s", "Parts of the latency of one request.")
input_quantity("part_seconds", "s", "One part of the latency of a request.")


@formula(unit="s", source="definition")
def latency_of_parts(parts_seconds: Num) -> Num:
    """Latency of one request: its parts added up."""
    return total(parts_seconds)


@formula(unit="1", source="definition", high=1)
def share_of_latency(part_seconds: Num, latency_of_parts: Num) -> Num:
    """Share of the latency of a request that one part of it takes."""
    return part_seconds / latency_of_parts


# Storage in place
input_quantity("amounts_in_place", "1", "Rates or capacities that each system in place delivers of one need.", above=False)


@formula(unit="1", source="definition", above=False)
def amount_in_place(amounts_in_place: Num) -> Num:
    """Rate or capacity that all systems in place deliver of one need."""
    return total(amounts_in_place)


@formula(unit="1", source="definition", above=False)
def amount_missing(amount_needed: Num, amount_in_place: Num) -> Num:
    """Rate or capacity that the systems in place leave missing.

    >>> amount_missing(491e9, 360e9), amount_missing(296e12, 500e12)
    (131000000000.0, 0)
    """
    return maximum(amount_needed - amount_in_place, 0)


@formula(unit="1", source="definition")
def amount_of_each_unit(amount_needed: Num, units: Num) -> Num:
    """Share of a need that each of several equal units carries."""
    return amount_needed / units


# One tier of a service
input_quantity("tier_capacity_min", "B", "Smallest capacity that a tier of a service is sold in.")
input_quantity("tier_capacity_step", "B", "Step in which the capacity of a tier grows.")
input_quantity("tier_read_bandwidth_per_byte", "B/s/B", "Read throughput that each byte provisioned buys.")
input_quantity("tier_write_bandwidth_per_byte", "B/s/B", "Write throughput that each byte provisioned buys.")
input_quantity("tier_network_bandwidth_per_byte", "B/s/B", "Network throughput of the servers for each byte provisioned.")
input_quantity("tier_io_per_second_per_byte", "1/s/B", "Reads per second that each byte provisioned buys.")
input_quantity("tier_read_bandwidth_max", "B/s", "Read throughput that one file system or volume can reach.")
input_quantity("tier_read_needed", "B/s", "Throughput that a tier has to read, with the writes where they draw on one limit.",
    above=False)  # fmt: skip
alternative("tier_read_needed", "read_and_write_needed", when="one_limit_for_both")
alternative("tier_read_needed", "read_bandwidth_needed", when="rented")
input_quantity("tier_client_bandwidth", "B/s", "Throughput that one client of a service can reach.")
alternative("tier_capacity", "service_capacity_on_sale", "service_capacity", when="rented", optional=True)


@formula(unit="B", source="definition")
def tier_capacity(required_usable_bytes: Num, tier_capacity_min: Num, tier_capacity_step: Num) -> Num:
    """Smallest capacity on sale that holds the data: the minimum, and whole steps above it.

    >>> tier_capacity(100, 48, 16), tier_capacity(10, 48, 16)
    (112, 48)
    """
    return (
        tier_capacity_min
        + ceil(maximum(required_usable_bytes - tier_capacity_min, 0) / tier_capacity_step) * tier_capacity_step
    )


@formula(unit="B/s", source="definition")
def tier_read_bandwidth(tier_capacity: Num, tier_read_bandwidth_per_byte: Num) -> Num:
    """Read throughput of a capacity provisioned."""
    return tier_capacity * tier_read_bandwidth_per_byte


@formula(unit="B/s", source="definition")
def tier_write_bandwidth(tier_capacity: Num, tier_write_bandwidth_per_byte: Num) -> Num:
    """Write throughput of a capacity provisioned."""
    return tier_capacity * tier_write_bandwidth_per_byte


@formula(unit="B/s", source="definition")
def tier_network_bandwidth(tier_capacity: Num, tier_network_bandwidth_per_byte: Num) -> Num:
    """Throughput of reads that the memory of the servers holds: that of their network."""
    return tier_capacity * tier_network_bandwidth_per_byte


@formula(unit="1/s", source="definition")
def tier_io_per_second(tier_capacity: Num, tier_io_per_second_per_byte: Num) -> Num:
    """Reads per second of a capacity provisioned."""
    return tier_capacity * tier_io_per_second_per_byte


@formula(unit="B/s", source="definition")
def tier_read_ceiling(tier_read_bandwidth: Num, tier_read_bandwidth_max: Num) -> Num:
    """Read throughput of a capacity provisioned, up to the most that one file system or volume reaches."""
    return minimum(tier_read_bandwidth, tier_read_bandwidth_max)


@formula(unit="1", source="definition", whole=True)
def tier_clients(tier_read_bandwidth: Num, tier_client_bandwidth: Num) -> Num:
    """Clients that it takes to draw the read throughput of a capacity provisioned.

    >>> tier_clients(100e9, 12.5e9)
    8
    """
    return ceil(tier_read_bandwidth / tier_client_bandwidth)


input_quantity("price_per_byte", "1/B", "Price of one byte for a month, in the currency of the price list.")


@formula(unit="1", source="definition")
def cost_per_month(tier_capacity: Num, price_per_byte: Num) -> Num:
    """Price of the capacity provisioned for a month, in the currency of the price list."""
    return tier_capacity * price_per_byte


@formula(unit="1", source="definition", whole=True)
def file_systems_required(shortfall_factor: Num) -> Num:
    """File systems or volumes that share a need which one of them meets only in part; 1e-12 of one is rounding.

    >>> file_systems_required(2.5), file_systems_required(3.0)
    (3, 3)
    """
    return ceil(shortfall_factor - 1e-12)


# What a need takes of one tier
input_quantity("tier_capacity_max", "B", "Largest capacity that one file system or volume of a tier can have.")
input_quantity("tier_write_bandwidth_max", "B/s", "Write throughput that one file system or volume can reach.")
input_quantity("tier_bandwidth_step", "B/s", "Step in which throughput is bought, whatever the capacity.")
input_quantity("tier_io_per_second_max", "1/s", "Reads per second that one file system or volume can reach.")


@formula(unit="B", source="definition")
def tier_bytes_for_data(required_usable_bytes: Num, fill_limit: Num) -> Num:
    """Capacity that the data take within the fill limit."""
    return required_usable_bytes / fill_limit


@formula(unit="B", source="definition")
def tier_bytes_for_read(tier_read_needed: Num, tier_read_bandwidth_per_byte: Num) -> Num:
    """Capacity that the read throughput takes."""
    return tier_read_needed / tier_read_bandwidth_per_byte


@formula(unit="B", source="definition")
def tier_bytes_for_write(write_bandwidth_needed: Num, tier_write_bandwidth_per_byte: Num) -> Num:
    """Capacity that the write throughput takes."""
    return write_bandwidth_needed / tier_write_bandwidth_per_byte


@formula(unit="B", source="definition")
def tier_bytes_for_requests(io_per_second_needed: Num, tier_io_per_second_per_byte: Num) -> Num:
    """Capacity that the reads per second take."""
    return io_per_second_needed / tier_io_per_second_per_byte


@formula(unit="B/s", source="definition")
def read_and_write_needed(read_bandwidth_needed: Num, write_bandwidth_needed: Num) -> Num:
    """Throughput of reads and writes together, where both draw on one limit."""
    return read_bandwidth_needed + write_bandwidth_needed


@formula(unit="B", source="definition")
def service_bytes_needed(
    tier_bytes_for_data: Num, tier_bytes_for_read: Num, tier_bytes_for_write: Num, tier_bytes_for_requests: Num
) -> Num:
    """Capacity to provision: for the data, or for the throughput that it buys.

    >>> service_bytes_needed(100, 400, 200, 0)
    400
    """
    return maximum(maximum(tier_bytes_for_data, tier_bytes_for_read), maximum(tier_bytes_for_write, tier_bytes_for_requests))


@formula(unit="B", source="definition")
def service_capacity(service_bytes_needed: Num, tier_capacity_min: Num, tier_capacity_step: Num) -> Num:
    """Smallest capacity on sale that suffices: the minimum, and whole steps above it; 1e-12 of a step is rounding.

    >>> service_capacity(100, 48, 16), service_capacity(10, 48, 16)
    (112, 48)
    """
    return (
        tier_capacity_min
        + ceil(maximum(service_bytes_needed - tier_capacity_min, 0) / tier_capacity_step - 1e-12) * tier_capacity_step
    )


@formula(unit="B", source="definition")
def service_capacity_on_sale(service_capacity: Num, tier_capacity_max: Num) -> Num:
    """The capacity to provision, at most the largest that is sold."""
    return minimum(service_capacity, tier_capacity_max)


@formula(unit="B/s", source="definition")
def service_bandwidth_in_steps(tier_read_needed: Num, write_bandwidth_needed: Num, tier_bandwidth_step: Num) -> Num:
    """Throughput bought in steps, whatever the capacity: for the reads or the writes, whichever are more.

    >>> service_bandwidth_in_steps(9e9, 1e9, 4e9)
    12000000000.0
    """
    return ceil(maximum(tier_read_needed, write_bandwidth_needed) / tier_bandwidth_step) * tier_bandwidth_step


@formula(unit="B/s", source="definition")
def service_read_of_steps(service_bandwidth_in_steps: Num, tier_read_bandwidth_max: Num) -> Num:
    """Read throughput of the steps bought, at most what one file system reaches."""
    return minimum(service_bandwidth_in_steps, tier_read_bandwidth_max)


@formula(unit="B/s", source="definition")
def service_write_of_steps(service_bandwidth_in_steps: Num, tier_write_bandwidth_max: Num) -> Num:
    """Write throughput of the steps bought, at most what one file system reaches."""
    return minimum(service_bandwidth_in_steps, tier_write_bandwidth_max)


@formula(unit="B/s", source="definition")
def tier_write_ceiling(tier_write_bandwidth: Num, tier_write_bandwidth_max: Num) -> Num:
    """Write throughput of a capacity provisioned, up to the most that one file system or volume reaches."""
    return minimum(tier_write_bandwidth, tier_write_bandwidth_max)


@formula(unit="1/s", source="definition")
def tier_requests_ceiling(tier_io_per_second: Num, tier_io_per_second_max: Num) -> Num:
    """Reads per second of a capacity provisioned, up to the most that one file system or volume reaches."""
    return minimum(tier_io_per_second, tier_io_per_second_max)
