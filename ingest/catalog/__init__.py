"""Catalogs of sourced values: records, look-up and validation.

The functions behind `ingest catalog`:

>>> from ingest import catalog
>>> catalog.show("h100", kind="gpus").id
'h100-sxm'
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: What gives the modules of `structure`, an architecture, and `check_rates` of a model: they stand above the catalogs.
checked_by: dict[str, Callable[[], ModuleType]] = {}
__all__ = ["check", "compare", "list", "new", "path", "show"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("ingest.catalog.commands"), name)
    raise AttributeError(f"module 'ingest.catalog' has no attribute '{name}'")
