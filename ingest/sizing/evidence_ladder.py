"""The levels of evidence for the rate at which a GPU consumes samples, the best first.

measured    rates of this model on this GPU; one per protocol, their median, and their ends as range
transferred rates of this model on other GPUs, scaled by the geometric mean of peak and memory-bandwidth ratio
efficiency  dense peak × a model FLOPs utilization derived from measurements ÷ FLOPs per sample
peak        dense peak ÷ FLOPs per sample: an upper bound only
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Rate, Scaling, Value
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, option_error
from ingest.engine.value import Evidence, Input
from ingest.errors import IngestError, expected_one_of

#: The quantity that the measured and transferred levels give.
RATE = "unstalled_samples_per_second_per_gpu"
BASES = ("measured", "transferred", "efficiency", "peak")
FAMILIES = (("bf16", "fp16"), ("tf32", "fp32"), ("fp8",), ("fp4",), ("fp64",))

#: Size up to which no scaling loss is assumed: the base of the scaling study.
BASE_GPUS = 16


class EvidenceLevel(NamedTuple):
    """One level of evidence: the quantities that it gives, its basis, and its warnings."""

    basis: str
    given: dict[str, Input]
    note: str
    warnings: tuple[str, ...] = ()
    protocols: Mapping[str, float] = MappingProxyType({})


def from_catalog(value: Value) -> Input:
    """Return a catalog value as an input."""
    return Input(value.value, value.low, value.high, "catalog", value.source, value.where, value.grade, value.note)


def family_of(precision: str) -> tuple[str, ...]:
    """Return the precisions that train at one rate: `bf16` and `fp16`, `tf32` and `fp32`.

    Raises:
        UsageError: an unknown precision.
    """
    for members in FAMILIES:
        if precision in members:
            return members
    raise option_error("precision", f": found '{precision}', {expected_one_of(precision, sum(FAMILIES, ()))}")


def peak_of(gpu: Gpu, precision: str) -> Input | None:
    """Return the dense peak at a precision, or at one of its family."""
    members = family_of(precision)
    for name in (precision, *members):
        if name in gpu.peak_flops:
            return from_catalog(gpu.peak_flops[name])
    return None


def usual_precision(rates: Sequence[Rate]) -> str:
    """Return bf16, or the most frequent precision of a model that has only been measured at others."""
    seen = [family_of(rate.precision)[0] for rate in rates]
    return "bf16" if "bf16" in seen or not seen else max(sorted(set(seen)), key=seen.count)


def scaling_factor(catalog: Catalog, gpus: float, kind: str = "strong") -> Value:
    """Return the rate per GPU at a size, over the rate on one to a few nodes.

    >>> scaling_factor(Catalog(), 1024).value
    0.38
    """
    factors = catalog.get(Scaling, kind).factors
    limits = sorted((int(name.removeprefix("up-to-")), value) for name, value in factors.items() if name != "more")
    return next((value for limit, value in limits if gpus <= limit), factors["more"])


def scaling_loss(catalog: Catalog, gpus: float, measured_on: float) -> float:
    """Return the share of the rate per GPU that strong scaling to a larger job keeps; at most 1.

    >>> scaling_loss(Catalog(), 1024, measured_on=8), scaling_loss(Catalog(), 1024, measured_on=2048)
    (0.38, 1.0)
    """
    larger, base = (1.0 if size <= BASE_GPUS else scaling_factor(catalog, size).value for size in (gpus, measured_on))
    return min(1.0, larger / base)


def median(numbers: Iterable[float]) -> float:
    """Return the middle value; the mean of the two middle values of an even number.

    >>> median([3, 1, 2]), median([1, 2])
    (2, 1.5)
    """
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def efficiency(catalog: Catalog, model: Model | None, gpu: Gpu, precision: str, flops: Input | None) -> EvidenceLevel | None:
    """Return the efficiency level: from the model's own utilization if it is known, else from that of its class."""
    peak = peak_of(gpu, precision)
    if peak is None or flops is None or model is None or precision not in FAMILIES[0]:
        # The utilizations in the catalogs are shares of the 16-bit peak.
        return None
    own = model.efficiencies
    if own and flops.origin == "user":
        # They were derived with the FLOPs per sample of the catalog and do not apply to others.
        return None
    if own:
        value = median(item.value for item in own.values())
        low, high = min(item.value for item in own.values()), max(item.value for item in own.values())
        parts = tuple(Evidence(name, item.value, item.source, item.where, item.grade) for name, item in own.items())
        note = f"utilization of {model.name} on {len(own)} GPU{'s' if len(own) > 1 else ''}"
        given = Input(value, low, high, source="ingest-rates", grade="derived", note=note, parts=parts)
    else:
        shared = catalog.referred(Family, model.family, by=model.path).efficiency
        if shared is None:
            return None
        given, note = from_catalog(shared), f"utilization of its class ({model.family}), not of this model"
    # FLOPs per sample that overcount give shares above 1; a utilization cannot be one.
    capped = {name: min(end, 1.0) for name in ("value", "low", "high") if (end := getattr(given, name)) is not None}
    given = given._replace(**capped)
    return EvidenceLevel(
        "efficiency", {"peak_flops_per_gpu": peak, "model_flops_utilization": given, "flops_per_sample": flops}, note
    )


def peak(gpu: Gpu, precision: str, flops: Input | None) -> EvidenceLevel | None:
    """Return the peak level: an upper bound only."""
    top = peak_of(gpu, precision)
    if top is None or flops is None:
        return None
    flops = flops._replace(low=None, high=None)
    full = Input(1.0, origin="default", note="upper bound: no training run reaches the dense peak")
    note = "upper bound only: training runs reach between 1/80 and 1/2 of it"
    return EvidenceLevel("peak", {"peak_flops_per_gpu": top, "model_flops_utilization": full, "flops_per_sample": flops}, note)


def absence(model: Model, gpu: Gpu, basis: str, precision: str, flops: Input | None, protocol: str | None) -> IngestError:
    """Return the reason why a level does not exist, and what to supply."""
    if basis in ("efficiency", "peak") and flops is None:
        text = f"no {basis} estimate: the FLOPs per sample of {model.id} are not known"
        why = model.missing.get("flops_per_sample")
        return IngestError(Message(text + (f" ({why})" if why else ""), supply=("flops_per_sample",)))
    if peak_of(gpu, precision) is None and basis != "measured":
        known = ", ".join(gpu.peak_flops) or "none"
        return IngestError(f"no {basis} estimate: {gpu.id} has no dense {precision} peak in the catalog (known: {known})")
    if basis == "transferred" and gpu.memory_bandwidth is None:
        return IngestError(f"no transferred estimate: {gpu.missing.get('memory_bandwidth', 'memory bandwidth not known')}")
    if basis == "efficiency":
        return IngestError(
            Message(f"no efficiency estimate: no utilization of {model.id} at {precision} is known", supply=("efficiency",))
        )
    what = {"measured": f"on {gpu.id} at {precision}", "transferred": f"on another GPU at {precision}"}.get(basis, "")
    under = f" under {protocol}" if protocol else ""
    return IngestError(
        Message(f"no {basis} estimate: no rate of {model.id} {what}{under} is published", supply=("samples_per_second",))
    )
