"""`ingest validate`: published results, by the formulas and by the commands up to the loaders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.catalog.store import Catalog
from ingest.loader.feed import feed
from ingest.sizing.published_results import COMMANDS, Validation, reproduced


def validate(name: str | None = None, *, catalogs: Sequence[str | Path] | Catalog = ()) -> Validation:
    """Reproduce published results: published, ours, error.

    Args:
        name: a set, for example `ibrahim`; all sets by default.
        catalogs: folders with entries of your own.

    >>> validate("ibrahim").results["ibrahim"].passed
    True

    Raises:
        UsageError: an unknown set.
    """
    return reproduced(name, {**COMMANDS, feed.__name__: feed}, catalogs=catalogs)
