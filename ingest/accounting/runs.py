"""The runs of a history, sound: true times across clock changes, each allocation once, bytes from its steps.

Concurrency over time is by events: exact between one start or end and the next, never sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from ingest.accounting import ledger as records
from ingest.accounting.ledger import CODES, FIRST_YEAR, LARGEST, NAN, UNKNOWN, Group, Ledger, digest
from ingest.errors import IngestError, listed

Array = NDArray[Any]
#: What a clock change moves the clock by, and by how much sums of whole seconds may miss it.
HOUR, SLACK = 3600, 2
#: Two changes of one kind are further apart than this: they are a year apart, to a few weeks.
YEAR = 300 * 86_400
#: Kinds of records that tell of the same runs in ways that nothing matches: by a local clock and by UTC, as pods and as jobs.
ALIKE = (("sacct", "sacct JSON"), ("Kubernetes Pod", "Kubernetes Job", "Kubernetes Workload"))
LOCAL = ("sacct", "table")
#: Days without a run that a holiday or a repair explains less than a file that is missing.
LONG_GAP, DAY = 7, 86_400
#: Longest allocation that is believed, in seconds: ten years.
LONGEST = 315_576_000
#: 1 January 1970 was a Thursday: seconds from then to the first Monday.
MONDAY = 4 * DAY


class Runs(NamedTuple):
    """Allocations as columns, sorted by start, and what was left out."""

    key: Array  # number of the job
    #: start, end: seconds since 1970, half-open
    start: Array
    end: Array
    seconds: Array  # allocated time; less than from start to end where the job was suspended
    gpus: Array  # parts of a GPU
    nodes: Array  # `UNKNOWN` where not recorded
    group: Array  # number of the group
    state: Array  # how it ended, as its code
    #: read, written: bytes; not a number where they were not counted
    read: Array
    written: Array
    groups: tuple[Group, ...]  # by number
    #: removed, notes, kinds: counts, as of the ledger
    removed: Counter[str]
    notes: Counter[str]
    kinds: Counter[str]
    local: bool  # whether times are of a local clock

    def only(self, chosen: Array) -> Runs:
        """The runs of a mask."""
        if chosen.all():
            return self
        return self._replace(**{name: getattr(self, name)[chosen] for name in ARRAYS})


ARRAYS = ("key", "start", "end", "seconds", "gpus", "nodes", "group", "state", "read", "written")


def settled(ledger: Ledger) -> Runs:
    """The sound runs of what was read.

    Raises IngestError: it tells of the same runs twice.
    """
    for kinds in ALIKE:
        if len(found := [kind for kind in kinds if ledger.kinds[kind]]) > 1:
            raise IngestError(f"--from: found {listed(found)}, which tell of the same runs, expected one of them")
    columns = {name: numpy.frombuffer(column, dtype=column.typecode) for name, column in ledger.columns.items()}
    key, start, end, elapsed = (columns[name].copy() for name in ("key", "start", "end", "elapsed"))
    removed, notes = Counter(ledger.removed), Counter(ledger.notes)
    if ledger.local and any(kind not in (*LOCAL, "Darshan", "jobstats", "pod list") for kind in ledger.kinds):
        notes["history with times of a local clock and of UTC: what ran at once on both is off by the zone"] += 1
    if ledger.local:
        start, end, changes, unclear = true_times(start, end, elapsed)
        notes += Counter({"clock change, found where elapsed and clock times differ by an hour": changes} if changes else {})
        notes += Counter({"time within the hour that the clock repeats": unclear} if unclear else {})
    open_end = end == UNKNOWN
    # What runs at the time of the record, or whose end was lost, is known to have run until its elapsed time.
    end = numpy.where(open_end, start + elapsed, end)
    seconds = numpy.where(elapsed >= 0, elapsed, end - start)
    length = end - start
    # Zero is no time among dates.
    timeless = (start >= 0) & (start < FIRST_YEAR) & (start.max(initial=0) >= FIRST_YEAR)
    backwards = ~timeless & ((length < 0) | (start < 0))
    contradicting = ~timeless & ~backwards & ((seconds > length + SLACK) | (length > LONGEST))
    sound = ~(timeless | backwards | contradicting)
    removed += Counter(
        {
            records.NO_START: int(timeless.sum()),
            records.BACKWARDS: int(backwards.sum()),
            records.CONTRADICTS: int(contradicting.sum()),
        }
    )
    suspended = sound & (seconds < length - SLACK)
    if suspended.any():
        notes["suspended for a part of its time: hours count what it was allocated"] += int(suspended.sum())
    # Of several records of one try the one with an end counts, and of those the latest.
    order = numpy.lexsort((columns["state"], columns["gpus"], end, ~open_end, start, key))
    order = order[sound[order]]
    same = (key[order][1:] == key[order][:-1]) & (start[order][1:] == start[order][:-1])
    last = numpy.append(~same, True)[: len(order)]
    removed[records.DUPLICATE] += int(len(order) - last.sum())
    kept = order[last]
    _named_alike(ledger.groups, *(column[kept] for column in (columns["group"], start, end, columns["gpus"])))
    by_start = kept[numpy.argsort(start[kept], kind="stable")]
    gaps = (start[by_start][1:] - numpy.maximum.accumulate(end[by_start])[:-1]) // DAY
    if idle := int(gaps[gaps >= LONG_GAP].sum()):
        notes["day without a run, in stretches of a week or more: a file may be missing"] += idle
    if still := int((open_end & (columns["state"] == CODES["running"]))[kept].sum()):
        notes["still running when recorded: counted until then"] += still
    waiting = numpy.frombuffer(ledger.waiting, dtype="Q")
    never = numpy.setdiff1d(waiting, key)
    removed[records.NEVER_STARTED] += len(never)
    # Earlier records of a job that ran later, or that never ran, say nothing more.
    removed[records.DUPLICATE] += len(waiting) - len(never)
    every = numpy.unique(numpy.concatenate([key, waiting, numpy.frombuffer(ledger.known, dtype="Q")]))
    own = {name: columns[name][kept] for name in ("gpus", "nodes", "group", "state")}
    amounts = columns["read"][kept], columns["written"][kept]
    clock = columns["start"][kept]  # steps have the time that the clock showed
    read, written, orphans = _bytes_of(ledger, key[kept], clock, own["group"], *amounts, every, notes)
    removed[records.NO_PARENT] += orphans
    by_start = numpy.argsort(start[kept], kind="stable")
    kept, read, written = kept[by_start], read[by_start], written[by_start]
    own = {name: column[by_start] for name, column in own.items()}
    return Runs(
        key=key[kept], start=start[kept], end=end[kept], seconds=seconds[kept], read=read, written=written,
        groups=tuple(ledger.groups), removed=Counter(dict(sorted((+removed).items()))),
        notes=Counter(dict(sorted(notes.items()))),
        kinds=Counter(dict(sorted(ledger.kinds.items()))), local=ledger.local, **own,
    )  # fmt: skip


def _named_alike(groups: Iterable[Group], group: Array, *told: Array) -> None:
    """Raises IngestError: files name the jobs of Slurm in several ways, and tell of the same runs."""
    ways = [one.named_by for one in groups]
    names = sorted({*ways} - {""})
    if len(names) < 2:
        return
    way = numpy.array([names.index(one) if one else -1 for one in ways])[group]
    order = numpy.lexsort((way, *told))
    order = order[(way[order] >= 0) & (told[-1][order] > 0)]
    same = numpy.all([column[order][1:] == column[order][:-1] for column in told], axis=0)
    if twice := int((same & (way[order][1:] != way[order][:-1])).sum()):
        raise IngestError(
            f"--from: {twice:,} runs are in files that name jobs by {' and by '.join(names)}, expected the same columns in all"
        )


def true_times(start: Array, end: Array, elapsed: Array) -> tuple[Array, Array, int, int]:
    """Times of a local clock as times that pass evenly; how many changes of the clock were found; how many times are unclear.

    Runs across a change show it: from start to end the clock passes an hour more or less than the time that elapsed.
    """
    known = (start >= 0) & (end >= 0) & (elapsed >= 0)
    differs = end - start - elapsed
    moved_on, moved_back = (known & (abs(differs - sign * HOUR) <= SLACK) for sign in (1, -1))
    # A clock that is set back shows an hour twice; one that moves on leaves it out. Times below are those of the clock.
    changes = sorted(
        [(at, -1) for at in _changes(start[moved_back], end[moved_back] + HOUR)]
        + [(at, 1) for at in _changes(start[moved_on] + HOUR, end[moved_on])]
    )
    found_start, found_end, unclear = start.copy(), end.copy(), numpy.zeros(len(start), bool)
    for at, sign in changes:
        if sign > 0:
            # From `at` on the clock is an hour ahead of what has passed.
            found_start -= HOUR * ((start >= at) & (start >= 0))
            found_end -= HOUR * ((end >= at) & (end >= 0))
            continue
        first = at - HOUR  # the clock shows the times from `first` to `at` twice
        late_start, late_end = start >= at, end >= at
        twice_start, twice_end = (start >= first) & (start < at), (end >= first) & (end < at)
        # The elapsed time says which of both: an end in the second pass of a start before it, and the other way round.
        late_end |= twice_end & known & (abs(differs + HOUR) <= SLACK)
        late_start |= twice_start & late_end & known & (abs(differs) <= SLACK) & ~twice_end
        unclear |= twice_start & twice_end & (abs(differs) <= SLACK)
        found_start += HOUR * (late_start & (start >= 0))
        found_end += HOUR * (late_end & (end >= 0))
    # Runs that no change explains ended when their time had elapsed.
    alone = (moved_on | moved_back) & (abs(found_end - found_start - elapsed) > SLACK)
    found_end = numpy.where(alone, found_start + elapsed, found_end)
    return found_start, found_end, len(changes) + int(alone.sum()), int(unclear.sum())


def _changes(low: Array, high: Array) -> list[int]:
    """The times of changes of one kind that most runs between a low and a high time show, at most one in a year."""
    places = sorted(_places(low, high), key=lambda one: -one[1])
    found: list[int] = []
    for at, count in places:
        near = sum(others for other, others in places if abs(other - at) < YEAR)
        if 2 * count > near and all(abs(other - at) >= YEAR for other in found):
            found.append(at)
    return found


def _places(low: Array, high: Array) -> list[tuple[int, int]]:
    """The fewest clock times such that one lies between the low and the high time of each run, with the runs of each.

    It is a full hour where one fits.
    """
    found: list[tuple[int, int]] = []
    order = numpy.argsort(high, kind="stable")
    spans = [*zip(low[order].tolist(), high[order].tolist(), strict=True)]
    while spans:
        first = spans[0][1]
        stabbed = [one for one in spans if one[0] <= first]
        bottom, top = max(one[0] for one in stabbed), first
        hour = top // HOUR * HOUR
        found.append((hour if hour >= bottom else top, len(stabbed)))
        spans = [one for one in spans if one[0] > first]
    return found


def _bytes_of(
    ledger: Ledger, key: Array, start: Array, group: Array, read: Array, written: Array, every: Array, notes: Counter[str]
) -> tuple[Array, Array, int]:
    """Bytes of each run from its own record, its steps and other sources; and the steps whose job is not in the history."""
    read, written = (numpy.where(believed(amount), amount, NAN) for amount in (read, written))
    steps = _once({name: numpy.frombuffer(column, dtype=column.typecode) for name, column in ledger.steps.items()})
    orphans = int(len(steps["key"]) - numpy.isin(steps["key"], every).sum())
    if not len(key):
        return read, written, orphans
    moves = [(numpy.arange(len(key)), key, steps["key"], steps["start"], steps["read"], steps["written"])]
    if ledger.transfers:
        # Other sources know the number of a job alone: of one that several clusters have, whose bytes they are is unknown.
        names = [one.cluster or one.server for one in ledger.groups]
        clusters = numpy.array([digest(name) if name else 0 for name in names], "Q")[group]
        numbers = key - clusters
        order = numpy.lexsort((start, clusters, numbers))
        again = numbers[order][1:] == numbers[order][:-1]
        several = numbers[order][1:][again & (clusters[order][1:] != clusters[order][:-1])]
        moved = numpy.array([*ledger.transfers.values()])
        keys = numpy.fromiter((one for one, _ in ledger.transfers), dtype="Q", count=len(moved))
        told = numpy.isin(keys, numbers) & ~numpy.isin(keys, several)
        if not told.all():
            notes["job with bytes from elsewhere that no run has, or those of several clusters"] += len({*keys[~told].tolist()})
        until = numpy.full(int(told.sum()), numpy.iinfo("q").max)
        moves.append((order, numbers, keys[told], until, moved[told, 0], moved[told, 1]))
    for order, number, keys, starts, *amounts in moves:
        for column, amount in zip((read, written), amounts, strict=True):
            counted = believed(amount)
            place = _last_tries(number[order], start[order], keys[counted], starts[counted])
            found = place >= 0
            place = order[place]
            sums = numpy.bincount(place[found], amount[counted][found], len(key))
            hit = numpy.bincount(place[found], minlength=len(key)) > 0
            column[hit] = numpy.nan_to_num(column[hit]) + sums[hit]
    return read, written, orphans


def believed(amount: Array) -> Array:
    """Whether bytes are a count: one below zero or beyond all storage is a counter that ran over."""
    found: Array = (amount >= 0) & (amount < LARGEST)
    return found


def _once(steps: Mapping[str, Array]) -> Mapping[str, Array]:
    """Each step once, with the most bytes that were recorded of it."""
    order = numpy.lexsort((steps["start"], steps["name"], steps["key"]))
    if not len(order):
        return steps
    own = {name: column[order] for name, column in steps.items()}
    same = numpy.all([own[name][1:] == own[name][:-1] for name in ("key", "name", "start")], axis=0)
    first = numpy.flatnonzero(numpy.append(True, ~same))
    most = {name: numpy.fmax.reduceat(own[name], first) for name in ("read", "written")}
    return {**{name: own[name][first] for name in ("key", "start")}, **most}


def _last_tries(key: Array, start: Array, keys: Array, starts: Array) -> Array:
    """The place of the last try of a job that had started by a time; `key` and `start` are sorted; -1 for none."""
    low, high = numpy.searchsorted(key, keys, "left"), numpy.searchsorted(key, keys, "right")
    place = high - 1
    tries = high - low > 1
    for at in numpy.flatnonzero(tries):
        place[at] = low[at] + max(int(numpy.searchsorted(start[low[at] : high[at]], starts[at], "right")) - 1, 0)
    return numpy.where(high > low, place, -1)


class Profile(NamedTuple):
    """A level over time: it holds from a time until the next; the last one is the end of the history."""

    times: Array
    levels: Array

    @property
    def peak(self) -> float:
        """The highest level."""
        return float(self.levels.max(initial=0))

    @property
    def total(self) -> float:
        """The sum of level times time."""
        return float((self.levels * numpy.diff(self.times)).sum())

    @property
    def mean(self) -> float:
        """The mean over time."""
        length = self.times[-1] - self.times[0] if len(self.times) else 0
        return self.total / length if length else 0.0

    def quantile(self, share: float) -> float:
        """The level that is not exceeded for that share of the time."""
        return self.quantiles(share)[0]

    def quantiles(self, *shares: float) -> list[float]:
        """The levels that are not exceeded for these shares of the time."""
        return weighted_quantiles(self.levels, numpy.diff(self.times), *shares)

    def integral(self, at: Array) -> Array:
        """Level times time from the beginning until some times."""
        summed = numpy.append(0, numpy.cumsum(self.levels * numpy.diff(self.times), dtype=float))
        found: Array = numpy.interp(at, self.times, summed)
        return found

    def means(self, edges: Array) -> Array:
        """The mean level between successive times."""
        found: Array = numpy.diff(self.integral(edges)) / numpy.diff(edges)
        return found

    def peaks(self, edges: Array) -> Array:
        """The highest level between successive times."""
        first = numpy.clip(numpy.searchsorted(self.times, edges[:-1], "right") - 1, 0, len(self.levels) - 1)
        last = numpy.clip(numpy.searchsorted(self.times, edges[1:], "left"), first + 1, len(self.levels))
        bounds = numpy.append(self.levels, 0)
        pairs = numpy.column_stack([first, last]).ravel()
        found: Array = numpy.maximum.reduceat(bounds, pairs)[::2]
        return found


def window_of(start: Array, end: Array) -> tuple[int, int]:
    """The first start and the last end; a moment where there are none."""
    return (int(start.min()), int(end.max())) if len(start) else (0, 0)


def profile(start: Array, end: Array, amount: Array, window: tuple[int, int] | None = None) -> Profile:
    """The sum of amounts over time, each from its start until its end in seconds, half-open; sums of whole numbers are exact.

    The `window` is the time that counts where it is longer than that of these runs.
    """
    begin, finish = window or window_of(start, end)
    times = numpy.concatenate([start, end, [begin, finish]])
    changes = numpy.concatenate([amount, -amount, numpy.zeros(2, amount.dtype)])
    order = numpy.argsort(times, kind="stable")
    times, changes = times[order], changes[order]
    last = numpy.append(times[1:] != times[:-1], True)
    return Profile(times[last], numpy.cumsum(changes)[last][:-1])


def weighted_quantiles(values: Array, weights: Array, *shares: float) -> list[float]:
    """For each share the smallest value such that values up to it have that share of the weight."""
    if not len(values) or not weights.sum():
        return [0.0 for _ in shares]
    order = numpy.argsort(values)
    summed = numpy.cumsum(weights[order], dtype=float)
    places = numpy.searchsorted(summed, numpy.array(shares) * summed[-1] * (1 - 1e-12), "left")
    return [float(values[order[min(int(place), len(order) - 1)]]) for place in places]


def starts_per_minute(start: Array, window: tuple[int, int]) -> tuple[float, float]:
    """Starts in a minute: the number that 99 % of the minutes do not exceed, and the highest."""
    if not len(start):
        return 0.0, 0.0
    _, counts = numpy.unique(start // 60, return_counts=True)
    minutes = max(window[1] // 60 - window[0] // 60 + 1, len(counts))
    values, weights = numpy.append(counts, 0), numpy.append(numpy.ones(len(counts)), minutes - len(counts))
    return weighted_quantiles(values, weights, 0.99)[0], float(counts.max())


def week_by_hour(found: Profile) -> Array:
    """The mean level in each hour of the week, Monday first: seven rows of 24; not a number for an hour that never passed."""
    begin, finish = int(found.times[0]), int(found.times[-1])
    edges = numpy.arange(begin // HOUR * HOUR, finish + HOUR, HOUR)
    if len(edges) < 2:
        return numpy.full((7, 24), numpy.nan)
    inside = numpy.clip(edges, begin, finish)
    sums, lengths = numpy.diff(found.integral(inside)), numpy.diff(inside)
    hours = (edges[:-1] - MONDAY) // HOUR % (7 * 24)
    total, time = (numpy.bincount(hours, weights, 7 * 24) for weights in (sums, lengths))
    with numpy.errstate(invalid="ignore"):
        found_mean: Array = (total / time).reshape(7, 24)
    return found_mean
