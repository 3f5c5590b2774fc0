"""Interval, overhead and write bandwidth of checkpoints: which follow from which, and their table."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from ingest.engine.messages import Message, Option
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity, UsageError
from ingest.sizing.rules import Finding, applying, finding, refusal
from ingest.units import display, percent

#: Modes of a checkpoint: GPUs wait for the dump, or for the copy into host memory only.
MODES = ("sync", "async")
#: Training runs published since 2024 save asynchronously.
USUAL_MODE = "async"
#: Intervals in the table, to which the chosen one is added.
MINUTES = (5, 10, 15, 30, 60, 120)
#: Intervals in a chart, as multiples of the chosen one.
AROUND = tuple(2 ** (step / 4) for step in range(-12, 13))
#: What every interval of one job shares.
SHARED = ("checkpoint_bytes", "checkpoint_staging_seconds", "job_mean_time_to_interrupt")
#: What a user sets to size the bandwidth, or has it.
SIZING = ("waste_allowed", "write_bandwidth")
#: Interval, share of the time lost, write bandwidth.
Point = tuple[float, float, float]


def plan_interval(known: Quantities, mode: str) -> tuple[str, list[Message]]:
    """Choose the formulas of interval, bandwidth and stall.

    Returns:
        The given requirement that is not met, or an empty text; and warnings.

    Raises:
        UsageError: the interval or the restores alone exceed the overhead allowed.
    """
    try:
        _schedule(known, mode)
    except MissingQuantity:
        # Without GPUs or a mean time to interrupt only sizes are known.
        return "", []
    slow = refusal(finding("E04", known.step, {"mode": mode})) if _by_rate(known) else ""
    lost = refusal(finding("E02", known.step)) if _stated(known, "waste_allowed") else ""
    stopped = _stopped(known)
    return stopped or slow or lost, [] if stopped else list(_warnings(known, mode))


def _stopped(known: Quantities) -> str:
    """The refusal of a job whose checkpoints and restarts leave no time; empty where it makes progress."""
    for refused in applying([finding("E08", known.step)]):
        mtti, restart = _shown(known, "job_mean_time_to_interrupt"), _shown(known, "restart_seconds", "reschedule_seconds")
        return refused.message(mtti=mtti, restart=restart)
    return ""


def _schedule(known: Quantities, mode: str) -> None:
    """Choose where the quantities of a schedule come from."""
    asynchronous = mode == "async"
    if asynchronous:
        known.choose("stopped_share", "slow_down")
        if known.find("checkpoint_staging_seconds") is None:
            why = "the copy into host memory is left out: it depends on the number of GPUs"
            known.give({"checkpoint_staging_seconds": Input(0).by_default(why, "gpus")})
    else:
        stop = "synchronous: GPUs wait for the dump, and nothing is staged"
        known.give({"stopped_share": Input(1, note=stop), "checkpoint_staging_seconds": Input(0, note=stop)})
    if _by_rate(known):
        known.choose("checkpoint_write_bandwidth", "write_bandwidth")
        by_need = not asynchronous or _stated(known, "waste_allowed")
        if asynchronous:
            _widen_drain(known)
        known.choose("checkpoint_interval", "least_overhead_interval" if by_need else "drained_interval")
        if asynchronous:
            _choose_window(known, capped=_stated(known, "drain_time"))
            known.choose("dump_seconds_allowed", "drain_window")
    elif _by_waste(known, mode):
        _keep_waste(known, asynchronous=asynchronous)
    else:
        known.choose("checkpoint_interval", "practised_interval")
        _choose_window(known, capped=_stated(known, "drain_time") or not _stated(known, "drain_fraction"))
        known.choose("dump_seconds_allowed", "drain_window")
    if not _by_rate(known):
        known.choose("checkpoint_write_bandwidth", "bandwidth_for_dump")
    known.choose("checkpoint_stall_seconds", "checkpoint_staging_seconds" if asynchronous else "checkpoint_dump_seconds")


def _keep_waste(known: Quantities, *, asynchronous: bool) -> None:
    """The interval and the bandwidth that keep the overhead allowed.

    Raises:
        UsageError: none does.
    """
    for refused in applying([finding("E09", known.step)]):
        allowed, restores = (percent(known.value(name)) for name in ("waste_allowed", "restart_waste"))
        mtti, restart = (_shown(known, name) for name in ("job_mean_time_to_interrupt", "restart_seconds"))
        raise UsageError(refused.message(allowed=allowed, mtti=mtti, restart=restart, restores=restores))
    known.choose("checkpoint_interval", "interval_for_waste")
    for refused in applying([finding("E01", known.step)]):
        raise UsageError(_without_room(refused, known))
    if asynchronous:
        _widen_drain(known)
        _choose_window(known, capped=_stated(known, "drain_time"))
    known.choose("dump_seconds_allowed", "drain_window_for_waste" if asynchronous else "dump_seconds_for_waste")


def _without_room(refused: Finding, known: Quantities) -> Message:
    """The refusal of an interval that is too long, or of an overhead that staging and lost work take at any interval."""
    allowed, mtti = percent(known.value("waste_allowed")), _shown(known, "job_mean_time_to_interrupt")
    interval, longest = known.value("checkpoint_interval"), known.value("longest_interval_for_waste")
    found = _shown(known, "checkpoint_interval")
    if interval >= longest:
        why = f"a longer interval loses more than the allowed {allowed} % of the time"
        expected = f"less than {display(longest, 's', binary=False)}"
        return refused.message(Option("interval"), found=found, expected=expected, mtti=mtti, why=why)
    stated = _stated(known, "checkpoint_interval")
    least = known.value("overhead_without_writing" if stated else "least_overhead_without_writing")
    why = f"staging, lost work and restores take that much at {f'an interval of {found}' if stated else 'any interval'}"
    expected = f"more than {percent(least)} %"
    return refused.message(Option("waste"), found=f"{allowed} %", expected=expected, mtti=mtti, why=why)


def _widen_drain(known: Quantities) -> None:
    """Let a checkpoint drain until the next one begins, unless the user sets a window: a stated figure decides instead."""
    if not _stated(known, "drain_fraction"):
        whole = "a drain ends before the next persistent checkpoint"
        known.give({"drain_fraction": Input(1).by_default(whole, "checkpoint.drain_fraction")})


def _choose_window(known: Quantities, *, capped: bool) -> None:
    if not capped:
        known.choose("drain_window", "drain_share_of_interval")


def _stated(known: Quantities, name: str) -> bool:
    return name in known.given and known.given[name].origin == "user"


def _by_rate(known: Quantities) -> bool:
    return "write_bandwidth" in known.given


def _by_waste(known: Quantities, mode: str) -> bool:
    """Whether the overhead allowed sizes the bandwidth: of dumps, and of drains where the user sets it."""
    return is_sized_by_waste(mode, {name for name in SIZING if _stated(known, name)})


def _shown(known: Quantities, *names: str) -> str:
    """Durations as people read them."""
    return " + ".join(display(known.value(name), "s", binary=False) for name in names)


def _warnings(known: Quantities, mode: str) -> Iterator[Message]:
    sized = "" if _by_rate(known) or _by_waste(known, mode) else "as practised"
    for found in applying([finding("W20", known.step, {"mode": mode}), finding("W25", known.step), finding("W44", known.step)]):
        yield found.message()
    for found in applying([finding("W24", known.step, {"sized": sized})]):
        yield found.message(cure=_cure(known, mode))


def _cure(known: Quantities, mode: str) -> str:
    """The schedule that would keep the overhead allowed."""
    try:
        kept = replanned(known, mode, "checkpoint_write_bandwidth", waste_allowed=known.value("waste_allowed"))
    except UsageError:
        return "no write bandwidth meets it"
    rate = display(kept.value("checkpoint_write_bandwidth"), "B/s", binary=False)
    return f"{rate} and an interval of {_shown(kept, 'checkpoint_interval')} meet it"


def replanned(known: Quantities, mode: str, *without: str, **stated: float) -> Quantities:
    """The schedule of the same job with other numbers stated.

    Raises:
        UsageError: no schedule keeps the overhead allowed.
    """
    given = {name: item for name, item in known.given.items() if name not in without}
    found = Quantities({**given, **{name: Input(value, origin="user") for name, value in stated.items()}})
    found.adopt({name: step for name in SHARED if name not in found.given and (step := known.find(name)) is not None})
    _schedule(found, mode)
    return found


def interval_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return intervals with their bandwidth and overhead; each row is what `--interval` would answer."""
    try:
        chosen = _row(known, "asked" if _stated(known, "checkpoint_interval") else "chosen")
    except MissingQuantity:
        return {}
    rows = {float(chosen["checkpoint_interval"]): chosen}
    for minutes in MINUTES:
        try:
            row = _row(replanned(known, mode, checkpoint_interval=minutes * 60.0), "")
        except UsageError:
            # No bandwidth keeps the overhead at this interval.
            continue
        rows.setdefault(float(row["checkpoint_interval"]), row)
    return {"intervals": [row for _, row in sorted(rows.items())]}


