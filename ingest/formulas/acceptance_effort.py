"""Effort of an acceptance: bytes to fill once, and the time of all runs."""

from ingest.engine.expression import Num, maximum
from ingest.engine.registry import formula, input_quantity

input_quantity("filling_tools", "1", "Load generators that fill data sets of their own.", whole=True)
input_quantity("ballast_level_bytes", "B", "Capacity that the requirement lines want in use during the tests.", above=False)
input_quantity("all_run_seconds", "s", "Time of all runs of all tests.")


@formula(unit="B", source="definition", where="one tool's data sets are removed before the next tool fills its own")
def acceptance_fill_bytes(all_dataset_bytes: Num, filling_tools: Num, ballast_level_bytes: Num) -> Num:
    """Bytes that are written before the tests: the data sets of each tool, and ballast up to the fill level once.

    >>> acceptance_fill_bytes(21e12, 1, 237e12) / 1e12, acceptance_fill_bytes(21e12, 2, 0) / 1e12
    (237.0, 42.0)
    """
    return maximum(all_dataset_bytes, ballast_level_bytes) + all_dataset_bytes * (filling_tools - 1)


@formula(unit="s", source="definition")
def acceptance_fill_seconds(acceptance_fill_bytes: Num, required_write_bandwidth: Num) -> Num:
    """Time to write all data before the tests, at the required write bandwidth."""
    return acceptance_fill_bytes / required_write_bandwidth


@formula(unit="s", source="definition")
def acceptance_effort_seconds(acceptance_fill_seconds: Num, all_run_seconds: Num) -> Num:
    """Time of an acceptance: filling once, then all runs one after another."""
    return acceptance_fill_seconds + all_run_seconds
