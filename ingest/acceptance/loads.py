"""From a requirement line to what clients do in its test, at full scale or on one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.acceptance.test_spec import DATA, METADATA, Load
from ingest.engine.expression import Num
from ingest.engine.registry import INPUTS, solve
from ingest.requirement import Conditions, Requirement
from ingest.units import physical

#: Where a requirement says nothing; what is taken from here is listed among the assumptions of its tests.
USUAL_SECONDS = 1800
USUAL_THREADS = 8
USUAL_REQUEST = 2**20
#: On one machine: a rehearsal of the job files, some seconds and megabytes each.
REHEARSAL_SECONDS = 2
REHEARSAL_THREADS = 4
REHEARSAL_BYTES = 64 * 2**20
REHEARSAL_FILES = 2000
#: Bytes of a file in a test of opens: one page.
SMALL_FILE = 4096
#: Files of each thread, or of all where they share them.
FILES_PER_THREAD, SHARED_FILES = 4, 16


#: B/s of one client below which any storage passes
TRIVIAL = 1e6


@dataclass(frozen=True)
class Data:
    """The data sets of a tool.

    Attributes:
        bytes_per_client: in each of them.
        clients: for which they are made.
        fill_request: bytes of a request while they are filled.
        sets: how many a tool has, one for each number of threads.
        over_memory: times the clients' memory.
        capped: whether less than the rule asks for fits.
        fill_seconds: at the write rate of the plan; None where it asks for none.
        all_bytes: of all data sets of a tool.
    """

    bytes_per_client: float
    clients: int
    fill_request: int
    sets: int
    over_memory: float
    capped: bool
    fill_seconds: float | None
    all_bytes: float


@dataclass(frozen=True)
class Setting:
    """What all tests of one folder have in common.

    Attributes:
        scale: `full` or `1node`.
        client_memory: bytes of main memory in one client.
        repeats: of each test.
        allowed_deviation: share by which the worst run may stay below.
        most_files: that the system is to hold; 0 where nobody says.
        data: what reads come from; None in a rehearsal, or where nothing is read.
    """

    scale: str = "full"
    client_memory: float = 2 * 2**40
    repeats: int = 3
    allowed_deviation: float = 0.05
    most_files: float = 0
    data: Data | None = None

    @property
    def rehearsal(self) -> bool:
        """Whether one machine stands for all clients."""
        return self.scale == "1node"


class NotTestable(Exception):
    """Why a requirement has no performance test."""


def kind_of(requirement: Requirement) -> str:
    """`read`, `write`, `mixed`, `create`, `open`, `stat` or nothing, for what no performance test can show."""
    words = requirement.conditions.operation.lower()
    dimension = physical(requirement.unit)
    if dimension == "B/s":
        if "MIX" in requirement.id.upper() or ("read" in words and "write" in words):
            return "mixed"
        return next((name for name in DATA if name in words), "")
    return next((name for name in METADATA if name in words), "") if dimension == "1/s" else ""


def ended_by_files(load: Load, handled: int) -> Load:
    """A metadata load that is over with a number of files, whenever that is."""
    return replace(load, seconds=None, handled=handled)


def is_trivial(load: Load) -> bool:
    """Whether one client's share is so small that any storage gives it."""
    given = {"required_bandwidth": load.threshold, "clients_under_test": load.clients}
    return load.unit == "B/s" and bool(solve("required_bandwidth_per_client", given) < TRIVIAL)


def loads_of(requirement: Requirement, others: Sequence[Requirement], name: str, setting: Setting) -> tuple[Load, ...]:
    """What runs at once in the test of a requirement.

    Args:
        requirement: the line.
        others: all lines of the plan; a mixed test takes its parts from the read and the write line.
        name: of the job.
        setting: scale and memory.

    Raises:
        NotTestable: no performance test can show it, and why.
    """
    parts = lines_under_test(requirement, others)
    if len(parts) == 1:
        return (_load(requirement, name, setting),)
    return tuple(_load(part, f"{name}.{kind_of(part)}", setting) for part in parts)


