"""Quantities by name: inputs, the formulas chosen among several, and everything that follows from both.

The way from what is known to a quantity, its route, is recorded once for all jobs of whom the same quantities are known. Which
formulas yield a quantity follows from the names that are given and known, not from their values. A site asks the same of a
thousand jobs in the same order, so that the route which the first of them found serves the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.engine.expression import Num
from ingest.engine.messages import message_of
from ingest.engine.ranges import ROUNDING, Tree
from ingest.engine.registry import (
    OUT_OF_RANGE,
    Formula,
    Step,
    decided_by,
    default_of,
    derive,
    linked,
    new_step,
    steps_below,
    unit_of,
    value_of,
)
from ingest.engine.value import Input, Quantity
from ingest.errors import CyclicQuantity, MissingQuantity, UsageError
from ingest.units import display

#: The classes of plain numbers.
NUMBERS = frozenset({float, int})
#: Sets of inputs whose routes are kept: more than the kinds of jobs of one site.
MOST_KEPT = 200
#: Why a result is missing that would be more than its quantity can be.
BEYOND = "it would be {}, more than {}"


class Route(NamedTuple):
    """How a quantity follows from what is known."""

    #: the quantities to derive, inputs first, each with its formula; None for one that is given or has a default
    steps: tuple[tuple[str, Formula | None], ...]
    after: Names  # the names that are known then
    missing: MissingQuantity | None = None  # the refusal where it cannot be derived


class Names:
    """The names of what is given and known, in the order in which they came, whatever the values."""

    def __init__(self) -> None:
        #: The routes found so far, by the quantity that they lead to, or by several in the order in which they are asked for.
        self.routes: dict[str | tuple[str, ...], Route] = {}
        self._after: dict[str, Names] = {}

    def after(self, change: str) -> Names:
        """The names after one more is known, or `+name` is given."""
        found = self._after.get(change)
        if found is None:
            found = self._after[change] = Names()
        return found


_kept: dict[str, Names] = {}


def names_of(given: Mapping[str, object]) -> Names:
    """The names of inputs before anything is derived from them."""
    key = " ".join(given)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        found = _kept[key] = Names()
    return found


class Quantities:
    """Inputs and what follows from them.

    They are built, then frozen. While they are built, `give`, `give_default`, `adopt`, `link` and `state` define the source of
    a quantity; each refuses a quantity that has been computed already, since what was computed from it would not follow. Once
    frozen, quantities are only read. They belong to an owner, a job, data set, cluster or year; where inputs are those of the
    whole site, `shared_inputs`, only what is computed belongs to it.
    """

    def __init__(self, inputs: Mapping[str, Input], owner: str = "", *, shared_inputs: bool = False) -> None:
        self.owner, self.input_owner = owner, "" if shared_inputs else owner
        self._given = dict(inputs)
        self._steps: dict[str, Step] = {}
        self._cases: tuple[str, ...] = ()
        self._frozen = False
        self._names = names_of(self._given)
        #: The inputs by name, to be read only.
        self.given: Mapping[str, Input] = MappingProxyType(self._given)
        #: The quantities computed or adopted so far, to be read only.
        self.steps: Mapping[str, Step] = MappingProxyType(self._steps)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases of the question, as stated so far."""
        return self._cases

    def freeze(self) -> None:
        """End the building: from here on quantities are only read."""
        self._frozen = True

    def give(self, inputs: Mapping[str, Input]) -> None:
        """Give inputs; they replace inputs of the same name.

        Raises ValueError: frozen, or a quantity that has been computed already.
        """
        for name, item in inputs.items():
            self._check_open(name)
            if name not in self._given:
                self._names = self._names.after(f"+{name}")
            self._given[name] = item

    def give_default(self, name: str, item: Input) -> Input:
        """Give an input unless it is given already; returns the one that holds.

        Raises ValueError: frozen, or a quantity that has been computed already.
        """
        if name not in self._given:
            self.give({name: item})
        return self._given[name]

    def adopt(self, steps: Mapping[str, Step]) -> None:
        """Take over quantities with their derivations; they win over inputs of the same name.

        Raises ValueError: frozen, or a quantity that has been computed already.
        """
        for name, step in steps.items():
            if self._steps.get(name) is not step:
                self._check_open(name)
                self._know(name, step)

    def state(self, *cases: str) -> None:
        """State cases of the question: a quantity with an alternative for one of them follows it, unless it is given.

        Raises ValueError: frozen, no quantity has an alternative for a case, or one of these has been computed already.
        """
        for case in cases:
            for name in decided_by(case):
                if name not in self._given:
                    self._check_open(name)
            if case not in self._cases:
                self._cases = (*self._cases, case)
                self._names = self._names.after(f"?{case}")

    def link(self, name: str, step: Step) -> None:
        """Let a quantity be another one, such as that of a data set, under a name of its own.

        Raises ValueError: frozen, or a quantity that has been computed already.
        """
        self._check_open(name)
        self._know(name, linked(name, step, self.owner))

    def with_inputs(self, inputs: Mapping[str, Input]) -> Quantities:
        """Quantities of their own with further inputs, open again.

        Raises ValueError: a quantity that has been computed already.
        """
        found = Quantities(self._given, self.owner, shared_inputs=self.owner != self.input_owner)
        found._steps.update(self._steps)
        found._cases = self._cases
        found._names = self._names
        found.give(inputs)
        return found

    def step(self, name: str) -> Step:
        """A quantity and how it came about.

        Raises MissingQuantity: it cannot be computed from what is known; UsageError: it exceeds the range of floating-point
        numbers.
        """
        found = self._steps.get(name) or self._derived(name)
        value = found.value
        if not (math.isfinite(value) if value.__class__ is float else _is_finite(value)):
            raise UsageError(OUT_OF_RANGE.format(name))
        return found

    def find(self, name: str) -> Step | None:
        """A quantity and how it came about; None where it cannot be computed from what is known."""
        if name not in self._steps and (route := self._names.routes.get(name)) is not None and route.missing is not None:
            return None  # as quantities of the same names have found
        try:
            return self.step(name)
        except MissingQuantity:
            return None

    def otherwise(self, name: str) -> Step | None:
        """A quantity that is given, as its formula has it from the others; None where it has no formula, or not from these."""
        others = Quantities({other: item for other, item in self._given.items() if other != name}, self.owner)
        others.state(*self._cases)
        others.adopt(
            {other: step for other, step in self._steps.items() if all(one.name != name for one in steps_below([step]))}
        )
        try:
            found = others.find(name)
        except (CyclicQuantity, UsageError):
            return None
        return found if found is not None and found.formula is not None else None

    def find_all(self, names: tuple[str, ...]) -> dict[str, Step]:
        """The quantities that can be computed from what is known, as `find` has one after the other."""
        steps, start, before = self._steps, self._names, len(self._steps)
        route = start.routes.get(names)
        if route is None:
            for name in names:
                self.find(name)
            further = list(steps.values())[before:]
            start.routes[names] = Route(tuple([(step.name, step.formula) for step in further]), self._names)
            return {name: steps[name] for name in names if name in steps}
        try:
            self._follow(route)
            self._names = route.after
            found = {name: steps[name] for name in names if name in steps}
            values = [*map(value_of, found.values())]
            # Most are plain numbers.
            if all(map(math.isfinite if NUMBERS.issuperset(map(type, values)) else _is_finite, values)):
                return found
        except (OverflowError, ZeroDivisionError, UsageError):
            pass
        # One of them is out of range: whoever asks for it alone is told which.
        self._forget(before)
        self._names = start
        return {name: step for name in names if (step := self.find(name)) is not None}

    def steps_of(self, *names: str) -> dict[str, Step]:
        """Quantities and how they came about, by name."""
        found = self.find_all(names)
        return found if len(found) == len(names) else {name: self.step(name) for name in names}

    def values_of(self, *names: str) -> dict[str, float]:
        """The values of quantities, by name."""
        return {name: float(step.value) for name, step in self.steps_of(*names).items()}

    def value(self, name: str) -> float:
        """The value of a quantity."""
        return float(self.step(name).value)

    def results(self, names: Iterable[str], *, ranged: bool = False) -> tuple[dict[str, Quantity], dict[str, str]]:
        """The quantities that can be computed, with their ranges on request, and for the others the reason."""
        asked, steps = tuple(names), dict[str, Step]()
        with suppress(CyclicQuantity):  # the one that needs itself is told below
            steps = self.find_all(asked)
        found: dict[str, Step] = {}
        unknown: dict[str, str] = {}
        for name in asked:
            try:
                found[name] = step = steps.get(name) or self.step(name)
            except (MissingQuantity, CyclicQuantity) as error:
                unknown[name] = message_of(error)
                continue
            if step.formula is not None and step.value > (most := step.formula.high) * (1 + ROUNDING):
                # Such as a share of more than all the time: no run has it.
                shown = (display(float(value), step.formula.unit, binary=False) for value in (found.pop(name).value, most))
                unknown[name] = BEYOND.format(*shown)
        tree, quantities = Tree(found if ranged else {}), dict[str, Quantity]()
        for name, step in found.items():
            unit = unit_of(step.name) if step.formula is None else step.formula.unit
            quantities[name] = Quantity(step.value, unit, ends=partial(tree.range_of, name) if ranged else None)
        return quantities, unknown

    def names_below(self, names: Iterable[str]) -> set[str]:
        """The names of quantities that have been computed, and of all that they rest on."""
        found = set(names)
        for step in list(self._steps.values())[::-1]:
            if step.formula is not None and step.name in found:
                found.update(step.formula.needs)
        return found

    def _know(self, name: str, step: Step) -> None:
        if name not in self._steps:
            self._names = self._names.after(name)
        self._steps[name] = step

    def _derived(self, name: str) -> Step:
        """Derive a quantity: by the route that quantities of the same names have found, else by the formulas."""
        steps, before = self._steps, len(self._steps)
        route = self._names.routes.get(name)
        try:
            if route is None:
                route = self._found(name, before)
            elif route.missing is None:
                self._follow(route)
        except (OverflowError, ZeroDivisionError, UsageError, CyclicQuantity) as error:
            self._forget(before)
            if isinstance(error, (OverflowError, ZeroDivisionError)):
                raise UsageError(OUT_OF_RANGE.format(name)) from None
            raise
        if route.missing is not None:
            raise MissingQuantity(route.missing.name, message_of(route.missing))
        self._names = route.after
        return steps[name]

    def _found(self, name: str, before: int) -> Route:
        """The formulas of a quantity; what they yield becomes known."""
        try:
            derive(name, self._given, self._steps, self.owner, self.input_owner, self._cases)
            further = list(self._steps.values())[before:]
            route = Route(tuple((step.name, step.formula) for step in further), self._names.after(f"={name}"))
        except MissingQuantity as error:
            self._forget(before)
            # Without the frames of the first: they would keep its quantities.
            route = Route((), self._names, MissingQuantity(error.name, message_of(error)))
        self._names.routes[name] = route
        return route

    def _forget(self, before: int) -> None:
        """Take back what was derived on the way to a quantity that cannot be: known is what the names say."""
        for name in list(self._steps)[before:]:
            del self._steps[name]

    def _follow(self, route: Route) -> None:
        steps, given = self._steps, self._given
        for name, formula in route.steps:
            if formula is not None:
                inputs: tuple[Any, ...] = tuple(map(steps.get, formula.needs))
                value = formula.function(*map(value_of, inputs))
                steps[name] = new_step((name, value, formula, inputs, None, self.owner))
            else:
                item = given.get(name)
                value = item.value if item is not None else default_of(name)
                steps[name] = new_step((name, value, None, (), item, self.input_owner))

    def _check_open(self, name: str) -> None:
        if self._frozen:
            raise ValueError(f"{name} is given after the quantities are frozen")
        if name in self._steps:
            raise ValueError(f"{name} is given after it has been computed")


def _is_finite(value: Num) -> bool:
    """Whether a value is within the range of floating-point numbers; columns and drawn values are."""
    try:
        return math.isfinite(value) if isinstance(value, (float, int)) else True
    except OverflowError:
        return False
