"""The transferred level: rates measured on other GPUs, scaled by what both GPUs showed with other models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ingest.catalog.records import Gpu, Model
from ingest.engine.registry import solve
from ingest.engine.value import Evidence, Input, Later
from ingest.formulas.bandwidth import transferred_samples_per_second_per_gpu
from ingest.sizing.evidence_ladder import RATE, EvidenceLevel, median, peak_of
from ingest.sizing.published_rates import ProtocolRate, PublishedRates, Series, extrapolation, scaled, typical
from ingest.sizing.rules import told
from ingest.text import grouped
from ingest.units import display

#: Eight A100 PCIe without NVLink against SXM, DLRM: the slowest of the measured systems.
NO_NVLINK = 1 / 65
#: How quickly a source GPU loses weight with its distance, the logarithm of the catalog ratio.
SOFTENING = 0.2
#: A source whose peak and memory bandwidth differ by more than this says little.
FAR = 4.0


class Tier(NamedTuple):
    """How far a transferred rate may be off, and why: the 85th percentile of the errors of such transfers, rounded up."""

    name: str
    factor: float
    why: str


UNSEEN = Tier("unseen", 1.8, "no other model has been measured on both GPUs")
THIN = Tier("thin", 1.5, "one source, or sources that disagree by 25 % or more")
SPREAD = Tier("spread", 1.35, "sources that disagree by 10 to 25 %")
AGREE = Tier("agree", 1.25, "sources that agree within 10 %")


class Transfer(NamedTuple):
    """A rate on one GPU, scaled to another."""

    rate: ProtocolRate
    source: Gpu
    known: Mapping[str, float]  # peak and memory bandwidth of both
    by_catalog: float  # the ratio of the catalogs
    seen: Mapping[str, float]  # the ratios that other models showed on both GPUs
    ratio: float  # the geometric mean of all of them
    distance: float  # how different the GPUs are: the logarithm of the catalog ratio
    weight: float  # the inverse square of the softened distance: GPUs that resemble the target count more
    value: float


@lru_cache(maxsize=1024)
def _of_datasheets(peak: float, bandwidth: float, source_peak: float, source_bandwidth: float) -> str:
    """The ratio of the catalogs in words."""
    peaks = " ÷ ".join(display(one, "FLOP/s", binary=False) for one in (peak, source_peak))
    return f"√({peaks} × {' ÷ '.join(display(one, 'B/s', binary=False) for one in (bandwidth, source_bandwidth))})"


def transferred(
    rates: PublishedRates, gpu: Gpu, precision: str, protocol: str | None, gpus: float | None = None
) -> EvidenceLevel | None:
    """Return the transferred level; None if no other GPU has a rate or a factor is unknown.

    Rates of a sibling precision count, under one protocol or all. The size of the job is None for one to a few nodes.
    """
    peak = peak_of(gpu, precision)
    if peak is None or gpu.memory_bandwidth is None:
        return None
    carriers = rates.once(("carriers", gpu, precision), lambda: [*_carriers(rates, gpu, precision)])
    scaled_to = [(few, series.at(gpus, rates.steps)) for series, few in carriers if protocol in (None, series.protocol)]
    carried = transferred_samples_per_second_per_gpu
    model, found = rates.model, [few._replace(rate=rate, value=carried(rate.value, few.ratio)) for few, rate in scaled_to]
    if not found:
        return None
    related = [transfer for transfer in found if transfer.source.vendor == gpu.vendor]
    # Under a protocol under which another model has been measured on the GPU.
    cells = rates.seen
    seen = [one for one in related if any(name != model.id for name, _ in cells.get((one.rate.protocol, gpu.id), {}))]
    used = seen or related or found
    groups = grouped((one.rate.protocol, one) for one in used)
    means = {  # weighted, of each protocol
        name: math.exp(sum(one.weight * math.log(one.value) for one in group) / sum(one.weight for one in group))
        for name, group in groups.items()
    }
    value, _ = typical(rates, means)
    tier = tier_of(used, _why_far(model, gpu, used, related, seen))
    # Beyond the sizes of the sources it is as uncertain as the rates there.
    opened = median((one.rate.low or one.rate.value) / one.rate.value for one in used)
    bound = model.family == "recsys" and gpu.form == "PCIe"
    low, high = value * NO_NVLINK if bound else value / tier.factor * opened, value * tier.factor
    nearest_first = sorted(used, key=lambda transfer: transfer.distance)
    sources = list(dict.fromkeys(transfer.source.id for transfer in nearest_first))
    named = f"{', '.join(sources[:3])}{' …' if len(sources) > 3 else ''}"
    of_protocols = f"median over {len(means)} protocols, each a " if len(means) > 1 else ""
    note = f"{of_protocols}weighted geometric mean of rates on {named}; range ×{tier.factor:g} either way: {tier.why}"
    batch = rates.batch

    def parts() -> Iterator[Evidence]:
        for name, mean in means.items() if len(used) > 1 else ():
            yield Evidence(f"{name}: weighted geometric mean", mean, "ingest-transfer-study", "", "derived")
        for one in nearest_first:
            # With the factors to recompute it by hand.
            factors, row = f"{_of_datasheets(*one.known.values())} = {one.by_catalog:.4g}", one.rate.rows[0]
            if one.seen:
                shown = "; ".join(f"{model} {ratio:.4g}" for model, ratio in sorted(one.seen.items()))
                factors = f"{one.ratio:.4g}, the geometric mean of {factors} and the ratios of other models: {shown}"
            what = f"{scaled(one.rate)} on {one.source.id} × {factors}; weight {one.weight / nearest_first[0].weight:.4f}"
            yield Evidence(f"{one.rate.protocol}: {what}", one.value, row.source, row.where, row.grade)

    warnings = Later(
        lambda: (
            *([told("W65", why=tier.why, factor=tier.factor)] if tier.name == "far" else []),
            *([told("W66", factor=NO_NVLINK)] if bound else []),
            *extrapolation(model, batch, [transfer.rate for transfer in used]),
        )
    )
    grade = "assumed" if _are_recalled(used) else "derived"
    given = Input(value, low, high, "catalog", "ingest-transfer-study", "docs/method.md", grade, note, Later(parts))
    return EvidenceLevel("transferred", {RATE: given}, note, warnings, means, gpus is not None)


def _are_recalled(transfers: Sequence[Transfer]) -> bool:
    return all(row.grade == "assumed" for transfer in transfers for row in transfer.rate.rows)


def _carriers(rates: PublishedRates, gpu: Gpu, precision: str) -> Iterator[tuple[Series, Transfer]]:
    """The runs on every other GPU and their rate on a few nodes, scaled to this one."""
    for series in rates.series("gpus", precision):
        if series.gpu == gpu.id or rates.is_emulation(series.protocol):
            continue
        source = rates.gpu(series.gpu)
        factors = _factors(gpu, source, precision)
        if factors is None:
            continue
        (known, of_catalog), related = factors, source.vendor == gpu.vendor
        seen = _seen_ratios(rates, gpu, source, series.protocol, of_catalog) if related else {}
        ratios = {"seen_ratios_product": math.prod(seen.values()), "seen_models": len(seen)}
        ratio = float(solve("transfer_ratio", {"catalog_transfer_ratio": of_catalog, **ratios}))
        distance, rate = abs(math.log(of_catalog)), series.few
        weight, value = 1 / (SOFTENING + distance) ** 2, transferred_samples_per_second_per_gpu(rate.value, ratio)
        yield series, Transfer(rate, source, known, of_catalog, seen, ratio, distance, weight, value)


@lru_cache(maxsize=4096)
def _factors(gpu: Gpu, source: Gpu, precision: str) -> tuple[dict[str, float], float] | None:
    """Peak and memory bandwidth of both GPUs, and the ratio of the catalogs; None if one is unknown."""
    found = {
        "peak_flops_per_gpu": peak_of(gpu, precision),
        "memory_bandwidth_per_gpu": gpu.memory_bandwidth,
        "source_peak_flops_per_gpu": peak_of(source, precision),
        "source_memory_bandwidth_per_gpu": source.memory_bandwidth,
    }
    known = {name: item.value for name, item in found.items() if item is not None}
    return (known, float(solve("catalog_transfer_ratio", known))) if len(known) == len(found) else None


def _seen_ratios(rates: PublishedRates, gpu: Gpu, source: Gpu, protocol: str, ratio: float) -> Mapping[str, float]:
    """The ratios that other models showed on both GPUs under a protocol, at the precision whose catalog ratio is `ratio`."""
    cells = rates.seen
    here, there = cells.get((protocol, gpu.id), {}), cells.get((protocol, source.id), {})
    both = ((key, rate / there[key]) for key, rate in here.items() if key in there and key[0] != rates.model.id)
    pairs = ((name, of_rates, _factors(gpu, source, precision)) for (name, precision), of_rates in both)
    found = grouped((name, of_rates * ratio / factors[1]) for name, of_rates, factors in pairs if factors is not None)
    # Of each model the geometric mean.
    return {name: math.exp(sum(map(math.log, ratios)) / len(ratios)) for name, ratios in found.items()}


def tier_of(transfers: Sequence[Transfer], why_far: str = "") -> Tier:
    """Return how far the value may be off; `why_far` is the reason why the transfers say little, if there is one."""
    if why_far:
        return Tier("far", 2.5, why_far)
    weights = [transfer.weight for transfer in transfers]
    logs = [math.log(transfer.value) for transfer in transfers]
    mean = sum(weight * log for weight, log in zip(weights, logs, strict=True)) / sum(weights)
    spread = math.sqrt(sum(w * (log - mean) ** 2 for w, log in zip(weights, logs, strict=True)) / sum(weights))
    if sum(t.weight * len(t.seen) for t in transfers) / sum(weights) < 0.5:
        return UNSEEN
    if len(transfers) == 1 or spread >= 0.25:
        return THIN
    return SPREAD if spread >= 0.1 else AGREE


def _why_far(model: Model, gpu: Gpu, used: Sequence[Transfer], related: Sequence[Transfer], seen: Sequence[Transfer]) -> str:
    """Why the sources say little: another vendor, no protocol in common, only recalled rates, or other GPUs altogether."""
    if not related:
        what = "scaled across vendors, where software maturity differs more than the hardware"
        return f"no other {gpu.vendor} GPU has a rate for {model.name}, so the rate is {what}"
    if not seen:
        names = ", ".join(dict.fromkeys(transfer.rate.protocol for transfer in used))
        return f"the rates come from protocols under which {gpu.id} has not been measured ({names})"
    if _are_recalled(used):
        return "the rates on other GPUs are recalled, not checked against a source"
    if all(transfer.distance > math.log(FAR) for transfer in used):
        return f"every source GPU differs by more than {FAR:g}× in peak and memory bandwidth"
    return ""
