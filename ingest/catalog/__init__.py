"""Catalogs of sourced values: records, look-up and validation.

The functions behind `ingest catalog`:

>>> from ingest import catalog
>>> catalog.show("h100", kind="gpus").id
'h100-sxm'
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["check", "compare", "list", "new", "path", "show"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("ingest.sizing.catalog_commands"), name)
    raise AttributeError(f"module 'ingest.catalog' has no attribute '{name}'")
