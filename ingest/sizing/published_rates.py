"""Published rates: those of a model on a GPU at the size of a job, one per protocol, and the levels measured and emulated."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain, combinations
from operator import mul
from typing import Any, NamedTuple, TypeVar

from ingest.catalog.records import Family, Gpu, Model, Protocol, Rate, Value
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message
from ingest.engine.registry import default_of, solve
from ingest.engine.value import EMPTY, Evidence, Input, Later
from ingest.formulas.bandwidth import samples_per_second_per_gpu_in_steps
from ingest.sizing.evidence_ladder import BASE_GPUS, RATE, Cells, EvidenceLevel, family_of, median, seen_rates, utilization_of
from ingest.sizing.rules import told
from ingest.text import grouped
from ingest.units import display, exact

#: A rate on more nodes than this is not the rate on "one to a few nodes" if a smaller run is published.
FEW_NODES = 2
#: Beyond this many times the largest run that is published, the rate is a guess worth a warning.
FAR_SIZE = 4
#: Two runs whose samples per GPU and step differ by less than this factor say little of the fixed part of a step.
APART = 1.2
#: Protocols whose fastest exceeds the slowest more than this are named in a warning.
DISAGREE = 1.5
#: A run whose total is below so much of that of one on half as many GPUs waits: repeats differ by less.
SLOWED = 0.8
#: The protocol of rates that are samples over the GPU-hours of a whole run, the time without progress included.
WHOLE_RUNS = "gpu-hours"
Made = TypeVar("Made")


class Floor(NamedTuple):
    """How far a measured rate may be off, either way, at the least: 80 to 85 % of the next round stay within; and why."""

    factor: float
    why: str


NEWEST = Floor(1.25, "several submitters of one of the two latest rounds")
LONE = Floor(4 / 3, "one submitter, older rounds or a table without any")
RESIZED = Floor(1.4, "a size that no run had")


class PublishedRates:
    """The published rates of a model, and the entries that they name: a few of some hundred, each read when first asked for."""

    def __init__(
        self,
        model: Model,
        catalog: Catalog,
        batch: Input | None = None,  # tokens of one step of the job; None for the largest batch of a published run of its size
        before: str = "",  # a round: only rates of earlier rounds count, as on the day before it was published
        seen: Cells | None = None,  # the rates of other models by GPU on that day
    ) -> None:
        self.model, self._catalog, self._file = model, catalog, model.path.with_suffix(".csv")
        self._before, self._seen, self.batch = before, seen, batch
        #: what its results follow from, as text: no call computes its hash again
        self._key = f"{model.path}, {model.flops_per_sample and model.flops_per_sample.value!r}, {before}"

    @cached_property
    def rows(self) -> tuple[Rate, ...]:
        """All of them."""
        rows = self._catalog.rates(self.model)
        return tuple(row for row in rows if row.round in self.rounds(row.protocol)) if self._before else rows

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """What follows from the rates and a key alone, whatever the size and the batch of a job."""
        return self._catalog.once((self._key, key), make)

    def of_runs(self, *, emulated: bool = False) -> list[Rate]:
        """Those of training runs, or of emulations, without those that are only recalled."""
        return self.once(
            ("runs", emulated),
            lambda: [row for row in self.rows if row.grade != "assumed" and self.is_emulation(row.protocol) == emulated],
        )

    def newest(self) -> list[Rate]:
        """Those of training runs of the newest round of each benchmark at each size."""
        return self.once("newest", lambda: newest(self.model, self.of_runs()))

    def series(self, of: str, precision: str) -> list[Series]:
        """Those of `runs`, of the newest runs (`measured`) or emulations (`emulated`), or of `gpus`, by GPU and protocol."""
        lists: dict[str, Callable[[], list[Rate]]] = {
            "runs": self.of_runs,
            "measured": self.newest,
            "emulated": lambda: newest(self.model, self.of_runs(emulated=True)),
            "gpus": lambda: of_gpus(self.model, self.rows),
        }
        return self.once(("series", of, precision), lambda: series_of(self.model, lists[of](), precision))

    def share_of_fast_steps(self, gpu: str, precision: str) -> float | None:
        """The mean rate of runs over that of their first steps: the median on a GPU, or else on all; None if none states it."""
        runs = [
            (row.gpu, {"run_mean_rate": row.run_mean, "first_steps_rate": row.samples_per_second_per_gpu})
            for row in self.of_runs()
            if row.run_mean and row.samples_per_second_per_gpu and row.precision in family_of(precision)
        ]
        found = [rates for on, rates in runs if on == gpu] or [rates for _, rates in runs]
        return median(float(solve("share_of_fast_steps", rates)) for rates in found) if found else None

    def gpu(self, name: str) -> Gpu:
        """The GPU of a rate."""
        return self._catalog.referred(Gpu, name, by=self._file)

    def protocol(self, name: str) -> Protocol:
        """The protocol of a rate."""
        return self._catalog.referred(Protocol, name, by=self._file)

    def rounds(self, protocol: str) -> tuple[str, ...]:
        """The rounds of a protocol, the oldest first."""
        return tuple(one for one in self.protocol(protocol).rounds if not self._before or one < self._before)

    def is_emulation(self, protocol: str) -> bool:
        """Whether a benchmark's sleep stands for the GPU."""
        return self.protocol(protocol).form == "emulation"

    def utilization_of_class(self, gpu: Gpu) -> Value | None:
        """The share of the dense peak that models of its class reach on a GPU."""
        return utilization_of(self._catalog.referred(Family, self.model.efficiency_class, by=self.model.path), gpu)

    @property
    def family(self) -> Family:  # of the model, whatever its size
        return self._catalog.referred(Family, self.model.family, by=self.model.path)

    @cached_property
    def steps(self) -> Steps:
        """What its runs show of its steps."""
        floor = math.inf if self.family.step_floor is None else self.family.step_floor.value
        found = self.once("steps", lambda: steps_of(submissions(self.model, of_gpus(self.model, self.of_runs())), floor))
        tokens = self.model.tokens_per_sample
        if self.batch is None or tokens is None:
            return found
        each = {"tokens_per_sample": tokens.value}
        ends = [end and float(solve("run_batch_samples", {**each, "run_batch_tokens": end})) for end in self.batch[:3]]
        return found._replace(batch=Input(ends[0] or 0, ends[1], ends[2]))

    @property
    def seen(self) -> Cells:
        """The rates of other models by GPU."""
        return seen_rates(self._catalog) if self._seen is None else self._seen


