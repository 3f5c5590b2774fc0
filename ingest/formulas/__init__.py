"""PHYSICS: pure one-expression functions. Importing this package registers them all."""

from ingest.formulas import bandwidth, quantities, throughput, transformer

__all__ = ["bandwidth", "quantities", "throughput", "transformer"]
