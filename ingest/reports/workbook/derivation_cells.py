"""Derivations as spreadsheet cells: inputs become editable cells, computed quantities live formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import Any

from ingest.engine.derivation_graph import is_column
from ingest.engine.expression import cell, prose
from ingest.engine.ranges import Corner, Tree, uncertain
from ingest.engine.registry import FORMULAS, INPUTS, Formula, InputQuantity, Step, in_order, unit_of
from ingest.reports.labels import unit_word
from ingest.reports.workbook.sheet import layouts, style_of

#: The first row below the heading, as sheets count.
FIRST = 2
#: Text between the first of several rows and the number of further ones.
ALSO = " and "
#: Rows up to which each has its own cells and checks for its default values.
MOST_ALONE = 50
#: Whose cells those are that concern several rows.
SITE = "site"
#: Groups of the site file whose values belong to no row.
SHARED = ("storage", "reserve", "outage", "test")


class Cells:
    """The cells of one workbook of a kind: steps that share a cell, and the cell of each.

    Shared are the steps of each cell, in the order of the cells on their sheets; the first one stands for all.
    """

    def __init__(self, shared: Iterable[Sequence[Step]], kind: str) -> None:
        #: the steps on each sheet, in order; a step comes after its inputs
        self.inputs: list[Step] = []
        self.formulas: list[Step] = []
        self.columns: list[Step] = []
        self.addresses: dict[Step, str] = {}  # the cell or the range of each step, from any sheet
        self.names: dict[Step, str] = {}  # the defined names of cells, by the step on the sheet
        self.layouts, self._next = layouts(kind), dict.fromkeys(layouts(kind), FIRST)
        self._letters = {name: one.letter("Value") for name, one in self.layouts.items() if "Value" in one.heads}
        for steps in shared:
            place = self._reserve(steps[0])
            self.addresses |= dict.fromkeys(steps, place)

    def place(self, step: Step) -> str:
        """How formulas call the cell of a step."""
        return self.addresses[step]

    def formula(self, step: Step, place: Callable[[Step], str] | None = None) -> str:
        """The live formula of a computed step; `place` tells how it calls the cells of its inputs."""
        assert step.formula is not None
        return template(step.formula).format(*map(place or self.place, step.inputs))

    def _reserve(self, step: Step) -> str:
        """Give a step the next cell, or range, of its sheet."""
        if step.formula is None:
            sheet, steps, rows = "Inputs", self.inputs, size_of(step)
        elif not is_column(step):
            sheet, steps, rows = "Calculation", self.formulas, 1
        elif step.inputs:
            sheet, steps, rows = "Columns", self.columns, len(step.inputs)
        else:
            return "0"  # a column without entries is nothing: SUM(0) and MAX(0)
        steps.append(step)
        letter, first = self._letters[sheet], self._next[sheet]
        self._next[sheet] += rows
        start = f"{sheet}!${letter}${first}"
        return f"{start}:${letter}${first + rows - 1}" if rows > 1 or hasattr(step.value, "__len__") else start


class NamedCells(Cells):
    """The cells of derivations without owners: equal steps share a cell, each cell has a name, results have ranges.

    A second value of a quantity gets a number behind its name. Ranges are those of all derivations, the roots.
    """

    def __init__(self, roots: Iterable[Step]) -> None:
        #: the step that stands for all that share its cell
        self.firsts: dict[Step, Step] = {}
        alike: dict[Hashable, list[Step]] = {}
        for step in in_order(roots):
            steps = alike.setdefault(self._same(step), [])
            steps.append(step)
            self.firsts[step] = steps[0]
        super().__init__(alike.values(), "sizing")
        counts: dict[str, int] = {}
        for first, *_ in alike.values():
            number = counts[first.name] = counts.get(first.name, 0) + 1
            self.names[first] = first.name if number == 1 else f"{first.name}_{number}"

    def place(self, step: Step) -> str:
        """The name of the cell of a step."""
        return self.names[self.firsts[step]]

    @cached_property
    def ends(self) -> dict[Step, tuple[Any, Any]]:
        """Low and high end of each cell."""
        found: dict[Step, tuple[Any, Any]] = {}
        for step, name in self.names.items():
            if step.formula is not None:
                spread = self._tree.range_of(name)
            else:
                known = uncertain(step.name, step.source)
                spread = None if known is None else (known.low, known.high)
            found[step] = spread or (step.value, step.value)
        return found

    def end_formula(self, step: Step, side: int) -> str:
        """The formula of the low (0) or high (1) end of a cell: its own, with each input at the end that leads there.

        An input that no cell holds at that end is written out down to cells that do.
        """
        corner = self._corners[self.names[step]][side]
        return self.formula(step, lambda part: self._at(self.firsts[part], corner))

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
        return step.name, step.formula.name, step.formula.needs, tuple(self.firsts[part] for part in step.inputs)

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
        return f"({self.formula(step, lambda part: self._at(self.firsts[part], corner)).removeprefix('=')})"

    @cached_property
    def _tree(self) -> Tree:
        return Tree({self.names[step]: step for step in self.formulas})

    @cached_property
    def _corners(self) -> dict[str, tuple[Corner, Corner]]:
        nowhere: tuple[Corner, Corner] = ({}, {})
        tree = self._tree
        return {name: tree.corners(name) if tree.range_of(name) else nowhere for name in tree.steps}


class PlanCells(Cells):
    """The cells of a site's workbook; low and high ends are draws, not cells.

    These inputs share a cell: a key of the site file, however often it is used; a fact of the catalogs, whoever needs it; the
    default values of one row; and the equal default values of more rows than a reader would look at. Each cell of inputs has
    a name: its key in the site file, or its owner and its quantity.
    """

    def __init__(self, roots: Iterable[Step]) -> None:
        placed = in_order(roots)
        self._labels = labels_of(placed)
        inputs = self._shared([step for step in placed if step.formula is None])
        #: all steps of each cell of inputs, by the step that stands for them
        self.sharing = {step: (step, *others) for step, *others in inputs}
        super().__init__([*inputs, *([step] for step in placed if step.formula is not None)], "model")
        taken: set[str] = set()
        for step, *others in inputs:
            owner, *further = dict.fromkeys(self.owner(one) for one in (step, *others))
            self._labels[step] = f"{owner}{ALSO}{len(further)} more" if further else owner
            words = self.key(step) or f"{self.owner(step).partition(ALSO)[0]}_{step.name}"
            plain = "in_" + re.sub(r"\W", "_", words, flags=re.ASCII)[:200]
            numbered = (f"{plain}_{number}" for number in count(2))
            self.names[step] = next(name for name in chain([plain], numbered) if name.lower() not in taken)
            taken.add(self.names[step].lower())

    def owner(self, step: Step) -> str:
        """Whose row a step belongs to; `site` for what concerns all of it or is shared."""
        group, _, rest = self.key(step).partition(".")
        return group if rest and group in SHARED else self._labels.get(step, SITE)

    def key(self, step: Step) -> str:
        """The key of the site file of an input; empty where it has none."""
        item = step.source
        return item.where if item is not None and item.origin == "user" else ""

    def _shared(self, inputs: Sequence[Step]) -> list[list[Step]]:
        """Inputs by cell: those of the site file first, grouped by their keys; then those of catalogs and definitions."""
        takers: dict[Hashable, set[str]] = {}
        for step in inputs:
            takers.setdefault(self._same(step), set()).add(self._labels.get(step, ""))
        found: dict[Hashable, list[Step]] = {}
        for step in inputs:
            cell, item, label = self._same(step), step.source, self._labels.get(step, "")
            if item is not None:
                fact = item.origin == "catalog" and bool(item.source or item.parts)
            else:  # a constant, such as the length of a day
                fact = step.name in INPUTS and INPUTS[step.name].low == INPUTS[step.name].high
            if not fact and len(takers[cell]) <= MOST_ALONE:
                # Equal definitions of one row share a cell; what was given has its own.
                cell = (label, cell) if label and item is None else step
            found.setdefault(self.key(step) or cell, []).append(step)
        groups = {cell: self.key(steps[0]).partition(".")[0] for cell, steps in found.items()}
        rank = {group: place if group else len(groups) for place, group in enumerate(dict.fromkeys(groups.values()))}
        return [found[cell] for cell in sorted(found, key=lambda cell: rank[groups[cell]])]

    def _same(self, step: Step) -> Hashable:
        """A key that is equal for equal inputs; the step itself where a user gave it, or many values."""
        item = step.source
        alone = hasattr(step.value, "__len__") or (item is not None and item.origin == "user")
        return step if alone else (step.name, step.value, item)


def labels_of(placed: Sequence[Step]) -> dict[Step, str]:
    """The owner of each step: its own, else the only one of what it rests on, which is placed before it, or of its users."""
    labels = {step: step.owner for step in placed if step.owner}
    for step in placed:
        if step not in labels and not is_column(step):
            below = {labels[part] for part in step.inputs if part in labels}
            if len(below) == 1 and not any(map(is_column, step.inputs)):
                labels[step] = below.pop()
    # The only owner of the users of a step; empty where they are of several.
    users: dict[Step, str] = {}
    for step in reversed(placed):
        label = labels.get(step, "")
        if not label and (label := users.get(step, "")):
            labels[step] = label
        for part in step.inputs:
            if users.setdefault(part, label) != label:
                users[part] = ""
    return labels


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


@lru_cache(maxsize=4096)
def line_of(quantity: str, made: Formula) -> tuple[str, str, str, str]:
    """Style, unit, formula in words and source of every step of a quantity: a site has few formulas and many cells."""
    unit, words = unit_of(quantity), prose(made.tree())
    cited = "" if made.source == "definition" else f"{made.source}, {made.where}".removesuffix(", ")
    return style_of(quantity, unit), unit_word(quantity, unit), words, cited


def limits_of(step: Step) -> InputQuantity:
    """The allowed range of an input; a row of a table may be nothing, and so may a computed quantity that was given."""
    found = INPUTS.get(step.name, InputQuantity(step.name, unit_of(step.name), "", above=False))
    return found._replace(above=False) if hasattr(step.value, "__len__") else found


@lru_cache(maxsize=4096)
def meaning_of(quantity: str) -> str:
    """What a quantity is, in one line."""
    return FORMULAS[quantity].meaning if quantity in FORMULAS else INPUTS[quantity].meaning
