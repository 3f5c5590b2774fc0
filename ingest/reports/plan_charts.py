"""The charts of a plan, drawn from its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.reports.charts.bandwidth import Bar, Ceiling, Point, demand, ladder, scaling
from ingest.reports.charts.chart import Chart
from ingest.reports.charts.planning import Fed, Goodput, Interval, Swing, goodput, intervals, tornado, utilization
from ingest.reports.labels import plain
from ingest.reports.vendor_charts import vendor_charts
from ingest.site.loaders import utilization_course
from ingest.site.plan import (
    TORNADO,
    Plan,
    bandwidth_by_nodes,
    evidence_levels,
    largest_checkpoint_course,
    largest_checkpoint_goodput,
)
from ingest.storage.fit import read_ceilings

if TYPE_CHECKING:
    from ingest.engine.derivation_graph import QuantityRow

#: Jobs whose growth with the machine is drawn; more lines cannot be told apart.
MOST_LINES = 4


def charts_of(plan: Plan, storage: Sequence[str] = ()) -> list[Chart]:
    """The charts that a plan has the numbers for.

    Args:
        plan: of a site.
        storage: ids of systems whose ceilings are drawn over the read bandwidth of the jobs.

    Raises:
        UsageError: an unknown id.
        IngestError: ceilings are requested, and no job reads.
    """
    return list(_charts(plan, storage))


def _charts(plan: Plan, storage: Sequence[str]) -> Iterator[Chart]:
    jobs = [(row, step.value) for row in plan.rows["jobs"] if (step := row.step("job_read_bandwidth")) is not None]
    jobs.sort(key=lambda job: -job[1])
    total = plan.results.get("R-READ-03")
    if jobs and total is not None:
        needed = plan.known.value("workload_read_bandwidth")
        why = "by guidance" if needed < plan.computed["R-READ-03"] else "headroom included"
        yield demand([Bar(row.name, value) for row, value in jobs], Bar(f"R-READ-03, {why}", total.value))
        yield _scaling(plan, [row for row, _ in jobs[:MOST_LINES]], storage)
        yield from _evidence(plan, jobs[0][0].name)
    elif storage:
        raise IngestError("--storage: no job of the site reads data, so there is no chart that could show the ceilings")
    yield from vendor_charts(plan)
    fed = utilization_course(plan.rows["jobs"])
    if fed is not None:
        row, own, latencies = fed
        yield utilization([Fed(*one) for one in latencies], Fed(*own), row.name)
    course = largest_checkpoint_course(plan)
    if course is not None:
        job, chosen, points, condition = course
        yield intervals([Interval(*one) for one in points], Interval(*chosen), job, condition)
    found = largest_checkpoint_goodput(plan)
    if course is not None and found is not None:
        job, rows = found
        shown = [Goodput(row["write_bandwidth"], row["goodput"], row.get("gpus_gained")) for row in rows]
        yield goodput(shown, course[1][2], job)
    yield from _tornado(plan)


def _scaling(plan: Plan, rows: Sequence[QuantityRow], storage: Sequence[str]) -> Chart:
    points = [Point(row.name, *point) for row in rows for point in bandwidth_by_nodes(row)]
    if not storage:
        return scaling(points)
    found = read_ceilings(plan, storage, sorted({point.nodes for point in points}))
    sources = "; ".join(one.source for one in found)
    ceilings = [Ceiling(one.label, one.rate, one.points) for one in found]
    return scaling(points, ceilings, note=f"dashed: ceilings of storage: {sources}")


def _evidence(plan: Plan, job: str) -> Iterator[Chart]:
    levels = evidence_levels(plan, job)
    if len(levels) > 1:
        bars = [Bar(basis, one.value, one.low, one.high) for basis, one in levels]
        yield ladder(bars, levels[0][1].unit, f"read bandwidth per GPU of {job}")


def _tornado(plan: Plan) -> Iterator[Chart]:
    """The requirement that most inputs affect, a binding one if there is any; reads before capacity where they tie."""
    moved = {name: plan.sensitivity(name) for name in TORNADO if name in plan.results}
    binding = {name for name in moved if moved[name] and plan.requirement(name).priority != "information"}
    name = max(binding or moved, key=lambda one: (len(moved[one]), -TORNADO.index(one)), default="")
    if name and moved[name]:
        labels = [" of ".join(filter(None, (plain(one.name), ", ".join(one.rows)))) for one in moved[name]]
        swings = [Swing(label, one.at_low, one.at_high) for label, one in zip(labels, moved[name], strict=True)]
        yield tornado(swings, plan.computed[name], plan.requirement(name).unit, name)
