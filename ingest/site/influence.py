"""The influence of each input on the requirements: which of them a buyer turns first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.ranges import uncertain
from ingest.engine.registry import INPUTS, Step, value_of
from ingest.site.plan import Plan

#: By how much an input without a range is changed, as a share of its value; a count changes by one at least.
CHANGE = 0.1
#: Relative change of a requirement below which it counts as none: the noise of differences between large numbers.
SMALLEST = 1e-6
#: Numbers held at a time.
MOST_NUMBERS = 3_000_000
#: Turns of a column that are summed at a time.
AT_A_TIME = 128


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

    tree, given = TurnedTree(plan), [tuple(steps) for steps in inputs]
    size = max(1, MOST_NUMBERS // max(len(tree.shared), 1))
    with numpy.errstate(all="ignore"):
        parts = (given[start : start + size] for start in range(0, len(given), size))
        found = [Influence(steps, moved) for part in parts for steps, moved in zip(part, tree.moved(part), strict=True)]
    # Inputs of equal influence keep their order.
    return sorted((one for one in found if one.moved), key=lambda one: -one.weight)


class Entries:
    """A column as formulas take it, in many turns of inputs: its sum and its largest entry in each, computed once.

    Args:
        values: the entries.
        changed: the turn, the row and the value of each entry that a turn changes.
        turns: how many there are; none where no turn changes the column: one number holds for all.
    """

    ndim = 1

    def __init__(self, values: Any, changed: Sequence[tuple[int, int, float]] = (), turns: int = 0) -> None:
        self.values, self.changed, self.turns = values, changed, turns

    def sum(self) -> Any:
        """The sum."""
        return self._sum

    def max(self) -> Any:
        """The largest entry."""
        return self._max

    @cached_property
    def _sum(self) -> Any:
        return self._each(lambda rows: rows.sum(axis=-1))

    @cached_property
    def _max(self) -> Any:
        return self._each(lambda rows: rows.max(axis=-1))

    def _each(self, reduced: Callable[[Any], Any]) -> Any:
        import numpy

        if not self.turns:
            return reduced(self.values)
        found = numpy.full(self.turns, reduced(self.values))
        turns, rows, values = (numpy.array(part) for part in zip(*self.changed, strict=True))
        changing, places = numpy.unique(turns, return_inverse=True)
        for start in range(0, len(changing), AT_A_TIME):
            own = changing[start : start + AT_A_TIME]
            table = numpy.tile(self.values, (len(own), 1))
            here = (places >= start) & (places < start + AT_A_TIME)
            table[places[here] - start, rows[here]] = values[here]
            found[own] = reduced(table)
        return found


class TurnedTree:
    """The requirements of a plan where inputs are turned one at a time.

    What belongs to single jobs is computed for each turn, with numbers; what rests on columns, all jobs share: it is computed
    once for many turns, with an array of one number for each.

    Attributes:
        shared: the columns and what rests on them, in order.
        lines: the requirements that bind.
    """

    def __init__(self, plan: Plan) -> None:
        import numpy

        self.tree = tree = plan.tree
        columns = [step for step in tree.order if is_column(step) and step.inputs]
        self.columns = {column: Entries(numpy.array(column.value, float)) for column in columns}
        self.entries: dict[Step, list[tuple[Step, int]]] = {}
        for column in columns:
            for row, entry in enumerate(column.inputs):
                self.entries.setdefault(entry, []).append((column, row))
        above = tree.positions_above(columns) | {place for place, step in enumerate(tree.order) if step in self.columns}
        self.shared = [tree.order[place] for place in sorted(above)]
        #: The positions of the formulas that use a step and that are not shared.
        self._parents = {step: own for step, used in tree.parents.items() if (own := [one for one in used if one not in above])}
        self.lines = {one.id: plan.steps[one.id] for one in plan.requirements if one.priority != "information"}
        #: What is not shared itself, but a line, or an input of what is shared.
        self._beside = {part for step in self.shared if step not in self.columns for part in step.inputs}
        self._beside |= {*self.lines.values()}

    def moved(self, inputs: Sequence[Sequence[Step]]) -> list[dict[str, float]]:
        """The relative change of each requirement that an input changes, the largest first, for each input."""
        turns: list[dict[Step, float]] = []
        owners: list[int] = []
        for place, steps in enumerate(inputs):
            own = self._own(steps)
            for value in _others(steps[0]):
                turns.append(self._turned(steps, value, own))
                owners.append(place)
        found: list[dict[str, float]] = [{} for _ in inputs]
        for name, values in self._lines(turns).items():
            before = float(self.lines[name].value)
            for place, after in zip(owners, values, strict=True):
                change = abs(after - before) / before if before > 0 and after < float("inf") else 0.0
                if change > SMALLEST:
                    found[place][name] = max(change, found[place].get(name, 0.0))
        return [dict(sorted(most.items(), key=lambda item: -item[1])) for most in found]

    def _own(self, steps: Iterable[Step]) -> list[Step]:
        """Every step that rests on one of these and that is not shared, in order."""
        found, order, parents = set[int](), self.tree.order, self._parents
        waiting = list(steps)
        while waiting:
            for position in parents.get(waiting.pop(), ()):
                if position not in found:
                    found.add(position)
                    waiting.append(order[position])
        return [order[position] for position in sorted(found)]

    def _turned(self, steps: Iterable[Step], value: float, own: Iterable[Step]) -> dict[Step, float]:
        """The values of the steps that are not shared; infinite where no number holds one."""
        values = dict.fromkeys(steps, value)
        for step in own:
            assert step.formula is not None
            try:
                values[step] = step.formula.function(*map(values.get, step.inputs, map(value_of, step.inputs)))
            except (OverflowError, ZeroDivisionError):
                values[step] = math.inf
        return values

    def _lines(self, turns: Sequence[Mapping[Step, float]]) -> dict[str, list[float]]:
        """The requirements that any turn changes, in each of them."""
        import numpy

        values: dict[Step, Any] = {}
        changed: dict[Step, list[tuple[int, int, float]]] = {}
        for turn, of_turn in enumerate(turns):
            for step, value in of_turn.items():
                for column, row in self.entries.get(step, ()):
                    changed.setdefault(column, []).append((turn, row, value))
                if step in self._beside:
                    values.setdefault(step, numpy.full(len(turns), float(step.value)))[turn] = value
        for step in self.shared:
            if step in self.columns:
                if changed.get(step):
                    values[step] = Entries(self.columns[step].values, changed[step], len(turns))
            elif not values.keys().isdisjoint(step.inputs):
                assert step.formula is not None
                given = [values[part] if part in values else self.columns.get(part, part.value) for part in step.inputs]
                values[step] = numpy.broadcast_to(step.formula.function(*given), len(turns))
                for column, row in self.entries.get(step, ()):
                    turned = numpy.flatnonzero(values[step] != step.value).tolist()
                    changed.setdefault(column, []).extend((turn, row, values[step][turn]) for turn in turned)
        return {name: values[step].tolist() for name, step in self.lines.items() if step in values}


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