class Submission(NamedTuple):
    """The runs of a model that one submitter published in one round: on one GPU, under one protocol, at one precision."""

    gpu: str
    precision: str
    protocol: str
    round: str
    submitter: str


class Run(NamedTuple):
    """What a submission shows at one size: the medians of its runs."""

    gpus: float
    rate: float  # samples/s per GPU
    batch: float | None = None  # samples of one step of the whole job

    @property
    def step_samples(self) -> float | None:
        """Samples of one GPU in one step."""
        return self.batch / self.gpus if self.batch is not None else None

    def beside(self, gpus: float) -> dict[str, float]:
        """The quantities of the run, and of a job of another size."""
        return {"published_samples_per_second_per_gpu": self.rate, "published_gpus": self.gpus, "gpus": gpus}


#: The median of what many jobs ask for.
_middle_of = lru_cache(maxsize=256)(median)


class Steps(NamedTuple):
    """What the runs of a model show of its steps."""

    batches: tuple[tuple[float, float], ...] = ()  # GPUs and batch of the runs of a larger one than all on fewer GPUs
    half_speeds: tuple[float, ...] = ()  # the samples per GPU at which the fixed part takes half of a step, by pairs of runs
    floor: float = math.inf  # that number over the samples of the smaller run, of the class of the model
    #: of the total rate over the GPUs, from 0 to 1: medians by protocol and GPU, of all GPUs of a protocol under no name
    exponents: Mapping[Any, float] = EMPTY
    batch: Input | None = None  # that of the job, where it is its own

    def batch_on(self, gpus: float) -> float | None:
        """The largest batch that a published run used on at most so many GPUs, or the share of them in that of more."""
        return max([batch if size <= gpus else batch * (gpus / size) for size, batch in self.batches], default=None)

    def half_speed(self, step_samples: float) -> float:
        """The samples per GPU for which the fixed part takes half of a step; `step_samples` are those of the smaller run."""
        return _middle_of(self.half_speeds) if self.half_speeds else self.floor * step_samples

    def exponent(self, protocol: str, gpu: str) -> float | None:
        """The median exponent on a GPU, or else on all of a protocol; None where no two sizes are published."""
        return self.exponents.get((protocol, gpu), self.exponents.get((protocol, "")))


