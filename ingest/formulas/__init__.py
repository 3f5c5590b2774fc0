"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import (
    bandwidth,
    checkpoint,
    containers,
    corpus,
    dataset,
    interval,
    memory,
    quantities,
    site,
    site_totals,
    throughput,
    transformer,
)

__all__ = [
    "bandwidth",
    "checkpoint",
    "containers",
    "corpus",
    "dataset",
    "interval",
    "memory",
    "quantities",
    "site",
    "site_totals",
    "throughput",
    "transformer",
]
