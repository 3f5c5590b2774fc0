"""Interval, waste and bandwidth of checkpoints: which of them follows from which, and the table between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.engine.messages import Message
from ingest.engine.registry import solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError, MissingQuantity
from ingest.sizing.rules import applying, finding, refusal
from ingest.units import display

#: The wastes of the table; the knee is set among them.
WASTES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20)
#: Intervals around the chosen one, as multiples of it.
AROUND = tuple(2 ** (step / 4) for step in range(-12, 13))
SYNCHRONOUS, ASYNCHRONOUS = {"mode": "sync"}, {"mode": "async"}
#: Interval, share of the time lost, write bandwidth.
Point = tuple[float, float, float]


def plan_interval(known: Quantities, mode: str, options: Mapping[str, float]) -> tuple[str, list[str]]:
    """Choose the formulas that yield interval, bandwidth and stall.

    Returns:
        A stated requirement that is not met, or nothing; and warnings.

    Raises:
        IngestError: the interval alone costs more than the waste allowed.
    """
    try:
        return _synchronous(known, options) if mode == "sync" else _asynchronous(known, options)
    except MissingQuantity:
        # Neither GPUs nor a mean time to interrupt: sizes are all that can be told.
        return "", []


def _synchronous(known: Quantities, options: Mapping[str, float]) -> tuple[str, list[str]]:
    if "write_bandwidth" in known.given:
        known.give_default("checkpoint_write_bandwidth", known.given["write_bandwidth"])
    elif "checkpoint_interval" in known.given:
        for refused in applying([finding("E01", known.step, SYNCHRONOUS)]):
            lost, allowed = known.value("waste_at_interval") / 2, known.given["waste_allowed"].value
            raise IngestError(refused.message(lost=lost * 100, allowed=allowed * 100))
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
    """The wait for the copy into host memory; without ranks nobody can tell it."""
    try:
        known.value("device_copy_seconds")
    except MissingQuantity:
        note = Message("the copy into host memory is not known without the number of GPUs, and left out", supply=("gpus",))
        known.give({"device_copy_seconds": Input(0, origin="default", note=note)})


def _too_wasteful(rule: str, known: Quantities, words: Mapping[str, str], options: Mapping[str, float]) -> str:
    """Say so where the time lost exceeds the share that the user stated."""
    if "waste_allowed" not in options:
        return ""
    lost = "synchronous_waste" if words == SYNCHRONOUS else "asynchronous_waste"
    return refusal(finding(rule, {lost: known.step(lost), "waste_allowed": options["waste_allowed"]}, words))


def interval_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Interval, waste and the bandwidth that it takes; marked are the knee, and what was asked."""
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
    """One waste: the longest interval that keeps to it, and the bandwidth that this takes."""
    if mode == "async":
        return _at_interval({**given, "checkpoint_interval": float(solve("interval_for_waste", given))}, mark)
    rate = solve("bandwidth_for_waste", given)
    interval = solve("daly_interval", {**given, "checkpoint_write_bandwidth": rate})
    waste = given["waste_allowed"]
    return {"checkpoint_interval": interval, "waste": waste, "checkpoint_write_bandwidth": rate, "mark": mark}


def _at_interval(given: Mapping[str, float], mark: str) -> dict[str, Any]:
    """One asynchronous interval: what it wastes, copies included, and the bandwidth that drains it in time."""
    rate = solve("drain_bandwidth", given)
    waste = solve("asynchronous_waste", {**given, "checkpoint_write_bandwidth": rate})
    found = {"checkpoint_interval": given["checkpoint_interval"], "waste": waste}
    return {**found, "checkpoint_write_bandwidth": rate, "mark": mark}


def interval_course(known: Quantities, mode: str) -> tuple[Point, list[Point], str]:
    """The chosen interval, those around it, and what holds along them.

    Synchronously, the share lost is at the bandwidth that is asked for, and the bandwidth keeps to the share that
    is chosen; asynchronously, each interval takes the bandwidth that drains it, and loses what follows from that.

    Raises:
        MissingQuantity: neither GPUs nor a mean time to interrupt are known.
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
    found = [_held_to({**fixed, "checkpoint_interval": interval}) for interval in around]
    how = (
        f"upper line: at {display(rate, 'B/s', binary=False)}; lower line: to lose no more than {waste * 100:.3g} % of the time"
    )
    return (at, waste, rate), [point for point in found if point is not None], how


def _held_to(given: Mapping[str, float]) -> Point | None:
    """The share lost at the bandwidth given, and the bandwidth for the share given; None where no bandwidth would do."""
    if solve("waste_left_for_dumps", given) <= 0:
        return None
    lost = float(solve("synchronous_waste", given))
    return given["checkpoint_interval"], lost, float(solve("bandwidth_for_interval", given))


def tier_table(known: Quantities, mode: str) -> dict[str, list[dict[str, Any]]]:
    """Where an asynchronous checkpoint passes through: host memory, the node's NVMe, shared storage."""
    if mode != "async":
        return {}
    names = ("tier", "persistent_every", "bytes_per_node", "checkpoint_write_bandwidth", "note")
    rows = (
        ("host memory", "", "checkpoint_bytes_per_node_max", "device_copy_bandwidth", "the GPUs wait for this copy"),
        ("NVMe of the nodes", "", "checkpoint_bytes_per_node_max", "node_tier_bandwidth", "survives a process, not a node"),
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
