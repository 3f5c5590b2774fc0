"""Storage systems: protection, raw capacity, drives, units, metadata servers."""

from ingest.engine.registry import alternative, computed_quantities, computed_quantity, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

alternative("units_required", "clients_required", when="clients_counted")
alternative("units_required", "local_drives_required", when="local_drives_judged")

for _what, _units, _servers in (("open", "(292_556, 100_000, 0) -> 3", "(292_556, 200_000) -> 2"),
                                ("create", "(200_000, 60_000, 0) -> 4", "(200_000, 50_000) -> 4")):  # fmt: skip
    computed_quantity(f"units_for_{_what}s", f"ceil({_what}s_per_second_needed / unit_{_what}s_per_second + spare_units)", "1",
        f"Units that reach the required rate of file {_what}s.", whole=True, example=f"units_for_{_what}s{_units}")  # fmt: skip
    computed_quantity(f"metadata_servers_for_{_what}s", f"ceil({_what}s_per_second_needed / {_what}s_per_metadata_server)", "1",
        f"Metadata servers that reach the required rate of file {_what}s.", whole=True,
        example=f"metadata_servers_for_{_what}s{_servers}")  # fmt: skip
