"""The loads of a requirement's test: operations, clients, threads, I/O size and threshold, at full scale or on one machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ingest.acceptance.test_spec import DATA, METADATA, Load, part_of
from ingest.engine.expression import Num, total
from ingest.engine.registry import INPUTS, solve
from ingest.requirement import INFORMATION, MixPart, Requirement
from ingest.units import physical

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
#: The metric of a line that leaves a share of the capacity free.
DATA_HELD = "site_usable_bytes"
#: Unit of an amount that is held -> the number that shows it.
HELD = {
    "B": "the usable capacity that the empty file system reports, without data reduction",
    "B/node": "the free space on the NVMe that the operating system of a node reports",
    "file": "the largest number of files that the file system reports",
}
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
    given = [given_of_part(requirement, part, setting) for part in parts]
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
        fill = ", times the fill limit" if requirement.metric == DATA_HELD else ""
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


def usual_inputs() -> dict[str, Num]:
    """The inputs of the formulas that have a default."""
    return {name: found.default for name, found in INPUTS.items() if found.default is not None}


def given_of_part(requirement: Requirement, part: MixPart, setting: Setting) -> dict[str, Num]:
    """Inputs for one part of a line of reads and writes: its share of the rate, in its requests."""
    whole = given_for(requirement, replace(setting, scale="full") if setting.rehearsal else setting)
    given = {**whole, "mix_share": part.share, "requested_io_bytes": part.io_size}
    depth = requirement.conditions.queue_depth
    threads = {"requests_in_flight_per_thread": 1} | whole
    given["line_queue_depth"] = depth or solve("requests_in_flight", threads)
    return {**given, "required_bandwidth": solve("tested_bandwidth", given)}


def given_for(requirement: Requirement, setting: Setting) -> dict[str, Num]:
    """Inputs of the formulas in `ingest.formulas.acceptance`, defaults of the formulas among them."""
    conditions = requirement.conditions
    threads = conditions.threads or USUAL_THREADS
    whole_rate = requirement.value
    if requirement.unit.endswith("/node"):
        rate = {"rate_per_client": whole_rate, "clients_under_test": conditions.clients or 1}
        whole_rate = float(solve("rate_of_all_clients", rate))
    seconds = int(solve("whole_seconds", {"acceptance_seconds": conditions.duration or USUAL_SECONDS}))
    given = usual_inputs() | {
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
