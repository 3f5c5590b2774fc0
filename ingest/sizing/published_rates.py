"""The measured and the emulated level: published rates of a model on a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ingest.catalog.records import Gpu, Model, Protocol, Rate
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message
from ingest.engine.registry import solve
from ingest.engine.value import Evidence, Input
from ingest.sizing.evidence_ladder import RATE, EvidenceLevel, median, scaling_loss
from ingest.sizing.rates_at_size import FEW_NODES, ProtocolRate, is_emulation, protocol_rates, rates_of, samples_of
from ingest.sizing.rules import told
from ingest.units import display, exact

#: Another stack or another machine differs by a third at the median: the range of a single run.
LONE = 4 / 3
#: Protocols whose fastest exceeds the slowest more than this are named in a warning.
DISAGREE = 1.5
#: how the note of a rate begins whose job may have waited for its data
LOWER_BOUND = "lower bound"


def typical(catalog: Catalog, by_protocol: Mapping[str, float]) -> float:
    """Return the median over independent benchmarks; the editions of one benchmark count once."""
    return median(median(values) for values in benchmarks_of(catalog, by_protocol).values())


def benchmarks_of(catalog: Catalog, by_protocol: Mapping[str, float]) -> Mapping[str, list[float]]:
    """Return the rates by benchmark, of which protocols may be editions."""
    benchmarks: dict[str, list[float]] = {}
    for protocol, value in by_protocol.items():
        benchmarks.setdefault(catalog.get(Protocol, protocol).benchmark or protocol, []).append(value)
    return benchmarks


def published(
    basis: str, catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None, gpus: float | None
) -> EvidenceLevel | None:
    """Return the level `measured`: training runs of this model on this GPU, or `emulated`: a benchmark whose accelerators
    sleep instead of computing; None if no rate is published."""
    rows = rates_of(catalog, model, emulated=basis == "emulated")
    found = sorted(
        (
            rate
            for rate in protocol_rates(model, rows, precision, gpus)
            if rate.gpu == gpu.id and protocol in (None, rate.protocol)
        ),
        key=lambda rate: rate.value,
    )
    if not found:
        return None
    parts = tuple(part_of(catalog, model, rate) for rate in found)
    by_protocol = {rate.protocol: rate.value for rate in found}
    value = typical(catalog, by_protocol)
    several = len(found) > 1
    ends = [value, *(rate.value for rate in found), *(rate.published for rate in found)]
    spread = ends if several else _spread(model, found[0])
    lone = basis == "measured" and math.isclose(min(spread), max(spread))
    ends = [*ends, *spread, *([value / LONE, value * LONE] if lone else [])]
    if any(rate.is_kept for rate in found):
        loss = scaling_loss(catalog, gpus or 1, measured_on=max(rate.size for rate in found))
        ends.append(float(solve("samples_per_second_per_gpu", {RATE: value, "scaling_efficiency": loss})))
    benchmarks = len(benchmarks_of(catalog, by_protocol))
    of_benchmarks = f" from {benchmarks} benchmark{'s' if benchmarks > 1 else ''}" if benchmarks < len(found) else ""
    note = f"median of {len(found)} protocols{of_benchmarks}" if several else f"protocol {parts[0].what}"
    note += f"; range ×{LONE:.2f} either way for a single run" if lone else ""
    given = Input(
        value,
        low=min(ends),
        high=max(ends),
        source="" if several else parts[0].source,
        where="" if several else parts[0].where,
        grade="measured" if basis == "measured" else parts[0].grade,
        note=note,
        parts=parts,
    )
    sized = any(rate.is_sized for rate in found)
    return EvidenceLevel(basis, {RATE: given}, note, _warnings(catalog, basis, found), by_protocol, sized)


def _spread(model: Model, rate: ProtocolRate) -> list[float]:
    """The slowest and the fastest run at the size from which a rate follows, at the size of the job."""
    runs = [samples_of(model, row) or 0 for row in rate.rows if rate.gpus is None or row.gpus == rate.size]
    return [end * rate.value / rate.published for end in (min(runs), max(runs))]


def part_of(catalog: Catalog, model: Model, rate: ProtocolRate) -> Evidence:
    """The rate of a protocol as evidence, with the grade of its weakest run."""
    first = rate.rows[0]
    grade = "assumed" if any(row.grade == "assumed" for row in rate.rows) else first.grade
    runs = tuple(sorted(samples_of(model, row) or 0 for row in rate.rows)) if len(rate.rows) > 1 else ()
    advice = catalog.get(Protocol, rate.protocol).advice
    return Evidence(_named(catalog, model, rate), rate.value, first.source, first.where, grade, runs, advice)


def _named(catalog: Catalog, model: Model, rate: ProtocolRate) -> str:
    if is_emulation(catalog, model, rate.protocol):
        return f"{rate.protocol}, emulated"
    words = f"{rate.protocol}, {_sizes(rate.rows)}"
    runs = [samples_of(model, row) or 0 for row in rate.rows if row.gpus == rate.size]
    if rate.gpus is not None and rate.published > median(runs) * (1 + 1e-9):
        words += f", raised to the total of smaller runs: {exact(rate.published)}"
    return words if rate.value == rate.published else f"{words}: {scaled(rate)}"


def scaled(rate: ProtocolRate) -> str:
    """How a rate follows from a published one of another size; the rate alone where it is of that size."""
    if rate.value == rate.published or rate.gpus is None:
        return exact(rate.value)
    return f"{exact(rate.published)} at {rate.size:,} × ({rate.gpus:,.0f} ÷ {rate.size:,})^({rate.exponent:.3g} - 1)"


def _sizes(rows: Sequence[Rate]) -> str:
    sizes = sorted({row.gpus for row in rows})
    if len(sizes) == 1:
        return f"{sizes[0]:,} GPU{'s' if sizes[0] > 1 else ''}"
    return f"{sizes[0]:,} to {sizes[-1]:,} GPUs"


def _warnings(catalog: Catalog, basis: str, found: Sequence[ProtocolRate]) -> tuple[str, ...]:
    """What a buyer should know about the rates, slowest first."""
    warnings = []
    slowest, fastest = found[0], found[-1]
    spread = fastest.value / slowest.value
    if basis == "emulated":
        protocol = catalog.get(Protocol, slowest.protocol)
        return (told("W60", protocol=protocol.name, advice=protocol.advice),)
    if spread > DISAGREE:
        words = "; ".join(f"{rate.protocol} {display(rate.value, '1')}" for rate in reversed(found))
        warnings.append(told("W61", spread=spread, rates=words))
    bounded = [rate.protocol for rate in found if any(row.note.startswith(LOWER_BOUND) for row in rate.rows)]
    if bounded:
        warnings.append(told("W68", protocols=", ".join(bounded)))
    smallest = min(row.gpus for rate in found for row in rate.rows)
    gpus = found[0].gpus
    if min(row.nodes for rate in found for row in rate.rows) > FEW_NODES and (gpus is None or gpus < smallest):
        warnings.append(told("W62", smallest=smallest))
    warnings += extrapolation(found)
    return tuple(warnings)


def extrapolation(rates: Sequence[ProtocolRate]) -> list[Message]:
    """The warning that a job is far larger than any run of a protocol."""
    far = [rate for rate in rates if rate.is_extrapolated]
    if not far or far[0].gpus is None:
        return []
    size = max(row.gpus for rate in far for row in rate.rows)
    names = ", ".join(dict.fromkeys(rate.protocol for rate in far))
    how = "that of the largest run, an upper bound" if any(rate.is_kept for rate in far) else "extrapolated"
    largest = f"{size:,} GPU{'s' if size > 1 else ''}"
    return [told("W63", protocols=names, largest=largest, gpus=far[0].gpus, how=how)]
