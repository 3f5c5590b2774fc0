"""Read bandwidth that storage systems offer a plan, by the number of nodes of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError, MissingQuantity, UsageError
from ingest.site.plan import Plan
from ingest.sizing.job import Job
from ingest.storage.fit import ALL, fit_need, ids_in
from ingest.storage.fit_options import need_of
from ingest.storage.fit_result import Fit
from ingest.units import display

#: More ceilings than this cannot be told apart in a chart.
MOST = 6
#: class of entry -> aggregate read bandwidth of its nodes, and the quantities it depends on, the first with a source
BY_NODES = {
    "client": ("clients_read_ceiling", ("client_bandwidth_per_node", "small_read_factor")),
    "drive": ("nvme_read_ceiling", ("nvme_read_bandwidth_per_node", "small_read_factor")),
}
OF_UNIT = "unit_read_bandwidth"


class ReadCeiling(NamedTuple):
    """Read bandwidth of a storage system.

    Attributes:
        label: name of the system and number of its units.
        rate: the bandwidth in words.
        points: nodes, and bandwidth in B/s.
        source: grade and source of the bandwidth.
    """

    label: str
    rate: str
    points: tuple[tuple[float, float], ...]
    source: str


def read_ceilings(plan: Plan, storage: Sequence[str], sizes: Sequence[float]) -> list[ReadCeiling]:
    """The ceiling of each system.

    Args:
        plan: its mandatory requirements set the number of units.
        storage: ids of the storage catalog or YAML files, each an item of its own or separated by commas.
        sizes: numbers of nodes.

    Raises:
        UsageError: an unknown id, or more ids than a chart can show.
        IngestError: a system whose read bandwidth is unknown.
    """
    names = ids_in(storage)
    if ALL in names or not 0 < len(names) <= MOST:
        raise UsageError(f"--storage: found {', '.join(names) or 'nothing'}, expected one to {MOST} ids of storage to draw")
    systems = fit_need(need_of(plan, {}, Job(), plan.catalog), names, plan.catalog).systems
    return [_ceiling(plan, one, sizes) for one in systems]


def _ceiling(plan: Plan, one: Fit, sizes: Sequence[float]) -> ReadCeiling:
    known, source = one.answer.known, _source(plan, one)
    try:
        if one.entry.family not in BY_NODES:
            total = known.value("units_read_ceiling")
            return ReadCeiling(_label(one), display(total, "B/s", binary=False), tuple((size, total) for size in sizes), source)
        formula, inputs = BY_NODES[one.entry.family]
        given = {name: known.value(name) for name in inputs}
        points = tuple((size, float(solve(formula, {**given, "nodes": size}))) for size in sizes)
        each = float(solve(formula, {**given, "nodes": 1}))
    except MissingQuantity as error:
        raise IngestError(f"--storage: {one.entry.id}: {error.name} is not known, expected a read bandwidth to draw") from None
    return ReadCeiling(one.entry.name, f"{display(each, 'B/s', binary=False)} for each node", points, source)


def _label(one: Fit) -> str:
    if one.entry.fixed:
        return one.entry.name
    return f"{one.entry.name}, {one.answer.known.value('units'):,.0f} × {one.entry.scaling_unit or 'unit'}"


def _source(plan: Plan, one: Fit) -> str:
    by_nodes = BY_NODES.get(one.entry.family)
    item = one.answer.given.get(by_nodes[1][0] if by_nodes else OF_UNIT)
    title = f": {plan.catalog.source(item.source).title}" if item is not None and item.source else ""
    how = f"{item.grade}{title}" if item is not None and item.grade else "derived"
    units = "" if by_nodes or one.entry.fixed else ", as many units as the mandatory requirements take"
    return f"{one.entry.name}{units} ({how})"
