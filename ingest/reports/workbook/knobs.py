"""The inputs that a buyer turns first: those that move the requirements most, and those that every buyer asks about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ingest.engine.messages import Message
from ingest.engine.registry import Step
from ingest.reports.labels import capitalised, plain
from ingest.reports.workbook.plan_cells import ALSO, SHARED, SITE, PlanCells
from ingest.site.influence import Influence, influences
from ingest.site.plan import Plan

#: Knobs of a workbook, and those among them of one quantity.
MOST, MOST_ALIKE = 15, 3
#: Quantities of which the most effective input is a knob, whatever it moves.
ALWAYS = (("nodes",), ("cluster_nodes",), ("performance_headroom",), ("capacity_growth_factor",), ("keep_last",),
          ("checkpoint_interval", "longest_interval"), ("fill_limit",))  # fmt: skip
#: Keys of the site file that replace a value of the catalogs, by quantity; the owner goes into the braces.
KEYS = {
    "accelerator_utilization": "jobs.{}.utilization",
    "capacity_growth_factor": "datasets.{}.growth.capacity",
    "concurrent_runs": "jobs.{}.runs",
    "data_copies": "datasets.{}.copies",
    "fill_limit": "storage.fill_limit",
    "growth_period_seconds": "datasets.{}.growth.every",
    "parameters": "jobs.{}.checkpoint.parameters",
    "performance_headroom": "storage.headroom",
    "unstalled_samples_per_second_per_gpu": "jobs.{}.samples_per_second",
}
#: Requirements that a knob is shown to move.
MOST_MOVED = 3


class Knob(NamedTuple):
    """An input to turn.

    Attributes:
        step: that stands for its cell.
        name: what it is, and whose.
        key: of the site file.
        moves: the requirements that it moves most.
    """

    step: Step
    name: str
    key: str
    moves: str


def knobs_of(plan: Plan, cells: PlanCells) -> list[Knob]:
    """The knobs of a workbook, the most effective first."""
    single = (steps for step, steps in cells.sharing.items() if not hasattr(step.value, "__len__") and key_of(step, cells))
    found = influences(plan, single)
    kept = set(_chosen(found))
    return [_knob(one, cells) for place, one in enumerate(found) if place in kept]


def _chosen(found: list[Influence]) -> Iterator[int]:
    """The places of the knobs among the influences."""
    alike: Counter[str] = Counter()
    always = [next((place for place, one in enumerate(found) if one.steps[0].name in names), None) for names in ALWAYS]
    taken = [place for place in always if place is not None]
    alike.update(found[place].steps[0].name for place in taken)
    yield from taken
    left = MOST - len(taken)
    for place, one in enumerate(found):
        if place not in taken and left > 0 and alike[one.steps[0].name] < MOST_ALIKE:
            alike[one.steps[0].name] += 1
            left -= 1
            yield place


def _knob(one: Influence, cells: PlanCells) -> Knob:
    step = one.steps[0]
    owner = cells.owner(step)
    whose = "" if owner in (SITE, *SHARED) else f", {owner}"
    return Knob(step, capitalised(plain(step.name)) + whose, key_of(step, cells), ", ".join([*one.moved][:MOST_MOVED]))


def key_of(step: Step, cells: PlanCells) -> str:
    """The key of the site file that sets an input: its own, else the one that replaces its default; empty where none does."""
    owner, _, more = cells.owner(step).partition(ALSO)
    if known := cells.key(step):
        return known
    note = step.source.note if step.source is not None else ""
    path = note.supply[0].in_site_file if isinstance(note, Message) and note.supply else ""
    if not path and step.name in KEYS:
        path = KEYS[step.name].format(owner)
    elif path and path.partition(".")[0] not in (*SHARED, "datasets"):
        path = f"jobs.{owner}.{path}"
    path = path.replace("datasets.*", f"datasets.{owner}")
    # `scaling: strong` takes a word.
    return "" if not path or " " in path else path + (f"{ALSO}{more}" if more else "")
