"""What a page that computes without the catalogs embeds: their entries, and what is counted from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from ingest.architecture.catalog_entries import entry_of
from ingest.architecture.model_description import of_id
from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import usual_passes
from ingest.catalog.records import KINDS, LOWER_BOUND, Encoding, Model, Record, Shape, Statement, Structure, Tier, Value
from ingest.catalog.releases import Release, words
from ingest.catalog.store import CATALOGS, Catalog
from ingest.files import as_bytes, kept
from ingest.sizing.evidence_ladder import BASES, blind_error, check_own_rates, seen_rates
from ingest.version import __version__

Catalogs = Annotated[str | Path | Sequence[str | Path], CATALOGS]
#: The records inside an entry, by the form of their field.
INNER: Mapping[str, type[Record]] = {"encodings": Encoding, "tiers": Tier}
#: The files of the package from which a page is made, and how many pages the user's cache keeps.
MADE_OF, MOST_PAGES = {".py", ".yaml", ".csv", ".json", ".js", ".css", ".html"}, 4
#: Parts of an architecture that only a release has, and its weights, which stand by column.
OF_A_RELEASE = ("stored", "stored_bytes", "row_bytes", "weights")


def page_data(catalogs: Catalogs = (), read: Container[str] | None = None) -> dict[str, Any]:
    """Return the catalogs, the tables of weights of their architectures, and the rates by GPU behind transferred rates.

    `read` names the fields that the page reads, and the sources that it cites; None for all.

    >>> data = page_data()
    >>> place = data["architectures"]["ids"].split("|").index("llama3-8b")
    >>> data["patterns"]["model_type"][data["architectures"]["patterns"][place]]
    'llama'

    Raises IngestError: a broken entry, or a rate above the dense peak of its GPU.
    """
    catalog = Catalog(catalogs)
    for model in catalog.all(Model):
        check_own_rates(catalog, model)
    seen = [(cell, key, rate) for cell, rates in seen_rates(catalog).items() for key, rate in rates.items()]
    rows = catalog.releases.rows
    names = {*catalog.ids(Structure.kind), *(row.id for row in rows.values() if row.model_type)}
    made = sorted((of_id(name, catalog) for name in names), key=lambda one: (one.model_type, one.layers, one.hidden, one.id))
    patterns = _Patterns()
    # Those of a family side by side, and by column: what is alike stands together.
    placed, numbers = zip(*map(patterns.packed, made), strict=True)
    named = "|".join(_names(rows.get(one.id)) for one in made)
    met = [json.loads(pattern) for pattern in patterns.met]
    filled = [name for name in (*(one.name for one in fields(Architecture)), *WEIGHTS) if any(name in one for one in met)]
    return {
        "catalogs": _embedded(catalog, read),
        "seen": [[protocol, precision, model, gpu, rate] for (protocol, gpu), (model, precision), rate in seen],
        "architectures": {"ids": "|".join(one.id for one in made), "names": named, "patterns": placed, "numbers": numbers},
        "patterns": {name: [one.get(name) for one in met] for name in filled},
        "parts": [*patterns.parts],
        # Those with a file of their own; those with the weights of an entry, each with it.
        "structures": catalog.ids(Structure.kind),
        "alike": {one.id: entry.id for one in made if (entry := entry_of(one, one.id, catalog)) and entry.id != one.id},
        "hash": catalog.content_hash(),
        "blind": [list(one) for level in BASES if (one := blind_error(level))],
    }


def made_once(catalogs: Catalogs, package: Path, make: Callable[[], bytes]) -> bytes:
    """The page that `make` makes of the entries and of the files of the package; from the user's cache where none changed."""
    found = hashlib.sha256(as_bytes(__version__ + Catalog(catalogs).content_hash()))
    for one in sorted(package.rglob("*.*")):
        if one.suffix in MADE_OF:
            found.update(as_bytes(f"{one.relative_to(package)}\0"))
            found.update(one.read_bytes())
    return kept(f"pages/{found.hexdigest()}.html", make, MOST_PAGES)


