"""The influence of each input on the requirements: which of them a buyer turns first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.ranges import uncertain
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

    tree = TurnedTree(plan)
    with numpy.errstate(all="ignore"):
        found = [Influence(tuple(steps), _moved(tree, steps)) for steps in inputs]
    # Inputs of equal influence keep their order.
    return sorted((one for one in found if one.moved), key=lambda one: -one.weight)


class Entries:
    """A column as formulas take it: its sum and its largest entry, each computed once, however many formulas ask for it."""

    ndim = 1

    def __init__(self, values: Any) -> None:
        self.values = values

    def with_changes(self, changed: Iterable[tuple[int, float]]) -> Entries:
        """The column with other values in some of its rows."""
        values = self.values.copy()
        for row, value in changed:
            values[row] = value
        return Entries(values)

    def sum(self) -> float:
        """The sum."""
        return self._sum

    def max(self) -> float:
        """The largest entry."""
        return self._max

    @cached_property
    def _sum(self) -> float:
        return self.values.sum()  # type: ignore[no-any-return]

    @cached_property
    def _max(self) -> float:
        return self.values.max()  # type: ignore[no-any-return]


class TurnedTree:
    """The requirements of a plan with the columns below them as arrays: an input of one job changes one entry of a thousand."""

    def __init__(self, plan: Plan) -> None:
        import numpy

        self.tree = plan.tree
        columns = [step for step in self.tree.order if is_column(step) and step.inputs]
        self.columns = {column: Entries(numpy.array(column.value, float)) for column in columns}
        self.entries: dict[Step, list[tuple[Step, int]]] = {}
        for column in columns:
            for row, entry in enumerate(column.inputs):
                self.entries.setdefault(entry, []).append((column, row))
        #: The value of each step; those above an input that is turned, only while it is.
        self._values: dict[Step, Any] = {step: self.columns.get(step, step.value) for step in self.tree.order}
        self._above_columns: dict[Step, frozenset[int]] = {}
        self.lines = {one.id: plan.steps[one.id] for one in plan.requirements if one.priority != "information"}

    def above(self, steps: Iterable[Step]) -> list[Step]:
        """Every step that rests on one of these, in order; what rests on a column is the same for all of its entries."""
        found: set[int] = set()
        waiting = list(steps)
        while waiting:
            for position in self.tree.parents.get(waiting.pop(), ()):
                if position not in found:
                    found.add(position)
                    step = self.tree.order[position]
                    if step in self.columns:
                        found |= self._above(step)
                    else:
                        waiting.append(step)
        return [self.tree.order[position] for position in sorted(found)]

    def _above(self, column: Step) -> frozenset[int]:
        if column not in self._above_columns:
            self._above_columns[column] = frozenset(self.tree.positions_above([column]))
        return self._above_columns[column]

    def turned(self, steps: Iterable[Step], value: float, above: Sequence[Step]) -> dict[str, float]:
        """The requirements that another value of an input changes, and their values; infinite where no number holds one."""
        values, before = self._values, dict[Step, Any]()
        changed: dict[Step, list[tuple[int, float]]] = {}

        def turn(step: Step, found: Any) -> None:
            before[step] = values.get(step)
            values[step] = found
            for column, row in self.entries.get(step, ()):
                changed.setdefault(column, []).append((row, found))

        for step in steps:
            turn(step, value)
        for step in above:
            if step in self.columns:
                if step in changed:
                    turn(step, self.columns[step].with_changes(changed[step]))
            elif not before.keys().isdisjoint(step.inputs):
                assert step.formula is not None
                try:
                    found = step.formula.function(*[values[part] for part in step.inputs])
                except (OverflowError, ZeroDivisionError):
                    found = math.inf
                # What stays as it was, such as the largest of many, changes nothing above it.
                if found != values[step]:
                    turn(step, found)
        after: dict[str, float] = {name: values[step] for name, step in self.lines.items() if step in before}
        values.update(before)
        return after


def _moved(tree: TurnedTree, steps: Sequence[Step]) -> dict[str, float]:
    above = tree.above(steps)
    most: dict[str, float] = {}
    for value in _others(steps[0]):
        for name, after in tree.turned(steps, value, above).items():
            before = float(tree.lines[name].value)
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
