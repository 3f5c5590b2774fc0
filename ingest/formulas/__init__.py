"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import bandwidth, checkpoint, interval, memory, quantities, throughput, transformer

__all__ = ["bandwidth", "checkpoint", "interval", "memory", "quantities", "throughput", "transformer"]
