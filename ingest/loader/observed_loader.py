"""The loader of an observed job: its workers, its batch, and the latency at which it waits as long as was observed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.engine.registry import check_value, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError
from ingest.loader.stall import Loader, longest_latency, matching_latency, round_variation
from ingest.observation.observation import Observation, read_observation

#: A smaller stall is within the spread of two runs: the loader kept up, and any shorter latency would too.
LEAST_STALL = 0.03
#: Relative width at which the search of the latency ends: well below the spread of two runs, or where it is one of many.
NEAR, ROUGHLY = 0.001, 0.02
#: Variations of the latency between which the observed one is searched, and the halvings of the search.
LEAST_VARIATION, MOST_VARIATION, HALVINGS = 0.05, 4.0, 6
USUAL_NODE = 8  # GPUs of a node, where the job does not tell
#: What stalls an observed job: reads that keep its workers waiting, or the bandwidth that its storage gives.
CAUSES = ("latency", "bandwidth")
#: quantity of an observed job -> the figure of its observation
OBSERVED = {
    "loader_workers": "loader_workers",
    "loader_prefetch": "loader_prefetch",
    "samples_per_step": "samples_per_step",
    "sample_bytes": "bytes_read_per_sample",
    "sample_decode_seconds": "sample_decode_seconds",
}


@dataclass(frozen=True)
class ObservedLoader:
    """What an observation says about the loader of its job."""

    place: str  # the file, for messages
    seen: Observation  # the observation
    rate: float  # samples per second of one GPU that never waits
    utilization: float  # share of the time in which the GPUs compute
    gpus: int  # GPUs of the job

    def value(self, name: str) -> float | None:
        """An observed figure; None where it is not known. Raises IngestError: it is out of the range of its quantity."""
        figure = self.seen.figures.get(name)
        if figure is None:
            return None
        try:
            return float(check_value(name, figure.value, f"{self.place}: results.{name}"))
        except UsageError as error:
            raise IngestError(str(error)) from None

    def item(self, value: float, searched: str = "") -> Input:
        """A value as the observation shows it: measured, or searched by simulation for what is `searched` for."""
        place = Path(self.place).name
        if searched:
            where = f"search by simulation: {searched} in {place}"
            return Input(value, where=where, origin="observation", source="ingest-loader-recurrence", grade="derived")
        return Input(value, origin="observation", grade="measured", where=place)

    def latency(self, loader: Loader, *, steps: int, seed: int, rough: bool = False) -> float:
        """The mean latency at which a loader keeps its GPUs computing for the observed share of the time.

        The latency of the observed loader starts the search; a rough one of many takes a few runs of each simulation.

        Raises IngestError: the job did not wait, or decoding alone stalls it for longer.
        """
        if self.utilization > 1 - LEAST_STALL:
            raise IngestError(
                f"{self.place}: the loader kept up (stall {1 - self.utilization:.1%}, expected at least {LEAST_STALL:.0%}): "
                "shorter latencies would look the same. Observe the job with fewer workers, or give --latency"
            )
        search, near = (longest_latency, ROUGHLY) if rough else (matching_latency, NEAR)
        found = search(loader, self.utilization, steps=steps, seed=seed, near=near)
        if found is None:
            raise IngestError(
                f"{self.place}: decoding alone stalls the job for longer than observed, expected a shorter --decode-time, "
                "or the workers and the batch of the observed job"
            )
        return found

    def variation(self, loader: Loader, *, steps: int, seed: int) -> float | None:
        """The variation of the latency at which the rounds of the workers vary as observed; None where they were not seen."""
        seen = self.value("step_round_variation")
        if seen is None:
            return None
        low, high = LEAST_VARIATION, MOST_VARIATION
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            changed = replace(loader, latency_variation=middle)
            changed = replace(changed, latency_seconds=self.latency(changed, steps=steps, seed=seed, rough=True))
            low, high = (middle, high) if round_variation(changed, steps=steps, seed=seed) < seen else (low, middle)
        return math.sqrt(low * high)


def observed_loader(path: str | Path) -> ObservedLoader:
    """Read an observation for its loader.

    Raises IngestError: the file is no observation, or states neither the rate nor the stall.
    """
    seen = read_observation(path)
    gpus = seen.facts.get("gpus")
    count = gpus if isinstance(gpus, int) and not isinstance(gpus, bool) and gpus > 0 else 1
    found = ObservedLoader(str(path), seen, 0.0, 0.0, count)
    known = {}
    for name in ("demanded_samples_per_second_per_gpu", "stall_fraction"):
        figure = seen.figures.get(name)
        if figure is None or figure.lower_bound:
            raise IngestError(
                f"{path}: the observation has no {name.replace('_', ' ')}, expected the rate of its job with and without reads:"
                " ingest observe train.log --synthetic synthetic.log"
            )
        known[name] = found.value(name) or 0.0
    utilization = float(solve("utilization_of_stall", known))
    return replace(found, rate=known["demanded_samples_per_second_per_gpu"], utilization=utilization)


def find_latency(known: Quantities, seen: ObservedLoader, stalled_by: str, seed: int) -> None:
    """Give the latency or the bandwidth that makes the observed job wait as long as it did, unless the latency is given.

    `stalled_by` is what the job waits for, one of `CAUSES`.

    Raises IngestError: the observation does not determine it, with what would.
    """
    if "sample_read_seconds" in known.given:
        return
    if stalled_by == "bandwidth":
        bandwidth = seen.value("read_bandwidth")
        if bandwidth is None:
            raise IngestError(f"{seen.place}: the observation has no read bandwidth, expected one for --stalled-by bandwidth")
        known.give_default("feed_read_bandwidth", seen.item(bandwidth))
        hidden = Input(0).by_default("the latency of single reads is hidden behind the bandwidth", "latency")
        known.give({"sample_read_seconds": hidden})
        return
    sizes = {name: seen.value(name) for name in ("loader_workers", "loader_prefetch", "samples_per_step")}
    for name, option in (("loader_workers", "--workers"), ("samples_per_step", "--samples-per-step")):
        if sizes[name] is None:
            raise IngestError(
                f"{seen.place}: the {name.replace('_', ' ')} of the observed job are not known, expected {option} beside its "
                "log: ingest observe train.log --workers N --samples-per-step N"
            )
    given = known.given
    ends = given["handover_seconds"]
    loader = Loader(
        workers=int(sizes["loader_workers"] or 1),
        prefetch=int(sizes["loader_prefetch"] or given["loader_prefetch"].value),
        batch=int(sizes["samples_per_step"] or 1),
        step_seconds=(sizes["samples_per_step"] or 1) / seen.rate,
        latency_seconds=0.0,
        latency_variation=given["sample_read_variation"].value,
        decode_seconds=known.value("sample_decode_seconds"),
        ranks=seen.gpus,
        handover_seconds=(ends.low or ends.value, ends.high or ends.value),
    )
    counted = int(given["simulated_steps"].value)
    if given["sample_read_variation"].origin == "default":
        varied = seen.variation(loader, steps=counted, seed=seed)
        if varied is not None:
            known.give({"sample_read_variation": seen.item(varied, "the rounds of the workers vary as")})
            loader = replace(loader, latency_variation=varied)
    found = seen.latency(loader, steps=counted, seed=seed)
    known.give({"observed_read_seconds": seen.item(found, f"{1 - seen.utilization:.1%} stall")})
