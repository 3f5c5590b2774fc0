"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import (
    acceptance,
    bandwidth,
    benchmark_data,
    checkpoint,
    delivery,
    headroom,
    interval,
    memory,
    metadata,
    quantities,
    staging,
    storage,
    throughput,
    transformer,
)

__all__ = [
    "acceptance",
    "bandwidth",
    "benchmark_data",
    "checkpoint",
    "delivery",
    "headroom",
    "interval",
    "memory",
    "metadata",
    "quantities",
    "staging",
    "storage",
    "throughput",
    "transformer",
]