def lines_under_test(requirement: Requirement, others: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The lines whose values and conditions the test of a requirement takes: its own, or those of its two parts.

    Raises:
        NotTestable: no performance test can show it, and why.
    """
    kind = kind_of(requirement)
    if not kind or not is_binding(requirement) or requirement.value <= 0:
        raise NotTestable(_why_not(requirement))
    if not requirement.conditions.clients:
        raise NotTestable("its conditions name no clients")
    return parts_of(requirement, others) if kind == "mixed" else (requirement,)


def is_binding(requirement: Requirement) -> bool:
    """Whether an offer is held against a line; what is for information is not tested."""
    return requirement.priority != "information"


def parts_of(requirement: Requirement, others: Sequence[Requirement]) -> tuple[Requirement, Requirement]:
    """The reads and the writes of a mixed requirement: lines whose rates it sums up, those that it names before others.

    Raises:
        NotTestable: the plan has no such lines, or they do not add up to it.
    """
    named = sorted(others, key=lambda line: line.id not in requirement.statement)
    reads, writes = ([line for line in named if kind_of(line) == kind] for kind in ("read", "write"))
    for read in reads:
        for write in writes:
            if abs(solve("mixed_bandwidth", _two_rates(read, write)) / requirement.value - 1) < 1e-6:
                duration = requirement.conditions.duration or _longest(read, write)
                clients = requirement.conditions.clients
                return _together(read, clients, duration), _together(write, clients, duration)
    for line in (*reads, *writes):
        if line.value == requirement.value:
            raise NotTestable(f"it asks for no more than {line.id}, whose tests show it")
    raise NotTestable("no read line and write line of the plan add up to it, so nobody knows how much of each to ask for")


def _longest(*lines: Requirement) -> float:
    return max(line.conditions.duration or USUAL_SECONDS for line in lines)


def _together(part: Requirement, clients: int | None, duration: float) -> Requirement:
    """A part of a mixed test: on all its clients, for as long as the whole lasts."""
    return replace(part, conditions=replace(part.conditions, clients=clients, duration=duration))


def _two_rates(read: Requirement, write: Requirement) -> Mapping[str, Num]:
    return {"required_bandwidth": read.value, "required_write_bandwidth": write.value}


def _why_not(requirement: Requirement) -> str:
    if not is_binding(requirement):
        return "it is for information: no offer is held against it"
    if requirement.value <= 0:
        return "it has no value yet"
    if "hold" in requirement.conditions.operation:
        return "capacity is counted, not timed: compare it with what the empty system reports"
    if physical(requirement.unit) == "B":
        return "it is an amount, not a rate: show it by other evidence"
    operation = requirement.conditions.operation or "nothing"
    return f"no tool times {operation} in {requirement.unit}: show it by other evidence"


def _load(requirement: Requirement, name: str, setting: Setting) -> Load:
    conditions = requirement.conditions
    given = given_for(requirement, setting)
    data = physical(requirement.unit) == "B/s"
    operation = kind_of(requirement)
    share = "required_bandwidth_per_client" if data else "required_file_rate_per_client"
    whole = "required_bandwidth" if data else "required_file_rate"
    duration = conditions.duration or USUAL_SECONDS
    return Load(
        name=name,
        operation=operation,
        pattern=_pattern(conditions, operation) if data else "",
        io_bytes=round(solve("aligned_io_bytes", given)) if data else (SMALL_FILE if operation == "open" else None),
        clients=1 if setting.rehearsal else int(given["clients_under_test"]),
        threads=int(given["threads_per_client"]),
        seconds=REHEARSAL_SECONDS if setting.rehearsal else duration,
        dataset_bytes=_dataset(given, setting) if operation == "read" else None,
        handled=None,
        files="shared" if "shared" in conditions.files else "file per process",
        threshold=float(solve(share if setting.rehearsal else whole, given)),
        unit="B/s" if data else "file/s",
    )


def _pattern(conditions: Conditions, operation: str) -> str:
    usual = "random" if operation == "read" else "sequential"
    return next((word for word in ("random", "sequential") if word in conditions.pattern.lower()), usual)


def _dataset(given: Mapping[str, Num], setting: Setting) -> int:
    return REHEARSAL_BYTES if setting.rehearsal else round(solve("acceptance_dataset_bytes", given))


def given_for(requirement: Requirement, setting: Setting) -> dict[str, Num]:
    """What the formulas of `ingest.formulas.acceptance_tests` need to know about a requirement."""
    conditions = requirement.conditions
    threads = conditions.threads or USUAL_THREADS
    given: dict[str, Num] = {
        "clients_under_test": conditions.clients or 1,
        "threads_per_client": min(threads, REHEARSAL_THREADS) if setting.rehearsal else threads,
        "acceptance_seconds": conditions.duration or USUAL_SECONDS,
        "client_memory_bytes": setting.client_memory,
    }
    given |= {name: INPUTS[name].default for name in INPUTS if INPUTS[name].default is not None}
    if physical(requirement.unit) == "B/s":
        given |= {
            "required_bandwidth": _whole_rate(requirement),
            "requested_io_bytes": conditions.io_size or USUAL_REQUEST,
        }
    else:
        given["required_file_rate"] = _whole_rate(requirement)
        given |= {"most_metadata_files": setting.most_files} if setting.most_files else {}
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


def _whole_rate(requirement: Requirement) -> float:
    """A rate of each node, as that of all clients together."""
    if not requirement.unit.endswith("/node"):
        return requirement.value
    return float(
        solve(
            "rate_of_all_clients",
            {"rate_per_client": requirement.value, "clients_under_test": requirement.conditions.clients or 1},
        )
    )


def assumed_for(requirement: Requirement) -> dict[str, Any]:
    """What the conditions of a requirement leave open, and what its tests take instead."""
    conditions = requirement.conditions
    usual = {"threads": USUAL_THREADS}
    if physical(requirement.unit) == "B/s":
        usual |= {"io_size": USUAL_REQUEST, "duration": USUAL_SECONDS}
    return {name: value for name, value in usual.items() if getattr(conditions, name) is None}


def implied_by(load: Load) -> dict[str, float]:
    """Requests per second and mean latency that a rate implies, so that an infeasible queue depth shows early."""
    if load.unit != "B/s" or not load.io_bytes:
        return {}
    given = {
        "required_bandwidth": load.threshold,
        "aligned_io_bytes": load.io_bytes,
        "clients_under_test": load.clients,
        "threads_per_client": load.threads,
    }
    return {
        f"{name}.{load.operation}": float(solve(name, given))
        for name in ("required_requests_per_second", "requests_in_flight", "mean_latency_allowed")
    }


def file_bytes(given: Mapping[str, Num], files: int, dataset: Num) -> int:
    """Bytes of each of some files that together are a data set of one client, in whole fill requests."""
    sized = {"acceptance_files_per_client": files, "acceptance_dataset_bytes_per_client": dataset}
    return int(solve("acceptance_file_bytes", {**given, **sized}))


def bytes_per_client(load: Load, given: Mapping[str, Num]) -> Num:
    """What a client reads from, or writes in the time of the test."""
    return solve("acceptance_dataset_bytes_per_client" if load.operation == "read" else "written_bytes_per_client", given)


def given_of(load: Load, given: Mapping[str, Num]) -> Mapping[str, Num]:
    """What holds for one load of a test: a mixed one writes at the rate, and with the requests, of its writes."""
    if load.operation != "write" or load.io_bytes is None:
        return given
    own = {"required_bandwidth": load.threshold, "aligned_io_bytes": load.io_bytes}
    return {name: value for name, value in given.items() if name != "fill_request_bytes"} | own


def data_clients(load: Load, setting: Setting) -> int:
    """Clients whose data lie in the data set of a test."""
    return setting.data.clients if setting.data else load.clients


def data_name(load: Load, setting: Setting) -> str:
    """What the files of a data set are called; tests with the same name read the same files.

    In a rehearsal each test has files of its own, which are gone afterwards.
    """
    if setting.rehearsal:
        return load.name
    return "data-shared" if load.files == "shared" else f"data-{load.threads}"


def fill_bytes(given: Mapping[str, Num]) -> int:
    """Bytes of a request while files are filled."""
    return int(solve("fill_request_bytes", given))


def files_per_thread(load: Load, given: Mapping[str, Num]) -> int:
    """Files that each thread creates, opens or looks up."""
    return int(solve("metadata_files_per_thread", {**given, "threads_per_client": load.threads}))


def seconds_of_files(given: Mapping[str, Num]) -> dict[str, Num]:
    """The same quantities for a test that is one pass over its files, as long as the requirement asks."""
    return {**given, "metadata_pass_seconds": given["acceptance_seconds"]}
