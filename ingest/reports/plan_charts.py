"""The charts of a plan, drawn from its results: all of them for the buyer, for vendors what they size for."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.errors import IngestError
from ingest.reports.charts.bandwidth import Bar, Point, demand, ladder, scaling
from ingest.reports.charts.chart import Chart
from ingest.reports.charts.planning import (
    RESERVE,
    DayLoad,
    Swing,
    YearBytes,
    bandwidth_by_year,
    capacity,
    goodput,
    intervals,
    request_sizes,
    tornado,
    training_day,
    utilization,
)
from ingest.reports.labels import plain
from ingest.site import planner
from ingest.site import training_day as load
from ingest.site.load_conditions import utilization_course
from ingest.site.plan import (
    TORNADO,
    Plan,
    bandwidth_by_nodes,
    capacity_by_use,
    evidence_levels,
    largest_checkpoint_course,
    largest_checkpoint_goodput,
)
from ingest.storage.fit import read_ceilings

#: Jobs whose growth with the machine is drawn; more lines cannot be told apart.
MOST_LINES = 4
TO_BUY = "usable capacity to buy"


def charts_of(plan: Plan, storage: Sequence[str] = ()) -> list[Chart]:
    """The charts that a plan has the numbers for.

    Args:
        plan: of a site.
        storage: ids of systems whose ceilings are drawn over the read bandwidth of the jobs.

    Raises:
        UsageError: an unknown id.
        IngestError: ceilings are requested, and no job reads.
    """
    charts: list[Chart] = []
    jobs = [(row, step.value) for row in plan.rows["jobs"] if (step := row.step("job_read_bandwidth")) is not None]
    jobs.sort(key=lambda job: -job[1])
    total = plan.results.get("R-READ-03")
    if jobs and total is not None:
        needed = plan.known.value("workload_read_bandwidth")
        why = "by guidance" if needed < plan.computed["R-READ-03"] else "headroom included"
        charts.append(demand([Bar(row.name, value) for row, value in jobs], Bar(f"R-READ-03, {why}", total.value)))
        points = [Point(row.name, *point) for row, _ in jobs[:MOST_LINES] for point in bandwidth_by_nodes(row)]
        charts.append(scaling(points, read_ceilings(plan, storage, sorted({one.nodes for one in points})) if storage else ()))
        levels = evidence_levels(plan, largest := jobs[0][0].name)
        if len(levels) > 1:
            bars = [Bar(basis, one.value, one.low, one.high) for basis, one in levels]
            charts.append(ladder(bars, levels[0][1].unit, f"read bandwidth per GPU of {largest}"))
    elif storage:
        raise IngestError("--storage: no job of the site reads data, so there is no chart that could show the ceilings")
    charts += vendor_charts(plan)
    if (fed := utilization_course(plan.rows["jobs"])) is not None:
        row, own, latencies = fed
        charts.append(utilization(latencies, own, row.name))
    if (course := largest_checkpoint_course(plan)) is not None:
        name, chosen, around, condition = course
        charts.append(intervals(around, chosen, name, condition))
        if (found := largest_checkpoint_goodput(plan)) is not None:
            charts.append(goodput(found[1], chosen[2], found[0]))
    # The requirement that most inputs affect, a binding one if there is any; reads before capacity where they tie.
    moved = {name: plan.sensitivity(name) for name in TORNADO if name in plan.results}
    binding = {name for name in moved if moved[name] and plan.requirement(name).priority != "information"}
    name = max(binding or moved, key=lambda one: (len(moved[one]), -TORNADO.index(one)), default="")
    if name and moved[name]:
        labels = [" of ".join(filter(None, (plain(one.name), ", ".join(one.rows)))) for one in moved[name]]
        swings = [Swing(label, one.at_low, one.at_high) for label, one in zip(labels, moved[name], strict=True)]
        charts.append(tornado(swings, plan.computed[name], plan.requirement(name).unit, name))
    return charts


def vendor_charts(plan: Plan) -> list[Chart]:
    """The load of a training day, the requests of each load, capacity and bandwidth by year; nothing of the argument."""
    charts: list[Chart] = []
    day = load.training_day(plan)
    if any(day.reads) or any(day.writes):
        reads, copies = DayLoad("training reads", day.reads), DayLoad("staging and restores", day.copies)
        charts.append(training_day(reads, copies, DayLoad("checkpoint writes", day.writes), day.restored))
    if shares := load.request_shares(plan.requirements):
        charts.append(request_sizes(shares))
    if "R-CAP-03" in plan.results:
        # Data held and reserve by year, and the usable capacity to buy, rounded as the requirements are.
        held, bought = [], []
        for row in plan.rows["years"]:
            held += [YearBytes(row.name, *part) for part in capacity_by_use(row)]
            reserve, usable = row.step("year_reserve_bytes"), row.step("year_capacity_to_buy")
            if reserve is not None and float(reserve.value):
                held.append(YearBytes(row.name, RESERVE, float(reserve.value)))
            if usable is not None:
                bought.append(YearBytes(row.name, TO_BUY, plan.rounded(float(usable.value))))
        charts.append(capacity(held, bought))
    rates = planner.bandwidth_by_year(plan)
    if any(one.reads or one.writes for one in rates):
        charts.append(bandwidth_by_year(rates))
    return charts
