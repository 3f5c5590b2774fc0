"""`ingest goodput`: the share of a training run that is progress, simulated and in closed form, by write bandwidth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, option_error
from ingest.engine.registry import solve
from ingest.engine.result import Answer, Deferred
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity, assumed
from ingest.errors import IngestError
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.checkpoint_schedule import replanned
from ingest.sizing.job import Settings, Written, by_user, quantities_of, settings_of
from ingest.sizing.run_simulation import Interrupts, Restart, Schedule, Shares, percentiles, simulated
from ingest.units import display, parse

#: Runs of a simulation, seconds of each, and its seed.
USUAL_RUNS, USUAL_SEED = 200, 0
#: Write bandwidths in the table, as multiples of the chosen one; each is twice the one before.
AROUND = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: The knee: a bandwidth whose doubling gains less than this share of the time.
KNEE = 0.005
#: option -> the quantity that it sets
QUANTITIES = {
    "duration": "training_seconds",
    "runs": "simulated_runs",
    "seed": "simulation_seed",
    "spares": "spare_nodes",
    "repair_time": "repair_seconds",
    "near_recovery": "near_recovery_share",
    "near_restore_time": "near_restore_seconds",
    "restore_bandwidth": "restore_bandwidth",
    "shared_reads": "other_jobs_read_bandwidth",
}
#: What a simulation needs of a schedule, and the closed form with it.
SCHEDULE = (
    "checkpoint_bytes",
    "checkpoint_interval",
    "checkpoint_write_bandwidth",
    "checkpoint_dump_seconds",
    "checkpoint_staging_seconds",
    "stopped_share",
    "persistent_every",
    "job_mean_time_to_interrupt",
    "restart_read_bytes",
    "restart_seconds",
    "reschedule_seconds",
)
#: The results that are simulated: the field of `Shares` of each.
SIMULATED = {
    "goodput": "goodput",
    "lost_work_fraction": "lost_work",
    "checkpoint_stall_fraction": "stall",
    "drain_slowdown_fraction": "slowdown",
    "restart_fraction": "restart",
}
#: The results that follow from formulas, in order, after the goodput.
FOLLOWING = (
    "goodput_closed_form",
    "job_mean_time_to_interrupt",
    "checkpoint_interval",
    "checkpoint_write_bandwidth",
    "checkpoint_dump_seconds",
    "checkpoint_staging_seconds",
    "restart_seconds",
    "reschedule_seconds",
)
DURATION = Input(54 * 86_400, source="llama3-herd", where="sec. 3.3.4: 54 days", grade="published")
REPAIR = assumed(86_400, "a failed node is available again after a day", "repair_time")


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


class Simulation(NamedTuple):
    """What one simulation of a schedule needs besides the schedule."""

    interrupts: Interrupts
    near_share: float
    near_restore: float
    spares: int | None
    repair: float
    duration: float
    runs: int
    seed: int

    def of(self, known: Quantities) -> Shares:
        """Simulate the schedule of these quantities."""
        interval, staging, dump, stopped, every = map(known.value, _TIMES)
        restart = Restart(
            known.value("reschedule_seconds"),
            known.value("restart_seconds"),
            self.near_share,
            self.near_restore,
            self.spares,
            self.repair,
        )
        schedule = Schedule(interval, staging, dump, stopped, int(every))
        return simulated(schedule, self.interrupts, restart, duration=self.duration, runs=self.runs, seed=self.seed)


_TIMES = (
    "checkpoint_interval",
    "checkpoint_staging_seconds",
    "checkpoint_dump_seconds",
    "stopped_share",
    "persistent_every",
)


def goodput(
    model: str | None = None,
    *,
    duration: Written | None = None,
    runs: Written | None = None,
    seed: Written | None = None,
    mixture: str | None = None,
    spares: Written | None = None,
    repair_time: Written | None = None,
    near_recovery: Written | None = None,
    near_restore_time: Written | None = None,
    restore_bandwidth: Written | None = None,
    shared_reads: Written | None = None,
    set: Settings = None,
    catalogs: Sequence[str | Path] | Catalog = (),
    **options: Any,
) -> GoodputAnswer:
    """Simulate a training run with its interrupts: which share of the time is progress.

    Args:
        model: catalog id, `config.json` or YAML file; may be left out with `set={"parameters": N}`.
        duration: duration of each run; 54 days by default.
        runs: simulated runs; 200 by default.
        seed: of the random interrupts; 0 by default.
        mixture: times between interrupts as a mixture of exponential distributions, such as `0.75=4h,0.25=10min`: the share of
            the interrupts and their mean time; their mean replaces `--mtti`.
        spares: spare nodes that replace failed ones; as many as it takes by default.
        repair_time: time until a failed node is available again, with `--spares`; a day by default.
        near_recovery: share of the interrupts after which host memory or NVMe of the nodes still holds the newest checkpoint;
            0 by default.
        near_restore_time: time to restore from there; that of the copy into host memory by default.
        restore_bandwidth: read bandwidth of the storage for a restore; replaces `--restart-time`.
        shared_reads: reads of other jobs from this storage, which `--write-bandwidth` and `--restore-bandwidth` then share.
        set: values of quantities, by name.
        catalogs: folders with entries of your own, or an open catalog.
        options: of `checkpoint`.

    >>> found = goodput("llama3-405b", gpus=16384, mode="async", interval="15 min", runs=20)
    >>> round(found.results["goodput_closed_form"].value, 3)
    0.851

    Raises:
        UsageError: an option is out of range, unknown or contradicts another one.
        IngestError: an input is missing; names what to supply.
    """
    written = {
        "duration": duration,
        "runs": runs,
        "seed": seed,
        "spares": spares,
        "repair_time": repair_time,
        "near_recovery": near_recovery,
        "near_restore_time": near_restore_time,
        "restore_bandwidth": restore_bandwidth,
        "shared_reads": shared_reads,
    }
    numbers = quantities_of(QUANTITIES, written)
    settings = settings_of(set)
    interrupts = _mixed(mixture)
    if interrupts is not None and options.get("mtti") is not None:
        raise option_error("mixture", ": found with --mtti, expected one of them: both set the mean time to interrupt")
    mean: dict[str, Any] = {} if interrupts is None else {"mtti": interrupts.mean}
    # Only retention depends on the end of a run; elsewhere `checkpoint` would call the duration unused.
    mean |= {"duration": duration} if "every" in str(options.get("keep")) else {}
    shared = _shared(numbers, options.get("write_bandwidth"))
    own = {name: value for name, value in settings.items() if name not in QUANTITIES.values()}
    sized = checkpoint(model, set=own, catalogs=catalogs, **{**options, **mean, **shared})
    known = _schedule(sized.known, numbers, settings)
    simulation = _simulation(known, interrupts)
    shares = simulation.of(known)
    where = f"{simulation.runs:,} runs of {display(simulation.duration, 's', binary=False)}, seed {simulation.seed}"
    results = _simulated(known, shares, where)
    following, unknown = known.results(FOLLOWING)
    warnings = [*sized.warnings, *_warnings(interrupts, simulation)]
    mode = str(sized.chosen["mode"]["value"])
    return GoodputAnswer(
        "goodput",
        f"{sized.title.replace('Checkpoints', 'Goodput', 1)}; {where}",
        {**sized.chosen, **({"mixture": {"value": mixture, "from": "user"}} if mixture else {})},
        known,
        {**results, **following},
        unknown,
        Deferred(lambda: {"bandwidths": _bandwidths(sized.known, known, simulation, mode)}),
        tuple(warnings),
        sized.catalog,
        sized.unmet,
    )


def _mixed(written: str | None) -> Interrupts | None:
    """The distributions of `--mixture`; None without it.

    Raises:
        UsageError: not a list of shares and times, or shares that do not sum to 1.
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


