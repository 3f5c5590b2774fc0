"""The transferred rung: rates of a model on other GPUs, scaled by the geometric mean of peak and memory bandwidth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Protocol
from ingest.catalog.store import Catalog
from ingest.formula import solve
from ingest.ladder import RATE, Given, Part, ProtocolRate, Rung, median, peak_of, protocol_rates
from ingest.units import exact

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
    ratio: float
    value: float

    @property
    def weight(self) -> float:
        """Near relatives count more: the inverse square of the softened distance."""
        return 1 / (SOFTENING + abs(math.log(self.ratio))) ** 2


def transferred(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Rung | None:
    """The transferred rung, or None where no other GPU has a rate or a needed figure is missing."""
    peak = peak_of(gpu, precision)
    if peak is None or gpu.memory_bandwidth is None:
        return None
    target = {"peak_flops_per_gpu": peak.value, "memory_bandwidth_per_gpu": gpu.memory_bandwidth.value}
    found = []
    for rate in protocol_rates(model, catalog.rates(model), precision):
        if rate.gpu == gpu.id or (protocol and rate.protocol != protocol):
            continue
        file = model.path.with_suffix(".csv")
        if not protocol and catalog.referred(Protocol, rate.protocol, by=file).form == "emulation":
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
        ratio = float(solve("transfer_ratio", known))
        found.append(Transfer(rate, source, ratio, float(solve("transferred_samples_per_second_per_gpu", known))))
    related = [transfer for transfer in found if transfer.source.vendor == gpu.vendor]
    family = catalog.referred(Family, model.family, by=model.path)
    return _combine(model, gpu, family, related or found, crossed=not related) if found else None


def combined_rate(transfers: Sequence[Transfer]) -> float:
    """Weighted geometric mean within a protocol, median over the protocols."""
    protocols: dict[str, list[Transfer]] = {}
    for transfer in transfers:
        protocols.setdefault(transfer.rate.protocol, []).append(transfer)
    return median(
        math.exp(sum(t.weight * math.log(t.value) for t in group) / sum(t.weight for t in group))
        for group in protocols.values()
    )


def _band(family: Family) -> tuple[float, float]:
    """The range of a transfer within a vendor: that of its class where enough pairs have shown it, never narrower."""
    shown = family.transfer_range
    if shown is None or shown.low is None or shown.high is None:
        return WIDE_BAND
    return min(NEAR_BAND[0], shown.low), max(NEAR_BAND[1], shown.high)


def _combine(model: Model, gpu: Gpu, family: Family, transfers: Sequence[Transfer], crossed: bool) -> Rung:
    value = combined_rate(transfers)
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
    gpus = sorted({transfer.source.id for transfer in transfers})
    note = f"weighted geometric mean from {', '.join(gpus[:3])}{' …' if len(gpus) > 3 else ''}; P10–P90 of such transfers"
    parts = tuple(
        Part(
            f"{t.rate.protocol} on {t.source.id}: {exact(t.rate.value)} × {t.ratio:.6g}, weight {t.weight / heaviest:.4f}",
            t.value,
            t.rate.rows[0].source,
            t.rate.rows[0].where,
            t.rate.rows[0].grade,
        )
        for t in nearest_first
    )
    given = Given(
        value, value * low, value * high, "catalog", "ingest-transfer-study", "docs/method.md", "derived", note, parts
    )
    return Rung("transferred", {RATE: given}, note, tuple(warnings))
