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
    """The value of an option between two bounds; a number without a unit is whole.

    Raises:
        UsageError: out of bounds.
    """
    found = parse(written, unit, option)
    if not low <= found <= high or (unit == "1" and found != int(found)):
        whole = ", a whole number" if unit == "1" else ""
        raise UsageError(f"{option}: found {written}, expected from {display(low, unit)} to {display(high, unit)}{whole}")
    return found


@dataclass(frozen=True)
class Load:
    """The load of one group of clients in a test, and its threshold.

    Attributes:
        name: of the job in the tool's output.
        operation: `read`, `write`, `create`, `open` or `stat`.
        pattern: `random` or `sequential`; empty for metadata.
        io_bytes: of one request; none for metadata.
        clients, threads: nodes, and threads of each.
        seconds: of the measurement; none where a count of files ends the test.
        dataset_bytes: least size of the whole data set.
        handled: least number of files created, opened or statted; none for data.
        files: `file per process` or `shared`.
        threshold: the least rate of the whole test, in base units.
        unit: `B/s` or `file/s`.
        depth: outstanding requests of each thread.
        latency_99: seconds within which 99 % of the requests should be answered; none where the line states none.
    """

    name: str
    operation: str
    pattern: str
    io_bytes: int | None
    clients: int
    threads: int
    seconds: float | None
    dataset_bytes: int | None
    handled: int | None
    files: str
    threshold: float
    unit: str
    depth: int = 1
    latency_99: float | None = None


def part_of(load: Load) -> str:
    """The short name of a load within its test: the end of its job's name, or its operation."""
    return load.name.rpartition(".")[2] if "." in load.name else load.operation


@dataclass(frozen=True)
class AcceptanceTest:
    """One test of one requirement with one tool.

    Attributes:
        id: `T-READ-01-fio`; results are matched by it.
        version: least version of the tool.
        repeats: least number of runs; fewer than three give no interval.
        allowed_deviation: share by which the lower bound of the runs' median may stay below the threshold.
        parameters: further settings that the tool's results must show.
        implied: requests per second, and mean latency at the queue depth.
        assumed: defaults of conditions that the requirement leaves open.
        also: requirement id -> its threshold, of lower lines under the same conditions.
        notes: limits of the test, in words.
        files: path in the output folder -> content.
    """

    id: str
    requirement: str
    priority: str
    statement: str
    tool: str
    version: str
    scale: str
    loads: tuple[Load, ...]
    repeats: int
    allowed_deviation: float
    parameters: Mapping[str, Any] = field(default_factory=dict)
    implied: Mapping[str, float] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Observed:
    """The load of one group of clients in a run; None where the tool does not report a value.

    Attributes:
        name: of the job; the test's id where the tool has no jobs.
        rate: of the whole run, in base units.
        threads: of all clients.
        direct: direct I/O, which bypasses the page cache.
        cold: another client wrote the data, or caches were dropped.
        errors: their number or kind.
        memory_bytes: main memory of all clients.
        handled: files created, opened or statted.
        depth: outstanding requests of each thread.
        latency_seconds: mean of all requests.
        latency_99: 99 % latency of the thread in which it is highest.
        lowest_second: lowest rate of all threads together within one second; None without logs of all threads.
        slowest_client: rate of the slowest client over the mean of all clients; None for one client.
    """

    name: str
    operation: str
    rate: float
    unit: str
    pattern: str | None = None
    io_bytes: float | None = None
    clients: int | None = None
    threads: int | None = None
    seconds: float | None = None
    dataset_bytes: float | None = None
    direct: bool | None = None
    cold: bool | None = None
    errors: str = ""
    depth: int | None = None
    latency_seconds: float | None = None
    latency_99: float | None = None
    memory_bytes: float | None = None
    handled: float | None = None
    lowest_second: float | None = None
    slowest_client: float | None = None


@dataclass(frozen=True)
class Run:
    """One run of one tool, from its result file.

    Attributes:
        test: id of the test that the result names; empty without one.
        loads: of each group of clients.
        shown: settings to compare with the test's parameters.
        judged: the tool's own verdict, `success` or `fail`; empty without one.
        began: start time as the tool writes it; empty without one.
    """

    tool: str
    file: str
    test: str
    loads: tuple[Observed, ...]
    version: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict)
    judged: str = ""
    began: str = ""
