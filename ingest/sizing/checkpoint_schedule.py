"""Interval, overhead and write bandwidth of checkpoints: which follow from which, and their table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.engine.registry import solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import MissingQuantity, UsageError
from ingest.sizing.rules import applying, finding, refusal
from ingest.units import display

#: Overheads in the table, to which the knee is added.
WASTES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20)
#: Intervals in a chart, as multiples of the chosen one.
AROUND = tuple(2 ** (step / 4) for step in range(-12, 13))
SYNCHRONOUS, ASYNCHRONOUS = {"mode": "sync"}, {"mode": "async"}
#: Interval, share of the time lost, write bandwidth.
Point = tuple[float, float, float]


def plan_interval(known: Quantities, mode: str, options: Mapping[str, float]) -> tuple[str, list[str]]:
    """Choose the formulas of interval, bandwidth and stall.

    Returns:
        The given requirement that is not met, or an empty text; and warnings.

    Raises:
        UsageError: the interval alone exceeds the overhead allowed.
    """
    try:
        return _synchronous(known, options) if mode == "sync" else _asynchronous(known, options)
    except MissingQuantity:
        # Without GPUs or a mean time to interrupt only sizes are known.
        return "", []


def _synchronous(known: Quantities, options: Mapping[str, float]) -> tuple[str, list[str]]:
    if "write_bandwidth" in known.given:
        known.give_default("checkpoint_write_bandwidth", known.given["write_bandwidth"])
    elif "checkpoint_interval" in known.given:
        for refused in applying([finding("E01", known.step, SYNCHRONOUS)]):
            interval, mtti, allowed = map(known.value, ("checkpoint_interval", "job_mean_time_to_interrupt", "waste_allowed"))
            times = {"interval": interval, "longest": 2 * allowed * mtti, "mtti": mtti}
            shown: dict[str, Any] = {name: display(seconds, "s") for name, seconds in times.items()}
            raise UsageError(refused.message(**shown, allowed=allowed * 100))
        known.choose("checkpoint_write_bandwidth", "bandwidth_for_interval")
    else:
        known.choose("checkpoint_write_bandwidth", "bandwidth_for_waste")
    known.choose("checkpoint_stall_seconds", "checkpoint_dump_seconds")
    known.choose("checkpoint_interval", "daly_interval")
    slow = applying([finding("W20", known.step, SYNCHRONOUS)])
    return _too_wasteful("E02", known, SYNCHRONOUS, options), [one.message() for one in slow]


def _asynchronous(known: Quantities, options: Mapping[str, float]) -> tuple[str, list[str]]:
    given = known.given
    _copy(known)
    if "checkpoint_interval" not in given:
        by_waste = "waste_allowed" in options or "write_bandwidth" not in given
        known.choose("checkpoint_interval", "interval_for_waste" if by_waste else "drain_limited_interval")
    known.choose("checkpoint_write_bandwidth", "drain_bandwidth")
    slow = refusal(finding("E04", known.step, ASYNCHRONOUS)) if "write_bandwidth" in given else ""
    known.choose("checkpoint_stall_seconds", "device_copy_seconds")
    return slow or _too_wasteful("E03", known, ASYNCHRONOUS, options), []


def _copy(known: Quantities) -> None:
    """The wait for the copy into host memory; unknown without ranks."""
    if known.find("device_copy_seconds") is None:
        why = "the copy into host memory is left out: it depends on the number of GPUs"
        known.give({"device_copy_seconds": Input(0).by_default(why, "gpus")})


def _too_wasteful(rule: str, known: Quantities, words: Mapping[str, str], options: Mapping[str, float]) -> str:
    """The refusal if the time lost exceeds the share that the user set; empty otherwise."""
    if "waste_allowed" not in options:
        return ""
    lost = "synchronous_waste" if words == SYNCHRONOUS else "asynchronous_waste"
    return refusal(finding(rule, {lost: known.step(lost), "waste_allowed": options["waste_allowed"]}, words))


def interval_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return intervals with their overhead and bandwidth; marks the knee and the requested point."""
    names = ["checkpoint_bytes", "job_mean_time_to_interrupt", "drain_fraction", "persistent_every"]
    try:
        shared = {name: known.value(name) for name in [*names, *(["device_copy_seconds"] if mode == "async" else [])]}
    except MissingQuantity:
        return {}
    marks: dict[float, str] = dict.fromkeys(WASTES, "")
    marks[known.value("knee_waste_synchronous" if mode == "sync" else "knee_waste_asynchronous")] = "knee"
    interval = known.given["checkpoint_interval"].value if "checkpoint_interval" in known.given else None
    if interval is None and "waste_allowed" in known.given:
        marks[known.given["waste_allowed"].value] = "asked"
    elif interval is not None and mode == "sync":
        marks[float(solve("waste_at_interval", {**shared, "checkpoint_interval": interval}))] = "asked"
    rows = [_row({**shared, "waste_allowed": waste}, mark, mode) for waste, mark in sorted(marks.items())]
    if interval is not None and mode == "async":
        rows.append(_at_interval({**shared, "checkpoint_interval": interval}, "asked"))
    return {"intervals": sorted(rows, key=lambda row: float(row["checkpoint_interval"]))}


