"""Storage systems: protection, raw capacity, drives, units, metadata servers."""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)


computed_quantity("supported_opens_per_second",
    "file_opens_per_second_per_job * wanted_read_bandwidth / ingest_bandwidth_per_job", "file/s",
    "Files that a job opens each second at the read bandwidth that its GPUs need.", label="opens of the job")  # fmt: skip


computed_quantity("protection_efficiency", "data_units / (data_units + redundancy_units)", "1",
    "Share of the raw capacity that protection leaves: k ÷ (k+m); three copies are 1+2.", high=1,
    example="protection_efficiency(8, 2), round(protection_efficiency(1, 2), 4) -> (0.8, 0.3333)")  # fmt: skip
computed_quantity("write_amplification", "(data_units + redundancy_units) / data_units", "1",
    "Bytes that reach drives for each byte written: (k+m) ÷ k.",
    example="write_amplification(8, 3), write_amplification(1, 2) -> (1.375, 3.0)")  # fmt: skip
computed_quantity("surviving_share", "servers_left / (servers_left + failed_servers)", "1",
    "Share of all servers that is left after the failures to be survived: (n − f) ÷ n, with n − f given.", high=1,
    example="surviving_share(9, 1) -> 0.9")  # fmt: skip
computed_quantity("usable_share", "protection_efficiency * filesystem_efficiency * fill_limit * surviving_share", "1",
    "Share of the raw capacity that data may take: protection, file system, fill limit, failures to be survived.",
    high=1)  # fmt: skip
computed_quantity("required_raw_bytes", "required_usable_bytes / usable_share", "B", "Raw capacity to buy for the data held.")
computed_quantity("drives_for_capacity", "ceil(required_raw_bytes / drive_bytes)", "1",
    "Drives that hold the raw capacity.", whole=True, example="drives_for_capacity(16.18e15, 15.36e12) -> 1054")  # fmt: skip
computed_quantity("drives_for_read", "ceil(read_bandwidth_needed / (drive_read_bandwidth * drive_efficiency))", "1",
    "Drives that reach the required read bandwidth.", whole=True,
    example="drives_for_read(500e9, 7e9, 0.7) -> 103")  # fmt: skip
computed_quantity("drives_for_write",
    "ceil(write_bandwidth_needed * write_amplification / (drive_write_bandwidth * drive_efficiency))", "1",
    "Drives that reach the required write bandwidth with its redundancy.", whole=True,
    example="drives_for_write(300e9, 1.375, 4e9, 0.7) -> 148")  # fmt: skip
computed_quantity("drives_required", "maximum(maximum(drives_for_capacity, drives_for_read), drives_for_write) + spare_drives",
    "1", "Drives for capacity, reads and writes: the largest count, and spares.", whole=True,
    example="drives_required(1054, 103, 148, 20) -> 1074")  # fmt: skip
computed_quantity("units_for_read", "ceil(read_bandwidth_needed / unit_read_bandwidth + spare_units)", "1",
    "Units that reach the required read bandwidth, with the spare down.", whole=True,
    example="units_for_read(500e9, 90e9, 0), units_for_read(500e9, 90e9, 1) -> (6, 7)")  # fmt: skip
computed_quantity("units_for_write", "ceil(write_bandwidth_needed / unit_write_bandwidth + spare_units)", "1",
    "Units that reach the required write bandwidth; the published rate of a unit already excludes redundancy.", whole=True,
    example="units_for_write(300e9, 65e9, 0) -> 5")  # fmt: skip
computed_quantity("units_for_capacity", "ceil(required_usable_bytes / (unit_usable_bytes * fill_limit) + spare_units)", "1",
    "Units that hold the data within the fill limit.", whole=True,
    example="units_for_capacity(1e15, 250e12, 1, 0), units_for_capacity(1e15, 250e12, 0.85, 0) -> (4, 5)")  # fmt: skip
computed_quantity("units_for_requests", "ceil(io_per_second_needed / unit_io_per_second + spare_units)", "1",
    "Units that reach the required IOPS.", whole=True, example="units_for_requests(3_906_250, 3_000_000, 0) -> 2")  # fmt: skip
computed_quantity("units_for_metadata", "maximum(units_for_opens, units_for_creates)", "1",
    "Units for metadata operations: the larger of the counts for opens and creates.", whole=True)  # fmt: skip

alternative("units_required", "clients_required", when="clients_counted")
alternative("units_required", "local_drives_required", when="local_drives_judged")

computed_quantity("units_required",
    "maximum(maximum(maximum(maximum(units_for_read, units_for_write), maximum(units_for_capacity, units_for_metadata)), "
    "maximum(units_for_requests, maximum(units_for_degraded, units_for_degraded_requests))), units_min)", "1",
    "Units for all requirements: the largest of the counts, each with its spare, and no fewer than are sold.", whole=True,
    example="units_required(6, 5, 4, 0, 0, 0, 0, 1) -> 6")  # fmt: skip
