"""Data of an acceptance test: its loads and thresholds, and the runs that results show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.errors import UsageError
from ingest.units import display, parse

TOOLS = ("fio", "ior", "mdtest", "elbencho", "dlio")
SCALES = ("full", "1node")
DATA = ("read", "write")
METADATA = ("create", "open", "stat")


def within(option: str, written: str | float, unit: str, low: float, high: float) -> float:
    """The value of an option between two bounds; a number without a unit is whole. Raises UsageError: out of bounds."""
    found = parse(written, unit, option, whole=unit == "1" or None)
    if not low <= found <= high or (unit == "1" and found != int(found)):
        whole = ", a whole number" if unit == "1" else ""
        raise UsageError(f"{option}: found {written}, expected from {display(low, unit)} to {display(high, unit)}{whole}")
    return found


@dataclass(frozen=True)
class Load:
    """The load of one group of clients in a test, and its threshold."""

    name: str  # of the job in the tool's output
    operation: str  # `read`, `write`, `create`, `open` or `stat`
    pattern: str  # `random` or `sequential`; empty for metadata
    io_bytes: int | None  # of one request; none for metadata
    #: clients, threads: nodes, and threads of each
    clients: int
    threads: int
    seconds: float | None  # of the measurement; none where a count of files ends the test
    dataset_bytes: int | None  # least size of the whole data set
    handled: int | None  # least number of files created, opened or statted; none for data
    files: str  # `file per process` or `shared`
    threshold: float  # the least rate of the whole test, in base units
    unit: str  # `B/s` or `file/s`
    depth: int = 1  # outstanding requests of each thread
    #: seconds within which 99 % of the requests should be answered; none where the line states none
    latency_99: float | None = None
    network: float | None = None  # bytes per second that the storage NICs of all its clients carry; None where unknown

    @property
    def on_data(self) -> bool:
        """Whether it needs data that are there before: it reads them, or writes over them at random."""
        return self.operation == "read" or (self.operation, self.pattern, self.files) == ("write", "random", "shared")


def part_of(load: Load) -> str:
    """The short name of a load within its test: the end of its job's name, or its operation."""
    return load.name.rpartition(".")[2] if "." in load.name else load.operation


@dataclass(frozen=True)
class AcceptanceTest:
    """One test of one requirement with one tool."""

    id: str  # `T-READ-01-fio`; results are matched by it
    requirement: str
    priority: str
    statement: str
    tool: str
    version: str  # least version of the tool
    scale: str
    loads: tuple[Load, ...]
    repeats: int  # least number of runs; fewer than three give no interval
    allowed_deviation: float  # share by which the lower bound of the runs' median may stay below the threshold
    parameters: Mapping[str, Any] = field(default_factory=dict)  # further settings that the tool's results must show
    implied: Mapping[str, float] = field(default_factory=dict)  # requests per second, and mean latency at the queue depth
    assumed: Mapping[str, Any] = field(default_factory=dict)  # defaults of conditions that the requirement leaves open
    #: requirement id -> its threshold, of lower lines under the same conditions
    also: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # limits of the test, in words
    #: path in the output folder -> content, or in a manifest its hash
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Observed:
    """The load of one group of clients in a run; None where the tool does not report a value."""

    name: str  # of the job; the test's id where the tool has no jobs
    operation: str
    rate: float  # of the whole run, in base units
    unit: str
    pattern: str | None = None
    io_bytes: float | None = None
    clients: int | None = None
    threads: int | None = None  # of all clients
    seconds: float | None = None
    dataset_bytes: float | None = None
    direct: bool | None = None  # direct I/O, which bypasses the page cache
    cold: bool | None = None  # another client wrote the data, or caches were dropped
    errors: str = ""  # their number or kind
    depth: int | None = None  # outstanding requests of each thread
    latency_seconds: float | None = None  # mean of all requests
    latency_99: float | None = None  # 99 % latency of the thread in which it is highest
    memory_bytes: float | None = None  # main memory of all clients
    handled: float | None = None  # files created, opened or statted
    #: lowest rate of all threads together within one second; None without logs of all threads
    lowest_second: float | None = None
    slowest_client: float | None = None  # rate of the slowest client over the mean of all clients; None for one client
    #: the options that fio recorded, each set of them once; None for an entry without
    recorded: tuple[Mapping[str, str] | None, ...] = ()
    contradictions: tuple[str, ...] = ()  # figures of the result that do not agree with each other, in words
    figures: tuple[float, ...] = ()  # that chance decides, each in its place: no two runs have the ratio of one in many
    remarks: tuple[str, ...] = ()  # what a run seldom shows that was as stated, in words; it fails nothing


@dataclass(frozen=True)
class Run:
    """One run of one tool, from its result file."""

    tool: str
    file: str
    test: str  # id of the test that the result names; empty without one
    loads: tuple[Observed, ...]  # of each group of clients
    version: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict)  # settings to compare with the test's parameters
    judged: str = ""  # the tool's own verdict, `success` or `fail`; empty without one
    began: str = ""  # start or end as the tool writes it; empty without one
    command: str = ""  # line that started the tool, where its result has one
    hosts: tuple[str, ...] = ()  # names of the machines that the result has
    clocks: tuple[str, ...] = ()  # further times of the run that the result has, some without their zone
