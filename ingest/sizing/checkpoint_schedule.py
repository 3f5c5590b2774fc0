"""Failure rates, interval, overhead and write bandwidth of checkpoints: which follow from which, and their tables."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, TypedDict

from ingest.catalog.records import GRADES, Failures, Value
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.question import Declared, option
from ingest.engine.ranges import ranged
from ingest.engine.registry import solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Later, derived
from ingest.errors import MissingQuantity, UsageError
from ingest.sizing import USUAL
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import Amount
from ingest.sizing.rules import applying, finding, messages, refusal
from ingest.units import display, percent

#: Modes of a checkpoint: GPUs wait for the dump, or for the copy into host memory only.
MODES = {"sync": "GPUs wait for the dump", "async": "for the copy into host memory only"}
#: Training runs published since 2024 save asynchronously.
USUAL_MODE = "async"
#: Intervals in the table, to which the chosen one is added.
MINUTES = (5, 10, 15, 30, 60, 120)
#: Intervals in a chart, as multiples of the chosen one.
AROUND = tuple(2 ** (step / 4) for step in range(-12, 13))
#: What every interval of one job shares.
SHARED = ("checkpoint_bytes", "checkpoint_staging_seconds", "job_mean_time_to_interrupt")
#: What a user sets to size the bandwidth, or has it.
SIZING = ("waste_allowed", "write_bandwidth")
#: Figures that decide, where they are stated, how a schedule is sized.
DECIDING = ("waste_allowed", "drain_fraction", "drain_time")
#: An overhead allowed below so many times that of endless bandwidth is near the pole, where no bandwidth keeps it.
POLE = 1.5
ONE_POINT = 0.01
#: The failure rate of a node.
RATE_OF_NODE = "failures_per_node_second"
#: What a failure rate counts that takes part in the choice by the size of a job.
INTERRUPTIONS = "interruptions of jobs"
#: Interval, share of the time lost, write bandwidth.
Point = tuple[float, float, float]


#: Figures that hold until the user sets them, by quantity.
DEFAULTS = USUAL["checkpoint"]


def _figure(help: str, metavar: str, quantity: str) -> Declared:
    """An option for one of these figures, whose help states it."""
    return option(help, metavar, quantity=quantity, usual=DEFAULTS)


class ScheduleOptions(TypedDict, total=False):
    """How often a job is interrupted, and how often it saves a checkpoint."""

    failures: Annotated[str | None, option(
        "Failure rate to use without mtti: llama3, rsc-1, …; from jobs of the published sizes next to it by default.",
        "ID")]  # fmt: skip
    mtti: Annotated[Amount, option(
        "Mean time to interrupt of the job; from the failure rate by default.", "TIME",
        quantity="job_mean_time_to_interrupt")]  # fmt: skip
    interval: Annotated[Amount, option(
        "Compute time between two checkpoints; async: {interval_share} of the mean time to interrupt, sync: that of the "
        "least overhead, and at most {longest_interval}.", "TIME", quantity="checkpoint_interval", usual=DEFAULTS)]  # fmt: skip
    waste: Annotated[Amount, _figure(
        "Share of time allowed for checkpoints, lost work and restores (not rescheduling): where given, it sizes the write "
        "bandwidth; without it, only that of sync is sized, for {waste_allowed}.", "F", "waste_allowed")]  # fmt: skip
    mode: Annotated[str, option("{choices}.", "HOW", default=USUAL_MODE, choices=MODES)]
    drain_fraction: Annotated[Amount, _figure(
        "Share of the interval in which an asynchronous checkpoint drains: {default}, or all of it with --waste or "
        "--write-bandwidth, where it is not given.", "F", "drain_fraction")]  # fmt: skip
    drain_time: Annotated[Amount, _figure(
        "Longest time in which an asynchronous checkpoint drains: {default}, or any with --waste or --write-bandwidth, "
        "where it is not given.", "TIME", "drain_time")]  # fmt: skip
    slow_down: Annotated[Amount, _figure(
        "Share of training that is lost while an asynchronous checkpoint drains; {default} by default.", "F",
        "slow_down")]  # fmt: skip
    persistent_every: Annotated[
        Amount,
        _figure("Every k-th checkpoint goes to shared storage; k is {default} by default.", "K", "persistent_every"),
    ]
    restart_time: Annotated[
        Amount,
        _figure("Time allowed for a restart to read its checkpoint; {default} by default.", "TIME", "restart_seconds"),
    ]
    reschedule_time: Annotated[
        Amount,
        _figure("Time from an interrupt to the start of the restore; {default} by default.", "TIME", "reschedule_seconds"),
    ]


def as_usual(name: str, item: Input, defaults: Mapping[str, Input] = DEFAULTS) -> Input:
    """The default of a figure that is stated as it holds anyway: it is as uncertain as if nobody had stated it."""
    usual = defaults.get(name)
    return usual if usual is not None and (usual.value, None, None) == (item.value, item.low, item.high) else item


class Interrupted(NamedTuple):
    """Interrupts of jobs of one published size."""

    gpus: Value
    entry: Failures
    rate: float  # of a whole job
    ends: tuple[float, float]  # of the failure rate of one of its nodes
    grade: str  # of the figure

    @classmethod
    def of(cls, gpus: Value, entry: Failures) -> Self:
        """What is published of jobs of this size."""
        known = Quantities({"gpus": from_catalog(gpus), **failure_rate(entry)})
        rate = known.value(RATE_OF_NODE)
        low, high = (getattr(entry.rate, end, None) or rate for end in ("low", "high"))
        figure = entry.rate or entry.interrupts
        grade = figure.grade if figure is not None else GRADES[-1]
        return cls(gpus, entry, 1 / known.value("job_mean_time_to_interrupt"), (low, high), grade)


def _interruptions(catalog: Catalog) -> tuple[list[Interrupted], list[Interrupted]]:
    """What is published of jobs of every size, and without what a better known figure contradicts, by size."""
    rows = [one for one in catalog.all(Failures) if one.counts == INTERRUPTIONS]
    found = [Interrupted.of(one.gpus, one) for one in rows if one.gpus is not None]
    found.sort(key=lambda point: (point.gpus.value, point.entry.id))
    points: list[Interrupted] = []
    for point in sorted(found, key=lambda point: GRADES.index(point.grade)):
        if all((point.gpus.value - one.gpus.value) * (point.rate - one.rate) > 0 for one in points):
            points.append(point)
    return found, sorted(points, key=lambda point: point.gpus.value)


def usual_failures(gpus: float, catalog: Catalog) -> tuple[list[Failures], dict[str, Input]]:
    """Return the published interruptions of jobs next to a size, and the failure rate of a node that follows from them.

    A larger job is interrupted more often: where published rates fall with the size, the better known figure stands, the other
    adds to the range. Between two sizes interrupts and the ends of their range grow as powers of the GPUs; beyond the last they
    grow with the nodes.
    """
    found, points = catalog.once("interruptions by size", lambda: _interruptions(catalog))
    after = bisect([point.gpus.value for point in points], gpus)
    at = max(after - 1, 0)

    def rate_of(point: Interrupted) -> dict[str, Input]:
        # Clusters of one size differ as much as those of the next sizes: what is not known of this one is drawn.
        near = bisect([one.gpus.value for one in found], gpus if after in (0, len(points)) else point.gpus.value)
        beside = found[max(near - 3, 0) : max(near, 1) + 2]
        return catalog.once(("failure rate", point.entry.id, near), lambda: failure_rate(point.entry, beside))

    if after in (0, len(points)) or points[at].gpus.value == gpus:
        return [points[at].entry], rate_of(points[at])
    pair = points[at : at + 2]
    counted = from_catalog(pair[0].entry.gpus_per_node)
    known = {"gpus": gpus, "smaller_job_gpus": pair[0].gpus.value, "larger_job_gpus": pair[1].gpus.value,
             "gpus_per_counted_node": counted.value}  # fmt: skip
    ranges = catalog.once(("failure rates of sizes", at), lambda: [ranged(RATE_OF_NODE, rate_of(point)) for point in pair])
    low, each, high = (
        float(solve("failures_between_sizes", {**known, **{
            f"{job}_job_interrupt_rate": point.rate * (getattr(size, end) or size.value) / size.value
            for job, point, size in zip(("smaller", "larger"), pair, ranges, strict=True)
        }}))
        for end in ("low", "value", "high")
    )  # fmt: skip
    figure = pair[1].entry.rate or pair[1].entry.interrupts
    source = figure.source if figure is not None else "arithmetic"
    where = f"on a line of logarithmic axes from {pair[0].entry.name}, to {pair[1].entry.name}"
    rate = Input(each, low, high, "catalog", source, where, "derived")
    note = f"failure rate {where}"
    given = {
        RATE_OF_NODE: rate.by_default(note, "checkpoint.mtti", "checkpoint.failures"),
        "gpus_of_failures": from_catalog(pair[0].gpus),
        "gpus_per_node": counted,
        "gpus_per_counted_node": counted,
    }
    return [point.entry for point in pair], given


def failure_rate(entry: Failures, beside: Iterable[Interrupted] = ()) -> dict[str, Input]:
    """Return the failure rate of a node; its range covers those of the published sizes beside it, where the size chose it."""
    counted = {"observed_interrupts": entry.interrupts, "observed_seconds": entry.period, "observed_nodes": entry.nodes}
    fields = from_fields({RATE_OF_NODE: entry.rate} if entry.rate is not None else counted)
    note = f"failure rate of {entry.name}"
    if beside and entry.gpus is not None:
        note += f", published for {entry.gpus.value:,.0f} GPUs, the nearest to this job"
        fields["gpus_of_failures"] = from_catalog(entry.gpus)
        own = Quantities(fields).value(RATE_OF_NODE)
        name = RATE_OF_NODE if entry.rate is not None else "observed_interrupts"
        item = fields[name]
        ends = [item.low or item.value, item.high or item.value]
        ends += [item.value * end / own for point in beside for end in point.ends]
        fields[name] = item._replace(low=min(ends), high=max(ends))
    given = {each: item.by_default(note, "checkpoint.mtti", "checkpoint.failures") for each, item in fields.items()}
    # The failure rate is per node as its source counts nodes, so the job is counted in these nodes.
    each = from_catalog(entry.gpus_per_node)
    return {**given, "gpus_per_node": each, "gpus_per_counted_node": each}


def failure_table(gpus: float | None, chosen: Container[str], entries: Iterable[Failures]) -> dict[str, list[dict[str, Any]]]:
    """Return every published failure rate, with the mean time to interrupt that it gives this job."""
    if gpus is None:
        return {}
    rows = []
    for entry in entries:
        known = Quantities({"gpus": Input(gpus), **failure_rate(entry)})
        values = {each: known.value(each) for each in ("failures_per_thousand_node_days", "job_mean_time_to_interrupt")}
        observed = entry.gpus.value if entry.gpus is not None else ""
        mark = "chosen" if entry.id in chosen else ""
        rows.append({"failures": entry.id, "counts": entry.counts, "gpus_of_failures": observed, **values, "mark": mark})
    return {"failures": sorted(rows, key=lambda row: float(row["job_mean_time_to_interrupt"]))}


def is_sized_by_waste(mode: str, stated: Container[str]) -> bool:
    """Whether the overhead allowed sizes the bandwidth, from what a policy states: of dumps, and of drains where it is stated.

    >>> is_sized_by_waste("sync", {}), is_sized_by_waste("async", {}), is_sized_by_waste("sync", {"write_bandwidth": 1})
    (True, False, False)
    """
    waste, rate = SIZING
    return rate not in stated and (mode == "sync" or waste in stated)


def plan_interval(known: Quantities, mode: str, *, relaxed: bool = False) -> tuple[str, Sequence[Message]]:
    """State what interval, bandwidth and stall follow from.

    `relaxed` takes an overhead allowed that no storage keeps, or hardly any, for a goal out of reach instead of refusing it.

    Returns the given requirement that is not met, or an empty text; and warnings.
    Raises UsageError: the interval or the restores alone exceed the overhead allowed.
    """
    try:
        _schedule(known, mode, relaxed=relaxed)
    except MissingQuantity:
        # Without GPUs or a mean time to interrupt only sizes are known.
        return "", []
    by_rate = "write_bandwidth" in known.given
    slow = refusal(finding("E04", known.step, {"mode": mode})) if by_rate else ""
    lost = refusal(finding("E02", known.step)) if _stated(known, "waste_allowed") else ""
    for refused in applying([finding("E08", known.step)]):
        mtti, restart = _shown(known, "job_mean_time_to_interrupt"), _shown(known, "restart_seconds", "reschedule_seconds")
        return refused.message(mtti=mtti, restart=restart), []
    sized = "" if _by_waste(known, mode) or (by_rate and _stated(known, "waste_allowed")) else "as practised"
    return slow or lost, Later(partial(_cautions, known, mode, sized))


def _cautions(known: Quantities, mode: str, sized: str) -> Iterator[Message]:
    yield from messages([finding("W20", known.step, {"mode": mode}), finding("W25", known.step), finding("W44", known.step)])
    for one in applying([finding("W24", known.step, {"sized": sized})]):
        cure = "no write bandwidth meets it"
        try:
            allowed = known.value("waste_allowed")
            kept = replanned(known, mode, "write_bandwidth", "checkpoint_write_bandwidth", waste_allowed=allowed)
            rate = display(kept.value("checkpoint_write_bandwidth"), "B/s", binary=False)
            cure = f"{rate} and an interval of {_shown(kept, 'checkpoint_interval')} meet it"
        except UsageError:
            pass
        yield one.message(cure=cure)
    if _by_waste(known, mode) and (reached := _reached(known))[1] > (goal := known.value("waste_allowed")):
        kept = replanned(known, mode, waste_allowed=reached[1])
        rate = display(kept.value("checkpoint_write_bandwidth"), "B/s", binary=False)
        said = dict(zip(("goal", "least", "kept"), map(percent, (goal, *reached)), strict=True))
        yield from messages([finding("W124", {}, {"goal": "near the pole"}, rate=rate, **said)])


def _schedule(known: Quantities, mode: str, *, relaxed: bool = False) -> None:
    """State where the quantities of a schedule come from.

    Raises MissingQuantity: the mean time to interrupt is unknown; UsageError: no schedule keeps the overhead allowed.
    """
    asynchronous, by_rate, by_waste = mode == "async", "write_bandwidth" in known.given, _by_waste(known, mode)
    if asynchronous:
        known.state("slowed_by_drains")
        if known.find("checkpoint_staging_seconds") is None:
            why = "the copy into host memory is left out: it depends on the number of GPUs"
            known.give({"checkpoint_staging_seconds": Input(0).by_default(why, "gpus")})
        if not (by_rate or by_waste):
            known.give({name: as_usual(name, known.given[name]) for name in DECIDING})
        elif not _stated(known, "drain_fraction"):
            # A checkpoint drains until the next one begins, unless the user sets a window: a stated figure decides instead.
            whole = "a drain ends before the next persistent checkpoint"
            known.give({"drain_fraction": Input(1).by_default(whole, "checkpoint.drain_fraction")})
        if (by_rate or by_waste) and not _stated(known, "drain_time"):
            known.state("drained_within_share")
    else:
        stop = "synchronous: GPUs wait for the dump, and nothing is staged"
        known.give({"stopped_share": Input(1, note=stop), "checkpoint_staging_seconds": Input(0, note=stop)})
    if by_rate:
        known.state("write_bandwidth_bought")
        if not asynchronous or _stated(known, "waste_allowed"):
            known.state("least_overhead_sought")
        if asynchronous:
            known.state("drain_awaited")
    elif by_waste:
        if relaxed:
            _relax(known)
        known.state("overhead_kept")
        if asynchronous:
            known.state("drained_within_overhead")
        _check_room(known)
    else:
        known.state("saved_as_practised")
    known.step("checkpoint_interval")
    known.step("checkpoint_write_bandwidth")
    # Without an interval nothing is said of stalls either.
    known.state("asynchronous" if asynchronous else "synchronous")


def _relax(known: Quantities) -> None:
    """Allow more overhead where the one allowed is within reach of what is lost at any bandwidth."""
    goal = known.given["waste_allowed"]
    least, kept = _reached(known)
    if goal.value < POLE * least:
        kept = max(goal.value, kept)
        where = "what is lost at any bandwidth, and as much for writing as half the bandwidth adds a point to"
        known.give({"waste_goal": goal, "least_waste_reached": derived(least, where), "waste_allowed": derived(kept, where)})


def _reached(known: Quantities) -> tuple[float, float]:
    """The overhead at any bandwidth, and the least that is worth its bandwidth: near the pole, the bandwidth that keeps an
    overhead tells of the failure rate alone. What is left for writing is then what half the bandwidth adds a point to.
    """
    stated = _stated(known, "checkpoint_interval")
    least = float(known.value("overhead_without_writing" if stated else "least_overhead_without_writing"))
    # At the best interval the time lost grows with the root of the time that a checkpoint takes.
    left = ONE_POINT if stated else ONE_POINT / (2**0.5 - 1)
    return least, least + min(left, least * (POLE - 1))


def _check_room(known: Quantities) -> None:
    """Refuse an overhead allowed that leaves nothing for writing: restores take it, the interval is too long, or staging.

    Raises UsageError: with what would do.
    """
    allowed = percent(known.value("waste_allowed"))
    for refused in applying([finding("E09", known.step)]):
        mtti, restart = (_shown(known, name) for name in ("job_mean_time_to_interrupt", "restart_seconds"))
        restores = percent(known.value("restart_waste"))
        raise UsageError(refused.message(allowed=allowed, mtti=mtti, restart=restart, restores=restores))
    for refused in applying([finding("E01", known.step)]):
        found, mtti = (_shown(known, name) for name in ("checkpoint_interval", "job_mean_time_to_interrupt"))
        longest = known.value("longest_interval_for_waste")
        if known.value("checkpoint_interval") >= longest:
            why = f"a longer interval loses more than the allowed {allowed} % of the time"
            expected = f"less than {display(longest, 's', binary=False)}"
            raise UsageError(refused.message(Option("interval"), found=found, expected=expected, mtti=mtti, why=why))
        stated = _stated(known, "checkpoint_interval")
        least = known.value("overhead_without_writing" if stated else "least_overhead_without_writing")
        why = f"staging, lost work and restores take that much at {f'an interval of {found}' if stated else 'any interval'}"
        expected = f"more than {percent(least)} %"
        raise UsageError(refused.message(Option("waste"), found=f"{allowed} %", expected=expected, mtti=mtti, why=why))


def _stated(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"


def _by_waste(known: Quantities, mode: str) -> bool:
    return "write_bandwidth" not in known.given and is_sized_by_waste(mode, {name for name in SIZING if _stated(known, name)})


def _shown(known: Quantities, *names: str) -> str:
    """Durations as people read them."""
    return " + ".join(display(known.value(name), "s", binary=False) for name in names)


def replanned(known: Quantities, mode: str, *without: str, **stated: float) -> Quantities:
    """The schedule of the same job with other numbers stated. Raises UsageError: no schedule keeps the overhead allowed."""
    given = {name: item for name, item in known.given.items() if name not in without}
    found = Quantities({**given, **{name: Input(value, origin="user") for name, value in stated.items()}})
    found.adopt(known.find_all(tuple(name for name in SHARED if name not in found.given)))
    _schedule(found, mode)
    return found


def interval_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return intervals with their bandwidth and overhead; each row is what `--interval` would answer."""
    names = ("checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_overhead", "total_overhead")
    mark = "asked" if _stated(known, "checkpoint_interval") else "chosen"
    try:
        rows: dict[float, dict[str, Any]] = {known.value("checkpoint_interval"): {**known.values_of(*names), "mark": mark}}
    except MissingQuantity:
        return {}
    for minutes in MINUTES:
        try:
            planned = replanned(known, mode, checkpoint_interval=minutes * 60.0)
        except UsageError:
            # No bandwidth keeps the overhead at this interval.
            continue
        rows.setdefault(minutes * 60.0, {**planned.values_of(*names), "mark": ""})
    # An interval that would lose all the time is none.
    return {"intervals": [row for _, row in sorted(rows.items()) if float(row[names[-1]]) < 1]}


