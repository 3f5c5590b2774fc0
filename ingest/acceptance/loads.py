"""The loads of a requirement's test: operations, clients, threads, I/O size and threshold, at full scale or on one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ingest.acceptance.test_spec import DATA, METADATA, Load
from ingest.engine.expression import Num
from ingest.engine.registry import INPUTS, solve
from ingest.requirement import Requirement
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
#: Bytes of a file in a test of opens: one page.
SMALL_FILE = 4096
#: Files of each thread, and files that all threads share.
FILES_PER_THREAD, SHARED_FILES = 4, 16


@dataclass(frozen=True)
class TestData:
    """The data sets of a tool.

    Attributes:
        bytes_per_client: of one data set.
        clients: that fill each data set.
        fill_request: bytes of a request of the fill.
        sets: data sets of a tool, one for each number of threads.
        over_memory: size relative to the clients' memory.
        capped: whether the capacity is too small for five times the clients' memory.
        fill_seconds: at the required write rate; None without one.
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
    """Settings common to all tests of one folder.

    Attributes:
        scale: `full` or `1node`.
        client_memory: bytes of main memory in one client.
        repeats: of each test.
        allowed_deviation: share by which the worst run may stay below.
        most_files: that the system must hold; 0 where that is open.
        data: data sets of the read tests; None in a rehearsal, or without read tests.
    """

    scale: str = "full"
    client_memory: float = 2 * 2**40
    repeats: int = 3
    allowed_deviation: float = 0.05
    most_files: float = 0
    data: TestData | None = None

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
        if "MIX" in requirement.id.upper() or ("read" in words and "write" in words):
            return "mixed"
        return next((name for name in DATA if name in words), "")
    return next((name for name in METADATA if name in words), "") if dimension == "1/s" else ""


def loads_of(requirement: Requirement, others: Sequence[Requirement], name: str, setting: Setting) -> tuple[Load, ...]:
    """The loads that run concurrently in the test of a requirement.

    Args:
        requirement: the line.
        others: all lines of the plan; a mixed test takes its parts from the read and the write line.
        name: of the job.
        setting: scale and memory.

    Raises:
        NotTestable: why no performance test applies.
    """
    parts = lines_under_test(requirement, others)
    if len(parts) == 1:
        return (_load(requirement, name, setting),)
    return tuple(_load(part, f"{name}.{kind_of(part)}", setting) for part in parts)