def _row(known: Quantities, mark: str) -> dict[str, Any]:
    names = ("checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_overhead", "total_overhead")
    return {**{name: known.value(name) for name in names}, "mark": mark}


def interval_course(known: Quantities, mode: str) -> tuple[Point, list[Point], str]:
    """Return the chosen interval, the intervals around it, and the assumptions along them.

    Synchronous: the share lost at the required bandwidth, and the bandwidth for the chosen share. Asynchronous: each
    interval at the bandwidth that drains it, and the share lost at that bandwidth.

    Raises:
        MissingQuantity: GPUs and mean time to interrupt are unknown.
    """
    at, rate, lost = map(known.value, ("checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_overhead"))
    around = [at * factor for factor in AROUND]
    if mode == "async":
        found = [_asynchronous_point(known, interval) for interval in around]
        kept = "keeps the overhead allowed" if _by_waste(known, mode) else "drains a checkpoint within its window"
        how = f"each interval at the bandwidth that {kept}"
    else:
        found = [_synchronous_point(known, interval, rate, lost) for interval in around]
        how = (
            f"upper line: at {display(rate, 'B/s', binary=False)}; lower line: to lose no more than {lost * 100:.3g} % "
            "of the time"
        )
    return (at, lost, rate), [point for point in found if point is not None], how


