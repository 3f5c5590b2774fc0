"""The range of a result: its smallest and largest value over the ranges of the inputs that it rests on.

The result is recomputed with one input at a time at its low and at its high end, all others at their typical values. That
gives the direction of each input: the end at which the result is smaller and the end at which it is larger. The low end of
the result is its value where every input is at the end that makes it smaller, the high end where every input is at the end
that makes it larger. An input that enters a derivation twice, such as the operations of a sample in a rate and in the
utilization that follows from it, is one input at one end.

Exact for a result that rises or falls with each input throughout, whatever the others are. Two cases are treated beyond that:
an input that changes nothing while the others are typical (one side of a minimum or maximum) is tried again where the others
are at their ends; and where both ends of an input are worse than its typical value the typical value is used. Not covered:
an extreme strictly between the ends of an input, and an input whose direction depends on the others. There the
range may be too narrow; it never leaves out the value itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from ingest.engine.expression import Num
from ingest.engine.registry import Step, derive, in_order, value_of
from ingest.engine.value import Input
from ingest.text import grouped

#: Values closer than this, relative to the larger, differ by rounding alone.
ROUNDING = 1e-12


class Uncertain(NamedTuple):
    """An input with a range; equal values of one source are one input, wherever they are used."""

    name: str
    value: float
    low: float
    high: float
    source: str
    where: str


#: Inputs away from their typical values, with the values that they have instead.
Corner = Mapping[Uncertain, float]


def uncertain(name: str, item: Input | None) -> Uncertain | None:
    """The input as one with a range, or None where nothing is known about its spread.

    An end that is not given is the value itself.
    """
    if item is None or (item.low is None and item.high is None):
        return None
    low = item.value if item.low is None else min(item.low, item.value)
    high = item.value if item.high is None else max(item.high, item.value)
    return Uncertain(name, item.value, low, high, item.source, item.where) if low < high else None


class Tree:
    """Results by name, with all the steps that they rest on."""

    def __init__(self, steps: Mapping[str, Step]) -> None:
        self.steps = dict(steps)
        self._computed: dict[frozenset[tuple[Uncertain, float]], dict[Step, float]] = {}
        self._walked: tuple[frozenset[Uncertain], list[Step]] = frozenset(), []

    @cached_property
    def order(self) -> list[Step]:
        """Every step once, inputs first."""
        return in_order(self.steps.values())

    @cached_property
    def parents(self) -> dict[Step, list[int]]:
        """Positions of the formulas that use a step; a simulated result was found once, for the typical inputs."""
        computed = ((position, step) for position, step in enumerate(self.order) if step.formula is not None)
        return grouped((part, position) for position, step in computed for part in step.inputs)

    @cached_property
    def uncertain(self) -> dict[Uncertain, list[Step]]:
        """The steps of each input with a range."""
        found: dict[Uncertain, list[Step]] = {}
        for step in self.order:
            source = step.source
            if source is None or (source.low is None and source.high is None):
                continue
            if (key := uncertain(step.name, source)) is not None:
                found.setdefault(key, []).append(step)
        return found

    def above(self, leaves: Iterable[Step]) -> list[Step]:
        """Every step that rests on one of these, in order."""
        found: set[int] = set()
        waiting = list(leaves)
        while waiting:
            for position in self.parents.get(waiting.pop(), ()):
                if position not in found:
                    found.add(position)
                    waiting.append(self.order[position])
        return [self.order[position] for position in sorted(found)]

    def again(self, changed: Mapping[Step, Num], above: Iterable[Step]) -> dict[Step, Num]:
        """The values of the steps above when some inputs have other values; infinite where no number holds one."""
        values = dict(changed)
        for step in above:
            assert step.formula is not None
            try:
                values[step] = step.formula.function(*map(values.get, step.inputs, map(value_of, step.inputs)))
            except (OverflowError, ZeroDivisionError):
                values[step] = math.inf
        return values

    def at(self, corner: Corner) -> Mapping[Step, float]:
        """The results that inputs away from their typical values change."""
        key = frozenset(corner.items())
        if key not in self._computed:
            changed = {step: end for one, end in corner.items() for step in self.uncertain[one]}
            inputs = frozenset(corner)
            walked = self._walked
            if inputs != walked[0]:  # walked once for both ends of an input
                self._walked = walked = inputs, self.above(changed)
            values = self.again(changed, walked[1])
            self._computed[key] = {step: float(values[step]) for step in self.steps.values() if step in values}
        return self._computed[key]

    @cached_property
    def ends(self) -> dict[Uncertain, tuple[Mapping[Step, float], Mapping[Step, float]]]:
        """The results that rest on an input with a range, with it alone at its low and its high end."""
        return {one: (self.at({one: one.low}), self.at({one: one.high})) for one in self.uncertain}

    def corners(self, name: str) -> tuple[Corner, Corner]:
        """The ends of the inputs at the low and at the high end of a result; the others are typical."""
        return self._corner(self.steps[name], 1), self._corner(self.steps[name], -1)

    def value(self, name: str, corner: Corner) -> float:
        """A result where some inputs are away from their typical values."""
        step = self.steps[name]
        return self.at(corner).get(step, step.value) if corner else step.value

    def range_of(self, name: str) -> tuple[float, float] | None:
        """The low and the high end of a result; None where no range reaches it, or where no number holds an end."""
        step = self.steps[name]
        if not any(step in low for low, _ in self.ends.values()):
            return None
        low, high = (self.value(name, corner) for corner in self.corners(name))
        return (low, high) if low < high and math.isfinite(low) and math.isfinite(high) else None

    def _corner(self, result: Step, sign: int) -> Corner:
        """The ends of the inputs where the result, times the sign, is smallest."""
        typical = sign * float(result.value)
        corner: dict[Uncertain, float] = {}
        singles: list[tuple[float, Corner]] = [(typical, {})]
        idle: list[Uncertain] = []
        for one, (at_low, at_high) in self.ends.items():
            if result not in at_low:
                continue
            best, end = min((sign * at_low[result], one.low), (sign * at_high[result], one.high))
            singles.append((best, {one: end}))
            if _equal(at_low[result], at_high[result]) and _equal(best, typical):
                idle.append(one)
            elif best <= typical or _equal(best, typical):
                corner[one] = end
        for others in ({}, {one: one.low for one in idle}, {one: one.high for one in idle}):
            for one in idle:
                low, high = (sign * self.at({**others, **corner, one: end})[result] for end in (one.low, one.high))
                if one not in corner and not _equal(low, high):
                    corner[one] = one.low if low < high else one.high
        if not corner or len(singles) == 2:
            return corner
        return min([(sign * self.at(corner)[result], corner), *singles], key=lambda found: found[0])[1]


def ranged(name: str, given: Mapping[str, Input]) -> Input:
    """A quantity that follows from what is given, with its low and high end where a range reaches it.

    Raises MissingQuantity: the quantity cannot be computed from what is given.
    """
    step = derive(name, given)
    return Input(step.value, *(Tree({name: step}).range_of(name) or ()))


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING)
