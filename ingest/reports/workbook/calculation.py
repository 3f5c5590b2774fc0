"""Derivations as spreadsheet cells: what is given becomes an input cell, what is computed a live formula."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.value import Input
from ingest.expression import cell, prose
from ingest.formula import FORMULAS, LEAVES, Leaf, Step, unit_of


class InputCell(NamedTuple):
    """A given quantity, or a column of them, that a reader may change."""

    name: str
    quantity: str
    value: Any
    given: Input | None

    @property
    def is_column(self) -> bool:
        """Whether it holds many values."""
        return hasattr(self.value, "__len__")

    @property
    def unit(self) -> str:
        """Base unit."""
        return unit_of(self.quantity)

    @property
    def limits(self) -> Leaf:
        """The allowed range; a row of a table may be nothing, and so may a computed quantity that was given instead."""
        found = LEAVES.get(self.quantity, Leaf(self.quantity, self.unit, "", above=False))
        return found._replace(above=False) if self.is_column else found


class FormulaCell(NamedTuple):
    """A computed quantity."""

    name: str
    quantity: str
    value: Any
    step: Step
    inputs: Mapping[str, str]

    @property
    def unit(self) -> str:
        """Base unit."""
        return unit_of(self.quantity)

    @property
    def words(self) -> str:
        """The formula in words."""
        assert self.step.formula is not None
        return prose(self.step.formula.tree())

    @property
    def cited(self) -> str:
        """Source and place of the formula; nothing where it is a definition."""
        made = self.step.formula
        return "" if made is None or made.source == "definition" else f"{made.source}, {made.where}".removesuffix(", ")

    def written(self, place: Callable[[str], str] = str) -> str:
        """The formula of the cell; `place` maps cell names to what stands in the formula."""
        assert self.step.formula is not None
        return cell(self.step.formula.tree(), lambda need: place(self.inputs[need]))


class Calculation:
    """The cells of one workbook, each quantity once; the same name with another value gets a number behind it."""

    def __init__(self) -> None:
        self.inputs: list[InputCell] = []
        self.formulas: list[FormulaCell] = []
        #: value, low and high end of each cell
        self.ends: dict[str, tuple[Any, Any, Any]] = {}
        self._names: dict[tuple[str, Hashable], str] = {}
        self._taken: dict[str, int] = {}

    def add(self, step: Step, given: Mapping[str, Input]) -> str:
        """Place a derivation and everything below it, and return the name of its cell."""
        if step.formula is None:
            return self._placed(step.name, _key(step.value), lambda name: self._add_input(name, step, given))
        inputs = {part.name: self.add(part, given) for part in step.inputs}
        key = (step.formula.name, step.formula.needs, tuple(inputs.values()))
        return self._placed(step.name, key, lambda name: self._add_formula(name, step, inputs))

    def names(self) -> list[str]:
        """The names of all cells, in the order in which they were placed."""
        return list(self.ends)

    def _add_input(self, name: str, step: Step, given: Mapping[str, Input]) -> None:
        known = given.get(step.name)
        low, high = (None, None) if known is None else (known.low, known.high)
        self.inputs.append(InputCell(name, step.name, step.value, known))
        self.ends[name] = (step.value, step.value if low is None else low, step.value if high is None else high)

    def _add_formula(self, name: str, step: Step, inputs: Mapping[str, str]) -> None:
        assert step.formula is not None
        low, high = (step.formula.function(*(self.ends[part][side] for part in inputs.values())) for side in (1, 2))
        self.formulas.append(FormulaCell(name, step.name, step.value, step, inputs))
        self.ends[name] = (step.value, low, high)

    def _placed(self, quantity: str, key: Hashable, make: Callable[[str], None]) -> str:
        found = self._names.get((quantity, key))
        if found is None:
            count = self._taken[quantity] = self._taken.get(quantity, 0) + 1
            found = self._names[quantity, key] = quantity if count == 1 else f"{quantity}_{count}"
            make(found)
        return found


def _key(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, Sequence) or hasattr(value, "__len__") else value


def meaning_of(quantity: str) -> str:
    """What a quantity is, in one line."""
    return FORMULAS[quantity].meaning if quantity in FORMULAS else LEAVES[quantity].meaning