def _asynchronous_point(known: Quantities, interval: float) -> Point | None:
    try:
        one = replanned(known, "async", checkpoint_interval=interval)
    except UsageError:
        return None
    return interval, one.value("checkpoint_overhead"), one.value("checkpoint_write_bandwidth")


def _synchronous_point(known: Quantities, interval: float, rate: float, lost: float) -> Point | None:
    """The share lost at the bandwidth given, and the bandwidth for the share given; None if no bandwidth suffices."""
    by_rate = replanned(known, "sync", checkpoint_interval=interval, write_bandwidth=rate)
    try:
        by_share = replanned(known, "sync", "write_bandwidth", checkpoint_interval=interval, waste_allowed=lost)
    except UsageError:
        return None
    return interval, by_rate.value("checkpoint_overhead"), by_share.value("checkpoint_write_bandwidth")


def tier_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tiers of an asynchronous checkpoint: host memory, NVMe of the node, shared storage."""
    if mode != "async":
        return {}
    names = ("tier", "persistent_every", "bytes_per_node", "checkpoint_write_bandwidth", "note")
    size, every, rate = "checkpoint_bytes_per_node_max", "persistent_every", "checkpoint_write_bandwidth"
    rows = (
        ("host memory", "", size, "staging_bandwidth", "the GPUs wait for this copy"),
        ("NVMe of the nodes", "", size, "node_tier_bandwidth", "survives a process failure only"),
        ("shared storage", every, "checkpoint_bytes_per_node", rate, "survives everything"),
    )
    try:
        found = [
            (tier, known.value(every) if every else 1.0, known.value(size), known.value(rate), note)
            for tier, every, size, rate, note in rows
        ]
    except MissingQuantity:
        return {}
    return {"tiers": [dict(zip(names, row, strict=True)) for row in found]}


def is_sized_by_waste(mode: str, stated: Container[str]) -> bool:
    """Whether the overhead allowed sizes the bandwidth, from what a policy states.

    >>> is_sized_by_waste("sync", {}), is_sized_by_waste("async", {}), is_sized_by_waste("sync", {"write_bandwidth": 1})
    (True, False, False)
    """
    waste, rate = SIZING
    return rate not in stated and (mode == "sync" or waste in stated)
