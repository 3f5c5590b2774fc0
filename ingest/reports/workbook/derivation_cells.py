"""Derivations as spreadsheet cells: inputs become editable cells, computed quantities live formulas."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import is_column
from ingest.engine.expression import cell, prose
from ingest.engine.ranges import Corner, Tree, uncertain
from ingest.engine.registry import FORMULAS, INPUTS, Formula, InputQuantity, Step, in_order, unit_of
from ingest.reports.labels import unit_word
from ingest.reports.workbook.sheet import style_of
from ingest.reports.workbook.styles import layouts

#: The first row below the heading, as sheets count.
FIRST = 2


class Cells:
    """The cells of one workbook: steps that share a cell, and the cell of each.

    Args:
        shared: the steps of each cell, in the order of the cells on their sheets; the first one stands for all.
        kind: of the workbook, which tells the columns of its sheets.

    Attributes:
        inputs, formulas, columns: the steps on each sheet, in order; a step comes after its inputs.
        addresses: the cell or the range of each step, from any sheet.
        names: the defined names of cells, by the step on the sheet.
    """

    def __init__(self, shared: Iterable[Sequence[Step]], kind: str) -> None:
        self.inputs: list[Step] = []
        self.formulas: list[Step] = []
        self.columns: list[Step] = []
        self.addresses: dict[Step, str] = {}
        self.names: dict[Step, str] = {}
        self.layouts, self._next = layouts(kind), dict.fromkeys(layouts(kind), FIRST)
        self._letters = {name: one.letter("Value") for name, one in self.layouts.items() if "Value" in one.heads}
        for steps in shared:
            place = self._reserve(steps[0])
            for step in steps:
                self.addresses[step] = place

    def place(self, step: Step) -> str:
        """How formulas call the cell of a step."""
        return self.addresses[step]

    def formula(self, step: Step, place: Callable[[Step], str] | None = None) -> str:
        """The live formula of a computed step; `place` tells how it calls the cells of its inputs."""
        assert step.formula is not None
        return template(step.formula).format(*map(place or self.place, step.inputs))

    def _reserve(self, step: Step) -> str:
        if step.formula is None:
            return self._rows("Inputs", self.inputs, step, size_of(step))
        if not is_column(step):
            return self._rows("Calculation", self.formulas, step, 1)
        # A column without entries is nothing: SUM(0) and MAX(0).
        return self._rows("Columns", self.columns, step, len(step.inputs)) if step.inputs else "0"

    def _rows(self, sheet: str, steps: list[Step], step: Step, rows: int) -> str:
        steps.append(step)
        letter, first = self._letters[sheet], self._next[sheet]
        self._next[sheet] += rows
        start = f"{sheet}!${letter}${first}"
        return f"{start}:${letter}${first + rows - 1}" if rows > 1 or hasattr(step.value, "__len__") else start


class NamedCells(Cells):
    """The cells of derivations without owners: equal steps share a cell, each cell has a name, results have ranges.

    A second value of a quantity gets a number behind its name.

    Args:
        roots: all derivations: ranges are those of all of them.
    """

    def __init__(self, roots: Iterable[Step]) -> None:
        self._firsts: dict[Step, Step] = {}
        alike: dict[Hashable, list[Step]] = {}
        for step in in_order(roots):
            steps = alike.setdefault(self._same(step), [])
            steps.append(step)
            self._firsts[step] = steps[0]
        super().__init__(alike.values(), "sizing")
        counts: dict[str, int] = {}
        for first, *_ in alike.values():
            number = counts[first.name] = counts.get(first.name, 0) + 1
            self.names[first] = first.name if number == 1 else f"{first.name}_{number}"

    def first(self, step: Step) -> Step:
        """The step that stands for all that share its cell."""
        return self._firsts[step]

    def place(self, step: Step) -> str:
        """The name of the cell of a step."""
        return self.names[self._firsts[step]]

    @cached_property
    def ends(self) -> dict[Step, tuple[Any, Any]]:
        """Low and high end of each cell."""
        return {step: self._ends(step) for step in self.names}

    def end_formula(self, step: Step, side: int) -> str:
        """The formula of the low (0) or high (1) end of a cell: its own, with each input at the end that leads there.

        An input that no cell holds at that end is written out down to cells that do.
        """
        corner = self._corners[self.names[step]][side]
        return self.formula(step, lambda part: self._at(self._firsts[part], corner))

    def end_place(self, step: Step, side: int) -> str:
        """The cell of the low (0) or the high (1) end of a step; of a column of inputs, the column."""
        address = self.addresses[step]
        if ":" in address:
            return address
        layout = self.layouts["Inputs" if step.formula is None else "Calculation"]
        return address.replace(f"!${layout.letter('Value')}$", f"!${layout.letter(('Low', 'High')[side])}$")

    def _same(self, step: Step) -> Hashable:
        """A key that is equal for equal steps."""
        if step.formula is None:
            return step.name, tuple(step.value) if hasattr(step.value, "__len__") else step.value
        return step.name, step.formula.name, step.formula.needs, tuple(self._firsts[part] for part in step.inputs)

    def _at(self, step: Step, corner: Corner) -> str:
        """The cell of a step where some inputs are at their ends, or its formula where no cell holds that."""
        if step.formula is None:
            known = uncertain(step.name, step.source)
            end = None if known is None else corner.get(known)
            return self.place(step) if known is None or end is None else self.end_place(step, int(end != known.low))
        reaching = {key: end for key, end in corner.items() if step in self._tree.ends[key][0]}
        if not reaching:
            return self.place(step)
        corners = self._corners[self.names[step]]
        if reaching in corners:
            return self.end_place(step, corners.index(reaching))
        return f"({self.formula(step, lambda part: self._at(self._firsts[part], corner)).removeprefix('=')})"

    @cached_property
    def _tree(self) -> Tree:
        return Tree({self.names[step]: step for step in self.formulas})

    @cached_property
    def _corners(self) -> dict[str, tuple[Corner, Corner]]:
        nowhere: tuple[Corner, Corner] = ({}, {})
        tree = self._tree
        return {name: tree.corners(name) if tree.range_of(name) else nowhere for name in tree.steps}

    def _ends(self, step: Step) -> tuple[Any, Any]:
        if step.formula is not None:
            return self._tree.range_of(self.names[step]) or (step.value, step.value)
        known = uncertain(step.name, step.source)
        return (step.value, step.value) if known is None else (known.low, known.high)


def size_of(step: Step) -> int:
    """How many cells a given quantity takes."""
    return len(step.value) if hasattr(step.value, "__len__") else 1


def values_of(step: Step) -> list[float]:
    """The values of a given quantity."""
    return [float(value) for value in step.value] if hasattr(step.value, "__len__") else [float(step.value)]


@lru_cache(maxsize=4096)
def template(made: Formula) -> str:
    """The live formula with the places of quantities where their cells go: a site has few formulas and many cells."""
    return cell(made.tree(), lambda name: f"{{{made.needs.index(name)}}}")


class FormulaLine(NamedTuple):
    """How the line of a computed quantity shows its value, and what it says about it."""

    style: str
    unit: str
    words: str
    cited: str


@lru_cache(maxsize=4096)
def line_of(quantity: str, made: Formula) -> FormulaLine:
    """The line of every step of a quantity: a site has few formulas and many cells."""
    unit, words = unit_of(quantity), prose(made.tree())
    cited = "" if made.source == "definition" else f"{made.source}, {made.where}".removesuffix(", ")
    return FormulaLine(style_of(quantity, unit), unit_word(quantity, unit), words, cited)


def limits_of(step: Step) -> InputQuantity:
    """The allowed range of an input; a row of a table may be nothing, and so may a computed quantity that was given."""
    found = INPUTS.get(step.name, InputQuantity(step.name, unit_of(step.name), "", above=False))
    return found._replace(above=False) if hasattr(step.value, "__len__") else found


@lru_cache(maxsize=4096)
def meaning_of(quantity: str) -> str:
    """What a quantity is, in one line."""
    return FORMULAS[quantity].meaning if quantity in FORMULAS else INPUTS[quantity].meaning
