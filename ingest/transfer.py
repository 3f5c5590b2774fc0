"""The transferred rung: rates of a model on other GPUs, scaled by the geometric mean of peak and memory bandwidth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Protocol
from ingest.catalog.store import Catalog
from ingest.engine.value import Evidence, Input
from ingest.formula import solve
from ingest.ladder import RATE, Rung, median, peak_of
from ingest.measurement import ProtocolRate, protocol_rates
from ingest.units import display, exact

#: Measured ÷ transferred, P10 to P90 (docs/method.md): within a vendor and a ratio of four, and beyond.
NEAR_BAND = (0.65, 1.5)
WIDE_BAND = (0.5, 2.0)
#: Eight A100 PCIe without NVLink against SXM, DLRM: the slowest of the measured systems.
NO_NVLINK = 1 / 65
#: How quickly a source GPU loses weight with its distance, the logarithm of the transfer ratio.
SOFTENING = 0.2


class Transfer(NamedTuple):
    """A rate carried from one GPU to another."""

    rate: ProtocolRate
    source: Gpu
    known: dict[str, float]
    ratio: float
    value: float

    @property
    def weight(self) -> float:
        """Near relatives count more: the inverse square of the softened distance."""
        return 1 / (SOFTENING + abs(math.log(self.ratio))) ** 2

    def part(self, heaviest: float) -> Evidence:
        """This transfer as evidence, so that it can be recomputed by hand."""
        peaks, bandwidths = (
            f"{display(self.known[name], unit, binary=False)} ÷ {display(self.known['source_' + name], unit, binary=False)}"
            for name, unit in (("peak_flops_per_gpu", "FLOP/s"), ("memory_bandwidth_per_gpu", "B/s"))
        )
        what = f"{exact(self.rate.value)} on {self.source.id} × √({peaks} × {bandwidths}), weight {self.weight / heaviest:.4f}"
        row = self.rate.rows[0]
        return Evidence(f"{self.rate.protocol}: {what}", self.value, row.source, row.where, row.grade)


def transferred(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Rung | None:
    """The transferred rung, or None where no other GPU has a rate or a needed figure is missing."""
    found = list(_transfers(catalog, model, gpu, precision, protocol))
    if not found:
        return None
    related = [transfer for transfer in found if transfer.source.vendor == gpu.vendor]
    seen = [transfer for transfer in related if transfer.rate.protocol in gpu.protocols]
    family = catalog.referred(Family, model.family, by=model.path)
    return _rung(model, gpu, family, seen or related or found, crossed=not related)


def _transfers(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Iterator[Transfer]:
    """Every measured rate on another GPU, carried to this one; emulated accelerators have no speed to carry over."""
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
    """The weighted geometric mean of each protocol."""
    groups: dict[str, list[Transfer]] = {}
    for transfer in transfers:
        groups.setdefault(transfer.rate.protocol, []).append(transfer)
    return {
        protocol: math.exp(sum(t.weight * math.log(t.value) for t in group) / sum(t.weight for t in group))
        for protocol, group in groups.items()
    }


def _band(family: Family) -> tuple[float, float]:
    """The range of a transfer within a vendor: that of its class where enough pairs have shown it, never narrower."""
    shown = family.transfer_range
    if shown is None or shown.low is None or shown.high is None:
        return WIDE_BAND
    return min(NEAR_BAND[0], shown.low), max(NEAR_BAND[1], shown.high)


def _rung(model: Model, gpu: Gpu, family: Family, transfers: Sequence[Transfer], crossed: bool) -> Rung:
    means = by_protocol(transfers)
    value = median(means.values())
    nearest_first = sorted(transfers, key=lambda transfer: -transfer.weight)
    heaviest = nearest_first[0].weight
    far = all(abs(math.log(transfer.ratio)) > math.log(4) for transfer in transfers)
    low, high = WIDE_BAND if crossed or far else _band(family)
    warnings = []
    if crossed:
        warnings.append(
            f"no other {gpu.vendor} part has a rate for {model.name}: carried across vendors, where software maturity "
            f"differs more than the hardware; range ×{low} to ×{high}"
        )
    if far:
        warnings.append(f"every source GPU is more than 4× away by peak and memory bandwidth; range ×{low} to ×{high}")
    if model.family == "recsys" and gpu.form == "PCIe":
        low = NO_NVLINK
        warnings.append(
            "embedding tables sharded over GPUs without NVLink have measured 18 to 65 times slower: "
            f"no ratio of peaks or bandwidths sees this, so the range goes down to ×{low:.3f}"
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
    return Rung("transferred", {RATE: given}, note, tuple(warnings))