def _embedded(catalog: Catalog, read: Container[str] | None) -> dict[str, Any]:
    """Every entry with the fields that it states and the page reads; texts that repeat stand in one list."""
    writer = _Writer(read)
    entries = {kind: {one.id: writer.record(one) for one in catalog.all(record)} for kind, record in KINDS.items()}
    rates = {
        model.id: [writer.words(rate._replace(note=LOWER_BOUND if rate.waits else ""), rate.source) for rate in found]
        for model in catalog.all(Model)
        if (found := catalog.rates(model))
    }
    # What entries cite, then what formulas and rules cite beside them.
    cited = [name for name in catalog.sources if name in writer.cited]
    cited += [name for name in catalog.sources if read is None or name in read]
    return {
        "forms": {kind: {name: shape.form for name, shape in one.shapes.items()} for kind, one in {**KINDS, **INNER}.items()},
        "entries": entries,
        "rates": rates,
        # Those of protocols stand in files of rates.
        "aliases": {kind: names for kind, names in catalog.aliases.items() if kind != "protocols"},
        # What no entry is stands in words of the command line alone.
        "names": {kind: names for kind, names in catalog.names.items() if kind not in ("outside", "series")},
        "sources": {name: catalog.source(name).title for name in cited},
        "texts": list(writer.texts),
    }


class _Writer:
    """Records as plain data."""

    def __init__(self, read: Container[str] | None) -> None:
        self.read = read  # names of the fields that the page reads; None for all
        self.texts: dict[str, int] = {}  # the place of each text that a value or a rate has
        self.cited: set[str] = set()  # the sources met so far

    def record(self, record: Record) -> dict[str, Any]:
        shapes = [one for one in record.shapes.items() if self.read is None or one[0] in self.read]
        return {name: self.field(shape, item) for name, shape in shapes if (item := getattr(record, name)) != shape.default}

    def field(self, shape: Shape, item: Any) -> Any:
        if isinstance(item, Mapping):
            inner = shape.form in INNER
            return {name: self.record(one) if inner else self.field(shape, one) for name, one in item.items()}
        if isinstance(item, Value):
            words = (item.unit, item.source, item.grade, item.where, item.note)
            found = self.words((item.value, *words, item.low, item.high), item.source)
            while found[-1] is None:
                found.pop()
            return found
        return list(item) if isinstance(item, (Statement, tuple)) else item

    def words(self, row: Sequence[Any], source: str) -> list[Any]:
        """A row with the places of its texts."""
        self.cited.add(source)
        return [self.texts.setdefault(one, len(self.texts)) if isinstance(one, str) else one for one in row]


def _names(row: Release | None) -> str:
    """The further names of a row, `~` for its id; that of the hub first, its owner if it is the id; `-` for none."""
    if row is None:
        return "-"
    owner, slash, name = row.hub.rpartition("/")
    further = (one.lower().replace(row.id, "~") for one in row.also)
    return " ".join([f"{owner}{slash}" if words(name) == words(row.id) else row.hub, *further])


#: The columns of a table of weights.
WEIGHTS = ("parts", "shapes", "counts", "active", "passed", "positions")


class _Patterns:
    """Architectures as a pattern that many share, and the numbers that fill it: 0 takes the next, 2 the last but one."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}  # the place of the name and kind of each row of weights met so far
        self.met: dict[str, int] = {}  # the place of each pattern

    def packed(self, made: Architecture) -> tuple[int, list[float]]:
        """The fields that are not as they usually are; weights by column, those that follow from another left out."""
        stated = [(one, getattr(made, one.name)) for one in fields(made) if one.name not in OF_A_RELEASE]
        told = {one.name: item for one, item in stated if item not in ((), {}) and item != one.default}
        parts = " ".join(str(self.parts.setdefault(f"{row.name}|{row.kind}", len(self.parts))) for row in made.weights)
        usually = tuple(usual_passes(row.kind, row.shape, row.active) for row in made.weights)
        _, shapes, _, counts, active, passes, positions = zip(*made.weights, strict=True)
        columns = [parts, shapes, counts, None if active == counts else active, None if passes == usually else passes]
        columns += [positions if any(positions) else None]
        numbers: dict[float, int] = {}

        def placed(item: Any) -> Any:
            if isinstance(item, Mapping):
                return {name: placed(one) for name, one in item.items()}
            if isinstance(item, (list, tuple)):
                return [placed(one) for one in item]
            if item is None or isinstance(item, (str, bool)):
                return item
            known = len(numbers)
            return known - numbers.setdefault(item, known)

        pattern = json.dumps(placed({**told, "id": "", **dict(zip(WEIGHTS, columns, strict=True))}), ensure_ascii=False)
        return self.met.setdefault(pattern, len(self.met)), [*numbers]