class ProtocolRate(NamedTuple):
    """The rate of one model on one GPU under one protocol, at the size of a job."""

    protocol: str
    gpu: str
    value: float  # per GPU, at the size of the job
    rows: tuple[Rate, ...]  # the runs from which it follows
    gpus: float | None  # the size of the job; None where the runs on a few nodes were asked for
    published: float  # the rate per GPU at `size`, which the value is scaled from
    size: int  # the published size at or below that of the job, or else the smallest
    factor: Callable[[], str] = str  # what it is scaled by, in words; empty where it is not
    low: float | None = None  # the rate if the job keeps the batch of the largest run; None up to the size of that


class Series:
    """The runs of a model on one GPU under one protocol, at a precision."""

    def __init__(self, model: Model, rows: Sequence[Rate]) -> None:
        self.model, self.rows = model, rows
        self.gpu, self.protocol = rows[0].gpu, rows[0].protocol

    @cached_property
    def few(self) -> ProtocolRate:
        """The rate on at most two nodes, or else of the smallest runs: the median."""
        limit = max(FEW_NODES, min(row.nodes for row in self.rows))
        small = tuple(row for row in self.rows if row.nodes <= limit)
        value = _middle(self.model, small)
        return ProtocolRate(self.protocol, self.gpu, value, small, None, value, max(row.gpus for row in small))

    @cached_property
    def sizes(self) -> dict[int, tuple[Rate, ...]]:
        """The runs of each size, the smallest first."""
        return {size: tuple(row for row in self.rows if row.gpus == size) for size in sorted({row.gpus for row in self.rows})}

    @cached_property
    def runs(self) -> list[Run]:
        """What the runs of each size show, the smallest first."""
        return [Run(size, _middle(self.model, rows), _batch(rows)) for size, rows in self.sizes.items()]

    @cached_property
    def totals(self) -> dict[int, float]:
        """The rate of all GPUs at each size: more GPUs never read less in total, and fewer never less per GPU."""
        rates = [*accumulate((run.rate for run in reversed(self.runs)), max)]
        return dict(zip(self.sizes, accumulate(map(mul, self.sizes, reversed(rates)), max), strict=True))

    def at(self, gpus: float | None, steps: Steps) -> ProtocolRate:
        """The rate at the size of a job, by the medians of published sizes and, beyond, the steps; or that on a few nodes."""
        if gpus is None:
            return self.few
        totals, sizes = self.totals, [*self.totals]
        place = bisect(sizes, gpus)
        below = sizes[max(place - 1, 0)]
        published, near, low = totals[below] / below, self.sizes[below], None
        run, value = Run(below, published, self.runs[max(place - 1, 0)].batch), published
        factor: Callable[[], str] = str
        if gpus > below and place == len(sizes):
            value, low, factor = beyond(run, gpus, steps, steps.exponent(self.protocol, self.gpu))
        elif gpus > below:
            above = sizes[place]
            near = tuple(row for row in self.rows if row.gpus in (below, above))
            value, factor = _by_power(run, gpus, math.log(totals[above] / totals[below]) / math.log(above / below))
        found = ProtocolRate(self.protocol, self.gpu, value, near, gpus, published, below, factor, low)
        return _in_batch(self, found, steps) if steps.batch else found


def series_of(model: Model, rates: Iterable[Rate], precision: str) -> list[Series]:
    """Return the runs by GPU and protocol; those graded `assumed` count only without others at the precision or its sibling."""
    members = family_of(precision)
    usable = [rate for rate in rates if rate.precision in members and samples_of(model, rate) is not None]
    sure = [rate for rate in usable if rate.grade != "assumed"]
    groups = grouped(((rate.gpu, rate.protocol), rate) for rate in sure or usable)
    return [Series(model, rows) for rows in groups.values()]


