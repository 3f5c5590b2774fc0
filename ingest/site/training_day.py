"""What a vendor sizes for: the load of a training day, the requests of each load, the bandwidth of each year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import solve
from ingest.requirement import INFORMATION, Conditions, MixPart, Requirement
from ingest.site.requirement_wording import GUIDED

if TYPE_CHECKING:
    from ingest.site.plan import Plan

#: Seconds of a step of the day, and the steps of a day: the drain of a large checkpoint takes several.
STEP, STEPS = 15.0, 5760
#: Runs of one job that are drawn one by one; of more, each stands for several.
MOST_RUNS = 200
#: Checkpoints that follow each other faster are taken as one load.
SHORTEST_INTERVAL = 60.0
#: The interrupt in the middle of the day: the run with the fastest restore fails and starts again.
INTERRUPT = 12 * 3600.0
#: Successive runs are shifted against each other by this share of an interval, so that no two of them coincide for long.
GOLDEN = 0.6180339887498949
#: the lines that require the rates of reads, of copies and of writes: a chart of the workload's own rates would tell vendors
#: how far the guidance exceeds it
RAISING = (("R-READ-02", "R-READ-03"), ("R-RESTART-01", "R-RESTART-02"), ("R-WRITE-01", "R-WRITE-02"))
#: the lines that state the rates of each load: the chart shows none that is higher than the highest of them
STATING = (("R-READ-01", "R-READ-02", "R-READ-03"), ("R-RESTART-01", "R-RESTART-02", "R-STAGE-01"), RAISING[2])
#: the lines whose requests differ
REQUESTS = ("R-READ-03", "R-MIX-01", "R-WRITE-01", "R-RESTART-02", "R-START-01", "R-STAGE-01", "R-LOAD-01", "R-KV-01",
            "R-KV-02", "R-SERVE-01")  # fmt: skip


class TrainingDay(NamedTuple):
    """The load of a day, which begins with the start of all jobs; means over steps of equal length, in B/s."""

    reads: tuple[float, ...]  # of data sets by training jobs
    copies: tuple[float, ...]  # reads that stage data sets on the nodes, and the restore
    writes: tuple[float, ...]  # of checkpoints
    restored: str  # the job of which a run is interrupted at noon; empty where no job restores


class RequestShare(NamedTuple):
    """The share of one kind of request in the bytes of a load."""

    load: str
    part: MixPart


class YearBandwidth(NamedTuple):
    """Required read and write bandwidth in a year of the plan, in B/s; None where there is no such requirement."""

    year: str
    reads: float | None
    writes: float | None


class DayLoad:
    """Mean load in each step of a day."""

    def __init__(self) -> None:
        self.load = [0.0] * STEPS

    def add(self, start: float, end: float, bandwidth: float) -> None:
        """Add a bandwidth between two times, in seconds since the start of the day; what lies outside the day is left out.

        >>> day = DayLoad()
        >>> day.add(7.5, 30, 8e9)
        >>> day.load[:3]
        [4000000000.0, 8000000000.0, 0.0]
        """
        start, end = max(start, 0.0), min(end, STEPS * STEP)
        for step in range(int(start // STEP), min(int(-(-end // STEP)), STEPS)):
            inside = min(end, (step + 1) * STEP) - max(start, step * STEP)
            if inside > 0:
                self.load[step] += bandwidth * inside / STEP


class Run(NamedTuple):
    """One run of a job on the day: it starts at 0 and ends after the share of the day in which its job runs."""

    row: QuantityRow  # its job
    end: float  # seconds since the start of the day
    shift: float  # share of a checkpoint interval by which its checkpoints are late
    weight: float = 1.0  # the runs that it stands for
    pause: tuple[float, float] | tuple[()] = ()  # when it is interrupted and when it trains again; empty for no interrupt

    def alive(self) -> Iterator[tuple[float, float]]:
        """When it runs: until its end, without the pause."""
        if not self.pause:
            yield 0.0, self.end
            return
        yield 0.0, min(self.pause[0], self.end)
        yield min(self.pause[1], self.end), self.end

    def saves(self) -> Iterator[tuple[float, float]]:
        """When it writes checkpoints to the storage; the whole time where it saves in less than a minute each."""
        dump = _value(self.row, "checkpoint_dump_seconds")
        interval = _value(self.row, "checkpoint_interval") * (_of_policy(self.row, "persistent_every") or 1)
        if not interval or not _value(self.row, "run_write_bandwidth"):
            return
        if interval < SHORTEST_INTERVAL:
            yield from self.alive()
            return
        for start, end in self.alive():
            saved = start + interval * (1 if start else 1 + self.shift)
            while saved < end:
                yield saved, saved + dump
                saved += interval

    def reading(self) -> Iterator[tuple[float, float, float]]:
        """When it trains, and for how long its caches have been filling by then: a synchronous checkpoint stops it."""
        stops = list(self.saves()) if self.row.words.get("mode") == "sync" else []
        for start, end in self.alive():
            at = start
            for stop, again in (one for one in stops if start <= one[0] < end):
                yield at, stop, at - start
                at = min(again, end)
            yield at, end, at - start


def training_day(plan: Plan) -> TrainingDay:
    """The load of a day on which all jobs start at 0:00 and one run is interrupted at 12:00, at the required rates.

    Jobs that run for a share of the time run at the start of the day.
    """
    rows = plan.rows["jobs"]
    restoring = [row for row in rows if _value(row, "run_restart_bandwidth")]
    restored = max(restoring, key=lambda row: _value(row, "run_restart_bandwidth"), default=None)
    together = plan.site.section("overlap").get("checkpoints") is True
    runs = [*_runs(rows, restored, together)]
    writes, copies = DayLoad(), DayLoad()
    for run in runs:
        # The checkpoints that reach the storage, each at its bandwidth until it is there.
        for start, end in run.saves():
            writes.add(start, end, _value(run.row, "run_write_bandwidth") * run.weight)
        # A run whose data set is staged reads it first, in the time allowed.
        staging, allowed = _value(run.row, "job_staging_bandwidth"), _value(run.row, "staging_seconds_allowed")
        if staging and allowed:
            copies.add(0, allowed, staging / _value(run.row, "concurrent_runs") * run.weight)
    if restored is not None:
        end = _pause(restored)[1]
        copies.add(end - _of_policy(restored, "restart_seconds"), end, _value(restored, "run_restart_bandwidth"))
    headroom = plan.known.value("performance_headroom")

    @cache
    def required(load: float) -> float:
        """What a load requires: with the headroom, and rounded as the requirements are."""
        given = {"cluster_read_bandwidth_of_clusters": [load], "performance_headroom": headroom}
        return plan.rounded(float(solve("workload_read_bandwidth", given))) if load else 0.0

    reads = [sum(parts) for parts in zip(*(_cluster_reads(one, runs) for one in plan.rows["clusters"]), strict=True)]
    loads = ([required(one) for one in load] for load in (reads, copies.load, writes.load))
    guided = {one.id: one.value for one in plan.requirements if one.rationale == GUIDED and one.priority != INFORMATION}
    stated = {one.id: one.value for one in plan.requirements if one.priority != INFORMATION}
    raised = map(_raised, loads, ([guided[one] for one in lines if one in guided] for lines in RAISING))
    most = (max((stated[one] for one in lines if one in stated), default=float("inf")) for lines in STATING)
    read, copied, written = map(_held, raised, most)
    return TrainingDay(read, copied, written, "" if restored is None else restored.name)


def _raised(load: Sequence[float], rates: Sequence[float]) -> tuple[float, ...]:
    """A load whose peak is the highest rate that its lines require, where the guidance requires more than the workload.

    >>> _raised([1.0, 2.0], [5.0, 3.0]), _raised([1.0, 2.0], [1.5]), _raised([0.0], [5.0])
    ((2.5, 5.0), (1.0, 2.0), (0.0,))
    """
    peak = max(load)
    factor = max([peak, *rates]) / peak if peak else 1.0
    return tuple(one * factor for one in load)


def _held(load: Sequence[float], most: float) -> tuple[float, ...]:
    """A load that is held to a rate: what is more waits, and is moved as soon as there is room.

    >>> _held([1.0, 5.0, 0.0, 1.0], 3.0)
    (1.0, 3.0, 2.0, 1.0)
    """
    found, waiting = [], 0.0
    for one in load:
        found.append(min(one + waiting, most))
        waiting += one - found[-1]
    return tuple(found)


def _runs(rows: Sequence[QuantityRow], restored: QuantityRow | None, together: bool) -> Iterator[Run]:
    number = 0
    for row in rows:
        count = int(row.known.value("concurrent_runs"))
        drawn = min(count, MOST_RUNS)
        for each in range(drawn):
            shift = 0.0 if together else number * GOLDEN % 1
            pause = _pause(row) if row is restored and not each else ()
            # The first one alone may be interrupted.
            weight = (count - 1) / (drawn - 1) if each else 1.0
            yield Run(row, row.known.value("share_of_time") * STEPS * STEP, shift, weight, pause)
            number += 1


def _pause(row: QuantityRow) -> tuple[float, float]:
    return INTERRUPT, INTERRUPT + _of_policy(row, "reschedule_seconds") + _of_policy(row, "restart_seconds")


def _cluster_reads(cluster: QuantityRow, runs: Sequence[Run]) -> list[float]:
    """Reads of the jobs of a cluster, no more than its nodes can read."""
    loads: dict[str, DayLoad] = {}
    # Runs of one job that read at the same times count as one: the shift matters where a checkpoint stops the reads.
    alike: dict[object, Run] = {}
    for run in (one for one in runs if one.row.words["cluster"] == cluster.name):
        key = (run.row.name, run.pause, run.shift if run.row.words.get("mode") == "sync" else 0)
        alike[key] = alike[key]._replace(weight=alike[key].weight + run.weight) if key in alike else run
    for run in alike.values():
        _read(run, loads.setdefault(run.row.name, DayLoad()))
    rows = {run.row.name: run.row for run in alike.values()}
    if not loads:
        return [0.0] * STEPS
    each = [_value(rows[name], "node_read_bandwidth") for name in loads]
    nodes = cluster.known.value("cluster_nodes")

    @cache
    def limited(*reads: float) -> float:
        given = {"job_read_bandwidth_of_jobs": list(reads), "node_read_bandwidth_of_jobs": each, "cluster_nodes": nodes}
        return float(solve("cluster_read_bandwidth", given))

    return [limited(*step) for step in zip(*(one.load for one in loads.values()), strict=True)]


def _read(run: Run, reads: DayLoad) -> None:
    """Reads of a run: while its caches fill, and then its steady rate."""
    row = run.row
    filling, phase = _value(row, "run_read_bandwidth"), _value(row, "read_phase_seconds") or STEPS * STEP
    given = {name: row.known.value(name) for name in ("run_drawn_read_bandwidth", "warm_share") if filling}
    steady = float(solve("job_sustained_read_bandwidth", {**given, "concurrent_runs": 1, "share_of_time": 1})) if filling else 0
    for start, end, trained in run.reading():
        # A run that starts again finds its caches empty.
        filled = min(max(start + phase - trained, start), end)
        reads.add(start, filled, filling * run.weight)
        reads.add(filled, end, steady * run.weight)


def _value(row: QuantityRow, name: str) -> float:
    """A quantity of a job; 0 where it has none."""
    step = row.step(name)
    return 0.0 if step is None else float(step.value)


def _of_policy(row: QuantityRow, name: str) -> float:
    """A quantity of the checkpoints of a job."""
    step = None if row.checkpoints is None else row.checkpoints.find(name)
    return _value(row, name) if step is None else float(step.value)


def request_shares(lines: Sequence[Requirement]) -> list[RequestShare]:
    """The requests of each load by share of its bytes, as the conditions of the requirements state them."""
    stated = {one.id: one for one in lines if one.priority != INFORMATION}
    return [
        RequestShare(stated[one].load, part) for one in REQUESTS if one in stated for part in parts_of(stated[one].conditions)
    ]


def parts_of(conditions: Conditions) -> tuple[MixPart, ...]:
    """The requests of a line: its mix, or its one kind of request.

    >>> parts_of(Conditions("write", io_size=2**20, pattern="sequential"))
    (MixPart(share=1.0, operation='write', io_size=1048576, pattern='sequential'),)
    """
    if conditions.mix or conditions.io_size is None:
        return conditions.mix
    return (MixPart(1.0, conditions.operation, conditions.io_size, conditions.pattern or "sequential"),)
