"""One function per family: config -> rows of weights. Importing this package registers them all."""

from ingest.architecture.families import classic, dense

__all__ = ["classic", "dense"]
