"""Percentiles of the requirements of a site: the tree of steps, run again on seeded draws of its uncertain inputs.

Each quantity with a range is drawn from a split log-normal distribution: its median is the typical value, its P10 the low
end and its P90 the high end. Draws are independent; one catalog value is one draw, wherever it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import ArrayTree, gather
from ingest.engine.ranges import Uncertain
from ingest.engine.registry import INPUTS

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
    import numpy

    with numpy.errstate(all="ignore"):
        found = _run(tree, {one: draw(one, samples, seed) for one in tree.uncertain}, samples)
        ends = {name: numpy.percentile(values, (10, 90)) for name, values in found.items()}
    # Where draws overflow there is no high end: the typical value has no range.
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high and numpy.isfinite(high)}


def _run(tree: ArrayTree, drawn: Mapping[Uncertain, Any], samples: int) -> dict[str, Any]:
    """The values of every requirement that a range reaches, over all draws; in chunks, so that memory stays small."""
    import numpy

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
    import numpy

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
    import numpy

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
        import numpy

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
        import numpy

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
        import numpy

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
    import numpy

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
    import numpy

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
