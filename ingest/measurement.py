"""The measured rung: rates of this model on this GPU, one per protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ingest.catalog.records import Gpu, Model, Protocol, Rate
from ingest.catalog.store import Catalog
from ingest.engine.value import Evidence, Input
from ingest.formula import solve
from ingest.ladder import RATE, Rung, family_of, median, scaling_loss

#: A rate on more nodes than this is not taken as the rate on "one to a few nodes" where there is a smaller run.
FEW_NODES = 2


class ProtocolRate(NamedTuple):
    """The rate of a model on a GPU under one protocol, on one to a few nodes."""

    protocol: str
    gpu: str
    value: float
    rows: tuple[Rate, ...]


def protocol_rates(model: Model, rates: Iterable[Rate], precision: str) -> list[ProtocolRate]:
    """One rate per GPU and protocol: the median of the runs on at most two nodes, or of the smallest runs there are.

    Figures that are only recalled count where nothing better exists at that precision.
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
    """The rate in samples; from FLOP/s where only those are published and the model's FLOPs are known."""
    if rate.samples_per_second_per_gpu is not None:
        return rate.samples_per_second_per_gpu
    if rate.achieved_flops_per_gpu is None or model.flops_per_sample is None:
        return None
    known = {"achieved_flops_per_gpu": rate.achieved_flops_per_gpu, "flops_per_sample": model.flops_per_sample.value}
    return float(solve(RATE, known))


def measured(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None, gpus: float) -> Rung | None:
    """The measured rung, or None where nobody has published a rate."""
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
    return Rung("measured", {RATE: given}, note, _protocol_warnings(catalog, found), protocols)


def _part(catalog: Catalog, model: Model, rate: ProtocolRate) -> Evidence:
    """A protocol's rate as evidence; it is no better than its weakest run."""
    first = rate.rows[0]
    grade = "assumed" if any(row.grade == "assumed" for row in rate.rows) else first.grade
    runs = tuple(sorted(samples_of(model, row) or 0 for row in rate.rows)) if len(rate.rows) > 1 else ()
    return Evidence(_named(catalog, model, rate), rate.value, first.source, first.where, grade, runs)


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
    if any(row.grade == "assumed" for rate in found for row in rate.rows):
        warnings.append("the rate is only recalled, not read again in its source: check it before a tender")
    smallest = min(row.gpus for rate in found for row in rate.rows)
    if min(row.nodes for rate in found for row in rate.rows) > FEW_NODES:
        warnings.append(f"no run on one or two nodes is published: the smallest has {smallest:,} GPUs, scaling loss included")
    return tuple(warnings)
