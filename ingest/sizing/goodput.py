"""`ingest goodput`: the share of a training run that is progress, simulated and in closed form, by write bandwidth.

The simulation is a recurrence over the segments between interrupts, for all runs at once. Between two interrupts nothing is
random: after a restart the job computes, stages and drains in a fixed course. So the course is built once; each segment looks
up how far it came and which checkpoint was complete, and no event queue is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ingest.engine.messages import Message, option_error
from ingest.engine.question import Question, defaults_in, filled, option, quantities_in, shown
from ingest.engine.ranges import Tree
from ingest.engine.registry import solve
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, defaults_of
from ingest.errors import IngestError, UsageError
from ingest.files import table_beside
from ingest.sizing.checkpoint import CheckpointOptions, KeptOptions, TierOptions, checkpoint
from ingest.sizing.checkpoint_schedule import replanned
from ingest.sizing.job import SIZED_MODEL, Amount, CommonOptions, by_user, quantities_of, settings_of
from ingest.units import display, parse

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


#: Write bandwidths in the table, as multiples of the chosen one; each is twice the one before.
AROUND = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: The knee: a bandwidth whose doubling gains less than this share of the time.
KNEE = 0.005
#: What is simulated of the schedule of a run.
PLANNED = ("checkpoint_interval", "checkpoint_dump_seconds", "checkpoint_staging_seconds", "stopped_share",
           "job_mean_time_to_interrupt", "restart_seconds", "reschedule_seconds")  # fmt: skip
#: What a simulation needs of a schedule, and the closed form with it; what is simulated, where what is not known of it moves.
SCHEDULE = (*PLANNED, "checkpoint_bytes", "checkpoint_write_bandwidth", "persistent_every", "restart_read_bytes")
OF_RUN = (*PLANNED, "near_restore_seconds")
#: The results that are simulated: the field of `Shares` of each.
SIMULATED = {
    "goodput": "goodput",
    "lost_work_fraction": "lost_work",
    "checkpoint_stall_fraction": "stall",
    "drain_slowdown_fraction": "slowdown",
    "restart_fraction": "restart",
}
#: Figures that hold until the user sets them, by quantity.
DEFAULTS = defaults_of(table_beside(__file__, "goodput.csv")["goodput"])


class RunOptions(TypedDict, total=False):
    """The runs that are simulated, and what follows an interrupt."""

    duration: Annotated[
        Amount,
        option("Duration of each run; {default} by default.", "TIME", quantity="training_seconds", usual=DEFAULTS),
    ]
    runs: Annotated[Amount, option("Simulated runs; {default} by default.", quantity="simulated_runs", usual=DEFAULTS)]
    seed: Annotated[
        Amount, option("Of the random interrupts; {default} by default.", quantity="simulation_seed", usual=DEFAULTS)
    ]
    mixture: Annotated[str | None, option(
        "Times between interrupts as a mixture of exponential distributions, such as 0.75=4h,0.25=10min: the share of the "
        "interrupts and their mean time; their mean replaces --mtti.", "SHARE=TIME,…")]  # fmt: skip
    spares: Annotated[
        Amount, option("Spare nodes that replace failed ones; as many as it takes by default.", quantity="spare_nodes")
    ]
    repair_time: Annotated[Amount, option(
        "Time until a failed node is available again, with --spares; {default} by default.", "TIME", quantity="repair_seconds",
        usual=DEFAULTS)]  # fmt: skip
    near_recovery: Annotated[Amount, option(
        "Share of the interrupts after which host memory or NVMe of the nodes still holds the newest checkpoint; "
        "{default} by default.", "F", quantity="near_recovery_share", usual=DEFAULTS)]  # fmt: skip
    near_restore_time: Annotated[Amount, option(
        "Time to restore from there; that of the copy into host memory by default.", "TIME",
        quantity="near_restore_seconds")]  # fmt: skip
    restore_bandwidth: Annotated[
        Amount,
        option("Read bandwidth of the storage for a restore; replaces --restart-time.", "RATE", quantity="restore_bandwidth"),
    ]
    shared_reads: Annotated[Amount, option(
        "Reads of other jobs from this storage, which --write-bandwidth and --restore-bandwidth then share.", "RATE",
        quantity="other_jobs_read_bandwidth")]  # fmt: skip


class GoodputOptions(RunOptions, CommonOptions, KeptOptions, TierOptions, total=False):
    """The options of `goodput`: its own, and those of `checkpoint`."""


#: option -> the quantity of a run that it sets
QUANTITIES = quantities_in(RunOptions)
#: What `goodput` answers.
QUESTION = Question(
    "goodput",
    shown(
        *SIMULATED, "goodput_closed_form", "checkpoint_overhead", "job_mean_time_to_interrupt", "checkpoint_interval",
        "checkpoint_write_bandwidth", "checkpoint_dump_seconds", "checkpoint_staging_seconds", "restart_seconds",
        "reschedule_seconds",
    ),
    (("Reaches", {"goodput": "{} goodput", "lost_work_fraction": "{} lost work", "restart_fraction": "{} restarts"}),),
)  # fmt: skip


class GoodputAnswer(Answer):
    """The result of `goodput`: simulated shares are results, not inputs."""

    @cached_property
    def used(self) -> Mapping[str, Input]:
        """The given quantities that the results and the simulation rest on."""
        simulation = {name: self.given[name] for name in QUANTITIES.values() if name in self.given}
        return {**super().used, **simulation}

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs and their origins, without what was simulated."""
        return {name: item for name, item in super().inputs.items() if name not in SIMULATED}


