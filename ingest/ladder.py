"""The ladder of evidence: how fast a GPU consumes samples, from the best evidence down.

measured    rates of this model on this GPU; one per protocol, their median, their ends as range
transferred rates of this model on other GPUs, scaled by the geometric mean of peak and memory-bandwidth ratio
efficiency  dense peak × a model FLOPs utilization derived from measurements ÷ FLOPs per sample
peak        dense peak ÷ FLOPs per sample: an upper bound only
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Protocol, Rate, Scaling, Value
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, UsageError, nearest
from ingest.formula import solve

#: The quantity that the measured and transferred rungs give.
RATE = "unstalled_samples_per_second_per_gpu"
BASES = ("measured", "transferred", "efficiency", "peak")
FAMILIES = (("bf16", "fp16"), ("tf32", "fp32"), ("fp8",), ("fp4",), ("fp64",))

#: A rate on more nodes than this is not taken as the rate on "one to a few nodes" where there is a smaller run.
FEW_NODES = 2
#: Size up to which no scaling loss is assumed: the base of the scaling study.
BASE_GPUS = 16


class Given(NamedTuple):
    """A known quantity and how it is known.

    Attributes:
        value: in base units; `low` and `high` where a spread is known.
        origin: `user`, `catalog` or `default`.
        parts: the evidence it was made from, as (what, value in the same unit, source id, place, grade).
    """

    value: float
    low: float | None = None
    high: float | None = None
    origin: str = "catalog"
    source: str = ""
    where: str = ""
    grade: str = ""
    note: str = ""
    parts: tuple[Part, ...] = ()


class Part(NamedTuple):
    """One piece of evidence behind a value; `runs` are the single figures where it is their median."""

    what: str
    value: float
    source: str
    where: str
    grade: str
    runs: tuple[float, ...] = ()


class Rung(NamedTuple):
    """One rung of the ladder: the quantities it gives, what it rests on, and what to be wary of."""

    basis: str
    given: dict[str, Given]
    note: str
    warnings: tuple[str, ...] = ()
    protocols: Mapping[str, float] = MappingProxyType({})


def from_catalog(value: Value) -> Given:
    """A catalog value as a known quantity."""
    return Given(value.value, value.low, value.high, "catalog", value.source, value.where, value.grade, value.note)


def family_of(precision: str) -> tuple[str, ...]:
    """Precisions that train alike: `bf16` and `fp16`, `tf32` and `fp32`.

    Raises:
        UsageError: an unknown precision.
    """
    for members in FAMILIES:
        if precision in members:
            return members
    known = sum(FAMILIES, ())
    raise UsageError(f"--precision: found '{precision}', expected one of {', '.join(known)}{nearest(precision, known)}")


def peak_of(gpu: Gpu, precision: str) -> Given | None:
    """The dense peak at a precision or at its sibling."""
    members = family_of(precision)
    for name in (precision, *members):
        if name in gpu.peak_flops:
            return from_catalog(gpu.peak_flops[name])
    return None


def usual_precision(rates: Sequence[Rate]) -> str:
    """bf16, unless the model has only been measured at other precisions: then the one most often seen."""
    seen = [family_of(rate.precision)[0] for rate in rates]
    return "bf16" if "bf16" in seen or not seen else max(sorted(set(seen)), key=seen.count)


def scaling_factor(catalog: Catalog, gpus: float, kind: str = "strong") -> Value:
    """Rate per GPU at a size, over the rate on one to a few nodes.

    >>> scaling_factor(Catalog(), 1024).value
    0.38
    """
    factors = catalog.get(Scaling, kind).factors
    limits = sorted((int(name.removeprefix("up-to-")), value) for name, value in factors.items() if name != "more")
    return next((value for limit, value in limits if gpus <= limit), factors["more"])


def scaling_loss(catalog: Catalog, gpus: float, measured_on: float) -> float:
    """What strong scaling from the measured size to the asked size leaves of the rate per GPU; at most 1.

    >>> scaling_loss(Catalog(), 1024, measured_on=8), scaling_loss(Catalog(), 1024, measured_on=2048)
    (0.38, 1.0)
    """
    asked, base = (1.0 if size <= BASE_GPUS else scaling_factor(catalog, size).value for size in (gpus, measured_on))
    return min(1.0, asked / base)


def median(numbers: Iterable[float]) -> float:
    """The middle value; the mean of the two middle ones.

    >>> median([3, 1, 2]), median([1, 2])
    (2, 1.5)
    """
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


class ProtocolRate(NamedTuple):
    """The rate of a model on a GPU under one protocol, on one to a few nodes."""

    protocol: str
    gpu: str
    value: float
    rows: tuple[Rate, ...]


def protocol_rates(model: Model, rates: Iterable[Rate], precision: str) -> list[ProtocolRate]:
    """One rate per GPU and protocol: the median of the runs on at most two nodes, or of the smallest runs there are."""
    members = family_of(precision)
    groups: dict[tuple[str, str], list[Rate]] = {}
    for rate in rates:
        if rate.precision in members and samples_of(model, rate) is not None:
            groups.setdefault((rate.gpu, rate.protocol), []).append(rate)
    found = []
    for (gpu, protocol), rows in groups.items():
        limit = max(FEW_NODES, min(row.nodes for row in rows))
        small = tuple(row for row in rows if row.nodes <= limit)
        middle = median(samples_of(model, row) or 0 for row in small)
        found.append(ProtocolRate(protocol, gpu, middle, small))
    return found


def samples_of(model: Model, rate: Rate) -> float | None:
    """The rate in samples; from FLOP/s where only those are published and the model's FLOPs are known."""
    if rate.samples_per_second_per_gpu is not None:
        return rate.samples_per_second_per_gpu
    if rate.achieved_flops_per_gpu is None or model.flops_per_sample is None:
        return None
    known = {"achieved_flops_per_gpu": rate.achieved_flops_per_gpu, "flops_per_sample": model.flops_per_sample.value}
    return float(solve(RATE, known))