def lines_under_test(requirement: Requirement, others: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The lines whose values and conditions the test of a requirement uses: itself, or its reads and writes.

    Raises:
        NotTestable: why no performance test applies.
    """
    kind = kind_of(requirement)
    if not kind or not is_binding(requirement) or requirement.value <= 0:
        raise NotTestable(_why_not(requirement))
    if not requirement.conditions.clients:
        raise NotTestable("its conditions name no clients")
    return parts_of(requirement, others) if kind == "mixed" else (requirement,)


def is_binding(requirement: Requirement) -> bool:
    """Whether a line is a requirement rather than information."""
    return requirement.priority != "information"


def parts_of(requirement: Requirement, others: Sequence[Requirement]) -> tuple[Requirement, Requirement]:
    """The read and the write line that add up to a mixed requirement; lines that its statement names come first.

    Raises:
        NotTestable: no two lines of the plan add up to it.
    """
    named = sorted(others, key=lambda line: line.id not in requirement.statement)
    reads, writes = ([line for line in named if kind_of(line) == kind] for kind in ("read", "write"))
    for read in reads:
        for write in writes:
            rates = {"site_read_bandwidth": read.value, "writes_at_once": write.value}
            if abs(solve("site_mixed_bandwidth", rates) / requirement.value - 1) < 1e-6:
                longest = max(line.conditions.duration or USUAL_SECONDS for line in (read, write))
                own: dict[str, Any] = {
                    "clients": requirement.conditions.clients,
                    "duration": requirement.conditions.duration or longest,
                }
                first, second = (replace(line, conditions=replace(line.conditions, **own)) for line in (read, write))
                return first, second
    for line in (*reads, *writes):
        if line.value == requirement.value:
            raise NotTestable(f"it requires no more than {line.id}, whose tests cover it")
    raise NotTestable("no read line and write line of the plan add up to it, so the shares of reads and writes are unknown")


def _why_not(requirement: Requirement) -> str:
    if not is_binding(requirement):
        return "it is for information, not a requirement"
    if requirement.value <= 0:
        return "it has no value yet"
    if "hold" in requirement.conditions.operation:
        return "capacity is not timed: compare it with the capacity that the empty system reports"
    if physical(requirement.unit) == "B":
        return "it is an amount, not a rate: require other evidence"
    operation = requirement.conditions.operation or "nothing"
    return f"no tool times {operation} in {requirement.unit}: require other evidence"


def _load(requirement: Requirement, name: str, setting: Setting) -> Load:
    conditions = requirement.conditions
    given = given_for(requirement, setting)
    data = physical(requirement.unit) == "B/s"
    operation = kind_of(requirement)
    share = "required_bandwidth_per_client" if data else "required_file_rate_per_client"
    whole = "required_bandwidth" if data else "required_file_rate"
    duration = conditions.duration or USUAL_SECONDS
    usual = "random" if operation == "read" else "sequential"
    pattern = next((word for word in ("random", "sequential") if word in conditions.pattern.lower()), usual)
    dataset = None
    if operation == "read":
        dataset = REHEARSAL_BYTES if setting.rehearsal else round(solve("acceptance_dataset_bytes", given))
    return Load(
        name=name,
        operation=operation,
        pattern=pattern if data else "",
        io_bytes=round(solve("aligned_io_bytes", given)) if data else (SMALL_FILE if operation == "open" else None),
        clients=1 if setting.rehearsal else int(given["clients_under_test"]),
        threads=int(given["threads_per_client"]),
        seconds=REHEARSAL_SECONDS if setting.rehearsal else duration,
        dataset_bytes=dataset,
        handled=None,
        files="shared" if "shared" in conditions.files else "file per process",
        threshold=float(solve(share if setting.rehearsal else whole, given)),
        unit="B/s" if data else "file/s",
    )


def given_for(requirement: Requirement, setting: Setting) -> dict[str, Num]:
    """Inputs of the formulas in `ingest.formulas.acceptance_tests`, defaults of the formulas among them."""
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
    """The aggregate rate of all clients."""
    if not requirement.unit.endswith("/node"):
        return requirement.value
    given = {"rate_per_client": requirement.value, "clients_under_test": requirement.conditions.clients or 1}
    return float(solve("rate_of_all_clients", given))


def assumed_for(requirement: Requirement) -> dict[str, Any]:
    """Defaults for conditions that a requirement leaves open."""
    conditions = requirement.conditions
    usual = {"threads": USUAL_THREADS}
    if physical(requirement.unit) == "B/s":
        usual |= {"io_size": USUAL_REQUEST, "duration": USUAL_SECONDS}
    return {name: value for name, value in usual.items() if getattr(conditions, name) is None}


def implied_by(load: Load) -> dict[str, float]:
    """Requests per second, queue depth and mean latency that a rate implies; they reveal an infeasible queue depth."""
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
    """Bytes of each file of one client's data set, in whole fill requests."""
    sized = {"acceptance_files_per_client": files, "acceptance_dataset_bytes_per_client": dataset}
    return int(solve("acceptance_file_bytes", {**given, **sized}))


@dataclass(frozen=True)
class Task:
    """A test that a tool writes job files for.

    Attributes:
        ident: of the test.
        requirement: the line under test.
        loads: that run concurrently.
        setting: scale, memory and data sets.
    """

    ident: str
    requirement: Requirement
    loads: tuple[Load, ...]
    setting: Setting

    @property
    def load(self) -> Load:
        """The only load, or the reads of a mixed test."""
        return self.loads[0]

    @property
    def rehearsal(self) -> bool:
        """Whether one machine runs the load of one client."""
        return self.setting.rehearsal

    @cached_property
    def given(self) -> Mapping[str, Num]:
        """Inputs of the formulas."""
        return given_for(self.requirement, self.setting)

    def given_of(self, load: Load) -> Mapping[str, Num]:
        """Inputs for one load: the writes of a mixed test have their own rate and I/O size."""
        if load.operation != "write" or load.io_bytes is None:
            return self.given
        own = {"required_bandwidth": load.threshold, "aligned_io_bytes": load.io_bytes}
        return {name: value for name, value in self.given.items() if name != "fill_request_bytes"} | own

    def bytes_per_client(self, load: Load) -> Num:
        """Bytes that a client reads from, or writes during the test."""
        name = "acceptance_dataset_bytes_per_client" if load.operation == "read" else "written_bytes_per_client"
        return solve(name, self.given_of(load))

    @property
    def data_clients(self) -> int:
        """Clients that fill the files of the test."""
        return self.setting.data.clients if self.setting.data and self.load.operation == "read" else self.load.clients

    @property
    def data_name(self) -> str:
        """The name of the data set that the test reads, which tests share; in a rehearsal each test has its own files."""
        if self.rehearsal:
            return self.load.name
        return "data-shared" if self.load.files == "shared" else f"data-{self.load.threads}"

    @property
    def fill_bytes(self) -> int:
        """Bytes of a request of the fill."""
        return int(solve("fill_request_bytes", self.given))

    def benchmark(self, accelerators: Num, batch: Num, record_bytes: Num) -> Mapping[str, Num]:
        """Inputs of a benchmark with emulated accelerators that reads one sample from each file."""
        return {
            **self.given,
            "required_bandwidth": self.load.threshold,
            "benchmark_host_memory": self.setting.client_memory,
            "benchmark_hosts": self.load.clients,
            "benchmark_accelerators": accelerators,
            "benchmark_batch": batch,
            "benchmark_record_bytes": record_bytes,
            "benchmark_samples_per_file": 1,
        }

    def files_per_thread(self, *, one_pass: bool) -> int:
        """Files that each thread creates, opens or stats; one pass over them lasts for the required duration."""
        passes = {"metadata_pass_seconds": self.given["acceptance_seconds"]} if one_pass else {}
        return int(solve("metadata_files_per_thread", {**self.given, **passes, "threads_per_client": self.load.threads}))

    def ended_by_files(self, per_thread: int) -> tuple[Load, ...]:
        """The metadata load, which ends after a number of files for each thread."""
        return (replace(self.load, seconds=None, handled=per_thread * self.load.threads * self.load.clients),)
