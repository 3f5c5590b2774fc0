"""A model as tables of weights and attention layers, from the headers of its weights or its `config.json` alone.

>>> from ingest.architecture import describe
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.architecture.model_description import describe as describe
    from ingest.architecture.structure import Architecture as Architecture
    from ingest.architecture.weight_table import Attention as Attention
    from ingest.architecture.weight_table import Weight as Weight

#: The module of each public name: an answer about a catalog entry imports none.
_PLACES = {"Architecture": "structure", "Attention": "weight_table", "Weight": "weight_table", "describe": "model_description"}
__all__ = ["Architecture", "Attention", "Weight", "describe"]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"ingest.architecture.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'ingest.architecture' has no attribute '{name}'")
