"""What a page that computes without the catalogs embeds: their entries, and what is counted from them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ingest.architecture.model_description import describe
from ingest.architecture.structure import Architecture
from ingest.catalog.embedding import embedded
from ingest.catalog.records import Model, Structure
from ingest.catalog.store import Catalog
from ingest.sizing.rates_at_size import check_own_rates
from ingest.sizing.transfer import seen_rates

#: Parts of an architecture that only a release has.
OF_A_RELEASE = ("stored", "stored_bytes", "row_bytes", "estimated")


def page_data(catalogs: str | Path | Sequence[str | Path] = (), read: Container[str] | None = None) -> dict[str, Any]:
    """Return the catalogs, the tables of weights of their architectures, and the rates by GPU behind transferred rates.

    Args:
        catalogs: folders with entries of the user.
        read: names of the fields that the page reads, and of the sources that it cites; None for all.

    >>> page_data()["architectures"]["llama3-8b"]["layers"]
    32

    Raises:
        IngestError: a broken entry, or a rate above the dense peak of its GPU.
    """
    catalog = Catalog(catalogs)
    for model in catalog.all(Model):
        check_own_rates(catalog, model)
    seen = [(cell, key, rate) for cell, rates in seen_rates(catalog).items() for key, rate in rates.items()]
    entries = embedded(catalog, read)
    # What formulas and rules cite, beside the entries.
    further = [name for name in catalog.sources if read is None or name in read]
    entries["sources"] |= {name: catalog.source(name).title for name in further}
    return {
        "catalogs": entries,
        "seen": [[protocol, precision, model, gpu, rate] for (protocol, gpu), (model, precision), rate in seen],
        "architectures": {name: _rows(describe(name, catalog)) for name in architectures(catalog)},
        "hash": catalog.content_hash(),
    }


def architectures(catalog: Catalog) -> list[str]:
    """The ids of the architectures."""
    found = (path.stem for folder in catalog.folders for path in Path(folder / Structure.kind).glob("*.yaml"))
    return sorted(set(found))


def _rows(made: Architecture) -> dict[str, Any]:
    """The fields of an architecture without those that are as they usually are."""
    stated = {one.name: getattr(made, one.name) for one in fields(made) if one.name not in OF_A_RELEASE}
    usual = {one.name: one.default for one in fields(made)}
    told = {name: item for name, item in stated.items() if item not in ((), {}) and item != usual[name]}
    return {name: [*map(_told, item)] if isinstance(item, tuple) else item for name, item in told.items()}


def _told(item: Any) -> Any:
    """A row without its last values, as far as they are as they usually are."""
    if not hasattr(item, "_fields"):
        return item
    kept, usual = len(item), item._field_defaults
    while kept and item[kept - 1] == usual.get(item._fields[kept - 1], ...):
        kept -= 1
    return item[:kept]
