"""What a cluster did: the result of `ingest site`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from ingest.accounting.classes import Machine
from ingest.accounting.concurrency import Profile, profile, week_by_hour, window_of
from ingest.accounting.ledger import PARTS
from ingest.accounting.runs import Runs
from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import envelope, frame_of
from ingest.engine.value import Quantity

if TYPE_CHECKING:
    import pandas

Array = NDArray[Any]


class ClassUse(NamedTuple):
    """What the runs of one class did on one cluster."""

    name: str  # of its job in the site file
    cluster: str  # its cluster there
    jobs: int  # allocations
    gpu_hours: float  # of all of them
    share: float  # of the GPU-hours of the history
    nodes: tuple[float, float, float]  # nodes of a run: the mean by GPU-hours, and the span of 90 % of them
    gpus: tuple[float, float, float]  # likewise
    concurrent: Mapping[str, float]  # GPUs in use by share of time, and the most; the mean
    lengths: tuple[float, float]  # hours of a run: median, and the length that 95 % of the runs do not exceed
    ends: Mapping[str, int]  # runs by how they ended
    #: seconds of one run to an interrupt by the system, and to any early end; None for too few
    mtti: tuple[float | None, float | None]
    starts: tuple[float, float]  # per minute, the number that 99 % of the minutes do not exceed, and the most
    #: read, written: bytes/s and GPU of the runs whose bytes are known: the mean, and the span of 90 % of their hours
    read: tuple[float, float, float] | None
    written: tuple[float, float, float] | None
    known_bytes: float  # share of its GPU-hours whose bytes are known
    job: Mapping[str, Any]  # keys of its job from the user's map


class ClusterUse(NamedTuple):
    """What ran on the GPUs of one kind."""

    name: str  # in the site file
    machine: Machine  # its node type and how that is known
    gpus: Profile  # GPUs in use over time, in parts
    nodes: Profile  # allocated nodes over time; those that runs share count for each
    size: int  # nodes that hold the most GPUs in use
    gpu_hours: float  # of all runs


@dataclass(frozen=True, repr=False, eq=False)
class Usage(InteractiveResult):
    """What a cluster did."""

    runs: Runs  # the allocations
    #: clusters, classes: what ran where
    clusters: tuple[ClusterUse, ...]
    classes: tuple[ClassUse, ...]
    results: Mapping[str, Quantity]  # quantities by name
    removed: Mapping[str, int]  # rows left out, by reason
    #: shares of GPU-hours whose kind of GPU, bytes and model are known, and of allocations that are counted
    coverage: Mapping[str, float]
    questions: Mapping[str, str]  # what the history does not tell, by place in the site file
    warnings: tuple[str, ...] = ()  # one line each
    site: str = ""  # the site file

    command = "site"
    title = "What the cluster did"

    @property
    def window(self) -> tuple[int, int]:
        """The first start and the last end."""
        return window_of(self.runs.start, self.runs.end)

    def week(self) -> Array:
        """Mean GPUs in use by day and hour of the week."""
        found: Array = week_by_hour(self.total) / PARTS
        return found

    @property
    def total(self) -> Profile:
        """GPUs in use on all clusters, in parts."""
        return profile(self.runs.start, self.runs.end, self.runs.gpus)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        classes = [
            {**{name: value for name, value in one._asdict().items() if name != "job"}, "ends": dict(one.ends)}
            for one in self.classes
        ]
        clusters = [
            {
                "name": one.name,
                "node": one.machine.node,
                "known": one.machine.known,
                "count": one.size,
                "gpu_hours": one.gpu_hours,
            }
            for one in self.clusters
        ]
        body = {
            "coverage": dict(self.coverage), "removed": dict(self.removed), "read_otherwise": dict(self.runs.notes),
            "files": dict(self.runs.kinds), "clusters": clusters, "classes": classes, "questions": dict(self.questions),
        }  # fmt: skip
        return envelope(self.command, body, results=self.results, warnings=self.warnings)

    def to_frame(self) -> pandas.DataFrame:
        """One row per class."""
        return frame_of([one._asdict() for one in self.classes], index="name")