def _row(given: Mapping[str, float], mark: str, mode: str) -> dict[str, Any]:
    """The longest interval for an overhead, and the bandwidth that it takes."""
    if mode == "async":
        return _at_interval({**given, "checkpoint_interval": float(solve("interval_for_waste", given))}, mark)
    rate = solve("bandwidth_for_waste", given)
    interval = solve("daly_interval", {**given, "checkpoint_write_bandwidth": rate})
    waste = given["waste_allowed"]
    return {"checkpoint_interval": interval, "waste": waste, "checkpoint_write_bandwidth": rate, "mark": mark}


def _at_interval(given: Mapping[str, float], mark: str) -> dict[str, Any]:
    """An asynchronous interval: its overhead with copies, and the bandwidth that drains it in time."""
    rate = solve("drain_bandwidth", given)
    waste = solve("asynchronous_waste", {**given, "checkpoint_write_bandwidth": rate})
    found = {"checkpoint_interval": given["checkpoint_interval"], "waste": waste}
    return {**found, "checkpoint_write_bandwidth": rate, "mark": mark}


def interval_course(known: Quantities, mode: str) -> tuple[Point, list[Point], str]:
    """Return the chosen interval, the intervals around it, and the assumptions along them.

    Synchronous: the share lost at the required bandwidth, and the bandwidth for the chosen share. Asynchronous: each
    interval at the bandwidth that drains it, and the share lost at that bandwidth.

    Raises:
        MissingQuantity: GPUs and mean time to interrupt are unknown.
    """
    names = ("checkpoint_bytes", "job_mean_time_to_interrupt", "drain_fraction", "persistent_every")
    shared = {name: known.value(name) for name in names}
    at, rate = known.value("checkpoint_interval"), known.value("checkpoint_write_bandwidth")
    waste = known.value("synchronous_waste" if mode == "sync" else "asynchronous_waste")
    around = [at * factor for factor in AROUND]
    if mode == "async":
        shared["device_copy_seconds"] = known.value("device_copy_seconds")
        rows = [_at_interval({**shared, "checkpoint_interval": interval}, "") for interval in around]
        points = [(row["checkpoint_interval"], row["waste"], row["checkpoint_write_bandwidth"]) for row in rows]
        return (at, waste, rate), points, "each interval at the bandwidth that drains a checkpoint before the next one"
    fixed = {**shared, "checkpoint_write_bandwidth": rate, "waste_allowed": waste}
    found = [_around({**fixed, "checkpoint_interval": interval}) for interval in around]
    how = (
        f"upper line: at {display(rate, 'B/s', binary=False)}; lower line: to lose no more than {waste * 100:.3g} % of the time"
    )
    return (at, waste, rate), [point for point in found if point is not None], how


def _around(given: Mapping[str, float]) -> Point | None:
    """The share lost at the bandwidth given, and the bandwidth for the share given; None if no bandwidth suffices."""
    if solve("waste_left_for_dumps", given) <= 0:
        return None
    lost = float(solve("synchronous_waste", given))
    return given["checkpoint_interval"], lost, float(solve("bandwidth_for_interval", given))


def tier_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tiers of an asynchronous checkpoint: host memory, NVMe of the node, shared storage."""
    if mode != "async":
        return {}
    names = ("tier", "persistent_every", "bytes_per_node", "checkpoint_write_bandwidth", "note")
    rows = (
        ("host memory", "", "checkpoint_bytes_per_node_max", "device_copy_bandwidth", "the GPUs wait for this copy"),
        ("NVMe of the nodes", "", "checkpoint_bytes_per_node_max", "node_tier_bandwidth", "survives a process failure only"),
        ("shared storage", "persistent_every", "checkpoint_bytes_per_node", "drain_bandwidth", "survives everything"),
    )
    try:
        found = [
            (tier, known.value(every) if every else 1.0, known.value(size), known.value(rate), note)
            for tier, every, size, rate, note in rows
        ]
    except MissingQuantity:
        return {}
    return {"tiers": [dict(zip(names, row, strict=True)) for row in found]}
