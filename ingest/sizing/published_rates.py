"""The measured and the transferred level: published rates of a model on a GPU, and rates scaled from other GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Protocol, Rate
from ingest.catalog.store import Catalog
from ingest.engine.registry import solve
from ingest.engine.value import Evidence, Input
from ingest.sizing.evidence_ladder import RATE, EvidenceLevel, family_of, median, peak_of, scaling_loss
from ingest.units import display, exact

#: A rate on more nodes than this is not the rate on "one to a few nodes" if a smaller run is published.
FEW_NODES = 2


class ProtocolRate(NamedTuple):
    """The rate of a model on a GPU under one protocol, on one to a few nodes."""

    protocol: str
    gpu: str
    value: float
    rows: tuple[Rate, ...]


def protocol_rates(model: Model, rates: Iterable[Rate], precision: str) -> list[ProtocolRate]:
    """Return one rate per GPU and protocol: the median of the runs on at most two nodes, or of the smallest runs.

    Rates graded `assumed` count only if there are no others at that precision.
    """
    members = family_of(precision)
    usable = [rate for rate in rates if rate.precision in members and samples_of(model, rate) is not None]
    sure = [rate for rate in usable if rate.grade != "assumed"]
    groups: dict[tuple[str, str], list[Rate]] = {}
    for rate in sure or usable:
        groups.setdefault((rate.gpu, rate.protocol), []).append(rate)
    found = []
    for (gpu, protocol), rows in groups.items():
        limit = max(FEW_NODES, min(row.nodes for row in rows))
        small = tuple(row for row in rows if row.nodes <= limit)
        middle = median(samples_of(model, row) or 0 for row in small)
        found.append(ProtocolRate(protocol, gpu, middle, small))
    return found


def samples_of(model: Model, rate: Rate) -> float | None:
    """Return the rate in samples/s; from FLOP/s if only those are published and the FLOPs per sample are known."""
    if rate.samples_per_second_per_gpu is not None:
        return rate.samples_per_second_per_gpu
    if rate.achieved_flops_per_gpu is None or model.flops_per_sample is None:
        return None
    known = {"achieved_flops_per_gpu": rate.achieved_flops_per_gpu, "flops_per_sample": model.flops_per_sample.value}
    return float(solve(RATE, known))


def measured(
    catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None, gpus: float
) -> EvidenceLevel | None:
    """Return the measured level; None if no rate is published."""
    rates = protocol_rates(model, catalog.rates(model), precision)
    found = sorted(
        (rate for rate in rates if rate.gpu == gpu.id and protocol in (None, rate.protocol)), key=lambda rate: rate.value
    )
    if not found:
        return None
    parts = tuple(_part(catalog, model, rate) for rate in found)
    value = median(rate.value for rate in found)
    loss = scaling_loss(catalog, gpus, measured_on=min(row.gpus for rate in found for row in rate.rows))
    several = len(found) > 1
    ends = [rate.value for rate in found] if several else [*parts[0].runs, value]
    note = f"median of {len(found)} protocols" if several else f"protocol {parts[0].what}"
    given = Input(
        value,
        low=min([*ends, solve("samples_per_second_per_gpu", {RATE: value, "scaling_efficiency": loss})]),
        high=max(ends),
        source="" if several else parts[0].source,
        where="" if several else parts[0].where,
        grade="assumed" if all(part.grade == "assumed" for part in parts) else "measured",
        note=note,
        parts=parts,
    )
    protocols = {rate.protocol: rate.value for rate in found}
    return EvidenceLevel("measured", {RATE: given}, note, _protocol_warnings(catalog, found), protocols)


def _part(catalog: Catalog, model: Model, rate: ProtocolRate) -> Evidence:
    """The rate of a protocol as evidence, with the grade of its weakest run."""
    first = rate.rows[0]
    grade = "assumed" if any(row.grade == "assumed" for row in rate.rows) else first.grade
    runs = tuple(sorted(samples_of(model, row) or 0 for row in rate.rows)) if len(rate.rows) > 1 else ()
    return Evidence(_named(catalog, model, rate), rate.value, first.source, first.where, grade, runs)


def _named(catalog: Catalog, model: Model, rate: ProtocolRate) -> str:
    form = catalog.referred(Protocol, rate.protocol, by=model.path.with_suffix(".csv")).form
    return f"{rate.protocol}, emulated" if form == "emulation" else f"{rate.protocol}, {_sizes(rate.rows)}"


def _sizes(rows: Sequence[Rate]) -> str:
    sizes = sorted({row.gpus for row in rows})
    if len(sizes) == 1:
        return f"{sizes[0]:,} GPU{'s' if sizes[0] > 1 else ''}"
    return f"{sizes[0]:,} to {sizes[-1]:,} GPUs"


def _protocol_warnings(catalog: Catalog, found: Sequence[ProtocolRate]) -> tuple[str, ...]:
    warnings = []
    slowest, fastest = found[0], found[-1]
    spread = fastest.value / slowest.value
    if spread > 1.5:
        words = "; ".join(f"{rate.protocol} {rate.value:,.4g}" for rate in reversed(found))
        first, last = (catalog.get(Protocol, rate.protocol) for rate in (fastest, slowest))
        warnings.append(
            f"protocols disagree {spread:.1f}× (samples/s per GPU: {words}). Size storage for the fastest protocol that your "
            f"code will run, and name it in the tender. {first.name}: {first.advice} {last.name}: {last.advice}"
        )
    elif len(found) == 1 and catalog.get(Protocol, slowest.protocol).form == "emulation":
        protocol = catalog.get(Protocol, slowest.protocol)
        warnings.append(f"the only measured rate is emulated ({protocol.name}). {protocol.advice}")
    if any(row.grade == "assumed" for rate in found for row in rate.rows):
        warnings.append("the rate has not been checked against its source: check it before a tender")
    smallest = min(row.gpus for rate in found for row in rate.rows)
    if min(row.nodes for rate in found for row in rate.rows) > FEW_NODES:
        warnings.append(f"no run on one or two nodes is published: the smallest has {smallest:,} GPUs, including scaling loss")
    return tuple(warnings)


#: Measured ÷ transferred, P10 to P90 (docs/method.md): within a vendor and a ratio of four, and beyond.
NEAR_BAND = (0.65, 1.5)
WIDE_BAND = (0.5, 2.0)
#: Eight A100 PCIe without NVLink against SXM, DLRM: the slowest of the measured systems.
NO_NVLINK = 1 / 65
#: How quickly a source GPU loses weight with its distance, the logarithm of the transfer ratio.
SOFTENING = 0.2


class Transfer(NamedTuple):
    """A rate on one GPU, scaled to another."""

    rate: ProtocolRate
    source: Gpu
    known: dict[str, float]
    ratio: float
    value: float

    @property
    def weight(self) -> float:
        """The inverse square of the softened distance: GPUs that resemble the target count more."""
        return 1 / (SOFTENING + abs(math.log(self.ratio))) ** 2

    def part(self, heaviest: float) -> Evidence:
        """The transfer as evidence, with the factors to recompute it by hand."""
        peaks, bandwidths = (
            f"{display(self.known[name], unit, binary=False)} ÷ {display(self.known['source_' + name], unit, binary=False)}"
            for name, unit in (("peak_flops_per_gpu", "FLOP/s"), ("memory_bandwidth_per_gpu", "B/s"))
        )
        what = f"{exact(self.rate.value)} on {self.source.id} × √({peaks} × {bandwidths}), weight {self.weight / heaviest:.4f}"
        row = self.rate.rows[0]
        return Evidence(f"{self.rate.protocol}: {what}", self.value, row.source, row.where, row.grade)


def transferred(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> EvidenceLevel | None:
    """Return the transferred level; None if no other GPU has a rate or a factor is unknown."""
    found = list(_transfers(catalog, model, gpu, precision, protocol))
    if not found:
        return None
    related = [transfer for transfer in found if transfer.source.vendor == gpu.vendor]
    seen = [transfer for transfer in related if transfer.rate.protocol in gpu.protocols]
    family = catalog.referred(Family, model.family, by=model.path)
    return _level(model, gpu, family, seen or related or found, crossed=not related)


def _transfers(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Iterator[Transfer]:
    """Every measured rate on another GPU, scaled to this one; emulated accelerators have no rate to scale."""
    peak = peak_of(gpu, precision)
    if peak is None or gpu.memory_bandwidth is None:
        return
    target = {"peak_flops_per_gpu": peak.value, "memory_bandwidth_per_gpu": gpu.memory_bandwidth.value}
    file = model.path.with_suffix(".csv")
    for rate in protocol_rates(model, catalog.rates(model), precision):
        if rate.gpu == gpu.id or protocol not in (None, rate.protocol):
            continue
        if catalog.referred(Protocol, rate.protocol, by=file).form == "emulation":
            continue
        source = catalog.referred(Gpu, rate.gpu, by=file)
        source_peak = peak_of(source, precision)
        if source_peak is None or source.memory_bandwidth is None:
            continue
        known = target | {
            "source_samples_per_second_per_gpu": rate.value,
            "source_peak_flops_per_gpu": source_peak.value,
            "source_memory_bandwidth_per_gpu": source.memory_bandwidth.value,
        }
        ratio, value = (float(solve(name, known)) for name in ("transfer_ratio", "transferred_samples_per_second_per_gpu"))
        yield Transfer(rate, source, known, ratio, value)


def by_protocol(transfers: Sequence[Transfer]) -> dict[str, float]:
    """Return the weighted geometric mean of each protocol."""
    groups: dict[str, list[Transfer]] = {}
    for transfer in transfers:
        groups.setdefault(transfer.rate.protocol, []).append(transfer)
    return {
        protocol: math.exp(sum(t.weight * math.log(t.value) for t in group) / sum(t.weight for t in group))
        for protocol, group in groups.items()
    }


def _band(family: Family) -> tuple[float, float]:
    """The range of a transfer within a vendor: at least the near band, wider if pairs of its class show it."""
    shown = family.transfer_range
    if shown is None or shown.low is None or shown.high is None:
        return WIDE_BAND
    return min(NEAR_BAND[0], shown.low), max(NEAR_BAND[1], shown.high)


def _level(model: Model, gpu: Gpu, family: Family, transfers: Sequence[Transfer], crossed: bool) -> EvidenceLevel:
    means = by_protocol(transfers)
    value = median(means.values())
    nearest_first = sorted(transfers, key=lambda transfer: -transfer.weight)
    heaviest = nearest_first[0].weight
    far = all(abs(math.log(transfer.ratio)) > math.log(4) for transfer in transfers)
    low, high = WIDE_BAND if crossed or far else _band(family)
    warnings = []
    if crossed:
        warnings.append(
            f"no other {gpu.vendor} GPU has a rate for {model.name}: scaled across vendors, where software maturity "
            f"differs more than the hardware; range ×{low} to ×{high}"
        )
    if far:
        warnings.append(f"every source GPU differs by more than 4× in peak and memory bandwidth; range ×{low} to ×{high}")
    if model.family == "recsys" and gpu.form == "PCIe":
        low = NO_NVLINK
        warnings.append(
            "embedding tables sharded over GPUs without NVLink have been measured 18 to 65 times slower, "
            f"which no ratio of peaks or bandwidths predicts: the range extends down to ×{low:.3f}"
        )
    sources = list(dict.fromkeys(transfer.source.id for transfer in nearest_first))
    named = f"{', '.join(sources[:3])}{' …' if len(sources) > 3 else ''}"
    of_protocols = f"median over {len(means)} protocols, each a " if len(means) > 1 else ""
    note = f"{of_protocols}weighted geometric mean from {named}; range ×{low:.2g} to ×{high:.2g}, at least P10–P90 of its class"
    parts = [
        Evidence(f"{protocol}: weighted geometric mean", mean, "ingest-transfer-study", "", "derived")
        for protocol, mean in means.items()
        if len(transfers) > 1
    ]
    parts += [transfer.part(heaviest) for transfer in nearest_first]
    given = Input(
        value, value * low, value * high, "catalog", "ingest-transfer-study", "docs/method.md", "derived", note, tuple(parts)
    )
    return EvidenceLevel("transferred", {RATE: given}, note, tuple(warnings))
