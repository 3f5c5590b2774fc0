"""What planning decided from a number, and what must stay true of it: where it does not, the words of a plan are stale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ingest.formula import Step
from ingest.site.checking import ROUNDING

if TYPE_CHECKING:
    from ingest.site.requirements import Found
    from ingest.site.sheet import Row


#: Signs beside those of arithmetic.
SIGNS = {
    "largest": "the place of the largest entry in a column",
    "multiple": "a whole multiple",
    "no multiple": "none",
    "within": "no more than, but for rounding",
    "about within": "no more than, but for half a percent by which approximations differ",
    "shorter than half": "less than half of it",
    "as long as half": "half of it or more",
    "close": "they differ by no more than a fifth of the larger one",
    "apart": "they do",
}


class Decision(NamedTuple):
    """Something that planning decided by comparing numbers.

    Attributes:
        what: in words, with the requirement or the job that it concerns.
        step: the quantity that decided, or the column of which the largest entry did.
        sign: `<`, `>=`, `>`, `<=`, `=`, or a key of `SIGNS`.
        other: what it was compared with: a quantity or a number; the place in a column, counted from one.
    """

    what: str
    step: Step
    sign: str
    other: Step | float


def compared(what: str, step: Step, other: Step | float, below: str = "<") -> Decision:
    """How a quantity stands to a limit today: below it (`<` or `<=`), or not."""
    limit = float(other.value) if isinstance(other, Step) else other
    under = float(step.value) < limit or (below == "<=" and float(step.value) == limit)
    return Decision(what, step, below if under else {"<": ">=", "<=": ">"}[below], other)


def largest(what: str, column: Step) -> Iterator[Decision]:
    """Which entry of a column is the largest, where there is a choice."""
    entries = [float(one.value) for one in column.inputs]
    if len(entries) > 1:
        yield Decision(what, column, "largest", entries.index(max(entries)) + 1)


def of_clusters(clusters: Sequence[Row], jobs: Sequence[Row]) -> Iterator[Decision]:
    """No job is larger than its cluster, and all jobs together take no more than the whole of it."""
    counts = {row.name: row.step("cluster_nodes") for row in clusters}
    for row in clusters:
        share = row.step("cluster_allocation")
        if share is not None:
            yield Decision(f"{row.name}: share that all jobs take (nodes × runs × share)", share, "<=", 1 + ROUNDING)
    for row in jobs:
        nodes, count = row.step("nodes"), counts[str(row.words["cluster"])]
        if nodes is not None and count is not None:
            yield Decision(f"{row.name}: nodes of a run, of those of {row.words['cluster']}", nodes, "<=", count)


def of_jobs(jobs: Sequence[Row], divisors: Mapping[str, Sequence[int]]) -> Iterator[Decision]:
    """How each job reads, and how its checkpoint is laid out over its GPUs.

    Args:
        jobs: their rows.
        divisors: into how many equal parts the GPUs of a job are shared out by its checkpoint, by name.
    """
    for row in jobs:
        packed, gpus, files = (row.step(name) for name in ("samples_per_file", "gpus", "checkpoint_files"))
        if packed is not None and row.step("read_request_bytes") is not None:
            yield compared(f"{row.name}: how samples are read, by their number in a file", packed, 1.0, "<=")
        if gpus is None or files is None:
            continue
        for parts in divisors.get(row.name, ()):
            sign = "no multiple" if float(gpus.value) % parts else "multiple"
            yield Decision(f"{row.name}: checkpoint layout, by the GPUs of a run", gpus, sign, float(parts))
        if files.formula is None:
            yield Decision(f"{row.name}: files of a checkpoint, counted for so many GPUs", gpus, "=", float(gpus.value))


def of_storage(units: Step | None, failed: Step | None) -> Iterator[Decision]:
    """Fewer units fail than there are."""
    if units is not None and failed is not None and units.formula is None and failed.formula is None:
        yield Decision("storage: failed units, of all", failed, "<", units)


def of_line(name: str, found: Found, floor: Step | None, column: Step | None) -> Iterator[Decision]:
    """What decides the priority and the conditions of a line.

    Args:
        name: its id.
        found: how its value came about.
        floor: the rate below which nothing is asked for, where it is a rate.
        column: its largest entry names the job whose conditions are those of the line.
    """
    if floor is not None:
        yield compared(f"{name}: priority, by the smallest rate that is asked for", found.step, floor)
    if column is not None:
        yield from largest(f"{name}: the job whose I/O and clients are those of the line", column)
