"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import (
    acceptance,
    bandwidth,
    checkpoint,
    delivery,
    headroom,
    interval,
    memory,
    quantities,
    storage,
    throughput,
    transformer,
)

__all__ = [
    "acceptance",
    "bandwidth",
    "checkpoint",
    "delivery",
    "headroom",
    "interval",
    "memory",
    "quantities",
    "storage",
    "throughput",
    "transformer",
]
