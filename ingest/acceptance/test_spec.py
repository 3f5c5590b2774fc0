"""What a test asks for, what a run of it showed, and how the two stand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TOOLS = ("fio", "ior", "mdtest", "elbencho", "dlio")
SCALES = ("full", "1node")
DATA = ("read", "write")
METADATA = ("create", "open", "stat")


@dataclass(frozen=True)
class Load:
    """What one group of clients does in a test, and what it must reach.

    Attributes:
        name: of the job in the tool's output.
        operation: `read`, `write`, `create`, `open` or `stat`.
        pattern: `random` or `sequential`; empty for metadata.
        io_bytes: of one request; none for metadata.
        clients, threads: nodes, and threads of each.
        seconds: for which the rate is measured; none where a count of files ends the test.
        dataset_bytes: least size of the data that reads come from, of the whole test.
        handled: files that must be created, opened or looked up at least; none for data.
        files: `file per process` or `shared`.
        threshold: the least rate of the whole test, in base units.
        unit: `B/s` or `file/s`.
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


@dataclass(frozen=True)
class AcceptanceTest:
    """One test of one requirement with one tool.

    Attributes:
        id: `T-READ-01-fio`; results are matched by it.
        requirement: id of the requirement line.
        priority: of the requirement.
        statement: of the requirement, in one line.
        tool: one of `TOOLS`.
        version: least version of the tool.
        scale: one of `SCALES`.
        loads: what runs, at once.
        repeats: runs that are needed.
        allowed_deviation: share by which the worst run may stay below the threshold.
        parameters: what else the tool's own results must show.
        implied: requests per second, and mean latency at the queue depth.
        also: requirement id -> its threshold, of lines that ask for less under the same conditions.
        notes: what the test does not show, in words.
        assumed: conditions that the requirement leaves open -> what the test takes.
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
    """What one group of clients did in a run; None where the tool does not say.

    Attributes:
        name: of the job; the test's id where the tool knows no jobs.
        rate: of the whole run, in base units.
        threads: of all clients together.
        direct: past the page cache.
        cold: the data were written by another client, or caches were dropped.
        errors: how many, or of which kind.
        memory_bytes: main memory of all clients, which could cache.
        handled: files created, opened or looked up.
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
    latency_seconds: float | None = None
    memory_bytes: float | None = None
    handled: float | None = None


@dataclass(frozen=True)
class Run:
    """One run of one tool, as its result file tells.

    Attributes:
        tool: one of `TOOLS`.
        file: where it was read.
        test: id of the test that it names; empty where it names none.
        loads: what ran.
        shown: what else the result shows, to be compared with the test's parameters.
        judged: the tool's own verdict, `success` or `fail`; empty where it gives none.
        began: when it ran, as the tool writes it; empty where it does not.
    """

    tool: str
    file: str
    test: str
    loads: tuple[Observed, ...]
    version: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict)
    judged: str = ""
    began: str = ""
