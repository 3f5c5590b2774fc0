"""`ingest fit`: which systems feed the need, where the bottleneck is, and how many units it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.answer import Answer, Known
from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.errors import MissingQuantity, UsageError
from ingest.estimate import Quantity
from ingest.formula import check_value, unit_of
from ingest.ladder import Given
from ingest.storage import layers
from ingest.storage.layers import Judged
from ingest.storage.need import ASKED, Need
from ingest.storage.sizing import known_of, protection_of, size_units

if TYPE_CHECKING:
    import pandas

#: Classes that can be compared with one another; the others are asked for by name.
COMPARED = ("client", "system", "software", "drive")
#: result by its public name, and the quantity behind it
RESULTS = {
    "headroom_fraction": "headroom_fraction",
    "units_required": "units_required",
    "usable_bytes": "required_usable_bytes",
    "raw_bytes": "required_raw_bytes",
    "read_bandwidth_available": "read_bandwidth_available",
    "write_bandwidth_available": "write_bandwidth_available",
}
#: results that only a part of the need asks for: that part, and the option that gives it
NOT_ASKED = {
    "required_usable_bytes": ("required_usable_bytes", "--capacity"),
    "required_raw_bytes": ("required_usable_bytes", "--capacity"),
    "write_bandwidth_available": ("write_bandwidth_needed", "--write-bandwidth"),
    "read_bandwidth_available": ("read_bandwidth_needed", "--read-bandwidth, or --model and --gpu"),
}


@dataclass(frozen=True)
class Fit:
    """One system held against the need.

    Attributes:
        entry: the system.
        fits: None where a ceiling that counts is not known.
        narrow: the layer that binds first.
        layers: every layer on the way.
        results: quantities by their public names.
        answer: the same and the ceiling of each layer, with derivations, assumptions and sources.
    """

    entry: Storage
    fits: bool | None
    narrow: Judged | None
    layers: tuple[Judged, ...]
    results: Mapping[str, Quantity]
    answer: Answer

    @property
    def bottleneck(self) -> str:
        """The name of the narrowest layer."""
        return self.narrow.layer.name if self.narrow is not None else ""

    @property
    def unknown(self) -> Mapping[str, str]:
        """Why a result is not there."""
        return self.answer.unknown

    @staticmethod
    def quantity(name: str) -> str:
        """The quantity behind a public name, for explanations."""
        return RESULTS.get(name, name)

    @property
    def headroom(self) -> float | None:
        """Head-room of the narrowest layer."""
        return self.narrow.headroom if self.narrow is not None else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.entry.name,
            "class": self.entry.family,
            "scaling_unit": self.entry.scaling_unit,
            "fits": self.fits,
            "bottleneck": self.bottleneck,
            **{name: item.to_dict() for name, item in self.results.items()},
            "layers": [one.to_dict() for one in self.layers],
            "unknown": dict(self.unknown),
            "tables": {name: [dict(row) for row in rows] for name, rows in self.answer.tables.items()},
            "assumptions": self.answer.assumptions,
            "warnings": list(self.answer.warnings),
        }


@dataclass(frozen=True)
class Fits:
    """The answer of `fit`: systems, those that fit first, then by head-room."""

    need: Need
    systems: tuple[Fit, ...]
    catalog: Catalog

    command = "fit"
    RESULTS = tuple(RESULTS)

    @property
    def results(self) -> dict[str, Fit]:
        """The systems by id."""
        return {one.entry.id: one for one in self.systems}

    @cached_property
    def needed(self) -> dict[str, Quantity]:
        """What is asked of storage."""
        known = self.systems[0].answer.known
        return known.results([*(name for name in ASKED if self.need.asks(name)), "io_bytes", "nodes", "gpus"])[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the need, and those of a single system."""
        own = self.systems[0].answer.warnings if len(self.systems) == 1 else ()
        return (*self.need.notes, *own)

    @property
    def unmet(self) -> str:
        """Why `--require` is not met; empty where every system asked for fits."""
        failed = [one for one in self.systems if one.fits is not True]
        return "; ".join(_reason(one) for one in failed)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`: results by id of the system."""
        from ingest import __version__

        return {
            "schema": "ingest/1",
            "command": self.command,
            "version": __version__,
            "catalog_hash": self.catalog.content_hash(),
            "inputs": {**self.need.words, **self.systems[0].answer.inputs},
            "need": {name: item.to_dict() for name, item in self.needed.items()},
            "results": {one.entry.id: one.to_dict() for one in self.systems},
            "sources": list({source["id"]: source for one in self.systems for source in one.answer.sources}.values()),
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per system."""
        import pandas

        rows: list[dict[str, Any]] = [
            {"storage": one.entry.id, "class": one.entry.family, "fits": one.fits, "bottleneck": one.bottleneck}
            | {name: one.results[name].value if name in one.results else None for name in RESULTS}
            for one in self.systems
        ]
        return pandas.DataFrame(rows).set_index("storage")


def _reason(one: Fit) -> str:
    if one.fits is False and one.narrow is not None:
        from ingest.units import display

        need = display(one.narrow.need, unit_of(one.narrow.layer.need), binary=False)
        return f"{one.entry.id} does not fit: {one.bottleneck} carries {one.narrow.shown}, needed {need}"
    missing = ", ".join(judged.layer.name for judged in one.layers if judged.holds is None)
    return f"{one.entry.id} is not known to fit: {missing} not known"


def fit_need(
    need: Need,
    storage: Sequence[str],
    catalog: Catalog,
    client: str | None = None,
    protection: str | None = None,
    units: float | None = None,
) -> Fits:
    """Hold systems against a need.

    Args:
        need: what is asked.
        storage: ids or YAML files, or `all` for every client, system, software and local drive of the catalogs.
        catalog: where they are found.
        client: id of the client that reaches them, where an entry does not say.
        protection: id of the protection scheme, where an entry does not say or offers several.
        units: how many units there are; as many as the need takes by default.

    Raises:
        UsageError: nothing is asked, or an unknown id.
    """
    if not any(need.asks(name) for name in ASKED):
        raise UsageError("nothing is asked of storage, expected --model and --gpu, --read-bandwidth, --capacity or a plan")
    entries = _entries(storage, catalog)
    other = catalog.get(Storage, client) if client is not None else None
    found = [_fit(entry, other, protection_of(entry, protection, catalog), need, units, catalog) for entry in entries]
    return Fits(need, tuple(sorted(found, key=_order)), catalog)


def _order(one: Fit) -> tuple[int, float, str]:
    place = 1 if one.fits is None else 0 if one.fits else 2
    return place, -(one.headroom if one.headroom is not None else float("-inf")), one.entry.id


def _entries(storage: Sequence[str], catalog: Catalog) -> list[Storage]:
    names = list(dict.fromkeys(storage)) or ["all"]
    if "all" not in names:
        return [catalog.get(Storage, name) for name in names]
    return [entry for entry in catalog.all(Storage) if entry.family in COMPARED]


def _fit(
    entry: Storage, client: Storage | None, protection: Storage | None, need: Need, units: float | None, catalog: Catalog
) -> Fit:
    known = known_of(entry, client, protection, need)
    uncounted = _count_units(known, need, entry, units)
    judged = layers.judge(known, _layers_of(entry, known), _shown_only(entry, client))
    narrow = layers.bottleneck(judged)
    if narrow is not None and narrow.headroom is not None:
        known.choose("headroom_fraction", narrow.layer.headroom)
    results, unknown = _results(known, need, judged, uncounted)
    carried = known.results([one.layer.ceiling for one in judged if one.ceiling is not None])[0]
    quantities = {**carried, **{RESULTS[name]: item for name, item in results.items()}}
    answer = Answer("fit", f"{entry.name}: {need.title}", {}, known, quantities, unknown, {}, (), catalog)
    return Fit(entry, layers.verdict(judged), narrow, judged, results, answer)


def _layers_of(entry: Storage, known: Known) -> tuple[layers.Layer, ...]:
    """The layers of the way that an entry is part of."""
    ends = (*layers.METADATA, layers.CAPACITY)
    if entry.family == "protection":
        return (layers.READS, layers.WRITES, layers.CAPACITY)
    if entry.family == "drive":
        return (layers.HOST_LINK, layers.NVME, layers.WRITES, layers.CAPACITY)
    path = (layers.HOST_LINK, layers.NIC, layers.CLIENT, layers.READS, *layers.WRITE_PATH, *ends)
    # Requirement lines and plain numbers may say nothing about nodes: then only the system is judged.
    of_nodes = "nodes" in known.given
    return tuple(one for one in path if of_nodes or one not in layers.OF_NODES or _is_client(entry, one))


def _is_client(entry: Storage, layer: layers.Layer) -> bool:
    return entry.family == "client" and layer in (layers.CLIENT, layers.CLIENT_WRITES)


def _shown_only(entry: Storage, client: Storage | None) -> frozenset[layers.Layer]:
    """Whole systems publish what a client took in a run of many, which is no ceiling of the client."""
    whole = entry.family == "system" and client is None
    return frozenset((layers.CLIENT, layers.CLIENT_WRITES)) if whole else frozenset()


def _count_units(known: Known, need: Need, entry: Storage, units: float | None) -> dict[str, str]:
    """How many there are, and how many are required; returns why that is not known."""
    if entry.family == "client":
        for part, name in (("clients_for_read", "read_bandwidth_needed"), ("clients_for_write", "write_bandwidth_needed")):
            if not need.asks(name):
                known.given[part] = Given(0, note=f"{name} is not asked for")
        return _choose_required(known, "clients_required")
    if entry.family == "drive":
        return _choose_required(known, "local_drives_required")
    uncounted = size_units(known, need, bool(entry.fixed), units)
    return {"units_required": "; ".join(uncounted.values())} if uncounted else {}


def _choose_required(known: Known, formula: str) -> dict[str, str]:
    try:
        known.choose("units_required", formula)
    except MissingQuantity as error:
        return {"units_required": f"{error.name} is not known"}
    return {}


def _results(
    known: Known, need: Need, judged: Sequence[Judged], uncounted: Mapping[str, str]
) -> tuple[dict[str, Quantity], dict[str, str]]:
    """The results of one system by their public names, and why others are not there."""
    for name, path in (
        ("read_bandwidth_available", layers.READ_PATH),
        ("write_bandwidth_available", layers.WRITE_PATH),
    ):
        rated = [one for one in judged if one.layer in path and one.ceiling is not None and not one.at_least]
        if rated:
            known.choose(name, min(rated, key=lambda one: one.ceiling or 0.0).layer.ceiling)
    found: dict[str, Quantity] = {}
    unknown: dict[str, str] = dict(uncounted)
    for name, quantity in RESULTS.items():
        if quantity in NOT_ASKED and not need.asks(NOT_ASKED[quantity][0]):
            unknown[name] = f"not asked for: say {NOT_ASKED[quantity][1]}"
        elif name not in unknown:
            computed = known.results([quantity])[0]
            if quantity in computed:
                found[name] = computed[quantity]
            else:
                unknown[name] = f"the {_words(quantity)} of this entry is not known"
    return found, unknown


def _words(name: str) -> str:
    return name.replace("_", " ")


def fit(
    plan: str | Path | None = None,
    *,
    storage: str | Sequence[str] = "all",
    client: str | None = None,
    protection: str | None = None,
    units: str | float | None = None,
    read_bandwidth: str | float | None = None,
    write_bandwidth: str | float | None = None,
    capacity: str | float | None = None,
    opens: str | float | None = None,
    creates: str | float | None = None,
    files: str | float | None = None,
    io_size: str | float | None = None,
    catalogs: str | Path | Sequence[str | Path] = (),
    **question: Any,
) -> Fits:
    """Which storage systems feed a need, where the bottleneck is, and how many units it takes.

    Args:
        plan: JSON file that `ingest plan` wrote.
        storage: id, YAML file, several of them, or `all`.
        client: id of the client that reaches the systems.
        protection: id of a protection scheme.
        units: how many units there are; as many as the need takes by default.
        read_bandwidth: what is read, where no model says it.
        write_bandwidth: what is written.
        capacity: bytes to hold.
        opens: files opened each second.
        creates: files created each second.
        files: files to hold.
        io_size: bytes of one request.
        catalogs: folders with entries of your own.
        question: options of `bw`.

    >>> found = fit(read_bandwidth="500 GB/s", write_bandwidth="300 GB/s", capacity="1 PB", storage="ddn-ai400x2")
    >>> found.results["ddn-ai400x2"].results["units_required"].value
    6

    Raises:
        UsageError: a question that cannot be asked.
        IngestError: a missing fact, and what to supply.
    """
    from ingest.storage.asking import need_of

    catalog = Catalog(catalogs)
    options = {
        "read_bandwidth": read_bandwidth,
        "write_bandwidth": write_bandwidth,
        "capacity": capacity,
        "opens": opens,
        "creates": creates,
        "files": files,
        "io_size": io_size,
    }
    need = need_of(plan, options, question, catalog)
    names = [storage] if isinstance(storage, (str, Path)) else list(storage)
    listed = [part for name in names for part in str(name).split(",") if part]
    counted = None if units is None else check_value("units", _number(units, "units"), "--units")
    return fit_need(need, listed, catalog, client, protection, counted)


def _number(written: str | float, name: str) -> float:
    from ingest.units import parse

    return parse(written, unit_of(name), f"--{name}")
