"""What storage systems give, by the number of nodes: the ceilings over the bandwidth that jobs ask for."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.errors import IngestError, MissingQuantity, UsageError
from ingest.formula import solve
from ingest.question import Question
from ingest.reports.charts.demand import Ceiling
from ingest.site.plans import Plan
from ingest.storage.asking import need_of
from ingest.storage.fitting import ALL, fit_need
from ingest.storage.outcome import Fit
from ingest.units import display

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
    found = fit_need(need_of(plan, {}, Question(), plan.catalog), names, plan.catalog).systems
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
