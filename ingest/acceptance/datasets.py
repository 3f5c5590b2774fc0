"""The data sets that tests read: one for all tests of a tool, within the capacity of the system under test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ingest.acceptance.loads import (
    FILES_PER_THREAD,
    NotTestable,
    Setting,
    TestData,
    folders_of,
    given_for,
    is_binding,
    kind_of,
    loads_of,
)
from ingest.acceptance.test_spec import DATA, Load
from ingest.catalog.records import Node
from ingest.catalog.store import opened
from ingest.engine.expression import Num
from ingest.engine.messages import Message
from ingest.engine.registry import INPUTS, solve
from ingest.engine.value import Input
from ingest.requirement import Requirement
from ingest.site.plan_file import Folders
from ingest.sizing.rules import applying, finding
from ingest.units import display

USUAL_FILL = 0.8
#: Lines of capacity, by the end of their metrics.
TO_BUY, HELD = "capacity_to_buy", "usable_bytes"


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


def with_capacity(setting: Setting, lines: Sequence[Requirement]) -> Setting:
    """The setting, with the files and the capacity of the planned system.

    The capacity to buy counts at the lowest fill level of the tests; a plan that names only the data held has no more room.
    """
    fills = [line.conditions.fill for line in lines if line.conditions.fill]
    to_buy = _capacity(lines, TO_BUY)
    usable, fill = (to_buy, min(fills, default=USUAL_FILL)) if to_buy else (_capacity(lines, HELD), 1)
    return replace(setting, most_files=files_held(lines), usable=usable, fill=fill)


def server_cache_of(setting: Setting, lines: Sequence[Requirement]) -> Input:
    """The read cache of servers with the highest mandatory bandwidth of a plan and its capacity; assumed."""
    rates = [line.value for line in lines if kind_of(line) in (*DATA, "mixed") and line.priority == "mandatory"]
    given: dict[str, Num] = {name: float(INPUTS[name].default or 0) for name in ("server_cache_seconds", "server_cache_share")}
    why = Message(
        f"the larger of {given['server_cache_seconds']:g} s of the highest mandatory bandwidth and"
        f" {given['server_cache_share']:.1%} of the capacity; ask the vendor for the real one",
        supply=("server_cache",),
    )
    given |= {"required_bandwidth": max(rates, default=0), "acceptance_usable_bytes": setting.usable}
    return Input(float(solve("server_cache_assumed", given)), grade="assumed", note=why)


def with_data(setting: Setting, lines: Sequence[Requirement], tools: Collection[str], at_most: float | None) -> Setting:
    """The setting, with the size of the data sets.

    Args:
        setting: caches, capacity and scale.
        lines: of the plan.
        tools: that fill data sets; IOR needs one for each number of threads.
        at_most: limit for the data sets of a tool, bytes.
    """
    reads = [] if setting.rehearsal else _reads(lines, setting)
    if not reads:
        return setting
    loads = [load for _, found in reads for load in found]
    given = {**given_for(reads[0][0], setting), "server_cache_bytes": setting.server_cache}
    room = {"dataset_bytes_at_most": at_most or given["dataset_bytes_at_most"]}
    if setting.usable:
        room |= {"acceptance_usable_bytes": setting.usable, "fill_under_test": setting.fill}
    else:
        room["capacity_in_use"] = room["dataset_bytes_at_most"]
    threads = {load.threads * load.depth if "ior" in tools else 0 for load in loads}
    sets = {(number, load.files == "shared") for load in loads for number in (threads if load.files != "shared" else {0})}
    own = [load for load in loads if load.files != "shared"]
    data = TestData(
        bytes_per_client=0,
        clients=max(load.clients for load in loads),
        fill_request=max(int(solve("fill_request_bytes", {**given, "aligned_io_bytes": load.io_bytes})) for load in loads),
        files=FILES_PER_THREAD * max((load.threads for load in own), default=1),
        threads=tuple(sorted({load.threads for load in own})),
        sets=len(sets),
        uncached=float(solve("uncached_bytes", given)),
        needed=0,
        room=float(solve("dataset_room", {**given, **room})),
        fill_seconds=None,
        all_bytes=0,
    )
    fewest = min(float(folders_of(load, data)["folders_read"]) for load in loads)
    given |= {"dataset_room": data.room, "dataset_clients": data.clients, "dataset_count": data.sets}
    given |= {"uncached_bytes": data.uncached, "fewest_folders_read": fewest}
    each, enough = (float(solve(name, given)) for name in ("acceptance_dataset_bytes_per_client", "uncached_bytes_per_client"))
    whole, needed = (
        float(solve("all_dataset_bytes", {**given, "acceptance_dataset_bytes_per_client": size})) for size in (each, enough)
    )
    time = _fill_seconds(whole, lines)
    return replace(setting, data=replace(data, bytes_per_client=each, all_bytes=whole, needed=needed, fill_seconds=time))


def _reads(lines: Sequence[Requirement], setting: Setting) -> list[tuple[Requirement, list[Load]]]:
    """The loads of each line's test that read a data set."""
    found = []
    for line in lines:
        with suppress(NotTestable):
            if loads := [load for load in loads_of(line, line.id, setting) if load.operation == "read"]:
                found.append((line, loads))
    return found


def _capacity(lines: Sequence[Requirement], metric: str) -> float:
    """The capacity that the plan requires, bytes; 0 where it requires none."""
    lines = [line for line in lines if line.unit == "B" and "hold" in line.conditions.operation]
    return max((line.value for line in lines if line.metric.endswith(metric)), default=0)


def files_held(lines: Sequence[Requirement]) -> float:
    """The number of files that the plan requires the system to hold; 0 where it requires none."""
    return max((line.value for line in lines if line.unit == "file" and "hold" in line.conditions.operation), default=0)


def required_write_rate(lines: Sequence[Requirement]) -> float:
    """The highest write rate that the plan requires, which has its floor in it; 0 without any."""
    rates = (line.value for line in lines if kind_of(line) == "write" and is_binding(line) and line.unit == "B/s")
    return max(rates, default=0)


def _fill_seconds(whole: float, lines: Sequence[Requirement]) -> float | None:
    """The time to fill the data sets of one tool at the required write rate."""
    rate = required_write_rate(lines)
    return float(solve("fill_seconds", {"all_dataset_bytes": whole, "required_write_bandwidth": rate})) if rate else None


def data_cost(setting: Setting) -> str:
    """What a tool fills, how long that takes, and its share of the capacity; empty where tests read no data set."""
    data = setting.data
    if data is None:
        return ""
    size = display(data.all_bytes, "B", binary=False)
    hours = f", {display(data.fill_seconds, 's')} at the required write rate" if data.fill_seconds else ""
    share = f", {data.all_bytes / setting.usable:.2%} of the capacity" if setting.usable else ""
    return f"each tool fills {size} once, for all of its tests{hours}{share}"


def data_warnings(setting: Setting) -> tuple[str, ...]:
    """Limits of the data sets, for the buyer before a tool fills them."""
    if setting.data is None:
        return ()
    short = finding("W55", {"all_dataset_bytes": setting.data.needed, "dataset_room": setting.data.room})
    return tuple(one.message() for one in applying([short]))
