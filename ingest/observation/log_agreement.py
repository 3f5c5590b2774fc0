"""Whether the lines of a training log are of one run: its steps, its repeated lines and its clock agree with one another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ingest.errors import IngestError
from ingest.observation.training_log import LogStep

#: Ranks of one job print a step at nearly one speed; lines of one step that differ by more, at the median, are of two jobs.
SAME_STEP_WITHIN = 0.1
#: Two runs in one log leap over each other again and again; a restart whose lines were lost leaps once.
LEAST_LEAPS = 2
#: Clocks of logs have whole seconds: parts of a log that last shorter are not held against their clock.
LEAST_CLOCK_SECONDS = 20.0
#: how many parts of a log are held against the clock
CLOCK_PARTS = 10
#: The clock cannot pass in fewer seconds than the steps take, up to rounding.
LEAST_CLOCK_SHARE = 0.8
#: Work between the steps is said beyond the first ratio; beyond the second the unit of the printed times is wrong.
MOST_CLOCK_SHARE, WRONG_UNIT = 1.25, 10.0


def one_line_per_step(steps: Sequence[LogStep], path: str) -> tuple[LogStep, ...]:
    """The first line of each step; ranks and progress bars print a step several times.

    Raises:
        IngestError: lines of one step differ in speed: two jobs.
    """
    found, apart = [*steps[:1]], []
    for before, after in pairwise(steps):
        if after.number != before.number:
            found.append(after)
            continue
        first, second = (one.seconds or one.per_gpu or one.rate or 1 for one in (before, after))
        apart.append((abs(first - second) / max(first, second), after.line))
    if apart and median(share for share, _ in apart) > SAME_STEP_WITHIN:
        share, line = max(apart)
        raise IngestError(
            f"{path}:{line}: a step is printed twice, at speeds {share:.0%} apart: two jobs, expected the log of one; observe "
            "each by itself"
        )
    return tuple(found)


def refuse_interleaved(steps: Sequence[LogStep], path: str) -> None:
    """Refuse two runs whose lines alternate: their steps fall back and leap on, while those of a restart count on.

    Raises:
        IngestError: the log holds two runs.
    """
    furthest, fallen, leaps = steps[0].number if steps else 0, False, 0
    for before, after in pairwise(steps):
        fallen = fallen or after.number < before.number
        if fallen and before.number < furthest < after.number:
            leaps += 1
            fallen = False
        furthest = max(furthest, after.number)
        if leaps >= LEAST_LEAPS:
            raise IngestError(
                f"{path}:{after.line}: step {after.number:,} follows step {before.number:,} after a fall back: two jobs, "
                "expected the log of one; observe each by itself"
            )


def clock_share(steps: Sequence[LogStep], covered: Sequence[int], path: str) -> float | None:
    """Seconds of the clock for each second that the steps print, the median of parts of the log; None where no clock tells.

    Raises:
        IngestError: less time passes than the steps take, or ten times as much: the unit is wrong, or lines are of two jobs.
    """
    if len(steps) < CLOCK_PARTS + 1 or any(one.clock is None or one.seconds is None for one in steps):
        return None
    edges = [round(part * (len(steps) - 1) / CLOCK_PARTS) for part in range(CLOCK_PARTS + 1)]
    shares = []
    for first, last in pairwise(edges):
        passed = (steps[last].clock or 0) - (steps[first].clock or 0)
        printed = sum((steps[at].seconds or 0) * covered[at] for at in range(first + 1, last + 1))
        if max(passed, printed) >= LEAST_CLOCK_SECONDS:
            shares.append(passed / printed)
    if not shares:
        return None
    share = median(shares)
    if not LEAST_CLOCK_SHARE <= share <= WRONG_UNIT:
        raise IngestError(
            f"{path}: the clock passes {share:.3g} s for each second that the steps take: the unit of the times is wrong, or "
            "the lines are of two jobs; give the rate with --real"
        )
    return share
