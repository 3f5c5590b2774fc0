"""The levels of evidence for the rate at which a GPU consumes samples, the best first.

measured    training runs of this model on this GPU: the median of independent benchmarks, their ends as range
emulated    a benchmark whose accelerators sleep instead of computing
transferred rates of this model on other GPUs, scaled by the catalogs and by what other models showed on both
efficiency  dense peak × a model FLOPs utilization derived from measurements ÷ FLOPs per sample
peak        dense peak ÷ FLOPs per sample: an upper bound, never chosen by `auto`
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.catalog.records import Family, Gpu, Model, Protocol, Scaling, Value
from ingest.catalog.store import TABLE, Catalog
from ingest.configuration import shipped_folder
from ingest.engine.messages import Message, option_error
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.errors import IngestError, expected_one_of
from ingest.units import display

#: The quantities that the measured and transferred levels give, and the efficiency level.
RATE, UTILIZATION = "unstalled_samples_per_second_per_gpu", "model_flops_utilization"
BASES = ("measured", "emulated", "transferred", "efficiency", "peak")
FAMILIES = (("bf16", "fp16"), ("tf32", "fp32"), ("fp8",), ("fp4",), ("fp64",))
#: Those that a job trains or computes in.
USUAL_PRECISIONS = sum(FAMILIES[:-1], ())
#: The precisions that train at different rates, the fastest first.
FASTEST_FIRST = ("fp4", "fp8", "bf16", "tf32", "fp64")

#: Size up to which no scaling loss is assumed: the base of the scaling study.
BASE_GPUS = 16


class EvidenceLevel(NamedTuple):
    """One level of evidence: the quantities that it gives, its basis, and its warnings."""

    basis: str
    given: dict[str, Input]
    note: str
    warnings: Sequence[str] = ()
    protocols: Mapping[str, float] = MappingProxyType({})  # the rate under each protocol
    is_sized: bool = False  # whether the rate depends on the size of the job
    rivals: Mapping[str, float] = MappingProxyType({})  # the rates of this GPU, measured and emulated, where both exist


#: How a row of the history of errors came about.
KINDS = {
    "before": "the product of the commit before the one that brought the figures, run on them; its authors may have known them",
    "after": "the product of the commit that brought the figures, run on them in the same way",
    "recorded": "a whole set, as the page on accuracy printed it at that commit",
    "left out": "the product of today, the figures withheld from it",
}
HISTORY = "history.csv"
#: The set, or the round, of a row that takes others together.
ALL = "all"


class PastError(NamedTuple):
    """A row of the history of errors: figures that were asked for together, and how far the answers were off."""

    set: str  # of `ingest validate`; `rates`: those of training runs outside MLPerf Training
    round: str
    level: str  # evidence level of the answers; empty for sets without levels
    kind: str  # how it came about
    commit: str  # the one that brought the figures
    date: str
    version: str  # of the product that answered
    cases: int
    answered: int
    median_error: float | None
    p80_error: float | None
    inside: int | None  # answers whose range, or tolerance, holds the figure
    width: float | None  # median of high over low

    @property
    def is_pooled(self) -> bool:
        """Whether it takes all rates of a level together."""
        return self.round == ALL

    @property
    def figures(self) -> dict[str, float | None]:
        """What JSON states of it beside a level."""
        return {"median": self.median_error, "p80": self.p80_error, "rates": self.answered}


@cache
def past_errors() -> tuple[PastError, ...]:
    """The history of errors."""
    with (shipped_folder() / "published" / HISTORY).open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    numbers = {"cases": int, "answered": int, "inside": int, "median_error": float, "p80_error": float, "width": float}

    def cell(name: str, text: str) -> Any:
        return text if name not in numbers else numbers[name](text) if text else None

    return tuple(PastError(**{name: cell(name, text) for name, text in row.items()}) for row in rows)


def blind_error(level: str) -> PastError | None:
    """How far answers of a level were off on rates that the product had not seen; None for levels without any."""
    return next((one for one in past_errors() if (one.set, one.level, one.kind) == (ALL, level, "before")), None)


def blind_words(level: str) -> str:
    """That error in words; empty for levels without any."""
    one = blind_error(level)
    if one is None or one.median_error is None or one.p80_error is None:
        return ""
    return f"blind error {one.median_error * 100:.0f} % (P80 {one.p80_error * 100:.0f} %) on {one.answered} unseen rates"


def from_catalog(value: Value) -> Input:
    """Return a catalog value as an input."""
    return Input(value.value, value.low, value.high, "catalog", value.source, value.where, value.grade, value.note)


def from_fields(fields: Mapping[str, object]) -> dict[str, Input]:
    """Return the fields of an entry that hold a catalog value as inputs, by the names of their quantities."""
    return {name: from_catalog(value) for name, value in fields.items() if isinstance(value, Value)}


def family_of(precision: str) -> tuple[str, ...]:
    """Return the precisions that train at one rate: `bf16` and `fp16`, `tf32` and `fp32`.

    Raises UsageError: an unknown precision.
    """
    for members in FAMILIES:
        if precision in members:
            return members
    raise option_error("precision", f": found '{precision}', {expected_one_of(precision, sum(FAMILIES, ()))}")


def generation_of(gpu: Gpu) -> str:
    """Return the vendor of a GPU and its fastest precision, such as `nvidia-bf16`."""
    fastest = (name for one in FASTEST_FIRST for name in family_of(one) if name in gpu.peak_flops)
    return f"{gpu.vendor.lower()}-{next(fastest, '')}"


def utilization_of(family: Family, gpu: Gpu) -> Value | None:
    """Return the share of the dense peak that a class of models reaches on a GPU."""
    return family.efficiency_by_generation.get(generation_of(gpu), family.efficiency)


def peak_of(gpu: Gpu, precision: str) -> Input | None:
    """Return the dense peak at a precision, or at one of its family."""
    members = family_of(precision)
    for name in (precision, *members):
        if name in gpu.peak_flops:
            return from_catalog(gpu.peak_flops[name])
    return None


def scaling_factor(scaling: Scaling, gpus: float) -> Value:
    """Return the rate per GPU at a size, over the rate on one to a few nodes.

    >>> scaling_factor(Catalog().get(Scaling, "strong"), 1024).value
    0.38
    """
    limits = sorted((int(name.removeprefix("up-to-")), value) for name, value in scaling.factors.items() if name != "more")
    return next((value for limit, value in limits if gpus <= limit), scaling.factors["more"])


def median(numbers: Iterable[float]) -> float:
    """Return the middle value; the mean of the two middle values of an even number."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def peak(gpu: Gpu, precision: str, flops: Input | None) -> EvidenceLevel | None:
    """Return the peak level: an upper bound only."""
    top = peak_of(gpu, precision)
    if top is None or flops is None:
        return None
    flops = flops._replace(low=None, high=None)
    full = Input(1.0).by_default("upper bound: no training run reaches the dense peak")
    note = "upper bound only: training runs reach between 1/80 and 1/2 of the peak"
    return EvidenceLevel("peak", {"peak_flops_per_gpu": top, UTILIZATION: full, "flops_per_sample": flops}, note)


