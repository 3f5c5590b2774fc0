"""Sourced facts: records, where they lie, and how they are checked.

The functions behind `ingest catalog`:

>>> from ingest import catalog
>>> catalog.show("h100", kind="gpus").id
'h100-sxm'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.catalog.commands import check, list, new, path, show

__all__ = ["check", "list", "new", "path", "show"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        import ingest.catalog.commands

        return getattr(ingest.catalog.commands, name)
    raise AttributeError(f"module 'ingest.catalog' has no attribute '{name}'")
