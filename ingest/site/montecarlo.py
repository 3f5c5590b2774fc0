"""Low and high through to the totals: the tree of steps, run again on seeded draws and on single ends.

Each quantity with a range is drawn from a split log-normal distribution: its median is the typical value, its P10 the low
end and its P90 the high end. Draws are independent; one catalog value is one draw, wherever it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ingest.engine.value import Input
from ingest.expression import Num
from ingest.formula import LEAVES, Step
from ingest.site.sheet import in_order, marks_of

#: P90 of the standard normal distribution.
Z90 = 1.2815515655446004
#: Draws unless the user says how many; fewer for a site of so many quantities that it would take seconds.
USUAL_SAMPLES = 10_000
FEWEST_SAMPLES = 1_000
MOST_NUMBERS = 6_000_000
#: Numbers held at a time.
CHUNK_NUMBERS = 10_000_000

Key = tuple[str, float, float | None, float | None, str, str]


class Effect(NamedTuple):
    """What one quantity does to a requirement when it goes to its low and to its high end, all others typical.

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


class Tree:
    """All steps that the requirements rest on, in an order in which each follows its inputs."""

    def __init__(self, steps: Mapping[str, Step], given: Mapping[int, Input]) -> None:
        self.steps = dict(steps)
        self.given = given

    @cached_property
    def order(self) -> list[Step]:
        """Every step once, inputs first."""
        return in_order(self.steps.values())

    @cached_property
    def parents(self) -> dict[int, list[int]]:
        """Positions of the steps that use a step."""
        found: dict[int, list[int]] = {}
        for position, step in enumerate(self.order):
            for part in step.inputs:
                found.setdefault(id(part), []).append(position)
        return found

    @cached_property
    def marks(self) -> dict[int, int]:
        """Which requirements rest on each step, by its identity: a bit for each."""
        return marks_of([*self.steps.values()], self.order)

    @cached_property
    def uncertain(self) -> dict[Key, list[Step]]:
        """The given steps with a range, by what they are; one catalog value has one key."""
        found: dict[Key, list[Step]] = {}
        for step in self.order:
            item = self.given.get(id(step)) if step.formula is None else None
            if item is not None and item.low is not None and item.high is not None and item.low < item.high:
                found.setdefault((step.name, item.value, item.low, item.high, item.source, item.where), []).append(step)
        return found

    @cached_property
    def moving(self) -> list[Step]:
        """Every step that rests on a quantity with a range."""
        return self.above(step for steps in self.uncertain.values() for step in steps)

    def above(self, leaves: Iterable[Step]) -> list[Step]:
        """Every step that rests on one of these, in order."""
        found: set[int] = set()
        waiting = [id(step) for step in leaves]
        while waiting:
            for position in self.parents.get(waiting.pop(), ()):
                if position not in found:
                    found.add(position)
                    waiting.append(id(self.order[position]))
        return [self.order[position] for position in sorted(found)]

    def again(self, changed: Mapping[int, Num], above: Iterable[Step]) -> dict[int, Num]:
        """The values of the steps above when some leaves have other values; infinite where no number holds one."""
        values = dict(changed)
        for step in above:
            assert step.formula is not None
            try:
                values[id(step)] = step.formula.function(*(values.get(id(part), part.value) for part in step.inputs))
            except OverflowError:
                values[id(step)] = math.inf
        return values

    @cached_property
    def ends(self) -> dict[Key, tuple[dict[int, float], dict[int, float]]]:
        """The requirements that rest on a quantity with a range, by their identity, with it at its low and its high end."""
        found = {}
        for key, steps in self.uncertain.items():
            above = self.above(steps)
            found[key] = (self._at_end(steps, key[2], above), self._at_end(steps, key[3], above))
        return found

    def _at_end(self, leaves: Sequence[Step], end: float | None, above: Sequence[Step]) -> dict[int, float]:
        assert end is not None
        values = self.again(dict.fromkeys(map(id, leaves), end), above)
        return {id(step): float(values[id(step)]) for step in self.steps.values() if id(step) in values}


def samples_for(tree: Tree, asked: int | None) -> int:
    """Draws: as asked, else as many as stay quick."""
    if asked is not None:
        return asked
    size = len(tree.moving)
    return min(USUAL_SAMPLES, max(FEWEST_SAMPLES, MOST_NUMBERS // max(size, 1)))


def spread(tree: Tree, samples: int, seed: int) -> dict[str, tuple[float, float]]:
    """P10 and P90 of each requirement that a range reaches.

    Args:
        tree: the steps of all requirements.
        samples: draws.
        seed: the same seed gives the same ends, in whatever order the jobs stand.
    """
    if not samples or not tree.uncertain:
        return {}
    import numpy

    with numpy.errstate(all="ignore"):
        found = _run(tree, {key: _draw(key, samples, seed) for key in tree.uncertain}, samples)
        ends = {name: numpy.percentile(values, (10, 90)) for name, values in found.items()}
    # Where draws outgrow every number there is no end to tell; the typical value stands alone.
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high and numpy.isfinite(high)}


def _run(tree: Tree, drawn: Mapping[Key, Any], samples: int) -> dict[str, Any]:
    """The values of every requirement that a range reaches, over all draws; in chunks, so that memory stays small."""
    import numpy

    ids = {id(step) for step in tree.moving}
    reached = {name: step for name, step in tree.steps.items() if id(step) in ids}
    chunk = max(1, CHUNK_NUMBERS // max(len(tree.moving), 1))
    found: dict[str, list[Any]] = {name: [] for name in reached}
    for start in range(0, samples, chunk):
        changed = {id(step): drawn[key][start : start + chunk] for key, steps in tree.uncertain.items() for step in steps}
        values = tree.again(changed, tree.moving)
        for name, step in reached.items():
            found[name].append(numpy.atleast_1d(values[id(step)]))
    return {name: numpy.concatenate(parts) for name, parts in found.items()}


def _draw(key: Key, samples: int, seed: int) -> Any:
    """Draws of one quantity, from a stream of its own."""
    import numpy

    name, value, low, high, *_ = key
    assert low is not None
    assert high is not None
    normal = numpy.random.default_rng([seed, zlib.crc32(repr(key).encode())]).standard_normal(samples)
    if low > 0:
        drawn = value * numpy.where(normal < 0, low / value, high / value) ** (numpy.abs(normal) / Z90)
    else:
        drawn = value + normal / Z90 * numpy.where(normal < 0, value - low, high - value)
    limits = LEAVES.get(name)
    return drawn if limits is None else numpy.clip(drawn, limits.low, limits.high)


def effects(tree: Tree, name: str, owners: Mapping[int, str]) -> list[Effect]:
    """What moves a requirement most, one quantity at a time, sorted: the bars of a tornado.

    Args:
        tree: the steps of all requirements.
        name: the id of the requirement.
        owners: whose row each step is, by its identity.
    """
    target, bit = id(tree.steps[name]), 1 << list(tree.steps).index(name)
    found = []
    for key, (low, high) in tree.ends.items():
        reaching = [step for step in tree.uncertain[key] if tree.marks[id(step)] & bit]
        if reaching:
            assert key[2] is not None
            assert key[3] is not None
            rows = tuple(sorted({owners[id(step)] for step in reaching if id(step) in owners}))
            found.append(Effect(key[0], rows, key[1], key[2], key[3], low[target], high[target]))
    return sorted(
        (one for one in found if one.swing and math.isfinite(one.swing)), key=lambda one: (-one.swing, one.name, one.rows)
    )
