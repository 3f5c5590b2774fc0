"""Simulation of training runs with interrupts: a recurrence over the segments between them, for all runs at once.

Between two interrupts nothing is random: after a restart the job computes, stages and drains in a fixed course. So the course
is built once; each segment looks up how far it came and which checkpoint was complete, and no event queue is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.errors import UsageError

Array = NDArray[np.float64]
#: Segments drawn at a time: a fixed number, so that runs of the same seed see the same interrupts at any rate.
BLOCK = 64
#: Segments of all runs together, and cycles of one persistent checkpoint, beyond which memory and time run out.
MOST_SEGMENTS, MOST_CYCLES = 2_000_000, 1_000_000


class Schedule(NamedTuple):
    """Checkpoints of a job, times in seconds."""

    interval: float  # work between two checkpoints
    staging: float  # stall for the copy into host memory
    dump: float  # time in which a checkpoint reaches shared storage
    stopped_share: float  # of training while it does; 1 where GPUs wait for the dump
    every: int = 1  # every k-th checkpoint goes to shared storage


class Interrupts(NamedTuple):
    """Time between interrupts: exponential, or a mixture of exponential distributions."""

    shares: tuple[float, ...]  # of the interrupts that each distribution accounts for
    means: tuple[float, ...]  # of each distribution, in seconds

    @property
    def mean(self) -> float:
        """Mean time to interrupt.

        >>> round(Interrupts((0.75, 0.25), (4 * 3600, 600)).mean)
        10950
        """
        return sum(share * mean for share, mean in zip(self.shares, self.means, strict=True))


class Restart(NamedTuple):
    """What follows an interrupt, times in seconds."""

    reschedule: float  # from the interrupt to the start of the restore
    restore: float  # from shared storage
    near_share: float = 0.0  # of the interrupts after which host memory or NVMe of the nodes still holds a checkpoint
    near_restore: float = 0.0  # from there
    spares: int | None = None  # nodes that replace failed ones; None for as many as it takes
    repair: float = 0.0  # until a failed node is available again


class Shares(NamedTuple):
    """Where the time of each run went, as shares of the duration that sum to 1; one entry per run."""

    goodput: Array
    lost_work: Array
    stall: Array
    slowdown: Array
    restart: Array


class Course(NamedTuple):
    """One period of the course between two interrupts: up to the next persistent checkpoint."""

    #: times, work, stall: at the ends of its phases, cumulative; between them each grows linearly
    times: Array
    work: Array
    stall: Array
    staged: Array  # when each checkpoint of the period is complete in host memory


def course(schedule: Schedule, drain: float, duration: float) -> Course:
    """One period, during the first part of which the previous checkpoint drains; beyond the duration no phase matters.

    The drain takes seconds; 0 in the first period after a restart.

    >>> float(course(Schedule(900, 1, 90, 0.5), 90, 1e6).times[-1])
    946.0

    Raises UsageError: more checkpoints in a period than can be followed.
    """
    if min(schedule.every, duration / schedule.interval) > MOST_CYCLES:
        raise UsageError(f"--interval: found {schedule.interval:g} s, expected at most {MOST_CYCLES:,} checkpoints in a period")
    stopped = schedule.stopped_share
    now = done = stalled = 0.0
    points, staged = [(0.0, 0.0, 0.0)], []
    for cycle in range(schedule.every):
        todo = schedule.interval
        if drain > 0:
            span = drain if stopped == 1 else min(drain, todo / (1 - stopped))
            now, done, todo = now + span, done + span * (1 - stopped), max(todo - span * (1 - stopped), 0.0)
            # Where training stops, GPUs wait; else they work at a lower rate.
            stalled += span if stopped == 1 else 0.0
            drain -= span
            points.append((now, done, stalled))
        now, done = now + todo, done + todo
        points.append((now, done, stalled))
        # The copy of a persistent checkpoint waits until its predecessor has left host memory.
        wait = schedule.staging + (drain if cycle == schedule.every - 1 else 0.0)
        now, stalled, drain = now + wait, stalled + wait, max(drain - wait, 0.0)
        points.append((now, done, stalled))
        staged.append(now)
        if now > duration:
            break
    columns = np.array(points).T
    return Course(columns[0], columns[1], columns[2], np.array(staged))


class Progress(NamedTuple):
    """How far segments came: seconds of work, of stalls, and of work in the last complete checkpoint of each kind."""

    work: Array
    stall: Array
    persistent: Array
    near: Array


def progress(schedule: Schedule, seconds: Array, duration: float) -> Progress:
    """How far the job comes in so many seconds after a restore.

    >>> float(progress(Schedule(900, 1, 90, 0.5), np.array([1000.0]), 1e6).persistent[0])
    900.0
    >>> float(progress(Schedule(900, 1, 90, 0.5), np.array([990.0]), 1e6).persistent[0])
    0.0
    """
    first, then = course(schedule, 0.0, duration), course(schedule, schedule.dump, duration)
    beyond, period = seconds - float(first.times[-1]), float(then.times[-1])
    periods = np.maximum(np.floor(beyond / period), 0.0)
    inside = np.clip(beyond - periods * period, 0.0, period)
    started = beyond >= 0
    whole = schedule.every * schedule.interval

    def at(column: str) -> Array:
        early = np.interp(seconds, first.times, getattr(first, column))
        late = getattr(first, column)[-1] + periods * getattr(then, column)[-1]
        found: Array = np.where(started, late + np.interp(inside, then.times, getattr(then, column)), early)
        return found

    persistent = np.where(started, whole * (periods + (inside >= schedule.dump)), 0.0)
    staged = np.where(
        started,
        whole * (periods + 1) + schedule.interval * np.searchsorted(then.staged, inside, "right"),
        schedule.interval * np.searchsorted(first.staged, seconds, "right"),
    )
    return Progress(at("work"), at("stall"), persistent, np.maximum(staged, persistent))


class Segments(NamedTuple):
    """Segments of all runs, one row each; those that begin after the end of the run are empty."""

    starts: Array  # of each segment, at the interrupt before it; the first starts at 0
    lengths: Array  # until the next interrupt or the end of the run
    last: NDArray[np.bool_]  # whether the run ends in the segment
    near: NDArray[np.bool_]  # whether the interrupt before it left the near tier readable


def drawn(interrupts: Interrupts, near_share: float, duration: float, runs: int, seed: int) -> Segments:
    """Draw the interrupts of all runs; the same seed gives the same draws whatever the rates and shares are.

    Raises UsageError: more interrupts than can be followed.
    """
    expected = runs * (duration / interrupts.mean + BLOCK)
    if expected > MOST_SEGMENTS:
        found = f"--runs: found {runs:,} with {duration / interrupts.mean:,.0f} interrupts each"
        raise UsageError(f"{found}, expected at most {MOST_SEGMENTS:,} interrupts in all runs; shorten --duration too")
    generator = np.random.default_rng(seed)
    bounds = np.cumsum(interrupts.shares)[:-1]
    means = np.array(interrupts.means)
    lengths: list[Array] = []
    near: list[Any] = []
    reached = np.zeros(runs)
    while reached.min() < duration:
        unit = generator.standard_exponential((BLOCK, runs))
        kind, kept = generator.random((2, BLOCK, runs))
        lengths.append(unit * means[np.searchsorted(bounds, kind, "right")])
        near.append(kept < near_share)
        reached += lengths[-1].sum(axis=0)
    whole = np.concatenate(lengths)
    ends = np.cumsum(whole, axis=0)
    starts = ends - whole
    inside = np.clip(duration - starts, 0.0, whole)
    return Segments(starts, inside, (starts < duration) & (ends >= duration), np.concatenate(near))


def simulated(schedule: Schedule, interrupts: Interrupts, restart: Restart, *, duration: float, runs: int, seed: int) -> Shares:
    """Follow so many training runs of a duration in seconds through their interrupts; interrupts strike restarts too.

    Raises UsageError: more interrupts or checkpoints than can be followed.
    """
    segments = drawn(interrupts, restart.near_share, duration, runs, seed)
    # From each interrupt to the first step after it.
    down = restart.reschedule + np.where(segments.near, restart.near_restore, restart.restore)
    if restart.spares is not None:
        down = down + _waiting(segments, restart.spares, restart.repair)
    down[0] = 0.0
    restarting = np.minimum(down, segments.lengths)
    seconds = segments.lengths - restarting
    came = progress(schedule, seconds, duration)
    useful = _useful(segments, came)
    work, stall = came.work.sum(axis=0), came.stall.sum(axis=0)
    lost = work - useful
    slow = np.maximum(seconds.sum(axis=0) - work - stall, 0.0) if schedule.stopped_share < 1 else np.zeros(runs)
    return Shares(*(part / duration for part in (useful, lost, stall, slow, restarting.sum(axis=0))))


def _waiting(segments: Segments, spares: int, repair: float) -> Array:
    """Wait for a node: the pool holds the spares, and each failed node comes back after its repair."""
    failed = ~segments.near
    failed[0] = False
    number = np.cumsum(failed, axis=0) - 1
    # When the n-th failed node of a run failed.
    times = np.full_like(segments.starts, np.inf)
    rows, columns = np.nonzero(failed)
    times[number[rows, columns], columns] = segments.starts[rows, columns]
    waiting = np.zeros_like(segments.starts)
    taken = failed & (number >= spares)
    rows, columns = np.nonzero(taken)
    returned = times[number[rows, columns] - spares, columns] + repair
    waiting[rows, columns] = np.maximum(returned - segments.starts[rows, columns], 0.0)
    return waiting


def _useful(segments: Segments, came: Progress) -> Array:
    """Work of each run that no interrupt destroyed; that of the last segment counts, saved or not."""
    if not segments.near.any():
        total: Array = np.where(segments.last, came.work, came.persistent).sum(axis=0)
        return total
    held = np.zeros(segments.starts.shape[1])
    persistent, final = held.copy(), held.copy()
    for row in range(len(segments.starts)):
        if row:
            # An interrupt that takes the nodes falls back to shared storage, however far the near tier was.
            held = np.where(segments.near[row], held + came.near[row - 1], persistent)
        persistent = np.where(came.persistent[row] > 0, held + came.persistent[row], persistent)
        final = np.where(segments.last[row], held + came.work[row], final)
    return final


def percentiles(values: Array) -> tuple[float, float]:
    """Low and high end of a spread, P10 and P90.

    >>> percentiles(np.arange(101.0))
    (10.0, 90.0)
    """
    low, high = np.percentile(values, (10, 90))
    return float(low), float(high)