def measured(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None, gpus: float) -> Rung | None:
    """The measured rung, or None where nobody has published a rate."""
    found = [rate for rate in protocol_rates(model, catalog.rates(model), precision) if rate.gpu == gpu.id]
    if protocol:
        found = [rate for rate in found if rate.protocol == protocol]
    if not found:
        return None
    found.sort(key=lambda rate: rate.value)
    value = median(rate.value for rate in found)
    loss = scaling_loss(catalog, gpus, measured_on=min(row.gpus for rate in found for row in rate.rows))
    many = len(found) > 1
    parts = tuple(
        Part(
            _named(catalog, model, rate),
            rate.value,
            rate.rows[0].source,
            rate.rows[0].where,
            max((row.grade for row in rate.rows), key=lambda grade: grade == "assumed"),
            tuple(sorted(samples_of(model, row) or 0 for row in rate.rows)) if len(rate.rows) > 1 else (),
        )
        for rate in found
    )
    grade = "assumed" if all(part.grade == "assumed" for part in parts) else "measured"
    note = f"median of {len(found)} protocols" if many else f"protocol {parts[0].what}"
    ends = [rate.value for rate in found] if many else [samples_of(model, row) or value for row in found[0].rows]
    given = Given(
        value,
        low=min([*ends, value * loss]),
        high=max(ends),
        source="" if many else parts[0].source,
        where="" if many else parts[0].where,
        grade=grade,
        note=note,
        parts=parts,
    )
    rates = {rate.protocol: rate.value for rate in found}
    return Rung(
        "measured",
        {RATE: given},
        note,
        _protocol_warnings(catalog, found),
        rates,
    )


def _named(catalog: Catalog, model: Model, rate: ProtocolRate) -> str:
    """A protocol with what it is and the sizes it was run at."""
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
            f"protocols disagree {spread:.1f}× (samples/s per GPU: {words}). Demand storage for the fastest one that your "
            f"code will really run, and name it in the tender. {first.name}: {first.advice} {last.name}: {last.advice}"
        )
    elif len(found) == 1 and catalog.get(Protocol, slowest.protocol).form == "emulation":
        protocol = catalog.get(Protocol, slowest.protocol)
        warnings.append(f"the only measured rate is emulated ({protocol.name}). {protocol.advice}")
    smallest = min(row.gpus for rate in found for row in rate.rows)
    if min(row.nodes for rate in found for row in rate.rows) > FEW_NODES:
        warnings.append(f"no run on one or two nodes is published: the smallest has {smallest:,} GPUs, scaling loss included")
    return tuple(warnings)


def efficiency(catalog: Catalog, model: Model | None, gpu: Gpu, precision: str, flops: Given | None) -> Rung | None:
    """The efficiency rung: the model's own utilization where it is known, else that of its class."""
    peak = peak_of(gpu, precision)
    if peak is None or flops is None or model is None:
        return None
    own = model.efficiencies
    if own:
        value = median(item.value for item in own.values())
        low, high = min(item.value for item in own.values()), max(item.value for item in own.values())
        parts = tuple(Part(name, item.value, item.source, item.where, item.grade) for name, item in own.items())
        note = f"utilization of {model.name} on {len(own)} GPU{'s' if len(own) > 1 else ''}"
        given = Given(value, low, high, source="ingest-rates", grade="derived", note=note, parts=parts)
    else:
        shared = catalog.referred(Family, model.family, by=model.path).efficiency
        if shared is None:
            return None
        given, note = from_catalog(shared), f"utilization of its class ({model.family}), not of this model"
    # FLOPs per sample that overcount give shares above 1; a utilization cannot be one.
    capped = {name: min(end, 1.0) for name in ("value", "low", "high") if (end := getattr(given, name)) is not None}
    given = given._replace(**capped)
    return Rung("efficiency", {"peak_flops_per_gpu": peak, "model_flops_utilization": given, "flops_per_sample": flops}, note)


def peak(gpu: Gpu, precision: str, flops: Given | None) -> Rung | None:
    """The peak rung: an upper bound only."""
    top = peak_of(gpu, precision)
    if top is None or flops is None:
        return None
    flops = flops._replace(low=None, high=None)
    full = Given(1.0, origin="default", note="upper bound: no training reaches its dense peak")
    note = "upper bound only: real trainings stay 2 to 80 times below"
    return Rung("peak", {"peak_flops_per_gpu": top, "model_flops_utilization": full, "flops_per_sample": flops}, note)


def absence(model: Model, gpu: Gpu, basis: str, precision: str, flops: Given | None) -> IngestError:
    """Why a rung does not exist, and what to supply."""
    if basis in ("efficiency", "peak") and flops is None:
        reason = model.missing.get("flops_per_sample", "supply --flops-per-sample")
        return IngestError(f"no {basis} estimate: the FLOPs per sample of {model.id} are not known ({reason})")
    if peak_of(gpu, precision) is None and basis != "measured":
        known = ", ".join(gpu.peak_flops) or "none"
        return IngestError(f"no {basis} estimate: {gpu.id} has no dense {precision} peak in the catalog (known: {known})")
    if basis == "transferred" and gpu.memory_bandwidth is None:
        return IngestError(f"no transferred estimate: {gpu.missing.get('memory_bandwidth', 'memory bandwidth not known')}")
    what = {"measured": f"on {gpu.id} at {precision}", "transferred": f"on another GPU at {precision}"}.get(basis, "")
    return IngestError(f"no {basis} estimate: no rate of {model.id} {what} is published; supply --samples-per-second")