def _in_batch(series: Series, rate: ProtocolRate, steps: Steps) -> ProtocolRate:
    """The rate of a job that states its batch: a benchmark on many GPUs cuts a small one into pieces, a whole run has its own.

    The job is at least as fast as each smaller run at the samples per GPU and step that its batch leaves.
    """
    gpus, own, changes = rate.gpus or 0, steps.batch or Input(0), dict[str, Any]()
    low, fastest = rate.low or rate.value, rate.value
    for run in series.runs:
        size, batch = int(run.gpus), run.batch or steps.batch_on(run.gpus)
        if size > gpus:
            break
        if batch is None:
            continue
        samples, least, most = batch / size, max(own.low or own.value, batch), max(own.value, batch)
        half = steps.half_speed(samples)
        value, fewer = _in_steps(run, gpus, samples, most, half)
        low = max(low, value if least == most else _in_steps(run, gpus, samples, least, half)[0])
        if value > fastest:
            factor, fastest = partial(_factor, run, value, fewer, samples), value
            changes = {"value": value, "rows": series.sizes[size], "published": run.rate, "size": size, "factor": factor}
    return rate._replace(low=min(low, fastest), **changes)


def _batch(rows: Iterable[Rate]) -> float | None:
    """The median of the batches of runs; None where none states it."""
    found = [row.batch for row in rows if row.batch is not None]
    return median(found) if found else None


def beyond(run: Run, gpus: float, steps: Steps, exponent: float | None = None) -> tuple[float, float, Callable[[], str]]:
    """Return the rate per GPU of a job larger than a run, that if it keeps the batch of the run, and what says the factor.

    The job takes as many samples per GPU and step as the run, until its batch is the largest that a published run of the
    model used on as many GPUs; from there on each GPU has fewer. `exponent` is that of the model, used where no batch is
    known. A larger job never reads less than a smaller one.
    """
    batch, samples = run.batch or steps.batch_on(run.gpus), 1.0
    if batch is None:
        # The samples of a GPU are counted in those of the run; on a few GPUs a job has as many.
        low, _ = _in_steps(run, gpus, 1.0, max(run.gpus, min(gpus, BASE_GPUS)), steps.floor)
        if exponent is not None:
            value, factor = _by_power(run, gpus, exponent)
            return value, min(low, value), factor
        value, fewer = _in_steps(run, gpus, samples, gpus, steps.floor)
    else:
        samples = batch / run.gpus
        half = steps.half_speed(samples)
        most = max(steps.batch_on(gpus) or batch, batch)
        value, fewer = _in_steps(run, gpus, samples, most, half)
        low = value if most == batch else _in_steps(run, gpus, samples, batch, half)[0]
    return value, min(low, value), partial(_factor, run, value, fewer, samples)


def _by_power(run: Run, gpus: float, exponent: float) -> tuple[float, Callable[[], str]]:
    """The rate per GPU where the total grows with a power of the GPUs, and what says the factor."""
    value = float(solve("samples_per_second_per_gpu_at_size", {**run.beside(gpus), "scaling_exponent": exponent}))
    return value, lambda: f"({gpus:,.0f} ÷ {run.gpus:,})^({exponent:.3g} - 1)"


def _in_steps(run: Run, gpus: float, samples: float, batch: float, half: float) -> tuple[float, float | None]:
    """The rate per GPU of a job of a batch, whose GPUs take at most as many `samples` as those of the run, and the samples that
    each takes in a step; None where nothing is known of these.

    With fewer samples per GPU, more GPUs add less and less, until the total rate would fall: there it stays.
    """
    full = batch / samples  # GPUs up to which each has all its samples
    if math.isinf(half):
        return run.rate * min(1, full / gpus), None  # steps of which nothing is known are no shorter with fewer samples
    loss = default_of("size_loss") or 0.0
    at = min(gpus, max(full, (1 - loss) * batch / (loss * half)) if half else math.inf)
    fewer = min(samples, batch / at)
    value = samples_per_second_per_gpu_in_steps(run.rate, fewer, half, samples, at, run.gpus, loss)
    return float(value) * at / gpus, fewer


def _factor(run: Run, value: float, fewer: float | None, samples: float) -> str:
    """The factor of a rate in words: which samples a GPU takes in a step, and which it took in the run."""
    if fewer is None:
        return f"{value / run.rate:.4g}"
    return f"{value / run.rate:.4g}: {display(fewer, '1')} samples per GPU and step instead of {display(samples, '1')}"


