"""What an acceptance takes: the data sets that tests read, within the capacity of the system under test, and its time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from ingest.acceptance.judgement import FEWEST_RUNS, MOST_RUNS
from ingest.acceptance.loads import (
    FILES_PER_THREAD,
    NotTestable,
    Setting,
    TestData,
    folders_of,
    given_for,
    kind_of,
    loads_of,
    usual_inputs,
)
from ingest.acceptance.test_spec import DATA, AcceptanceTest, Load
from ingest.catalog.records import WITHOUT_GPUS, Node
from ingest.catalog.store import opened
from ingest.engine.expression import Num, total
from ingest.engine.messages import Message
from ingest.engine.registry import INPUTS, solve
from ingest.engine.value import Input
from ingest.requirement import INFORMATION, Requirement
from ingest.site.plan_file import Folders
from ingest.units import display, scale_of

USUAL_FILL = 0.8
#: Lines of capacity, by the end of their metrics.
TO_BUY, HELD = "capacity_to_buy", "usable_bytes"


def memory_of(plan: Mapping[str, Any], catalogs: Folders) -> Input:
    """The memory of the largest node type of a planned site; assumed where the plan names no node type."""
    names = {row["node"] for row in plan.get("tables", {}).get("clusters", ())} - {WITHOUT_GPUS}
    found = [(node.host_memory_bytes, node.id) for node in (opened(catalogs).get(Node, name) for name in sorted(names))]
    known = [(value, ident) for value, ident in found if value is not None]
    if not known:
        why = Message("the plan names no node type; large GPU nodes have this much", supply=("client_memory",))
        return Input(Setting.client_memory, grade="assumed", note=why)
    value, ident = max(known, key=lambda pair: pair[0].value)
    whose = f"main memory of a {ident} ({value.source}), the plan's largest node type"
    return Input(value.value, grade=value.grade, note=whose)


def network_of(plan: Mapping[str, Any], catalogs: Folders) -> float | None:
    """The bandwidth of the storage NICs of the node type with the fastest ones; None where those of one are unknown."""
    names = {row["node"] for row in plan.get("tables", {}).get("clusters", ())}
    nodes = [] if WITHOUT_GPUS in names else [opened(catalogs).get(Node, name) for name in names]
    known = [node.storage_nic_bandwidth.value for node in nodes if node.storage_nic_bandwidth is not None]
    return max(known) if known and len(known) == len(nodes) else None


def with_capacity(setting: Setting, lines: Sequence[Requirement]) -> Setting:
    """The setting, with the files and the capacity of the planned system.

    The capacity to buy counts at the lowest fill level of the tests; a plan that names only the data held has no more room.
    """
    held = [line for line in lines if "hold" in line.conditions.operation]
    files = max((line.value for line in held if line.unit == "file"), default=0)
    to_buy, data = (
        max((line.value for line in held if line.unit == "B" and line.metric.endswith(metric)), default=0)
        for metric in (TO_BUY, HELD)
    )
    fills = [line.conditions.fill for line in lines if line.conditions.fill]
    usable, fill = (to_buy, min(fills, default=USUAL_FILL)) if to_buy else (data, 1)
    return replace(setting, most_files=files, usable=usable, fill=fill)


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
    """The setting, with the size of the data sets, which fill at most so many bytes.

    IOR needs a data set for each number of threads; the other tools need one.
    """
    reading: list[tuple[Requirement, Load]] = []
    for line in () if setting.rehearsal else lines:
        with suppress(NotTestable):
            reading += [(line, load) for load in loads_of(line, line.id, setting) if load.on_data]
    if not reading:
        return setting
    loads = [load for _, load in reading]
    given = {**given_for(reading[0][0], setting), "server_cache_bytes": setting.server_cache}
    room = {"dataset_bytes_at_most": at_most or given["dataset_bytes_at_most"]}
    if setting.usable:
        room |= {"acceptance_usable_bytes": setting.usable, "fill_under_test": setting.fill}
    else:
        room["capacity_in_use"] = room["dataset_bytes_at_most"]
    own = sorted({load.threads for load in loads if load.files != "shared"})
    # One of files of their own, or with IOR one for each number of its processes; and one of shared files.
    sets = len({load.threads * load.depth if "ior" in tools else None for load in loads}) if own else 0
    sets += any(load.files == "shared" for load in loads)
    clients, files = max(load.clients for load in loads), FILES_PER_THREAD * max(own, default=1)
    held, uncached = float(solve("dataset_room", {**given, **room})), float(solve("uncached_bytes", given))
    fewest = min(float(folders_of(load, clients, files)["folders_read"]) for load in loads)
    requests = [int(solve("fill_request_bytes", {**given, "aligned_io_bytes": load.io_bytes})) for load in loads]
    given |= {"dataset_room": held, "dataset_clients": clients, "dataset_count": sets}
    given |= {"uncached_bytes": uncached, "fewest_folders_read": fewest}
    each, enough = (float(solve(name, given)) for name in ("acceptance_dataset_bytes_per_client", "uncached_bytes_per_client"))
    whole, needed = (
        float(solve("all_dataset_bytes", {**given, "acceptance_dataset_bytes_per_client": size})) for size in (each, enough)
    )
    times = {"all_dataset_bytes": whole, "required_write_bandwidth": _required_write_rate(lines)}
    data = TestData(
        bytes_per_client=each,
        clients=clients,
        fill_request=max(requests),
        files=files,
        threads=tuple(own),
        sets=sets,
        uncached=uncached,
        needed=needed,
        room=held,
        fill_seconds=float(solve("fill_seconds", times)) if times["required_write_bandwidth"] else None,
        all_bytes=whole,
    )
    return replace(setting, data=data)


def _required_write_rate(lines: Sequence[Requirement]) -> float:
    """The highest write rate that the plan requires, which has its floor in it; 0 without any."""
    writes = (line for line in lines if kind_of(line) == "write" and line.priority != INFORMATION and line.unit == "B/s")
    return max((line.value for line in writes), default=0)


class Effort(NamedTuple):
    """What an acceptance takes if each test reaches its rate."""

    total_seconds: float  # of filling and all runs; of the runs alone where the plan requires no write rate
    fill_bytes: float  # of data sets and ballast; 0 where nothing is filled before the tests
    fill_seconds: float | None  # at the required write rate; None without one
    tools: tuple[str, ...]  # that fill data sets of their own
    runs: int  # of all tests, before more are asked for
    run_seconds: float  # of these
    most_run_seconds: float  # of ten runs of each test, after which the verdict is decided
    degraded_runs: int = 0  # runs of the tests that terms on degraded operation name
    degraded_seconds: float = 0  # of these

    @property
    def words(self) -> str:
        """The effort in one line."""
        runs = f"{self.runs} {'run' if self.runs == 1 else 'runs'} {_time(self.run_seconds)}"
        if self.degraded_runs:
            runs += f", {self.degraded_runs} in degraded operation {_time(self.degraded_seconds)}"
        if not self.fill_bytes:
            return f"{_time(self.total_seconds)}: {runs}"
        often = "once" if len(self.tools) < 2 else f"once for each of {', '.join(self.tools)}"
        if self.fill_seconds is None:
            return f"{_time(self.total_seconds)} and the fill of {display(self.fill_bytes, 'B', binary=False)} {often}: {runs}"
        return f"{_time(self.total_seconds)}: fill {_time(self.fill_seconds)} {often}, {runs}"

    @property
    def filled(self) -> str:
        """What is filled before the tests; empty where nothing is."""
        return f"fill: {display(self.fill_bytes, 'B', binary=False)}, at the required write rate" if self.fill_bytes else ""

    @property
    def most(self) -> str:
        """The time where the verdict asks for ten runs of each test; empty where it asks for none."""
        if self.most_run_seconds <= self.run_seconds:
            return ""
        longest = _time(self.most_run_seconds)
        return f"up to {MOST_RUNS} runs of a test where their spread leaves the verdict open: {longest} if all tests do"


def effort_of(
    tests: Sequence[AcceptanceTest],
    lines: Sequence[Requirement],
    setting: Setting,
    fill: float,
    degraded: Sequence[AcceptanceTest] = (),
) -> Effort:
    """The effort of the tests of one folder; `fill` is the share of the capacity that the lines want in use."""
    data, rate = setting.data, _required_write_rate(lines)
    tools = tuple(dict.fromkeys(test.tool for test in tests if any(load.dataset_bytes for load in test.loads)))
    seconds = [(test, _seconds(test, test.repeats)) for test in tests]
    runs = float(total([time for _, time in seconds]))
    again = float(total([_seconds(test, test.repeats) for test in degraded] or [0]))
    all_runs = float(total([runs, again]))
    most = [_seconds(test, MOST_RUNS) if test.repeats >= FEWEST_RUNS else time for test, time in seconds]
    filled, fill_time, whole = 0.0, None, all_runs
    if data is not None:
        level = {"acceptance_usable_bytes": setting.usable, "fill_under_test": fill}
        ballast = solve("capacity_in_use", level) if setting.usable and fill else 0
        given = {"all_dataset_bytes": data.all_bytes, "filling_tools": max(len(tools), 1), "ballast_level_bytes": ballast}
        filled = float(solve("acceptance_fill_bytes", given))
        if rate:
            times = {"acceptance_fill_bytes": filled, "required_write_bandwidth": rate, "all_run_seconds": all_runs}
            fill_time = float(solve("acceptance_fill_seconds", times))
            whole = float(solve("acceptance_effort_seconds", times))
    counts = [sum(test.repeats for test in some) for some in (tests, degraded)]
    return Effort(whole, filled, fill_time, tools, counts[0], runs, float(total(most)), counts[1], again)


def saved_time(test: AcceptanceTest) -> str:
    """The time of the runs of a test, which dropping it saves."""
    return _time(_seconds(test, test.repeats))


def _seconds(test: AcceptanceTest, runs: int) -> float:
    """The time of so many runs of a test; its loads run concurrently."""
    found = []
    for load in test.loads:
        files = {"files_handled": load.handled, "required_file_rate": load.threshold}
        seconds = load.seconds or float(solve("files_seconds", files))
        ramp = {} if load.operation in DATA else {"ramp_seconds": 0}
        given = {**usual_inputs(), "test_runs": runs, "acceptance_seconds": seconds, **ramp}
        found.append(float(solve("seconds_of_runs", given)))
    return max(found)


def _time(seconds: float) -> str:
    """A time in three digits.

    >>> _time(46_500), _time(3_600), _time(90)
    ('12.9 h', '1 h', '1.5 min')
    """
    factor, unit = scale_of(seconds, "s", binary=False)
    return f"{seconds / (factor or 1):,.3g} {unit or 's'}" if seconds < 3600 else f"{seconds / 3600:,.3g} h"
