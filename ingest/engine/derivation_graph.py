"""Rows of quantities and their columns: tables of a site as parts of one derivation."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from ingest.engine.expression import Num
from ingest.engine.ranges import Tree
from ingest.engine.registry import INPUTS, Formula, Step, new_step, unit_of, value_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input

#: Results of one tree: each is a bit of a whole number.
MOST_RESULTS = 63

_inputs_of: Callable[[Step], tuple[Step, ...]] = itemgetter(Step._fields.index("inputs"))
_formula_of: Callable[[Step], Formula | None] = itemgetter(Step._fields.index("formula"))


class ArrayTree(Tree):
    """Results with all the steps that they rest on, as arrays: an entry for each step, or for each pair."""

    @cached_property
    def places(self) -> dict[Step, int]:
        """The position of each step."""
        return dict(zip(self.order, range(len(self.order)), strict=True))

    def placed(self, steps: Iterable[Step]) -> Any:
        """The positions of some steps."""
        import numpy

        return numpy.fromiter(map(self.places.__getitem__, steps), numpy.int64)

    @cached_property
    def formulas(self) -> list[Formula | None]:
        """The formula of each step; None where it is given, or was simulated from its inputs."""
        return [*map(_formula_of, self.order)]

    @cached_property
    def computed(self) -> Any:
        """Whether a formula yields each step."""
        import numpy

        return numpy.fromiter((formula is not None for formula in self.formulas), bool, len(self.order))

    @cached_property
    def numbers(self) -> Any:
        """The value of each step; not a number where it is a column or a text."""
        import numpy

        found = (value if isinstance(value, (float, int)) else math.nan for value in map(value_of, self.order))
        return numpy.fromiter(found, float, len(self.order))

    @cached_property
    def counts(self) -> Any:
        """How many inputs each step has."""
        import numpy

        return numpy.fromiter(map(len, map(_inputs_of, self.order)), numpy.int64, len(self.order))

    @cached_property
    def firsts(self) -> Any:
        """The first pair of each step."""
        return self.counts.cumsum() - self.counts

    @cached_property
    def parts(self) -> Any:
        """The input of each pair."""
        return self.placed(chain.from_iterable(map(_inputs_of, self.order)))

    @cached_property
    def users(self) -> Any:
        """The step of each pair."""
        import numpy

        return numpy.repeat(numpy.arange(len(self.order)), self.counts)

    @cached_property
    def levels(self) -> Any:
        """The longest way from each step to one that rests on none."""
        import numpy

        found, level = numpy.zeros(len(self.order), numpy.int16), 0
        while len(pairs := numpy.flatnonzero(found[self.parts] == level)):
            level += 1
            found[self.users[pairs]] = level
        return found

    @cached_property
    def pairs(self) -> list[Any]:
        """The pairs of each level, the lowest first."""
        return [*_split_by(self.levels[self.users])]

    @cached_property
    def marks(self) -> Any:
        """Which results rest on each step: bit n for the result n."""
        import numpy

        if len(self.steps) > MOST_RESULTS:
            raise ValueError(f"{len(self.steps)} results of one tree, expected at most {MOST_RESULTS}")
        found = numpy.zeros(len(self.order), numpy.int64)
        for place, step in enumerate(self.steps.values()):
            found[self.places[step]] |= 1 << place
        for own in reversed(self.pairs):
            numpy.bitwise_or.at(found, self.parts[own], found[self.users[own]])
        return found

    def resting_on(self, positions: Any) -> Any:
        """Whether each step is one of these or is computed from one."""
        import numpy

        found = numpy.zeros(len(self.order), bool)
        found[positions] = True
        for own in self.pairs if len(positions) else ():
            found[self.users[own[found[self.parts[own]] & self.computed[self.users[own]]]]] = True
        return found

    @cached_property
    def moving(self) -> Any:
        """The positions of all steps that are computed from an input with a range."""
        import numpy

        inputs = self.placed(step for steps in self.uncertain.values() for step in steps)
        found = self.resting_on(inputs)
        found[inputs] = False
        return numpy.flatnonzero(found)

    def inputs_of(self, positions: Any) -> Any:
        """The inputs of steps of as many inputs: a row for each step, a column for each input."""
        import numpy

        return self.parts[self.firsts[positions][:, None] + numpy.arange(self.counts[positions[0]])]

    def alike(self, positions: Any) -> Iterator[tuple[Callable[..., Any], Any]]:
        """By level, the lowest first, each formula of computed steps with the indices of its steps among the positions."""
        import numpy

        numbered: dict[Any, int] = {}
        kinds = numpy.full(len(self.order), -1)
        kinds[positions] = 0
        there = numpy.flatnonzero(kinds == 0)
        formulas = [one.function for one in map(self.formulas.__getitem__, there.tolist()) if one is not None]
        kinds[there] = [numbered.setdefault(one, len(numbered)) for one in formulas]
        functions = list(numbered)
        for own in _split_by(self.levels[positions] * len(numbered) + kinds[positions]):
            yield functions[kinds[positions[own[0]]]], own


class Uses:
    """Where steps are used, among some pairs in any order."""

    def __init__(self, tree: ArrayTree, pairs: Any) -> None:
        import numpy

        self._pairs = pairs[numpy.argsort(tree.parts[pairs], kind="stable")]
        self._firsts = numpy.searchsorted(tree.parts[self._pairs], numpy.arange(len(tree.order) + 1))

    def of(self, positions: Any) -> tuple[Any, Any]:
        """The pairs whose input is one of these steps: the index of the step, and the pair."""
        import numpy

        counts = self._firsts[positions + 1] - self._firsts[positions]
        shifts = numpy.repeat(self._firsts[positions] + counts - counts.cumsum(), counts)
        return numpy.repeat(numpy.arange(len(positions)), counts), self._pairs[numpy.arange(counts.sum()) + shifts]


def _split_by(keys: Any) -> Iterator[Any]:
    """The indices of equal keys, the smallest key first."""
    import numpy

    order = numpy.argsort(keys, kind="stable")
    return iter(numpy.split(order, numpy.flatnonzero(numpy.diff(keys[order])) + 1) if len(order) else ())


#: the place in a formula that marks a column
COLUMN = "column"


@dataclass(frozen=True)
class QuantityRow:
    """One row of a table: a job, data set, cluster or year."""

    name: str  # of the job, data set, cluster or year
    words: Mapping[str, Any]  # the model, the cluster, the mode and other texts
    known: Quantities  # its quantities
    checkpoints: Quantities | None = None  # the quantities of its checkpoints, where the row is a job that saves any
    absent: set[str] = field(default_factory=set)  # requested quantities that cannot be computed

    def step(self, name: str) -> Step | None:
        """A quantity of the row and how it came about; None where it cannot be computed."""
        known = self.known.steps.get(name)
        if known is not None or name in self.absent:
            return known
        found = self.known.find(name)
        if found is None:
            self.absent.add(name)
        return found

    def find_all(self, names: Iterable[str]) -> None:
        """Derive what the row has of some quantities; the others are absent."""
        known, absent = self.known.steps, self.absent
        asked = tuple([name for name in names if name not in known and name not in absent])
        if asked:
            found = self.known.find_all(asked)
            absent.update([name for name in asked if name not in found])

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """The row as plain values in base units; unknown ones are left out."""
        found = ((name, self.step(name)) for name in names)
        return {"name": self.name, **self.words, **{name: step.value for name, step in found if step is not None}}


def gather(*entries: Num) -> list[Num]:
    """A column from its entries."""
    return list(entries)


def column(name: str, entries: tuple[Step, ...], owner: str = "") -> Step:
    """The column `QUANTITY_of_TABLE`: one entry for each row whose quantity is known."""
    made = Formula(name, gather, tuple(entry.name for entry in entries), unit_of(name), "definition", COLUMN)
    return Step(name, [entry.value for entry in entries], made, entries, None, owner)


def is_column(step: Step) -> bool:
    """Whether a step gathers a column instead of computing a formula."""
    return step.formula is not None and step.formula.function is gather


def replaced(step: Step, by: Mapping[str, Step], done: dict[Step, Step], owner: str = "", own: Container[str] = ()) -> Step:
    """Copy a derivation with other steps for given quantities, and the owner of its own; `done` holds the copies so far."""
    if step in done:
        return done[step]
    if step.formula is None:
        copy = by.get(step.name, step)
        inputs = copy.inputs
    else:
        copy = step
        inputs = tuple([done.get(part) or replaced(part, by, done, owner, own) for part in step.inputs])
    whose = owner if copy.name in own else copy.owner
    if whose != copy.owner or inputs != copy.inputs:
        copy = new_step((copy.name, copy.value, copy.formula, inputs, copy.source, whose))
    done[step] = copy
    return copy


def columns_of(table: str, rows: Sequence[QuantityRow], owner: str = "") -> dict[str, Step]:
    """Every column of a table that a formula needs, by name."""
    columns = _needed(f"_of_{table}")
    for row in rows:
        row.find_all(columns.values())
    known = [row.known.steps for row in rows]
    return {
        name: column(name, tuple([steps[quantity] for steps in known if quantity in steps]), owner)
        for name, quantity in columns.items()
    }


@cache
def _needed(ending: str) -> dict[str, str]:
    """The columns of a table, which end alike, each with the quantity of its rows; each year of a site asks for them."""
    return {name: name.removesuffix(ending) for name in INPUTS if name.endswith(ending)}


class Below(NamedTuple):
    """What a step rests on."""

    columns: list[Step]  # the columns, the topmost first
    inputs: frozenset[str]  # the names of the wanted inputs


def all_below(tree: ArrayTree, wanted: Callable[[Input], bool]) -> dict[str, Below]:
    """What each result of a tree rests on, with the names of wanted inputs; one walk for all."""
    import numpy

    marks = tree.marks
    columns = [
        (tree.order[place], int(marks[place]))
        for place, formula in enumerate(tree.formulas)
        if formula is not None and formula.function is gather
    ]
    named: dict[str, int] = {}
    for place in numpy.flatnonzero(~tree.computed).tolist():
        step = tree.order[place]
        if step.source is not None and wanted(step.source):
            named[step.name] = named.get(step.name, 0) | int(marks[place])
    columns.reverse()
    return {
        result: Below(
            [step for step, mark in columns if mark >> place & 1],
            frozenset(name for name, mark in named.items() if mark >> place & 1),
        )
        for place, result in enumerate(tree.steps)
    }


def nearest_below(root: Step, *names: Sequence[str]) -> tuple[Step, ...]:
    """Of each group of names the quantity that a step rests on, the nearest to it.

    Raises KeyError: it rests on none of a group.
    """
    found: dict[Sequence[str], Step] = {}
    level, seen = [root], {root}
    while level and len(found) < len(names):
        for step in level:
            for group in names:
                if step.name in group:
                    found.setdefault(group, step)
        level = [part for step in level for part in step.inputs if part not in seen and not seen.add(part)]  # type: ignore[func-returns-value]
    return tuple(found[group] for group in names)