def submissions(model: Model, rates: Iterable[Rate]) -> dict[Submission, list[Run]]:
    """Return what each submission shows, the smallest size first."""
    groups: dict[Submission, dict[int, list[Rate]]] = {}
    for rate in rates:
        if samples_of(model, rate) is not None:
            submitter, _, system = rate.where.partition("/results/")
            key = Submission(rate.gpu, rate.precision, rate.protocol, rate.round, submitter if system else rate.source)
            groups.setdefault(key, {}).setdefault(rate.gpus, []).append(rate)
    return {
        key: [Run(size, _middle(model, rows), _batch(rows)) for size, rows in sorted(sizes.items())]
        for key, sizes in groups.items()
    }


def half_speeds(found: Mapping[Submission, Sequence[Run]]) -> Iterator[tuple[float, float]]:
    """Yield the samples per GPU for which half of a step is fixed, by each two runs that tell it, and those of the smaller."""
    for small, large in chain.from_iterable(combinations(runs, 2) for runs in found.values()):
        first, last = small.step_samples, large.step_samples
        if first is not None and last is not None and first >= APART * last:
            slow, fast = first / small.rate, last / large.rate
            if slow > fast:
                yield max(0.0, slow * (first - last) / (slow - fast) - first), first


def steps_of(found: Mapping[Submission, Sequence[Run]], floor: float) -> Steps:
    """Return what submissions show of the steps of a model; `floor` is that of its class."""
    batches: list[tuple[float, float]] = []
    for run in sorted(chain.from_iterable(found.values()), key=lambda run: (run.gpus, -(run.batch or 0))):
        if run.batch is not None and (not batches or run.batch > batches[-1][1]):
            batches.append((run.gpus, run.batch))
    fits = [(key.protocol, key.gpu, _exponent(runs)) for key, runs in found.items() if len(runs) > 1]
    exponents = grouped(((protocol, on), fit) for protocol, gpu, fit in fits for on in (gpu, ""))
    middles = {key: median(each) for key, each in exponents.items()}
    return Steps(tuple(batches), tuple(half for half, _ in half_speeds(found)), floor, middles)


def _exponent(runs: Sequence[Run]) -> float:
    """The least-squares slope of the logarithm of the total rate over that of the size, from 0 to 1."""
    points = [(math.log(run.gpus), math.log(run.gpus * run.rate)) for run in runs]
    middle, height = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    slope: float = sum((x - middle) * (y - height) for x, y in points) / sum((x - middle) ** 2 for x, _ in points)
    return min(1.0, max(0.0, slope))


def _middle(model: Model, rows: Sequence[Rate]) -> float:
    return median(samples_of(model, row) or 0 for row in rows)


def samples_of(model: Model, rate: Rate) -> float | None:
    """Return the rate in samples/s while a run computes; from FLOP/s if only those and the FLOPs per sample are known."""
    if rate.samples_per_second_per_gpu is not None:
        return rate.samples_per_second_per_gpu / (solve("whole_run_goodput", {}) if rate.protocol == WHOLE_RUNS else 1)
    if rate.achieved_flops_per_gpu is None or model.flops_per_sample is None:
        return None
    known = {"achieved_flops_per_gpu": rate.achieved_flops_per_gpu, "flops_per_sample": model.flops_per_sample.value}
    return float(solve(RATE, known))


def measured_models(every: Iterable[PublishedRates]) -> Iterator[tuple[PublishedRates, str, list[ProtocolRate]]]:
    """The rates of training runs on one to a few nodes, by model and precision."""
    for rates in every:
        rows = rates.of_runs()
        for precision in dict.fromkeys(family_of(row.precision)[0] for row in rows):
            yield rates, precision, [one.few for one in rates.series("runs", precision)]


def before_round(catalog: Catalog, name: str) -> Iterator[PublishedRates]:
    """The rates of every model that has some, as on the day before a round of a benchmark was published."""
    seen: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    known = [PublishedRates(model, catalog, before=name, seen=seen) for model in catalog.all(Model)]
    for rates, precision, found in measured_models(known):
        for rate in found:
            seen.setdefault((rate.protocol, rate.gpu), {})[rates.model.id, precision] = rate.value
    return (rates for rates in known if rates.rows)


