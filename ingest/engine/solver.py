"""Quantities by name: inputs, the formulas chosen among several, and everything that follows from both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ingest.engine.messages import message_of
from ingest.engine.ranges import Tree
from ingest.engine.registry import OUT_OF_RANGE, Formula, Step, derive, unchanged, unit_of
from ingest.engine.value import Input, Quantity
from ingest.errors import CyclicQuantity, MissingQuantity, UsageError


class Quantities:
    """Inputs and what follows from them.

    They are built, then frozen. While they are built, `give`, `give_default`, `adopt` and `choose` define the source of a
    quantity; each refuses a quantity that has been computed already, since what was computed from it would not follow. Once
    frozen, quantities are only read.

    Args:
        inputs: the inputs by name.
        owner: the job, data set, cluster or year that the quantities belong to.
        shared_inputs: the inputs are those of the whole site; only what is computed belongs to the owner.
    """

    def __init__(self, inputs: Mapping[str, Input], owner: str = "", *, shared_inputs: bool = False) -> None:
        self.owner, self.input_owner = owner, "" if shared_inputs else owner
        self._given = dict(inputs)
        self._steps: dict[str, Step] = {}
        self._frozen = False
        #: The inputs by name, to be read only.
        self.given: Mapping[str, Input] = MappingProxyType(self._given)
        #: The quantities computed or adopted so far, to be read only.
        self.steps: Mapping[str, Step] = MappingProxyType(self._steps)

    def freeze(self) -> None:
        """End the building: from here on quantities are only read."""
        self._frozen = True

    def give(self, inputs: Mapping[str, Input]) -> None:
        """Give inputs; they replace inputs of the same name.

        Raises:
            ValueError: frozen, or a quantity that has been computed already.
        """
        for name, item in inputs.items():
            self._check_open(name)
            self._given[name] = item

    def give_default(self, name: str, item: Input) -> Input:
        """Give an input unless it is given already; returns the one that holds.

        Raises:
            ValueError: frozen, or a quantity that has been computed already.
        """
        if name not in self._given:
            self.give({name: item})
        return self._given[name]

    def withdraw(self, name: str) -> None:
        """Take an input back, if it is given.

        Raises:
            ValueError: frozen, or a quantity that has been computed already.
        """
        self._check_open(name)
        self._given.pop(name, None)

    def adopt(self, steps: Mapping[str, Step]) -> None:
        """Take over quantities with their derivations; they win over inputs of the same name.

        Raises:
            ValueError: frozen, or a quantity that has been computed already.
        """
        for name, step in steps.items():
            if self._steps.get(name) is not step:
                self._check_open(name)
                self._steps[name] = step

    def choose(self, name: str, formula: str) -> None:
        """Let a quantity be what one of several formulas yields; an input still wins.

        Raises:
            MissingQuantity: the formula cannot be computed.
            ValueError: frozen.
        """
        if name in self._given:
            return
        if self._frozen:
            raise ValueError(f"{name} is chosen after the quantities are frozen")
        self._steps[name] = linked(name, self.step(formula), self.owner)

    def choose_first(self, name: str, *formulas: str) -> None:
        """Let a quantity be what the first formula yields that can be computed, if any does; an input still wins."""
        best = next((formula for formula in formulas if self.find(formula) is not None), None)
        if best is not None:
            self.choose(name, best)

    def link(self, name: str, step: Step) -> None:
        """Let a quantity be another one, such as that of a data set, under a name of its own.

        Raises:
            ValueError: frozen, or a quantity that has been computed already.
        """
        self._check_open(name)
        self._steps[name] = linked(name, step, self.owner)

    def with_inputs(self, inputs: Mapping[str, Input]) -> Quantities:
        """Quantities of their own with further inputs, open again.

        Raises:
            ValueError: a quantity that has been computed already.
        """
        found = Quantities(self._given, self.owner, shared_inputs=self.owner != self.input_owner)
        found._steps.update(self._steps)
        found.give(inputs)
        return found

    def step(self, name: str) -> Step:
        """A quantity and how it came about.

        Raises:
            MissingQuantity: it cannot be computed from what is known.
            UsageError: it exceeds the range of floating-point numbers.
        """
        found = self._steps.get(name) or derive(name, self._given, self._steps, self.owner, self.input_owner)
        if found.value.__class__ is float:
            finite = math.isfinite(found.value)
        else:
            try:
                finite = math.isfinite(found.value) if isinstance(found.value, (int, float)) else True
            except OverflowError:
                finite = False
        if not finite:
            raise UsageError(OUT_OF_RANGE.format(name))
        return found

    def find(self, name: str) -> Step | None:
        """A quantity and how it came about; None where it cannot be computed from what is known."""
        try:
            return self.step(name)
        except MissingQuantity:
            return None

    def value(self, name: str) -> float:
        """The value of a quantity."""
        return float(self.step(name).value)

    def results(self, names: Iterable[str], *, ranged: bool = False) -> tuple[dict[str, Quantity], dict[str, str]]:
        """The quantities that can be computed, with their ranges on request, and for the others the reason."""
        found: dict[str, Step] = {}
        unknown: dict[str, str] = {}
        for name in names:
            try:
                found[name] = self.step(name)
            except (MissingQuantity, CyclicQuantity) as error:
                unknown[name] = message_of(error)
        tree = Tree(found if ranged else {})
        quantities = {
            name: Quantity(step.value, unit_of(name), *((ranged and tree.range_of(name)) or ())) for name, step in found.items()
        }
        return quantities, unknown

    def _check_open(self, name: str) -> None:
        if self._frozen:
            raise ValueError(f"{name} is given after the quantities are frozen")
        if name in self._steps:
            raise ValueError(f"{name} is given after it has been computed")


def linked(name: str, step: Step, owner: str = "") -> Step:
    """Another quantity under a name of its own."""
    return Step(name, step.value, Formula(name, unchanged, (step.name,), unit_of(name), "definition", ""), (step,), None, owner)
