"""Published rates at the size of a job: one rate per protocol and GPU, and how it changes with the number of GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.catalog.records import Gpu, Model, Protocol, Rate
from ingest.catalog.store import Catalog
from ingest.configuration import shipped_folder
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.sizing.evidence_ladder import BASE_GPUS, RATE, family_of, median, peak_of
from ingest.units import display

#: A rate on more nodes than this is not the rate on "one to a few nodes" if a smaller run is published.
FEW_NODES = 2
#: Beyond this many times the largest run that is published, the rate is a guess worth a warning.
FAR_SIZE = 4


class ProtocolRate(NamedTuple):
    """The rate of a model on a GPU under one protocol, at the size of a job.

    Attributes:
        value: per GPU, at the size of the job.
        rows: the runs from which it follows.
        gpus: the size of the job; None where the runs on a few nodes were asked for.
        published: the rate per GPU at `size`, which the value is scaled from.
        size: the published size at or below that of the job, or else the smallest.
        exponent: of the total rate over the GPUs, from `size` on; None where it does not count.
        is_sized: whether the rate depends on the size of the job.
    """

    protocol: str
    gpu: str
    value: float
    rows: tuple[Rate, ...]
    gpus: float | None
    published: float
    size: int
    exponent: float | None = None
    is_sized: bool = False

    @property
    def is_extrapolated(self) -> bool:
        """Whether the job is far larger than any run, and larger than a few nodes."""
        return self.gpus is not None and self.gpus > max(BASE_GPUS, FAR_SIZE * max(row.gpus for row in self.rows))

    @property
    def is_kept(self) -> bool:
        """Whether the rate per GPU of a smaller run is kept, for want of a law for its size."""
        return self.is_extrapolated and self.exponent is None


def protocol_rates(model: Model, rates: Iterable[Rate], precision: str, gpus: float | None = None) -> list[ProtocolRate]:
    """Return one rate per GPU and protocol.

    Args:
        model: whose rates these are.
        rates: rates graded `assumed` count only if there are no others at that precision.
        precision: of the runs; its sibling counts.
        gpus: size of the job. The total rate follows the medians of the published sizes, and a larger job never reads less
            than a smaller one; beyond the largest it grows with the model's own exponent, if that is known. None for the
            median of the runs on at most two nodes, or of the smallest runs.
    """
    members = family_of(precision)
    usable = [rate for rate in rates if rate.precision in members and samples_of(model, rate) is not None]
    sure = [rate for rate in usable if rate.grade != "assumed"]
    groups: dict[tuple[str, str], list[Rate]] = {}
    for rate in sure or usable:
        groups.setdefault((rate.gpu, rate.protocol), []).append(rate)
    if gpus is None:
        return [_on_few_nodes(model, rows) for rows in groups.values()]
    fits: dict[str, list[tuple[str, float]]] = {}
    return [_at_size(model, rows, usable, gpus, fits) for rows in groups.values()]


def _on_few_nodes(model: Model, rows: Sequence[Rate]) -> ProtocolRate:
    limit = max(FEW_NODES, min(row.nodes for row in rows))
    small = tuple(row for row in rows if row.nodes <= limit)
    value = _middle(model, small)
    return ProtocolRate(rows[0].protocol, rows[0].gpu, value, small, None, value, max(row.gpus for row in small))


def _at_size(
    model: Model, rows: Sequence[Rate], all_rows: Sequence[Rate], gpus: float, fits: dict[str, list[tuple[str, float]]]
) -> ProtocolRate:
    """The rate of one protocol and GPU; `fits` keeps those of each protocol, which all its GPUs share."""
    protocol, gpu = rows[0].protocol, rows[0].gpu
    totals: dict[int, float] = {}
    for size in sorted({row.gpus for row in rows}):
        total = size * _middle(model, [row for row in rows if row.gpus == size])
        totals[size] = max([total, *totals.values()])
    below = max((size for size in totals if size <= gpus), default=min(totals))
    above = min((size for size in totals if size >= gpus), default=None)
    published = totals[below] / below
    near = tuple(row for row in rows if row.gpus in (below, above if above is not None and gpus > below else below))
    if above is None:
        if protocol not in fits:
            fits[protocol] = scaling_fits(model, all_rows, protocol)
        exponent = scaling_exponent(fits[protocol], gpu)
    else:
        exponent = math.log(totals[above] / totals[below]) / math.log(above / below) if above > below else None
    if exponent is None or gpus <= below:
        return ProtocolRate(protocol, gpu, published, near, gpus, published, below, exponent, len(totals) > 1)
    known = {"published_samples_per_second_per_gpu": published, "published_gpus": below, "gpus": gpus}
    value = float(solve("samples_per_second_per_gpu_at_size", {**known, "scaling_exponent": exponent}))
    return ProtocolRate(protocol, gpu, value, near, gpus, published, below, exponent, is_sized=True)


def _middle(model: Model, rows: Sequence[Rate]) -> float:
    return median(samples_of(model, row) or 0 for row in rows)


def scaling_fits(model: Model, rates: Iterable[Rate], protocol: str) -> list[tuple[str, float]]:
    """Return the exponents of the total rate over the number of GPUs, with their GPUs: one per round and submitter."""
    groups: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for rate in rates:
        samples = samples_of(model, rate)
        if rate.protocol == protocol and samples:
            submitter, _, system = rate.where.partition("/results/")
            key = (rate.gpu, rate.precision, rate.round, submitter if system else rate.source)
            groups.setdefault(key, {}).setdefault(rate.gpus, []).append(samples * rate.gpus)
    return [(key[0], min(1.0, max(0.0, _slope(sizes)))) for key, sizes in groups.items() if len(sizes) > 1]


def scaling_exponent(fits: Sequence[tuple[str, float]], gpu: str) -> float | None:
    """Return the exponent of the total rate over the number of GPUs, between 0 and 1; None if no two sizes are published.

    It is the median of the fits on the GPU, or else on all GPUs.
    """
    own = [fit for one, fit in fits if one == gpu]
    return median(own or [fit for _, fit in fits]) if fits else None


def _slope(totals: Mapping[int, Sequence[float]]) -> float:
    """The least-squares slope of the logarithm of the total rate over that of the size."""
    points = [(math.log(size), math.log(median(rates))) for size, rates in totals.items()]
    middle, height = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    slope: float = sum((x - middle) * (y - height) for x, y in points) / sum((x - middle) ** 2 for x, _ in points)
    return slope


def samples_of(model: Model, rate: Rate) -> float | None:
    """Return the rate in samples/s; from FLOP/s if only those are published and the FLOPs per sample are known."""
    if rate.samples_per_second_per_gpu is not None:
        return rate.samples_per_second_per_gpu
    if rate.achieved_flops_per_gpu is None or model.flops_per_sample is None:
        return None
    known = {"achieved_flops_per_gpu": rate.achieved_flops_per_gpu, "flops_per_sample": model.flops_per_sample.value}
    return float(solve(RATE, known))


def is_emulation(catalog: Catalog, model: Model, protocol: str) -> bool:
    """Whether a benchmark's sleep stands for the GPU."""
    key = ("emulation", protocol)
    if key not in catalog.memory:
        catalog.memory[key] = catalog.referred(Protocol, protocol, by=model.path.with_suffix(".csv")).form == "emulation"
    found: bool = catalog.memory[key]
    return found


