"""A tree of results whose walks are NumPy's: that of a site has a hundred thousand steps.

A step is its position in the order of the tree, in which all that it rests on comes before it. A pair is a step and one of its
inputs; pairs are sorted by the level of the step, so that what follows from inputs is found for a level at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

from ingest.engine.ranges import Tree
from ingest.engine.registry import Formula, Step, value_of

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
        """Computed steps by level and formula, the lowest level first.

        Returns:
            Each formula with the indices of its steps among the positions.
        """
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
    """Where steps are used, among some pairs.

    Args:
        tree: of the steps.
        pairs: in any order.
    """

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
