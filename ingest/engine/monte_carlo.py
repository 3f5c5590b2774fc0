"""Percentiles of the requirements of a site: the tree of steps as arrays, run again on seeded draws of its uncertain inputs.

Each quantity with a range is drawn from a split log-normal distribution: its median is the typical value, its P10 the low
end and its P90 the high end. Draws are independent; one catalog value is one draw, wherever it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy

from ingest.engine.derivation_graph import gather
from ingest.engine.ranges import Tree, Uncertain
from ingest.engine.registry import INPUTS, Formula, Step, value_of
from ingest.engine.value import Input

#: Results of one tree: each is a bit of a whole number.
MOST_RESULTS = 63

_inputs_of: Callable[[Step], tuple[Step, ...]] = itemgetter(Step._fields.index("inputs"))
_formula_of: Callable[[Step], Formula | None] = itemgetter(Step._fields.index("formula"))


#: P90 of the standard normal distribution.
Z90 = 1.2815515655446004
#: Draws unless the user sets them; fewer for a site of so many quantities that it would take seconds.
USUAL_SAMPLES = 10_000
FEWEST_SAMPLES = 1_000
MOST_NUMBERS = 6_000_000
#: Numbers held at a time: tables of twice the size leave the memory that the allocator keeps, which costs a third more time.
CHUNK_NUMBERS = 1_500_000
#: Draws held at a time at least: in chunks of fewer, the calls for each step of a large site cost more than the numbers.
FEWEST_DRAWS = 100
#: Steps of one formula that are worth a table of their own.
FEWEST_TOGETHER = 8
#: Share of a requirement below which an input has no effect on it: the noise of differences between large numbers
SMALLEST_EFFECT = 1e-6


class ArrayTree(Tree):
    """Results with all the steps that they rest on, as arrays: an entry for each step, or for each pair."""

    @cached_property
    def places(self) -> dict[Step, int]:
        """The position of each step."""
        return dict(zip(self.order, range(len(self.order)), strict=True))

    def placed(self, steps: Iterable[Step]) -> Any:
        """The positions of some steps."""
        return numpy.fromiter(map(self.places.__getitem__, steps), numpy.int64)

    @cached_property
    def formulas(self) -> list[Formula | None]:
        """The formula of each step; None where it is given, or was simulated from its inputs."""
        return [*map(_formula_of, self.order)]

    @cached_property
    def computed(self) -> Any:
        """Whether a formula yields each step."""
        return numpy.fromiter((formula is not None for formula in self.formulas), bool, len(self.order))

    @cached_property
    def numbers(self) -> Any:
        """The value of each step; not a number where it is a column or a text."""
        found = (value if isinstance(value, (float, int)) else math.nan for value in map(value_of, self.order))
        return numpy.fromiter(found, float, len(self.order))

    @cached_property
    def counts(self) -> Any:
        """How many inputs each step has."""
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
        return numpy.repeat(numpy.arange(len(self.order)), self.counts)

    @cached_property
    def levels(self) -> Any:
        """The longest way from each step to one that rests on none."""
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
        found = numpy.zeros(len(self.order), bool)
        found[positions] = True
        for own in self.pairs if len(positions) else ():
            found[self.users[own[found[self.parts[own]] & self.computed[self.users[own]]]]] = True
        return found

    @cached_property
    def moving(self) -> Any:
        """The positions of all steps that are computed from an input with a range."""
        inputs = self.placed(step for steps in self.uncertain.values() for step in steps)
        found = self.resting_on(inputs)
        found[inputs] = False
        return numpy.flatnonzero(found)

    def inputs_of(self, positions: Any) -> Any:
        """The inputs of steps of as many inputs: a row for each step, a column for each input."""
        return self.parts[self.firsts[positions][:, None] + numpy.arange(self.counts[positions[0]])]

    def alike(self, positions: Any) -> Iterator[tuple[Callable[..., Any], Any]]:
        """By level, the lowest first, each formula of computed steps with the indices of its steps among the positions."""
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
        self._pairs = pairs[numpy.argsort(tree.parts[pairs], kind="stable")]
        self._firsts = numpy.searchsorted(tree.parts[self._pairs], numpy.arange(len(tree.order) + 1))

    def of(self, positions: Any) -> tuple[Any, Any]:
        """The pairs whose input is one of these steps: the index of the step, and the pair."""
        counts = self._firsts[positions + 1] - self._firsts[positions]
        shifts = numpy.repeat(self._firsts[positions] + counts - counts.cumsum(), counts)
        return numpy.repeat(numpy.arange(len(positions)), counts), self._pairs[numpy.arange(counts.sum()) + shifts]


def _split_by(keys: Any) -> Iterator[Any]:
    """The indices of equal keys, the smallest key first."""
    order = numpy.argsort(keys, kind="stable")
    return iter(numpy.split(order, numpy.flatnonzero(numpy.diff(keys[order])) + 1) if len(order) else ())


class Below(NamedTuple):
    """What a step rests on."""

    columns: list[Step]  # the columns, the topmost first
    inputs: frozenset[str]  # the names of the wanted inputs


def all_below(tree: ArrayTree, wanted: Callable[[Input], bool]) -> dict[str, Below]:
    """What each result of a tree rests on, with the names of wanted inputs; one walk for all."""
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


class Effect(NamedTuple):
    """The effect of one quantity on a requirement: its value at the low and the high end, all others typical."""

    name: str  # the quantity
    rows: tuple[str, ...]  # the jobs and data sets that it belongs to
    #: value, low, high: of the quantity
    value: float
    low: float
    high: float
    #: at_low, at_high: of the requirement
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """How far the requirement moves."""
        return abs(self.at_high - self.at_low)


def samples_for(tree: ArrayTree, requested: int | None) -> int:
    """The number of draws: as requested, else limited to about a second."""
    if requested is not None:
        return requested
    size = len(tree.moving)
    return min(USUAL_SAMPLES, max(FEWEST_SAMPLES, MOST_NUMBERS // max(size, 1)))


def spread(tree: ArrayTree, samples: int, seed: int) -> dict[str, tuple[float, float]]:
    """P10 and P90 of each requirement that a range reaches.

    Equal seeds give equal ends, whatever the order of the jobs.
    """
    if not samples or not tree.uncertain:
        return {}
    with numpy.errstate(all="ignore"):
        found = _run(tree, {one: draw(one, samples, seed) for one in tree.uncertain}, samples)
        ends = {name: numpy.percentile(values, (10, 90)) for name, values in found.items()}
    # Where draws overflow there is no high end: the typical value has no range.
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high and numpy.isfinite(high)}


def _run(tree: ArrayTree, drawn: Mapping[Uncertain, Any], samples: int) -> dict[str, Any]:
    """The values of every requirement that a range reaches, over all draws; in chunks, so that memory stays small."""
    moving = set(tree.moving.tolist())
    reached = {name: place for name, step in tree.steps.items() if (place := tree.places[step]) in moving}
    chunk = max(FEWEST_DRAWS, CHUNK_NUMBERS // max(len(moving), 1))
    found: dict[str, list[Any]] = {name: [] for name in reached}
    batches, rows = _batches(tree, order=list(drawn))
    for start in range(0, samples, chunk):
        draws = Draws(tree, rows, [drawn[one][start : start + chunk] for one in drawn])
        for batch in batches:
            draws.tables.append(draws.of_batch(batch))
        for name, place in reached.items():
            found[name].append(numpy.atleast_1d(draws.of(place)))
    return {name: numpy.concatenate(parts) for name, parts in found.items()}


#: Where the draws of a step are, as one number: the table, those of inputs counted from the end, times this, and the row.
ROWS = 1 << 32
#: The place of the draws of a step that no draw changes.
FIXED = -(1 << 62)


class Rows(NamedTuple):
    """Rows of an argument whose draws are in one table."""

    table: int | None  # that their place names; None for constants
    rows: Any  # of the argument
    taken: Any  # the rows of the table, as a slice where they follow each other; or a column of constants


class Argument(NamedTuple):
    """One argument of a formula for all steps of a batch."""

    shared: int | None = None  # the position of the step of all; None where they have several
    constant: Any = None  # the value of all where no draw changes any: a number, or a column of numbers
    rows: Sequence[Rows] = ()  # where the draws of each are: in one table, or in several


class Batch(NamedTuple):
    """Steps of one formula that do not rest on each other: one call computes them for all draws."""

    function: Callable[..., Any]  # the formula
    positions: Any  # of the steps
    arguments: Sequence[Argument] = ()  # of the formula; empty where each step is computed by itself


def _batches(tree: ArrayTree, order: Sequence[Uncertain]) -> tuple[list[Batch], Any]:
    """The moving steps in an order in which each comes after what it rests on, and where the draws of each step are."""
    places = numpy.full(len(tree.order), FIXED)
    for table, one in enumerate(order, -len(order)):
        places[tree.placed(tree.uncertain[one])] = table * ROWS
    found: list[Batch] = []
    for function, own in tree.alike(tree.moving):
        positions = tree.moving[own]
        batch = Batch(function, positions, _arguments(tree, function, positions, places))
        places[positions] = len(found) * ROWS + numpy.arange(len(positions))
        found.append(batch)
    return found, places


def _arguments(tree: ArrayTree, function: Callable[..., Any], positions: Any, places: Any) -> list[Argument]:
    """The arguments of a batch, or one for each of its columns; none where a value is no number."""
    if function is gather:
        parts = [tree.inputs_of(positions[row : row + 1])[0] for row in range(len(positions))]
    elif len(positions) < FEWEST_TOGETHER or numpy.isnan(tree.numbers[positions]).any():
        return []
    else:
        parts = [*tree.inputs_of(positions).T]
    if any(numpy.isnan(tree.numbers[one]).any() for one in parts):
        return []
    found: list[Argument] = []
    for part in parts:
        where = places[part]
        if (where == where[0]).all():
            values = tree.numbers[part]
            constant = tree.order[part[0]].value if (values == values[0]).all() else values[:, None]
            found.append(Argument(int(part[0])) if where[0] != FIXED else Argument(None, constant))
            continue
        tables, rows = where // ROWS, list[Rows]()
        for table in dict.fromkeys(tables.tolist()):
            own = numpy.flatnonzero(tables == table)
            if table == FIXED // ROWS:
                rows.append(Rows(None, _sliced(own), tree.numbers[part[own]][:, None]))
            else:
                rows.append(Rows(table, _sliced(own), _sliced(where[own] % ROWS)))
        found.append(Argument(rows=rows))
    return found


def _sliced(rows: Any) -> Any:
    """Rows as a slice where each follows the last: it is read without a copy."""
    start, count = int(rows[0]), len(rows)
    return slice(start, start + count) if (rows[1:] - rows[:-1] == 1).all() else rows


class Column:
    """The draws of the entries of a column, a row for each: what a formula sums or takes the largest of."""

    ndim = 2

    def __init__(self, rows: Any, entries: int) -> None:
        self.rows = rows if rows.ndim == 2 else rows[None] if entries == 1 else numpy.tile(rows, (entries, 1))

    def sum(self) -> Any:
        """The sum of each draw."""
        return self.rows.sum(axis=0)

    def max(self) -> Any:
        """The largest of each draw, at least 0."""
        return self.rows.max(axis=0, initial=0)


class Draws:
    """The values of all steps for some draws of the uncertain inputs; infinite where no number holds one.

    `places` tells where the draws of each step of the tree are.
    """

    def __init__(self, tree: ArrayTree, places: Any, inputs: Sequence[Any]) -> None:
        self.tree, self.places, self.inputs = tree, places, inputs
        self.tables: list[Any] = []

    def of(self, position: int) -> Any:
        """The values of a step."""
        place = int(self.places[position])
        if place == FIXED:
            return self.tree.order[position].value
        table, row = divmod(place, ROWS)
        return self.inputs[table] if table < 0 else self.tables[table][row]

    def of_batch(self, batch: Batch) -> Any:
        """The values of the steps of a batch, a row for each."""
        function, positions, arguments = batch
        if function is gather and arguments:
            counts = self.tree.counts[positions].tolist()
            return [Column(self._rows(one, count), count) for one, count in zip(arguments, counts, strict=True)]
        together: Any = _called(function, [self._rows(one, len(positions)) for one in arguments]) if arguments else math.inf
        if getattr(together, "ndim", 0) == 2 and len(together) == len(positions):
            return together
        if getattr(together, "ndim", 0) == 1 and all(one.shared is not None for one in arguments):
            return numpy.broadcast_to(together, (len(positions), len(together)))
        parts = [self.tree.inputs_of(positions[row : row + 1])[0].tolist() for row in range(len(positions))]
        return [_called(function, [*map(self.of, one)]) for one in parts]

    def _rows(self, argument: Argument, count: int) -> Any:
        if argument.constant is not None:
            return argument.constant
        if argument.shared is not None:
            return self.of(argument.shared)
        found = numpy.empty((count, len(self.inputs[0])))
        for table, rows, taken in argument.rows:
            if table is None:
                found[rows] = taken
            elif table < 0:
                found[rows] = self.inputs[table]
            elif isinstance(self.tables[table], list):
                for row, place in zip(numpy.arange(count)[rows], numpy.arange(len(self.tables[table]))[taken], strict=True):
                    found[row] = self.tables[table][place]
            elif len(argument.rows) == 1:
                return self.tables[table][taken]
            else:
                found[rows] = self.tables[table][taken]
        return found


def _called(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    try:
        return function(*values)
    except (OverflowError, ZeroDivisionError):
        return math.inf


def draw(one: Uncertain, samples: int, seed: int) -> Any:
    """Draws of one quantity, from a stream of its own."""
    name, value, low, high, *_ = one
    normal = numpy.random.default_rng([seed, zlib.crc32(repr(tuple(one)).encode())]).standard_normal(samples)
    if low > 0:
        drawn = value * numpy.where(normal < 0, low / value, high / value) ** (numpy.abs(normal) / Z90)
    else:
        drawn = value + normal / Z90 * numpy.where(normal < 0, value - low, high - value)
    limits = INPUTS.get(name)
    return drawn if limits is None else numpy.clip(drawn, limits.low, limits.high)


def effects(tree: ArrayTree) -> dict[str, list[Effect]]:
    """The effect of each input on each requirement of a tree, the largest first: the bars of a tornado chart.

    Each input in turn is at its low and at its high end, the others typical.
    """
    found: dict[str, list[Effect]] = {name: [] for name in tree.steps}
    if not tree.uncertain:
        return found
    drawn = {one: numpy.full(2 * len(tree.uncertain), float(one.value)) for one in tree.uncertain}
    for place, one in enumerate(drawn):
        drawn[one][2 * place : 2 * place + 2] = one.low, one.high
    with numpy.errstate(all="ignore"):
        turned = _run(tree, drawn, 2 * len(tree.uncertain))
    for bit, name in enumerate(tree.steps):
        least = SMALLEST_EFFECT * abs(float(tree.steps[name].value))
        for place, one in enumerate(tree.uncertain if name in turned else ()):
            low, high = (float(end) for end in turned[name][2 * place : 2 * place + 2])
            if least < abs(high - low) < math.inf:
                reaching = {step.owner for step in tree.uncertain[one] if tree.marks[tree.places[step]] >> bit & 1}
                found[name].append(Effect(one.name, tuple(sorted(reaching - {""})), one.value, one.low, one.high, low, high))
        found[name].sort(key=lambda one: (-one.swing, one.name, one.rows))
    return found
