"""A model as tables of weights and attention layers, from its `config.json` alone.

>>> from ingest.architecture import describe
"""

from ingest.architecture.describe import Architecture, describe
from ingest.architecture.weight_table import Attention, Weight

__all__ = ["Architecture", "Attention", "Weight", "describe"]