def _shared(numbers: Mapping[str, float], bought: Written | None) -> dict[str, float]:
    """The write bandwidth that reads of other jobs leave; empty without them.

    Raises:
        UsageError: no bandwidth is given, or the reads take all of it.
    """
    reads = numbers.get("other_jobs_read_bandwidth", 0.0)
    if not reads:
        return {}
    if bought is None:
        raise option_error("shared_reads", ": found without --write-bandwidth, expected the bandwidth that reads share")
    left = _left(float(parse(bought, "B/s", "--write-bandwidth")), reads)
    return {"write_bandwidth": left}


def _left(bought: float, reads: float) -> float:
    left = float(solve("bandwidth_beside_reads", {"bought_bandwidth": bought, "other_jobs_read_bandwidth": reads}))
    if left <= 0:
        found, most = (display(rate, "B/s", binary=False) for rate in (reads, bought))
        raise option_error("shared_reads", f": found {found}, expected less than the {most} that they share")
    return left


def _schedule(sized: Quantities, numbers: Mapping[str, float], settings: Mapping[str, float]) -> Quantities:
    """The schedule of the checkpoints with the quantities of a simulation.

    Raises:
        IngestError: the mean time to interrupt is not known.
    """
    if sized.find("job_mean_time_to_interrupt") is None:
        raise IngestError(Message("the mean time to interrupt is not known, expected GPUs or a time", supply=("gpus", "mtti")))
    reads = numbers.get("other_jobs_read_bandwidth", 0.0)
    own = {name: value for name, value in numbers.items() if name != "restore_bandwidth"}
    if "restore_bandwidth" in numbers:
        if sized.given["restart_seconds"].origin == "user":
            raise option_error("restore_bandwidth", ": found with --restart-time, expected one of them: both set the restore")
        own["restore_bandwidth"] = _left(numbers["restore_bandwidth"], reads)
    given = {
        **{name: item for name, item in sized.given.items() if name != "restart_seconds" or "restore_bandwidth" not in own},
        **by_user({**{name: value for name, value in settings.items() if name in QUANTITIES.values()}, **own}),
    }
    known = Quantities(given)
    steps = {name: sized.find(name) for name in SCHEDULE if name not in known.given}
    known.adopt({name: step for name, step in steps.items() if step is not None and name != "restart_seconds"})
    if "restore_bandwidth" in own:
        known.choose("restart_seconds", "restore_seconds")
    known.give_default("training_seconds", DURATION.by_default("54 days, as Llama 3 405B", "duration"))
    known.give_default("simulated_runs", Input(USUAL_RUNS).by_default("runs of the simulation", "runs"))
    known.give_default("simulation_seed", Input(USUAL_SEED).by_default("seed of the simulation", "seed"))
    known.give_default("near_recovery_share", Input(0).by_default("every interrupt takes the near tier", "near_recovery"))
    if "spare_nodes" in known.given:
        known.give_default("repair_seconds", REPAIR)
    known.choose("near_restore_seconds", "checkpoint_staging_seconds")
    return known