def rates_of(catalog: Catalog, model: Model, *, emulated: bool = False) -> list[Rate]:
    """Return the published rates of training runs, or of emulations, without those that are only recalled."""
    return [
        rate
        for rate in catalog.rates(model)
        if rate.grade != "assumed" and is_emulation(catalog, model, rate.protocol) == emulated
    ]


def measured_models(catalog: Catalog) -> Iterator[tuple[Model, str, list[ProtocolRate]]]:
    """The rates of training runs on one to a few nodes, by model and precision."""
    for model in catalog.all(Model):
        rates = rates_of(catalog, model)
        for precision in dict.fromkeys(family_of(rate.precision)[0] for rate in rates):
            yield model, precision, protocol_rates(model, rates, precision)


def check_rates(catalog: Catalog, model: Model, path: Path) -> None:
    """Refuse rates with references to unknown entries, and rates above the dense peak of their precision."""
    for line, rate in catalog.numbered_rates(path):
        gpu = catalog.referred(Gpu, rate.gpu, by=path)
        catalog.referred(Protocol, rate.protocol, by=path)
        peak = peak_of(gpu, rate.precision)
        if peak is None:
            continue
        implied = [(rate.achieved_flops_per_gpu or 0.0, "")]
        if rate.samples_per_second_per_gpu is not None and model.flops_per_sample is not None:
            speed, work = rate.samples_per_second_per_gpu, model.flops_per_sample.value
            written = f" ({display(speed, 'sample/s/GPU')} × {display(work, 'FLOP/sample')})"
            implied.append((float(solve("implied_flops_per_gpu", {RATE: speed, "flops_per_sample": work})), written))
        for reached, written in implied:
            if reached > peak.value:
                limit = display(peak.value, "FLOP/s/GPU")
                raise IngestError(
                    f"{path}:{line}: found {display(reached, 'FLOP/s/GPU')}{written}, expected at most {limit}, the dense "
                    f"{rate.precision} peak of {gpu.id}: check the precision of the run, and the FLOPs per sample of the model"
                )


def check_own_rates(catalog: Catalog, model: Model) -> None:
    """Refuse impossible rates in folders of the user; the shipped ones are checked before they ship."""
    own = model.path.with_suffix(".csv")
    checked = catalog.memory.setdefault("checked rates", set())
    for path in {own, *(folder / model.kind / own.name for folder in catalog.folders)} - checked:
        if shipped_folder() not in path.parents and path.is_file():
            check_rates(catalog, model, path)
        checked.add(path)
