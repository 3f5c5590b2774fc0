"""Percentiles of the requirements of a site: the tree of steps, run again on seeded draws of its uncertain inputs.

Each quantity with a range is drawn from a split log-normal distribution: its median is the typical value, its P10 the low
end and its P90 the high end. Draws are independent; one catalog value is one draw, wherever it is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ingest.engine.ranges import Tree, Uncertain
from ingest.engine.registry import INPUTS

#: P90 of the standard normal distribution.
Z90 = 1.2815515655446004
#: Draws unless the user sets them; fewer for a site of so many quantities that it would take seconds.
USUAL_SAMPLES = 10_000
FEWEST_SAMPLES = 1_000
MOST_NUMBERS = 6_000_000
#: Numbers held at a time.
CHUNK_NUMBERS = 10_000_000
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
    for start in range(0, samples, chunk):
        changed = {step: drawn[one][start : start + chunk] for one, steps in tree.uncertain.items() for step in steps}
        values = tree.again(changed, tree.moving)
        for name, step in reached.items():
            found[name].append(numpy.atleast_1d(values[step]))
    return {name: numpy.concatenate(parts) for name, parts in found.items()}


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