def _simulation(known: Quantities, interrupts: Interrupts | None) -> Simulation:
    pool = "spare_nodes" in known.given
    return Simulation(
        interrupts or Interrupts((1.0,), (known.value("job_mean_time_to_interrupt"),)),
        known.value("near_recovery_share"),
        known.value("near_restore_seconds"),
        int(known.value("spare_nodes")) if pool else None,
        known.value("repair_seconds") if pool else 0.0,
        known.value("training_seconds"),
        int(known.value("simulated_runs")),
        int(known.value("simulation_seed")),
    )


def _simulated(known: Quantities, shares: Shares, where: str) -> dict[str, Quantity]:
    """Give the simulated shares as quantities: the mean of all runs, P10 and P90."""
    results = {}
    for name, field in SIMULATED.items():
        runs = getattr(shares, field)
        mean, (low, high) = float(runs.mean()), percentiles(runs)
        known.give({name: Input(mean, low, high, "simulated", "ingest-run-simulation", where, "derived")})
        results[name] = Quantity(mean, "1", low, high)
    return results


def _bandwidths(sized: Quantities, known: Quantities, simulation: Simulation, mode: str) -> list[dict[str, Any]]:
    """Goodput by write bandwidth, the restores as they are, and the gain of each further GB/s.

    The chosen bandwidth has a mark, and the knee: the first bandwidth whose doubling gains less than `KNEE`.
    """
    rate = known.value("checkpoint_write_bandwidth")
    rows = [_bandwidth_row(sized, known, simulation, mode, rate * factor) for factor in AROUND]
    knee = knee_of([row["goodput"] for row in rows])
    gains = [_gain(less, more, known) for less, more in pairwise(rows)]
    gains.append(dict.fromkeys(gains[0], ""))
    marks = [("chosen",) if factor == 1 else () for factor in AROUND]
    return [
        {**row, **gain, "mark": ", ".join((*mark, *(("knee",) if at == knee else ())))}
        for at, (row, gain, mark) in enumerate(zip(rows, gains, marks, strict=True))
    ]


