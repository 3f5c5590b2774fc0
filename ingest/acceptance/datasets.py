"""The data sets that tests read: one for all tests of a tool, within the capacity of the system under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ingest.acceptance.loads import Setting, TestData, given_for, kind_of
from ingest.catalog.records import Node
from ingest.catalog.store import opened
from ingest.engine.expression import Num
from ingest.engine.messages import Message
from ingest.engine.registry import solve
from ingest.engine.value import Input
from ingest.requirement import Requirement
from ingest.site.plan_file import Folders
from ingest.units import display, physical

USUAL_FILL = 0.8


def memory_of(plan: Mapping[str, Any], catalogs: Folders) -> Input:
    """The memory of the largest node type of a planned site; assumed where the plan names no node type."""
    names = {row["node"] for row in plan.get("tables", {}).get("clusters", ())}
    found = [(node.host_memory_bytes, node.id) for node in (opened(catalogs).get(Node, name) for name in sorted(names))]
    known = [(value, ident) for value, ident in found if value is not None]
    if not known:
        why = Message("the plan names no node type; large GPU nodes have this much", supply=("client_memory",))
        return Input(Setting.client_memory, grade="assumed", note=why)
    value, ident = max(known, key=lambda pair: pair[0].value)
    whose = f"main memory of a {ident} ({value.source}), the plan's largest node type"
    return Input(value.value, grade=value.grade, note=whose)


def with_data(setting: Setting, lines: Sequence[Requirement], at_most: float | None) -> Setting:
    """The setting, with the size of the data sets.

    Args:
        setting: memory and scale.
        lines: of the plan.
        at_most: limit for the data sets of a tool, bytes.
    """
    readers = [line for line in lines if kind_of(line) == "read" and line.conditions.clients and line.value > 0]
    if not readers or setting.rehearsal:
        return setting
    clients = max(line.conditions.clients or 1 for line in readers)
    given = given_for(max(readers, key=lambda line: line.conditions.clients or 1), setting)
    sets = {(given_for(line, setting)["threads_per_client"], "shared" in line.conditions.files) for line in readers}
    room = _room(lines, at_most) | {"dataset_count": len(sets), "clients_under_test": clients}
    each = float(solve("dataset_bytes_that_fit", given | room))
    whole = float(solve("all_dataset_bytes", {**room, "acceptance_dataset_bytes_per_client": each}))
    fill_request = max(int(solve("fill_request_bytes", given_for(line, setting))) for line in readers)
    data = TestData(
        bytes_per_client=each,
        clients=clients,
        fill_request=fill_request,
        sets=len(sets),
        over_memory=float(solve("data_over_memory", {**given, "dataset_bytes_that_fit": each})),
        capped=each < solve("acceptance_dataset_bytes_per_client", given),
        fill_seconds=_fill_seconds(whole, lines),
        all_bytes=whole,
    )
    return replace(setting, data=data)


def _room(lines: Sequence[Requirement], at_most: float | None) -> dict[str, Num]:
    """Required capacity and fill level; unbounded where the plan requires no capacity."""
    capacity = usable_bytes(lines)
    fills = [line.conditions.fill for line in lines if line.conditions.fill]
    room: dict[str, Num] = {"acceptance_usable_bytes": capacity or 1e30, "fill_under_test": min(fills, default=USUAL_FILL)}
    return room | {"dataset_bytes_at_most": at_most or 1e30}


def usable_bytes(lines: Sequence[Requirement]) -> float:
    """The data held that the plan requires, bytes; 0 where it requires none."""
    lines = [line for line in lines if line.unit == "B" and "hold" in line.conditions.operation]
    return max((line.value for line in lines if line.metric.endswith("usable_bytes")), default=0)


def files_held(lines: Sequence[Requirement]) -> float:
    """The number of files that the plan requires the system to hold; 0 where it requires none."""
    return max((line.value for line in lines if line.unit == "file" and "hold" in line.conditions.operation), default=0)


def _fill_seconds(whole: float, lines: Sequence[Requirement]) -> float | None:
    rates = [line.value for line in lines if kind_of(line) == "write" and physical(line.unit) == "B/s" and line.value > 0]
    if not rates:
        return None
    return float(solve("fill_seconds", {"all_dataset_bytes": whole, "required_write_bandwidth": max(rates)}))


def data_warnings(setting: Setting, lines: Sequence[Requirement]) -> tuple[str, ...]:
    """Cost and limits of the data sets, for the buyer before a tool fills them."""
    data = setting.data
    if data is None:
        return ()
    size = display(data.all_bytes, "B")
    hours = f", {data.fill_seconds / 3600:,.0f} h at the required write rate" if data.fill_seconds else ""
    capacity = usable_bytes(lines)
    share = f", {data.all_bytes / capacity:.0%} of the required capacity" if capacity else ""
    filled = Message(f"each tool fills {size} once, for all of its tests{hours}{share}", supply=("tool", "most_data"))
    capped = (
        f"the data set is {data.over_memory:.2g} times the clients' memory instead of five times, for lack of capacity. Direct"
        " I/O, reading by other clients than wrote, and DROP_CACHES before each run exclude client caches"
    )
    return (filled, capped) if data.capped else (filled,)
