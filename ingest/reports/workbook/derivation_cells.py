"""Derivations as spreadsheet cells: inputs become editable cells, computed quantities live formulas."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ingest.engine.expression import cell, prose
from ingest.engine.ranges import Corner, Tree, uncertain
from ingest.engine.registry import FORMULAS, INPUTS, Formula, InputQuantity, Step, unit_of
from ingest.engine.value import Input


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
    def limits(self) -> InputQuantity:
        """The allowed range."""
        return limits_of(self.quantity, self.value)


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
        assert self.step.formula is not None
        return cited(self.step.formula)

    def written(self, place: Callable[[str], str] = str) -> str:
        """The formula of the cell; `place` maps the name of a cell to its address."""
        assert self.step.formula is not None
        return cell(self.step.formula.tree(), lambda need: place(self.inputs[need]))


class Calculation:
    """The cells of one workbook, each quantity once; a second value of a quantity gets a number behind its name.

    Place all derivations first: ranges are those of all of them.
    """

    def __init__(self) -> None:
        self.inputs: list[InputCell] = []
        self.formulas: list[FormulaCell] = []
        self._cells: dict[str, InputCell | FormulaCell] = {}
        self._names: dict[tuple[str, Hashable], str] = {}
        self._taken: dict[str, int] = {}

    def add(self, step: Step) -> str:
        """Place a derivation and everything below it, and return the name of its cell."""
        if step.formula is None:
            return self._placed(step.name, _key(step.value), lambda name: self._add_input(name, step))
        inputs = {part.name: self.add(part) for part in step.inputs}
        key = (step.formula.name, step.formula.needs, tuple(inputs.values()))
        return self._placed(step.name, key, lambda name: self._add_formula(name, step, inputs))

    def names(self) -> list[str]:
        """The names of all cells, in the order in which they were placed."""
        return list(self._cells)

    @cached_property
    def ends(self) -> dict[str, tuple[Any, Any, Any]]:
        """Value, low and high end of each cell."""
        return {name: (one.value, *self._ends(one)) for name, one in self._cells.items()}

    def end_written(self, one: FormulaCell, side: int, place: Callable[[str, int], str]) -> str:
        """The formula of the low (1) or high (2) end of a cell: its own, with each input at the end that leads there.

        An input that no cell holds at that end is written out down to cells that do.

        Args:
            one: the cell.
            side: 1 or 2.
            place: address of the value (0), the low end (1) or the high end (2) of a cell.
        """
        return one.written(lambda part: self._written(part, self._corners[one.name][side - 1], place))

    def _written(self, name: str, corner: Corner, place: Callable[[str, int], str]) -> str:
        one = self._cells[name]
        if isinstance(one, InputCell):
            known = uncertain(one.quantity, one.given)
            end = None if known is None else corner.get(known)
            return place(name, 0 if known is None or end is None else 1 if end == known.low else 2)
        reaching = {key: end for key, end in corner.items() if one.step in self._tree.ends[key][0]}
        if not reaching:
            return place(name, 0)
        if reaching in self._corners[name]:
            return place(name, 1 + self._corners[name].index(reaching))
        return f"({one.written(lambda part: self._written(part, corner, place)).removeprefix('=')})"

    @cached_property
    def _tree(self) -> Tree:
        return Tree({one.name: one.step for one in self.formulas})

    @cached_property
    def _corners(self) -> dict[str, tuple[Corner, Corner]]:
        nowhere: tuple[Corner, Corner] = ({}, {})
        return {one.name: self._tree.corners(one.name) if self._tree.range_of(one.name) else nowhere for one in self.formulas}

    def _ends(self, one: InputCell | FormulaCell) -> tuple[Any, Any]:
        if isinstance(one, FormulaCell):
            return self._tree.range_of(one.name) or (one.value, one.value)
        known = uncertain(one.quantity, one.given)
        return (one.value, one.value) if known is None else (known.low, known.high)

    def _add_input(self, name: str, step: Step) -> None:
        one = self._cells[name] = InputCell(name, step.name, step.value, step.source)
        self.inputs.append(one)

    def _add_formula(self, name: str, step: Step, inputs: Mapping[str, str]) -> None:
        one = self._cells[name] = FormulaCell(name, step.name, step.value, step, inputs)
        self.formulas.append(one)

    def _placed(self, quantity: str, key: Hashable, make: Callable[[str], None]) -> str:
        found = self._names.get((quantity, key))
        if found is None:
            count = self._taken[quantity] = self._taken.get(quantity, 0) + 1
            found = self._names[quantity, key] = quantity if count == 1 else f"{quantity}_{count}"
            make(found)
        return found


def _key(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, Sequence) or hasattr(value, "__len__") else value


def limits_of(quantity: str, value: Any) -> InputQuantity:
    """The allowed range of an input; a row of a table may be nothing, and so may a computed quantity that was given."""
    found = INPUTS.get(quantity, InputQuantity(quantity, unit_of(quantity), "", above=False))
    return found._replace(above=False) if hasattr(value, "__len__") else found


def cited(made: Formula) -> str:
    """Source and place of a formula; nothing where it is a definition."""
    return "" if made.source == "definition" else f"{made.source}, {made.where}".removesuffix(", ")


def meaning_of(quantity: str) -> str:
    """What a quantity is, in one line."""
    return FORMULAS[quantity].meaning if quantity in FORMULAS else INPUTS[quantity].meaning