def closed_course(sized: Quantities, mode: str) -> list[dict[str, Any]]:
    """Goodput in closed form by write bandwidth, as the table of `goodput` has it, for a chart.

    Args:
        sized: the quantities of `checkpoint`.
        mode: `sync` or `async`.

    Raises:
        MissingQuantity: the mean time to interrupt is unknown.
    """
    rate = sized.value("checkpoint_write_bandwidth")
    found = []
    for factor in AROUND:
        planned = replanned(sized, mode, write_bandwidth=rate * factor)
        found.append({"write_bandwidth": rate * factor, "goodput": planned.value("goodput_closed_form")})
    gains = [_gain(less, more, sized) for less, more in pairwise(found)]
    return [{**row, **gain} for row, gain in zip(found, [*gains, {}], strict=True)]


def knee_of(goodputs: Sequence[float]) -> int | None:
    """The first of several bandwidths, each twice the one before, whose doubling gains less than `KNEE`.

    >>> knee_of([0.80, 0.89, 0.894, 0.896]), knee_of([0.5, 0.7])
    (1, None)
    """
    return next((at for at in range(len(goodputs) - 1) if goodputs[at + 1] - goodputs[at] < KNEE), None)


def _bandwidth_row(sized: Quantities, known: Quantities, simulation: Simulation, mode: str, rate: float) -> dict[str, Any]:
    planned = replanned(sized, mode, write_bandwidth=rate)
    here = Quantities({name: item for name, item in known.given.items() if name not in SIMULATED})
    steps = {name: planned.find(name) for name in SCHEDULE if name not in here.given and name != "restart_seconds"}
    here.adopt({name: step for name, step in steps.items() if step is not None})
    if "restart_seconds" not in here.given:
        here.adopt({"restart_seconds": known.step("restart_seconds")})
    return {
        "write_bandwidth": rate,
        "checkpoint_interval": here.value("checkpoint_interval"),
        "goodput": float(simulation.of(here).goodput.mean()),
        "goodput_closed_form": here.value("goodput_closed_form"),
    }


def _gain(less: Mapping[str, Any], more: Mapping[str, Any], known: Quantities) -> dict[str, Any]:
    """What one more GB/s gains between two bandwidths: share of the time, and GPUs where their number is known."""
    step = {"goodput_before": less["goodput"], "goodput_after": more["goodput"], "doubled_bandwidth": less["write_bandwidth"]}
    share = float(solve("goodput_gain_share", step))
    gpus = known.find("gpus")
    gained = (
        {} if gpus is None else {"gpus_gained": float(solve("gpus_gained", {"goodput_gain_share": share, "gpus": gpus.value}))}
    )
    return {"goodput_gain_share": share, **gained}


def _warnings(interrupts: Interrupts | None, simulation: Simulation) -> list[Message]:
    """What the closed form leaves out of this simulation."""
    beyond = [
        ("a mixture of interrupts", interrupts is not None and len(interrupts.means) > 1),
        ("the near tier", simulation.near_share > 0),
        ("the wait for spare nodes", simulation.spares is not None),
    ]
    left = [words for words, holds in beyond if holds]
    return [Message(f"the closed form leaves out {', '.join(left)}")] if left else []
