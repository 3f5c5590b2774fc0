"""Which models a read bandwidth keeps busy, on how many GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.api import bw
from ingest.catalog.store import Catalog
from ingest.errors import IngestError
from ingest.estimate import Estimate
from ingest.formula import solve


@dataclass(frozen=True)
class Fed:
    """A model on a GPU, and how many of them a rate keeps busy.

    Attributes:
        model, gpu: ids.
        bandwidth_per_gpu: what one reads, B/s.
        gpus: whole GPUs that the rate feeds.
    """

    model: str
    gpu: str
    bandwidth_per_gpu: float
    gpus: int


def fed_by(bandwidth: float, gpus: Sequence[str], catalogs: Sequence[str | Path] = ()) -> tuple[Fed, ...]:
    """Every model that was measured on one of the GPUs, the most demanding first."""
    pairs = [(model, gpu) for gpu in gpus for model in Catalog(catalogs).ids("models")]
    fed = [one for model, gpu in pairs if (one := _fed(bandwidth, model, gpu, catalogs))]
    return tuple(sorted(fed, key=lambda one: (-one.bandwidth_per_gpu, one.model)))


def _fed(bandwidth: float, model: str, gpu: str, catalogs: Sequence[str | Path]) -> Fed | None:
    try:
        answer = bw(model=model, gpu=gpu, basis="measured", catalogs=catalogs)
    except IngestError:
        # Nobody has measured this model on this GPU: it is not among the answers.
        return None
    assert isinstance(answer, Estimate)
    need = answer.results.get("ingest_bandwidth_per_gpu")
    if need is None:
        return None
    count = solve("gpus_fed", {"measured_read_bandwidth": bandwidth, "ingest_bandwidth_per_gpu": need.value})
    return Fed(model, gpu, float(need.value), int(count))
