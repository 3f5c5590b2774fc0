"""The evidence levels that exist for a job, the best one first: the basis of its rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ingest.architecture.catalog_entries import at_length, taken_for
from ingest.architecture.structure import is_numbers
from ingest.catalog.records import Gpu, Model, Node, Optimizer, Protocol, Rate, Scaling, Storage
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.registry import check_value, solve
from ingest.engine.value import Evidence, Frozen, Input, Later, revised
from ingest.errors import IngestError, UsageError
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import FAMILIES, FASTEST_FIRST, RATE, UTILIZATION, EvidenceLevel, family_of, median, peak_of
from ingest.sizing.job import Job, batch_of, by_user, known_quantities
from ingest.sizing.published_rates import DISAGREE, LONE, PublishedRates, Run, Series, part_of, published, series_of, typical
from ingest.sizing.resolve import machine_of, model_named, model_structure
from ingest.sizing.rules import applying, finding, told
from ingest.sizing.transfer import transferred
from ingest.units import display, exact

#: Quantities that, set by the user, fix the rate without evidence from the catalogs.
GIVEN_RATES = {RATE, "samples_per_second_per_gpu", *(f"ingest_bandwidth_per_{part}" for part in ("gpu", "node", "job"))}
#: `--set` of these changes the level in use, but not those shown for comparison.
OUTCOMES = GIVEN_RATES | {"achieved_flops_per_gpu", UTILIZATION}
#: Kinds of evidence that tell of one rate; a share of the peak is none of its own.
EVIDENCE = ("measured", "emulated", "transferred")
#: No published run reached more of the dense peak: 0.80, ResNet-50 with SSD on a V100 in fp32.
MOST_OF_PEAK = 0.81
#: A job of up to so many times the GPUs of a run is of its size.
REACH = 1.1


class RateBasis(NamedTuple):
    """The evidence from which the rate of a job follows."""

    job: Job  # the job, checked
    model: Model | None
    gpu: Gpu | None
    node: Node | None
    guidance: Storage | None  # what the vendor asks of storage for the GPU, at its highest level
    rates: PublishedRates | None  # the published rates of the model
    precision: str
    level: EvidenceLevel  # the evidence level in use
    ladder: Ladder  # the others
    common: Mapping[str, Input]  # inputs that are the same at every level
    fixed: Mapping[str, Input]  # quantities set by the user

    @property
    def known(self) -> dict[str, Input]:
        """The inputs of the results at the level in use."""
        return {**self.common, **self.level.given, **self.fixed}

    def others(self) -> list[EvidenceLevel]:
        """The further evidence levels that exist, the best one first."""
        return self.ladder.levels[1:]


def rate_basis_of(job: Job, catalog: Catalog) -> RateBasis:
    """Find the evidence for the rate of a job, without solving for any result.

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: there is no evidence at the
    level requested; names what to supply.
    """
    job = job.checked()
    length = job.numbers.get("sequence_length")
    own = model_named(job.model, length, catalog) if job.model is not None else None
    model = own and at_length(own, length, catalog, {**job.numbers, **job.settings})
    if own is not None:
        evidence_ladder.check_own_rates(catalog, own)
    rates = PublishedRates(own, catalog, job.batch_tokens or batch_of(job.settings)) if own is not None else None
    gpu, node = machine_of(job.gpu, job.node, catalog, "samples_per_second" not in job.numbers)
    # A utilization that users state is a share of the 16-bit peak, as is that of a class.
    share = "efficiency" in job.numbers or UTILIZATION in job.settings
    guidance = catalog.referred(Storage, gpu.guidance, by=gpu.path) if gpu is not None and gpu.guidance else None
    scaling = catalog.get(Scaling, job.scaling) if job.scaling in ("weak", "strong") else None
    common = known_quantities(job, model, gpu, node, guidance, scaling)
    sizes = {name: item.value for name, item in {**common, **by_user(job.settings)}.items()}
    count = float(check_value("gpus", solve("gpus", sizes), Option("nodes"))) if "gpus_per_node" in sizes else None
    size = count if gpu is not None and job.scaling == "published" else None
    protocol = catalog.get(Protocol, job.protocol).id if job.protocol and own is not None else None
    usual = Usual(job.precision or FAMILIES[0][0])
    if job.precision is None and not share:
        usual = usual_precision(rates, gpu, size, protocol)
    precision = usual.precision
    if gpu is not None and job.precision is None:
        # A GPU without bf16, such as the V100, computes in fp16.
        precision = next((one for one in (precision, *family_of(precision)) if one in gpu.peak_flops), precision)
    if gpu is not None and (top := peak_of(gpu, precision)) is not None:
        common = {"peak_flops_per_gpu": top, **common}
    everything = {**common, **by_user(job.settings)}
    ladder = Ladder(job, own, model is own, rates, gpu, protocol, everything, precision, size)
    level = ladder.first
    if job.precision is None and rates is not None and gpu is not None and level.basis in ("measured", "transferred"):
        level = _with_slower(level, rates, gpu, precision, job.protocol, size)
    if size is not None and usual.faster:
        level = _with_faster(level, size, usual.faster, ladder)
    # Ids, aliases and files load no table of names.
    known = own is None or catalog.canonical("models", str(job.model)) == own.id or str(job.model).endswith((".json", ".yaml"))
    if is_numbers(job.model) or (not known and job.model in catalog.releases.based):
        # What numbers leave open decides bytes and FLOPs of a token, as do layers that a name does not tell.
        notes = model_structure(str(job.model), catalog).notes
        level = level._replace(warnings=(*level.warnings, *notes))
    named = str(job.model)
    if own is not None and catalog.canonical("models", catalog.model_id(named)) != own.id and own.path != Path(named):
        level = level._replace(warnings=(*level.warnings, taken_for(named, own)))
    return RateBasis(job, model, gpu, node, guidance, rates, precision, level, ladder, common, by_user(job.settings))


class Usual(NamedTuple):
    """The precision in which a job computes, and the faster ones whose runs are all smaller, with the largest job of each."""

    precision: str
    faster: Mapping[str, float] = MappingProxyType({})


def usual_precision(
    rates: PublishedRates | None, gpu: Gpu | None, gpus: float | None = None, protocol: str | None = None
) -> Usual:
    """Return the fastest precision at which training runs of the size of the job are published on GPUs of the generation.

    Where none is as large, that of the largest run. Where there are none, that of the best evidence there is: emulated or
    recalled on the GPU, runs on the GPU of the vendor that is most like it, then any other; bf16 where there is nothing.
    `gpus` is the size of the job, None for one of any size; `protocol` that of the rates that count, None for all.
    """
    if rates is None or gpu is None or not rates.rows:
        return Usual(FAMILIES[0][0])
    size, reach = gpus or 0, dict[str, float]()
    by_gpu = rates.once(("largest", protocol), lambda: _largest_runs(rates, protocol))
    for precision in FASTEST_FIRST:
        runs = by_gpu.get(precision, {})
        most = runs.get(gpu.id, 0) * REACH
        if runs and most < max(size, 1) and peak_of(gpu, precision):
            # The other GPUs of the generation are read only where they decide.
            most = rates.once(("reach", gpu, protocol, precision), partial(_reach, rates, gpu, runs))
        if most >= max(size, 1):
            return Usual(precision, reach)
        if most:
            reach[precision] = most
    if reach:
        found = max(reach, key=lambda one: reach[one])
        return Usual(found, dict(list(reach.items())[: list(reach).index(found)]))

    def standing(rate: Rate) -> tuple[int, float]:
        weak = rate.grade == "assumed" or rates.is_emulation(rate.protocol)
        if rate.gpu == gpu.id:
            return 2, 0.0
        source = rates.gpu(rate.gpu)
        speeds = (gpu.memory_bandwidth, source.memory_bandwidth)
        apart = abs(math.log(speeds[0].value / speeds[1].value)) if speeds[0] and speeds[1] else math.inf
        return (5 if weak else 3 if source.vendor == gpu.vendor else 4), apart

    usable = rates.once(
        ("standing", gpu, protocol),
        lambda: [
            (*standing(rate), FASTEST_FIRST.index(family_of(rate.precision)[0]))
            for rate in rates.rows
            if protocol in (None, rate.protocol)
            and (rate.gpu == gpu.id or (peak_of(gpu, rate.precision) and peak_of(rates.gpu(rate.gpu), rate.precision)))
        ],
    )
    return Usual(FASTEST_FIRST[min(usable)[2]] if usable else FAMILIES[0][0])


def _reach(rates: PublishedRates, gpu: Gpu, runs: Mapping[str, float]) -> float:
    """The GPUs of the largest job that runs on GPUs of a generation speak for: those with a vendor and their fastest precision
    in common, and memory bandwidths within a factor of two.
    """
    most = 0.0
    for name, run in runs.items():
        pair = (rates.gpu(name), gpu)
        speeds = [one.memory_bandwidth.value if one.memory_bandwidth else math.inf for one in pair]
        if len({*map(evidence_ladder.generation_of, pair)}) == 1 and 0.5 <= speeds[0] / speeds[1] <= 2:
            most = max(most, run * REACH)
    return most


def _largest_runs(rates: PublishedRates, protocol: str | None) -> dict[str, dict[str, float]]:
    """The GPUs of the largest training run at a precision, or its sibling, by precision and GPU."""
    found: dict[str, dict[str, float]] = {}
    for run in rates.of_runs():
        if protocol in (None, run.protocol):
            runs = found.setdefault(family_of(run.precision)[0], {})
            runs[run.gpu] = max(run.gpus, runs.get(run.gpu, 0))
    return found


def computed_in(model: Model | None, gpu: Gpu | None, gpus: float | None, states: Optimizer, catalog: Catalog) -> str:
    """The precision of the products of published runs that keep their weights in a wider one, as words for a title, or none."""
    alike = not states.adapters or (model is not None and model.optimizer == states.id)
    found = usual_precision(PublishedRates(model, catalog), gpu, gpus).precision if model and gpu and alike else ""
    return f"; computed in {found}" if found in FASTEST_FIRST[: FASTEST_FIRST.index("bf16")] else ""


def _with_slower(
    level: EvidenceLevel, rates: PublishedRates, gpu: Gpu, precision: str, protocol: str | None, size: float | None
) -> EvidenceLevel:
    """The level with a range that reaches down to what others run today at a slower precision of at most 16 bits."""
    rate = level.given[RATE]
    slower = FASTEST_FIRST[FASTEST_FIRST.index(family_of(precision)[0]) + 1 : FASTEST_FIRST.index("bf16") + 1]

    def series(one: str) -> list[Series]:
        runs = (run for run in rates.newest() if run.gpu == gpu.id and protocol in (None, run.protocol))
        latest = [run for run in runs if run.round in (rates.rounds(run.protocol)[-2:] or ("",))]
        return series_of(rates.model, latest, one)

    found = {
        one: typical(rates, {each.protocol: each.at(size, rates.steps).value for each in runs})[0]
        for one in slower
        if (runs := rates.once(("slower", gpu, protocol, one), partial(series, one)))
    }
    low = min([rate.low or rate.value, *found.values()])
    if not found or low == rate.low:
        return level
    note = f"{rate.note}; down to that of runs at {' and '.join(found)}"
    return level._replace(given={RATE: rate._replace(low=low, note=note)}, note=note)


def _with_faster(level: EvidenceLevel, size: float, faster: Mapping[str, float], ladder: Ladder) -> EvidenceLevel:
    """The level with a range that reaches up to the rate at faster precisions, at which no run is as large.

    In all, the job is no slower than the largest job at each of those: a larger job never reads less than a smaller one.
    """
    own = _rate(level)
    least = most = 1.0
    for precision, gpus in faster.items():
        try:
            found = [revised(ladder, precision=precision, size=one).first for one in (gpus, size)]
        except IngestError:
            continue
        at_most, at_size = map(_rate, found)
        raised = float(solve("size_raise", {**Run(gpus, at_most).beside(size), RATE: own}))
        least, most = max(least, raised), max(most, at_size / own)
    if most == 1:
        return level
    name = RATE if RATE in level.given else UTILIZATION
    share = level.given[name]
    note = f"{share.note}; up to that at {' and '.join(faster)}, at which no run is as large"
    high = max((share.high or share.value) * least, share.value * most)
    higher = share._replace(value=share.value * least, high=high, note=note)
    largest = ", ".join(f"in {one} have up to {gpus / REACH:,.0f} GPUs" for one, gpus in faster.items())
    text = f"computed in {ladder.precision}, as published runs of this size are: those {largest}, and are faster"
    warnings = (*level.warnings, Message(text, supply=("precision",)))
    return level._replace(given={**level.given, name: higher}, note=note, warnings=warnings)


def _rate(level: EvidenceLevel) -> float:
    """The rate per GPU at a level."""
    return float(solve(RATE, {name: item.value for name, item in level.given.items()}))


class Ladder(Frozen):
    """The evidence levels of a job, the one to use first; those that nobody asks for are not computed."""

    job: Job
    model: Model | None  # the one that it names
    of_model: bool  # whether rates of that model are its own; at another sequence length only the share of the peak applies
    rates: PublishedRates | None
    gpu: Gpu | None
    protocol: str | None
    known: Mapping[str, Input]  # the inputs that all levels have, with those of the user
    precision: str
    size: float | None

    @cached_property
    def own(self) -> EvidenceLevel | None:
        """The rate as the user gives it: samples/s, achieved FLOP/s, or a share of the peak. Raises UsageError: above it."""
        job, flops, own = self.job, self.known.get("flops_per_sample"), None
        rate = job.numbers.get("samples_per_second")
        if rate is not None or GIVEN_RATES & job.settings.keys():
            given = {} if rate is None else {RATE: Input(rate, origin="user")}
            own = EvidenceLevel("given", given, "samples/s as given by the user")
        for option, name in (("achieved", "achieved_flops_per_gpu"), ("efficiency", UTILIZATION)):
            value = job.numbers.get(option)
            if own is None and (value is not None or name in job.settings):
                share = {} if value is None else {name: Input(value, origin="user")}
                base = {"flops_per_sample": flops} if flops else {}
                own = EvidenceLevel("efficiency", {**base, **share}, f"{name} as given by the user")
        known = {**self.known, **(own.given if own is not None else {})}
        facts = [finding("E11", known, gpu=self.gpu and self.gpu.name, precision=self.precision)] if own is not None else []
        for refused in applying(facts):
            raise UsageError(refused.message())
        return own

    @cached_property
    def first(self) -> EvidenceLevel:
        """The level to use.

        Raises UsageError: no GPU or no model, and nothing that replaces it; IngestError: the level requested does not exist;
        gives the reason and what to supply.
        """
        if self.own is not None:
            return self.own
        measured = self.level("measured") if self.of_model and self.job.basis in ("auto", "measured") else None
        if measured is None:
            return self.levels[0]
        if self.job.basis == "auto" and not self.job.protocol and len(measured.protocols) == 1:
            # Runs on other GPUs may lie wholly above the only benchmark that was measured here.
            few, own = (self.level(basis, few=True) for basis in ("transferred", "measured"))
            if few is not None and _is_above(few, own or measured):
                return self.levels[0]
        return self._held_together(measured)

    @cached_property
    def levels(self) -> list[EvidenceLevel]:
        """All that exist. Raises as `first`."""
        own, job, level, flops = self.own, self.job, self.level, self.known.get("flops_per_sample")
        rungs = [level("measured"), level("emulated", few=True), level("transferred"), self._share_of_peak]
        known = ((rungs[2], RATE), (rungs[3], UTILIZATION))
        if all(one is not None and one.given[name].grade == "assumed" for one, name in known):
            # Of evidence of equal grade, that on this GPU comes first.
            rungs[2:] = [rungs[3], rungs[2]]
        rungs.append(evidence_ladder.peak(self.gpu, self.precision, flops) if self.gpu is not None else None)
        found = [one for one in rungs if one is not None and (self.of_model or RATE not in one.given)]
        if job.protocol:
            # A protocol names measurements: the levels without any answer only when they are requested.
            found = [one for one in found if one.basis in (*EVIDENCE, job.basis)]
        if own is not None:
            return [own, *(one for one in found if one.basis != own.basis)]
        if not job.protocol:
            found = _with_other_gpus(found, partial(level, few=True))
        found = [self._held_together(one) if one.basis in EVIDENCE[:2] else one for one in found]
        wanted = [one for one in found if one.basis == job.basis or (job.basis == "auto" and one.basis != "peak")]
        if not wanted:
            raise _no_evidence(job, self.rates, self.gpu, self.precision, flops)
        return [*wanted, *(one for one in found if one not in wanted)]

    def _held_together(self, own: EvidenceLevel) -> EvidenceLevel:
        """A level of this GPU, with a range that covers what was measured on it and what emulates it, where these disagree."""
        measured, emulated, rivals = self.level("measured"), self.level("emulated"), own.protocols
        if measured and emulated:
            rivals = {**{f"{name} (emulated)": rate for name, rate in emulated.protocols.items()}, **measured.protocols}
            own = own._replace(rivals=rivals)
        rate, slow, fast = own.given[RATE], min(rivals.values()), max(rivals.values())
        if fast <= slow * DISAGREE:
            return own

        def warnings() -> Iterator[str]:
            listed = [f"{name} {display(rivals[name], '1')}" for name in reversed([*rivals])]
            words = "; ".join(listed if len(listed) <= 4 else [*listed[:2], "…", *listed[-2:]])
            yield from (told("W61", spread=fast / slow, rates=words), *own.warnings)

        given = {RATE: rate._replace(low=min(rate.low or slow, slow), high=max(rate.high or fast, fast))}
        return own._replace(given=given, warnings=Later(warnings))

    @cached_property
    def _share_of_peak(self) -> EvidenceLevel | None:
        """The share of the peak that is known. At another sequence length than that of the runs it is the one that the rate at
        theirs reaches, so that the hours of a token grow with its FLOPs alone."""
        wide, rates, gpu = self.level("efficiency", few=True), self.rates, self.gpu
        theirs = rates and rates.model.flops_per_sample
        if self.of_model or not wide or not rates or not gpu or not theirs or wide.given["flops_per_sample"].origin == "user":
            return wide
        known = {**self.known, "flops_per_sample": evidence_ladder.from_catalog(theirs)}
        try:
            found = revised(self, job=revised(self.job, basis="auto"), of_model=True, known=known).first
        except IngestError:
            return wide
        if (rate := found.given.get(RATE)) is None:
            return wide
        ends = (rate.value, rate.low or rate.value, rate.high or rate.value)
        middle, *reached = (_share(rates.model, gpu, self.precision, end) or 0 for end in ends)
        note, (low, high) = f"utilization at the length of the runs: {found.note}", _ends_of_share(middle, *reached)
        share = rate._replace(value=middle, low=low, high=high, grade="derived", note=note)
        return EvidenceLevel("efficiency", {**wide.given, UTILIZATION: share}, note, found.warnings)

    def level(self, basis: str, few: bool = False) -> EvidenceLevel | None:
        """A level at the size of the job, or on a few nodes: a site asks for the same ones many times."""
        rates, gpu, precision, protocol = self.rates, self.gpu, self.precision, self.protocol
        if rates is None or gpu is None or (not rates.rows and basis != "efficiency"):
            return None
        flops, size = self.known.get("flops_per_sample"), None if few else self.size

        def top() -> float:
            peak = evidence_ladder.peak(gpu, precision, flops)
            return math.inf if peak is None else MOST_OF_PEAK * _rate(peak)

        def made() -> EvidenceLevel | None:
            if basis == "efficiency":
                return efficiency(rates, gpu, precision, flops, protocol)
            if basis == "transferred":
                found = transferred(rates, gpu, precision, protocol, size)
            else:
                found = published(basis, rates, gpu, precision, protocol, size)
            return found if few or found is None else _below(rates.once(("top", gpu, precision, flops), top), found)

        return rates.once((basis, few, gpu, precision, protocol, flops, size, rates.batch if size else None), made)


def _below(most: float, level: EvidenceLevel) -> EvidenceLevel:
    """A level of rates whose range ends at most at a rate; that of a published run or scaled from some."""
    if level.basis not in ("measured", "transferred"):
        return level
    rate = level.given[RATE]
    ends = {name: min(end, most) for name in ("value", "low", "high") if (end := getattr(rate, name)) is not None}
    return level._replace(given={RATE: rate._replace(**ends)})


def _with_other_gpus(found: list[EvidenceLevel], few: Callable[[str], EvidenceLevel | None]) -> list[EvidenceLevel]:
    """Hold a lone benchmark on this GPU against training runs scaled from other GPUs.

    Where these lie wholly above an emulation, they answer in its place. Where they lie wholly above the only benchmark that
    was measured here, the median of it and of the other benchmarks answers. Else the range covers both. Both levels on a
    `few` nodes decide, so that the level does not change with the size.
    """
    levels = {level.basis: level for level in found}
    real = levels.get("transferred")
    own = levels.get("measured") or levels.get("emulated")
    if real is None or own is None or len(own.protocols) != 1:
        return found
    rate, scaled = own.given[RATE], real.given[RATE]
    name = next(iter(own.protocols))
    here = f"{name} on this GPU gives {display(rate.value, 'sample/s')}"
    line = partial(told, "W67", scaled=display(scaled.value, "sample/s"), own=here)
    wholly = _is_above(few("transferred") or real, few(own.basis) or own)
    low, high = min(scaled.value, rate.low or rate.value), max(scaled.value, rate.high or rate.value)
    others = [level for level in found if level not in (own, real)]
    if own.basis == "measured" and not wholly:
        return found
    other = [value for protocol, value in real.protocols.items() if protocol != name]
    if own.basis == "measured" and other:
        note = f"median of {name}, measured on this GPU, and a {real.note}"
        middle, parts = median((rate.value, median(other))), Later(lambda: (*rate.parts, *scaled.parts))
        high = max(high, scaled.high or scaled.value)
        both = rate._replace(value=middle, low=low, high=high, parts=parts, note=note, grade="derived")
        told_first = Later(lambda: (line(then=". The estimate takes their median"), *real.warnings))
        return [real._replace(given={RATE: both}, note=note, warnings=told_first), own, *others]
    if own.basis == "emulated" and wholly:
        then = ", below the range on a few nodes: the estimate takes the training runs, a tender requires the lower"
        return [real._replace(warnings=Later(lambda: (*real.warnings, line(then=then)))), own, *others]
    wider = own._replace(given={RATE: rate._replace(low=low, high=high)})

    def warnings() -> Iterator[str]:
        then = "; a tender requires the lower" if disputed(wider, lambda: [real]) is not None else ""
        yield from (*own.warnings, line(then=f". The range covers both{then}"))

    return [wider._replace(warnings=Later(warnings)), real, *others]


def _is_above(scaled: EvidenceLevel, own: EvidenceLevel) -> bool:
    """Whether the range of a rate lies wholly above that of another."""
    small, rate = scaled.given[RATE], own.given[RATE]
    return (small.low or small.value) > (rate.high or rate.value)


def _no_evidence(job: Job, rates: PublishedRates | None, gpu: Gpu | None, precision: str, flops: Input | None) -> IngestError:
    if gpu is None:
        return UsageError(
            "--gpu is missing, the kind of GPU; expected an id (`ingest catalog list gpus`), --node, or --samples-per-second"
        )
    if rates is None:
        return UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
    model = rates.model
    if job.protocol and job.basis in ("auto", "measured", "emulated"):
        seen = sorted({rate.protocol for rate in rates.rows})
        hint = f"; {model.id} has been measured under {', '.join(seen)}" if seen else ""
        return IngestError(
            Message(Option("protocol"), f": no rate of {model.id} on {gpu.id} under '{job.protocol}' at {precision}{hint}")
        )
    return evidence_ladder.absence(model, gpu, job.basis, precision, flops, job.protocol)


def efficiency(
    rates: PublishedRates, gpu: Gpu, precision: str, flops: Input | None, protocol: str | None = None
) -> EvidenceLevel | None:
    """Return the efficiency level: from the model's own utilization if it is known, else from that of its class.

    A rate of the model on this GPU that is only recalled is such a utilization, and comes first. In fewer bits than any run of
    the model, the utilization at 16 bits and what runs of its class gained by them.
    """
    peak = peak_of(gpu, precision)
    if peak is None or flops is None:
        return None
    warnings: tuple[str, ...] = ()
    model = rates.model
    shares = rates.once(("utilizations", precision), lambda: [*utilizations(rates, precision)])
    gain, sixteen = rates.family.gain_by_precision.get(precision), peak_of(gpu, FAMILIES[0][0])
    remembered = _recalled(rates, gpu, precision, protocol)
    if not shares and gain is not None and sixteen is not None and remembered is None:
        wide = efficiency(rates, gpu, FAMILIES[0][0], flops, protocol)
        return wide and _in_fewer_bits(wide, evidence_ladder.from_catalog(gain), peak, sixteen, precision)
    if flops.origin == "user" and (shares or remembered):
        # These were derived with the FLOPs per sample of the catalog and do not apply to others.
        return None
    if remembered is not None:
        given = remembered
        warnings = (told("W64"),)
    elif shares:
        values = [share.value for share in shares]
        note = f"utilization of {model.name} on {len(shares)} GPU{'s' if len(shares) > 1 else ''}"
        middle = median(values)
        low, high = _ends_of_share(middle, *values)
        given = Input(middle, low, high, source="ingest-rates", grade="derived", note=note, parts=tuple(shares))
    else:
        shared = rates.utilization_of_class(gpu)
        if shared is None or precision not in FAMILIES[0]:
            # The utilization of a class is a share of the 16-bit peak.
            return None
        note = f"utilization of its class ({model.efficiency_class}), not of this model"
        given = evidence_ladder.from_catalog(shared)._replace(note=note)
    known = {"peak_flops_per_gpu": peak, UTILIZATION: given, "flops_per_sample": flops}
    return EvidenceLevel("efficiency", known, given.note, warnings)


def _ends_of_share(middle: float, *values: float) -> tuple[float, float]:
    """The range of a share of the peak from those that were measured: another job is no repeat of the few that were."""
    return min(*values, middle / LONE.factor), min(MOST_OF_PEAK, max(*values, middle * LONE.factor))


def _in_fewer_bits(wide: EvidenceLevel, gain: Input, peak: Input, sixteen: Input, precision: str) -> EvidenceLevel:
    """The efficiency level at 16 bits as a share of the `peak` in fewer, of whose speed runs gain a part."""
    share = wide.given[UTILIZATION]
    note = f"{share.note} at 16 bits, × {gain.value:g} in {precision}: {gain.where}"

    def at(end: float, gained: float | None) -> float:
        return min(end * (gained or gain.value) * sixteen.value / peak.value, MOST_OF_PEAK)

    low, high = at(share.low or share.value, gain.low), at(share.high or share.value, gain.high)
    lower = share._replace(value=at(share.value, None), low=low, high=high, grade="derived", note=note, parts=())
    return wide._replace(given={**wide.given, "peak_flops_per_gpu": peak, UTILIZATION: lower}, note=note)


def _recalled(rates: PublishedRates, gpu: Gpu, precision: str, protocol: str | None) -> Input | None:
    """The utilization from a rate on this GPU that is recalled and has not been read again."""
    model = rates.model
    rows = [rate for rate in rates.rows if rate.grade == "assumed" and rate.gpu == gpu.id]
    found = [one.few for one in series_of(model, rows, precision) if protocol in (None, one.protocol)]
    if not found:
        return None
    part = part_of(model, rates.protocol(found[0].protocol), found[0])
    share = _share(model, gpu, precision, part.value)
    if share is None:
        return None
    note = (
        f"a rate of {model.name} on {gpu.id} from memory, not checked against its source: {exact(part.value)} samples/s per GPU"
    )
    return Input(share, source=part.source, where=part.where, grade="assumed", note=note)


def _share(model: Model, gpu: Gpu, precision: str, rate: float) -> float | None:
    """The share of the dense peak that a rate of a model reaches; None if its FLOPs or the peak are unknown."""
    peak = peak_of(gpu, precision)
    if peak is None or model.flops_per_sample is None:
        return None
    known = {RATE: rate, "flops_per_sample": model.flops_per_sample.value, "peak_flops_per_gpu": peak.value}
    return float(solve("implied_flops_utilization", known))


def utilizations(rates: PublishedRates, precision: str) -> Iterator[Evidence]:
    """The share of the dense peak that training runs of a model reached, one per GPU."""
    found = [one.few for one in rates.series("runs", precision)]
    for name in dict.fromkeys(rate.gpu for rate in found):
        own = [rate for rate in found if rate.gpu == name]
        share = _share(rates.model, rates.gpu(name), family_of(precision)[0], median(rate.value for rate in own))
        if share is not None:
            row = own[0].rows[0]
            yield Evidence(name, share, row.source, row.where, "derived")


class Dispute(NamedTuple):
    """What several kinds of evidence say of one rate: the lower is required, the higher is a target."""

    supported: Input  # the rate that all of them support, with a range that covers all
    suggested: float  # the highest rate that one of them suggests
    words: str  # the rates and what each comes from


def disputed(first: EvidenceLevel, others: Callable[[], Sequence[EvidenceLevel]]) -> Dispute | None:
    """Where kinds of evidence disagree by more than their ranges; None where one range covers them, or there is one alone.

    Benchmarks of the GPU itself, measured or emulated, outweigh what is carried over from others, but not each other: the
    lower is one, whichever of them the answer starts from.
    """
    if first.basis not in EVIDENCE or RATE not in first.given:
        return None
    rate = first.given[RATE]
    found = {name: Input(value) for name, value in (first.rivals or first.protocols).items()}
    if first.basis != "measured" and not first.rivals:
        further = [one for one in (first, *others()) if one.basis in EVIDENCE and RATE in one.given]
        found = {f"{'/'.join(one.protocols) or one.basis} ({one.basis})": one.given[RATE] for one in further}
        # The range in use may have been widened to cover the other: what is held against it is the benchmark's own value.
        found = {name: item if item is not rate else Input(item.value) for name, item in found.items()}
    ends = [((item.low or item.value), item.value, (item.high or item.value)) for item in found.values()]
    # Rates of protocols have no ranges of their own: what spreads less than this is one rate.
    slack = 1.0 if any(item.low is not None for item in found.values()) else DISAGREE
    if len(ends) < 2 or max(one[0] for one in ends) <= min(one[2] for one in ends) * slack:
        return None
    lowest, highest = min(found, key=lambda name: found[name].value), max(found, key=lambda name: found[name].value)
    said = {name: display(found[name].value, "sample/s", binary=False) for name in (lowest, highest)}
    words = f"{said[highest]} per GPU by {highest}, {said[lowest]} by {lowest}"
    low, high = min(one[0] for one in ends), max(one[2] for one in ends)
    lower = rate._replace(value=found[lowest].value, low=low, high=high, note=f"the lower of {words}", grade="derived")
    return Dispute(lower, found[highest].value, words)