def typical(rates: PublishedRates, by_protocol: Mapping[str, float]) -> tuple[float, int]:
    """Return the median over independent benchmarks, of which protocols may be editions that count once; and their number."""
    benchmarks = grouped((rates.protocol(one).benchmark or one, value) for one, value in by_protocol.items())
    return median(map(median, benchmarks.values())), len(benchmarks)


def published(
    basis: str, rates: PublishedRates, gpu: Gpu, precision: str, protocol: str | None, gpus: float | None
) -> EvidenceLevel | None:
    """Return the level `measured` of training runs, or `emulated` of accelerators that sleep; None if no rate is published."""
    model = rates.model
    size = gpus if basis == "measured" else None  # an emulated accelerator sleeps as long in a job of any size
    here = [one for one in rates.series(basis, precision) if one.gpu == gpu.id and protocol in (None, one.protocol)]
    found = sorted([one.at(size, rates.steps) for one in here], key=lambda rate: rate.value)
    if not found:
        return None
    protocols = [rates.protocol(rate.protocol) for rate in found]
    parts = Later(partial(map, partial(part_of, model), protocols, found))
    by_protocol = {rate.protocol: rate.value for rate in found}
    value, benchmarks = typical(rates, by_protocol)
    several = len(found) > 1
    ends = [value, *(rate.value for rate in found), *(rate.published for rate in found)]
    ends += [rate.low for rate in found if rate.low]
    if not several:
        # The slowest and the fastest run at the size from which the rate follows, at the size of the job.
        (only,) = found
        runs = [samples_of(model, row) or 0 for row in only.rows if only.gpus is None or row.gpus == only.size]
        ends += [end * only.value / only.published for end in (min(runs), max(runs))]
    floor = min(floor_of(rates, rate) for rate in found) if basis == "measured" else None
    ends += [value / floor.factor, value * floor.factor] if floor is not None else []
    # Editions of a benchmark count once: of several benchmarks the medians are averaged.
    each = f"{benchmarks} benchmarks, each the median of its protocols: {len(found)} in all"
    of_what = each if 1 < benchmarks < len(found) else f"{len(found)} protocols" + " of one benchmark" * (benchmarks == 1)
    note = f"median of {of_what}" if several else f"protocol {parts[0].what}"
    note += f"; range at least ×{floor.factor:.3g} either way: {floor.why}" if floor is not None else ""
    source, where = ("", "") if several else (parts[0].source, parts[0].where)
    grade = "measured" if basis == "measured" else parts[0].grade
    given = Input(value, low=min(ends), high=max(ends), source=source, where=where, grade=grade, note=note, parts=parts)
    warnings = Later(partial(_warnings, model, rates.batch, basis, protocols[0], found))
    return EvidenceLevel(basis, {RATE: given}, note, warnings, by_protocol, size is not None)


def of_gpus(model: Model, rows: Iterable[Rate]) -> list[Rate]:
    """Return the rates without those of runs that wait: lower bounds, and totals below that of a run on half as many GPUs."""
    kept: list[Rate] = []
    for found in grouped(((row.gpu, row.protocol, family_of(row.precision)), row) for row in rows).values():
        free = [row for row in found if not row.waits] or found
        totals = [(row, row.gpus * (samples_of(model, row) or 0)) for row in free]
        kept += [row for row, own in totals if all(2 * one.gpus > row.gpus or own > SLOWED * total for one, total in totals)]
    return kept


def newest(model: Model, rows: Iterable[Rate]) -> list[Rate]:
    """Return the rates of the newest round of each benchmark at each size: software improves from one to the next."""
    kept, latest = of_gpus(model, rows), dict[tuple[object, ...], str]()
    groups = [(row.gpu, row.protocol, row.gpus, family_of(row.precision)) for row in kept]
    runs = [*zip(kept, groups, strict=True)]
    for row, group in runs:
        latest[group] = max(latest.get(group, ""), row.round)
    return [row for row, group in runs if row.round == latest[group]]


