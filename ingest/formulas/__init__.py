"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import (
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
