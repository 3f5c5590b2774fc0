"""`ingest goodput`: the share of a training run that is progress, simulated and in closed form, by write bandwidth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, TypedDict, Unpack

from ingest.engine.messages import Message, option_error
from ingest.engine.question import Question, filled, option, quantities_in, shown
from ingest.engine.ranges import Tree
from ingest.engine.registry import solve
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed
from ingest.errors import IngestError
from ingest.sizing.checkpoint import CheckpointOptions, KeptOptions, TierOptions, checkpoint
from ingest.sizing.checkpoint_schedule import replanned
from ingest.sizing.job import SIZED_MODEL, CommonOptions, Written, by_user, quantities_of, settings_of
from ingest.sizing.run_simulation import Interrupts, Restart, Schedule, Shares, percentiles, simulated
from ingest.units import display, parse

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
DEFAULTS = {
    "training_seconds": Input(54 * 86_400, source="llama3-herd", where="sec. 3.3.4: 54 days", grade="published").by_default(
        "54 days, as Llama 3 405B", "duration"
    ),
    "simulated_runs": Input(200).by_default("runs of the simulation", "runs"),
    "simulation_seed": Input(0).by_default("seed of the simulation", "seed"),
    "near_recovery_share": Input(0).by_default("every interrupt takes the near tier", "near_recovery"),
    "repair_seconds": assumed(86_400, "a failed node is available again after a day", "repair_time"),
}


class RunOptions(TypedDict, total=False):
    """The runs that are simulated, and what follows an interrupt."""

    duration: Annotated[
        Written | None,
        option("Duration of each run; {default} by default.", "TIME", quantity="training_seconds", usual=DEFAULTS),
    ]
    runs: Annotated[Written | None, option("Simulated runs; {default} by default.", quantity="simulated_runs", usual=DEFAULTS)]
    seed: Annotated[
        Written | None, option("Of the random interrupts; {default} by default.", quantity="simulation_seed", usual=DEFAULTS)
    ]
    mixture: Annotated[str | None, option(
        "Times between interrupts as a mixture of exponential distributions, such as 0.75=4h,0.25=10min: the share of the "
        "interrupts and their mean time; their mean replaces --mtti.", "SHARE=TIME,…")]  # fmt: skip
    spares: Annotated[
        Written | None, option("Spare nodes that replace failed ones; as many as it takes by default.", quantity="spare_nodes")
    ]
    repair_time: Annotated[Written | None, option(
        "Time until a failed node is available again, with --spares; {default} by default.", "TIME", quantity="repair_seconds",
        usual=DEFAULTS)]  # fmt: skip
    near_recovery: Annotated[Written | None, option(
        "Share of the interrupts after which host memory or NVMe of the nodes still holds the newest checkpoint; "
        "{default} by default.", "F", quantity="near_recovery_share", usual=DEFAULTS)]  # fmt: skip
    near_restore_time: Annotated[Written | None, option(
        "Time to restore from there; that of the copy into host memory by default.", "TIME",
        quantity="near_restore_seconds")]  # fmt: skip
    restore_bandwidth: Annotated[
        Written | None,
        option("Read bandwidth of the storage for a restore; replaces --restart-time.", "RATE", quantity="restore_bandwidth"),
    ]
    shared_reads: Annotated[Written | None, option(
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
        *SIMULATED, "goodput_closed_form", "job_mean_time_to_interrupt", "checkpoint_interval", "checkpoint_write_bandwidth",
        "checkpoint_dump_seconds", "checkpoint_staging_seconds", "restart_seconds", "reschedule_seconds",
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
    saving = {name: asked[name] for name in filled(CheckpointOptions, {}, "checkpoint")}
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
    shares, *ends = (_simulated(each, interrupts) for each in (known, *_at_ends(known)))
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


def _at_ends(known: Quantities) -> list[Quantities]:
    """The run where its inputs are at the ends of their ranges that make the goodput smallest, and largest.

    What one does not know of interrupts, restarts and drains moves the goodput more than chance does.
    """
    tree = Tree(known.steps_of("goodput_closed_form", *OF_RUN))
    found = []
    for corner in tree.corners("goodput_closed_form"):
        values = {name: Input(tree.value(name, corner)) for name in OF_RUN}
        found.append(Quantities({**known.given, **values}))
    return found


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
