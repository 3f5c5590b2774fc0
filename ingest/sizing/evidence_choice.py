"""The evidence levels that exist for a job, the best one first: the basis of its rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingest.architecture.catalog_entries import model_of
from ingest.catalog.records import Gpu, Model, Node, Protocol
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import RATE, EvidenceLevel
from ingest.sizing.job import Job, by_user, known_quantities, machine_of
from ingest.sizing.published_rates import measured, transferred

#: Quantities that, set by the user, fix the rate without evidence from the catalogs.
GIVEN_RATES = {
    RATE,
    "samples_per_second_per_gpu",
    *(f"ingest_bandwidth_per_{part}" for part in ("gpu", "node", "job")),
}
#: `--set` of these changes the level in use, but not those shown for comparison.
OUTCOMES = GIVEN_RATES | {"achieved_flops_per_gpu", "model_flops_utilization"}


class RateBasis(NamedTuple):
    """The evidence from which the rate of a job follows.

    Attributes:
        job: the job, checked.
        levels: the evidence levels that exist, the one in use first.
        common: inputs that are the same at every level.
        fixed: quantities set by the user.
    """

    job: Job
    model: Model | None
    gpu: Gpu | None
    node: Node | None
    precision: str
    levels: list[EvidenceLevel]
    common: Mapping[str, Input]
    fixed: Mapping[str, Input]

    @property
    def known(self) -> dict[str, Input]:
        """The inputs of the results at the level in use."""
        return {**self.common, **self.levels[0].given, **self.fixed}


def rate_basis_of(job: Job, catalog: Catalog) -> RateBasis:
    """Find the evidence for the rate of a job, without solving for any result.

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: there is no evidence at the level requested; names what to supply.
    """
    job = job.checked()
    model = _model(job.model, catalog) if job.model is not None else None
    gpu, node = machine_of(job.gpu, job.node, catalog)
    precision = job.precision or evidence_ladder.usual_precision(catalog.rates(model) if model else ())
    common = known_quantities(job, catalog, model, gpu, node, precision)
    levels = choose(job, catalog, model, gpu, precision, common)
    return RateBasis(job, model, gpu, node, precision, levels, common, by_user(job.settings))


def _model(source: str, catalog: Catalog) -> Model:
    # Only a config.json or hyper-parameters load the descriptions of architectures.
    known = isinstance(source, str) and source.lower() in catalog.ids(Model.kind)
    return catalog.get(Model, source) if known else model_of(source, catalog)


def choose(
    job: Job, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Input]
) -> list[EvidenceLevel]:
    """Return the evidence levels that exist, the one to use first.

    Raises:
        UsageError: no GPU or no model, and nothing that replaces it.
        IngestError: the level requested does not exist; gives the reason and what to supply.
    """
    everything = {**known, **by_user(job.settings)}
    flops = everything.get("flops_per_sample")
    found = _from_catalogs(job, catalog, model, gpu, precision, everything)
    own = _own(job, flops)
    if own is not None:
        return [own, *(level for level in found if level.basis != own.basis)]
    found = _widened_by_training_runs(found, job, catalog)
    wanted = [level for level in found if job.basis in ("auto", level.basis)]
    if not wanted:
        raise _no_evidence(job, catalog, model, gpu, precision, flops)
    return [*wanted, *(level for level in found if level not in wanted)]


def _from_catalogs(
    job: Job, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Input]
) -> list[EvidenceLevel]:
    if gpu is None:
        return []
    flops, levels = known.get("flops_per_sample"), []
    if model is not None:
        protocol = catalog.get(Protocol, job.protocol).id if job.protocol else None
        sized = "gpus_per_node" in known and job.scaling == "linear"
        size = solve("gpus", {name: item.value for name, item in known.items()}) if sized else 1
        # The transferred level does not depend on the size of the job, so a site computes it once.
        key = ("transferred", model.path, gpu.path, precision, protocol)
        if key not in catalog.memory:
            catalog.memory[key] = transferred(catalog, model, gpu, precision, protocol)
        levels += [
            measured(catalog, model, gpu, precision, protocol, size),
            catalog.memory[key],
            evidence_ladder.efficiency(catalog, model, gpu, precision, flops),
        ]
    levels.append(evidence_ladder.peak(gpu, precision, flops))
    found = [level for level in levels if level is not None]
    if job.protocol:
        # A protocol names measurements: the levels without any answer only when they are requested.
        return [level for level in found if level.basis in ("measured", "transferred", job.basis)]
    return found


def _widened_by_training_runs(found: list[EvidenceLevel], job: Job, catalog: Catalog) -> list[EvidenceLevel]:
    """Where every measured rate is emulated, widen its range to training runs scaled from other GPUs."""
    levels = {level.basis: level for level in found}
    emulated, real = levels.get("measured"), levels.get("transferred")
    if emulated is None or real is None or job.protocol:
        return found
    if any(catalog.get(Protocol, protocol).form != "emulation" for protocol in emulated.protocols):
        return found
    rate, scaled = emulated.given[RATE], real.given[RATE].value
    low, high = min(scaled, rate.low or rate.value), max(scaled, rate.high or rate.value)
    warning = (
        f"training runs on other GPUs, scaled to this one, suggest {scaled:,.4g} samples/s per GPU; "
        f"the emulated benchmark gives {rate.value:,.4g}. The range covers both"
    )
    widened = emulated._replace(given={RATE: rate._replace(low=low, high=high)}, warnings=(*emulated.warnings, warning))
    return [widened if level is emulated else level for level in found]


def _own(job: Job, flops: Input | None) -> EvidenceLevel | None:
    """The rate as the user gives it: samples/s, achieved FLOP/s, or a utilization."""
    fixed = GIVEN_RATES & job.settings.keys()
    if job.samples_per_second is not None or fixed:
        given = {} if job.samples_per_second is None else {RATE: Input(job.samples_per_second, origin="user")}
        return EvidenceLevel("given", given, "samples/s as given by the user")
    base = {"flops_per_sample": flops} if flops else {}
    for option, name in (("achieved", "achieved_flops_per_gpu"), ("efficiency", "model_flops_utilization")):
        value = getattr(job, option)
        if value is not None or name in job.settings:
            share = {} if value is None else {name: Input(value, origin="user")}
            return EvidenceLevel("efficiency", {**base, **share}, f"{name} as given by the user")
    return None


def _no_evidence(
    job: Job, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, flops: Input | None
) -> IngestError:
    if gpu is None:
        return UsageError("--gpu is missing; expected an id (`ingest catalog list gpus`), --node, or --samples-per-second")
    if model is None:
        return UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
    if job.protocol and job.basis in ("auto", "measured"):
        seen = sorted({rate.protocol for rate in catalog.rates(model)})
        hint = f"; {model.id} has been measured under {', '.join(seen)}" if seen else ""
        return IngestError(
            Message(Option("protocol"), f": no rate of {model.id} on {gpu.id} under '{job.protocol}' at {precision}{hint}")
        )
    return evidence_ladder.absence(model, gpu, "measured" if job.basis == "auto" else job.basis, precision, flops, job.protocol)
