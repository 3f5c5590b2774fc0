"""The loaders that a site file states: a simulation tells the latency that their reads may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ingest.catalog.records import Decoder
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.loader.feed import DEFAULTS, USUAL_SEED, USUAL_STEPS
from ingest.loader.stall import Loader, Utilization, longest_latency, tried
from ingest.site.datasets import model_of
from ingest.site.schema import quantities_at
from ingest.site.site_file import Site
from ingest.sizing.decoding import encoding_chosen, place_threads

#: keys below `loader` of a job and the quantity that each is
OF_LOADER = quantities_at("jobs.*.loader")
LOADER_SOURCE = "ingest-loader-recurrence"
NO_DECODING = Input(0).by_default(
    "decoding takes no time: no rate of a decoder is known for these samples", "loader.decode_time"
)
USUAL_LOADER = {"loader_prefetch": DEFAULTS["loader_prefetch"], "accepted_utilization": DEFAULTS["accepted_utilization"]}
#: Points of a curve, as multiples of the longest latency; the job itself stands at 1.
OF_LONGEST = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def place_loaders(site: Site, jobs: Sequence[QuantityRow], storage: Quantities, catalog: Catalog) -> None:
    """Give each job that states its loader the longest latency of a read that keeps its GPUs computing.

    One read takes a lognormal time whose 99th percentile over its mean is `test.latency_tail`; each worker has one read
    outstanding. Nothing is cached, as in a first epoch.
    """
    for row in jobs:
        job = site.section("jobs")[row.name]
        described = job.get("loader")
        if described is not None and row.step("read_request_bytes") is not None:
            row.known.give(
                {**USUAL_LOADER, **{quantity: described[key] for key, quantity in OF_LOADER.items() if key in described}}
            )
            if "decode_time" not in described:
                encoding = encoding_chosen(model_of(job, catalog), job.get("encoding"))
                place_threads(row.known, encoding, None, lambda name: catalog.get(Decoder, name))
                if "thread_decode_rate" not in row.known.given:
                    row.known.give({"sample_decode_seconds": NO_DECODING})
            row.known.adopt(storage.steps_of("latency_tail"))
            loader = _loader_of(row.known)
            where = f"runs of {USUAL_STEPS:,} steps, seed {USUAL_SEED}; median"
            best = tried(loader, steps=USUAL_STEPS, seed=USUAL_SEED).median
            row.known.state("loader_simulated")
            row.known.give({"loader_utilization": Input(best, source=LOADER_SOURCE, grade="derived", where=where)})
            longest = longest_latency(loader, row.known.value("accepted_utilization"), steps=USUAL_STEPS, seed=USUAL_SEED)
            if longest is not None:
                searched = Input(longest, source=LOADER_SOURCE, grade="derived", where=f"search by simulation: {where}")
                row.known.give({"loader_latency": searched})
                row.known.state("loader_stated")


def _loader_of(known: Quantities) -> Loader:
    """The loader of one GPU, whose reads take no time."""
    value = known.value
    reads = int(value("reads_of_batch"))
    rate = {"unstalled_samples_per_second_per_gpu": value("samples_per_second_per_gpu"), "gpus_per_loader": 1}
    handover = DEFAULTS["handover_seconds"].value
    return Loader(
        workers=int(value("loader_workers")),
        prefetch=int(value("loader_prefetch")),
        batch=reads,
        step_seconds=float(solve("step_computation_seconds", {"samples_per_step": value("samples_per_step"), **rate})),
        latency_seconds=0.0,
        latency_variation=value("latency_variation"),
        decode_seconds=value("samples_per_step") * value("sample_decode_seconds") / reads,
        ranks=int(value("gpus")),
        handover_seconds=(handover, handover),
    )


class LatencyPoint(NamedTuple):
    """The utilization that a loader keeps at a 99 % latency of its reads: the median, P10 and P90 of simulated runs."""

    latency: float
    utilization: float
    low: float
    high: float


def utilization_course(jobs: Sequence[QuantityRow]) -> tuple[QuantityRow, LatencyPoint, list[LatencyPoint]] | None:
    """The job whose loader takes the shortest latency, its own point, and its utilization at shorter and longer latencies.

    None where no job states a loader, or none has a latency that suffices.
    """
    found = [(row, float(step.value)) for row in jobs if (step := row.step("loader_latency")) is not None]
    if not found:
        return None
    row, longest = min(found, key=lambda one: one[1])
    tail = row.known.value("latency_tail")
    points = [
        LatencyPoint(tail * factor * longest, *tries[:3])
        for factor, tries in zip(OF_LONGEST, _course(_loader_of(row.known), longest), strict=True)
    ]
    return row, points[OF_LONGEST.index(1.0)], points


@lru_cache(maxsize=16)
def _course(loader: Loader, longest: float) -> tuple[Utilization, ...]:
    latencies = (factor * longest for factor in OF_LONGEST)
    return tuple(tried(replace(loader, latency_seconds=one), steps=USUAL_STEPS, seed=USUAL_SEED) for one in latencies)
