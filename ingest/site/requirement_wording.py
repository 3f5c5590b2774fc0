"""The requirement lines, which `requirement_lines.yaml` words; and the value of each with the quantities behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from string import Template
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import nearest_below
from ingest.engine.registry import Step
from ingest.files import table_beside


class Floor(NamedTuple):
    """What the guidance holds a line up to."""

    workload: str  # the quantity that the workload needs
    guidance: str  # the quantity of the guidance
    column: str = ""  # for a single run, the column of the guidance for each run; its largest entry names the run
    with_tiers: str = ""  # what the workload needs where states or caches lie below GPU memory


class Beside(NamedTuple):
    """A second column of a line, where it has the largest entry."""

    column: str  # its name
    within: str  # the time that its jobs allow, by its quantity; the load lasts as long


class RequirementTemplate(NamedTuple):
    """The id, the quantity and the wording of one requirement line."""

    id: str  # stable
    metric: str  # the quantity, by name
    priority: str  # unless the jobs behind it say otherwise
    operation: str  # of `Conditions`
    says: str  # the sentence after *shall* or *should*; `{…}` are the value and its conditions
    theme: str  # a key of `THEMES`
    why: str  # one sentence for the Vendor, without figures of the buyer's own
    column: str = ""  # the column whose largest entry names the job that sets the conditions; empty for none
    clients: str = ""  # who takes part, a key of `CLIENTS`; empty where the conditions of a rate do not apply
    streams: bool = False  # whether it is read in large blocks, whatever the samples
    within: str = ""  # the time that a job allows, by its quantity; empty where no time is behind the value
    phase: str = ""  # how long the load of a job lasts, by its quantity; empty for a load without an end
    floor: Floor | None = None  # what the guidance holds the line up to; None where the workload alone counts
    at_any_size: bool = False  # whether it stays a requirement below the reporting threshold
    inspected: str = "the vendor's documents"  # what shows at acceptance that it is met, where no performance test does
    beside: Beside | None = None  # a second column, whose largest entry may name the job instead; None for none
    stated: str = ""  # what it says where a minimum of the buyer holds it up; empty where none may


#: the sentence of a total of several kinds
MOVED_TOGETHER = "{kinds} are {moved} at the same time; below this rate, what runs concurrently waits for them."
#: the kind of load of a column, by how its name begins; any other holds the load that its line is named for
COLUMN_KINDS = {
    **dict.fromkeys(("job_offload_read", "job_offload_mean", "job_offload_write"), "model states"),
    "nvme_t": "model states",
    "kv_": "key-value caches",
    "local_kv_": "key-value caches",
    **dict.fromkeys(("job_query", "job_rebuild", "local_index"), "vector indexes"),
}
#: the column of writes that end a load of reads and writes, and the operation of such a load
SAVING, MIXED = "job_write_bandwidth_of_jobs", "read and write"


class Clients(NamedTuple):
    """Who takes part in a line: of the job that sets the conditions, or of the site where no job or workload has the load."""

    how_many: str  # nodes
    limit: str  # what they draw, above which no line asks for anything
    #: the nodes of a cluster that move data; all that run jobs where jobs and workloads cause the load
    of_cluster: str = "cluster_clients"


WRITTEN = table_beside(__file__, "requirement_lines.yaml")
#: the sentence of a line whose value the guidance decides
GUIDED: str = WRITTEN["guided"]
CLIENTS = {name: Clients(**fields) for name, fields in WRITTEN["clients"].items()}
#: what a total consists of, and what loads consist of, by a word in the name of its column
HELD: Mapping[str, str] = WRITTEN["held"]
LOADED: Mapping[str, str] = WRITTEN["loaded"]


def _template(name: str, fields: Mapping[str, Any]) -> RequirementTemplate:
    """The line of an id of `requirement_lines.yaml`, its phrases written out."""
    said = {key: Template(fields[key]).substitute(WRITTEN["phrases"]) for key in ("says", "stated") if key in fields}
    parts = {key: part(**fields[key]) for key, part in (("floor", Floor), ("beside", Beside)) if key in fields}
    return RequirementTemplate(name, **{**fields, **said, **parts})


LINES = tuple(_template(*one) for one in WRITTEN["lines"].items())


@cache
def kind_of_column(name: str, own: str) -> str:
    """The kind of load of a column; `own` is that of its line.

    >>> kind_of_column("kv_write_bandwidth_of_serving", "checkpoint writes"), kind_of_column(SAVING, "checkpoint writes")
    ('key-value caches', 'checkpoint writes')
    """
    return next((kind for start, kind in COLUMN_KINDS.items() if name.startswith(start)), own)


@dataclass(frozen=True)
class RequirementValue:
    """The value of a requirement line, and the quantities behind it."""

    line: RequirementTemplate  # the line
    step: Step  # the value
    columns: list[Step]  # the columns that it rests on, the topmost first
    assumed: frozenset[str]  # the names of the assumed inputs that it rests on
    #: by job, how hard its load is for storage: of equal rates the hardest decides, whatever its name
    hardness: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> tuple[Step, Step] | None:
        """What the workload needs and what the guidance asks for; None where the workload alone counts."""
        if self.line.floor is None:
            return None
        floor = self.line.floor
        workload, guidance = nearest_below(self.step, (floor.with_tiers, floor.workload), (floor.guidance,))
        return workload, guidance

    @cached_property
    def by_buyer(self) -> tuple[Step, Step | None] | None:
        """The minimum that the buyer states, and what the plan needs where it is known; None where nothing is stated."""
        if self.step.formula is None or not self.step.inputs or not self.line.stated:
            return None
        held = self.step.inputs[0]
        if held.name.startswith("stated_"):
            return held, None
        if not held.name.endswith("_at_least"):
            return None
        needed, stated = held.inputs
        return stated, needed

    @property
    def by_guidance(self) -> bool:
        """Whether the guidance decides, because the workload needs less."""
        if self.compared is None or (self.by_buyer is not None and float(self.by_buyer[0].value) >= float(self.step.value)):
            return False
        workload, guidance = (float(one.value) for one in self.compared)
        return workload < guidance <= float(self.step.value)

    @cached_property
    def column(self) -> Step | None:
        """The column that holds the entry of each job."""
        single = self.line.floor.column if self.line.floor is not None and self.by_guidance else ""
        beside = self.line.beside.column if self.line.beside is not None else ""
        found = []
        for name in (single or self.line.column, beside):
            named = [part for part in self.columns if part.name == name]
            found += [max(named, key=lambda part: len(part.inputs))] if named else []
        return max(found, key=lambda part: max((float(entry.value) for entry in part.inputs), default=0.0), default=None)

    @cached_property
    def held(self) -> dict[str, Step]:
        """The columns of its loads, by name: that of its jobs or workloads, and what a total includes besides."""
        line = self.line
        if not line.column:
            return {}
        named = (line.column, *((SAVING,) if line.operation == MIXED else ()))
        found: dict[str, Step] = {}
        for part in self.columns:
            if part.name in named or part.name.startswith(tuple(COLUMN_KINDS)):
                entries = {entry.owner: entry for entry in (*found.get(part.name, part).inputs, *part.inputs)}
                found[part.name] = part._replace(inputs=tuple(entries.values()))
        return found

    @property
    def timed(self) -> Sequence[Step]:
        """What the jobs need, in the times that they allow."""
        name = self.line.column if self.line.beside is None or self.column is None else self.column.name
        return [entry for part in self.columns if part.name == name for entry in part.inputs]

    @property
    def within(self) -> str:
        """The time that a job allows, by its quantity; empty where no time is behind the value."""
        beside = self.line.beside
        return self.line.within if beside is None or self.column is None or self.column.name != beside.column else beside.within

    @property
    def phase(self) -> str:
        """How long the load of a job lasts, by its quantity; empty for a load without an end."""
        return self.line.phase if self.line.beside is None else self.within

    @property
    def entries(self) -> Sequence[Step]:
        """The entries of the jobs."""
        return () if self.column is None else self.column.inputs

    @cached_property
    def largest(self) -> Step | None:
        """The largest entry of a job; of equal ones that of the hardest load."""
        ranked = {entry: (float(entry.value), self.hardness.get(entry.owner, ()), entry.owner) for entry in self.entries}
        return max(ranked, key=ranked.__getitem__, default=None)

    @property
    def job(self) -> str:
        """The job with the largest entry: its I/O sets the conditions; empty where there is none."""
        return self.largest.owner if self.largest is not None and self.line.column.endswith("_of_jobs") else ""

    @cached_property
    def guided_job(self) -> str:
        """The job whose GPUs the guidance asks the most for, of a line that rests on guidance; empty for any other."""
        entries = [] if self.compared is None else [one for part in self.compared[1].inputs for one in part.inputs]
        return min(entries, key=lambda one: (-float(one.value), one.owner)).owner if entries else ""

    @cached_property
    def jobs(self) -> set[str]:
        """All jobs with an entry in a column below the value."""
        columns = (part for part in self.columns if part.name.endswith("_of_jobs"))
        return {entry.owner for part in columns for entry in part.inputs if entry.owner}
