"""Storage services: the capacity that is sold, and what each byte provisioned buys."""

from __future__ import annotations

from ingest.engine.expression import Num, ceil, maximum, minimum
from ingest.engine.registry import alternative, formula, input_quantity

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
