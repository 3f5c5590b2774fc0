"""Percentiles of the requirements of a site: the tree of steps, run again on seeded draws of its uncertain inputs.

Each quantity with a range is drawn from a split log-normal distribution: its median is the typical value, its P10 the low
end and its P90 the high end. Draws are independent; one catalog value is one draw, wherever it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ingest.engine.ranges import Tree, Uncertain
from ingest.engine.registry import INPUTS, Step

#: P90 of the standard normal distribution.
Z90 = 1.2815515655446004
#: Draws unless the user sets them; fewer for a site of so many quantities that it would take seconds.
USUAL_SAMPLES = 10_000
FEWEST_SAMPLES = 1_000
MOST_NUMBERS = 6_000_000
#: Numbers held at a time.
CHUNK_NUMBERS = 3_000_000
#: Steps of one formula that are worth a table of their own.
FEWEST_TOGETHER = 8
#: Share of a requirement below which an input has no effect on it: the noise of differences between large numbers
SMALLEST_EFFECT = 1e-6


class Effect(NamedTuple):
    """The effect of one quantity on a requirement: its value at the low and the high end, all others typical.

    Attributes:
        name: the quantity.
        rows: the jobs and data sets that it belongs to.
        value, low, high: of the quantity.
        at_low, at_high: of the requirement.
    """

    name: str
    rows: tuple[str, ...]
    value: float
    low: float
    high: float
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """How far the requirement moves."""
        return abs(self.at_high - self.at_low)


def samples_for(tree: Tree, requested: int | None) -> int:
    """The number of draws: as requested, else limited to about a second."""
    if requested is not None:
        return requested
    size = len(tree.moving)
    return min(USUAL_SAMPLES, max(FEWEST_SAMPLES, MOST_NUMBERS // max(size, 1)))


def spread(tree: Tree, samples: int, seed: int) -> dict[str, tuple[float, float]]:
    """P10 and P90 of each requirement that a range reaches.

    Args:
        tree: the steps of all requirements.
        samples: draws.
        seed: equal seeds give equal ends, whatever the order of the jobs.
    """
    if not samples or not tree.uncertain:
        return {}
    import numpy

    with numpy.errstate(all="ignore"):
        found = _run(tree, {one: _draw(one, samples, seed) for one in tree.uncertain}, samples)
        ends = {name: numpy.percentile(values, (10, 90)) for name, values in found.items()}
    # Where draws overflow there is no high end: the typical value has no range.
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high and numpy.isfinite(high)}


def _run(tree: Tree, drawn: Mapping[Uncertain, Any], samples: int) -> dict[str, Any]:
    """The values of every requirement that a range reaches, over all draws; in chunks, so that memory stays small."""
    import numpy

    moving = set(tree.moving)
    reached = {name: step for name, step in tree.steps.items() if step in moving}
    chunk = max(1, CHUNK_NUMBERS // max(len(tree.moving), 1))
    found: dict[str, list[Any]] = {name: [] for name in reached}
    batches = _batches(tree)
    for start in range(0, samples, chunk):
        changed = {step: drawn[one][start : start + chunk] for one, steps in tree.uncertain.items() for step in steps}
        values = _computed(batches, changed)
        for name, step in reached.items():
            found[name].append(numpy.atleast_1d(values[step]))
    return {name: numpy.concatenate(parts) for name, parts in found.items()}


class Argument(NamedTuple):
    """One argument of a formula for all steps of a batch.

    Attributes:
        parts: the step of each; a single one that all share.
        constant: the value of all where no draw changes any: a number, or a column of numbers.
        batch: the place of the batch whose steps they are, in order; None where they are of several.
    """

    parts: Sequence[Step]
    constant: Any = None
    batch: int | None = None


class Batch(NamedTuple):
    """Steps of one formula that do not rest on each other: one call computes them for all draws.

    Attributes:
        steps: the steps.
        arguments: of the formula; empty where each step is computed by itself.
    """

    steps: Sequence[Step]
    arguments: Sequence[Argument] = ()


def _batches(tree: Tree) -> list[Batch]:
    """The moving steps in an order in which each comes after what it rests on."""
    depth: dict[Step, int] = {}
    groups: dict[tuple[int, Any], list[Step]] = {}
    for step in tree.moving:
        depth[step] = 1 + max([depth.get(part, 0) for part in step.inputs])
        groups.setdefault((depth[step], step.formula and step.formula.function), []).append(step)
    drawn = {step: one for one, steps in tree.uncertain.items() for step in steps}
    found: list[Batch] = []
    places: dict[Step, tuple[int, int]] = {}
    for _, steps in sorted(groups.items(), key=lambda group: group[0][0]):
        arguments: list[Argument] = []
        if len(steps) >= FEWEST_TOGETHER and all(_is_number(part) for step in steps for part in (step, *step.inputs)):
            columns = zip(*(step.inputs for step in steps), strict=True)
            arguments = [_argument(parts, drawn, depth, places, found) for parts in columns]
        places.update((step, (len(found), row)) for row, step in enumerate(steps))
        found.append(Batch(steps, arguments))
    return found


def _argument(
    parts: Sequence[Step],
    drawn: Mapping[Step, Uncertain],
    depth: Mapping[Step, int],
    places: Mapping[Step, tuple[int, int]],
    batches: Sequence[Batch],
) -> Argument:
    import numpy

    if not any(part in drawn or part in depth for part in parts):
        values = [part.value for part in parts]
        return Argument(parts, values[0] if values.count(values[0]) == len(values) else numpy.array(values, float)[:, None])
    first = parts[0]
    if all(part is first or (part in drawn and drawn[part] == drawn.get(first)) for part in parts):
        return Argument((first,))
    batch = places.get(first, (0, 0))[0]
    whole = (
        [places.get(part) for part in parts] == [(batch, row) for row in range(len(batches[batch].steps))] if places else False
    )
    return Argument(parts, None, batch if whole else None)


def _is_number(step: Step) -> bool:
    return isinstance(step.value, (int, float))


def _computed(batches: Sequence[Batch], changed: Mapping[Step, Any]) -> dict[Step, Any]:
    """The values of all moving steps for draws of the uncertain inputs; infinite where no number holds one."""
    values = dict(changed)
    tables: list[Any] = []
    for batch in batches:
        tables.append(_together(batch, values, tables) if batch.arguments else None)
        if tables[-1] is not None:
            values.update(zip(batch.steps, tables[-1], strict=True))
            continue
        for step in batch.steps:
            assert step.formula is not None
            try:
                values[step] = step.formula.function(*[values.get(part, part.value) for part in step.inputs])
            except (OverflowError, ZeroDivisionError):
                values[step] = math.inf
    return values


def _together(batch: Batch, values: Mapping[Step, Any], tables: Sequence[Any]) -> Any:
    """The values of a batch, a row for each step; None where they have to be computed one by one."""
    import numpy

    given = []
    for parts, constant, place in batch.arguments:
        if constant is not None:
            given.append(constant)
        elif len(parts) == 1:
            given.append(values.get(parts[0], parts[0].value))
        elif place is not None and tables[place] is not None:
            given.append(tables[place])
        else:
            given.append(numpy.array(numpy.broadcast_arrays(*[values.get(part, part.value) for part in parts])))
    formula = batch.steps[0].formula
    assert formula is not None
    try:
        found = formula.function(*given)
    except (OverflowError, ZeroDivisionError):
        return None
    return found if numpy.ndim(found) == 2 and len(found) == len(batch.steps) else None


def _draw(one: Uncertain, samples: int, seed: int) -> Any:
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


def effects(tree: Tree, name: str) -> list[Effect]:
    """The effect of each input on a requirement, one at a time, the largest first: the bars of a tornado chart.

    Args:
        tree: the steps of all requirements.
        name: the id of the requirement.
    """
    target, bit = tree.steps[name], 1 << list(tree.steps).index(name)
    found = []
    for one, (low, high) in tree.ends.items():
        reaching = [step for step in tree.uncertain[one] if tree.marks[step] & bit]
        if reaching:
            rows = tuple(sorted({step.owner for step in reaching if step.owner}))
            found.append(Effect(one.name, rows, one.value, one.low, one.high, low[target], high[target]))
    least = SMALLEST_EFFECT * abs(float(target.value))
    return sorted(
        (one for one in found if one.swing > least and math.isfinite(one.swing)),
        key=lambda one: (-one.swing, one.name, one.rows),
    )