def goodput(model: Annotated[str | None, SIZED_MODEL] = None, **options: Unpack[GoodputOptions]) -> GoodputAnswer:
    """Simulate a training run with its interrupts: which share of the time is progress.

    >>> found = goodput("llama3-405b", gpus=16384, mode="async", interval="15 min", runs=20)
    >>> round(found.results["goodput_closed_form"].value, 3)
    0.851

    Raises UsageError: an option is out of range, unknown or contradicts another one; IngestError: an input is missing; names
    what to supply.
    """
    asked: dict[str, Any] = {**filled(GoodputOptions, options, "goodput")}
    numbers, settings = quantities_of(QUANTITIES, {name: asked[name] for name in QUANTITIES}), settings_of(asked["set"])
    mixture = asked["mixture"]
    interrupts = _mixed(mixture)
    saving = {name: asked[name] for name in defaults_in(CheckpointOptions)}
    saving["set"] = {name: value for name, value in settings.items() if name not in QUANTITIES.values()}
    if "every" not in str(asked["keep"]):
        # Only retention depends on the end of a run; elsewhere `checkpoint` would call the duration unused.
        saving["duration"] = None
    if interrupts is not None:
        if asked["mtti"] is not None:
            raise option_error("mixture", ": found with --mtti, expected one of them: both set the mean time to interrupt")
        saving["mtti"] = interrupts.mean
    reads = numbers.get("other_jobs_read_bandwidth", 0.0)
    if reads:
        bought = asked["write_bandwidth"]
        if bought is None:
            raise option_error("shared_reads", ": found without --write-bandwidth, expected the bandwidth that reads share")
        saving["write_bandwidth"] = _left(float(parse(bought, "B/s", "--write-bandwidth")), reads)
    sized = checkpoint(model, **saving)
    known = _schedule(sized.known, numbers, settings)
    runs, seed = int(known.value("simulated_runs")), int(known.value("simulation_seed"))
    where = f"{runs:,} runs of {display(known.value('training_seconds'), 's', binary=False)}, seed {seed}"
    # What one does not know of interrupts, restarts and drains moves the goodput more than chance does: inputs at the ends of
    # their ranges that make it smallest, and largest.
    tree = Tree(known.steps_of("goodput_closed_form", *OF_RUN))
    corners = ({name: Input(tree.value(name, corner)) for name in OF_RUN} for corner in tree.corners("goodput_closed_form"))
    ended = [Quantities({**known.given, **values}) for values in corners]
    shares, *ends = (_simulated(each, interrupts) for each in (known, *ended))
    results = {}
    for name, field in SIMULATED.items():
        # The mean of all runs; from the least P10 to the largest P90 of typical inputs and of those at their ends.
        each = getattr(shares, field)
        lows, highs = zip(percentiles(each), *(percentiles(getattr(end, field)) for end in ends), strict=True)
        mean, low, high = float(each.mean()), min(lows), max(highs)
        known.give({name: Input(mean, low, high, "simulated", "ingest-run-simulation", where, "derived")})
        results[name] = Quantity(mean, "1", low, high)
    following, unknown = known.results([name for name in QUESTION.names if name not in SIMULATED])
    beyond = [
        ("a mixture of interrupts", interrupts is not None and len(interrupts.means) > 1),
        ("the near tier", known.value("near_recovery_share") > 0),
        ("the wait for spare nodes", "spare_nodes" in known.given),
    ]
    left = [words for words, holds in beyond if holds]
    mode = str(sized.chosen["mode"]["value"])
    return GoodputAnswer(
        QUESTION,
        f"{sized.title.replace('Checkpoints', 'Goodput', 1)}; {where}",
        {**sized.chosen, **({"mixture": {"value": mixture, "from": "user"}} if mixture else {})},
        known,
        {**results, **following},
        unknown,
        Deferred(lambda: {"bandwidths": _bandwidths(sized.known, known, interrupts, mode)}),
        (*sized.warnings, *([Message(f"the closed form leaves out {', '.join(left)}")] if left else [])),
        sized.catalog,
        sized.unmet,
    )


