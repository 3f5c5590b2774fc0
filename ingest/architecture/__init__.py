"""A model as a table of weights: from its `config.json`, without the software that runs it.

>>> from ingest.architecture import describe
"""

from ingest.architecture.describe import Architecture, describe
from ingest.architecture.weight_table import Attention, Weight

__all__ = ["Architecture", "Attention", "Weight", "describe"]