def floor_of(rates: PublishedRates, rate: ProtocolRate) -> Floor:
    """Return how far a rate may be off at the least: by its size, the age of its runs and the number of their submitters."""
    if rate.gpus is not None and all(row.gpus != rate.gpus for row in rate.rows):
        return RESIZED
    rounds = rates.rounds(rate.protocol)[-2:]
    submitters = {row.where.partition("/results/")[0] for row in rate.rows if row.round in rounds}
    return NEWEST if len(submitters) > 1 else LONE


def part_of(model: Model, protocol: Protocol, rate: ProtocolRate) -> Evidence:
    """The rate of a model under a protocol as evidence, with the grade of its weakest run."""
    first, sizes = rate.rows[0], sorted({row.gpus for row in rate.rows})
    grade = "assumed" if any(row.grade == "assumed" for row in rate.rows) else first.grade
    runs = tuple(sorted(samples_of(model, row) or 0 for row in rate.rows)) if len(rate.rows) > 1 else ()
    if protocol.form == "emulation":
        words = f"{rate.protocol}, emulated"
    else:
        span = f"{sizes[0]:,} to {sizes[-1]:,} GPUs" if len(sizes) > 1 else f"{sizes[0]:,} GPU{'s' if sizes[0] > 1 else ''}"
        words = f"{rate.protocol}, {span}" + (", mean ÷ goodput" if rate.protocol == WHOLE_RUNS else "")
        there = [samples_of(model, row) or 0 for row in rate.rows if row.gpus == rate.size]
        if rate.gpus is not None and rate.published > median(there) * (1 + 1e-9):
            words += f", raised to smaller runs in total or larger ones per GPU: {exact(rate.published)}"
        words += "" if rate.value == rate.published else f": {scaled(rate)}"
    return Evidence(words, rate.value, first.source, first.where, grade, runs, protocol.advice)


def scaled(rate: ProtocolRate) -> str:
    """How a rate follows from a published one of another size; the rate alone where it is of that size."""
    if rate.value == rate.published:
        return exact(rate.value)
    return f"{exact(rate.published)} at {rate.size:,} × {rate.factor()}"


def _warnings(
    model: Model, batch: Input | None, basis: str, protocol: Protocol, found: Sequence[ProtocolRate]
) -> tuple[str, ...]:
    """What a buyer should know about the rates, slowest first."""
    warnings = []
    if basis == "emulated":
        return (told("W60", protocol=protocol.name, advice=protocol.advice),)
    bounded = [rate.protocol for rate in found if any(row.waits for row in rate.rows)]
    if bounded:
        warnings.append(told("W68", protocols=", ".join(bounded)))
    smallest, gpus = min(row.gpus for rate in found for row in rate.rows), found[0].gpus
    if min(row.nodes for rate in found for row in rate.rows) > FEW_NODES and (gpus is None or gpus < smallest):
        warnings.append(told("W62", smallest=smallest))
    return (*warnings, *extrapolation(model, batch, found))


def extrapolation(model: Model, batch: Input | None, found: Sequence[ProtocolRate]) -> list[Message]:
    """The warning that a job is far larger than any run of a protocol, and what is assumed of its batch."""
    # Jobs far larger than any run, and larger than a few nodes.
    far = [rate for rate in found if (rate.gpus or 0) > max(BASE_GPUS, FAR_SIZE * max(row.gpus for row in rate.rows))]
    if not far or far[0].gpus is None:
        return []
    size = max(row.gpus for rate in far for row in rate.rows)
    names = ", ".join(dict.fromkeys(rate.protocol for rate in far))
    largest = f"{size:,} GPU{'s' if size > 1 else ''}"
    least = min(far, key=lambda rate: rate.value / rate.published)
    share, low = (rate / least.published for rate in (least.value, least.low or least.value))
    steps = ""
    if batch is not None and batch.origin != "user" and model.tokens_per_sample is not None:
        taken = display(float(f"{batch.value:.2g}"), "token")
        steps = f"; in steps of {taken} (run_batch_tokens), as such runs take"
    elif batch is None and model.tokens_per_sample is not None:
        steps = "; in the steps of published runs: set run_batch_tokens, or training_tokens for the usual batch"
    return [told("W63", protocols=names, largest=largest, gpus=far[0].gpus, share=share, low=low, steps=steps)]
