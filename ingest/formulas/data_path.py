"""Data path: the ceiling of each layer from drives to GPU, small reads, latency; what a byte of a service buys."""

from ingest.engine.registry import alternative, computed_quantities, computed_quantity, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

# One tier of a service
for _way, _named in (("read", "Read"), ("write", "Write")):
    computed_quantity(f"tier_{_way}_bandwidth", f"tier_capacity * tier_{_way}_bandwidth_per_byte", "B/s",
        f"{_named} throughput of a capacity provisioned.")  # fmt: skip
    computed_quantity(f"tier_{_way}_ceiling", f"minimum(tier_{_way}_bandwidth, tier_{_way}_bandwidth_max)", "B/s",
        f"{_named} throughput of a capacity provisioned, up to the most that one file system reaches.")  # fmt: skip
alternative("tier_capacity", "service_capacity_on_sale", "service_capacity", when="rented", optional=True)
