"""The charts of a tender: what a vendor sizes for, and nothing of the buyer's own argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.reports.charts.chart import Chart
from ingest.reports.charts.planning import RESERVE, YearBytes, capacity
from ingest.reports.charts.training_day import DayLoad, Share, YearRates, bandwidth_by_year, request_sizes, training_day
from ingest.site import planner
from ingest.site import training_day as load
from ingest.site.plan import capacity_by_use

if TYPE_CHECKING:
    from ingest.site.plan import Plan

TO_BUY = "usable capacity to buy"


def vendor_charts(plan: Plan) -> list[Chart]:
    """The load of a training day, the requests of each load, capacity and bandwidth by year."""
    return list(_charts(plan))


def _charts(plan: Plan) -> Iterator[Chart]:
    day = load.training_day(plan)
    if any(day.reads) or any(day.writes):
        reads, copies = DayLoad("training reads", day.reads), DayLoad("staging and restores", day.copies)
        yield training_day(reads, copies, DayLoad("checkpoint writes", day.writes), day.restored)
    shares = [Share(one.load, *one.part) for one in load.request_shares(plan.requirements)]
    if shares:
        yield request_sizes(shares)
    yield tender_capacity(plan)
    rates = [YearRates(*one) for one in planner.bandwidth_by_year(plan)]
    if any(one.reads or one.writes for one in rates):
        yield bandwidth_by_year(rates)


def tender_capacity(plan: Plan) -> Chart:
    """Data held and reserve by year, and the usable capacity to buy, rounded as the requirements are."""
    held, bought = [], []
    for row in plan.rows["years"]:
        held += [YearBytes(row.name, *part) for part in capacity_by_use(row)]
        reserve = row.step("year_reserve_bytes")
        if reserve is not None and float(reserve.value):
            held.append(YearBytes(row.name, RESERVE, float(reserve.value)))
        usable = row.step("year_capacity_to_buy")
        if usable is not None:
            bought.append(YearBytes(row.name, TO_BUY, plan.rounded(float(usable.value))))
    return capacity(held, to_buy=bought)
