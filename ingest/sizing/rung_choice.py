"""Which rungs of the ladder exist for a question, the one to use first."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.catalog.records import Gpu, Model, Protocol
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import RATE, Rung
from ingest.sizing.job import Question, set_by_user
from ingest.sizing.published_rates import measured, transferred

#: Quantities that, set by the user, leave nothing to the ladder.
GIVEN_RATES = {
    RATE,
    "samples_per_second_per_gpu",
    *(f"ingest_bandwidth_per_{part}" for part in ("gpu", "node", "job")),
}
#: What `--set` may say about the rung in use, but not about those shown for comparison.
OUTCOMES = GIVEN_RATES | {"achieved_flops_per_gpu", "model_flops_utilization"}


def choose(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Input]
) -> list[Rung]:
    """Return the rungs that exist, the one to use first.

    Raises:
        UsageError: no GPU or no model, and nothing that could stand in for it.
        IngestError: the rung asked for does not exist; why, and what to supply.
    """
    everything = {**known, **set_by_user(asked)}
    flops = everything.get("flops_per_sample")
    found = _on_the_ladder(asked, catalog, model, gpu, precision, everything)
    own = _own(asked, flops)
    if own is not None:
        return [own, *(rung for rung in found if rung.basis != own.basis)]
    found = _with_real_trainings(found, asked, catalog)
    wanted = [rung for rung in found if asked.basis in ("auto", rung.basis)]
    if not wanted:
        raise _nothing(asked, catalog, model, gpu, precision, flops)
    return [*wanted, *(rung for rung in found if rung not in wanted)]


def _on_the_ladder(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, known: Mapping[str, Input]
) -> list[Rung]:
    if gpu is None:
        return []
    flops, rungs = known.get("flops_per_sample"), []
    if model is not None:
        protocol = catalog.get(Protocol, asked.protocol).id if asked.protocol else None
        sized = "gpus_per_node" in known and asked.scaling == "linear"
        size = solve("gpus", {name: item.value for name, item in known.items()}) if sized else 1
        rungs += [
            measured(catalog, model, gpu, precision, protocol, size),
            _carried(catalog, model, gpu, precision, protocol),
            evidence_ladder.efficiency(catalog, model, gpu, precision, flops),
        ]
    rungs.append(evidence_ladder.peak(gpu, precision, flops))
    found = [rung for rung in rungs if rung is not None]
    if asked.protocol:
        # A protocol names measurements: the rungs without any answer only when they are asked for.
        return [rung for rung in found if rung.basis in ("measured", "transferred", asked.basis)]
    return found


def _carried(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Rung | None:
    """The transferred rung; it does not depend on the size of the job, so a site asks for it once."""
    key = ("transferred", model.path, gpu.path, precision, protocol)
    if key not in catalog.memory:
        catalog.memory[key] = transferred(catalog, model, gpu, precision, protocol)
    found: Rung | None = catalog.memory[key]
    return found


def _with_real_trainings(found: list[Rung], asked: Question, catalog: Catalog) -> list[Rung]:
    """Where every measured rate is emulated, real trainings carried over from other GPUs enter its range."""
    rungs = {rung.basis: rung for rung in found}
    emulated, real = rungs.get("measured"), rungs.get("transferred")
    if emulated is None or real is None or asked.protocol:
        return found
    if any(catalog.get(Protocol, protocol).form != "emulation" for protocol in emulated.protocols):
        return found
    rate, carried = emulated.given[RATE], real.given[RATE].value
    low, high = min(carried, rate.low or rate.value), max(carried, rate.high or rate.value)
    warning = (
        f"real trainings, carried over from other GPUs, point to {carried:,.4g} samples/s per GPU "
        f"against {rate.value:,.4g} emulated: the range takes them in"
    )
    widened = emulated._replace(given={RATE: rate._replace(low=low, high=high)}, warnings=(*emulated.warnings, warning))
    return [widened if rung is emulated else rung for rung in found]


def _own(asked: Question, flops: Input | None) -> Rung | None:
    """The rate as the user gives it: samples/s, achieved FLOP/s, or a utilization."""
    fixed = GIVEN_RATES & asked.settings.keys()
    if asked.samples_per_second is not None or fixed:
        given = {} if asked.samples_per_second is None else {RATE: Input(asked.samples_per_second, origin="user")}
        return Rung("given", given, "samples/s as given by the user")
    base = {"flops_per_sample": flops} if flops else {}
    for option, name in (("achieved", "achieved_flops_per_gpu"), ("efficiency", "model_flops_utilization")):
        value = getattr(asked, option)
        if value is not None or name in asked.settings:
            share = {} if value is None else {name: Input(value, origin="user")}
            return Rung("efficiency", {**base, **share}, f"{name} as given by the user")
    return None


def _nothing(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, precision: str, flops: Input | None
) -> IngestError:
    if gpu is None:
        return UsageError("--gpu is missing; expected an id (`ingest catalog list gpus`), --node, or --samples-per-second")
    if model is None:
        return UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
    if asked.protocol and asked.basis in ("auto", "measured"):
        seen = sorted({rate.protocol for rate in catalog.rates(model)})
        hint = f"; {model.id} has been measured under {', '.join(seen)}" if seen else ""
        return IngestError(
            Message(Option("protocol"), f": no rate of {model.id} on {gpu.id} under '{asked.protocol}' at {precision}{hint}")
        )
    return evidence_ladder.absence(
        model, gpu, "measured" if asked.basis == "auto" else asked.basis, precision, flops, asked.protocol
    )
