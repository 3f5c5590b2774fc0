"""A model as tables of weights and attention layers, from the headers of its weights or its `config.json` alone.

>>> from ingest.architecture import describe
"""

from ingest.architecture.describe import describe
from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import Attention, Weight

__all__ = ["Architecture", "Attention", "Weight", "describe"]
