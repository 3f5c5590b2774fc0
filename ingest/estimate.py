"""Catalog entries and the user's wishes to given values, to results: one `Estimate` per question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ingest.formulas  # noqa: F401  registers the formulas
from ingest import ladder
from ingest.catalog.records import SIZES, Entry, Gpu, Model, Node, Source, Storage, Value
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, MissingQuantity, UsageError, nearest
from ingest.formula import FORMULAS, LEAVES, Step, check_value, derive, solve, unit_of
from ingest.ladder import BASES, Given, Rung, from_catalog
from ingest.units import display, parse

if TYPE_CHECKING:
    import pandas

#: The results of `bw`, in the order in which people ask for them.
RESULTS = (
    "samples_per_second_per_gpu",
    "ingest_bandwidth_per_gpu",
    "ingest_bandwidth_per_node",
    "ingest_bandwidth_per_job",
    "unstalled_bandwidth_per_gpu",
    "file_opens_per_second_per_job",
    "bytes_per_file_open",
    "epoch_seconds",
    "gpus",
    "storage_nic_share",
    "implied_flops_utilization",
)
#: Without these the answer is not complete.
NEEDED = ("samples_per_second_per_gpu", "ingest_bandwidth_per_gpu", "ingest_bandwidth_per_node", "ingest_bandwidth_per_job")
#: Storage clients that the need of a node is held against.
CLIENTS = {"nfs_tcp_client_share": "nfs-tcp", "nfs_nconnect_client_share": "nfs-nconnect"}
RATE = "unstalled_samples_per_second_per_gpu"


@dataclass(frozen=True)
class Quantity:
    """A result: base units, and its range where a spread is known."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    @property
    def display(self) -> str:
        """As people read it: decimal first, binary beside it."""
        return display(self.value, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of CONTRACT: numbers in base units."""
        spread = {"low": self.low, "high": self.high} if self.low is not None else {}
        return {"value": self.value, **spread, "unit": self.unit, "display": self.display}


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the user asks, in base units; None where nothing was said.

    Attributes:
        model, gpu, node: id, alias or YAML file.
        basis: `auto` or one of the rungs.
        protocol: id of the protocol whose rate is asked for.
        encoding: an encoding of the data set, one of `stored`, `decoded`, `touched`, or both as `ID/SIZE`.
        scaling: `linear` (a requirement assumes that the job scales), `weak` or `strong`.
        settings: any quantity by name; wins over everything else.
    """

    model: str | None = None
    gpu: str | None = None
    nodes: float = 1
    gpus_per_node: float | None = None
    node: str | None = None
    basis: str = "auto"
    protocol: str | None = None
    encoding: str | None = None
    precision: str | None = None
    efficiency: float | None = None
    achieved: float | None = None
    utilization: float | None = None
    samples_per_second: float | None = None
    sample_bytes: float | None = None
    flops_per_sample: float | None = None
    cache_hit: float | None = None
    scaling: str = "linear"
    settings: Mapping[str, float] = field(default_factory=dict)

    #: options that are quantities
    QUANTITIES = {
        "nodes": "nodes",
        "gpus_per_node": "gpus_per_node",
        "efficiency": "model_flops_utilization",
        "achieved": "achieved_flops_per_gpu",
        "utilization": "accelerator_utilization",
        "samples_per_second": RATE,
        "sample_bytes": "sample_bytes",
        "flops_per_sample": "flops_per_sample",
        "cache_hit": "cache_hit_fraction",
    }

    def checked(self) -> Question:
        """The same question, or the reason why it cannot be asked.

        Raises:
            UsageError: a value out of range, a misspelt choice, or two options that exclude each other.
        """
        for option, name in self.QUANTITIES.items():
            value = getattr(self, option)
            if value is not None:
                check_value(name, value, f"--{option.replace('_', '-')}")
        for name, value in self.settings.items():
            check_value(name, value, f"--set {name}")
        for option, choices in (("basis", ("auto", *BASES)), ("scaling", ("linear", "weak", "strong"))):
            found = getattr(self, option)
            if found not in choices:
                hint = nearest(found, choices)
                raise UsageError(f"--{option}: found '{found}', expected one of {', '.join(choices)}{hint}")
        if self.precision is not None:
            ladder.family_of(self.precision)
        own = [option for option in ("samples_per_second", "achieved", "efficiency") if getattr(self, option) is not None]
        if len(own) > 1 or (own and self.basis != "auto" and (own[0] == "samples_per_second" or self.basis != "efficiency")):
            named = ", ".join("--" + option.replace("_", "-") for option in own)
            raise UsageError(f"{named}: the rate is given more than once; expected one of them, without --basis")
        if self.model is None and self.samples_per_second is None and self.flops_per_sample is None and not self.settings:
            raise UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
        return self


@dataclass(frozen=True)
class Estimate:
    """The answer to one question.

    Attributes:
        question: what was asked.
        basis: the rung that the results stand on; `given` where the user gave the rate.
        results: quantities by name.
        rungs: the results of every rung that exists, for comparison.
        given: what was known, for explanations.
        unknown: why a result is not there, by its name.
        warnings: plain words.
    """

    question: Question
    catalog: Catalog
    model: Model | None
    gpu: Gpu | None
    node: Node | None
    precision: str
    basis: str
    results: Mapping[str, Quantity]
    rungs: tuple[tuple[Rung, Mapping[str, Quantity]], ...]
    given: Mapping[str, Given]
    unknown: Mapping[str, str]
    warnings: tuple[str, ...]

    command = "bw"

    @property
    def incomplete(self) -> str | None:
        """Why a needed result is missing, and what to supply; None for a complete answer."""
        return next((self.unknown[name] for name in NEEDED if name in self.unknown), None)

    def derivation(self, name: str) -> Step:
        """How a quantity came about.

        Raises:
            UsageError: no such quantity.
            MissingQuantity: it cannot be computed from what is known.
        """
        known = {key: item.value for key, item in self.given.items()}
        if name in CLIENTS:
            client = self.catalog.get(Storage, CLIENTS[name]).client_read_bandwidth
            assert client is not None
            return derive("client_share", known | {"client_bandwidth_per_node": client.value})
        unit_of(name)
        return derive(name, known)

    @cached_property
    def used(self) -> Mapping[str, Given]:
        """The given quantities that the results rest on."""
        names: dict[str, None] = {}
        for name in self.results:
            names.update(dict.fromkeys(step.name for step in self.derivation(name).leaves()))
        return {name: self.given[name] for name in names if name in self.given}

    @property
    def assumptions(self) -> list[dict[str, Any]]:
        """What nobody measured: values graded `assumed`, and defaults that a user may contest."""
        found = []
        for name, item in self.used.items():
            reasons = [item.note or item.where or "recalled, not read again"] if item.grade == "assumed" or item.origin == "default" else []
            reasons += [f"{part.what}: {part.where}" for part in item.parts if part.grade == "assumed" and not reasons]
            if reasons:
                entry = {"name": name, "value": item.value, "unit": unit_of(name), "grade": "assumed"}
                found.append({**entry, "why": "; ".join(reasons)})
        return found

    @property
    def sources(self) -> list[dict[str, str]]:
        """The sources of every value and formula that the results rest on, with the places."""
        places: dict[str, dict[str, None]] = {}
        for item in self.used.values():
            cited = [(part.source, part.where) for part in item.parts] or [(item.source, item.where)]
            for source, where in [*cited, (item.source, "" if item.parts else item.where)]:
                if source:
                    places.setdefault(source, {})[where] = None
        listed = []
        for name, where in places.items():
            source: Source = self.catalog.source(name)
            listed.append({"id": name, "title": source.title, "where": "; ".join(filter(None, where)), "url": source.url})
        return listed

    @property
    def inputs(self) -> dict[str, Any]:
        """What went in, and where from: the user, a catalog, or a default."""
        asked = self.question
        chosen: dict[str, Any] = {}
        for option, entry in (("model", self.model), ("gpu", self.gpu), ("node", self.node)):
            if entry is not None:
                chosen[option] = {"value": entry.id, "from": "user" if getattr(asked, option) else "catalog"}
        chosen["precision"] = {"value": self.precision, "from": "user" if asked.precision else "default"}
        for option in ("basis", "protocol", "encoding", "scaling"):
            if getattr(asked, option):
                default = getattr(asked, option) == getattr(Question, option)
                chosen[option] = {"value": getattr(asked, option), "from": "default" if default else "user"}
        for name, item in self.used.items():
            chosen[name] = {"value": item.value, "unit": unit_of(name), "from": item.origin}
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of CONTRACT, `ingest/1`."""
        from ingest import __version__

        return {
            "schema": "ingest/1",
            "command": self.command,
            "version": __version__,
            "catalog_hash": self.catalog.content_hash(),
            "inputs": self.inputs,
            "results": {name: quantity.to_dict() for name, quantity in self.results.items()},
            "basis": self.basis,
            "rungs": [
                {
                    "basis": rung.basis,
                    "results": {name: quantity.to_dict() for name, quantity in results.items()},
                    "note": rung.note,
                    **({"protocols": rung.protocols} if rung.protocols else {}),
                }
                for rung, results in self.rungs
            ],
            "assumptions": self.assumptions,
            "sources": self.sources,
            "warnings": [*self.warnings, *([self.incomplete] if self.incomplete else [])],
        }

    def to_frame(self) -> pandas.DataFrame:
        """One row per result: name, value, low, high, unit."""
        import pandas

        rows = [(name, item.value, item.low, item.high, item.unit) for name, item in self.results.items()]
        return pandas.DataFrame(rows, columns=["name", "value", "low", "high", "unit"]).set_index("name")


def estimate(question: Question, catalog: Catalog) -> Estimate:
    """Answer one question.

    >>> answer = estimate(Question(model="cosmoflow", gpu="h100", nodes=128), Catalog())
    >>> answer.basis, answer.results["ingest_bandwidth_per_job"].display
    ('measured', '827.5 TB/s (752.6 TiB/s)')

    Raises:
        UsageError: the question cannot be asked.
        IngestError: no rung of the ladder can answer, and what to supply.
    """
    asked = question.checked()
    model = catalog.get(Model, asked.model) if asked.model else None
    node, gpu = _machine(asked, catalog)
    precision = asked.precision or ladder.usual_precision(catalog.rates(model) if model else ())
    common = _common(asked, catalog, model, gpu, node, precision)
    rungs = _rungs(asked, catalog, model, gpu, precision, common)
    if not rungs:
        raise _nothing(asked, catalog, model, gpu, precision, common)
    solved = tuple((rung, _results({**common, **rung.given, **_settings(asked)}, catalog)[0]) for rung in rungs)
    best = rungs[0]
    known = {**common, **best.given, **_settings(asked)}
    results, unknown = _results(known, catalog)
    if model is not None and "sample_bytes" in model.missing and "sample_bytes" not in known:
        reason = f"the bytes of one sample of {model.id} are not known: {model.missing['sample_bytes']}"
        unknown = {name: reason if "sample_bytes" in why else why for name, why in unknown.items()}
    answer = Estimate(asked, catalog, model, gpu, node, precision, best.basis, results, solved, known, unknown, ())
    from ingest.advice import warnings_for

    return replace(answer, warnings=(*best.warnings, *warnings_for(answer)))


def _machine(asked: Question, catalog: Catalog) -> tuple[Node | None, Gpu | None]:
    gpu = catalog.get(Gpu, asked.gpu) if asked.gpu else None
    node = catalog.get(Node, asked.node) if asked.node else None
    if node is not None and gpu is None:
        gpu = catalog.get(Gpu, node.gpu)
    elif node is not None and gpu is not None and node.gpu != gpu.id:
        raise UsageError(f"--node: {node.id} carries {node.gpu}, not {gpu.id}; expected a node with that GPU, or no --gpu")
    elif node is None and gpu is not None and gpu.usual_node:
        node = catalog.get(Node, gpu.usual_node)
    return node, gpu


def _settings(asked: Question) -> dict[str, Given]:
    return {name: Given(value, origin="user", grade="") for name, value in asked.settings.items()}


def _common(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, node: Node | None, precision: str
) -> dict[str, Given]:
    """What is known on every rung."""
    known: dict[str, Given] = {}
    if node is not None:
        known["gpus_per_node"] = from_catalog(node.gpus_per_node)
        if asked.node is None:
            note = f"as in {node.name}; say --node or --gpus-per-node for yours"
            known["gpus_per_node"] = replace(known["gpus_per_node"], origin="default", note=note)
        if node.storage_nic_bandwidth is not None:
            known["storage_nic_bandwidth_per_node"] = from_catalog(node.storage_nic_bandwidth)
    elif gpu is not None and gpu.gpus_per_node is not None:
        known["gpus_per_node"] = from_catalog(gpu.gpus_per_node)
    top = ladder.peak_of(gpu, precision) if gpu is not None else None
    if top is not None:
        known["peak_flops_per_gpu"] = top
    if model is not None:
        named: dict[str, Value | None] = {
            "flops_per_sample": model.flops_per_sample,
            "dataset_samples": model.dataset_samples,
            **_encoding(model, asked.encoding),
        }
        known.update({name: from_catalog(value) for name, value in named.items() if value is not None})
    size = known.get("sample_bytes")
    for option, name in Question.QUANTITIES.items():
        value = getattr(asked, option)
        if value is not None and option not in ("samples_per_second", "achieved", "efficiency"):
            known[name] = Given(value, origin="user")
    if asked.sample_bytes is None and size is not None:
        known["sample_bytes"] = size
    if asked.scaling != "linear":
        gpus = solve("gpus", {name: item.value for name, item in known.items()})
        known["scaling_efficiency"] = from_catalog(ladder.scaling_factor(catalog, gpus, asked.scaling))
        if gpus <= ladder.BASE_GPUS:
            known["scaling_efficiency"] = Given(1, origin="default", note=f"up to {ladder.BASE_GPUS} GPUs no loss is assumed")
    else:
        note = "linear scaling: a requirement assumes that the job scales; --scaling strong shows the published loss"
        known["scaling_efficiency"] = Given(1, origin="default", note=note)
    if asked.utilization is None:
        note = "the GPU never waits; MLPerf Storage accepts 0.9 (UNet3D, ResNet-50) and 0.7 (CosmoFlow)"
        known["accelerator_utilization"] = Given(1, origin="default", note=note)
    return known


def _encoding(model: Model, asked: str | None) -> dict[str, Value | None]:
    """Bytes per sample and samples per file of an encoding."""
    name, _, size = (asked or "").partition("/")
    if name in SIZES:
        name, size = "", name
    name, size = name or next(iter(model.encodings), ""), size or "stored"
    if name not in model.encodings:
        if asked is None:
            return {}
        known = ", ".join([*model.encodings, *SIZES])
        raise UsageError(f"--encoding: found '{asked}', expected one of {known}{nearest(name, [*model.encodings, *SIZES])}")
    if size not in SIZES:
        raise UsageError(f"--encoding: found '{size}', expected one of {', '.join(SIZES)}{nearest(size, SIZES)}")
    encoding = model.encodings[name]
    value = getattr(encoding, size)
    if value is None and asked is not None:
        there = ", ".join(item for item in SIZES if getattr(encoding, item) is not None)
        raise IngestError(f"--encoding: {model.id} has no {size} bytes for {name} (known: {there}); supply --sample-bytes")
    return {"sample_bytes": value, "samples_per_file": encoding.samples_per_file}


def _rungs(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Given]
) -> list[Rung]:
    """The rungs that exist, the one to use first."""
    found: list[Rung] = []
    flops = _settings(asked).get("flops_per_sample") or known.get("flops_per_sample")
    if gpu is not None:
        if model is not None:
            everything = {name: item.value for name, item in {**known, **_settings(asked)}.items()}
            known_size = "gpus_per_node" in everything and asked.scaling == "linear"
            size = solve("gpus", everything) if known_size else 1
            found += _some(ladder.measured(catalog, model, gpu, precision, _protocol(asked, catalog), size))
            found += _some(ladder.transferred(catalog, model, gpu, precision, _protocol(asked, catalog)))
            found += _some(ladder.efficiency(catalog, model, gpu, precision, flops))
        found += _some(ladder.peak(gpu, precision, flops))
    if asked.protocol:
        found = [rung for rung in found if rung.basis in ("measured", "transferred") or asked.basis == rung.basis]
    own = _own_rung(asked, flops)
    if own is not None:
        return [own, *found]
    if asked.basis == "auto":
        return found
    wanted = [rung for rung in found if rung.basis == asked.basis]
    return [*wanted, *(rung for rung in found if rung.basis != asked.basis)] if wanted else []


def _some(rung: Rung | None) -> list[Rung]:
    return [] if rung is None else [rung]


def _protocol(asked: Question, catalog: Catalog) -> str | None:
    from ingest.catalog.records import Protocol

    return catalog.get(Protocol, asked.protocol).id if asked.protocol else None


def _own_rung(asked: Question, flops: Given | None) -> Rung | None:
    """The rate as the user gives it: samples/s, achieved FLOP/s, or a utilization."""
    fixed = {name for name in ("samples_per_second_per_gpu", RATE) if name in asked.settings}
    if asked.samples_per_second is not None or fixed:
        value = asked.samples_per_second
        given = {} if value is None else {RATE: Given(value, origin="user")}
        return Rung("given", given, "samples/s as given by the user")
    base = {"flops_per_sample": flops} if flops else {}
    if asked.achieved is not None or "achieved_flops_per_gpu" in asked.settings:
        achieved = {} if asked.achieved is None else {"achieved_flops_per_gpu": Given(asked.achieved, origin="user")}
        return Rung("efficiency", {**base, **achieved}, "achieved FLOP/s as given by the user")
    if asked.efficiency is not None or "model_flops_utilization" in asked.settings:
        share = {} if asked.efficiency is None else {"model_flops_utilization": Given(asked.efficiency, origin="user")}
        return Rung("efficiency", {**base, **share}, "model FLOPs utilization as given by the user")
    return None


def _nothing(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Given]
) -> IngestError:
    if gpu is None:
        return UsageError("--gpu is missing; expected an id (`ingest catalog list gpus`), --node, or --samples-per-second")
    if model is None:
        return UsageError("--model is missing; expected an id, or --samples-per-second")
    flops = known.get("flops_per_sample")
    if asked.protocol and asked.basis in ("auto", "measured"):
        seen = sorted({rate.protocol for rate in catalog.rates(model)})
        hint = f"; {model.id} has been measured under {', '.join(seen)}" if seen else ""
        return IngestError(f"--protocol: no rate of {model.id} on {gpu.id} under '{asked.protocol}' at {precision}{hint}")
    return ladder.absence(model, gpu, "measured" if asked.basis == "auto" else asked.basis, precision, flops)


def _results(known: Mapping[str, Given], catalog: Catalog) -> tuple[dict[str, Quantity], dict[str, str]]:
    """Every result that can be computed, with its range; and for the others what is missing."""
    typical = {name: item.value for name, item in known.items()}
    low = {name: item.value if item.low is None else item.low for name, item in known.items()}
    high = {name: item.value if item.high is None else item.high for name, item in known.items()}
    results: dict[str, Quantity] = {}
    unknown: dict[str, str] = {}
    for name in RESULTS:
        try:
            results[name] = _quantity(name, typical, low, high)
        except MissingQuantity as error:
            unknown[name] = _option_hint(error)
    if "ingest_bandwidth_per_node" in results:
        for name, storage in CLIENTS.items():
            client = catalog.get(Storage, storage).client_read_bandwidth
            if client is not None:
                ceiling = {"client_bandwidth_per_node": client.value}
                results[name] = _quantity("client_share", typical | ceiling, low | ceiling, high | ceiling)
    if typical.get("accelerator_utilization") == 1 and typical.get("scaling_efficiency") == 1:
        results.pop("unstalled_bandwidth_per_gpu", None)
    return results, unknown


def _quantity(name: str, typical: Mapping[str, float], low: Mapping[str, float], high: Mapping[str, float]) -> Quantity:
    """A result and its range; every formula of `bw` is monotone in the quantities that carry a range."""
    value = solve(name, typical)
    ends = sorted((solve(name, low), solve(name, high)))
    unit = FORMULAS[name].unit
    if ends[0] == ends[1]:
        return Quantity(value, unit)
    return Quantity(value, unit, min(ends[0], value), max(ends[1], value))


def _option_hint(error: MissingQuantity) -> str:
    """The message of a missing quantity, with the option that supplies it."""
    options = {name: option for option, name in Question.QUANTITIES.items()}
    option = options.get(error.name)
    hint = f"; supply --{option.replace('_', '-')}" if option else ""
    return str(error) if not option else f"{error.name} is not known{hint} (or --set {error.name}=VALUE)"


def parse_setting(text: str) -> tuple[str, float]:
    """Return name and value of `NAME=VALUE`, in the unit of the quantity.

    >>> parse_setting("sample_bytes=16 MiB")
    ('sample_bytes', 16777216)

    Raises:
        UsageError: no such quantity, or a value in another unit.
    """
    name, equals, written = text.partition("=")
    if not equals:
        raise UsageError(f"--set: found '{text}', expected NAME=VALUE")
    name = name.strip()
    return name, parse(written, unit_of(name), f"--set {name}")


def known_quantities() -> list[str]:
    """The names that `--set` and `explain` accept."""
    return [*FORMULAS, *LEAVES]


__all__ = ["CLIENTS", "RESULTS", "Entry", "Estimate", "Quantity", "Question", "estimate", "known_quantities", "parse_setting"]