def interval_course(known: Quantities, mode: str) -> tuple[Point, list[Point], str]:
    """Return the chosen interval, the intervals around it, and the assumptions along them.

    Synchronous: the share lost at the required bandwidth, and the bandwidth for the chosen share. Asynchronous: each
    interval at the bandwidth that drains it, and the share lost at that bandwidth.

    Raises MissingQuantity: GPUs and mean time to interrupt are unknown.
    """
    at, rate, lost = map(known.value, ("checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_overhead"))
    points = []
    for interval in [at * factor for factor in AROUND]:
        try:
            if mode == "async":
                by_rate = by_share = replanned(known, mode, checkpoint_interval=interval)
            else:
                by_rate = replanned(known, mode, checkpoint_interval=interval, write_bandwidth=rate)
                by_share = replanned(known, mode, "write_bandwidth", checkpoint_interval=interval, waste_allowed=lost)
            points.append((interval, by_rate.value("checkpoint_overhead"), by_share.value("checkpoint_write_bandwidth")))
        except UsageError:
            # No bandwidth suffices at this interval.
            continue
    if mode == "async":
        kept = "keeps the overhead allowed" if _by_waste(known, mode) else "drains a checkpoint within its window"
        how = f"each interval at the bandwidth that {kept}"
    else:
        shown = display(rate, "B/s", binary=False)
        how = f"upper line: at {shown}; lower line: to lose no more than {lost * 100:.3g} % of the time"
    return (at, lost, rate), points, how


def tier_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tiers of an asynchronous checkpoint: host memory, NVMe of the node, shared storage."""
    if mode != "async":
        return {}
    names = ("tier", "persistent_every", "bytes_per_node", "checkpoint_write_bandwidth", "note")
    size, every, rate = "checkpoint_bytes_per_node_max", "persistent_every", "checkpoint_write_bandwidth"
    rows = (
        ("host memory", "", size, "staging_bandwidth", "the GPUs wait for this copy"),
        ("NVMe of the nodes", "", size, "node_tier_bandwidth", "survives a process failure only"),
        ("shared storage", every, "checkpoint_bytes_per_node", rate, "survives everything"),
    )
    try:
        found = [
            (tier, known.value(every) if every else 1.0, known.value(size), known.value(rate), note)
            for tier, every, size, rate, note in rows
        ]
    except MissingQuantity:
        return {}
    return {"tiers": [dict(zip(names, row, strict=True)) for row in found]}
