"""The influence of each input on the requirements: which of them a buyer turns first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

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
    found = [Influence(tuple(steps), _moved(plan, steps)) for steps in inputs]
    # Inputs of equal influence keep their order.
    return sorted((one for one in found if one.moved), key=lambda one: -one.weight)


def _moved(plan: Plan, steps: Sequence[Step]) -> dict[str, float]:
    tree, known = plan.tree, set(plan.tree.order)
    reached = [step for step in steps if step in known]
    above = tree.above(reached)
    most: dict[str, float] = {}
    for value in _others(steps[0]):
        values = tree.again(dict.fromkeys(reached, value), above)
        for one in plan.requirements:
            before = plan.computed[one.id]
            after = float(values.get(plan.steps[one.id], before))
            change = abs(after - before) / before if before > 0 and after < float("inf") else 0.0
            if one.priority != "information" and change > SMALLEST:
                most[one.id] = max(change, most.get(one.id, 0.0))
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
