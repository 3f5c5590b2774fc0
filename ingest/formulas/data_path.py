"""Data path: the ceiling of each layer from drives to GPU, small reads, latency; what a byte of a service buys."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)


computed_quantity("decoded_expansion", "decoded_sample_bytes / sample_bytes", "1",
    "Decoded bytes for each stored byte: expansion of the data between host and GPU where the host decodes.")  # fmt: skip
computed_quantity("host_links_read_ceiling", "host_link_bandwidth_per_gpu * gpus / decoded_expansion", "B/s",
    "Stored bytes per second whose decoded form the host links of all GPUs carry.")  # fmt: skip
computed_quantity("nics_read_ceiling", "storage_nic_bandwidth_per_node * nodes", "B/s",
    "Bandwidth of the storage NICs of all nodes.")  # fmt: skip
computed_quantity("client_bandwidth_of_gpus", "client_bandwidth_per_gpu * gpus_per_node", "B/s/node",
    "Read bandwidth of a node where each GPU has a path of its own.")  # fmt: skip
computed_quantity("client_bandwidth_of_nics", "nic_efficiency * storage_nic_bandwidth_per_node", "B/s/node",
    "Read bandwidth of a node over a protocol that fills its storage NICs to a known share.")  # fmt: skip
computed_quantity("client_write_bandwidth_of_nics", "nic_efficiency * storage_nic_bandwidth_per_node", "B/s/node",
    "Write bandwidth of a node over a protocol that fills its storage NICs to a known share.")  # fmt: skip
computed_quantity("clients_read_ceiling", "client_bandwidth_per_node * nodes * small_read_factor", "B/s",
    "Read bandwidth of the storage clients of all nodes, at the size of the requests.")  # fmt: skip
computed_quantity("client_read_ceiling", "client_bandwidth_per_node * small_read_factor", "B/s/node",
    "Read bandwidth of the storage client of one node, at the size of the requests.")  # fmt: skip
computed_quantity("writing_nodes", "nodes", "node", "Nodes that write concurrently: all, unless a need has its own.")
computed_quantity("nics_write_ceiling", "storage_nic_bandwidth_per_node * writing_nodes", "B/s",
    "Bandwidth of the storage NICs of all nodes that write.")  # fmt: skip
computed_quantity("clients_write_ceiling", "client_write_bandwidth_per_node * writing_nodes", "B/s",
    "Write bandwidth of the storage clients of all nodes that write.")  # fmt: skip
computed_quantity("units_read_ceiling", "unit_read_bandwidth * units", "B/s",
    "Aggregate read bandwidth of the units of a system.")  # fmt: skip
computed_quantity("units_write_ceiling", "unit_write_bandwidth * units", "B/s",
    "Aggregate write bandwidth of the units of a system.")  # fmt: skip
computed_quantity("units_opens_ceiling", "unit_opens_per_second * units", "file/s", "Files that the units open each second.")
computed_quantity("units_creates_ceiling", "unit_creates_per_second * units", "file/s",
    "Files that the units create each second.")  # fmt: skip
computed_quantity("units_files_ceiling", "unit_files_max * units", "file", "Files that the units can hold.", whole=True)
computed_quantity("units_requests_ceiling", "unit_io_per_second * units", "1/s", "IOPS of the units.")
computed_quantity("requests_read_ceiling", "units_requests_ceiling * io_bytes", "B/s",
    "Read bandwidth of the units at their IOPS.")  # fmt: skip
computed_quantity("nvme_bandwidth_of_drives", "nvme_drive_read_bandwidth * nvme_drives_per_node", "B/s/node",
    "Aggregate read bandwidth of the local drives of one node.")  # fmt: skip
computed_quantity("nvme_read_ceiling", "nvme_read_bandwidth_per_node * nodes * small_read_factor", "B/s",
    "Read bandwidth of the local drives of all nodes, at the size of the requests.")  # fmt: skip
computed_quantity("nvme_write_ceiling", "nvme_drive_write_bandwidth * nvme_drives_per_node * writing_nodes", "B/s",
    "Write bandwidth of the local drives of all nodes that write.")  # fmt: skip
computed_quantity("nvme_requests_ceiling", "nvme_drive_io_per_second * nvme_drives_per_node * nodes", "1/s",
    "Random reads per second of the local drives of all nodes.")  # fmt: skip
computed_quantity("nvme_capacity", "nvme_bytes_per_node * nodes * fill_limit", "B",
    "Capacity of the local drives of all nodes up to the fill limit, each byte once.")  # fmt: skip
computed_quantity("waiting_bytes", "request_seconds * client_bandwidth_per_node / requests_in_flight_per_node", "B",
    "Bytes that one stream could have moved during the latency of a request.")  # fmt: skip
computed_quantity("read_efficiency_at_io_size", "io_bytes / (io_bytes + waiting_bytes)", "1",
    "Share of the bandwidth that requests of one size reach: size ÷ (size + bytes lost to latency).", high=1,
    example="read_efficiency_at_io_size(131_072, 131_072) -> 0.5")  # fmt: skip
computed_quantity("read_efficiency_at_reference", "reference_io_bytes / (reference_io_bytes + waiting_bytes)", "1",
    "Share of the bandwidth that a stream reaches at the I/O size at which the ceiling was measured.", high=1,
    example="read_efficiency_at_reference(1_048_576, 131_072) -> 0.8888888888888888")  # fmt: skip
computed_quantity("small_read_factor", "minimum(1, read_efficiency_at_io_size / read_efficiency_at_reference)", "1",
    "Share of a ceiling that smaller requests reach; larger requests than in its measurement gain nothing.",
    example="small_read_factor(0.5, 0.8), small_read_factor(0.9, 0.8) -> (0.625, 1)")  # fmt: skip
computed_quantity("io_per_second_needed", "read_bandwidth_needed / io_bytes", "1/s", "IOPS of all nodes.", label="IOPS needed")
computed_quantity("io_per_second_per_node", "read_bandwidth_needed / io_bytes / nodes", "1/s/node",
    "IOPS of one node.", label="IOPS per node")  # fmt: skip
computed_quantity("request_seconds_allowed", "requests_in_flight_per_node / io_per_second_per_node", "s",
    "Mean latency allowed at a queue depth: Little's law.", source="little1961")  # fmt: skip
computed_quantity("requests_in_flight_needed", "io_per_second_per_node * request_seconds", "1/node",
    "Queue depth per node that hides the latency of requests: Little's law.", source="little1961",
    label="queue depth needed per node")  # fmt: skip
computed_quantity("requests_in_flight_of_readers", "readers_per_gpu * gpus_per_node", "1/node",
    "Queue depth of one node where each reader has one outstanding request.",
    label="queue depth of the readers per node")  # fmt: skip
computed_quantity("request_bytes_of_open", "minimum(bytes_per_file_open, request_bytes_max)", "B/file",
    "I/O size per file: the whole file, unless the client splits it into several requests.")  # fmt: skip
computed_quantity("clients_for_read", "ceil(read_bandwidth_needed / (client_bandwidth_per_node * small_read_factor))", "node",
    "Client nodes, one client each, that reach the required read bandwidth.", whole=True,
    example="clients_for_read(18.2e9, 3e9, 1) -> 7")  # fmt: skip
computed_quantity("clients_for_write", "ceil(write_bandwidth_needed / client_write_bandwidth_per_node)", "node",
    "Client nodes, one client each, that reach the required write bandwidth.", whole=True,
    example="clients_for_write(20e9, 3e9) -> 7")  # fmt: skip
computed_quantity("clients_required", "maximum(clients_for_read, clients_for_write)", "node",
    "Client nodes for reads and writes: the larger of both counts.", whole=True)  # fmt: skip
computed_quantity("local_drives_required", "ceil(read_bandwidth_needed / (nvme_drive_read_bandwidth * nodes)) * nodes", "1",
    "Local drives in all nodes, equally many in each, that reach the required read bandwidth.", whole=True,
    needs="read_bandwidth_needed nodes nvme_drive_read_bandwidth",
    example="local_drives_required(100e9, 4, 7e9) -> 16")  # fmt: skip
computed_quantity("local_drives", "nvme_drives_per_node * nodes", "1", "Local drives in all nodes.", whole=True)
computed_quantity("gpus_fed_by_unit", "unit_read_bandwidth / ingest_bandwidth_per_gpu", "GPU",
    "GPUs that one unit feeds; the fraction is headroom.")  # fmt: skip
computed_quantity("fabric_bandwidth_needed", "maximum(read_bandwidth_needed, write_bandwidth_needed)", "B/s",
    "Bandwidth that the network between nodes and storage needs in the busier direction.")  # fmt: skip
computed_quantity("fabric_uplinks_ceiling", "nics_read_ceiling / fabric_oversubscription", "B/s",
    "Bandwidth that the uplinks of the switches leave to the storage NICs of all nodes.")  # fmt: skip
computed_quantity("fabric_islands_ceiling", "fabric_islands * fabric_island_bandwidth", "B/s",
    "Bandwidth between all islands and the storage.")  # fmt: skip
computed_quantity("fabric_gateways_ceiling", "fabric_gateways * fabric_gateway_bandwidth", "B/s",
    "Bandwidth of all routers or gateways.")  # fmt: skip
computed_quantity("fabric_ports_ceiling", "fabric_ports * fabric_port_bandwidth", "B/s",
    "Bandwidth of all ports on the side of the storage.")  # fmt: skip
computed_quantity("requests_of_threads", "requesting_threads / request_seconds", "1/s",
    "IOPS of threads that wait for each request: Little's law.", source="little1961", label="IOPS of the threads")  # fmt: skip
computed_quantity("requests_of_drive", "minimum(requests_of_threads, unit_drive_io_per_second)", "1/s",
    "IOPS of threads on one drive, at most those of the drive.", label="IOPS of the threads on one drive")  # fmt: skip

computed_quantity("latency_of_parts", "total(parts_seconds)", "s", "Latency of one request: its parts added up.")
computed_quantity("share_of_latency", "part_seconds / latency_of_parts", "1",
    "Share of the latency of a request that one part of it takes.", high=1)  # fmt: skip

computed_quantity("amount_in_place", "total(amounts_in_place)", "1",
    "Rate or capacity that all systems in place deliver of one need.", above=False)  # fmt: skip
computed_quantity("amount_missing", "maximum(amount_needed - amount_in_place, 0)", "1",
    "Rate or capacity that the systems in place leave missing.", above=False,
    example="amount_missing(491e9, 360e9), amount_missing(296e12, 500e12) -> (131000000000.0, 0)")  # fmt: skip
computed_quantity("amount_of_each_unit", "amount_needed / units", "1",
    "Share of a need that each of several equal units carries.")  # fmt: skip

# One tier of a service
for _way, _named in (("read", "Read"), ("write", "Write")):
    computed_quantity(f"tier_{_way}_bandwidth", f"tier_capacity * tier_{_way}_bandwidth_per_byte", "B/s",
        f"{_named} throughput of a capacity provisioned.")  # fmt: skip
    computed_quantity(f"tier_{_way}_ceiling", f"minimum(tier_{_way}_bandwidth, tier_{_way}_bandwidth_max)", "B/s",
        f"{_named} throughput of a capacity provisioned, up to the most that one file system reaches.")  # fmt: skip
alternative("tier_capacity", "service_capacity_on_sale", "service_capacity", when="rented", optional=True)

computed_quantity("tier_capacity",
    "tier_capacity_min + ceil(maximum(required_usable_bytes - tier_capacity_min, 0) / tier_capacity_step) * tier_capacity_step",
    "B", "Smallest capacity on sale that holds the data: the minimum, and whole steps above it.",
    needs="required_usable_bytes tier_capacity_min tier_capacity_step",
    example="tier_capacity(100, 48, 16), tier_capacity(10, 48, 16) -> (112, 48)")  # fmt: skip
computed_quantity("tier_network_bandwidth", "tier_capacity * tier_network_bandwidth_per_byte", "B/s",
    "Throughput of reads that the memory of the servers holds: that of their network.")  # fmt: skip
computed_quantity("tier_io_per_second", "tier_capacity * tier_io_per_second_per_byte", "1/s",
    "Reads per second of a capacity provisioned.")  # fmt: skip
computed_quantity("tier_clients", "ceil(tier_read_bandwidth / tier_client_bandwidth)", "1",
    "Clients that it takes to draw the read throughput of a capacity provisioned.", whole=True,
    example="tier_clients(100e9, 12.5e9) -> 8")  # fmt: skip

computed_quantity("cost_per_month", "tier_capacity * price_per_byte", "1",
    "Price of the capacity provisioned for a month, in the currency of the price list.")  # fmt: skip
computed_quantity("file_systems_required", "ceil(shortfall_factor - 1e-12)", "1",
    "File systems or volumes that share a need which one of them meets only in part; 1e-12 of one is rounding.", whole=True,
    example="file_systems_required(2.5), file_systems_required(3.0) -> (3, 3)")  # fmt: skip

computed_quantity("tier_bytes_for_data", "required_usable_bytes / fill_limit", "B",
    "Capacity that the data take within the fill limit.")  # fmt: skip
computed_quantity("tier_bytes_for_read", "tier_read_needed / tier_read_bandwidth_per_byte", "B",
    "Capacity that the read throughput takes.")  # fmt: skip
computed_quantity("tier_bytes_for_write", "write_bandwidth_needed / tier_write_bandwidth_per_byte", "B",
    "Capacity that the write throughput takes.")  # fmt: skip
computed_quantity("tier_bytes_for_requests", "io_per_second_needed / tier_io_per_second_per_byte", "B",
    "Capacity that the reads per second take.")  # fmt: skip
computed_quantity("read_and_write_needed", "read_bandwidth_needed + write_bandwidth_needed", "B/s",
    "Throughput of reads and writes together, where both draw on one limit.")  # fmt: skip
computed_quantity("service_bytes_needed",
    "maximum(maximum(tier_bytes_for_data, tier_bytes_for_read), maximum(tier_bytes_for_write, tier_bytes_for_requests))", "B",
    "Capacity to provision: for the data, or for the throughput that it buys.",
    example="service_bytes_needed(100, 400, 200, 0) -> 400")  # fmt: skip
computed_quantity("service_capacity",
    "tier_capacity_min"
    " + ceil(maximum(service_bytes_needed - tier_capacity_min, 0) / tier_capacity_step - 1e-12) * tier_capacity_step", "B",
    "Smallest capacity on sale that suffices: the minimum, and whole steps above it; 1e-12 of a step is rounding.",
    needs="service_bytes_needed tier_capacity_min tier_capacity_step",
    example="service_capacity(100, 48, 16), service_capacity(10, 48, 16) -> (112, 48)")  # fmt: skip
computed_quantity("service_capacity_on_sale", "minimum(service_capacity, tier_capacity_max)", "B",
    "The capacity to provision, at most the largest that is sold.")  # fmt: skip
computed_quantity("service_bandwidth_in_steps",
    "ceil(maximum(tier_read_needed, write_bandwidth_needed) / tier_bandwidth_step) * tier_bandwidth_step", "B/s",
    "Throughput bought in steps, whatever the capacity: for the reads or the writes, whichever are more.",
    example="service_bandwidth_in_steps(9e9, 1e9, 4e9) -> 12000000000.0")  # fmt: skip
computed_quantity("service_read_of_steps", "minimum(service_bandwidth_in_steps, tier_read_bandwidth_max)", "B/s",
    "Read throughput of the steps bought, at most what one file system reaches.")  # fmt: skip
computed_quantity("service_write_of_steps", "minimum(service_bandwidth_in_steps, tier_write_bandwidth_max)", "B/s",
    "Write throughput of the steps bought, at most what one file system reaches.")  # fmt: skip
computed_quantity("tier_requests_ceiling", "minimum(tier_io_per_second, tier_io_per_second_max)", "1/s",
    "Reads per second of a capacity provisioned, up to the most that one file system or volume reaches.")  # fmt: skip
