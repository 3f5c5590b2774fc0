"""The influence of each input on the requirements: which of them a buyer turns first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.ranges import Tree, uncertain
from ingest.engine.registry import INPUTS, Step
from ingest.site.plan import Plan

#: By how much an input without a range is changed, as a share of its value; a count changes by one at least.
CHANGE = 0.1
#: Relative change of a requirement below which it counts as none: the noise of differences between large numbers.
SMALLEST = 1e-6


class Influence(NamedTuple):
    """What one input does to the requirements that bind.

    Attributes:
        steps: of the input: one value, wherever it is used.
        moved: the relative change of each requirement that it changes, by id, the largest first.
    """

    steps: tuple[Step, ...]
    moved: Mapping[str, float]

    @property
    def weight(self) -> float:
        """The sum of the changes; no requirement counts more than twice its value."""
        return sum(min(change, 1.0) for change in self.moved.values())


def influences(plan: Plan, inputs: Iterable[Sequence[Step]]) -> list[Influence]:
    """The influence of inputs, the largest first: each at the end of its range that moves a requirement further, or changed by
    a tenth.

    Args:
        plan: of the site.
        inputs: the steps of each input, all with one value; a column is none.
    """
    import numpy

    tree = TurnedTree(plan.tree)
    with numpy.errstate(all="ignore"):
        found = [Influence(tuple(steps), _moved(plan, tree, steps)) for steps in inputs]
    # Inputs of equal influence keep their order.
    return sorted((one for one in found if one.moved), key=lambda one: -one.weight)


class TurnedTree:
    """The requirements of a plan with the columns below them as arrays: an input of one job changes one entry of a thousand."""

    def __init__(self, tree: Tree) -> None:
        import numpy

        self.tree = tree
        self.known = set(tree.order)
        columns = [step for step in tree.order if is_column(step) and step.inputs]
        self.columns = {column: numpy.array(column.value, float) for column in columns}
        self.entries: dict[Step, list[tuple[Step, int]]] = {}
        for column in columns:
            for row, entry in enumerate(column.inputs):
                self.entries.setdefault(entry, []).append((column, row))

    def above(self, steps: Iterable[Step]) -> list[Step]:
        """Every step that rests on one of these, in order."""
        return self.tree.above(step for step in steps if step in self.known)

    def turned(self, steps: Iterable[Step], value: float, above: Sequence[Step]) -> dict[Step, Any]:
        """The values of the steps above where an input has another one; infinite where no number holds one."""
        values: dict[Step, Any] = dict.fromkeys(steps, value)
        changed: dict[Step, list[tuple[int, float]]] = {}
        for step in [*values, *above]:
            if step in self.columns:
                values[step] = self.columns[step].copy()
                for row, entry in changed[step]:
                    values[step][row] = entry
            elif step not in values:
                assert step.formula is not None
                try:
                    given = [values[part] if part in values else self.columns.get(part, part.value) for part in step.inputs]
                    values[step] = step.formula.function(*given)
                except (OverflowError, ZeroDivisionError):
                    values[step] = math.inf
            for column, row in self.entries.get(step, ()):
                changed.setdefault(column, []).append((row, values[step]))
        return values


def _moved(plan: Plan, tree: TurnedTree, steps: Sequence[Step]) -> dict[str, float]:
    above = tree.above(steps)
    lines = [one.id for one in plan.requirements if one.priority != "information"]
    most: dict[str, float] = {}
    for value in _others(steps[0]):
        values = tree.turned(steps, value, above)
        for name in lines:
            if plan.steps[name] not in values:
                continue
            before = float(plan.steps[name].value)
            after = float(values[plan.steps[name]])
            change = abs(after - before) / before if before > 0 and after < float("inf") else 0.0
            if change > SMALLEST:
                most[name] = max(change, most.get(name, 0.0))
    return dict(sorted(most.items(), key=lambda item: -item[1]))


def _others(step: Step) -> list[float]:
    """The values to try instead: the ends of a range, else a tenth more and a tenth less, within what the input may be."""
    given, limits = float(step.value), INPUTS.get(step.name)
    known = uncertain(step.name, step.source)
    if known is not None:
        return [known.low, known.high]
    if limits is not None and limits.whole:
        least = max(1.0, float(round(given * CHANGE)))
        around = [given - least, given + least]
    else:
        around = [given * (1 - CHANGE), given * (1 + CHANGE)]
    low, high = (0.0, float("inf")) if limits is None else (limits.low, limits.high)
    return [value for value in around if low < value <= high]
