"""Acceptance tests: load, data set, duration and pass limits; the output of test tools, measured against required rates."""

from ingest.engine.registry import computed_quantities, computed_quantity, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

headroom_fraction = computed_quantity("headroom_fraction", "1 - amount_needed / amount_available", "1",
    "Share of a layer's ceiling that stays free.", low=-float("inf"), high=1,
    example="headroom_fraction(3, 4), headroom_fraction(8, 4) -> (0.25, -1.0)")  # fmt: skip
shortfall_factor = computed_quantity("shortfall_factor", "amount_needed / amount_available", "1",
    "How many times a layer's ceiling would be needed.")  # fmt: skip
