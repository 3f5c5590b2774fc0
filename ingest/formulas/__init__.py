"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import (
    bandwidth,
    checkpoint,
    corpus,
    interval,
    memory,
    quantities,
    samples,
    sampling,
    throughput,
    transformer,
)

__all__ = [
    "bandwidth",
    "checkpoint",
    "corpus",
    "interval",
    "memory",
    "quantities",
    "samples",
    "sampling",
    "throughput",
    "transformer",
]
