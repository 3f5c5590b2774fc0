"""The loads of a requirement's test, at full scale or on one machine, and its data: operations, clients, I/O size, limit."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from ingest.acceptance.judgement import FEWEST_RUNS, MOST_RUNS
from ingest.acceptance.test_spec import DATA, METADATA, AcceptanceTest, Load, part_of
from ingest.catalog.records import WITHOUT_GPUS, Node
from ingest.catalog.store import opened
from ingest.engine.expression import Num, total
from ingest.engine.messages import Message
from ingest.engine.registry import INPUTS, solve
from ingest.engine.value import Input
from ingest.files import table_beside
from ingest.requirement import INFORMATION, MixPart, Requirement
from ingest.site.plan_file import Folders
from ingest.units import display, physical, scale_of

#: Defaults of conditions; tests list them among their assumptions.
USUAL_SECONDS = 1800
USUAL_THREADS = 8
USUAL_REQUEST = 2**20
#: Rehearsals on one machine last seconds and use megabytes.
REHEARSAL_SECONDS = 2
REHEARSAL_THREADS = 4
REHEARSAL_BYTES = 64 * 2**20
REHEARSAL_FILES = 2000
#: Bytes that a test of opens reads of each file, and of the file where its line states no sizes: one page.
SMALL_FILE = 4096
#: Files of each thread, which fio keeps open at a time, and files that all threads share.
FILES_PER_THREAD, SHARED_FILES = 4, 16
#: Unit of an amount that is held -> the number that shows it.
HELD: Mapping[str, str] = table_beside(__file__, "acceptance.yaml")["held"]
#: A test of at most one pass over the files is a burst: it lasts as long as its line, however few files that takes.
PASS_SECONDS = 60


@dataclass(frozen=True)
class TestData:
    """The data sets of a tool."""

    bytes_per_client: float  # of one data set
    clients: int  # that fill each data set
    fill_request: int  # bytes of a request of the fill
    files: int  # of each client in one data set
    threads: tuple[int, ...]  # counts of threads of the loads that read it
    sets: int  # data sets of a tool: files of each client, files that all share, and for IOR one for each number of threads
    uncached: float  # bytes of data that one test reads so that no cache serves it
    needed: float  # bytes of all data sets of a tool at which each test does
    room: float  # bytes that the data sets may occupy
    fill_seconds: float | None  # at the required write rate; None without one
    all_bytes: float  # of all data sets of a tool


@dataclass(frozen=True)
class Setting:
    """Settings common to all tests of one folder."""

    scale: str = "full"  # `full` or `1node`
    client_memory: float = 2 * 2**40  # bytes of main memory in one client, which DLIO and MLPerf Storage ask for
    server_cache: float = 0  # bytes of read cache in all servers; 0 where the plan has no read tests
    repeats: int = 3
    allowed_deviation: float = 0.03  # share by which the lower bound of the runs' median may stay below
    most_files: float = 0  # that the system must hold; 0 where that is open
    usable: float = 0  # bytes that the planned system can hold; 0 where that is open
    fill: float = 0  # share of them that is in use during the tests
    data: TestData | None = None  # data sets of the read tests; None in a rehearsal, or without read tests
    network: float | None = None  # B/s that the storage NICs of one client carry, at most; None where they are unknown
    logs_seconds: bool = False  # whether fio logs the rate of each second, which a floor on stalls takes

    @property
    def rehearsal(self) -> bool:
        """Whether one machine runs the load of one client."""
        return self.scale == "1node"


class NotTestable(Exception):
    """Why a requirement has no performance test."""


def kind_of(requirement: Requirement) -> str:
    """`read`, `write`, `mixed`, `create`, `open` or `stat`; empty where no performance test applies."""
    words = requirement.conditions.operation.lower()
    dimension = physical(requirement.unit)
    if dimension == "B/s":
        if len(requirement.conditions.mix) > 1 or ("read" in words and "write" in words):
            return "mixed"
        return next((name for name in DATA if name in words), "")
    return next((name for name in METADATA if name in words), "") if dimension == "1/s" else ""


def loads_of(requirement: Requirement, name: str, setting: Setting) -> tuple[Load, ...]:
    """The loads that run concurrently in the test of a requirement: one, or one for each part of its mix.

    Raises NotTestable: why no performance test applies.
    """
    if reason := why_not(requirement):
        raise NotTestable(reason)
    kind, conditions = kind_of(requirement), requirement.conditions
    if kind in METADATA:
        return (_load(requirement, None, name, given_for(requirement, setting), setting),)
    # The whole of a line of one pattern; tests list the conditions that it leaves open among their assumptions.
    usual = "random" if kind == "read" else "sequential"
    pattern = next((word for word in ("random", "sequential") if word in conditions.pattern.lower()), usual)
    parts = conditions.mix or (MixPart(1, kind, conditions.io_size or USUAL_REQUEST, pattern),)
    whole = given_for(requirement, replace(setting, scale="full") if setting.rehearsal else setting)
    depth = conditions.queue_depth or solve("requests_in_flight", {"requests_in_flight_per_thread": 1} | whole)
    # Each part has its share of the rate, in its requests.
    given = [{**whole, "mix_share": one.share, "requested_io_bytes": one.io_size, "line_queue_depth": depth} for one in parts]
    given = [{**one, "required_bandwidth": solve("tested_bandwidth", one)} for one in given]
    rates = [float(solve("tested_requests_per_byte", one)) for one in given]
    places = {"all_requests_per_byte": float(total(rates))}
    ways, loads = [part.operation for part in parts], []
    for place, (part, one) in enumerate(zip(parts, given, strict=True)):
        # What distinguishes the jobs of a test: nothing, the operation, or the operation and a number.
        number = ways[: place + 1].count(part.operation) if ways.count(part.operation) > 1 else ""
        job = f"{name}.{part.operation}{number}" if len(parts) > 1 else name
        loads.append(_load(requirement, part, job, {**one, **places}, setting))
    return tuple(loads)


def why_not(requirement: Requirement) -> str:
    """Why a requirement has no performance test; empty where it has one."""
    kind, conditions = kind_of(requirement), requirement.conditions
    if requirement.priority == INFORMATION:
        return "it is for information, not a requirement"
    if requirement.value <= 0:
        return "it has no value yet"
    if not kind and "hold" in conditions.operation:
        fill = ", times the fill limit" if requirement.metric.endswith(DATA_HELD) else ""
        return f"it is not timed: compare it with {HELD.get(requirement.unit, HELD['B'])}{fill}"
    if not kind and physical(requirement.unit) == "B":
        return "it is an amount, not a rate: compare it with the rated endurance of all media (drive writes per day × capacity)"
    if not kind:
        return f"no tool times {conditions.operation or 'nothing'} in {requirement.unit}: require other evidence"
    if not conditions.clients:
        return "its conditions name no clients"
    if kind == "mixed" and not conditions.mix:
        return "its conditions name no shares of reads and writes (mix): make the plan again with this version"
    return ""


def _load(requirement: Requirement, part: MixPart | None, name: str, given: Mapping[str, Num], setting: Setting) -> Load:
    """The load of metadata, or of one part of a line of reads and writes.

    Where the line names no queue depth, each thread has one outstanding request.
    """
    rehearsal, operation = setting.rehearsal, part.operation if part else kind_of(requirement)
    rate = "required_bandwidth" if part else "required_file_rate"
    threads = int(solve("threads_of_load", given) if part else given["threads_per_client"])
    small = SMALL_FILE if operation == "open" else None
    load = Load(
        name=name,
        operation=operation,
        pattern=part.pattern if part else "",
        io_bytes=int(solve("aligned_io_bytes", given)) if part else small,
        clients=1 if rehearsal else int(given["clients_under_test"]),
        threads=min(threads, REHEARSAL_THREADS) if rehearsal else threads,
        seconds=REHEARSAL_SECONDS if rehearsal else float(given["acceptance_seconds"]),
        dataset_bytes=None,
        handled=None,
        files="shared" if "shared" in requirement.conditions.files else "file per process",
        threshold=float(solve(f"{rate}_per_client" if rehearsal else rate, given)),
        unit="B/s" if part else "file/s",
        depth=int(solve("depth_of_load", given)) if part else 1,
        latency_99=requirement.conditions.latency_99 if part else None,
    )
    if not load.on_data or (setting.data is None and not rehearsal):
        return load
    if setting.data is None:
        return replace(load, dataset_bytes=REHEARSAL_BYTES)
    folders = folders_of(load, setting.data.clients, setting.data.files)
    return replace(load, dataset_bytes=round(solve("read_set_bytes", {**given, **folders})))


def folders_of(load: Load, clients: int, files: int) -> dict[str, Num]:
    """The part that a load reads of a data set of so many clients, each with files; shared files are read whole."""
    if load.files == "shared":
        return {"folders_read": clients}
    given: dict[str, Num] = {
        "dataset_clients": clients,
        "clients_under_test": load.clients,
        "threads_per_client": load.threads,
        "acceptance_files_per_client": files,
        "own_folder": INPUTS["own_folder"].default or 1,
    }
    each = int(solve("files_of_thread", given))
    return {"files_of_thread": each, "folders_read": float(solve("folders_read", {**given, "files_of_thread": each}))}


@cache
def usual_inputs() -> Mapping[str, Num]:
    """The inputs of the formulas that have a default; the declarations of all fields are read once."""
    return {name: found.default for name, found in INPUTS.items() if found.default is not None}


def given_for(requirement: Requirement, setting: Setting) -> dict[str, Num]:
    """Inputs of the formulas in `ingest.formulas.acceptance`, defaults of the formulas among them."""
    conditions = requirement.conditions
    threads = conditions.threads or USUAL_THREADS
    whole_rate = requirement.value
    if requirement.unit.endswith("/node"):
        rate = {"rate_per_client": whole_rate, "clients_under_test": conditions.clients or 1}
        whole_rate = float(solve("rate_of_all_clients", rate))
    seconds = int(solve("whole_seconds", {"acceptance_seconds": conditions.duration or USUAL_SECONDS}))
    given = {
        **usual_inputs(),
        "clients_under_test": conditions.clients or 1,
        "threads_per_client": min(threads, REHEARSAL_THREADS) if setting.rehearsal else threads,
        "acceptance_seconds": seconds,
        "client_memory_bytes": setting.client_memory,
    }
    if physical(requirement.unit) == "B/s":
        given |= {"required_bandwidth": whole_rate, "requested_io_bytes": conditions.io_size or USUAL_REQUEST}
        if setting.usable and setting.fill < 1:
            left = {"acceptance_usable_bytes": setting.usable, "fill_under_test": setting.fill}
            given["write_room_per_client"] = solve("capacity_left_per_client", {**given, **left})
    else:
        given["required_file_rate"] = whole_rate
        given |= {"most_metadata_files": setting.most_files} if setting.most_files else {}
        if seconds <= PASS_SECONDS:
            given |= {"metadata_pass_seconds": seconds, "fewest_metadata_files": 1}
    if setting.data:
        given |= {
            "acceptance_dataset_bytes_per_client": setting.data.bytes_per_client,
            "fill_request_bytes": setting.data.fill_request,
        }
    if setting.rehearsal:
        given |= {
            "acceptance_dataset_bytes_per_client": REHEARSAL_BYTES,
            "written_bytes_per_client": REHEARSAL_BYTES,
            "metadata_files": REHEARSAL_FILES,
        }
    return given


def implied_by(load: Load, stated: float | None = None) -> dict[str, float]:
    """Requests per second, queue depth and mean latency that a rate implies; they reveal an infeasible queue depth.

    Where the line states less time for a read, because whole threads leave more than a query has, that holds.
    """
    if load.unit != "B/s" or not load.io_bytes:
        return {}
    given = {
        "required_bandwidth": load.threshold,
        "aligned_io_bytes": load.io_bytes,
        "clients_under_test": load.clients,
        "threads_per_client": load.threads,
        "requests_in_flight_per_thread": load.depth,
    }
    names = ("required_requests_per_second", "requests_in_flight", "mean_latency_allowed")
    found = {f"{name}.{part_of(load)}": float(solve(name, given)) for name in names}
    allowed = f"{names[-1]}.{part_of(load)}"
    return found | {allowed: min(found[allowed], stated or math.inf)}


def confidence_of(requirement: Requirement, load: Load) -> dict[str, float]:
    """How long the test of a load takes until its mean and its 99 % latency are known, and how well it knows them.

    The reads are taken as independent, of a lognormal latency whose 99 % over its mean is that of the line.

    Returns:
        `confident_seconds` and `precision_of_test` by part; empty for a load whose line states no latency.
    """
    mean, slow = requirement.conditions.implied_latency, requirement.conditions.latency_99
    if load.operation != "read" or not (mean and slow and load.io_bytes and load.seconds):
        return {}
    usual = INPUTS["confident_share"].default or 1
    given: dict[str, Num] = {
        "latency_tail": max(slow / mean, 1),
        "confident_share": usual,
        "line_request_bytes": load.io_bytes,
        "line_bandwidth": load.threshold,
        "acceptance_seconds": load.seconds,
    }
    for name in ("latency_sigma", "latency_variation", "reads_for_mean", "reads_for_latency_99", "confident_seconds"):
        given[name] = float(solve(name, given))
    found = {name: float(solve(name, given)) for name in ("confident_seconds", "precision_of_test")}
    return {f"{name}.{part_of(load)}": value for name, value in found.items()}


USUAL_FILL = 0.8
#: Lines of capacity, by the end of their metrics; of the data held a share of the capacity stays free.
TO_BUY, DATA_HELD = "capacity_to_buy", "usable_bytes"


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
        for metric in (TO_BUY, DATA_HELD)
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
    """The highest write rate that any accepted system has: of mandatory lines, of targets where there are no others, else 0."""
    writes = [line for line in lines if kind_of(line) == "write" and line.priority != INFORMATION and line.unit == "B/s"]
    return max(((line.priority == "mandatory", line.value) for line in writes), default=(False, 0.0))[1]


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
        return f"{_time(self.total_seconds)}: fill at most {_time(self.fill_seconds)} {often}, {runs}"

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