def _mixed(written: str | None) -> Interrupts | None:
    """The distributions of `--mixture`; None without it.

    Raises UsageError: not a list of shares and times, or shares that do not sum to 1.
    """
    if written is None:
        return None
    shares, means = [], []
    for part in written.split(","):
        share, equals, time = part.partition("=")
        if not equals:
            raise option_error("mixture", f": found '{part}', expected SHARE=TIME, such as 0.75=4h,0.25=10min")
        shares.append(float(parse(share, "1", "--mixture")))
        means.append(float(parse(time, "s", "--mixture")))
    if min(shares) <= 0 or min(means) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise option_error("mixture", f": found shares that sum to {sum(shares):g}, expected shares and times above 0, sum 1")
    return Interrupts(tuple(shares), tuple(means))


def _left(bought: float, reads: float) -> float:
    """The bandwidth that reads of other jobs leave. Raises UsageError: they take all of it."""
    left = float(solve("bandwidth_beside_reads", {"bought_bandwidth": bought, "other_jobs_read_bandwidth": reads}))
    if left <= 0:
        found, most = (display(rate, "B/s", binary=False) for rate in (reads, bought))
        raise option_error("shared_reads", f": found {found}, expected less than the {most} that they share")
    return left


def _schedule(sized: Quantities, numbers: Mapping[str, float], settings: Mapping[str, float]) -> Quantities:
    """The schedule of the checkpoints with the quantities of a simulation.

    Raises IngestError: the mean time to interrupt is not known.
    """
    if sized.find("job_mean_time_to_interrupt") is None:
        raise IngestError(Message("the mean time to interrupt is not known, expected GPUs or a time", supply=("gpus", "mtti")))
    given = {**sized.given, **by_user({name: value for name, value in settings.items() if name in QUANTITIES.values()})}
    given |= by_user(numbers)
    if "restore_bandwidth" in numbers:
        if sized.given["restart_seconds"].origin == "user":
            raise option_error("restore_bandwidth", ": found with --restart-time, expected one of them: both set the restore")
        left = _left(numbers["restore_bandwidth"], numbers.get("other_jobs_read_bandwidth", 0.0))
        given |= by_user({"restore_bandwidth": left})
        del given["restart_seconds"]
    for name, item in DEFAULTS.items():
        if name != "repair_seconds" or "spare_nodes" in given:
            given.setdefault(name, item)
    known = Quantities(given)
    known.state("runs_simulated")
    if "restore_bandwidth" in numbers:
        known.state("restore_bandwidth_bought")
    known.adopt(sized.find_all(tuple(name for name in SCHEDULE if name not in given and name != "restart_seconds")))
    return known