def absence(model: Model, gpu: Gpu, basis: str, precision: str, flops: Input | None, protocol: str | None) -> IngestError:
    """Return the reason why a level does not exist, or for `auto` any level, and what to supply."""
    level = "" if basis == "auto" else f"{basis} "
    if basis in ("auto", "efficiency", "peak") and flops is None:
        text = f"no {level}estimate: the FLOPs per sample of {model.id} are not known"
        if basis == "auto":
            text = f"no estimate: no rate of {model.id} is published, and its FLOPs per sample are not known"
        why = model.missing.get("flops_per_sample")
        return IngestError(Message(text + (f" ({why})" if why else ""), supply=("samples_per_second", "flops_per_sample")))
    if peak_of(gpu, precision) is None and basis not in ("measured", "emulated"):
        known = ", ".join(gpu.peak_flops) or "none"
        text = f"no {level}estimate: {gpu.id} has no dense {precision} peak in the catalog (known: {known})"
        return IngestError(Message(text, supply=("precision", "samples_per_second")))
    if basis == "transferred" and gpu.memory_bandwidth is None:
        return IngestError(f"no transferred estimate: {gpu.missing.get('memory_bandwidth', 'memory bandwidth not known')}")
    if basis in ("auto", "efficiency"):
        why = f"no utilization of {model.id} at {precision} is known, nor one of its class"
        if basis == "auto":
            why = f"no rate of {model.id} is published at {precision}, and {why}"
        return IngestError(Message(f"no {level}estimate: {why}", supply=("efficiency", "samples_per_second")))
    what = {"emulated": "emulation", "measured": "training run"}.get(basis, "rate")
    place = "another GPU" if basis == "transferred" else gpu.id
    under = f" under {protocol}" if protocol else ""
    text = f"no {basis} estimate: no {what} of {model.id} on {place} at {precision}{under} is published"
    return IngestError(Message(text, supply=("basis", "samples_per_second")))


#: The rate of each model and precision, by protocol and GPU.
Cells = Mapping[tuple[str, str], Mapping[tuple[str, str], float]]


def seen_rates(catalog: Catalog) -> Cells:
    """The rates of training runs on one to a few nodes, by protocol and GPU, then by model and precision.

    >>> round(seen_rates(Catalog())["lambda-v1", "v100-sxm2"]["resnet50", "bf16"])
    781
    """

    def read() -> Cells:
        cells: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
        catalog.looked_at(path := shipped_folder() / TABLE)
        with path.open(encoding="utf-8", newline="") as lines:
            for protocol, precision, model, gpu, rate in islice(csv.reader(lines), 1, None):
                cells.setdefault((protocol, gpu), {})[model, precision] = float(rate)
        return cells

    return catalog.once(TABLE, read)


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

    def check() -> None:
        own = model.path.with_suffix(".csv")
        for path in {own, *(folder / model.kind / own.name for folder in catalog.folders)}:
            if shipped_folder() not in path.parents and path.is_file():
                check_rates(catalog, model, path)

    catalog.once(("checked rates", model.path), check)
