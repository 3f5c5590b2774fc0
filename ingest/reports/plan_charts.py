"""Which charts a plan has: rows of its tables, picked for each chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.engine.derivation_graph import is_column, steps_below
from ingest.engine.registry import solve
from ingest.errors import IngestError, MissingQuantity, UsageError
from ingest.reports.charts.bandwidth import Bar, Ceiling, Point, demand, ladder, scaling
from ingest.reports.charts.chart import Chart
from ingest.reports.charts.planning import Held, Interval, Swing, capacity, intervals, tornado
from ingest.reports.labels import plain
from ingest.site.plan import TORNADO, Plan
from ingest.sizing.bandwidth import estimate
from ingest.sizing.checkpoint_interval import interval_course
from ingest.sizing.job import Job
from ingest.storage.fit import ALL, fit_need
from ingest.storage.fit_options import need_of
from ingest.storage.fit_result import Fit
from ingest.units import display

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import Row
    from ingest.engine.monte_carlo import Effect
    from ingest.site.plan import Plan


#: More ceilings than this are no longer told apart.
MOST = 6
#: class of entry -> what its nodes can take in sum, and the quantities given for that, the first with a source
BY_NODES = {
    "client": ("clients_read_ceiling", ("client_bandwidth_per_node", "small_read_factor")),
    "drive": ("nvme_read_ceiling", ("nvme_read_bandwidth_per_node", "small_read_factor")),
}
OF_UNIT = "unit_read_bandwidth"


def ceilings_of(plan: Plan, storage: Sequence[str], sizes: Sequence[float]) -> tuple[list[Ceiling], str]:
    """The ceiling of each system, and where they come from in words.

    Args:
        plan: its mandatory requirements set the number of units.
        storage: ids of the storage catalog or YAML files, with commas between or one by one.
        sizes: numbers of nodes at which they are drawn.

    Raises:
        UsageError: an unknown id, or more than can be told apart.
        IngestError: a system whose read bandwidth is not known.
    """
    names = [part for name in storage for part in str(name).split(",") if part]
    if ALL in names or not 0 < len(names) <= MOST:
        raise UsageError(f"--storage: found {', '.join(names) or 'nothing'}, expected one to {MOST} ids of storage to draw")
    found = fit_need(need_of(plan, {}, Job(), plan.catalog), names, plan.catalog).systems
    return [_ceiling(one, sizes) for one in found], "; ".join(_told(plan, one) for one in found)


def _ceiling(one: Fit, sizes: Sequence[float]) -> Ceiling:
    known = one.answer.known
    try:
        if one.entry.family not in BY_NODES:
            whole = known.value("units_read_ceiling")
            return Ceiling(_counted(one), display(whole, "B/s", binary=False), tuple((size, whole) for size in sizes))
        formula, inputs = BY_NODES[one.entry.family]
        given = {name: known.value(name) for name in inputs}
        points = tuple((size, float(solve(formula, {**given, "nodes": size}))) for size in sizes)
        each = float(solve(formula, {**given, "nodes": 1}))
    except MissingQuantity as error:
        raise IngestError(f"--storage: {one.entry.id}: {error.name} is not known, expected a read bandwidth to draw") from None
    return Ceiling(one.entry.name, f"{display(each, 'B/s', binary=False)} for each node", points)


def _counted(one: Fit) -> str:
    """The system, and how many units of it."""
    if one.entry.fixed:
        return one.entry.name
    return f"{one.entry.name}, {one.answer.known.value('units'):,.0f} × {one.entry.scaling_unit or 'unit'}"


def _told(plan: Plan, one: Fit) -> str:
    """Where a ceiling comes from."""
    formula_inputs = BY_NODES.get(one.entry.family)
    item = one.answer.given.get(formula_inputs[1][0] if formula_inputs else OF_UNIT)
    title = f": {plan.catalog.source(item.source).title}" if item is not None and item.source else ""
    how = f"{item.grade}{title}" if item is not None and item.grade else "derived"
    units = "" if formula_inputs or one.entry.fixed else ", as many units as the mandatory requirements take"
    return f"{one.entry.name}{units} ({how})"


#: Jobs whose growth with the machine is drawn; more lines are no longer told apart.
MOST_LINES = 4
READS = "ingest_bandwidth_per_gpu"


def charts_of(plan: Plan, storage: Sequence[str] = ()) -> list[Chart]:
    """The charts that a plan has the numbers for.

    Args:
        plan: of a site.
        storage: ids of systems whose ceilings are drawn over what the jobs read.

    Raises:
        UsageError: an unknown id.
        IngestError: ceilings are asked for, and no job reads.
    """
    return list(_charts(plan, storage))


def _charts(plan: Plan, storage: Sequence[str]) -> Iterator[Chart]:
    jobs = [(row, step.value) for row in plan.rows["jobs"] if (step := row.step("job_read_bandwidth")) is not None]
    jobs.sort(key=lambda job: -job[1])
    together = plan.results.get("R-READ-03")
    if jobs and together is not None:
        yield demand([Bar(row.name, value) for row, value in jobs], Bar("R-READ-03, headroom included", together.value))
        yield _scaling(plan, [row for row, _ in jobs[:MOST_LINES]], storage)
        yield from _ladder(plan, jobs[0][0].name)
    elif storage:
        raise IngestError("--storage: no job of the site reads, so that there is no chart to draw ceilings in")
    yield capacity([held for row in plan.rows["years"] for held in _held(row)])
    yield from _intervals(plan.rows["jobs"])
    yield from _tornado(plan)


def _scaling(plan: Plan, rows: Sequence[Row], storage: Sequence[str]) -> Chart:
    points = [point for row in rows for point in _sizes(row)]
    if not storage:
        return scaling(points)

    ceilings, note = ceilings_of(plan, storage, sorted({point.nodes for point in points}))
    return scaling(points, ceilings, note=f"dashed: ceilings of storage: {note}")


def _tornado(plan: Plan) -> Iterator[Chart]:
    """What moves the requirement that most inputs move; reads before capacity where they are even."""
    moved = {name: plan.sensitivity(name) for name in TORNADO if name in plan.results}
    name = max(moved, key=lambda one: len(moved[one]), default="")
    if name and moved[name]:
        typical = plan.results[name]
        yield tornado([_swing(effect) for effect in moved[name]], typical.value, typical.unit, name)


def _swing(effect: Effect) -> Swing:
    named = " of ".join(filter(None, (plain(effect.name), ", ".join(effect.rows))))
    return Swing(named, effect.at_low, effect.at_high)


def _sizes(row: Row) -> Iterator[Point]:
    """A job on 1, 2, 4 … nodes, up to its own size."""
    per_gpu, per_node = row.known.value(READS), row.known.value("gpus_per_node")
    size, nodes = 1.0, row.known.value("nodes")
    while size < nodes:
        yield _point(row, size, per_gpu, per_node)
        size *= 2
    yield _point(row, nodes, per_gpu, per_node)


def _point(row: Row, nodes: float, per_gpu: float, per_node: float) -> Point:
    given = {READS: per_gpu, "nodes": nodes, "gpus_per_node": per_node}
    return Point(row.name, nodes, float(solve("ingest_bandwidth_per_job", given)))


def _ladder(plan: Plan, job: str) -> Iterator[Chart]:
    """The rungs of evidence of the job that reads most in sum, where there is more than one."""
    asked = plan.questions.get(job)
    rungs = estimate(asked, plan.catalog).levels if asked is not None else ()
    found = [(rung.basis, results[READS]) for rung, results in rungs if READS in results]
    if len(found) > 1:
        bars = [Bar(basis, one.value, one.low, one.high) for basis, one in found]
        yield ladder(bars, found[0][1].unit, f"read bandwidth per GPU of {job}")


def _held(row: Row) -> Iterator[Held]:
    """What takes the capacity of a year."""
    step = row.known.step("year_usable_bytes")
    for part in steps_below(step):
        if is_column(part):
            stage = "checkpoints" if "checkpoint" in part.name else "data sets"
            yield Held(row.name, stage, float(sum(entry.value for entry in part.inputs)))


def _intervals(jobs: Sequence[Row]) -> Iterator[Chart]:
    """Interval, waste and bandwidth of the job with the largest checkpoint."""
    saved = [(row, step.value) for row in jobs if (step := row.step("checkpoint_bytes")) is not None]
    if not saved:
        return
    row = max(saved, key=lambda job: float(job[1]))[0]
    try:
        chosen, rows, how = interval_course(row.kept[-1], str(row.words.get("mode", "sync")))
    except MissingQuantity:
        return
    yield intervals([Interval(*one) for one in rows], Interval(*chosen), row.name, how)
