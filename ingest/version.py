"""The version of this package, for whoever needs it and nothing else."""

__version__ = "0.1.0"