computed_quantity("degraded_requests", "unit_io_per_second * maximum(units - failed_units, 0) * (1 - rebuild_share)", "1/s",
    "IOPS with one failure domain down while the rest rebuilds.", label="IOPS with one failure domain down",
    example="round(degraded_requests(3_000_000, 6, 1, 0.3)) -> 10500000")  # fmt: skip
computed_quantity("degraded_requests_needed", "io_per_second_needed * degraded_share", "1/s",
    "IOPS that are needed with one failure domain down.", label="IOPS needed with one failure domain down")  # fmt: skip
computed_quantity("units_for_degraded_requests",
    "ceil(degraded_requests_needed / (unit_io_per_second * (1 - rebuild_share)) + failed_units)", "1",
    "Units that reach the degraded IOPS with one failure domain down and the rest rebuilding.", whole=True,
    example="units_for_degraded_requests(9_000_000, 3_000_000, 0.25, 1) -> 5")  # fmt: skip
computed_quantity("failed_units", "1 / failure_domains", "1", "Share of a unit that goes down with one of its failure domains.")
computed_quantity("units_proven", "maximum(units_shown, units_plausible)", "1",
    "Units up to which a system is taken to grow: those of a published installation, or fewer that need no proof.",
    whole=True)  # fmt: skip
computed_quantity("unit_raw_of_drives", "unit_drives * unit_drive_bytes", "B", "Raw capacity of the drives of one unit.")
computed_quantity("unit_read_bound", "unit_drives * unit_drive_read_bandwidth", "B/s",
    "Read bandwidth of the drives of one unit, which the unit cannot exceed.")  # fmt: skip
computed_quantity("unit_write_bound", "unit_drives * unit_drive_write_bandwidth", "B/s",
    "Write bandwidth of the drives of one unit, which the unit cannot exceed.")  # fmt: skip
computed_quantity("unit_requests_bound",
    "unit_drives * minimum(unit_drive_io_per_second, unit_drive_random_bandwidth / random_request_bytes)", "1/s",
    "Random reads per second of the drives of one unit, which the unit cannot exceed: large ones are bound by their bytes.",
    example="unit_requests_bound(106, 170, 60e6, 4096), unit_requests_bound(106, 170, 60e6, 1e6)"
        " -> (18020, 6360.0)")  # fmt: skip
computed_quantity("unit_usable_of_raw", "unit_raw_bytes * protection_efficiency * filesystem_efficiency", "B",
    "Capacity of one unit after protection and file system.")  # fmt: skip
computed_quantity("unit_usable_bound", "unit_raw_bytes * 1", "B",
    "Raw capacity of one unit, which its usable capacity cannot exceed.")  # fmt: skip
computed_quantity("unit_usable_of_largest_drives", "unit_drives * largest_drive_bytes", "B",
    "Raw capacity of one unit with the largest drives known, which its usable capacity cannot exceed.")  # fmt: skip
computed_quantity("units_raw_bytes", "unit_raw_bytes * units", "B", "Raw capacity of the drives in the units bought.")
computed_quantity("units_usable_bytes", "unit_usable_bytes * units * fill_limit", "B",
    "Capacity of the units up to the fill limit.")  # fmt: skip
computed_quantity("media_write_bandwidth", "write_bandwidth_needed * write_amplification", "B/s",
    "Write bandwidth at the drives when data are written together with their redundancy.")  # fmt: skip

computed_quantity("metadata_servers_for_files", "ceil(files_needed / files_per_metadata_server)", "1",
    "Metadata servers that hold the names of the files.", whole=True,
    example="metadata_servers_for_files(10e9, 4e9) -> 3")  # fmt: skip
for _what, _units, _servers in (("open", "(292_556, 100_000, 0) -> 3", "(292_556, 200_000) -> 2"),
                                ("create", "(200_000, 60_000, 0) -> 4", "(200_000, 50_000) -> 4")):  # fmt: skip
    computed_quantity(f"units_for_{_what}s", f"ceil({_what}s_per_second_needed / unit_{_what}s_per_second + spare_units)", "1",
        f"Units that reach the required rate of file {_what}s.", whole=True, example=f"units_for_{_what}s{_units}")  # fmt: skip
    computed_quantity(f"metadata_servers_for_{_what}s", f"ceil({_what}s_per_second_needed / {_what}s_per_metadata_server)", "1",
        f"Metadata servers that reach the required rate of file {_what}s.", whole=True,
        example=f"metadata_servers_for_{_what}s{_servers}")  # fmt: skip
computed_quantity("metadata_servers_required",
    "maximum(maximum(metadata_servers_for_files, metadata_servers_for_creates), metadata_servers_for_opens)", "1",
    "Metadata servers for all requirements: the largest of the counts.", whole=True,
    example="metadata_servers_required(3, 4, 2) -> 4")  # fmt: skip
computed_quantity("file_bandwidth", "minimum(file_stripes * target_bandwidth, file_clients * file_client_bandwidth)", "B/s",
    "Bandwidth of one striped file: that of its targets or of its clients, whichever is less.",
    example="file_bandwidth(1, 2e9, 4, 5e9), file_bandwidth(16, 2e9, 4, 5e9) -> (2000000000.0, 20000000000.0)")  # fmt: skip
