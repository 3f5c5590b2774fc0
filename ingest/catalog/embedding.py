"""The catalogs as plain data for a page that computes without them: entries, rates, aliases and the sources that they cite."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from ingest.catalog.records import KINDS, Encoding, Entry, Model, Rate, Record, Shape, Statement, Tier, Value
from ingest.catalog.store import Catalog

#: The records inside an entry, by the form of their field.
INNER: Mapping[str, type[Record]] = {"encodings": Encoding, "tiers": Tier}


def embedded(catalog: Catalog, fields: Container[str] | None = None) -> dict[str, Any]:
    """Return every entry of the catalogs with the fields that it states; texts that repeat stand in one list.

    Args:
        catalog: whose entries these are.
        fields: names of the fields that are read; None for all.

    >>> data = embedded(Catalog())
    >>> data["aliases"]["gpus"]["h100"]
    'h100-sxm'
    """
    texts: dict[str, int] = {}
    writer = _Writer(texts, fields)
    entries = {kind: {one.id: writer.entry(one) for one in catalog.all(record)} for kind, record in KINDS.items()}
    rates = {one.id: [writer.rate(rate) for rate in found] for one in catalog.all(Model) if (found := catalog.rates(one))}
    forms = {kind: _forms(record.shapes) for kind, record in KINDS.items()}
    forms |= {name: _forms(record.shapes) for name, record in INNER.items()}
    sources = {name: catalog.source(name).title for name in catalog.sources if name in writer.cited}
    return {
        "forms": forms,
        "entries": entries,
        "rates": rates,
        "aliases": catalog.aliases,
        "sources": sources,
        "texts": list(texts),
    }


def _forms(shapes: Mapping[str, Shape]) -> dict[str, str]:
    return {name: shape.form for name, shape in shapes.items()}


class _Writer:
    def __init__(self, texts: dict[str, int], fields: Container[str] | None) -> None:
        self.texts, self.fields = texts, fields
        self.cited: set[str] = set()

    def text(self, words: str) -> int:
        return self.texts.setdefault(words, len(self.texts))

    def entry(self, entry: Entry) -> dict[str, Any]:
        return self.record(entry)

    def record(self, record: Record) -> dict[str, Any]:
        read = {name: shape for name, shape in record.shapes.items() if self.fields is None or name in self.fields}
        stated = {name: (shape, getattr(record, name)) for name, shape in read.items()}
        return {name: self.field(shape, item) for name, (shape, item) in stated.items() if item != shape.default}

    def field(self, shape: Shape, item: Any) -> Any:
        if isinstance(item, Value):
            return self.value(item)
        if isinstance(item, Statement):
            return list(item)
        if isinstance(item, Mapping):
            if shape.form in INNER:
                return {name: self.record(one) for name, one in item.items()}
            return {name: self.value(one) if isinstance(one, Value) else one for name, one in item.items()}
        return list(item) if isinstance(item, tuple) else item

    def value(self, item: Value) -> list[Any]:
        self.cited.add(item.source)
        words = [self.text(one) for one in (item.unit, item.source, item.grade, item.where, item.note)]
        found = [item.value, *words, item.low, item.high]
        while found[-1] is None:
            found.pop()
        return found

    def rate(self, rate: Rate) -> list[Any]:
        self.cited.add(rate.source)
        rate = rate._replace(note="")
        return [self.text(one) if isinstance(one, str) else one for one in rate]