def _simulated(known: Quantities, interrupts: Interrupts | None) -> Shares:
    """Simulate the schedule of these quantities."""
    interval, dump, staging, stopped, interrupt, restore, reschedule = map(known.value, PLANNED)
    share, near = map(known.value, ("near_recovery_share", "near_restore_seconds"))
    pool = (int(known.value("spare_nodes")), known.value("repair_seconds")) if "spare_nodes" in known.given else ()
    return simulated(
        Schedule(interval, staging, dump, stopped, int(known.value("persistent_every"))),
        interrupts or Interrupts((1.0,), (interrupt,)),
        Restart(reschedule, restore, share, near, *pool),
        duration=known.value("training_seconds"),
        runs=int(known.value("simulated_runs")),
        seed=int(known.value("simulation_seed")),
    )


def _bandwidths(sized: Quantities, known: Quantities, interrupts: Interrupts | None, mode: str) -> list[dict[str, Any]]:
    """Goodput by write bandwidth, the restores as they are, and the gain of each further GB/s.

    The chosen bandwidth has a mark, and the knee: the first bandwidth whose doubling gains less than `KNEE`.
    """
    given = {name: item for name, item in known.given.items() if name not in SIMULATED}
    rows = []
    for factor in AROUND:
        rate = known.value("checkpoint_write_bandwidth") * factor
        planned, here = replanned(sized, mode, write_bandwidth=rate), Quantities(given)
        here.state("runs_simulated")
        steps = {name: (known if name == "restart_seconds" else planned).find(name) for name in SCHEDULE if name not in given}
        here.adopt({name: step for name, step in steps.items() if step is not None})
        simulated = {"goodput": float(_simulated(here, interrupts).goodput.mean())}
        interval, closed = (here.values_of(name) for name in ("checkpoint_interval", "goodput_closed_form"))
        rows.append({"write_bandwidth": rate, **interval, **simulated, **closed})
    knee = knee_of([row["goodput"] for row in rows])
    gained = _with_gains(rows, known)
    gained[-1] |= {name: "" for name in gained[0] if name not in gained[-1]}
    for at, row in enumerate(gained):
        marks = (("chosen", AROUND[at] == 1), ("knee", at == knee))
        row["mark"] = ", ".join(mark for mark, holds in marks if holds)
    return gained


def closed_course(sized: Quantities, mode: str) -> list[dict[str, Any]]:
    """Goodput in closed form by write bandwidth, as the table of `goodput` has it, for a chart; `sized` by `checkpoint`.

    Raises MissingQuantity: the mean time to interrupt is unknown.
    """
    found = []
    for factor in AROUND:
        rate = sized.value("checkpoint_write_bandwidth") * factor
        closed = replanned(sized, mode, write_bandwidth=rate).value("goodput_closed_form")
        found.append({"write_bandwidth": rate, "goodput": closed})
    return _with_gains(found, sized)


def knee_of(goodputs: Sequence[float]) -> int | None:
    """The first of several bandwidths, each twice the one before, whose doubling gains less than `KNEE`."""
    return next((at for at in range(len(goodputs) - 1) if goodputs[at + 1] - goodputs[at] < KNEE), None)


def _with_gains(rows: Sequence[Mapping[str, Any]], known: Quantities) -> list[dict[str, Any]]:
    """Rows by bandwidth, each but the last with what one more GB/s gains up to the next one.

    The gain is a share of the time, and GPUs where their number is known.
    """
    gpus = known.find("gpus")
    found = []
    for less, more in pairwise(rows):
        step = {"goodput_before": less["goodput"], "goodput_after": more["goodput"]}
        step["doubled_bandwidth"] = less["write_bandwidth"]
        gain = {"goodput_gain_share": float(solve("goodput_gain_share", step))}
        if gpus is not None:
            gain["gpus_gained"] = float(solve("gpus_gained", {**gain, "gpus": gpus.value}))
        found.append({**less, **gain})
    return [*found, {**rows[-1]}]
